#include "app/views/traffic/traffic_motion.h"

#include "sim/index.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace app {
namespace {

using sim::asIndex;

double lengthOf(Point a, Point b)
{
    return std::hypot(static_cast<double>(b.x) - static_cast<double>(a.x), static_cast<double>(b.y) - static_cast<double>(a.y));
}

double lengthOf(const std::vector<Point>& curve)
{
    double length = 0;
    for (std::size_t i = 1; i < curve.size(); ++i)
        length += lengthOf(curve[i - 1], curve[i]);
    return length;
}

} // namespace

double TrafficMoment::TierNow::share() const
{
    double sum = 0;
    for (const double rate : bytesPerSecond)
        sum += rate;
    return capacityBytesPerSecond > 0 ? sum / capacityBytesPerSecond : 0;
}

TrafficMotion::TrafficMotion(const sim::Simulation& simulation, const sim::Traffic& traffic,
                             std::shared_ptr<const sim::TimedTransfers> transfers, std::span<const int> partOf,
                             std::span<const int> senders)
    : m_transfers(std::move(transfers))
{
    using RowKey = std::tuple<int, sim::CommunicatorRole, int>; // class, role, pipeline rank of messages
    std::map<RowKey, std::size_t> rows;
    for (std::size_t i = 0; i < m_transfers->rows().size(); ++i) {
        const sim::TimedTransfers::Row& row = m_transfers->rows()[i];
        rows.emplace(RowKey{row.rankClass, row.role, row.sendTo}, i);
    }
    std::map<std::tuple<int, int, sim::Dimension, std::size_t, int>, double> bytes; // from, to, purpose, row, tier
    std::vector<sim::TrafficFlow> flows;
    std::map<int, std::vector<int>> sendersOf; // [part]
    const auto add = [&](int rank) {
        flows.clear();
        traffic.appendSends(rank, flows);
        const int rankClass = simulation.classOf(rank), from = partOf[asIndex(rank)];
        sendersOf[from].push_back(rank);
        for (const sim::TrafficFlow& flow : flows) {
            const int sendTo = flow.role == sim::CommunicatorRole::pp ? simulation.mesh().coordinates(flow.peer).pp : -1;
            const auto row = rows.find({rankClass, flow.role, sendTo});
            const int to = partOf[asIndex(flow.peer)];
            if (row != rows.end() && from >= 0 && to >= 0)
                bytes[{from, to, sim::dimensionOf(flow.role), row->second, flow.tier}] += static_cast<double>(flow.bytes);
        }
    };
    if (senders.empty())
        for (int rank = 0; rank < traffic.worldSize(); ++rank)
            add(rank);
    else
        for (const int rank : senders)
            add(rank);
    const sim::Cluster& cluster = simulation.scenario().cluster;
    std::map<int, sim::SendingGpus> gpusOf; // [part]
    for (const auto& [part, ranks] : sendersOf)
        gpusOf.emplace(part, traffic.gpusOf(ranks));
    for (const auto& [key, sum] : bytes) {
        const auto& [from, to, purpose, row, tier] = key;
        m_links.push_back({from, to, row, tier, sum, sim::bandwidthGBs(cluster, asIndex(tier), gpusOf[from]) * 1e9});
        const sim::TimedTransfers::Row& of = m_transfers->rows()[row];
        std::int64_t largest = 0;
        for (const sim::TimedTransfer& transfer : of.transfers)
            largest = std::max(largest, transfer.bytes);
        m_mostBytes = std::max(m_mostBytes, sum * static_cast<double>(largest) / static_cast<double>(of.bytes));
    }
    const sim::SendingGpus all = traffic.gpusOf(senders);
    for (std::size_t tier = 0; tier < cluster.tiers.size(); ++tier)
        m_capacity.push_back(sim::bandwidthGBs(cluster, tier, all) * 1e9);
    m_moment.atNs = -1;
}

const TrafficMoment& TrafficMotion::at(std::int64_t ns, std::int64_t exposureNs)
{
    exposureNs = std::max<std::int64_t>(1, std::min(exposureNs, ns)); // before the step there was no time to send in
    if (m_moment.atNs == ns && m_moment.exposureNs == exposureNs)
        return m_moment;
    m_moment = {.atNs = ns, .exposureNs = exposureNs, .packets = {}, .flows = {}, .bytes = 0, .tiers = {}};
    for (const double capacity : m_capacity)
        m_moment.tiers.push_back({.capacityBytesPerSecond = capacity});

    const std::int64_t fromNs = ns - exposureNs;
    const double perSecond = 1e9 / static_cast<double>(exposureNs);
    const auto rows = m_transfers->rows();
    std::vector<const sim::TimedTransfer*> underWay;
    std::vector<std::size_t> first(rows.size() + 1, 0); // [row] in underWay
    std::vector<double> passed(rows.size(), 0);         // [row] of its bytes in the step, during the exposure
    for (std::size_t row = 0; row < rows.size(); ++row) {
        sim::TimedTransfers::appendUnderWay(rows[row], fromNs, ns, underWay);
        for (std::size_t i = first[row]; i < underWay.size(); ++i) {
            const double before = underWay[i]->beginNs >= fromNs ? 0 : underWay[i]->wayAt(fromNs);
            const double way = std::min(1.0, underWay[i]->wayAt(ns)) - before;
            passed[row] += way * static_cast<double>(underWay[i]->bytes) / static_cast<double>(rows[row].bytes);
        }
        underWay.erase(std::remove_if(underWay.begin() + static_cast<std::ptrdiff_t>(first[row]), underWay.end(),
                                      [ns](const sim::TimedTransfer* t) { return t->endNs <= ns; }),
                       underWay.end());
        first[row + 1] = underWay.size();
    }
    std::size_t firstOfFlow = 0; // its packets
    for (const Link& link : m_links) {
        const sim::TimedTransfers::Row& row = rows[link.row];
        const sim::Dimension purpose = sim::dimensionOf(row.role);
        const double bytesPassed = link.bytes * passed[link.row];
        if (bytesPassed <= 0 && first[link.row] == first[link.row + 1])
            continue;
        auto& flows = m_moment.flows;
        auto& packets = m_moment.packets;
        if (flows.empty() || flows.back().from != link.from || flows.back().to != link.to || flows.back().purpose != purpose) {
            flows.push_back({.from = link.from, .to = link.to, .purpose = purpose});
            firstOfFlow = packets.size();
        }
        flows.back().bytes += bytesPassed;
        flows.back().load += bytesPassed * perSecond / link.capacity;
        m_moment.tiers[asIndex(link.tier)].bytesPerSecond[purpose] += bytesPassed * perSecond;
        for (std::size_t i = first[link.row]; i < first[link.row + 1]; ++i) {
            const sim::TimedTransfer& transfer = *underWay[i];
            const auto ofTime = static_cast<double>(transfer.endNs - transfer.beginNs);
            const TrafficPacket packet{.from = link.from,
                                       .to = link.to,
                                       .purpose = purpose,
                                       .way = transfer.wayAt(ns),
                                       .bytes = link.bytes * static_cast<double>(transfer.bytes) / static_cast<double>(row.bytes),
                                       .microbatch = transfer.microbatch,
                                       .stretch = ofTime / std::max(1.0, ofTime - static_cast<double>(transfer.stretchedNs))};
            m_moment.bytes += packet.bytes;
            const auto alike =
                std::find_if(packets.begin() + static_cast<std::ptrdiff_t>(firstOfFlow), packets.end(),
                             [&](const TrafficPacket& p) { return p.way == packet.way && p.microbatch == packet.microbatch; });
            if (alike == packets.end()) {
                packets.push_back(packet);
            } else {
                alike->bytes += packet.bytes;
                alike->stretch = std::max(alike->stretch, packet.stretch);
            }
        }
    }
    return m_moment;
}

Point pointAlong(const std::vector<Point>& curve, double share)
{
    double rest = lengthOf(curve) * std::clamp(share, 0.0, 1.0);
    for (std::size_t i = 1; i < curve.size(); ++i) {
        const double length = lengthOf(curve[i - 1], curve[i]);
        if (rest <= length && length > 0) {
            const auto part = static_cast<float>(rest / length);
            return {curve[i - 1].x + (curve[i].x - curve[i - 1].x) * part, curve[i - 1].y + (curve[i].y - curve[i - 1].y) * part};
        }
        rest -= length;
    }
    return curve.back();
}

std::vector<Point> piece(const std::vector<Point>& curve, double from, double to)
{
    const double whole = lengthOf(curve);
    std::vector<Point> out{pointAlong(curve, from)};
    double gone = 0;
    for (std::size_t i = 1; i < curve.size(); ++i) {
        gone += lengthOf(curve[i - 1], curve[i]);
        if (gone > whole * from && gone < whole * to)
            out.push_back(curve[i]);
    }
    out.push_back(pointAlong(curve, to));
    return out;
}

} // namespace app
