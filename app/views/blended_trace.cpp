#include "app/views/blended_trace.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace app {
namespace {

class Blender {
public:
    Blender(const sim::Trace& a, const sim::Trace& b, double share)
        : m_a(a), m_b(b), m_share(share), m_presenceOfA(std::max(0.0, 1 - 2 * share)), m_presenceOfB(std::max(0.0, 2 * share - 1))
    {
        m_out.trace.title = b.title;
        m_out.trace.slices = b.slices;
        m_out.trace.endNs = between(static_cast<double>(a.endNs), static_cast<double>(b.endNs));
    }

    void addRow(const sim::MatchedActions::Row& match)
    {
        const sim::Track &a = m_a.tracks[match.trackA], &b = m_b.tracks[match.trackB];
        sim::Track row{.process = static_cast<int>(m_out.trace.processes.size()), .name = b.name, .role = b.role};
        m_out.trace.processes.push_back(m_b.processes[static_cast<std::size_t>(b.process)]);
        for (std::size_t span = 0; span < b.size(); ++span) {
            const std::int32_t partner = match.ofB[span];
            if (partner == sim::MatchedActions::kNone)
                addLonely(row, b, span, false);
            else
                addPair(row, a, static_cast<std::size_t>(partner), b, span);
        }
        for (std::size_t span = 0; span < a.size(); ++span)
            if (match.ofA[span] == sim::MatchedActions::kNone)
                addLonely(row, a, span, true);
        sortByStart(row);
        m_out.trace.tracks.push_back(std::move(row));
    }

    BlendedTrace take() { return std::move(m_out); }

private:
    std::int64_t between(double a, double b) const { return std::llround(a + (b - a) * m_share); }

    /// A kind of either trace in the blended one, told apart by whether both have the action.
    std::uint32_t kindOf(bool ofA, std::uint32_t kind, bool lonely)
    {
        const auto [place, isNew] =
            m_kinds.try_emplace({ofA, lonely, kind}, static_cast<std::uint32_t>(m_out.trace.kinds.size()));
        if (isNew) {
            m_out.trace.kinds.push_back((ofA ? m_a : m_b).kinds[kind]);
            m_out.opacityOfKind.push_back(lonely ? static_cast<float>(ofA ? m_presenceOfA : m_presenceOfB) : 1.0F);
        }
        return place->second;
    }

    static void add(sim::Track& row, std::int64_t startNs, std::int64_t endNs, std::uint32_t kind, std::int32_t microbatch)
    {
        row.startNs.push_back(startNs);
        row.durationNs.push_back(endNs - startNs);
        row.kind.push_back(kind);
        row.microbatch.push_back(microbatch);
    }

    void addPair(sim::Track& row, const sim::Track& a, std::size_t inA, const sim::Track& b, std::size_t inB)
    {
        const bool nearerToA = m_share < 0.5;
        const auto end = [](const sim::Track& track, std::size_t i) {
            return static_cast<double>(track.startNs[i] + track.durationNs[i]);
        };
        add(row, between(static_cast<double>(a.startNs[inA]), static_cast<double>(b.startNs[inB])),
            between(end(a, inA), end(b, inB)), kindOf(nearerToA, nearerToA ? a.kind[inA] : b.kind[inB], false),
            b.microbatch[inB]);
    }

    void addLonely(sim::Track& row, const sim::Track& from, std::size_t span, bool ofA)
    {
        const double presence = ofA ? m_presenceOfA : m_presenceOfB;
        if (presence <= 0)
            return;
        const auto length = static_cast<double>(from.durationNs[span]) * presence;
        const double middle = static_cast<double>(from.startNs[span]) + static_cast<double>(from.durationNs[span]) / 2;
        add(row, std::llround(middle - length / 2), std::llround(middle + length / 2), kindOf(ofA, from.kind[span], true),
            from.microbatch[span]);
    }

    static void sortByStart(sim::Track& row)
    {
        std::vector<std::size_t> order(row.size());
        std::iota(order.begin(), order.end(), 0U);
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t x, std::size_t y) { return row.startNs[x] < row.startNs[y]; });
        const sim::Track before = row;
        for (std::size_t i = 0; i < order.size(); ++i) {
            row.startNs[i] = before.startNs[order[i]];
            row.durationNs[i] = before.durationNs[order[i]];
            row.kind[i] = before.kind[order[i]];
            row.microbatch[i] = before.microbatch[order[i]];
        }
    }

    const sim::Trace &m_a, &m_b;
    double m_share;
    double m_presenceOfA, m_presenceOfB; ///< of what only one of them has
    BlendedTrace m_out;
    std::map<std::tuple<bool, bool, std::uint32_t>, std::uint32_t> m_kinds;
};

} // namespace

BlendedTrace blend(const sim::Trace& a, const sim::Trace& b, const sim::MatchedActions& matched, double share)
{
    Blender blender(a, b, std::clamp(share, 0.0, 1.0));
    for (const sim::MatchedActions::Row& row : matched.rows)
        blender.addRow(row);
    return blender.take();
}

} // namespace app
