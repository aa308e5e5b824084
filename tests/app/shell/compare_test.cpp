// Comparing two scenarios in the window: pinning, the Compare page, taking values over, other files, exporting.
#include "app/shell/compare/compare_page.h"

#include "app/canvas/qt/canvas_accessible.h"
#include "app/canvas/qt/canvas_widget.h"
#include "app/shell/compare/compare_tables.h"
#include "app/shell/dialogs/export_dialog.h"
#include "app/shell/widgets/because_popup.h"
#include "app/shell/widgets/problem_banner.h"
#include "app/shell/widgets/scenario_header.h"
#include "app/views/compare/memory_pair.h"
#include "tests/app/shell/compare_fixture.h"

#include <QAccessible>
#include <QAccessibleActionInterface>
#include <QComboBox>
#include <QFile>
#include <QFontMetrics>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QStatusBar>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

namespace app {
namespace {

using namespace test;

TEST_F(CompareTest, PinningAnewSaysSoAndIsTakenBackAtOnce)
{
    open(kTiny);
    window.run(CommandId::pinBaseline);
    const std::string first = window.desk().baseline().document().text();
    const QString firstName = window.desk().baseline().name();
    window.run(CommandId::pinBaseline);
    EXPECT_EQ(window.statusBar()->currentMessage(), QStringLiteral("This is the baseline already"));
    EXPECT_FALSE(window.isEnabled(CommandId::formerBaseline));
    const auto* undo = window.findChild<QToolButton*>(QStringLiteral("undoBaseline"));
    EXPECT_TRUE(undo->isHidden());
    setTp(1);
    window.run(CommandId::pinBaseline);
    EXPECT_EQ(window.statusBar()->currentMessage(),
              QStringLiteral("The baseline is now “%1” (was “%2”)").arg(window.session().displayName(), firstName));
    EXPECT_NE(window.desk().baseline().document().text(), first);
    ASSERT_FALSE(undo->isHidden());
    window.findChild<QToolButton*>(QStringLiteral("undoBaseline"))->click();
    EXPECT_EQ(window.desk().baseline().document().text(), first);
    EXPECT_TRUE(window.desk().baseline().isReady());
    EXPECT_TRUE(undo->isHidden()) << "it would take back what it brought back";
    window.run(CommandId::forgetBaseline);
    EXPECT_FALSE(window.desk().baseline().isPinned());
    ASSERT_FALSE(undo->isHidden());
    window.run(CommandId::formerBaseline);
    EXPECT_EQ(window.desk().baseline().document().text(), first);
}

TEST_F(CompareTest, NumbersAreComparedWithThePinnedBaseline)
{
    open(kTiny);
    EXPECT_FALSE(window.isEnabled(CommandId::backToBaseline));
    window.run(CommandId::pinBaseline);
    ASSERT_TRUE(window.desk().baseline().isReady());
    EXPECT_TRUE(stepDelta().isEmpty());
    setTp(1);
    const QString first = stepDelta();
    EXPECT_FALSE(first.isEmpty());
    window.session().edit(makeKeyEdit("/training/global_batch_size", "64", "global batch", "", "64"));
    settle();
    EXPECT_NE(stepDelta(), first) << "still against the pinned state, not against the step before";
    window.run(CommandId::backToBaseline);
    settle();
    EXPECT_TRUE(stepDelta().isEmpty());
    EXPECT_FALSE(window.isEnabled(CommandId::backToBaseline));
    window.run(CommandId::undo);
    settle();
    EXPECT_FALSE(stepDelta().isEmpty());
    window.run(CommandId::pinBaseline);
    EXPECT_TRUE(window.desk().baseline().isPinned()) << "the same key never forgets it";
    window.run(CommandId::forgetBaseline);
    EXPECT_FALSE(window.desk().baseline().isPinned());
}

/// Its file would be overwritten with another one's job.
TEST_F(CompareTest, NobodyGoesBackToAnotherFilesScenario)
{
    open(kZeroBubble);
    ASSERT_TRUE(window.compareWith(galleryFile(k1F1B)).empty());
    settle();
    EXPECT_FALSE(window.isEnabled(CommandId::backToBaseline));
    EXPECT_TRUE(window.isEnabled(CommandId::swapSides));
    window.run(CommandId::pinBaseline);
    EXPECT_FALSE(window.isEnabled(CommandId::backToBaseline)) << "it is what is open";
    window.session().edit(makeKeyEdit("/training/global_batch_size", "64", "global batch", "", "64"));
    settle();
    EXPECT_TRUE(window.isEnabled(CommandId::backToBaseline));
    window.run(CommandId::formerBaseline);
    EXPECT_FALSE(window.isEnabled(CommandId::backToBaseline));
}

TEST_F(CompareTest, NobodyGoesBackToTheBaselineOfAFileThatWasOpenBefore)
{
    open(kZeroBubble);
    window.run(CommandId::pinBaseline);
    open(k1F1B);
    ASSERT_FALSE(window.desk().baseline().isPinned());
    ASSERT_TRUE(window.isEnabled(CommandId::formerBaseline));
    const std::string text = window.session().document().text();
    window.run(CommandId::formerBaseline);
    settle();
    ASSERT_TRUE(window.desk().baseline().isPinned()) << "to be compared with";
    EXPECT_FALSE(window.isEnabled(CommandId::backToBaseline));
    window.run(CommandId::backToBaseline);
    EXPECT_EQ(window.session().document().text(), text);
    window.run(CommandId::forgetBaseline);
    window.run(CommandId::pinBaseline);
    window.session().edit(makeKeyEdit("/training/global_batch_size", "64", "global batch", "", "64"));
    settle();
    EXPECT_TRUE(window.isEnabled(CommandId::backToBaseline)) << "its own";
    ASSERT_TRUE(window.openFile(galleryFile(k1F1B)).empty());
    settle();
    window.run(CommandId::forgetBaseline);
    window.run(CommandId::formerBaseline);
    window.session().edit(makeKeyEdit("/training/global_batch_size", "64", "global batch", "", "64"));
    settle();
    EXPECT_TRUE(window.isEnabled(CommandId::backToBaseline)) << "the same file, opened anew";
}

TEST_F(CompareTest, NamesSayWhatDiffersFromTheFileAsItIsSavedNow)
{
    QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("mine.json"));
    document(kTiny).saveFile(path.toStdString());
    ASSERT_TRUE(window.openFile(path).empty());
    settle();
    window.run(CommandId::pinBaseline);
    setTp(1);
    window.showCompare();
    settle();
    const QString changed = window.session().displayName();
    const auto shows = [](const QWidget& part, const QString& text) {
        const auto labels = part.findChildren<ElidedLabel*>();
        return std::any_of(labels.begin(), labels.end(), [&](const ElidedLabel* label) { return label->text() == text; });
    };
    const QWidget& header = *window.findChild<ScenarioHeader*>();
    EXPECT_TRUE(shows(header, changed));
    EXPECT_TRUE(shows(page(), changed));
    window.run(CommandId::save);
    settle();
    const QString saved = window.session().displayName();
    ASSERT_NE(saved, changed);
    EXPECT_TRUE(shows(header, saved));
    EXPECT_TRUE(shows(page(), saved));
}

TEST_F(CompareTest, OnlyTwoThatAreThereAreSwapped)
{
    open(kTiny);
    window.run(CommandId::pinBaseline);
    setTp(1);
    window.run(CommandId::keepInComparison);
    window.run(CommandId::undo);
    window.showCompare();
    settle();
    ASSERT_TRUE(page().view().isSecondLeftOut());
    EXPECT_FALSE(window.isEnabled(CommandId::swapSides)) << "there is no B";
}

TEST_F(CompareTest, ThePageShowsWhatDiffersAndWhatItDoes)
{
    open(kZeroBubble);
    ASSERT_TRUE(window.compareWith(galleryFile(k1F1B)).empty());
    settle();
    EXPECT_TRUE(window.isCompareShown());
    EXPECT_EQ(window.windowTitle(), window.session().displayName() + QStringLiteral("[*] – Comparison – Rankscope"));
    ASSERT_TRUE(page().view().comparison());
    EXPECT_LT(page().view().comparison()->deltaNs(), 0);
    EXPECT_TRUE(page().headline().startsWith(QStringLiteral("−")));
    const QTableWidget& changes = page().tables().changes();
    ASSERT_EQ(changes.rowCount(), 1);
    EXPECT_EQ(changes.item(0, 0)->text(), QStringLiteral("schedule kind"));
    EXPECT_EQ(changes.item(0, 1)->text(), QStringLiteral("1F1B"));
    EXPECT_EQ(page().tables().rows().item(0, 0)->text(), QStringLiteral("Step time"));
    EXPECT_EQ(page().tables().stages().rowCount(), 4);
    EXPECT_TRUE(says("bubble −"));
    EXPECT_TRUE(page().csv().contains(QStringLiteral("key,/schedule/kind,,\"\"\"1f1b\"\"\"")));
    QTest::keyClick(&page().canvas(), Qt::Key_Escape);
    EXPECT_FALSE(window.isCompareShown());
    EXPECT_TRUE(window.workspace().isVisible());
    window.run(CommandId::showCompare);
    const auto buttons = page().findChildren<QToolButton*>();
    const auto close =
        std::find_if(buttons.begin(), buttons.end(), [](const auto* b) { return b->text() == QLatin1String("Close"); });
    ASSERT_NE(close, buttons.end());
    auto* area = qobject_cast<QScrollArea*>(page().parentWidget()->parentWidget());
    ASSERT_TRUE(area);
    const QSize usual = window.size();
    window.setMinimumSize(512, 320);
    for (const QSize size : {QSize(512, 320), usual}) { // the first is 1024 × 640 at text of 200 %
        window.resize(size);
        settle();
        EXPECT_EQ(area->horizontalScrollBar()->maximum(), 0) << size.width();
        EXPECT_LE((*close)->mapTo(&page(), (*close)->rect().bottomRight()).x(), page().width()) << size.width();
        EXPECT_EQ(page().canvas().width() == page().width(), size != usual) << "tables above the picture, or beside it";
    }
    (*close)->click();
    EXPECT_TRUE(window.workspace().isVisible());
}

TEST(ComparedNames, AreCutWhereTheyAreAlike)
{
    ElidedLabel label("heading");
    const QString begin = QStringLiteral("A name that somebody gave to a scenario, now ");
    label.setText(begin + QStringLiteral("placement round-robin"), begin.size());
    label.resize(label.sizeHint().width() * 2 / 3, 30);
    label.show();
    const QString shown = label.findChild<QLabel*>()->text();
    EXPECT_TRUE(shown.startsWith(QStringLiteral("A name")) && shown.endsWith(QStringLiteral("…placement round-robin")))
        << shown.toStdString();
    label.resize(label.sizeHint().width() + 1, 30);
    EXPECT_EQ(label.findChild<QLabel*>()->text(), label.text());
}

TEST_F(CompareTest, NumbersOfStagesAndOfThePictureSayWhereTheyComeFrom)
{
    open(kZeroBubble);
    ASSERT_TRUE(window.compareWith(galleryFile(k1F1B)).empty());
    settle();
    const auto closeOpened = [this] { // what it explains; nothing: none is open
        QString of;
        for (BecausePopup* popup : page().findChildren<BecausePopup*>())
            if (popup->isVisible()) {
                of = QString::fromStdString(popup->shown().name);
                EXPECT_EQ(popup->findChildren<QPushButton*>().back()->isHidden(), true) << "it may be of another step: not shown";
                popup->close();
            }
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
        return of.toStdString();
    };
    QTableWidget& stages = page().tables().stages();
    for (int column = 1; column <= 4; ++column) {
        QTest::mouseClick(stages.viewport(), Qt::LeftButton, {}, stages.visualItemRect(stages.item(2, column)).center());
        EXPECT_TRUE(closeOpened().starts_with("Difference of B to A: ")) << column;
    }
    stages.setFocus();
    stages.setCurrentCell(1, 3);
    QTest::keyClick(&stages, Qt::Key_Return);
    EXPECT_EQ(closeOpened(), "Difference of B to A: Bubble of pipeline rank 1");

    installCanvasAccessibility();
    const auto canvases = page().findChildren<CanvasWidget*>();
    ASSERT_EQ(canvases.size(), 1);
    QAccessibleInterface* tree = QAccessible::queryAccessibleInterface(canvases.front());
    ASSERT_TRUE(tree);
    int pressed = 0;
    for (int i = 0; i < tree->childCount(); ++i) {
        QAccessibleInterface* child = tree->child(i);
        if (child->role() != QAccessible::Button || !child->text(QAccessible::Name).endsWith(QStringLiteral("ms")))
            continue;
        child->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
        EXPECT_FALSE(closeOpened().empty()) << child->text(QAccessible::Name).toStdString();
        ++pressed;
    }
    EXPECT_GE(pressed, 4) << "A, B and what lies between";
    canvases.front()->runCommand(ViewCommand::because);
    EXPECT_FALSE(closeOpened().empty());
}

TEST_F(CompareTest, RowsOfWhatDiffersCanBeToldApart)
{
    open(kLarge);
    ASSERT_TRUE(window.compareWith(galleryFile(k1F1B)).empty());
    settle();
    const QTableWidget& changes = page().tables().changes();
    ASSERT_GT(changes.rowCount(), 5) << "another model on another cluster";
    std::set<QString> names;
    for (int row = 0; row < changes.rowCount(); ++row) {
        const QString name = changes.item(row, 0)->text();
        EXPECT_TRUE(names.insert(name).second) << "twice: " << name.toStdString();
        EXPECT_FALSE(name.contains(QLatin1Char('_'))) << name.toStdString();
    }
}

TEST_F(CompareTest, NamesOfRowsAreWholeWhereThereIsRoom)
{
    open(k1F1B);
    ASSERT_TRUE(window.compareWith(galleryFile("05-dp2-tp4-pp2-sixteen-gpus.json")).empty());
    for (const QSize size : {QSize(1600, 900), QSize(1280, 720), QSize(1024, 640)}) {
        window.resize(size);
        window.showCompare();
        page().swapSides();
        settle();
        const QTableWidget& rows = page().tables().rows();
        int longest = 0;
        for (int row = 0; row < rows.rowCount(); ++row) {
            const QTableWidgetItem& name = *rows.item(row, 0);
            const QFont font = name.data(Qt::FontRole).isValid() ? name.font() : rows.font();
            const int wide = QFontMetrics(font).horizontalAdvance(name.text());
            longest = std::max(longest, wide);
            EXPECT_GT(rows.columnWidth(0), wide) << size.width() << ": " << name.text().toStdString();
        }
        EXPECT_GT(longest, 120) << "“Dp / embedding exposed” is among them";
    }
}

TEST_F(CompareTest, AValueOfTheBaselineIsTakenOverAndUndone)
{
    open(kZeroBubble);
    ASSERT_TRUE(window.compareWith(galleryFile(k1F1B)).empty());
    settle();
    auto* button = qobject_cast<QToolButton*>(page().tables().changes().cellWidget(0, 3));
    ASSERT_TRUE(button);
    EXPECT_EQ(button->accessibleName(), QStringLiteral("Use A's schedule kind: 1F1B"));
    QTest::mouseClick(button, Qt::LeftButton);
    QCoreApplication::processEvents();
    settle();
    EXPECT_EQ(page().view().comparison()->deltaNs(), 0);
    EXPECT_EQ(page().tables().changes().rowCount(), 0);
    EXPECT_EQ(page().headline(), QStringLiteral("No change in the step time"));
    window.run(CommandId::undo);
    settle();
    EXPECT_NE(page().view().comparison()->deltaNs(), 0);
}

TEST_F(CompareTest, TakingOneOfSeveralThatBelongTogetherLeavesAScenarioThatWorks)
{
    open("18-schedule-interleaved-1f1b.json");
    ASSERT_TRUE(window.compareWith(galleryFile(k1F1B)).empty());
    settle();
    const QTableWidget& changes = page().tables().changes();
    for (int row = 0; row < changes.rowCount(); ++row) {
        auto* button = qobject_cast<QToolButton*>(changes.cellWidget(row, 3));
        if (button == nullptr || !button->accessibleName().contains(QStringLiteral("virtual stages")))
            continue;
        QTest::mouseClick(button, Qt::LeftButton);
        break;
    }
    QCoreApplication::processEvents();
    settle();
    EXPECT_TRUE(window.session().isLegal());
    EXPECT_EQ(window.session().scenario()->schedule.kind, "1f1b");
    EXPECT_EQ(page().view().comparison()->deltaNs(), 0);
}

TEST_F(CompareTest, ThePageSaysWhatIsWrongWithTheScenario)
{
    open("18-schedule-interleaved-1f1b.json");
    ASSERT_TRUE(window.compareWith(galleryFile(k1F1B)).empty());
    settle();
    const auto* problem = page().findChild<QLabel*>(QStringLiteral("compareProblem"));
    ASSERT_TRUE(problem);
    EXPECT_FALSE(problem->isVisible());
    window.session().edit({.assignments = {{"/schedule/virtual_stages", "1"}}, .text = "virtual stages"});
    QCoreApplication::processEvents();
    EXPECT_TRUE(problem->isVisible());
    EXPECT_TRUE(problem->text().contains(QStringLiteral("stage layers: the list has 8 entries")))
        << problem->text().toStdString();
    window.run(CommandId::undo);
    settle();
    EXPECT_FALSE(problem->isVisible());
}

TEST_F(CompareTest, SwappedEverythingIsTheOtherWayRound)
{
    open(kZeroBubble);
    ASSERT_TRUE(window.compareWith(galleryFile(k1F1B)).empty());
    settle();
    const std::int64_t before = page().view().comparison()->deltaNs();
    window.run(CommandId::swapSides);
    settle();
    EXPECT_TRUE(page().isSwapped());
    EXPECT_EQ(page().view().comparison()->deltaNs(), -before);
    EXPECT_EQ(page().tables().changes().item(0, 2)->text(), QStringLiteral("1F1B"));
    auto* button = qobject_cast<QToolButton*>(page().tables().changes().cellWidget(0, 3));
    ASSERT_TRUE(button);
    EXPECT_EQ(button->text(), QStringLiteral("Use B"));
    QTest::mouseClick(button, Qt::LeftButton);
    QCoreApplication::processEvents();
    settle();
    EXPECT_EQ(page().view().comparison()->deltaNs(), 0);
}

TEST_F(CompareTest, ASecondFileDroppedWithShiftOrOnThePageIsTheBaseline)
{
    open(kZeroBubble);
    const QString path = window.session().path();
    drop(k1F1B, Qt::ShiftModifier);
    settle();
    EXPECT_TRUE(window.isCompareShown());
    EXPECT_EQ(window.session().path(), path);
    EXPECT_TRUE(window.desk().baseline().isReady());
    drop(kTiny, Qt::NoModifier);
    settle();
    EXPECT_TRUE(window.isCompareShown());
    EXPECT_EQ(window.desk().baseline().metrics()->worldSize, 8);
    window.run(CommandId::showCompare);
    EXPECT_FALSE(window.isCompareShown());
    drop(k1F1B, Qt::NoModifier);
    settle();
    EXPECT_EQ(window.session().path(), galleryFile(k1F1B)) << "elsewhere it is opened";
}

TEST_F(CompareTest, WithoutABaselineThePageSaysHowToGetOne)
{
    open(kTiny);
    window.run(CommandId::showCompare);
    settle();
    EXPECT_TRUE(window.isCompareShown());
    EXPECT_FALSE(page().view().comparison());
    EXPECT_FALSE(window.isEnabled(CommandId::swapSides));
    EXPECT_TRUE(page().csv().isEmpty());
    EXPECT_FALSE(page().tables().isVisible());
    window.run(CommandId::pinBaseline);
    settle();
    EXPECT_TRUE(page().view().comparison());
    EXPECT_EQ(page().view().comparison()->deltaNs(), 0);
}

TEST_F(CompareTest, ABadFileStandsInTheBannerAndChangesNothing)
{
    open(kTiny);
    EXPECT_FALSE(window.compareWith(QStringLiteral("/no/such/file.json")).empty());
    EXPECT_FALSE(window.isCompareShown());
    EXPECT_TRUE(window.banner().isVisible());
    EXPECT_FALSE(window.desk().baseline().isPinned());
}

TEST_F(CompareTest, KeysReachTheBlend)
{
    open(kZeroBubble);
    ASSERT_TRUE(window.compareWith(galleryFile(k1F1B)).empty());
    settle();
    page().view().setBlend(0.5);
    QTest::keyClick(&page().canvas(), Qt::Key_Period);
    EXPECT_NEAR(page().view().blend(), 0.55, 1e-9);
    QTest::keyClick(&page().canvas(), Qt::Key_Comma, Qt::ShiftModifier);
    EXPECT_NEAR(page().view().blend(), 0.3, 1e-9);
}

/// Its answer comes when there is nothing left that it is of.
TEST_F(CompareTest, WhatIsOnItsWayIsDroppedWithTheSidesItIsOf)
{
    open(kZeroBubble);
    window.run(CommandId::pinBaseline);
    settle();
    window.showCompare();
    window.run(CommandId::showCompare); // and back
    window.session().edit(
        makeEdit(window.session().document(), window.session().scenario(), Control::tp, 1, LayoutRule::keepGpus));
    window.run(CommandId::forgetBaseline);
    settle();
    EXPECT_TRUE(page().csv().isEmpty());
    window.showCompare();
    settle();
    EXPECT_FALSE(page().view().comparison());
}

TEST_F(CompareTest, TheChartTellsTheMemoryThatTheTablesTell)
{
    open(k1F1B);
    for (const char* other : {"16-schedule-gpipe.json", "18-schedule-interleaved-1f1b.json", "84-eighty-layers-eight-stages.json",
                              "15-tp4-fsdp-70b.json"}) {
        ASSERT_TRUE(window.compareWith(galleryFile(other)).empty()) << other;
        settle();
        const QTableWidget& rows = page().tables().rows();
        QString told;
        for (int row = 0; row < rows.rowCount(); ++row)
            if (rows.item(row, 0)->text() == QStringLiteral("Peak memory"))
                told = rows.item(row, 3)->text();
        EXPECT_EQ(told.toStdString(), memoryChangeTexts(*page().view().comparison()).back()) << other;
    }
}

TEST_F(CompareTest, IsExportedAsAFigureFromTheWindow)
{
    open(kTiny);
    window.run(CommandId::pinBaseline);
    setTp(1);
    window.showCompare();
    settle();
    EXPECT_TRUE(window.isEnabled(CommandId::exportFigure));
    const QTemporaryDir folder;
    for (const char* name : {"c.svg", "c.csv"})
        window.saveComparison(folder.filePath(QLatin1String(name)));
    QFile figure(folder.filePath(QStringLiteral("c.svg")));
    ASSERT_TRUE(figure.open(QIODevice::ReadOnly));
    EXPECT_TRUE(figure.readAll().contains("<svg"));
    EXPECT_TRUE(QFile::exists(folder.filePath(QStringLiteral("c.csv"))));
}

TEST_F(CompareTest, ItsFigureHasSizeColoursAndFormatToChooseFromAsOthersHave)
{
    open(kZeroBubble);
    ASSERT_TRUE(window.compareWith(galleryFile(k1F1B)).empty());
    settle();
    window.run(CommandId::exportFigure);
    auto* dialog = window.findChild<ExportDialog*>();
    ASSERT_TRUE(dialog);
    const auto boxes = dialog->findChildren<QComboBox*>();
    ASSERT_FALSE(boxes.isEmpty());
    EXPECT_EQ(boxes.front()->currentText(), QStringLiteral("Comparison"));
    EXPECT_EQ(boxes.front()->count(), 1);
    const QTemporaryDir folder;
    const auto saved = [&](const char* name) {
        dialog->save(folder.filePath(QLatin1String(name)));
        QFile file(folder.filePath(QLatin1String(name)));
        EXPECT_TRUE(file.open(QIODevice::ReadOnly)) << name;
        return file.readAll();
    };
    const QByteArray light = saved("light.svg");
    EXPECT_TRUE(light.contains("<svg"));
    const auto of = [&](const CompareView::Side& side) { return QString::fromStdString(side.name).toHtmlEscaped().toUtf8(); };
    const CompareView::Contents shown = page().view().contents();
    EXPECT_TRUE(light.contains(of(shown.a)) && light.contains(of(shown.b))) << "who is compared";
    EXPECT_TRUE(light.contains(page().headline().toHtmlEscaped().toUtf8())) << page().headline().toStdString();
    for (QComboBox* box : boxes)
        if (const int dark = box->findText(QStringLiteral("Dark")); dark >= 0)
            box->setCurrentIndex(dark);
    EXPECT_NE(saved("dark.svg"), light);
    EXPECT_GT(saved("dark.pdf").size(), 1000);
    delete dialog;
}

TEST_F(CompareTest, IsNotSavedBeforeItIsThere)
{
    open(kTiny);
    window.run(CommandId::pinBaseline);
    window.showCompare();
    settle();
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("c.csv"));
    int tried = 0;
    const auto newStep = QObject::connect(&window.desk(), &Desk::stepChanged, &window, [&] {
        if (page().isSettled())
            return;
        ++tried;
        window.saveComparison(path);
        EXPECT_FALSE(QFile::exists(path)) << "an empty table";
        EXPECT_TRUE(window.statusBar()->currentMessage().contains(QStringLiteral("still being computed")))
            << qPrintable(window.statusBar()->currentMessage());
    });
    setTp(1);
    QObject::disconnect(newStep);
    EXPECT_GT(tried, 0);
    window.saveComparison(path);
    QFile table(path);
    ASSERT_TRUE(table.open(QIODevice::ReadOnly));
    EXPECT_FALSE(table.readAll().isEmpty());
}

TEST_F(CompareTest, EscLeavesItAfterAMenuWasOpen)
{
    open(kZeroBubble);
    ASSERT_TRUE(window.compareWith(galleryFile(k1F1B)).empty());
    settle();
    window.activateWindow();
    auto* bar = window.findChild<QMenuBar*>();
    ASSERT_TRUE(bar);
    bar->setFocus();
    bar->setActiveAction(bar->actions().front());
    QMenu* menu = bar->actions().front()->menu();
    ASSERT_TRUE(waitFor([&] { return menu->isVisible(); }));
    QTest::keyClick(menu, Qt::Key_Escape);
    settle();
    ASSERT_FALSE(menu->isVisible());
    ASSERT_TRUE(window.isCompareShown());
    QWidget* const focused = window.focusWidget(); // without a window manager none is the application's
    EXPECT_NE(focused, bar) << "Esc would first have to leave it";
    QTest::keyClick(focused != nullptr ? focused : &window, Qt::Key_Escape);
    EXPECT_FALSE(window.isCompareShown());
}

} // namespace
} // namespace app
