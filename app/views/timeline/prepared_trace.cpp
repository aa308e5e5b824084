#include "app/views/timeline/prepared_trace.h"

#include "app/views/common/color.h"
#include "app/views/timeline/column_mix.h"
#include "app/views/timeline/narrow_spans.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr float kFiltered = 0.84F;    ///< of the canvas's colour in spans whose class does not count
constexpr float kSteppedBack = 0.66F; ///< the same while others are lit
constexpr std::size_t kFewestColumns = 48;
constexpr std::size_t kMostSums = 150000; ///< of a row over a stretch of time, for one picture of shares

} // namespace

void PreparedTrace::setOpacityOfKinds(std::vector<float> opacity)
{
    m_opacityOfKind = std::move(opacity);
    m_colors.reset();
}

const TimelineColors& PreparedTrace::colors(const Theme& theme, ClassMask counting, bool othersLit)
{
    return keep(m_colors, {counting, othersLit}, [&] { return mixColors(theme, counting, othersLit); });
}

TimelineColors PreparedTrace::mixColors(const Theme& theme, ClassMask counting, bool othersLit) const
{
    TimelineColors colors{.own = m_model.colors(theme), .shown = {}, .ownFills = theme.opClass};
    for (std::size_t k = 0; k < std::min(colors.own.size(), m_opacityOfKind.size()); ++k)
        for (Color* color : {&colors.own[k].even, &colors.own[k].odd, &colors.own[k].text})
            *color = mix(theme.canvas, *color, m_opacityOfKind[k]);
    colors.shown = colors.own;
    const auto paleness = [&](sim::OpClass c) {
        return (counting & maskOf(c)) == 0 ? kFiltered : othersLit ? kSteppedBack : 0.0F;
    };
    for (std::size_t k = 0; k < colors.shown.size(); ++k)
        if (const float share = paleness(m_model.trace().kinds[k].opClass); share > 0) {
            KindColors& kind = colors.shown[k];
            kind = {mix(kind.even, theme.canvas, share), mix(kind.odd, theme.canvas, share), theme.text};
            if (share == kFiltered)
                kind.text = theme.mutedText;
        }
    for (std::size_t c = 0; c < colors.fills.size(); ++c)
        colors.fills[c] = mix(theme.opClass[c], theme.canvas, paleness(static_cast<sim::OpClass>(c)));
    return colors;
}

/// As many stretches as can be seen on so many pixels, and as few as can be summed within a frame. Each takes some time.
std::vector<std::int64_t> PreparedTrace::edges(double beginNs, double endNs, float width) const
{
    const auto seen = static_cast<std::size_t>(std::max(1.0F, width / 2));
    const std::size_t summed = kMostSums / std::max<std::size_t>(m_model.rows().size(), 1);
    const std::size_t columns = std::min(seen, std::max(kFewestColumns, summed));
    std::vector<std::int64_t> edges;
    for (std::size_t c = 0; c <= columns; ++c) {
        const std::int64_t edge =
            std::llround(beginNs + (endNs - beginNs) * static_cast<double>(c) / static_cast<double>(columns));
        edges.push_back(edges.empty() ? edge : std::max(edges.back() + 1, edge));
    }
    return edges;
}

/// Evened out where the spans are so many that the stretches would beat with them.
ShareColumns PreparedTrace::shares(const std::vector<int>& rows, const std::vector<std::int64_t>& edges) const
{
    ShareColumns columns = m_model.shares(rows, edges);
    std::size_t spans = 0;
    for (const int row : rows) {
        const TimelineRow& of = m_model.rows()[static_cast<std::size_t>(row)];
        if (of.tracks.empty())
            continue;
        const auto& starts = m_model.trace().tracks[of.work].startNs;
        spans += static_cast<std::size_t>(std::lower_bound(starts.begin(), starts.end(), edges.back()) -
                                          std::lower_bound(starts.begin(), starts.end(), edges.front()));
    }
    if (static_cast<double>(spans) * NarrowSpans::kWidest <= static_cast<double>(columns.size() * rows.size()))
        return columns;
    const auto isIdle = [](const auto& column) {
        return std::all_of(column.begin(), column.end(), [](double share) { return share <= 0; });
    };
    for (auto first = columns.begin(); first != columns.end();) {
        first = std::find_if_not(first, columns.end(), isIdle);
        const auto last = std::find_if(first, columns.end(), isIdle);
        if (first != last)
            evenOut({first->data(), static_cast<std::size_t>(last - first) * first->size()}, first->size(), 0,
                    static_cast<std::size_t>(last - first));
        first = last;
    }
    return columns;
}

const ShareColumns& PreparedTrace::overview(Rect area)
{
    const float width = area.height() > 0 ? area.width() : 0;
    return keep(m_overview, width, [&] {
        const auto length = static_cast<double>(m_model.trace().endNs);
        return width > 0 && length > 0 ? shares(m_model.allRows(), edges(0, length, width)) : ShareColumns{};
    });
}

const ShareColumns& PreparedTrace::strip(const RowPlacement& rows, std::size_t group, const TimeWindow& window)
{
    const std::vector<RowGroup>& groups = rows.arrangement().groups;
    auto& strips = keep(m_strips, {window, rows.timesPlaced()}, [&] { return std::vector<ShareColumns>(groups.size()); });
    if (strips[group].empty())
        strips[group] = shares(groups[group].rows, edges(window.beginNs, window.endNs, rows.area().width()));
    return strips[group];
}

const RangeStatistics& PreparedTrace::statistics(TimeRange range, ClassMask counting)
{
    return keep(m_statistics, {range, counting}, [&] { return rangeStatistics(m_model, range, counting); });
}

const PreparedTrace::Path& PreparedTrace::criticalPath()
{
    if (!m_path) {
        const sim::Simulation* simulation = m_model.simulation();
        sim::CriticalPath path =
            simulation != nullptr ? sim::criticalPath(m_model.trace(), *simulation) : sim::criticalPath(m_model.trace());
        std::vector<SpanRef> spans;
        for (const sim::CriticalStep& step : path.steps)
            spans.push_back({step.track, step.span});
        m_path.emplace(std::move(path), SpanSet(spans));
    }
    return *m_path;
}

const SpanSearch& PreparedTrace::find(const std::string& text)
{
    return keep(m_search, text, [&] { return SpanSearch(m_model, text); });
}

} // namespace app
