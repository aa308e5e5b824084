#include "sim/planner/pipeline_geometry.h"

#include "sim/index.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace sim {
namespace {

/// What no collective of either group is faster on. Of uneven ones neither need be: one may touch fewer domains, the other have
/// more members in its smallest.
GroupShape bestOf(const GroupShape& a, const GroupShape& b)
{
    if (a == b)
        return a;
    const auto place = [](const GroupShape& of) { return std::pair(of.spanningTier(), of.domains); };
    GroupShape best = place(b) < place(a) ? b : a;
    best.cards.clear(); // as if each rank had a card of its own
    best.hops = best.senders = 1;
    if ((a.isUniform() && b.isUniform()) || a.size != b.size)
        return best;
    best.fewest.clear();
    best.most.clear();
    for (std::size_t tier = 0; tier < best.domains.size(); ++tier) {
        best.fewest.push_back(static_cast<int>(std::max(a.fewestIn(tier), b.fewestIn(tier))));
        best.most.push_back(std::max(best.fewest[tier], static_cast<int>(std::min(a.mostIn(tier), b.mostIn(tier)))));
    }
    return best;
}

} // namespace

GroupGeometry groupGeometryAt(const Scenario& scenario, const Mesh& mesh, const Placement& placement, const CardsOfRoles& cards,
                              int rank, GroupsOf of)
{
    GroupGeometry geometry;
    const auto set = [&](CommunicatorRole role, const std::vector<int>& members) {
        if (members.size() < 2)
            return;
        GroupShape& shape = geometry.shapes[asIndex(role)] = placement.shape(members);
        if (const auto use = cards.find(role); use != cards.end()) {
            const int stage = mesh.coordinates(members.front()).pp;
            use->second.describe(shape, stage, members);
            const auto place = std::find(members.begin(), members.end(), rank) - members.begin();
            shape.senders = use->second.senders(shape, stage, members)[asIndex(place)];
        }
    };
    const auto membersOf = [&](ProcessGroup group) {
        const int index = mesh.groupOf(group, rank);
        return index < 0 ? std::vector<int>{} : mesh.members(group, index);
    };
    set(CommunicatorRole::tp, membersOf(ProcessGroup::tp));
    set(CommunicatorRole::cp, membersOf(ProcessGroup::cp));
    set(CommunicatorRole::ep, membersOf(ProcessGroup::ep));
    set(CommunicatorRole::exptTp, membersOf(ProcessGroup::expt_tp));
    if (of == GroupsOf::layers)
        return geometry;
    set(CommunicatorRole::embd, membersOf(ProcessGroup::embd));
    const auto at = mesh.coordinates(rank); // with one copy of the model nobody asks for those of two
    if (const int other = mesh.rank(at.tp, at.cp, at.dp, scenario.layout.pp - 1 - at.pp); other != rank)
        set(CommunicatorRole::copies, {std::min(rank, other), std::max(rank, other)});
    const auto setShards = [&](ProcessGroup group, CommunicatorRole sharing, CommunicatorRole replicating) {
        const std::vector<int> data = membersOf(group);
        const auto shard = asIndex(communicatorSize(sharing, scenario)), place = asIndex(mesh.indexInGroup(group, rank));
        std::vector<int> shards, replicas;
        for (std::size_t i = 0; i < data.size(); ++i) {
            if (i / shard == place / shard)
                shards.push_back(data[i]);
            if (i % shard == place % shard)
                replicas.push_back(data[i]);
        }
        set(sharing, shards);
        set(replicating, replicas);
    };
    setShards(ProcessGroup::dp_cp, CommunicatorRole::dpShard, CommunicatorRole::dpReplicate);
    setShards(ProcessGroup::expt_dp, CommunicatorRole::exptDp, CommunicatorRole::exptReplicate);
    return geometry;
}

int gpusTogether(const Cluster& cluster)
{
    return std::max(cluster.gpusPerNode, cluster.tiers.front().span);
}

bool domainsHoldBlocks(const Scenario& scenario)
{
    const Layout& layout = scenario.layout;
    std::pair<std::string_view, int> outermost{"", 1};
    for (std::size_t from = 0; from < layout.order.size();) {
        const std::size_t to = std::min(layout.order.find('-', from), layout.order.size());
        const std::string_view axis = std::string_view(layout.order).substr(from, to - from);
        for (const auto& [name, size] :
             {std::pair<std::string_view, int>{"tp", layout.tp}, {"cp", layout.cp}, {"pp", layout.pp}, {"dp", layout.dp}})
            if (axis == name && size > 1)
                outermost = {name, size};
        from = to + 1;
    }
    const auto world = layout.worldSize();
    const auto block = world / outermost.second;
    // Experts' groups are made of the ranks of a stage.
    const bool isWhole = scenario.model.numExperts == 0 || outermost.first == "pp";
    return std::all_of(scenario.cluster.tiers.begin(), scenario.cluster.tiers.end(), [&](const Tier& tier) {
        return tier.span <= gpusTogether(scenario.cluster) || tier.span >= world || (isWhole && tier.span % block == 0);
    });
}

PipelineGeometry pipelineGeometry(const Scenario& scenario, GroupsOf of)
{
    const Layout& layout = scenario.layout;
    const Mesh mesh(layout);
    const Placement placement(layout, scenario.cluster);
    const CardsOfRoles cards = cardsOfRoles(scenario, mesh, placement);
    PipelineGeometry geometry{.groups = groupGeometryAt(scenario, mesh, placement, cards, 0, of)};
    int tier = static_cast<int>(scenario.cluster.tiers.size()) - 1;
    const bool repeats = layout.placement == PlacementRule::packed && domainsHoldBlocks(scenario);
    for (int p = 1; p < layout.pp; ++p) {
        const int rank = mesh.rank(0, 0, 0, p), before = mesh.rank(0, 0, 0, p - 1);
        tier = std::min(tier, placement.tierBetween(before, rank));
        const int stride = rank - before;
        if (repeats && stride % gpusTogether(scenario.cluster) == 0)
            continue; // lies on its nodes as the one before does
        const GroupGeometry here = groupGeometryAt(scenario, mesh, placement, cards, rank, of);
        for (std::size_t role = 0; role < here.shapes.size(); ++role) {
            if (here.shapes[role].size > 1)
                geometry.groups.shapes[role] = bestOf(geometry.groups.shapes[role], here.shapes[role]);
        }
    }
    if (layout.pp > 1 && layout.placement != PlacementRule::packed) // chunks that go round send from the last to the first
        tier = std::min(tier, placement.tierBetween(mesh.rank(0, 0, 0, layout.pp - 1), mesh.rank(0, 0, 0, 0)));
    geometry.sendTier = tier;
    return geometry;
}

} // namespace sim
