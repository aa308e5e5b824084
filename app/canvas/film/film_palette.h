// The colours of a GIF: at most 256, the same from frame to frame, so that what stands still stays as it is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace app {

class FilmPalette {
public:
    static constexpr std::size_t kMost = 256;
    /// An index for each pixel of a row-major picture. Colours that have not been met take free places, the most frequent first;
    /// where none is left, the nearest colour stands for them. Only what moved since the picture before is looked at.
    void map(const std::uint32_t* pixels, std::ptrdiff_t strideBytes, int width, int height, std::uint8_t* out,
             std::ptrdiff_t outStride);
    const std::vector<std::uint32_t>& colors() const { return m_colors; } ///< 0xFFRRGGBB

private:
    static constexpr std::size_t kCells = std::size_t{1} << 15; ///< five bits of each of red, green and blue
    static std::size_t cellOf(std::uint32_t color) { return (color >> 9 & 0x7C00) | (color >> 6 & 0x3E0) | (color >> 3 & 0x1F); }
    std::uint8_t nearest(std::uint32_t color) const;
    bool indexMoved();
    void takeColors();

    struct Stretch {
        std::size_t from = 0, length = 0; ///< pixels of the picture
    };
    std::vector<std::uint32_t> m_before; ///< the last picture
    std::vector<std::uint8_t> m_indices; ///< of it
    std::vector<Stretch> m_moved;        ///< where this picture is another
    bool m_isFirst = true;

    std::vector<std::uint32_t> m_colors;
    std::vector<std::int16_t> m_indexOf = std::vector<std::int16_t>(kCells, -1); ///< [cell]
};

} // namespace app
