// The layouts that are equal to serial training on the CPU (tests/live/runtime) are so on the machine too, in many orders: all
// ranks on one GPU, and a GPU and a process a rank with NCCL between them.
#include "live/emulated/emulated_run.h"
#include "live/model/shape.h"
#include "sim/error.h"
#include "tests/live/support/jobs.h"
#include "tests/live/support/matrix.h"

#include <gtest/gtest.h>

#include <map>

namespace live::test {
namespace {

using emulated::EmulationOptions, emulated::Placement;

} // namespace
} // namespace live::test
