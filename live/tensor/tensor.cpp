#include "live/tensor/tensor.h"

namespace live {

const char* dtypeName(DType type)
{
    switch (type) {
    case DType::f32:
        return "fp32";
    case DType::f64:
        return "fp64";
    case DType::bf16:
        return "bf16";
    case DType::i32:
        return "int32";
    case DType::i64:
        return "int64";
    }
    return "?";
}

} // namespace live
