// What live training does not do is refused before it starts, with the numbers and what would work.
#include "live/model/shape.h"
#include "live/runtime/data.h"
#include "sim/error.h"
#include "tests/live/support/jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace live::test {
namespace {

std::string refusalOf(const sim::Scenario& scenario)
{
    try {
        trainSteps(scenario, {.steps = 1});
    } catch (const sim::Error& error) {
        return error.what();
    }
    return "trained";
}

TEST(Refused, BiasesOfLatentAttention)
{
    const Settings latent = {"model.kv_lora_rank=16", "model.qk_nope_head_dim=8", "model.qk_rope_head_dim=8",
                             "model.v_head_dim=8"};
    EXPECT_EQ(refusalOf(job(latent + Settings{"model.position_embedding=rope"})),
              "live training does not do biases of latent attention (bias, qkv_bias); set them false");
    EXPECT_EQ(refusalOf(job(latent + Settings{"model.bias=false"})),
              "live training does not do latent attention with qk_rope_head_dim 8 and position_embedding learned; use rope and a "
              "positive one, or neither");
}

TEST(Refused, WindowsThatLookAhead)
{
    EXPECT_EQ(refusalOf(job({"model.sliding_window=4", "training.causal=false"})),
              "live training does not do windows or chunks of attention that looks ahead (causal false); use causal true");
}

TEST(Refused, MultiTokenPrediction)
{
    EXPECT_EQ(refusalOf(job({"model.num_nextn_predict_layers=1"})),
              "live training does not do multi-token prediction (num_nextn_predict_layers 1); use num_nextn_predict_layers 0");
}

TEST(Refused, ComparingInBf16)
{
    EXPECT_EQ(refusalOf(job({"live.dtype=bf16"})), "/live/dtype: layouts are compared on the CPU, in fp64 or fp32; this is bf16");
}

TEST(Refused, TextThatIsNotThereOrShorterThanASequence)
{
    EXPECT_EQ(refusalOf(job({"live.data=/no/such/text"})), "training data: cannot read /no/such/text: No such file or directory");
    const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "rankscope_short_text.txt";
    std::ofstream(path) << "To be";
    EXPECT_EQ(refusalOf(job({"live.data=" + path.string()})),
              "training data: " + path.string() + " has 5 bytes, a sequence needs 17");
    std::filesystem::remove(path);
}

} // namespace
} // namespace live::test
