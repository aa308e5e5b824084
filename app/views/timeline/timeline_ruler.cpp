// Times above the rows: ticks, the cursor's time, the length of the selected range, and the flags of marks.
#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/time_ruler.h"
#include "app/views/timeline/timeline_painter.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

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
    paintTimeRuler(canvas, scene.theme, scene.axis(), scene.frame.ruler, scene.selection, ticksInSight);
    if (scene.frame.ruler.height() > 0)
        paintMatches(canvas, scene, scene.axis(), scene.frame.ruler);
}

void paintMatches(Canvas& canvas, const TimelineScene& scene, const TimeAxis& axis, Rect area)
{
    if (scene.search() == nullptr)
        return;
    const auto& found = scene.search()->found();
    const auto& tracks = scene.model().trace().tracks;
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
