#include "app/canvas/canvas_widget.h"

#include "app/canvas/canvas_accessible.h"
#include "app/canvas/gl_canvas.h"
#include "app/canvas/imgui_canvas.h"
#include "app/canvas/quad_rasteriser.h"
#include "app/canvas/recorder_canvas.h"

#include <QAccessible>
#include <QGuiApplication>
#include <QHelpEvent>
#include <QImage>
#include <QMouseEvent>
#include <QOffscreenSurface>
#include <QOpenGLContext>
#include <QOpenGLFunctions>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>

#include <cmath>
#include <optional>

namespace app {
namespace {

/// Degrees / 8 of one notch, as Qt counts wheels.
constexpr float kNotch = 120;
/// Pixels that a touchpad scrolls for one notch.
constexpr float kPixelsOfNotch = 50;

Qt::CursorShape toQt(CursorShape shape)
{
    switch (shape) {
    case CursorShape::pointingHand:
        return Qt::PointingHandCursor;
    case CursorShape::crosshair:
        return Qt::CrossCursor;
    case CursorShape::resizeHorizontal:
        return Qt::SizeHorCursor;
    case CursorShape::grab:
        return Qt::ClosedHandCursor;
    default:
        return Qt::ArrowCursor;
    }
}

PointerButton fromQt(Qt::MouseButton button)
{
    switch (button) {
    case Qt::LeftButton:
        return PointerButton::left;
    case Qt::MiddleButton:
        return PointerButton::middle;
    case Qt::RightButton:
        return PointerButton::right;
    default:
        return PointerButton::none;
    }
}

PointerButton heldOf(Qt::MouseButtons buttons)
{
    for (const Qt::MouseButton button : {Qt::LeftButton, Qt::MiddleButton, Qt::RightButton})
        if (buttons.testFlag(button))
            return fromQt(button);
    return PointerButton::none;
}

Point fromQt(QPointF position)
{
    return {static_cast<float>(position.x()), static_cast<float>(position.y())};
}

Renderer chosen(Renderer wanted)
{
    const QByteArray forced = qgetenv("RANKSCOPE_RENDERER");
    if (forced == "software")
        return Renderer::software;
    if (forced == "opengl")
        return Renderer::openGl;
    if (wanted != Renderer::automatic)
        return wanted;
    return hardwareOpenGl() ? Renderer::openGl : Renderer::software;
}

} // namespace

bool hardwareOpenGl()
{
    static const bool isHardware = [] {
        // Platforms without GL crash on a QOpenGLWidget instead of refusing it.
        const QString platform = QGuiApplication::platformName();
        if (platform == QLatin1String("offscreen") || platform == QLatin1String("minimal") || platform == QLatin1String("vnc"))
            return false;
        QOffscreenSurface surface;
        surface.create();
        QOpenGLContext context;
        if (!surface.isValid() || !context.create() || !context.makeCurrent(&surface))
            return false;
        const auto* name = reinterpret_cast<const char*>(context.functions()->glGetString(GL_RENDERER));
        const QByteArray renderer = QByteArray(name != nullptr ? name : "").toLower();
        context.doneCurrent();
        for (const char* software : {"llvmpipe", "softpipe", "swiftshader", "software", "swrast"})
            if (renderer.contains(software))
                return false;
        return !renderer.isEmpty();
    }();
    return isHardware;
}

struct CanvasWidget::Data {
    Data(View& shown, Renderer wanted) : view(shown), renderer(chosen(wanted)) {}

    View& view;
    Renderer renderer;
    std::optional<DrawList> drawList;
    QImage image; ///< of the software renderer: the last frame
    bool stale = true;
    int frames = 0;
    std::vector<Node> nodes;
    bool nodesStale = true;
    GlCanvas* gl = nullptr; ///< child of the widget
};

CanvasWidget::CanvasWidget(View& view, Renderer renderer, QWidget* parent)
    : QWidget(parent), m_data(std::make_unique<Data>(view, renderer))
{
    installCanvasAccessibility();
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setMinimumSize(160, 80);
    setAccessibleName(QString::fromStdString(view.title()));
    if (m_data->renderer == Renderer::openGl) {
        m_data->gl = new GlCanvas(
            [this]() -> GlCanvas::Frame {
                prepareFrame();
                return {&*m_data->drawList, 0xFFFFFFFF};
            },
            this);
        m_data->gl->setAttribute(Qt::WA_TransparentForMouseEvents); // events are this widget's
    } else {
        setAttribute(Qt::WA_OpaquePaintEvent);
    }
}

CanvasWidget::~CanvasWidget() = default;

Rect CanvasWidget::area() const
{
    return {0, 0, static_cast<float>(width()), static_cast<float>(height())};
}

/// The view's primitives for the present size, in device pixels.
void CanvasWidget::prepareFrame()
{
    const auto scale = static_cast<float>(devicePixelRatioF());
    if (!m_data->drawList || m_data->drawList->atlas().scale() != scale)
        m_data->drawList.emplace(GlyphAtlas::forScale(scale));
    m_data->drawList->begin(static_cast<int>(std::ceil(static_cast<float>(width()) * scale)),
                            static_cast<int>(std::ceil(static_cast<float>(height()) * scale)));
    ImGuiCanvas canvas(*m_data->drawList, area());
    m_data->view.draw(canvas);
    ++m_data->frames;
    m_data->stale = false;
}

void CanvasWidget::requestFrame()
{
    m_data->stale = true;
    m_data->nodesStale = true;
    if (m_data->gl != nullptr)
        m_data->gl->update();
    else
        update();
}

Renderer CanvasWidget::renderer() const
{
    return m_data->renderer;
}

int CanvasWidget::framesDrawn() const
{
    return m_data->frames;
}

const std::vector<Node>& CanvasWidget::nodes() const
{
    if (m_data->nodesStale) {
        RecorderCanvas recorder(area());
        m_data->view.draw(recorder);
        m_data->nodes = recorder.takeNodes();
        m_data->nodesStale = false;
    }
    return m_data->nodes;
}

void CanvasWidget::runCommand(ViewCommand command, bool fast)
{
    if (m_data->view.command(command, fast, area()))
        afterChange();
}

void CanvasWidget::afterChange()
{
    requestFrame();
    emit viewChanged();
}

void CanvasWidget::sendPointer(const PointerEvent& event)
{
    const bool changed = m_data->view.pointer(event, area());
    if (const Qt::CursorShape shape = toQt(m_data->view.cursor()); shape != cursor().shape())
        setCursor(shape);
    if (changed)
        afterChange();
}

bool CanvasWidget::event(QEvent* event)
{
    const auto mouse = [&](PointerEvent::Kind kind) {
        const auto* source = static_cast<QMouseEvent*>(event);
        PointerEvent pointer{.kind = kind, .at = fromQt(source->position())};
        pointer.button = kind == PointerEvent::Kind::move ? heldOf(source->buttons()) : fromQt(source->button());
        pointer.shift = source->modifiers().testFlag(Qt::ShiftModifier);
        pointer.control = source->modifiers().testFlag(Qt::ControlModifier);
        pointer.alt = source->modifiers().testFlag(Qt::AltModifier);
        sendPointer(pointer);
        event->accept();
        return true;
    };
    switch (event->type()) {
    case QEvent::MouseMove:
        return mouse(PointerEvent::Kind::move);
    case QEvent::MouseButtonPress:
        setFocus(Qt::MouseFocusReason);
        return mouse(PointerEvent::Kind::press);
    case QEvent::MouseButtonRelease:
        return mouse(PointerEvent::Kind::release);
    case QEvent::MouseButtonDblClick:
        return mouse(PointerEvent::Kind::doubleClick);
    case QEvent::Leave:
        sendPointer({.kind = PointerEvent::Kind::leave});
        break;
    case QEvent::Wheel: {
        const auto* source = static_cast<QWheelEvent*>(event);
        PointerEvent pointer{.kind = PointerEvent::Kind::wheel, .at = fromQt(source->position())};
        const QPoint pixels = source->pixelDelta(), angle = source->angleDelta();
        pointer.wheelX =
            pixels.isNull() ? static_cast<float>(angle.x()) / kNotch : static_cast<float>(pixels.x()) / kPixelsOfNotch;
        pointer.wheelY =
            pixels.isNull() ? static_cast<float>(angle.y()) / kNotch : static_cast<float>(pixels.y()) / kPixelsOfNotch;
        pointer.shift = source->modifiers().testFlag(Qt::ShiftModifier);
        pointer.control = source->modifiers().testFlag(Qt::ControlModifier);
        pointer.alt = source->modifiers().testFlag(Qt::AltModifier);
        sendPointer(pointer);
        event->accept();
        return true;
    }
    case QEvent::ToolTip: {
        const std::string tip = m_data->view.tooltip();
        const auto* help = static_cast<QHelpEvent*>(event);
        if (tip.empty())
            QToolTip::hideText();
        else
            QToolTip::showText(help->globalPos(), QString::fromStdString(tip), this);
        return true;
    }
    default:
        break;
    }
    return QWidget::event(event);
}

void CanvasWidget::paintEvent(QPaintEvent*)
{
    if (m_data->gl != nullptr)
        return;
    const QSize pixels = size() * devicePixelRatioF();
    if (m_data->stale || m_data->image.size() != pixels) {
        prepareFrame();
        if (m_data->image.size() != pixels) {
            m_data->image = QImage(pixels, QImage::Format_RGB32);
            m_data->image.setDevicePixelRatio(devicePixelRatioF());
        }
        m_data->image.fill(Qt::white); // what a view leaves open
        const GlyphAtlas& atlas = m_data->drawList->atlas();
        rasterise(m_data->drawList->list(), {atlas.coverage(), atlas.width(), atlas.heightPixels()},
                  {reinterpret_cast<std::uint32_t*>(m_data->image.bits()), m_data->image.width(), m_data->image.height(),
                   m_data->image.bytesPerLine() / static_cast<qsizetype>(sizeof(std::uint32_t))});
    }
    QPainter(this).drawImage(0, 0, m_data->image);
    if (m_data->view.animating())
        QMetaObject::invokeMethod(this, &CanvasWidget::requestFrame, Qt::QueuedConnection);
}

void CanvasWidget::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    if (m_data->gl != nullptr)
        m_data->gl->setGeometry(rect());
    requestFrame();
}

} // namespace app
