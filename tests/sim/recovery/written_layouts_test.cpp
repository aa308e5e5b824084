// Simulated steps through trace files and back: the grid and the schedule must be those of the scenario, in either format, of
// every rank or of one that stands for those alike.
#include "sim/recovery/arrivals.h"
#include "sim/recovery/from_recording.h"
#include "sim/recovery/recover.h"

#include "sim/simulate/simulation.h"
#include "sim/trace/export.h"
#include "sim/trace/readers/read_recording.h"

#include "tests/support/recovered_schedule.h"
#include "tests/support/scenarios.h"
#include "tests/support/tries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace {

std::string writtenGridText(const sim::Scenario& scenario, const sim::Mesh& mesh)
{
    std::string text;
    const auto add = [&](const char* name, sim::ProcessGroup group) {
        if (mesh.groupSize(group) > 1)
            text += std::string(name) + " " + std::to_string(mesh.groupSize(group)) + " by " +
                    std::to_string(mesh.member(group, 0, 1) - mesh.member(group, 0, 0)) + "; ";
    };
    add("tp", sim::ProcessGroup::tp);
    add("cp", sim::ProcessGroup::cp);
    add("dp", sim::ProcessGroup::dp);
    add("pp", sim::ProcessGroup::pp);
    if (scenario.model.numExperts > 0)
        add("ep", sim::ProcessGroup::ep);
    return text;
}

std::string writtenGridText(const sim::RecoveredAxes& axes)
{
    std::string text;
    for (const char* name : {"tp", "cp", "dp", "pp", "ep"})
        if (const sim::RecoveredAxis* axis = axes.find(name)) {
            text += std::string(name) + " " + std::to_string(axis->size) + " by " + std::to_string(axis->stride) + "; ";
            EXPECT_EQ(axis->sure, 1) << axis->evidence;
        }
    return text;
}

class WrittenLayouts : public testing::TestWithParam<bool> {};

TEST_P(WrittenLayouts, ComeBackFromEitherFormat)
{
    const bool full = GetParam();
    const std::filesystem::path folder =
        std::filesystem::path(testing::TempDir()) / (full ? "written_layouts_full" : "written_layouts_folded");
    std::filesystem::create_directories(folder);
    std::mt19937 random(test::seed(31));
    int jobs = 0, grids = 0, pipelines = 0, kinds = 0, orders = 0;
    while (jobs < 60) {
        const sim::Scenario scenario = test::randomScenario(random, full ? 16 : 64);
        if (scenario.layout.worldSize() < 2)
            continue;
        SCOPED_TRACE(test::describe(scenario));
        const auto simulation = sim::simulate(scenario, {.full = full});
        const std::filesystem::path path = folder / (jobs % 2 == 0 ? "step.json" : "step.pftrace");
        // Kernels make long files: of a part they are looked at, of the others actions.
        sim::saveTrace(simulation->trace(jobs % 6 < 2 ? sim::TraceDetail::kernels : sim::TraceDetail::actions), path);
        ++jobs;
        const sim::Recovered recovered = sim::recover(sim::readRecording({path}));
        const std::string expected = writtenGridText(scenario, simulation->mesh()), found = writtenGridText(recovered.axes);
        EXPECT_EQ(found, expected);
        grids += found == expected ? 1 : 0;
        EXPECT_EQ(recovered.steps.steps.size(), 1U) << recovered.steps.evidence;
        EXPECT_TRUE(recovered.clock.isAligned);
        EXPECT_EQ(recovered.evidence.worldSize, scenario.layout.worldSize());
        if (scenario.layout.pp == 1)
            continue;
        ++pipelines;
        kinds += test::isRecognised(recovered.schedule, scenario.schedule.kind) ? 1 : 0;
        orders += test::isSameOrder(recovered.schedule, simulation->schedule()) ? 1 : 0;
    }
    std::filesystem::remove_all(folder);
    std::printf("[ rates    ] %d layouts through files: grid exact %d; %d pipelines: kind recognised %d, same order %d\n", jobs,
                grids, pipelines, kinds, orders);
    EXPECT_GE(kinds * 100, pipelines * 95);
    EXPECT_EQ(orders, pipelines);
}

INSTANTIATE_TEST_SUITE_P(Recorded, WrittenLayouts, testing::Values(false, true),
                         [](const auto& param) { return param.param ? "EveryRank" : "OneOfEachClass"; });

std::string strippedGridText(const sim::RecoveredAxes& axes)
{
    std::string text;
    for (const char* name : {"tp", "cp", "dp", "pp", "ep"})
        if (const sim::RecoveredAxis* axis = axes.find(name))
            text += std::string(name) + " " + std::to_string(axis->size) + " by " + std::to_string(axis->stride) + "; ";
    for (const sim::RecoveredAxis& axis : axes.axes)
        if (axis.name.empty())
            text += "? " + std::to_string(axis.size) + " by " + std::to_string(axis.stride) + "; ";
    return text;
}

/// A file without distributedInfo, whose ranks say no place: who meets whom, in what, is all that is left. `names`: groups keep
/// theirs.
int gridsWithoutInfo(bool names, int jobs, std::string& wrong)
{
    const std::filesystem::path path =
        std::filesystem::path(testing::TempDir()) / (names ? "without_info_named.json" : "without_info.json");
    std::mt19937 random(test::seed(names ? 5 : 6));
    int right = 0;
    for (int done = 0; done < jobs;) {
        const sim::Scenario scenario = test::randomScenario(random, 16);
        if (scenario.layout.worldSize() < 2)
            continue;
        ++done;
        const auto simulation = sim::simulate(scenario, {.full = true});
        sim::saveTrace(simulation->trace(sim::TraceDetail::kernels), path);
        sim::Recording recording = sim::readRecording({path});
        recording.axes.clear();
        for (sim::RankRecording& rank : recording.ranks)
            rank.name = "rank " + std::to_string(rank.rank);
        for (sim::RecordedGroup& group : recording.groups) {
            group.ranks.clear();
            group.size = 0;
            if (!names)
                group.name = group.description = "";
        }
        const sim::Recovered recovered = sim::recover(recording);
        const std::string expected = writtenGridText(scenario, simulation->mesh()), found = strippedGridText(recovered.axes);
        right += found == expected ? 1 : 0;
        if (found != expected)
            wrong += test::describe(scenario) + "\n   is " + expected + "\n   found " + found + "\n";
    }
    std::filesystem::remove(path);
    std::printf("[ rates    ] %d files without distributedInfo, groups %s names: grid exact %d\n", jobs,
                names ? "with" : "without", right);
    return right;
}

TEST(FilesWithoutDistributedInfo, HaveTheirGridFromWhatGroupsAreCalled)
{
    std::string wrong;
    const int jobs = test::tries(40);
    EXPECT_EQ(gridsWithoutInfo(true, jobs, wrong), jobs) << wrong;
}

TEST(FilesWithoutDistributedInfo, HaveItFromWhatGoesOverThemToo)
{
    std::string wrong;
    const int jobs = test::tries(200);
    EXPECT_EQ(gridsWithoutInfo(false, jobs, wrong), jobs) << wrong;
}

TEST(NamesOfRanks, GiveTheGridOfFilesThatSayNoMore)
{
    sim::RunEvidence evidence;
    evidence.worldSize = 8;
    for (int rank = 0; rank < 8; ++rank)
        evidence.ranks.push_back(
            {.rank = rank, .coordinates = {{"dp", rank / 4}, {"pp", rank / 2 % 2}, {"cp", 0}, {"tp", rank % 2}}});
    const sim::Recovered recovered = sim::recover(evidence);
    EXPECT_EQ(recovered.axes.sizeOf("tp"), 1) << "not yet named";
    sim::Recording recording;
    for (int rank = 0; rank < 8; ++rank) {
        sim::RankRecording& made = recording.ranks.emplace_back();
        made.rank = rank;
        made.name = "rank " + std::to_string(rank) + " (dp" + std::to_string(rank / 4) + " pp" + std::to_string(rank / 2 % 2) +
                    " cp0 tp" + std::to_string(rank % 2) + ")";
    }
    recording.worldSize = 8;
    const sim::Recovered named = sim::recover(recording);
    EXPECT_EQ(writtenGridText(named.axes), "tp 2 by 1; dp 2 by 4; pp 2 by 2; ");
    recording.ranks[3].name = "rank 3 (dp1 pp1 cp0 tp1)";
    const sim::Recovered contradicted = sim::recover(recording);
    EXPECT_EQ(contradicted.axes.find("pp"), nullptr);
    EXPECT_THAT(contradicted.problems, testing::Contains(testing::HasSubstr("rank 3 is named dp1 and stands at dp0")));
    recording.ranks.resize(5); // of a part nothing says how large the grid is
    EXPECT_EQ(sim::recover(recording).axes.find("pp"), nullptr);
}

/// What a live run writes: several steps in one file, each collective after the wait for its last member.
sim::Trace stepsOfALiveRun(int steps, const sim::Scenario& scenario = test::smallScenario(2, 2, 2, 4))
{
    const sim::Trace one = sim::simulate(scenario, {.full = true})->trace(sim::TraceDetail::kernels);
    sim::Trace all = one;
    const auto wait = static_cast<std::uint32_t>(all.kinds.size());
    all.kinds.push_back({.name = "wait tp", .opClass = sim::OpClass::other, .group = "tp"});
    all.endNs = one.endNs * steps;
    all.counters.clear();
    for (int step = 1; step < steps; ++step) // between tracks without waits: they keep their order
        for (sim::Flow flow : one.flows) {
            flow.fromSpan += static_cast<std::uint32_t>(step) * static_cast<std::uint32_t>(one.tracks[flow.fromTrack].size());
            flow.toSpan += static_cast<std::uint32_t>(step) * static_cast<std::uint32_t>(one.tracks[flow.toTrack].size());
            all.flows.push_back(flow);
        }
    for (sim::Track& track : all.tracks) {
        const sim::Track of = track;
        track = {.process = of.process, .name = of.name, .role = of.role};
        for (int step = 0; step < steps; ++step)
            for (std::size_t i = 0; i < of.size(); ++i) {
                const std::int64_t start = of.startNs[i] + step * one.endNs,
                                   transfer = std::min<std::int64_t>(of.durationNs[i], 3000);
                const bool waits = of.name == "tp comm" && of.durationNs[i] > transfer;
                const std::uint64_t correlation =
                    of.correlation.empty() || of.correlation[i] == 0 ? 0 : (std::uint64_t(step + 1) << 48U) + of.correlation[i];
                const auto add = [&](std::int64_t at, std::int64_t lasts, std::uint32_t kind, std::uint64_t meeting) {
                    track.startNs.push_back(at);
                    track.durationNs.push_back(lasts);
                    track.kind.push_back(kind);
                    track.microbatch.push_back(of.microbatch[i]);
                    if (!of.correlation.empty())
                        track.correlation.push_back(meeting);
                };
                if (waits)
                    add(start, of.durationNs[i] - transfer, wait, 0);
                add(waits ? start + of.durationNs[i] - transfer : start, waits ? transfer : of.durationNs[i], of.kind[i],
                    correlation);
            }
    }
    return all;
}

TEST(StepsOfALiveRun, AreToldApartAndWaitingIsNoComputing)
{
    const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "live_steps.pftrace";
    sim::saveTrace(stepsOfALiveRun(5), path);
    const sim::Recording recording = sim::readRecording({path});
    std::filesystem::remove(path);
    const sim::Recovered recovered = sim::recover(recording);
    ASSERT_EQ(recovered.steps.steps.size(), 5U) << recovered.steps.evidence;
    EXPECT_THAT(recovered.steps.evidence, testing::HasSubstr("come again with every step"));
    std::size_t waits = 0;
    for (const sim::RankRecording& rank : recording.ranks)
        for (std::size_t i = 0; i < rank.spans.size(); ++i)
            if (recording.names[rank.spans.name[i]] == "wait tp") {
                ++waits;
                EXPECT_FALSE(sim::isDeviceWork(rank.spans.kind[i]));
            }
    EXPECT_GT(waits, 100U);
    for (const sim::RankEvidence& rank : recovered.evidence.ranks)
        for (const sim::WorkSpan& work : rank.work)
            EXPECT_NE(recovered.evidence.names[work.name], "wait tp");
    const sim::Arrivals arrivals = sim::arrivalsOf(recovered);
    EXPECT_GT(arrivals.list.size(), 100U); // by their ends: "attn.gather" is no word of a library
    EXPECT_EQ(recovered.meetings.unmatched, 0U);
    for (const std::string& problem : recovered.meetings.problems)
        ADD_FAILURE() << problem;
    for (const sim::RankEvidence& rank : recovered.evidence.ranks)
        for (const sim::CommSpan& span : rank.comms)
            ASSERT_GE(span.group, 0) << recovered.evidence.names[span.name];
    EXPECT_EQ(recovered.axes.sizeOf("pp"), 2);
}

/// Without annotations, and without data parallelism: micro-batches exchange the same, and only the optimizer comes once.
TEST(StepsOfALiveRun, EndWithTheOptimizerWhereNothingMarksThem)
{
    const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "unmarked_steps.pftrace";
    sim::saveTrace(stepsOfALiveRun(3, test::smallScenario(1, 2, 1, 6)), path);
    sim::RunEvidence evidence = sim::evidenceOf(sim::readRecording({path}));
    std::filesystem::remove(path);
    for (sim::RankEvidence& rank : evidence.ranks)
        rank.marks.clear();
    const sim::Recovered recovered = sim::recover(evidence);
    EXPECT_EQ(recovered.steps.steps.size(), 3U) << recovered.steps.evidence;
    EXPECT_THAT(recovered.steps.evidence, testing::HasSubstr("optimizer"));
    ASSERT_TRUE(recovered.schedule);
    EXPECT_EQ(recovered.schedule->kind, "1f1b") << recovered.schedule->evidence;
    EXPECT_EQ(recovered.schedule->microbatches, 6);
}

TEST(WrittenSteps, NameTheRankThatIsLate)
{
    sim::Scenario scenario = test::smallScenario(2, 1, 4, 4);
    scenario.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = 5, .factor = 1.4});
    const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "late.json";
    sim::saveTrace(sim::simulate(scenario, {.full = true})->trace(sim::TraceDetail::kernels), path);
    const sim::Recovered recovered = sim::recover(sim::readRecording({path}));
    std::filesystem::remove(path);
    EXPECT_EQ(sim::arrivalsOf(recovered).straggler, 5) << sim::arrivalsOf(recovered).text;
}

} // namespace
