// Single kernels against their times on a GPU: tools/measure/torch_kernels.py on an NVIDIA H200.
#include "sim/cost/cost.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/document.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

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
    int rows = 0;
    for (const json& row : measured("attention")) {
        const bool isCudnn = row.at("kernel") == "cudnn";
        const double predicted = 1e-3 * static_cast<double>((isCudnn ? cudnn : flash2).kernelNs(attention(row)));
        const double error = std::log(predicted / row.at("us").get<double>());
        EXPECT_LT(std::abs(error), 0.3) << row << ": " << predicted << " us";
        const std::string kernel = row.at("kernel").get<std::string>() + ", " + row.at("pass").get<std::string>();
        squares[kernel].first += error * error;
        ++squares[kernel].second;
        ++rows;
        const bool hasFewHeads = row.at("sequences").get<int>() * row.at("heads").get<int>() <= 16;
        biases[hasFewHeads ? "few heads" : "many heads"].first += error;
        ++biases[hasFewHeads ? "few heads" : "many heads"].second;
    }
    ASSERT_EQ(squares.size(), 4U);
    double all = 0;
    for (const auto& [kernel, sum] : squares) {
        EXPECT_LT(std::sqrt(sum.first / sum.second), 0.1) << kernel;
        all += sum.first;
    }
    const double rms = std::sqrt(all / rows);
    std::printf("[ measured ] %d rows of attention, %.2f %% in the root mean square\n", rows, 100 * rms);
    EXPECT_LT(rms, 0.075);
    for (const auto& [which, sum] : biases)
        EXPECT_NEAR(sum.first / sum.second, 0, 0.04) << which;
}

/// cuDNN's, in 16 and 8 bits, whole sequences and windows, as NVIDIA prints them.
TEST(MeasuredKernels, AttentionOnBlackwellTakesItsTimeInSixteenAndInEightBits)
{
    std::ifstream file(std::string(RANKSCOPE_TEST_DATA) + "/measured/blackwell_attention.json");
    const json document = json::parse(file);
    std::map<std::string, std::pair<double, int>> squares;
    for (const json& row : document.at("rows")) {
        const std::string gpu = row.at("gpu"), type = row.at("type");
        const bool isForward = row.at("pass") == "forward", isCausal = row.at("causal");
        const json scenario = {
            {"format", "rankscope-scenario"},
            {"version", 1},
            {"name", "kernels"},
            {"model", {{"base", "gpt2"}}},
            {"cluster", {{"base", gpu + "-nvl72"}}},
            {"layout", json::object()},
            {"schedule", {{"kind", "1f1b"}}},
            {"training",
             {{"sequence_length", 1024},
              {"micro_batch_size", 1},
              {"global_batch_size", 72},
              {"precision", type},
              {"attention", "cudnn"},
              {"causal", isCausal},
              {"stack", {{"base", "megatron-te-2025"}, {"narrow_attention", type != "bf16"}, {"cast_bytes", 0}}}}}};
        static const Catalogue catalogue = Catalogue::load(Catalogue::findAssets());
        OpShape shape = attention(row);
        const double length = row.at("length"), window = row.at("window");
        const double seen = window > 0 ? window - window * window / length / 2 : length / (isCausal ? 2 : 1);
        shape.n = static_cast<std::int64_t>(2 * seen);
        shape.windowed = window > 0;
        shape.flops *= seen / (length / 2);
        const CostModel costs(resolvedScenario(ScenarioDocument::parse(scenario.dump()), catalogue));
        const double error = std::log(1e-3 * static_cast<double>(costs.kernelNs(shape)) / row.at("us").get<double>());
        const std::string name = gpu + ", " + type + ", " + (isForward ? "forward" : "backward") + (window > 0 ? ", window" : "");
        squares[name].first += error * error;
        ++squares[name].second;
        if (window == 0) {
            EXPECT_LT(std::abs(error), 0.15) << row;
        }
    }
    ASSERT_EQ(squares.size(), 24U);
    // Forward windows are bound by no products, but by what begins and ends a block.
    const std::map<std::string, double> windowsForward = {{"gb200, bf16", 0.13}, {"gb200, fp8", 0.32}, {"gb200, mxfp8", 0.37},
                                                          {"gb300, bf16", 0.68}, {"gb300, fp8", 0.56}, {"gb300, mxfp8", 0.44}};
    for (const auto& [name, sum] : squares) {
        const double rms = std::sqrt(sum.first / sum.second);
        std::printf("[ measured ] %s: %.1f %% of %d\n", name.c_str(), 100 * rms, sum.second);
        const bool isWindow = name.find("window") != std::string::npos, isForward = name.find("forward") != std::string::npos;
        const double most = !isWindow ? 0.05 : !isForward ? 0.13 : windowsForward.at(name.substr(0, name.find(", forward")));
        EXPECT_LT(rms, most) << name;
    }
}

/// A cluster's kernels by themselves, in `precision`.
CostModel costsOn(const std::string& cluster, const std::string& attention, bool isCausal, const std::string& precision)
{
    const json document = {{"format", "rankscope-scenario"},
                           {"version", 1},
                           {"name", "kernels"},
                           {"model", {{"base", "gpt2"}}},
                           {"cluster", {{"base", cluster}}},
                           {"layout", json::object()},
                           {"schedule", {{"kind", "1f1b"}}},
                           {"training",
                            {{"sequence_length", 1024},
                             {"micro_batch_size", 1},
                             {"global_batch_size", 72},
                             {"precision", precision},
                             {"attention", attention},
                             {"causal", isCausal},
                             {"stack", {{"base", "megatron-te-2024"}, {"cast_bytes", 0}}}}}};
    static const Catalogue catalogue = Catalogue::load(Catalogue::findAssets());
    return CostModel(resolvedScenario(ScenarioDocument::parse(document.dump()), catalogue));
}

json published(const char* kind)
{
    std::ifstream file(std::string(RANKSCOPE_TEST_DATA) + "/measured/published_kernels.json");
    return json::parse(file).at(kind);
}

/// FlashAttention-2 on an A100 as its authors print it, an H20's attention as a user of it measured.
TEST(MeasuredKernels, AttentionOnA100AndH20ReachesWhatWasPublished)
{
    std::map<std::string, std::pair<double, int>> squares;
    for (json row : published("attention")) {
        const CostModel costs = costsOn(row.at("gpu"), row.at("kernel"), row.at("causal"), "bf16");
        const bool isBoth = row.at("pass") == "both", isCausal = row.at("causal");
        double flops = 0, seconds = 0;
        for (const char* pass : {"forward", "backward"}) {
            row["pass"] = pass;
            OpShape shape = attention(row);
            if (!isCausal) {
                shape.n *= 2;
                shape.flops *= 2;
            }
            flops += shape.flops;
            seconds += 1e-9 * static_cast<double>(costs.kernelNs(shape));
            if (!isBoth)
                break;
        }
        const double error = std::log(flops / seconds * 1e-12 / row.at("tflops").get<double>());
        EXPECT_LT(std::abs(error), 0.15) << row;
        auto& sum = squares[row.at("gpu").get<std::string>()];
        sum.first += error * error;
        ++sum.second;
    }
    ASSERT_EQ(squares.size(), 2U);
    for (const auto& [gpu, sum] : squares) {
        std::printf("[ measured ] %s: %.1f %% of %d\n", gpu.c_str(), 100 * std::sqrt(sum.first / sum.second), sum.second);
        EXPECT_LT(std::sqrt(sum.first / sum.second), 0.08) << gpu;
    }
}

TEST(MeasuredKernels, ProductsInEightBitsFillTheFewTensorCoresOfAnH20)
{
    for (const json& row : published("products")) {
        const std::int64_t rows = row.at("rows"), inputs = row.at("inputs"), outputs = row.at("outputs");
        const OpShape shape{.kernel = KernelKind::gemm,
                            .family = KernelFamily::gemm,
                            .pass = KernelPass::forward,
                            .lowPrecision = true,
                            .m = rows,
                            .n = outputs,
                            .k = inputs,
                            .flops =
                                2.0 * static_cast<double>(rows) * static_cast<double>(inputs) * static_cast<double>(outputs)};
        const double predicted = 1e-3 * static_cast<double>(costsOn("h20-ib400", "cudnn", true, "fp8").kernelNs(shape));
        EXPECT_NEAR(predicted / row.at("us").get<double>(), 1, 0.06) << row;
    }
}

/// The GPU's constants were fitted to steps of 2023 and 2024; products of CUDA 13 are faster.
TEST(MeasuredKernels, ProductsOfCuda13TakeLessTimeThanTheConstantsGiveThem)
{
    const CostModel costs = costsOnH200(AttentionKernel::cudnn);
    std::vector<double> ratios, narrow;
    for (const json& row : measured("product")) {
        const std::int64_t rows = row.at("rows"), inputs = row.at("inputs"), outputs = row.at("outputs");
        if (row.at("type") == "fp8") {
            for (const json& wide : measured("product"))
                if (wide.at("type") == "bf16" && wide.at("pass") == "forward" && wide.at("rows") == rows &&
                    wide.at("inputs") == inputs && wide.at("outputs") == outputs)
                    narrow.push_back(row.at("us").get<double>() / wide.at("us").get<double>());
            continue;
        }
        const bool isForward = row.at("pass") == "forward", isOfWeights = row.at("pass") == "weight_gradient";
        const OpShape shape{.kernel = KernelKind::gemm,
                            .family = KernelFamily::gemm,
                            .pass = isForward     ? KernelPass::forward
                                    : isOfWeights ? KernelPass::weightGradient
                                                  : KernelPass::backward,
                            .m = isOfWeights ? outputs : rows,
                            .n = isForward ? outputs : inputs,
                            .k = isForward     ? inputs
                                 : isOfWeights ? rows
                                               : outputs,
                            .flops =
                                2.0 * static_cast<double>(rows) * static_cast<double>(inputs) * static_cast<double>(outputs)};
        ratios.push_back(row.at("us").get<double>() / (1e-3 * static_cast<double>(costs.kernelNs(shape))));
    }
    const auto median = [](std::vector<double>& values) {
        std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
        return values[values.size() / 2];
    };
    ASSERT_GT(ratios.size(), 50U);
    std::printf("[ measured ] %zu products in bf16 take %.2f of what is predicted, %zu in fp8 %.2f of bf16 (medians)\n",
                ratios.size(), median(ratios), narrow.size(), median(narrow));
    EXPECT_NEAR(median(ratios), 0.85, 0.02);
    EXPECT_NEAR(median(narrow), 0.52, 0.04);
}

} // namespace
