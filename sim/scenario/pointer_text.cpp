#include "sim/scenario/pointer_text.h"

#include <algorithm>

namespace sim {

std::string dotted(std::string pointer)
{
    if (pointer.starts_with('/'))
        pointer.erase(0, 1);
    std::replace(pointer.begin(), pointer.end(), '/', '.');
    return pointer;
}

std::string slashed(std::string pointer)
{
    if (pointer.starts_with('/'))
        return pointer;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    return "/" + pointer;
}

} // namespace sim
