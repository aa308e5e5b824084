#include "sim/mesh/placement.h"

#include "sim/error.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <map>
#include <numeric>
#include <string>

namespace sim {

namespace {

void checkExplicit(const std::vector<int>& gpuOfRank, int worldSize, int gpus)
{
    if (gpuOfRank.size() != static_cast<std::size_t>(worldSize))
        throw Error("the placement lists " + std::to_string(gpuOfRank.size()) + " GPUs for " + std::to_string(worldSize) +
                    " ranks; it needs one a rank");
    // In proportion to the ranks: a cluster may have a thousand times as many GPUs.
    for (int rank = 0; rank < worldSize; ++rank) {
        const int gpu = gpuOfRank[static_cast<std::size_t>(rank)];
        if (gpu < 0 || gpu >= gpus)
            throw Error("the placement puts rank " + std::to_string(rank) + " on GPU " + std::to_string(gpu) +
                        "; the cluster has GPUs 0 to " + std::to_string(gpus - 1));
    }
    std::vector<int> ranks(gpuOfRank.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    const auto gpuOf = [&](int rank) { return gpuOfRank[static_cast<std::size_t>(rank)]; };
    std::stable_sort(ranks.begin(), ranks.end(), [&](int a, int b) { return gpuOf(a) < gpuOf(b); });
    const auto twice = std::adjacent_find(ranks.begin(), ranks.end(), [&](int a, int b) { return gpuOf(a) == gpuOf(b); });
    if (twice != ranks.end())
        throw Error("the placement puts rank " + std::to_string(*twice) + " and rank " + std::to_string(*std::next(twice)) +
                    " on GPU " + std::to_string(gpuOf(*twice)));
}

} // namespace

int gpusPerNic(const Cluster& cluster)
{
    if (cluster.tiers.empty())
        return 1;
    const std::size_t tier = cluster.networkTier();
    return cluster.isInsideNode(tier) ? 1 : std::clamp(cluster.tiers[tier].gpusPerNic, 1, std::max(1, cluster.gpusPerNode));
}

int nicOf(const Cluster& cluster, int gpu)
{
    const int sharers = gpusPerNic(cluster), cardsOfNode = (cluster.gpusPerNode + sharers - 1) / sharers;
    return gpu / cluster.gpusPerNode * cardsOfNode + gpu % cluster.gpusPerNode / sharers;
}

double bandwidthGBs(const Cluster& cluster, std::size_t tier, SendingGpus of)
{
    const double own = cluster.tiers[tier].bandwidthGBs * of.gpus;
    return gpusPerNic(cluster) == 1 || cluster.isInsideNode(tier)
               ? own
               : std::min(own, cluster.tiers[cluster.networkTier()].bandwidthGBs * of.cards);
}

std::string ToldBandwidth::of() const
{
    return gpus > 1 ? "a card of " + std::to_string(gpus) + " GPUs" : "a GPU";
}

ToldBandwidth toldBandwidth(const Cluster& cluster, std::size_t tier)
{
    const int sharers = gpusPerNic(cluster);
    const double ofCard = bandwidthGBs(cluster, tier, {.gpus = sharers, .cards = 1});
    const bool isOfCards = tier == cluster.networkTier() && sharers > 1;
    return isOfCards ? ToldBandwidth{.gbs = ofCard, .gpus = sharers} : ToldBandwidth{.gbs = ofCard / sharers};
}

int mostRanksOfNode(const Layout& layout, const Cluster& cluster)
{
    const int world = std::max(1, layout.worldSize()), gpusPerNode = std::max(1, cluster.gpusPerNode);
    switch (layout.placement) {
    case PlacementRule::packed:
        break;
    case PlacementRule::roundRobin: {
        const int nodes = std::max(1, cluster.nodes);
        return world / nodes + (world % nodes > 0 ? 1 : 0);
    }
    case PlacementRule::explicitList: {
        std::map<int, int> ranksOf;
        int most = 1;
        for (const int gpu : layout.explicitPlacement)
            most = std::max(most, ++ranksOf[gpu / gpusPerNode]);
        return most;
    }
    }
    return std::min(world, gpusPerNode);
}

int GroupShape::spanningTier() const
{
    return static_cast<int>(std::find(domains.begin(), domains.end(), 1) - domains.begin());
}

Placement::Placement(const Layout& layout, const Cluster& cluster)
    : m_rule(layout.placement), m_gpusPerNode(cluster.gpusPerNode), m_nodes(cluster.nodes), m_worldSize(layout.worldSize())
{
    if (m_gpusPerNode < 1 || m_nodes < 1)
        throw Error("a cluster of " + std::to_string(m_nodes) + " nodes with " + std::to_string(m_gpusPerNode) +
                    " GPUs each has no GPU");
    if (m_worldSize > cluster.gpus())
        throw Error("the layout needs tp x cp x pp x dp = " + std::to_string(layout.tp) + " x " + std::to_string(layout.cp) +
                    " x " + std::to_string(layout.pp) + " x " + std::to_string(layout.dp) + " = " + std::to_string(m_worldSize) +
                    " GPUs; the cluster has " + std::to_string(m_nodes) + " nodes x " + std::to_string(m_gpusPerNode) + " = " +
                    std::to_string(cluster.gpus()));
    if (m_rule == PlacementRule::explicitList) {
        checkExplicit(layout.explicitPlacement, m_worldSize, cluster.gpus());
        m_explicit = layout.explicitPlacement;
    }
    for (const Tier& tier : cluster.tiers) {
        const bool joinsAll = tier.span == 0 || tier.span >= cluster.gpus();
        if (tier.span < 0)
            throw Error("tier " + quotedText(tier.name) + " spans " + std::to_string(tier.span) +
                        " GPUs; it must join at least 1");
        m_spans.push_back(joinsAll ? cluster.gpus() : tier.span);
    }
    if (m_spans.empty() || m_spans.back() < cluster.gpus())
        throw Error("no interconnect tier joins all " + std::to_string(cluster.gpus()) + " GPUs; let the last one span \"all\"");
}

int Placement::gpu(int rank) const
{
    assert(rank >= 0 && rank < m_worldSize);
    switch (m_rule) {
    case PlacementRule::packed:
        return rank;
    case PlacementRule::roundRobin:
        return rank % m_nodes * m_gpusPerNode + rank / m_nodes;
    case PlacementRule::explicitList:
        return m_explicit[static_cast<std::size_t>(rank)];
    }
    return rank;
}

int Placement::tierBetween(int rankA, int rankB) const
{
    const int gpuA = gpu(rankA);
    const int gpuB = gpu(rankB);
    const auto joins = [&](int span) { return gpuA / span == gpuB / span; };
    return static_cast<int>(std::find_if(m_spans.begin(), m_spans.end(), joins) - m_spans.begin());
}

GroupShape Placement::shape(const std::vector<int>& ranks) const
{
    std::vector<int> gpus(ranks.size());
    std::transform(ranks.begin(), ranks.end(), gpus.begin(), [&](int rank) { return gpu(rank); });
    if (!std::is_sorted(gpus.begin(), gpus.end()))
        std::sort(gpus.begin(), gpus.end());

    GroupShape shape;
    shape.size = static_cast<int>(ranks.size());
    shape.domains.reserve(m_spans.size());
    bool isUniform = true;
    for (const int span : m_spans) {
        // GPUs of one domain are neighbours now: walk from domain to domain.
        int domains = 0, fewest = shape.size, most = 0;
        for (auto begin = gpus.begin(); begin != gpus.end(); ++domains) {
            const int domainEnd = (*begin / span + 1) * span;
            const auto end = std::find_if(begin, gpus.end(), [&](int gpu) { return gpu >= domainEnd; });
            fewest = std::min(fewest, static_cast<int>(end - begin));
            most = std::max(most, static_cast<int>(end - begin));
            begin = end;
        }
        shape.domains.push_back(domains);
        shape.fewest.push_back(fewest);
        shape.most.push_back(most);
        isUniform = isUniform && fewest == most;
    }
    if (isUniform) {
        shape.fewest.clear();
        shape.most.clear();
    }
    return shape;
}

} // namespace sim
