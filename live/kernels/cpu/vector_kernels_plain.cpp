#define LIVE_VECTOR_NAMESPACE plain
#define LIVE_VECTOR_BYTES 16
#include "live/kernels/cpu/vector_kernels_body.h"
