#include "live/tensor/tensor.h"

#include <array>

namespace live {

const char* dtypeName(DType type)
{
    constexpr std::array<const char*, 5> kNames = {"fp32", "fp64", "bf16", "int32", "int64"};
    return kNames[static_cast<std::size_t>(type)];
}

} // namespace live
