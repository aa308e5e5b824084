#include "sim/engine/range.h"

#include "sim/checked.h"
#include "sim/scenario/about_key.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace sim {
namespace {

const double kMostCounted = std::ldexp(1.0, 62);

struct PassSums {
    double ns = 0; ///< on the slowest geometry
    double launchNs = 0;
    double allocatedBytes = 0;
    double sentBytes = 0; ///< at most, in collectives
};

PassSums sumsOf(const Program& program, const PricedProgram& prices, std::size_t pass)
{
    PassSums sums;
    for (const OpDurations& durations : prices.durations)
        sums.ns = std::max(sums.ns, std::accumulate(durations[pass].begin(), durations[pass].end(), 0.0));
    sums.launchNs = static_cast<double>(prices.launchNs(pass));
    const Pass& of = program.passes[pass];
    for (std::size_t i = 0; i < of.ops.size(); ++i) {
        sums.allocatedBytes += static_cast<double>(of.ops[i].allocBytes);
        if (of.ops[i].kind == OpKind::collective)
            sums.sentBytes += (factsOf(of.shapes[i].collective).sends == CollectiveSends::twiceRound ? 2.0 : 1.0) *
                              static_cast<double>(of.shapes[i].bytes);
    }
    return sums;
}

/// How many times as long an op takes at most.
double slowest(const RankClasses& classes, const PricedProgram& prices)
{
    double factor = prices.slowestBeside();
    for (const RankSlowdown& slowdown : classes.slowdown)
        factor = std::max(
            {factor, slowdown.link, prices.slowestBeside() * slowdown.compute * (1 + kFarthestJitter * slowdown.jitter)});
    return factor;
}

/// A quantity of a step: what comes once, and what every micro-batch adds.
struct Amount {
    double once = 0, ofMicrobatches = 0;
    double all() const { return once + ofMicrobatches; }
    void add(const Step& step, double value) { (step.microbatch < 0 ? once : ofMicrobatches) += value; }
    Amount times(double factor) const { return {once * factor, ofMicrobatches * factor}; }
    bool operator<(const Amount& other) const { return all() < other.all(); }
};

void require(const Scenario& scenario, const Amount& amount, const char* quantity, const char* unit)
{
    if (amount.all() <= kMostCounted)
        return;
    const std::string message = std::string(quantity) + " would be " + roughly(amount.all()) + " " + unit + ", more than " +
                                roughly(kMostCounted) + " (2^62), the most that is counted";
    // The first and the last micro-batch do more than the others.
    const double fewer = std::floor(scenario.microbatches() * ((kMostCounted - amount.once) / amount.ofMicrobatches)) - 2;
    const std::string batch = nearestBatch(scenario, fewer);
    throw ScenarioError({{.file = {},
                          .pointer = batch.empty() ? "/training/sequence_length" : "/training/global_batch_size",
                          .message = message + (batch.empty() ? "; shorter sequences, or a smaller model, stay below it"
                                                              : "; nearest: " + batch)}});
}

} // namespace

void requireRange(const Scenario& scenario, const Program& program, const RankClasses& classes, const PricedProgram& prices)
{
    std::vector<PassSums> passes;
    for (std::size_t pass = 0; pass < program.passes.size(); ++pass)
        passes.push_back(sumsOf(program, prices, pass));
    const double factor = slowest(classes, prices);
    const double sendNs =
        prices.sendNs.empty() ? 0 : static_cast<double>(*std::max_element(prices.sendNs.begin(), prices.sendNs.end()));
    Amount ns, mostAllocated, mostSent;
    for (const RankProgram& rank : program.ranks) {
        Amount allocated{.once = static_cast<double>(rank.states.parameters) + static_cast<double>(rank.states.gradients) +
                                 static_cast<double>(rank.states.optimizer) + static_cast<double>(rank.states.buffers)};
        Amount sent;
        for (const Step& step : rank.steps) {
            const PassSums& pass = passes[step.pass];
            // Rounding of scaled durations: less than a nanosecond each.
            ns.add(step, pass.ns * factor + pass.launchNs + static_cast<double>(program.passes[step.pass].ops.size()));
            allocated.add(step, pass.allocatedBytes);
            sent.add(step, pass.sentBytes);
            if (step.sendTo >= 0) {
                ns.add(step, sendNs * factor);
                sent.add(step, static_cast<double>(program.sendBytes));
            }
        }
        mostAllocated = std::max(mostAllocated, allocated);
        mostSent = std::max(mostSent, sent);
    }
    require(scenario, ns, "all kernels and transfers of a copy of the model, one after the other,", "ns");
    require(scenario, mostAllocated, "what a rank allocates in a step", "bytes");
    require(scenario, mostSent.times(static_cast<double>(classes.classOf.size())), "what all ranks send in a step", "bytes");
}

} // namespace sim
