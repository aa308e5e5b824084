#include "app/views/common/labels.h"
#include "sim/text/number_text.h"

#include <gtest/gtest.h>

namespace app {
namespace {

TEST(SentencesOfTheSimulator, NumbersReadAsElsewhereOnScreen)
{
    for (const double fraction : {0.001, 0.0999, 0.5, 0.99951})
        EXPECT_EQ(sim::percentText(fraction), percentText(fraction));
    for (const double gib : {0.5, 9.999, 49.25, 71.23, 640.4})
        EXPECT_EQ(sim::gibText(static_cast<std::int64_t>(gib * 1073741824)), bytesText(gib * 1073741824));
    for (const double seconds : {0.0000123, 0.4123, 0.9999, 3.217})
        EXPECT_EQ(sim::numberText(seconds, sim::Unit::seconds), durationText(seconds * 1e9));
}

} // namespace
} // namespace app
