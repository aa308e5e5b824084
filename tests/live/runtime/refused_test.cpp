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
              "/model/bias: live training does not do biases of latent attention; nearest: false");
    EXPECT_EQ(refusalOf(job(latent + Settings{"model.bias=false"})),
              "/model/qk_rope_head_dim: live training does not do latent attention with 8 here and position_embedding learned; "
              "nearest: rope and a positive number, or neither");
}

TEST(Refused, WindowsThatLookAhead)
{
    EXPECT_EQ(refusalOf(job({"model.sliding_window=4", "training.causal=false"})),
              "/training/causal: live training does not do windows or chunks of attention that looks ahead; nearest: true");
}

TEST(Refused, NoWindowOrChunkThatHoldsTheWholeSequence)
{
    for (const char* all : {"model.sliding_window=16", "model.attention_chunk_size=16"}) {
        const Settings settings = {all, "training.causal=false"};
        EXPECT_EQ(refusalOf(job(settings)), "trained") << all;
    }
}

TEST(Refused, AllThatItDoesNotDoAtOnce)
{
    const sim::Scenario scenario = job({"model.sliding_window=4", "training.causal=false", "model.num_nextn_predict_layers=2"});
    std::vector<std::string> pointers;
    for (const sim::Problem& problem : problemsOfTraining(scenario))
        pointers.push_back(problem.pointer);
    EXPECT_THAT(pointers, testing::ElementsAre("/training/causal", "/model/num_nextn_predict_layers"));
}

TEST(Refused, AdaptersWhoseOutputsTpDoesNotDivide)
{
    EXPECT_EQ(refusalOf(job(kAdapters + Settings{"model.hidden_size=36", "model.num_attention_heads=8", "model.head_dim=4",
                                                 "model.num_key_value_heads=8", "layout.tp=8", "training.lora.rank=8"})),
              "/layout/tp: live training does not do adapters (training.lora) whose 36 outputs (hidden_size) 8 does not divide; "
              "nearest: 4");
}

TEST(Refused, MultiTokenPrediction)
{
    EXPECT_EQ(refusalOf(job({"model.num_nextn_predict_layers=1"})),
              "/model/num_nextn_predict_layers: live training does not do multi-token prediction (1); nearest: 0");
}

TEST(Refused, ComparingInBf16)
{
    EXPECT_EQ(refusalOf(job({"live.dtype=bf16"})),
              "/live/dtype: layouts are compared on the CPU, in fp64 or fp32; this is bf16; nearest: --set live.dtype=fp32");
}

TEST(Refused, TextThatIsNotThereOrShorterThanASequence)
{
    EXPECT_EQ(refusalOf(job({"live.data=/no/such/text"})), "/live/data: cannot read /no/such/text: No such file or directory");
    const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "rankscope_short_text.txt";
    std::ofstream(path) << "To be";
    EXPECT_EQ(refusalOf(job({"live.data=" + path.string()})),
              "/live/data: " + path.string() + " has 5 bytes, a sequence needs 17");
    std::filesystem::remove(path);
}

} // namespace
} // namespace live::test
