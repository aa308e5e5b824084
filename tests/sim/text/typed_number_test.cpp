// Numbers as people type them, also as a fraction and in per cent.
#include "sim/text/typed_number.h"

#include <gtest/gtest.h>

using namespace sim;

TEST(TypedNumber, AFractionIsANumber)
{
    for (const char* text : {"3/8", " 3 / 8 ", "3\u20448", "1,5/4", "-3/-8"}) {
        ASSERT_TRUE(readTypedNumber(text).value) << text;
        EXPECT_DOUBLE_EQ(*readTypedNumber(text).value, 0.375) << text;
    }
    EXPECT_DOUBLE_EQ(readTypedNumber("3/16").value.value_or(0), 3.0 / 16) << "not 316";
    for (const char* text : {"3/", "/8", "3/0", "3//8", "3/8/2", "3/8 %"})
        EXPECT_FALSE(readTypedNumber(text).value) << text;
    EXPECT_EQ(readTypedNumber("3/").problem, "“3/” is no number; a fraction is 3/8.");
}

TEST(TypedNumber, IsNeverInfinite)
{
    const std::string large = "1" + std::string(308, '0'), small = "0." + std::string(300, '0') + "1";
    ASSERT_TRUE(readTypedNumber(large).value);
    ASSERT_TRUE(readTypedNumber(small).value);
    for (const TypedNumber& read :
         {readTypedNumber(large + "/" + small), readTypedNumber("-" + large + "/0.1"), readTypedPercent(large + "/2")}) {
        EXPECT_FALSE(read.value);
        EXPECT_NE(read.problem.find("is larger than any number here"), std::string::npos) << read.problem;
    }
    EXPECT_TRUE(readTypedPercent(large).value) << "per cent already";
}

TEST(TypedNumber, WherePerCentAreAskedForAFractionIsAShareOfOne)
{
    EXPECT_DOUBLE_EQ(readTypedPercent("3/8").value.value_or(0), 37.5);
    EXPECT_DOUBLE_EQ(readTypedPercent("37.5").value.value_or(0), 37.5);
    EXPECT_DOUBLE_EQ(readTypedPercent("37,5 %").value.value_or(0), 37.5);
    EXPECT_DOUBLE_EQ(readTypedPercent("75/2 %").value.value_or(0), 37.5);
    EXPECT_FALSE(readTypedPercent("%").value);
}
