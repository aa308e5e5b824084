#include "sim/checked.h"
#include "sim/cost/all_reduce.h"
#include "sim/cost/all_to_all.h"
#include "sim/cost/cost.h"
#include "sim/index.h"
#include "sim/portable_math.h"

#include <algorithm>
#include <cmath>

namespace sim {
namespace {

/// NCCL's trees reach this share of the links' bandwidth (src/graph/tuning.cc).
constexpr double kTreeBandwidth = 0.92;

/// A shard that one rank sends passes all others in turn, a slice of NCCL's buffers at a time: a hop takes so many latencies of
/// an empty message. By hand, from steps of InternEvo with ZeRO 1 over 512 and 1,024 GPUs.
constexpr double kShardHop = 3;

double bytesPerSecondOf(const Cluster& cluster, std::size_t tier)
{
    const Efficiency& efficiency = cluster.efficiency;
    const bool isOutside = efficiency.interNode > 0 && !cluster.isInsideNode(tier);
    return cluster.tiers[tier].bandwidthGBs * 1e9 * (isOutside ? efficiency.interNode : efficiency.network);
}

/// The same of one GPU of so many that send over its card at once.
double bytesPerSecondAmong(const Cluster& cluster, std::size_t tier, double senders)
{
    const double alone = bytesPerSecondOf(cluster, tier);
    return senders <= 1 || cluster.isInsideNode(tier)
               ? alone
               : std::min(alone, bytesPerSecondOf(cluster, cluster.networkTier()) / senders);
}

/// What kernels that take one copy of a token reach of bytesPerSecondOf over a tier inside a node. Over NVSwitches that also add
/// (NVLink SHARP: Hopper, Blackwell) receivers lose nothing beyond Efficiency::network, which is in that rate: DeepEP's kernels
/// send 134 to 138 of an H800's 200 GB/s (docs/legacy.md, EP8), HybridEP's 560 to 660 of 900 on GB200 and B200
/// (docs/README_Hybrid-EP.md, kernels alone, what a rank keeps left out). H100, H200, B300 and GB300 have the same switches, and
/// are taken to do as well. Nobody has printed other links, PCIe or meshes: there it is as with plain all-to-alls.
double oneCopyRate(const Cluster& cluster, std::size_t tier)
{
    return cluster.tiers[tier].inNetworkReduction ? 1 : cluster.efficiency.allToAll;
}

/// Of a group's members that send out of a domain over a tier, so many: ranks that send over the card of each of them, itself
/// among these, in the mean over the cards (GroupShape::cards).
double sendersOverCard(const GroupShape& group, std::size_t tier, double members)
{
    return group.cards.empty() || tier == 0 || tier > group.cards.size() ? 1 : members / group.cards[tier - 1];
}

/// What so many domains of the tier below, or GPUs, have together of what a GPU can send over a tier: in a mesh each has a link
/// to each other, and only where all take part all are used.
double linkShare(const Cluster& cluster, std::size_t tier, double joined)
{
    const Tier& of = cluster.tiers[tier];
    if (!of.mesh)
        return 1;
    const double all = of.span == 0 ? cluster.gpus() : of.span;
    const double links = all / (tier == 0 ? 1 : cluster.tiers[tier - 1].span) - 1;
    return links > 1 ? std::clamp(joined - 1, 1.0, links) / links : 1;
}

/// What passes several tiers of a port: other bytes on each, or always the same.
enum class Passing : std::uint8_t { others, same };

/// Seconds that `bytes` of one GPU keep its ports busy on their way over a tier, besides what was there before; a network card
/// with those of all its senders.
void occupy(std::array<double, kPortCount>& seconds, const Cluster& cluster, std::size_t tier, double bytes, Passing passing,
            double senders = 1)
{
    const auto busy = [&](Port port, std::size_t through) {
        double& of = seconds[static_cast<std::size_t>(port)];
        const double more = bytes * (port == Port::network ? senders : 1) / bytesPerSecondOf(cluster, through);
        of = passing == Passing::others ? of + more : std::max(of, more);
    };
    const Port port = portOf(cluster, static_cast<int>(tier));
    busy(port, tier);
    if (port == Port::spine)
        busy(Port::network, cluster.networkTier());
}

/// What a ring over the whole group meets on its way. Every GPU brings its own network port: g members in a domain of the tier
/// below leave it over g ports side by side (rails). All that goes round passes each domain: the one with the fewest members
/// decides, and its ports are the busy ones.
struct RingPath {
    std::array<double, kPortCount> portSecondsPerByte{};
    double bytesPerSecond = 0; ///< of the narrowest tier it crosses
    double roundSeconds = 0;   ///< latency of one whole trip through the group
    double outerSeconds = 0;   ///< latency of the outermost tier crossed
    int outerDomains = 1;
};

/// `beyondNode`: of the rate that links between nodes reach otherwise, what this software drives.
RingPath ringPath(const GroupShape& group, const Cluster& cluster, double beyondNode = 1)
{
    RingPath path;
    int inner = group.size; // domains of the tier below; at first single GPUs
    for (std::size_t t = 0; t < cluster.tiers.size() && t < group.domains.size(); ++t) {
        const Tier& tier = cluster.tiers[t];
        const int crossings = inner - group.domains[t];
        if (crossings > 0) {
            const double ports = t == 0 ? 1 : group.fewestIn(t - 1);
            const double joined = t == 0 ? group.fewestIn(t) : static_cast<double>(inner) / group.domains[t];
            const double driven = cluster.isInsideNode(t) ? 1 : beyondNode;
            const double senders = sendersOverCard(group, t, ports);
            const double rate = bytesPerSecondAmong(cluster, t, senders) * linkShare(cluster, t, joined) * ports * driven;
            path.bytesPerSecond = path.bytesPerSecond > 0 ? std::min(path.bytesPerSecond, rate) : rate;
            occupy(path.portSecondsPerByte, cluster, t, 1 / ports, Passing::same, senders);
            path.roundSeconds += crossings * tier.latencyUs * 1e-6;
            path.outerSeconds = tier.latencyUs * 1e-6;
            path.outerDomains = inner;
        }
        inner = group.domains[t];
    }
    return path;
}

struct AllToAll {
    std::array<double, kPortCount> portSeconds{}; ///< that each port is busy
    double meshSeconds = 0;                       ///< that the links of a mesh are, where few share it
    double latencySeconds = 0;
    bool isOneKernel = false; ///< that writes to all members at once, inside a node (DeepEP, HybridEP)
    double seconds() const
    {
        return std::max(*std::max_element(portSeconds.begin(), portSeconds.end()), meshSeconds) + latencySeconds;
    }
};

/// Of a member whose domain of each tier has so many of the group.
AllToAll allToAllOf(const GroupShape& group, const Cluster& cluster, double bytes, AllToAllRoutes routes,
                    double (GroupShape::*membersIn)(std::size_t) const)
{
    AllToAll all;
    double latency = 0;
    double reachedInside = 1; // members reached without this tier
    if (routes.nodeTier >= 0 && !group.isUniform())
        routes.membersOfNode = (group.*membersIn)(asIndex(routes.nodeTier));
    for (std::size_t t = 0; t < cluster.tiers.size() && t < group.domains.size(); ++t) {
        const double inside = (group.*membersIn)(t);
        if (inside > reachedInside) {
            const double members = inside - reachedInside;
            const bool isInNode = static_cast<int>(t) <= routes.nodeTier;
            const double share = isInNode ? routes.inNodeShare(members) : members / group.size * routes.leaving;
            // Over InfiniBand DeepEP sends 44 of 50 GB/s.
            const double reached = routes.isOnce && isInNode ? oneCopyRate(cluster, t) : cluster.efficiency.allToAll;
            const double sent = bytes * share / reached;
            const double senders = sendersOverCard(group, t, t == 0 ? 1 : (group.*membersIn)(t - 1));
            occupy(all.portSeconds, cluster, t, sent, Passing::others, senders);
            const double rate = bytesPerSecondOf(cluster, t) * linkShare(cluster, t, inside / reachedInside);
            all.meshSeconds = std::max(all.meshSeconds, sent / rate);
            latency = std::max(latency, cluster.tiers[t].latencyUs * 1e-6);
        }
        reachedInside = std::max(reachedInside, inside);
    }
    all.isOneKernel = routes.isOnce && routes.membersOfNode >= routes.members;
    all.latencySeconds = latency * (all.isOneKernel ? 1 : std::max(1.0, portableLog2(static_cast<double>(group.size))));
    return all;
}

/// Each member sends to every other. Traffic to other domains leaves over the member's own port; the tiers work side by side, the
/// slowest decides. Whose domain has the fewest members sends the most out of it, whose has the most the most inside.
AllToAll allToAll(const GroupShape& group, const Cluster& cluster, double bytes, const TokenChoice& choice)
{
    const AllToAllRoutes routes = allToAllRoutes(group, cluster, choice);
    AllToAll all = allToAllOf(group, cluster, bytes, routes, &GroupShape::fewestIn);
    if (group.isUniform())
        return all;
    const AllToAll crowded = allToAllOf(group, cluster, bytes, routes, &GroupShape::mostIn);
    for (std::size_t port = 0; port < kPortCount; ++port)
        all.portSeconds[port] = std::max(all.portSeconds[port], crowded.portSeconds[port]);
    all.meshSeconds = std::max(all.meshSeconds, crowded.meshSeconds);
    all.latencySeconds = std::max(all.latencySeconds, crowded.latencySeconds);
    return all;
}

PortUse sharesOf(const std::array<double, kPortCount>& busySeconds, std::int64_t ns)
{
    PortUse use{};
    for (std::size_t port = 0; port < kPortCount && ns > 0; ++port)
        use[port] = static_cast<std::uint32_t>(std::min(1.0, busySeconds[port] * 1e9 / static_cast<double>(ns)) * kWholePort);
    return use;
}

std::string transferText(const char* what, double bytes, int members)
{
    return std::string(what) + " of " + roughly(bytes) + " bytes between " + std::to_string(members) + " GPUs";
}

} // namespace

Port portOf(const Cluster& cluster, int tier)
{
    const auto t = static_cast<std::size_t>(tier);
    if (cluster.isInsideNode(t))
        return t == 0 ? Port::inner : Port::node;
    return t == cluster.networkTier() ? Port::network : Port::spine;
}

/// Ring: Thakur et al. 2005; (n-1)/n of the tensor passes every link, once for all-gather and reduce-scatter, twice for
/// all-reduce. All-reduce may use a tree instead, when latency counts (NCCL 2.4), or the switches, when bytes do.
std::int64_t CostModel::collectiveNs(const OpShape& shape, const GroupShape& group, CommunicatorRole role) const
{
    if (group.size <= 1)
        return 0;
    if (shape.pieces > 1)
        return checkedMultiply(shape.pieces, collectiveNs(pieceOf(shape), group, role));
    const double n = group.size;
    const double bytes = static_cast<double>(shape.bytes);
    const auto text = [&] { return transferText("a collective", bytes, group.size); };
    if (const MeasuredTime* measured = measuredTransfer(static_cast<std::size_t>(shape.collective), group.spanningTier())) {
        const int pieces = shape.amongAll ? 1 : shape.piecesOfTrip; // measured were whole collectives, which make the trip once
        return durationNs(measured->seconds(std::max(1.0, bytes * pieces), n) / pieces, text);
    }
    const bool isData = role != CommunicatorRole::none && dimensionOf(role) == Dimension::dp;
    const RingPath path = ringPath(group, m_cluster, isData ? m_stack.network : 1);
    const double rate = path.bytesPerSecond;
    const double once = rate > 0 ? bytes * (n - 1) / n / rate : 0;
    // User buffers are mapped once: a piece is a copy or a small kernel that writes into a neighbour's memory and raises a flag
    // there (Transformer Engine, common/comm_gemm_overlap/userbuffers: userbuffers_send; symmetric memory in PyTorch), not a
    // collective that is set up and ended.
    const bool isMapped = shape.piecesOfTrip > 1 && group.spanningTier() == 0; // memory of GPUs behind a network is not
    // Round a ring no piece goes all the way: of n, n - 1 make one hop each, beside a product of the piece that came before
    // (CommOverlapP2PBase::split_overlap_ag and split_overlap_rs; _pipelined_multi_all_gather_and_consume and
    // _pipelined_produce_and_all2all of torch/distributed/_symmetric_memory). As many hops in all, whatever pieces stand for them
    // here. Among all at once each piece has its own: a flag to all others, and what is read from them
    // (CommOverlapBase::split_overlap_rs; userbuffers_fp16_sum_inplace_gpu_rr_rs_oop_stride).
    constexpr double kFlagAndRead = 2;
    const double eachTrip = isMapped ? path.roundSeconds * std::min(1.0, kFlagAndRead / (n - 1)) : path.roundSeconds;
    const double tripSeconds = shape.amongAll ? eachTrip : path.roundSeconds / shape.piecesOfTrip;
    double seconds = 0, startUs = isMapped ? std::min(m_cluster.efficiency.kernelUs, m_cluster.efficiency.collectiveUs)
                                           : m_cluster.efficiency.collectiveUs;
    switch (shape.collective) {
    case CollectiveKind::allGather:
    case CollectiveKind::reduceScatter:
        seconds = once + tripSeconds * (shape.batch > 1 ? kShardHop * static_cast<double>(shape.batch) : 1);
        break;
    case CollectiveKind::allReduce: {
        const double ring = 2 * once + 2 * path.roundSeconds;
        const double upAndDown =
            2 * portableLog2(std::max(2.0, static_cast<double>(path.outerDomains))) * path.outerSeconds +
            2 * (path.roundSeconds - path.outerSeconds * (path.outerDomains - 1)) / std::max(1, path.outerDomains);
        const double treeLatency = std::max(upAndDown, 2 * path.outerSeconds);
        seconds = std::min(ring, 2 * once / kTreeBandwidth + treeLatency);
        // Small ones take a tree's time in any case: NCCL counts 25 us for a start of NVLink SHARP (src/graph/tuning.cc).
        if (const AllReduceRoute route = allReduceRoute(group, m_cluster); route.inNetwork && rate > 0)
            seconds = std::min(seconds, bytes * route.sentShare / (rate * m_cluster.efficiency.inNetwork) + treeLatency);
        break;
    }
    case CollectiveKind::allToAll: {
        const AllToAll all = allToAll(group, m_cluster, bytes, m_tokenChoice);
        seconds = all.seconds();
        startUs = all.isOneKernel ? m_cluster.efficiency.kernelUs : startUs;
        break;
    }
    case CollectiveKind::ringShift: { // every member sends to the next: the widest hop decides, and each sends over its own port
        const auto tier = static_cast<std::size_t>(group.spanningTier());
        seconds = bytes / (bytesPerSecondAmong(m_cluster, tier, group.hops) * linkShare(m_cluster, tier, 2)) +
                  m_cluster.tiers[tier].latencyUs * 1e-6;
        break;
    }
    }
    return durationNs(seconds + startUs * 1e-6, text);
}

std::int64_t CostModel::sendNs(std::int64_t bytes, int tier) const
{
    const auto text = [&] { return transferText("a message", static_cast<double>(bytes), 2); };
    if (const MeasuredTime* measured = measuredTransfer(kSendCurve, tier))
        return durationNs(measured->seconds(static_cast<double>(std::max<std::int64_t>(1, bytes)), 2), text);
    const auto crossed = static_cast<std::size_t>(tier);
    const double rate = bytesPerSecondOf(m_cluster, crossed) * linkShare(m_cluster, crossed, 2);
    return durationNs(static_cast<double>(bytes) / rate + m_cluster.tiers[crossed].latencyUs * 1e-6, text);
}

PortUse CostModel::collectiveUse(const OpShape& shape, const GroupShape& group, std::int64_t ns) const
{
    if (group.size <= 1 || measuredTransfer(static_cast<std::size_t>(shape.collective), group.spanningTier()) != nullptr)
        return {};
    const double bytes = static_cast<double>(shape.bytes);
    std::array<double, kPortCount> busySeconds{};
    switch (shape.collective) {
    case CollectiveKind::allGather:
    case CollectiveKind::reduceScatter:
    case CollectiveKind::allReduce: {
        const double n = group.size;
        const bool isAllReduce = shape.collective == CollectiveKind::allReduce;
        const double share = isAllReduce ? allReduceRoute(group, m_cluster).sentShare : (n - 1) / n;
        busySeconds = ringPath(group, m_cluster).portSecondsPerByte;
        for (double& seconds : busySeconds)
            seconds *= share * bytes;
        break;
    }
    case CollectiveKind::allToAll:
        busySeconds = allToAll(group, m_cluster, bytes, m_tokenChoice).portSeconds;
        break;
    case CollectiveKind::ringShift:
        occupy(busySeconds, m_cluster, static_cast<std::size_t>(group.spanningTier()), bytes, Passing::same, group.hops);
        break;
    }
    // A card is busy with all that its ranks send: what each takes of it sums up to that, or more where senders are rounded.
    busySeconds[static_cast<std::size_t>(Port::network)] /= group.senders;
    return sharesOf(busySeconds, ns);
}

PortUse CostModel::sendUse(std::int64_t bytes, int tier, std::int64_t ns) const
{
    if (measuredTransfer(kSendCurve, tier) != nullptr)
        return {};
    std::array<double, kPortCount> busySeconds{};
    occupy(busySeconds, m_cluster, static_cast<std::size_t>(tier), static_cast<double>(bytes), Passing::same);
    return sharesOf(busySeconds, ns);
}

} // namespace sim
