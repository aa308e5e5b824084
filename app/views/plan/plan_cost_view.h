// How soon a run is done against what it costs, a dot for the best layout of each number of GPUs; the frontier of those that no
// other beats in both.
#pragma once

#include "app/canvas/view.h"
#include "app/views/common/theme.h"
#include "app/views/plan/plan_sizes_view.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace app {

class PlanCostView final : public View {
public:
    explicit PlanCostView(const Theme& theme) : m_theme(theme) {}
    /// `price`: of a GPU for an hour; 0: not told, GPU hours stand for it. Sizes whose days are not known are left out.
    void set(std::vector<PlanSize> sizes, double price);
    void setTheme(const Theme& theme) { m_theme = theme; }
    void setHint(std::string hint) { m_hint = std::move(hint); } ///< where there is nothing to show
    /// A size was pressed, or chosen by a key.
    void setChosen(std::function<void(int gpus)> chosen) { m_chosen = std::move(chosen); }

    std::string title() const override { return "Plan: days against cost, by the number of GPUs"; }
    void draw(Canvas&) override;
    bool pointer(const PointerEvent&, Rect area) override;
    bool command(ViewCommand, bool fast, Rect area) override;
    CursorShape cursor() const override { return m_hovered ? CursorShape::pointingHand : CursorShape::arrow; }
    std::string tooltip() const override;
    /// "64 GPUs: done in 41.2 days for 126,000, nobody is sooner for less": for a screen reader and a tooltip.
    std::string text(std::size_t place) const;
    const std::vector<PlanSize>& sizes() const { return m_sizes; } ///< that are shown

private:
    struct Frame;
    Frame frame(Rect area) const;
    double costOf(const PlanSize&) const;
    bool isOnFrontier(std::size_t place) const;

    Theme m_theme;
    std::vector<PlanSize> m_sizes;
    std::vector<std::size_t> m_frontier; ///< soonest first
    double m_price = 0;
    std::string m_hint;
    std::function<void(int)> m_chosen;
    std::optional<std::size_t> m_hovered;
};

} // namespace app
