#include "sim/engine/range.h"

#include "sim/checked.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace sim {
namespace {

const double kMost = std::ldexp(1.0, 62);

struct PassSums {
    double ns = 0; ///< on the slowest geometry
    double allocatedBytes = 0;
    double sentBytes = 0; ///< at most, in collectives
};

PassSums sumsOf(const Program& program, const PricedProgram& prices, std::size_t pass)
{
    PassSums sums;
    for (const OpDurations& durations : prices.durations)
        sums.ns = std::max(sums.ns, std::accumulate(durations[pass].begin(), durations[pass].end(), 0.0));
    const Pass& of = program.passes[pass];
    for (std::size_t i = 0; i < of.ops.size(); ++i) {
        sums.allocatedBytes += static_cast<double>(of.ops[i].allocBytes);
        if (of.ops[i].kind == OpKind::collective)
            sums.sentBytes +=
                (of.shapes[i].collective == CollectiveKind::allReduce ? 2.0 : 1.0) * static_cast<double>(of.shapes[i].bytes);
    }
    return sums;
}

/// How many times as long an op takes at most.
double slowest(const RankClasses& classes)
{
    double factor = 1;
    for (const RankSpeed& speed : classes.speed)
        factor = std::max({factor, speed.link, speed.compute * (1 + kFarthestJitter * speed.jitter)});
    return factor;
}

void require(double value, const char* quantity, const char* unit)
{
    if (!(value <= kMost))
        throw OutOfRange(std::string(quantity) + " would be " + roughly(value) + " " + unit + ", more than " + roughly(kMost) +
                         " (2^62), the most that is counted; fewer or shorter sequences, or a smaller model, stay below it");
}

} // namespace

void requireRange(const Program& program, const RankClasses& classes, const PricedProgram& prices)
{
    std::vector<PassSums> passes;
    for (std::size_t pass = 0; pass < program.passes.size(); ++pass)
        passes.push_back(sumsOf(program, prices, pass));
    const double factor = slowest(classes);
    const double sendNs =
        prices.sendNs.empty() ? 0 : static_cast<double>(*std::max_element(prices.sendNs.begin(), prices.sendNs.end()));
    double ns = 0, ops = 0, mostAllocated = 0, mostSent = 0;
    for (const RankProgram& rank : program.ranks) {
        double allocated = static_cast<double>(rank.states.parameters) + static_cast<double>(rank.states.gradients) +
                           static_cast<double>(rank.states.optimizer) + static_cast<double>(rank.states.buffers);
        double sent = 0;
        for (const Step& step : rank.steps) {
            const PassSums& pass = passes[step.pass];
            ns += pass.ns;
            allocated += pass.allocatedBytes;
            sent += pass.sentBytes;
            if (step.sendTo >= 0) {
                ns += sendNs;
                sent += static_cast<double>(program.sendBytes);
            }
        }
        ops += static_cast<double>(rank.opCount); // rounding of scaled durations: less than a nanosecond each
        mostAllocated = std::max(mostAllocated, allocated);
        mostSent = std::max(mostSent, sent);
    }
    require(ns * factor + ops, "all kernels and transfers of a copy of the model, one after the other,", "ns");
    require(mostAllocated, "what a rank allocates in a step", "bytes");
    require(mostSent * static_cast<double>(classes.classOf.size()), "what all ranks send in a step", "bytes");
}

} // namespace sim
