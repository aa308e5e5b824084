#include "sim/simulate/action_class.h"

namespace sim {

OpClass opClassOf(ActionKind kind)
{
    switch (kind) {
    case ActionKind::forward:
        return OpClass::forward;
    case ActionKind::backward:
        return OpClass::backward;
    case ActionKind::backwardInput:
        return OpClass::backwardInput;
    case ActionKind::backwardWeight:
        return OpClass::backwardWeight;
    }
    return OpClass::other;
}

OpClass opClassOf(const Op& op)
{
    switch (op.purpose) {
    case OpPurpose::forward:
        return OpClass::forward;
    case OpPurpose::backward:
        return OpClass::backward;
    case OpPurpose::backwardInput:
        return OpClass::backwardInput;
    case OpPurpose::backwardWeight:
        return OpClass::backwardWeight;
    case OpPurpose::recompute:
        return OpClass::recompute;
    case OpPurpose::optimizer:
        return OpClass::optimizer;
    case OpPurpose::communication:
        return opClassOf(*dimensionOf(op.stream));
    }
    return OpClass::other;
}

OpClass opClassOf(Dimension dimension)
{
    constexpr ByDimension<OpClass> kClasses{
        {OpClass::tpComm, OpClass::cpComm, OpClass::epComm, OpClass::ppComm, OpClass::dpComm}};
    return kClasses[dimension];
}

} // namespace sim
