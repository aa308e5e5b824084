#include "live/runtime/planning_communicator.h"

#include "live/tasks/worker_pool.h"
#include "sim/error.h"
#include "sim/index.h"

#include <algorithm>
#include <set>

namespace live {

using sim::asIndex;

PlanningCommunicator::PlanningCommunicator(WorkerPool& pool, int ranks) : m_pool(pool)
{
    plan.requests.resize(asIndex(ranks));
}

void PlanningCommunicator::issue(const CommRequest& request, Completion& completion)
{
    const int rank = request.group->ranks[asIndex(request.member)];
    auto& mine = plan.requests[asIndex(rank)];
    mine.push_back({.kind = request.kind, .group = request.group->id});
    const Pending self{&request, &completion, rank, mine.size() - 1};
    const bool pair = isTransfer(request.kind);
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

void PlanningCommunicator::abort(const std::string& why)
{
    const auto exception = std::make_exception_ptr(sim::Error(why));
    for (auto& [group, meetings] : std::exchange(m_meetings, {}))
        for (const auto& meeting : meetings)
            for (const Pending& pending : meeting)
                pending.completion->fail(m_pool, exception);
}

std::string PlanningCommunicator::stuck() const
{
    // A rank may have sends, receives and reductions under way; what it waits for is what it issued last.
    std::map<int, std::size_t> last;
    std::map<int, std::pair<int, std::string>> waits; // rank -> the one it waits for, and what for
    for (const auto& [group, meetings] : m_meetings)
        for (const auto& meeting : meetings) {
            std::set<int> present;
            for (const Pending& pending : meeting)
                present.insert(pending.rank);
            for (const Pending& pending : meeting) {
                const CommRequest& request = *pending.request;
                const auto absent = std::find_if(request.group->ranks.begin(), request.group->ranks.end(),
                                                 [&](int rank) { return !present.contains(rank); });
                if (absent == request.group->ranks.end() || request.kind == CommKind::send ||
                    (last.contains(pending.rank) && last.at(pending.rank) > pending.ordinal))
                    continue;
                last[pending.rank] = pending.ordinal;
                waits[pending.rank] = {*absent, request.what + " (" + commKindName(request.kind) + " in group " +
                                                    request.group->name + ")"};
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

void PlanningCommunicator::meet(const std::vector<Pending>& met)
{
    const std::int64_t sequence = plan.transfers++;
    for (const Pending& pending : met)
        plan.requests[asIndex(pending.rank)][pending.ordinal].sequence = sequence;
    const CommKind kind = met[0].request->kind;
    for (const Pending& pending : met) {
        const CommKind other = pending.request->kind;
        const bool fits = other == kind || (kind == CommKind::send && other == CommKind::receive) ||
                          (kind == CommKind::receive && other == CommKind::send);
        if (!fits)
            throw sim::Error("members of group " + pending.request->group->name +
                             " meet in different communications: " + commKindName(kind) + " " + met[0].request->what + " and " +
                             commKindName(other) + " " + pending.request->what);
        pending.completion->finish(m_pool);
    }
}

} // namespace live
