#include "app/canvas/film/film_palette.h"

#include <algorithm>
#include <cstring>

namespace app {

void FilmPalette::map(const std::uint32_t* pixels, std::ptrdiff_t strideBytes, int width, int height, std::uint8_t* out,
                      std::ptrdiff_t outStride)
{
    const auto rowAt = [&](int y) {
        return reinterpret_cast<const std::uint32_t*>(reinterpret_cast<const std::byte*>(pixels) + y * strideBytes);
    };
    const auto across = static_cast<std::size_t>(width), down = static_cast<std::size_t>(height);
    if (m_before.size() != across * down) {
        m_before.assign(across * down, ~std::uint32_t{0});
        m_indices.assign(across * down, 0);
        m_isFirst = true;
    }
    // Most of a film stands still: stretches that are as they were keep their indices.
    constexpr std::size_t kStretch = 64;
    m_moved.clear();
    for (std::size_t y = 0; y < down; ++y) {
        const std::uint32_t* const row = rowAt(static_cast<int>(y));
        std::uint32_t* const before = m_before.data() + y * across;
        for (std::size_t x = 0; x < across; x += kStretch) {
            const std::size_t length = std::min(kStretch, across - x);
            if (!m_isFirst && std::memcmp(row + x, before + x, length * sizeof(std::uint32_t)) == 0)
                continue;
            std::memcpy(before + x, row + x, length * sizeof(std::uint32_t));
            m_moved.push_back({y * across + x, length});
        }
    }
    m_isFirst = false;
    if (indexMoved()) { // colours that were not met: they get their places, and then all is known
        takeColors();
        indexMoved();
    }
    for (std::size_t y = 0; y < down; ++y)
        std::memcpy(out + static_cast<std::ptrdiff_t>(y) * outStride, m_indices.data() + y * across, across);
}

/// True where a colour of what has moved is not known yet.
bool FilmPalette::indexMoved()
{
    int seen = 0;
    for (const Stretch& stretch : m_moved)
        for (std::size_t i = stretch.from; i < stretch.from + stretch.length; ++i) {
            const int index = m_indexOf[cellOf(m_before[i])];
            seen |= index;
            m_indices[i] = static_cast<std::uint8_t>(index);
        }
    return seen < 0;
}

void FilmPalette::takeColors()
{
    struct New {
        std::uint32_t color = 0, count = 0;
    };
    std::vector<New> newIn(kCells);
    for (const Stretch& stretch : m_moved)
        for (std::size_t i = stretch.from; i < stretch.from + stretch.length; ++i)
            if (const std::size_t cell = cellOf(m_before[i]); m_indexOf[cell] < 0) {
                newIn[cell].color = newIn[cell].count == 0 ? m_before[i] : newIn[cell].color;
                ++newIn[cell].count;
            }
    std::erase_if(newIn, [](const New& n) { return n.count == 0; });
    std::stable_sort(newIn.begin(), newIn.end(), [](const New& a, const New& b) { return a.count > b.count; });
    for (const New& n : newIn) {
        if (m_colors.size() < kMost)
            m_colors.push_back(n.color | 0xFF000000U);
        m_indexOf[cellOf(n.color)] = nearest(n.color);
    }
}

std::uint8_t FilmPalette::nearest(std::uint32_t color) const
{
    const auto squared = [&](std::uint32_t other) {
        int sum = 0;
        for (const int shift : {0, 8, 16}) {
            const int by = static_cast<int>(color >> shift & 0xFF) - static_cast<int>(other >> shift & 0xFF);
            sum += by * by;
        }
        return sum;
    };
    const auto found = std::min_element(m_colors.begin(), m_colors.end(),
                                        [&](std::uint32_t a, std::uint32_t b) { return squared(a) < squared(b); });
    return static_cast<std::uint8_t>(found - m_colors.begin());
}

} // namespace app
