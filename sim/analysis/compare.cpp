#include "sim/analysis/compare.h"

#include "sim/analysis/goodput.h"
#include "sim/memory_limit.h"

#include <algorithm>
#include <cmath>

namespace sim {
namespace {

const MemoryBreakdown& fullest(const Metrics& metrics)
{
    const auto& rows = metrics.perPipelineRank;
    return std::max_element(rows.begin(), rows.end(),
                            [](const auto& x, const auto& y) { return x.memory.total() < y.memory.total(); })
        ->memory;
}

std::int64_t capacityOf(const Simulation& simulation)
{
    return std::llround(simulation.scenario().cluster.gpu.memoryGib * kBytesPerGib);
}

/// 0: not said.
double tokensOfBoth(double a, double b)
{
    if (a > 0 && b > 0 && a != b)
        return kTokensUnlessSaid;
    return a > 0 ? a : b > 0 ? b : kTokensUnlessSaid;
}

} // namespace

Comparison compare(const Simulation& a, const Simulation& b)
{
    const Metrics &x = a.metrics(), &y = b.metrics();
    Comparison out;
    out.stepNs = {x.use.total(), y.use.total()};
    out.likely = likelyRatio(a.scenario(), b.scenario(), y.stepTimeSeconds / x.stepTimeSeconds);
    out.use = {x.use, y.use};
    out.memory = {fullest(x), fullest(y)};
    out.capacityBytes = {capacityOf(a), capacityOf(b)};
    out.tokensPerSecond = {x.tokensPerSecond, y.tokensPerSecond};
    out.tokensPerSecondPerGpu = {x.tokensPerSecondPerGpu, y.tokensPerSecondPerGpu};
    out.mfu = {x.mfu, y.mfu};
    out.parameters = {x.parameters, y.parameters};
    out.worldSize = {x.worldSize, y.worldSize};
    const double tokens = tokensOfBoth(a.scenario().training.tokens, b.scenario().training.tokens);
    out.run = {lastingRun(a, tokens), lastingRun(b, tokens)};
    if (x.perPipelineRank.size() == y.perPipelineRank.size())
        for (std::size_t pp = 0; pp < x.perPipelineRank.size(); ++pp)
            out.stages.push_back({{x.perPipelineRank[pp].use, y.perPipelineRank[pp].use},
                                  {x.perPipelineRank[pp].memory, y.perPipelineRank[pp].memory}});
    return out;
}

} // namespace sim
