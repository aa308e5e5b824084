#include "app/views/compare/blended_trace.h"

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
        for (std::size_t span = 0; span < b.size(); ++span)
            if (match.ofB[span] != sim::MatchedActions::kNone)
                addPair(row, a, static_cast<std::size_t>(match.ofB[span]), b, span);
        const std::vector<Interval> taken = takenBy(row);
        for (std::size_t span = 0; m_presenceOfB > 0 && span < b.size(); ++span)
            if (match.ofB[span] == sim::MatchedActions::kNone)
                addLonely(row, taken, b, span, false);
        for (std::size_t span = 0; m_presenceOfA > 0 && span < a.size(); ++span)
            if (match.ofA[span] == sim::MatchedActions::kNone)
                addLonely(row, taken, a, span, true);
        sortByStart(row);
        m_out.trace.tracks.push_back(std::move(row));
    }

    BlendedTrace take() { return std::move(m_out); }

private:
    struct Interval {
        std::int64_t begin = 0, end = 0;
    };

    /// Of what both have, in order and without overlaps.
    static std::vector<Interval> takenBy(sim::Track& row)
    {
        sortByStart(row);
        std::vector<Interval> taken;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::int64_t end = row.startNs[i] + row.durationNs[i];
            if (!taken.empty() && row.startNs[i] <= taken.back().end)
                taken.back().end = std::max(taken.back().end, end);
            else
                taken.push_back({row.startNs[i], end});
        }
        return taken;
    }

    /// The longest part of an interval that nothing has taken.
    static Interval freePart(const std::vector<Interval>& taken, Interval whole)
    {
        Interval best{whole.begin, whole.begin};
        const auto consider = [&](std::int64_t begin, std::int64_t end) {
            if (end - begin > best.end - best.begin)
                best = {begin, end};
        };
        std::int64_t freeFrom = whole.begin;
        for (auto next = std::upper_bound(taken.begin(), taken.end(), whole.begin,
                                          [](std::int64_t time, const Interval&interval) { return time < interval.end; });
             next != taken.end() && next->begin < whole.end; ++next) {
            consider(freeFrom, next->begin);
            freeFrom = next->end;
        }
        consider(freeFrom, whole.end);
        return best;
    }

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

    void addLonely(sim::Track& row, const std::vector<Interval>& taken, const sim::Track& from, std::size_t span, bool ofA)
    {
        const Interval part = freePart(taken, {from.startNs[span], from.startNs[span] + from.durationNs[span]});
        if (part.end > part.begin)
            add(row, part.begin, part.end, kindOf(ofA, from.kind[span], true), from.microbatch[span]);
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
