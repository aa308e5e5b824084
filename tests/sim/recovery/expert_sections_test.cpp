// Experts with unequal loads, planted: who computes longer between the all-to-alls, and what does not look like it.
#include "sim/recovery/expert_sections.h"
#include "sim/recovery/recover.h"
#include "sim/recovery/run_answers.h"
#include "sim/recovery/run_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>

namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::size_t kRanks = 4, kLayers = 3, kSteps = 3;

/// How many times as long as usual a rank's attention, and its experts, take in a layer.
struct Loads {
    std::function<double(std::size_t rank)> attention = [](std::size_t) { return 1.0; };
    std::function<double(std::size_t rank, std::size_t layer)> experts = [](std::size_t, std::size_t) { return 1.0; };
    bool weightsApart = false; ///< tokens and their weights travel in two exchanges
};

/// Four data-parallel ranks whose experts lie over them: attention of 5 ms and experts of 4 ms a layer, forward and backward.
sim::RunEvidence trained(const Loads& loads)
{
    sim::RunEvidence evidence;
    evidence.worldSize = kRanks;
    evidence.names = {"", "flash", "gemm", "ncclDevKernel_SendRecv", "ncclDevKernel_AllReduce"};
    evidence.axes = {{"dp", kRanks, 1}, {"ep", kRanks, 1}};
    evidence.isOneClock = true;
    evidence.groups = {{.name = "ep 0", .description = {}, .ranks = {0, 1, 2, 3}, .evidence = {}},
                       {.name = "dp 0", .description = {}, .ranks = {0, 1, 2, 3}, .evidence = {}}};
    for (std::size_t r = 0; r < kRanks; ++r)
        evidence.ranks.push_back({.rank = static_cast<int>(r)});
    std::int64_t at = 1'700'000'000 * std::int64_t{1'000'000'000};
    for (std::size_t step = 0; step < kSteps; ++step) {
        const std::int64_t begin = at;
        std::array<std::int64_t, kRanks> ready{begin, begin, begin, begin};
        const auto compute = [&](std::size_t r, double ms, std::uint32_t name) {
            const std::int64_t end = ready[r] + static_cast<std::int64_t>(ms * static_cast<double>(kMs));
            evidence.ranks[r].work.push_back({.startNs = ready[r], .endNs = end, .name = name});
            ready[r] = end;
        };
        const auto meet = [&](sim::Exchange exchange, std::int32_t group) {
            const std::int64_t end = *std::max_element(ready.begin(), ready.end()) + kMs / 2;
            for (std::size_t r = 0; r < kRanks; ++r) {
                evidence.ranks[r].comms.push_back({.startNs = ready[r],
                                                   .endNs = end,
                                                   .exchange = exchange,
                                                   .group = group,
                                                   .bytes = 1 << 20,
                                                   .stream = 9,
                                                   .name = exchange == sim::Exchange::allToAll ? 3U : 4U});
                ready[r] = end;
            }
        };
        const auto layer = [&](std::size_t l, bool backward) {
            const double times = backward ? 2 : 1;
            for (std::size_t r = 0; r < kRanks && !backward; ++r)
                compute(r, 5 * loads.attention(r), 1);
            for (int k = 0; k < (loads.weightsApart ? 2 : 1); ++k)
                meet(sim::Exchange::allToAll, 0);
            for (std::size_t r = 0; r < kRanks; ++r)
                compute(r, times * 4 * loads.experts(r, l), 2);
            meet(sim::Exchange::allToAll, 0);
            for (std::size_t r = 0; r < kRanks && backward; ++r)
                compute(r, 10 * loads.attention(r), 1);
        };
        for (std::size_t l = 0; l < kLayers; ++l)
            layer(l, false);
        for (std::size_t l = kLayers; l-- > 0;)
            layer(l, true);
        meet(sim::Exchange::allReduce, 1);
        at = *std::max_element(ready.begin(), ready.end());
        for (sim::RankEvidence& rank : evidence.ranks)
            rank.steps.push_back({.number = static_cast<std::int64_t>(step), .startNs = begin, .endNs = at});
        at += kMs;
    }
    return evidence;
}

const sim::RunFinding* unevenExperts(const sim::RunAnswers& answers)
{
    const auto found = std::find_if(answers.findings.begin(), answers.findings.end(),
                                    [](const sim::RunFinding& finding) { return finding.kind == "uneven-experts"; });
    return found == answers.findings.end() ? nullptr : &*found;
}

TEST(UnevenExperts, AreToldWithWhoHasMostAndWhatItCosts)
{
    for (const bool apart : {false, true}) {
        Loads loads{.weightsApart = apart};
        loads.experts = [](std::size_t rank, std::size_t) { return rank == 2 ? 1.6 : 0.8; };
        const sim::Recovered recovered = sim::recover(trained(loads));
        const auto found = sim::expertLoads(recovered);
        ASSERT_EQ(found.size(), 1U);
        EXPECT_EQ(found[0].busiest, 2);
        EXPECT_EQ(found[0].sections, 2 * kLayers);
        EXPECT_NEAR(found[0].longer, 0.6, 1e-6); // the mean is 1
        EXPECT_NEAR(found[0].ofSection, 0.6, 1e-6);
        EXPECT_NEAR(found[0].ofSectionElsewhere, 0, 1e-6);
        EXPECT_NEAR(found[0].waitedNs, (1.6 - 0.8) * 4 * 3 * kLayers * kMs, 1) << "each of the others";

        const sim::RunAnswers answers = sim::answersOf(recovered);
        const sim::RunFinding* finding = unevenExperts(answers);
        ASSERT_TRUE(finding);
        EXPECT_EQ(finding->title, "Rank 2 computes 60.0 % longer in its experts than its group");
        EXPECT_THAT(finding->ranks, testing::ElementsAre(2));
        EXPECT_THAT(finding->detail, testing::HasSubstr("6 times a step"));
        EXPECT_THAT(finding->detail, testing::HasSubstr("wait 28.8 ms a step"));
    }
}

TEST(UnevenExperts, MayBeOfAnotherRankInEachLayer)
{
    Loads loads;
    loads.experts = [](std::size_t rank, std::size_t layer) { return rank == layer ? 1.6 : 0.8; };
    const sim::RunAnswers answers = sim::answersOf(sim::recover(trained(loads)));
    const sim::RunFinding* finding = unevenExperts(answers);
    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->title, "Experts are uneven: the busiest rank computes 60.0 % longer");
    EXPECT_EQ(finding->ranks.size(), kRanks);
}

TEST(UnevenExperts, AreFoundBesideAGroupThatWaitsLongerForASlowGpu)
{
    const sim::Recovered recovered = sim::recover(trained({}));
    sim::RunAnswers answers;
    answers.experts = {
        {.ranks = {0, 1}, .busiest = 0, .longer = 0.5, .ofSection = 0.5, .ofSectionElsewhere = 0.5, .waitedNs = 9e6},
        {.ranks = {2, 3}, .busiest = 3, .longer = 0.4, .ofSection = 0.4, .waitedNs = 5e6}};
    const auto findings = sim::findingsOf(recovered, answers);
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].title, "Rank 3 computes 40.0 % longer in its experts than its group");
    EXPECT_THAT(findings[0].detail, testing::HasSubstr("1 of 2 groups of experts"));
}

TEST(UnevenExperts, AreNeitherEvenOnesNorASlowGpuNorUnevenAttention)
{
    EXPECT_FALSE(unevenExperts(sim::answersOf(sim::recover(trained({})))));
    Loads slowGpu;
    slowGpu.attention = [](std::size_t rank) { return rank == 1 ? 1.5 : 1.0; };
    slowGpu.experts = [](std::size_t rank, std::size_t) { return rank == 1 ? 1.5 : 1.0; };
    EXPECT_FALSE(unevenExperts(sim::answersOf(sim::recover(trained(slowGpu)))));
}

} // namespace
