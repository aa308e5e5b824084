// A recorded run off the window's thread: what comes of files, folders and what is no recording at all.
#include "app/session/recorded_run.h"
#include "app/session/trace_file.h"
#include "sim/recovery/step_trace.h"
#include "sim/scenario/document.h"
#include "sim/trace/export.h"
#include "tests/app/session/session_fixtures.h"

#include <QDir>
#include <QFile>
#include <QPointer>
#include <QTemporaryDir>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace app {
namespace {

using namespace test;

QString golden(const char* name)
{
    return QStringLiteral(RANKSCOPE_TEST_DATA "/kineto/") + QLatin1String(name);
}

void write(const QString& path, const QByteArray& text)
{
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(text);
}

class RecordedRunTest : public testing::Test {
protected:
    /// Eight ranks of which the fifth computes slower by two fifths, as this program writes them.
    void SetUp() override
    {
        sim::Scenario planted = scenario(document(kTiny));
        planted.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = 5, .factor = 1.4});
        text = sim::resolvedText(planted);
        path = folder.filePath(QStringLiteral("run.json"));
        sim::saveTrace(sim::simulate(planted, {.full = true})->trace(sim::TraceDetail::kernels), path.toStdString());
    }
    std::unique_ptr<RecordedRun> open(const QStringList& paths)
    {
        auto run = std::make_unique<RecordedRun>(paths, catalogue(), PrepareFunction());
        connections(*run);
        return run;
    }
    void connections(RecordedRun& run)
    {
        QObject::connect(&run, &RecordedRun::notRead, [this](const QString& why) { notRead = why; });
        QObject::connect(&run, &RecordedRun::failed,
                         [this](const QString& what, const QString& why) { failed = what + ": " + why; });
        QObject::connect(&run, &RecordedRun::cancelled, [this] { ++cancelled; });
        QObject::connect(&run, &RecordedRun::progressed, [this](const QString&, double) { ++progressed; });
    }
    std::unique_ptr<RecordedRun> read(const QStringList& paths)
    {
        auto run = open(paths);
        EXPECT_TRUE(waitFor([&] { return !run->isReading() && !run->isBusy(); }));
        return run;
    }
    const QTemporaryDir folder;
    QString path, notRead, failed;
    std::string text;
    int cancelled = 0, progressed = 0;
};

/// Dumps of NCCL's flight recorder without an entry: how far each of three ranks has come in their group.
TEST_F(RecordedRunTest, CountsAloneTellWhoHasNotComeToWhat)
{
    const QDir dumps(folder.filePath(QStringLiteral("dumps")));
    ASSERT_TRUE(dumps.mkpath(QStringLiteral(".")));
    for (int rank = 0; rank < 3; ++rank)
        write(dumps.filePath(QStringLiteral("rank_%1.json").arg(rank)),
              QStringLiteral(R"({"version": "2.4", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}},
                                 "pg_status": {"0": {"last_enqueued_collective": %1, "last_started_collective": %1,
                                                     "last_completed_collective": 11}}, "entries": []})")
                  .arg(rank == 2 ? 11 : 12)
                  .toUtf8());
    const auto run = read({dumps.path()});
    ASSERT_TRUE(run->run()) << notRead.toStdString();
    EXPECT_EQ(run->run()->recording->spanCount(), 0U);
    const std::vector<sim::RunFinding>& findings = run->run()->answers.findings;
    ASSERT_FALSE(findings.empty());
    EXPECT_EQ(findings.front().kind, "hang");
    EXPECT_THAT(findings.front().title, testing::HasSubstr("Call 12 of group default_pg"));
    EXPECT_EQ(findings.front().ranks, std::vector<int>{2}) << "it has asked for eleven";
}

TEST_F(RecordedRunTest, OfOurOwnWritersIsRecoveredAndNamesThePlantedRank)
{
    const auto run = read({path});
    ASSERT_TRUE(run->run()) << notRead.toStdString();
    EXPECT_GT(progressed, 0);
    const sim::Recovered& recovered = run->run()->recovered;
    EXPECT_EQ(recovered.axes.sizeOf("tp"), 2);
    EXPECT_EQ(recovered.axes.sizeOf("pp"), 2);
    EXPECT_EQ(recovered.axes.sizeOf("dp"), 2);
    ASSERT_TRUE(run->run()->grid) << run->run()->whyNoGrid.toStdString();
    EXPECT_EQ(run->run()->grid->mesh().coordinates(5).tp, 1);
    ASSERT_GE(run->run()->answers.arrivals.straggler, 0);
    EXPECT_EQ(run->run()->answers.arrivals.straggler, 5);

    run->showStep(0, RecordedRows::streams);
    ASSERT_TRUE(waitFor([&] { return run->picture() != nullptr; }));
    const RecordedStepPicture& picture = *run->picture();
    ASSERT_EQ(picture.ranks.size(), 8U);
    for (const MeasuredRank& rank : picture.ranks) {
        EXPECT_TRUE(rank.isRecorded);
        EXPECT_GT(rank.busy, 0);
    }
    EXPECT_NEAR(picture.ranks[5].againstPeers, 0.4, 0.01) << "against the others, not against a mean that it is part of";
    EXPECT_LT(picture.ranks[4].againstPeers, 0);
    EXPECT_EQ(picture.timeUse->processes.size(), 8U);
    EXPECT_EQ(picture.timeUse->tracks.size(), 8U);
    EXPECT_TRUE(picture.instants->action(0, picture.timeUse->endNs / 3) ||
                picture.instants->action(4, picture.timeUse->endNs / 3));
}

TEST_F(RecordedRunTest, OfHostsAloneSaysNothingOfWhatTheirGpusDid)
{
    const QString host = folder.filePath(QStringLiteral("host-0.json"));
    write(host, R"({"distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": [
        {"ph": "X", "pid": 1, "tid": 1, "cat": "user_annotation", "dur": 990, "name": "ProfilerStep#0", "ts": 0},
        {"ph": "X", "pid": 1, "tid": 1, "cat": "cpu_op", "dur": 300, "name": "aten::mm", "ts": 9}]})");
    const auto run = read({host});
    ASSERT_TRUE(run->run()) << notRead.toStdString();
    run->showStep(0, RecordedRows::timeUse);
    ASSERT_TRUE(waitFor([&] { return run->picture() != nullptr; }));
    ASSERT_EQ(run->picture()->ranks.size(), 1U);
    EXPECT_FALSE(run->picture()->ranks[0].isRecorded) << "a GPU of which nothing was recorded is not known to be 0.0 % busy";
}

TEST_F(RecordedRunTest, OfAnotherProfilerHasRanksFromContentAndFromTwoFilesOfEight)
{
    const auto run = read(
        {golden("worker0_step_12.1694128201545.pt.trace.json.gz"), golden("worker7_step_12.1694128201553.pt.trace.json.gz")});
    ASSERT_TRUE(run->run()) << notRead.toStdString();
    EXPECT_EQ(run->run()->recovered.evidence.ranks.size(), 2U);
    ASSERT_FALSE(run->run()->steps().steps.empty());
    run->showStep(0, RecordedRows::hostThreads);
    ASSERT_TRUE(waitFor([&] { return run->picture() != nullptr; })) << failed.toStdString();
    EXPECT_TRUE(run->picture()->hostThreads);
    const sim::Trace& trace = *run->picture()->streams;
    EXPECT_EQ(trace.processes.size(), 2U);
    std::set<sim::OpClass> classes;
    bool anyThread = false;
    for (const sim::Track& track : trace.tracks) {
        anyThread = anyThread || track.name.starts_with("thread");
        for (const std::uint32_t kind : track.kind)
            classes.insert(trace.kinds[kind].opClass);
    }
    EXPECT_TRUE(anyThread);
    EXPECT_TRUE(classes.contains(sim::OpClass::forward));
    EXPECT_TRUE(classes.contains(sim::OpClass::backward));
    EXPECT_TRUE(classes.contains(sim::OpClass::optimizer));
}

TEST_F(RecordedRunTest, PredictsTheRunAndCalibratesFromItWhenSomebodySaysWhatWasTrained)
{
    const auto run = read({path});
    ASSERT_TRUE(run->run());
    run->predict(QStringLiteral("tiny"), sim::resolvedText(scenario(document(kTiny))));
    ASSERT_TRUE(waitFor([&] { return run->prediction() != nullptr || !failed.isEmpty(); }));
    ASSERT_TRUE(run->prediction()) << failed.toStdString();
    const RecordedPrediction& prediction = *run->prediction();
    ASSERT_TRUE(prediction.calibration) << prediction.whyNotCalibrated.toStdString();
    EXPECT_EQ(prediction.scenario.layout.tp, 2);
    EXPECT_GT(prediction.calibration->measuredSeconds, prediction.calibration->predictedSeconds) << "one rank was slow";
    EXPECT_FALSE(prediction.calibration->kernels.empty());
}

TEST_F(RecordedRunTest, TakesAGridThatSomebodySaysAndRefusesOneOfAnotherWorld)
{
    const auto run = read({path});
    ASSERT_TRUE(run->run());
    const RecoveredRunPtr before = run->run();
    run->sayGrid(sim::namedGrid({{"tp", 3}, {"pp", 2}}));
    ASSERT_TRUE(waitFor([&] { return !failed.isEmpty(); }));
    EXPECT_THAT(failed.toStdString(), testing::HasSubstr("tp 3 · pp 2 are 6 ranks, and the recording is of 8"));
    EXPECT_EQ(run->run(), before);
    run->sayGrid(sim::namedGrid({{"tp", 4}, {"pp", 2}}));
    ASSERT_TRUE(waitFor([&] { return run->run() != before; }));
    EXPECT_EQ(run->run()->recovered.axes.sizeOf("tp"), 4);
    EXPECT_EQ(run->run()->grid->mesh().coordinates(3).tp, 3);
}

TEST_F(RecordedRunTest, ComparedWithItselfDiffersInNothing)
{
    const auto run = read({path});
    ASSERT_TRUE(run->run());
    std::optional<sim::RunDifference> difference;
    QObject::connect(run.get(), &RecordedRun::compared, [&](const QString&, const sim::RunDifference& of) { difference = of; });
    run->compareWith({path});
    ASSERT_TRUE(waitFor([&] { return difference || !failed.isEmpty(); }));
    ASSERT_TRUE(difference) << failed.toStdString();
    EXPECT_EQ(difference->verdict, sim::Verdict::alike);
    EXPECT_TRUE(difference->findings.empty());
}

TEST_F(RecordedRunTest, IsSavedAsOneTraceButNeverOverWhatWasRead)
{
    const auto run = read({path});
    ASSERT_TRUE(run->run());
    run->save(path);
    ASSERT_TRUE(waitFor([&] { return !failed.isEmpty(); }));
    EXPECT_THAT(failed.toStdString(), testing::HasSubstr("is one of the files that were read"));
    QString saved;
    QObject::connect(run.get(), &RecordedRun::saved, [&](const QString& to) { saved = to; });
    run->save(folder.filePath(QStringLiteral("again.pftrace")));
    ASSERT_TRUE(waitFor([&] { return !saved.isEmpty(); }));
    EXPECT_EQ(read({saved})->run()->recovered.axes.sizeOf("pp"), 2);
}

TEST_F(RecordedRunTest, OfACacheReadsSpansOnceSomebodyAsksAndOnlyOfTheSameFiles)
{
    auto first = read({path});
    first->keepCache();
    ASSERT_TRUE(waitFor([&] { return !first->isBusy(); }));
    ASSERT_TRUE(failed.isEmpty()) << failed.toStdString();
    auto cached = read({path});
    ASSERT_TRUE(cached->run()) << notRead.toStdString();
    ASSERT_TRUE(cached->run()->isDigest);
    EXPECT_FALSE(cached->mayKeepCache());
    cached->showStep(0, RecordedRows::streams); // and somebody thinks better of it while the run is read
    cached->showStep(0, RecordedRows::timeUse);
    ASSERT_TRUE(waitFor([&] { return !cached->isBusy(); }));
    ASSERT_TRUE(cached->picture()) << failed.toStdString();
    EXPECT_FALSE(cached->picture()->streams);
    cached->showStep(0, RecordedRows::streams);
    ASSERT_TRUE(waitFor([&] { return !cached->isBusy(); }));
    ASSERT_TRUE(cached->picture()->streams);
    EXPECT_GT(cached->picture()->streams->spanCount(), 0U);

    auto late = read({path});
    ASSERT_TRUE(late->run()) << notRead.toStdString();
    ASSERT_TRUE(late->run()->isDigest);
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::Append));
    file.write(" ");
    file.close();
    late->showStep(0, RecordedRows::streams);
    ASSERT_TRUE(waitFor([&] { return !late->isBusy(); }));
    EXPECT_THAT(failed.toStdString(), testing::HasSubstr("the files have changed since they were opened"));
    auto after = read({path}); // the cache is still there
    ASSERT_TRUE(after->run()) << notRead.toStdString();
    EXPECT_FALSE(after->isFromCache());
    EXPECT_THAT(after->run()->whyNotFromCache.toStdString(),
                testing::AllOf(testing::HasSubstr(".rankscope-cache: is of the files as they were: "),
                               testing::HasSubstr(" has changed; the files themselves were read")));
}

TEST_F(RecordedRunTest, WithoutSpansIsRefusedFromItsCacheToo)
{
    const QString empty = folder.filePath(QStringLiteral("empty.json"));
    write(empty, R"({"distributedInfo": {"rank": 0, "world_size": 2}, "traceEvents": []})");
    const std::vector<std::filesystem::path> files{empty.toStdString()};
    const sim::CachedReading plain = sim::readRecordingOrCache(files);
    const sim::Recovered recovered = sim::recover(plain.recording);
    const sim::RunAnswers answers = sim::answersOf(plain.recording, recovered, catalogue());
    sim::keepCache(plain.recording, plain.origin, files, {},
                   {{std::string(sim::kDigestName), sim::digestBytes(recovered, answers, {})}});
    EXPECT_FALSE(read({empty})->run());
    EXPECT_THAT(notRead.toStdString(), testing::HasSubstr("holds no span"));
}

/// Flight recorders' dumps with entries that never ended and no others.
TEST_F(RecordedRunTest, OfAJobThatStandsStillOpensWithWhereItStands)
{
    QDir(folder.path()).mkdir(QStringLiteral("dumps"));
    for (const int rank : {0, 1, 2}) {
        const QByteArray entry =
            R"({"record_id":0,"pg_id":0,"process_group":["0","default_pg"],"collective_seq_id":8,"p2p_seq_id":0,)"
            R"("profiling_name":"nccl:all_reduce","time_created_ns":1700000000000000000,"input_sizes":[[4]],"input_dtypes":["Float"],)"
            R"("output_sizes":[[4]],"state":"scheduled","time_discovered_started_ns":null,"time_discovered_completed_ns":null,)"
            R"("retired":false,"is_p2p":false})";
        const QByteArray asked = rank == 2 ? "7" : "8";
        write(folder.filePath(QStringLiteral("dumps/dump_rank_%1.json").arg(rank)),
              R"({"version":"2.9","pg_config":{"0":{"name":"0","desc":"default_pg","ranks":"[0, 1, 2]"}},"pg_status":{"0":{)"
              R"("last_enqueued_collective":)" +
                  asked + R"(,"last_started_collective":-1,"last_completed_collective":7}},"entries":[)" +
                  (rank == 2 ? QByteArray() : entry) + "]}");
    }
    const auto run = read({folder.filePath(QStringLiteral("dumps"))});
    ASSERT_TRUE(run->run()) << notRead.toStdString();
    ASSERT_FALSE(run->run()->answers.findings.empty());
    EXPECT_EQ(run->run()->answers.findings[0].title,
              "All-reduce 8 of group default_pg waits for rank 2, which has not come to it");
    EXPECT_TRUE(run->run()->steps().steps.empty());
}

TEST_F(RecordedRunTest, SaysInWordsWhatIsWrongWithHostileFiles)
{
    const QString empty = folder.filePath(QStringLiteral("empty"));
    ASSERT_TRUE(QDir().mkpath(empty));
    EXPECT_FALSE(read({empty})->run());
    EXPECT_THAT(notRead.toStdString(), testing::EndsWith("is a folder without files"));

    const QString words = folder.filePath(QStringLiteral("words.txt"));
    write(words, "Dear profiler,\n");
    EXPECT_FALSE(read({words})->run());
    EXPECT_THAT(notRead.toStdString(), testing::HasSubstr("is no trace that is known"));

    EXPECT_FALSE(read({folder.filePath(QStringLiteral("missing.json"))})->run());
    EXPECT_THAT(notRead.toStdString(), testing::HasSubstr("there is no such file or folder"));

    const QString nothing = folder.filePath(QStringLiteral("nothing.json"));
    write(nothing, R"({"traceEvents":[{"ph":"X","ts":1,"dur":-5,"pid":-1,"tid":1,"name":"x"})");
    EXPECT_FALSE(read({nothing})->run()) << "dashes on a page would look as if something had been measured";
    EXPECT_THAT(notRead.toStdString(), testing::HasSubstr("none of its 1 event can be read"));

    QFile whole(path);
    ASSERT_TRUE(whole.open(QIODevice::ReadOnly));
    const QString cut = folder.filePath(QStringLiteral("cut.json"));
    write(cut, whole.readAll().left(static_cast<int>(whole.size() / 2)));
    const auto kept = read({cut});
    ASSERT_TRUE(kept->run()) << notRead.toStdString();
    std::string problems;
    for (const std::string& problem : kept->run()->recording->problems)
        problems += problem + "\n";
    EXPECT_THAT(problems, testing::HasSubstr("byte"));
    EXPECT_GT(kept->run()->recording->spanCount(), 0U);
}

TEST_F(RecordedRunTest, CancelledTellsNothingMoreAndLeavesNoRun)
{
    const QString many = folder.filePath(QStringLiteral("many"));
    ASSERT_TRUE(QDir().mkpath(many));
    for (int i = 0; i < 24; ++i)
        QFile::copy(path, many + QStringLiteral("/rank%1.json").arg(i));
    const auto run = open({many});
    run->cancel();
    EXPECT_EQ(cancelled, 1);
    EXPECT_FALSE(run->isReading());
    EXPECT_TRUE(waitFor([&] { return !run->isBusy(); }));
    EXPECT_FALSE(run->run());
    EXPECT_TRUE(notRead.isEmpty());
}

TEST_F(RecordedRunTest, GivenUpGoesByItselfOnceItsThreadRests)
{
    auto run = open({path});
    const QPointer<RecordedRun> still = run.get();
    RecordedRun::giveUp(std::move(run));
    ASSERT_TRUE(waitFor([&] { return still.isNull(); }));
    EXPECT_TRUE(notRead.isEmpty());
}

TEST_F(RecordedRunTest, IsToldFromScenariosAndLessonsByItsFirstBytes)
{
    EXPECT_TRUE(isTrace(path));
    EXPECT_TRUE(isTrace(folder.path()));
    EXPECT_TRUE(isTrace(golden("sampled_rank-0.json.gz")));
    EXPECT_FALSE(isTrace(galleryFile(kTiny)));
    EXPECT_FALSE(isTrace(QStringLiteral(RANKSCOPE_SOURCE_DIR "/README.md")));
    EXPECT_FALSE(isTrace(QStringLiteral("/no/such/file")));
    for (const QString& lesson :
         QDir(QStringLiteral(RANKSCOPE_SOURCE_DIR "/assets/lessons")).entryList({QStringLiteral("*.json")}))
        EXPECT_FALSE(isTrace(QStringLiteral(RANKSCOPE_SOURCE_DIR "/assets/lessons/") + lesson)) << lesson.toStdString();
    EXPECT_EQ(traceName({QStringLiteral("/runs/friday/")}), QStringLiteral("friday"));
    EXPECT_EQ(traceName({QStringLiteral("/a/x.json"), QStringLiteral("/a/y.json"), QStringLiteral("/a/z.json")}),
              QStringLiteral("x.json and 2 others"));
}

} // namespace
} // namespace app
