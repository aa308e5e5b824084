// Runs that are watched: what is told and kept when they end well, crash, cannot start, refuse or are not there.
#include "app/session/live_run.h"

#include "live/stream/publisher.h"
#include "sim/cancel.h"
#include "sim/simulate/simulation.h"
#include "sim/trace/time_use.h"
#include "tests/app/session/session_fixtures.h"
#include "tests/live/stream/run_for_tests.h"

#include <QCoreApplication>
#include <QFile>
#include <QFileInfo>
#include <QTemporaryDir>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <new>
#include <thread>

namespace app {
namespace {

using namespace test;

/// What a run told, all updates together.
struct Told {
    LiveStatus status;
    std::map<int, live::StepSummary> steps;
    StepPicturePtr picture;
    PredictionPtr prediction;
    std::vector<RankReading> ranks;
    explicit Told(LiveRun& run)
    {
        QObject::connect(&run, &LiveRun::updated, [this](const LiveUpdate& update) {
            status = update.status;
            for (const live::StepSummary& step : update.steps)
                steps[step.step] = step;
            if (update.picture)
                picture = update.picture;
            if (update.prediction)
                prediction = update.prediction;
            ranks = update.ranks;
        });
    }
    bool waitForPhase(LivePhase phase)
    {
        return waitFor([&] { return status.phase == phase; });
    }
};

/// A program that does as the shell script says.
class TrainingProgram {
public:
    explicit TrainingProgram(const QByteArray& script)
    {
        QFile file(path());
        if (!file.open(QIODevice::WriteOnly))
            throw std::runtime_error("no file");
        file.write("#!/bin/sh\n" + script);
        file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    }
    QString path() const { return m_folder.filePath(QStringLiteral("worker")); }

private:
    QTemporaryDir m_folder;
};

sim::Scenario tiny()
{
    return scenario(document(kTiny));
}

AttachOptions to(const live::Publisher& publisher)
{
    return {.endpoint = QString::fromStdString(publisher.endpoint()), .keys = {}, .silence = std::chrono::milliseconds(2000)};
}

TEST(LiveRun, AStepThatCannotBeDrawnSaysWhyAndTheOthersCan)
{
    ::test::Run run;
    run.collector->setStatus(live::RunStatus::running);
    run.train(1, 2);
    const live::Publisher publisher(*run.collector, {.interval = std::chrono::milliseconds(5)});
    LiveRun watched(to(publisher), catalogue(), nullptr, [](const StepRecords& records, const Prediction* prediction) {
        if (records.step == 2)
            throw std::bad_alloc();
        if (records.step == 4)
            throw 42;
        return makeStepPicture(records, prediction);
    });
    Told told(watched);
    ASSERT_TRUE(waitFor([&] { return told.picture && told.picture->step == 2; }));
    EXPECT_TRUE(told.picture->wall.problem.contains(QStringLiteral("memory"))) << told.picture->wall.problem.toStdString();
    EXPECT_EQ(told.status.phase, LivePhase::training);
    run.train(3, 2);
    ASSERT_TRUE(waitFor([&] { return told.picture->step == 4; }));
    EXPECT_FALSE(told.picture->wall.problem.isEmpty());
    run.train(5, 1);
    ASSERT_TRUE(waitFor([&] { return told.picture->step == 5 && told.picture->wall.timeUse; }));
    EXPECT_EQ(told.steps.size(), 5U);
}

TEST(LiveRun, ItsEndIsSafeWhileAPictureIsPrepared)
{
    constexpr int kRounds = 40;
    ::test::Run run;
    run.collector->setStatus(live::RunStatus::running);
    run.train(1, 3);
    const live::Publisher publisher(*run.collector, {.interval = std::chrono::milliseconds(2)});
    for (int round = 0; round < kRounds; ++round) {
        std::atomic<int> begun{0};
        {
            LiveRun watched(to(publisher), catalogue(), nullptr, [&](const StepRecords& records, const Prediction* prediction) {
                ++begun;
                const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(500 * (round % 8));
                StepPicturePtr picture;
                do
                    picture = makeStepPicture(records, prediction);
                while (std::chrono::steady_clock::now() < until);
                return picture;
            });
            Told told(watched);
            if (round % 4 != 3) { // else it goes before anything has come
                ASSERT_TRUE(waitFor([&] { return begun > 0; }));
            }
            std::this_thread::sleep_for(std::chrono::microseconds(100 * round));
        }
        const int before = begun;
        QCoreApplication::processEvents();
        EXPECT_EQ(begun, before) << "nothing is prepared any more";
    }
}

TEST(LiveRun, ItsEndIsSafeWhileItsWorkerStarts)
{
    const TrainingProgram worker("exec sleep 60\n");
    for (int round = 0; round < 12; ++round) {
        LiveRun run(LaunchOptions{.scenario = tiny(), .program = worker.path()}, catalogue());
        std::this_thread::sleep_for(std::chrono::milliseconds(round));
        if (round % 2 == 0)
            QCoreApplication::processEvents();
    }
}

TEST(LiveRun, ClosingDoesNotWaitForAPicture)
{
    ::test::Run run;
    run.collector->setStatus(live::RunStatus::running);
    run.train(1, 2);
    const live::Publisher publisher(*run.collector, {.interval = std::chrono::milliseconds(5)});
    std::atomic<bool> begun{false};
    {
        LiveRun watched(to(publisher), catalogue(), nullptr, [&](const StepRecords&, const Prediction*) -> StepPicturePtr {
            begun = true;
            while (true) { // as long as nobody says that it is not wanted
                sim::checkCancelled();
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
        });
        ASSERT_TRUE(waitFor([&] { return begun.load(); }));
    }
    SUCCEED();
}

TEST(LiveRun, ALateViewerGetsWhatWasBeforeIt)
{
    ::test::Run run;
    run.collector->setStatus(live::RunStatus::running);
    run.train(1, 5);
    const live::Publisher publisher(*run.collector, {.interval = std::chrono::milliseconds(5)});
    LiveRun watched(to(publisher), catalogue());
    Told told(watched);
    ASSERT_TRUE(waitFor([&] { return told.steps.size() == 5 && told.picture; }));
    EXPECT_EQ(told.status.phase, LivePhase::training);
    EXPECT_DOUBLE_EQ(told.steps[5].loss, 5.0);
    ASSERT_TRUE(waitFor([&] { return told.picture->step == 5 && told.picture->complete; }));
    EXPECT_EQ(told.picture->wall.timeUse->processes.size(), 4U);
    ASSERT_TRUE(told.prediction); // "{}" is no scenario: said, not thrown
    EXPECT_FALSE(told.prediction->problem.isEmpty());
}

/// A run of a newer version may say more of its scenario than this one knows.
TEST(LiveRun, IsPredictedWithoutKeysOfAnotherVersionWhichAreNamed)
{
    sim::ScenarioDocument newer = sim::ScenarioDocument::parse(sim::resolvedText(tiny()));
    newer.set("/training/of_tomorrow", "3");
    newer.set("/layout/also_new", "{\"deep\": true}");
    const PredictionPtr prediction = predict(newer.text(), catalogue());
    EXPECT_TRUE(prediction->problem.isEmpty()) << prediction->problem.toStdString();
    ASSERT_TRUE(prediction->simulation);
    EXPECT_EQ(prediction->simulation->metrics().stepTimeSeconds,
              sim::simulate(tiny(), {.full = true})->metrics().stepTimeSeconds);
    QStringList unknown = prediction->unknownKeys;
    unknown.sort();
    EXPECT_EQ(unknown, QStringList({QStringLiteral("layout.also_new"), QStringLiteral("training.of_tomorrow")}));
    EXPECT_TRUE(predict(sim::resolvedText(tiny()), catalogue())->unknownKeys.isEmpty());

    newer.set("/layout/tp", "7");
    EXPECT_FALSE(predict(newer.text(), catalogue())->problem.isEmpty()) << "what is wrong beside them is";
}

TEST(LiveRun, AFrozenPictureStaysWhileStepsGoOnArriving)
{
    ::test::Run run;
    run.collector->setStatus(live::RunStatus::running);
    run.train(1, 3);
    const live::Publisher publisher(*run.collector, {.interval = std::chrono::milliseconds(5)});
    LiveRun watched(to(publisher), catalogue());
    Told told(watched);
    ASSERT_TRUE(waitFor([&] { return told.picture && told.picture->step == 3; }));
    watched.pin(2);
    ASSERT_TRUE(waitFor([&] { return told.picture->step == 2; }));
    run.train(4, 20);
    ASSERT_TRUE(waitFor([&] { return told.steps.size() == 23; }));
    EXPECT_EQ(told.picture->step, 2);
    ASSERT_TRUE(waitFor([&] { return told.picture->wall.waits.waits != nullptr; })) << told.picture->wall.waits.whyNone;
    watched.pin(std::nullopt);
    ASSERT_TRUE(waitFor([&] { return told.picture->step == 23; }));
    watched.pin(1); // long gone from the newest steps, still in the history
    ASSERT_TRUE(waitFor([&] { return told.picture->step == 1 && told.picture->wall.timeUse; }));
}

TEST(LiveWaits, AreThoseThatARecordingOfTheStepHas)
{
    const sim::Scenario job = tiny();
    const auto simulation = sim::simulate(job, {.full = true});
    const sim::Trace trace = simulation->trace(sim::TraceDetail::kernels);
    const LiveWaits found = liveWaits(trace);
    ASSERT_TRUE(found.waits) << found.whyNone;
    const int last = job.layout.worldSize() - 1; // of the last stage, which waits for its first forward
    const auto wait = found.waits->longestIn(static_cast<std::uint32_t>(last), 0, trace.endNs);
    ASSERT_TRUE(wait);
    EXPECT_GE(wait->gap.beginNs, 0);
    EXPECT_LE(wait->gap.endNs, trace.endNs);
    const std::vector<std::string> lines = found.waits->lines(*wait);
    ASSERT_GE(lines.size(), 2U);
    EXPECT_NE(lines[1].find("pp 0"), std::string::npos) << lines[0] << "\n" << lines[1];
}

TEST(LiveRun, TheEndIsToldAndLosesNothing)
{
    ::test::Run run;
    run.collector->setStatus(live::RunStatus::running);
    run.train(1, 4);
    auto publisher = std::make_unique<live::Publisher>(*run.collector, live::PublishOptions{});
    LiveRun watched(to(*publisher), catalogue());
    Told told(watched);
    ASSERT_TRUE(waitFor([&] { return told.steps.size() == 4; }));
    run.collector->setStatus(live::RunStatus::finished);
    publisher.reset();
    ASSERT_TRUE(told.waitForPhase(LivePhase::finished));
    EXPECT_EQ(told.steps.size(), 4U);
    QTemporaryDir folder;
    QString saved;
    QObject::connect(&watched, &LiveRun::traceSaved, [&](const QString& path) { saved = path; });
    watched.saveTrace(folder.filePath(QStringLiteral("run.pftrace")));
    ASSERT_TRUE(waitFor([&] { return !saved.isEmpty(); }));
    EXPECT_GT(QFileInfo(saved).size(), 200);
}

TEST(LiveRun, AWrongKeyIsRefusedInWords)
{
    ::test::Run run;
    const live::KeyPair server = live::makeKeyPair(), friendly = live::makeKeyPair(), stranger = live::makeKeyPair();
    const live::Publisher publisher(*run.collector,
                                    {.keys = live::ServerKeys{.own = server, .allowedViewers = {friendly.publicKey}}});
    AttachOptions options = to(publisher);
    options.keys = live::ViewerKeys{server.publicKey, stranger};
    LiveRun watched(options, catalogue());
    Told told(watched);
    ASSERT_TRUE(told.waitForPhase(LivePhase::refused));
    EXPECT_TRUE(told.status.detail.contains(QStringLiteral("key"))) << told.status.detail.toStdString();
}

TEST(LiveRun, ALostConnectionSaysOnceWhatIsKept)
{
    ::test::Run run;
    run.collector->setStatus(live::RunStatus::running);
    const live::Publisher publisher(*run.collector, {.interval = std::chrono::milliseconds(500)});
    AttachOptions options = to(publisher);
    options.silence = std::chrono::milliseconds(1); // it says less often that it is there
    LiveRun watched(options, catalogue());
    Told told(watched);
    ASSERT_TRUE(told.waitForPhase(LivePhase::lost));
    EXPECT_EQ(told.status.detail.count(QStringLiteral("All that was received is kept")), 1) << told.status.detail.toStdString();
}

TEST(LiveRun, NobodyAtTheAddressIsTold)
{
    LiveRun watched(AttachOptions{.endpoint = QStringLiteral("tcp://127.0.0.1:9"), .keys = {}}, catalogue());
    Told told(watched);
    ASSERT_TRUE(waitFor([&] { return told.status.detail.contains(QStringLiteral("Nobody answers")); }));
    EXPECT_EQ(told.status.phase, LivePhase::starting);
    LiveRun wrong(AttachOptions{.endpoint = QStringLiteral("nonsense"), .keys = {}}, catalogue());
    Told toldWrong(wrong);
    EXPECT_TRUE(toldWrong.waitForPhase(LivePhase::cannotStart));
    EXPECT_FALSE(toldWrong.status.headline.contains(QStringLiteral("training"))) << "nothing was to be started";
}

TEST(LiveRun, AWorkerThatCannotStartSaysWhy)
{
    const TrainingProgram worker("echo 'ipc:///x/run: address already in use' >&2\nexit 1\n");
    LiveRun run(LaunchOptions{.scenario = tiny(), .program = worker.path()}, catalogue());
    Told told(run);
    ASSERT_TRUE(told.waitForPhase(LivePhase::cannotStart));
    EXPECT_TRUE(told.status.detail.contains(QStringLiteral("address already in use"))) << told.status.detail.toStdString();
    LiveRun none(LaunchOptions{.scenario = tiny(), .program = QStringLiteral("/no/such/rankscope-live")}, catalogue());
    Told toldNone(none);
    ASSERT_TRUE(toldNone.waitForPhase(LivePhase::cannotStart));
    EXPECT_TRUE(toldNone.status.detail.contains(QStringLiteral("/no/such/rankscope-live")));
}

TEST(LiveRun, ThePredictionIsThereBeforeTheFirstStep)
{
    const TrainingProgram worker("sleep 60\n");
    LiveRun run(LaunchOptions{.scenario = tiny(), .program = worker.path()}, catalogue());
    Told told(run);
    ASSERT_TRUE(waitFor([&] { return told.prediction && told.prediction->simulation; }));
    EXPECT_EQ(told.prediction->timeUse->processes.size(), static_cast<std::size_t>(tiny().layout.worldSize()));
    EXPECT_EQ(told.status.phase, LivePhase::starting);
}

/// What other programs take of a machine is told beside any run that trains on it, attached or started here.
TEST(LiveRun, TheProcessThatTrainsIsKnownWhereItTrainsHere)
{
    live::RunDescription run = live::describeHere();
    EXPECT_EQ(processHere(run), QCoreApplication::applicationPid());
    run.host = "node7";
    EXPECT_EQ(processHere(run), 0);
}

TEST(LiveRun, NoProcessStaysBehindEvenIfItDoesNotListen)
{
    qint64 process = 0;
    {
        const TrainingProgram worker("trap '' TERM\nwhile true; do sleep 0.1; done\n");
        const LiveRun run(LaunchOptions{.scenario = tiny(), .program = worker.path()}, catalogue());
        process = run.workerId();
        ASSERT_GT(process, 0);
        ASSERT_EQ(::kill(static_cast<pid_t>(process), 0), 0);
    }
    EXPECT_NE(::kill(static_cast<pid_t>(process), 0), 0);
}

TEST(StepPicture, OfAStepInPartSaysHowMuchCameInWords)
{
    const ::test::SmallKinds kinds;
    const std::vector<sim::SpanKind> known = kinds.all.from();
    const live::RunDescription run = ::test::smallRun(2);
    const std::vector<live::RankSpan> spans = {
        {0, ::test::computeSpan(kinds, 0, 100, 7)},
        {0, ::test::commSpan(live::SpanTrack::tp, kinds.allReduce, 100, 110, 150, 485'331'305'493, 7)},
        {1, ::test::computeSpan(kinds, 0, 100, 7)}};
    const StepPicturePtr picture =
        makeStepPicture({.run = run, .kinds = known, .spans = spans, .memory = {}, .step = 7, .complete = true}, nullptr);
    EXPECT_TRUE(picture->wall.timeUse);
    EXPECT_FALSE(picture->parallel.timeUse);
    const QString why = picture->parallel.problem;
    EXPECT_TRUE(why.startsWith(QStringLiteral("only a part of step 7 came: 1 of 2 ranks"))) << why.toStdString();
    EXPECT_FALSE(why.contains(QStringLiteral("485331305493"))) << why.toStdString();
}

TEST(StepPicture, EveryInstantCountsOnce)
{
    sim::Trace trace;
    trace.processes = {{.rank = 0, .name = "rank 0"}};
    trace.kinds = {{.name = "0F", .opClass = sim::OpClass::forward, .stage = 0},
                   {.name = "mlp", .opClass = sim::OpClass::forward, .stage = 0},
                   {.name = "all-reduce", .opClass = sim::OpClass::tpComm, .group = "tp"},
                   {.name = "wait tp", .opClass = sim::OpClass::other, .group = "tp"}};
    const auto track = [](const char* name, sim::TrackRole role) { return sim::Track{.process = 0, .name = name, .role = role}; };
    const auto add = [](sim::Track& t, std::int64_t from, std::int64_t to, std::uint32_t kind, std::int32_t microbatch) {
        t.startNs.push_back(from);
        t.durationNs.push_back(to - from);
        t.kind.push_back(kind);
        t.microbatch.push_back(microbatch);
    };
    trace.tracks = {track("actions", sim::TrackRole::actions), track("compute", sim::TrackRole::compute),
                    track("tp comm", sim::TrackRole::communication)};
    add(trace.tracks[0], 0, 1'000'000, 0, 3);
    add(trace.tracks[1], 0, 400'000, 1, 3);
    add(trace.tracks[1], 700'000, 1'000'000, 1, 3);
    add(trace.tracks[2], 300'000, 500'000, 3, 3); // waits from within the kernel on
    add(trace.tracks[2], 500'000, 800'000, 2, 3); // and transfers into the next
    trace.endNs = 1'000'000;
    const sim::Trace use = timeUseTrace(trace);
    ASSERT_EQ(use.tracks.size(), 1U);
    const sim::Track& row = use.tracks[0];
    EXPECT_EQ(row.kind, (std::vector<std::uint32_t>{0, 3, 2, 0})); // kernels go by their action's name
    EXPECT_EQ(row.startNs, (std::vector<std::int64_t>{0, 400'000, 500'000, 700'000}));
    EXPECT_EQ(row.durationNs, (std::vector<std::int64_t>{400'000, 100'000, 200'000, 300'000}));
    EXPECT_EQ(row.microbatch.front(), 3);
}

} // namespace
} // namespace app
