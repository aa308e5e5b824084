// Times above the rows: ticks, the cursor's time, the length of the selected range, and the flags of marks.
#include "app/views/color.h"
#include "app/views/labels.h"
#include "app/views/timeline_painter.h"
#include "app/views/timeline_search.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

/// What the ruler says in a box of its own.
struct Box {
    float middle, half;
    std::string text;
};

/// The time of the cursor and, where that leaves room, the length of the range.
std::vector<Box> boxesOf(Canvas& canvas, const TimelineScene& scene)
{
    const Rect area = scene.frame.ruler;
    const TimeAxis axis = scene.axis();
    std::vector<Box> out;
    const auto add = [&](float middle, const std::string& text) {
        const float half = std::ceil(canvas.textWidth(text, FontFace::small) / 2) + 5;
        if (2 * half > area.width())
            return;
        const float at = std::floor(std::clamp(middle, area.left + half, area.right - half));
        if (out.empty() || std::abs(at - out.front().middle) >= half + out.front().half)
            out.push_back({at, half, text});
    };
    if (const auto cursorNs = static_cast<double>(scene.selection.cursorNs); cursorNs > 0)
        if (const float x = axis.x(cursorNs); x >= area.left && x < area.right)
            add(x, timeText(cursorNs, axis.nsPerPixel(), axis.endNs));
    if (const auto& range = scene.selection.range) {
        const float left = std::max(axis.x(static_cast<double>(range->beginNs)), area.left);
        const float right = std::min(axis.x(static_cast<double>(range->endNs)), area.right);
        if (left < right)
            add((left + right) / 2, durationText(static_cast<double>(range->endNs - range->beginNs)));
    }
    return out;
}

/// Longest first: with its label, its length, its number alone.
std::vector<std::string> flagTexts(const TimelineMark& mark)
{
    const std::string number = std::to_string(mark.number);
    const std::string length =
        mark.isInstant() ? std::string() : durationText(static_cast<double>(mark.range.endNs - mark.range.beginNs));
    std::vector<std::string> texts;
    if (!mark.label.empty() && !length.empty())
        texts.push_back(number + "  " + mark.label + " · " + length);
    if (!mark.label.empty())
        texts.push_back(number + "  " + mark.label);
    if (!length.empty())
        texts.push_back(number + "  " + length);
    texts.push_back(number);
    return texts;
}

} // namespace

void paintRuler(Canvas& canvas, const TimelineScene& scene, const std::vector<Tick>& ticksInSight)
{
    const Rect area = scene.frame.ruler;
    const Theme& theme = scene.theme;
    const TimeAxis axis = scene.axis();
    if (area.height() <= 0)
        return;
    canvas.fillRect({area.left, area.bottom - 1, area.right, area.bottom}, theme.border);
    const float textTop = area.top + 1;
    const std::vector<Box> boxes = boxesOf(canvas, scene);
    for (const Tick& tick : ticksInSight) {
        const float x = std::floor(axis.x(static_cast<double>(tick.ns)));
        if (x < area.left || x >= area.right)
            continue;
        canvas.fillRect({x, area.bottom - (tick.major ? 6.0F : 3.0F), x + 1, area.bottom},
                        tick.major ? theme.mutedText : theme.border);
        const float end = x + 4 + canvas.textWidth(tick.label, FontFace::small);
        const bool covered = std::any_of(
            boxes.begin(), boxes.end(), [&](const Box& box) { return end > box.middle - box.half && x < box.middle + box.half; });
        if (tick.major && end <= area.right && !covered)
            canvas.text({x + 4, textTop}, tick.label, theme.mutedText, FontFace::small);
    }
    paintMatches(canvas, scene, axis, area);
    if (const auto& range = scene.selection.range) {
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
    if (const std::int64_t cursorNs = scene.selection.cursorNs; cursorNs > 0)
        if (const float x = std::floor(axis.x(static_cast<double>(cursorNs))); x >= area.left && x < area.right)
            canvas.fillConvex({{x - 4, area.bottom - 5}, {x + 5, area.bottom - 5}, {x + 0.5F, area.bottom}}, theme.accent);
}

void paintMatches(Canvas& canvas, const TimelineScene& scene, const TimeAxis& axis, Rect area)
{
    if (scene.search == nullptr)
        return;
    const auto& found = scene.search->found();
    const auto& tracks = scene.model.trace().tracks;
    constexpr float kHeight = 4, kStep = 2;
    auto next = found.begin();
    for (float x = area.left; x < area.right && next != found.end(); x += kStep) {
        const auto startsBefore = [&](const SpanRef& ref, double ns) {
            return static_cast<double>(tracks[ref.track].startNs[ref.span]) < ns;
        };
        next = std::lower_bound(next, found.end(), axis.ns(x), startsBefore);
        if (next != found.end() && startsBefore(*next, axis.ns(x + kStep)))
            canvas.fillRect({x, area.bottom - kHeight, x + kStep, area.bottom}, scene.theme.accent);
    }
}

void paintMarks(Canvas& canvas, const TimelineScene& scene)
{
    const Rect area = scene.frame.marks;
    const auto& marks = scene.marks.all();
    if (area.height() <= 0 || marks.empty())
        return;
    const TimeAxis axis = scene.axis();
    const Theme& theme = scene.theme;
    constexpr float kPadding = 5, kSpace = 4;
    const float middle = std::floor((area.top + area.bottom) / 2);
    const auto x = [&](std::int64_t ns) { return std::floor(axis.x(static_cast<double>(ns))); };
    float free = area.left; // flags and times between them lie right of here
    for (std::size_t i = 0; i < marks.size(); ++i) {
        const TimelineMark& mark = marks[i];
        const float left = x(mark.range.beginNs), right = x(mark.range.endNs);
        const float next = i + 1 < marks.size() ? std::min(x(marks[i + 1].range.beginNs), area.right) : area.right;
        if (right > area.left && left < area.right && !mark.isInstant())
            canvas.fillRect({std::max(left, area.left), area.bottom - 3, std::min(right, area.right), area.bottom - 1},
                            theme.text);
        if (left >= free && left < area.right) {
            const float room = std::max(next, left) - left - 2 * kPadding;
            const std::string text = fitting(canvas, flagTexts(mark), room, FontFace::small);
            const float width = text.empty() ? 3.0F : canvas.textWidth(text, FontFace::small) + 2 * kPadding;
            const Rect flag{left, area.top + 1, left + width, area.bottom - 3};
            canvas.fillRect(flag, mix(theme.canvas, theme.text, 0.85F));
            textInside(canvas, {flag.left + kPadding, flag.top, flag.right, flag.bottom}, text, theme.canvas, FontFace::small);
            free = flag.right + kSpace;
            const std::string times = durationText(static_cast<double>(mark.range.beginNs));
            const Rect target{flag.left, area.top, std::max(flag.right, flag.left + 8), area.bottom};
            scene.targets.push_back(
                {.kind = TimelineTarget::Kind::mark,
                 .value = mark.number,
                 .rect = target,
                 .tip = flagTexts(mark).front() + "\nat " + times + "\nClick: go there · Alt+click: take it away"});
            if (canvas.wantsNodes())
                canvas.node({.id = nodeId(TimelineNode::mark, mark.number),
                             .role = "mark",
                             .name = "mark " + flagTexts(mark).front() + ", at " + times,
                             .rect = target});
        }
        // From this mark to the next.
        if (i + 1 == marks.size())
            break;
        const std::int64_t apart = marks[i + 1].range.beginNs - mark.range.endNs;
        const float from = std::max(free, std::max(right, area.left)), to = next - kSpace;
        const std::string text = durationText(static_cast<double>(apart));
        const float width = canvas.textWidth(text, FontFace::small);
        constexpr float kArrow = 10;
        if (apart <= 0 || to - from < width + 2 * kArrow || x(marks[i + 1].range.beginNs) > area.right)
            continue;
        const float centre = std::floor((from + to) / 2);
        canvas.line({from, middle}, {centre - width / 2 - 4, middle}, theme.mutedText);
        canvas.line({centre + width / 2 + 4, middle}, {to, middle}, theme.mutedText);
        canvas.fillConvex({{from, middle + 0.5F}, {from + 5, middle - 3}, {from + 5, middle + 4}}, theme.mutedText);
        canvas.fillConvex({{to, middle + 0.5F}, {to - 5, middle - 3}, {to - 5, middle + 4}}, theme.mutedText);
        canvas.text({centre, std::floor(middle - canvas.textHeight(FontFace::small) / 2)}, text, theme.text, FontFace::small,
                    Align::center);
    }
}

} // namespace app
