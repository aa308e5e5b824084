#include "app/canvas/film/film_palette.h"

#include <algorithm>

namespace app {

void FilmPalette::map(const std::uint32_t* pixels, std::ptrdiff_t strideBytes, int width, int height, std::uint8_t* out,
                      std::ptrdiff_t outStride)
{
    struct New {
        std::uint32_t color = 0, count = 0;
    };
    const auto rowAt = [&](int y) {
        return reinterpret_cast<const std::uint32_t*>(reinterpret_cast<const std::byte*>(pixels) + y * strideBytes);
    };
    std::vector<New> newIn(kCells);
    for (int y = 0; y < height; ++y) {
        const std::uint32_t* row = rowAt(y);
        for (int x = 0; x < width; ++x)
            if (const std::size_t cell = cellOf(row[x]); m_indexOf[cell] < 0) {
                newIn[cell].color = newIn[cell].count == 0 ? row[x] : newIn[cell].color;
                ++newIn[cell].count;
            }
    }
    std::erase_if(newIn, [](const New& n) { return n.count == 0; });
    std::stable_sort(newIn.begin(), newIn.end(), [](const New& a, const New& b) { return a.count > b.count; });
    for (const New& n : newIn) {
        if (m_colors.size() < kMost)
            m_colors.push_back(n.color | 0xFF000000U);
        m_indexOf[cellOf(n.color)] = nearest(n.color);
    }
    for (int y = 0; y < height; ++y) {
        const std::uint32_t* row = rowAt(y);
        for (int x = 0; x < width; ++x)
            out[y * outStride + x] = static_cast<std::uint8_t>(m_indexOf[cellOf(row[x])]);
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
