// Schedules in the window: chosen from all, found by a search, ordered by hand.
#include "app/session/schedule_candidates.h"
#include "app/shell/dialogs/schedule_chooser.h"
#include "app/shell/dialogs/synthesis_dialog.h"
#include "app/shell/form/scenario_form.h"
#include "tests/app/shell/window_fixture.h"

#include <QDoubleSpinBox>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QSignalSpy>
#include <QStatusBar>

#include <gtest/gtest.h>

#include <algorithm>

namespace app {
namespace {

using namespace test;

TEST_F(WindowTest, AScheduleIsChosenFromAllOfThem)
{
    open("17-schedule-1f1b.json");
    window.run(CommandId::chooseSchedule);
    auto* chooser = window.findChild<ScheduleChooser*>();
    ASSERT_TRUE(chooser);
    ASSERT_TRUE(waitFor([&] { return chooser->isReady(); }));
    chooser->setOrder(ScheduleChooser::Order::memory);
    const auto place = [&](const char* kind) { return chooser->kindsShown().indexOf(QLatin1String(kind)); };
    EXPECT_LT(place("v-min"), place("v-half"));
    EXPECT_LT(place("v-half"), place("1f1b"));
    EXPECT_LT(place("1f1b"), place("gpipe"));
    chooser->setOrder(ScheduleChooser::Order::idle);
    chooser->select(QStringLiteral("zb-v"));
    QTest::keyClick(chooser, Qt::Key_Return);
    settle();
    EXPECT_EQ(window.desk().simulation()->scenario().schedule.kind, "zb-v");
    EXPECT_EQ(window.desk().simulation()->scenario().schedule.virtualStages, 2);
    window.run(CommandId::undo);
    settle();
    EXPECT_EQ(window.desk().simulation()->scenario().schedule.kind, "1f1b");
    EXPECT_EQ(window.desk().simulation()->scenario().schedule.virtualStages, 1) << "one step took both back";
}

TEST_F(WindowTest, TheChooserHasRoomForSchedulesOnASmallScreen)
{
    open("17-schedule-1f1b.json");
    window.run(CommandId::chooseSchedule);
    auto* chooser = window.findChild<ScheduleChooser*>();
    ASSERT_TRUE(waitFor([&] { return chooser->isReady(); }));
    const auto* list = chooser->findChild<QListWidget*>();
    for (const QSize size : {QSize(500, 300), QSize(630, 340), QSize(780, 600)}) { // 1024x640 and 1280x720 with text of 200 %
        chooser->resize(size);
        QCoreApplication::processEvents();
        EXPECT_EQ(chooser->size(), size);
        EXPECT_GE(list->viewport()->height(), size.height() / 2) << size.width();
        for (const QLabel* label : chooser->findChildren<QLabel*>())
            EXPECT_TRUE(!label->isVisible() || label->height() >= label->heightForWidth(label->width()) - 1)
                << label->text().toStdString();
    }
    const auto labels = chooser->findChildren<QLabel*>();
    EXPECT_TRUE(std::any_of(labels.begin(), labels.end(), [](const QLabel* label) {
        return label->isVisible() && label->text().startsWith(QStringLiteral("This job with each of them"));
    })) << "where there is room, it says what columns are";
}

/// Of a large job all of them take long: what there is to choose from is seen at once, and one after the other is drawn.
TEST_F(WindowTest, TheChooserFillsOneByOne)
{
    open("17-schedule-1f1b.json");
    const QSignalSpy weighed(&window.desk(), &Desk::candidateWeighed);
    window.run(CommandId::chooseSchedule);
    auto* chooser = window.findChild<ScheduleChooser*>();
    ASSERT_TRUE(chooser);
    const QStringList listed = chooser->kindsShown();
    EXPECT_GT(listed.size(), 10) << "at once";
    const auto* list = chooser->findChild<QListWidget*>();
    const auto* use = chooser->findChild<QPushButton*>(QStringLiteral("useSchedule"));
    const auto isWeighed = [&](int row) {
        return !list->item(row)->data(Qt::AccessibleTextRole).toString().endsWith(QStringLiteral("Being weighed"));
    };
    EXPECT_FALSE(isWeighed(0));
    EXPECT_FALSE(use->isEnabled());
    EXPECT_EQ(list->currentRow(), listed.indexOf(QStringLiteral("1f1b"))) << "what is in use is marked at once";
    bool seesSome = false;
    for (int told = 1; told < listed.size(); ++told) {
        ASSERT_TRUE(waitFor([&] { return weighed.count() >= told; }));
        if (weighed.count() == listed.size())
            break;
        seesSome = true;
        EXPECT_TRUE(isWeighed(0));
        EXPECT_FALSE(isWeighed(static_cast<int>(listed.size()) - 1));
        EXPECT_EQ(chooser->kindsShown(), listed) << "nothing moves below the pointer";
        EXPECT_FALSE(chooser->isReady());
    }
    EXPECT_TRUE(seesSome);
    ASSERT_TRUE(waitFor([&] { return chooser->isReady(); }));
    EXPECT_TRUE(use->isEnabled());
    for (int row = 0; row < list->count(); ++row)
        EXPECT_TRUE(isWeighed(row)) << row;
    chooser->reject();
}

TEST_F(WindowTest, ACancelledChooserIsWaitedForByNobody)
{
    open("17-schedule-1f1b.json");
    const QSignalSpy weighed(&window.desk(), &Desk::candidateWeighed);
    window.run(CommandId::chooseSchedule);
    auto* chooser = window.findChild<ScheduleChooser*>();
    ASSERT_TRUE(chooser);
    chooser->reject();
    EXPECT_TRUE(waitFor([&] { return window.desk().isResting(); }));
    EXPECT_EQ(weighed.count(), 0);
}

/// What it foretells is what Details say once the schedule is used, whichever was in use when it opened.
TEST_F(WindowTest, TheChooserSaysWhatDetailsWillSay)
{
    open("17-schedule-1f1b.json");
    const auto saidOf = [&](const char* kind) {
        window.run(CommandId::chooseSchedule);
        auto* chooser = window.findChild<ScheduleChooser*>();
        EXPECT_TRUE(waitFor([&] { return chooser->isReady(); }));
        const auto* list = chooser->findChild<QListWidget*>();
        const auto row = static_cast<int>(chooser->kindsShown().indexOf(QLatin1String(kind)));
        const QString said = list->item(row)->data(Qt::AccessibleTextRole).toString();
        chooser->select(QLatin1String(kind));
        QTest::keyClick(chooser, Qt::Key_Return);
        settle();
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
        return said;
    };
    const QString before = saidOf("zb-h1");
    EXPECT_EQ(saidOf("zb-h1"), before);
    EXPECT_TRUE(before.contains(QStringLiteral("activations 11.5\u00a0GiB")) ||
                before.contains(QStringLiteral("activations 11.5 GiB")))
        << before.toStdString();
    EXPECT_NEAR(static_cast<double>(window.desk().simulation()->memoryOfClass(3).activations) / (1024.0 * 1024 * 1024), 11.5,
                0.05);
}

TEST_F(WindowTest, AFoundScheduleBecomesTheScenariosOwn)
{
    open("17-schedule-1f1b.json");
    window.run(CommandId::findSchedule);
    auto* dialog = window.findChild<SynthesisDialog*>();
    ASSERT_TRUE(dialog);
    ASSERT_TRUE(waitFor([&] { return dialog->state() && !dialog->state()->running; }));
    EXPECT_EQ(dialog->findChild<QDoubleSpinBox*>()->buttonSymbols(), QAbstractSpinBox::NoButtons)
        << "the style draws fields, and no arrows in them";
    const double before = window.desk().simulation()->metrics().stepTimeSeconds;
    auto* use = dialog->findChild<QPushButton*>(QStringLiteral("useOrder"));
    ASSERT_TRUE(use->isEnabled());
    const auto labels = dialog->findChildren<QLabel*>();
    EXPECT_TRUE(std::any_of(labels.begin(), labels.end(), [](const QLabel* label) {
        return label->text().contains(QStringLiteral("of the planned makespan of"));
    })) << "the order editor measures another";
    const double promised = dialog->state()->step.stepSeconds;
    EXPECT_LT(promised, before);
    EXPECT_TRUE(use->text().startsWith(QStringLiteral("Use This Order (−"))) << use->text().toStdString();
    use->click();
    settle();
    EXPECT_EQ(window.desk().simulation()->scenario().schedule.kind, "custom");
    EXPECT_EQ(window.desk().simulation()->metrics().stepTimeSeconds, promised) << "the step is what the button said";
    window.run(CommandId::undo);
    settle();
    EXPECT_EQ(window.desk().simulation()->scenario().schedule.kind, "1f1b");
}

TEST_F(WindowTest, AScheduleThatIsNoBetterIsNotOffered)
{
    open("45-llama3-70b-64-gpus.json"); // whole backwards hide what split ones expose
    window.run(CommandId::findSchedule);
    auto* dialog = window.findChild<SynthesisDialog*>();
    ASSERT_TRUE(dialog);
    ASSERT_TRUE(waitFor([&] { return dialog->state() && !dialog->state()->running; }));
    for (const QLabel* label : dialog->findChildren<QLabel*>())
        EXPECT_FALSE(label->text().startsWith(QStringLiteral("This is it"))) << "proved is a bound of the longest rank";
    const double now = window.desk().simulation()->metrics().stepTimeSeconds;
    EXPECT_EQ(dialog->state()->now.stepSeconds, now);
    EXPECT_LE(dialog->state()->best.bound * 1e-9, now) << "no order is shorter, said of a step that is";
    const auto* use = dialog->findChild<QPushButton*>(QStringLiteral("useOrder"));
    const auto* step = dialog->findChild<QLabel*>(QStringLiteral("synthesisStep"));
    if (dialog->state()->step.stepSeconds < now) {
        EXPECT_TRUE(use->isEnabled());
        EXPECT_TRUE(use->text().startsWith(QStringLiteral("Use This Order (−"))) << use->text().toStdString();
    } else {
        EXPECT_FALSE(use->isEnabled());
        EXPECT_EQ(use->text(), QStringLiteral("No Better Than Now"));
        EXPECT_TRUE(step->text().contains(QStringLiteral("no better than now"))) << step->text().toStdString();
    }
    dialog->reject();
}

TEST_F(WindowTest, AnEditedOrderBecomesTheCustomScheduleInOneStep)
{
    open("17-schedule-1f1b.json");
    const int before = window.session().undoStack().count();
    window.run(CommandId::editOrder);
    OrderEditorPanel& editor = window.workspace().editor();
    ASSERT_TRUE(window.workspace().isEditing());
    EXPECT_FALSE(editor.saveButton()->isEnabled()) << "nothing is changed yet";
    for (int i = 0; i < 9; ++i)
        editor.canvas().runCommand(ViewCommand::next);
    window.run(CommandId::moveLater);
    const auto wanted = editor.draft()->schedule().actions;
    ASSERT_TRUE(editor.saveButton()->isEnabled()) << editor.draft()->verdict();
    QTest::mouseClick(editor.saveButton(), Qt::LeftButton);
    settle();
    EXPECT_FALSE(window.workspace().isEditing());
    EXPECT_EQ(window.desk().simulation()->scenario().schedule.kind, "custom");
    EXPECT_EQ(window.desk().simulation()->schedule().actions, wanted);
    EXPECT_EQ(window.session().undoStack().count(), before + 1);
    window.run(CommandId::undo);
    settle();
    EXPECT_EQ(window.desk().simulation()->scenario().schedule.kind, "1f1b");

    window.run(CommandId::editOrder);
    editor.canvas().runCommand(ViewCommand::next);
    window.run(CommandId::moveLater);
    window.run(CommandId::editOrder); // the same command leaves it
    EXPECT_FALSE(window.workspace().isEditing());
    EXPECT_EQ(window.session().undoStack().count(), before + 1) << "nothing was saved";
}

TEST_F(WindowTest, EscLeavesAnOrderInWhichNothingWasMoved)
{
    open("17-schedule-1f1b.json");
    window.run(CommandId::editOrder);
    CanvasWidget& canvas = window.workspace().editor().canvas();
    canvas.setFocus();
    QTest::keyClick(&canvas, Qt::Key_Right);
    QTest::keyClick(&canvas, Qt::Key_Escape);
    EXPECT_TRUE(window.workspace().isEditing()) << "the action was chosen, and is not any more";
    QTest::keyClick(&canvas, Qt::Key_Escape);
    EXPECT_FALSE(window.workspace().isEditing());

    window.run(CommandId::editOrder);
    for (int i = 0; i < 9; ++i)
        canvas.runCommand(ViewCommand::next);
    window.run(CommandId::moveLater);
    ASSERT_TRUE(window.workspace().editor().hasMoves());
    canvas.setFocus();
    QTest::keyClick(&canvas, Qt::Key_Escape);
    QTest::keyClick(&canvas, Qt::Key_Escape);
    EXPECT_TRUE(window.workspace().isEditing()) << "what was moved would be lost";
}

TEST_F(WindowTest, WhatWasMovedInAnOrderSurvivesUndoAndOtherEdits)
{
    open("17-schedule-1f1b.json");
    window.session().edit(makeKeyEdit("/live/steps", "7", "steps", "", "7"));
    settle();
    OrderEditorPanel& editor = window.workspace().editor();
    window.run(CommandId::editOrder);
    for (int i = 0; i < 9; ++i)
        editor.canvas().runCommand(ViewCommand::next);
    window.run(CommandId::moveLater);
    const auto once = editor.draft()->schedule().actions;
    window.run(CommandId::moveLater);
    const auto wanted = editor.draft()->schedule().actions;
    ASSERT_NE(once, wanted);

    // Undo takes a move back, not the scenario's last change.
    const int index = window.session().undoStack().index();
    window.run(CommandId::undo);
    settle();
    ASSERT_TRUE(window.workspace().isEditing());
    EXPECT_EQ(editor.draft()->schedule().actions, once);
    EXPECT_EQ(window.session().undoStack().index(), index);

    // With the same schedule at other times it goes on, and leaves the keys where they are.
    const double before = editor.draft()->originalTimes().makespan;
    window.form().row(Control::tp)->spinBox()->setFocus();
    window.session().edit(makeKeyEdit("/training/sequence_length", "512", "sequence", "", "512"));
    settle();
    ASSERT_TRUE(window.workspace().isEditing());
    EXPECT_TRUE(window.form().row(Control::tp)->spinBox()->hasFocus());
    EXPECT_EQ(editor.draft()->schedule().actions, once);
    EXPECT_NE(editor.draft()->originalTimes().makespan, before);
    EXPECT_TRUE(editor.canTakeBack());

    // With another it waits.
    window.session().edit(makeScheduleEdit(window.session().document(), window.session().scenario(), "gpipe"));
    settle();
    EXPECT_FALSE(window.workspace().isEditing());
    EXPECT_TRUE(window.statusBar()->currentMessage().startsWith(QStringLiteral("What you moved is kept")));
    window.run(CommandId::editOrder);
    EXPECT_FALSE(editor.hasMoves()) << "these are other actions";
    window.run(CommandId::editOrder);
    window.run(CommandId::undo);
    settle();
}

TEST_F(WindowTest, AnOrderThatIsLeftGoesOnAndOneThatIsCancelledIsGone)
{
    open("17-schedule-1f1b.json");
    OrderEditorPanel& editor = window.workspace().editor();
    const auto move = [&] {
        window.run(CommandId::editOrder);
        for (int i = 0; i < 9; ++i)
            editor.canvas().runCommand(ViewCommand::next);
        window.run(CommandId::moveLater);
    };
    move();
    const auto wanted = editor.draft()->schedule().actions;
    window.session().edit(makeScheduleEdit(window.session().document(), window.session().scenario(), "gpipe"));
    settle();
    ASSERT_FALSE(window.workspace().isEditing());
    window.run(CommandId::undo);
    settle();
    window.run(CommandId::editOrder);
    EXPECT_EQ(editor.draft()->schedule().actions, wanted);
    for (QPushButton* button : editor.findChildren<QPushButton*>())
        if (button->text() == QStringLiteral("Cancel"))
            button->click();
    EXPECT_FALSE(window.workspace().isEditing());
    window.run(CommandId::editOrder);
    EXPECT_FALSE(editor.hasMoves());
    window.run(CommandId::editOrder);
    move();
    open(kTiny);
    open("17-schedule-1f1b.json");
    window.run(CommandId::editOrder);
    EXPECT_FALSE(editor.hasMoves()) << "of another file";
}

} // namespace
} // namespace app
