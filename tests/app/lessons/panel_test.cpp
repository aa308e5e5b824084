// The player's own widgets, without a window around it.
#include "app/session/view_state.h"
#include "app/views/grid/grid_lens.h"
#include "app/views/pictures.h"
#include "sim/lesson/lesson.h"
#include "sim/scenario/schema.h"
#include "tests/app/lessons/lesson_fixture.h"

#include <QDir>
#include <QDockWidget>
#include <QLabel>
#include <QTemporaryDir>

#include <gtest/gtest.h>

#include <fstream>

namespace app {
namespace {

using namespace test;

} // namespace

TEST(LessonPanel, AStepComesWholeNotPieceByPiece)
{
    Player player(RANKSCOPE_SOURCE_DIR "/assets/lessons/two-copies.json");
    player.panel.show();
    player.panel.next();
    int labels = 0;
    for (const QLabel* label : player.panel.findChildren<QLabel*>())
        if (!label->isHidden()) {
            EXPECT_TRUE(label->isVisible()) << qPrintable(label->text());
            ++labels;
        }
    EXPECT_GT(labels, 3);
}

TEST(LessonPanel, GoneOnWithOrBackAStepHasThePicturesThatItHadBefore)
{
    LessonScene scene;
    const auto watch = [&scene](Player& player) {
        QObject::connect(&player.panel, &LessonPanel::sceneChanged, &player.panel,
                         [&scene](const LessonScene& of) { scene = of; });
    };
    Player player(RANKSCOPE_SOURCE_DIR "/assets/lessons/ring-for-long-texts.json");
    watch(player);
    std::size_t at = 0;
    for (; at < player.play->steps() && (at == 0 || !sceneOf(*player.play, at).front.empty()); ++at) {
    }
    ASSERT_LT(at, player.play->steps()) << "each step has pictures of its own: take another lesson";
    player.progress.setStep(player.play->lesson(), at);
    player.panel.start(player.play);
    EXPECT_FALSE(scene.front.empty());
    EXPECT_EQ(scene.front, sceneOf(*player.play, at - 1).front);
}

TEST(LessonPanel, HasTheHeightOfItsDockWhichFindingsHaveBeforeAndAfter)
{
    LessonInWindow in(QStringLiteral("two-copies"), {1600, 900});
    EXPECT_TRUE(waitFor([&] { return in.window.lesson().height() > 600; })) << in.window.lesson().height();
    Q_EMIT in.window.lesson().left();
    ASSERT_TRUE(in.window.openFile(QStringLiteral(RANKSCOPE_SOURCE_DIR "/scenarios/16-schedule-gpipe.json")).empty());
    const auto* findings = in.window.findChild<QDockWidget*>(QStringLiteral("findings"));
    EXPECT_TRUE(waitFor([&] { return in.window.isSettled() && findings->y() > 300; })) << "below the numbers";
}

/// As it does where the text grows: the docks come to lie behind each other.
TEST(LessonPanel, KeepsTheKeyboardWhereTheWindowBecomesNarrow)
{
    LessonInWindow in(QStringLiteral("two-copies"), {1600, 900});
    in.window.activateWindow();
    in.window.lesson().takeFocus();
    QWidget* const had = in.window.focusWidget();
    ASSERT_TRUE(had && in.window.lesson().isAncestorOf(had));
    auto* form = in.window.findChild<QDockWidget*>(QStringLiteral("form"));
    auto* lesson = in.window.findChild<QDockWidget*>(QStringLiteral("lesson"));
    ASSERT_TRUE(form && lesson);
    in.window.resize(1000, 700);
    ASSERT_TRUE(waitFor([&] { return in.window.tabifiedDockWidgets(lesson).contains(form); }));
    EXPECT_TRUE(waitFor([&] { return in.window.focusWidget() == had; }));
    in.window.resize(1600, 900);
    ASSERT_TRUE(waitFor([&] { return !in.window.tabifiedDockWidgets(lesson).contains(form); }));
    EXPECT_TRUE(waitFor([&] { return in.window.focusWidget() == had; }));
}

TEST(LessonPanel, ACaseWithOtherSettingsIsNotDescribedAsItsFile)
{
    LessonInWindow in(QStringLiteral("replicas"), {1280, 720});
    ASSERT_TRUE(in.window.session().isOpen());
    EXPECT_EQ(in.window.session().displayName().toStdString(), "Llama 3.2 1B on 2 GPUs: nodes 1, dp 1")
        << "its file's name is of others, too";
    EXPECT_FALSE(in.window.session().document().get("/description").has_value());
}

TEST(LessonPanel, WhatWasAnsweredIsJudgedByTheEngineAsItIsNow)
{
    Player player(RANKSCOPE_SOURCE_DIR "/assets/lessons/one-f-one-b.json");
    const sim::Lesson& lesson = player.play->lesson();
    std::size_t at = 0;
    while (player.play->id(at) != "peak")
        ++at;
    const sim::LessonValue right = player.play->asked(at)->rightAnswer();
    player.progress.commit(lesson, "peak", {.value = right, .isRight = false, .sure = {}, .seconds = 1});
    player.progress.setStep(lesson, at);
    player.panel.start(player.play);
    EXPECT_TRUE(player.panel.text().contains(QStringLiteral("**Right.**"))) << qPrintable(player.panel.text());
    EXPECT_TRUE(player.panel.text().contains(QStringLiteral("it was judged otherwise"))) << qPrintable(player.panel.text());

    player.progress.withdraw(lesson, "peak");
    player.progress.commit(lesson, "peak", {.value = "words", .isRight = true, .sure = {}, .seconds = 1});
    player.panel.start(player.play);
    EXPECT_TRUE(player.panel.masks()) << "it was an answer to something else";
    player.answer(right);
    EXPECT_TRUE(player.panel.canGoOn());
    EXPECT_TRUE(player.play->asked(at)->isRight(player.progress.answer(lesson, "peak")->value));
}

TEST(LessonPath, ALessonIsToldByItsFormatWhereverThatStands)
{
    const QTemporaryDir folder;
    const auto written = [&](const std::string& text) {
        const QString path = folder.filePath(QStringLiteral("some.json"));
        std::ofstream(path.toStdString()) << text;
        return path;
    };
    const std::string cases = R"({"cases": {"big": ")" + std::string(10'000, 'x') + R"("}, )";
    EXPECT_TRUE(MainWindow::isLessonFile(written(cases + R"("format" : "rankscope-lesson"})")));
    EXPECT_FALSE(MainWindow::isLessonFile(written(cases + R"("description": "rankscope-lesson"})")));
}

TEST(LessonPath, AFolderOfItsNameHidesNoLesson)
{
    const QTemporaryDir folder;
    const QString before = QDir::currentPath();
    QDir::setCurrent(folder.path());
    QDir().mkdir(QStringLiteral("exam"));
    EXPECT_TRUE(MainWindow::lessonPath(QStringLiteral("exam"), catalogue()).endsWith(QStringLiteral("lessons/exam.json")));
    QDir::setCurrent(before);
}

/// What "view" of a step may say is what a window saves: the schema is the only one that tells writers of lessons.
TEST(LessonView, TheSchemaKnowsAllThatAWindowSaves)
{
    const auto problemsOf = [](const std::string& view) {
        const sim::LessonValue step{{"say", "x"}, {"view", sim::LessonValue::parse(view)}};
        std::string all;
        for (const sim::Problem& problem : sim::lessonSchema(catalogue()).check(step, "", "step"))
            all += problem.pointer + ": " + problem.message + "\n";
        return all;
    };
    ViewState state{.pictures = {}, .lens = {}, .ranks = {1, 2}, .rank = 2, .range = TimeRange{1, 2}, .cursorNs = 3};
    for (const PictureInfo& info : pictures())
        state.pictures.emplace_back(info.name);
    state.classes = 1;
    state.kernels = state.timeline.criticalPath = state.arrangement.physical = true;
    state.timeline.visible = TimeRange{1, 9};
    state.timeline.marks = {{1, {2, 3}, "here"}};
    state.timeline.rows.filter = static_cast<RowFilter>(1);
    state.timeline.rows.pinnedRanks = {0};
    state.timeline.rows.turnedOver = {"pp 0"};
    state.arrangement.seats = {{"tp", AxisPlace::columns}};
    for (int sort = 0; sort < 3; ++sort)
        for (int grouping = 0; grouping < kRowGroupingCount; ++grouping) {
            state.timeline.rows.sort = static_cast<RowSort>(sort);
            state.timeline.rows.grouping = static_cast<RowGrouping>(grouping);
            EXPECT_EQ(problemsOf(viewStateJson(state)), "") << viewStateJson(state);
        }
    for (int opClass = 0; opClass < sim::kOpClassCount; ++opClass)
        EXPECT_EQ(problemsOf(viewStateJson({.classes = maskOf(static_cast<sim::OpClass>(opClass))})), "");
    EXPECT_EQ(problemsOf(R"({"lens": "waiting", "detail": "actions"})"), "") << "files keep the lens's first name";
    for (int lens = 0; lens < kGridLensCount; ++lens) {
        const QString name = QString::fromUtf8(gridLensName(static_cast<GridLens>(lens))).toLower();
        EXPECT_EQ(problemsOf(viewStateJson({.lens = name.toStdString()})), "") << qPrintable(name);
    }
}

} // namespace app
