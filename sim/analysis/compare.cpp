#include "sim/analysis/compare.h"

#include "sim/analysis/goodput.h"
#include "sim/memory_limit.h"
#include "sim/simulate/memory_cap.h"

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
    out.fits = {fitsEverywhere(a), fitsEverywhere(b)};
    out.tokensPerSecond = {x.tokensPerSecond, y.tokensPerSecond};
    out.tokensPerSecondPerGpu = {x.tokensPerSecondPerGpu, y.tokensPerSecondPerGpu};
    out.mfu = {x.mfu, y.mfu};
    out.parameters = {x.parameters, y.parameters};
    out.worldSize = {x.worldSize, y.worldSize};
    out.run = comparedRuns(a, b, comparedTokens({&a, &b}));
    if (x.perPipelineRank.size() == y.perPipelineRank.size())
        for (std::size_t pp = 0; pp < x.perPipelineRank.size(); ++pp)
            out.stages.push_back({{x.perPipelineRank[pp].use, y.perPipelineRank[pp].use},
                                  {x.perPipelineRank[pp].memory, y.perPipelineRank[pp].memory}});
    return out;
}

double comparedTokens(const std::vector<const Simulation*>& all)
{
    double said = 0;
    for (const Simulation* of : all) {
        const double tokens = of->scenario().training.tokens; // 0: not said
        if (tokens > 0 && said > 0 && tokens != said)
            return kTokensUnlessSaid;
        said = std::max(said, tokens);
    }
    return said > 0 ? said : kTokensUnlessSaid;
}

Both<WholeRun> comparedRuns(const Simulation& a, const Simulation& b, double tokens)
{
    return {lastingRun(a, tokens), lastingRun(b, tokens)};
}

} // namespace sim
