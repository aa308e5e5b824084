// What the host's launches cost: a kernel cannot run before it has been started.
#include "sim/cost/cost.h"
#include "sim/cost/profile_curves.h"
#include "tests/sim/cost/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>

using namespace sim;
using test::gemm, test::plain;

namespace {

/// Of the ops of its only pass, played once by itself: until each has ended from when its streams are free, its launch included.
std::vector<std::int64_t> lasting(const Scenario& scenario, const Program& program)
{
    const CostModel cost(scenario);
    const OpDurations durations = cost.price(program, GroupGeometry{});
    const std::vector<PassLaunches> launches = cost.launches(program);
    std::array<std::int64_t, kStreamCount> tail{};
    HostClock host;
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i < program.passes[0].ops.size(); ++i) {
        const Op& op = program.passes[0].ops[i];
        std::int64_t& of = tail[static_cast<std::size_t>(op.stream)];
        std::int64_t ready = of;
        for (unsigned left = op.waits; left != 0; left &= left - 1)
            ready = std::max(ready, tail[static_cast<std::size_t>(std::countr_zero(left))]);
        const std::int64_t begin =
            launches.empty() ? ready : host.beginNs(launches[0].ops[i], op.stream == Stream::compute, ready);
        of = begin + durations[0][i];
        out.push_back(of - ready);
    }
    return out;
}

} // namespace

TEST(LaunchCosts, AKernelWaitsForTheHostThatStartsIt)
{
    Scenario scenario = plain();
    scenario.training.stack = {};
    scenario.training.stack.launchUs = scenario.training.stack.backwardLaunchUs = 0;
    Program program;
    program.labels = {"kernel"};
    Pass pass;
    for (int i = 0; i < 4; ++i) {
        pass.ops.push_back({});
        pass.shapes.push_back({.family = KernelFamily::norm, .bytes = 1000}); // far below a microsecond
    }
    program.passes.push_back(pass);
    const auto sum = [&] {
        std::int64_t ns = 0;
        for (const std::int64_t duration : lasting(scenario, program))
            ns += duration;
        return ns;
    };
    const std::int64_t onGpu = sum();
    scenario.training.stack.launchUs = 50; // one kernel a norm, forward
    EXPECT_NEAR(static_cast<double>(sum()), 4 * 50'000.0 + static_cast<double>(onGpu) / 4, 10);
    // Where the GPU is behind, the host is not waited for.
    for (OpShape& shape : program.passes[0].shapes)
        shape.bytes = 1 << 30;
    const std::int64_t behind = sum();
    scenario.training.stack.launchUs = 0;
    EXPECT_NEAR(static_cast<double>(behind - sum()), 50'000, 10); // the first one alone
}

TEST(LaunchCosts, AHostThatWaitsForEachKernelAddsToEach)
{
    Scenario scenario = plain();
    scenario.training.stack = {};
    scenario.training.stack.launchUs = 50;
    Program program;
    program.labels = {"kernel"};
    Pass pass;
    for (int i = 0; i < 4; ++i) {
        pass.ops.push_back({});
        pass.shapes.push_back({.family = KernelFamily::norm, .bytes = 1 << 30}); // far above 50 microseconds
    }
    program.passes.push_back(pass);
    const auto sum = [&] {
        std::int64_t ns = 0;
        for (const std::int64_t duration : lasting(scenario, program))
            ns += duration;
        return static_cast<double>(ns);
    };
    const double ahead = sum(); // the first launch alone
    scenario.training.stack.blocksLaunches = true;
    EXPECT_NEAR(sum() - ahead, 3 * 50'000.0, 10);
}

TEST(LaunchCosts, DifferByDirectionAndForCollectivesAndTheOptimizerWaitsForItsHost)
{
    Scenario scenario = plain();
    Stack& stack = scenario.training.stack;
    stack = {};
    stack.launchUs = 50;
    stack.backwardLaunchUs = 70;
    stack.collectiveLaunchUs = 30;
    Program program;
    program.labels = {"op"};
    const auto secondNs = [&](const Op& first, const OpShape& firstShape, const Op& second, const OpShape& shape) {
        program.passes = {{.ops = {first, second}, .shapes = {firstShape, shape}}};
        return static_cast<double>(lasting(scenario, program)[1]);
    };
    const OpShape forward{.family = KernelFamily::rope, .bytes = 1000}; // one kernel, far below a microsecond
    OpShape backward = forward;
    backward.pass = KernelPass::backward; // two
    const double own = static_cast<double>(CostModel(scenario).kernelNs(forward));
    EXPECT_NEAR(secondNs({}, forward, {}, forward), 50e3, 10) << "the host is a launch ahead, and its own time is shorter";
    EXPECT_NEAR(secondNs({}, forward, {}, backward), 2 * 70e3, 10);
    // The host starts a collective, which no kernel need wait for, and then a kernel.
    const Op collective{.kind = OpKind::collective, .stream = Stream::dp};
    EXPECT_NEAR(secondNs(collective, {}, {}, forward), 30e3 + 50e3 + own, 10);
    stack.stepMs = 2;
    const Op optimizer{.purpose = OpPurpose::optimizer};
    const OpShape update{.family = KernelFamily::optimizer, .bytes = 1000};
    EXPECT_NEAR(secondNs({}, forward, optimizer, update), 70e3 + 2e6, 10);
    stack.stepMs = 0;
    // One that needs a kernel is started behind it.
    const Op behind{.kind = OpKind::collective, .stream = Stream::tp, .waits = maskOf(Stream::compute)};
    EXPECT_NEAR(secondNs({}, forward, behind, {}), 30e3 - own, 10);
    stack.blocksLaunches = true;
    EXPECT_NEAR(secondNs({}, forward, behind, {}), 30e3, 10);
}

TEST(LaunchCosts, ExpertsThatAreStartedOneByOneWaitForTheHostAndItForTheirTokens)
{
    Scenario scenario = plain();
    scenario.training.precision = Precision::fp8;
    Stack& stack = scenario.training.stack;
    stack = {};
    stack.launchUs = stack.backwardLaunchUs = 5;
    stack.castBytes = 0;
    stack.castLaunches = 2;
    const OpShape before{.family = KernelFamily::other, .bytes = std::int64_t{1} << 32}; // over a millisecond
    const OpShape permute{.family = KernelFamily::permute, .bytes = 1000};
    OpShape experts{.kernel = KernelKind::groupedGemm, .family = KernelFamily::groupedGemm, .lowPrecision = true};
    experts.m = experts.n = experts.k = 128;
    experts.batch = 16;
    Program program;
    program.labels = {"op"};
    program.passes = {{.ops = {Op{}, Op{}, Op{}}, .shapes = {before, permute, experts}}};
    for (Op& op : program.passes[0].ops)
        op.layer = 0;
    const auto durations = [&] { return lasting(scenario, program); };
    const auto grouped = durations();
    stack.expertLaunchUs = 9;
    const auto single = durations();
    const CostModel cost(scenario);
    const auto own = [&](const OpShape& shape) { return static_cast<double>(cost.kernelNs(shape)); };
    EXPECT_NEAR(static_cast<double>(grouped[1]), own(permute), 10) << "the host is far ahead";
    EXPECT_NEAR(static_cast<double>(single[1]), 5e3 + own(permute), 10) << "it has waited for what comes before";
    EXPECT_NEAR(static_cast<double>(grouped[2]), own(experts), 10);
    EXPECT_NEAR(static_cast<double>(single[2]), 16 * (9e3 + 4 * 5e3) - own(permute) + own(experts), 10);
    scenario.training.moe.sendOncePerNode = true;
    scenario.model.numExperts = 16;
    program.passes[0].ops.push_back(program.passes[0].ops.back());
    program.passes[0].shapes.push_back(experts);
    for (const int expertsOfToken : {8, 1}) {
        SCOPED_TRACE(expertsOfToken);
        scenario.model.numExpertsPerTok = expertsOfToken;
        const auto counted = durations();
        EXPECT_NEAR(static_cast<double>(counted[1]), own(permute), 10) << "counts come with the tokens";
        EXPECT_NEAR(static_cast<double>(counted[2]), 16 * (9e3 + 4 * 5e3) + own(experts), 10)
            << "and the host begins behind them";
        EXPECT_NEAR(static_cast<double>(counted[3]), 16 * (9e3 + 4 * 5e3), 10) << "once: it knows them then";
    }
    scenario.training.moe.sendOncePerNode = false;
    program.passes[0].ops.pop_back();
    program.passes[0].shapes.pop_back();
    stack.cudaGraphs = CudaGraphs::attention;
    EXPECT_EQ(durations()[2], single[2]) << "which holds no experts";
    stack.cudaGraphs = CudaGraphs::step;
    EXPECT_NEAR(static_cast<double>(durations()[2]), own(experts), 10);
}

TEST(LaunchCosts, OfAGraphOfAttentionAreThoseOfExpertsAlone)
{
    Scenario scenario = plain();
    scenario.training.stack = {};
    scenario.training.stack.launchUs = 50;
    Program program;
    program.labels = {"op"};
    program.passes = {
        {.ops = {Op{}, Op{}},
         .shapes = {{.family = KernelFamily::norm, .bytes = 1000}, {.family = KernelFamily::permute, .bytes = 1000}}}};
    for (Op& op : program.passes[0].ops)
        op.layer = 0;
    const CostModel bare(scenario);
    scenario.training.stack.cudaGraphs = CudaGraphs::attention;
    const std::vector<std::int64_t> durations = lasting(scenario, program);
    EXPECT_EQ(durations[0], bare.kernelNs(program.passes[0].shapes[0]));
    EXPECT_GT(durations[1], 49'000);
}

TEST(LaunchCosts, OfMeasuredKernelsAreInTheirTimesUnlessTheseAreAlone)
{
    Scenario scenario = plain();
    scenario.training.stack = {};
    scenario.training.stack.launchUs = 50;
    // Its norms were measured, its rotations were not.
    const std::string norm = kernelCurveName(KernelFamily::norm, KernelPass::forward, scenario);
    ASSERT_FALSE(norm.empty());
    HardwareProfile& profile = scenario.cluster.efficiency.profile;
    profile = {.device = "one", .kernels = {{norm, {{.m = 1, .n = 1000, .microseconds = 7}}}}};
    Program program;
    program.labels = {"op"};
    const OpShape measured{.family = KernelFamily::norm, .m = 1, .n = 1000, .bytes = 1000};
    const OpShape other{.family = KernelFamily::rope, .bytes = 1000}; // far below a microsecond
    program.passes = {{.ops = {Op{}, Op{}}, .shapes = {measured, other}}};
    EXPECT_EQ(CostModel(scenario).kernelNs(measured), 7000);
    const double own = static_cast<double>(CostModel(scenario).kernelNs(other));
    EXPECT_EQ(lasting(scenario, program)[0], 7000);
    EXPECT_NEAR(static_cast<double>(lasting(scenario, program)[1]), 50'000 - 7000 + own, 10)
        << "one measured kernel does not start the others";
    profile.kernelsAlone = true;
    EXPECT_EQ(lasting(scenario, program)[0], 57'000);
    EXPECT_NEAR(static_cast<double>(lasting(scenario, program)[1]), 50'000 - 7000 + own, 10);
}

TEST(FusedExperts, CastWhatComesInAlone)
{
    Scenario scenario = plain();
    scenario.training.precision = Precision::fp8;
    scenario.model.hiddenSize = 4096;
    Stack& stack = scenario.training.stack;
    stack.castBytes = 3;
    const auto casts = [&](std::int64_t k) {
        OpShape shape = gemm(8192, 4096, k);
        shape.kernel = KernelKind::groupedGemm;
        shape.lowPrecision = true;
        const auto with = static_cast<double>(CostModel(scenario).kernelNs(shape));
        Scenario none = scenario;
        none.training.stack.castBytes = 0;
        return with - static_cast<double>(CostModel(none).kernelNs(shape));
    };
    EXPECT_GT(casts(4096), 0);
    EXPECT_GT(casts(1536), 0);
    stack.fusesExperts = true;
    EXPECT_GT(casts(4096), 0);
    EXPECT_EQ(casts(1536), 0);
}

TEST(LaunchCosts, OfACpuAreInItsKernels)
{
    Scenario scenario = plain();
    scenario.cluster.gpu.multiprocessors = 0;
    scenario.training.stack.launchUs = 1000;
    Program program;
    Pass pass;
    pass.ops.push_back({});
    pass.shapes.push_back({.family = KernelFamily::norm, .bytes = 1000});
    program.passes.push_back(pass);
    EXPECT_LT(lasting(scenario, program)[0], 100'000);
}
