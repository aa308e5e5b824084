// What a lesson hides until it is answered.
#include "app/canvas/qt/canvas_widget.h"
#include "app/lessons/lesson_panel.h"
#include "app/shell/details/details_panel.h"
#include "app/shell/widgets/mask_note.h"
#include "app/views/grid/grid_view.h"
#include "tests/app/lessons/lesson_fixture.h"

#include <QApplication>
#include <QLabel>
#include <QToolButton>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace app {

using namespace test;

TEST(LessonWindow, HidesWhatIsAskedUntilItIsCommitted)
{
    LessonInWindow played(QStringLiteral("one-f-one-b"), QSize(1280, 800));
    MainWindow& window = played.window;
    LessonPanel& lesson = window.lesson();
    EXPECT_TRUE(lesson.isVisible());
    EXPECT_TRUE(window.session().isOpen());
    const auto tells = [&] {
        for (const QLabel* label : window.details().findChildren<QLabel*>())
            if (label->isVisibleTo(&window.details()) && label->text() == QStringLiteral("Bubble"))
                return true;
        return false;
    };
    EXPECT_TRUE(tells());
    while (!lesson.masks())
        lesson.next();
    EXPECT_FALSE(tells()) << "while a question is open";
    for (const CommandId id : {CommandId::chooseSchedule, CommandId::findSchedule, CommandId::editOrder, CommandId::nameScenario,
                               CommandId::compareWithFile, CommandId::compareWithMore})
        EXPECT_FALSE(command(id).enabled(window)) << textOf(command(id)).toStdString();
    EXPECT_FALSE(lesson.canGoOn());
    lesson.input()->setValue(1);
    sayHowSure(lesson, QStringLiteral("a guess"));
    lesson.commit();
    EXPECT_TRUE(tells());
    EXPECT_TRUE(window.session().path().isEmpty()) << "a lesson's scenario is in no file";
}

TEST(LessonWindow, SaysThatNumbersAreHiddenAndKeepsThePicturesInTheirPlace)
{
    LessonInWindow played(QStringLiteral("two-copies"), QSize(1280, 1000));
    MainWindow& window = played.window;
    const auto texts = [&] {
        QStringList all;
        for (const QLabel* label : window.findChildren<QLabel*>())
            if (label->isVisible())
                all << label->text();
        return all.join(QLatin1Char('\n'));
    };
    const auto settle = [&] {
        for (int round = 0; round < 10; ++round)
            QCoreApplication::processEvents();
    };
    settle();
    const QString hidden = QStringLiteral("idden until you have answered");
    EXPECT_FALSE(texts().contains(hidden));
    const auto tellsMore = [&] {
        const auto buttons = window.findChildren<QToolButton*>();
        return std::any_of(buttons.begin(), buttons.end(), [](const QToolButton* button) {
            return button->text() == QStringLiteral("What to look at") && button->isVisible();
        });
    };
    EXPECT_FALSE(tellsMore()) << "the whole description answers what is still to be asked";
    const QRect place = window.workspace().geometry();
    window.lesson().next();
    ASSERT_TRUE(window.lesson().masks());
    settle();
    EXPECT_FALSE(window.windowTitle().contains(window.session().displayName())) << "which the heading hides";
    EXPECT_GE(texts().count(hidden), 3) << qPrintable(texts());
    EXPECT_FALSE(texts().contains(QStringLiteral("3.28 s"))) << qPrintable(texts());
    EXPECT_EQ(window.workspace().geometry(), place) << "pictures do not jump";
    window.lesson().input()->setValue(1);
    sayHowSure(window.lesson(), QStringLiteral("certain"));
    window.lesson().commit();
    ASSERT_FALSE(window.lesson().masks());
    settle();
    EXPECT_TRUE(window.windowTitle().contains(window.session().displayName()));
    EXPECT_FALSE(texts().contains(hidden)) << "nothing is hidden any more";
    EXPECT_TRUE(texts().contains(QStringLiteral("0 of 3.28 s"))) << "it was there to be hidden";
    EXPECT_FALSE(tellsMore());
}

TEST(LessonWindow, ADrawnQuestionHasNoPictureOfAnotherCase)
{
    Player player(RANKSCOPE_SOURCE_DIR "/assets/lessons/exam.json");
    QString note;
    const sim::ScenarioDocument* shown = nullptr;
    QObject::connect(&player.panel, &LessonPanel::sceneChanged, &player.panel, [&](const LessonScene& scene) {
        note = scene.note;
        shown = scene.shown;
    });
    bool hasShown = false;
    for (player.panel.next(); player.play->isDrawn(player.panel.at()); player.panel.next()) {
        EXPECT_EQ(shown, nullptr);
        EXPECT_FALSE(note.isEmpty());
        player.answer(player.play->asked(player.panel.at())->rightAnswer());
        if (player.play->drawnCase(player.panel.at()) != nullptr) {
            EXPECT_EQ(shown, player.play->drawnCase(player.panel.at())) << "now that it is answered";
            EXPECT_TRUE(note.isEmpty());
            hasShown = true;
        }
    }
    EXPECT_TRUE(hasShown);
    EXPECT_TRUE(note.isEmpty()) << "the tasks are on screen";
    EXPECT_NE(shown, nullptr);
}

TEST(LessonWindow, WhatCoversThePicturesLetsNothingThrough)
{
    LessonInWindow played(QStringLiteral("exam"), QSize(1280, 800));
    MainWindow& window = played.window;
    const auto colours = [&] { // of the lower half, where the cover has no words
        for (int round = 0; round < 10; ++round)
            QCoreApplication::processEvents();
        const QImage seen = window.workspace().grab().toImage();
        std::set<QRgb> found;
        for (int y = seen.height() / 2; y < seen.height(); y += 3)
            for (int x = 0; x < seen.width(); x += 3)
                found.insert(seen.pixel(x, y));
        return found.size();
    };
    EXPECT_GT(colours(), 10U) << "pictures";
    window.lesson().next();
    ASSERT_TRUE(window.lesson().play()->isDrawn(window.lesson().at()));
    EXPECT_EQ(colours(), 1U);
}

TEST(LessonWindow, TakesNothingAwayWhileItIsAskedFor)
{
    LessonInWindow played(QStringLiteral("one-f-one-b"), QSize(1280, 800));
    MainWindow& window = played.window;
    const std::vector<CommandId> telling{CommandId::exportFigure, CommandId::exportTable,   CommandId::exportTrace,
                                         CommandId::exportFilm,   CommandId::exportPage,    CommandId::copyFigure,
                                         CommandId::showCompare,  CommandId::trainScenario, CommandId::handout,
                                         CommandId::exportResults};
    for (const CommandId id : telling)
        EXPECT_TRUE(window.isEnabled(id)) << plainText(command(id)).toStdString();
    while (!window.lesson().masks())
        window.lesson().next();
    for (const CommandId id : telling)
        EXPECT_FALSE(window.isEnabled(id)) << plainText(command(id)).toStdString();
    // Pictures of what the answer hangs on tell no quantities.
    const auto tellsQuantity = [&] {
        for (const Node& node : window.workspace().canvas(Picture::memory).nodes())
            if (node.name.find("27.6 GiB") != std::string::npos)
                return true;
        return false;
    };
    window.workspace().setPictureVisible(Picture::memory, true);
    ASSERT_TRUE(waitFor([&] { return window.isSettled() && !window.workspace().canvas(Picture::memory).nodes().empty(); }));
    ASSERT_TRUE(window.lesson().play()->showsWhatIsAsked(window.lesson().at()));
    EXPECT_FALSE(tellsQuantity());
    window.workspace().setMasked(false);
    EXPECT_TRUE(tellsQuantity()) << "it is there to be hidden";
    window.workspace().setMasked(true);
    EXPECT_FALSE(tellsQuantity());
}

/// Who goes back from an open question sees what the step before showed, but not what is asked for.
TEST(LessonWindow, WhoGoesBackFromAQuestionFindsItsNumbersHidden)
{
    LessonInWindow played(QStringLiteral("one-f-one-b"), QSize(1280, 800));
    MainWindow& window = played.window;
    LessonPanel& lesson = window.lesson();
    EXPECT_FALSE(lesson.hidesNumbers()) << "nobody has asked yet";
    while (!lesson.masks())
        lesson.next();
    ASSERT_TRUE(lesson.play()->showsWhatIsAsked(lesson.at()));
    lesson.back();
    EXPECT_FALSE(lesson.masks());
    EXPECT_TRUE(lesson.canGoOn());
    EXPECT_TRUE(lesson.hidesNumbers());
    EXPECT_FALSE(window.isEnabled(CommandId::exportTable));
    EXPECT_FALSE(window.isEnabled(CommandId::exportResults));
    lesson.next();
    ASSERT_TRUE(lesson.masks());
    lesson.input()->setValue(1);
    sayHowSure(lesson, QStringLiteral("a guess"));
    lesson.commit();
    EXPECT_FALSE(lesson.hidesNumbers());
    EXPECT_TRUE(window.isEnabled(CommandId::exportResults));
    lesson.back();
    EXPECT_FALSE(lesson.hidesNumbers()) << "it has been answered";
}

TEST(LessonWindow, BeforeAQuestionIsReachedItsAnswerIsNotOnScreen)
{
    LessonInWindow played(QStringLiteral("two-copies"), QSize(1280, 800));
    const LessonPanel& lesson = played.window.lesson();
    const auto says = [](const QWidget& panel) {
        for (const QLabel* label : panel.findChildren<QLabel*>())
            if (dynamic_cast<const MaskNote*>(label) != nullptr && !label->isHidden())
                return label->text();
        return QString();
    };
    ASSERT_FALSE(lesson.masks());
    EXPECT_TRUE(lesson.hidesNumbers()) << "what is sent in a step is asked for at the third";
    EXPECT_EQ(says(played.window.details()), QStringLiteral("Hidden: it would tell what the lesson is still to ask."));
    played.window.lesson().next();
    ASSERT_TRUE(lesson.masks());
    EXPECT_EQ(says(played.window.details()), QStringLiteral("Hidden until you have answered."));
    MainWindow& window = played.window;
    const auto& grid = static_cast<const GridView&>(window.workspace().view(Picture::grid));
    const GridLens lens = grid.lens();
    ASSERT_NE(lens, GridLens::bubble);
    QApplication::setActiveWindow(&window);
    window.lesson().input()->setFocus();
    press(&window, Qt::Key_5); // that nobody else took
    EXPECT_EQ(grid.lens(), lens) << "a digit beside a question is no wish for another map";
    window.workspace().canvas(Picture::grid).setFocus();
    press(&window, Qt::Key_5);
    EXPECT_EQ(grid.lens(), GridLens::bubble);
    played.playUntil("bytes");
    played.window.lesson().back();
    EXPECT_TRUE(lesson.tellsAhead()) << "the answered question is no reason to tell the next one's answer";
    played.playUntil("more");
    played.window.lesson().back();
    EXPECT_FALSE(lesson.hidesNumbers());
    EXPECT_EQ(says(played.window.details()), QString());

    const QByteArray own = window.workspace().saveLayout();
    window.workspace().showOnly(Picture::grid);
    EXPECT_EQ(window.workspace().saveLayout(), own) << "what a lesson shows is not the user's arrangement";
    played.open(QStringLiteral("two-copies"));
    EXPECT_TRUE(window.workspace().isPictureVisible(Picture::timeline)) << "nor the next lesson's";
    Q_EMIT window.lesson().left();
    EXPECT_EQ(window.workspace().saveLayout(), own);
}

TEST(LessonWindow, PicturesThatTheLessonHasNotShownStayCoveredWhileItAsks)
{
    LessonInWindow played(QStringLiteral("whose-neighbour"), QSize(1280, 800));
    MainWindow& window = played.window;
    const auto isCovered = [&](Picture picture) {
        window.workspace().setPictureVisible(picture, true);
        const QWidget* const dock = window.workspace().canvas(picture).parentWidget();
        return std::ranges::any_of(dock->findChildren<MaskNote*>(), [](const MaskNote* note) { return !note->isHidden(); });
    };
    EXPECT_FALSE(isCovered(Picture::traffic)) << "nothing is asked";
    EXPECT_TRUE(window.isEnabled(CommandId::selectPpGroup));
    EXPECT_FALSE(window.isEnabled(CommandId::showPlan)) << "it would solve the challenge";
    played.playUntil("pipeline");
    EXPECT_TRUE(isCovered(Picture::traffic)) << "it names who sends to whom";
    EXPECT_FALSE(isCovered(Picture::grid));
    EXPECT_FALSE(window.isEnabled(CommandId::selectPpGroup)) << "a key would click the right ranks";
    window.lesson().input()->setValue({1, 5});
    sayHowSure(window.lesson(), QStringLiteral("certain"));
    window.lesson().commit();
    EXPECT_FALSE(isCovered(Picture::traffic));
    EXPECT_TRUE(window.isEnabled(CommandId::selectPpGroup));
}

TEST(LessonWindow, AnExamIsNotPresentedWithAQuestionOpen)
{
    LessonInWindow played(QStringLiteral("exam"), QSize(1280, 800));
    EXPECT_TRUE(played.window.isEnabled(CommandId::present));
    while (!played.window.lesson().masks())
        played.window.lesson().next();
    EXPECT_FALSE(played.window.isEnabled(CommandId::present)) << "its next slide would be the answer";
    played.open(QStringLiteral("bubble"));
    while (!played.window.lesson().masks())
        played.window.lesson().next();
    EXPECT_TRUE(played.window.isEnabled(CommandId::present)) << "a teacher begins where the lesson asks";
}

} // namespace app
