// What the passes of a rank have at hand: its place, its queue and memory, its communicators, and a record of what it does.
#pragma once

#include "live/comm/communicator.h"
#include "live/kernels/device.h"
#include "live/kernels/kernel_log.h"
#include "live/model/groups.h"
#include "live/record/flight_record.h"
#include "live/record/recorder.h"
#include "live/tasks/task.h"
#include "live/tensor/memory.h"
#include "sim/mesh/mesh.h"
#include "sim/scenario/scenario.h"
#include "sim/trace/trace.h"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace live {

class Bucket;

/// What a request will be, found out before the run (runtime/comm_plan.h).
struct PlannedRequest {
    CommKind kind = CommKind::barrier;
    int group = 0;
    std::int64_t sequence = 0;
};

/// What a kernel of a linear layer gives in the backward pass.
enum class GradientOf : std::uint8_t { input, weight };

/// A name for kernels of one place in the model; as a span it also tells the pass it ran in, in the simulator's words:
/// "attn.qkv", "attn.qkv.dgrad", "attn.qkv.wgrad", "attn.core.backward".
class KernelLabel {
public:
    enum class Operator : std::uint8_t { plain, linear };
    KernelLabel() = default;
    KernelLabel(SpanKinds&, std::string_view name, int stage, int layer = -1, Operator = Operator::plain);
    std::uint32_t kind(sim::OpClass pass, GradientOf gradient) const
    {
        if (pass == sim::OpClass::backward && gradient == GradientOf::weight)
            return m_weightKind;
        return m_kinds[static_cast<std::size_t>(pass)];
    }

private:
    static constexpr int kPasses = 6; ///< forward … optimizer
    std::array<std::uint32_t, kPasses> m_kinds{};
    std::uint32_t m_weightKind = 0; ///< in a backward pass that is not split
};

class RankContext;

/// One request under way; awaiting it issues it unless start() did. Stays where it is made.
class Communication {
public:
    Communication(RankContext&, Group, CommRequest, std::string_view name);
    /// With one other rank.
    Communication(RankContext&, const CommGroup& pair, SpanTrack, CommRequest, std::string_view name);
    Communication(const Communication&) = delete;
    Communication& operator=(const Communication&) = delete;

    void start();
    bool isDone() const { return m_completion.isDone(); }

    bool await_ready()
    {
        start();
        return m_alone || m_completion.await_ready();
    }
    bool await_suspend(std::coroutine_handle<> waiter) noexcept;
    void await_resume();

    /// To await one that is kept somewhere: co_await transfer.done().
    struct Waiting {
        Communication& communication;
        bool await_ready() { return communication.await_ready(); }
        bool await_suspend(std::coroutine_handle<> waiter) noexcept { return communication.await_suspend(waiter); }
        void await_resume() { communication.await_resume(); }
    };
    Waiting done() { return {*this}; }

private:
    RankContext& m_context;
    CommRequest m_request;
    Completion m_completion;
    std::string_view m_name; ///< a literal
    SpanTrack m_track = SpanTrack::tp;
    sim::OpClass m_class = sim::OpClass::tpComm;
    std::uint64_t m_flightNumber = 0;
    std::size_t m_ordinal = 0; ///< of the rank's requests in this step
    bool m_alone = false, m_started = false;
};

/// Layers ask for their weights through this: sharded ones are gathered when needed and dropped when not.
class WeightAccess {
public:
    virtual ~WeightAccess() = default;
    virtual Task<> acquire(Bucket&) = 0;
    /// What is acquired next: its gathering may run beside what is computed before.
    virtual void prefetch(Bucket&) = 0;
    virtual void release(Bucket&) = 0;
    /// Gradients are about to be added to.
    virtual void prepareGradients(Bucket&) = 0;
    /// The bucket's gradient of this step is complete on this rank.
    virtual Task<> gradientDone(Bucket&) = 0;
};

class RankContext {
public:
    struct Parts {
        int rank = 0;
        const sim::Scenario* scenario = nullptr;
        const sim::Mesh* mesh = nullptr;
        const JobGroups* groups = nullptr;
        Device* device = nullptr;
        Communicator* communicator = nullptr;
        SpanKinds* kinds = nullptr;
        Recorder* recorder = nullptr;       ///< null: nothing is recorded
        KernelTimes* kernelTimes = nullptr; ///< null: the GPU's kernels are not timed one by one
    };
    explicit RankContext(const Parts&);

    const int rank;
    const sim::Scenario& scenario;
    const sim::Coordinates coordinates;
    const JobGroups& groups;
    Device& device;
    SpanKinds& kinds;
    Recorder* const recorder;
    KernelTimes* const kernelTimes;
    Memory memory;
    const std::unique_ptr<Queue> queue;
    const DType activation, accumulation;
    const int pipelineRank;

    FlightRecord flight;

    // What is being done now: goes into spans and masks.
    sim::OpClass pass = sim::OpClass::forward;
    std::int32_t microbatch = -1;
    std::int32_t step = 0;
    WeightAccess* weights = nullptr;
    bool inspects = false; ///< see inspect()

    const Membership& in(Group group) const { return groups.of(rank, group); }
    bool alone(Group group) const { return in(group).size() == 1; }

    Array activations(std::int64_t rows, std::int64_t columns) { return memory.allocate(activation, rows, columns); }
    Array statistics(std::int64_t rows, std::int64_t columns) { return memory.allocate(accumulation, rows, columns); }
    Array buffer(DType type, std::int64_t rows, std::int64_t columns)
    {
        return memory.allocate(type, rows, columns, MemoryUse::buffers);
    }

    // Collectives by name of what they carry (a literal).
    Communication allReduce(Group, const Tensor&, std::string_view name, ReduceOp = ReduceOp::sum);
    Communication reduceScatter(Group, const Tensor& whole, const Tensor& part, std::string_view name);
    Communication allGather(Group, const Tensor& part, const Tensor& whole, std::string_view name);
    Communication allToAll(Group, const Tensor& input, std::vector<std::int64_t> sendRows, const Tensor& output,
                           std::vector<std::int64_t> receiveRows, std::string_view name);
    /// Each member's input becomes the output of the one `by` places further, round the group.
    Communication shift(Group, int by, const Tensor& input, const Tensor& output, std::string_view name);
    /// On the way from one pipeline rank to another; `forward`: an activation.
    Communication send(int to, bool forward, const Tensor&, std::string_view name);
    Communication receive(int from, const Tensor&, std::string_view name);

    /// Awaited before the queue is read, so that other ranks of this thread go on meanwhile (Communicator::completeAfter).
    Task<> queueReached();
    /// After it was read: Communicator::throwIfAborted.
    void throwIfAborted() { m_communicator.throwIfAborted(); }

    /// Keeps what was done, if anyone wants to know. On a GPU times are marks until the step has ended.
    void record(const SpanRecord&);
    /// At the end of a step, its work done.
    void endStep();
    /// Where a step is made once more to find it: throws sim::Error, which names the tensor and this place, if an element is not
    /// finite. Else does nothing.
    void inspect(const KernelLabel&, const Tensor&, GradientOf = GradientOf::input);
    void inspect(const std::string& name, const Tensor&);
    /// Kernels run beside this thread: that it waits for none says nothing of whether they go on.
    bool runsBeside() const { return m_hasMarks; }

    /// The requests of each step in the order of issue; null: they are being found out.
    const std::vector<PlannedRequest>* plan = nullptr;
    void startStep(int number);

private:
    friend class Communication;
    friend class KernelSpan;
    /// The span's kind of a communication; remembered by its place among the step's requests, which is the same in every step,
    /// since asking the shared table costs more than a small transfer. Without the bytes, which each span has: experts' are
    /// others in every micro-batch.
    std::uint32_t kindOf(std::size_t ordinal, std::string_view name, sim::OpClass, const CommGroup&);
    Communicator& m_communicator;
    std::size_t m_issued = 0; ///< requests of this step
    const bool m_hasMarks;    ///< the device's times are marks
    struct KindOfRequest {
        const char* name = nullptr; ///< a literal
        int group = 0;
        std::uint32_t kind = 0;
    };
    std::vector<KindOfRequest> m_commKinds; ///< of the step's requests
    void recordPassed();
    void recordMarked(); ///< all of them, once the queue has come there
    /// The next span's kernels, for kernelTimes.
    KernelScope openScope(std::uint32_t kind);
    void recordKernels();
    struct Scope {
        std::uint32_t kind = 0;
        std::int32_t microbatch = -1, step = 0;
    };
    std::deque<Scope> m_scopes;                         ///< of this step and the last, by number from m_firstScope
    std::uint64_t m_firstScope = 0, m_scopesBefore = 0; ///< m_scopesBefore: number of this step's first
    std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> m_kernelKinds; ///< by the span's kind and the kernel's name
    std::deque<SpanRecord> m_marked;                                              ///< whose times are marks
};

/// Records the kernels of a scope as one span.
class KernelSpan {
public:
    KernelSpan(RankContext& context, const KernelLabel& label, GradientOf gradient = GradientOf::input)
        : m_recorder(context.recorder), m_context(context), m_label(label), m_gradient(gradient)
    {
        if (m_recorder)
            begin();
    }
    ~KernelSpan();
    KernelSpan(const KernelSpan&) = delete;
    KernelSpan& operator=(const KernelSpan&) = delete;

private:
    void begin();
    void end();
    Recorder* const m_recorder;
    RankContext& m_context;
    const KernelLabel& m_label;
    const GradientOf m_gradient;
    std::int64_t m_startNs = 0, m_startCpuNs = 0;
};

} // namespace live
