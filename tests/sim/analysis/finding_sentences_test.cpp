// Sentences of findings and warnings whose numbers follow from the layout alone: held against the engine, mesh and placement.
#include "sim/analysis/findings/findings.h"
#include "sim/analysis/traffic/traffic.h"

#include "tests/support/gallery.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <regex>
#include <string>

using namespace sim;
using test::Opened;

TEST(FindingSentences, SequenceParallelismSendsAQuarterMoreOverTensorGroups)
{
    // Inputs are gathered again for weight gradients; what stages send each other is cut by tp.
    const Opened opened = test::openNumber("40", {"layout.sequence_parallel=false", "training.stack=megatron-te-2024"});
    for (const Finding& finding : findings(*opened.simulation, opened.document, test::catalogue()))
        if (finding.kind == FindingKind::noSequenceParallel) {
            EXPECT_NE(finding.reason.find("% more than now, over pp 87.5 % less than now"), std::string::npos) << finding.reason;
            EXPECT_EQ(finding.reason.find("same"), std::string::npos);
            return;
        }
    FAIL() << "it is off";
}

TEST(FindingSentences, InputsAreSaidToBeGatheredAgainWhereTheyAre)
{
    const auto reasonWith = [](const std::vector<std::string>& overrides) {
        const Opened opened = test::openNumber("02", overrides);
        for (const Finding& finding : findings(*opened.simulation, opened.document, test::catalogue()))
            if (finding.kind == FindingKind::noSequenceParallel)
                return finding.reason;
        return std::string();
    };
    const std::string without = "layout.sequence_parallel=false";
    const std::string again = "and an all-gather, and inputs are gathered again for weight gradients: over tp it sends ";
    EXPECT_NE(reasonWith({without, "training.stack.plain_tensor_parallel=false"}).find(again), std::string::npos);
    const std::string kept = reasonWith({without, "training.stack.plain_tensor_parallel=true"});
    EXPECT_NE(kept.find("and an all-gather: over tp it sends "), std::string::npos) << kept;
}

TEST(FindingSentences, AShardedOptimizerSendsAQuarterLess)
{
    const Opened opened = test::openNumber("01"); // fp32 gradients, bf16 parameters
    for (const Finding& finding : findings(*opened.simulation, opened.document, test::catalogue()))
        if (finding.kind == FindingKind::replicatedStates) {
            EXPECT_NE(finding.reason.find("25.0 % less than now"), std::string::npos) << finding.reason;
            return;
        }
    FAIL() << "states are whole on every rank";
}

TEST(FindingSentences, CopiesOfStatesCountBothCopiesOfAStage)
{
    const Opened opened = test::openNumber("70", {"layout.dp=2", "cluster.nodes=2"}); // DualPipe
    for (const Finding& finding : findings(*opened.simulation, opened.document, test::catalogue()))
        if (finding.kind == FindingKind::replicatedStates) {
            EXPECT_TRUE(finding.title.starts_with("Optimizer states are kept 4 times: ")) << finding.title;
            EXPECT_NE(finding.reason.find("and each stage lies on two ranks of the pipeline."), std::string::npos)
                << finding.reason;
            return;
        }
    FAIL() << "states are whole on every rank";
}

TEST(FindingSentences, ExpertsThatLieOnOneRankAreNotToldToBeKeptOftener)
{
    const auto document = ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1, "model": "mixtral-8x7b",
        "cluster": "h100-sxm-ib400", "layout": {"dp": 8, "ep": 8, "zero_stage": 0},
        "training": {"sequence_length": 4096, "global_batch_size": 8}})");
    const auto simulation = simulate(resolvedScenario(document, test::catalogue()));
    for (const Finding& finding : findings(*simulation, document, test::catalogue()))
        if (finding.kind == FindingKind::replicatedStates) {
            EXPECT_TRUE(finding.title.starts_with("Optimizer states are kept 8 times, the experts' once: ")) << finding.title;
            return;
        }
    FAIL() << "the other states are whole on every rank";
}

TEST(Warnings, ParametersTakeMoreMemoryWithZeroThreeThanWithOneWhereThereIsAPipeline)
{
    // What the warning at /layout/zero_stage says: gathered once a step, they stay beside their shards.
    std::mt19937 random(92);
    int jobs = 0;
    for (int i = 0; i < 200; ++i) {
        Scenario scenario = test::randomScenario(random, 64);
        if (scenario.layout.pp == 1 || scenario.schedule.kind == "auto")
            continue;
        SCOPED_TRACE(test::describe(scenario));
        const auto with = [&scenario](int stage) {
            scenario.layout.zeroStage = stage;
            return simulate(scenario);
        };
        std::shared_ptr<const Simulation> one, three;
        try {
            one = with(1);
            three = with(3);
        } catch (const Error&) { // an order that fits in so little memory does not exist
            continue;
        }
        for (int c = 0; c < one->classCount(); ++c) {
            const MemoryBreakdown of1 = one->memoryOfClass(c);
            const MemoryBreakdown of3 = three->memoryOfClass(three->classOf(one->representative(c)));
            EXPECT_GT(of3.parameters, 0);
            // What nobody else has a copy of, experts of one replica for example, is not gathered and stays as it is.
            EXPECT_GE(of3.parameters + of3.buffers, of1.parameters);
            if (scenario.layout.dpShard > 1) {
                EXPECT_GT(of3.parameters + of3.buffers, of1.parameters);
            }
        }
        // Gathered once: as many bytes of parameters as ZeRO 1 gathers after the optimizer.
        const auto sent = [](const Simulation& s) {
            return static_cast<double>(Traffic(s).senders().total().ofRole(CommunicatorRole::dpShard));
        };
        EXPECT_NEAR(sent(*one), sent(*three), 1e-5 * sent(*one));
        ++jobs;
    }
    EXPECT_GT(jobs, 50);
}

TEST(Warnings, CountExpertGroupsInSeveralDomainsAsMeshAndPlacementDo)
{
    std::mt19937 random(93);
    const auto pick = [&random](std::initializer_list<const char*> values) {
        return std::string(*(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size())));
    };
    int warned = 0, jobs = 0;
    for (int i = 0; i < 600; ++i) {
        const std::string text =
            R"({"format":"rankscope-scenario","version":1,"model":"mixtral-8x7b","cluster":{"base":"h100-sxm-ib400","gpus_per_node":)" +
            pick({"4", "6", "8"}) + R"(,"nodes":48},"layout":{"sequence_parallel":true,"tp":)" + pick({"1", "2", "4"}) +
            R"(,"pp":)" + pick({"1", "2"}) + R"(,"dp":)" + pick({"4", "6", "8", "12"}) + R"(,"ep":)" + pick({"2", "4", "8"}) +
            R"(,"etp":)" + pick({"1", "2"}) + R"(,"order":")" +
            pick({"tp-cp-ep-dp-pp", "ep-tp-cp-dp-pp", "tp-dp-cp-ep-pp", "tp-cp-ep-pp-dp"}) + R"(","placement":")" +
            pick({"packed", "round-robin"}) + R"("},"training":{"sequence_length":4096}})";
        SCOPED_TRACE(text);
        const auto resolved = ScenarioDocument::parse(text).resolve(test::catalogue());
        if (!resolved.scenario)
            continue;
        ++jobs;
        const Scenario& scenario = *resolved.scenario;
        const Mesh mesh(scenario.layout);
        const Placement placement(scenario.layout, scenario.cluster);
        int across = 0;
        double pairs = 0, apart = 0;
        for (int group = 0; group < mesh.groupCount(ProcessGroup::ep); ++group) {
            const std::vector<int> members = mesh.members(ProcessGroup::ep, group);
            bool isAcross = false;
            for (const int a : members)
                for (const int b : members) {
                    pairs += a != b ? 1 : 0;
                    apart += placement.tierBetween(a, b) > 0 ? 1 : 0;
                    isAcross = isAcross || placement.tierBetween(a, b) > 0;
                }
            across += isAcross ? 1 : 0;
        }
        std::string said;
        for (const Problem& problem : resolved.problems)
            said += problem.pointer == "/layout/ep" ? problem.message : "";
        EXPECT_EQ(!said.empty(), across > 0) << said;
        if (said.empty())
            continue;
        ++warned;
        std::smatch match;
        if (std::regex_search(said, match, std::regex("([0-9]+) of ([0-9]+) expert parallel groups"))) {
            EXPECT_EQ(std::stoi(match[1]), across);
            EXPECT_EQ(std::stoi(match[2]), mesh.groupCount(ProcessGroup::ep));
        }
        ASSERT_TRUE(std::regex_search(said, match, std::regex("([0-9]+) % of what"))) << said;
        EXPECT_NEAR(std::stod(match[1]), 100 * apart / pairs, 0.5001);
    }
    EXPECT_GT(jobs, 100);
    EXPECT_GT(warned, 30);
    EXPECT_GT(jobs - warned, 30);
}

TEST(FindingSentences, ExpertGroupsThatDoNotLieWithinARackSayHowMuchCrosses)
{
    // Groups of 64 on racks of 72: the second begins in one rack and ends in the next.
    const auto document = [](int ep) {
        return ScenarioDocument::parse(
            R"({"format":"rankscope-scenario","version":1,"model":"deepseek-v3","cluster":)"
            R"({"base":"gb200-nvl72","nodes":144},"layout":{"pp":1,"dp":576,"etp":1,"zero_stage":1,"ep":)" +
            std::to_string(ep) + R"(},"training":{"sequence_length":4096,"global_batch_size":4608}})");
    };
    const auto across = [&](int ep) -> std::optional<Finding> {
        const auto resolved = document(ep).resolve(test::catalogue());
        if (!resolved.scenario)
            throw std::runtime_error(resolved.problems.front().text());
        for (Finding& finding : findings(*simulate(*resolved.scenario), document(ep), test::catalogue()))
            if (finding.kind == FindingKind::expertsAcrossNodes)
                return std::move(finding);
        return std::nullopt;
    };
    const auto straddling = across(64);
    ASSERT_TRUE(straddling);
    EXPECT_NE(straddling->reason.find("span 64 GPUs, and a domain joins 72. 7 of 9 groups of 64 ranks lie in several"),
              std::string::npos)
        << straddling->reason;
    ASSERT_GE(straddling->suggestions.size(), 2U);
    EXPECT_EQ(straddling->suggestions[0].text, "use 64 of the 72 GPUs of each NVLink domain: 16 of 18 nodes in each of 9, 8 now");
    EXPECT_EQ(straddling->suggestions[1].text, "ep 64 → 8");
    EXPECT_FALSE(across(8));
}
