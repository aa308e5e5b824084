// What the sliders and steppers of the form may stop at.
#include "app/session/number_candidates.h"

#include "app/session/scenario_state.h"
#include "tests/app/session/session_fixtures.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace app {
namespace {

/// What is not there is offered as somebody would write it.
TEST(NumberCandidates, OfAPeakThatAGpuDoesNotHaveAreNearThoseThatItHas)
{
    const sim::ScenarioDocument document = test::document("10-fsdp-four-nodes.json");
    const sim::Scenario scenario = test::scenario(document);
    ASSERT_FALSE(scenario.cluster.gpu.peakTflops.contains(sim::Precision::mxfp8));
    const double bf16 = scenario.cluster.gpu.peakTflops.at(sim::Precision::bf16);
    const std::set<double> offered =
        candidateNumbers(ScenarioState(document, &scenario, test::catalogue()), "/cluster/gpu/peak_tflops/mxfp8");
    ASSERT_FALSE(offered.empty());
    EXPECT_GT(*offered.begin(), bf16 / 1000);
    EXPECT_TRUE(std::any_of(offered.begin(), offered.end(), [=](double peak) { return peak >= bf16 && peak <= 4 * bf16; }));
}

} // namespace
} // namespace app
