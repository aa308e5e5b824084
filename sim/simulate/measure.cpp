#include "sim/simulate/measure.h"

#include "sim/cancel.h"
#include "sim/checked.h"
#include "sim/engine/documents.h"
#include "sim/index.h"
#include "sim/memory_limit.h"
#include "sim/model/flops.h"
#include "sim/model/parameters.h"

#include <algorithm>
#include <map>
#include <vector>

namespace sim {
namespace {

/// How a number of ranks spend a step, summed over them.
struct UseSums {
    ByStepPart<Wide> ns;
    std::int64_t ranks = 0;

    void add(const TimeShares& shares, std::int64_t stepNs, std::int64_t times)
    {
        ns[StepPart::computing] += Wide{times} * (shares.busyNs - shares.recomputationNs - shares.optimizerNs);
        ns[StepPart::recomputation] += Wide{times} * shares.recomputationNs;
        ns[StepPart::optimizer] += Wide{times} * shares.optimizerNs;
        for (const Dimension dimension : kDimensions)
            ns[partOf<StepPart>(dimension)] += Wide{times} * shares.exposedNs[dimension];
        ns[StepPart::host] += Wide{times} * shares.exposedHostNs;
        ns[StepPart::bubble] += Wide{times} * (stepNs - shares.busyNs - shares.waitingNs());
        ranks += times;
    }
    /// The running sum is rounded, not each part: the parts then add up to the step, and what is nothing stays nothing.
    ByStepPart<std::int64_t> mean() const
    {
        ByStepPart<std::int64_t> out;
        Wide sum = 0;
        std::int64_t before = 0;
        for (const StepPart part : kStepParts) {
            sum += ns[part];
            const auto until = static_cast<std::int64_t>(sum / ranks);
            out[part] = until - before;
            before = until;
        }
        return out;
    }
};

/// That a rank uses of its host at most: its share of the optimizer, and activations that are there.
std::int64_t hostBytes(const Program& program, const RankProgram& rank)
{
    std::int64_t activations = 0, most = 0;
    for (const Step& step : rank.steps) {
        if (step.action < 0)
            continue;
        const Pass& pass = program.passes[step.pass];
        for (std::size_t i = 0; i < pass.ops.size(); ++i)
            if (pass.ops[i].kind == OpKind::copy) {
                activations += pass.ops[i].stream == Stream::toHost ? pass.shapes[i].bytes : -pass.shapes[i].bytes;
                most = std::max(most, activations);
            }
    }
    return rank.states.hostOptimizer + most;
}

/// What the ranks of the node that uses most of its host use together: stages hold unlike amounts, so each counts as itself.
std::int64_t fullestHostBytes(const Program& program, const RankClasses& classes, const Placement& placement)
{
    std::vector<std::int64_t> ofPipelineRank;
    for (const RankProgram& rank : program.ranks)
        ofPipelineRank.push_back(hostBytes(program, rank));
    std::map<int, std::int64_t> ofNode;
    std::int64_t fullest = 0;
    CancelPoll poll;
    for (int rank = 0; rank < static_cast<int>(classes.classOf.size()); ++rank) {
        poll();
        const int pipelineRank = classes.pipelineRank[asIndex(classes.classOf[asIndex(rank)])];
        std::int64_t& bytes = ofNode[placement.node(rank)];
        bytes = checkedAdd(bytes, ofPipelineRank[asIndex(pipelineRank)]);
        fullest = std::max(fullest, bytes);
    }
    return fullest;
}

} // namespace

MemoryBreakdown measureMemory(const Program& program, const RankClasses& classes, const EngineResult& result, int c)
{
    const ModelStates& states = program.ranks[asIndex(classes.pipelineRank[asIndex(c)])].states;
    const EngineResult::MemoryPeak& peak = result.memory[asIndex(c)];
    return {.parameters = states.parameters,
            .gradients = states.gradients,
            .optimizer = states.optimizer,
            .activations = peak.activations,
            .buffers = states.buffers + peak.buffers};
}

Metrics measure(const Scenario& scenario, const Placement& placement, const Program& program, const RankClasses& classes,
                const EngineResult& result, std::span<const TimeShares> sharesOfClass)
{
    struct Sums {
        std::int64_t ranks = 0;
        Wide busyNs = 0, exposedNs = 0, hostNs = 0; // the host's is among what is exposed
    };
    const auto pipelineRanks = asIndex(scenario.layout.pp);
    std::vector<Sums> sums(pipelineRanks);
    std::vector<UseSums> uses(pipelineRanks);
    UseSums wholeUse;
    ByDimension<Wide> exposedNs;
    Wide exposedHostNs = 0, launchNs = 0, expertWaitNs = 0, gemmNs = 0, attentionNs = 0, recomputeNs = 0, optimizerNs = 0;
    Metrics metrics;
    metrics.perPipelineRank.resize(pipelineRanks);
    std::int64_t peakBytes = 0;
    for (int c = 0; c < classes.count(); ++c) {
        const auto pp = asIndex(classes.pipelineRank[asIndex(c)]);
        const TimeShares& shares = sharesOfClass[asIndex(c)];
        const std::int64_t ranks = classes.size[asIndex(c)];
        sums[pp].ranks += ranks;
        sums[pp].busyNs += Wide{ranks} * shares.busyNs;
        gemmNs += Wide{ranks} * shares.gemmNs;
        attentionNs += Wide{ranks} * shares.attentionNs;
        recomputeNs += Wide{ranks} * shares.recomputationNs;
        optimizerNs += Wide{ranks} * shares.optimizerNs;
        uses[pp].add(shares, result.endNs, ranks);
        wholeUse.add(shares, result.endNs, ranks);
        sums[pp].exposedNs += Wide{ranks} * shares.waitingNs();
        sums[pp].hostNs += Wide{ranks} * shares.exposedHostNs;
        exposedHostNs += Wide{ranks} * shares.exposedHostNs;
        launchNs += Wide{ranks} * shares.launchNs;
        expertWaitNs += Wide{ranks} * shares.expertWaitNs;
        for (const Dimension dimension : kDimensions)
            exposedNs[dimension] += Wide{ranks} * shares.exposedNs[dimension];
        const MemoryBreakdown memory = measureMemory(program, classes, result, c);
        PipelineRankMetrics& row = metrics.perPipelineRank[pp];
        if (memory.total() > row.memory.total()) {
            row.memory = memory;
            row.peakAtNs = result.memory[asIndex(c)].atNs;
        }
        peakBytes = std::max(peakBytes, memory.total());
    }

    Wide stretchedNs = 0;
    for (const EngineResult::Stretch& stretch : result.stretched) {
        const auto after = std::upper_bound(result.firstOp.begin(), result.firstOp.end(), stretch.place);
        stretchedNs += Wide{classes.size[asIndex(after - result.firstOp.begin() - 1)]} * stretch.byNs;
    }
    const double stepSeconds = static_cast<double>(result.endNs) * 1e-9;
    const double world = scenario.layout.worldSize();
    Wide busyNs = 0, allExposedNs = 0;
    for (std::size_t pp = 0; pp < pipelineRanks; ++pp) {
        const double ranks = static_cast<double>(sums[pp].ranks);
        PipelineRankMetrics& row = metrics.perPipelineRank[pp];
        row.busySeconds = static_cast<double>(sums[pp].busyNs) / ranks * 1e-9;
        row.commSeconds = static_cast<double>(sums[pp].exposedNs) / ranks * 1e-9;
        row.hostSeconds = static_cast<double>(sums[pp].hostNs) / ranks * 1e-9;
        row.bubbleSeconds =
            static_cast<double>(Wide{result.endNs} * sums[pp].ranks - sums[pp].busyNs - sums[pp].exposedNs) / ranks * 1e-9;
        row.use = uses[pp].mean();
        row.parameters = program.ranks[pp].states.parameterElements;
        busyNs += sums[pp].busyNs;
        allExposedNs += sums[pp].exposedNs;
    }
    const auto meanSeconds = [world](Wide ns) { return static_cast<double>(ns) / world * 1e-9; };
    metrics.computing = {.gemm = meanSeconds(gemmNs),
                         .attention = meanSeconds(attentionNs),
                         .other = meanSeconds(busyNs - gemmNs - attentionNs - recomputeNs - optimizerNs),
                         .recompute = meanSeconds(recomputeNs),
                         .optimizer = meanSeconds(optimizerNs)};
    metrics.linkSharingSeconds = meanSeconds(stretchedNs);
    const Wide wholeNs = Wide{result.endNs} * scenario.layout.worldSize();
    const auto totalNs = static_cast<double>(wholeNs);
    for (const Dimension dimension : kDimensions)
        metrics.exposedComm[dimension] = totalNs > 0 ? static_cast<double>(exposedNs[dimension]) / totalNs : 0;
    metrics.exposedHost = totalNs > 0 ? static_cast<double>(exposedHostNs) / totalNs : 0;
    metrics.exposedLaunches = totalNs > 0 ? static_cast<double>(launchNs) / totalNs : 0;
    metrics.use = wholeUse.mean();
    metrics.expertWait = totalNs > 0 ? static_cast<double>(expertWaitNs) / totalNs : 0;
    metrics.bubbleFraction = totalNs > 0 ? static_cast<double>(wholeNs - busyNs - allExposedNs) / totalNs : 0;

    const StepFlops flops = stepFlops(scenario, attentionFlopsShare(scenario));
    const double tokens = static_cast<double>(scenario.training.globalBatchSize) * scenario.training.sequenceLength;
    const double peakFlops = scenario.cluster.gpu.peakTflops.at(scenario.training.precision) * 1e12;
    metrics.stepTimeSeconds = stepSeconds;
    metrics.tokensPerSecond = tokens / stepSeconds;
    metrics.tokensPerSecondPerGpu = metrics.tokensPerSecond / world;
    metrics.modelTflopsPerGpu = flops.modelCausal / stepSeconds / world * 1e-12;
    metrics.hardwareTflopsPerGpu = flops.hardware / stepSeconds / world * 1e-12;
    metrics.mfu = flops.modelCausal / stepSeconds / world / peakFlops;
    metrics.mfuFullAttention = flops.modelFull / stepSeconds / world / peakFlops;
    metrics.hfu = flops.hardware / stepSeconds / world / peakFlops;
    metrics.peakMemoryGib = static_cast<double>(peakBytes) / kBytesPerGib;
    if (scenario.training.offload.isOn()) {
        metrics.hostMemoryGib = static_cast<double>(fullestHostBytes(program, classes, placement)) / kBytesPerGib;
        metrics.hostFits = metrics.hostMemoryGib <= scenario.cluster.host.memoryGib;
    }
    metrics.fits = metrics.peakMemoryGib <= scenario.cluster.gpu.memoryGib;
    metrics.parameters = parameterCount(scenario.model);
    metrics.worldSize = scenario.layout.worldSize();
    metrics.simulatedOps = result.opCount();
    return metrics;
}

} // namespace sim
