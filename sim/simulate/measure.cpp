#include "sim/simulate/measure.h"

#include "sim/cancel.h"
#include "sim/checked.h"
#include "sim/engine/documents.h"
#include "sim/index.h"
#include "sim/memory_limit.h"
#include "sim/model/flops.h"
#include "sim/model/parameters.h"
#include "sim/simulate/action_class.h"
#include "sim/simulate/exposed_transfers.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace sim {
namespace {

struct Interval {
    std::int64_t begin = 0, end = 0;
};

/// Transfers of one stream, or what they waited for their launches, in order of time; those that ended before what is computed
/// now are forgotten, so that it stays short.
struct TransferLog {
    std::vector<Interval> intervals;
    std::vector<std::uint16_t> labels; ///< of their ops
    std::size_t cursor = 0;

    void add(Interval interval, std::uint16_t label)
    {
        intervals.push_back(interval);
        labels.push_back(label);
    }
    void forgetUntil(std::int64_t time)
    {
        while (cursor < intervals.size() && intervals[cursor].end <= time)
            ++cursor;
        if (cursor == intervals.size()) {
            intervals.clear();
            labels.clear();
            cursor = 0;
        }
    }
};

/// Streams in the order in which they get the blame when several transfers fill the same gap.
constexpr std::array kBlameOrder = {Stream::tp,          Stream::cp,           Stream::ep,    Stream::receive,
                                    Stream::sendForward, Stream::sendBackward, Stream::dp,    Stream::replicas,
                                    Stream::fromHost,    Stream::host,         Stream::toHost};

/// f(begin, end) for each part of `add` that no interval covers; those are in order of their beginnings.
template <typename F>
void forUncovered(const std::vector<Interval>& covered, Interval add, F f)
{
    for (std::size_t i = 0; i < covered.size() && add.begin < add.end; ++i) {
        if (covered[i].end <= add.begin)
            continue;
        if (covered[i].begin >= add.end)
            break;
        if (covered[i].begin > add.begin)
            f(add.begin, covered[i].begin);
        add.begin = covered[i].end;
    }
    if (add.begin < add.end)
        f(add.begin, add.end);
}

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

/// How long a transfer runs; a collective once all of its members are there.
std::int64_t transferNs(const Program& program, const RankClasses& classes, const PricedProgram& prices,
                        const EngineResult& result, int c, const Step& step, std::size_t op, std::size_t place)
{
    const std::int64_t ns = result.opEndNs[place] - result.opStartNs[place];
    if (program.passes[step.pass].ops[op].kind != OpKind::collective)
        return ns;
    const auto ofClass = static_cast<std::int64_t>(place - result.firstOp[asIndex(c)]);
    return std::min(ns, opDurationNs(prices, classes, program, c, step, op, ofClass) + result.stretchedByNs(place));
}

/// Walks the ops of a class: kernel(op, shape, ns, beyondMeanNs) for each kernel, exposed(stream, label, begin, end) for each
/// stretch of time in which a kernel waits for a transfer of the stream, called so, and nothing computes; without a stream: in
/// which it or a transfer that it waits for could begin, and is not launched yet. Every instant once.
template <typename Kernel, typename Exposed>
void walkClass(const Program& program, const RankClasses& classes, const PricedProgram& prices, const EngineResult& result, int c,
               Kernel kernel, Exposed exposed)
{
    std::array<TransferLog, kStreamCount> transfers, launches;
    std::array<std::int64_t, kStreamCount> tails{};
    std::vector<Interval> covered;
    CancelPoll poll;
    const OpDurations& durations = prices.durations[asIndex(classes.geometry[asIndex(c)])];
    std::int64_t computedUntil = 0, kernelStart = 0;
    std::size_t place = result.firstOp[asIndex(c)];
    for (const Step& step : program.ranks[asIndex(classes.pipelineRank[asIndex(c)])].steps) {
        const Pass& pass = program.passes[step.pass];
        poll(2 * pass.ops.size() + 1);
        const std::int64_t passStart = kernelStart; // what runs beside kernels is issued behind the last one before
        for (std::size_t i = 0; i < pass.ops.size(); ++i, ++place) {
            const Op& op = pass.ops[i];
            const std::int64_t start = result.opStartNs[place];
            const std::int64_t end = result.opEndNs[place];
            // When all that it waits for has ended. Most ops begin where the one before ended, and nobody asks.
            const auto freeSince = [&] {
                std::int64_t since = op.stream == Stream::compute ? 0 : passStart;
                for (unsigned left = op.waits | maskOf(op.stream); left != 0; left &= left - 1)
                    since = std::max(since, tails[asIndex(std::countr_zero(left))]);
                return since;
            };
            if (op.stream != Stream::compute) {
                const bool collective = op.kind == OpKind::collective;
                const std::int64_t duration = transferNs(program, classes, prices, result, c, step, i, place);
                TransferLog& log = transfers[asIndex(op.stream)];
                log.forgetUntil(computedUntil);
                log.add({end - duration, end}, op.label);
                if (collective || op.kind == OpKind::copy) // messages are launched in time
                    if (const std::int64_t free = freeSince(); start > free) {
                        TransferLog& launched = launches[asIndex(op.stream)];
                        launched.forgetUntil(computedUntil);
                        launched.add({free, start}, op.label);
                    }
                tails[asIndex(op.stream)] = end;
                continue;
            }
            if (start > computedUntil) {
                covered.clear();
                const auto blame = [&](TransferLog& log, std::optional<Stream> stream) {
                    log.forgetUntil(computedUntil);
                    const std::size_t before = covered.size();
                    for (std::size_t k = log.cursor; k < log.intervals.size(); ++k) {
                        const Interval clipped{std::max(computedUntil, log.intervals[k].begin),
                                               std::min(start, log.intervals[k].end)};
                        if (clipped.begin >= clipped.end)
                            continue;
                        forUncovered(covered, clipped,
                                     [&](std::int64_t from, std::int64_t until) { exposed(stream, log.labels[k], from, until); });
                        covered.push_back(clipped);
                    }
                    if (before > 0)
                        std::sort(covered.begin(), covered.end(),
                                  [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
                };
                const auto awaits = [&op](Stream stream) { return (op.waits & maskOf(stream)) != 0; };
                for (const Stream stream : kBlameOrder)
                    if (awaits(stream))
                        blame(transfers[asIndex(stream)], stream);
                for (const Stream stream : kBlameOrder)
                    if (awaits(stream))
                        blame(launches[asIndex(stream)], std::nullopt); // what was on its way meanwhile counts first
                if (const std::int64_t free = std::max(freeSince(), computedUntil); free < start)
                    exposed(std::nullopt, op.label, free, start);
            }
            if (op.kind == OpKind::compute) {
                // What slows a kernel slows a mean rank's as much.
                const std::int64_t price = durations[step.pass][i];
                const Wide beyond =
                    prices.beyondMean.empty() || price == 0 ? 0 : Wide{prices.beyondMean[step.pass][i]} * (end - start) / price;
                kernel(op, pass.shapes[i], end - start, static_cast<std::int64_t>(beyond));
            }
            tails[asIndex(op.stream)] = end;
            kernelStart = start;
            computedUntil = std::max(computedUntil, end);
        }
    }
}

} // namespace

TimeShares measureShares(const Program& program, const RankClasses& classes, const PricedProgram& prices,
                         const EngineResult& result, int c)
{
    TimeShares shares;
    walkClass(
        program, classes, prices, result, c,
        [&shares](const Op& op, const OpShape& shape, std::int64_t ns, std::int64_t beyondMeanNs) {
            shares.expertWaitNs += beyondMeanNs;
            ns -= beyondMeanNs;
            shares.busyNs += ns;
            if (op.purpose == OpPurpose::recompute)
                shares.recomputationNs += ns;
            else if (op.purpose == OpPurpose::optimizer)
                shares.optimizerNs += ns;
            else if (isAttention(shape))
                shares.attentionNs += ns;
            else if (shape.kernel != KernelKind::memoryBound)
                shares.gemmNs += ns;
        },
        [&shares](std::optional<Stream> stream, std::uint16_t, std::int64_t begin, std::int64_t end) {
            const auto dimension = stream ? dimensionOf(*stream) : std::nullopt;
            (dimension ? shares.exposedNs[*dimension] : shares.exposedHostNs) += end - begin;
            if (!stream)
                shares.launchNs += end - begin;
        });
    return shares;
}

std::vector<ExposedTransfer> exposedTransfers(const Simulation& simulation, int c)
{
    std::vector<ExposedTransfer> out;
    walkClass(
        simulation.program(), simulation.classes(), simulation.prices(), simulation.times(), c,
        [](const Op&, const OpShape&, std::int64_t, std::int64_t) {},
        [&out](std::optional<Stream> stream, std::uint16_t, std::int64_t begin, std::int64_t end) {
            out.push_back({.beginNs = begin, .endNs = end, .dimension = stream ? dimensionOf(*stream) : std::nullopt});
        });
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.beginNs < b.beginNs; });
    std::size_t kept = 0;
    for (const ExposedTransfer& next : out) // those that touch are told as one
        if (kept > 0 && out[kept - 1].endNs == next.beginNs && out[kept - 1].dimension == next.dimension)
            out[kept - 1].endNs = next.endNs;
        else
            out[kept++] = next;
    out.resize(kept);
    return out;
}

double transferSeconds(const Simulation& simulation, Dimension dimension)
{
    const Program& program = simulation.program();
    const RankClasses& classes = simulation.classes();
    const EngineResult& times = simulation.times();
    CancelPoll poll;
    Wide sum = 0;
    for (int c = 0; c < simulation.classCount(); ++c) {
        std::size_t place = times.firstOp[asIndex(c)];
        for (const Step& step : program.ranks[asIndex(classes.pipelineRank[asIndex(c)])].steps) {
            const std::vector<Op>& ops = program.passes[step.pass].ops;
            poll(ops.size() + 1);
            for (std::size_t i = 0; i < ops.size(); ++i, ++place)
                if (dimensionOf(ops[i].stream) == dimension)
                    sum += Wide{simulation.classSize(c)} *
                           transferNs(program, classes, simulation.prices(), times, c, step, i, place);
        }
    }
    return static_cast<double>(sum) / simulation.metrics().worldSize * 1e-9;
}

ExposedKinds exposedKinds(const Simulation& simulation)
{
    const std::vector<std::string>& labels = simulation.program().labels;
    std::array<std::vector<Wide>, kStreamCount> sums; // [stream][label]
    for (std::vector<Wide>& ofStream : sums)
        ofStream.resize(labels.size());
    std::vector<char> isHostStep(labels.size(), 0);
    if (simulation.scenario().training.stack.stepMs > 0)
        for (const Pass& pass : simulation.program().passes)
            for (const Op& op : pass.ops)
                if (op.purpose == OpPurpose::optimizer)
                    isHostStep[op.label] = 1;
    Wide ranks = 0, launchesNs = 0, hostStepNs = 0;
    for (int c = 0; c < simulation.classCount(); ++c) {
        const Wide members = simulation.classSize(c);
        ranks += members;
        walkClass(
            simulation.program(), simulation.classes(), simulation.prices(), simulation.times(), c,
            [](const Op&, const OpShape&, std::int64_t, std::int64_t) {},
            [&](std::optional<Stream> stream, std::uint16_t label, std::int64_t begin, std::int64_t end) {
                (stream                   ? sums[asIndex(*stream)][label]
                 : isHostStep[label] != 0 ? hostStepNs
                                          : launchesNs) += members * (end - begin);
            });
    }
    std::vector<CommunicatorRole> roles(labels.size(), CommunicatorRole::none);
    for (const Pass& pass : simulation.program().passes)
        for (const Op& op : pass.ops)
            if (op.kind == OpKind::collective)
                roles[op.label] = op.group;
    const auto seconds = [ranks](Wide ns) { return static_cast<double>(ns) / static_cast<double>(ranks) * 1e-9; };
    const auto kindsOf = [&](const auto& isOfThem, std::vector<ExposedKind> out = {}) {
        for (std::size_t label = 0; label < labels.size(); ++label) {
            Wide sum = 0;
            for (int stream = 0; stream < kStreamCount; ++stream)
                sum += isOfThem(static_cast<Stream>(stream)) ? sums[asIndex(stream)][label] : 0;
            if (sum > 0)
                out.push_back({.op = labels[label],
                               .seconds = seconds(sum),
                               .role = roles[label],
                               .isHostsWork = sums[asIndex(Stream::host)][label] > 0});
        }
        std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
        return out;
    };
    ExposedKinds out;
    for (const Dimension dimension : kDimensions)
        out.ofDimension[dimension] = kindsOf([dimension](Stream stream) { return dimensionOf(stream) == dimension; });
    std::vector<ExposedKind> launches;
    if (launchesNs > 0)
        launches.push_back({.op = kLaunches, .seconds = seconds(launchesNs), .isHostsWork = true});
    if (hostStepNs > 0)
        launches.push_back({.op = kHostStep, .seconds = seconds(hostStepNs), .isHostsWork = true});
    out.ofHost = kindsOf([](Stream stream) { return (maskOf(stream) & kHostStreams) != 0; }, std::move(launches));
    return out;
}

namespace {

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
