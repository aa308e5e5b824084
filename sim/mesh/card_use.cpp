#include "sim/mesh/card_use.h"

#include <algorithm>

namespace sim {

CardUse::CardUse(const Cluster& cluster, const Placement& placement) : m_cluster(&cluster), m_placement(&placement) {}

int CardUse::domainOf(int rank) const
{
    const int span = m_cluster->tiers[m_cluster->networkTier() - 1].span;
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

/// Where another domain's cards hold the group up, a card of this one is not busy all the time.
int CardUse::senders(const GroupShape& shape, int stage, const std::vector<int>& ranks, int rank) const
{
    if (shape.cards.empty())
        return 1;
    double cards = 0; // that the group has here
    for (const int other : ranks)
        cards += domainOf(other) == domainOf(rank) ? 1.0 / loadOf(stage, other).ranks : 0;
    constexpr double kRounding = 1 + 1e-9;
    return static_cast<int>(loadOf(stage, rank).ranks * cards / shape.cards[m_cluster->networkTier() - 1] * kRounding);
}

void CardUse::describe(GroupShape& shape, int stage, const std::vector<int>& ranks) const
{
    if (!leaves(ranks))
        return;
    for (const Tier& tier : m_cluster->tiers) {
        std::map<int, double> cardsOf; // by domain
        for (const int rank : ranks)
            cardsOf[tier.span > 0 ? m_placement->gpu(rank) / tier.span : 0] += 1.0 / loadOf(stage, rank).ranks;
        shape.cards.push_back(std::min_element(cardsOf.begin(), cardsOf.end(), [](const auto& a, const auto& b) {
                                  return a.second < b.second;
                              })->second);
    }
    for (std::size_t i = 0; i < ranks.size(); ++i)
        if (hops(ranks, i))
            shape.hops = std::max(shape.hops, loadOf(stage, ranks[i]).hops);
}

} // namespace sim
