#include "app/views/timeline/lane_reading.h"

#include "app/views/timeline/column_mix.h"
#include "app/views/timeline/narrow_spans.h"
#include "app/views/timeline/timeline_steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace app {
namespace {

constexpr double kWaitPitch = 8.0;          ///< pixels a wait inside an action, below which they are not shown one by one
constexpr float kQuantum = 0.5F;            ///< pixels of height within which neighbouring columns are one rectangle
constexpr double kSameTop = 0.65;           ///< quanta that a top strays from the column before without being another
constexpr double kHalf = 0.5;               ///< rounds what is not negative, inline where std::lround is a call
constexpr double kSpansOfCoarseColumn = 6;  ///< spans a pixel from which coarse levels are read instead of the spans
constexpr double kBinsOfCoarseColumn = 1.5; ///< the edges of a column are then moved by a third of a pixel at most

constexpr auto kWaitFirst = static_cast<std::size_t>(sim::OpClass::tpComm);
constexpr auto kWaitEnd = static_cast<std::size_t>(sim::OpClass::hostTransfer) + 1;
constexpr std::size_t kWaits = kWaitEnd - kWaitFirst;
constexpr double kSeenShare = 0.02; ///< of an action's time, from which its waits are seen however thin they are
constexpr double kNoRun = std::numeric_limits<double>::infinity();

class LaneReader {
public:
    LaneReader(const TimelineScene& scene, const LaneLook& look, std::uint32_t track, Rect lane, LaneReading& out)
        : m_out(out), m_scene(scene), m_axis(scene.axis()), m_columnWidth(1 / scene.surroundings.magnification),
          m_nsPerPixel(m_axis.nsPerPixel() * static_cast<double>(m_columnWidth)), m_pixelsPerNs(1 / m_nsPerPixel),
          m_trackIndex(track), m_track(scene.model().trace().tracks[track]), m_colors(look.colors), m_litSpans(look.lit),
          m_levels(scene.model().levels(track)), m_classOfKind(scene.model().classOfKind()), m_narrow(m_track, m_pixelsPerNs),
          m_lane(lane)
    {
        m_out.columns.assign(static_cast<std::size_t>(std::ceil(lane.width() / m_columnWidth)), LaneColumn::single);
        m_out.columnsPerPixel = 1 / static_cast<double>(m_columnWidth);
        m_busyNs.assign(m_out.columns.size() * m_levels.classes().size(), 0);
        for (std::size_t i = 0; i < m_levels.classes().size(); ++i)
            m_slotOfClass[m_levels.classes()[i]] = i;
    }

    void read()
    {
        const auto& starts = m_track.startNs;
        const auto first = static_cast<std::size_t>(
            std::upper_bound(starts.begin(), starts.end(), static_cast<std::int64_t>(std::floor(m_axis.beginNs))) -
            starts.begin());
        const auto inSight = static_cast<std::size_t>(
            std::lower_bound(starts.begin(), starts.end(), static_cast<std::int64_t>(std::ceil(m_axis.endNs))) - starts.begin());
        const std::size_t last = m_scene.steps ? std::min(inSight, m_scene.steps->revealed(m_trackIndex)) : inSight;
        const std::size_t begin = std::min(first > 0 ? first - 1 : 0, last);
        const bool many = !m_scene.steps &&
                          static_cast<double>(last - begin) > kSpansOfCoarseColumn * static_cast<double>(m_out.columns.size());
        if (const TrackLevel* level = many ? m_levels.levelFor(m_nsPerPixel, kBinsOfCoarseColumn) : nullptr)
            readLevel(*level);
        else
            readSpans(begin, last);
        if (!m_scene.model().isSimulated(m_scene.model().rowOf(m_trackIndex)))
            readTicks(begin, last);
        if (m_litSpans != nullptr)
            findLitColumns(begin, last);
        const ExposedWaits* waits = m_scene.steps ? nullptr : m_scene.model().exposed(m_scene.model().rowOf(m_trackIndex));
        if (waits != nullptr) {
            readWaits(*waits);
            m_out.between = stackWaits(sharesOf(m_waitsBetween), m_lane);
            stackInside(*waits);
        }
        findLabelWidths();
        stackDense();
    }

private:
    double pixel(std::int64_t ns) const { return (static_cast<double>(ns) - m_axis.beginNs) * m_pixelsPerNs; }

    /// Every span in sight: wide ones are kept, narrow ones add to their pixel columns.
    void readSpans(std::size_t begin, std::size_t end)
    {
        for (std::size_t i = begin; i < end; ++i)
            readSpan(i);
        endRun();
        if (m_levels.overlaps() && !m_scene.steps) // what lies on what, the mipmap knows
            readMipmap();
    }

    /// O(columns), however many there are.
    void readTicks(std::size_t begin, std::size_t end)
    {
        const std::vector<std::uint32_t>& all = m_levels.instants();
        for (auto next = std::lower_bound(all.begin(), all.end(), begin); next != all.end() && *next < end;) {
            const double column = std::floor(pixel(m_track.startNs[*next]));
            if (column >= 0 && column < static_cast<double>(m_out.columns.size()))
                m_out.ticks.push_back({*next, column});
            const double untilNs = m_axis.beginNs + (column + 1) * m_nsPerPixel;
            next = std::partition_point(next + 1, all.end(),
                                        [&](std::uint32_t span) { return static_cast<double>(m_track.startNs[span]) < untilNs; });
        }
    }

    void readSpan(std::size_t i)
    {
        const double left = pixel(m_track.startNs[i]), right = left + static_cast<double>(m_track.durationNs[i]) * m_pixelsPerNs;
        const std::size_t slot = m_slotOfClass[m_classOfKind[m_track.kind[i]]];
        const std::size_t classes = m_levels.classes().size();
        const auto firstColumn = static_cast<std::ptrdiff_t>(left);
        const auto columns = static_cast<std::ptrdiff_t>(m_out.columns.size());
        if (left >= 0 && right < static_cast<double>(firstColumn + 1) && firstColumn < columns) { // most, where they are many
            if (right > left) {
                const auto column = static_cast<std::size_t>(firstColumn);
                m_busyNs[column * classes + slot] += static_cast<double>(m_track.durationNs[i]);
                m_out.columns[column] = std::max(m_out.columns[column], LaneColumn::shared);
                addToRun(i, left, right);
            }
            return;
        }
        if (right <= 0)
            return;
        const bool wide = m_narrow.standsAlone(i);
        if (wide) {
            m_out.wide.push_back({i, left, right});
            endRun();
        } else {
            addToRun(i, left, right);
        }
        const auto lastColumn = std::min(columns - 1, static_cast<std::ptrdiff_t>(right));
        // Of a wide span only the columns at its ends can be shared with others.
        for (std::ptrdiff_t c = std::max<std::ptrdiff_t>(0, firstColumn); c <= lastColumn;
             c = wide && c < lastColumn ? lastColumn : c + 1) {
            const double inside = std::min(right, static_cast<double>(c + 1)) - std::max(left, static_cast<double>(c));
            if (inside <= 0)
                continue;
            m_busyNs[static_cast<std::size_t>(c) * classes + slot] += inside * m_nsPerPixel;
            if (!wide)
                m_out.columns[static_cast<std::size_t>(c)] =
                    std::max(m_out.columns[static_cast<std::size_t>(c)], LaneColumn::shared);
        }
    }

    /// Narrow spans with nothing but short pauses between them.
    void addToRun(std::size_t span, double left, double right)
    {
        if (m_narrow.isParted(span))
            endRun();
        m_runLeft = std::min(m_runLeft, left);
        m_runRight = std::max(m_runRight, right);
        ++m_runSpans;
    }

    void endRun()
    {
        const double last = std::min(std::floor(m_runRight), static_cast<double>(m_out.columns.size()));
        // A few are no rhythm that pixels could beat with.
        constexpr int kRhythm = 6;
        for (double c = std::max(0.0, std::ceil(m_runLeft)); c < last && m_runSpans >= kRhythm; ++c)
            m_out.columns[static_cast<std::size_t>(c)] = LaneColumn::mixed;
        m_runLeft = kNoRun;
        m_runRight = -kNoRun;
        m_runSpans = 0;
    }

    /// Columns that lit spans fill more than others do.
    void findLitColumns(std::size_t begin, std::size_t end)
    {
        std::vector<double> litNs(m_out.columns.size(), 0);
        m_litSpans->forSpans(m_trackIndex, begin, end, [&](std::size_t i) {
            const double left = pixel(m_track.startNs[i]);
            const double right = left + static_cast<double>(m_track.durationNs[i]) * m_pixelsPerNs;
            const double lastColumn = std::min(std::ceil(right), static_cast<double>(m_out.columns.size()));
            for (double c = std::max(0.0, std::floor(left)); c < lastColumn; ++c)
                litNs[static_cast<std::size_t>(c)] += (std::min(right, c + 1) - std::max(left, c)) * m_nsPerPixel;
        });
        const std::size_t classes = m_levels.classes().size();
        m_lit.assign(m_out.columns.size(), 0);
        for (std::size_t c = 0; c < m_lit.size(); ++c) {
            double busyNs = 0;
            for (std::size_t i = 0; i < classes; ++i)
                busyNs += m_busyNs[c * classes + i];
            m_lit[c] = litNs[c] > 0 && litNs[c] >= busyNs / 2 ? 1 : 0;
        }
    }

    void readMipmap()
    {
        std::vector<std::int64_t> edges;
        for (std::size_t c = 0; c <= m_out.columns.size(); ++c)
            edges.push_back(std::llround(m_axis.beginNs + static_cast<double>(c) * m_nsPerPixel));
        std::vector<sim::BusyByClass> busy(m_out.columns.size());
        m_scene.model().busy(m_trackIndex).columns(edges, busy);
        const auto& classes = m_levels.classes();
        for (std::size_t c = 0; c < busy.size(); ++c)
            for (std::size_t i = 0; i < classes.size(); ++i)
                m_busyNs[c * classes.size() + i] = static_cast<double>(busy[c][classes[i]]);
    }

    /// Column after column from the coarse bins; spans are looked at only where a wide one starts.
    void readLevel(const TrackLevel& level)
    {
        const std::size_t classes = m_levels.classes().size();
        const auto wideNs = static_cast<std::int64_t>(NarrowSpans::kWidest * m_nsPerPixel);
        std::size_t bin = level.binAt(m_axis.beginNs);
        double coveredUntil = 0; // by a wide span
        const auto addWide = [&](std::size_t span) {
            m_out.wide.push_back({span, pixel(m_track.startNs[span]), pixel(m_track.startNs[span] + m_track.durationNs[span])});
            coveredUntil = std::max(coveredUntil, m_out.wide.back().right);
        };
        if (const auto before = firstFrom(m_axis.beginNs); before > 0 && m_narrow.standsAlone(before - 1))
            addWide(before - 1);
        for (std::size_t c = 0; c < m_out.columns.size(); ++c) {
            const std::size_t nextBin = level.binAt(m_axis.beginNs + static_cast<double>(c + 1) * m_nsPerPixel);
            if (nextBin <= bin)
                continue;
            const std::int64_t *from = level.busyUntil(bin), *to = level.busyUntil(nextBin);
            const double scale = m_nsPerPixel / static_cast<double>(static_cast<std::int64_t>(nextBin - bin) * level.binNs());
            for (std::size_t i = 0; i < classes; ++i)
                m_busyNs[c * classes + i] = static_cast<double>(to[i] - from[i]) * scale;
            const bool covered = coveredUntil >= static_cast<double>(c + 1);
            m_out.columns[c] = covered ? LaneColumn::single : LaneColumn::shared;
            if (level.longestStartingIn(bin, nextBin) >= wideNs) {
                const std::size_t end = firstFrom(m_axis.beginNs + (static_cast<double>(c) + 1.5) * m_nsPerPixel);
                for (std::size_t i = firstFrom(m_axis.beginNs + (static_cast<double>(c) - 0.5) * m_nsPerPixel); i < end; ++i)
                    if (m_narrow.standsAlone(i) && (m_out.wide.empty() || m_out.wide.back().span < i))
                        addWide(i);
            }
            bin = nextBin;
        }
        const auto isBusy = [&](std::size_t c) {
            return m_out.columns[c] != LaneColumn::single &&
                   std::any_of(m_busyNs.begin() + static_cast<std::ptrdiff_t>(c * classes),
                               m_busyNs.begin() + static_cast<std::ptrdiff_t>((c + 1) * classes),
                               [](double ns) { return ns > 0; });
        };
        const std::size_t columns = m_out.columns.size();
        for (std::size_t c = 0; c < columns; ++c)
            if (isBusy(c) && isBusy(c > 0 ? c - 1 : c) && isBusy(std::min(c + 1, columns - 1)))
                m_out.columns[c] = LaneColumn::mixed;
    }

    /// First span that starts no earlier.
    std::size_t firstFrom(double timeNs) const
    {
        return static_cast<std::size_t>(
            std::lower_bound(m_track.startNs.begin(), m_track.startNs.end(), static_cast<std::int64_t>(std::ceil(timeNs))) -
            m_track.startNs.begin());
    }

    /// Spans of a kind say as much as the others do, though none is exactly as long where they were measured: what fits the
    /// narrowest, apart from those far below the middle one.
    void findLabelWidths()
    {
        std::vector<std::pair<std::uint32_t, double>> widths; // kind, pixels
        for (const WideSpan& span : m_out.wide)
            widths.emplace_back(m_track.kind[span.span], span.right - span.left);
        std::sort(widths.begin(), widths.end());
        for (auto first = widths.begin(); first != widths.end();) {
            const auto last = std::find_if(first, widths.end(), [&](const auto& width) { return width.first != first->first; });
            const double least = first[(last - first) / 2].second * kTypicalWidth;
            const auto shortest = std::find_if(first, last, [&](const auto& width) { return width.second >= least; });
            m_out.labelWidths.emplace_back(first->first, static_cast<float>(shortest->second) * m_columnWidth);
            first = last;
        }
    }

    /// Of every column, where narrow spans leave no room to show them one by one.
    void readWaits(const ExposedWaits& waits)
    {
        std::vector<std::int64_t> edges;
        for (std::size_t c = 0; c <= m_out.columns.size(); ++c)
            edges.push_back(std::llround(m_axis.beginNs + static_cast<double>(c) * m_nsPerPixel));
        m_waitsInside.resize(m_out.columns.size());
        m_waitsBetween.resize(m_out.columns.size());
        waits.busyInside().columns(edges, m_waitsInside);
        waits.busyBetween().columns(edges, m_waitsBetween);
    }

    /// Classes stacked from below in the order of sim::OpClass, what is waited for on top of them: each with its share of the
    /// column's time, those inside an action taken off the action.
    void stackDense()
    {
        const std::vector<std::size_t>& classes = m_levels.classes();
        const std::size_t waiting = m_waitsInside.empty() ? 0 : kWaits, bars = classes.size() + waiting;
        const auto stacksOf = [&](const std::array<Color, sim::kOpClassCount>& fills) {
            ColumnStacks stacks{.area = m_lane, .columnWidth = m_columnWidth, .quantum = kQuantum, .colors = {}, .tops = {}};
            for (const std::size_t c : classes)
                stacks.colors.push_back(fills[c]);
            for (std::size_t c = kWaitFirst; c < kWaitFirst + waiting; ++c)
                stacks.colors.push_back(fills[c]);
            stacks.tops.resize(m_out.columns.size() * bars);
            return stacks;
        };
        ColumnStacks shown = stacksOf(m_colors.fills), lit;
        if (!m_lit.empty())
            lit = stacksOf(m_colors.ownFills);
        const std::vector<double> barsNs = mixedBars(bars);
        const double quantaPerNs = static_cast<double>(m_lane.height() / kQuantum) / m_nsPerPixel;
        bool anyShown = false, anyLit = false;
        for (std::size_t column = 0; column < m_out.columns.size(); ++column) {
            if (m_out.columns[column] == LaneColumn::single)
                continue;
            const bool isLit = !m_lit.empty() && m_lit[column] != 0;
            (isLit ? anyLit : anyShown) = true;
            std::vector<std::uint16_t>& tops = isLit ? lit.tops : shown.tops;
            double sum = 0; // tops are rounded, not bars: the idle rest is what it should be
            const bool goesOn =
                column > 0 && m_out.columns[column] == LaneColumn::mixed && m_out.columns[column - 1] == LaneColumn::mixed;
            for (std::size_t i = column * bars; i < (column + 1) * bars; ++i) {
                sum += barsNs[i];
                const double top = std::min(sum, m_nsPerPixel) * quantaPerNs;
                const bool stays = goesOn && std::abs(top - static_cast<double>(tops[i - bars])) < kSameTop;
                tops[i] = stays ? tops[i - bars] : static_cast<std::uint16_t>(top + kHalf);
            }
        }
        if (anyShown)
            m_out.dense.push_back(std::move(shown));
        if (anyLit)
            m_out.dense.push_back(std::move(lit));
    }

    /// [pixel column][bar]: time of classes and waits where spans are narrow, evened out among mixed columns.
    std::vector<double> mixedBars(std::size_t bars) const
    {
        const std::size_t classes = m_levels.classes().size();
        std::vector<double> ns(m_out.columns.size() * bars, 0);
        for (std::size_t column = 0; column < m_out.columns.size(); ++column) {
            if (m_out.columns[column] == LaneColumn::single)
                continue;
            const double working = workingShare(column);
            double* bar = ns.data() + column * bars;
            for (std::size_t i = column * classes; i < (column + 1) * classes; ++i)
                *bar++ = m_busyNs[i] * working;
            for (std::size_t c = kWaitFirst; c < kWaitFirst + bars - classes; ++c)
                *bar++ = static_cast<double>(m_waitsInside[column][c] + m_waitsBetween[column][c]);
        }
        for (auto first = m_out.columns.begin(); first != m_out.columns.end();) {
            first = std::find(first, m_out.columns.end(), LaneColumn::mixed);
            const auto last = std::find_if(first, m_out.columns.end(), [](LaneColumn c) { return c != LaneColumn::mixed; });
            evenOut(ns, bars, static_cast<std::size_t>(first - m_out.columns.begin()),
                    static_cast<std::size_t>(last - m_out.columns.begin()));
            first = last;
        }
        return ns;
    }

    /// Of the actions' time in a column: what is not waiting.
    double workingShare(std::size_t column) const
    {
        if (m_waitsInside.empty())
            return 1;
        double busyNs = 0, waitNs = 0;
        for (std::size_t i = 0; i < m_levels.classes().size(); ++i)
            busyNs += m_busyNs[column * m_levels.classes().size() + i];
        for (const std::int64_t ns : m_waitsInside[column])
            waitNs += static_cast<double>(ns);
        return busyNs > waitNs ? 1 - waitNs / busyNs : 0;
    }

    /// Those inside actions: along their feet. Where they are many, evened out over the action, as high as what they take of the
    /// action's time is of the lane, and high enough to be seen.
    void stackInside(const ExposedWaits& waits)
    {
        constexpr float kLeast = 2;
        const float height = footOfWaits(m_lane.height());
        if (height < 1)
            return;
        std::vector<double> shares = sharesOf(m_waitsInside);
        const auto& starts = waits.inside().startNs;
        for (const WideSpan& span : m_out.wide) {
            const std::int64_t beginNs = m_track.startNs[span.span];
            const auto begin = std::lower_bound(starts.begin(), starts.end(), beginNs);
            const auto end = std::lower_bound(begin, starts.end(), beginNs + m_track.durationNs[span.span]);
            if (static_cast<double>(end - begin) * kWaitPitch < span.right - span.left)
                continue;
            const auto columns = static_cast<double>(m_out.columns.size());
            const auto first = static_cast<std::size_t>(std::clamp(std::floor(span.left + kHalf), 0.0, columns));
            const auto last = static_cast<std::size_t>(std::clamp(std::floor(span.right + kHalf), 0.0, columns));
            evenOut(shares, kWaits, first, last);
            for (std::size_t i = first * kWaits; i < last * kWaits; ++i)
                if (shares[i] > kSeenShare)
                    shares[i] = std::max(shares[i] * static_cast<double>(m_lane.height()),
                                         static_cast<double>(std::min(kLeast, height))) /
                                static_cast<double>(height);
        }
        m_out.inside = stackWaits(shares, {m_lane.left, m_lane.bottom - height, m_lane.right, m_lane.bottom});
    }

    /// [pixel column][class of wait]: nothing where narrow spans are drawn with what they wait for.
    std::vector<double> sharesOf(const std::vector<sim::BusyByClass>& waits) const
    {
        std::vector<double> shares(m_out.columns.size() * kWaits, 0);
        for (std::size_t column = 0; column < m_out.columns.size(); ++column)
            for (std::size_t i = 0; i < kWaits && m_out.columns[column] == LaneColumn::single; ++i)
                shares[column * kWaits + i] = static_cast<double>(waits[column][kWaitFirst + i]) * m_pixelsPerNs;
        return shares;
    }

    std::vector<ColumnStacks> stackWaits(const std::vector<double>& shares, Rect area) const
    {
        if (std::all_of(shares.begin(), shares.end(), [](double share) { return share <= 0; }))
            return {};
        ColumnStacks stacks{.area = area, .columnWidth = m_columnWidth, .quantum = kQuantum, .colors = {}, .tops = {}};
        for (std::size_t c = kWaitFirst; c < kWaitEnd; ++c)
            stacks.colors.push_back(m_colors.fills[c]);
        const auto quanta = static_cast<double>(area.height() / kQuantum);
        for (std::size_t column = 0; column < m_out.columns.size(); ++column) {
            double sum = 0;
            for (std::size_t i = column * kWaits; i < (column + 1) * kWaits; ++i) {
                sum += shares[i];
                stacks.tops.push_back(static_cast<std::uint16_t>(std::min(sum, 1.0) * quanta + kHalf));
            }
        }
        return {stacks};
    }

    LaneReading& m_out;
    const TimelineScene& m_scene;
    TimeAxis m_axis;
    float m_columnWidth;
    double m_nsPerPixel, m_pixelsPerNs;
    std::uint32_t m_trackIndex;
    const sim::Track& m_track;
    const TimelineColors& m_colors;
    const SpanSet* m_litSpans; ///< nullptr: all
    const TrackLevels& m_levels;
    const std::vector<std::uint8_t>& m_classOfKind;
    NarrowSpans m_narrow;
    std::array<std::size_t, sim::kOpClassCount> m_slotOfClass{}; ///< place of a class among those of the track
    Rect m_lane;
    std::vector<std::uint8_t> m_lit;                 ///< [pixel column] in its own colours while others step back; empty: none
    std::vector<double> m_busyNs;                    ///< [pixel column][class of the track]; right where dense
    double m_runLeft = kNoRun, m_runRight = -kNoRun; ///< pixels, of the narrow spans read last
    int m_runSpans = 0;
    std::vector<sim::BusyByClass> m_waitsInside, m_waitsBetween; ///< [pixel column]; empty: no waits are told
};

} // namespace

bool LaneReading::isShared(double column) const
{
    return column >= 0 && column < static_cast<double>(columns.size()) &&
           columns[static_cast<std::size_t>(column)] != LaneColumn::single;
}

float LaneReading::labelWidth(std::uint32_t kind) const
{
    return std::lower_bound(labelWidths.begin(), labelWidths.end(), std::pair(kind, 0.0F))->second;
}

LaneReading readLane(const TimelineScene& scene, const LaneLook& look, std::uint32_t track, Rect lane)
{
    LaneReading out;
    LaneReader(scene, look, track, lane, out).read();
    return out;
}

} // namespace app
