// What the layouts near the first take where not all goes as planned: a row a case, a column a layout, and how far each is behind
// the best of them at worst.
#pragma once

#include "app/views/plan/plan_page_view.h"
#include "sim/planner/robust.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace app {

class PlanRobustView final : public PlanPageView {
public:
    explicit PlanRobustView(const Theme&);
    /// No choice: the hint is shown.
    void set(std::shared_ptr<const sim::RobustChoice>);
    /// A layout was pressed, or chosen by a key.
    void setChosen(std::function<void(const sim::PlannedLayout&)> chosen) { m_chosen = std::move(chosen); }

    std::string title() const override { return "Plan: where not all goes as planned"; }
    bool pointer(const PointerEvent&, Rect area) override;
    bool command(ViewCommand, bool fast, Rect area) override;
    CursorShape cursor() const override { return m_hovered ? CursorShape::pointingHand : CursorShape::arrow; }
    std::string tooltip() const override;

private:
    struct Column {
        Rect rect;
        std::size_t layout = 0;
    };
    float drawNames(Canvas&, Rect);
    float drawTable(Canvas&, Rect);
    std::string nameOf(std::size_t layout) const;
    void choose(std::size_t layout);
    std::optional<std::size_t> layoutAt(Point) const;
    bool hasPage() const override;
    void forgetDrawn() override
    {
        m_columns.clear();
        m_areNumbered = false;
    }
    float drawPage(Canvas&, Rect) override;

    std::shared_ptr<const sim::RobustChoice> m_choice;
    std::function<void(const sim::PlannedLayout&)> m_chosen;
    std::vector<Column> m_columns; ///< as they were drawn last
    bool m_areNumbered = false;    ///< cases: their names had no room
    std::size_t m_marked = 0;      ///< the layout that keys stand at
    std::optional<std::size_t> m_hovered;
};

/// "A": of the layouts, as the table and the command line call them.
std::string robustLetter(std::size_t layout);
/// "one GPU computes 10 % slower: A 1.23 s, 3.1 % behind the best of these": for a screen reader.
std::string robustCellText(const sim::RobustChoice&, std::size_t layout, std::size_t of);

} // namespace app
