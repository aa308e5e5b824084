#include "sim/scenario/document.h"
#include "sim/scenario/stack_json.h"
#include "tests/support/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

using namespace sim;
using testing::HasSubstr;

namespace {

ScenarioDocument::Resolved resolved(const std::string& training, int zeroStage = 0)
{
    return ScenarioDocument::parse(R"({"format":"rankscope-scenario","version":1,"model":"llama3-8b","cluster":"h100-sxm-ib400",
        "layout":{"dp":8,"zero_stage":)" +
                                   std::to_string(zeroStage) + R"(},"training":)" + training + "}")
        .resolve(test::catalogue());
}

Training trainingOf(const std::string& training, int zeroStage = 0)
{
    auto outcome = resolved(training, zeroStage);
    if (!outcome.scenario)
        throw ScenarioError(outcome.problems);
    return outcome.scenario->training;
}

} // namespace

TEST(Stack, OfTheCatalogueIsNamedOverriddenOrUsual)
{
    EXPECT_EQ(trainingOf("{}").stack.id, "megatron-te-2024");
    EXPECT_EQ(trainingOf(R"({"stack":"pytorch-eager"})").stack.id, "pytorch-eager");
    const Stack eager = trainingOf(R"({"stack":"pytorch-eager"})").stack;
    const Stack changed = trainingOf(R"({"stack":{"base":"pytorch-eager","launch_us":3,"norm":{"launches":[1,2]}}})").stack;
    EXPECT_EQ(changed.launchUs, 3);
    EXPECT_EQ(changed.of(StackPart::norm).launches, 1);
    EXPECT_EQ(changed.of(StackPart::norm).traffic, eager.of(StackPart::norm).traffic);
    EXPECT_EQ(changed.backwardLaunchUs, eager.backwardLaunchUs);
}

// Where the loss is not compiled, log-softmax and two gradients in single precision meet, and logits in 16 bits have left a block
// of 2 bytes an element that none of them fits into; of torch's loss_parallel four meet. A norm that is not fused keeps its input
// in single precision and what it has made in 16 bits.
TEST(Stack, OfPyTorchKeepsWhatItsLossAndItsNormsMake)
{
    constexpr double kLogit = 4, kActivation = 2; // bytes of an element that a fused kernel keeps
    for (const char* id : {"pytorch-eager", "pytorch-compiled"}) {
        const Stack stack = trainingOf(R"({"stack":")" + std::string(id) + R"("})").stack;
        EXPECT_EQ(stack.of(StackPart::loss).saved * kLogit, 3 * 4 + 2) << id;
        EXPECT_EQ(stack.shardedLossSaved * kLogit, 4 * 4 + 2) << id;
    }
    for (const char* id : {"pytorch-eager", "huggingface", "deepspeed-2023"})
        EXPECT_EQ(trainingOf(R"({"stack":")" + std::string(id) + R"("})", 3).stack.of(StackPart::norm).saved * kActivation, 4 + 2)
            << id;
}

TEST(Stack, ThatIsUnknownIsToldWithTheNearest)
{
    const auto outcome = resolved(R"({"stack":"megatron-te-2026"})");
    ASSERT_FALSE(outcome.scenario);
    EXPECT_THAT(outcome.problems.at(0).text(), HasSubstr("/training/stack"));
    EXPECT_THAT(outcome.problems.at(0).text(), HasSubstr("megatron-te-2025"));
}

// Read as a fraction half a parameter at a time would be all of them.
TEST(Stack, CountsAreWholeNumbers)
{
    for (const char* key : {"updated_together", "update_moments", "reduce_bucket", "reductions_ahead"}) {
        const auto given = [key](const char* value) {
            return resolved(R"({"stack":{"base":"huggingface",")" + std::string(key) + "\":" + value + "}}");
        };
        EXPECT_TRUE(given("3").scenario) << key;
        const auto outcome = given("0.5");
        ASSERT_FALSE(outcome.scenario) << key;
        EXPECT_THAT(outcome.problems.at(0).text(), HasSubstr(key));
    }
}

TEST(Stack, OfPyTorchHoldsWhatItsAdamWMakes)
{
    EXPECT_EQ(trainingOf(R"({"stack":"huggingface"})").stack.updateMoments, 1) << "PyTorch 2.1";
    EXPECT_TRUE(trainingOf(R"({"stack":"deepspeed-2023"})", 3).stack.joinsGradients);
}

TEST(Stack, OfDeepSpeedAndPyTorchSayWhatTheirCommunicationHolds)
{
    const Stack deepSpeed = trainingOf(R"({"stack":{"base":"deepspeed-2023","reduce_bucket":500000000}})", 3).stack;
    EXPECT_EQ(deepSpeed.reduceBucket, 500'000'000);
    EXPECT_EQ(deepSpeed.reductionsAhead, 3) << "one more than max_param_reduce_events";
    EXPECT_TRUE(deepSpeed.keepsLossHead);
    for (const char* id : {"pytorch-eager", "pytorch-compiled", "pytorch-compiled-2025", "pytorch-compiled-2026"})
        EXPECT_TRUE(trainingOf("{\"stack\":\"" + std::string(id) + "\"}").stack.keepsMessages) << id;
    EXPECT_TRUE(trainingOf(R"({"stack":"pytorch-compiled-2025"})").stack.keepsOutputs);
    EXPECT_FALSE(trainingOf(R"({"stack":"pytorch-compiled-2026"})").stack.keepsOutputs) << "told return_outputs=False";
    EXPECT_FALSE(trainingOf(R"({"stack":"pytorch-megatron"})").stack.keepsMessages) << "has a pipeline of its own";
}

// torch.utils.checkpoint ends once the last tensor that was kept is there again; FSDP2 copies what it has gathered, compiled or
// not.
TEST(Stack, OfPyTorchMakesNothingAgainThatNobodyReadsAndCopiesWhatItHasGathered)
{
    for (const char* id :
         {"pytorch-eager", "pytorch-compiled-2025", "pytorch-compiled-2026", "kempnerforge", "kempnerforge-pipelines"}) {
        const Stack stack = trainingOf(R"({"stack":")" + std::string(id) + R"("})", 3).stack;
        EXPECT_FALSE(stack.rerunsUnread) << id;
        EXPECT_EQ(stack.gatherBytes, 4) << id;
    }
    for (const char* id : {"huggingface", "deepspeed-2023"}) // whose checkpoints are reentrant, and run whole layers
        EXPECT_TRUE(trainingOf(R"({"stack":")" + std::string(id) + R"("})", 3).stack.rerunsUnread) << id;
}

TEST(Stack, OfKempnerForgeCutsLayersItsOwnWay)
{
    for (const auto& [id, base] :
         {std::pair{"kempnerforge", "pytorch-compiled-2026"}, {"kempnerforge-pipelines", "pytorch-eager"}}) {
        const Stack stack = trainingOf(R"({"stack":")" + std::string(id) + R"("})").stack;
        EXPECT_TRUE(stack.plainTensorParallel && stack.gathersApart && stack.wholeEmbedding) << id;
        EXPECT_EQ(stack.wholeHead, std::string(id) != "kempnerforge") << id;
        EXPECT_EQ(stack.attention, AttentionKernel::cudnn) << id;
        EXPECT_EQ(stack.gemm, trainingOf(R"({"stack":")" + std::string(base) + R"("})").stack.gemm) << id;
    }
}

TEST(Stack, ChoosesAttentionAndGradientsUnlessTheScenarioDoes)
{
    EXPECT_EQ(trainingOf("{}").attention, AttentionKernel::cudnn);
    EXPECT_EQ(trainingOf(R"({"stack":"megatron-2021"})").attention, AttentionKernel::unfused);
    EXPECT_FALSE(trainingOf(R"({"stack":"megatron-2021"})").flashAttention);
    EXPECT_EQ(trainingOf(R"({"stack":"megatron-2021","flash_attention":true})").attention, AttentionKernel::flash2);
    EXPECT_EQ(trainingOf(R"({"flash_attention":false})").attention, AttentionKernel::unfused);
    EXPECT_EQ(trainingOf(R"({"flash_attention":false,"attention":"flash3"})").attention, AttentionKernel::flash3);
    EXPECT_EQ(trainingOf("{}").gradientBytes, 4);
    EXPECT_EQ(trainingOf(R"({"stack":"composer-2023"})").gradientBytes, 2);
    EXPECT_EQ(trainingOf(R"({"stack":"composer-2023","gradient_dtype":"fp32"})").gradientBytes, 4);
}

TEST(Stack, SaysWhetherParametersOfZero3AreGatheredAheadUnlessTheScenarioDoes)
{
    const std::string late = R"("stack":{"base":"pytorch-eager","gathers_ahead":false})";
    EXPECT_TRUE(trainingOf(R"({"stack":"pytorch-eager"})", 3).overlap.paramGather);
    EXPECT_FALSE(trainingOf("{" + late + "}", 3).overlap.paramGather);
    EXPECT_FALSE(trainingOf(R"({"stack":"deepspeed-2023"})", 3).overlap.paramGather);
    EXPECT_TRUE(trainingOf("{" + late + R"(,"overlap":{"param_gather":true}})", 3).overlap.paramGather);
    EXPECT_FALSE(trainingOf(R"({"stack":"pytorch-eager","overlap":{"param_gather":false}})", 3).overlap.paramGather);
    for (const int zeroStage : {0, 1, 2})
        EXPECT_TRUE(trainingOf("{" + late + "}", zeroStage).overlap.paramGather) << "these gather once a step";
}

TEST(Stack, GradientsOfParametersIn32BitsAreNoNarrower)
{
    for (const std::string precision : {"fp32", "tf32"}) {
        const std::string in = R"("precision":")" + precision + '"';
        EXPECT_EQ(trainingOf(R"({"stack":"composer-2023",)" + in + "}").gradientBytes, 4);
        EXPECT_EQ(trainingOf(R"({"stack":"composer-2023","gradient_dtype":"bf16",)" + in + "}").gradientBytes, 2);
    }
}

TEST(Moe, TokensTravelInTheBytesOfActivations)
{
    const std::map<std::string, int> bytes{{"bf16", 2}, {"fp8", 2}, {"tf32", 4}, {"fp32", 4}};
    for (const auto& [precision, each] : bytes) {
        const MoeSettings moe = trainingOf(R"({"precision":")" + precision + R"("})").moe;
        EXPECT_EQ(moe.dispatchBytes, each) << precision;
        EXPECT_EQ(moe.combineBytes, each) << precision;
    }
}

TEST(Stack, EachOfTheCatalogueSimulates)
{
    EXPECT_GE(test::catalogue().stacks().size(), 9U);
    for (const Catalogue::Entry& stack : test::catalogue().stacks())
        EXPECT_TRUE(resolved(R"({"stack":")" + stack.id + R"("})").scenario) << stack.id;
}

TEST(Moe, ImbalanceIsANumberOrTokensOfEachExpert)
{
    EXPECT_EQ(trainingOf(R"({"moe":{"imbalance":1.5}})").moe.imbalance, 1.5);
    auto document = ScenarioDocument::parse(R"({"format":"rankscope-scenario","version":1,"model":"mixtral-8x7b",
        "cluster":"h100-sxm-ib400","layout":{"dp":8,"ep":4},"training":{"moe":{"imbalance":[3,1,1,1,1,1,1,1]}}})");
    // Ranks hold two experts each: 4 of 10 tokens where 2.5 would be even.
    EXPECT_DOUBLE_EQ(document.resolve(test::catalogue()).scenario->training.moe.imbalance, 1.6);
}

TEST(Uncertainty, IsThatOfTheNearestKindOfJobThatWasMeasured)
{
    const Catalogue& catalogue = test::catalogue();
    EXPECT_THAT(catalogue.uncertainty("h100-sxm", "megatron-te-2024", false).basis, HasSubstr("h100-sxm with megatron-te-2024"));
    EXPECT_THAT(catalogue.uncertainty("h100-sxm", "unheard-of", false).basis,
                HasSubstr("dense models on GPUs and with software that have no interval of their own"));
    EXPECT_THAT(catalogue.uncertainty("abacus", "unheard-of", true).basis,
                HasSubstr("mixtures of experts on GPUs and with software"));
    EXPECT_GT(catalogue.uncertainty("abacus", "unheard-of", true).stepHigh,
              catalogue.uncertainty("h100-sxm", "megatron-te-2024", false).stepHigh);
}

TEST(Uncertainty, IsNotKnownOfCpusSinceAllThatWasMeasuredAreGpus)
{
    const Catalogue& catalogue = test::catalogue();
    const Uncertainty cpu = catalogue.uncertainty("laptop-cpu", "megatron-te-2024", false);
    EXPECT_FALSE(cpu.isKnown());
    EXPECT_EQ(cpu.basis, "no steps of CPUs were measured");
    EXPECT_TRUE(catalogue.uncertainty("h100-sxm", "megatron-te-2024", false).isKnown());
    // Nor of one whose constants are its own, with a name of their own.
    const auto scenario = [&](const char* efficiency) {
        ScenarioDocument document = ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1,
            "model": {"base": "tiny-gpt"}, "cluster": {"base": "laptop"}, "layout": {"tp": 1, "dp": 1}})");
        document.set("cluster.gpu.efficiency", efficiency);
        return resolvedScenario(document, catalogue);
    };
    EXPECT_FALSE(scenario(R"({"id": "this-machine", "gemm": 0.5})").uncertainty.isKnown());
}

TEST(Stack, AnIdOfTheCatalogueInPlaceOfABaseIsTold)
{
    const auto told = [](const std::string& stack) {
        for (const Problem& problem : resolved(R"({"stack":)" + stack + "}").problems)
            if (problem.pointer == "/training/stack/id")
                return problem.message;
        return std::string();
    };
    EXPECT_THAT(told(R"({"id":"pytorch-eager"})"), HasSubstr("nearest: base \"pytorch-eager\""));
    EXPECT_THAT(told(R"({"id":"pytorch-eager","launch_us":5})"), HasSubstr("nearest: base"));
    for (const char* meant : {R"({"base":"pytorch-eager","id":"huggingface"})", R"({"id":"my-software","launch_us":5})",
                              R"({"id":"megatron-te-2024"})"})
        EXPECT_EQ(told(meant), "") << meant;
    EXPECT_EQ(told(toJson(trainingOf(R"({"stack":"pytorch-eager"})").stack).dump()), "") << "written out whole";
}
