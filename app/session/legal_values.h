// Which values a key of the form may take, so that sliders and steppers only stop where a scenario exists, and why others may
// not. Found by trying: every candidate goes through ScenarioDocument::resolve, the one place that knows the rules, and the
// reasons are its sentences.
#pragma once

#include "app/session/edit.h"

#include <map>

namespace app {

/// A value that breaks something, and what.
struct Refusal {
    std::string json;
    std::string why;
    bool operator==(const Refusal&) const = default;
};

struct LegalValues {
    std::vector<double> values; ///< of a number: where a slider stops, ascending
    /// Of a number the one in force or, where that is legal, the nearest ones on either side, and those past the ends,
    /// ascending; of a choice all that cannot be chosen, of a list of words the lists of one that cannot.
    std::vector<Refusal> refused;
    bool contains(double value) const;
    /// The value `steps` places along from `value` (which need not be legal itself), clamped to the ends.
    double stepped(double value, int steps) const;
    int indexOfNearest(double value) const;
    /// The next ones on either side of a value that is not legal itself.
    std::vector<double> around(double value) const;
    /// Why there is nothing beyond the ends; empty where nothing is known to be.
    std::string whyNotLess() const;
    std::string whyNotMore() const;
    bool operator==(const LegalValues&) const = default;
};
/// By pointer.
using LegalValueTable = std::map<std::string, LegalValues, std::less<>>;

/// Why a size of the layout cannot be had on as many GPUs as there are ranks now; nothing where it can, or where they may change.
std::optional<std::string> whyGpusAreNotKept(const ScenarioState&, std::string_view pointer, const std::string& json, LayoutRule);
LegalValues legalValues(const ScenarioState&, std::string_view pointer, LayoutRule);
/// Of every key of the form that is there. Perturbations are tried one by one: hundreds of them take no longer, and what several
/// of one rank come to together is told when it is chosen.
LegalValueTable legalValues(const sim::ScenarioDocument&, const sim::Catalogue&, const sim::Scenario& lastLegal, LayoutRule);

/// The pointers of the form's keys, one an entry that it shows for those of lists.
std::vector<std::string> formPointers(const ScenarioState&);

} // namespace app
