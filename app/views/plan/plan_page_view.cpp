#include "app/views/plan/plan_page_view.h"

#include "app/views/common/labels.h"
#include "app/views/common/measures.h"
#include "app/views/common/wrapped_lines.h"

#include <algorithm>

namespace app {

float drawWrapped(Canvas& canvas, Rect area, std::string_view text, Color color, FontFace face)
{
    float y = area.top;
    for (const std::string& line : wrappedLines(canvas, text, area.width(), face)) {
        if (canvas.textWidth(line, face) <= area.width())
            canvas.text({area.left, y}, line, color, face);
        y += canvas.textHeight(face);
    }
    return y;
}

void PlanPageView::setHint(std::string title, std::string hint)
{
    m_title = std::move(title);
    m_hint = std::move(hint);
}

void PlanPageView::draw(Canvas& canvas)
{
    constexpr float kEdge = 6;
    const Rect area = canvas.area();
    canvas.fillRect(area, m_theme.canvas);
    forgetDrawn();
    if (!hasPage()) {
        drawEmpty(canvas, m_theme, m_title, m_hint);
        return;
    }
    canvas.pushClip(area);
    const float top = area.top + kEdge - m_scroll;
    const float end = drawPage(canvas, {area.left, top, area.right, area.bottom});
    canvas.popClip();
    m_height = end + kEdge - top;
}

bool PlanPageView::scrollBy(float pixels, Rect area)
{
    const float before = m_scroll;
    m_scroll = std::clamp(m_scroll + pixels, 0.0F, std::max(0.0F, m_height - area.height()));
    return m_scroll != before;
}

bool PlanPageView::scrollByWheel(const PointerEvent& event, Rect area)
{
    return scrollBy(-event.wheelY * kScrollPixels, area);
}

std::optional<bool> PlanPageView::scrollByCommand(ViewCommand command, bool fast, Rect area)
{
    const float pixels = kScrollPixels * (fast ? kFastPresses : 1);
    switch (command) {
    case ViewCommand::stepUp:
    case ViewCommand::panUp:
        return scrollBy(-pixels, area);
    case ViewCommand::stepDown:
    case ViewCommand::panDown:
        return scrollBy(pixels, area);
    default:
        return std::nullopt;
    }
}

} // namespace app
