#include "live/runtime/comm_plan.h"

#include "live/runtime/null_device.h"
#include "live/runtime/planning_communicator.h"
#include "live/runtime/root_task.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"

namespace live {

CommPlan planCommunication(const Job& job, DType activation, DType accumulation)
{
    WorkerPool pool(1);
    const auto device = makeNullDevice(activation, accumulation);
    PlanningCommunicator communicator(pool, job.mesh.worldSize());
    SpanKinds kinds;
    Job planned = job;
    planned.data = nullptr;
    std::vector<std::unique_ptr<Recorder>> recorders; // count, and keep next to nothing
    std::vector<std::unique_ptr<Rank>> ranks;
    for (int rank = 0; rank < job.mesh.worldSize(); ++rank) {
        recorders.push_back(std::make_unique<Recorder>(rank, 1));
        ranks.push_back(std::make_unique<Rank>(planned, RankContext::Parts{.rank = rank,
                                                                           .scenario = &job.scenario,
                                                                           .mesh = &job.mesh,
                                                                           .groups = &job.groups,
                                                                           .device = device.get(),
                                                                           .communicator = &communicator,
                                                                           .kinds = &kinds,
                                                                           .recorder = recorders.back().get()}));
    }
    for (const auto& rank : ranks)
        rank->weights().rehearse();
    std::size_t left = ranks.size();
    std::exception_ptr failure;
    for (const auto& rank : ranks)
        pool.post(runToEnd(rank->step(1, 0), [&](std::exception_ptr exception) {
                      --left;
                      if (exception && !failure)
                          failure = exception;
                  }).handle);
    pool.run([&] {
        if (left > 0) { // asked when nothing can go on
            if (!failure)
                failure = std::make_exception_ptr(sim::Error(communicator.stuck()));
            communicator.abort("the plan was given up");
        }
        return left == 0;
    });
    if (failure)
        std::rethrow_exception(failure);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        const Memory& memory = ranks[i]->context().memory;
        const Ring<SpanRecord>& spans = recorders[i]->spans;
        communicator.plan.peakBytes.push_back(memory.peak());
        communicator.plan.memory.push_back(
            {.atPeak = memory.atPeak(), .reserved = memory.peakReserved(), .spans = spans.pushed() + spans.dropped()});
    }
    return std::move(communicator.plan);
}

} // namespace live
