// Settings in the window: edited, undone, typed, slid, and told beside what is wrong.
#include "app/shell/details/details_panel.h"
#include "app/shell/dialogs/command_palette.h"
#include "app/shell/form/scenario_form.h"
#include "app/shell/widgets/metric_card.h"
#include "app/shell/widgets/scenario_header.h"
#include "tests/app/shell/window_fixture.h"

#include <QApplication>
#include <QLabel>
#include <QLineEdit>
#include <QSlider>
#include <QTemporaryDir>

#include <gtest/gtest.h>

namespace app {
namespace {

using namespace test;

TEST_F(WindowTest, AnEditIsSimulatedComparedAndUndoneByItsKey)
{
    open(kSixteen);
    const double before = window.desk().simulation()->metrics().stepTimeSeconds;
    window.form().row(Control::pp)->spinBox()->stepBy(1);
    settle();
    EXPECT_EQ(shownLayout().pp, 4);
    EXPECT_TRUE(window.isWindowModified());
    bool compared = false;
    for (const MetricCard* card : window.details().findChildren<MetricCard*>())
        compared = compared || !card->deltaText().isEmpty();
    EXPECT_TRUE(compared);
    QTest::keySequence(&window, QKeySequence::Undo);
    settle();
    EXPECT_EQ(shownLayout().pp, 2);
    EXPECT_EQ(window.desk().simulation()->metrics().stepTimeSeconds, before);
    EXPECT_FALSE(window.isWindowModified());
    QTest::keySequence(&window, QKeySequence::Redo);
    settle();
    EXPECT_EQ(shownLayout().pp, 4);
}

TEST_F(WindowTest, UndoMeansTheScenarioWhileANumberIsEdited)
{
    open(kSixteen);
    LegalSpinBox* spin = window.form().row(Control::tp)->spinBox();
    spin->setFocus();
    QTest::keyClick(spin, Qt::Key_Up);
    settle();
    EXPECT_EQ(shownLayout().tp, 4);
    QTest::keySequence(spin, QKeySequence::Undo);
    settle();
    EXPECT_EQ(shownLayout().tp, 2);
    spin->selectAll();
    QTest::keyClicks(spin, QStringLiteral("4"));
    QTest::keySequence(spin, QKeySequence::Undo);
    EXPECT_EQ(spin->text(), QStringLiteral("2")) << "letters that nobody took yet come first";
    spin->selectAll();
    QTest::keyClicks(spin, QStringLiteral("4"));
    QTest::keyClick(spin, Qt::Key_Return);
    settle();
    EXPECT_EQ(shownLayout().tp, 4);
    QTest::keySequence(spin, QKeySequence::Undo);
    settle();
    EXPECT_EQ(shownLayout().tp, 2) << "of what was taken there are no letters to undo";
}

TEST_F(WindowTest, WhatIsTypedIsSavedWithoutBeingConfirmed)
{
    QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("mine.json"));
    document(kSixteen).saveFile(path.toStdString());
    ASSERT_TRUE(window.openFile(path).empty());
    settle();
    LegalSpinBox* spin = window.form().row(Control::tp)->spinBox();
    spin->setFocus();
    spin->selectAll();
    QTest::keyClicks(spin, QStringLiteral("4"));
    QTest::keySequence(spin, QKeySequence::Save);
    EXPECT_EQ(sim::ScenarioDocument::readFile(path.toStdString()).get("/layout/tp"), "4");
    EXPECT_FALSE(window.session().isModified());
}

TEST_F(WindowTest, CommonWhatIfsAreOneStepAndInThePalette)
{
    open(kSixteen);
    const auto whatIfs = window.form().whatIfs();
    ASSERT_FALSE(whatIfs.empty());
    EXPECT_EQ(whatIfs.front().name, "Double the GPUs");
    window.run(CommandId::palette);
    auto* palette = window.findChild<CommandPalette*>();
    ASSERT_TRUE(palette);
    palette->setFilter(QStringLiteral("Double the GPUs"));
    EXPECT_TRUE(palette->shown().contains(QStringLiteral("Double the GPUs")));
    QTest::keyClick(palette->findChild<QLineEdit*>(), Qt::Key_Return);
    QCoreApplication::processEvents();
    settle();
    EXPECT_EQ(shownLayout().worldSize(), 32);
    EXPECT_EQ(window.session().undoStack().undoText(), QStringLiteral("Double the GPUs"));
    window.run(CommandId::undo);
    settle();
    EXPECT_EQ(shownLayout().worldSize(), 16);
}

TEST_F(WindowTest, SlidersStopOnlyAtLegalValues)
{
    open(kSixteen);
    QSlider* slider = window.form().row(Control::tp)->slider();
    EXPECT_EQ(slider->maximum(), 2); // 1, 2, 4
    slider->setValue(2);
    settle();
    EXPECT_EQ(shownLayout().tp, 4);
    EXPECT_EQ(shownLayout().worldSize(), 16);
}

TEST_F(WindowTest, AnIllegalNumberIsToldBesideItsControlWhileThePictureStays)
{
    open(kSixteen);
    const SimulationPtr before = window.desk().simulation();
    window.form().row(Control::tp)->spinBox()->setValue(3);
    settle();
    EXPECT_EQ(window.desk().simulation(), before);
    EXPECT_TRUE(window.form().problemAt("/layout/tp").contains(QLatin1Char('3')));
    const auto* header = window.findChild<ScenarioHeader*>();
    EXPECT_FALSE(header->notice().isEmpty());
    window.resize(1024, 640);
    QCoreApplication::processEvents();
    bool isWhole = false; // its end is what would work
    for (const QLabel* label : header->findChildren<QLabel*>())
        isWhole = isWhole || (label->text() == header->notice() && label->height() >= label->heightForWidth(label->width()));
    EXPECT_TRUE(isWhole);
    window.session().undoStack().undo();
    settle();
    EXPECT_TRUE(window.form().problemAt("/layout/tp").isEmpty());
    EXPECT_TRUE(window.findChild<ScenarioHeader*>()->notice().isEmpty());
}

TEST_F(WindowTest, TheNumberThatIsWrongCanBeSteppedBack)
{
    open(kSixteen);
    NumberRow* tp = window.form().row(Control::tp);
    tp->spinBox()->setValue(3);
    settle();
    EXPECT_TRUE(tp->slider()->isEnabled());
    EXPECT_FALSE(window.form().row(Control::sequenceLength)->slider()->isEnabled()) << "no sequence length makes tp 3 right";
    tp->spinBox()->stepBy(1);
    settle();
    EXPECT_TRUE(window.session().isLegal());
    EXPECT_EQ(shownLayout().tp, 4);
    EXPECT_EQ(shownLayout().worldSize(), 16) << "the GPUs are those of before the mistake";
}

TEST_F(WindowTest, EscapeClearsTheSearchForASetting)
{
    open(kTiny);
    QApplication::setActiveWindow(&window);
    QLineEdit* search = nullptr;
    for (QLineEdit* field : window.findChildren<QLineEdit*>())
        if (field->accessibleName() == QStringLiteral("Find a setting"))
            search = field;
    ASSERT_NE(search, nullptr);
    search->setFocus();
    search->setText(QStringLiteral("micro"));
    QTest::keyClick(search, Qt::Key_Escape);
    EXPECT_EQ(search->text(), QString());
}

} // namespace
} // namespace app
