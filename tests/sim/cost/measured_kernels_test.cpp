// Single kernels against their times on a GPU: tools/measure/torch_kernels.py on an NVIDIA H200.
#include "sim/cost/cost.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/document.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <map>
#include <string>

namespace {

using nlohmann::json;
using namespace sim;

json measured(const std::string& kind)
{
    std::ifstream file(std::string(RANKSCOPE_TEST_DATA) + "/measured/h200_kernels.json");
    json rows = json::array();
    const json document = json::parse(file);
    for (const json& row : document.at("rows"))
        if (row.at("kind") == kind)
            rows.push_back(row);
    return rows;
}

/// Of a kernel by itself.
CostModel costsOnH200(AttentionKernel attention)
{
    const json document = {
        {"format", "rankscope-scenario"},
        {"version", 1},
        {"name", "kernels"},
        {"model", {{"base", "gpt2"}}},
        {"cluster", {{"base", "dgx-h200"}}},
        {"layout", json::object()},
        {"schedule", {{"kind", "1f1b"}}},
        {"training", {{"sequence_length", 1024}, {"micro_batch_size", 1}, {"global_batch_size", 8}, {"precision", "bf16"}}}};
    static const Catalogue catalogue = Catalogue::load(Catalogue::findAssets());
    Scenario scenario = resolvedScenario(ScenarioDocument::parse(document.dump()), catalogue);
    scenario.training.attention = attention;
    return CostModel(scenario);
}

OpShape attention(const json& row)
{
    const bool isForward = row.at("pass") == "forward";
    const std::int64_t sequences = row.at("sequences"), length = row.at("length"), heads = row.at("heads"),
                       size = row.at("head_size");
    const double pairs = 0.5 * static_cast<double>(sequences * heads) * static_cast<double>(length) * static_cast<double>(length);
    return {.kernel = isForward ? KernelKind::attentionForward : KernelKind::attentionBackward,
            .family = KernelFamily::attention,
            .pass = isForward ? KernelPass::forward : KernelPass::backward,
            .m = length,
            .n = length,
            .k = size,
            .batch = sequences * heads,
            .flops = 4 * pairs * static_cast<double>(size) * (isForward ? 1 : 2.5)};
}

TEST(MeasuredKernels, AttentionTakesItsTimeForManyHeadsAndFewForShortSequencesAndLong)
{
    const CostModel flash2 = costsOnH200(AttentionKernel::flash2), cudnn = costsOnH200(AttentionKernel::cudnn);
    std::map<std::string, std::pair<double, int>> squares, biases;
    for (const json& row : measured("attention")) {
        const bool isCudnn = row.at("kernel") == "cudnn";
        const double predicted = 1e-3 * static_cast<double>((isCudnn ? cudnn : flash2).kernelNs(attention(row)));
        const double error = std::log(predicted / row.at("us").get<double>());
        EXPECT_LT(std::abs(error), 0.3) << row << ": " << predicted << " us";
        const std::string kernel = row.at("kernel").get<std::string>() + ", " + row.at("pass").get<std::string>();
        squares[kernel].first += error * error;
        ++squares[kernel].second;
        const bool hasFewHeads = row.at("sequences").get<int>() * row.at("heads").get<int>() <= 16;
        biases[hasFewHeads ? "few heads" : "many heads"].first += error;
        ++biases[hasFewHeads ? "few heads" : "many heads"].second;
    }
    ASSERT_EQ(squares.size(), 4U);
    for (const auto& [kernel, sum] : squares)
        EXPECT_LT(std::sqrt(sum.first / sum.second), 0.11) << kernel;
    for (const auto& [which, sum] : biases)
        EXPECT_NEAR(sum.first / sum.second, 0, 0.04) << which;
}

} // namespace
