#include "app/views/timeline/row_placement.h"

#include "app/views/timeline/timeline_model.h"

#include <algorithm>

namespace app {

void RowPlacement::setModel(const TimelineModel* model)
{
    m_model = model;
    m_facts = model != nullptr ? rowFacts(*model) : std::vector<RowFacts>{};
    m_arrangement = {};
    m_placedFor.reset();
    m_arrangedFor.reset();
}

bool RowPlacement::togglePin(int row)
{
    if (row < 0)
        return false;
    const int rank = m_facts[static_cast<std::size_t>(row)].rank;
    if (std::erase(m_wishes.pinnedRanks, rank) == 0)
        m_wishes.pinnedRanks.push_back(rank);
    return true;
}

bool RowPlacement::toggleGroup(int group)
{
    const std::string& name = m_arrangement.groups[static_cast<std::size_t>(group)].name;
    if (m_wishes.turnedOver.erase(name) == 0)
        m_wishes.turnedOver.insert(name);
    return true;
}

bool RowPlacement::nextGrouping()
{
    const auto& ways = m_arrangement.groupings;
    if (ways.size() < 2)
        return false;
    const auto now = std::find(ways.begin(), ways.end(), m_arrangement.grouping);
    m_wishes.grouping = now + 1 == ways.end() ? ways.front() : *(now + 1);
    m_wishes.turnedOver.clear();
    return true;
}

bool RowPlacement::nextSort()
{
    RowSort& sort = m_wishes.sort;
    sort = sort == RowSort::rank ? RowSort::busy : sort == RowSort::busy ? RowSort::end : RowSort::rank;
    return true;
}

bool RowPlacement::toggleFilter()
{
    RowFilter& filter = m_wishes.filter;
    if (m_selected.empty() && filter == RowFilter::all)
        return false; // there is nothing to filter by
    filter = filter == RowFilter::all ? RowFilter::selected : RowFilter::all;
    return true;
}

void RowPlacement::place(Rect area, float lowestRow, const std::vector<int>& ranks)
{
    if (m_placedFor && *m_placedFor == std::tie(area, lowestRow, ranks, m_wishes))
        return;
    m_placedFor.emplace(area, lowestRow, ranks, m_wishes);
    ++m_timesPlaced;
    m_area = area;
    arrange(ranks);
    m_stack = stackRows(needs(), area.height(), lowestRow, m_arrangement.pinned);
    scrollTo(m_scrollY);
}

float RowPlacement::heightIn(float area, float lowestRow, const std::vector<int>& ranks)
{
    arrange(ranks);
    return stackRows(needs(), area, lowestRow, m_arrangement.pinned).height;
}

std::vector<RowNeed> RowPlacement::needs() const
{
    std::vector<RowNeed> needs;
    for (const RowLine& line : m_arrangement.lines) {
        if (line.isHeader()) {
            needs.push_back({.lanes = 1, .header = true});
            continue;
        }
        const TimelineRow& row = m_model->rows()[static_cast<std::size_t>(line.row)];
        needs.push_back({.lanes = std::max(1, static_cast<int>(row.tracks.size())),
                         .sparkline = row.memory.has_value(),
                         .thinLanes = row.thinLanes});
    }
    return needs;
}

void RowPlacement::arrange(const std::vector<int>& ranks)
{
    if (m_arrangedFor && *m_arrangedFor == std::tie(ranks, m_wishes))
        return;
    m_arrangedFor.emplace(ranks, m_wishes);
    m_selected.clear();
    if (ranks.size() > 1) {
        for (const int rank : ranks)
            if (const int row = m_model->rowOfRank(rank); row >= 0)
                m_selected.push_back(row);
        std::sort(m_selected.begin(), m_selected.end());
        m_selected.erase(std::unique(m_selected.begin(), m_selected.end()), m_selected.end());
        if (m_selected.size() == m_facts.size())
            m_selected.clear();
    }
    RowWishes now = m_wishes;
    if (m_selected.empty())
        now.filter = RowFilter::all;
    m_arrangement = arrangeRows(m_facts, now, m_selected);
}

bool RowPlacement::scrollTo(float pixels)
{
    const float before = m_scrollY;
    m_scrollY = std::clamp(pixels, 0.0F, std::max(0.0F, m_stack.height - m_area.height()));
    return m_scrollY != before;
}

void RowPlacement::keepInSight(int row)
{
    const auto index = static_cast<std::size_t>(row);
    const int line = index < m_arrangement.lineOfRow.size() ? m_arrangement.lineOfRow[index] : -1;
    if (line < m_stack.pinned || line >= static_cast<int>(m_stack.rows.size()))
        return;
    const RowPlace& place = placeOf(line);
    scrollTo(std::min(std::max(m_scrollY, place.bottom - m_area.height()), place.top - m_stack.pinnedHeight));
}

int RowPlacement::lineAt(float y) const
{
    if (!m_placedFor || y < m_area.top || y >= m_area.bottom)
        return -1;
    const float below = y - m_area.top;
    return m_stack.rowAt(below < m_stack.pinnedHeight ? below : below + m_scrollY);
}

std::optional<std::uint32_t> RowPlacement::trackAt(float y) const
{
    const int index = lineAt(y);
    if (index < 0 || line(index).isHeader())
        return std::nullopt;
    const auto& tracks = m_model->rows()[static_cast<std::size_t>(line(index).row)].tracks;
    const int lane = placeOf(index).laneAt(y - m_area.top + m_stack.scrolled(index, m_scrollY), static_cast<int>(tracks.size()));
    return lane >= 0 ? std::optional(tracks[static_cast<std::size_t>(lane)]) : std::nullopt;
}

Rect RowPlacement::clipOf(int line) const
{
    const float split = m_area.top + m_stack.pinnedHeight;
    return line < m_stack.pinned ? Rect{m_area.left, m_area.top, m_area.right, split}
                                 : Rect{m_area.left, split, m_area.right, m_area.bottom};
}

int RowPlacement::firstScrolled() const
{
    const float y = m_scrollY + m_stack.pinnedHeight;
    const auto first = std::lower_bound(m_stack.rows.begin() + m_stack.pinned, m_stack.rows.end(), y,
                                        [](const RowPlace& row, float top) { return row.bottom <= top; });
    return static_cast<int>(first - m_stack.rows.begin());
}

Rect RowPlacement::lane(int index, int lane) const
{
    const RowPlace& place = placeOf(index);
    const RowLine& what = line(index);
    const float top = lineTop(index) + place.laneTop(lane) - place.top;
    const bool several = !what.isHeader() && m_model->rows()[static_cast<std::size_t>(what.row)].tracks.size() > 1;
    return {m_area.left, top, m_area.right, top + place.heightOf(lane) - (several ? 1.0F : 0.0F)};
}

Rect RowPlacement::laneOf(std::uint32_t track) const
{
    const int row = m_model->rowOf(track);
    const int index = m_arrangement.lineOfRow[static_cast<std::size_t>(row)];
    if (index < 0)
        return {};
    if (line(index).isHeader())
        return lane(index, 0);
    const auto& tracks = m_model->rows()[static_cast<std::size_t>(row)].tracks;
    return lane(index, static_cast<int>(std::find(tracks.begin(), tracks.end(), track) - tracks.begin()));
}

} // namespace app
