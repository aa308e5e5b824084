#include "sim/model/parameters.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/document.h"
#include "tests/support/catalogue.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

using namespace sim;
using test::catalogue;

namespace {

Model catalogueModel(const std::string& id)
{
    const std::string text = R"({"format":"rankscope-scenario","version":1,"model":")" + id +
                             R"(","cluster":"h100-sxm-ib400","layout":{"tp":1,"pp":1,"dp":8}})";
    const auto resolved = ScenarioDocument::parse(text).resolve(catalogue());
    std::string problems;
    for (const Problem& problem : resolved.problems)
        problems += problem.text() + "\n";
    if (!resolved.scenario)
        throw Error(problems);
    return resolved.scenario->model;
}

} // namespace

// Counts as published with the checkpoints; source in the file.
TEST(ParameterCount, OfEveryKnownModelIsExact)
{
    std::ifstream file(RANKSCOPE_TEST_DATA "/model/parameter_counts.json");
    const auto known = nlohmann::json::parse(file);
    ASSERT_GE(known.size(), 80U);
    for (const auto& row : known) {
        const auto id = row.at("id").get<std::string>();
        EXPECT_EQ(parameterCount(catalogueModel(id)), row.at("parameters").get<std::int64_t>()) << id;
    }
}

TEST(ParameterCount, OfActiveParametersOfMixtral)
{
    EXPECT_EQ(activeParameterCount(catalogueModel("mixtral-8x7b")), 12879925248);
    EXPECT_EQ(activeParameterCount(catalogueModel("deepseek-v3")), 37552297472);
}

TEST(ParameterCount, OfTensorsThatAreTrained)
{
    // Query, key, value, output, gate, up, down and two norms a layer; embedding, last norm, head.
    EXPECT_EQ(trainableTensorCount(catalogueModel("internlm-7b")), 32 * 9 + 3);
    Model tuned = catalogueModel("internlm-7b"); // an A and a B beside each of seven matrices, all else frozen
    tuned.lora.rank = 8;
    EXPECT_EQ(trainableTensorCount(tuned) % 32, 0);
    EXPECT_LE(trainableTensorCount(tuned), 32 * 14);
    EXPECT_GT(trainableTensorCount(tuned), 0);
}

/// DeepSeek-V3, section 2.2, and the tensors of layer 61 of its checkpoint, which has embedding and head once more: 685 billion.
TEST(ParameterCount, OfMultiTokenPredictionIsCountedApart)
{
    Model model = catalogueModel("deepseek-v3");
    const std::int64_t h = 7168, main = parameterCount(model);
    EXPECT_EQ(predictionParameterCount(model), 0);
    model.numNextnPredictLayers = 1;
    EXPECT_EQ(parameterCount(model), main);
    EXPECT_EQ(predictionParameterCount(model), parameterCount(model, ModelPart::moe) + 2 * h * h + 3 * h);
    EXPECT_EQ((main + predictionParameterCount(model) + 2 * h * model.vocabSize) / 1'000'000'000, 684);
    model.numNextnPredictLayers = 3;
    EXPECT_EQ(predictionParameterCount(model), 3 * (parameterCount(model, ModelPart::moe) + 2 * h * h + 3 * h));
}

TEST(Catalogue, HasThirtyModels)
{
    EXPECT_GE(catalogue().models().size(), 30U);
}
