// A slider whose handle comes to the pointer wherever it is pressed, and follows it: one press, one gesture.
#pragma once

#include <QSlider>

namespace app {

class GrooveSlider : public QSlider {
    Q_OBJECT
public:
    using QSlider::QSlider;
    /// Whether it has a handle: none while nobody knows where its stops are.
    void setKnown(bool);
    bool isKnown() const { return m_isKnown; }

protected:
    void paintEvent(QPaintEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;

private:
    void moveTo(double x);
    bool m_isKnown = true;
    double m_grabbed = 0; ///< of the handle's middle, where it was pressed
};

} // namespace app
