// Which way kernels go, where no annotation names passes.
#include "sim/recovery/pass_directions.h"

#include <gtest/gtest.h>

namespace {

/// Kernels of a rank by letters, one after the other: f and b attention of either way, g products, w gradients of weights.
sim::PassDirections directionsOfLetters(const std::string& letters)
{
    sim::RunEvidence evidence;
    evidence.names = {"flash_fwd_kernel<96>", "flash_bwd_dq_dk_dv", "sm90_gemm", "cutlass_wgrad", "flash_bwd_dot_do_o"};
    sim::RankEvidence rank;
    std::int64_t now = 1000;
    for (const char letter : letters) {
        if (letter == 'b') { // a short helper before it, which is no pass of its own
            rank.work.push_back({.startNs = now, .endNs = now + 1, .name = 4});
            ++now;
        }
        const std::uint32_t name = letter == 'f' ? 0U : letter == 'b' ? 1U : letter == 'g' ? 2U : 3U;
        rank.work.push_back({.startNs = now, .endNs = now + 10, .name = name});
        now += 10;
    }
    return sim::passDirections(sim::KernelWords(evidence), rank, {0, now});
}

TEST(PassDirections, AreThoseOfAttention)
{
    // Two layers a pass.
    EXPECT_EQ(directionsOfLetters("gfgf gfgf gbwgbw gfgf gbwgbw gbwgbw").asPasses(3, 3), "FFBFBB");
    EXPECT_EQ(directionsOfLetters("ffffff bbbbbb").asPasses(3, 3), "FFFBBB");
}

TEST(PassDirections, OfWhatIsRecomputedAreTheBackwards)
{
    EXPECT_EQ(directionsOfLetters("ffff fbfb fbfb").asPasses(2, 2), "FFBB");  // layer by layer
    EXPECT_EQ(directionsOfLetters("ff ffbb ff ffbb").asPasses(2, 2), "FBFB"); // a pass at once
    EXPECT_EQ(directionsOfLetters("ffff fbb fbb").asPasses(2, 2), "FFBB");    // one of two layers
}

TEST(PassDirections, AreNotKnownWithoutBothWays)
{
    EXPECT_FALSE(directionsOfLetters("ffgg").areKnown());
    EXPECT_FALSE(directionsOfLetters("gwgw").areKnown());
    EXPECT_EQ(directionsOfLetters("fb").asPasses(2, 2), "");
}

TEST(PassDirections, OfARowLeaveGradientsOfWeightsOut)
{
    using Kind = sim::ActionKind;
    EXPECT_EQ(sim::directionsOf({{.kind = Kind::forward}, {.kind = Kind::backwardInput}, {.kind = Kind::backwardWeight}}), "FB");
}

} // namespace
