#include "live/profile/measure.h"

#include "live/profile/measure_kernels.h"
#include "live/runtime/root_task.h"
#include "live/tensor/memory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace live {
namespace {

/// What is measured beside the communicator's own kinds: every member sends to the next.
constexpr const char* kRingShift = "ring_shift";
/// Kernels measured at about so many shapes: full and quick.
constexpr double kKernelPoints = 800, kQuickKernelPoints = 250;
constexpr double kTransferShare = 0.15; ///< of the budget
constexpr int kTransferRepetitions = 40;

/// All members of a group do the same communication again and again.
class TransferBench {
public:
    TransferBench(Device& device, WorkerPool& pool, const CommunicatorFactory& factory)
        : m_memory(device), m_pool(pool), m_communicator(factory(pool)), m_queue(device.makeQueue()),
          m_type(device.info().activation)
    {
        m_memory.beforeGivingBack([this] { m_queue->flush(); });
    }

    /// `curve`: as in a profile. `bytes`: of the whole tensor, or what a member sends.
    double microseconds(const std::string& curve, CommKind kind, int members, std::int64_t bytes);

private:
    Task<> member(int index, CommKind kind, std::int64_t rows);
    CommRequest requestOf(int index, CommKind kind, std::int64_t rows) const;

    Memory m_memory;
    WorkerPool& m_pool;
    const std::unique_ptr<Communicator> m_communicator;
    const std::unique_ptr<Queue> m_queue;
    const DType m_type;
    CommGroup m_group;
    int m_groups = 0;
    bool m_isRing = false;
    std::vector<Array> m_inputs, m_outputs;
    std::int64_t m_sequence = 0;
    std::vector<double> m_samples; ///< written by member 0
};

CommRequest TransferBench::requestOf(int index, CommKind kind, std::int64_t rows) const
{
    const auto members = static_cast<std::size_t>(m_group.size());
    const auto self = static_cast<std::size_t>(index);
    CommRequest request{.kind = kind, .group = &m_group, .member = index, .queue = m_queue.get()};
    const Tensor in = m_inputs[self].tensor(), out = m_outputs[self].tensor();
    const std::int64_t part = rows / m_group.size();
    switch (kind) {
    case CommKind::allReduce:
        request.input = request.output = in.rowRange(0, rows);
        break;
    case CommKind::reduceScatter:
        request.input = in.rowRange(0, rows);
        request.output = out.rowRange(0, part);
        break;
    case CommKind::allGather:
        request.input = in.rowRange(0, part);
        request.output = out.rowRange(0, rows);
        break;
    case CommKind::allToAll:
        request.input = in.rowRange(0, rows);
        request.output = out.rowRange(0, rows);
        request.sendRows.assign(members, m_isRing ? 0 : part);
        request.receiveRows = request.sendRows;
        if (m_isRing) {
            request.sendRows[(self + 1) % members] = rows;
            request.receiveRows[(self + members - 1) % members] = rows;
        }
        break;
    default:
        request.kind = index == 0 ? CommKind::send : CommKind::receive;
        request.peer = 1 - index;
        (index == 0 ? request.input : request.output) = (index == 0 ? in : out).rowRange(0, rows);
        break;
    }
    return request;
}

Task<> TransferBench::member(int index, CommKind kind, std::int64_t rows)
{
    for (int i = 0; i < kTransferRepetitions; ++i) {
        CommRequest request = requestOf(index, kind, rows);
        request.sequence = m_sequence + i;
        request.what = "profile";
        Completion completion;
        m_communicator->issue(request, completion);
        co_await completion;
        if (index == 0)
            m_samples.push_back(
                static_cast<double>(completion.cpuNs > 0 ? completion.cpuNs : completion.doneNs - completion.readyNs) * 1e-3);
    }
}

double TransferBench::microseconds(const std::string& curve, CommKind kind, int members, std::int64_t bytes)
{
    m_isRing = curve == kRingShift;
    const std::int64_t elementBytes = bytesOf(m_type);
    const std::int64_t columns = 8;
    const std::int64_t rows = std::max<std::int64_t>(members, bytes / (columns * elementBytes) / members * members);
    m_group = {.id = ++m_groups, .name = "profile", .ranks = {}};
    m_inputs.clear();
    m_outputs.clear();
    for (int i = 0; i < members; ++i) {
        m_group.ranks.push_back(i);
        m_inputs.push_back(m_memory.allocate(m_type, rows, columns));
        m_outputs.push_back(m_memory.allocate(m_type, rows, columns));
        m_queue->fill(m_inputs.back(), 0);
        m_queue->fill(m_outputs.back(), 0);
    }
    m_queue->synchronize();
    m_samples.clear();
    std::atomic<int> left{members};
    std::mutex mutex;
    std::exception_ptr failure;
    const auto over = [&](std::exception_ptr exception) {
        if (exception) {
            m_communicator->abort("the measurement of transfers failed");
            const std::lock_guard lock(mutex);
            failure = exception;
        }
        if (left.fetch_sub(1) == 1)
            m_pool.wake();
    };
    for (int i = 0; i < members; ++i)
        m_pool.post(runToEnd(member(i, kind, rows), over).handle);
    m_pool.run([&] { return left.load() == 0; });
    m_sequence += kTransferRepetitions;
    if (failure)
        std::rethrow_exception(failure);
    const auto place = m_samples.begin() + static_cast<std::ptrdiff_t>(m_samples.size() / 4);
    std::nth_element(m_samples.begin(), place, m_samples.end());
    return std::max(0.02, *place);
}

std::vector<sim::MeasuredCurve> measureTransfers(Device& device, WorkerPool& pool, const CommunicatorFactory& factory, bool quick)
{
    TransferBench bench(device, pool, factory);
    const std::pair<const char*, CommKind> kinds[] = {
        {"all_reduce", CommKind::allReduce}, {"all_gather", CommKind::allGather}, {"reduce_scatter", CommKind::reduceScatter},
        {"all_to_all", CommKind::allToAll},  {kRingShift, CommKind::allToAll},    {"send", CommKind::send}};
    const std::vector<std::int64_t> sizes = quick
                                                ? std::vector<std::int64_t>{1 << 10, 1 << 15, 1 << 20}
                                                : std::vector<std::int64_t>{1 << 10, 1 << 13, 1 << 16, 1 << 18, 1 << 20, 1 << 22};
    std::vector<sim::MeasuredCurve> curves;
    for (const auto& [name, kind] : kinds) {
        sim::MeasuredCurve curve{.name = name};
        for (const int members : kind == CommKind::send ? std::vector<int>{2} : std::vector<int>{2, 4, 8})
            for (const std::int64_t bytes : sizes)
                curve.points.push_back({.m = static_cast<double>(bytes),
                                        .n = static_cast<double>(members),
                                        .microseconds = bench.microseconds(name, kind, members, bytes)});
        curves.push_back(std::move(curve));
    }
    return curves;
}

std::optional<sim::Precision> precisionOf(DType type)
{
    if (type == DType::f32)
        return sim::Precision::fp32;
    if (type == DType::bf16)
        return sim::Precision::bf16;
    return {}; // the scenario has no word for fp64
}

} // namespace

sim::HardwareProfile measureProfile(Device& device, WorkerPool& pool, const CommunicatorFactory& factory,
                                    const MeasureOptions& options)
{
    const bool quick = options.isQuick();
    const double kernelSeconds = options.budgetSeconds * (1 - kTransferShare);
    sim::HardwareProfile profile{.device = device.info().name, .precision = precisionOf(device.info().activation)};
    profile.kernels = measureKernels(device, kernelSeconds / (quick ? kQuickKernelPoints : kKernelPoints), quick);
    if (factory)
        profile.transfers = measureTransfers(device, pool, factory, quick);
    return profile;
}

} // namespace live
