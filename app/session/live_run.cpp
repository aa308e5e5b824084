#include "app/session/live_run.h"

#include "app/session/live_records.h"
#include "live/stream/make_trace.h"
#include "sim/error.h"
#include "sim/scenario/document.h"
#include "sim/trace/export.h"

#include <QDir>
#include <QFile>
#include <QMetaObject>
#include <QTimer>

#include <utility>

namespace app {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kBetweenUpdates{33};
constexpr milliseconds kBetweenPictures{100}; ///< steps that fly by: so many of them can be seen
constexpr milliseconds kLastWords{400};       ///< from a worker's end until its last messages must have come
constexpr milliseconds kNobody{3000};         ///< until it is worth saying that nobody answers
constexpr int kStopPatienceMs = 5000;         ///< for a step to end before the worker is told to

QString stepsText(int steps)
{
    return steps == 1 ? QObject::tr("1 step") : QObject::tr("%1 steps").arg(steps);
}

QString lastLines(const WorkerEnd& end)
{
    return end.lastLines.join(QLatin1Char('\n'));
}

/// Of a run that had begun: before its last words come reports of steps, which the curves show.
QString lastWords(const WorkerEnd& end)
{
    constexpr qsizetype kWords = 3;
    return end.lastLines.mid(std::max<qsizetype>(0, end.lastLines.size() - kWords)).join(QLatin1Char('\n'));
}

/// All that decides what a person is told.
struct Facts {
    live::ViewerStateText viewer;
    const LiveRecords& records;
    std::optional<WorkerEnd> end; ///< of a worker started here, once its last words had time to come
    bool own = false;
    QString endpoint;
    milliseconds sinceStart{};
};

LiveStatus endOf(const Facts& f)
{
    const live::RunState& state = f.records.state();
    const int done = f.records.lastStep();
    const QString message = QString::fromStdString(state.message);
    if (state.status == live::RunStatus::finished)
        return {LivePhase::finished, QObject::tr("Finished · %1").arg(stepsText(done)), message};
    if (state.status == live::RunStatus::stopped)
        return {LivePhase::stopped, done < 0 ? QObject::tr("Stopped") : QObject::tr("Stopped after step %1").arg(done), message};
    return {LivePhase::failed, QObject::tr("The run failed"), message};
}

LiveStatus statusOf(const Facts& f)
{
    const live::RunState& state = f.records.state();
    if (live::hasEnded(state.status))
        return endOf(f);
    if (f.end) {
        if (!f.records.isKnown() || (f.end->isGood() && f.records.lastStep() < 0))
            return {LivePhase::cannotStart, QObject::tr("The training could not be started"),
                    f.end->lastLines.isEmpty() ? QObject::tr("rankscope-live %1 and said nothing.").arg(f.end->text())
                                               : lastLines(*f.end)};
        const QString kept = f.records.lastStep() < 0
                                 ? QObject::tr("What was received is kept.")
                                 : QObject::tr("All that was received up to step %1 is kept.").arg(f.records.lastStep());
        return {LivePhase::crashed, QObject::tr("The worker %1").arg(f.end->text()),
                f.end->lastLines.isEmpty() ? kept : kept + QObject::tr(" It said last:\n") + lastWords(*f.end)};
    }
    const QString said = QString::fromStdString(f.viewer.message);
    switch (f.viewer.state) {
    case live::ViewerState::refused:
        return {LivePhase::refused, QObject::tr("The run refused this window"), said};
    case live::ViewerState::lost:
        return {LivePhase::lost, QObject::tr("Connection lost"),
                said + QObject::tr("\nAll that was received is kept; trying to reach the run again.")};
    case live::ViewerState::ended:
        return {LivePhase::stopped, QObject::tr("The run has ended"), said};
    case live::ViewerState::connecting:
        if (f.own)
            return {LivePhase::starting, QObject::tr("Starting the worker…"), {}};
        return {LivePhase::starting, QObject::tr("Looking for a run at %1…").arg(f.endpoint),
                f.sinceStart < kNobody ? QString()
                                       : QObject::tr("Nobody answers there yet; still trying. Is the run listening at this very "
                                                     "address (rankscope-live run FILE --listen %1)?")
                                             .arg(f.endpoint)};
    case live::ViewerState::connected:
        break;
    }
    const int planned = f.records.isKnown() ? f.records.run()->plannedSteps : 0;
    const int done = std::max(f.records.lastStep(), 0);
    const QString message = QString::fromStdString(state.message);
    switch (state.status) {
    case live::RunStatus::starting:
        return {LivePhase::planning, QObject::tr("Planning the communication…"), message};
    case live::RunStatus::paused:
        return {LivePhase::paused, QObject::tr("Paused after step %1 of %2").arg(done).arg(planned), message};
    default:
        return {LivePhase::training, QObject::tr("Training · step %1 of %2").arg(done).arg(planned), message};
    }
}

} // namespace

bool hasEnded(LivePhase phase)
{
    return phase >= LivePhase::finished;
}

bool isWorse(LivePhase phase)
{
    return phase == LivePhase::lost || phase >= LivePhase::failed;
}

LiveRun::LiveRun(const LaunchOptions& options, sim::Catalogue catalogue, QObject* parent)
    : QObject(parent), m_catalogue(std::move(catalogue))
{
    launch(options);
    m_thread = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

LiveRun::LiveRun(AttachOptions options, sim::Catalogue catalogue, QObject* parent)
    : QObject(parent), m_catalogue(std::move(catalogue))
{
    attach(options.endpoint.toStdString(), std::move(options.keys), options.silence);
    m_thread = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

LiveRun::~LiveRun()
{
    if (m_viewer && m_worker)
        m_viewer->requestStop();
    m_worker.reset();
    m_thread.request_stop();
    m_thread.join();
    m_viewer.reset(); // calls wake() until then
}

void LiveRun::attach(const std::string& endpoint, std::optional<live::ViewerKeys> keys, milliseconds silence)
{
    try {
        m_viewer = std::make_unique<live::Viewer>(
            endpoint,
            live::ViewerOptions{.keys = std::move(keys), .history = {}, .wake = [this] { wake(); }, .silence = silence});
    } catch (const sim::Error& error) {
        m_failure = QString::fromUtf8(error.what());
    }
}

void LiveRun::launch(const LaunchOptions& options)
{
    const QString program = options.program.isEmpty() ? findWorkerProgram() : options.program;
    if (program.isEmpty()) {
        m_failure = noWorkerText();
        return;
    }
    // Only this user may enter: QTemporaryDir makes folders of mode 0700.
    m_folder = std::make_unique<QTemporaryDir>(QDir::tempPath() + QStringLiteral("/rankscope-live-XXXXXX"));
    const QString file = m_folder->filePath(QStringLiteral("scenario.json"));
    QFile out(file);
    const std::string text = m_scenarioText = sim::resolvedText(options.scenario);
    if (!m_folder->isValid() || !out.open(QIODevice::WriteOnly) || out.write(text.data(), static_cast<qint64>(text.size())) < 0 ||
        !out.flush()) {
        m_failure = tr("The scenario cannot be written for the worker: %1")
                        .arg(m_folder->isValid() ? out.errorString() : m_folder->errorString());
        return;
    }
    out.close();
    const QString endpoint = QStringLiteral("ipc://") + m_folder->filePath(QStringLiteral("run"));
    attach(endpoint.toStdString(), std::nullopt, milliseconds{2000});
    m_worker = std::make_unique<WorkerProcess>();
    connect(m_worker.get(), &WorkerProcess::failedToStart, this, [this, program](const QString& message) {
        {
            const std::lock_guard lock(m_mutex);
            m_failure = tr("%1 cannot be started: %2").arg(program, message);
        }
        wake();
    });
    connect(m_worker.get(), &WorkerProcess::ended, this, [this](const WorkerEnd& end) {
        {
            const std::lock_guard lock(m_mutex);
            m_end = end;
        }
        wake();
    });
    const sim::LiveSettings& live = options.scenario.live;
    m_worker->start(program, {QStringLiteral("run"), file, QStringLiteral("--listen"), endpoint, QStringLiteral("--device"),
                              QString::fromStdString(live.device), QStringLiteral("--steps"), QString::number(live.steps)});
}

void LiveRun::pause()
{
    request(live::RunRequest::pause);
}

void LiveRun::resume()
{
    request(live::RunRequest::resume);
}

void LiveRun::stop()
{
    request(live::RunRequest::stop);
    if (m_worker && m_worker->isRunning()) {
        if (m_status.phase == LivePhase::starting || m_status.phase == LivePhase::lost)
            m_worker->terminate(kStopPatienceMs); // nobody there to hear the wish
        else
            QTimer::singleShot(kStopPatienceMs, m_worker.get(), [this] { m_worker->terminate(kStopPatienceMs); });
    }
}

void LiveRun::request(live::RunRequest what)
{
    if (m_viewer)
        m_viewer->request(what);
}

void LiveRun::pin(std::optional<int> step)
{
    {
        const std::lock_guard lock(m_mutex);
        m_pinned = step;
    }
    wake();
}

std::optional<int> LiveRun::pinned() const
{
    const std::lock_guard lock(m_mutex);
    return m_pinned;
}

void LiveRun::predictWith(const sim::Efficiency& measured)
{
    {
        const std::lock_guard lock(m_mutex);
        m_measured = measured;
    }
    wake();
}

void LiveRun::saveTrace(const QString& path)
{
    {
        const std::lock_guard lock(m_mutex);
        m_savePath = path;
    }
    wake();
}

void LiveRun::wake()
{
    {
        const std::lock_guard lock(m_mutex);
        m_news = true;
    }
    m_wake.notify_one();
}

void LiveRun::work(const std::stop_token& stop)
{
    LiveRecords records;
    PredictionPtr prediction;
    LiveRecords::Choice shown;
    LiveStatus told;
    Clock::time_point lastPicture{};
    std::optional<Clock::time_point> endedAt;
    const Clock::time_point begin = Clock::now();
    bool first = true;
    std::string predictedText = m_scenarioText;
    std::optional<sim::Efficiency> measured;
    PredictionPtr early; // what was launched here is known before it answers
    if (!predictedText.empty())
        prediction = early = predict(predictedText, m_catalogue);
    while (true) {
        std::optional<WorkerEnd> end;
        std::optional<int> pinned;
        QString failure, savePath;
        bool delivered = true, calibrated = false;
        {
            std::unique_lock lock(m_mutex);
            m_wake.wait_for(lock, stop, first ? milliseconds{0} : kBetweenUpdates, [this] { return m_news; });
            if (stop.stop_requested())
                return;
            m_news = false;
            end = m_end;
            pinned = m_pinned;
            failure = m_failure;
            savePath = std::exchange(m_savePath, QString());
            if (m_measured) {
                measured = std::exchange(m_measured, std::nullopt);
                calibrated = true;
            }
            delivered = !m_update;
        }
        first = false;
        const Clock::time_point now = Clock::now();
        LiveUpdate out;
        bool changed = false;
        if (early) {
            out.prediction = std::exchange(early, nullptr);
            changed = true;
        }

        live::ViewerUpdate update;
        if (m_viewer && m_viewer->poll(update)) {
            records.take(update, now);
            out.steps = update.steps;
            for (const live::RunReply& reply : update.replies)
                if (!reply.accepted || reply.request == live::RunRequest::checkpoint)
                    out.replies << QString::fromStdString(reply.message);
            changed = true;
            if (update.description) {
                if (update.description->scenarioJson != predictedText) {
                    predictedText = update.description->scenarioJson;
                    prediction = out.prediction = predict(predictedText, m_catalogue, measured ? &*measured : nullptr);
                }
                shown = {};
            }
        }
        if (calibrated && !predictedText.empty()) {
            prediction = out.prediction = predict(predictedText, m_catalogue, &*measured);
            shown = {}; // its differences are others now
            changed = true;
        }
        if (end && !endedAt)
            endedAt = now;
        const bool lastWordsCame = endedAt && (now - *endedAt >= kLastWords || live::hasEnded(records.state().status));

        // A picture is prepared when the one before has been taken, so that a slow window is not flooded.
        if (records.isKnown() && delivered && now - lastPicture >= kBetweenPictures) {
            const LiveRecords::Choice wanted = !pinned                ? records.newest(now)
                                               : records.has(*pinned) ? records.choice(*pinned, now)
                                                                      : LiveRecords::Choice{*pinned, true, 0};
            if (wanted.step >= 0 && !(wanted == shown)) {
                out.picture = records.has(wanted.step) ? records.picture(wanted, prediction.get())
                                                       : records.pictureOf(wanted.step, spansOf(wanted.step), prediction.get());
                shown = wanted;
                lastPicture = now;
                changed = true;
            }
        }

        if (!failure.isEmpty())
            out.status = {LivePhase::cannotStart, tr("The training could not be started"), failure};
        else
            out.status = statusOf({.viewer = m_viewer->state(),
                                   .records = records,
                                   .end = lastWordsCame ? end : std::nullopt,
                                   .own = m_worker != nullptr,
                                   .endpoint = QString::fromStdString(m_viewer->endpoint()),
                                   .sinceStart = std::chrono::duration_cast<milliseconds>(now - begin)});
        changed = changed || !(out.status == told);
        told = out.status;

        if (changed) {
            out.run = records.run();
            out.ranks = records.ranks();
            out.state = records.state();
            out.missed = records.missed();
            const std::lock_guard lock(m_mutex);
            if (m_update) { // not taken yet: what came before is still news
                out.steps.insert(out.steps.begin(), m_update->steps.begin(), m_update->steps.end());
                out.replies = m_update->replies + out.replies;
                if (!out.picture)
                    out.picture = m_update->picture;
                if (!out.prediction)
                    out.prediction = m_update->prediction;
            }
            m_update = std::move(out);
            QMetaObject::invokeMethod(this, "deliver", Qt::QueuedConnection);
        }
        if (!savePath.isEmpty())
            save(savePath);
        // So often is enough for eyes; what comes meanwhile is taken together.
        std::unique_lock lock(m_mutex);
        m_wake.wait_for(lock, stop, kBetweenUpdates, [] { return false; });
        if (stop.stop_requested())
            return;
    }
}

std::vector<live::RankSpan> LiveRun::spansOf(int step) const
{
    try {
        return m_viewer->history().spans({step, step});
    } catch (const sim::Error&) { // a broken block: as good as none
        return {};
    }
}

void LiveRun::save(const QString& path)
{
    QString problem;
    try {
        if (!m_viewer)
            throw sim::Error("there is no run");
        sim::saveTrace(live::makeTrace(m_viewer->history()), path.toStdString());
    } catch (const std::exception& error) {
        problem = QString::fromUtf8(error.what());
    }
    const std::lock_guard lock(m_mutex);
    m_saved = path;
    m_saveProblem = problem;
    QMetaObject::invokeMethod(this, "deliver", Qt::QueuedConnection);
}

void LiveRun::deliver()
{
    std::optional<LiveUpdate> update;
    QString saved, problem;
    {
        const std::lock_guard lock(m_mutex);
        update = std::exchange(m_update, std::nullopt);
        saved = std::exchange(m_saved, QString());
        problem = std::exchange(m_saveProblem, QString());
    }
    if (!saved.isEmpty()) {
        if (problem.isEmpty())
            emit traceSaved(saved);
        else
            emit traceNotSaved(problem);
    }
    if (update) {
        m_status = update->status;
        emit updated(*update);
    }
}

} // namespace app
