// Edits of a scenario that findings offer: each with the keys that have to change with it, and none checked yet.
#pragma once

#include "sim/analysis/findings.h"

#include <initializer_list>
#include <string_view>

namespace sim {

class Edits {
public:
    explicit Edits(const Scenario& scenario) : m_scenario(scenario) {}

    /// Another layout on the same GPUs or others; what followed from the sizes follows again.
    Try layout(const Layout&) const;
    /// One axis gives a factor to another: tp 8 → 4, dp 2 → 4. Nothing where it does not divide.
    std::optional<Try> shift(int Layout::*from, int Layout::*to, int factor = 2) const;
    Try microBatch(int size) const;
    Try globalBatch(int sequences) const;
    Try schedule(std::string_view kind, int virtualStages) const;
    Try layersPerStage(const std::vector<int>&) const;
    Try zero(int stage) const;
    Try shardGroup(int ranks) const;
    Try recompute(Recompute) const;
    Try turnOn(std::string_view pointer, std::string_view name) const;
    static Try set(std::string_view pointer, std::string json, std::string text);
    static Try erase(std::string_view pointer, std::string text);
    static Try both(Try, const Try&);

private:
    const Scenario& m_scenario;
};

/// Adds what there is.
void offer(Finding&, std::optional<Try>);

} // namespace sim
