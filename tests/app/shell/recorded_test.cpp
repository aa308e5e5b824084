// A recorded run in the window: opened, looked at, asked, corrected, predicted, and what if from it.
#include "app/session/trace_file.h"
#include "app/shell/dialogs/export_dialog.h"
#include "app/shell/findings/finding_row.h"
#include "app/shell/findings/findings_panel.h"
#include "app/shell/recorded/predict_dialog.h"
#include "app/shell/recorded/recorded_facts.h"
#include "app/shell/recorded/recorded_panel.h"
#include "app/shell/recorded/recorded_simulated.h"
#include "app/shell/recorded/recorded_tables.h"
#include "app/shell/recorded/recorded_tabs.h"
#include "app/shell/recorded/recorded_words.h"
#include "app/shell/widgets/metric_card.h"
#include "app/shell/widgets/problem_banner.h"
#include "app/shell/window/transport_bar.h"
#include "sim/calibration/calibrate.h"
#include "sim/index.h"
#include "sim/scenario/document.h"
#include "tests/app/shell/cut_labels.h"
#include "tests/app/shell/pressed_groove.h"
#include "tests/app/shell/slow_run_fixture.h"

#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QDir>
#include <QDropEvent>
#include <QFile>
#include <QLabel>
#include <QMimeData>
#include <QProgressBar>
#include <QPushButton>
#include <QSlider>
#include <QSpinBox>
#include <QStatusBar>
#include <QStyle>
#include <QStyleOptionComboBox>
#include <QTemporaryDir>
#include <QToolButton>
#include <QUrl>
#include <QWheelEvent>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace app {
namespace {

using namespace test;

class RecordedTest : public SlowRunTest {
protected:
    RecordedPanel& panel() { return window.recorded(); }
    void openRun(const QString& what)
    {
        ASSERT_TRUE(window.openFile(what).empty());
        ASSERT_TRUE(window.isRecordedShown());
        settle();
    }
    std::size_t finding(const char* kind)
    {
        const auto& findings = panel().run()->run()->answers.findings;
        const auto found = std::find_if(findings.begin(), findings.end(), [&](const auto& f) { return f.kind == kind; });
        EXPECT_NE(found, findings.end()) << kind;
        return static_cast<std::size_t>(found - findings.begin());
    }
};

TEST_F(RecordedTest, AFileIsReadItsStepDrawnAndWhatWasFoundIsShownWhereItIs)
{
    openRun(path);
    EXPECT_THAT(panel().headline().toStdString(),
                testing::StartsWith("8 of 8 ranks  ·  tp 2  ·  dp 2  ·  pp 2  ·  1 step  ·  Rankscope"));
    ASSERT_TRUE(panel().run()->picture());
    EXPECT_THAT(panel().findingsText().toStdString(), testing::HasSubstr("Rank 5 keeps the others waiting"));
    EXPECT_EQ(panel().table(RecordedTab::ranks).rowCount(), 8);
    panel().setTab(RecordedTab::ranks);
    EXPECT_EQ(panel().shownTable().header.front(), "Rank");
    ASSERT_EQ(panel().shownTable().rows.size(), 8U);
    EXPECT_EQ(panel().shownTable().rows[5].front(), "rank 5");
    EXPECT_EQ(panel().shownTable().rows[5].back(), "79 of 99");
    EXPECT_TRUE(window.isEnabled(CommandId::exportFigure) && window.isEnabled(CommandId::exportTable));
    // What is of a scenario says so, whoever presses its key or points at it.
    for (const auto& [id, key, modifier] : {std::tuple{CommandId::present, Qt::Key_F9, Qt::NoModifier},
                                            {CommandId::stepThrough, Qt::Key_T, Qt::ControlModifier},
                                            {CommandId::showOps, Qt::Key_0, Qt::AltModifier}}) {
        EXPECT_FALSE(window.isEnabled(id));
        const QString why = whyNot(command(id), window);
        EXPECT_THAT(why.toStdString(), testing::HasSubstr("recorded"));
        const auto actions = window.actions();
        EXPECT_TRUE(std::any_of(actions.begin(), actions.end(), [&](const QAction* a) { return a->toolTip().endsWith(why); }));
        QTest::keyClick(&panel().timelineCanvas(), key, modifier);
        EXPECT_TRUE(window.statusBar()->currentMessage().endsWith(why)) << window.statusBar()->currentMessage().toStdString();
    }
    EXPECT_EQ(window.windowTitle(), QStringLiteral("run.json – Recorded Run – Rankscope"));
    EXPECT_THAT(panel().facts().text().toStdString(), testing::HasSubstr("tp 2, ranks 1 apart\t100 % sure"));
    EXPECT_THAT(panel().facts().text().toStdString(), testing::HasSubstr("Schedule 1f1b, 2 stages, 4 micro-batches"));
    std::string drawn;
    for (const Node& node : panel().gridCanvas().nodes())
        drawn += node.name + "\n";
    EXPECT_THAT(drawn, testing::HasSubstr("rank 5"));
    EXPECT_THAT(drawn, testing::HasSubstr("of the step"));

    panel().showFinding(finding("late-rank"));
    settle();
    EXPECT_EQ(panel().selection().ranks, std::vector<int>{5});
    ASSERT_TRUE(panel().selection().range);
    EXPECT_LT(panel().selection().range->endNs - panel().selection().range->beginNs,
              panel().run()->picture()->timeUse->endNs / 2);
    EXPECT_EQ(panel().grid().lens(), GridLens::straggler);
    const TimeRange seen = panel().timelines().visibleRange();
    EXPECT_LE(seen.beginNs, panel().selection().range->beginNs);
    EXPECT_GE(seen.endNs, panel().selection().range->endNs);
    EXPECT_LT(seen.endNs - seen.beginNs, panel().run()->picture()->timeUse->endNs);

    panel().table(RecordedTab::ranks).selectRow(3);
    EXPECT_EQ(panel().selection().selectedRank, 3);
    panel().setRows(RecordedRows::streams);
    settle();
    drawn.clear();
    for (const Node& node : panel().timelineCanvas().nodes())
        drawn += node.name + "\n";
    EXPECT_THAT(drawn, testing::HasSubstr("rank 3"));
    panel().setRows(RecordedRows::hostThreads);
    settle();
    EXPECT_TRUE(panel().run()->picture()->hostThreads);
}

TEST_F(RecordedTest, AWaitThatIsWalkedToIsToldInWords)
{
    openRun(path);
    panel().table(RecordedTab::ranks).selectRow(3);
    settle();
    QTest::keyClick(&panel().timelineCanvas(), Qt::Key_G);
    settle();
    ASSERT_TRUE(panel().selection().idle);
    EXPECT_EQ(panel().selection().idle->rank, 3);
    const auto told = [&] {
        for (const QLabel* label : panel().findChildren<QLabel*>())
            if (label->isVisible() && label->text().startsWith(QStringLiteral("Rank 3: ")))
                return label->text();
        return QString();
    };
    EXPECT_TRUE(told().contains(QStringLiteral("waits for"))) << told().toStdString();
    QTest::keyClick(&panel().timelineCanvas(), Qt::Key_Escape);
    settle();
    EXPECT_TRUE(told().isEmpty()) << told().toStdString();
}

TEST_F(RecordedTest, EscForgetsTheSelectionAndThenGoesBackAsCloseDoes)
{
    open(kTiny);
    openRun(path);
    panel().table(RecordedTab::ranks).selectRow(3);
    settle();
    QTest::keyClick(&panel().timelineCanvas(), Qt::Key_Escape);
    EXPECT_TRUE(window.isRecordedShown());
    EXPECT_TRUE(panel().selection().ranks.empty());
    QTest::keyClick(&panel().timelineCanvas(), Qt::Key_Escape);
    EXPECT_FALSE(window.isRecordedShown());
    EXPECT_TRUE(window.workspace().isVisible());

    // One that cannot be read has a way back too.
    const QTemporaryDir empty;
    window.openTraces({empty.path()});
    settle();
    ASSERT_TRUE(window.isRecordedShown());
    ASSERT_FALSE(panel().problem().isEmpty());
    for (QToolButton* button : panel().findChildren<QToolButton*>())
        if (button->text() == QStringLiteral("Close"))
            button->click();
    EXPECT_FALSE(window.isRecordedShown());
    EXPECT_TRUE(window.workspace().isVisible());
}

TEST_F(RecordedTest, EscTakesTheTimeCursorBackBeforeItLeaves)
{
    open(kTiny);
    openRun(path);
    panel().transport().slider()->setValue(panel().transport().slider()->maximum() / 2);
    settle();
    ASSERT_GT(panel().selection().cursorNs, 0);
    QTest::keyClick(&panel().timelineCanvas(), Qt::Key_Escape);
    EXPECT_TRUE(window.isRecordedShown());
    EXPECT_EQ(panel().selection().cursorNs, 0);
    QTest::keyClick(&panel().timelineCanvas(), Qt::Key_Escape);
    EXPECT_FALSE(window.isRecordedShown());
}

TEST_F(RecordedTest, TimelinesFollowTheTimeCursorThatIsDraggedOrPlayed)
{
    openRun(path);
    const auto endNs = static_cast<double>(panel().run()->picture()->timeUse->endNs);
    for (int i = 0; i < 8; ++i)
        panel().timelineCanvas().runCommand(ViewCommand::zoomIn);
    const TimeRange before = panel().timelines().visibleRange();
    ASSERT_LT(static_cast<double>(before.endNs - before.beginNs), endNs / 4);
    const auto expectInSight = [&](const char* after) {
        const TimeRange shown = panel().timelines().visibleRange();
        EXPECT_LE(shown.beginNs, panel().selection().cursorNs) << after;
        EXPECT_GE(shown.endNs, panel().selection().cursorNs) << after;
        EXPECT_NEAR(static_cast<double>(shown.endNs - shown.beginNs), static_cast<double>(before.endNs - before.beginNs), 2);
    };
    for (const double share : {0.95, 0.05}) {
        pressGroove(*panel().transport().slider(), share);
        EXPECT_NEAR(static_cast<double>(panel().selection().cursorNs) / endNs, share, 0.02);
        expectInSight("dragged");
    }
    panel().play();
    ASSERT_TRUE(waitFor([&] { return static_cast<double>(panel().selection().cursorNs) > 0.07 * endNs; }));
    panel().play();
    expectInSight("played");
}

TEST_F(RecordedTest, KernelsThatAFindingShowsAreItsRowsToo)
{
    open("02-tp8-dp2-two-nodes.json");
    openRun(path);
    const QComboBox* rows = nullptr;
    for (const QComboBox* box : panel().findChildren<QComboBox*>())
        if (box->accessibleName() == QStringLiteral("Rows of the timeline"))
            rows = box;
    ASSERT_TRUE(rows);
    EXPECT_EQ(rows->currentText(), QStringLiteral("Time use"));
    window.run(CommandId::leavePage);
    for (FindingRow* row : window.findings().findChildren<FindingRow*>())
        if (row->accessibleName().contains(QStringLiteral("exposed tp communication")))
            Q_EMIT row->showRequested();
    ASSERT_TRUE(window.desk().wantsKernels());
    EXPECT_EQ(rows->currentText(), QStringLiteral("Streams"));
    window.run(CommandId::clear); // nobody asked for the kernels themselves
    EXPECT_FALSE(window.desk().wantsKernels());
    EXPECT_EQ(rows->currentText(), QStringLiteral("Time use"));
}

TEST_F(RecordedTest, WhatNoTraceSaysIsAskedForAndAGridIsTakenFromSomebodyWhoKnowsIt)
{
    openRun(path);
    window.run(CommandId::predictRecorded);
    auto* dialog = window.findChild<PredictDialog*>();
    ASSERT_TRUE(dialog);
    auto* model = dialog->findChildren<QComboBox*>().front();
    model->setCurrentIndex(model->findData(QStringLiteral("tiny-llama")));
    dialog->findChildren<QComboBox*>().back()->setCurrentIndex(
        dialog->findChildren<QComboBox*>().back()->findData(QStringLiteral("laptop")));
    for (QSpinBox* box : dialog->findChildren<QSpinBox*>())
        if (box->accessibleName() == QStringLiteral("Tokens of a sequence"))
            box->setValue(128);
    for (QPushButton* button : dialog->findChildren<QPushButton*>())
        if (button->text() == QStringLiteral("Predict"))
            button->click();
    settle();
    ASSERT_TRUE(panel().run()->prediction()) << panel().problem().toStdString();
    EXPECT_EQ(panel().run()->prediction()->scenario.layout.pp, 2);
    EXPECT_EQ(panel().run()->prediction()->scenario.model.name.empty(), false);

    RecordedFacts& facts = panel().facts();
    facts.size("tp")->setValue(3);
    EXPECT_FALSE(facts.applyButton()->isEnabled());
    facts.size("tp")->setValue(4);
    facts.size("dp")->setValue(1);
    ASSERT_TRUE(facts.applyButton()->isEnabled());
    facts.applyButton()->click();
    settle();
    EXPECT_THAT(panel().headline().toStdString(), testing::HasSubstr("tp 4  ·  pp 2"));
    EXPECT_THAT(facts.text().toStdString(), testing::HasSubstr("as somebody said"));
}

TEST_F(RecordedTest, PredictionLiesAboveItAndWhatIfIsAScenarioWithWhatWasMeasured)
{
    openRun(path);
    EXPECT_FALSE(window.isEnabled(CommandId::whatIfRecorded));
    ASSERT_TRUE(window.predictRecordedAs(galleryFile(kTiny)).empty());
    EXPECT_EQ(window.statusBar()->currentMessage(), QStringLiteral("Predicting…"));
    settle();
    EXPECT_EQ(window.statusBar()->currentMessage(), QString());
    ASSERT_TRUE(panel().run()->prediction()) << panel().problem().toStdString();
    ASSERT_TRUE(panel().run()->prediction()->calibration);
    EXPECT_GT(panel().table(RecordedTab::prediction).rowCount(), 5);
    ASSERT_TRUE(window.isEnabled(CommandId::whatIfRecorded));
    window.run(CommandId::whatIfRecorded);
    settle();
    ASSERT_TRUE(window.session().isOpen());
    EXPECT_FALSE(window.isRecordedShown());
    ASSERT_TRUE(window.desk().simulation());
    const sim::RunCalibration& calibration = *panel().run()->prediction()->calibration;
    ASSERT_EQ(calibration.slowRanks.size(), 1U);
    EXPECT_NEAR(window.desk().simulation()->metrics().stepTimeSeconds, calibration.predictedSeconds,
                0.01 * calibration.predictedSeconds)
        << "of the job without its slow rank, whose kernels are as predicted";
    EXPECT_TRUE(window.session().displayName().startsWith(QStringLiteral("What if, from run.json")));
    const std::string lasting = window.session().document().text();
    EXPECT_THAT(lasting, testing::HasSubstr("with rank 5, which takes 1.40 × as long there, as fast as its peers."));
    EXPECT_THAT(lasting, testing::HasSubstr("(" + signedPercentText(calibration.errorAfter()).toStdString() + ")"))
        << "as the run's own page has it";
    window.run(CommandId::showRecorded);
    EXPECT_TRUE(window.isRecordedShown());
}

TEST_F(RecordedTest, AnotherGridForgetsWhatWasAskedOfTheOneBefore)
{
    openRun(path);
    ASSERT_TRUE(window.predictRecordedAs(galleryFile(kTiny)).empty());
    settle();
    ASSERT_GT(panel().table(RecordedTab::prediction).rowCount(), 5);
    panel().run()->compareWith({path});
    settle();
    ASSERT_GT(panel().table(RecordedTab::comparison).rowCount(), 0);
    panel().facts().size("tp")->setValue(4);
    panel().facts().size("dp")->setValue(1);
    panel().facts().applyButton()->click();
    settle();
    ASSERT_THAT(panel().headline().toStdString(), testing::HasSubstr("tp 4"));
    EXPECT_EQ(panel().table(RecordedTab::prediction).rowCount(), 0);
    EXPECT_EQ(panel().table(RecordedTab::comparison).rowCount(), 0);
    panel().setTab(RecordedTab::prediction);
    EXPECT_TRUE(panel().shownTable().rows.empty());
}

TEST_F(RecordedTest, OneQuantityHasOneNumberInEveryTab)
{
    openRun(path);
    panel().run()->compareWith({path});
    settle();
    const auto cell = [&](RecordedTab tab, const QString& row, int column) {
        const RecordedTable& table = panel().table(tab);
        for (int i = 0; i < table.rowCount(); ++i)
            if (table.item(i, 0)->text() == row)
                return table.item(i, column)->text();
        return QStringLiteral("no row ") + row;
    };
    for (const char* axis : {"tp", "dp", "pp"})
        EXPECT_EQ(cell(RecordedTab::communication, QLatin1String(axis), 2),
                  cell(RecordedTab::comparison, QStringLiteral("exposed %1 communication").arg(QLatin1String(axis)), 1));
    EXPECT_TRUE(window.isEnabled(CommandId::compareRecordedFolder));
}

TEST_F(RecordedTest, HiddenIsBehindComputingOnTheCardAndInTheTable)
{
    openRun(QStringLiteral(RANKSCOPE_TEST_DATA "/torch-parallel/pp2-dp2-tp2"));
    const RecordedTable& table = panel().table(RecordedTab::communication);
    double most = 0;
    ASSERT_GE(table.rowCount(), 3);
    for (int row = 0; row < table.rowCount(); ++row)
        most = std::max(most, table.item(row, 4)->text().section(QLatin1Char(' '), 0, 0).toDouble());
    EXPECT_LT(most, 2) << "hardly anything computes";
    bool hasPart = false;
    for (const Node& node : panel().timelineCanvas().nodes())
        hasPart = hasPart || node.name.find("drawn over") != std::string::npos;
    EXPECT_TRUE(hasPart) << "clocks are apart: the picture is longer than the step";
}

TEST_F(RecordedTest, ARunWithoutKernelsSpeaksOfNoDevice)
{
    openRun(QStringLiteral(RANKSCOPE_TEST_DATA "/torch-parallel/gloo-late-input"));
    QStringList words;
    for (const QLabel* label : panel().findChildren<QLabel*>())
        words << label->text();
    const std::string all = words.join(QLatin1Char('\n')).toStdString();
    EXPECT_THAT(all, testing::HasSubstr("it comes to them late"));
    EXPECT_THAT(all, testing::Not(testing::HasSubstr("its device")));
    const RecordedTable& table = panel().table(RecordedTab::communication);
    ASSERT_GE(table.rowCount(), 1);
    EXPECT_EQ(table.item(0, 4)->text(), QStringLiteral("–")) << "what was computed meanwhile was not recorded";
}

TEST_F(RecordedTest, WhatWasNeverAStepIsNotCalledOne)
{
    const auto cards = [&] {
        QStringList words;
        for (const MetricCard* card : panel().findChildren<MetricCard*>())
            for (const QLabel* label : card->findChildren<QLabel*>())
                words << label->text();
        return words.join(QLatin1Char('\n')).toStdString();
    };
    openRun(QStringLiteral(RANKSCOPE_TEST_DATA "/torch-parallel/flight-pp2-dp2"));
    EXPECT_THAT(cards(), testing::AllOf(testing::HasSubstr("All recorded"), testing::HasSubstr("taken for one step"),
                                        testing::Not(testing::HasSubstr("Step, median"))));
    EXPECT_THAT(panel().headline().toStdString(), testing::HasSubstr("steps not known"));
    openRun(QStringLiteral(RANKSCOPE_TEST_DATA "/nccl/flight_rank_1.json"));
    EXPECT_THAT(cards(), testing::AllOf(testing::HasSubstr("Step, median"),
                                        testing::HasSubstr("2 steps by what recurs, unmarked, 1 recorded in part")));
    openRun(path);
    EXPECT_THAT(cards(), testing::AllOf(testing::HasSubstr("Step, median"), testing::HasSubstr("1 step was recorded"),
                                        testing::Not(testing::HasSubstr("unmarked"))));
}

TEST_F(RecordedTest, ATimelineOfWhatHasNoLengthSaysWhyItIsEmpty)
{
    openRun(QStringLiteral(RANKSCOPE_TEST_DATA "/torch-parallel/flight-pp2-dp2"));
    QStringList words;
    for (const QLabel* label : panel().findChildren<QLabel*>())
        words << label->text();
    EXPECT_THAT(words.join(QLatin1Char('\n')).toStdString(),
                testing::AllOf(testing::HasSubstr("The timeline is empty\nnone of 484 collectives and messages has a length"),
                               testing::Not(testing::HasSubstr("nothing stands out"))));
    for (const sim::Track& track : panel().run()->picture()->timeUse->tracks)
        EXPECT_EQ(track.size(), 0U) << "of what has no length nothing is drawn";
}

/// Of a job that stands still, how far its ranks have come may be all that there is.
TEST_F(RecordedTest, CountsAloneAreAPageWhoseEmptyTablesSaySo)
{
    QDir(folder.path()).mkpath(QStringLiteral("dumps"));
    for (int rank = 0; rank < 2; ++rank) {
        QFile file(folder.filePath(QStringLiteral("dumps/rank_%1.json").arg(rank)));
        ASSERT_TRUE(file.open(QIODevice::WriteOnly));
        file.write(
            QStringLiteral(R"({"version": "2.4", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
                                      "pg_status": {"0": {"last_enqueued_collective": %1, "last_completed_collective": 4}},
                                      "entries": []})")
                .arg(5 - rank)
                .toUtf8());
    }
    openRun(folder.filePath(QStringLiteral("dumps")));
    ASSERT_TRUE(panel().run()->run()) << panel().problem().toStdString();
    EXPECT_THAT(panel().findingsText().toStdString(), testing::StartsWith("Call 5 of group default_pg"));
    for (const RecordedTab tab : {RecordedTab::communication, RecordedTab::steps, RecordedTab::kernels}) {
        panel().setTab(tab);
        settle();
        EXPECT_EQ(panel().table(tab).rowCount(), 0);
        EXPECT_FALSE(panel().table(tab).whyEmpty().isEmpty()) << static_cast<int>(tab);
    }
    openRun(path);
    panel().setTab(RecordedTab::kernels);
    settle();
    EXPECT_GT(panel().table(RecordedTab::kernels).rowCount(), 0);
    EXPECT_EQ(panel().table(RecordedTab::kernels).whyEmpty(), QString());
}

TEST_F(RecordedTest, AFolderOfSeveralJobsIsSaidToBeSuchFirst)
{
    openRun(QString::fromStdString(RANKSCOPE_TEST_DATA "/kineto"));
    QStringList words;
    for (const QLabel* label : panel().findChildren<QLabel*>())
        words << label->text();
    EXPECT_THAT(words.join(QLatin1Char('\n')).toStdString(),
                testing::AllOf(testing::HasSubstr("These files are not of one run"), testing::HasSubstr("nccl_data.json.gz")));
    EXPECT_THAT(panel().headline().toStdString(), testing::StartsWith("2 of 8 ranks"));
}

TEST_F(RecordedTest, AGridThatNobodyChangedKeepsItsExpertsWhereTheyWereFound)
{
    RecoveredRun run;
    run.recording = std::make_shared<const sim::Recording>();
    run.recovered.axes.worldSize = 16;
    for (const auto& [name, size, stride] : {std::tuple("tp", 2, 1), {"cp", 2, 2}, {"dp", 4, 4}, {"ep", 4, 2}}) {
        run.recovered.axes.axes.emplace_back();
        run.recovered.axes.axes.back().name = name;
        run.recovered.axes.axes.back().size = size;
        run.recovered.axes.axes.back().stride = stride;
    }
    RecordedFacts facts;
    facts.show(run);
    std::vector<sim::NamedAxis> said;
    QObject::connect(&facts, &RecordedFacts::gridSaid, [&](const std::vector<sim::NamedAxis>& grid) { said = grid; });
    facts.applyButton()->click();
    ASSERT_EQ(said.size(), 4U);
    EXPECT_EQ(said.back().name, "ep");
    EXPECT_EQ(said.back().stride, 2);
}

TEST_F(RecordedTest, ThePathOverRanksIsATableThatShowsItsPlaces)
{
    openRun(path);
    const RecordedTable& table = panel().table(RecordedTab::path);
    const auto stretches = sim::stretchesOf(panel().run()->run()->answers.path);
    ASSERT_EQ(table.rowCount(), static_cast<int>(stretches.size()));
    ASSERT_GE(stretches.size(), 2U);
    int longest = 0;
    for (int row = 0; row < table.rowCount(); ++row)
        if (stretches[sim::asIndex(row)].endNs - stretches[sim::asIndex(row)].startNs >
            stretches[sim::asIndex(longest)].endNs - stretches[sim::asIndex(longest)].startNs)
            longest = row;
    EXPECT_EQ(table.item(longest, 0)->text(), QStringLiteral("rank 5"));
    panel().table(RecordedTab::path).selectRow(longest);
    EXPECT_EQ(panel().selection().ranks, std::vector<int>{5});
    ASSERT_TRUE(panel().selection().range);
    EXPECT_EQ(panel().selection().range->endNs - panel().selection().range->beginNs,
              stretches[sim::asIndex(longest)].endNs - stretches[sim::asIndex(longest)].startNs);
    panel().setTab(RecordedTab::path);
    EXPECT_EQ(panel().shownTable().rows.size(), stretches.size());
}

TEST_F(RecordedTest, WhatATraceDoesNotHoldIsSaidToBeMissingAndThenShownAsSimulated)
{
    openRun(path);
    panel().setTab(RecordedTab::simulated);
    RecordedSimulated& simulated = panel().simulated();
    EXPECT_THAT(simulated.words().toStdString(), testing::HasSubstr("Memory was recorded of 8 of 8 ranks"));
    simulated.choose(SimulatedPicture::storage);
    EXPECT_THAT(simulated.words().toStdString(), testing::HasSubstr("stands in no trace"));
    simulated.choose(SimulatedPicture::traffic);
    EXPECT_THAT(simulated.words().toStdString(), testing::HasSubstr("“Predict”"));
    ASSERT_TRUE(window.predictRecordedAs(QStringLiteral(RANKSCOPE_SOURCE_DIR "/scenarios/60-tiny-tp2-pp2-dp2.json")).empty());
    settle();
    panel().setTab(RecordedTab::simulated);
    for (const SimulatedPicture which : {SimulatedPicture::memory, SimulatedPicture::traffic, SimulatedPicture::storage}) {
        simulated.choose(which);
        settle();
        EXPECT_THAT(simulated.words().toStdString(),
                    testing::AllOf(testing::HasSubstr("As simulated"), testing::HasSubstr("nothing of it was measured")));
        std::size_t nodes = 0;
        for (const CanvasWidget* canvas : simulated.findChildren<CanvasWidget*>())
            if (canvas->isVisible())
                nodes = canvas->nodes().size();
        EXPECT_GT(nodes, 2U) << static_cast<int>(which);
    }
}

TEST_F(RecordedTest, FiguresAreExportedByTheDialogThatSimulatedOnesHave)
{
    openRun(path);
    const auto figuresOf = [&] { // title, SVG
        std::vector<std::pair<QString, QByteArray>> out;
        window.run(CommandId::exportFigure);
        auto* dialog = window.findChild<ExportDialog*>();
        const auto boxes = dialog ? dialog->findChildren<QComboBox*>() : QList<QComboBox*>(); // picture, size, colours, format
        for (int picture = 0; boxes.size() == 4 && picture < boxes[0]->count(); ++picture) {
            boxes[0]->setCurrentIndex(picture);
            const QString name = folder.filePath(QStringLiteral("%1.svg").arg(picture));
            dialog->save(name);
            QFile file(name);
            EXPECT_TRUE(file.open(QIODevice::ReadOnly));
            out.emplace_back(boxes[0]->itemText(picture), file.readAll());
        }
        delete dialog;
        return out;
    };
    const QByteArray name = panel().run()->name().toHtmlEscaped().toUtf8();
    const auto measured = figuresOf();
    ASSERT_EQ(measured.size(), 2U) << "what is simulated there is not yet";
    EXPECT_EQ(measured[1].first, QStringLiteral("Timeline"));
    EXPECT_TRUE(measured[0].second.contains(name) && measured[1].second.contains(name)) << "the title";
    EXPECT_TRUE(measured[1].second.contains("8 of 8 ranks")) << "the caption";
    EXPECT_TRUE(measured[1].second.contains("Measured") && !measured[1].second.contains("Predicted"));

    ASSERT_TRUE(window.predictRecordedAs(QStringLiteral(RANKSCOPE_SOURCE_DIR "/scenarios/60-tiny-tp2-pp2-dp2.json")).empty());
    settle();
    const auto predicted = figuresOf();
    ASSERT_EQ(predicted.size(), 5U);
    EXPECT_TRUE(predicted[1].second.contains("Measured") && predicted[1].second.contains("Predicted"));
    for (std::size_t picture = 2; picture < predicted.size(); ++picture) {
        EXPECT_TRUE(predicted[picture].first.endsWith(QStringLiteral("as simulated"))) << predicted[picture].first.toStdString();
        EXPECT_GT(predicted[picture].second.count("<text"), 4) << "made, though nobody looked at it";
    }
}

TEST_F(RecordedTest, TabsHideBehindNoArrowAndNothingIsCutWhateverTheSizeOfTheText)
{
    openRun(path);
    window.resize(1280, 800);
    settle();
    EXPECT_FALSE(panel().tabs().isList()) << "all tabs beside each other";
    window.setMinimumSize(512, 320);
    for (const QSize size : {QSize(683, 427), QSize(512, 320)}) { // 1024 × 640 at text of 150 and 200 %
        window.resize(size);
        settle();
        EXPECT_TRUE(panel().tabs().isList()) << size.width();
        for (const RecordedTab tab : {RecordedTab::findings, RecordedTab::kernels, RecordedTab::path, RecordedTab::facts,
                                      RecordedTab::simulated, RecordedTab::comparison}) {
            panel().setTab(tab);
            settle();
            EXPECT_EQ(panel().tabs().current(), static_cast<int>(tab));
            EXPECT_EQ(cutLabels(panel()), QStringList()) << size.width() << " " << static_cast<int>(tab);
        }
    }
}

/// 1366 × 768 less a window's title.
TEST_F(RecordedTest, ThePredictionHasRoomBesideWhatWasMeasured)
{
    openRun(path);
    window.resize(1366, 748);
    ASSERT_TRUE(window.predictRecordedAs(QStringLiteral(RANKSCOPE_SOURCE_DIR "/scenarios/60-tiny-tp2-pp2-dp2.json")).empty());
    settle();
    panel().setTab(RecordedTab::simulated);
    settle();
    std::vector<Rect> rows;
    for (const Node& node : panel().timelineCanvas().nodes())
        if (node.role == "row")
            rows.push_back(node.rect);
    ASSERT_EQ(rows.size(), 16U) << "eight ranks, simulated and measured";
    for (std::size_t row = 1; row < rows.size(); ++row)
        EXPECT_GE(rows[row].top - rows[row - 1].top, 12) << "their names touch each other";
    const auto boxes = panel().findChildren<QComboBox*>();
    const auto which = std::find_if(boxes.begin(), boxes.end(), [](const QComboBox* box) {
        return box->accessibleName() == QLatin1String("Picture of what is simulated");
    });
    ASSERT_NE(which, boxes.end());
    QStyleOptionComboBox option;
    option.initFrom(*which);
    const QRect field = (*which)->style()->subControlRect(QStyle::CC_ComboBox, &option, QStyle::SC_ComboBoxEditField, *which);
    for (int i = 0; i < (*which)->count(); ++i)
        EXPECT_LE((*which)->fontMetrics().horizontalAdvance((*which)->itemText(i)), field.width() - 2);
}

TEST_F(RecordedTest, TheWheelOverThePageChangesNoNumberOfTheGrid)
{
    openRun(path);
    panel().setTab(RecordedTab::facts);
    settle();
    QSpinBox* box = panel().facts().size("pp");
    box->clearFocus();
    QWheelEvent wheel({4, 4}, box->mapToGlobal(QPointF(4, 4)), {}, {0, -120}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase,
                      false);
    QApplication::sendEvent(box, &wheel);
    EXPECT_EQ(box->value(), 2);
}

TEST(MeasuredProfile, HasANameOfItsOwnForEachRunAndEachTextOfIt)
{
    const QString one = measuredProfileName({QStringLiteral("/jobs/monday/rank0.json")}, "a");
    EXPECT_THAT(one.toStdString(), testing::StartsWith("monday-rank0-"));
    EXPECT_EQ(one, measuredProfileName({QStringLiteral("/jobs/monday/rank0.json")}, "a"));
    EXPECT_NE(one, measuredProfileName({QStringLiteral("/others/monday/rank0.json")}, "a"));
    EXPECT_NE(one, measuredProfileName({QStringLiteral("/jobs/monday/rank0.json")}, "b"));
}

TEST_F(RecordedTest, DroppedFilesAreOneRunATextIsNoneAndWhatCannotBeReadSaysWhy)
{
    QMimeData mime;
    mime.setUrls(
        {QUrl::fromLocalFile(QStringLiteral(RANKSCOPE_TEST_DATA "/kineto/worker0_step_12.1694128201545.pt.trace.json.gz")),
         QUrl::fromLocalFile(QStringLiteral(RANKSCOPE_TEST_DATA "/kineto/worker7_step_12.1694128201553.pt.trace.json.gz"))});
    QDragEnterEvent enter({10, 10}, Qt::CopyAction, &mime, Qt::LeftButton, {});
    QApplication::sendEvent(&window, &enter);
    EXPECT_TRUE(enter.isAccepted());
    QDropEvent drop(QPointF(10, 10), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window, &drop);
    ASSERT_TRUE(waitFor([&] { return window.isRecordedShown(); }));
    settle();
    EXPECT_THAT(panel().headline().toStdString(), testing::StartsWith("2 of"));

    const QString words = folder.filePath(QStringLiteral("words.txt"));
    QFile file(words);
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write("Dear profiler,\n");
    file.close();
    EXPECT_FALSE(window.openFile(words).empty());
    EXPECT_TRUE(window.isRecordedShown()) << "what was open stays";

    window.resize(1024, 640);
    for (const RecordedTab tab : {RecordedTab::findings, RecordedTab::ranks, RecordedTab::facts}) {
        panel().setTab(tab);
        settle();
        EXPECT_EQ(cutLabels(panel()), QStringList());
    }

    const QString empty = folder.filePath(QStringLiteral("empty"));
    ASSERT_TRUE(QDir().mkpath(empty));
    openRun(empty);
    EXPECT_THAT(panel().problem().toStdString(), testing::EndsWith("is a folder without files"));
    EXPECT_FALSE(window.isEnabled(CommandId::predictRecorded));
    EXPECT_FALSE(panel().progress().isVisible());
}

} // namespace
} // namespace app
