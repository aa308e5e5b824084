// The table of ops beside the pictures: it follows the selection, says what is wrong with a query, and keeps out of the way.
#include "app/shell/ops/ops_panel.h"

#include "app/shell/widgets/scenario_header.h"
#include "app/step/op_selection.h"
#include "app/views/timeline/timeline_view.h"
#include "tests/app/shell/window_fixture.h"

#include <QAbstractItemView>
#include <QAction>
#include <QClipboard>
#include <QComboBox>
#include <QCompleter>
#include <QGuiApplication>
#include <QLineEdit>
#include <QTableView>
#include <QToolButton>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace app {
namespace {

using namespace test;

class OpsWindow : public WindowTest {
protected:
    void SetUp() override
    {
        open("05-dp2-tp4-pp2-sixteen-gpus.json");
        window.run(CommandId::showOps);
        settle();
    }
    OpsPanel& panel() { return window.ops(); }
    QAbstractItemModel& model() { return *panel().view().model(); }
    QString cell(int row, OpColumn column) { return model().index(row, static_cast<int>(column)).data().toString(); }
    sim::OpTable expected(sim::OpGrouping grouping)
    {
        const ShownStep& step = window.desk().step();
        return sim::opTable(*step.trace, grouping, opSelection(step.simulation.get(), *step.trace, window.desk().selection()));
    }
};

TEST_F(OpsWindow, ShowsWhatTheSelectionHolds)
{
    EXPECT_TRUE(panel().isVisible());
    EXPECT_TRUE(panel().summary().contains(QStringLiteral("passes of 16 ranks"))) << panel().summary().toStdString();
    window.run(CommandId::showKernels);
    settle();
    EXPECT_EQ(model().rowCount(), static_cast<int>(expected(sim::OpGrouping::name).groups.size()));
    EXPECT_TRUE(panel().summary().contains(QStringLiteral("ops of 16 ranks"))) << panel().summary().toStdString();
    EXPECT_EQ(cell(0, OpColumn::name), QStringLiteral("mlp.up.wgrad")) << "the most time first";

    Selection selection = window.desk().selection();
    selection.selectRanks({0, 8}, 0);
    selection.range = TimeRange{0, window.desk().step().trace->endNs / 4};
    window.desk().setSelection(selection);
    settle();
    const sim::OpTable narrowed = expected(sim::OpGrouping::name);
    EXPECT_EQ(narrowed.ranks, 2);
    EXPECT_TRUE(panel().summary().contains(QStringLiteral("ops of 2 ranks in the selected"))) << panel().summary().toStdString();
    EXPECT_EQ(cell(0, OpColumn::count),
              QString::fromStdString(opCell(narrowed, narrowed.groups[0], OpColumn::count, opUnits(narrowed))));
    EXPECT_EQ(panel().shownTable().rows, tableOf(narrowed).rows);
}

/// At text of 200 % on a small screen it lies behind the form, which is narrow.
TEST_F(OpsWindow, IsAsNarrowAsTheFormAndCutsNoButton)
{
    OpsPanel narrow;
    narrow.follow(window.desk());
    narrow.setMinimumWidth(kNarrowestDock);
    narrow.resize(kNarrowestDock, 240);
    narrow.setVisible(true);
    settle();
    EXPECT_EQ(narrow.width(), kNarrowestDock);
    for (const QToolButton* button : narrow.findChildren<QToolButton*>())
        if (button->isVisible()) {
            EXPECT_TRUE(narrow.rect().contains(QRect(button->mapTo(&narrow, QPoint(0, 0)), button->size())))
                << button->accessibleName().toStdString();
            EXPECT_GE(button->width(), button->minimumSizeHint().width()) << button->accessibleName().toStdString();
        }
}

TEST_F(OpsWindow, TakesKindsOfCollectivesAndPassesAsTheTimelineWritesThem)
{
    const auto names = [this] {
        QStringList out;
        for (int row = 0; row < model().rowCount(); ++row)
            out << cell(row, OpColumn::name);
        return out;
    };
    panel().setQuery(QStringLiteral("1F"));
    settle();
    EXPECT_EQ(names().size(), 1) << "passes of a stage: " << names().join(QLatin1Char('|')).toStdString();
    panel().setQuery(QStringLiteral("3B"));
    settle();
    EXPECT_EQ(panel().failure(), QStringLiteral("There is no stage 3: they are 0 to 1."));
    panel().setQuery(QStringLiteral("mlp.up"));
    settle();
    EXPECT_TRUE(panel().failure().contains(QStringLiteral("show them first"))) << panel().failure().toStdString();
    window.run(CommandId::showKernels);
    panel().setQuery(QStringLiteral("reduce-scatter"));
    settle();
    EXPECT_TRUE(names().contains(QStringLiteral("mlp.reduce"))) << names().join(QLatin1Char('|')).toStdString();
    EXPECT_FALSE(names().contains(QStringLiteral("mlp.gather")));
    panel().setQuery(QStringLiteral("B0"));
    settle();
    EXPECT_TRUE(names().contains(QStringLiteral("mlp.up.dgrad"))) << names().join(QLatin1Char('|')).toStdString();
    EXPECT_FALSE(names().contains(QStringLiteral("mlp.up")));
    auto* field = panel().findChild<QLineEdit*>();
    ASSERT_TRUE(field);
    EXPECT_TRUE(field->toolTip().contains(QStringLiteral("reduce-scatter")));
    EXPECT_TRUE(field->toolTip().contains(QStringLiteral("0F3")));
}

TEST_F(OpsWindow, CompletesTheWordAtTheCursor)
{
    auto* field = panel().findChild<QLineEdit*>();
    auto* words = panel().findChild<QCompleter*>();
    ASSERT_TRUE(field && words);
    const auto type = [&](const QString& text) {
        field->setFocus();
        for (const QChar letter : text)
            QTest::keyClick(words->popup()->isVisible() ? static_cast<QWidget*>(words->popup()) : field, letter.toLatin1());
    };
    type(QStringLiteral("all"));
    ASSERT_TRUE(words->popup()->isVisible());
    EXPECT_EQ(words->completionCount(), 3) << "all-reduce, all-gather, all-to-all";
    type(QStringLiteral("-re"));
    QTest::keyClick(words->popup(), Qt::Key_Down);
    EXPECT_EQ(field->text(), QStringLiteral("all-re")) << "until it is chosen";
    QTest::keyClick(words->popup(), Qt::Key_Return);
    EXPECT_EQ(field->text(), QStringLiteral("all-reduce"));
    EXPECT_FALSE(words->popup()->isVisible());

    field->clear();
    type(QStringLiteral("bytes > 0 and dur"));
    ASSERT_TRUE(words->popup()->isVisible()) << "of the last word";
    QTest::keyClick(words->popup(), Qt::Key_Down);
    QTest::keyClick(words->popup(), Qt::Key_Return);
    EXPECT_EQ(field->text(), QStringLiteral("bytes > 0 and duration_us"));

    field->setText(QStringLiteral("st < 2"));
    field->setCursorPosition(2);
    type(QStringLiteral("ag"));
    ASSERT_TRUE(words->popup()->isVisible());
    QTest::keyClick(words->popup(), Qt::Key_Down);
    QTest::keyClick(words->popup(), Qt::Key_Return);
    EXPECT_EQ(field->text(), QStringLiteral("stage < 2")) << "what stands behind it stays";
    EXPECT_EQ(field->cursorPosition(), 5);

    field->clear();
    type(QStringLiteral("name == \"all"));
    EXPECT_FALSE(words->popup()->isVisible()) << "a name may be any";
    field->clear();
    type(QStringLiteral("send"));
    EXPECT_FALSE(words->popup()->isVisible()) << "it stands there already";
    type(QStringLiteral(" "));
    EXPECT_FALSE(words->popup()->isVisible()) << "no word is begun";
}

TEST_F(OpsWindow, GroupsByRankClassAndStage)
{
    for (const sim::OpGrouping grouping : sim::kOpGroupings) {
        panel().setGrouping(grouping);
        settle();
        EXPECT_EQ(panel().shownTable().rows, tableOf(expected(grouping)).rows) << sim::opGroupingName(grouping);
    }
}

/// As the legends of the pictures call them.
TEST_F(OpsWindow, CallsNothingDataParallelWhereNothingIs)
{
    open("17-schedule-1f1b.json"); // four stages of one replica, with a shared embedding
    window.run(CommandId::showKernels);
    panel().setGrouping(sim::OpGrouping::opClass);
    settle();
    QStringList names, tips;
    for (int row = 0; row < model().rowCount(); ++row) {
        names << cell(row, OpColumn::name);
        tips << model().index(row, static_cast<int>(OpColumn::name)).data(Qt::ToolTipRole).toString();
    }
    EXPECT_TRUE(names.contains(QStringLiteral("embedding comm"))) << names.join(QLatin1Char('|')).toStdString();
    for (const QString& text : names + tips)
        EXPECT_FALSE(text.contains(QStringLiteral("dp comm"))) << text.toStdString();
    std::vector<std::string> copied;
    for (const auto& row : panel().shownTable().rows)
        copied.push_back(row[0]);
    EXPECT_NE(std::find(copied.begin(), copied.end(), "embedding comm"), copied.end());
}

TEST_F(OpsWindow, SortsByNumbersAndCopiesWhatIsSelected)
{
    panel().setGrouping(sim::OpGrouping::opClass);
    settle();
    ASSERT_GE(model().rowCount(), 3);
    const auto column = static_cast<int>(OpColumn::total);
    panel().view().sortByColumn(column, Qt::AscendingOrder);
    for (int row = 1; row < model().rowCount(); ++row)
        EXPECT_GE(model().index(row, column).data(OpTableModel::kSortRole).toDouble(),
                  model().index(row - 1, column).data(OpTableModel::kSortRole).toDouble());
    panel().view().selectRow(0);
    ASSERT_EQ(panel().shownTable().rows.size(), 1U);
    EXPECT_EQ(panel().shownTable().rows[0][0], cell(0, OpColumn::name).toStdString());
    QTest::keyClick(&panel().view(), Qt::Key_C, Qt::ControlModifier);
    EXPECT_EQ(QGuiApplication::clipboard()->text().toStdString(), tabbedText(panel().shownTable()));
}

TEST_F(OpsWindow, AQueryNarrowsItAndOfABadOneTheErrorIsShownAndNoRows)
{
    window.run(CommandId::showKernels);
    settle();
    const int all = model().rowCount();
    panel().setQuery(QStringLiteral("attn.qkv"));
    settle();
    EXPECT_EQ(model().rowCount(), 3); // forward, input and weight gradient
    panel().setQuery(QStringLiteral("duration > 5"));
    settle();
    EXPECT_TRUE(panel().failure().contains(QStringLiteral("nearest: \"duration_us\""))) << panel().failure().toStdString();
    EXPECT_EQ(model().rowCount(), 0) << "they would be read as what it asked for";
    EXPECT_EQ(panel().summary(), QString());
    panel().setQuery(QStringLiteral("name > 5")); // found out on the way
    settle();
    EXPECT_TRUE(panel().failure().contains(QStringLiteral("only numbers have an order"))) << panel().failure().toStdString();
    EXPECT_EQ(model().rowCount(), 0);
    panel().setQuery(QStringLiteral("comm and duration_us > 300"));
    settle();
    EXPECT_EQ(panel().failure(), QString());
    EXPECT_GT(model().rowCount(), 0);
    EXPECT_LT(model().rowCount(), all);
}

TEST_F(OpsWindow, ItsExamplesFindSomethingInWhatIsShownNow)
{
    auto* query = panel().findChild<QLineEdit*>();
    for (const CommandId next : {CommandId::showOps, CommandId::showKernels}) {
        if (next == CommandId::showKernels)
            window.run(next);
        settle();
        const QStringList examples = query->placeholderText().split(QStringLiteral(", or "));
        ASSERT_EQ(examples.size(), 2) << query->placeholderText().toStdString();
        for (const QString& example : examples) {
            panel().setQuery(example);
            settle();
            EXPECT_GT(model().rowCount(), 0) << example.toStdString() << ": " << panel().failure().toStdString();
        }
        panel().setQuery({});
    }
}

TEST_F(OpsWindow, HasRoomForAQueryItsCountAndAllColumns)
{
    window.run(CommandId::showKernels);
    window.resize(1280, 800);
    settle();
    EXPECT_GE(panel().findChild<QLineEdit*>()->width(), 200);
    const auto* summary = panel().findChild<ElidedLabel*>();
    EXPECT_GE(summary->width(), summary->fontMetrics().horizontalAdvance(panel().summary())) << "the count is whole";
    const QTableView& view = panel().view();
    const auto rate = static_cast<int>(OpColumn::flopRate);
    EXPECT_LE(view.columnViewportPosition(rate) + view.columnWidth(rate), view.viewport()->width()) << "and nothing falls off";
}

TEST_F(OpsWindow, GoesToTheLongest)
{
    window.run(CommandId::showKernels);
    settle();
    const sim::OpTable table = expected(sim::OpGrouping::name);
    Q_EMIT panel().view().activated(model().index(2, 0));
    const std::optional<SpanRef> selected = window.desk().selection().selectedSpan;
    ASSERT_TRUE(selected);
    const sim::Track& track = window.desk().step().trace->tracks[selected->track];
    EXPECT_EQ(window.desk().step().trace->kinds[track.kind[selected->span]].name, table.groups[2].name);
    EXPECT_EQ(track.durationNs[selected->span], table.groups[2].longestNs);
}

TEST_F(OpsWindow, OffersKernelsWhereItKnowsPassesAlone)
{
    const auto buttons = panel().findChildren<QToolButton*>();
    const auto found = std::find_if(buttons.begin(), buttons.end(),
                                    [](const QToolButton* b) { return b->text() == QStringLiteral("Show kernels"); });
    ASSERT_NE(found, buttons.end());
    EXPECT_TRUE((*found)->isVisible());
    (*found)->click();
    settle();
    EXPECT_TRUE(window.desk().wantsKernels());
    EXPECT_FALSE((*found)->isVisible());
}

TEST_F(OpsWindow, StaysInASmallWindowAndGoesWithResetAndAgainWithItsKey)
{
    window.resize(1024, 640);
    settle();
    EXPECT_EQ(window.size(), QSize(1024, 640));
    const QRect within(panel().mapTo(&window, QPoint()), panel().size());
    EXPECT_TRUE(window.rect().contains(within))
        << within.x() << " " << within.y() << " " << within.width() << " " << within.height();
    EXPECT_GE(panel().view().height(), 40);
    window.run(CommandId::resetLayout);
    EXPECT_FALSE(panel().isVisible());
    window.run(CommandId::showOps);
    EXPECT_TRUE(panel().isVisible());
    settle();
    window.run(CommandId::showOps);
    EXPECT_FALSE(panel().isVisible()) << "it had the focus";
    window.run(CommandId::showOps);
    window.showGallery();
    EXPECT_FALSE(panel().isVisible());
}

} // namespace
} // namespace app
