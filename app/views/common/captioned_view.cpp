#include "app/views/common/captioned_view.h"

#include "app/canvas/area_canvas.h"
#include "app/views/common/measures.h"
#include "app/views/common/wrapped_lines.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace app {
namespace {

constexpr float kCaptionGap = 8;

/// Returns where the next line would begin.
float drawLines(Canvas& canvas, const std::vector<std::string>& lines, Point at, Color color, FontFace face)
{
    for (const std::string& line : lines) {
        canvas.text(at, line, color, face);
        at.y += canvas.textHeight(face);
    }
    return at.y;
}

} // namespace

CaptionedView::CaptionedView(View& picture, const Theme& theme, Words words)
    : m_picture(picture), m_theme(theme), m_words(std::move(words))
{
}

std::string CaptionedView::title() const
{
    return m_words.title.empty() ? m_picture.title() : m_words.title;
}

float CaptionedView::heightOfWords(Canvas& canvas, float width) const
{
    float height = 0;
    for (const auto& [text, face] : {std::pair{&m_words.title, FontFace::bold}, {&m_words.caption, FontFace::small}})
        if (const auto lines = wrappedLines(canvas, *text, width - 2 * kMargin, face); !lines.empty())
            height += kMargin + static_cast<float>(lines.size()) * canvas.textHeight(face) + kCaptionGap;
    return height;
}

void CaptionedView::draw(Canvas& canvas)
{
    const Rect area = canvas.area();
    canvas.fillRect(area, m_theme.canvas);
    Rect rest = area;
    const float left = area.left + kMargin, width = area.width() - 2 * kMargin;
    const auto title = wrappedLines(canvas, m_words.title, width, FontFace::bold);
    const auto caption = wrappedLines(canvas, m_words.caption, width, FontFace::small);
    if (!title.empty())
        rest.top = drawLines(canvas, title, {left, area.top + kMargin}, m_theme.text, FontFace::bold) + kCaptionGap;
    if (!caption.empty()) {
        const float height = static_cast<float>(caption.size()) * canvas.textHeight(FontFace::small);
        rest.bottom = std::max(rest.top, area.bottom - kMargin - height - kCaptionGap);
        drawLines(canvas, caption, {left, rest.bottom + kCaptionGap}, m_theme.mutedText, FontFace::small);
    }
    if (rest.height() < 1)
        return;
    AreaCanvas inside(canvas, rest);
    drawPart(*this, m_picture, inside);
}

} // namespace app
