#include "live/kernels/modules.h"
#include "live/kernels/versions.h"
#include "sim/error.h"

#include <gmock/gmock.h>

namespace live {
namespace {

using testing::AllOf, testing::HasSubstr;

std::string refusal(int found, int built)
{
    try {
        requireVersion("NCCL", found, built);
    } catch (const sim::Error& error) {
        return error.what();
    }
    return {};
}

TEST(Versions, TheSameAndLaterMinorOnesDo)
{
    EXPECT_EQ(refusal(22809, 22809), "");
    EXPECT_EQ(refusal(22801, 22809), "") << "patches change no interface";
    EXPECT_EQ(refusal(23007, 22809), "");
}

TEST(Versions, EarlierAndOtherMajorOnesAreToldWithBothNumbers)
{
    EXPECT_THAT(refusal(21805, 22809), AllOf(HasSubstr("NCCL 2.18.5 was found"), HasSubstr("built for 2.28.9"),
                                             HasSubstr("needs 2.28 or a later 2.x"), HasSubstr("LD_LIBRARY_PATH")));
    EXPECT_THAT(refusal(30000, 22809), HasSubstr("NCCL 3.0.0 was found"));
}

TEST(Modules, OfAnotherBuildAreRefused)
{
    EXPECT_EQ(moduleObjection("m.so", {}), "");
    const ModuleHeader stale{.build = "0123456789abcdef"}, old{.interface = 2, .build = "12.2.0"};
    EXPECT_THAT(moduleObjection("m.so", stale),
                AllOf(HasSubstr("m.so is of another build (0123456789abcdef; this program is of "), HasSubstr(kBuildHash)));
    EXPECT_THAT(moduleObjection("m.so", old), HasSubstr("earlier or later interface"));
    EXPECT_EQ(std::string(kBuildHash).size(), 16U);
}

} // namespace
} // namespace live
