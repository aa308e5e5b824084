// A training run: plans the communication, makes the ranks that this process holds, and runs step after step on the worker pool.
#pragma once

#include "live/comm/communicator.h"
#include "live/kernels/device.h"
#include "live/model/shape.h"
#include "live/record/recorder.h"
#include "live/runtime/comm_plan.h"
#include "live/runtime/rank.h"
#include "sim/scenario/scenario.h"

#include <array>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace live {

class WorkerPool;

struct StepReport {
    int step = 0; ///< from 1
    StepResult result;
    double seconds = 0;
    double tokensPerSecond = 0;
};

/// What the host of a run says between steps.
enum class Verdict : std::uint8_t { goOn, stop };

/// live.dtype: of the activations.
DType activationType(const sim::Scenario&);

struct RunParts {
    WorkerPool* pool = nullptr;
    Device* device = nullptr;
    Communicator* communicator = nullptr;
    int firstRank = 0, rankCount = 0; ///< held by this process; 0 = all
    std::vector<int> ranks;           ///< or these, in this order
    TrainingOptions options;
    bool record = true;
    KernelTimes* kernelTimes = nullptr; ///< null: the GPU's kernels are not timed one by one
    int firstStep = 1;                  ///< the number of the first step: later where a run is resumed
    /// Called with the plan before any rank takes memory; may throw.
    std::function<void(const CommPlan&)> planned;
};

/// What the ranks of a job will do and hold, without a run. Throws as a run's constructor does.
CommPlan planRun(const sim::Scenario&, const TrainingOptions&, DType activation, DType accumulation);

class Run {
public:
    /// Throws sim::Error: what the scenario asks for cannot be trained, or its schedule would hang.
    Run(const sim::Scenario&, const RunParts&);
    Run(const Run&) = delete; // its ranks know where its parts are
    Run& operator=(const Run&) = delete;

    const sim::Scenario& scenario() const { return m_scenario; }
    const sim::Mesh& mesh() const { return m_mesh; }
    const sim::Schedule& schedule() const { return m_schedule; }
    const CommPlan& plan() const { return m_plan; }
    SpanKinds& spanKinds() { return m_kinds; }
    /// One a rank of this process.
    std::vector<Recorder*> recorders();
    std::vector<Rank*> ranks();

    /// Trains on until `steps` more are done or afterStep says stop. afterStep runs when all ranks of this process are through a
    /// step and none is in the next. Throws what a rank threw first, after all have ended.
    void train(int steps, const std::function<Verdict(const StepReport&)>& afterStep = {});

    /// Any thread: training ends after the step that begins next, on all processes alike.
    void requestStop() { m_stop.store(true, std::memory_order_relaxed); }
    /// Of the weights now, over the ranks of this process, each element of the model once.
    std::array<std::int64_t, kExactSumWords> squaresOfWeights();

    /// Whether the ranks of this process go on. Any thread, while it trains.
    struct Pulse {
        std::uint64_t progress = 0; ///< another number: something has happened
        bool waits = false;         ///< a rank is in a step and cannot go on by itself
        bool computes = false;      ///< a rank is in a step and can
    };
    Pulse pulse();

    /// Ends the run from another thread: pending communication fails with this message on all ranks.
    void abort(const std::string& why);

private:
    void initialise();
    void prepareGroups();

    const sim::Scenario m_scenario;
    const RunParts m_parts;
    const sim::Schedule m_schedule;
    const sim::Mesh m_mesh;
    const JobGroups m_groups;
    const TokenSource m_data;
    std::atomic<bool> m_stop{false};
    const Job m_job;
    CommPlan m_plan;
    SpanKinds m_kinds;
    std::vector<std::unique_ptr<Recorder>> m_recorders;
    std::vector<std::unique_ptr<Rank>> m_ranks;

    std::mutex m_mutex;
    std::exception_ptr m_failure;
    std::atomic<int> m_left{0};
    int m_nextStep;
};

} // namespace live
