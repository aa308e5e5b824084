// Layouts that add sums up in another order than serial training: equal to it but for rounding, which in double precision leaves
// nine digits to see a bug in. Gradients and norms of step 1 see what Adam would hide.
#include "tests/live/support/matrix.h"

#include <gtest/gtest.h>

namespace live::test {
namespace {

class LayoutIsSerial : public testing::TestWithParam<Variant> {};

TEST_P(LayoutIsSerial, ButForRounding)
{
    for (const char* dtype : {"fp64", "fp32"}) {
        SCOPED_TRACE(dtype);
        const sim::Scenario hybrid = jobOf(GetParam(), dtype);
        const SerialCheck check = against(hybrid, optionsOfVariants());
        EXPECT_TRUE(isWithin(check, limitsOf(hybrid)));
        EXPECT_TRUE(check.isRounding(dtype)) << check.text();
    }
}

INSTANTIATE_TEST_SUITE_P(, LayoutIsSerial, testing::ValuesIn(variants()),
                         [](const auto& of) { return std::string(of.param.name); });

/// The same sequences in other micro-batches.
TEST(Serial, AnotherCutIntoMicrobatchesChangesOnlyRounding)
{
    for (const char* dtype : {"fp64", "fp32"}) {
        const Settings eight = Settings{"training.global_batch_size=8"} + Settings{std::string("live.dtype=") + dtype};
        const sim::Scenario ones = job(eight);
        for (const char* size : {"2", "4", "8"}) {
            const sim::Scenario others = job(eight + Settings{std::string("training.micro_batch_size=") + size});
            TrainOptions options;
            options.training.epsilon = 1e-5;
            EXPECT_TRUE(isWithin(compareLayouts(ones, others, options), limitsOf(ones))) << size << " sequences, " << dtype;
        }
    }
}

} // namespace
} // namespace live::test
