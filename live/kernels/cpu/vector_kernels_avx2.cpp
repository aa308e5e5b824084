#define LIVE_VECTOR_NAMESPACE avx2
#define LIVE_VECTOR_BYTES 32
#include "live/kernels/cpu/vector_kernels_body.h"
