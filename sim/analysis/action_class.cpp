#include "sim/analysis/action_class.h"

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

} // namespace sim
