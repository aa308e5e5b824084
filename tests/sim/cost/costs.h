// A cost model of eight H100s a node, and the groups and transfers that it prices.
#pragma once

#include "sim/cost/cost.h"
#include "tests/sim/cost/kernels.h"

#include <gtest/gtest.h>

namespace test {

inline sim::GroupShape insideNode(int size)
{
    return {.size = size, .domains = {1, 1}};
}
inline sim::GroupShape acrossNodes(int size, int nodes)
{
    return {.size = size, .domains = {nodes, 1}};
}
/// The same where so many ranks, all of which send, have each card together; of a ring so many members leave over one.
inline sim::GroupShape overCards(sim::GroupShape shape, int ranksOfCard, int hops)
{
    for (const int domains : shape.domains)
        shape.cards.push_back(static_cast<double>(shape.size) / domains / ranksOfCard);
    shape.hops = hops;
    shape.senders = ranksOfCard;
    return shape;
}
inline sim::OpShape collective(sim::CollectiveKind kind, std::int64_t bytes)
{
    return {.collective = kind, .bytes = bytes};
}

class Costs : public testing::Test {
protected:
    sim::Scenario scenario = plain();
    sim::CostModel cost{scenario};
    double nvlink = 450e9 * scenario.cluster.efficiency.network;
    double network = 50e9 * scenario.cluster.efficiency.network;
};

} // namespace test
