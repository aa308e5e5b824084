#include "app/canvas/view.h"

namespace app {
namespace {

/// Whoever shows the view on a screen finds it as it was.
class ForAudience {
public:
    explicit ForAudience(View& view, float magnification = 1)
        : m_view(view), m_before(view.isForAudience()), m_magnificationBefore(view.magnification())
    {
        m_view.setForAudience(true, magnification);
    }
    ~ForAudience() { m_view.setForAudience(m_before, m_magnificationBefore); }
    ForAudience(const ForAudience&) = delete;
    ForAudience& operator=(const ForAudience&) = delete;

private:
    View& m_view;
    bool m_before;
    float m_magnificationBefore;
};

/// Also where drawing ends by an exception: a figure may be larger than memory.
class OnPaper {
public:
    explicit OnPaper(bool& flag) : m_flag(flag) { m_flag = true; }
    ~OnPaper() { m_flag = false; }
    OnPaper(const OnPaper&) = delete;
    OnPaper& operator=(const OnPaper&) = delete;

private:
    bool& m_flag;
};

} // namespace

void drawOnPaper(View& view, Canvas& canvas)
{
    constexpr Point kNowhere{-1, -1};
    const ForAudience forAudience(view);
    view.pointer({.kind = PointerEvent::Kind::leave, .at = kNowhere}, canvas.area());
    const OnPaper onPaper(view.m_isOnPaper);
    view.draw(canvas);
}

void drawPart(const View& whole, View& part, Canvas& canvas)
{
    if (whole.isOnPaper()) {
        drawOnPaper(part, canvas);
    } else if (whole.isForAudience()) {
        const ForAudience forAudience(part, whole.magnification());
        part.draw(canvas);
    } else {
        part.draw(canvas);
    }
}

} // namespace app
