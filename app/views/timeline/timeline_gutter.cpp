// Left of the rows: their names, pins and groups; above them how they are filtered, grouped and sorted.
#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/timeline/timeline_painter.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace app {
namespace {

constexpr float kBeforeName = 9;  ///< pixels that a row's highlight begins left of its name
constexpr float kOverRow = 3;     ///< pixels that a name may be higher than its row: of those above and below its letters
constexpr float kBelowLowRow = 1; ///< pixels between rows that are lower than their names
constexpr float kIndent = 10;     ///< of rows below the header of their group
constexpr float kPin = 11;        ///< width of a pin's place, left of the name

class GutterPainter {
public:
    GutterPainter(Canvas& canvas, const TimelineScene& scene)
        : m_canvas(canvas), m_scene(scene), m_model(scene.model()), m_theme(scene.theme), m_gutter(scene.frame.gutter)
    {
    }
    void header();
    void names()
    {
        const int focused = m_scene.focusRow();
        m_every = namedEvery();
        // Rows beside each other are called alike: as short as the one that has the least room for it.
        m_scene.rows.forLinesInSight([&](int line) {
            if (const RowLine& what = m_scene.rows.line(line); !what.isHeader()) {
                const auto& names = m_model.rows()[static_cast<std::size_t>(what.row)].names;
                const std::string fits = fitting(m_canvas, names, gutterOf(line).width(), faceOf(line, what.row));
                const auto found = std::find(names.begin(), names.end(), fits);
                if (found != names.end()) {
                    std::size_t& shortest = m_shortest[names.size()];
                    shortest = std::max(shortest, static_cast<std::size_t>(found - names.begin()));
                }
            }
        });
        m_scene.rows.forLinesInSight([&](int line) {
            const Rect clip = m_scene.rows.clipOf(line);
            m_canvas.pushClip(
                {m_canvas.area().left, clip.top - kAirOfText, m_scene.frame.scroll.right, clip.bottom + kAirOfText});
            const RowLine& what = m_scene.rows.line(line);
            if (what.isHeader())
                groupName(line, what.group);
            else
                rowName(line, what.row, what.row == focused);
            m_canvas.popClip();
        });
    }

private:
    bool inSight(int line, float top, float height) const
    {
        const Rect clip = m_scene.rows.clipOf(line);
        return top >= clip.top - kAirOfText && top + height <= clip.bottom + kAirOfText;
    }
    Rect gutterOf(int line) const
    {
        const auto& rows = m_scene.rows.arrangement();
        const bool indented = rows.grouping != RowGrouping::none && line >= rows.pinned;
        return {m_gutter.left + (indented ? kIndent : 0), m_gutter.top, m_gutter.right, m_gutter.bottom};
    }
    float roomOf(int line, int row) const
    {
        const RowPlace& p = m_scene.rows.placeOf(line);
        return m_model.rows()[static_cast<std::size_t>(row)].tracks.size() > 1 ? p.laneHeight : p.bottom - p.top;
    }
    FontFace faceOf(int line, int row) const
    {
        return roomOf(line, row) >= m_canvas.textHeight(FontFace::body) ? FontFace::body : FontFace::small;
    }
    /// Rows that are lower than their names: one in so many has its own.
    int namedEvery() const
    {
        float lowest = m_gutter.height();
        m_scene.rows.forLinesInSight([&](int line) {
            if (const RowPlace& p = m_scene.rows.placeOf(line); !m_scene.rows.line(line).isHeader())
                lowest = std::min(lowest, p.bottom - p.top);
        });
        const float name = m_canvas.textHeight(FontFace::small);
        return lowest + kOverRow >= name ? 1 : static_cast<int>(std::ceil(name / (std::max(1.0F, lowest) + kBelowLowRow)));
    }
    bool isNamed(int line, float nameHeight, float room) const
    {
        return nameHeight <= room + kOverRow || (m_every > 1 && line % m_every == m_every / 2);
    }
    /// Longest first: "send activations", "embedding comm", and in a narrow gutter what is sent alone.
    std::vector<std::string> laneNames(const sim::Track& track) const
    {
        const std::string& name = m_model.classNames().ofLane(track);
        const std::size_t first = name.find(' '), last = name.rfind(' ');
        if (name.starts_with("send "))
            return {name, name.substr(first + 1)};
        return name.ends_with(" comm") ? std::vector{name, name.substr(0, last)} : std::vector{name};
    }
    void rowName(int line, int row, bool focused);
    void details(int row, const TimelineRow&, Rect);
    void groupName(int line, int group);
    void pin(int row, Rect);
    void timeBar(const TimelineRow&, Rect);
    /// A word that answers to a click; returns its width.
    float chip(TimelineTarget::Kind, Rect, const std::string& text, const std::string& tip, bool strong);

    Canvas& m_canvas;
    const TimelineScene& m_scene;
    const TimelineModel& m_model;
    const Theme& m_theme;
    Rect m_gutter;
    int m_every = 1;                               ///< so many rows there is one that is named
    std::map<std::size_t, std::size_t> m_shortest; ///< of rows with so many names: the place of the one that all have room for
};

float GutterPainter::chip(TimelineTarget::Kind kind, Rect area, const std::string& text, const std::string& tip, bool strong)
{
    constexpr float kPadding = 5;
    const float width = m_canvas.textWidth(text, FontFace::small) + 2 * kPadding;
    if (text.empty() || width > area.width())
        return 0;
    const Rect box{area.left, area.top + 2, area.left + width, area.bottom - 2};
    if (strong)
        m_canvas.fillRect(box, withAlpha(m_theme.accent, 0.14F));
    m_canvas.strokeRect(box, strong ? m_theme.accent : m_theme.border);
    textInside(m_canvas, {box.left + kPadding, box.top, box.right, box.bottom}, text, strong ? m_theme.accent : m_theme.mutedText,
               FontFace::small);
    m_scene.targets.push_back({.kind = kind, .rect = box, .tip = tip});
    if (m_canvas.wantsNodes())
        m_canvas.node({.id = nodeId(TimelineNode::chip, static_cast<int>(kind)),
                       .role = "button",
                       .name = text,
                       .rect = box,
                       .selected = strong});
    return width;
}

void GutterPainter::header()
{
    const Rect ruler = m_scene.frame.ruler;
    const RowWishes& wishes = m_scene.rows.wishes();
    const auto rows = static_cast<std::int64_t>(m_model.rows().size());
    if (ruler.height() <= 0 || rows < 2 || m_scene.surroundings.isForAudience)
        return;
    Rect area{m_gutter.left, ruler.top, m_gutter.right, ruler.bottom};
    constexpr float kSpace = 4, kAroundText = 10;
    const auto fits = [&](std::vector<std::string> texts) {
        return fitting(m_canvas, texts, area.width() - kAroundText, FontFace::small);
    };
    if (m_scene.rows.selectedRows() > 0) {
        const std::string some = countText(m_scene.rows.selectedRows()), of = some + " of " + countText(rows);
        const bool filtered = wishes.filter == RowFilter::selected;
        chip(TimelineTarget::Kind::filter, area,
             filtered ? fits({of + " rows · show all", of + " · show all", of + " · all", of})
                      : fits({"show only " + some + " of " + countText(rows) + " rows", "show only " + some, "only " + some}),
             filtered ? "Rows of the selected ranks are shown.\nClick to show all"
                      : "Click to show the rows of the selected ranks alone",
             filtered);
        return;
    }
    const RowArrangement& arrangement = m_scene.rows.arrangement();
    if (arrangement.groupings.size() > 1) {
        const std::string by = rowGroupingName(arrangement.grouping);
        const bool grouped = arrangement.grouping != RowGrouping::none;
        area.left +=
            chip(TimelineTarget::Kind::grouping, area,
                 fits(grouped ? std::vector<std::string>{"group: " + by, by} : std::vector<std::string>{"group: none", "flat"}),
                 "Rows are " + (grouped ? "gathered by " + by : std::string("not gathered")) + ".\nClick for another way",
                 grouped && wishes.grouping != RowGrouping::automatic) +
            kSpace;
    }
    const std::string sort = rowSortName(wishes.sort);
    const bool sorted = wishes.sort != RowSort::rank;
    chip(TimelineTarget::Kind::sort, area, fits({"sort: " + sort, sort}),
         "Rows are sorted by " +
             (wishes.sort == RowSort::rank   ? std::string("rank")
              : wishes.sort == RowSort::busy ? std::string("busy time, the busiest first")
                                             : std::string("their last span, the latest first")) +
             ".\nClick for another order",
         sorted);
}

/// Head, neck and needle.
void GutterPainter::pin(int row, Rect area)
{
    const int rank = m_model.trace().processes[static_cast<std::size_t>(row)].rank;
    const auto& pinned = m_scene.rows.wishes().pinnedRanks;
    const bool isPinned = std::find(pinned.begin(), pinned.end(), rank) != pinned.end();
    const auto& hovered = m_scene.selection.hoveredRank;
    if (!isPinned && !(hovered && m_model.rowOfRank(*hovered) == row))
        return;
    const float x = area.left + 4, y = std::floor((area.top + area.bottom) / 2);
    const Color color = isPinned ? m_theme.accent : m_theme.mutedText;
    const bool focused = m_scene.focusRow() == row;
    m_canvas.fillRect({area.left, y - 7, area.right, y + 7},
                      focused ? mix(m_theme.canvas, m_theme.accent, 0.14F) : m_theme.canvas);
    if (isPinned)
        m_canvas.fillRect({x - 3, y - 6, x + 4, y - 1}, color);
    else
        m_canvas.strokeRect({x - 3, y - 6, x + 4, y - 1}, color);
    m_canvas.fillRect({x - 4, y - 1, x + 5, y + 1}, color);
    m_canvas.fillRect({x, y + 1, x + 1, y + 6}, color);
    m_scene.targets.push_back({.kind = TimelineTarget::Kind::pin,
                               .value = row,
                               .rect = area,
                               .tip = isPinned ? "Stays at the top.\nClick to let it go" : "Click to keep this row at the top"});
    if (m_canvas.wantsNodes())
        m_canvas.node({.id = nodeId(TimelineNode::chip, static_cast<int>(TimelineTarget::Kind::mark) + 1 + row),
                       .role = "button",
                       .name = isPinned ? "unpin row" : "pin row",
                       .rect = area,
                       .selected = isPinned});
}

/// How a row spends the step: computing, transfers that nothing hides, and what is left is bubble.
void GutterPainter::timeBar(const TimelineRow& row, Rect area)
{
    if (!row.exposedShare)
        return;
    const auto width = area.width();
    const auto exposed = width * static_cast<float>(*row.exposedShare);
    const float computes = width * static_cast<float>(row.busyShare);
    m_canvas.fillRect(area, mix(m_theme.canvas, m_theme.text, 0.10F));
    m_canvas.fillRect({area.left, area.top, area.left + computes, area.bottom}, mix(m_theme.canvas, m_theme.text, 0.45F));
    if (exposed >= 0.5F)
        m_canvas.fillRect({area.left + computes, area.top, area.left + computes + exposed, area.bottom}, m_theme.warning);
}

void GutterPainter::details(int row, const TimelineRow& data, Rect area)
{
    const std::string text = fittingEvenly(m_canvas, data.details, area.width(), FontFace::small);
    m_canvas.text({area.left, area.top}, text, m_theme.mutedText, FontFace::small);
    if (m_scene.numbers != nullptr && !text.empty() && m_scene.hasBecause(row))
        m_scene.numbers->add(m_canvas, m_theme,
                             {area.left, area.top, area.left + m_canvas.textWidth(text, FontFace::small), area.bottom}, text,
                             [scene = m_scene.becauseOfRow(row)] { return scene; });
}

void GutterPainter::rowName(int line, int row, bool focused)
{
    const RowPlace& p = m_scene.rows.placeOf(line);
    const TimelineRow& data = m_model.rows()[static_cast<std::size_t>(row)];
    const float top = m_scene.rows.lineTop(line), bottom = top + p.bottom - p.top;
    const Rect gutter = gutterOf(line);
    if (focused) {
        m_canvas.fillRect({m_gutter.left - kBeforeName, top, m_scene.frame.rows.left - 2, bottom},
                          withAlpha(m_theme.accent, 0.14F));
        m_canvas.fillRect({m_gutter.left - kBeforeName, top, m_gutter.left - 6, bottom}, m_theme.accent);
    }
    const bool severalLanes = data.tracks.size() > 1;
    const float small = m_canvas.textHeight(FontFace::small), body = m_canvas.textHeight(FontFace::body);
    const float room = roomOf(line, row);
    const FontFace face = faceOf(line, row);
    const auto shortest = m_shortest.find(data.names.size());
    const auto skipped = static_cast<std::ptrdiff_t>(shortest == m_shortest.end() ? 0 : shortest->second);
    const std::string name = fitting(m_canvas, {data.names.begin() + skipped, data.names.end()}, gutter.width(), face);
    const bool two = !severalLanes && room >= body + small + 4;
    const float nameHeight = m_canvas.textHeight(face);
    constexpr float kBar = 7; // the bar with the space above it
    const bool bar = two && data.exposedShare && room >= body + small + 2 * kBar;
    float nameTop = std::floor(top + (two ? (room - body - small - (bar ? kBar : 0)) / 2 : (room - nameHeight) / 2));
    // Of a row that is cut: in the part that is seen.
    const Rect seen = m_scene.rows.clipOf(line);
    const float highest = std::ceil(seen.top - kAirOfText), lowest = std::floor(seen.bottom + kAirOfText - nameHeight);
    if (highest <= lowest && std::min(bottom, seen.bottom) - std::max(top, seen.top) >= nameHeight - 2 * kAirOfText)
        nameTop = std::clamp(nameTop, highest, lowest);
    if (isNamed(line, nameHeight, room) && inSight(line, nameTop, nameHeight))
        m_canvas.text({gutter.left, nameTop}, name, focused ? m_theme.accent : m_theme.text, face);
    if (two && inSight(line, nameTop + body, small))
        details(row, data, {gutter.left, nameTop + body, gutter.right, nameTop + body + small});
    if (bar)
        timeBar(data, {gutter.left, nameTop + body + small + 3, gutter.right, nameTop + body + small + 6});
    for (std::size_t lane = 1; lane < data.tracks.size(); ++lane) {
        const Rect area = m_scene.rows.lane(line, static_cast<int>(lane));
        if (area.height() + 4 >= small && inSight(line, (area.top + area.bottom - small) / 2, small))
            m_canvas.text(
                {gutter.right, std::floor((area.top + area.bottom - small) / 2)},
                fitting(m_canvas, laneNames(m_model.trace().tracks[data.tracks[lane]]), gutter.width(), FontFace::small),
                m_theme.mutedText, FontFace::small, Align::right);
    }
    pin(row, {m_gutter.left - kPin, top, m_gutter.left, top + std::min(room, bottom - top)});
    if (m_canvas.wantsNodes())
        m_canvas.node({.id = kRowNodes | static_cast<std::uint64_t>(row),
                       .role = "row",
                       .name = (data.names.empty() ? std::string() : data.names.front()) +
                               (data.details.empty() ? std::string() : ", " + data.details.front()),
                       .rect = {m_gutter.left - kBeforeName, top, m_scene.frame.rows.right, bottom},
                       .selected = focused});
}

void GutterPainter::groupName(int line, int index)
{
    const RowGroup& group = m_scene.rows.arrangement().groups[static_cast<std::size_t>(index)];
    const float top = m_scene.rows.lineTop(line),
                bottom = top + m_scene.rows.placeOf(line).bottom - m_scene.rows.placeOf(line).top;
    const float y = std::floor((top + bottom) / 2), x = m_gutter.left - 2;
    m_canvas.fillRect({m_gutter.left - kBeforeName, top, m_scene.frame.rows.left - 2, bottom},
                      mix(m_theme.canvas, m_theme.text, 0.05F));
    if (group.open)
        m_canvas.fillConvex({{x - 4, y - 2}, {x + 4, y - 2}, {x, y + 3}}, m_theme.mutedText);
    else
        m_canvas.fillConvex({{x - 2, y - 4}, {x + 3, y}, {x - 2, y + 4}}, m_theme.mutedText);
    const std::string rows = group.countedRows();
    const std::string first = group.name.substr(0, group.name.find(',')) + " …";
    const Rect text{m_gutter.left + kIndent, top, m_gutter.right, bottom};
    const float small = m_canvas.textHeight(FontFace::small);
    if (inSight(line, (top + bottom - small) / 2, small)) {
        const float width = textInside(m_canvas, text, fitting(m_canvas, {group.name, first}, text.width(), FontFace::small),
                                       m_theme.text, FontFace::small);
        const Rect rest{text.left + width + 8, top, text.right, bottom};
        textInside(m_canvas, rest, fitting(m_canvas, {rows}, rest.width(), FontFace::small), m_theme.mutedText, FontFace::small,
                   Align::right);
    }
    const Rect target{m_gutter.left - kBeforeName, top, m_scene.frame.rows.left - 2, bottom};
    m_scene.targets.push_back({.kind = TimelineTarget::Kind::group,
                               .value = index,
                               .rect = target,
                               .tip = group.name + " · " + rows + (group.open ? "\nClick to close" : "\nClick to open")});
    if (m_canvas.wantsNodes())
        m_canvas.node({.id = nodeId(TimelineNode::group, index),
                       .role = "group",
                       .name = group.name + ", " + rows + (group.open ? ", open" : ", closed"),
                       .rect = {target.left, top, m_scene.frame.rows.right, bottom},
                       .selected = group.open});
}

} // namespace

void paintGutterHeader(Canvas& canvas, const TimelineScene& scene)
{
    GutterPainter(canvas, scene).header();
}

void paintRowNames(Canvas& canvas, const TimelineScene& scene)
{
    GutterPainter(canvas, scene).names();
}

} // namespace app
