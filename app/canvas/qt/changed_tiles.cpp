#include "app/canvas/qt/changed_tiles.h"

#include "app/canvas/in_parallel.h"
#include "app/canvas/qt/quad_rasteriser.h"

#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace app {
namespace {

constexpr int kTile = 64;
/// More are filled as one: each is a walk through all that is drawn.
constexpr std::size_t kMostRectangles = 12;

int tilesAlong(int pixels)
{
    return (pixels + kTile - 1) / kTile;
}

std::uint64_t mixed(std::uint64_t sum, std::uint64_t value)
{
    sum = (sum ^ value) * 0x9E3779B97F4A7C15U;
    return sum ^ (sum >> 29U);
}

std::uint64_t mixedBytes(std::uint64_t sum, const void* data, std::size_t bytes)
{
    const auto* at = static_cast<const unsigned char*>(data);
    if (std::array<std::uint64_t, 4> sums{sum, ~sum, sum + 1, sum - 1}, words{}; bytes >= 2 * sizeof words) {
        for (; bytes >= sizeof words; bytes -= sizeof words, at += sizeof words) { // side by side: a product takes its time
            std::memcpy(&words, at, sizeof words);
            for (std::size_t i = 0; i < sums.size(); ++i)
                sums[i] = mixed(sums[i], words[i]);
        }
        for (const std::uint64_t each : sums)
            sum = mixed(sum, each);
    }
    for (; bytes >= sizeof sum; bytes -= sizeof sum, at += sizeof sum) {
        std::uint64_t word = 0;
        std::memcpy(&word, at, sizeof word);
        sum = mixed(sum, word);
    }
    std::uint64_t rest = bytes;
    std::memcpy(&rest, at, std::min(bytes, sizeof rest - 1));
    return mixed(sum, rest);
}

struct Bounds {
    float left, top, right, bottom;
    void include(ImVec2 p)
    {
        left = std::min(left, p.x), top = std::min(top, p.y);
        right = std::max(right, p.x), bottom = std::max(bottom, p.y);
    }
};

/// Of the tiles of a few rows.
class Summing {
public:
    /// `sums`: [tile] of all rows, each still 1.
    Summing(int width, int height, int firstRow, int endRow, std::vector<std::uint64_t>& sums)
        : m_width(static_cast<float>(width)), m_top(static_cast<float>(firstRow * kTile)),
          m_bottom(static_cast<float>(std::min(endRow * kTile, height))), m_across(tilesAlong(width)), m_firstRow(firstRow),
          m_endRow(endRow), m_sums(sums)
    {
    }
    void clip(const ImVec4& rect)
    {
        m_clip = {std::max(0.0F, rect.x), std::max(m_top, rect.y), std::min(m_width, rect.z), std::min(m_bottom, rect.w)};
        m_clipSum = mixedBytes(0, &rect, sizeof rect);
    }
    /// `sum` is asked for only where something of it is in sight.
    template <typename Sum>
    void add(const Bounds& bounds, const Sum& sum)
    {
        const float left = std::max(bounds.left, m_clip.left), right = std::min(bounds.right, m_clip.right);
        const float top = std::max(bounds.top, m_clip.top), bottom = std::min(bounds.bottom, m_clip.bottom);
        if (!(left <= right && top <= bottom && m_clip.left < m_clip.right && m_clip.top < m_clip.bottom))
            return;
        const std::uint64_t added = mixed(sum(), m_clipSum);
        const auto tile = [](float pixel) { return static_cast<int>(pixel) / kTile; };
        const int lastColumn = std::min(tile(right), m_across - 1), lastRow = std::min(tile(bottom), m_endRow - 1);
        for (int row = std::max(tile(top), m_firstRow); row <= lastRow; ++row)
            for (int column = tile(left); column <= lastColumn; ++column) {
                std::uint64_t& of = m_sums[static_cast<std::size_t>(row * m_across + column)];
                of = mixed(of, added);
            }
    }

private:
    float m_width, m_top, m_bottom;
    int m_across, m_firstRow, m_endRow;
    Bounds m_clip{0, 0, 0, 0};
    std::uint64_t m_clipSum = 0;
    std::vector<std::uint64_t>& m_sums;
};

void addStacks(Summing& sums, const ColumnStacks& stacks)
{
    sums.add({stacks.area.left, stacks.area.top, stacks.area.right, stacks.area.bottom}, [&] {
        std::uint64_t sum = mixedBytes(2, &stacks.area, sizeof stacks.area);
        sum = mixedBytes(sum, &stacks.columnWidth, sizeof stacks.columnWidth);
        sum = mixedBytes(sum, &stacks.quantum, sizeof stacks.quantum);
        sum = mixedBytes(sum, stacks.colors.data(), stacks.colors.size() * sizeof stacks.colors.front());
        return mixedBytes(sum, stacks.tops.data(), stacks.tops.size() * sizeof stacks.tops.front());
    });
}

/// Triangle by triangle, those of a quad together.
void addTriangles(Summing& sums, const ImDrawList& list, const ImDrawCmd& command)
{
    const ImDrawIdx* index = list.IdxBuffer.Data + command.IdxOffset;
    const ImDrawIdx* const end = index + command.ElemCount;
    const ImDrawVert* const vertices = list.VtxBuffer.Data + command.VtxOffset;
    while (index < end) {
        const bool isQuad = end - index >= 6 && index[3] == index[0] && index[4] == index[2];
        const std::size_t corners = isQuad ? 4 : 3;
        const std::array<ImDrawIdx, 4> of{index[0], index[1], index[2], index[isQuad ? 5 : 2]};
        Bounds bounds{vertices[of[0]].pos.x, vertices[of[0]].pos.y, vertices[of[0]].pos.x, vertices[of[0]].pos.y};
        for (std::size_t i = 1; i < corners; ++i)
            bounds.include(vertices[of[i]].pos);
        sums.add(bounds, [&] {
            bool inOrder = true; // nearly always: their bytes at once
            for (std::size_t i = 1; i < corners; ++i)
                inOrder = inOrder && of[i] == of[0] + i;
            std::uint64_t sum = inOrder ? mixedBytes(3, &vertices[of[0]], corners * sizeof(ImDrawVert)) : 3;
            for (std::size_t i = 0; i < corners && !inOrder; ++i)
                sum = mixedBytes(sum, &vertices[of[i]], sizeof(ImDrawVert));
            return mixed(sum, isQuad ? 1 : 0);
        });
        index += isQuad ? 6 : 3;
    }
}

} // namespace

std::vector<PixelRect> ChangedTiles::next(const ImDrawList& list, std::span<const ColumnStacks> stacks, int width, int height)
{
    if (width <= 0 || height <= 0)
        return {};
    const int down = tilesAlong(height);
    std::vector<std::uint64_t> sums(static_cast<std::size_t>(tilesAlong(width)) * static_cast<std::size_t>(down), 1);
    constexpr int kIndicesOfThread = 1 << 17; // fewer are summed before another thread has started
    const auto bands = static_cast<std::size_t>(std::clamp(list.IdxBuffer.Size / kIndicesOfThread, 1, std::min(down, 4)));
    inParallel(bands, bands, [&](std::size_t band) {
        const auto edge = [&](std::size_t i) { return down * static_cast<int>(i) / static_cast<int>(bands); };
        Summing summing(width, height, edge(band), edge(band + 1), sums);
        auto nextStacks = stacks.begin();
        for (const ImDrawCmd& command : list.CmdBuffer) {
            summing.clip(command.ClipRect);
            if (command.UserCallback == markStacks)
                addStacks(summing, *nextStacks++);
            else
                addTriangles(summing, list, command);
        }
    });
    if (width != m_width || height != m_height)
        forget();
    m_width = width;
    m_height = height;
    std::vector<PixelRect> changed =
        m_sums.size() == sums.size() ? rectangles(sums) : std::vector<PixelRect>{{0, 0, width, height}};
    m_sums = std::move(sums);
    return changed;
}

/// Runs of tiles in a row, and what is as wide below them; all in one where there would be many.
std::vector<PixelRect> ChangedTiles::rectangles(const std::vector<std::uint64_t>& sums) const
{
    const int across = tilesAlong(m_width), down = tilesAlong(m_height);
    std::vector<PixelRect> out; // in tiles
    for (int row = 0; row < down; ++row)
        for (int column = 0; column < across; ++column) {
            const auto differs = [&](int at) {
                const auto tile = static_cast<std::size_t>(row * across + at);
                return sums[tile] != m_sums[tile];
            };
            if (!differs(column))
                continue;
            int end = column + 1;
            while (end < across && differs(end))
                ++end;
            const auto above = std::find_if(out.begin(), out.end(), [&](const PixelRect& rect) {
                return rect.bottom == row && rect.left == column && rect.right == end;
            });
            if (above != out.end())
                above->bottom = row + 1;
            else
                out.push_back({column, row, end, row + 1});
            column = end;
        }
    if (out.size() > kMostRectangles) {
        PixelRect all = out.front();
        for (const PixelRect& rect : out)
            all = {std::min(all.left, rect.left), std::min(all.top, rect.top), std::max(all.right, rect.right),
                   std::max(all.bottom, rect.bottom)};
        out = {all};
    }
    for (PixelRect& rect : out)
        rect = {rect.left * kTile, rect.top * kTile, std::min(rect.right * kTile, m_width),
                std::min(rect.bottom * kTile, m_height)};
    return out;
}

} // namespace app
