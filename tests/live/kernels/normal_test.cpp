#include "live/kernels/normal.h"

#include "live/kernels/philox.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

namespace live {
namespace {

std::vector<double> draw(std::int64_t first, std::size_t count)
{
    std::vector<double> values(count);
    normalDeviates(7, 0x300000005, first, values);
    return values;
}

TEST(NormalDeviates, HaveTheMomentsOfTheNormalDistribution)
{
    double sum = 0, squares = 0, fourth = 0;
    constexpr int kCount = 200000;
    for (const double value : draw(0, kCount)) {
        sum += value;
        squares += value * value;
        fourth += value * value * value * value;
    }
    EXPECT_NEAR(sum / kCount, 0, 0.01);
    EXPECT_NEAR(squares / kCount, 1, 0.015);
    EXPECT_NEAR(fourth / kCount, 3, 0.1);
}

TEST(NormalDeviates, AreBoxAndMullersOfPhiloxsWords)
{
    constexpr std::int64_t kFirst = (std::int64_t{1} << 33) + 6; // beyond the first word of the counter
    const std::vector<double> values = draw(kFirst, 20000);
    for (std::size_t i = 0; i + 1 < values.size(); i += 2) {
        const auto pair = static_cast<std::uint64_t>(kFirst) / 2 + i / 2;
        const PhiloxCounter words =
            philox({{static_cast<std::uint32_t>(pair), static_cast<std::uint32_t>(pair >> 32), 5, 3}}, philoxKey(7));
        const auto uniform = [](std::uint32_t low, std::uint32_t high) {
            return (static_cast<double>((std::uint64_t{high} << 32 | low) >> 11) + 0.5) * 0x1p-53;
        };
        const double radius = std::sqrt(-2 * std::log(uniform(words.word[0], words.word[1])));
        const double angle = 6.283185307179586 * uniform(words.word[2], words.word[3]);
        ASSERT_NEAR(values[i], radius * std::cos(angle), 5e-15) << i;
        ASSERT_NEAR(values[i + 1], radius * std::sin(angle), 5e-15) << i;
    }
}

TEST(NormalDeviates, AreTheSameInPiecesOfAnyLength)
{
    const std::vector<double> whole = draw(0, 3000);
    for (const std::size_t length : {1U, 2U, 3U, 511U, 512U, 513U, 1025U})
        for (const std::size_t first : {0U, 1U, 510U, 511U, 512U, 1024U, 1500U}) {
            const std::vector<double> piece = draw(static_cast<std::int64_t>(first), length);
            for (std::size_t i = 0; i < length; ++i)
                ASSERT_EQ(piece[i], whole[first + i]) << length << " from " << first;
        }
    EXPECT_TRUE(draw(5, 0).empty());
}

} // namespace
} // namespace live
