#include "app/views/common/memory_parts.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace app {
namespace {

/// 1024 to the power of the unit in which so many bytes are told, as bytesText() chooses it.
double unitOf(double bytes)
{
    double unit = 1;
    while (bytes / unit >= 999.5)
        unit *= 1024;
    return unit;
}

} // namespace

MemoryParts memoryParts(const sim::MemoryBreakdown& memory, const Theme& theme)
{
    using Id = sim::MetricId;
    return {{{"parameters", memory.parameters, theme.parameters, Id::parameterMemory},
             {"gradients", memory.gradients, theme.gradients, Id::gradientMemory},
             {"optimizer", memory.optimizer, theme.optimizer, Id::optimizerMemory},
             {"activations", memory.activations, theme.activations, Id::activationMemory},
             {"buffers", memory.buffers, theme.buffers, Id::bufferMemory}}};
}

std::string memoryPartsText(const sim::MemoryBreakdown& memory)
{
    std::string text;
    for (const MemoryPart& part : memoryParts(memory, lightTheme()))
        if (part.bytes > 0)
            text += (text.empty() ? "" : ", ") + std::string(part.name) + " " + bytesText(static_cast<double>(part.bytes));
    return text;
}

std::int64_t capacityBytes(double memoryGib)
{
    return std::llround(memoryGib * 1024 * 1024 * 1024);
}

namespace {

constexpr std::uint64_t kMemoryLegendNodes = (std::uint64_t{1} << 62) + (std::uint64_t{1} << 40);
constexpr float kMemorySwatch = 11, kBesideSwatch = 5, kLegendSpace = 14;

/// Lines of places in `parts`.
std::vector<std::vector<std::size_t>> legendLines(Canvas& canvas, const MemoryParts& parts, float width)
{
    std::vector<std::vector<std::size_t>> lines;
    float x = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].bytes <= 0)
            continue;
        const float needed = kMemorySwatch + kBesideSwatch + canvas.textWidth(parts[i].name, FontFace::small);
        if (lines.empty() || x + needed > width) {
            lines.emplace_back();
            x = 0;
        }
        lines.back().push_back(i);
        x += needed + kLegendSpace;
    }
    return lines;
}

} // namespace

int memoryLegendLines(Canvas& canvas, const sim::MemoryBreakdown& used, float width)
{
    return static_cast<int>(legendLines(canvas, memoryParts(used, lightTheme()), width).size());
}

void paintMemoryLegend(Canvas& canvas, const Theme& theme, const sim::MemoryBreakdown& used, Rect area)
{
    const MemoryParts parts = memoryParts(used, theme);
    const auto lines = legendLines(canvas, parts, area.width());
    float top = area.top;
    for (const std::vector<std::size_t>& line : lines) {
        const float bottom = top + area.height() / static_cast<float>(lines.size()), middle = std::floor((top + bottom) / 2);
        float x = area.left;
        for (const std::size_t at : line) {
            const MemoryPart& part = parts[at];
            canvas.fillRect({x, middle - 5, x + kMemorySwatch, middle + 6}, part.color);
            const float left = x + kMemorySwatch + kBesideSwatch, width = canvas.textWidth(part.name, FontFace::small);
            if (canvas.wantsNodes())
                canvas.node(
                    {.id = kMemoryLegendNodes + at, .role = "legend", .name = part.name, .rect = {x, top, left + width, bottom}});
            textInside(canvas, {left, top, std::max(area.right, left + width) + 1, bottom}, part.name, theme.mutedText,
                       FontFace::small);
            x = left + width + kLegendSpace;
        }
        top = bottom;
    }
}

Color withoutRoom(const MemoryPart& part, const Theme& theme)
{
    return mix(theme.canvas, part.color, 0.75F);
}

void paintHatch(Canvas& canvas, Rect area, Color color, float gap)
{
    if (area.width() <= 0 || area.height() <= 0)
        return;
    canvas.pushClip(area);
    // The same lines wherever the area begins: neighbours join.
    const float first = std::floor((area.left - area.height()) / gap) * gap;
    for (float x = first; x < area.right; x += gap)
        canvas.line({x, area.bottom}, {x + area.height(), area.top}, color, 1);
    canvas.popClip();
}

void paintMemoryBar(Canvas& canvas, const Theme& theme, const sim::MemoryBreakdown& memory, Rect bar, double bytesPerPixel,
                    std::int64_t limitBytes)
{
    const auto x = [&](std::int64_t bytes) {
        return bar.left + std::round(static_cast<float>(static_cast<double>(bytes) / bytesPerPixel));
    };
    constexpr float kPadding = 5, kSeam = 1;
    const float limitX = limitBytes > 0 ? x(limitBytes) : bar.right;
    std::int64_t before = 0;
    for (const MemoryPart& part : memoryParts(memory, theme)) {
        const float left = x(before), right = x(before + part.bytes);
        before += part.bytes;
        if (part.bytes <= 0 || right <= left)
            continue;
        const float end = right - left > 3 ? right - kSeam : right;
        canvas.fillRect({left, bar.top, end, bar.bottom}, part.color);
        if (const float from = std::max(left, limitX); from < end)
            canvas.fillRect({from, bar.top, end, bar.bottom}, withoutRoom(part, theme));
        const Rect inside{left + kPadding, bar.top, std::min(end, limitX) - kPadding, bar.bottom};
        const std::string bytes = bytesText(static_cast<double>(part.bytes)), name = part.name;
        textInside(canvas, inside, fitting(canvas, {name + " " + bytes, bytes, name}, inside.width(), FontFace::small),
                   readableOn(part.color), FontFace::small);
    }
    if (const float end = x(before); limitBytes > 0 && before > limitBytes && end > limitX) {
        const Rect over{limitX, bar.top, end, bar.bottom};
        paintHatch(canvas, over, theme.error);
        canvas.strokeRect(over, theme.error);
    }
}

std::vector<std::int64_t> memoryTicks(double bytesPerPixel, float pixels, float leastPixels)
{
    const double largest = bytesPerPixel * static_cast<double>(pixels);
    const double unit = unitOf(largest), least = bytesPerPixel * static_cast<double>(leastPixels) / unit;
    if (!(largest > 0) || !(least > 0))
        return {0};
    const double decade = std::pow(10, std::floor(std::log10(least)));
    double step = decade * 10;
    for (const double factor : {5.0, 2.0, 1.0})
        if (decade * factor >= least)
            step = decade * factor;
    std::vector<std::int64_t> out;
    for (int i = 0; i * step * unit <= largest; ++i)
        out.push_back(std::llround(i * step * unit));
    return out;
}

std::string memoryTickText(std::int64_t bytes, std::int64_t largest)
{
    if (bytes == 0)
        return "0";
    const double unit = unitOf(static_cast<double>(largest));
    std::array<char, 32> number{};
    std::snprintf(number.data(), number.size(), "%.3g", static_cast<double>(bytes) / unit);
    const std::string told = bytesText(unit); // "1.00 GiB"
    return number.data() + (unit == 1 ? std::string(" B") : told.substr(told.rfind(' ')));
}

double memoryScale(std::int64_t mostBytes, std::int64_t limitBytes, double room, double leastShare)
{
    const auto most = static_cast<double>(mostBytes), limit = static_cast<double>(limitBytes);
    const bool inSight = limit > 0 && most >= leastShare * limit;
    return std::max({1.0, most * room, inSight ? limit * room : 0.0});
}

} // namespace app
