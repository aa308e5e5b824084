#include "sim/engine/classes.h"

#include "sim/engine/documents.h"

#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/index.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

namespace sim {
namespace {

using Colours = std::vector<int>; ///< [rank], dense from 0

constexpr std::array kRoles = {
    CommunicatorRole::tp,      CommunicatorRole::cp,          CommunicatorRole::ep,     CommunicatorRole::exptTp,
    CommunicatorRole::dpShard, CommunicatorRole::dpReplicate, CommunicatorRole::exptDp, CommunicatorRole::exptReplicate,
    CommunicatorRole::embd,    CommunicatorRole::copies};

std::size_t sizeOf(const RoleGroups& groups, int group)
{
    return asIndex(groups.first[asIndex(group) + 1] - groups.first[asIndex(group)]);
}

std::vector<int> membersOf(const RoleGroups& groups, int group)
{
    return {groups.members.begin() + groups.first[asIndex(group)], groups.members.begin() + groups.first[asIndex(group) + 1]};
}

/// Refines: ranks stay together only if they also agree in `value` (>= 0). Numbers colours in order of first rank.
int combine(Colours& colours, const std::vector<int>& value)
{
    const auto values = asIndex(*std::max_element(value.begin(), value.end()) + 1);
    const auto olds = asIndex(*std::max_element(colours.begin(), colours.end()) + 1);
    int next = 0;
    if (values * olds <= 16 * colours.size() + 4096) {
        std::vector<int> table(values * olds, -1);
        for (std::size_t rank = 0; rank < colours.size(); ++rank) {
            int& entry = table[asIndex(colours[rank]) * values + asIndex(value[rank])];
            if (entry < 0)
                entry = next++;
            colours[rank] = entry;
        }
        return next;
    }
    std::map<std::pair<int, int>, int> table;
    for (std::size_t rank = 0; rank < colours.size(); ++rank) {
        const auto [position, isNew] = table.try_emplace({colours[rank], value[rank]}, next);
        next += isNew ? 1 : 0;
        colours[rank] = position->second;
    }
    return next;
}

template <typename Key>
class Interner {
public:
    int operator()(const Key& key) { return m_index.try_emplace(key, static_cast<int>(m_index.size())).first->second; }

private:
    std::map<Key, int> m_index;
};

std::vector<RankSlowdown> rankSlowdowns(const Scenario& scenario, const Mesh& mesh)
{
    const int worldSize = mesh.worldSize();
    std::vector<RankSlowdown> slowdowns(asIndex(worldSize));
    if (scenario.training.documents.areGiven())
        for (int rank = 0; rank < worldSize; ++rank)
            slowdowns[asIndex(rank)].replica = mesh.coordinates(rank).dp;
    for (const Perturbation& perturbation : scenario.perturbations) {
        const bool named = perturbation.rank >= 0 && perturbation.rank < worldSize;
        switch (perturbation.kind) {
        case PerturbationKind::slowGpu:
            if (named)
                slowdowns[asIndex(perturbation.rank)].compute *= perturbation.factor;
            break;
        case PerturbationKind::slowLink:
            if (named)
                slowdowns[asIndex(perturbation.rank)].link *= perturbation.factor;
            break;
        case PerturbationKind::jitter:
            checkCancelled();
            for (int rank = 0; rank < worldSize; ++rank) {
                if (named && perturbation.rank != rank)
                    continue;
                slowdowns[asIndex(rank)].jitter = perturbation.sigma;
                // Without jitter ranks do not differ by their seeds.
                slowdowns[asIndex(rank)].jitterSeed =
                    perturbation.sigma > 0 ? perturbation.seed * 0x9E3779B97F4A7C15ULL + static_cast<std::uint64_t>(rank) + 1 : 0;
            }
            break;
        case PerturbationKind::failure:
            break; // between steps: sim/analysis/goodput.h
        }
    }
    return slowdowns;
}

/// Pipeline ranks that exchange activations, from the schedule's placement.
std::set<std::pair<int, int>> pipelineEdges(const Schedule& schedule)
{
    std::set<std::pair<int, int>> edges;
    for (std::size_t stage = 1; stage < schedule.stageToRank.size(); ++stage) {
        if (schedule.entersAt(static_cast<int>(stage)))
            continue;
        const int from = schedule.stageToRank[stage - 1];
        const int to = schedule.stageToRank[stage];
        if (from != to)
            edges.insert({std::min(from, to), std::max(from, to)});
    }
    return edges;
}

class Partition {
public:
    Partition(const Scenario& scenario, const Mesh& mesh, const Placement& placement, const Schedule& schedule)
        : m_scenario(scenario), m_mesh(mesh), m_placement(placement), m_edges(pipelineEdges(schedule)),
          m_slowdowns(rankSlowdowns(scenario, mesh))
    {
        const auto world = asIndex(mesh.worldSize());
        m_pp.resize(world);
        for (std::size_t rank = 0; rank < world; ++rank)
            m_pp[rank] = mesh.indexInGroup(ProcessGroup::pp, static_cast<int>(rank));
        for (std::size_t i = 0; i < kRoles.size(); ++i) {
            checkCancelled();
            if (communicatorSize(kRoles[i], scenario) > 1)
                m_roles.push_back({kRoles[i], roleGroups(kRoles[i], mesh, scenario)});
        }
        if (scenario.layout.pp > 1)
            m_pipelines = roleGroups(CommunicatorRole::pp, mesh, scenario);
        m_cards = cardsOfRoles(scenario, mesh, placement);
        for (int rank = 0; gpusPerNic(scenario.cluster) > 1 && rank < mesh.worldSize(); ++rank)
            m_ranksOfCard[nicOf(scenario.cluster, placement.gpu(rank))].push_back(rank);
    }

    RankClasses make(bool full)
    {
        m_colours = m_pp;
        colourByGeometry();
        if (full) {
            std::iota(m_colours.begin(), m_colours.end(), 0);
        } else {
            colourBySlowdown();
            refine();
        }
        return describe();
    }

private:
    struct Role {
        CommunicatorRole role;
        RoleGroups groups;
        std::vector<GroupShape> shapes; ///< distinct
        std::vector<int> shapeOf;       ///< [group]
        /// [rank] GroupShape::senders: members of a group may have different ones; empty where each has a card of its own.
        std::vector<int> senders;
    };

    void colourByGeometry();
    void colourBySlowdown();
    void refine();
    RankClasses describe() const;
    void describeCards(RankClasses&) const;
    int peer(int rank, int pipelineRank) const;

    const Scenario& m_scenario;
    const Mesh& m_mesh;
    const Placement& m_placement;
    std::set<std::pair<int, int>> m_edges;
    std::vector<RankSlowdown> m_slowdowns;
    std::vector<int> m_pp;
    std::vector<Role> m_roles;
    RoleGroups m_pipelines;
    CardsOfRoles m_cards;
    std::map<int, std::vector<int>> m_ranksOfCard; ///< by nicOf; empty where each has its own
    Colours m_colours;
    mutable CancelPoll m_poll;
};

void Partition::colourByGeometry()
{
    std::vector<int> value(m_colours.size());
    std::vector<int> ranks;
    for (Role& role : m_roles) {
        Interner<GroupShape> intern;
        const auto use = m_cards.find(role.role);
        if (use != m_cards.end())
            role.senders.assign(value.size(), 1);
        for (int group = 0; group < role.groups.count(); ++group) {
            m_poll(sizeOf(role.groups, group));
            ranks.assign(role.groups.members.begin() + role.groups.first[asIndex(group)],
                         role.groups.members.begin() + role.groups.first[asIndex(group) + 1]);
            GroupShape shape = m_placement.shape(ranks);
            if (use != m_cards.end()) {
                const int stage = m_pp[asIndex(ranks.front())];
                m_poll(8 * ranks.size());
                use->second.describe(shape, stage, ranks);
                const std::vector<int> senders = use->second.senders(shape, stage, ranks);
                for (std::size_t i = 0; i < ranks.size(); ++i)
                    role.senders[asIndex(ranks[i])] = senders[i];
            }
            const int id = intern(shape);
            if (id == static_cast<int>(role.shapes.size()))
                role.shapes.push_back(shape);
            role.shapeOf.push_back(id);
        }
        for (std::size_t rank = 0; rank < value.size(); ++rank) {
            const int group = role.groups.groupOf[rank];
            value[rank] = group < 0 ? 0 : role.shapeOf[asIndex(group)] + 1;
        }
        combine(m_colours, value);
        if (use != m_cards.end())
            combine(m_colours, role.senders);
    }
    if (m_pipelines.groupOf.empty())
        return;
    Interner<std::vector<int>> intern;
    std::vector<int> tiersOf, tiers, rankAt(asIndex(m_scenario.layout.pp)); // [pipeline rank]
    for (int pipeline = 0; pipeline < m_pipelines.count(); ++pipeline) {
        m_poll(2 * m_edges.size() + 1);
        for (int i = m_pipelines.first[asIndex(pipeline)]; i < m_pipelines.first[asIndex(pipeline) + 1]; ++i) {
            const int rank = m_pipelines.members[asIndex(i)];
            rankAt[asIndex(m_pp[asIndex(rank)])] = rank;
        }
        tiers.clear();
        for (const auto& [a, b] : m_edges)
            tiers.push_back(m_placement.tierBetween(rankAt[asIndex(a)], rankAt[asIndex(b)]));
        tiersOf.push_back(intern(tiers));
    }
    for (std::size_t rank = 0; rank < value.size(); ++rank)
        value[rank] = tiersOf[asIndex(m_pipelines.groupOf[rank])];
    combine(m_colours, value);
}

void Partition::colourBySlowdown()
{
    if (m_scenario.perturbations.empty() && !m_scenario.training.documents.areGiven())
        return;
    std::vector<int> value(m_colours.size());
    std::map<std::tuple<double, double, double, std::uint64_t, int>, int> index;
    for (std::size_t rank = 0; rank < value.size(); ++rank) {
        const RankSlowdown& s = m_slowdowns[rank];
        value[rank] = index.try_emplace({s.compute, s.link, s.jitter, s.jitterSeed, s.replica}, static_cast<int>(index.size()))
                          .first->second;
    }
    combine(m_colours, value);
}

/// Colour refinement until two ranks of a colour have groups of equal mix, as network cards, and pipelines that are equal place
/// by place.
void Partition::refine()
{
    std::vector<int> value(m_colours.size());
    std::vector<int> mix;
    for (int count = 0, before = -1; count != before;) {
        before = count;
        for (const Role& role : m_roles) {
            Interner<std::vector<int>> intern;
            std::vector<int> mixOf(asIndex(role.groups.count()));
            for (int group = 0; group < role.groups.count(); ++group) {
                m_poll(4 * sizeOf(role.groups, group));
                mix.clear();
                for (int i = role.groups.first[asIndex(group)]; i < role.groups.first[asIndex(group) + 1]; ++i)
                    mix.push_back(m_colours[asIndex(role.groups.members[asIndex(i)])]);
                if (std::all_of(mix.begin(), mix.end(), [&](int colour) { return colour == mix.front(); }))
                    mix.resize(1); // all alike; groups of a role have one size
                else
                    std::sort(mix.begin(), mix.end());
                mixOf[asIndex(group)] = intern(mix);
            }
            for (std::size_t rank = 0; rank < value.size(); ++rank)
                value[rank] = role.groups.groupOf[rank] < 0 ? 0 : mixOf[asIndex(role.groups.groupOf[rank])] + 1;
            count = combine(m_colours, value);
        }
        if (!m_pipelines.groupOf.empty()) {
            Interner<std::vector<int>> intern;
            std::vector<int> rowOf(asIndex(m_pipelines.count()));
            for (int pipeline = 0; pipeline < m_pipelines.count(); ++pipeline) {
                m_poll(4 * sizeOf(m_pipelines, pipeline));
                mix.assign(asIndex(m_scenario.layout.pp), 0);
                for (int i = m_pipelines.first[asIndex(pipeline)]; i < m_pipelines.first[asIndex(pipeline) + 1]; ++i) {
                    const auto rank = asIndex(m_pipelines.members[asIndex(i)]);
                    mix[asIndex(m_pp[rank])] = m_colours[rank];
                }
                rowOf[asIndex(pipeline)] = intern(mix);
            }
            for (std::size_t rank = 0; rank < value.size(); ++rank)
                value[rank] = rowOf[asIndex(m_pipelines.groupOf[rank])];
            count = combine(m_colours, value);
        }
        if (!m_ranksOfCard.empty()) {
            Interner<std::vector<int>> intern;
            for (const auto& [card, ranks] : m_ranksOfCard) {
                m_poll(4 * ranks.size());
                mix.clear();
                for (const int rank : ranks)
                    mix.push_back(m_colours[asIndex(rank)]);
                std::sort(mix.begin(), mix.end());
                const int of = intern(mix);
                for (const int rank : ranks)
                    value[asIndex(rank)] = of;
            }
            count = combine(m_colours, value);
        }
        if (m_roles.empty() && m_pipelines.groupOf.empty())
            return;
    }
}

int Partition::peer(int rank, int pipelineRank) const
{
    const Coordinates c = m_mesh.coordinates(rank);
    return m_mesh.rank(c.tp, c.cp, c.dp, pipelineRank);
}

/// Cards of which each holds equally many ranks of each class are one.
void Partition::describeCards(RankClasses& classes) const
{
    if (m_ranksOfCard.empty())
        return;
    classes.nic.assign(asIndex(classes.count()), 0);
    classes.ranksOnNic.assign(asIndex(classes.count()), 0);
    std::map<int, int> ranksOf; // by class
    for (const auto& [card, ranks] : m_ranksOfCard) {
        ranksOf.clear();
        for (const int rank : ranks)
            ++ranksOf[classes.classOf[asIndex(rank)]];
        for (const auto& [of, count] : ranksOf) {
            classes.nic[asIndex(of)] = ranksOf.begin()->first;
            classes.ranksOnNic[asIndex(of)] = count;
        }
    }
}

RankClasses Partition::describe() const
{
    RankClasses classes;
    classes.classOf.assign(m_colours.size(), -1);
    std::vector<int> classOfColour(asIndex(*std::max_element(m_colours.begin(), m_colours.end()) + 1), -1);
    for (std::size_t rank = 0; rank < m_colours.size(); ++rank) {
        int& index = classOfColour[asIndex(m_colours[rank])];
        if (index < 0) {
            index = classes.count();
            classes.representative.push_back(static_cast<int>(rank));
            classes.size.push_back(0);
        }
        classes.classOf[rank] = index;
        ++classes.size[asIndex(index)];
    }

    std::vector<std::vector<int>> neighbours(asIndex(m_scenario.layout.pp)); // [pipeline rank]
    for (int p = 0; p < m_scenario.layout.pp; ++p)
        neighbours[asIndex(p)].push_back((p + 1) % m_scenario.layout.pp);
    for (const auto& [a, b] : m_edges) {
        neighbours[asIndex(a)].push_back(b);
        neighbours[asIndex(b)].push_back(a);
    }
    for (std::vector<int>& of : neighbours) {
        std::sort(of.begin(), of.end());
        of.erase(std::unique(of.begin(), of.end()), of.end());
    }

    std::map<std::vector<int>, int> geometryIndex, groupIndex;
    std::vector<std::vector<int>> classGroupOf; // [role][group], -1: not met yet
    for (const Role& role : m_roles)
        classGroupOf.emplace_back(asIndex(role.groups.count()), -1);
    for (int c = 0; c < classes.count(); ++c) {
        m_poll(64);
        const int rank = classes.representative[asIndex(c)];
        classes.pipelineRank.push_back(m_pp[asIndex(rank)]);
        classes.slowdown.push_back(m_slowdowns[asIndex(rank)]);

        std::vector<int> key;
        GroupGeometry geometry;
        std::array<int, kCommunicatorRoleCount> groups;
        groups.fill(-1);
        for (std::size_t i = 0; i < m_roles.size(); ++i) {
            const Role& role = m_roles[i];
            const int group = role.groups.groupOf[asIndex(rank)];
            key.push_back(group < 0 ? -1 : role.shapeOf[asIndex(group)]);
            if (group < 0)
                continue;
            GroupShape& shape = geometry.shapes[asIndex(role.role)] = role.shapes[asIndex(role.shapeOf[asIndex(group)])];
            if (!shape.cards.empty())
                key.push_back(shape.senders = role.senders[asIndex(rank)]);
            int& known = classGroupOf[i][asIndex(group)];
            if (known < 0) { // its members together, not each of them anew
                std::vector<int> members{static_cast<int>(role.role)};
                m_poll(8 * sizeOf(role.groups, group));
                for (int m = role.groups.first[asIndex(group)]; m < role.groups.first[asIndex(group) + 1]; ++m)
                    members.push_back(classes.classOf[asIndex(role.groups.members[asIndex(m)])]);
                std::sort(members.begin() + 1, members.end());
                members.erase(std::unique(members.begin() + 1, members.end()), members.end());
                const auto [position, isNew] = groupIndex.try_emplace(members, static_cast<int>(classes.classGroups.size()));
                if (isNew)
                    classes.classGroups.push_back({.classes = {members.begin() + 1, members.end()}});
                known = position->second;
            }
            groups[asIndex(role.role)] = known;
        }
        const auto [position, isNew] = geometryIndex.try_emplace(key, static_cast<int>(classes.geometries.size()));
        if (isNew)
            classes.geometries.push_back(geometry);
        classes.geometry.push_back(position->second);
        classes.groups.push_back(groups);

        std::vector<PipelinePeer>& peers = classes.pipelinePeers.emplace_back();
        for (const int p : neighbours[asIndex(m_pp[asIndex(rank)])]) {
            const int other = peer(rank, p);
            peers.push_back({p, classes.classOf[asIndex(other)], m_placement.tierBetween(rank, other)});
        }
    }
    describeCards(classes);
    for (ClassGroup& group : classes.classGroups)
        for (const int c : group.classes)
            group.linkFactor = std::max(group.linkFactor, classes.slowdown[asIndex(c)].link);
    return classes;
}

} // namespace

const PipelinePeer& RankClasses::peerOf(int classIndex, int toPipelineRank) const
{
    const std::vector<PipelinePeer>& peers = pipelinePeers[asIndex(classIndex)];
    const auto found = std::find_if(peers.begin(), peers.end(),
                                    [toPipelineRank](const PipelinePeer& peer) { return peer.pipelineRank == toPipelineRank; });
    assert(found != peers.end());
    return *found;
}

RoleGroups roleGroups(CommunicatorRole role, const Mesh& mesh, const Scenario& scenario)
{
    const int world = mesh.worldSize();
    RoleGroups result;
    result.groupOf.assign(asIndex(world), -1);
    int count = 0;
    const auto fromGrid = [&](const RankGrid& grid, std::initializer_list<std::string_view> axes, auto&& groupOf) {
        const RankGrid::Groups groups = grid.groups(std::vector<std::string_view>(axes));
        for (int rank = 0; rank < world; ++rank) {
            result.groupOf[asIndex(rank)] = groupOf(groups, rank);
            count = std::max(count, result.groupOf[asIndex(rank)] + 1);
        }
    };
    const auto plain = [](const RankGrid::Groups& groups, int rank) { return groups.groupOf(rank); };
    const int shard = communicatorSize(CommunicatorRole::dpShard, scenario);
    const int replicas = communicatorSize(CommunicatorRole::dpReplicate, scenario);
    const int expertShard = communicatorSize(CommunicatorRole::exptDp, scenario);
    const int expertReplicas = communicatorSize(CommunicatorRole::exptReplicate, scenario);
    switch (role) {
    case CommunicatorRole::tp:
    case CommunicatorRole::cp:
    case CommunicatorRole::pp:
        fromGrid(mesh.dense(), {communicatorRoleName(role)}, plain);
        break;
    case CommunicatorRole::ep:
    case CommunicatorRole::exptTp:
        fromGrid(mesh.expert(), {role == CommunicatorRole::ep ? "ep" : "tp"}, plain);
        break;
    case CommunicatorRole::exptDp: // as those of dp_cp; where the expert grid is the dense one it has cp, too
        fromGrid(mesh.expert(), {"dp", "cp"}, [&](const RankGrid::Groups& groups, int rank) {
            return groups.groupOf(rank) * expertReplicas + groups.indexInGroup(rank) / expertShard;
        });
        break;
    case CommunicatorRole::exptReplicate:
        fromGrid(mesh.expert(), {"dp", "cp"}, [&](const RankGrid::Groups& groups, int rank) {
            return groups.groupOf(rank) * expertShard + groups.indexInGroup(rank) % expertShard;
        });
        break;
    case CommunicatorRole::dpShard: // consecutive members of dp_cp, as Megatron's partial distributed-optimizer groups
        fromGrid(mesh.dense(), {"dp", "cp"}, [&](const RankGrid::Groups& groups, int rank) {
            return groups.groupOf(rank) * replicas + groups.indexInGroup(rank) / shard;
        });
        break;
    case CommunicatorRole::dpReplicate:
        fromGrid(mesh.dense(), {"dp", "cp"}, [&](const RankGrid::Groups& groups, int rank) {
            return groups.groupOf(rank) * shard + groups.indexInGroup(rank) % shard;
        });
        break;
    case CommunicatorRole::embd:
        for (int rank = 0; rank < world; ++rank) {
            result.groupOf[asIndex(rank)] = mesh.groupOf(ProcessGroup::embd, rank);
            count = std::max(count, result.groupOf[asIndex(rank)] + 1);
        }
        break;
    case CommunicatorRole::copies: // rank i of a pipeline and rank i from its end
        fromGrid(mesh.dense(), {"pp"}, [&](const RankGrid::Groups& groups, int rank) {
            const int index = groups.indexInGroup(rank);
            return groups.groupOf(rank) * (scenario.layout.pp / 2) + std::min(index, scenario.layout.pp - 1 - index);
        });
        break;
    case CommunicatorRole::none:
        break;
    }
    result.first.assign(asIndex(count) + 1, 0);
    for (const int group : result.groupOf)
        if (group >= 0)
            ++result.first[asIndex(group) + 1];
    std::partial_sum(result.first.begin(), result.first.end(), result.first.begin());
    result.members.resize(asIndex(result.first.back()));
    std::vector<int> fill(result.first.begin(), result.first.end() - 1);
    for (int rank = 0; rank < world; ++rank)
        if (result.groupOf[asIndex(rank)] >= 0)
            result.members[asIndex(fill[asIndex(result.groupOf[asIndex(rank)])]++)] = rank;
    return result;
}

CardsOfRoles cardsOfRoles(const Scenario& scenario, const Mesh& mesh, const Placement& placement)
{
    CardsOfRoles cards;
    if (gpusPerNic(scenario.cluster) == 1)
        return cards;
    CancelPoll poll;
    for (const CommunicatorRole role : kRoles) {
        if (communicatorSize(role, scenario) < 2)
            continue;
        const RoleGroups groups = roleGroups(role, mesh, scenario);
        CardUse& use = cards.try_emplace(role, scenario.cluster, placement).first->second;
        for (int group = 0; group < groups.count(); ++group) {
            poll(4 * sizeOf(groups, group));
            const std::vector<int> ranks = membersOf(groups, group);
            use.add(mesh.indexInGroup(ProcessGroup::pp, ranks.front()), ranks);
        }
    }
    return cards;
}

int RoleSpan::groups() const
{
    return std::accumulate(groupsSpanning.begin(), groupsSpanning.end(), 0);
}

int RoleSpan::across() const
{
    return groupsSpanning.empty() ? 0 : groups() - groupsSpanning.front();
}

int RoleSpan::widestTier() const
{
    int widest = 0;
    for (std::size_t tier = 0; tier < groupsSpanning.size(); ++tier)
        widest = groupsSpanning[tier] > 0 ? static_cast<int>(tier) : widest;
    return widest;
}

RoleSpan roleSpan(CommunicatorRole role, const Mesh& mesh, const Placement& placement, const Scenario& scenario)
{
    RoleSpan out{.ranks = communicatorSize(role, scenario), .groupsSpanning = std::vector<int>(scenario.cluster.tiers.size())};
    if (out.ranks < 2)
        return out;
    const RoleGroups groups = roleGroups(role, mesh, scenario);
    CancelPoll poll;
    for (int group = 0; group < groups.count(); ++group) {
        poll(sizeOf(groups, group));
        ++out.groupsSpanning[asIndex(placement.shape(membersOf(groups, group)).spanningTier())];
    }
    return out;
}

RankClasses makeRankClasses(const Scenario& scenario, const Mesh& mesh, const Placement& placement, const Schedule& schedule,
                            bool full)
{
    RankClasses classes = Partition(scenario, mesh, placement, schedule).make(full);
    classes.attentionShares = attentionShares(scenario);
    return classes;
}

} // namespace sim
