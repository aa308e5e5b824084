#include "sim/analysis/traffic/link_load.h"

#include "sim/analysis/traffic/timed_transfers.h"
#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/index.h"

#include <algorithm>

namespace sim {
namespace {

/// Adds what is evenly spread over a time to bins, in O(1) a transfer: edges at once, the bins between them as a step that
/// `finish` sums up.
class Spread {
public:
    explicit Spread(const LoadWindow& window)
        : m_window(window), m_perNs(1.0 / window.binNs()), m_bytes(asIndex(window.bins)), m_steps(asIndex(window.bins) + 1)
    {
    }

    void add(std::int64_t beginNs, std::int64_t endNs, double bytes)
    {
        m_used = true;
        if (endNs <= beginNs) { // in no time: all of it in its bin
            if (beginNs >= m_window.beginNs && beginNs < m_window.endNs)
                m_bytes[asIndex(std::min(static_cast<int>(place(beginNs)), m_window.bins - 1))] += bytes;
            return;
        }
        const double from = place(std::max(beginNs, m_window.beginNs)), to = place(std::min(endNs, m_window.endNs));
        if (from >= to)
            return;
        const double perBin = bytes / (static_cast<double>(endNs - beginNs) * m_perNs);
        const int first = std::min(static_cast<int>(from), m_window.bins - 1);
        const int last = std::min(static_cast<int>(to), m_window.bins - 1);
        if (first == last) {
            m_bytes[asIndex(first)] += perBin * (to - from);
            return;
        }
        m_bytes[asIndex(first)] += perBin * (first + 1 - from);
        m_bytes[asIndex(last)] += perBin * (to - last);
        m_steps[asIndex(first) + 1] += perBin;
        m_steps[asIndex(last)] -= perBin;
    }

    std::vector<double> finish()
    {
        if (!m_used)
            return std::move(m_bytes);
        double level = 0;
        for (std::size_t bin = 0; bin < m_bytes.size(); ++bin) {
            level += m_steps[bin];
            m_bytes[bin] += std::max(level, 0.0);
        }
        return std::move(m_bytes);
    }

private:
    double place(std::int64_t ns) const { return static_cast<double>(ns - m_window.beginNs) * m_perNs; }

    LoadWindow m_window;
    double m_perNs;
    std::vector<double> m_bytes, m_steps;
    bool m_used = false;
};

/// Spreads of one tier, by purpose.
using PurposeSpreads = std::vector<Spread>;

/// Of each byte that one rank of a class sends for a role, how many the senders among them together put on each tier.
std::array<std::vector<double>, kCommunicatorRoleCount> tierWeights(const TrafficSenders::Class& senders)
{
    std::array<std::vector<double>, kCommunicatorRoleCount> weights;
    for (int role = 0; role < kCommunicatorRoleCount; ++role) {
        const std::int64_t ofAll = senders.sent.ofRole(static_cast<CommunicatorRole>(role));
        for (int tier = 0; ofAll > 0 && tier < senders.sent.tiers(); ++tier)
            weights[asIndex(role)].push_back(static_cast<double>(senders.sent.bytes(tier, static_cast<CommunicatorRole>(role))) *
                                             senders.ranks / static_cast<double>(ofAll));
    }
    return weights;
}

} // namespace

double LinkLoad::share(int tier, Dimension purpose, int bin) const
{
    const TierLoad& load = tiers[asIndex(tier)];
    const double possible = load.capacityBytesPerSecond * window.binNs() * 1e-9;
    return possible > 0 ? load.bytes[purpose][asIndex(bin)] / possible : 0;
}

double LinkLoad::share(int tier, int bin) const
{
    double sum = 0;
    for (const Dimension purpose : kDimensions)
        sum += share(tier, purpose, bin);
    return sum;
}

LinkLoad linkLoad(const Simulation& simulation, const TrafficSenders& senders, const LoadWindow& window)
{
    const Scenario& scenario = simulation.scenario();
    const RankClasses& classes = simulation.classes();
    if (window.bins < 1 || window.endNs <= window.beginNs)
        throw Error("a load over time needs a window with a length and at least one bin");
    const std::vector<Tier>& tiers = scenario.cluster.tiers;
    std::vector<PurposeSpreads> spreads(tiers.size(), PurposeSpreads(kDimensions.size(), Spread(window)));

    CancelPoll poll;
    for (int c = 0; c < classes.count(); ++c) {
        poll(32);
        const TrafficSenders::Class& ofClass = senders.classes[asIndex(c)];
        if (ofClass.sent.total() == 0)
            continue;
        const auto weights = tierWeights(ofClass);
        const auto add = [&](CommunicatorRole role, int sendTo, const TimedTransfer& transfer) {
            const auto bytes = static_cast<double>(transfer.bytes);
            if (sendTo >= 0) {
                const int tier = classes.peerOf(c, sendTo).tier;
                spreads[asIndex(tier)][asIndex(Dimension::pp)].add(transfer.beginNs, transfer.endNs, bytes * ofClass.ranks);
                return;
            }
            const std::vector<double>& onTiers = weights[asIndex(role)];
            for (std::size_t tier = 0; tier < onTiers.size(); ++tier)
                if (onTiers[tier] > 0)
                    spreads[tier][asIndex(dimensionOf(role))].add(transfer.beginNs, transfer.endNs, bytes * onTiers[tier]);
        };
        forEachTimedTransfer(simulation, c, window.beginNs, add);
    }

    LinkLoad load{.window = window, .tiers = std::vector<LinkLoad::TierLoad>(tiers.size())};
    for (std::size_t tier = 0; tier < tiers.size(); ++tier) {
        for (const Dimension purpose : kDimensions)
            load.tiers[tier].bytes[purpose] = spreads[tier][asIndex(purpose)].finish();
        load.tiers[tier].capacityBytesPerSecond = bandwidthGBs(scenario.cluster, tier, senders.gpus()) * 1e9;
    }
    return load;
}

} // namespace sim
