#include "app/views/common/time_ruler.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace app {
namespace {

/// What the ruler says in a box of its own.
struct Box {
    float middle, half;
    std::string text;
};

/// The time of the cursor and, where that leaves room, the length of the range.
std::vector<Box> boxesOf(Canvas& canvas, const TimeAxis& axis, Rect area, const Selection& selection)
{
    std::vector<Box> out;
    const auto add = [&](float middle, const std::string& text) {
        const float half = std::ceil(canvas.textWidth(text, FontFace::small) / 2) + 5;
        if (2 * half > area.width())
            return;
        const float at = std::floor(std::clamp(middle, area.left + half, area.right - half));
        if (out.empty() || std::abs(at - out.front().middle) >= half + out.front().half)
            out.push_back({at, half, text});
    };
    if (const auto cursorNs = static_cast<double>(selection.cursorNs); cursorNs > 0)
        if (const float x = axis.x(cursorNs); x >= area.left && x < area.right)
            add(x, timeText(cursorNs, axis.nsPerPixel(), axis.endNs));
    if (const auto& range = selection.range) {
        const float left = std::max(axis.x(static_cast<double>(range->beginNs)), area.left);
        const float right = std::min(axis.x(static_cast<double>(range->endNs)), area.right);
        if (left < right)
            add((left + right) / 2, durationText(static_cast<double>(range->endNs - range->beginNs)));
    }
    return out;
}

constexpr float kFromTick = 4, kApart = 8; ///< pixels of a label, from its tick and from the next label
constexpr std::ptrdiff_t kFewTimes = 4;    ///< labelled: fewer do not say how long things are

} // namespace

std::vector<Tick> rulerTicks(Canvas& canvas, const TimeAxis& axis)
{
    const auto isMajor = [](const Tick& tick) { return tick.major; };
    const auto fits = [&](const std::vector<Tick>& some) {
        float free = -1e9F;
        for (const Tick& tick : some) {
            if (!tick.major)
                continue;
            const float x = axis.x(static_cast<double>(tick.ns));
            if (x < free)
                return false;
            free = x + kFromTick + canvas.textWidth(tick.label, FontFace::small) + kApart;
        }
        return true;
    };
    std::vector<Tick> usual = ticks(axis, kTickPixels);
    if (std::ranges::count_if(usual, isMajor) >= kFewTimes)
        return usual;
    for (const float apart : {36.0F, 48.0F, 60.0F, 76.0F})
        if (std::vector<Tick> closer = ticks(axis, apart); fits(closer))
            return closer;
    return usual;
}

void paintTimeRuler(Canvas& canvas, const Theme& theme, const TimeAxis& axis, Rect area, const Selection& selection,
                    const std::vector<Tick>& ticksInSight)
{
    if (area.height() <= 0)
        return;
    canvas.fillRect({area.left, area.bottom - 1, area.right, area.bottom}, theme.border);
    const float textTop = area.top + 1;
    const std::vector<Box> boxes = boxesOf(canvas, axis, area, selection);
    float free = area.left; ///< from here on
    bool hasTime = false;   ///< but 0
    for (const Tick& tick : ticksInSight) {
        const float x = std::floor(axis.x(static_cast<double>(tick.ns)));
        if (x < area.left || x >= area.right)
            continue;
        canvas.fillRect({x, area.bottom - (tick.major ? 6.0F : 3.0F), x + 1, area.bottom},
                        tick.major ? theme.mutedText : theme.border);
        if (!tick.major)
            continue;
        const float width = canvas.textWidth(tick.label, FontFace::small);
        const auto write = [&](float left) {
            const bool isCovered = std::ranges::any_of(boxes, [&](const Box& box) {
                return left + width > box.middle - box.half && left - kFromTick < box.middle + box.half;
            });
            if (left < free || left + width > area.right || isCovered)
                return false;
            canvas.text({left, textTop}, tick.label, theme.mutedText, FontFace::small);
            free = left + width;
            return true;
        };
        // Left of its tick where nothing else would say how long things are.
        const float before = x - kFromTick - width;
        if (write(x + kFromTick) || (!hasTime && before >= free + kApart && write(before)))
            hasTime = hasTime || tick.ns != 0;
    }
    if (const auto& range = selection.range) {
        const float left = std::clamp(axis.x(static_cast<double>(range->beginNs)), area.left, area.right);
        const float right = std::clamp(axis.x(static_cast<double>(range->endNs)), area.left, area.right);
        canvas.fillRect({left, area.bottom - 4, right, area.bottom}, theme.accent);
    }
    for (const Box& box : boxes) {
        canvas.fillRect(
            {box.middle - box.half, area.top, box.middle + box.half, area.top + canvas.textHeight(FontFace::small) + 2},
            theme.accent);
        canvas.text({box.middle, textTop}, box.text, readableOn(theme.accent), FontFace::small, Align::center);
    }
    if (const std::int64_t cursorNs = selection.cursorNs; cursorNs > 0)
        if (const float x = std::floor(axis.x(static_cast<double>(cursorNs))); x >= area.left && x < area.right)
            canvas.fillConvex({{x - 4, area.bottom - 5}, {x + 5, area.bottom - 5}, {x + 0.5F, area.bottom}}, theme.accent);
}

} // namespace app
