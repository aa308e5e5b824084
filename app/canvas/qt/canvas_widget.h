// The widget that shows a View: ImGui's draw list, put on screen by OpenGL where the renderer is hardware and by our own quad
// rasteriser where it is not. Draws only when something changed.
#pragma once

#include "app/canvas/renderer.h"
#include "app/canvas/view.h"

#include <QWidget>

#include <memory>

namespace app {

class CanvasWidget : public QWidget {
    Q_OBJECT
public:
    /// The view must outlive the widget.
    explicit CanvasWidget(View& view, Renderer = Renderer::automatic, QWidget* parent = nullptr);
    ~CanvasWidget() override;

    /// A logical pixel of the view as so many of the widget's: text is read from farther away, and there is room for less. 1
    /// by default.
    void setMagnification(qreal);
    qreal magnification() const;

    /// Quantities are neither drawn nor spoken, and tooltips give names alone (masked_canvas.h).
    void setMasked(bool);

    void requestFrame();                             ///< something changed; coalesced
    Renderer renderer() const;                       ///< software or openGl: what was asked for, if it can be had
    int framesDrawn() const;                         ///< how often the view was asked to draw for the screen
    const std::vector<Node>& nodes() const;          ///< of what is shown now, in the widget's pixels; made when somebody asks
    bool runCommand(ViewCommand, bool fast = false); ///< false: it changed nothing
    /// Around a view that has the keyboard: shown where it came by a key.
    void setFocusRing(bool visible);
    bool hasFocusRing() const;
    QString tip() const; ///< that stands beside the pointer; empty: none

Q_SIGNALS:
    void viewChanged(); ///< pointer or key changed the view (hover, selection, zoom)

protected:
    bool event(QEvent*) override;
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    struct Data;
    Rect area() const;
    float scale() const;
    QSize pixelSize() const;
    bool frameIsCurrent() const;
    void drawView(Canvas&) const;
    std::string tipNow() const;
    void prepareFrame();
    void nextFrameIfAnimating();
    void afterChange();
    void sendPointer(const PointerEvent&);
    void showTip(QPoint globalPosition);
    void hideTip();
    std::unique_ptr<Data> m_data;
};

/// Is there an OpenGL that is not itself software? Decided once, before any QOpenGLWidget is made: platforms without GL crash on
/// one instead of refusing it. The environment variable RANKSCOPE_RENDERER=software|opengl overrides the choice.
bool hardwareOpenGl();

} // namespace app
