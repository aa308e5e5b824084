// A lesson's player without a window, and a window that plays one.
#pragma once

#include "app/lessons/lesson_panel.h"
#include "app/shell/window/main_window.h"
#include "tests/app/session/session_fixtures.h"

#include <QAccessible>
#include <QPushButton>
#include <QRadioButton>

#include <gtest/gtest.h>

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
        panel.input()->setValue(value);
        sayHowSure(panel, QStringLiteral("fairly sure"));
        QPushButton* commit = button(QStringLiteral("Commit"));
        ASSERT_TRUE(commit);
        ASSERT_TRUE(commit->isEnabled()) << qPrintable(panel.text());
        commit->click();
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
