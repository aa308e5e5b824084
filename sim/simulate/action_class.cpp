#include "sim/simulate/action_class.h"

#include "sim/index.h"
#include "sim/text/spoken_name.h"

#include <array>

namespace sim {

OpClass opClassOf(ActionKind kind)
{
    constexpr std::array kClasses{OpClass::forward, OpClass::backward, OpClass::backwardInput, OpClass::backwardWeight};
    return kClasses[asIndex(kind)];
}

OpClass opClassOf(const Op& op)
{
    if (op.purpose == OpPurpose::communication)
        return opClassOf(*dimensionOf(op.stream));
    constexpr std::array kClasses{OpClass::forward,   OpClass::backward,  OpClass::backwardInput, OpClass::backwardWeight,
                                  OpClass::recompute, OpClass::optimizer, OpClass::hostTransfer};
    return kClasses[asIndex(op.purpose)];
}

bool isAttention(const OpShape& shape)
{
    return shape.family == KernelFamily::attention || shape.family == KernelFamily::scores ||
           shape.family == KernelFamily::softmax;
}

OpClass opClassOf(Dimension dimension)
{
    constexpr ByDimension<OpClass> kClasses{
        {OpClass::tpComm, OpClass::cpComm, OpClass::epComm, OpClass::ppComm, OpClass::dpComm}};
    return kClasses[dimension];
}

std::optional<ActionKind> actionKindOf(OpClass opClass)
{
    for (const ActionKind kind :
         {ActionKind::forward, ActionKind::backward, ActionKind::backwardInput, ActionKind::backwardWeight})
        if (opClassOf(kind) == opClass)
            return kind;
    return std::nullopt;
}

std::string spanName(const Trace& trace, std::uint32_t trackIndex, std::size_t span, bool withStage)
{
    const Track& track = trace.tracks[trackIndex];
    const SpanKind& of = trace.kinds[track.kind[span]];
    const std::optional<ActionKind> kind = actionKindOf(of.opClass);
    if (track.role != TrackRole::actions || !kind || track.microbatch[span] < 0)
        return spokenOp(of.name);
    return actionName({.kind = *kind, .stage = of.stage, .microbatch = track.microbatch[span]}, trace.slices,
                      withStage && of.stage >= 0);
}

} // namespace sim
