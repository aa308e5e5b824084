// Of many differences of two runs the few causes that matter, and how many others there are.
#include "sim/recovery/run_difference.h"
#include "sim/trace/readers/read_recording.h"

#include "tests/support/recorded.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

using testing::HasSubstr;

sim::Recovered recoveredStep(const sim::Scenario& scenario)
{
    return sim::recover(test::recordingOf(*sim::simulate(scenario, {.full = true})));
}

/// One rank, of five like steps with these kernels: name and µs.
sim::Recovered runOfKernels(const std::vector<std::pair<std::string, int>>& kernels)
{
    sim::RunEvidence evidence;
    evidence.worldSize = 1;
    sim::RankEvidence& rank = evidence.ranks.emplace_back();
    std::int64_t at = 0;
    for (std::int64_t step = 0; step < 5; ++step) {
        const std::int64_t begin = at;
        for (std::uint32_t i = 0; i < kernels.size(); ++i) {
            rank.work.push_back({.startNs = at, .endNs = at + kernels[i].second * std::int64_t{1000}, .name = i});
            at = rank.work.back().endNs;
        }
        rank.steps.push_back({.number = step, .startNs = begin, .endNs = at});
    }
    for (const auto& [name, us] : kernels)
        evidence.names.push_back(name);
    return sim::recover(std::move(evidence));
}

TEST(Causes, AreFewAndTheRestIsCounted)
{
    const std::string add = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)",
                      mul = "void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float>>(int)";
    std::vector<std::pair<std::string, int>> other{{"volta_sgemm_32x128_nn", 4500},
                                                   {"volta_sgemm_128x64_nt", 3000},
                                                   {add, 1500},
                                                   {mul, 1500},
                                                   {"void unchanged<int>(int)", 500}};
    for (int i = 0; i < 20; ++i)
        other.emplace_back("tiny_" + std::to_string(i) + "_kernel", 30);
    const sim::RunDifference difference =
        sim::differenceOf(runOfKernels({{"ampere_sgemm_128x128_tn", 3000},
                                        {"void cutlass::Kernel<cutlass_80_s1688gemm>(int)", 2000},
                                        {add, 1000},
                                        {mul, 1000},
                                        {"void unchanged<int>(int)", 500}}),
                          runOfKernels(other));
    EXPECT_EQ(difference.findings.size(), 1U + 4U + 2U + 20U) << "all of them, the step first";
    ASSERT_EQ(difference.causes.size(), 3U);
    EXPECT_EQ(difference.causes[0].title,
              "Matrix products, 2 kinds of kernels that are new: 7.50 ms a step of the mean rank more");
    EXPECT_EQ(difference.causes[0].detail,
              "The largest: volta_sgemm_32x128_nn is new: 4.50 ms a step and rank. It has no fellow of "
              "its name in the other run. Of the like 2 are gone: with them 2.50 ms a step of the mean "
              "rank more.");
    EXPECT_NEAR(difference.causes[0].seconds, 0.0075, 1e-9);
    EXPECT_EQ(difference.causes[1].title,
              "Matrix products, 2 kinds of kernels that are gone: 5.00 ms a step of the mean rank less");
    EXPECT_THAT(difference.causes[1].detail,
                testing::EndsWith("Of the like 2 are new: with them 2.50 ms a step of the mean rank more."));
    EXPECT_NEAR(difference.causes[1].seconds, -0.005, 1e-9);
    EXPECT_EQ(difference.causes[2].title, "at::native::vectorized_elementwise_kernel, 2 kinds of kernels that take longer: "
                                          "1.00 ms a step of the mean rank more");
    EXPECT_NEAR(difference.differingSeconds, 0.0141, 1e-9) << "7.5 new, 5 gone, 1 longer, 0.6 of small ones";
    EXPECT_NEAR(difference.causes[0].share, 7.5 / 14.1, 1e-3);
    EXPECT_EQ(difference.otherFindings, 20U);
    EXPECT_NEAR(difference.otherShare, 0.6 / 14.1, 1e-3);
    const std::string text = sim::differenceText(difference);
    EXPECT_THAT(text, HasSubstr("  The step takes 54.7 % longer: 7.50 ms → 11.6 ms\n"));
    EXPECT_THAT(text, HasSubstr("  and 20 smaller ones, together 4.3 % of the 14.1 ms that all changes add up to, whether longer "
                                "or shorter; --json has them all\n"));
    EXPECT_THAT(text, testing::Not(HasSubstr("tiny_")));
    const nlohmann::ordered_json answer = sim::differenceJson(difference);
    EXPECT_EQ(answer["findings"].size(), difference.findings.size());
    EXPECT_EQ(answer["causes"].size(), 3U);
    EXPECT_EQ(answer["causes"][1]["findings"].size(), 2U);
    EXPECT_NEAR(answer["differing_s"].get<double>(), 0.0141, 1e-9);
    EXPECT_EQ(answer["other_findings"]["count"], 20);
}

TEST(Causes, OfSeveralRanksAreOneAsSlowAsTheSlowestOfThem)
{
    sim::Scenario scenario = test::smallScenario(2, 1, 4, 8);
    const sim::Recovered before = recoveredStep(scenario);
    for (const int rank : {3, 5})
        scenario.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = rank, .factor = rank == 3 ? 1.2 : 1.4});
    const sim::RunDifference difference = sim::differenceOf(before, recoveredStep(scenario));
    const auto slowest = std::find_if(difference.findings.begin(), difference.findings.end(),
                                      [](const sim::DifferenceFinding& finding) { return finding.kind == "rank"; });
    ASSERT_NE(slowest, difference.findings.end());
    const auto cause = std::find_if(difference.causes.begin(), difference.causes.end(), [&](const sim::DifferenceCause& of) {
        return of.title == "2 ranks compute longer than the other ranks' change explains";
    });
    ASSERT_NE(cause, difference.causes.end());
    EXPECT_EQ(cause->seconds, slowest->seconds);
    EXPECT_EQ(difference.findings[cause->findings.front()].ranks, std::vector<int>{5});
    EXPECT_THAT(cause->detail, testing::StartsWith("The largest: Rank 5 computes "));
}

TEST(Causes, ThatAreNewInPlaceOfWhatIsGoneDoNotCancel)
{
    // A library that was swapped for one as fast, and one kernel of a function that got faster as another got slower.
    const std::string add = "void at::native::pointwise<Add>(int)", mul = "void at::native::pointwise<Mul>(int)";
    const sim::RunDifference difference =
        sim::differenceOf(runOfKernels({{"ampere_sgemm_tn", 5000}, {add, 1000}, {mul, 2000}, {"same", 4000}}),
                          runOfKernels({{"nvjet_hsh_tn", 5000}, {add, 2000}, {mul, 1000}, {"same", 4000}}));
    ASSERT_EQ(difference.causes.size(), 4U) << sim::differenceText(difference);
    std::vector<int> us;
    for (const sim::DifferenceCause& cause : difference.causes)
        us.push_back(static_cast<int>(std::lround(cause.seconds * 1e6)));
    EXPECT_THAT(us, testing::UnorderedElementsAre(5000, -5000, 1000, -1000));
    EXPECT_NEAR(difference.differingSeconds, 0.012, 1e-9) << "though the step takes as long";
    EXPECT_THAT(difference.causes[0].detail + difference.causes[1].detail,
                HasSubstr("Of the like 1 is gone: with it no more and no less."));
}

TEST(Causes, OfOneAreToldInItsOwnWords)
{
    const sim::RunDifference difference =
        sim::differenceOf(runOfKernels({{"gemm", 1000}, {"softmax", 500}}), runOfKernels({{"gemm", 1000}, {"softmax", 900}}));
    ASSERT_EQ(difference.findings.size(), 2U);
    ASSERT_EQ(difference.causes.size(), 1U);
    EXPECT_EQ(difference.causes[0].title, difference.findings[1].title);
    EXPECT_EQ(difference.causes[0].share, 1);
    EXPECT_EQ(sim::otherFindingsText(difference), "");
}

TEST(Causes, OfQuiteDifferentJobsAreAHandful)
{
    const std::string folder = RANKSCOPE_TEST_DATA "/kineto/";
    const auto read = [&](const char* file) { return sim::recover(sim::readRecording({folder + file})); };
    const sim::RunDifference difference =
        sim::differenceOf(read("worker0_step_12.1694128201545.pt.trace.json.gz"), read("nccl_data.json.gz"));
    EXPECT_GT(difference.findings.size(), 30U);
    EXPECT_LE(difference.causes.size(), 8U);
    EXPECT_GE(difference.causes.size(), 3U);
    double shares = difference.otherShare;
    std::size_t findings = difference.otherFindings + difference.headlines().size();
    for (const sim::DifferenceCause& cause : difference.causes) {
        shares += cause.share;
        findings += cause.findings.size();
    }
    EXPECT_NEAR(shares, 1, 1e-9);
    EXPECT_EQ(findings, difference.findings.size()) << "each is told once, or counted";
    EXPECT_LT(difference.otherShare, difference.causes.front().share);
}

} // namespace
