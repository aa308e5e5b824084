// How colours come over pixels: runs of one colour, and one colour through coverages. Four pixels at a time, in GCC's and Clang's
// vectors, which become whatever the machine has.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace app {

/// x / 255, rounded, for x up to 255 * 255.
constexpr std::uint32_t div255(std::uint32_t x)
{
    return (x + 128 + ((x + 128) >> 8U)) >> 8U;
}

/// ImGui packs 0xAABBGGRR.
constexpr std::uint32_t toArgb(std::uint32_t abgr)
{
    return (abgr & 0xFF00FF00U) | ((abgr & 0xFFU) << 16U) | ((abgr >> 16U) & 0xFFU);
}

/// `color` with this alpha over an opaque pixel.
inline std::uint32_t blend(std::uint32_t below, std::uint32_t color, std::uint32_t alpha)
{
    // Red and blue in one multiplication: 8 bits of room between them.
    const std::uint32_t inverse = 255 - alpha;
    const std::uint32_t redBlue = (color & 0x00FF00FFU) * alpha + (below & 0x00FF00FFU) * inverse + 0x00800080U;
    const std::uint32_t green = ((color >> 8U) & 0xFFU) * alpha + ((below >> 8U) & 0xFFU) * inverse + 0x80U;
    const std::uint32_t rb = ((redBlue + ((redBlue >> 8U) & 0x00FF00FFU)) >> 8U) & 0x00FF00FFU;
    const std::uint32_t g = (green + (green >> 8U)) & 0xFF00U;
    return 0xFF000000U | rb | g;
}

/// The channels of four pixels, and 16-bit lanes to reckon with them.
using Channels = std::uint8_t __attribute__((vector_size(16)));
using Lanes = std::uint16_t __attribute__((vector_size(32)));
using Words = std::uint32_t __attribute__((vector_size(16)));

inline void take(const void* fourPixels, Lanes& lanes) // by reference: how such vectors are passed depends on the machine
{
    Channels channels;
    std::memcpy(&channels, fourPixels, sizeof channels);
    lanes = __builtin_convertvector(channels, Lanes);
}

/// `sum` / 255, rounded; 128 has been added to it.
inline void putDivided(const Lanes& sum, void* fourPixels)
{
    const Channels channels = __builtin_convertvector((sum + (sum >> 8)) >> 8, Channels);
    std::memcpy(fourPixels, &channels, sizeof channels);
}

/// std::fill, four pixels at a time: much of a picture is plain ground.
inline void fillPlain(std::uint32_t* begin, std::uint32_t* end, std::uint32_t color)
{
    const Words four{color, color, color, color};
    for (; end - begin >= 4; begin += 4)
        std::memcpy(begin, &four, sizeof four);
    for (; begin < end; ++begin)
        *begin = color;
}

/// One colour over runs of pixels, four at a time.
class Brush {
public:
    explicit Brush(std::uint32_t color) : m_color(color), m_alpha(color >> 24U)
    {
        const std::uint32_t opaque = color | 0xFF000000U;
        for (unsigned i = 0; i < 16; ++i)
            m_over[i] = static_cast<std::uint16_t>(((opaque >> (8U * (i % 4))) & 0xFFU) * m_alpha + 128);
    }
    void fill(std::uint32_t* begin, std::uint32_t* end) const
    {
        if (m_alpha == 255)
            return fillPlain(begin, end, m_color);
        const auto inverse = static_cast<std::uint16_t>(255 - m_alpha);
        for (Lanes below; end - begin >= 4; begin += 4) {
            take(begin, below);
            putDivided(below * inverse + m_over, begin);
        }
        for (; begin < end; ++begin)
            *begin = blend(*begin, m_color, m_alpha);
    }

private:
    std::uint32_t m_color, m_alpha;
    Lanes m_over{};
};

/// One colour through coverages, a byte a pixel, four at a time.
class Stencil {
public:
    explicit Stencil(std::uint32_t color) : m_color(color), m_alpha(color >> 24U)
    {
        const std::array<std::uint32_t, 4> opaque{color | kOpaque, color | kOpaque, color | kOpaque, color | kOpaque};
        take(opaque.data(), m_lanes);
    }
    void fill(std::uint32_t* pixels, const std::uint8_t* coverages, int count) const
    {
        Lanes share, below;
        int i = 0;
        for (; i + 4 <= count; i += 4) {
            std::uint32_t four = 0;
            std::memcpy(&four, coverages + i, sizeof four);
            if (four == 0)
                continue;
            if (four == ~0U && m_alpha == 255) {
                fillPlain(pixels + i, pixels + i + 4, m_color);
                continue;
            }
            eachFourTimes(four, share);
            if (m_alpha != 255) {
                share = share * static_cast<std::uint16_t>(m_alpha) + 128;
                share = (share + (share >> 8)) >> 8;
            }
            take(pixels + i, below);
            putDivided(m_lanes * share + below * (255 - share) + 128, pixels + i);
        }
        for (; i < count; ++i)
            pixels[i] = blend(pixels[i], m_color, div255(coverages[i] * m_alpha));
    }

private:
    static constexpr std::uint32_t kOpaque = 0xFF000000U;
    static void eachFourTimes(std::uint32_t four, Lanes& lanes)
    {
        const Words words{four, 0, 0, 0};
        Channels bytes;
        std::memcpy(&bytes, &words, sizeof bytes);
        bytes = __builtin_shufflevector(bytes, bytes, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23); // in pairs
        bytes = __builtin_shufflevector(bytes, bytes, 0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23);
        lanes = __builtin_convertvector(bytes, Lanes);
    }
    std::uint32_t m_color, m_alpha;
    Lanes m_lanes{};
};

} // namespace app
