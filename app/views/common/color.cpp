#include "app/views/common/color.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace app {
namespace {

std::uint32_t channel(Color color, unsigned index)
{
    return (color.value >> (8 * index)) & 0xFF;
}

} // namespace

Color mix(Color a, Color b, float shareOfB)
{
    std::uint32_t value = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const auto from = static_cast<float>(channel(a, i)), to = static_cast<float>(channel(b, i));
        value |= static_cast<std::uint32_t>(std::lround(from + (to - from) * shareOfB)) << (8 * i);
    }
    return {value};
}

Color withAlpha(Color color, float alpha)
{
    return {(color.value & 0x00FFFFFF) | (static_cast<std::uint32_t>(std::lround(alpha * 255.0F)) << 24)};
}

double luminance(Color color)
{
    constexpr std::array<double, 3> kWeights{0.2126, 0.7152, 0.0722};
    double sum = 0;
    for (unsigned i = 0; i < 3; ++i) {
        const double c = channel(color, i) / 255.0;
        sum += kWeights[i] * (c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
    }
    return sum;
}

double contrast(Color a, Color b)
{
    const auto [darker, lighter] = std::minmax({luminance(a), luminance(b)});
    return (lighter + 0.05) / (darker + 0.05);
}

Color readableOn(Color fill)
{
    return contrast(fill, kWhite) > contrast(fill, kBlack) ? kWhite : kBlack;
}

} // namespace app
