// Kernels that a device times by itself come into the record beside the operation that launched them.
#include "live/kernels/kernel_log.h"
#include "live/runtime/run.h"
#include "live/tasks/worker_pool.h"
#include "tests/live/support/jobs.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

namespace live::test {
namespace {

/// As if each scope launched one kernel. One thread.
class OneKernelAScope final : public KernelTimes {
public:
    void enter(KernelScope scope) override
    {
        ++open;
        m_log.addScope(m_launch, scope);
        m_log.addKernel(m_launch++, "theKernel", nowNs(), nowNs());
    }
    void leave() override { --open; }
    std::vector<KernelTime> take(int owner) override { return m_log.take(owner); }

    int open = 0;

private:
    std::uint32_t m_launch = 0;
    KernelLog m_log;
};

TEST(KernelTimes, EachKernelIsOfTheOperationThatLaunchedIt)
{
    WorkerPool pool(1);
    const auto device = makeCpuDevice(DType::f64, &pool);
    const auto communicator = makeLocalCommunicator(pool);
    OneKernelAScope times;
    constexpr int kSteps = 3;
    live::Run run(job(kPp2 + kExperts),
                  {.pool = &pool, .device = device.get(), .communicator = communicator.get(), .kernelTimes = &times});
    run.train(kSteps);
    EXPECT_EQ(times.open, 0) << "what is entered is left";
    for (Recorder* recorder : run.recorders()) {
        std::vector<SpanRecord> spans;
        recorder->spans.drain(spans);
        using Place = std::tuple<int, std::string, std::int32_t>; // step, name, micro-batch
        std::map<Place, int> operations, kernels;
        for (const SpanRecord& span : spans) {
            const sim::SpanKind kind = run.spanKinds().of(span.kind);
            if (span.track == SpanTrack::compute)
                ++operations[{span.step, kind.name + ": theKernel", span.microbatch}];
            if (span.track == SpanTrack::gpuKernels)
                ++kernels[{span.step, kind.name, span.microbatch}];
        }
        EXPECT_GT(operations.size(), 20U);
        EXPECT_EQ(kernels, operations) << "rank " << recorder->rank;
    }
}

} // namespace
} // namespace live::test
