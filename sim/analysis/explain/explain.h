// Where a number of the step comes from: the formula, the formula with this scenario's values in it, what each of them is, and
// where it stands in the literature. Every formula evaluates to the number it explains.
#pragma once

#include "sim/analysis/explain/formula.h"
#include "sim/analysis/explain/show_hint.h"
#include "sim/simulate/simulation.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sim {

enum class MetricId : std::uint8_t {
    stepTime,
    tokensPerSecond,
    tokensPerSecondPerGpu,
    modelFlopRate, ///< Metrics::modelTflopsPerGpu
    hardwareFlopRate,
    mfu,
    mfuFullAttention,
    hfu,
    bubble,
    exposed, ///< all dimensions together
    exposedTp,
    exposedCp,
    exposedEp,
    exposedPp,
    exposedDp,
    peakMemory,
    parameterMemory,
    gradientMemory,
    optimizerMemory,
    activationMemory,
    bufferMemory,
    parameters
};
inline constexpr std::size_t kMetricIdCount = 22;

struct Explanation;

struct Term {
    Quantity quantity;
    std::string meaning;
    std::shared_ptr<const Explanation> because; ///< nullptr: it was given, or measured in the simulated step
};

struct Explanation {
    std::string name; ///< "Model FLOPs utilisation"
    Quantity result;
    std::optional<Formula> formula; ///< nothing: measured in the simulated step
    std::vector<Term> terms;
    std::string convention; ///< what is counted, and what is not
    std::string source;     ///< paper and place in it
    ShowHint show;

    std::string valueText() const { return numberText(result.value, result.unit); }
    std::string inSymbols() const; ///< "MFU = C / (T × N × P)"; empty without a formula
    std::string inNumbers() const; ///< "6.91 EFLOP / (2.31 s × 64 × 989 TFLOP/s)"
};

/// Memory is that of `rank`, or of the fullest rank where none is given.
Explanation explain(const Simulation&, MetricId, std::optional<int> rank = {});

/// The value that `explain` explains, from the metrics alone.
double metricValue(const Simulation&, MetricId, std::optional<int> rank = {});
int fullestRank(const Simulation&);

} // namespace sim
