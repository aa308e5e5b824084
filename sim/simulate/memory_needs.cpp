#include "sim/simulate/memory_needs.h"

#include "sim/engine/engine.h"
#include "sim/index.h"
#include "sim/memory_limit.h"
#include "sim/scenario/about_key.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace sim {
namespace {

/// Start and end, as EngineResult keeps them.
constexpr double kBytesAnOp = 16;
/// Of a transfer that may meet others: how much longer it took, and once more while the list of these moves to a larger place.
constexpr double kBytesATransfer = 2 * sizeof(EngineResult::Stretch);
/// A place of the engine's mailbox.
constexpr double kBytesASlot = 16;
/// A span with its correlation, and as much again for the counter of memory, which has a point an allocation or two.
constexpr double kBytesASpan = 32;
constexpr double kBytesAPoint = 40;
/// A flow, and both its ends while they are matched.
constexpr double kBytesAFlow = 64;

std::string counted(double count, const std::string& noun)
{
    std::string text = std::to_string(std::llround(count));
    for (std::size_t end = text.size(); end > 3; end -= 3)
        text.insert(end - 3, 1, ',');
    return text + " " + noun + (count == 1 ? "" : "s");
}

/// Of one rank of each pipeline coordinate.
std::vector<double> classesByPipelineRank(const Program& program, const RankClasses& classes)
{
    std::vector<double> count(program.ranks.size(), 0);
    for (const int pipelineRank : classes.pipelineRank)
        ++count[asIndex(pipelineRank)];
    return count;
}

std::string simulatedRanks(const RankClasses& classes, const MemoryRequest& request)
{
    const double count = classes.count();
    return request.full ? counted(count, "rank") + " one by one" : counted(count, "rank") + " that differ";
}

/// Needs grow with the micro-batches, all but a little. `instead`: what else would do.
void refuse(const std::string& what, double bytes, const RankClasses& classes, const MemoryRequest& request, std::string instead)
{
    const Scenario& scenario = request.scenario;
    if (request.full && asIndex(classes.count()) == classes.classOf.size())
        instead += "one of each class of ranks instead of every rank, or ";
    const std::string batch = nearestBatch(scenario, std::floor(scenario.microbatches() * request.limitBytes / bytes));
    const bool isPerturbed = std::any_of(scenario.perturbations.begin(), scenario.perturbations.end(),
                                         [](const Perturbation& perturbation) { return perturbation.slowsStep(); });
    const char* const pointer = !batch.empty()                           ? "/training/global_batch_size"
                                : isPerturbed                            ? "/perturbations"
                                : scenario.training.documents.areGiven() ? "/training/documents"
                                                                         : "/layout";
    aboutKey(pointer, [&] {
        refuseMemory(what, bytes, request.limitBytes, instead + (batch.empty() ? "fewer ranks that differ" : batch));
    });
}

struct StepNeeds {
    double ops = 0, transfers = 0, slots = 0;
    double bytes() const { return ops * kBytesAnOp + transfers * kBytesATransfer + slots * kBytesASlot; }
};

StepNeeds needsOfStep(const Program& program, const RankClasses& classes)
{
    const std::vector<double> count = classesByPipelineRank(program, classes);
    std::vector<double> transfersOfPass;
    for (const Pass& pass : program.passes)
        transfersOfPass.push_back(static_cast<double>(std::count_if(pass.ops.begin(), pass.ops.end(), [](const Op& op) {
            return op.kind == OpKind::collective || op.kind == OpKind::send;
        })));
    StepNeeds needs;
    for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
        needs.ops += count[rank] * static_cast<double>(program.ranks[rank].opCount);
        for (const Step& step : program.ranks[rank].steps)
            needs.transfers += count[rank] * transfersOfPass[step.pass];
        needs.slots += count[rank] * static_cast<double>(program.ranks[rank].slots);
    }
    return needs;
}

} // namespace

void requireMemoryForStep(const Program& program, const RankClasses& classes, const MemoryRequest& request)
{
    const StepNeeds needs = needsOfStep(program, classes);
    if (const double bytes = needs.bytes(); bytes > request.limitBytes)
        refuse("a step of " + counted(needs.ops, "op") + " on " + simulatedRanks(classes, request), bytes, classes, request, "");
}

void requireMemoryForTrace(const Program& program, const RankClasses& classes, TraceDetail detail, const MemoryRequest& request)
{
    struct Counts {
        double spans = 0, points = 0;
    };
    std::vector<Counts> ofPass(program.passes.size());
    for (std::size_t pass = 0; pass < program.passes.size(); ++pass)
        for (const Op& op : program.passes[pass].ops) {
            ofPass[pass].spans += op.kind != OpKind::wait ? 1 : 0;
            ofPass[pass].points += (op.allocBytes != 0 ? 1 : 0) + (op.freeBytes != 0 ? 1 : 0);
        }
    const std::vector<double> count = classesByPipelineRank(program, classes);
    double spans = 0, bytes = needsOfStep(program, classes).bytes();
    for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
        Counts sum;
        double flows = 0;
        for (const Step& step : program.ranks[rank].steps) {
            sum.spans += 1;
            sum.points += 2;
            flows += step.sendSlot != kNoSlot ? 1 : 0;
            if (detail == TraceDetail::kernels) {
                sum.spans += ofPass[step.pass].spans;
                sum.points += ofPass[step.pass].points;
            }
        }
        spans += count[rank] * sum.spans;
        bytes += count[rank] * (sum.spans * kBytesASpan + sum.points * kBytesAPoint + flows * kBytesAFlow);
    }
    if (bytes > request.limitBytes)
        refuse("a step with a timeline of " + counted(spans, "span") + " on " + simulatedRanks(classes, request), bytes, classes,
               request, detail == TraceDetail::kernels ? "actions instead of kernels, or " : "");
}

} // namespace sim
