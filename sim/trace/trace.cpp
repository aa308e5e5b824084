#include "sim/trace/trace.h"

#include <array>

namespace sim {

const char* opClassName(OpClass opClass)
{
    constexpr std::array<const char*, kOpClassCount> kNames{
        "forward", "backward", "input gradient", "weight gradient", "recompute", "optimizer", "tp comm",
        "cp comm", "ep comm",  "pp comm",        "dp comm",         "host",      "other"};
    return kNames[static_cast<std::size_t>(opClass)];
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
