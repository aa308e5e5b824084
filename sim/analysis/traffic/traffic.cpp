#include "sim/analysis/traffic/traffic.h"

#include "sim/analysis/traffic/traffic_flows.h"
#include "sim/index.h"

#include "sim/cancel.h"

#include <algorithm>
#include <numeric>

namespace sim {
// Sums ------------------------------------------------------------------------------------------------------------------------

TrafficSums& TrafficSums::operator+=(const TrafficSums& other)
{
    if (m_bytes.size() < other.m_bytes.size())
        m_bytes.resize(other.m_bytes.size());
    for (std::size_t tier = 0; tier < other.m_bytes.size(); ++tier)
        for (std::size_t role = 0; role < other.m_bytes[tier].size(); ++role)
            m_bytes[tier][role] += other.m_bytes[tier][role];
    return *this;
}

BytesByDimension TrafficSums::byDimension(int tier) const
{
    BytesByDimension bytes;
    for (int role = 0; role < kCommunicatorRoleCount; ++role)
        bytes[dimensionOf(static_cast<CommunicatorRole>(role))] += m_bytes[asIndex(tier)][asIndex(role)];
    return bytes;
}

BytesByDimension TrafficSums::byDimension() const
{
    BytesByDimension sum;
    for (int role = 0; role < kCommunicatorRoleCount; ++role)
        sum[dimensionOf(static_cast<CommunicatorRole>(role))] += ofRole(static_cast<CommunicatorRole>(role));
    return sum;
}

std::int64_t TrafficSums::ofRole(CommunicatorRole role) const
{
    std::int64_t sum = 0;
    for (const auto& tier : m_bytes)
        sum += tier[asIndex(role)];
    return sum;
}

std::int64_t TrafficSums::ofTier(int tier) const
{
    const auto& roles = m_bytes[asIndex(tier)];
    return std::accumulate(roles.begin(), roles.end(), std::int64_t{0});
}

std::int64_t TrafficSums::total() const
{
    std::int64_t sum = 0;
    for (int tier = 0; tier < tiers(); ++tier)
        sum += ofTier(tier);
    return sum;
}

TrafficSums TrafficSenders::total() const
{
    TrafficSums sum;
    for (const Class& one : classes)
        sum += one.sent;
    return sum;
}

// Flows -----------------------------------------------------------------------------------------------------------------------

Traffic::Traffic(const Simulation& simulation)
    : Traffic(simulation.scenario(), simulation.mesh(), simulation.placement(), simulation.program(), simulation.classes())
{
}

Traffic::Traffic(const Scenario& scenario, const Mesh& mesh, const Placement& placement, const Program& program,
                 const RankClasses& classes)
    : m_flows(std::make_shared<const TrafficFlows>(scenario, mesh, placement, program, classes))
{
}

int Traffic::worldSize() const
{
    return m_flows->worldSize();
}

int Traffic::tiers() const
{
    return m_flows->tiers();
}

void Traffic::appendSends(int rank, std::vector<TrafficFlow>& flows) const
{
    m_flows->append(rank, TrafficFlows::Direction::sends, flows);
}

void Traffic::appendReceives(int rank, std::vector<TrafficFlow>& flows) const
{
    m_flows->append(rank, TrafficFlows::Direction::receives, flows);
}

// Aggregates ------------------------------------------------------------------------------------------------------------------

TrafficSums Traffic::sentBy(int rank) const
{
    std::vector<TrafficFlow> flows;
    appendSends(rank, flows);
    TrafficSums sums(tiers());
    for (const TrafficFlow& flow : flows)
        sums.add(flow.tier, flow.role, flow.bytes);
    return sums;
}

SendingGpus Traffic::gpusOf(std::span<const int> ranks) const
{
    std::vector<int> cards(ranks.empty() ? asIndex(worldSize()) : ranks.size());
    for (std::size_t i = 0; i < cards.size(); ++i)
        cards[i] = m_flows->nicOf(ranks.empty() ? static_cast<int>(i) : ranks[i]);
    std::sort(cards.begin(), cards.end());
    const auto last = std::unique(cards.begin(), cards.end());
    return {.gpus = static_cast<int>(cards.size()), .cards = static_cast<int>(last - cards.begin())};
}

TrafficSenders Traffic::senders(std::span<const int> ranks) const
{
    const SendingGpus gpus = gpusOf(ranks);
    TrafficSenders senders{.ranks = gpus.gpus, .cards = gpus.cards, .classes = {}};
    senders.classes.resize(asIndex(m_flows->classes()), {.ranks = 0, .sent = TrafficSums(tiers())});
    std::vector<TrafficFlow> flows;
    CancelPoll poll;
    for (int i = 0; i < senders.ranks; ++i) {
        poll(flows.size() + 8);
        const int rank = ranks.empty() ? i : ranks[asIndex(i)];
        flows.clear();
        appendSends(rank, flows);
        TrafficSenders::Class& ofClass = senders.classes[asIndex(m_flows->classOf(rank))];
        ++ofClass.ranks;
        for (const TrafficFlow& flow : flows)
            ofClass.sent.add(flow.tier, flow.role, flow.bytes);
    }
    return senders;
}

TrafficMatrix Traffic::between(std::span<const int> partOf, int parts, std::span<const int> senders) const
{
    TrafficMatrix matrix{.parts = parts, .cells = {}};
    std::vector<std::vector<int>> ranksOf(asIndex(parts));
    const int count = senders.empty() ? worldSize() : static_cast<int>(senders.size());
    for (int i = 0; i < count; ++i) {
        const int rank = senders.empty() ? i : senders[asIndex(i)];
        if (const int part = partOf[asIndex(rank)]; part >= 0)
            ranksOf[asIndex(part)].push_back(rank);
    }
    std::vector<TrafficFlow> flows;
    std::vector<BytesByDimension> row(asIndex(parts));
    std::vector<int> filled;
    CancelPoll poll;
    for (int from = 0; from < parts; ++from) {
        flows.clear();
        for (const int rank : ranksOf[asIndex(from)]) {
            const std::size_t before = flows.size();
            appendSends(rank, flows);
            poll(flows.size() - before + 8);
        }
        for (const TrafficFlow& flow : flows) {
            const int to = partOf[asIndex(flow.peer)];
            if (to < 0)
                continue;
            if (row[asIndex(to)] == BytesByDimension{})
                filled.push_back(to);
            row[asIndex(to)][dimensionOf(flow.role)] += flow.bytes;
        }
        std::sort(filled.begin(), filled.end());
        for (const int to : filled) {
            matrix.cells.push_back({.from = from, .to = to, .bytes = row[asIndex(to)]});
            row[asIndex(to)] = {};
        }
        filled.clear();
    }
    return matrix;
}

} // namespace sim
