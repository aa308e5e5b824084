// A user who knows of the program only what a screen reader tells: finds things by what they are and what they are called,
// presses them, types. Nothing of the widgets behind is touched.
#pragma once

#include "app/shell/window/main_window.h"

#include <QAccessible>
#include <QString>
#include <QStringList>

namespace app::test {

class Driver {
public:
    explicit Driver(QSize = {1600, 900});

    /// The first visible thing of that kind whose name contains the words; nullptr if there is none. Without a kind: any.
    QAccessibleInterface* find(QAccessible::Role, const QString& words) const;
    QAccessibleInterface* find(const QString& words) const { return find(QAccessible::NoRole, words); }
    int count(QAccessible::Role, const QString& words) const;
    bool sees(const QString& words) const { return find(words) != nullptr; }
    QStringList namesOf(QAccessible::Role) const;

    /// As a screen reader's default action; the test fails if there is no such thing.
    void press(QAccessible::Role, const QString& words);
    void doubleClick(QAccessible::Role, const QString& words);
    void hover(QAccessible::Role, const QString& words);
    /// Rests with the pointer on a row, above or below the middle of a span; what it is told there is seen then.
    void rest(const QString& span, const QString& row);
    void leave(); ///< the picture it rested on
    /// Sets the text of an edit field, or the value of a stepper or slider.
    void enter(QAccessible::Role, const QString& words, const QString& text);
    void key(const QString& sequence);
    void typeText(const QString& text);
    void drop(const QString& path, Qt::KeyboardModifiers = {});
    /// Until the answer to everything is on screen.
    void settle();

    MainWindow& window() { return m_window; }

private:
    QWidget* focus() const;
    MainWindow m_window;
    QWidget* m_restsOn = nullptr;
};

} // namespace app::test
