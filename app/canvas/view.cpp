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
    const ForAudience onPaper(view);
    view.draw(canvas);
}

void drawPart(const View& whole, View& part, Canvas& canvas)
{
    if (whole.isForAudience())
        drawOnPaper(part, canvas);
    else
        part.draw(canvas);
}

} // namespace app
