#include "app/canvas/canvas.h"

namespace app {

void Canvas::stacks(const ColumnStacks& stacks)
{
    const std::size_t bars = stacks.colors.size(), columns = stacks.columns();
    const auto topsOf = [&](std::size_t column) { return stacks.tops.begin() + static_cast<std::ptrdiff_t>(column * bars); };
    for (std::size_t first = 0, next = 1; first < columns; first = next) {
        for (next = first + 1; next < columns && std::equal(topsOf(first), topsOf(first + 1), topsOf(next));)
            ++next;
        const float left = stacks.area.left + stacks.columnWidth * static_cast<float>(first);
        const float right = std::min(stacks.area.left + stacks.columnWidth * static_cast<float>(next), stacks.area.right);
        int below = 0;
        for (std::size_t i = 0; i < bars; ++i) {
            const int top = topsOf(first)[static_cast<std::ptrdiff_t>(i)];
            if (top > below)
                fillRect({left, stacks.area.bottom - stacks.quantum * static_cast<float>(top), right,
                          stacks.area.bottom - stacks.quantum * static_cast<float>(below)},
                         stacks.colors[i]);
            below = std::max(below, top);
        }
    }
}

} // namespace app
