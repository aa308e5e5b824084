// Which keys run which command.
#include "app/shell/window/commands.h"

#include <QGuiApplication>
#include <QKeyEvent>

#include <algorithm>

namespace app {
namespace {

/// Physical keys are numbered by evdev; X11 and Wayland pass them on with 8 added. Nothing elsewhere.
int positionOf(const QKeyEvent& event)
{
    static const bool known = QGuiApplication::platformName() == QLatin1String("xcb") ||
                              QGuiApplication::platformName().startsWith(QLatin1String("wayland"));
    constexpr quint32 kOffset = 8;
    return known && event.nativeScanCode() > kOffset ? static_cast<int>(event.nativeScanCode() - kOffset) : 0;
}

/// With Shift the keys of comma and full stop write something else: here they are the same keys, only faster. By their place,
/// which English and German keyboards agree about; where nothing tells it, by what they write on an English one.
int keyWithoutShift(const QKeyEvent& event)
{
    constexpr quint32 kCommaPlace = 59, kFullStopPlace = 60; // X11: evdev's codes and eight
    const int key = event.key();
    const quint32 place = event.nativeScanCode();
    if ((event.modifiers() & Qt::ShiftModifier) == 0 || key == Qt::Key_Comma || key == Qt::Key_Period)
        return key;
    if (place == kFullStopPlace || (place == 0 && key == Qt::Key_Greater))
        return Qt::Key_Period;
    return place == kCommaPlace || (place == 0 && key == Qt::Key_Less) ? Qt::Key_Comma : key;
}

} // namespace

QList<QKeySequence> shortcutsOf(const Command& command)
{
    QList<QKeySequence> out;
    for (const QString& part : QString::fromUtf8(command.shortcuts).split(QLatin1Char(' '), Qt::SkipEmptyParts))
        out.push_back(QKeySequence::fromString(part, QKeySequence::PortableText));
    return out;
}

QString keysOf(const Command& command)
{
    QStringList out;
    for (const QKeySequence& keys : shortcutsOf(command))
        out << keys.toString(QKeySequence::NativeText);
    return out.join(QStringLiteral("  "));
}

const Command* canvasCommand(const QKeyEvent& event)
{
    if (event.modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier))
        return nullptr;
    const int position = positionOf(event), key = keyWithoutShift(event);
    const QKeySequence pressed(static_cast<int>(event.modifiers() & Qt::ShiftModifier) | event.key());
    const Command* byLetter = nullptr;
    for (const Command& c : commands()) {
        if (c.scope != CommandScope::canvas)
            continue;
        if (position != 0 && c.extra.position == position)
            return &c;
        const auto keys = shortcutsOf(c);
        const bool withShift = keys.contains(pressed) && (event.modifiers() & Qt::ShiftModifier) != 0;
        if (withShift)
            return &c;
        const bool letterMatches = std::any_of(keys.begin(), keys.end(), [&](const QKeySequence& s) {
            return s[0].key() == key && (s[0].keyboardModifiers() & Qt::ShiftModifier) == 0;
        });
        // A key that is meant by place does not also answer to its letter elsewhere.
        const bool meantByPlace = position != 0 && c.extra.position != 0 && event.key() >= Qt::Key_A && event.key() <= Qt::Key_Z;
        if (letterMatches && !meantByPlace)
            byLetter = &c;
    }
    return byLetter;
}

} // namespace app
