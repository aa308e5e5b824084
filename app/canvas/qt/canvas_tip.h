// What a picture says of what is pointed at: beside the pointer and beside what it tells about, and never in the mouse's way.
#pragma once

#include <QLabel>

#include <optional>

namespace app {

/// Where a tip stands on the screen: never over the pointer, and beside what it tells about (`about`) where there is room.
QPoint placeOfTip(QSize tip, QPoint pointer, const std::optional<QRect>& about, QRect screen);

/// Unlike QToolTip it is no window to the mouse: a picture whose tip came to lie under the pointer would be left, lose its tip,
/// be entered, and so on.
class CanvasTip : public QLabel {
    Q_OBJECT
public:
    explicit CanvasTip(QWidget& picture);
    /// All in global coordinates.
    void tell(const QString& text, QPoint pointer, const std::optional<QRect>& about);
};

} // namespace app
