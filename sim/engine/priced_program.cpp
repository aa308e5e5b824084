#include "sim/engine/priced_program.h"

#include "sim/cancel.h"
#include "sim/engine/documents.h"
#include "sim/engine/range.h"
#include "sim/engine/slowdown.h"
#include "sim/index.h"
#include "sim/scenario/about_key.h"

#include <algorithm>

namespace sim {
namespace {

OpUses usesOf(const CostModel& cost, const Program& program, const GroupGeometry& geometry, const OpDurations& durations)
{
    OpUses uses(program.passes.size());
    for (std::size_t p = 0; p < program.passes.size(); ++p) {
        const Pass& pass = program.passes[p];
        for (std::size_t i = 0; i < pass.ops.size(); ++i) {
            if (pass.ops[i].kind != OpKind::collective)
                continue;
            uses[p].resize(pass.ops.size());
            uses[p][i] = cost.collectiveUse(pass.shapes[i], geometry.shapes[asIndex(pass.ops[i].group)], durations[p][i]);
        }
    }
    return uses;
}

OpDurations beyondMean(const CostModel& cost, const Program& program, const Scenario& scenario)
{
    OpDurations out(program.passes.size());
    for (std::size_t p = 0; p < program.passes.size(); ++p) {
        const Pass& pass = program.passes[p];
        out[p].resize(pass.ops.size());
        for (std::size_t i = 0; i < pass.ops.size(); ++i)
            if (const OpShape& shape = pass.shapes[i]; shape.routed && pass.ops[i].kind == OpKind::compute)
                out[p][i] = std::max<std::int64_t>(0, cost.kernelNs(shape) - cost.kernelNs(meanShape(shape, scenario)));
    }
    return out;
}

PricedProgram priced(const Scenario& scenario, const Program& program, const RankClasses& classes)
{
    const CostModel cost(scenario);
    PricedProgram out;
    for (const GroupGeometry& geometry : classes.geometries) {
        checkCancelled();
        out.durations.push_back(cost.price(program, geometry));
        out.uses.push_back(usesOf(cost, program, geometry, out.durations.back()));
    }
    out.launches = cost.launches(program);
    int tiers = 0;
    for (const auto& peers : classes.pipelinePeers)
        for (const PipelinePeer& peer : peers)
            tiers = std::max(tiers, peer.tier + 1);
    for (int tier = 0; tier < tiers; ++tier) {
        out.sendNs.push_back(cost.sendNs(program.sendBytes, tier));
        out.sendUse.push_back(cost.sendUse(program.sendBytes, tier, out.sendNs.back()));
    }
    if (std::any_of(classes.slowdown.begin(), classes.slowdown.end(),
                    [](const RankSlowdown& slowdown) { return slowdown.jitter > 0 || slowdown.compute < 1; }))
        out.fastest = cost.fastest(program);
    if (scenario.training.moe.imbalanceOver(scenario.layout.ep) > 1)
        out.beyondMean = beyondMean(cost, program, scenario);
    return out;
}

} // namespace

PricedProgram priceProgram(const Scenario& scenario, const Program& program, const RankClasses& classes)
{
    PricedProgram prices = aboutKey(microbatchKey(scenario), [&] { return priced(scenario, program, classes); });
    prices.besideTransfers = scenario.cluster.efficiency.besideTransfers;
    prices.besideAllToAll = std::max(1.0, scenario.cluster.efficiency.besideAllToAll);
    requireRange(scenario, program, classes, prices);
    return prices;
}

std::int64_t opDurationNs(const PricedProgram& prices, const RankClasses& classes, const Program& program, int classIndex,
                          const Step& step, std::size_t op, std::int64_t opOrdinal)
{
    const std::int64_t duration = prices.durations[asIndex(classes.geometry[asIndex(classIndex)])][step.pass][op];
    const Op& what = program.passes[step.pass].ops[op];
    if (what.kind == OpKind::compute)
        return slowedKernelNs(duration, prices.fastest.empty() ? 0 : prices.fastest[step.pass][op],
                              classes.slowdown[asIndex(classIndex)], opOrdinal,
                              attentionShareOf(classes, classIndex, step.microbatch, program.passes[step.pass].shapes[op]));
    if (what.kind == OpKind::collective)
        return scaledNs(duration,
                        classes.classGroups[asIndex(classes.groups[asIndex(classIndex)][asIndex(what.group)])].linkFactor);
    return what.kind == OpKind::copy ? duration : 0;
}

} // namespace sim
