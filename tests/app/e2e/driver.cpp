#include "tests/app/e2e/driver.h"

#include "app/shell/presentation/presentation.h"
#include "tests/app/session/session_fixtures.h"

#include <QAbstractButton>
#include <QApplication>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QHelpEvent>
#include <QKeySequence>
#include <QMimeData>
#include <QMouseEvent>
#include <QPointer>
#include <QTest>
#include <QUrl>

#include <gtest/gtest.h>

#include <functional>
#include <utility>

namespace app::test {
namespace {

/// Visits what is visible below, parents first; stops when told to.
bool visit(QAccessibleInterface* at, const std::function<bool(QAccessibleInterface&)>& wanted)
{
    if (at == nullptr || !at->isValid() || at->state().invisible)
        return false;
    if (wanted(*at))
        return true;
    if (QAccessibleTableInterface* table = at->tableInterface()) {
        // Lists tell of changes only while a screen reader runs; without one they remember items that are gone.
        QAccessibleTableModelChangeEvent reset(at->object(), QAccessibleTableModelChangeEvent::ModelReset);
        table->modelChange(&reset);
    }
    const int children = at->childCount();
    for (int i = 0; i < children; ++i) {
        if (visit(at->child(i), wanted))
            return true;
    }
    return false;
}

bool matches(QAccessibleInterface& thing, QAccessible::Role role, const QString& words)
{
    return (role == QAccessible::NoRole || thing.role() == role) &&
           thing.text(QAccessible::Name).contains(words, Qt::CaseInsensitive);
}

/// The widget that shows a thing, and where in it the thing's middle is.
std::pair<QWidget*, QPointF> placeOf(QAccessibleInterface& thing)
{
    QAccessibleInterface* at = &thing;
    while (at != nullptr && qobject_cast<QWidget*>(at->object()) == nullptr)
        at = at->parent();
    auto* widget = at == nullptr ? nullptr : qobject_cast<QWidget*>(at->object());
    if (widget == nullptr)
        return {nullptr, {}};
    const QPointF global = QRectF(thing.rect()).center();
    QWidget* inner = widget->childAt(widget->mapFromGlobal(global.toPoint()));
    QWidget* target = inner != nullptr ? inner : widget; // a list's viewport, not its frame
    return {target, target->mapFromGlobal(global)};
}

void send(QAccessibleInterface& thing, std::initializer_list<QEvent::Type> events)
{
    const auto [widget, at] = placeOf(thing);
    ASSERT_NE(widget, nullptr);
    const QPointF global = widget->mapToGlobal(at);
    for (const QEvent::Type type : events) {
        const bool moves = type == QEvent::MouseMove;
        const bool down = type == QEvent::MouseButtonPress || type == QEvent::MouseButtonDblClick;
        QMouseEvent event(type, at, global, moves ? Qt::NoButton : Qt::LeftButton, down ? Qt::LeftButton : Qt::NoButton,
                          Qt::NoModifier);
        QApplication::sendEvent(widget, &event);
    }
}

std::string kindOf(QAccessible::Role role)
{
    return "role " + std::to_string(static_cast<int>(role));
}

} // namespace

Driver::Driver(QSize size) : m_window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software})
{
    m_window.resize(size);
    m_window.showGallery();
    m_window.show();
    settle();
}

QAccessibleInterface* Driver::find(QAccessible::Role role, const QString& words) const
{
    QAccessibleInterface* found = nullptr;
    const auto look = [&](QAccessibleInterface& thing) {
        if (matches(thing, role, words))
            found = &thing;
        return found != nullptr;
    };
    // A dialog or popup lies above the window.
    const QWidgetList top = QApplication::topLevelWidgets();
    for (auto widget = top.rbegin(); widget != top.rend() && found == nullptr; ++widget) {
        if ((*widget)->isVisible() && *widget != &m_window)
            visit(QAccessible::queryAccessibleInterface(*widget), look);
    }
    if (found == nullptr)
        visit(QAccessible::queryAccessibleInterface(const_cast<MainWindow*>(&m_window)), look);
    return found;
}

int Driver::count(QAccessible::Role role, const QString& words) const
{
    int number = 0;
    visit(QAccessible::queryAccessibleInterface(const_cast<MainWindow*>(&m_window)), [&](QAccessibleInterface& thing) {
        number += matches(thing, role, words) ? 1 : 0;
        return false;
    });
    return number;
}

QStringList Driver::namesOf(QAccessible::Role role) const
{
    QStringList names;
    visit(QAccessible::queryAccessibleInterface(const_cast<MainWindow*>(&m_window)), [&](QAccessibleInterface& thing) {
        if (thing.role() == role)
            names << thing.text(QAccessible::Name);
        return false;
    });
    return names;
}

void Driver::press(QAccessible::Role role, const QString& words)
{
    QAccessibleInterface* thing = find(role, words);
    ASSERT_NE(thing, nullptr) << "nothing is called " << words.toStdString() << " (" << kindOf(role) << "); there are "
                              << namesOf(role).join(QStringLiteral(" | ")).left(2000).toStdString();
    QAccessibleActionInterface* actions = thing->actionInterface();
    if (actions != nullptr && actions->actionNames().contains(QAccessibleActionInterface::pressAction())) {
        const QPointer<QAbstractButton> button = qobject_cast<QAbstractButton*>(thing->object());
        ASSERT_TRUE(waitFor([&] { return button.isNull() || button->isEnabled(); })) << words.toStdString() << " is not offered";
        actions->doAction(QAccessibleActionInterface::pressAction());
        ASSERT_TRUE(waitFor([&] { return button.isNull() || !button->isDown(); })) << "a button comes up again after a moment";
    } else if (role == QAccessible::CheckBox && actions != nullptr)
        actions->doAction(QAccessibleActionInterface::toggleAction());
    else
        send(*thing, {QEvent::MouseMove, QEvent::MouseButtonPress, QEvent::MouseButtonRelease});
    settle();
}

void Driver::doubleClick(QAccessible::Role role, const QString& words)
{
    QAccessibleInterface* thing = find(role, words);
    ASSERT_NE(thing, nullptr) << "nothing is called " << words.toStdString();
    send(*thing, {QEvent::MouseMove, QEvent::MouseButtonPress, QEvent::MouseButtonRelease, QEvent::MouseButtonDblClick,
                  QEvent::MouseButtonRelease});
    settle();
}

void Driver::hover(QAccessible::Role role, const QString& words)
{
    QAccessibleInterface* thing = find(role, words);
    ASSERT_NE(thing, nullptr) << "nothing is called " << words.toStdString();
    send(*thing, {QEvent::MouseMove});
    settle();
}

void Driver::rest(const QString& span, const QString& row)
{
    QAccessibleInterface *across = find(QAccessible::ListItem, span), *down = find(QAccessible::Row, row);
    ASSERT_NE(across, nullptr) << "no span is called " << span.toStdString();
    ASSERT_NE(down, nullptr) << "no row is called " << row.toStdString();
    QWidget* picture = placeOf(*across).first;
    ASSERT_NE(picture, nullptr);
    const QPoint global(across->rect().center().x(), down->rect().center().y());
    const QPoint at = picture->mapFromGlobal(global);
    QMouseEvent move(QEvent::MouseMove, at, global, Qt::NoButton, Qt::NoButton, Qt::NoModifier);
    QApplication::sendEvent(picture, &move);
    QHelpEvent help(QEvent::ToolTip, at, global);
    QApplication::sendEvent(picture, &help);
    m_restsOn = picture;
    settle();
}

void Driver::leave()
{
    ASSERT_NE(m_restsOn, nullptr);
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(std::exchange(m_restsOn, nullptr), &leave);
    settle();
}

void Driver::enter(QAccessible::Role role, const QString& words, const QString& text)
{
    QAccessibleInterface* thing = find(role, words);
    ASSERT_NE(thing, nullptr) << "nothing is called " << words.toStdString() << "; there are "
                              << namesOf(role).join(QStringLiteral(" | ")).left(2000).toStdString();
    if (QAccessibleValueInterface* value = thing->valueInterface())
        value->setCurrentValue(text.toDouble());
    else
        thing->setText(QAccessible::Value, text);
    settle();
}

QWidget* Driver::focus() const
{
    QWidget* popup = QApplication::activePopupWidget();
    QWidget* modal = QApplication::activeModalWidget();
    QWidget* before = m_window.presentation(); // an audience: it has the keys
    QWidget* top = popup != nullptr    ? popup
                   : modal != nullptr  ? modal
                   : before != nullptr ? before
                                       : const_cast<MainWindow*>(&m_window);
    return top->focusWidget() != nullptr ? top->focusWidget() : top;
}

void Driver::key(const QString& sequence)
{
    if (QApplication::activePopupWidget() == nullptr && QApplication::activeModalWidget() == nullptr &&
        m_window.presentation() == nullptr && !m_window.isActiveWindow()) { // a dialog beside it had the keys, or has just gone
        m_window.activateWindow();
        QCoreApplication::processEvents();
    }
    QTest::keySequence(focus(), QKeySequence(sequence));
    settle();
}

void Driver::typeText(const QString& text)
{
    QTest::keyClicks(focus(), text);
    settle();
}

void Driver::drop(const QString& path, Qt::KeyboardModifiers modifiers)
{
    QMimeData mime;
    mime.setUrls({QUrl::fromLocalFile(path)});
    const QPoint middle(m_window.width() / 2, m_window.height() / 2);
    QDragEnterEvent enter(middle, Qt::CopyAction, &mime, Qt::LeftButton, modifiers);
    QApplication::sendEvent(&m_window, &enter);
    if (!enter.isAccepted())
        return;
    QDropEvent drop(middle, Qt::CopyAction, &mime, Qt::LeftButton, modifiers);
    QApplication::sendEvent(&m_window, &drop);
    settle();
}

void Driver::settle()
{
    constexpr int kRounds = 10; // nested layouts, queued calls
    for (int round = 0; round < kRounds; ++round)
        QCoreApplication::processEvents();
    ASSERT_TRUE(waitFor([this] { return m_window.isSettled(); }));
    for (int round = 0; round < kRounds; ++round)
        QCoreApplication::processEvents();
}

} // namespace app::test
