#include "live/runtime/comm_plan.h"

#include "live/runtime/null_device.h"
#include "live/runtime/root_task.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace live {
namespace {

std::size_t at(std::int64_t index)
{
    return static_cast<std::size_t>(index);
}

/// Numbers requests as they meet; carries nothing.
class PlanningCommunicator final : public Communicator {
public:
    PlanningCommunicator(WorkerPool& pool, int ranks) : m_pool(pool) { plan.requests.resize(at(ranks)); }
    std::string name() const override { return "planning"; }

    void issue(const CommRequest& request, Completion& completion) override
    {
        const int rank = request.group->ranks[at(request.member)];
        auto& mine = plan.requests[at(rank)];
        mine.push_back({.kind = request.kind, .group = request.group->id});
        const Pending self{&request, &completion, rank, mine.size() - 1};
        const bool pair = request.kind == CommKind::send || request.kind == CommKind::receive;
        auto& meetings = m_meetings[request.group->id];
        // The n-th request of a member belongs to the n-th meeting of the group.
        const std::size_t place = m_issued[{request.group->id, request.member}]++ - m_done[request.group->id];
        if (meetings.size() <= place)
            meetings.resize(place + 1);
        meetings[place].push_back(self);
        const std::size_t needed = pair ? 2 : request.group->ranks.size();
        while (!meetings.empty() && meetings.front().size() == needed) {
            const std::vector<Pending> met = std::move(meetings.front());
            meetings.erase(meetings.begin());
            ++m_done[request.group->id];
            meet(met);
        }
    }

    void abort(const std::string& why) override
    {
        const auto exception = std::make_exception_ptr(sim::Error(why));
        for (auto& [group, meetings] : std::exchange(m_meetings, {}))
            for (const auto& meeting : meetings)
                for (const Pending& pending : meeting)
                    pending.completion->fail(m_pool, exception);
    }

    /// Of ranks that cannot go on: who waits for whom.
    std::string stuck() const
    {
        std::map<int, std::pair<int, std::string>> waits; // rank -> the one it waits for, and what for
        for (const auto& [group, meetings] : m_meetings)
            for (const auto& meeting : meetings)
                for (const Pending& pending : meeting) {
                    std::set<int> present;
                    for (const Pending& other : meeting)
                        present.insert(other.rank);
                    const CommRequest& request = *pending.request;
                    for (const int rank : request.group->ranks)
                        if (!present.contains(rank) && request.kind != CommKind::send) {
                            waits[pending.rank] = {rank, request.what + " (" + commKindName(request.kind) + " in group " +
                                                             request.group->name + ")"};
                            break;
                        }
                }
        if (waits.empty())
            return "the step cannot end";
        int rank = waits.begin()->first;
        std::set<int> seen;
        while (waits.contains(rank) && seen.insert(rank).second)
            rank = waits.at(rank).first;
        std::string text = "the step would hang:";
        const int first = rank;
        do {
            const auto wait = waits.find(rank);
            if (wait == waits.end())
                break;
            text += " rank " + std::to_string(rank) + " waits for rank " + std::to_string(wait->second.first) + " in " +
                    wait->second.second + ";";
            rank = wait->second.first;
        } while (rank != first);
        text.pop_back();
        return text;
    }

    CommPlan plan;

private:
    struct Pending {
        const CommRequest* request;
        Completion* completion;
        int rank;
        std::size_t ordinal;
    };

    void meet(const std::vector<Pending>& met)
    {
        const std::int64_t sequence = plan.transfers++;
        for (const Pending& pending : met)
            plan.requests[at(pending.rank)][pending.ordinal].sequence = sequence;
        const CommKind kind = met[0].request->kind;
        for (const Pending& pending : met) {
            const CommKind other = pending.request->kind;
            const bool fits = other == kind || (kind == CommKind::send && other == CommKind::receive) ||
                              (kind == CommKind::receive && other == CommKind::send);
            if (!fits)
                throw sim::Error("members of group " + pending.request->group->name +
                                 " meet in different communications: " + commKindName(kind) + " " + met[0].request->what +
                                 " and " + commKindName(other) + " " + pending.request->what);
            pending.completion->finish(m_pool);
        }
    }

    WorkerPool& m_pool;
    std::map<int, std::vector<std::vector<Pending>>> m_meetings; ///< by group, those that are not complete
    std::map<std::pair<int, int>, std::size_t> m_issued;         ///< by group and member
    std::map<int, std::size_t> m_done;                           ///< by group
};

} // namespace

CommPlan planCommunication(const Job& job, DType activation, DType accumulation)
{
    WorkerPool pool(1);
    const auto device = makeNullDevice(activation, accumulation);
    PlanningCommunicator communicator(pool, job.mesh.worldSize());
    SpanKinds kinds;
    Job planned = job;
    planned.data = nullptr;
    std::vector<std::unique_ptr<Rank>> ranks;
    for (int rank = 0; rank < job.mesh.worldSize(); ++rank)
        ranks.push_back(std::make_unique<Rank>(planned, RankContext::Parts{.rank = rank,
                                                                           .scenario = &job.scenario,
                                                                           .mesh = &job.mesh,
                                                                           .groups = &job.groups,
                                                                           .device = device.get(),
                                                                           .communicator = &communicator,
                                                                           .kinds = &kinds}));
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
    for (const auto& rank : ranks)
        communicator.plan.peakBytes.push_back(rank->context().memory.peak());
    return std::move(communicator.plan);
}

} // namespace live
