// What recorded runs have to say: a real one of eight GPUs, and simulated ones with a cause that was planted.
#include "sim/recovery/recovered_json.h"
#include "sim/recovery/run_answers.h"

#include "sim/trace/readers/read_recording.h"
#include "tests/sim/recovery/simulated.h"
#include "tests/support/recorded.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <set>

namespace {

using test::simulated;

/// DLRM on 8 V100s of one node: 8 NCCL kernels a rank, no metadata at all.
sim::RunEvidence dlrm()
{
    std::ifstream in(RANKSCOPE_TEST_DATA "/kineto/dlrm_8rank_nccl.json");
    const nlohmann::json file = nlohmann::json::parse(in);
    sim::RunEvidence evidence;
    evidence.worldSize = 8;
    evidence.names = {"ncclKernel_SendRecv", "ncclKernel_AllReduce"};
    for (const auto& kernels : file["ranks"]) {
        sim::RankEvidence& rank = evidence.ranks.emplace_back();
        rank.rank = static_cast<int>(evidence.ranks.size()) - 1;
        for (const auto& kernel : kernels) {
            const std::uint32_t name = kernel[2] == "SendRecv" ? 0 : 1;
            const std::int64_t start = kernel[0].get<std::int64_t>() * 1000;
            rank.comms.push_back({.startNs = start,
                                  .endNs = start + kernel[1].get<std::int64_t>() * 1000,
                                  .exchange = sim::exchangeFromName(evidence.names[name]),
                                  .stream = 84,
                                  .name = name});
        }
    }
    return evidence;
}

TEST(RealRun, OfARecommenderHasNoExperts)
{
    sim::RunEvidence evidence = dlrm();
    const sim::Recovered bare = sim::recover(evidence);
    EXPECT_EQ(bare.axes.find("ep"), nullptr);
    ASSERT_TRUE(bare.axes.allToAlls);
    EXPECT_EQ(bare.axes.allToAlls->size, 8);
    EXPECT_THAT(bare.axes.allToAlls->evidence, testing::HasSubstr("all-to-alls, 5.00 a step and rank; nothing tells of experts"));
    EXPECT_EQ(sim::AxesOfGroups(bare).of(0, sim::Exchange::allToAll), "all-to-all");
    EXPECT_EQ(sim::recoveredJson(bare).at("all_to_alls").at("size"), 8);
    EXPECT_THAT(sim::recoveredText(bare), testing::HasSubstr("all-to-alls of 8 ranks, 1 apart, 60 % sure"));
    // As its own files name them.
    evidence.names.emplace_back("## all2all_data:kjt splits ##");
    for (sim::RankEvidence& rank : evidence.ranks)
        rank.marks.push_back({.startNs = rank.comms[0].startNs - 5000, .endNs = rank.comms[0].startNs, .name = 2});
    const sim::Recovered named = sim::recover(evidence);
    ASSERT_TRUE(named.axes.allToAlls);
    EXPECT_THAT(named.axes.allToAlls->evidence, testing::HasSubstr("tables of embeddings are named, and no experts"));
    EXPECT_GT(named.axes.allToAlls->sure, bare.axes.allToAlls->sure);
    evidence.names.back() = "MoELayer: forward";
    const sim::Recovered experts = sim::recover(evidence);
    EXPECT_EQ(experts.axes.sizeOf("ep"), 8);
    EXPECT_FALSE(experts.axes.allToAlls);
}

TEST(RealRun, OfEightGpusHasOneGroupAndALateRankSeven)
{
    const sim::Recovered recovered = sim::recover(dlrm());
    ASSERT_EQ(recovered.groups.size(), 1U);
    EXPECT_EQ(recovered.groups[0].ranks.size(), 8U);
    EXPECT_EQ(recovered.meetings.meetings.size(), 8U);
    ASSERT_TRUE(recovered.clock.isAligned) << recovered.clock.why;
    for (const sim::RankClock& clock : recovered.clock.ranks) {
        EXPECT_LT(std::abs(clock.offsetNs), 5000); // one host, one clock
        EXPECT_LT(clock.residualP95Ns, 7000);
    }
    const sim::Arrivals arrivals = sim::arrivalsOf(recovered);
    std::vector<int> last;
    for (const sim::Arrival& arrival : arrivals.list)
        last.push_back(recovered.evidence.ranks[arrival.last].rank);
    EXPECT_THAT(last, testing::ElementsAre(7, 7, 7, 7, 7, 5, 5, 4));
    EXPECT_EQ(arrivals.straggler, 7);
    EXPECT_NEAR(static_cast<double>(arrivals.list[0].waitNs[1]), 7.625e6, 0.01e6);
}

TEST(PlantedStraggler, IsFoundWithItsCause)
{
    sim::Scenario scenario = test::smallScenario(2, 1, 4, 4);
    scenario.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = 5, .factor = 1.4});
    const sim::Recovered recovered = sim::recover(test::recordingOf(*simulated(scenario)));
    const sim::RunAnswers answers = sim::answersOf(recovered);
    ASSERT_EQ(answers.arrivals.straggler, 5) << answers.arrivals.text;
    EXPECT_EQ(answers.arrivals.ranks[5].why, sim::Lateness::computes);
    EXPECT_NEAR(answers.arrivals.ranks[5].longerBy, 0.4, 0.1);
    EXPECT_THAT(answers.arrivals.text, testing::HasSubstr("rank 5 on node0 comes last"));
    ASSERT_FALSE(answers.findings.empty());
    EXPECT_TRUE(std::any_of(answers.findings.begin(), answers.findings.end(), [](const sim::RunFinding& finding) {
        return finding.kind == "late-rank" && finding.ranks == std::vector<int>{5} && finding.seconds > 0;
    }));
    // The path lies where the work is.
    EXPECT_EQ(std::max_element(answers.path.rankNs.begin(), answers.path.rankNs.end()) - answers.path.rankNs.begin(), 5);

    const sim::Recovered healthy = sim::recover(test::recordingOf(*simulated(test::smallScenario(2, 1, 4, 4))));
    EXPECT_EQ(sim::arrivalsOf(healthy).straggler, -1);
}

TEST(PlantedStraggler, IsFoundAmongManyRanksThatWaitForOtherReasonsToo)
{
    sim::Scenario scenario = test::smallScenario(2, 4, 16, 4);
    scenario.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = 5, .factor = 1.3});
    const sim::Recovered recovered = sim::recover(test::recordingOf(*simulated(scenario)));
    const sim::Arrivals arrivals = sim::arrivalsOf(recovered);
    ASSERT_EQ(arrivals.straggler, 5) << arrivals.text;
    EXPECT_GT(static_cast<double>(arrivals.ranks[5].causedNs), static_cast<double>(arrivals.causedNs) / 3)
        << "with what those cause that it keeps";
}

TEST(PlantedStraggler, KeepsThoseThatWaitForItsPipelineToo)
{
    // Nothing else is wrong with this run: without its slow rank nobody waits in a collective.
    const sim::Recovered recovered = sim::recover(sim::readRecording({std::string(RANKSCOPE_TEST_DATA) + "/slow-rank"}));
    const sim::Arrivals arrivals = sim::arrivalsOf(recovered);
    ASSERT_EQ(arrivals.straggler, 5) << arrivals.text;
    EXPECT_GT(static_cast<double>(arrivals.ranks[5].causedNs), 0.8 * static_cast<double>(arrivals.causedNs));
}

TEST(PlantedStraggler, OfAHostIsAllOfItsRanks)
{
    sim::Scenario scenario = test::smallScenario(2, 1, 8, 4);
    scenario.training.stack.cudaGraphs = sim::CudaGraphs::step; // nothing of their time is their hosts'
    for (int rank = 8; rank < 16; ++rank)
        scenario.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = rank, .factor = 1.3});
    const sim::RunAnswers answers = sim::answersOf(sim::recover(test::recordingOf(*simulated(scenario))));
    const auto found = std::find_if(answers.findings.begin(), answers.findings.end(),
                                    [](const sim::RunFinding& finding) { return finding.kind == "slow-host"; });
    ASSERT_NE(found, answers.findings.end());
    EXPECT_THAT(found->title, testing::HasSubstr("node1 compute 30.0 %"));
    EXPECT_THAT(found->ranks, testing::ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));

    scenario.perturbations.resize(1); // one of them alone is its own doing
    const sim::RunAnswers one = sim::answersOf(sim::recover(test::recordingOf(*simulated(scenario))));
    EXPECT_TRUE(std::none_of(one.findings.begin(), one.findings.end(),
                             [](const sim::RunFinding& finding) { return finding.kind == "slow-host"; }));
    EXPECT_EQ(one.arrivals.straggler, 8) << one.arrivals.text;
}

/// Ranks 0 to 3, tp of two and dp of two. Rank 2's host loads data for 30 ms before a step; rank 3 is its partner in tp.
sim::RunEvidence lateLoader()
{
    constexpr std::int64_t kMs = 1'000'000;
    sim::RunEvidence evidence;
    evidence.worldSize = 4;
    evidence.names = {"", "gemm", "ncclDevKernel_AllReduce", "enumerate(DataLoader)", "train"};
    evidence.groups = {{.name = "0", .ranks = {0, 1}},
                       {.name = "1", .ranks = {2, 3}},
                       {.name = "2", .ranks = {0, 2}},
                       {.name = "3", .ranks = {1, 3}}};
    for (int r = 0; r < 4; ++r) {
        sim::RankEvidence& rank = evidence.ranks.emplace_back();
        rank.rank = r;
        rank.host = "node0";
    }
    std::int64_t at = 1'700'000'000 * std::int64_t{1'000'000'000};
    for (std::int64_t step = 0; step < 4; ++step) {
        const std::int64_t begin = at;
        std::array<std::int64_t, 4> ready{};
        for (std::size_t r = 0; r < 4; ++r) {
            ready[r] = begin + (r == 2 ? 30 * kMs : 0);
            evidence.ranks[r].marks.push_back({.startNs = begin, .endNs = begin + 60 * kMs, .name = 4});
        }
        evidence.ranks[2].marks.push_back({.startNs = begin, .endNs = ready[2], .name = 3});
        const auto work = [&](std::size_t r) {
            evidence.ranks[r].work.push_back({.startNs = ready[r], .endNs = ready[r] + 5 * kMs, .name = 1});
            ready[r] += 5 * kMs;
        };
        const auto meet = [&](std::size_t a, std::size_t b, std::int32_t group, std::int64_t bytes) {
            const std::int64_t end = std::max(ready[a], ready[b]) + kMs / 2;
            for (const std::size_t r : {a, b}) {
                evidence.ranks[r].comms.push_back({.startNs = ready[r],
                                                   .endNs = end,
                                                   .exchange = sim::Exchange::allReduce,
                                                   .group = group,
                                                   .bytes = bytes,
                                                   .stream = 9,
                                                   .name = 2});
                ready[r] = end;
            }
        };
        for (int layer = 0; layer < 3; ++layer) {
            for (std::size_t r = 0; r < 4; ++r)
                work(r);
            meet(0, 1, 0, 4096);
            meet(2, 3, 1, 4096);
        }
        meet(0, 2, 2, 1 << 20);
        meet(1, 3, 3, 1 << 20);
        at = *std::max_element(ready.begin(), ready.end()) + kMs;
        for (sim::RankEvidence& rank : evidence.ranks)
            rank.steps.push_back({.number = step, .startNs = begin, .endNs = at});
    }
    return evidence;
}

TEST(PlantedStraggler, IsWhoKeptThePartnerThatComesLate)
{
    const sim::Arrivals arrivals = sim::arrivalsOf(sim::recover(lateLoader()));
    ASSERT_EQ(arrivals.straggler, 2) << arrivals.text;
    EXPECT_EQ(arrivals.ranks[3].causedNs, 0) << "it comes late to dp as it waited in tp";
    EXPECT_EQ(arrivals.ranks[2].why, sim::Lateness::idles);
    EXPECT_THAT(arrivals.text, testing::HasSubstr("causes 100 % of the waiting"));
    EXPECT_THAT(arrivals.text, testing::HasSubstr("which meanwhile was in \"enumerate(DataLoader)\""));
}

TEST(PlantedStraggler, OfASlowLinkHasNoLongerKernels)
{
    sim::Scenario scenario = test::smallScenario(2, 1, 4, 4);
    scenario.perturbations.push_back({.kind = sim::PerturbationKind::slowLink, .rank = 6, .factor = 8});
    scenario.perturbations.push_back({.kind = sim::PerturbationKind::jitter, .sigma = 0.01});
    const sim::RunAnswers answers = sim::answersOf(sim::recover(test::recordingOf(*simulated(scenario))));
    for (const sim::RankArrivals& rank : answers.arrivals.ranks)
        EXPECT_TRUE(rank.why != sim::Lateness::computes || rank.longerBy > 0.01);
    EXPECT_THAT(answers.arrivals.text, testing::Not(testing::HasSubstr("its kernels take longer")));
    const auto slow = std::find_if(answers.findings.begin(), answers.findings.end(),
                                   [](const sim::RunFinding& finding) { return finding.kind == "slow-group"; });
    ASSERT_NE(slow, answers.findings.end());
    EXPECT_THAT(slow->ranks, testing::Contains(6));
}

/// `groups` of two ranks each, one of them on a link that is half as fast.
TEST(SlowGroups, AreFoundAmongTwoAsAmongMany)
{
    constexpr std::int64_t kMilli = 1'000'000;
    for (const int groups : {2, 3, 4}) {
        sim::RunEvidence evidence;
        evidence.worldSize = 2 * groups;
        evidence.isOneClock = true;
        evidence.names = {"", "gemm", "ncclDevKernel_AllReduce"};
        for (int rank = 0; rank < 2 * groups; ++rank)
            evidence.ranks.emplace_back().rank = rank;
        for (int g = 0; g < groups; ++g) {
            evidence.groups.push_back({.name = "dp " + std::to_string(g), .ranks = {g, g + groups}});
            const std::int64_t takes = (g == groups - 1 ? 8 : 4) * kMilli;
            for (const int rank : {g, g + groups})
                for (std::int64_t step = 0; step < 6; ++step) {
                    const std::int64_t begin = kMilli + step * 20 * kMilli;
                    sim::RankEvidence& of = evidence.ranks[static_cast<std::size_t>(rank)];
                    of.steps.push_back({.number = step, .startNs = begin, .endNs = begin + 20 * kMilli});
                    of.work.push_back({.startNs = begin, .endNs = begin + 10 * kMilli, .name = 1});
                    of.comms.push_back({.startNs = begin + 10 * kMilli,
                                        .endNs = begin + 10 * kMilli + takes,
                                        .exchange = sim::Exchange::allReduce,
                                        .group = g,
                                        .sequence = step,
                                        .bytes = 1 << 20,
                                        .stream = 9,
                                        .name = 2});
                }
        }
        std::vector<std::string> titles;
        for (const sim::RunFinding& finding : sim::answersOf(sim::recover(evidence)).findings)
            if (finding.kind == "slow-group") {
                titles.push_back(finding.title);
                EXPECT_THAT(finding.ranks, testing::ElementsAre(groups - 1, 2 * groups - 1));
            }
        EXPECT_THAT(titles, testing::ElementsAre(testing::HasSubstr("2.00 times slower than "))) << groups;
    }
}

TEST(UnevenStages, AreNotWhatOneSlowRankMakesOfThem)
{
    const auto of = [](const std::vector<std::pair<int, double>>& slow) {
        sim::Scenario scenario = test::smallScenario(2, 2, 2, 8);
        for (const auto& [rank, factor] : slow)
            scenario.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = rank, .factor = factor});
        const sim::RunAnswers answers = sim::answersOf(sim::recover(test::recordingOf(*simulated(scenario))));
        const auto found = std::find_if(answers.findings.begin(), answers.findings.end(),
                                        [](const sim::RunFinding& finding) { return finding.kind == "uneven-stages"; });
        return found == answers.findings.end() ? std::string() : found->title + ": " + found->detail;
    };
    const auto title = [](const std::string& text) { return text.substr(0, text.find(':')); };
    EXPECT_EQ(title(of({{5, 1.4}})), title(of({}))) << "layers of the last stage and the head";
    EXPECT_THAT(of({{4, 1.5}, {5, 1.5}, {6, 1.5}, {7, 1.5}}),
                testing::AllOf(testing::HasSubstr("Pipeline rank 1 computes"), testing::HasSubstr("fewer layers there"),
                               testing::Not(testing::HasSubstr("without"))));
    EXPECT_THAT(of({{4, 1.5}, {5, 2.5}, {6, 1.5}, {7, 1.5}}),
                testing::HasSubstr("without rank 5, which is slower than its peers"));
}

TEST(CutRecording, IsToldFirstAndBlamesNobodyForWhatIsMissing)
{
    sim::Scenario scenario = test::smallScenario(2, 2, 2, 8);
    for (const int rank : {4, 5, 6, 7}) // the others look as if their file had ended early
        scenario.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = rank, .factor = 1.5});
    scenario.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = 3, .factor = 1.3});
    sim::Recording recording = test::recordingOf(*simulated(scenario));
    const auto findings = [&] { return sim::answersOf(sim::recover(recording)).findings; };
    const auto blames = [](const sim::RunFinding& finding) {
        return finding.kind == "uneven-stages" || finding.kind == "slow-rank" || finding.kind == "slow-host";
    };
    ASSERT_TRUE(std::ranges::any_of(findings(), blames));
    recording.files.push_back({.path = "/runs/run.pftrace", .format = "Perfetto", .isComplete = false});
    recording.problems.emplace_back("/runs/run.pftrace: the trace ends in the middle of a packet, at byte 40000");
    const std::vector<sim::RunFinding> ofCut = findings();
    EXPECT_FALSE(std::ranges::any_of(ofCut, blames));
    ASSERT_FALSE(ofCut.empty());
    EXPECT_EQ(ofCut.front().kind, "cut-recording");
    EXPECT_THAT(ofCut.front().detail,
                testing::StartsWith("run.pftrace: the trace ends in the middle of a packet, at byte 40000."));
}

TEST(CutRecording, ComparesStagesInStepsThatAreWhole)
{
    sim::Scenario scenario = test::smallScenario(2, 2, 2, 8);
    for (const int rank : {4, 5, 6, 7})
        scenario.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = rank, .factor = 1.5});
    sim::Recovered recovered = sim::recover(test::recordingOf(*simulated(scenario)));
    recovered.evidence.cuts = {"run.pftrace: the trace ends in the middle of a packet, at byte 40000"};
    recovered.steps.steps.push_back(recovered.steps.steps.front());
    recovered.steps.steps.back().isOutlier = true; // recorded in part only
    const std::vector<sim::RunFinding> findings = sim::answersOf(recovered).findings;
    EXPECT_TRUE(std::ranges::any_of(findings, [](const sim::RunFinding& finding) { return finding.kind == "uneven-stages"; }));
}

TEST(UnevenStages, AreNoFindingWhereTheStepHardlyComputes)
{
    const sim::RunAnswers answers =
        sim::answersOf(sim::recover(sim::readRecording({RANKSCOPE_TEST_DATA "/torch-parallel/pp2-dp2-tp2"})));
    EXPECT_GT(answers.times.imbalance, 1.1);
    for (const sim::RunFinding& finding : answers.findings)
        EXPECT_NE(finding.kind, "uneven-stages") << finding.title;
    ASSERT_FALSE(answers.findings.empty());
    EXPECT_THAT(answers.findings[0].detail, testing::HasSubstr("In the mean of ranks and of 2 steps, a rank spends"));
    EXPECT_THAT(answers.findings[0].detail, testing::HasSubstr("of its own step in it"));
}

TEST(Findings, OfWaitingAndOfHostsSayWhereToLook)
{
    const sim::Recovered slow = sim::recover(sim::readRecording({RANKSCOPE_TEST_DATA "/slow-rank"}));
    const sim::Recovered host =
        sim::recover(sim::readRecording({RANKSCOPE_TEST_DATA "/kineto/worker0_step_12.1694128201545.pt.trace.json.gz"}));
    std::set<std::string> kinds;
    for (const sim::Recovered* recovered : {&slow, &host})
        for (const sim::RunFinding& finding : sim::answersOf(*recovered).findings) {
            if (finding.kind != "exposed-communication" && finding.kind != "host-bound")
                continue;
            kinds.insert(finding.kind);
            EXPECT_EQ(finding.ranks.size(), 1U) << finding.title;
            EXPECT_GT(finding.endNs, finding.startNs) << finding.title;
            EXPECT_GE(finding.startNs, recovered->steps.steps.front().startNs);
            EXPECT_LE(finding.endNs, recovered->steps.steps.back().endNs);
        }
    EXPECT_EQ(kinds.size(), 2U);
}

TEST(NoFindings, AreToldOfWhatCanBeToldAlone)
{
    const auto told = [](const std::string& file) {
        const sim::Recovered recovered = sim::recover(sim::readRecording({RANKSCOPE_TEST_DATA "/" + file}));
        const sim::RunAnswers answers = sim::answersOf(recovered);
        EXPECT_TRUE(answers.findings.empty()) << file;
        return answers.nothingFound;
    };
    // 4 dumps of 121 entries each, which do not say when they began.
    EXPECT_EQ(told("torch-parallel/flight-pp2-dp2"),
              "what is slow cannot be told: none of 484 collectives and messages has a length, as the recorder does not say when "
              "they began");
    EXPECT_EQ(told("kineto/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz"),
              "nothing stands out in what was recorded; who comes late, which rank computes longer and which step takes longer "
              "cannot be told by it");
}

TEST(LateRank, OfARunWithoutKernelsHasNoDevice)
{
    const sim::RunAnswers answers =
        sim::answersOf(sim::recover(sim::readRecording({RANKSCOPE_TEST_DATA "/torch-parallel/gloo-late-input"})));
    ASSERT_EQ(answers.arrivals.straggler, 0);
    const std::string_view why = sim::latenessText(answers.arrivals.ranks[0].why, sim::anyRan(answers.times.ranks));
    EXPECT_THAT(answers.arrivals.text, testing::HasSubstr(std::string(why)));
    EXPECT_THAT(std::string(why), testing::Not(testing::HasSubstr("device")));
}

TEST(RecoveredText, SaysOnceWhatSeveralRanksLack)
{
    const auto timesIn = [](const std::string& text, const std::string& what) {
        int times = 0;
        for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
            ++times;
        return times;
    };
    const sim::Recovered apart = sim::recover(sim::readRecording({RANKSCOPE_TEST_DATA "/torch-parallel/pp2-dp2-tp2"}));
    ASSERT_GT(std::count_if(apart.problems.begin(), apart.problems.end(),
                            [](const std::string& one) { return one.find("name no group") != std::string::npos; }),
              8);
    const std::string text = sim::recoveredText(apart);
    EXPECT_EQ(timesIn(text, "no group"), 1) << text;
    EXPECT_THAT(text, testing::HasSubstr("  6 ranks: "));
    EXPECT_EQ(timesIn(text, "not aligned"), 1) << text;
}

TEST(RecoveredText, OfOneStageHasNoSchedule)
{
    const std::string text =
        sim::recoveredText(sim::recover(sim::readRecording({RANKSCOPE_TEST_DATA "/torch-parallel/fsdp2-tp2"})));
    EXPECT_THAT(text, testing::HasSubstr("no pipeline was found; 4 micro-batches a step"));
    EXPECT_THAT(text, testing::Not(testing::HasSubstr("1f1b")));
}

TEST(SaidGrid, HasExpertsWhereTheProgramLaysThemAndWithinAStage)
{
    // tp 2, cp 2, dp 4: the expert grid folds cp in, as Megatron Core and `groups` have it.
    const std::vector<sim::NamedAxis> folded = sim::namedGrid({{"tp", 2}, {"cp", 2}, {"dp", 4}}, 4);
    EXPECT_EQ(folded.back().name, "ep");
    EXPECT_EQ(folded.back().stride, 2);
    EXPECT_EQ(sim::gridProblem(folded, 16), "");
    EXPECT_EQ(sim::namedGrid({{"tp", 2}, {"dp", 4}}, 4, 1).back().stride, 1) << "as it was recovered";
    EXPECT_EQ(sim::gridProblem(sim::namedGrid({{"tp", 2}, {"dp", 2}, {"pp", 4}}, 8), 16),
              "ep 8 over experts that 2 ranks cut does not divide the 4 ranks of a stage (tp 2 · dp 2); ep may be 1, 2");
    EXPECT_EQ(sim::gridProblem(sim::namedGrid({{"tp", 2}, {"dp", 2}}), 8), "tp 2 · dp 2 are 4 ranks, and the recording is of 8");
}

TEST(ExchangedHeads, AreContextParallelAndNoExperts)
{
    sim::Carried ulysses;
    ulysses.ranks = 4;
    ulysses.count[static_cast<std::size_t>(sim::Exchange::allToAll)] = 16;
    ulysses.attentionAllToAlls = 8;
    ASSERT_EQ(sim::rolesFromUse(ulysses, false).size(), 1U);
    EXPECT_EQ(sim::rolesFromUse(ulysses, false)[0].role, sim::GroupRole::context);
    ulysses.attentionAllToAlls = 0;
    ulysses.namedExperts = 1;
    ASSERT_EQ(sim::rolesFromUse(ulysses, false).size(), 1U);
    EXPECT_EQ(sim::rolesFromUse(ulysses, false)[0].role, sim::GroupRole::expert);
}

TEST(AllToAlls, AreExpertsOnlyWhereSomethingTellsOfThese)
{
    const auto exchanges = static_cast<std::size_t>(sim::Exchange::allToAll);
    sim::Carried plain;
    plain.ranks = 8;
    plain.count[exchanges] = 8;
    const auto sureOf = [](const sim::Carried& carried, bool isPart) {
        const auto roles = sim::rolesFromUse(carried, isPart);
        return roles.size() == 1 && roles[0].role == sim::GroupRole::expert ? roles[0].sure : 0;
    };
    EXPECT_EQ(sureOf(plain, false), 0) << "any job may exchange over all its ranks";
    EXPECT_EQ(sureOf(plain, true), 0.6) << "pairs of a part of the ranks";
    sim::Carried odd = plain;
    odd.count[exchanges] = 5;
    EXPECT_EQ(sureOf(odd, true), 0) << "tokens that go come back";
    sim::Carried layers = plain;
    layers.aroundAttention = 2;
    EXPECT_EQ(sureOf(layers, false), 0) << "attention alone lies between them";
    layers.apartFromAttention = 2;
    EXPECT_EQ(sureOf(layers, false), 0.7);
    layers.apartFromAttention = 6;
    EXPECT_EQ(sureOf(layers, false), 0.7) << "forwards that run again";
    layers.apartFromAttention = 20;
    EXPECT_EQ(sureOf(layers, false), 0) << "attention is an exception between them";
    layers.apartFromAttention = 2;
    sim::Carried tables = layers;
    tables.namedTables = 1;
    EXPECT_EQ(sureOf(tables, true), 0) << "a recommender with attention";
    tables.namedExperts = 1;
    EXPECT_EQ(sureOf(tables, false), 0.8);
}

TEST(RolesFromUse, TakeSumsForThoseOfGradientsOnlyWhereABackwardWasSeen)
{
    sim::Carried sums;
    sums.ranks = 2;
    sums.count[static_cast<std::size_t>(sim::Exchange::reduceScatter)] = 9;
    ASSERT_EQ(sim::rolesFromUse(sums, false).size(), 1U);
    EXPECT_EQ(sim::rolesFromUse(sums, false)[0].role, sim::GroupRole::data);
    EXPECT_THAT(sim::rolesFromUse(sums, false)[0].why, testing::HasSubstr("only after the first backward"));
    sums.untold = 1;
    EXPECT_EQ(sim::rolesFromUse(sums, false)[0].role, sim::GroupRole::data);
    EXPECT_LT(sim::rolesFromUse(sums, false)[0].sure, 0.7);
    EXPECT_THAT(sim::rolesFromUse(sums, false)[0].why, testing::HasSubstr("no backward is told"));
    sums.inferring = 1;
    EXPECT_EQ(sim::rolesFromUse(sums, false)[0].role, sim::GroupRole::tensor);

    sim::Carried gathers;
    gathers.ranks = 8;
    gathers.count[static_cast<std::size_t>(sim::Exchange::allGather)] = 1;
    EXPECT_THAT(sim::rolesFromUse(gathers, false).at(0).why, testing::HasSubstr("gathers and never sums"));
    gathers.untold = gathers.inferring = gathers.sumsElsewhere = 1; // as vLLM, whose sums are kernels of its own
    EXPECT_EQ(sim::rolesFromUse(gathers, false).at(0).role, sim::GroupRole::tensor);
}

TEST(SaidGrid, OfOneStageHasNoFindingOfStages)
{
    sim::Scenario scenario = test::smallScenario(2, 4, 2, 8);
    scenario.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = 5, .factor = 1.4});
    const sim::Recording recording = test::recordingOf(*simulated(scenario));
    const auto findsStages = [](const sim::Recovered& recovered) {
        const sim::RunAnswers answers = sim::answersOf(recovered);
        return !answers.times.stages.empty() ||
               std::any_of(answers.findings.begin(), answers.findings.end(),
                           [](const sim::RunFinding& finding) { return finding.kind == "uneven-stages"; });
    };
    EXPECT_TRUE(findsStages(sim::recover(recording)));
    EXPECT_FALSE(findsStages(sim::recover(recording, {.corrections = {}, .grid = sim::namedGrid({{"tp", 2}, {"dp", 8}})})));
}

TEST(RecoveredJson, HoldsTheKeysThatArePromised)
{
    const sim::Recovered recovered = sim::recover(test::recordingOf(*simulated(test::smallScenario(2, 2, 2, 8))));
    const nlohmann::ordered_json told = sim::recoveredJson(recovered);
    ASSERT_EQ(told["axes"].size(), 3U) << told["axes"];
    for (const char* key : {"name", "size", "stride", "evidence", "sure"})
        EXPECT_TRUE(told["axes"][0].contains(key)) << key;
    for (const char* key : {"kind", "stages", "virtual_stages", "microbatches", "sure"})
        EXPECT_TRUE(told["schedule"].contains(key)) << key;
    for (const char* key : {"rank", "offset_ns", "drift_ppm", "residual_p95_ns"})
        EXPECT_TRUE(told["clock"][0].contains(key)) << key;
    for (const char* key : {"name", "description", "ranks", "evidence"})
        EXPECT_TRUE(told["groups"][0].contains(key)) << key;
    EXPECT_EQ(told["steps"].size(), 1U);
    EXPECT_EQ(told["schedule"]["kind"], "1f1b");
    EXPECT_EQ(told["schedule"]["sure"].dump(), "0.95") << "and not 0.9500000000000001";
    EXPECT_THAT(sim::recoveredText(recovered), testing::HasSubstr(" 95 % sure"));
    EXPECT_THAT(sim::recoveredText(recovered), testing::HasSubstr("pp 2, ranks 4 apart"));
    EXPECT_THAT(sim::answersText(recovered, sim::answersOf(recovered)), testing::HasSubstr("critical path"));
    EXPECT_TRUE(sim::answersJson(recovered, sim::answersOf(recovered)).contains("findings"));
    const nlohmann::ordered_json nothing = sim::recoveredJson(sim::recover(sim::RunEvidence{}));
    EXPECT_TRUE(nothing["axes"].empty());
    EXPECT_TRUE(nothing["schedule"].is_null());
}

} // namespace
