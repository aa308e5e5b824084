// The rows in their places: which there are and in what order, how high they are, how far they are scrolled, what lies where.
#pragma once

#include "app/views/common/timeline_geometry.h"
#include "app/views/timeline/timeline_rows.h"

#include <optional>
#include <tuple>

namespace app {

class RowPlacement {
public:
    /// May be nullptr. There are no lines until they are placed; how far they are scrolled stays.
    void setModel(const TimelineModel*);

    // Wishes take effect when the rows are placed. False: there is nothing to change.
    const RowWishes& wishes() const { return m_wishes; }
    void setWishes(RowWishes wishes) { m_wishes = std::move(wishes); }
    bool togglePin(int row);
    bool toggleGroup(int group);
    bool nextGrouping();
    bool nextSort();
    bool toggleFilter();

    /// Does nothing where it was told the same before. `ranks`: those that are selected.
    void place(Rect area, float lowestRow, const std::vector<int>& ranks);
    /// Of all rows, were they placed in so high an area.
    float heightIn(float area, float lowestRow, const std::vector<int>& ranks);
    int timesPlaced() const { return m_timesPlaced; } ///< while it stays, so do the rows, but for scrolling
    Rect area() const { return m_area; }
    const RowArrangement& arrangement() const { return m_arrangement; }
    const RowStack& stack() const { return m_stack; }
    /// That several selected ranks lie on; 0: not several, or all rows.
    int selectedRows() const { return static_cast<int>(m_selected.size()); }

    float scrollY() const { return m_scrollY; }
    bool scrollTo(float pixels); ///< false: it is there already
    bool scrollBy(float pixels) { return scrollTo(m_scrollY + pixels); }
    void keepInSight(int row);

    int lineAt(float y) const;                           ///< -1: none
    std::optional<std::uint32_t> trackAt(float y) const; ///< nothing on the header of a group
    const RowLine& line(int index) const { return m_arrangement.lines[static_cast<std::size_t>(index)]; }
    const RowPlace& placeOf(int line) const { return m_stack.rows[static_cast<std::size_t>(line)]; }
    float lineTop(int line) const { return m_area.top + placeOf(line).top - m_stack.scrolled(line, m_scrollY); }
    /// Where a line can be seen: the part that stays, or the part that scrolls.
    Rect clipOf(int line) const;
    Rect lane(int line, int lane) const;
    /// Lane of a track on the screen, or the header of its closed group; of no height where its row is not shown.
    Rect laneOf(std::uint32_t track) const;
    /// f(line) for every line in sight.
    template <typename F>
    void forLinesInSight(F f) const
    {
        for (int line = 0; line < static_cast<int>(m_stack.rows.size()); ++line) {
            if (line == m_stack.pinned)
                line = std::max(line, firstScrolled());
            if (line >= static_cast<int>(m_stack.rows.size()))
                return;
            const Rect clip = clipOf(line);
            if (const float top = lineTop(line); top < clip.bottom)
                f(line);
            else if (line >= m_stack.pinned)
                return;
        }
    }

private:
    void arrange(const std::vector<int>& ranks);
    std::vector<RowNeed> needs() const;
    int firstScrolled() const;

    const TimelineModel* m_model = nullptr;
    std::vector<RowFacts> m_facts;
    RowWishes m_wishes;
    RowArrangement m_arrangement;
    std::vector<int> m_selected;
    RowStack m_stack;
    Rect m_area{};
    float m_scrollY = 0;
    std::optional<std::tuple<Rect, float, std::vector<int>, RowWishes>> m_placedFor;
    std::optional<std::tuple<std::vector<int>, RowWishes>> m_arrangedFor;
    int m_timesPlaced = 0;
};

} // namespace app
