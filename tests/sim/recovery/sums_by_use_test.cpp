// What sums are for where nobody names their group: of gradients or of activations, by the backwards before them.
#include "sim/recovery/recover.h"

#include "tests/support/kineto_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

/// A job that shards its parameters over four ranks: of each micro-batch four layers are gathered and run forwards, then gathered
/// and run backwards with a sum each. `marksAutograd`: nodes of autograd launch backwards.
sim::Recording sharded(int microbatches, bool marksAutograd, const std::string& exchange = "_reduce_scatter_base")
{
    const std::vector<int> all{0, 1, 2, 3};
    test::KinetoJob job(4);
    job.group("0", "default_pg", all);
    job.group("1", "undefined", all);
    for (test::KinetoRank& rank : job.ranks())
        for (int step = 0; step < 3; ++step) {
            const double begin = 1000 + step * (microbatches * 8000.0 + 500);
            double at = begin;
            const auto gather = [&] {
                rank.kernel("ncclDevKernel_AllGather_RING_LL", at - 20, at, 100, 20,
                            test::KinetoJob::args("_allgather_base", "1", all, 1 << 20));
                at += 100;
            };
            for (int microbatch = 0; microbatch < microbatches; ++microbatch) {
                for (int layer = 0; layer < 4; ++layer) {
                    gather();
                    rank.kernel("gemm", at - 20, at, 600);
                    at += 600;
                }
                const double backward = at;
                for (int layer = 0; layer < 4; ++layer) {
                    gather();
                    rank.kernel("gemm", at - 20, at, 1000, 7, {}, 200);
                    at += 1000;
                    rank.kernel("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", at - 20, at, 100, 20,
                                test::KinetoJob::args(exchange, "1", all, 1 << 20), 200);
                    at += 100;
                }
                if (marksAutograd)
                    rank.host("cpu_op", "autograd::engine::evaluate_function: MmBackward0", backward - 21, at - backward, {},
                              200);
            }
            rank.step(step + 1, begin - 30, at - begin + 400, begin, at - begin + 400);
        }
    return job.read();
}

TEST(ShardedGradients, AreDataParallelHoweverManyMicroBatchesAStepSumsThem)
{
    for (const int microbatches : {1, 2, 8, 16})
        for (const bool marksAutograd : {true, false}) {
            const sim::Recovered run = sim::recover(sharded(microbatches, marksAutograd));
            ASSERT_EQ(run.axes.axes.size(), 1U) << microbatches;
            EXPECT_EQ(run.axes.axes[0].name, "dp") << microbatches << " micro-batches, marks " << marksAutograd;
        }
}

TEST(GradientSums, ThatAStepOfTheirOrderBeginsWithAreNoSumsOfActivations)
{
    // No marks of steps: 6 ms of kernels, then the sum of gradients.
    test::KinetoJob job(2);
    job.group("0", "default_pg", {0, 1});
    for (test::KinetoRank& rank : job.ranks())
        for (int step = 0; step < 5; ++step) {
            const double begin = 1000 + step * 10000;
            rank.kernel("gemm", begin - 5, begin, 6000);
            rank.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", begin - 4, begin + 6000, 4000, 20,
                        test::KinetoJob::args("allreduce", "0", {0, 1}, 1 << 20));
        }
    const sim::Recovered run = sim::recover(job.read());
    ASSERT_EQ(run.axes.axes.size(), 1U);
    EXPECT_EQ(run.axes.axes[0].name, "dp");
    EXPECT_THAT(run.axes.axes[0].evidence, testing::HasSubstr(" 1.00 a step"));
}

/// Four ranks hold a copy each; in each forward they sum `bytes`, as losses are for a report, before gradients.
sim::Recovered reportsLosses(int bytes)
{
    const std::vector<int> all{0, 1, 2, 3};
    test::KinetoJob job(4);
    job.group("0", "default_pg", all);
    job.group("1", "undefined", all);
    for (test::KinetoRank& rank : job.ranks())
        for (int step = 0; step < 3; ++step) {
            const double begin = 1000 + step * 12'000;
            double at = begin;
            const auto sum = [&](int of) {
                rank.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", at - 20, at, 50, 20,
                            test::KinetoJob::args("allreduce", "1", all, of));
                at += 50;
            };
            for (int microbatch = 0; microbatch < 4; ++microbatch) {
                rank.kernel("gemm", at - 20, at, 600);
                at += 600;
                sum(bytes);
                const double backward = at;
                rank.kernel("gemm", at - 20, at, 1200, 7, {}, 200);
                at += 1200;
                rank.host("cpu_op", "autograd::engine::evaluate_function: MmBackward0", backward - 21, at - backward, {}, 200);
            }
            sum(1 << 24);
            rank.step(step + 1, begin - 30, at - begin + 400, begin, at - begin + 400);
        }
    return sim::recover(job.read());
}

TEST(LossesThatAreReported, AreNoSumsOfActivations)
{
    const sim::Recovered run = reportsLosses(2);
    ASSERT_EQ(run.axes.axes.size(), 1U);
    EXPECT_EQ(run.axes.axes[0].name, "dp") << run.axes.axes[0].evidence;
    EXPECT_EQ(reportsLosses(1 << 20).axes.axes.at(0).name, "tp") << "as activations would be";
}

/// Inference with sequence parallelism: around each product of a forward activations are gathered, and summed behind it.
TEST(Sums, OfAModelThatIsOnlyRunAreOfActivations)
{
    const std::vector<int> both{0, 1};
    test::KinetoJob job(2);
    job.group("0", "default_pg", both);
    job.group("1", "undefined", both);
    for (test::KinetoRank& rank : job.ranks())
        for (int layer = 0; layer < 8; ++layer) {
            const double at = 1000 + layer * 1000.0;
            rank.kernel("ncclDevKernel_AllGather_RING_LL", at - 20, at, 100, 20,
                        test::KinetoJob::args("_allgather_base", "1", both, 1 << 20));
            rank.kernel("flash_fwd_kernel", at + 90, at + 100, 600);
            rank.kernel("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", at + 690, at + 700, 100, 20,
                        test::KinetoJob::args("_reduce_scatter_base", "1", both, 1 << 20));
        }
    const sim::Recovered run = sim::recover(job.read());
    EXPECT_EQ(run.axes.sizeOf("dp"), 1);
    EXPECT_EQ(run.axes.sizeOf("tp"), 2);
}

} // namespace
