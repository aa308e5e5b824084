// Kernels by shape, of a Kineto file written here whose arithmetic is known, and of real ones.
#include "sim/recovery/kernel_shapes.h"
#include "sim/recovery/run_answers.h"
#include "sim/trace/readers/operator_shape.h"
#include "sim/trace/readers/read_recording.h"

#include "tests/support/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace {

using nlohmann::json;

/// An operator, the launches in it, and their kernels, 1 ms after.
struct KinetoWriter {
    json events = json::array();
    int correlation = 0;

    void call(const char* op, const json& dims, const char* type, double startUs, const std::vector<double>& kernelsUs,
              const std::string& kernel = {})
    {
        events.push_back({{"ph", "X"}, {"cat", "cpu_op"}, {"name", op}, {"pid", 1}, {"tid", 1}, {"ts", startUs}, {"dur", 90.0}});
        events.back()["args"] = {{"External id", ++correlation}, {"Input Dims", dims}, {"Input type", {type, type, "Scalar"}}};
        double at = startUs + 1;
        for (const double us : kernelsUs) {
            ++correlation;
            events.push_back({{"ph", "X"},
                              {"cat", "cuda_runtime"},
                              {"name", "cudaLaunchKernel"},
                              {"pid", 1},
                              {"tid", 1},
                              {"ts", at},
                              {"dur", 2.0},
                              {"args", {{"correlation", correlation}}}});
            events.push_back({{"ph", "X"},
                              {"cat", "kernel"},
                              {"name", kernel.empty() ? "gemm_" + std::to_string(kernelsUs.size()) : kernel},
                              {"pid", 0},
                              {"tid", 7},
                              {"ts", startUs + 1000 + at},
                              {"dur", us},
                              {"args", {{"device", 0}, {"stream", 7}, {"correlation", correlation}}}});
            at += 5;
        }
    }
    std::vector<sim::ShapedWork> work(const char* gpu) const
    {
        const json file{{"schemaVersion", 1},
                        {"deviceProperties", json::array({{{"id", 0}, {"name", gpu}}})},
                        {"distributedInfo", {{"backend", "nccl"}, {"rank", 0}, {"world_size", 1}}},
                        {"traceEvents", events}};
        const std::string text = file.dump();
        const sim::Recording recording = sim::readRecording(text.data(), text.size(), "rank0.json");
        return sim::shapedWork(recording, sim::recover(recording), &test::catalogue());
    }
};

TEST(KernelsByShape, HaveTheirArithmeticTheirRateAndTheirShareOfThePeak)
{
    KinetoWriter file;
    file.call("aten::mm", {{4096, 1024}, {1024, 2048}}, "c10::BFloat16", 100, {50});
    file.call("aten::mm", {{4096, 1024}, {1024, 2048}}, "c10::BFloat16", 300, {30, 20});
    file.call("aten::addmm", {{8}, {4, 16}, {16, 8}, json::array(), json::array()}, "float", 500, {10});
    file.call("aten::bmm", {{3, 4, 16}, {3, 16, 8}}, "c10::Half", 700, {5});
    file.call("aten::_scaled_dot_product_flash_attention", {{2, 8, 512, 64}, {2, 8, 512, 64}, {2, 8, 512, 64}}, "c10::BFloat16",
              900, {4});
    file.call("aten::mm", {{4096, 1024}, {7, 2048}}, "c10::BFloat16", 1100, {3}); // no product
    const std::vector<sim::ShapedWork> work = file.work("NVIDIA H100 80GB HBM3");
    ASSERT_EQ(work.size(), 4U);
    EXPECT_EQ(work[0].shape, "m 4096 n 2048 k 1024");
    EXPECT_EQ(work[0].calls, 2U);
    EXPECT_EQ(work[0].kernels, 3U);
    EXPECT_EQ(work[0].totalNs, 100'000);
    EXPECT_EQ(work[0].flops, 2.0 * 4096 * 2048 * 1024);
    EXPECT_NEAR(work[0].flopsPerSecond(), 2 * work[0].flops / 100e-6, 1);
    EXPECT_EQ(work[0].gpu, "h100-sxm");
    ASSERT_TRUE(work[0].ofPeak());
    EXPECT_NEAR(*work[0].ofPeak(), work[0].flopsPerSecond() / 989e12, 1e-12);
    EXPECT_EQ(work[1].flops, 2.0 * 4 * 8 * 16);
    EXPECT_NEAR(*work[1].peakFlops, 67e12, 1) << "fp32 of units without tensor cores";
    EXPECT_EQ(work[2].batch, 3);
    EXPECT_EQ(work[2].flops, 3 * 2.0 * 4 * 8 * 16);
    EXPECT_EQ(work[3].flops, 4.0 * 2 * 8 * 512 * 512 * 64);
    EXPECT_FALSE(file.work("Some Accelerator")[0].ofPeak());
}

TEST(KernelsByShape, OfFloatsAreMeasuredByThePeakOfWhatTheyRanIn)
{
    const auto ofPeak = [](const std::string& kernel) {
        KinetoWriter file;
        file.call("aten::mm", {{4096, 1024}, {1024, 2048}}, "float", 100, {120}, kernel); // 143 TFLOP/s
        return file.work("NVIDIA A100-SXM4-80GB").at(0).ofPeak();
    };
    for (const char* tf32 : {"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4>(…)",
                             "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n"})
        EXPECT_NEAR(ofPeak(tf32).value_or(0), 143.2 / 156, 0.01) << tf32;
    EXPECT_FALSE(ofPeak("gemm")); // more than seven times what floats can: in what it ran is not known
}

TEST(KernelsByShape, OfRealFilesAreThoseThatTheirOperatorsLaunched)
{
    const std::filesystem::path kineto = std::filesystem::path(RANKSCOPE_TEST_DATA) / "kineto";
    const sim::Recording recording = sim::readRecording({kineto / "worker0_step_12.1694128201545.pt.trace.json.gz"});
    const sim::Recovered recovered = sim::recover(recording);
    const std::vector<sim::ShapedWork> work = sim::shapedWork(recording, recovered, &test::catalogue());
    ASSERT_FALSE(work.empty());
    for (const sim::ShapedWork& each : work) {
        EXPECT_EQ(each.gpu, "v100-sxm2-32gb");
        ASSERT_TRUE(each.ofPeak()) << each.shape;
        EXPECT_GT(*each.ofPeak(), 0);
        EXPECT_LT(*each.ofPeak(), 1) << each.op << " " << each.shape;
    }
    const nlohmann::ordered_json shapes =
        sim::answersJson(recovered, sim::answersOf(recording, recovered, test::catalogue())).at("shapes");
    EXPECT_EQ(shapes.size(), work.size());
    EXPECT_EQ(shapes[0].at("op"), work[0].op);
}

TEST(DeviceNames, AreFoundInTheCatalogue)
{
    const auto& catalogue = test::catalogue();
    EXPECT_EQ(sim::gpuOfDeviceName(catalogue, "NVIDIA A100-SXM4-80GB"), "a100-sxm-80gb");
    EXPECT_EQ(sim::gpuOfDeviceName(catalogue, "NVIDIA A100-PCIE-40GB"), "a100-pcie-40gb");
    EXPECT_EQ(sim::gpuOfDeviceName(catalogue, "NVIDIA H100 80GB HBM3"), "h100-sxm");
    EXPECT_EQ(sim::gpuOfDeviceName(catalogue, "NVIDIA H100 PCIe"), "h100-pcie");
    EXPECT_EQ(sim::gpuOfDeviceName(catalogue, "NVIDIA H200"), "h200-sxm");
    EXPECT_EQ(sim::gpuOfDeviceName(catalogue, "Tesla V100-SXM2-32GB"), "v100-sxm2-32gb");
    EXPECT_EQ(sim::gpuOfDeviceName(catalogue, "NVIDIA GeForce RTX 4090"), "rtx-4090");
    EXPECT_EQ(sim::gpuOfDeviceName(catalogue, "AMD Instinct MI300X"), "mi300x");
    EXPECT_EQ(sim::gpuOfDeviceName(catalogue, "AMD Radeon Graphics"), "");
    for (const char* other :
         {"NVIDIA H100 NVL", "NVIDIA H200 NVL", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 4090 D"})
        EXPECT_EQ(sim::gpuOfDeviceName(catalogue, other), "") << "a slower board of the same chip";
    EXPECT_EQ(sim::gpuOfDeviceName(catalogue, ""), "");
}

TEST(OperatorShapes, AreReadInEveryFormThatProfilersWrite)
{
    using Dims = std::vector<std::vector<std::int64_t>>;
    EXPECT_EQ(sim::inputDims("[[2, 2048], [], [2048, 1]]"), (Dims{{2, 2048}, {}, {2048, 1}}));
    EXPECT_EQ(sim::inputDims("\"[[2, 3]]\""), (Dims{{2, 3}}));
    EXPECT_EQ(sim::inputDims("[[[1, 2], [3]], [4]]"), (Dims{{}, {4}})) << "of a list of tensors nothing";
    for (const char* bad : {"", "[", "]]]", "[[99999999999999999999999]]", "{}", "[[1,2"})
        EXPECT_NO_THROW(sim::inputDims(bad)) << bad;
    EXPECT_EQ(sim::firstTensorType(R"(["Scalar", "c10::BFloat16"])"), "c10::BFloat16");
    EXPECT_EQ(sim::firstTensorType(""), "");
}

} // namespace
