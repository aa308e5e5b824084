#include "sim/text/beside_limit.h"

#include "sim/memory_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sim {
namespace {

std::string sentence(double needGib, double limitGib)
{
    const BesideLimit beside(needGib * kBytesPerGib, limitGib * kBytesPerGib, Unit::bytes);
    return beside.need() + " of " + beside.limit();
}

TEST(BesideLimit, WhatIsBeyondReadsAsMoreThanTheLimit)
{
    EXPECT_EQ(sentence(93.14, 80), "93.1 GiB of 80.0 GiB") << "three digits are enough";
    EXPECT_EQ(sentence(80.04, 80), "80.04 GiB of 80 GiB");
    EXPECT_EQ(sentence(80.003, 80), "80.003 GiB of 80 GiB");
    EXPECT_EQ(sentence(79.98, 79.96), "79.98 GiB of 79.96 GiB") << "both round to 80.0";
    EXPECT_EQ(sentence(1024.4, 1024), "1.0004 TiB of 1 TiB");
    EXPECT_NE(BesideLimit(80 * kBytesPerGib + 1024, 80 * kBytesPerGib, Unit::bytes).need(), "80 GiB") << "by a KiB";
}

TEST(BesideLimit, WhatIsWithinReadsAsUsual)
{
    EXPECT_EQ(sentence(79.98, 80), "80.0 GiB of 80.0 GiB");
    EXPECT_EQ(sentence(80, 80), "80.0 GiB of 80.0 GiB");
    EXPECT_EQ(sentence(71.23, 80), "71.2 GiB of 80.0 GiB");
}

TEST(BesideLimit, ALimitMayBeWrittenAsItIs)
{
    EXPECT_EQ(BesideLimit(79.63, 79.62, Unit::number).need(), "79.63") << "79.6 is less than 79.62";
    EXPECT_EQ(BesideLimit(79.68, 79.62, Unit::number).need(), "79.7");
}

TEST(DecimalsBeyond, AreAsManyAsShowIt)
{
    EXPECT_EQ(decimalsBeyond(93.14, 80, 1), 1);
    EXPECT_EQ(decimalsBeyond(80.04, 80, 1), 2);
    EXPECT_EQ(decimalsBeyond(80.003, 80, 2), 3);
    EXPECT_EQ(decimalsBeyond(79.999, 80, 2), 2) << "it is within";
}

TEST(RefusedMemory, NamesMoreThanTheLimit)
{
    try {
        refuseMemory("a trace", 8.004 * kBytesPerGib, 8 * kBytesPerGib, "fewer steps");
        FAIL();
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::StartsWith("a trace needs 8.004 GiB of memory, the limit is 8.000 GiB; nearest:"));
    }
}

} // namespace
} // namespace sim
