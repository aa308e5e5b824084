// Comparing more than two in the window: their tables, their letters, what is compared already, the presentation.
#include "app/shell/compare/compare_page.h"

#include "app/canvas/qt/canvas_widget.h"
#include "app/shell/compare/compare_tables.h"
#include "app/shell/presentation/presentation.h"
#include "tests/app/shell/compare_fixture.h"

#include <QHeaderView>
#include <QLabel>
#include <QRegularExpression>
#include <QScrollArea>
#include <QScrollBar>
#include <QStatusBar>
#include <QTableWidget>
#include <QTest>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace app {
namespace {

using namespace test;

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

TEST_F(CompareTest, ABaselineThatNobodyPinnedIsNotAskedAboutBesideAnotherScenario)
{
    open(k1F1B);
    window.compareWithSchedule(QStringLiteral("zb-h1"));
    settle();
    ASSERT_TRUE(window.desk().baseline().isPinned());
    open(kTiny);
    EXPECT_FALSE(window.desk().baseline().isPinned());
    EXPECT_FALSE(window.statusBar()->currentMessage().contains(QStringLiteral("belonged to another scenario")))
        << window.statusBar()->currentMessage().toStdString();
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
        presentation->caption().startsWith(QStringLiteral("C takes 113 ms less than A, −14.7 %, most of it bubble: −113 ms.")))
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
