// Which parts of a picture are others than in the frame before: only these are filled anew and put on the screen. From one frame
// to the next a cursor moves, a row lights up, a number is another; on a large screen the rest is most of the work. No Qt.
#pragma once

#include "app/canvas/canvas.h"

#include <cstdint>
#include <span>
#include <vector>

struct ImDrawList;

namespace app {

/// Pixels, from the first to one past the last.
struct PixelRect {
    int left = 0, top = 0, right = 0, bottom = 0;
    bool operator==(const PixelRect&) const = default;
};

class ChangedTiles {
public:
    /// Where a frame of that size differs from the one that was asked about before; few rectangles that do not overlap. `stacks`
    /// as for rasterise(). O(primitives + tiles they cover).
    std::vector<PixelRect> next(const ImDrawList&, std::span<const ColumnStacks> stacks, int width, int height);
    /// Nothing is known of what is in the picture.
    void forget() { m_sums.clear(); }

private:
    std::vector<PixelRect> rectangles(const std::vector<std::uint64_t>& sums) const;

    int m_width = 0, m_height = 0;
    std::vector<std::uint64_t> m_sums; ///< [tile], row by row: of what was drawn there, in its order
};

} // namespace app
