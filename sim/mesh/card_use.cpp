#include "sim/mesh/card_use.h"

#include <algorithm>

namespace sim {

CardUse::CardUse(const Cluster& cluster, const Placement& placement) : m_cluster(&cluster), m_placement(&placement) {}

int CardUse::domainOf(int rank) const
{
    return domainOf(rank, m_cluster->tiers[m_cluster->networkTier() - 1].span);
}

int CardUse::domainOf(int rank, int span) const
{
    return span > 0 ? m_placement->gpu(rank) / span : 0;
}

bool CardUse::leaves(const std::vector<int>& ranks) const
{
    return gpusPerNic(*m_cluster) > 1 &&
           std::any_of(ranks.begin(), ranks.end(), [&](int rank) { return domainOf(rank) != domainOf(ranks.front()); });
}

bool CardUse::hops(const std::vector<int>& ranks, std::size_t place) const
{
    return domainOf(ranks[place]) != domainOf(ranks[(place + 1) % ranks.size()]);
}

void CardUse::add(int stage, const std::vector<int>& ranks)
{
    if (!leaves(ranks))
        return;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        Load& load = m_loads[meetingAt(stage, ranks[i])];
        ++load.ranks;
        load.hops += hops(ranks, i) ? 1 : 0;
    }
}

std::map<int, double> CardUse::cardsByDomain(int span, int stage, const std::vector<int>& ranks) const
{
    std::map<int, double> cards;
    for (const int rank : ranks)
        cards[domainOf(rank, span)] += 1.0 / loadOf(stage, rank).ranks;
    return cards;
}

/// Where another domain's cards hold the group up, a card of this one is not busy all the time.
std::vector<int> CardUse::senders(const GroupShape& shape, int stage, const std::vector<int>& ranks) const
{
    if (shape.cards.empty())
        return std::vector<int>(ranks.size(), 1);
    const std::size_t tier = m_cluster->networkTier() - 1;
    const std::map<int, double> cards = cardsByDomain(m_cluster->tiers[tier].span, stage, ranks);
    constexpr double kRounding = 1 + 1e-9;
    std::vector<int> senders;
    senders.reserve(ranks.size());
    for (const int rank : ranks)
        senders.push_back(static_cast<int>(loadOf(stage, rank).ranks * cards.at(domainOf(rank)) / shape.cards[tier] * kRounding));
    return senders;
}

void CardUse::describe(GroupShape& shape, int stage, const std::vector<int>& ranks) const
{
    if (!leaves(ranks))
        return;
    for (const Tier& tier : m_cluster->tiers) {
        const std::map<int, double> cards = cardsByDomain(tier.span, stage, ranks);
        shape.cards.push_back(std::min_element(cards.begin(), cards.end(), [](const auto& a, const auto& b) {
                                  return a.second < b.second;
                              })->second);
    }
    for (std::size_t i = 0; i < ranks.size(); ++i)
        if (hops(ranks, i))
            shape.hops = std::max(shape.hops, loadOf(stage, ranks[i]).hops);
}

} // namespace sim
