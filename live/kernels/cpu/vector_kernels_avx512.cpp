#define LIVE_VECTOR_NAMESPACE avx512
#define LIVE_VECTOR_BYTES 64
#include "live/kernels/cpu/vector_kernels_body.h"
