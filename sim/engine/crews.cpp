// Ranks that one communicator joins, as those of a tensor-parallel group, come to its collectives again and again, and each waits
// for all the others there. Where nothing outside can touch what they do until the next message or shared transfer, they go
// through it together: who comes to such a run first stands there until the others have come too. Those whose others do not come
// at this instant go on by themselves, with the same times.
#include "sim/engine/documents.h"
#include "sim/engine/engine_run.h"
#include "sim/engine/slowdown.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace sim {

/// All of its members run the same program at the same prices, and none is of another crew.
bool EngineRun::canBeCrew(int group) const
{
    const std::vector<int>& members = m_classes.classGroups[asIndex(group)].classes;
    return !m_shared.isShared(group) && members.size() > 1 && members.size() <= kMostAlone &&
           std::all_of(members.begin(), members.end(), [&](int c) {
               return m_facts[asIndex(c)].crew < 0 &&
                      m_classes.geometry[asIndex(c)] == m_classes.geometry[asIndex(members.front())] &&
                      m_classes.pipelineRank[asIndex(c)] == m_classes.pipelineRank[asIndex(members.front())];
           });
}

void EngineRun::formCrews()
{
    for (int c = 0; c < m_classes.count(); ++c) {
        const auto& groups = m_facts[asIndex(c)].groups;
        const auto group = std::find_if(groups.begin(), groups.end(), [&](int of) { return of >= 0 && canBeCrew(of); });
        if (group == groups.end())
            continue;
        const std::vector<int>& members = m_classes.classGroups[asIndex(*group)].classes;
        for (const int member : members)
            m_facts[asIndex(member)].crew = static_cast<int>(m_crews.size());
        Crew& made = m_crews.emplace_back();
        made.classes = &members;
        RoleMask affairs = 0;
        for (std::size_t role = 0; role < groups.size(); ++role) {
            const bool isAffair = std::all_of(members.begin(), members.end(), [&](int member) {
                const int of = m_facts[asIndex(member)].groups[role];
                if (of < 0 || m_shared.isShared(of))
                    return false;
                const std::vector<int>& classes = m_classes.classGroups[asIndex(of)].classes;
                if (classes.size() > 1)
                    made.joint |= RoleMask{1} << role;
                return std::includes(members.begin(), members.end(), classes.begin(), classes.end());
            });
            affairs |= RoleMask{isAffair} << role;
        }
        made.joint &= affairs;
        made.isPlain = std::none_of(members.begin(), members.end(),
                                    [&](int member) { return *m_facts[asIndex(member)].slowdown != RankSlowdown{}; });
        made.runs = &m_runsBy
                         .try_emplace({m_classes.geometry[asIndex(c)], affairs}, m_program, m_prices,
                                      asIndex(m_classes.geometry[asIndex(c)]), affairs)
                         .first->second;
    }
}

/// That a class comes to next and could begin; null where kernels would lose to a collective issued behind them, and where it
/// goes by itself.
const QuietRun* EngineRun::runOfCrew(int c, const Step& step)
{
    const int crew = m_facts[asIndex(c)].crew;
    const Worker& worker = m_workers[asIndex(c)];
    if (worker.alonePlace == worker.place)
        return nullptr;
    // Another may stand at a run behind this one that takes other streams.
    if (m_crews[asIndex(crew)].waiting > 0 && m_crews[asIndex(crew)].op != worker.place - m_result.firstOp[asIndex(c)])
        return nullptr;
    const QuietRun* const run = m_crews[asIndex(crew)].runs->at(step.pass, worker.op);
    const bool isTogether = run != nullptr && (run->roles & m_crews[asIndex(crew)].joint) != 0 && isFree(c, *run) &&
                            losesTo(c, step, worker.op, *run) == 0;
    return isTogether ? run : nullptr;
}

/// False if it has to wait for others of its crew.
bool EngineRun::standAt(int c, const QuietRun& run, const Step& step)
{
    const int index = m_facts[asIndex(c)].crew;
    Crew& crew = m_crews[asIndex(index)];
    m_workers[asIndex(c)].waitsForCrew = true;
    if (crew.waiting++ == 0) {
        m_standing.push_back(index);
        crew.op = m_workers[asIndex(c)].place - m_result.firstOp[asIndex(c)];
    }
    if (crew.waiting < crew.classes->size())
        return false;
    crew.waiting = 0;
    executeTogether(crew, run, step);
    for (const int member : *crew.classes) {
        Worker& worker = m_workers[asIndex(member)];
        worker.waitsForCrew = false;
        if (member == c)
            continue; // goes on at once
        worker.op += run.size();
        worker.place += run.size();
        queue(member);
    }
    return true;
}

/// Those whose others do not come at this instant. False if there are none.
bool EngineRun::goOnAlone()
{
    for (const int index : m_standing) {
        Crew& crew = m_crews[asIndex(index)];
        if (std::exchange(crew.waiting, 0) == 0)
            continue;
        for (const int member : *crew.classes)
            if (Worker& worker = m_workers[asIndex(member)]; std::exchange(worker.waitsForCrew, false)) {
                worker.alonePlace = worker.place;
                queue(member);
            }
    }
    m_standing.clear();
    return !m_queued.empty();
}

/// All stand at the same op of their programs, and nothing that they need is open.
void EngineRun::executeTogether(const Crew& crew, const QuietRun& run, const Step& step)
{
    const Worker& any = m_workers[asIndex(crew.classes->front())];
    const Op& first = m_program.passes[step.pass].ops[any.op];
    const std::int64_t begin = beginOf(any, run, first);
    assert(std::all_of(crew.classes->begin(), crew.classes->end(), [&](int member) { return isFree(member, run); }));
    const bool isSame =
        crew.isPlain && begin != kNotYet && std::all_of(crew.classes->begin(), crew.classes->end(), [&](int member) {
            const Worker& of = m_workers[asIndex(member)];
            return of.host.beganNs == any.host.beganNs && beginOf(of, run, first) == begin;
        });
    if (!isSame) {
        executeOneByOne(crew, run, step);
        return;
    }
    for (const int member : *crew.classes)
        place(m_workers[asIndex(member)], run, begin);
}

/// Op by op: each class has times of its own.
void EngineRun::executeOneByOne(const Crew& crew, const QuietRun& run, const Step& step)
{
    const std::vector<int>& members = *crew.classes;
    const std::vector<Op>& ops = m_program.passes[step.pass].ops;
    const std::size_t firstOp = m_workers[asIndex(members.front())].op;
    const std::vector<std::int64_t>& durations = (*m_facts[asIndex(members.front())].durations)[step.pass];
    const PassLaunches* const launches = m_prices.launchesOf(step.pass);
    std::array<std::int64_t, kMostAlone> begin{};
    for (std::size_t i = 0; i < run.size(); ++i) {
        const Op& op = ops[firstOp + i];
        const auto stream = asIndex(op.stream);
        const bool isKernel = op.stream == Stream::compute;
        for (std::size_t m = 0; m < members.size(); ++m) {
            Worker& worker = m_workers[asIndex(members[m])];
            std::int64_t ready = isKernel ? kNotYet : worker.passStartNs;
            for (unsigned left = op.waits | maskOf(op.stream); left != 0; left &= left - 1)
                ready = std::max(ready, worker.tail[asIndex(std::countr_zero(left))]);
            begin[m] = launches == nullptr ? ready : worker.host.beginNs(launches->ops[firstOp + i], isKernel, ready);
            m_result.opStartNs[worker.place + i] = begin[m];
            if (isKernel)
                worker.kernelStartNs = begin[m];
        }
        for (std::size_t m = 0; m < members.size(); ++m) {
            Worker& worker = m_workers[asIndex(members[m])];
            std::int64_t end = begin[m];
            if (op.kind == OpKind::compute) {
                end += kernelNs(
                    members[m],
                    {.step = &step, .index = static_cast<std::uint32_t>(firstOp + i), .ticket = 0, .place = worker.place + i});
            } else if (op.kind == OpKind::copy) {
                end += durations[firstOp + i];
            } else if (op.kind == OpKind::collective) {
                const int group = groupOf(members[m], op.group);
                for (std::size_t other = 0; other < members.size(); ++other)
                    if (groupOf(members[other], op.group) == group)
                        end = std::max(end, begin[other]);
                end += scaledNs(durations[firstOp + i], m_classes.classGroups[asIndex(group)].linkFactor);
            }
            m_result.opEndNs[worker.place + i] = worker.tail[stream] = end;
        }
    }
    for (const int member : members)
        account(m_workers[asIndex(member)], run);
}

} // namespace sim
