// What ops of a rank cannot help but do to each other, on passes whose times are counted by hand.
#include "sim/planner/stream_clock.h"

#include <gtest/gtest.h>

using namespace sim;

namespace {

constexpr StreamMask kCompute = maskOf(Stream::compute);

PricedOp kernel(double ns, StreamMask waits = 0)
{
    return {.ns = ns, .lastNs = ns, .waits = waits};
}

PricedOp transfer(Stream stream, double ns, std::int32_t ports = -1, StreamMask waits = kCompute)
{
    return {.ns = ns, .lastNs = ns, .stream = stream, .waits = waits, .ports = ports};
}

StreamClock ran(const PricedPass& pass, double besideTransfers, StreamClock::Begin begin,
                StreamClock::Replicas replicas = StreamClock::Replicas::differ)
{
    StreamClock clock(besideTransfers, begin, replicas);
    clock.run(pass, 0, pass.ops.size(), 0, {});
    return clock;
}

} // namespace

TEST(StreamClock, AKernelThatWaitsBehindOthersIsLaterByWhatACollectiveTookOfThem)
{
    // 100 ns of kernels, 40 ns of a collective behind the first of them, which the last one waits for.
    const PricedPass pass{.ops = {kernel(20), transfer(Stream::cp, 40), kernel(60, kCompute), kernel(20, maskOf(Stream::cp))},
                          .ports = {}};
    EXPECT_EQ(ran(pass, 1, StreamClock::Begin::ofPass).tail(Stream::compute), 100);
    // Of each moment beside it a fifth is lost.
    EXPECT_DOUBLE_EQ(ran(pass, 1.25, StreamClock::Begin::ofPass).tail(Stream::compute), 100 + 0.2 * 40);
}

TEST(StreamClock, ACollectiveThatRunsWhileNoKernelDoesTakesNothing)
{
    // It runs while the rank waits for tensor parallelism, at best.
    const PricedPass pass{.ops = {kernel(20), transfer(Stream::dp, 30), transfer(Stream::tp, 30), kernel(50, maskOf(Stream::tp)),
                                  kernel(10, maskOf(Stream::dp))},
                          .ports = {}};
    EXPECT_DOUBLE_EQ(ran(pass, 1.25, StreamClock::Begin::ofStep).tail(Stream::compute), 110);
    // Twice as long, it cannot.
    PricedPass longer = pass;
    longer.ops[1] = transfer(Stream::dp, 60);
    EXPECT_DOUBLE_EQ(ran(longer, 1.25, StreamClock::Begin::ofStep).tail(Stream::compute), 110 + 0.2 * 30);
}

TEST(StreamClock, WhereReplicasAreAlikeItIsKnownWhichKernelsACollectiveRunsBeside)
{
    // Nothing waits for it before the end, but it begins with the second kernel.
    const PricedPass pass{.ops = {kernel(20), transfer(Stream::dp, 50), kernel(100, kCompute)}, .ports = {}};
    EXPECT_DOUBLE_EQ(ran(pass, 1.25, StreamClock::Begin::ofStep).tail(Stream::compute), 120);
    EXPECT_DOUBLE_EQ(ran(pass, 1.25, StreamClock::Begin::ofStep, StreamClock::Replicas::areAlike).tail(Stream::compute),
                     120 + 0.2 * 50);
    EXPECT_DOUBLE_EQ(ran(pass, 1.25, StreamClock::Begin::ofStep).endNs(), 120 + 0.2 * 50) << "by the end it has run";
}

TEST(StreamClock, TransfersOfOnePortGetNoMoreOfItTogether)
{
    // Each would take 0.8 of the port for 50 ns, at the same time.
    const PricedPass pass{.ops = {kernel(10), transfer(Stream::cp, 50, 0), transfer(Stream::ep, 50, 1),
                                  kernel(10, maskOf(Stream::cp) | maskOf(Stream::ep))},
                          .ports = {OpPorts{40, 0, 0, 0}, OpPorts{40, 0, 0, 0}}};
    EXPECT_DOUBLE_EQ(ran(pass, 1, StreamClock::Begin::ofPass).tail(Stream::compute), 10 + 80 + 10);
    PricedPass apart = pass;
    apart.ports[1] = OpPorts{0, 0, 40, 0};
    EXPECT_DOUBLE_EQ(ran(apart, 1, StreamClock::Begin::ofPass).tail(Stream::compute), 10 + 50 + 10);
}

TEST(StreamClock, APassThatRanAloneIsPutWhereItBegins)
{
    const PricedPass pass{.ops = {kernel(20), transfer(Stream::cp, 40), kernel(60, kCompute), kernel(20, maskOf(Stream::cp))},
                          .ports = {}};
    const StreamClock alone = ran(pass, 1.25, StreamClock::Begin::ofPass);
    StreamClock clock(1.25, StreamClock::Begin::ofStep);
    clock.append(alone, 0);
    clock.append(alone, 500);
    EXPECT_DOUBLE_EQ(clock.tail(Stream::compute), 500 + 108);
    clock.append(alone, 0);
    EXPECT_DOUBLE_EQ(clock.tail(Stream::compute), 500 + 2 * 108);
}
