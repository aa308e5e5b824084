#include "app/canvas/qt/canvas_widget.h"

#include "app/canvas/masked_canvas.h"
#include "app/canvas/qt/canvas_accessible.h"
#include "app/canvas/qt/canvas_tip.h"
#include "app/canvas/qt/changed_tiles.h"
#include "app/canvas/qt/gl_canvas.h"
#include "app/canvas/qt/imgui_canvas.h"
#include "app/canvas/qt/window_pixels.h"

#include <QAccessible>
#include <QElapsedTimer>
#include <QGuiApplication>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QOffscreenSurface>
#include <QOpenGLContext>
#include <QOpenGLFunctions>
#include <QPaintEvent>
#include <QTimer>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace app {
namespace {

/// Degrees / 8 of one notch, as Qt counts wheels.
constexpr float kNotch = 120;
/// Pixels that a touchpad scrolls for one notch.
constexpr float kPixelsOfNotch = 50;
/// Of an animation, in milliseconds from one frame to the next: 60 a second.
constexpr qint64 kFrameInterval = 16;
/// Posted to a canvas whose frame is to be drawn, after all else that is waiting.
constexpr auto kDrawFrame = static_cast<QEvent::Type>(QEvent::User + 71);

/// Arrow keys pan a picture that has nothing to step to.
std::optional<ViewCommand> panInstead(ViewCommand command)
{
    switch (command) {
    case ViewCommand::stepLeft:
        return ViewCommand::panLeft;
    case ViewCommand::stepRight:
        return ViewCommand::panRight;
    case ViewCommand::stepUp:
        return ViewCommand::panUp;
    case ViewCommand::stepDown:
        return ViewCommand::panDown;
    default:
        return std::nullopt;
    }
}

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

/// Touchpads tell pixels; under X11 those are unreliable (Qt's documentation) and the angle is as fine.
Point notchesOf(const QWheelEvent& event)
{
    const bool inPixels = !event.pixelDelta().isNull() && QGuiApplication::platformName() != QLatin1String("xcb");
    const QPointF delta = inPixels ? QPointF(event.pixelDelta()) / kPixelsOfNotch : QPointF(event.angleDelta()) / kNotch;
    return fromQt(delta);
}

struct OpenGl {
    bool works = false, isHardware = false;
};

OpenGl probeOpenGl()
{
    const QString platform = QGuiApplication::platformName();
    for (const char* withoutGl : {"offscreen", "minimal", "vnc", "linuxfb"})
        if (platform == QLatin1String(withoutGl))
            return {};
    QOffscreenSurface surface;
    surface.create();
    QOpenGLContext context;
    if (!surface.isValid() || !context.create() || !context.makeCurrent(&surface))
        return {};
    const auto* name = reinterpret_cast<const char*>(context.functions()->glGetString(GL_RENDERER));
    const QByteArray renderer = QByteArray(name != nullptr ? name : "").toLower();
    OpenGl openGl{.works = GlCanvas::worksHere(), .isHardware = !renderer.isEmpty()};
    for (const char* software : {"llvmpipe", "softpipe", "swiftshader", "software", "swrast"})
        openGl.isHardware = openGl.isHardware && !renderer.contains(software);
    context.doneCurrent();
    return openGl;
}

const OpenGl& openGl()
{
    static const OpenGl found = probeOpenGl();
    return found;
}

Renderer chosen(Renderer wanted)
{
    const QByteArray forced = qgetenv("RANKSCOPE_RENDERER");
    if (forced == "software" || forced == "opengl")
        wanted = forced == "software" ? Renderer::software : Renderer::openGl;
    if (wanted == Renderer::automatic)
        wanted = hardwareOpenGl() ? Renderer::openGl : Renderer::software;
    return wanted == Renderer::openGl && openGl().works ? Renderer::openGl : Renderer::software;
}

} // namespace

bool hardwareOpenGl()
{
    return openGl().works && openGl().isHardware;
}

struct CanvasWidget::Data {
    Data(View& shown, Renderer wanted) : view(shown), renderer(chosen(wanted)) {}

    View& view;
    Renderer renderer;
    qreal magnification = 1;
    std::optional<DrawList> drawList;
    QSize framePixels;    ///< of what is in the draw list
    ChangedTiles tiles;   ///< of the software renderer's frames
    QColor base;          ///< they are drawn on
    bool isAsked = false; ///< to draw a frame, in a moment
    QRegion changed(const QColor& on, qreal ratio);
    bool stale = true;
    bool focusRing = false;
    int frames = 0;
    std::vector<Node> nodes;
    bool nodesStale = true;
    bool isMasked = false;
    GlCanvas* gl = nullptr; ///< child of the widget
    QTimer nextFrame;       ///< of an animation; runs only between two of its frames
    QElapsedTimer sinceFrame;
    CanvasTip* tip = nullptr; ///< child of the widget, once there was something to say
};

/// Where the draw list shows something else than the one before, in logical pixels.
QRegion CanvasWidget::Data::changed(const QColor& on, qreal ratio)
{
    if (base != on)
        tiles.forget();
    base = on;
    QRegion out;
    for (const PixelRect& rect : tiles.next(drawList->list(), drawList->stacks(), framePixels.width(), framePixels.height())) {
        const QRectF logical(QPointF(rect.left, rect.top) / ratio, QPointF(rect.right, rect.bottom) / ratio);
        out += ratio == std::floor(ratio) ? logical.toAlignedRect() : logical.adjusted(-1, -1, 1, 1).toAlignedRect();
    }
    return out;
}

CanvasWidget::CanvasWidget(View& view, Renderer renderer, QWidget* parent)
    : QWidget(parent), m_data(std::make_unique<Data>(view, renderer))
{
    installCanvasAccessibility();
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setMinimumSize(160, 80);
    setAccessibleName(QString::fromStdString(view.title()));
    m_data->nextFrame.setSingleShot(true);
    m_data->nextFrame.setTimerType(Qt::PreciseTimer);
    connect(&m_data->nextFrame, &QTimer::timeout, this, &CanvasWidget::requestFrame);
    if (m_data->renderer == Renderer::openGl) {
        const auto prepare = [this]() -> GlCanvas::Frame {
            if (!frameIsCurrent())
                prepareFrame();
            nextFrameIfAnimating();
            return {*m_data->drawList, m_data->framePixels, palette().color(QPalette::Base)};
        };
        m_data->gl = new GlCanvas(prepare, this);
        m_data->gl->setAttribute(Qt::WA_TransparentForMouseEvents); // events are this widget's
    } else {
        setAttribute(Qt::WA_OpaquePaintEvent);
    }
}

CanvasWidget::~CanvasWidget()
{
    delete m_data->gl; // while what it draws is still there
}

Rect CanvasWidget::area() const
{
    return {0, 0, static_cast<float>(width() / m_data->magnification), static_cast<float>(height() / m_data->magnification)};
}

/// Device pixels for a logical one of the view.
float CanvasWidget::scale() const
{
    return static_cast<float>(devicePixelRatioF() * m_data->magnification);
}

void CanvasWidget::setMagnification(qreal magnification)
{
    if (magnification == m_data->magnification)
        return;
    m_data->magnification = magnification;
    requestFrame();
}

qreal CanvasWidget::magnification() const
{
    return m_data->magnification;
}

QSize CanvasWidget::pixelSize() const
{
    return size() * devicePixelRatioF();
}

bool CanvasWidget::frameIsCurrent() const
{
    return !m_data->stale && m_data->framePixels == pixelSize() && m_data->drawList->atlas().scale() == scale();
}

void CanvasWidget::drawView(Canvas& canvas) const
{
    if (!m_data->isMasked)
        return m_data->view.draw(canvas);
    MaskedCanvas masked(canvas);
    m_data->view.draw(masked);
}

std::string CanvasWidget::tipNow() const
{
    return m_data->isMasked ? withoutQuantities(m_data->view.tooltipName()) : m_data->view.tooltip();
}

void CanvasWidget::setMasked(bool masked)
{
    if (m_data->isMasked == masked)
        return;
    m_data->isMasked = masked;
    requestFrame();
}

/// The view's primitives for the present size, in device pixels.
void CanvasWidget::prepareFrame()
{
    m_data->sinceFrame.start();
    if (!m_data->drawList || m_data->drawList->atlas().scale() != scale())
        m_data->drawList.emplace(GlyphAtlas::forScale(scale()));
    m_data->drawList->keepStacks(m_data->renderer == Renderer::software);
    m_data->framePixels = pixelSize();
    m_data->drawList->begin(m_data->framePixels.width(), m_data->framePixels.height());
    ImGuiCanvas canvas(*m_data->drawList, area());
    drawView(canvas);
    if (m_data->focusRing) {
        const QColor ring = palette().color(QPalette::Highlight);
        canvas.strokeRect(area(), Color::rgb(ring.rgb() & 0xFFFFFFU), 2, LineStyle::solid);
    }
    ++m_data->frames;
    m_data->stale = false;
}

void CanvasWidget::nextFrameIfAnimating()
{
    if (m_data->view.animating() && !m_data->nextFrame.isActive())
        m_data->nextFrame.start(
            static_cast<int>(std::clamp<qint64>(kFrameInterval - m_data->sinceFrame.elapsed(), 0, kFrameInterval)));
}

void CanvasWidget::requestFrame()
{
    m_data->stale = true;
    m_data->nodesStale = true;
    if (m_data->gl != nullptr)
        m_data->gl->update();
    else if (!std::exchange(m_data->isAsked, true))
        QCoreApplication::postEvent(this, new QEvent(kDrawFrame), Qt::LowEventPriority);
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
        // With the fonts of the screen, so that everything is where it is seen.
        DrawList unseen(GlyphAtlas::forScale(scale()));
        unseen.begin(pixelSize().width(), pixelSize().height());
        m_data->nodes.clear();
        ImGuiCanvas canvas(unseen, area(), &m_data->nodes);
        drawView(canvas);
        const auto by = static_cast<float>(m_data->magnification);
        for (Node& node : m_data->nodes)
            node.rect = {node.rect.left * by, node.rect.top * by, node.rect.right * by, node.rect.bottom * by};
        m_data->nodesStale = false;
    }
    return m_data->nodes;
}

bool CanvasWidget::runCommand(ViewCommand command, bool fast)
{
    hideTip(); // what is under the pointer may be another
    const std::optional<ViewCommand> instead = panInstead(command);
    const bool changed = m_data->view.command(command, fast, area()) || (instead && m_data->view.command(*instead, fast, area()));
    if (changed)
        afterChange();
    return changed;
}

void CanvasWidget::afterChange()
{
    requestFrame();
    Q_EMIT viewChanged();
    if (QAccessible::isActive())
        announceChange(*this);
}

void CanvasWidget::sendPointer(const PointerEvent& event)
{
    const bool changed = m_data->view.pointer(event, area());
    if (const Qt::CursorShape shape = toQt(m_data->view.cursor()); shape != cursor().shape())
        setCursor(shape);
    // A tooltip that is up follows what the pointer is over.
    if (const QString shown = tip(); !shown.isEmpty() && QString::fromStdString(tipNow()) != shown)
        showTip(mapToGlobal(QPointF(event.at.x, event.at.y) * m_data->magnification).toPoint());
    if (changed)
        afterChange();
}

void CanvasWidget::showTip(QPoint globalPosition)
{
    const std::string text = tipNow();
    if (text.empty())
        return hideTip();
    std::optional<QRect> about;
    if (const auto clear = m_data->view.tooltipKeepsClearOf()) {
        const qreal by = m_data->magnification;
        const QRectF inWidget(clear->left * by, clear->top * by, clear->width() * by, clear->height() * by);
        about = QRect(mapToGlobal(inWidget.topLeft()).toPoint(), inWidget.size().toSize());
    }
    if (m_data->tip == nullptr)
        m_data->tip = new CanvasTip(*this);
    m_data->tip->tell(QString::fromStdString(text), globalPosition, about);
}

void CanvasWidget::hideTip()
{
    if (m_data->tip != nullptr)
        m_data->tip->hide();
}

QString CanvasWidget::tip() const
{
    return m_data->tip != nullptr && m_data->tip->isVisible() ? m_data->tip->text() : QString();
}

bool CanvasWidget::hasFocusRing() const
{
    return m_data->focusRing;
}

void CanvasWidget::setFocusRing(bool visible)
{
    if (visible == m_data->focusRing)
        return;
    m_data->focusRing = visible;
    requestFrame();
}

bool CanvasWidget::event(QEvent* event)
{
    const auto send = [&](PointerEvent pointer, const auto& source) {
        pointer.at = fromQt(source.position() / m_data->magnification);
        pointer.shift = source.modifiers().testFlag(Qt::ShiftModifier);
        pointer.control = source.modifiers().testFlag(Qt::ControlModifier);
        pointer.alt = source.modifiers().testFlag(Qt::AltModifier);
        sendPointer(pointer);
        event->accept();
        return true;
    };
    const auto mouse = [&](PointerEvent::Kind kind) {
        const auto& source = *static_cast<QMouseEvent*>(event);
        const bool isMove = kind == PointerEvent::Kind::move;
        return send({.kind = kind, .button = isMove ? heldOf(source.buttons()) : fromQt(source.button())}, source);
    };
    if (event->type() == kDrawFrame) {
        m_data->isAsked = false;
        if (frameIsCurrent())
            return true; // it was painted meanwhile
        if (!isVisible() || !updatesEnabled() || visibleRegion().isEmpty()) {
            update(); // whenever it is seen
            return true;
        }
        prepareFrame();
        update(m_data->changed(palette().color(QPalette::Base), devicePixelRatioF()));
        nextFrameIfAnimating(); // also where nothing has to be painted
        return true;
    }
    switch (event->type()) {
    case QEvent::MouseMove:
        return mouse(PointerEvent::Kind::move);
    case QEvent::MouseButtonPress:
        hideTip();
        return mouse(PointerEvent::Kind::press); // Qt gives the focus
    case QEvent::MouseButtonRelease:
        return mouse(PointerEvent::Kind::release);
    case QEvent::MouseButtonDblClick:
        return mouse(PointerEvent::Kind::doubleClick);
    case QEvent::Leave:
        hideTip();
        sendPointer({.kind = PointerEvent::Kind::leave});
        break;
    case QEvent::Wheel: {
        hideTip();
        if (!m_data->view.takesWheel())
            break;
        const auto& source = *static_cast<QWheelEvent*>(event);
        const Point notches = notchesOf(source);
        return send({.kind = PointerEvent::Kind::wheel, .wheelX = notches.x, .wheelY = notches.y}, source);
    }
    case QEvent::ToolTip:
        showTip(static_cast<QHelpEvent*>(event)->globalPos());
        return true;
    case QEvent::FocusIn: {
        // Who came by mouse knows where they are.
        const Qt::FocusReason reason = static_cast<QFocusEvent*>(event)->reason();
        setFocusRing(reason == Qt::TabFocusReason || reason == Qt::BacktabFocusReason || reason == Qt::ShortcutFocusReason);
        break;
    }
    case QEvent::FocusOut:
        setFocusRing(false);
        break;
    case QEvent::WindowDeactivate:
    case QEvent::Hide:
        hideTip();
        break;
    case QEvent::PaletteChange:
        requestFrame();
        break;
    default:
        break;
    }
    return QWidget::event(event);
}

void CanvasWidget::paintEvent(QPaintEvent* event)
{
    if (m_data->gl != nullptr)
        return;
    if (!frameIsCurrent()) {
        prepareFrame();
        update(m_data->changed(palette().color(QPalette::Base), devicePixelRatioF()) - event->region());
    }
    paintPixels(*this, event->region(), [this](const PixelBuffer& out, const PixelRect& only) {
        rasterise(*m_data->drawList, out, m_data->base.rgb(), only);
    });
    nextFrameIfAnimating();
}

void CanvasWidget::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    if (m_data->gl != nullptr)
        m_data->gl->setGeometry(rect());
    requestFrame();
}

} // namespace app
