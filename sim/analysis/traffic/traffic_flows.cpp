#include "sim/analysis/traffic/traffic_flows.h"

#include "sim/cancel.h"
#include "sim/cost/all_reduce.h"
#include "sim/index.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace sim {
namespace {

constexpr std::array kCollectiveRoles = {
    CommunicatorRole::tp,      CommunicatorRole::cp,          CommunicatorRole::ep,     CommunicatorRole::exptTp,
    CommunicatorRole::dpShard, CommunicatorRole::dpReplicate, CommunicatorRole::exptDp, CommunicatorRole::exptReplicate,
    CommunicatorRole::embd,    CommunicatorRole::copies};

/// Round a ring once.
std::int64_t onceRound(std::int64_t bytes, std::int64_t members)
{
    return bytes * (members - 1) / members;
}

std::int64_t toEach(std::int64_t bytes, std::int64_t members)
{
    return bytes / members;
}

/// Of bytes to a member of another node.
std::int64_t leaving(std::int64_t each, const AllToAllRoutes& routes)
{
    return routes.leaving < 1 ? std::llround(routes.leaving * static_cast<double>(each)) : each;
}

} // namespace

std::int64_t sentByMember(const OpShape& shape, const GroupShape& group, const Scenario& scenario)
{
    const std::int64_t n = group.size, bytes = meanShape(shape, scenario).bytes;
    if (n <= 1)
        return 0;
    switch (factsOf(shape.collective).sends) {
    case CollectiveSends::onceRound:
        return onceRound(bytes, n);
    case CollectiveSends::twiceRound:
        return allReduceRoute(group, scenario.cluster).inNetwork ? bytes + bytes / n : 2 * onceRound(bytes, n);
    case CollectiveSends::toEach: {
        const AllToAllRoutes routes = allToAllRoutes(group, scenario.cluster, TokenChoice::of(scenario));
        const std::int64_t each = toEach(bytes, n);
        return routes.isOnce ? std::llround(static_cast<double>(each * n) * routes.sentShare()) : (n - 1) * each;
    }
    case CollectiveSends::whole:
        return bytes;
    }
    return 0;
}

std::int64_t TrafficFlows::Volumes::toPipelineRank(int pipelineRank) const
{
    const auto found = std::lower_bound(pipeline.begin(), pipeline.end(), std::pair(pipelineRank, std::int64_t{0}));
    return found != pipeline.end() && found->first == pipelineRank ? found->second : 0;
}

TrafficFlows::TrafficFlows(const Scenario& scenario, const Mesh& mesh, const Placement& placement, const Program& program,
                           const RankClasses& classes)
    : m_mesh(mesh), m_placement(placement), m_tiers(static_cast<int>(scenario.cluster.tiers.size())), m_classOf(classes.classOf)
{
    for (int rank = 0; rank < mesh.worldSize(); ++rank)
        m_nicOf.push_back(sim::nicOf(scenario.cluster, placement.gpu(rank)));
    std::map<std::pair<int, int>, int> known; // pipeline rank, geometry
    for (int c = 0; c < classes.count(); ++c) {
        const auto [position, isNew] = known.try_emplace({classes.pipelineRank[asIndex(c)], classes.geometry[asIndex(c)]},
                                                         static_cast<int>(m_volumes.size()));
        if (isNew)
            m_volumes.push_back(volumesOf(c, scenario, program, classes));
        m_volumesOf.push_back(position->second);
    }
    for (const CommunicatorRole role : kCollectiveRoles)
        if (std::any_of(m_volumes.begin(), m_volumes.end(), [&](const Volumes& volumes) { return volumes.any(role); }))
            m_communicators.push_back(communicators(role, scenario));
}

TrafficFlows::Volumes TrafficFlows::volumesOf(int c, const Scenario& scenario, const Program& program, const RankClasses& classes)
{
    Volumes volumes;
    std::map<int, std::int64_t> pipeline;
    CancelPoll poll;
    std::vector<std::int64_t> timesRun(program.passes.size());
    for (const Step& step : program.ranks[asIndex(classes.pipelineRank[asIndex(c)])].steps) {
        poll();
        ++timesRun[step.pass];
        if (step.sendTo >= 0)
            pipeline[step.sendTo] += program.sendBytes;
    }
    volumes.pipeline.assign(pipeline.begin(), pipeline.end());
    const GroupGeometry& geometry = classes.geometries[asIndex(classes.geometry[asIndex(c)])];
    for (std::size_t p = 0; p < program.passes.size(); ++p) {
        const Pass& pass = program.passes[p];
        poll(timesRun[p] > 0 ? pass.ops.size() + 1 : 1);
        for (std::size_t i = 0; timesRun[p] > 0 && i < pass.ops.size(); ++i) {
            if (pass.ops[i].kind != OpKind::collective)
                continue;
            const auto role = asIndex(pass.ops[i].group);
            const OpShape& shape = pass.shapes[i];
            const GroupShape& group = geometry.shapes[role];
            const CollectiveSends sends = factsOf(shape.collective).sends;
            if (sends == CollectiveSends::toEach)
                volumes.each[role] += timesRun[p] * toEach(meanShape(shape, scenario).bytes, group.size);
            else
                (sends == CollectiveSends::whole ? volumes.shift : volumes.ring)[role] +=
                    timesRun[p] * sentByMember(shape, group, scenario);
        }
    }
    return volumes;
}

TrafficFlows::Communicators TrafficFlows::communicators(CommunicatorRole role, const Scenario& scenario) const
{
    Communicators made;
    made.role = role;
    made.groups = roleGroups(role, m_mesh, scenario);
    made.byGpu = made.groups.members;
    made.place.assign(asIndex(m_mesh.worldSize()), 0);
    made.placeByGpu.assign(asIndex(m_mesh.worldSize()), 0);
    std::vector<int> ranks;
    CancelPoll poll;
    for (int group = 0; group < made.groups.count(); ++group) {
        poll(16 * asIndex(made.groups.first[asIndex(group) + 1] - made.groups.first[asIndex(group)]));
        const auto first = made.groups.first[asIndex(group)], last = made.groups.first[asIndex(group) + 1];
        const auto begin = made.byGpu.begin() + first, end = made.byGpu.begin() + last;
        ranks.assign(begin, end);
        const auto earlier = [&](int a, int b) { return m_placement.gpu(a) < m_placement.gpu(b); };
        if (!std::is_sorted(begin, end, earlier))
            std::sort(begin, end, earlier);
        for (int i = first; i < last; ++i) {
            made.place[asIndex(made.groups.members[asIndex(i)])] = i - first;
            made.placeByGpu[asIndex(made.byGpu[asIndex(i)])] = i - first;
        }
        const GroupShape shape = m_placement.shape(ranks);
        const auto known = std::find(made.shapes.begin(), made.shapes.end(), shape);
        made.shapeOf.push_back(static_cast<int>(known - made.shapes.begin()));
        if (known == made.shapes.end()) {
            made.shapes.push_back(shape);
            made.routes.push_back(allToAllRoutes(shape, scenario.cluster, TokenChoice::of(scenario)));
        }
    }
    if (std::any_of(made.routes.begin(), made.routes.end(), [](const AllToAllRoutes& routes) { return routes.isOnce; }))
        countInNodes(made);
    return made;
}

/// Members in the order of their GPUs: those of a node are neighbours.
void TrafficFlows::countInNodes(Communicators& made) const
{
    made.inNode.assign(asIndex(m_mesh.worldSize()), 1);
    for (int group = 0; group < made.groups.count(); ++group) {
        const int nodeTier = made.routes[asIndex(made.shapeOf[asIndex(group)])].nodeTier;
        const int last = made.groups.first[asIndex(group) + 1];
        for (int i = made.groups.first[asIndex(group)]; i < last;) {
            int end = i + 1;
            while (end < last && m_placement.tierBetween(made.byGpu[asIndex(i)], made.byGpu[asIndex(end)]) <= nodeTier)
                ++end;
            for (const int count = end - i; i < end; ++i)
                made.inNode[asIndex(made.byGpu[asIndex(i)])] = count;
        }
    }
}

/// Of an all-to-all in which each member sends each other `each`, unless a node takes one copy of a token for all of its own.
std::int64_t TrafficFlows::toPeer(const Communicators& of, int group, int from, int to, std::int64_t each) const
{
    const auto shape = asIndex(of.shapeOf[asIndex(group)]);
    const AllToAllRoutes& routes = of.routes[shape];
    if (!routes.isOnce)
        return each;
    const int mates = of.inNode[asIndex(from)] - 1;
    if (m_placement.tierBetween(from, to) > routes.nodeTier)
        return leaving(each, routes);
    return std::llround(static_cast<double>(each) * routes.members * routes.taken / (mates + 1));
}

void TrafficFlows::append(int rank, Direction direction, std::vector<TrafficFlow>& flows) const
{
    const Volumes& volumes = volumesOfRank(rank);
    for (const Communicators& of : m_communicators) {
        const int group = of.groups.groupOf[asIndex(rank)];
        const auto role = asIndex(of.role);
        if (group < 0 || !volumes.any(of.role))
            continue;
        const auto first = of.groups.first[asIndex(group)];
        const int size = of.groups.first[asIndex(group) + 1] - first;
        if (size < 2)
            continue;
        if (volumes.ring[role] > 0)
            appendRing(of, group, rank, volumes.ring[role], direction, flows);
        if (volumes.shift[role] > 0) {
            const int by = direction == Direction::sends ? 1 : size - 1;
            const int peer = of.groups.members[asIndex(first + (of.place[asIndex(rank)] + by) % size)];
            flows.push_back({peer, m_placement.tierBetween(rank, peer), of.role, volumes.shift[role]});
        }
        for (int i = 0; volumes.each[role] > 0 && i < size; ++i)
            if (const int peer = of.groups.members[asIndex(first + i)]; peer != rank) {
                const bool isSent = direction == Direction::sends;
                const std::int64_t bytes = toPeer(of, group, isSent ? rank : peer, isSent ? peer : rank, volumes.each[role]);
                flows.push_back({peer, m_placement.tierBetween(rank, peer), of.role, bytes});
            }
    }
    if (m_mesh.pipelineRanks() == 1)
        return;
    const Coordinates place = m_mesh.coordinates(rank);
    // Who gets activations of a rank sends it their gradients: the same peers either way.
    for (const auto& [p, sent] : volumes.pipeline) {
        if (p == place.pp)
            continue;
        const int peer = m_mesh.rank(place.tp, place.cp, place.dp, p);
        const std::int64_t bytes = direction == Direction::sends ? sent : volumesOfRank(peer).toPipelineRank(place.pp);
        if (bytes > 0)
            flows.push_back({peer, m_placement.tierBetween(rank, peer), CommunicatorRole::pp, bytes});
    }
}

/// Places in a group are a mixed-radix number, a digit a tier: a member hands on to the next value of each digit.
void TrafficFlows::appendRing(const Communicators& of, int group, int rank, std::int64_t bytes, Direction direction,
                              std::vector<TrafficFlow>& flows) const
{
    const auto first = of.groups.first[asIndex(group)];
    const GroupShape& shape = of.shapes[asIndex(of.shapeOf[asIndex(group)])];
    const int place = of.placeByGpu[asIndex(rank)];
    if (!shape.isUniform()) {
        const int by = direction == Direction::sends ? 1 : shape.size - 1;
        const int peer = of.byGpu[asIndex(first + (place + by) % shape.size)];
        flows.push_back({peer, m_placement.tierBetween(rank, peer), of.role, bytes});
        return;
    }
    int inner = 1; // members in a domain of the tier below
    for (int tier = 0; inner < shape.size; ++tier) {
        const int width = shape.size / shape.domains[asIndex(tier)];
        const int digits = width / inner;
        if (digits == 1)
            continue;
        const int digit = place / inner % digits;
        const int next = (digit + (direction == Direction::sends ? 1 : digits - 1)) % digits;
        const int peer = of.byGpu[asIndex(first + place + (next - digit) * inner)];
        // Of all, 1/inner leaves the domain below; of that, 1/width goes further still.
        const std::int64_t further = width < shape.size ? bytes / width : 0;
        if (const std::int64_t here = bytes / inner - further; here > 0)
            flows.push_back({peer, tier, of.role, here});
        inner = width;
    }
}

} // namespace sim
