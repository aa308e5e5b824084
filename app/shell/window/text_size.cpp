#include "app/shell/window/text_size.h"

#include "app/session/settings.h"

#include <QApplication>
#include <QScreen>
#include <QWidget>
#include <QWindow>

#include <private/qhighdpiscaling_p.h> // nothing public changes the scale of a program that runs
#include <qpa/qplatformwindow.h>
#include <qpa/qwindowsysteminterface.h>

#include <algorithm>

namespace app {
namespace {

/// What the environment multiplies every screen by; ours comes on top of it.
double factorOfEnvironment()
{
    bool isNumber = false;
    const double factor = qEnvironmentVariable("QT_SCALE_FACTOR").toDouble(&isNumber);
    return isNumber && factor > 0 ? factor : 1;
}

} // namespace

TextSize::TextSize(QObject* parent) : QObject(parent)
{
    connect(qApp, &QGuiApplication::screenAdded, this, [this](QScreen* screen) {
        if (m_percent != kSmallestSizePercent)
            apply(screen);
    });
}

TextSize::~TextSize()
{
    set(kSmallestSizePercent);
}

void TextSize::apply(QScreen* screen)
{
    if (!m_usual.contains(screen->name()))
        m_usual.insert(screen->name(), QHighDpiScaling::factor(screen) / factorOfEnvironment());
    QHighDpiScaling::setScreenFactor(screen, m_usual.value(screen->name()) * m_percent / kSmallestSizePercent);
}

void TextSize::set(int percent)
{
    if (percent == m_percent)
        return;
    m_percent = percent;
    for (QScreen* screen : QGuiApplication::screens())
        apply(screen);
    // The windows have not moved, but they are of another size in the new units.
    for (QWindow* window : QGuiApplication::topLevelWindows())
        if (QPlatformWindow* shown = window->handle())
            QWindowSystemInterface::handleGeometryChange<QWindowSystemInterface::SynchronousDelivery>(window, shown->geometry());
    for (QWidget* widget : QApplication::allWidgets())
        widget->update();
}

int nextTextSize(int percent, int direction)
{
    if (direction > 0) {
        const auto next = std::upper_bound(kTextSizes.begin(), kTextSizes.end(), percent);
        return next == kTextSizes.end() ? kTextSizes.back() : *next;
    }
    const auto same = std::lower_bound(kTextSizes.begin(), kTextSizes.end(), percent);
    return same == kTextSizes.begin() ? kTextSizes.front() : *(same - 1);
}

} // namespace app
