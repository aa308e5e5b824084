// Challenges, and the cases that a lesson puts on the desk and takes from it.
#include "app/canvas/qt/canvas_widget.h"
#include "app/lessons/goal_text.h"
#include "app/shell/form/scenario_form.h"
#include "app/shell/presentation/presentation.h"
#include "sim/lesson/live_text.h"
#include "tests/app/lessons/lesson_fixture.h"

#include <QApplication>
#include <QFile>
#include <QLayout>
#include <QPushButton>
#include <QStandardPaths>
#include <QThread>
#include <QTimer>

#include <gtest/gtest.h>

namespace app {
namespace {

using namespace test;

QPushButton* shownButton(const QWidget& in, const QString& text)
{
    for (QPushButton* each : in.findChildren<QPushButton*>())
        if (each->text() == text && each->isVisibleTo(&in))
            return each;
    return nullptr;
}

TEST(LessonWindow, IsPlayedToItsEndAndItsChallengeIsSolvedOnTheDesk)
{
    LessonInWindow played(QStringLiteral("one-f-one-b"), QSize(1024, 640));
    MainWindow& window = played.window;
    LessonPanel& lesson = window.lesson();
    played.playUntil(lesson.play()->lesson().challenges().front()->id);
    EXPECT_TRUE(waitFor([&] {
        return lesson.text().contains(QStringLiteral("Not yet: the peak memory is 33.8 GiB; it should be at most 20 GiB"));
    })) << qPrintable(lesson.text());
    Edit edit;
    edit.assignments.push_back({"/schedule/kind", "\"1f1b\""});
    window.session().edit(edit);
    EXPECT_TRUE(waitFor([&] { return lesson.text().contains(QStringLiteral("Reached.")); })) << qPrintable(lesson.text());
    EXPECT_TRUE(lesson.text().contains(QStringLiteral("You changed: schedule 1F1B"))) << qPrintable(lesson.text());
    EXPECT_TRUE(lesson.text().contains(QStringLiteral("The peak memory is"))) << qPrintable(lesson.text());
    EXPECT_TRUE(lesson.text().contains(QStringLiteral("it was 33.8 GiB"))) << qPrintable(lesson.text());
    EXPECT_FALSE(lesson.text().contains(QStringLiteral("One change is possible"))) << qPrintable(lesson.text());
    EXPECT_FALSE(shownButton(lesson, QStringLiteral("Give a hint"))) << "there is nothing left to find";
    lesson.next();
    EXPECT_TRUE(waitFor([&] { return lesson.text().contains(QStringLiteral("5 of 5 right")); })) << qPrintable(lesson.text());
}

TEST(LessonWindow, WhatSolvedTheLastChallengeIsThereAgainBackFromTheEnd)
{
    LessonInWindow played(QStringLiteral("one-f-one-b"), QSize(1024, 640));
    MainWindow& window = played.window;
    LessonPanel& lesson = window.lesson();
    played.playUntil(lesson.play()->lesson().challenges().front()->id);
    const auto order = [&] { return window.session().document().get("/schedule/kind").value_or(""); };
    Edit edit;
    edit.assignments.push_back({"/schedule/kind", "\"1f1b\""});
    window.session().edit(edit);
    ASSERT_TRUE(waitFor([&] { return lesson.text().contains(QStringLiteral("Reached.")); })) << qPrintable(lesson.text());
    lesson.next();
    ASSERT_TRUE(waitFor([&] { return lesson.text().contains(QStringLiteral("right.")); })) << qPrintable(lesson.text());
    lesson.back();
    ASSERT_TRUE(waitFor([&] { return window.isSettled(); }));
    EXPECT_EQ(order(), "\"1f1b\"");
    EXPECT_TRUE(lesson.text().contains(QStringLiteral("Reached."))) << qPrintable(lesson.text());
    window.session().undoStack().undo();
    EXPECT_NE(order(), "\"1f1b\"") << "and can be taken back";
    ASSERT_TRUE(waitFor([&] { return window.isSettled(); }));
}

TEST(LessonWindow, WhatAChallengeLetsOneChangeIsMarkedAndTheRestIsGrey)
{
    LessonInWindow played(QStringLiteral("cut-the-matrix"), QSize(1280, 720));
    MainWindow& window = played.window;
    ScenarioForm& form = window.form();
    EXPECT_TRUE(form.rowAt("/training/optimizer")->mayBeChanged()) << "no challenge is open";
    played.playUntil(window.lesson().play()->lesson().challenges().front()->id);
    EXPECT_TRUE(form.rowAt("/layout/tp")->isEnabled());
    EXPECT_TRUE(form.rowAt("/layout/tp")->property("marked").toBool());
    EXPECT_FALSE(form.rowAt("/training/optimizer")->isEnabled());
    EXPECT_TRUE(form.rowAt("/training/optimizer")
                    ->whyText()
                    .startsWith(QStringLiteral("This challenge lets you change only Tensor tp and Data dp.")))
        << qPrintable(form.rowAt("/training/optimizer")->whyText());
    Q_EMIT window.lesson().settingRequested(QStringLiteral("/layout/dp"));
    EXPECT_TRUE(waitFor([&] { return form.isVisible() && form.rowAt("/layout/dp")->visibleRegion().rectCount() > 0; }))
        << "its link leads there";
    EXPECT_TRUE(form.rowAt("/layout/dp")->isAncestorOf(QApplication::focusWidget()));
    window.lesson().next();
    EXPECT_TRUE(form.rowAt("/training/optimizer")->isEnabled());
    EXPECT_FALSE(form.rowAt("/layout/tp")->property("marked").toBool());
}

TEST(LessonWindow, WhatWasTriedIsThereAgainAfterAPresentation)
{
    LessonInWindow played(QStringLiteral("one-f-one-b"), QSize(1024, 640));
    MainWindow& window = played.window;
    LessonPanel& lesson = window.lesson();
    played.playUntil(lesson.play()->lesson().challenges().front()->id);
    const auto order = [&] { return window.session().document().get("/schedule/kind").value_or(""); };
    const std::string before = order();
    for (const char* kind : {"\"1f1b\"", "\"gpipe\"", "\"1f1b\"", "\"gpipe\""}) {
        Edit edit;
        edit.assignments.push_back({"/schedule/kind", kind});
        window.session().edit(edit);
    }
    QUndoStack& history = window.session().undoStack();
    history.undo();
    const int done = history.index(), steps = history.count();
    ASSERT_EQ(order(), "\"1f1b\"");
    EXPECT_TRUE(waitFor([&] { return lesson.text().contains(QStringLiteral("Reached.")); })) << qPrintable(lesson.text());
    window.present();
    press(window.presentation(), Qt::Key_PageDown);
    EXPECT_TRUE(waitFor([&] { return window.isSettled(); }));
    press(window.presentation(), Qt::Key_Escape);
    EXPECT_TRUE(waitFor([&] { return window.presentation() == nullptr && window.isSettled(); }));
    EXPECT_EQ(order(), "\"1f1b\"");
    EXPECT_EQ(history.index(), done);
    EXPECT_EQ(history.count(), steps);
    EXPECT_TRUE(window.session().isModified());
    EXPECT_TRUE(waitFor([&] { return lesson.text().contains(QStringLiteral("Reached.")); })) << qPrintable(lesson.text());
    history.redo();
    EXPECT_EQ(order(), "\"gpipe\"");
    while (history.canUndo())
        history.undo();
    EXPECT_EQ(order(), before);
    EXPECT_FALSE(window.session().isModified());
}

TEST(LessonPanel, HelpAndTimeStayWithTheStepThatTheyWereFor)
{
    Player player(RANKSCOPE_SOURCE_DIR "/assets/lessons/one-f-one-b.json");
    LessonPanel& panel = player.panel;
    const sim::Lesson& lesson = player.play->lesson();
    const std::string id = player.play->lesson().challenges().front()->id;
    std::size_t at = 0;
    while (player.play->id(at) != id)
        ++at;
    player.progress.setStep(lesson, at);
    panel.start(player.play);
    const auto hints = player.play->hints(at).size();
    ASSERT_GT(hints, 0U);
    for (std::size_t i = 0; i <= hints; ++i)
        panel.hint();
    constexpr int kWaitMs = 20;
    QThread::msleep(kWaitMs);
    panel.back(); // before the engine has worked the solution out
    panel.next();
    ASSERT_EQ(panel.at(), at);
    const QPushButton* button = player.button(QStringLiteral("Show a solution"));
    ASSERT_TRUE(button) << "hints that were given are there";
    EXPECT_EQ(button->parentWidget()->layout()->itemAt(button->parentWidget()->layout()->indexOf(button))->alignment(),
              Qt::AlignRight)
        << "not where the hints are asked for: one click too many would lose the task";
    panel.setSuspended(true); // F9, then Escape
    panel.setSuspended(false);
    const auto solution = player.play->lesson().challenges().front()->solvedBy.front();
    ASSERT_TRUE(waitFor([&] { return panel.text().contains(QStringLiteral("Nothing changed yet")); }));
    Edit edit;
    for (const auto& [pointer, value] : solution.items())
        edit.assignments.push_back({pointer, value.dump()});
    player.desk.session().edit(edit);
    ASSERT_TRUE(waitFor([&] { return player.progress.answer(lesson, id).has_value(); }));
    EXPECT_TRUE(player.progress.answer(lesson, id)->isSolutionShown);
    EXPECT_FALSE(player.progress.answer(lesson, id)->isRight);
    EXPECT_GE(player.progress.answer(lesson, id)->seconds, kWaitMs * 1e-3);
}

TEST(LessonWindow, AChallengeIsNotSolvedByWhatTheStepBeforeShows)
{
    for (const char* lesson : {"share-the-states", "norms-too", "cut-finer"}) {
        SCOPED_TRACE(lesson);
        LessonInWindow played(QString::fromUtf8(lesson), QSize(1280, 800));
        MainWindow& window = played.window;
        const auto challenges = window.lesson().play()->lesson().challenges();
        ASSERT_FALSE(challenges.empty());
        played.playUntil(challenges.front()->id);
        QPushButton* skip = shownButton(window.lesson(), QStringLiteral("Skip"));
        ASSERT_TRUE(skip) << "nothing was done yet";
        EXPECT_NE(window.lesson().focusWidget(), skip) << "the Return that led here is not to skip it";
        EXPECT_FALSE(window.lesson().text().contains(QStringLiteral("Reached"))) << qPrintable(window.lesson().text());
    }
}

TEST(LessonWindow, RanksThatAreAskedForAreNotToldByTheGrid)
{
    LessonInWindow played(QStringLiteral("cut-the-matrix"), QSize(1400, 900));
    MainWindow& window = played.window;
    played.playUntil("tp-group");
    const auto picture = [&](std::optional<int> rank) {
        Selection selection = window.desk().selection();
        selection.selectedRank = rank;
        selection.ranks.clear();
        window.desk().setSelection(selection);
        for (int round = 0; round < 10; ++round)
            QCoreApplication::processEvents();
        return window.workspace().canvas(Picture::grid).grab().toImage();
    };
    EXPECT_TRUE(window.desk().selection().asksForRanks);
    const auto differing = [&] { // of the cells beside its own, in rank 13's row
        const QImage none = picture({}), one = picture(13);
        int pixels = 0;
        for (int y = 0; y < none.height(); ++y)
            for (int x = 0; x < none.width(); ++x)
                pixels += none.pixel(x, y) != one.pixel(x, y) ? 1 : 0;
        return pixels;
    };
    const int asked = differing();
    window.lesson().input()->setValue(window.lesson().play()->asked(window.lesson().at())->rightAnswer());
    window.lesson().commit();
    EXPECT_FALSE(window.desk().selection().asksForRanks) << "the answer is told again";
    EXPECT_LT(2 * asked, differing()) << "its groups are outlined, and the others stand back";
}

TEST(LessonWindow, RanksOfAnAnswerAreNotSelectedInTheNextQuestion)
{
    LessonInWindow played(QStringLiteral("cut-the-matrix"), QSize(1280, 720));
    MainWindow& window = played.window;
    played.playUntil("tp-group");
    LessonPanel& lesson = window.lesson();
    lesson.input()->setValue(lesson.play()->asked(lesson.at())->rightAnswer());
    lesson.commit();
    EXPECT_EQ(window.desk().selection().ranks.size(), 8U) << "the answer is seen";
    lesson.next();
    ASSERT_TRUE(lesson.masks());
    EXPECT_TRUE(window.desk().selection().ranks.empty());
    EXPECT_TRUE(lesson.input()->value().is_null()) << "nothing is answered yet";
}

TEST(LessonWindow, WhatALessonLeavesIsNobodysWork)
{
    QStandardPaths::setTestModeEnabled(true); // answers are kept, but not beside anybody's own
    LessonInWindow played(QStringLiteral("eighteen-bytes"), QSize(1024, 640), false);
    MainWindow& window = played.window;
    played.playUntil("fit");
    Edit edit;
    edit.assignments.push_back({"/training/optimizer", "\"sgd\""});
    window.session().edit(edit);
    ASSERT_TRUE(waitFor([&] { return window.isSettled(); }));
    int asked = 0;
    QTimer watch;
    QObject::connect(&watch, &QTimer::timeout, &watch, [&] {
        if (QWidget* question = QApplication::activeModalWidget()) {
            ++asked;
            question->close();
        }
    });
    watch.start(5);
    Q_EMIT window.lesson().left();
    EXPECT_FALSE(window.isInLesson());
    ASSERT_TRUE(window.openLesson(QStringLiteral("share-the-states")).empty());
    ASSERT_TRUE(waitFor([&] { return window.isSettled() && window.lesson().isPlaying(); }));
    EXPECT_EQ(window.session().displayName(), QStringLiteral("Llama 2 7B on eight GPUs"));
    EXPECT_EQ(asked, 0);
    userSettings().clear();
    QFile::remove(LessonProgress::usualPath());
    QStandardPaths::setTestModeEnabled(false);
}

TEST(GoalText, SaysInPlainWordsWhatIsAskedFor)
{
    EXPECT_EQ(goalText("mine.exposed_comm_fraction.dp < 0.05 does not hold: mine.exposed_comm_fraction.dp is 0.162595"),
              QStringLiteral("the exposed communication is 16.3 % of the step; it should be less than 5 %"));
    EXPECT_EQ(goalText("mine.world_size == pair.world_size does not hold: mine.world_size is 4, pair.world_size is 2"),
              QStringLiteral("the number of GPUs is 4; it should be 2"));
    EXPECT_EQ(goalText("mine.fits does not hold: it is false"), QStringLiteral("it does not fit into the memory of its GPUs"));
    EXPECT_EQ(goalText("mine.groups(0).dp == [0, 1] does not hold: mine.groups(0).dp is [0,8]"),
              QStringLiteral("the dp group of rank 0 is 0, 8; it should be 0, 1"));
    sim::ChallengeState state;
    state.forbidden = {"/layout/pp"};
    EXPECT_EQ(hindranceText(state), QStringLiteral("“pp” may not be changed here"));
    state.forbidden = {"/training/lora"};
    EXPECT_EQ(hindranceText(state), QStringLiteral("“lora” may not be changed here"));
}

TEST(GoalText, TellsOfEachPartOfAGoalWhereItStands)
{
    const auto tiny = sim::namedScenario("57-tiny-dp4", {}, {}, catalogue());
    sim::Cases cases(std::string(), catalogue());
    cases.put("tiny", tiny);
    sim::Challenge goal;
    goal.from = "tiny";
    goal.goal = {"mine.mfu >= 0.99", "mine.fits", "mine.world_size == tiny.world_size", "mine.fits == true"};
    const auto step = sim::simulate(sim::resolvedScenario(tiny, catalogue()));
    const QStringList told = goalTexts(goal, tiny, cases, step);
    ASSERT_EQ(told.size(), 3) << qPrintable(told.join(QLatin1Char('\n')));
    const auto saying = [&](const char* expression, const char* format) {
        return QString::fromStdString(sim::writtenValue(sim::Expression::parse(expression).evaluate(cases), format));
    };
    EXPECT_EQ(told[0], QStringLiteral("✗ Not yet: the MFU is %1; it should be at least 99 %").arg(saying("tiny.mfu", "percent")));
    EXPECT_EQ(told[1], QStringLiteral("✓ Met: the peak memory is %1, and a GPU has %2")
                           .arg(saying("tiny.peak_memory_gib", "gib"), saying("tiny.memory.capacity", "gib")));
    EXPECT_EQ(told[2], QStringLiteral("✓ Met: the number of GPUs is 4"));
}

} // namespace
} // namespace app
