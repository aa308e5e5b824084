#include "live/model/groups.h"

#include "live/model/shape.h"
#include "sim/mesh/subgroups.h"
#include "sim/program/states.h"

#include <algorithm>
#include <set>

namespace live {

using sim::asIndex;

const char* groupName(Group group)
{
    constexpr std::array<const char*, kGroupCount> kNames = {"tp",        "cp",    "heads",  "tp_ep", "ep",
                                                             "expt_tp",   "tp_cp", "dp_cp",  "dp_cp", "expert_dp",
                                                             "expert_dp", "embd",  "copies", "world"};
    return kNames[asIndex(group)];
}

JobGroups::JobGroups(const sim::Scenario& scenario, const sim::Mesh& mesh, const sim::Schedule& schedule)
    : m_members(asIndex(mesh.worldSize()))
{
    using sim::ProcessGroup;
    const auto each = [&](ProcessGroup kind, Group group) {
        for (int i = 0; i < mesh.groupCount(kind); ++i)
            enrol(group, mesh.members(kind, i));
    };
    each(ProcessGroup::tp, Group::tp);
    each(ProcessGroup::cp, Group::cp);
    const int tp = scenario.layout.tp, keyValueHeads = scenario.model.numKeyValueHeads;
    if (!scenario.model.isLatentAttention() && tp > keyValueHeads && !gathersHeads(scenario))
        for (int i = 0; i < mesh.groupCount(ProcessGroup::tp); ++i)
            for (const auto& ranks : sim::subgroups(mesh.members(ProcessGroup::tp, i), {tp / keyValueHeads, keyValueHeads}, 0))
                enrol(Group::headCopies, ranks);
    each(ProcessGroup::tp_ep, Group::experts);
    if (scenario.model.numExperts > 0) {
        each(ProcessGroup::ep, Group::expertParallel);
        each(ProcessGroup::expt_tp, Group::expertTensor);
    }
    each(ProcessGroup::tp_cp, Group::tokens);
    const auto eachShard = [&](ProcessGroup kind, int shards, Group sharing, Group replicating) {
        for (int i = 0; i < mesh.groupCount(kind); ++i) {
            const std::vector<int> members = mesh.members(kind, i);
            const std::vector<int> sizes = {shards, static_cast<int>(members.size()) / shards};
            for (const auto& ranks : sim::subgroups(members, sizes, 0))
                enrol(sharing, ranks);
            for (const auto& ranks : sim::subgroups(members, sizes, 1))
                enrol(replicating, ranks);
        }
    };
    const sim::ShardRanks shards = sim::ShardRanks::of(scenario.layout);
    eachShard(ProcessGroup::dp_cp, shards.dense, Group::shard, Group::replicate);
    eachShard(ProcessGroup::expt_dp, shards.routed, Group::expertShard, Group::expertReplicate);
    if (mesh.groupSize(ProcessGroup::embd) > 1)
        each(ProcessGroup::embd, Group::embedding);
    std::vector<int> world(asIndex(mesh.worldSize()));
    for (int rank = 0; rank < mesh.worldSize(); ++rank)
        world[asIndex(rank)] = rank;
    enrol(Group::world, world);

    for (int pipeline = 0; pipeline < mesh.groupCount(ProcessGroup::pp); ++pipeline) {
        const std::vector<int> ranks = mesh.members(ProcessGroup::pp, pipeline);
        const auto holder = [&](int stage) { return ranks[schedule.rankOf(stage)]; };
        for (int stage = 0; stage + 1 < schedule.stages(); ++stage) {
            const int a = holder(stage), b = holder(stage + 1);
            if (schedule.leavesAt(stage) || a == b)
                continue;
            for (const auto& ends : {std::pair{a, b}, std::pair{b, a}})
                if (!m_pairs.contains(ends))
                    m_pairs[ends] = &make("pp", {ends.first, ends.second});
        }
        if (schedule.chains == 2) // stage s and s + chainLength hold the same part
            for (int part = 0; part < schedule.chainLength(); ++part) {
                const int a = holder(part), b = holder(part + schedule.chainLength());
                if (a < b)
                    enrol(Group::copies, {a, b});
            }
    }
}

const CommGroup& JobGroups::make(const std::string& name, const std::vector<int>& ranks)
{
    m_groups.push_back({.id = static_cast<int>(m_groups.size()), .name = name, .ranks = ranks});
    return m_groups.back();
}

void JobGroups::enrol(Group group, const std::vector<int>& ranks)
{
    const CommGroup& made = make(groupName(group), ranks);
    for (std::size_t i = 0; i < ranks.size(); ++i)
        m_members[asIndex(ranks[i])][asIndex(group)] = {&made, static_cast<int>(i)};
}

} // namespace live
