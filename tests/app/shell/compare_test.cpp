// Comparing in the window: pinning, the Compare page, taking values over, other files, exporting.
#include "app/shell/compare/compare_page.h"

#include "app/canvas/qt/canvas_accessible.h"
#include "app/canvas/qt/canvas_widget.h"
#include "app/shell/compare/compare_tables.h"
#include "app/shell/details/details_panel.h"
#include "app/shell/presentation/presentation.h"
#include "app/shell/widgets/because_popup.h"
#include "app/shell/widgets/metric_card.h"
#include "app/shell/widgets/problem_banner.h"
#include "app/shell/widgets/scenario_header.h"
#include "app/shell/window/main_window.h"
#include "app/views/compare/memory_pair.h"
#include "tests/app/session/session_fixtures.h"

#include <QAccessible>
#include <QAccessibleActionInterface>
#include <QDropEvent>
#include <QFile>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QMimeData>
#include <QPushButton>
#include <QRegularExpression>
#include <QScrollArea>
#include <QScrollBar>
#include <QStatusBar>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <QUrl>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace app {
namespace {

using namespace test;

const char* const k1F1B = "17-schedule-1f1b.json";
const char* const kZeroBubble = "65-schedule-zb-h1.json";

class CompareTest : public testing::Test {
protected:
    CompareTest() : window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software})
    {
        window.resize(1600, 900);
        window.showGallery();
        window.show();
    }
    void open(const char* name)
    {
        ASSERT_TRUE(window.openFile(galleryFile(name)).empty());
        settle();
    }
    void settle()
    {
        ASSERT_TRUE(waitFor([this] { return window.isSettled(); }));
        for (int round = 0; round < 10; ++round) // nested layouts
            QCoreApplication::processEvents();
    }
    void setTp(int tp)
    {
        window.session().edit(
            makeEdit(window.session().document(), window.session().scenario(), Control::tp, tp, LayoutRule::keepGpus));
        settle();
    }
    QString stepDelta()
    {
        for (const MetricCard* card : window.details().findChildren<MetricCard*>())
            if (card->accessibleName() == QStringLiteral("Step time"))
                return card->deltaText();
        return {};
    }
    void drop(const char* name, Qt::KeyboardModifiers modifiers)
    {
        QMimeData mime;
        mime.setUrls({QUrl::fromLocalFile(galleryFile(name))});
        QDragEnterEvent enter({10, 10}, Qt::CopyAction, &mime, Qt::LeftButton, modifiers);
        QApplication::sendEvent(&window, &enter);
        QDropEvent event(QPointF(10, 10), Qt::CopyAction, &mime, Qt::LeftButton, modifiers);
        QApplication::sendEvent(&window, &event);
        QCoreApplication::processEvents();
    }
    ComparePage& page() { return window.comparePage(); }
    bool says(const std::string& text)
    {
        const auto& nodes = page().canvas().nodes();
        return std::any_of(nodes.begin(), nodes.end(),
                           [&](const Node& node) { return node.name.find(text) != std::string::npos; });
    }

    bool statusSays(const QString& text)
    {
        const auto labels = window.statusBar()->findChildren<QLabel*>();
        return std::any_of(labels.begin(), labels.end(), [&](const QLabel* label) { return label->text().contains(text); });
    }

    MainWindow window;
};

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
    EXPECT_EQ(changes.item(0, 1)->text(), QStringLiteral("1f1b"));
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

TEST_F(CompareTest, AValueOfTheBaselineIsTakenOverAndUndone)
{
    open(kZeroBubble);
    ASSERT_TRUE(window.compareWith(galleryFile(k1F1B)).empty());
    settle();
    auto* button = qobject_cast<QToolButton*>(page().tables().changes().cellWidget(0, 3));
    ASSERT_TRUE(button);
    EXPECT_EQ(button->accessibleName(), QStringLiteral("Use A's schedule kind: 1f1b"));
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
    EXPECT_EQ(page().tables().changes().item(0, 2)->text(), QStringLiteral("1f1b"));
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

TEST_F(CompareTest, SixScenariosLieOnOneAxisAndASeventhIsRefused)
{
    open(k1F1B);
    const QStringList others{galleryFile("16-schedule-gpipe.json"), galleryFile("18-schedule-interleaved-1f1b.json"),
                             galleryFile(kZeroBubble), galleryFile("66-schedule-zb-2p.json"),
                             galleryFile("67-schedule-zb-v.json")};
    ASSERT_TRUE(window.compareWithAll(others).empty());
    settle();
    ASSERT_TRUE(page().view().showsSeveral());
    for (const char* letter : {"A: ", "B: ", "C: ", "D: ", "E: ", "F: "})
        EXPECT_TRUE(says(letter)) << letter;
    const QTableWidget& rows = page().tables().severalRows();
    EXPECT_TRUE(rows.isVisible());
    EXPECT_EQ(rows.columnCount(), 7);
    EXPECT_EQ(rows.item(0, 0)->text(), QStringLiteral("Step time"));
    EXPECT_FALSE(page().tables().rows().isVisible()) << "the table of two gives way";
    bool namesKind = false;
    for (int row = 0; row < page().tables().severalKeys().rowCount(); ++row)
        namesKind = namesKind || page().tables().severalKeys().item(row, 0)->text() == QStringLiteral("schedule kind");
    EXPECT_TRUE(namesKind);
    EXPECT_TRUE(page().csv().startsWith(QStringLiteral("name,unit,A: Pipeline schedules 1: GPipe,B: ")))
        << page().csv().left(200).toStdString();
    EXPECT_TRUE(page().headline().contains(QStringLiteral("6 scenarios"))) << page().headline().toStdString();
    EXPECT_TRUE(statusSays(QStringLiteral("step through all")));
    window.resize(1280, 720);
    settle();
    const auto labels = page().findChildren<QLabel*>();
    const auto further = std::find_if(labels.begin(), labels.end(), [](const QLabel* label) {
        return label->isVisible() && label->text().startsWith(QStringLiteral("C\u2002"));
    });
    ASSERT_NE(further, labels.end());
    for (const CompareView::Further& one : page().view().further())
        EXPECT_TRUE((*further)->text().contains(QString::fromStdString(one.side.name))) << one.side.name;
    EXPECT_GE((*further)->height(), (*further)->heightForWidth((*further)->width())) << "none is cut";

    EXPECT_FALSE(window.isEnabled(CommandId::compareWithMore));
    EXPECT_TRUE(whyNot(command(CommandId::compareWithMore), window).contains(QStringLiteral("six scenarios")));
    EXPECT_FALSE(window.compareWithAll({galleryFile(kTiny)}).empty());
    EXPECT_EQ(window.desk().lineup().entries().size(), Lineup::kMost);
    window.run(CommandId::endComparison);
    settle();
    EXPECT_FALSE(page().view().showsSeveral());
    EXPECT_TRUE(statusSays(QStringLiteral("while blending")));
    EXPECT_TRUE(page().tables().rows().isVisible());
    window.run(CommandId::forgetBaseline);
    EXPECT_FALSE(window.isEnabled(CommandId::endComparison));
}

TEST_F(CompareTest, NothingIsComparedTwice)
{
    open(kTiny);
    window.run(CommandId::pinBaseline);
    settle();
    window.run(CommandId::keepInComparison);
    EXPECT_TRUE(window.desk().lineup().entries().empty()) << "it is the baseline";
    setTp(1);
    window.showCompare();
    window.run(CommandId::keepInComparison);
    settle();
    EXPECT_EQ(window.desk().lineup().entries().size(), 1U);
    EXPECT_TRUE(window.statusBar()->currentMessage().startsWith(QStringLiteral("Kept as C, as it is now")))
        << window.statusBar()->currentMessage().toStdString();
    window.run(CommandId::keepInComparison);
    EXPECT_EQ(window.desk().lineup().entries().size(), 1U);
    EXPECT_TRUE(window.statusBar()->currentMessage().contains(QStringLiteral("as C")));
}

TEST_F(CompareTest, AScheduleIsComparedOnceUnderItsTitle)
{
    open(k1F1B);
    const QString told = window.compareWithSchedule(QStringLiteral("zb-h1"));
    settle();
    ASSERT_EQ(window.desk().lineup().entries().size(), 1U);
    EXPECT_FALSE(window.desk().lineup().entries().front().name.contains(QStringLiteral("zb-h1"))) << told.toStdString();
    EXPECT_TRUE(window.compareWithSchedule(QStringLiteral("zb-h1")).endsWith(QStringLiteral("is compared already, as C")));
    EXPECT_EQ(window.desk().lineup().entries().size(), 1U);
    EXPECT_TRUE(window.compareWithSchedule(QStringLiteral("1f1b")).endsWith(QStringLiteral("is compared already, as A")));
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

TEST_F(CompareTest, APartOfASideHasOneRowWhateverItIsComparedWith)
{
    open(k1F1B);
    ASSERT_TRUE(
        window.compareWithAll({galleryFile("16-schedule-gpipe.json"), galleryFile("05-dp2-tp4-pp2-sixteen-gpus.json")}).empty());
    settle();
    ASSERT_TRUE(page().view().showsSeveral());
    const QTableWidget& rows = page().tables().severalRows();
    QStringList names;
    for (int row = 0; row < rows.rowCount(); ++row)
        names << rows.item(row, 0)->text().trimmed().toLower();
    const auto ofData = names.filter(QRegularExpression(QStringLiteral("^(dp|embedding|embedding / dp) exposed$"))).size();
    EXPECT_EQ(ofData, 1) << "counted twice, the parts are more than the step: " << names.join(u'|').toStdString();
}

TEST_F(CompareTest, OnlyWhatReadsOtherwiseIsColoured)
{
    open(kTiny);
    window.run(CommandId::pinBaseline);
    setTp(1);
    window.run(CommandId::keepInComparison);
    setTp(4);
    window.showCompare();
    settle();
    const QTableWidget& rows = page().tables().severalRows();
    ASSERT_GT(rows.rowCount(), 3);
    int alike = 0, coloured = 0;
    for (int row = 0; row < rows.rowCount(); ++row)
        for (int column = 2; column < rows.columnCount(); ++column)
            if (rows.item(row, column)->text() != rows.item(row, 1)->text()) {
                coloured += rows.item(row, column)->foreground() != rows.item(row, 1)->foreground() ? 1 : 0;
            } else {
                ++alike;
                EXPECT_EQ(rows.item(row, column)->foreground(), rows.item(row, 1)->foreground())
                    << rows.item(row, 0)->text().toStdString();
            }
    EXPECT_GT(alike, 0) << "else nothing was looked at";
    EXPECT_GT(coloured, 0);
}

TEST_F(CompareTest, WhatIsComparedAlreadyIsCalledAsThePageCallsIt)
{
    open(kTiny);
    window.run(CommandId::pinBaseline);
    window.run(CommandId::keepInComparison);
    EXPECT_TRUE(window.statusBar()->currentMessage().contains(QStringLiteral("as A:")));
    window.showCompare();
    settle();
    window.run(CommandId::swapSides);
    settle();
    window.run(CommandId::keepInComparison);
    EXPECT_TRUE(window.statusBar()->currentMessage().contains(QStringLiteral("as B:")))
        << qPrintable(window.statusBar()->currentMessage());
}

TEST_F(CompareTest, WhatIsKeptStaysAsItWasWhileTheScenarioGoesOn)
{
    open(kTiny);
    window.run(CommandId::pinBaseline);
    setTp(1);
    window.run(CommandId::keepInComparison);
    settle();
    ASSERT_EQ(window.desk().lineup().entries().size(), 1U);
    setTp(4);
    window.showCompare();
    settle();
    ASSERT_TRUE(page().view().showsSeveral());
    EXPECT_EQ(page().view().further()[0].side.simulation->scenario().layout.tp, 1);
    EXPECT_EQ(window.desk().simulation()->scenario().layout.tp, 4);
    page().swapSides();
    settle();
    EXPECT_TRUE(page().view().showsSeveral()) << "the other way round, too";
}

TEST_F(CompareTest, NamesAndHeadsStayWhereNumbersScroll)
{
    open(k1F1B);
    ASSERT_TRUE(window
                    .compareWithAll({galleryFile("16-schedule-gpipe.json"), galleryFile("41-llama3-405b-8192-gpus.json"),
                                     galleryFile(kZeroBubble), galleryFile("66-schedule-zb-2p.json"),
                                     galleryFile("54-deepseek-v3-2048-h800.json")})
                    .empty());
    settle();
    const CompareTables& tables = page().tables();
    QTableWidget &head = tables.severalHead(), &rows = tables.severalRows(), &keys = tables.severalKeys();
    window.setMinimumSize(512, 320);
    for (const QSize size : {QSize(1280, 720), QSize(640, 360)}) { // the second is the first at text of 200 %
        window.resize(size);
        settle();
        QScrollBar &across = tables.severalAcross(), &down = *tables.pane().verticalScrollBar();
        ASSERT_GT(across.maximum(), 0) << size.width();
        ASSERT_GT(down.maximum(), 0) << size.width();
        EXPECT_TRUE(across.isVisible());
        const auto placeOf = [&](const QWidget* of) { return of->mapTo(&tables, QPoint()); };
        const QPoint ofHead = placeOf(&head), ofNames(placeOf(rows.verticalHeader()).x(), 0);
        for (const int value : {across.maximum(), 0}) {
            across.setValue(value);
            down.setValue(down.maximum());
            EXPECT_EQ(placeOf(&head), ofHead);
            EXPECT_TRUE(head.isVisible());
            EXPECT_LE(placeOf(&head).y() + head.height(), placeOf(&tables.pane()).y());
            for (const QTableWidget* below : {&rows, &keys}) {
                EXPECT_EQ(placeOf(below->verticalHeader()).x(), ofNames.x());
                for (int column = 1; column < head.columnCount(); ++column)
                    EXPECT_EQ(placeOf(below->viewport()).x() + below->columnViewportPosition(column),
                              placeOf(head.viewport()).x() + head.columnViewportPosition(column))
                        << column;
            }
        }
        EXPECT_EQ(rows.verticalHeaderItem(0)->text(), QStringLiteral("Step time"));
        EXPECT_TRUE(rows.isColumnHidden(0)) << "it would scroll away";
        EXPECT_GT(rows.viewport()->width(), rows.columnWidth(1)) << "names leave room for numbers";
    }
}

TEST_F(CompareTest, ACopyOfAIsLeftOutUntilSomethingIsChanged)
{
    open(k1F1B);
    window.compareWithSchedule(QStringLiteral("zb-h1")); // pins the scenario as it is
    window.showCompare();
    settle();
    ASSERT_TRUE(page().view().showsSeveral());
    const QTableWidget& rows = page().tables().severalRows();
    const auto letters = [&] {
        QString out;
        for (int column = 1; column < rows.columnCount(); ++column)
            out += page().tables().severalHead().horizontalHeaderItem(column)->text();
        return out;
    };
    EXPECT_EQ(letters(), QStringLiteral("AC"));
    const auto hasTimeline = [&](const std::string& letter) {
        const auto& nodes = page().canvas().nodes();
        return std::any_of(nodes.begin(), nodes.end(),
                           [&](const Node& node) { return node.role == "caption" && node.name.starts_with(letter + ": "); });
    };
    EXPECT_FALSE(hasTimeline("B"));
    EXPECT_TRUE(hasTimeline("C"));
    EXPECT_TRUE(says("C, ")) << "its bar has its letter";
    EXPECT_TRUE(page().csv().section(QLatin1Char('\n'), 0, 0).contains(QStringLiteral(",C: ")));
    EXPECT_FALSE(page().csv().section(QLatin1Char('\n'), 0, 0).contains(QStringLiteral("B: ")));
    EXPECT_TRUE(page().headline().startsWith(QStringLiteral("2 scenarios"))) << page().headline().toStdString();
    const auto labels = page().findChildren<QLabel*>();
    EXPECT_TRUE(std::any_of(labels.begin(), labels.end(), [](const QLabel* label) {
        return label->isVisible() && label->text().startsWith(QStringLiteral("B is what A is"));
    }));
    window.session().edit(makeKeyEdit("/training/global_batch_size", "64", "global batch", "", "64"));
    settle();
    EXPECT_EQ(letters(), QStringLiteral("ABC"));
    EXPECT_TRUE(hasTimeline("B"));
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

TEST_F(CompareTest, ThePresentationShowsWhatIsCompared)
{
    open(k1F1B);
    ASSERT_TRUE(window.compareWithAll({galleryFile("16-schedule-gpipe.json"), galleryFile(kZeroBubble)}).empty());
    settle();
    window.run(CommandId::present);
    Presentation* presentation = window.presentation();
    ASSERT_TRUE(presentation);
    presentation->showNormal();
    presentation->resize(1280, 720);
    settle();
    const auto press = [&](Qt::Key key) {
        QTest::keyClick(presentation, key);
        settle();
    };
    const auto rolesOf = [&](const char* role) {
        QStringList out;
        for (const CanvasWidget* canvas : presentation->canvases())
            for (const Node& node : canvas->nodes())
                if (node.role == role)
                    out << QString::fromStdString(node.name.substr(0, 1));
        return out.join(QString());
    };
    EXPECT_EQ(rolesOf("bar"), QStringLiteral("ABC"));
    EXPECT_TRUE(presentation->caption().contains(QStringLiteral("C Pipeline schedules 6: ZB-H1")));
    press(Qt::Key_PageDown);
    EXPECT_EQ(rolesOf("caption"), QStringLiteral("AB"));
    EXPECT_TRUE(presentation->caption().startsWith(QStringLiteral("B takes as long as A.")))
        << presentation->caption().toStdString();
    press(Qt::Key_Space);
    EXPECT_EQ(rolesOf("caption"), QStringLiteral("AC"));
    EXPECT_TRUE(
        presentation->caption().startsWith(QStringLiteral("C takes 114 ms less than A, −14.8 %, most of it bubble: −113 ms.")))
        << presentation->caption().toStdString();
    press(Qt::Key_Right);
    EXPECT_EQ(presentation->place(), 2) << "it is the last";
    press(Qt::Key_2);
    EXPECT_EQ(rolesOf("caption"), QString()) << "a digit shows the scenario's picture";
    press(Qt::Key_2);
    EXPECT_EQ(rolesOf("caption"), QStringLiteral("AC"));
    press(Qt::Key_B);
    EXPECT_TRUE(presentation->isBlack());
    press(Qt::Key_Left);
    EXPECT_FALSE(presentation->isBlack());
    press(Qt::Key_Escape);
    ASSERT_TRUE(waitFor([this] { return window.presentation() == nullptr; }));
    EXPECT_TRUE(window.isCompareShown());
    EXPECT_FALSE(page().view().isForAudience());

    window.run(CommandId::endComparison); // of two: causes, then both timelines
    settle();
    window.run(CommandId::present);
    presentation = window.presentation();
    presentation->showNormal();
    presentation->resize(1280, 720);
    settle();
    EXPECT_TRUE(rolesOf("caption").isEmpty());
    press(Qt::Key_PageDown);
    EXPECT_EQ(rolesOf("caption"), QStringLiteral("AB"));
}

} // namespace
} // namespace app
