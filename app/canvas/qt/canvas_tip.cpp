#include "app/canvas/qt/canvas_tip.h"

#include <QScreen>
#include <QToolTip>

#include <algorithm>
#include <array>
#include <limits>

namespace app {
namespace {

constexpr int kGap = 8; ///< to what the tip tells about
/// What a pointer covers around its tip: arrows point to the upper left.
constexpr QMargins kPointer{12, 12, 16, 24};

qint64 areaOf(const QRect& rect)
{
    return rect.isValid() ? qint64{rect.width()} * rect.height() : 0;
}

} // namespace

QPoint placeOfTip(QSize tip, QPoint pointer, const std::optional<QRect>& about, QRect screen)
{
    const QRect hand = QRect(pointer, QSize(1, 1)).marginsAdded(kPointer);
    const QRect clear = about ? about->marginsAdded({kGap, kGap, kGap, kGap}) : QRect();
    const int besideX = pointer.x(), besideY = hand.bottom() + 1;
    // Below and above, right and left: first of what it tells about, then of the pointer alone.
    const std::array<QPoint, 8> places{{{besideX, std::max(besideY, clear.bottom() + 1)},
                                        {besideX, std::min(hand.top(), about ? clear.top() : hand.top()) - tip.height()},
                                        {clear.right() + 1, besideY},
                                        {clear.left() - tip.width(), besideY},
                                        {besideX, besideY},
                                        {besideX, hand.top() - tip.height()},
                                        {hand.right() + 1, besideY},
                                        {hand.left() - tip.width(), besideY}}};
    QPoint best = places.front();
    qint64 least = std::numeric_limits<qint64>::max();
    for (std::size_t i = 0; i < places.size(); ++i) {
        const bool isBesideAbout = i == 2 || i == 3;
        if (isBesideAbout && !about)
            continue;
        QRect place(places[i], tip);
        place.moveLeft(std::max(screen.left(), std::min(place.left(), screen.right() + 1 - tip.width())));
        place.moveTop(std::max(screen.top(), std::min(place.top(), screen.bottom() + 1 - tip.height())));
        // The pointer weighs more than all else on a screen.
        const qint64 covered = areaOf(place & clear) + (place.intersects(hand) ? areaOf(screen) : 0);
        if (covered < least) {
            least = covered;
            best = place.topLeft();
        }
    }
    return best;
}

CanvasTip::CanvasTip(QWidget& picture)
    : QLabel(&picture, Qt::ToolTip | Qt::WindowTransparentForInput | Qt::WindowDoesNotAcceptFocus)
{
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setAttribute(Qt::WA_ShowWithoutActivating);
    setProperty("role", "tip");
    setTextFormat(Qt::PlainText); // even if it is full of template brackets
    setFont(QToolTip::font());
    setPalette(QToolTip::palette());
}

void CanvasTip::tell(const QString& text, QPoint pointer, const std::optional<QRect>& about)
{
    const QRect screen = parentWidget()->screen()->availableGeometry();
    const int widest = screen.width() / 2 - kPointer.left() - kPointer.right(); // there is room on one side of any pointer
    setText(text);
    setWordWrap(false);
    ensurePolished();
    QSize size = sizeHint();
    if (size.width() > widest) {
        setWordWrap(true);
        size = {widest, heightForWidth(widest)};
    }
    setGeometry(QRect(placeOfTip(size, pointer, about, screen), size));
    show();
}

} // namespace app
