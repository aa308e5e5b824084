#include "app/views/order/order_verdict.h"

#include "app/views/common/labels.h"

#include <algorithm>
#include <memory>

namespace app {

Becauses becauseOfVerdict(const OrderDraft& draft, OrderDraft::VerdictNumber first)
{
    using Number = OrderDraft::VerdictNumber;
    const auto of = std::make_shared<const OrderDraft>(draft);
    Becauses out;
    for (const OrderDraft::VerdictPart& part : of->verdictParts()) {
        if (part.number == Number::none)
            continue;
        const char* const name = part.number == Number::makespan ? "Makespan"
                                 : part.number == Number::change ? "Change"
                                 : part.number == Number::idle   ? "Idle"
                                                                 : "Held";
        out.push_back({name, [of, number = part.number] { return of->explain(number); }});
        if (part.number == first)
            std::rotate(out.begin(), out.end() - 1, out.end());
    }
    return out;
}

Becauses becauseOfAction(const OrderDraft& draft, ActionPlace place)
{
    const auto of = std::make_shared<const OrderDraft>(draft);
    return {{"Duration", [of, place] { return of->explain(sim::ActionNumber::duration, place); }},
            {"Start", [of, place] { return of->explain(sim::ActionNumber::start, place); }}};
}

void paintOrderVerdict(Canvas& canvas, const Theme& theme, const OrderDraft& draft, const TimelineFrame& f, DrawnNumbers& numbers,
                       const std::function<Becauses(OrderDraft::VerdictNumber)>& because)
{
    const float line = canvas.textHeight(FontFace::bold) + 2;
    const double change = draft.times().makespan - draft.originalTimes().makespan;
    const Color color = !draft.canRun() ? theme.error : draft.isChanged() && change < 0 ? theme.accent : theme.text;
    textInside(canvas, f.header,
               fitting(canvas, {"Order of actions: the pipeline alone, exact times", "Order of actions"}, f.header.width(),
                       FontFace::small),
               theme.mutedText, FontFace::small);
    if (canvas.wantsNodes())
        canvas.node({.id = std::uint64_t{1} << 62, .role = "verdict", .name = draft.verdict(), .rect = f.story});
    // As many lines as there is room for, broken between words; what a line has of a part is a number of its own.
    float top = f.story.top, x = f.story.left;
    const auto width = [&](const std::string& text) { return canvas.textWidth(text, FontFace::bold); };
    const auto nextLine = [&] {
        x = f.story.left;
        top += line;
        return top + line <= f.story.bottom;
    };
    if (top + line > f.story.bottom)
        return;
    for (const OrderDraft::VerdictPart& part : draft.verdictParts()) {
        GiveBecauses why;
        if (part.number != OrderDraft::VerdictNumber::none)
            why = [because, number = part.number] { return because(number); };
        std::string rest = part.text;
        if (x + width(part.before + rest.substr(0, rest.find(' '))) <= f.story.right) {
            canvas.text({x, top}, part.before, color, FontFace::bold, Align::left);
            x += width(part.before);
        } else if (x > f.story.left && !nextLine()) {
            return;
        }
        while (!rest.empty()) {
            std::size_t end = rest.size();
            while (end != std::string::npos && end > 0 && x + width(rest.substr(0, end)) > f.story.right)
                end = rest.rfind(' ', end - 1);
            if (end == std::string::npos || end == 0)
                return;
            const std::string shown = rest.substr(0, end);
            writeNumber(&numbers, canvas, theme, {x, top, x + width(shown) + 1, top + line}, shown, color, FontFace::bold,
                        Align::left, why);
            x += width(shown);
            rest = end < rest.size() ? rest.substr(end + 1) : std::string();
            if (!rest.empty() && !nextLine())
                return;
        }
    }
    if (nextLine())
        textInside(
            canvas, {f.story.left, top, f.story.right, top + line},
            fitting(canvas,
                    {"Drag an action along its row, or choose one with the arrow keys and move it with Alt+Left and Alt+Right",
                     "Drag an action, or Alt+Left and Alt+Right"},
                    f.story.width(), FontFace::small),
            theme.mutedText, FontFace::small);
}

} // namespace app
