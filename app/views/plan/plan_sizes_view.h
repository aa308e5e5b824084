// The winner by the number of GPUs: how many tokens a day the best layout of each size trains, and which it is; filled as sizes
// are searched.
#pragma once

#include "app/canvas/view.h"
#include "app/views/common/theme.h"
#include "sim/planner/planner.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace app {

/// A number of GPUs that can be planned for, and what is known of it.
struct PlanSize {
    int gpus = 1;
    bool isSearched = false, isProved = false;
    bool isShown = false;                   ///< it is the one of the other pictures
    std::optional<sim::PlannedLayout> best; ///< nothing where it was not searched, or nothing fits
};

/// "32 GPUs: step 1.20 s, 14.2 M tokens a day, tp 8, pp 4 · …": for a screen reader and a tooltip.
std::string planSizeText(const PlanSize&);
double tokensADay(const sim::PlannedLayout&);
std::string tokensText(double tokens); ///< "14.2 M"
/// The size that a key goes to from the one that is shown; nothing: none, or the key goes nowhere.
std::optional<int> gpusAfter(const std::vector<PlanSize>&, ViewCommand);

class PlanSizesView final : public View {
public:
    explicit PlanSizesView(const Theme& theme) : m_theme(theme) {}
    void set(std::vector<PlanSize> sizes);
    void setTheme(const Theme& theme) { m_theme = theme; }
    /// A size was pressed, or chosen by a key.
    void setChosen(std::function<void(int gpus)> chosen) { m_chosen = std::move(chosen); }

    std::string title() const override { return "Plan: the best by the number of GPUs"; }
    void draw(Canvas&) override;
    bool pointer(const PointerEvent&, Rect area) override;
    bool command(ViewCommand, bool fast, Rect area) override;
    CursorShape cursor() const override { return m_hovered ? CursorShape::pointingHand : CursorShape::arrow; }
    std::string tooltip() const override;

private:
    Rect cell(Rect area, std::size_t place) const;

    Theme m_theme;
    std::vector<PlanSize> m_sizes;
    std::function<void(int)> m_chosen;
    std::optional<std::size_t> m_hovered;
};

} // namespace app
