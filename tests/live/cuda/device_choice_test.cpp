// The device that a run gets, and the reason it is given.
#include "live/kernels/modules.h"
#include "sim/error.h"

#include <gmock/gmock.h>

namespace live {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string refusal(const std::string& requested, DType type)
{
    try {
        chooseDevice(requested, type, nullptr);
    } catch (const sim::Error& error) {
        return error.what();
    }
    return {};
}

bool hasGpu()
{
    std::string why;
    const auto* const module = static_cast<const CudaModule*>(loadModule("rankscope_live_cuda", "rankscopeCudaModule", &why));
    return module && module->gpuCount(&why) > 0;
}

TEST(DeviceChoice, TheCpuIsHadWhereverItIsAskedFor)
{
    const DeviceChoice choice = chooseDevice("cpu", DType::f32, nullptr);
    EXPECT_EQ(choice.device->info().kind, "cpu");
    EXPECT_EQ(chooseDevice("auto", DType::f64, nullptr).device->info().kind, "cpu");
}

TEST(DeviceChoice, WithoutAGpuTheReasonIsSaid)
{
    if (hasGpu())
        GTEST_SKIP() << "there is a GPU";
    const DeviceChoice choice = chooseDevice("auto", DType::f32, nullptr);
    EXPECT_EQ(choice.device->info().kind, "cpu");
    const auto reason = AnyOf(HasSubstr("no CUDA device: driver not found (cudaErrorInsufficientDriver)"),
                              HasSubstr("no CUDA: rankscope_live_cuda.so was not built"), HasSubstr("no CUDA device: "));
    EXPECT_THAT(choice.why, reason);
    EXPECT_THAT(choice.why, HasSubstr("; using the CPU"));
    EXPECT_THAT(refusal("cuda", DType::f32), AllOf(reason, StartsWith("cuda is asked for, but"))) << "by the file or by --device";
    EXPECT_THAT(refusal("auto", DType::bf16), HasSubstr("Use fp32 on the CPU."));
}

TEST(DeviceChoice, AProcessThatSeesOneGpuTakesIt)
{
    EXPECT_EQ(gpuAmong(3, 8), 3);
    EXPECT_EQ(gpuAmong(3, 1), 0);
    EXPECT_EQ(gpuAmong(8, 8), 8) << "which is refused";
}

TEST(DeviceChoice, RefusesWhatThereIsNot)
{
    EXPECT_THAT(refusal("tpu", DType::f32), HasSubstr("it can be auto, cpu or cuda"));
    EXPECT_THAT(refusal("cuda", DType::f64), HasSubstr("Use the CPU for fp64."));
}

TEST(Modules, AMissingOneIsNamedWithTheFoldersSearched)
{
    std::string why;
    EXPECT_EQ(loadModule("rankscope_live_nothing", "entry", &why), nullptr);
    EXPECT_THAT(why, HasSubstr("rankscope_live_nothing.so was not built: not in /"));
}

} // namespace
} // namespace live
