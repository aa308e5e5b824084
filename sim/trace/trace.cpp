#include "sim/trace/trace.h"

#include <cassert>

namespace sim {

const char* opClassName(OpClass opClass)
{
    switch (opClass) {
    case OpClass::forward:
        return "forward";
    case OpClass::backward:
        return "backward";
    case OpClass::backwardInput:
        return "input gradient";
    case OpClass::backwardWeight:
        return "weight gradient";
    case OpClass::recompute:
        return "recompute";
    case OpClass::optimizer:
        return "optimizer";
    case OpClass::tpComm:
        return "tp comm";
    case OpClass::cpComm:
        return "cp comm";
    case OpClass::epComm:
        return "ep comm";
    case OpClass::ppComm:
        return "pp comm";
    case OpClass::dpComm:
        return "dp comm";
    case OpClass::other:
        return "other";
    }
    assert(false);
    return "other";
}

std::string Trace::microbatchText(std::int32_t microbatch) const
{
    if (slices == 1)
        return std::to_string(microbatch);
    return std::to_string(microbatch / slices) + "." + std::to_string(microbatch % slices);
}

std::size_t Trace::spanCount() const
{
    std::size_t count = 0;
    for (const Track& track : tracks)
        count += track.size();
    return count;
}

} // namespace sim
