// A lesson's player without a window, and a window that plays one.
#pragma once

#include "app/lessons/lesson_panel.h"
#include "app/shell/window/main_window.h"
#include "tests/app/session/session_fixtures.h"

#include <QAccessible>
#include <QKeyEvent>
#include <QPushButton>
#include <QRadioButton>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>

namespace app::test {

/// How sure one is, as the panel words it.
inline void sayHowSure(const LessonPanel& panel, const QString& words)
{
    for (QRadioButton* sure : panel.findChildren<QRadioButton*>())
        if (sure->text() == words)
            sure->setChecked(true);
}

/// The first below `root` with that role and name, as a screen reader finds it; null: nobody is told of it.
inline QAccessibleInterface* spoken(QAccessibleInterface* root, QAccessible::Role role, const QString& name)
{
    if (root == nullptr)
        return nullptr;
    if (const auto* widget = qobject_cast<QWidget*>(root->object()); widget != nullptr && widget->isHidden())
        return nullptr; // the player itself need not be on screen
    if (root->role() == role && root->text(QAccessible::Name) == name)
        return root;
    for (int i = 0; i < root->childCount(); ++i)
        if (QAccessibleInterface* found = spoken(root->child(i), role, name))
            return found;
    return nullptr;
}

inline void press(QObject* on, Qt::Key key, Qt::KeyboardModifiers with = Qt::NoModifier, int times = 1)
{
    for (int i = 0; i < times; ++i) {
        QKeyEvent event(QEvent::KeyPress, key, with);
        QCoreApplication::sendEvent(on, &event);
    }
}

/// Answers as who sees nothing does: what is found in the accessibility tree by its words is set there or by the keys.
class SpokenAnswer {
public:
    SpokenAnswer(AnswerInput* input, const sim::AskedQuestion& asked) : m_input(input), m_asked(asked)
    {
        m_tree = QAccessible::queryAccessibleInterface(input);
    }
    void give(const sim::LessonValue& value)
    {
        using enum sim::QuestionInput;
        const sim::Question& question = m_asked.question();
        switch (question.input) {
        case slider:
        case number:
            return number_(QStringLiteral("Your answer"), value);
        case bars:
            for (std::size_t i = 0; i < question.parts.size(); ++i)
                number_(words(question.parts[i].text), value.at(i));
            return;
        case tensor:
            number_(QStringLiteral("From"), value.at(0));
            return number_(QStringLiteral("To (not in it any more)"), value.at(1));
        case choice:
            for (std::size_t i = 0; i < question.options.size(); ++i)
                if (value == sim::LessonValue(i) ||
                    (value.is_array() && std::find(value.begin(), value.end(), sim::LessonValue(i)) != value.end()))
                    choose(words(question.options[i].text), question.many);
            return;
        case ranks: {
            QStringList typed;
            for (const sim::LessonValue& rank : value)
                typed << QString::number(rank.get<int>());
            QAccessibleInterface* line = spoken(m_tree, QAccessible::EditableText, QStringLiteral("Ranks"));
            ASSERT_TRUE(line);
            return line->setText(QAccessible::Value, typed.join(QStringLiteral(", ")));
        }
        case order: {
            QStringList cards;
            for (const sim::LessonValue& place : value)
                cards << words(question.parts.at(place.get<std::size_t>()).text);
            return sort(QStringLiteral("Cards, to be put in order"), cards, Qt::Key_Up, Qt::Key_Down);
        }
        case actions:
            for (std::size_t rank = 0; rank < value.size(); ++rank) {
                QStringList wanted = QString::fromStdString(value[rank].get<std::string>()).split(QLatin1Char(' '));
                for (QString& each : wanted)
                    each = each.mid(QString::number(rank).size()); // the list is the rank's
                sort(QStringLiteral("Rank %1").arg(rank), wanted, Qt::Key_Left, Qt::Key_Right);
            }
            return;
        case sketch:
            return draw(value.get<std::vector<double>>());
        }
    }

private:
    QString words(const std::string& text) const { return QString::fromStdString(m_asked.filled(text)); }
    void number_(const QString& name, const sim::LessonValue& value)
    {
        QAccessibleInterface* box = spoken(m_tree, QAccessible::SpinBox, name);
        ASSERT_TRUE(box && box->valueInterface()) << qPrintable(name);
        const double shown = value.get<double>() * (m_asked.question().asksPercent() ? 100 : 1);
        box->valueInterface()->setCurrentValue(shown + 1); // the box may hold the answer before anybody gave it
        box->valueInterface()->setCurrentValue(shown);
    }
    void choose(const QString& name, bool many)
    {
        QAccessibleInterface* button = spoken(m_tree, many ? QAccessible::CheckBox : QAccessible::RadioButton, name);
        ASSERT_TRUE(button && button->actionInterface()) << qPrintable(name);
        button->actionInterface()->doAction(
            button->actionInterface()->actionNames().contains(QAccessibleActionInterface::toggleAction())
                ? QAccessibleActionInterface::toggleAction()
                : QAccessibleActionInterface::pressAction());
    }
    void sort(const QString& name, const QStringList& wanted, Qt::Key back, Qt::Key forth)
    {
        QAccessibleInterface* list = spoken(m_tree, QAccessible::List, name);
        ASSERT_TRUE(list) << qPrintable(name);
        for (int row = 0; row < wanted.size(); ++row) {
            QObject* const object = list->object(); // with nobody listening, what has moved is remembered where it was
            QAccessible::deleteAccessibleInterface(QAccessible::uniqueId(list));
            list = QAccessible::queryAccessibleInterface(object);
            int from = row;
            while (from < list->childCount() && list->child(from)->text(QAccessible::Name) != wanted[row])
                ++from;
            ASSERT_LT(from, list->childCount()) << qPrintable(wanted[row]);
            const auto isThere = [&] { return list->child(from)->state().focused; }; // as it is told
            press(list->object(), Qt::Key_Home);
            for (int keys = 0; keys < list->childCount() && !isThere(); ++keys)
                press(list->object(), forth);
            ASSERT_TRUE(isThere()) << qPrintable(wanted[row]);
            if (from == row)
                press(list->object(), from > 0 ? back : forth, Qt::ControlModifier); // to touch it; it comes back below
            if (from == row)
                press(list->object(), from > 0 ? forth : back, Qt::ControlModifier);
            press(list->object(), back, Qt::ControlModifier, from - row);
        }
    }
    void draw(const std::vector<double>& values)
    {
        constexpr double kKeysOfTheRange = 100;
        const auto [from, to] = m_asked.range();
        const double step = (to - from) / kKeysOfTheRange;
        double before = (from + to) / 2;
        press(m_input, Qt::Key_Home);
        for (const double value : values) {
            press(m_input, Qt::Key_Up); // the first puts it where the curve is
            const int keys = static_cast<int>(std::lround((value - before) / step));
            press(m_input, keys > 0 ? Qt::Key_Up : Qt::Key_Down, Qt::NoModifier, std::abs(keys));
            before = std::clamp(before + keys * step, from, to);
            press(m_input, Qt::Key_Right);
        }
    }
    AnswerInput* m_input;
    QAccessibleInterface* m_tree = nullptr;
    const sim::AskedQuestion& m_asked;
};

/// The player alone, on a desk.
struct Player {
    explicit Player(const std::filesystem::path& file)
        : desk(catalogue(), {}), panel(desk, progress),
          play(std::make_shared<sim::LessonPlay>(sim::readLesson(file, catalogue()), 1, catalogue()))
    {
        QObject::connect(&panel, &LessonPanel::sceneChanged, &panel, [this](const LessonScene& scene) {
            if (scene.shown != nullptr)
                desk.session().show(*scene.shown);
        });
        QObject::connect(&panel, &LessonPanel::solutionRequested, &panel, [this](const sim::ScenarioDocument& solved) {
            desk.session().replaceContent(solved, QStringLiteral("solution"));
        });
        panel.start(play);
    }
    /// By its words, as a screen reader finds it.
    QPushButton* button(const QString& text) const
    {
        for (QPushButton* each : panel.findChildren<QPushButton*>())
            if (QAccessible::queryAccessibleInterface(each)->text(QAccessible::Name) == text && !each->isHidden())
                return each;
        return nullptr;
    }
    void answer(const sim::LessonValue& value)
    {
        panel.show(); // arrow keys go where things lie
        SpokenAnswer(panel.input(), *play->asked(panel.at())).give(value);
        sayHowSure(panel, QStringLiteral("fairly sure"));
        QPushButton* commit = button(QStringLiteral("Commit"));
        ASSERT_TRUE(commit);
        ASSERT_TRUE(commit->isEnabled()) << qPrintable(panel.text());
        commit->click();
        QCoreApplication::processEvents(); // what comes into a layout is shown in a turn of its own
    }

    LessonProgress progress{QString(), sim::lessonFolder(catalogue())};
    Desk desk;
    LessonPanel panel;
    std::shared_ptr<sim::LessonPlay> play;
};

/// A window of this size in which the lesson has begun.
class LessonInWindow {
public:
    LessonInWindow(const QString& lesson, QSize size, bool isReproducible = true)
        : window(catalogue(), {.reproducible = isReproducible, .theme = {}, .renderer = Renderer::software})
    {
        window.resize(size);
        window.show();
        open(lesson);
    }
    void open(const QString& lesson)
    {
        EXPECT_TRUE(window.openLesson(lesson).empty());
        EXPECT_TRUE(waitFor([&] { return window.isSettled() && window.lesson().isPlaying(); }));
    }
    /// Answers right until the step with that question or challenge.
    void playUntil(const std::string& id)
    {
        LessonPanel& lesson = window.lesson();
        while (lesson.play()->id(lesson.at()) != id) {
            if (lesson.masks()) {
                lesson.input()->setValue(lesson.play()->asked(lesson.at())->rightAnswer());
                sayHowSure(lesson, QStringLiteral("certain"));
                lesson.commit();
            }
            ASSERT_TRUE(lesson.canGoOn());
            lesson.next();
            ASSERT_TRUE(waitFor([&] { return window.isSettled(); }));
        }
    }

    MainWindow window;
};

} // namespace app::test
