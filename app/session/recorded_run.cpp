#include "app/session/recorded_run.h"

#include "app/session/failure.h"
#include "app/session/trace_file.h"
#include "sim/analysis/peers_busy.h"
#include "sim/error.h"
#include "sim/index.h"
#include "sim/recovery/stand_in.h"
#include "sim/recovery/step_trace.h"
#include "sim/recovery/to_scenario.h"
#include "sim/scenario/document.h"
#include "sim/trace/export.h"
#include "sim/trace/recorded_trace.h"
#include "sim/trace/time_use.h"

#include <nlohmann/json.hpp>

#include <QFileInfo>
#include <QTimer>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

namespace app {
namespace {

/// Kinds of jobs, the most urgent first.
enum RecordedJob : int {
    kRecordedRead,
    kRecordedRecover,
    kRecordedPicture,
    kRecordedPredict,
    kRecordedCompare,
    kRecordedSave,
    kRecordedKeepCache
};

constexpr int kMostGridRanks = 16'384; ///< as the grid's own goal

using Clock = std::chrono::steady_clock;

std::vector<std::filesystem::path> filesOf(const QStringList& paths)
{
    std::vector<std::filesystem::path> out;
    for (const QString& path : paths)
        out.emplace_back(path.toStdString());
    return out;
}

/// `mesh`: of what stands in for the run.
KnownGrid knownGridOf(const sim::Recovered& recovered, const sim::Mesh& mesh)
{
    const sim::RecoveredAxes& axes = recovered.axes;
    KnownGrid known{.whyUnknown = axes.unknownGrid(), .areNodesKnown = sim::recordedRanksOfANode(recovered).has_value()};
    if (known.whyUnknown.empty())
        known.whyUnknown = sim::misplacedAxisText(axes, mesh);
    known.whyUnnamed = sim::unnamedAxesText(axes);
    if (!known.whyUnnamed.empty())
        known.dataWord = axes.sizeOf("dp") > 1 ? "dp and unnamed" : "unnamed";
    return known;
}

/// A simulation that knows who is where, and nothing else.
void makeGrid(RecoveredRun& run, const sim::Catalogue& catalogue)
{
    try {
        const int world = run.recovered.axes.worldSize;
        if (world > kMostGridRanks)
            throw sim::Error("the run has " + std::to_string(world) + " ranks, and the grid draws up to " +
                             std::to_string(kMostGridRanks));
        const auto resolved = sim::ScenarioDocument::parse(sim::standInScenario(run.recovered).dump()).resolve(catalogue);
        if (!resolved.scenario)
            throw sim::Error(resolved.problems.empty() ? "its layout is not legal" : resolved.problems.front().message);
        run.grid = sim::simulate(*resolved.scenario, {.full = world <= 1024});
        run.known = knownGridOf(run.recovered, run.grid->mesh());
    } catch (const sim::Cancelled&) {
        throw;
    } catch (...) {
        run.whyNoGrid = QString::fromStdString(failureText());
    }
}

/// Dumps of a job that stands still may hold nothing but what never ended, or how far each rank has come.
bool tellsWhereItStands(const sim::Recording& recording)
{
    return std::any_of(recording.ranks.begin(), recording.ranks.end(), [](const sim::RankRecording& rank) {
        return !rank.progress.empty() || std::any_of(rank.collectives.begin(), rank.collectives.end(),
                                                     [](const sim::RecordedCollective& of) { return of.durationNs == -1; });
    });
}

/// A page of dashes would look as if something had been measured.
void requireSpans(const sim::Recording& recording, bool standsStill = false)
{
    if (recording.spanCount() > 0 || standsStill)
        return;
    std::string why = "holds no span: nothing that ran is recorded in it";
    for (const std::string& problem : recording.problems)
        why += "; " + problem;
    throw sim::Error(why);
}

std::shared_ptr<RecoveredRun> recoverRun(std::shared_ptr<const sim::Recording> recording, std::vector<sim::NamedAxis> said,
                                         const sim::Catalogue& catalogue)
{
    auto run = std::make_shared<RecoveredRun>();
    run->said = std::move(said);
    run->recovered = sim::recover(*recording, {.corrections = {}, .grid = run->said});
    sim::checkCancelled();
    run->answers = sim::answersOf(*recording, run->recovered, catalogue);
    run->recording = std::move(recording);
    makeGrid(*run, catalogue);
    return run;
}

/// Of a cache that knows what was found out; nullptr where it does not, or what it knows is damaged.
RecoveredRunPtr digestedRun(const sim::RecordingCache& cache, const sim::Catalogue& catalogue)
{
    auto run = std::make_shared<RecoveredRun>();
    try {
        const auto bytes = cache.attachment(sim::kDigestName);
        if (!bytes)
            return nullptr;
        sim::RunDigest digest = sim::readDigest(*bytes);
        run->isDigest = true;
        run->recovered = std::move(digest.recovered);
        run->answers = std::move(digest.answers);
        run->digested = std::move(digest.steps);
        run->recording = std::make_shared<const sim::Recording>(cache.outline());
        const std::vector<sim::RunFinding>& findings = run->answers.findings;
        requireSpans(*run->recording,
                     std::any_of(findings.begin(), findings.end(), [](const auto& of) { return of.kind == "hang"; }));
    } catch (const sim::Error&) {
        return nullptr;
    }
    makeGrid(*run, catalogue);
    return run;
}

const sim::DigestedStep* digestedStep(const RecoveredRun& run, std::size_t step)
{
    const auto found = std::find_if(run.digested.begin(), run.digested.end(), [step](const auto& of) { return of.step == step; });
    return found == run.digested.end() ? nullptr : &*found;
}

/// `times`: as RunEvidence::ranks, of the step.
std::vector<MeasuredRank> measuredRanks(const sim::Recovered& recovered, const std::vector<sim::RankTime>& times,
                                        const sim::Trace& trace)
{
    std::vector<MeasuredRank> out(sim::asIndex(std::max(0, recovered.axes.worldSize)));
    const bool saysOfDevices = sim::anyRan(times); // of hosts alone nothing is known of their devices
    std::map<int, sim::PeersBusy> ofStage;
    const auto stageOf = [&](int rank) {
        const sim::RecoveredAxis* axis = recovered.axes.find("pp");
        return axis == nullptr ? 0 : sim::RecoveredAxes::coordinate(*axis, rank);
    };
    for (std::size_t r = 0; r < times.size(); ++r)
        ofStage[stageOf(recovered.evidence.ranks[r].rank)].add(static_cast<double>(times[r].computingNs));
    for (std::size_t r = 0; r < times.size(); ++r) {
        const int rank = recovered.evidence.ranks[r].rank;
        if (rank < 0 || sim::asIndex(rank) >= out.size() || times[r].windowNs <= 0)
            continue;
        MeasuredRank& of = out[sim::asIndex(rank)];
        const auto window = static_cast<double>(times[r].windowNs), computing = static_cast<double>(times[r].computingNs);
        of.isRecorded = saysOfDevices;
        of.busy = computing / window;
        of.idle = static_cast<double>(times[r].idleNs) / window;
        of.againstPeers = ofStage[stageOf(rank)].against(computing);
    }
    for (const sim::Counter& counter : trace.counters) {
        const int rank = trace.processes[sim::asIndex(counter.process)].rank;
        if (rank >= 0 && sim::asIndex(rank) < out.size() && !counter.value.empty())
            out[sim::asIndex(rank)].peakBytes = std::max(out[sim::asIndex(rank)].peakBytes.value_or(0),
                                                         *std::max_element(counter.value.begin(), counter.value.end()));
    }
    return out;
}

std::size_t placeOfRank(const sim::RunEvidence& evidence, int rank)
{
    const auto found = std::find_if(evidence.ranks.begin(), evidence.ranks.end(),
                                    [rank](const sim::RankEvidence& of) { return of.rank == rank; });
    return found == evidence.ranks.end() ? 0 : static_cast<std::size_t>(found - evidence.ranks.begin());
}

/// Lanes as a digest keeps them.
RecordedStepPicturePtr digestedPicture(const RecoveredRun& run, const sim::DigestedStep& of, const PrepareFunction& prepare)
{
    auto out = std::make_shared<RecordedStepPicture>();
    out->step = of.step;
    out->originNs = of.originNs;
    out->timeUse = std::make_shared<const sim::Trace>(of.timeUse);
    out->instants = std::make_shared<const Instants>(out->timeUse);
    out->ranks = measuredRanks(run.recovered, of.ranks, *out->timeUse);
    out->path = of.path;
    if (prepare)
        out->ofTimeUse =
            prepare({.simulation = nullptr,
                     .trace = out->timeUse,
                     .whyNoWaits =
                         "why: the cache keeps what each rank did, not what led to it; choose Streams above, for which the files "
                         "are read"});
    return out;
}

RecordedStepPicturePtr pictureOf(const RecoveredRunPtr& of, std::size_t step, RecordedRows rows, int aroundRank,
                                 const PrepareFunction& prepare)
{
    const RecoveredRun& run = *of;
    auto out = std::make_shared<RecordedStepPicture>();
    sim::StepTraceOptions options{.hostThreads = rows == RecordedRows::hostThreads};
    options.around = placeOfRank(run.recovered.evidence, aroundRank);
    sim::StepTrace made = sim::stepTrace(*run.recording, run.recovered, run.answers.arrivals, step, options);
    const bool isWhole = std::find(made.isDrawn.begin(), made.isDrawn.end(), false) == made.isDrawn.end();
    out->step = step;
    out->hostThreads = options.hostThreads;
    out->originNs = made.originNs;
    out->streams = std::make_shared<const sim::Trace>(std::move(made.trace));
    out->hasStreams = std::move(made.isDrawn);
    out->timeUse = std::make_shared<const sim::Trace>(
        isWhole ? timeUseTrace(*out->streams)
                : sim::timeUseOfStep(*run.recording, run.recovered, run.answers.arrivals, step).trace);
    out->instants = std::make_shared<const Instants>(out->timeUse);
    out->ranks = measuredRanks(run.recovered, sim::meanTimesOf(run.recovered, {step}), *out->timeUse);
    out->path = run.answers.path.step == step ? run.answers.path : sim::criticalPathOver(run.recovered, step);
    if (prepare) {
        const auto waits = std::make_shared<sim::RecordedWaits>(std::shared_ptr<const sim::Recovered>(of, &run.recovered), step);
        out->ofTimeUse = prepare({.simulation = nullptr, .trace = out->timeUse, .waits = waits});
        out->ofStreams = prepare({.simulation = nullptr, .trace = out->streams, .waits = waits});
    }
    return out;
}

RecordedPredictionPtr predictionOf(const RecoveredRun& run, const QString& name, const std::string& text,
                                   const sim::Catalogue& catalogue, const PrepareFunction& prepare)
{
    auto out = std::make_shared<RecordedPrediction>();
    out->name = name;
    const auto base = sim::ScenarioDocument::parse(text).resolve(catalogue);
    if (base.scenario) {
        out->scenario = sim::scenarioOfRun(run.recovered, *base.scenario, catalogue, out->unknown);
    } else { // it need not have a layout
        sim::requireKnownGrid(run.recovered.axes);
        const auto made = sim::scenarioOf(run.recovered, nlohmann::ordered_json::parse(text), out->unknown);
        const auto resolved = sim::ScenarioDocument::parse(made.dump()).resolve(catalogue);
        if (!resolved.scenario)
            throw sim::Error(resolved.problems.empty() ? "the scenario is not legal" : resolved.problems.front().text());
        out->scenario = *resolved.scenario;
    }
    out->prediction = predict(sim::resolvedText(out->scenario), catalogue);
    if (!out->prediction->simulation)
        throw sim::Error(out->prediction->problem.toStdString());
    if (prepare)
        out->ofTimeUse = prepare({.simulation = out->prediction->simulation, .trace = out->prediction->timeUse});
    try {
        out->calibration = sim::calibrate(*run.recording, run.recovered, out->scenario);
    } catch (const sim::Cancelled&) {
        throw;
    } catch (...) {
        out->whyNotCalibrated = QString::fromStdString(failureText());
    }
    return out;
}

} // namespace

RecordedRun::RecordedRun(QStringList paths, sim::Catalogue catalogue, PrepareFunction prepare, QObject* parent)
    : QObject(parent), m_paths(std::move(paths)), m_catalogue(std::move(catalogue)), m_prepare(std::move(prepare))
{
    read();
}

RecordedRun::~RecordedRun()
{
    m_worker.stop();
    m_wholeReader.stop();
}

void RecordedRun::withWhole(int kind, const QString& failed, AskOfWhole ask)
{
    if (!m_run->isDigest || m_whole)
        return ask(m_run->isDigest ? m_whole : m_run);
    const bool isFirst = m_waiting.empty();
    m_waiting.insert_or_assign(kind, Waiting{failed, std::move(ask)});
    if (isFirst && !m_wholeReader.isBusy())
        readWhole();
}

void RecordedRun::readWhole()
{
    m_wholeReader.ask(
        kRecordedRead,
        [paths = filesOf(m_paths), origin = m_cacheOrigin, catalogue = m_catalogue] {
            sim::CachedReading read = sim::readRecordingOrCache(paths);
            if (read.origin != origin)
                throw sim::Error("the files have changed since they were opened: open them again");
            requireSpans(read.recording, tellsWhereItStands(read.recording));
            return RecoveredRunPtr(recoverRun(std::make_shared<const sim::Recording>(std::move(read.recording)), {}, catalogue));
        },
        [this](const RecoveredRunPtr& whole) {
            m_whole = whole;
            for (const auto& [kind, waiting] : std::exchange(m_waiting, {}))
                waiting.ask(whole);
        },
        [this](const QString& why) {
            m_saving.clear();
            for (const auto& [kind, waiting] : std::exchange(m_waiting, {}))
                Q_EMIT failed(waiting.failed, why);
        });
}

QString RecordedRun::name() const
{
    return traceName(m_paths);
}

void RecordedRun::read()
{
    m_worker.submit(
        {.kind = kRecordedRead,
         .work =
             [this](const Task& task) {
                 constexpr auto kPause = std::chrono::milliseconds(80);
                 Clock::time_point last{}; // readers tell one at a time
                 sim::ReadOptions options;
                 options.progress = [&](const sim::ReadProgress& progress) {
                     const auto now = Clock::now();
                     if (now - last < kPause)
                         return;
                     last = now;
                     const double share =
                         progress.bytes == 0 ? -1 : static_cast<double>(progress.bytesDone) / static_cast<double>(progress.bytes);
                     task.tell([this, share, done = progress.filesDone, files = progress.files] {
                         Q_EMIT progressed(files == 1 ? tr("Reading…") : tr("Reading, %1 of %2 files…").arg(done).arg(files),
                                           share);
                     });
                 };
                 if (const sim::OpenedCache kept = sim::openCache(filesOf(m_paths), options); kept.cache)
                     if (RecoveredRunPtr run = digestedRun(*kept.cache, m_catalogue)) {
                         task.tell([this, run = std::move(run), origin = kept.origin] { takeRead(run, origin, true); });
                         return;
                     }
                 sim::CachedReading read = sim::readRecordingOrCache(filesOf(m_paths), options);
                 auto recording = std::make_shared<const sim::Recording>(std::move(read.recording));
                 requireSpans(*recording, tellsWhereItStands(*recording));
                 task.tell([this] { Q_EMIT progressed(tr("Recovering who is who…"), -1); });
                 const auto run = recoverRun(std::move(recording), {}, m_catalogue);
                 run->whyNotFromCache = QString::fromStdString(read.whyNot);
                 task.tell([this, run, isFromCache = read.isFromCache, origin = std::move(read.origin)] {
                     takeRead(run, origin, isFromCache);
                     m_isCached = false; // or of a version that kept less: it may be kept anew
                 });
             },
         .failed =
             [this](const QString& why) {
                 m_isReading = false;
                 Q_EMIT notRead(why);
             }});
}

void RecordedRun::takeRead(const RecoveredRunPtr& run, const std::optional<sim::CacheOrigin>& origin, bool isFromCache)
{
    m_isReading = false;
    m_isFromCache = m_isCached = isFromCache;
    m_cacheOrigin = origin;
    m_run = run;
    Q_EMIT recovered();
}

void RecordedRun::cancel()
{
    if (!m_isReading)
        return;
    m_worker.dropAll();
    m_isReading = false;
    Q_EMIT cancelled();
}

void RecordedRun::giveUp(std::unique_ptr<RecordedRun> run)
{
    if (!run)
        return;
    run->disconnect();
    run->m_worker.dropAll();
    run->m_wholeReader.dropAll();
    run->m_waiting.clear();
    if (!run->isBusy())
        return;
    constexpr int kLooksMs = 50;
    RecordedRun* leaving = run.release();
    auto* looks = new QTimer(leaving);
    connect(looks, &QTimer::timeout, leaving, [leaving] {
        if (!leaving->isBusy())
            leaving->deleteLater();
    });
    looks->start(kLooksMs);
}

void RecordedRun::showStep(std::size_t step, RecordedRows rows, int aroundRank)
{
    if (!m_run || step >= m_run->steps().steps.size())
        return;
    const QString what = tr("The step cannot be drawn");
    const auto show = [this](const RecordedStepPicturePtr& picture) {
        m_picture = picture;
        Q_EMIT pictureReady();
    };
    const auto tellFailure = [this, what](const QString& why) { Q_EMIT failed(what, why); };
    m_waiting.erase(kRecordedPicture);
    if (rows == RecordedRows::timeUse && digestedStep(*m_run, step)) {
        m_worker.ask(
            kRecordedPicture,
            [run = m_run, step, prepare = m_prepare] { return digestedPicture(*run, *digestedStep(*run, step), prepare); }, show,
            tellFailure);
        return;
    }
    m_worker.drop(kRecordedPicture);
    withWhole(kRecordedPicture, what, [=, this](const RecoveredRunPtr& whole) {
        m_worker.ask(
            kRecordedPicture,
            [whole, step, rows, aroundRank, prepare = m_prepare] { return pictureOf(whole, step, rows, aroundRank, prepare); },
            show, tellFailure);
    });
}

void RecordedRun::sayGrid(std::vector<sim::NamedAxis> grid)
{
    if (!m_run)
        return;
    const QString what = tr("The ranks cannot lie so");
    withWhole(kRecordedRecover, what, [this, what, grid = std::move(grid)](const RecoveredRunPtr& whole) {
        m_worker.ask(
            kRecordedRecover,
            [whole, grid, catalogue = m_catalogue] {
                auto run = recoverRun(whole->recording, grid, catalogue);
                run->whyNotFromCache = whole->whyNotFromCache;
                return RecoveredRunPtr(std::move(run));
            },
            [this](const RecoveredRunPtr& run) {
                for (const int ofTheOldGrid : {kRecordedPicture, kRecordedPredict, kRecordedCompare}) {
                    m_worker.drop(ofTheOldGrid);
                    m_waiting.erase(ofTheOldGrid);
                }
                m_run = run;
                m_picture.reset();
                m_prediction.reset(); // of another layout
                Q_EMIT recovered();
            },
            [this, what](const QString& why) { Q_EMIT failed(what, why); });
    });
}

void RecordedRun::predict(const QString& name, const std::string& text)
{
    if (!m_run)
        return;
    const QString what = tr("The run cannot be predicted");
    withWhole(kRecordedPredict, what, [=, this](const RecoveredRunPtr& whole) {
        m_worker.ask(
            kRecordedPredict,
            [whole, name, text, catalogue = m_catalogue, prepare = m_prepare] {
                return predictionOf(*whole, name, text, catalogue, prepare);
            },
            [this](const RecordedPredictionPtr& prediction) {
                m_prediction = prediction;
                Q_EMIT predicted();
            },
            [this, what](const QString& why) { Q_EMIT failed(what, why); });
    });
}

void RecordedRun::compareWith(const QStringList& paths)
{
    if (!m_run)
        return;
    const QString what = tr("The runs cannot be compared");
    withWhole(kRecordedCompare, what, [=, this](const RecoveredRunPtr& whole) {
        m_worker.ask(
            kRecordedCompare,
            [whole, paths] {
                const sim::Recording read = sim::readRecordingOrCache(filesOf(paths)).recording;
                requireSpans(read);
                return sim::differenceOf(whole->recovered, sim::recover(read));
            },
            [this, paths](const sim::RunDifference& difference) { Q_EMIT compared(traceName(paths), difference); },
            [this, what](const QString& why) { Q_EMIT failed(what, why); });
    });
}

void RecordedRun::save(const QString& path)
{
    if (!m_run)
        return;
    const QString what = tr("The trace cannot be saved");
    if (!m_saving.isEmpty()) {
        Q_EMIT failed(what, tr("%1 is still being written: save the other one when that is done").arg(m_saving));
        return;
    }
    m_saving = path;
    withWhole(kRecordedSave, what, [=, this](const RecoveredRunPtr& whole) {
        m_worker.ask(
            kRecordedSave,
            [whole, path, paths = m_paths] {
                for (const QString& in : paths)
                    for (const std::filesystem::path& file : sim::traceFiles(in.toStdString()))
                        if (std::error_code none; std::filesystem::equivalent(file, path.toStdString(), none))
                            throw sim::Error(path.toStdString() + " is one of the files that were read: write to another name");
                sim::saveTrace(sim::traceToWrite(*whole->recording), path.toStdString());
                return path;
            },
            [this](const QString& written) {
                m_saving.clear();
                Q_EMIT saved(written);
            },
            [this, what](const QString& why) {
                m_saving.clear();
                Q_EMIT failed(what, why);
            });
    });
}

bool RecordedRun::isLarge() const
{
    constexpr std::size_t kManySpans = 1'000'000;
    constexpr std::uint64_t kMuchText = std::uint64_t{256} << 20;
    if (!m_run)
        return false;
    std::uint64_t text = 0;
    for (const sim::RecordedFile& file : m_run->recording->files)
        text += file.textBytes;
    return text >= kMuchText || m_run->recording->spanCount() >= kManySpans;
}

void RecordedRun::keepCache()
{
    if (!mayKeepCache())
        return;
    m_isCached = true;
    m_worker.ask(
        kRecordedKeepCache,
        [run = m_run, catalogue = m_catalogue, origin = m_cacheOrigin, paths = filesOf(m_paths)] {
            // What the files say is kept, not what a person said of them.
            const RecoveredRunPtr plain = run->said.empty() ? run : recoverRun(run->recording, {}, catalogue);
            const auto steps = sim::digestSteps(*plain->recording, plain->recovered, plain->answers);
            sim::keepCache(*plain->recording, origin, paths, {},
                           {{std::string(sim::kDigestName), sim::digestBytes(plain->recovered, plain->answers, steps)}});
            return QString::fromStdString(sim::cachePathOf(paths).string());
        },
        [this](const QString& written) { Q_EMIT saved(written); },
        [this](const QString& why) {
            m_isCached = false;
            Q_EMIT failed(tr("The cache cannot be kept"), why);
        });
}

} // namespace app
