// Edits of a scenario that findings offer: each with the keys that have to change with it, and none checked yet.
#pragma once

#include "sim/analysis/findings/findings.h"

#include <initializer_list>
#include <string_view>

namespace sim {

class Edits {
public:
    explicit Edits(const Scenario& scenario) : m_scenario(scenario) {}

    /// Another layout on the same GPUs or others; what followed from the sizes follows again.
    SuggestedEdit layout(const Layout&) const;
    /// One axis gives a factor to another: tp 8 → 4, dp 2 → 4. Nothing where it does not divide.
    std::optional<SuggestedEdit> shift(int Layout::*from, int Layout::*to, int factor = 2) const;
    SuggestedEdit microBatch(int size) const;
    SuggestedEdit globalBatch(int sequences) const;
    SuggestedEdit schedule(std::string_view kind, int virtualStages) const;
    SuggestedEdit layersPerStage(const std::vector<int>&) const;
    SuggestedEdit zero(int stage) const;
    SuggestedEdit shardGroup(int ranks) const;
    SuggestedEdit recompute(Recompute) const;
    /// Selective, of these; none where there are none.
    SuggestedEdit recompute(RecomputeModules) const;
    /// Whole, of so many layers of each chunk.
    SuggestedEdit recomputeLayers(int layers) const;
    SuggestedEdit fuseAttention() const;
    /// Logits and loss of some tokens at a time. Nothing where a micro-batch has no more, or they are taken so.
    std::optional<SuggestedEdit> lossInChunks() const;
    /// Parameters in 8 bits alone, as Megatron's --fp8-param-gather has them: they are the narrow ones, and no copies lie beside
    /// them. Nothing where there are none, or without an optimizer in shards, which that needs.
    std::optional<SuggestedEdit> narrowParameters() const;
    SuggestedEdit turnOn(std::string_view pointer, std::string_view name) const;
    static SuggestedEdit set(std::string_view pointer, std::string json, std::string text);
    static SuggestedEdit erase(std::string_view pointer, std::string text);
    static SuggestedEdit both(SuggestedEdit, const SuggestedEdit&);

private:
    const Scenario& m_scenario;
};

/// Whole, and of all layers: there is no more of it.
bool recomputesEveryLayer(const Scenario&);

/// Adds what there is.
void offer(Finding&, std::optional<SuggestedEdit>);

} // namespace sim
