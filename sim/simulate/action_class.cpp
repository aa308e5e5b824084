#include "sim/simulate/action_class.h"

#include "sim/index.h"

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

OpClass opClassOf(Dimension dimension)
{
    constexpr ByDimension<OpClass> kClasses{
        {OpClass::tpComm, OpClass::cpComm, OpClass::epComm, OpClass::ppComm, OpClass::dpComm}};
    return kClasses[dimension];
}

} // namespace sim
