#include "sim/analysis/traffic.h"

#include "sim/analysis/traffic_flows.h"

#include "sim/cancel.h"

#include <algorithm>
#include <numeric>

namespace sim {
namespace {

std::size_t at(int index)
{
    return static_cast<std::size_t>(index);
}

} // namespace

const char* trafficPurposeName(TrafficPurpose purpose)
{
    constexpr std::array<const char*, kTrafficPurposeCount> kNames{"tp", "cp", "ep", "pp", "dp"};
    return kNames[static_cast<std::size_t>(purpose)];
}

TrafficPurpose trafficPurposeOf(GroupRole role)
{
    switch (role) {
    case GroupRole::tp:
        return TrafficPurpose::tp;
    case GroupRole::cp:
        return TrafficPurpose::cp;
    case GroupRole::ep:
    case GroupRole::exptTp:
        return TrafficPurpose::ep;
    case GroupRole::pp:
        return TrafficPurpose::pp;
    default:
        return TrafficPurpose::dp;
    }
}

double exposedShare(const ExposedCommunication& exposed, TrafficPurpose purpose)
{
    const std::array<double, kTrafficPurposeCount> shares{exposed.tp, exposed.cp, exposed.ep, exposed.pp, exposed.dp};
    return shares[static_cast<std::size_t>(purpose)];
}

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

std::int64_t TrafficSums::bytes(int tier, TrafficPurpose purpose) const
{
    std::int64_t sum = 0;
    for (int role = 0; role < kGroupRoleCount; ++role)
        if (trafficPurposeOf(static_cast<GroupRole>(role)) == purpose)
            sum += m_bytes[at(tier)][at(role)];
    return sum;
}

std::int64_t TrafficSums::ofRole(GroupRole role) const
{
    std::int64_t sum = 0;
    for (const auto& tier : m_bytes)
        sum += tier[static_cast<std::size_t>(role)];
    return sum;
}

std::int64_t TrafficSums::ofPurpose(TrafficPurpose purpose) const
{
    std::int64_t sum = 0;
    for (int tier = 0; tier < tiers(); ++tier)
        sum += bytes(tier, purpose);
    return sum;
}

std::int64_t TrafficSums::ofTier(int tier) const
{
    const auto& roles = m_bytes[at(tier)];
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

TrafficSenders Traffic::senders(std::span<const int> ranks) const
{
    TrafficSenders senders{.ranks = ranks.empty() ? worldSize() : static_cast<int>(ranks.size()), .classes = {}};
    senders.classes.resize(at(m_flows->classes()), {.ranks = 0, .sent = TrafficSums(tiers())});
    std::vector<TrafficFlow> flows;
    CancelPoll poll;
    for (int i = 0; i < senders.ranks; ++i) {
        poll(flows.size() + 8);
        const int rank = ranks.empty() ? i : ranks[at(i)];
        flows.clear();
        appendSends(rank, flows);
        TrafficSenders::Class& ofClass = senders.classes[at(m_flows->classOf(rank))];
        ++ofClass.ranks;
        for (const TrafficFlow& flow : flows)
            ofClass.sent.add(flow.tier, flow.role, flow.bytes);
    }
    return senders;
}

TrafficMatrix Traffic::between(std::span<const int> partOf, int parts, std::span<const int> senders) const
{
    TrafficMatrix matrix{.parts = parts, .cells = {}};
    std::vector<std::vector<int>> ranksOf(at(parts));
    const int count = senders.empty() ? worldSize() : static_cast<int>(senders.size());
    for (int i = 0; i < count; ++i) {
        const int rank = senders.empty() ? i : senders[at(i)];
        if (const int part = partOf[at(rank)]; part >= 0)
            ranksOf[at(part)].push_back(rank);
    }
    std::vector<TrafficFlow> flows;
    std::vector<BytesByPurpose> row(at(parts));
    std::vector<int> filled;
    CancelPoll poll;
    for (int from = 0; from < parts; ++from) {
        flows.clear();
        for (const int rank : ranksOf[at(from)]) {
            const std::size_t before = flows.size();
            appendSends(rank, flows);
            poll(flows.size() - before + 8);
        }
        for (const TrafficFlow& flow : flows) {
            const int to = partOf[at(flow.peer)];
            if (to < 0)
                continue;
            if (row[at(to)] == BytesByPurpose{})
                filled.push_back(to);
            row[at(to)][static_cast<std::size_t>(trafficPurposeOf(flow.role))] += flow.bytes;
        }
        std::sort(filled.begin(), filled.end());
        for (const int to : filled) {
            matrix.cells.push_back({.from = from, .to = to, .bytes = row[at(to)]});
            row[at(to)] = {};
        }
        filled.clear();
    }
    return matrix;
}

} // namespace sim
