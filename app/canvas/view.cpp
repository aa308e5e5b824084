#include "app/canvas/view.h"

namespace app {
namespace {

/// Whoever shows the view on a screen finds it as it was.
class ForAudience {
public:
    explicit ForAudience(View& view) : m_view(view), m_before(view.isForAudience()) { m_view.setForAudience(true); }
    ~ForAudience() { m_view.setForAudience(m_before); }
    ForAudience(const ForAudience&) = delete;
    ForAudience& operator=(const ForAudience&) = delete;

private:
    View& m_view;
    bool m_before;
};

} // namespace

void drawOnPaper(View& view, Canvas& canvas)
{
    constexpr Point kNowhere{-1, -1};
    const ForAudience forAudience(view);
    view.pointer({.kind = PointerEvent::Kind::leave, .at = kNowhere}, canvas.area());
    view.m_isOnPaper = true;
    view.draw(canvas);
    view.m_isOnPaper = false;
}

void drawPart(const View& whole, View& part, Canvas& canvas)
{
    if (whole.isOnPaper()) {
        drawOnPaper(part, canvas);
    } else if (whole.isForAudience()) {
        const ForAudience forAudience(part);
        part.draw(canvas);
    } else {
        part.draw(canvas);
    }
}

} // namespace app
