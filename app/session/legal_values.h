// Which values a number of the form may take, so that sliders and steppers only stop where a layout exists, and why it ends
// there. Found by trying: every candidate goes through ScenarioDocument::resolve, the one place that knows the rules.
#pragma once

#include "app/session/edit.h"

#include <atomic>
#include <map>

namespace app {

struct LegalValues {
    std::vector<int> values; ///< ascending
    std::string whyNotLess;  ///< what the next value below the first would break; empty at 1
    std::string whyNotMore;  ///< what the next value above the last would break; empty where nothing does
    bool contains(int value) const;
    /// The value `steps` places along from `value` (which need not be legal itself), clamped to the ends.
    int stepped(int value, int steps) const;
    int indexOfNearest(int value) const;
    bool operator==(const LegalValues&) const = default;
};
using LegalValueTable = std::map<Control, LegalValues>;

/// Both stop early, with what they have, once `cancel` is set.
LegalValues legalValues(const sim::ScenarioDocument&, const sim::Catalogue&, const sim::Scenario& lastLegal, Control, LayoutRule,
                        const std::atomic<bool>* cancel = nullptr);
/// Of every control.
LegalValueTable legalValues(const sim::ScenarioDocument&, const sim::Catalogue&, const sim::Scenario& lastLegal, LayoutRule,
                            const std::atomic<bool>* cancel = nullptr);

} // namespace app
