#include "sim/answers/traffic_parts.h"
#include "sim/index.h"
#include "sim/simulate/simulation.h"

#include <algorithm>

namespace sim {
namespace {

bool isOfForward(const Op& op)
{
    return op.purpose == OpPurpose::forward;
}
bool isOfBackward(const Op& op)
{
    return op.purpose == OpPurpose::backward || op.purpose == OpPurpose::backwardInput || op.purpose == OpPurpose::backwardWeight;
}

/// Layers of a pass, relative to its stage's first one, if it computes some of them so.
template <typename Is>
int layersComputed(const Pass& pass, Is is)
{
    int layers = 0;
    for (const Op& op : pass.ops)
        if (op.kind == OpKind::compute && is(op))
            layers = std::max<int>(layers, op.layer + 1);
    return layers;
}

template <typename Is>
void addOps(Answer& out, const Program& program, const Pass& pass, int layer, Is isOther)
{
    for (std::size_t i = 0; i < pass.ops.size(); ++i) {
        const Op& op = pass.ops[i];
        if (op.layer != layer || isOther(op) || (op.kind != OpKind::compute && op.kind != OpKind::collective))
            continue;
        Answer entry{{"op", program.labels[op.label]}, {"at", out.size()}};
        if (op.kind == OpKind::collective)
            entry.update({{"group", communicatorRoleName(op.group)},
                          {"collective", factsOf(pass.shapes[i].collective).curve},
                          {"bytes", pass.shapes[i].bytes}});
        if (op.again)
            entry["again"] = true;
        out.push_back(std::move(entry));
    }
}

} // namespace

Answer layerAnswer(const Simulation& simulation)
{
    const Program& program = simulation.program();
    const Step *forward = nullptr, *backward = nullptr, *weights = nullptr;
    int layer = 0;
    for (const Step& step : program.ranks.front().steps) {
        const Pass& pass = program.passes[step.pass];
        if (step.stage < 0)
            continue;
        if (forward == nullptr) {
            if (const int layers = layersComputed(pass, isOfForward); layers > 0) {
                forward = &step;
                layer = layers == 2 ? 1 : layers / 2; // the first of a stage has other neighbours than most
            }
            continue;
        }
        if (step.stage != forward->stage)
            continue;
        const auto computes = [&](OpPurpose purpose) {
            return layersComputed(pass, [purpose](const Op& op) { return op.purpose == purpose; }) > layer;
        };
        if (backward == nullptr && (computes(OpPurpose::backward) || computes(OpPurpose::backwardInput)))
            backward = &step;
        if (weights == nullptr && computes(OpPurpose::backwardWeight))
            weights = &step;
    }
    if (forward == nullptr)
        return nullptr;
    Answer out{{"layer", program.firstLayerOfStage[asIndex(forward->stage)] + layer},
               {"forward", Answer::array()},
               {"backward", Answer::array()}};
    addOps(out["forward"], program, program.passes[forward->pass], layer, isOfBackward);
    for (const Step* step :
         {backward, weights == nullptr || backward == nullptr || weights->pass == backward->pass ? nullptr : weights})
        if (step != nullptr)
            addOps(out["backward"], program, program.passes[step->pass], layer, isOfForward);
    return out;
}

} // namespace sim
