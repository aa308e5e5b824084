#include "app/views/timeline/track_levels.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace app {
namespace {

constexpr std::size_t kSpansOfBin = 4;
constexpr int kCoarserShift = 2;
constexpr std::size_t kCoarser = 1 << kCoarserShift;
constexpr std::size_t kFewestBins = 256; ///< coarser is of no use: a screen has more columns

} // namespace

std::size_t TrackLevel::binAt(double timeNs) const
{
    const double bin = (timeNs - static_cast<double>(m_firstNs)) / static_cast<double>(binNs());
    return bin <= 0 ? 0 : std::min(static_cast<std::size_t>(std::lround(bin)), m_longest.size());
}

std::int64_t TrackLevel::longestStartingIn(std::size_t firstBin, std::size_t lastBin) const
{
    std::int64_t longest = 0;
    for (std::size_t i = firstBin; i < lastBin; ++i)
        longest = std::max(longest, m_longest[i]);
    return longest;
}

TrackLevel TrackLevel::coarser() const
{
    TrackLevel out;
    out.m_classes = m_classes;
    out.m_shift = m_shift + kCoarserShift;
    out.m_firstNs = m_firstNs >> out.m_shift << out.m_shift;
    // Bins of the finer level that lie before its first.
    const auto missing = static_cast<std::size_t>((m_firstNs - out.m_firstNs) >> m_shift);
    const std::size_t bins = m_longest.size();
    out.m_longest.assign((bins + missing + kCoarser - 1) / kCoarser, 0);
    for (std::size_t i = 0; i < bins; ++i) {
        std::int64_t& longest = out.m_longest[(i + missing) / kCoarser];
        longest = std::max(longest, m_longest[i]);
    }
    out.m_busy.reserve((out.m_longest.size() + 1) * m_classes);
    for (std::size_t i = 0; i <= out.m_longest.size(); ++i) {
        const std::size_t start = i * kCoarser;
        const std::int64_t* row = busyUntil(std::clamp(start, missing, missing + bins) - missing);
        out.m_busy.insert(out.m_busy.end(), row, row + m_classes);
    }
    return out;
}

TrackLevels::TrackLevels(const sim::Track& track, const sim::BusyMipmap& exact)
{
    if (track.size() == 0)
        return;
    std::int64_t endNs = track.startNs.front();
    for (std::size_t i = 0; i < track.size(); ++i) {
        m_overlaps = m_overlaps || track.startNs[i] < endNs;
        endNs = std::max(endNs, track.startNs[i] + track.durationNs[i]);
        if (track.durationNs[i] == 0)
            m_instants.push_back(static_cast<std::uint32_t>(i));
    }
    const sim::BusyByClass all = exact.busyNs(track.startNs.front(), endNs);
    for (std::size_t c = 0; c < all.size(); ++c)
        if (all[c] > 0)
            m_classes.push_back(c);
    m_levels.push_back(finest(track, exact, endNs));
    while (m_levels.back().m_longest.size() >= kFewestBins * kCoarser)
        m_levels.push_back(m_levels.back().coarser());
}

TrackLevel TrackLevels::finest(const sim::Track& track, const sim::BusyMipmap& exact, std::int64_t endNs) const
{
    TrackLevel level;
    level.m_classes = m_classes.size();
    const auto limit = static_cast<std::int64_t>(track.size() / kSpansOfBin + 1);
    while ((endNs >> level.m_shift) - (track.startNs.front() >> level.m_shift) >= limit)
        ++level.m_shift;
    const int shift = level.m_shift;
    level.m_firstNs = track.startNs.front() >> shift << shift;
    level.m_longest.assign(static_cast<std::size_t>((endNs - level.m_firstNs) >> shift) + 1, 0);
    for (std::size_t i = 0; i < track.size(); ++i) {
        std::int64_t& longest = level.m_longest[static_cast<std::size_t>((track.startNs[i] - level.m_firstNs) >> shift)];
        longest = std::max(longest, track.durationNs[i]);
    }

    const std::size_t bins = level.m_longest.size();
    level.m_busy.reserve((bins + 1) * m_classes.size());
    sim::BusyByClass sum{};
    constexpr std::size_t kAtOnce = 1024;
    std::array<std::int64_t, kAtOnce + 1> edges{};
    std::array<sim::BusyByClass, kAtOnce> busy{};
    for (std::size_t first = 0; first < bins; first += kAtOnce) {
        const std::size_t count = std::min(kAtOnce, bins - first);
        for (std::size_t i = 0; i <= count; ++i)
            edges[i] = level.m_firstNs + (static_cast<std::int64_t>(first + i) << shift);
        exact.columns(std::span(edges).first(count + 1), std::span(busy).first(count));
        for (std::size_t i = 0; i < count; ++i)
            for (const std::size_t c : m_classes) {
                level.m_busy.push_back(sum[c]);
                sum[c] += busy[i][c];
            }
    }
    for (const std::size_t c : m_classes)
        level.m_busy.push_back(sum[c]);
    return level;
}

const TrackLevel* TrackLevels::levelFor(double ns, double bins) const
{
    const TrackLevel* best = nullptr;
    for (const TrackLevel& level : m_levels)
        if (ns >= bins * static_cast<double>(level.binNs()))
            best = &level;
    return best;
}

} // namespace app
