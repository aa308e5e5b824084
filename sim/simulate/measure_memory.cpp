#include "sim/simulate/measure_memory.h"

#include "sim/cancel.h"
#include "sim/index.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace sim {
namespace {

/// One allocation or release.
struct MemoryEvent {
    const Step& step;
    const Op& op;
    std::int64_t timeNs;
    std::int64_t bytes; ///< below zero: a release
};

/// Every allocation and release of a class in the order of issue, until `visit` returns false.
template <typename Visit>
void replay(const Program& program, const RankClasses& classes, const EngineResult& result, int c, Visit visit)
{
    std::int64_t timeNs = 0;
    std::size_t place = result.firstOp[asIndex(c)];
    CancelPoll poll;
    for (const Step& step : program.ranks[asIndex(classes.pipelineRank[asIndex(c)])].steps) {
        poll(4 * program.passes[step.pass].ops.size() + 1);
        for (const Op& op : program.passes[step.pass].ops) {
            const std::int64_t start = result.opStartNs[place], end = result.opEndNs[place];
            ++place;
            if (op.allocBytes != 0) {
                timeNs = std::max(timeNs, start);
                if (!visit(MemoryEvent{step, op, timeNs, op.allocBytes}))
                    return;
            }
            if (op.freeBytes != 0) {
                timeNs = std::max(timeNs, end);
                if (!visit(MemoryEvent{step, op, timeNs, -op.freeBytes}))
                    return;
            }
        }
    }
}

/// Of all steps of a rank.
std::size_t eventCount(const Program& program, const RankProgram& rank)
{
    std::vector<std::size_t> ofPass(program.passes.size());
    for (std::size_t pass = 0; pass < program.passes.size(); ++pass)
        for (const Op& op : program.passes[pass].ops)
            ofPass[pass] += (op.allocBytes != 0 ? 1U : 0U) + (op.freeBytes != 0 ? 1U : 0U);
    CancelPoll poll;
    std::size_t count = 0;
    for (const Step& step : rank.steps) {
        poll();
        count += ofPass[step.pass];
    }
    return count;
}

MemoryBreakdown statesOf(const Program& program, const RankClasses& classes, int c)
{
    const ModelStates& states = program.ranks[asIndex(classes.pipelineRank[asIndex(c)])].states;
    return {
        .parameters = states.parameters, .gradients = states.gradients, .optimizer = states.optimizer, .buffers = states.buffers};
}

/// "attn.out" of "attn.out.wgrad": the operator that a kernel belongs to.
std::string operatorName(const std::string& kernel)
{
    for (const std::string_view suffix : {".dgrad", ".wgrad", ".backward"})
        if (kernel.ends_with(suffix))
            return kernel.substr(0, kernel.size() - suffix.size());
    return kernel;
}

/// How many events there are until the fullest moment of that instant, or until it where nothing changes then.
std::size_t eventsUntil(const Program& program, const RankClasses& classes, const EngineResult& result, int c, std::int64_t atNs)
{
    std::size_t seen = 0, chosen = 0;
    std::int64_t held = 0, highest = 0;
    bool changes = false;
    replay(program, classes, result, c, [&](const MemoryEvent& event) {
        if (event.timeNs > atNs)
            return false;
        ++seen;
        held += event.bytes;
        if (event.timeNs < atNs || !changes || held > highest) {
            changes = event.timeNs == atNs;
            chosen = seen;
            highest = held;
        }
        return true;
    });
    return chosen;
}

std::vector<HeldMicrobatches> groupMicrobatches(const std::map<std::pair<int, int>, std::int64_t>& held)
{
    std::map<std::tuple<int, std::int64_t>, std::vector<int>> groups; // stage, -bytes each
    for (const auto& [owner, bytes] : held)
        if (bytes != 0)
            groups[{owner.first, -bytes}].push_back(owner.second);
    std::vector<HeldMicrobatches> out;
    for (auto& [key, microbatches] : groups)
        out.push_back({.stage = std::get<0>(key), .microbatches = std::move(microbatches), .bytesEach = -std::get<1>(key)});
    return out;
}

} // namespace

MemoryBreakdown MemoryCurves::at(std::size_t point) const
{
    MemoryBreakdown held = states;
    held.activations += activations[point];
    held.buffers += buffers[point];
    return held;
}

std::size_t MemoryCurves::peak() const
{
    std::size_t best = 0;
    for (std::size_t i = 1; i < size(); ++i)
        if (activations[i] + buffers[i] > activations[best] + buffers[best])
            best = i;
    return best;
}

void MemoryCurves::add(std::int64_t atNs, std::int64_t activationBytes, std::int64_t bufferBytes)
{
    atNs = timeNs.empty() ? 0 : std::max(atNs, timeNs.back());
    const std::size_t points = size();
    if (points < 2 || timeNs[points - 1] != atNs || timeNs[points - 2] != atNs) {
        timeNs.push_back(atNs);
        activations.push_back(activationBytes);
        buffers.push_back(bufferBytes);
        return;
    }
    if (activations[points - 1] + buffers[points - 1] > activations[points - 2] + buffers[points - 2]) {
        activations[points - 2] = activations[points - 1];
        buffers[points - 2] = buffers[points - 1];
    }
    activations[points - 1] = activationBytes;
    buffers[points - 1] = bufferBytes;
}

MemoryCurves measureMemoryCurves(const Program& program, const RankClasses& classes, const EngineResult& result, int c)
{
    MemoryCurves curves{.states = statesOf(program, classes, c)};
    // Growing would move a hundred million points at once.
    constexpr std::int64_t kManyOps = 1'000'000;
    if (const RankProgram& rank = program.ranks[asIndex(classes.pipelineRank[asIndex(c)])]; rank.opCount > kManyOps) {
        const std::size_t most = 1 + eventCount(program, rank);
        for (std::vector<std::int64_t>* column : {&curves.timeNs, &curves.activations, &curves.buffers})
            column->reserve(most);
    }
    curves.add(0, 0, 0);
    std::int64_t activations = 0, buffers = 0;
    replay(program, classes, result, c, [&](const MemoryEvent& event) {
        (event.op.buffer ? buffers : activations) += event.bytes;
        curves.add(event.timeNs, activations, buffers);
        return true;
    });
    return curves;
}

MemoryContents measureMemoryContents(const Program& program, const RankClasses& classes, const EngineResult& result, int c,
                                     std::int64_t atNs)
{
    std::size_t left = eventsUntil(program, classes, result, c, atNs);
    MemoryContents contents{.sum = statesOf(program, classes, c)};
    const ModelStates& states = program.ranks[asIndex(classes.pipelineRank[asIndex(c)])].states;
    contents.narrowWeights = states.narrowWeights;
    contents.messageBuffers = states.messageBuffers;
    contents.reductionBuffers = states.reductionBuffers;
    contents.gatheredParameters =
        contents.sum.buffers - contents.narrowWeights - contents.messageBuffers - contents.reductionBuffers;
    std::map<std::pair<int, int>, std::int64_t> byMicrobatch; // stage, micro-batch
    std::vector<std::int64_t> byLabel(program.labels.size(), 0);
    if (left > 0)
        replay(program, classes, result, c, [&](const MemoryEvent& event) {
            const Op& op = event.op;
            if (!op.buffer) {
                contents.sum.activations += event.bytes;
                const auto held = byMicrobatch.try_emplace({event.step.stage, event.step.microbatch}, 0).first;
                held->second += event.bytes;
                if (held->second == 0) // only those that are held: there may be millions
                    byMicrobatch.erase(held);
                byLabel[op.label] += event.bytes;
                return --left > 0;
            }
            // A gather takes what a wait frees; gradients are taken by a wait, or by the reduction that frees them.
            contents.sum.buffers += event.bytes;
            if (op.purpose == OpPurpose::optimizer) // its own: neither parameters nor gradients of layers
                return --left > 0;
            if (program.labels[op.label] == kStartedAhead) {
                contents.startedAhead += event.bytes;
                return --left > 0;
            }
            if (program.labels[op.label] == kKeptMessage) {
                contents.messageBuffers += event.bytes;
                return --left > 0;
            }
            const bool gathers = op.purpose == OpPurpose::communication && program.labels[op.label].starts_with("param.gather");
            const bool releases = op.kind == OpKind::wait && event.bytes < 0;
            (gathers || releases ? contents.gatheredParameters : contents.wholeGradients) += event.bytes;
            return --left > 0;
        });
    contents.microbatches = groupMicrobatches(byMicrobatch);

    std::map<std::string, std::int64_t> byOperator;
    for (std::size_t label = 0; label < byLabel.size(); ++label)
        if (byLabel[label] != 0)
            byOperator[operatorName(program.labels[label])] += byLabel[label];
    for (auto& [name, bytes] : byOperator)
        if (bytes != 0)
            contents.tensors.push_back({.name = name, .bytes = bytes});
    std::stable_sort(contents.tensors.begin(), contents.tensors.end(),
                     [](const HeldTensors& a, const HeldTensors& b) { return a.bytes > b.bytes; });
    return contents;
}

} // namespace sim
