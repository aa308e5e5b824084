// The path as people teach it, walked with the job's own numbers: each gate with what is needed and what there is, what each
// dimension sends and over which links; and the planner's answer beside where the path leads.
#pragma once

#include "app/views/plan/plan_page_view.h"
#include "sim/planner/guide.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace app {

class PlanGuideView final : public PlanPageView {
public:
    explicit PlanGuideView(const Theme&);
    /// `planned`: the best that a search found, if there is one. No guide: the hint is shown.
    void set(std::shared_ptr<const sim::PlanGuide>, std::optional<sim::PlannedLayout> planned);
    /// Either of the two layouts was pressed.
    void setChosen(std::function<void(const sim::PlannedLayout&, bool isPath)> chosen) { m_chosen = std::move(chosen); }

    std::string title() const override { return "Guide: the path to a layout"; }
    bool pointer(const PointerEvent&, Rect area) override;
    bool command(ViewCommand, bool fast, Rect area) override;
    CursorShape cursor() const override;

private:
    struct Card {
        Rect rect;
        bool isPath = false; ///< else the planner's
    };
    float drawGates(Canvas&, Rect) const; ///< returns where they end
    float drawTraffic(Canvas&, Rect) const;
    float drawCards(Canvas&, Rect);
    std::optional<bool> cardAt(Point) const;
    bool hasPage() const override { return m_guide != nullptr; }
    void forgetDrawn() override { m_cards.clear(); }
    float drawPage(Canvas&, Rect) override;

    std::shared_ptr<const sim::PlanGuide> m_guide;
    std::optional<sim::PlannedLayout> m_planned;
    std::function<void(const sim::PlannedLayout&, bool)> m_chosen;
    std::vector<Card> m_cards;     ///< as they were drawn last
    std::optional<bool> m_hovered; ///< the card: the path's, or the planner's
};

} // namespace app
