// What "Fix this" makes of a job that does not fit.
#include "app/session/fix_search.h"

#include "tests/app/session/session_fixtures.h"

#include <gtest/gtest.h>

namespace app {
namespace {

using namespace test;

sim::ScenarioDocument onGpusOf(double memoryGib)
{
    sim::ScenarioDocument out = document("05-dp2-tp4-pp2-sixteen-gpus.json");
    out.set("/cluster/gpu/memory_gib", std::to_string(memoryGib));
    return out;
}

/// The least change that just fits would be called nearly full by the next finding.
TEST(LeastFix, LeavesWhatAllocatorsReserveWhereItCan)
{
    const double peakGib = sim::simulate(scenario(document("05-dp2-tp4-pp2-sixteen-gpus.json")))->metrics().peakMemoryGib;
    const sim::LeastChange least = sim::leastChange({.document = onGpusOf(0.7 * peakGib)}, catalogue());
    ASSERT_TRUE(least.found() && least.keepsGpus());
    const double memoryGib = least.peakGib / 0.98;
    const sim::LeastChange just = sim::leastChange({.document = onGpusOf(memoryGib)}, catalogue());
    ASSERT_TRUE(just.found());
    ASSERT_GT(just.peakGib, 0.95 * memoryGib) << "else it has room anyhow";

    const Fix fix = leastFix(onGpusOf(memoryGib), catalogue());
    ASSERT_TRUE(fix.change.found());
    EXPECT_TRUE(fix.leavesRoom);
    EXPECT_LE(fix.change.peakGib, 0.95 * memoryGib);
    const auto fixed = sim::simulate(scenario(sim::withChange(onGpusOf(memoryGib), fix.change)));
    EXPECT_DOUBLE_EQ(fixed->metrics().peakMemoryGib, fix.change.peakGib);
}

} // namespace
} // namespace app
