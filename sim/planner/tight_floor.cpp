#include "sim/planner/tight_floor.h"

#include "sim/cost/cost.h"
#include "sim/index.h"
#include "sim/mesh/mesh.h"
#include "sim/mesh/placement.h"
#include "sim/planner/floors.h"
#include "sim/program/program.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <vector>

namespace sim {
namespace {

constexpr double kNoMessageYet = std::numeric_limits<double>::infinity();
constexpr double kNeverBusy = -1e30;

struct PassEnds {
    double compute = 0; ///< after its first kernel may begin
    double send = 0;    ///< when what it sends is ready
    bool usesDataParallel = false;
    double keptBytes = 0, peakBytes = 0;
};

/// Where the streams of a rank stand.
using Tails = std::array<double, kStreamCount>;

/// Runs a pass on streams that stand where `tails` say; returns when what it sends is ready.
double runPass(const Pass& pass, const std::vector<std::int64_t>& durations, Tails& tails)
{
    double send = kNeverBusy;
    for (std::size_t i = 0; i < pass.ops.size(); ++i) {
        const Op& op = pass.ops[i];
        if (op.kind == OpKind::receive || op.kind == OpKind::post)
            continue;
        double start = tails[asIndex(op.stream)];
        for (unsigned waits = op.waits; waits != 0; waits &= waits - 1)
            start = std::max(start, tails[asIndex(std::countr_zero(waits))]);
        if (op.kind == OpKind::send) {
            send = std::max(start, tails[asIndex(Stream::compute)]);
            continue;
        }
        tails[asIndex(op.stream)] = start + static_cast<double>(durations[i]);
    }
    return send;
}

PassEnds endsOfPass(const Pass& pass, const std::vector<std::int64_t>& durations)
{
    PassEnds ends;
    double bytes = 0;
    for (const Op& op : pass.ops) {
        bytes += static_cast<double>(op.allocBytes);
        ends.peakBytes = std::max(ends.peakBytes, bytes);
        bytes -= static_cast<double>(op.freeBytes);
        ends.usesDataParallel = ends.usesDataParallel || ((op.waits | maskOf(op.stream)) & kDataParallelStreams) != 0;
    }
    ends.keptBytes = bytes;
    Tails tails;
    tails.fill(kNeverBusy);
    tails[asIndex(Stream::compute)] = 0;
    ends.send = runPass(pass, durations, tails);
    ends.compute = tails[asIndex(Stream::compute)];
    return ends;
}

} // namespace

TightFloor tightFloor(const Scenario& scenario, const PassCostsOf& costsOf)
{
    const Schedule schedule = planSchedule(scenario, costsOf);
    const Program program = lowerProgram(scenario, schedule);
    const PipelineGeometry geometry = pipelineGeometry(scenario);
    const CostModel cost(scenario);
    const OpDurations durations = cost.price(program, geometry.groups);
    const Mesh mesh(scenario.layout);
    const Placement placement(scenario.layout, scenario.cluster);

    std::vector<PassEnds> passes;
    for (std::size_t p = 0; p < program.passes.size(); ++p)
        passes.push_back(endsOfPass(program.passes[p], durations[p]));

    const std::size_t ranks = program.ranks.size();
    const auto rankAt = [&](int p) { return mesh.rank(0, 0, 0, p); };
    std::vector<double> sendNs;
    for (int tier = 0; tier < static_cast<int>(scenario.cluster.tiers.size()); ++tier)
        sendNs.push_back(static_cast<double>(cost.sendNs(program.sendBytes, tier)));

    TightFloor floor;
    struct Standing {
        Tails tails{};
        std::size_t step = 0;
        double bytes = 0, peak = 0;
        std::vector<double> mailbox;
    };
    std::vector<Standing> standing(ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
        standing[r].tails.fill(kNeverBusy);
        standing[r].tails[asIndex(Stream::compute)] = 0;
        standing[r].mailbox.assign(asIndex(program.ranks[r].slots), kNoMessageYet);
    }
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t r = 0; r < ranks; ++r) {
            Standing& here = standing[r];
            const std::vector<Step>& steps = program.ranks[r].steps;
            for (; here.step < steps.size(); ++here.step) {
                const Step& step = steps[here.step];
                double& compute = here.tails[asIndex(Stream::compute)];
                if (step.receiveSlot != kNoSlot) {
                    if (here.mailbox[asIndex(step.receiveSlot)] == kNoMessageYet)
                        break;
                }
                const double arrival = step.receiveSlot != kNoSlot ? here.mailbox[asIndex(step.receiveSlot)] : kNeverBusy;
                const PassEnds& ends = passes[step.pass];
                if (!ends.usesDataParallel)
                    compute = std::max(compute, arrival);
                here.peak = std::max(here.peak, here.bytes + ends.peakBytes);
                here.bytes += ends.keptBytes;
                double sent = compute + ends.send;
                if (ends.usesDataParallel) {
                    const double dp = here.tails[asIndex(Stream::dp)], replicas = here.tails[asIndex(Stream::replicas)];
                    const double from = compute;
                    here.tails.fill(kNeverBusy);
                    compute = from;
                    here.tails[asIndex(Stream::dp)] = dp;
                    here.tails[asIndex(Stream::replicas)] = replicas;
                    here.tails[asIndex(Stream::receive)] = arrival; // parameters are gathered before it is there
                    sent = runPass(program.passes[step.pass], durations[step.pass], here.tails);
                } else {
                    compute += ends.compute;
                }
                if (step.sendSlot != kNoSlot && step.sendTo >= 0) {
                    const int tier = placement.tierBetween(rankAt(static_cast<int>(r)), rankAt(step.sendTo));
                    standing[asIndex(step.sendTo)].mailbox[asIndex(step.sendSlot)] = sent + sendNs[asIndex(tier)];
                }
                moved = true;
            }
        }
    }
    for (std::size_t r = 0; r < ranks; ++r) {
        for (const double tail : standing[r].tails)
            floor.stepNs = std::max(floor.stepNs, tail);
        const ModelStates& states = program.ranks[r].states;
        const double bytes =
            standing[r].peak + static_cast<double>(states.parameters + states.gradients + states.optimizer + states.buffers);
        if (bytes > floor.peakBytes) {
            floor.peakBytes = bytes;
            floor.fullestRank = static_cast<int>(r);
        }
    }
    return floor;
}

} // namespace sim
