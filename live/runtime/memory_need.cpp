#include "live/runtime/memory_need.h"

#include "sim/error.h"
#include "sim/index.h"
#include "sim/model/parameters.h"
#include "sim/text/beside_limit.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <utility>

namespace live {

using sim::asIndex;

namespace {

constexpr std::int64_t kMib = std::int64_t{1} << 20;
/// The program itself, its threads and libraries.
constexpr std::int64_t kProcessBytes = 24 * kMib;
/// A span on its way to the history, and packed in it (stream/history.h: at most 64 steps and 256 MiB).
constexpr std::int64_t kSpanBytes = sizeof(SpanRecord), kPackedSpanBytes = 24, kStepsKept = 64, kHistoryBytes = 256 * kMib;
constexpr std::int64_t kRankBytes = 64 * 1024; ///< a rank's rings, stages and names
/// On the CPU blocks from 4 MiB on take whole pages of 2 MiB: of what was planned a share more, as runs of 0.1 to 1 GB showed.
constexpr std::int64_t kLargePagesShare = 8;
/// Not measured. NCCL: NCCL_BUFFSIZE is 4 MiB a channel and neighbour; cuBLASLt: the workspace of each queue, and scratch of its
/// kernels (2 MiB for GPT-2 124M, and what that has outgrown).
constexpr std::int64_t kNcclGroupBytes = 128 * kMib, kQueueBytes = (32 + 8) * kMib;

sim::BesideLimit bytesBeside(std::int64_t need, std::int64_t limit)
{
    return {static_cast<double>(need), static_cast<double>(limit), sim::Unit::bytes};
}

std::int64_t tensorsOf(const CommPlan& plan, int first, int count)
{
    std::int64_t bytes = 0;
    for (int rank = first; rank < first + count; ++rank)
        bytes += plan.memory[asIndex(rank)].reserved;
    return bytes;
}

/// How many groups have members in this process and in others.
std::int64_t groupsWithOthers(const CommPlan& plan, const MemoryPlace& place)
{
    std::set<int> ours, shared;
    const auto isOurs = [&](int rank) { return rank >= place.firstRank && rank < place.firstRank + place.rankCount; };
    for (int rank = place.firstRank; isOurs(rank); ++rank)
        for (const PlannedRequest& request : plan.requests[asIndex(rank)])
            ours.insert(request.group);
    for (int rank = 0; asIndex(rank) < plan.requests.size(); ++rank)
        for (const PlannedRequest& request : plan.requests[asIndex(rank)])
            if (!isOurs(rank) && ours.contains(request.group))
                shared.insert(request.group);
    return static_cast<std::int64_t>(shared.size());
}

std::int64_t recordingOf(const CommPlan& plan, int first, int count, int steps)
{
    std::int64_t spans = 0;
    for (int rank = first; rank < first + count; ++rank)
        spans += static_cast<std::int64_t>(plan.memory[asIndex(rank)].spans);
    const std::int64_t kept = std::min<std::int64_t>(steps, kStepsKept) * spans * kPackedSpanBytes;
    return count * kRankBytes + spans * kSpanBytes + std::min(kept, kHistoryBytes);
}

/// Changes that leave less to keep of each parameter, the one that changes the training least first.
struct LighterStates {
    const char* name;
    void (*apply)(sim::Training&);
};
constexpr std::array kLighterStates = {
    LighterStates{"training.moment_dtype=bf16", [](sim::Training& training) { training.momentBytes = 2; }},
    LighterStates{"training.optimizer=sgd", [](sim::Training& training) { training.optimizer = sim::Optimizer::sgd; }}};

std::int64_t statesWith(const LighterStates& lighter, sim::Scenario scenario)
{
    lighter.apply(scenario.training);
    return statesOfJob(scenario);
}

} // namespace

std::int64_t statesOfJob(const sim::Scenario& scenario)
{
    const std::int64_t element = scenario.live.dtype == "fp64" ? 8 : 4;
    const std::int64_t moment = scenario.training.momentBytes == 2 ? 2 : element;
    const std::int64_t moments = scenario.training.optimizer == sim::Optimizer::adamw ? 2 * moment : 0;
    return sim::parameterCount(scenario.model) * element + sim::trainableParameterCount(scenario.model) * (element + moments);
}

std::string whichStatesDoNotFit(const sim::Scenario& scenario, const MemoryPlace& place, const std::vector<MemoryLimit>& limits)
{
    if (place.onGpu || place.ranksOfMachine < scenario.layout.worldSize())
        return {};
    const auto exceeded = [&](std::int64_t needed) {
        return std::find_if(limits.begin(), limits.end(), [&](const MemoryLimit& limit) {
            return needed > limit.free && (limit.isShared || place.processes == 1);
        });
    };
    const std::int64_t needed = statesOfJob(scenario);
    const auto limit = exceeded(needed);
    if (limit == limits.end())
        return {};
    std::string advice =
        ": no layout fits here; use a smaller model (model.num_hidden_layers, model.hidden_size), or more machines";
    for (const LighterStates& lighter : kLighterStates) {
        const std::int64_t less = statesWith(lighter, scenario);
        if (less == needed || exceeded(less) != limits.end())
            continue;
        advice = std::string("; nearest: ") + lighter.name + ", with which they need " + bytesText(less);
        break;
    }
    const sim::BesideLimit beside = bytesBeside(needed, limit->free);
    return "the weights, gradients and moments of this model's " +
           sim::numberText(static_cast<double>(sim::parameterCount(scenario.model)), sim::Unit::count) +
           " parameters alone need " + beside.need() + " of memory, and of " + limit->name + " " + beside.limit() + " of " +
           bytesText(limit->all) + " are free" + advice;
}

MemoryNeed memoryNeed(const CommPlan& plan, const MemoryPlace& place, int steps)
{
    MemoryNeed need;
    for (int rank = place.firstRank; rank < place.firstRank + place.rankCount; ++rank)
        for (std::size_t use = 0; use < need.atPeak.size(); ++use)
            need.atPeak[use] += plan.memory[asIndex(rank)].atPeak[use];
    need.tensors = tensorsOf(plan, place.firstRank, place.rankCount);
    if (place.onGpu && !place.isEmulated)
        need.communication =
            place.rankCount * kQueueBytes + (place.usesNccl ? groupsWithOthers(plan, place) * kNcclGroupBytes : 0);
    const auto hostOf = [&](int first, int count, int processes) {
        const bool holdsTensors = !place.onGpu || place.isEmulated;
        return processes * kProcessBytes + (place.records ? recordingOf(plan, first, count, steps) : count * kRankBytes) +
               (holdsTensors ? tensorsOf(plan, first, count) : 0) +
               (place.onGpu ? 0 : tensorsOf(plan, first, count) / kLargePagesShare);
    };
    need.recording = place.records ? recordingOf(plan, place.firstRank, place.rankCount, steps) : 0;
    need.gpu = place.onGpu ? need.tensors + need.communication : 0;
    need.host = hostOf(place.firstRank, place.rankCount, 1);
    need.machine = hostOf(place.firstRankOfMachine, place.ranksOfMachine, place.processes);
    return need;
}

std::string MemoryNeed::text(std::int64_t all, bool ofGpu) const
{
    constexpr std::array<const char*, kMemoryUseCount> kNames = {"weights", "gradients", "optimizer", "activations", "buffers"};
    std::string text;
    std::int64_t rest = all;
    const auto add = [&](const std::string& name, std::int64_t bytes) {
        text += (text.empty() ? "" : ", ") + name + " " + bytesText(bytes);
        rest -= bytes;
    };
    for (std::size_t use = 0; use < atPeak.size(); ++use)
        add(kNames[use], atPeak[use]);
    if (ofGpu && communication > 0)
        add("libraries", communication);
    if (!ofGpu)
        add("recording", recording);
    if (rest > 0)
        add(ofGpu ? "rounding of blocks" : "the program, rounding of blocks and other processes", rest);
    return text;
}

std::string whatDoesNotFit(const MemoryNeed& need, const std::vector<MemoryLimit>& limits, std::optional<std::int64_t> gpuFree,
                           const std::string& gpuName)
{
    if (gpuFree && need.gpu > *gpuFree) {
        const sim::BesideLimit beside = bytesBeside(need.gpu, *gpuFree);
        return "the run needs " + beside.need() + " of the GPU's memory (" + need.text(need.gpu, true) + "), and " + gpuName +
               " has " + beside.limit() + " free";
    }
    for (const MemoryLimit& limit : limits) {
        const std::int64_t needed = limit.isShared ? need.machine : need.host;
        if (needed > limit.free) {
            const sim::BesideLimit beside = bytesBeside(needed, limit.free);
            return "the run needs " + beside.need() + " of memory (" + need.text(needed, false) + "), and of " + limit.name +
                   " " + beside.limit() + " of " + bytesText(limit.all) + " are free";
        }
    }
    return {};
}

std::string nearestThatFits(const sim::Scenario& scenario, const std::function<bool(const sim::Scenario&)>& fits)
{
    const auto start = std::chrono::steady_clock::now();
    const auto tryThis = [&](const sim::Scenario& changed) {
        constexpr std::chrono::seconds kPatience{10};
        try {
            return std::chrono::steady_clock::now() - start < kPatience && fits(changed);
        } catch (const sim::Error&) { // not a job that can be trained
            return false;
        }
    };
    // Each on its own, then all that was before together.
    sim::Scenario all = scenario;
    std::string names;
    const auto change = [&](const std::string& name, const std::function<void(sim::Scenario&)>& apply) -> std::string {
        sim::Scenario one = scenario;
        apply(one);
        apply(all);
        names += (names.empty() ? "" : ", ") + name;
        return tryThis(one) ? name : tryThis(all) ? names : "";
    };
    const auto recompute = [](sim::Scenario& job) {
        job.training.recompute = sim::Recompute::full;
        const auto& layers = job.schedule.layersPerStage;
        job.training.recomputeLayers = layers.empty() ? 0 : *std::max_element(layers.begin(), layers.end());
    };
    std::string found;
    if (scenario.training.recompute != sim::Recompute::full)
        found = change("training.recompute=full", recompute);
    for (int size = scenario.training.microBatchSize - 1; found.empty() && size >= 1; --size)
        if (scenario.training.microBatchSize % size == 0)
            found = change("training.micro_batch_size=" + std::to_string(size),
                           [size](sim::Scenario& job) { job.training.microBatchSize = size; });
    const int ranks = scenario.layout.dp * scenario.layout.cp;
    for (int stage = scenario.layout.zeroStage + 1; ranks > 1 && found.empty() && stage <= 3; ++stage)
        found =
            change("layout.zero_stage=" + std::to_string(stage), [stage](sim::Scenario& job) { job.layout.zeroStage = stage; });
    for (const LighterStates& lighter : kLighterStates)
        if (found.empty() && statesWith(lighter, scenario) < statesOfJob(scenario))
            found = change(lighter.name, [&](sim::Scenario& job) { lighter.apply(job.training); });
    return found;
}

} // namespace live
