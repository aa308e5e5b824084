// Names of measured curves: whatever a profile may be made of, a file may say.
#include "sim/cost/profile_curves.h"

#include "sim/scenario/hardware_profile.h"
#include "tests/support/catalogue.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

using namespace sim;

TEST(ProfileCurves, EveryNameIsOneThatAFileMayHave)
{
    Scenario scenario = test::smallScenario();
    int named = 0;
    for (const Normalization normalization : {Normalization::layernorm, Normalization::rmsnorm})
        for (const bool gated : {false, true})
            for (std::size_t family = 0; family < kKernelFamilyCount; ++family)
                for (const KernelPass pass : {KernelPass::forward, KernelPass::backward, KernelPass::weightGradient}) {
                    scenario.model.normalization = normalization;
                    scenario.model.gatedMlp = gated;
                    const std::string name = kernelCurveName(static_cast<KernelFamily>(family), pass, scenario);
                    if (name.empty())
                        continue;
                    ++named;
                    const std::string text = R"({"kernels":[{"name":")" + name + R"(","points":[{"m":1,"n":1,"us":1}]}]})";
                    EXPECT_NO_THROW(readHardwareProfile(text, "p.json", test::catalogue().schema())) << name;
                }
    EXPECT_GT(named, 60);
}
