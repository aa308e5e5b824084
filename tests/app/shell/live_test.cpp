// A tiny training from the menu to its end, through what a person sees; and what becomes of it when the worker dies.
#include "app/session/settings.h"
#include "app/session/training_plan.h"
#include "app/shell/dialogs/attach_dialog.h"
#include "app/shell/dialogs/export_dialog.h"
#include "app/shell/dialogs/train_dialog.h"
#include "app/shell/dialogs/worker_dialog.h"
#include "app/shell/gallery/gallery_page.h"
#include "app/shell/live/difference_table.h"
#include "app/shell/live/live_panel.h"
#include "app/shell/widgets/metric_card.h"
#include "app/shell/widgets/style.h"
#include "app/shell/window/main_window.h"
#include "tests/app/session/session_fixtures.h"
#include "tests/app/shell/cut_labels.h"
#include "tests/live/stream/run_for_tests.h"
#include "tests/support/patience.h"

#include <QAction>
#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QFile>
#include <QFileInfo>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QProcess>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace app {
namespace {

using namespace test;

bool isAlive(qint64 process)
{
    return ::kill(static_cast<pid_t>(process), 0) == 0;
}

class LiveTest : public testing::Test {
protected:
    LiveTest() : window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software})
    {
        qputenv("RANKSCOPE_LIVE_PROGRAM", RANKSCOPE_BIN_DIR "/rankscope-live");
        window.resize(1600, 900);
        window.showGallery();
        window.show();
    }
    void open(const char* name)
    {
        ASSERT_TRUE(window.openFile(galleryFile(name)).empty());
        ASSERT_TRUE(waitFor([this] { return window.isSettled(); }));
    }
    TrainDialog* trainDialog()
    {
        window.run(CommandId::trainScenario);
        return window.findChild<TrainDialog*>();
    }
    void startTraining(int steps)
    {
        open(kTiny);
        TrainDialog* dialog = trainDialog();
        ASSERT_TRUE(dialog);
        dialog->findChild<QSpinBox*>()->setValue(steps);
        for (QPushButton* button : dialog->findChildren<QPushButton*>())
            if (button->text() == QStringLiteral("Start Training"))
                button->click();
        ASSERT_TRUE(window.isLiveShown());
    }
    bool waitForPhase(LivePhase phase)
    {
        return waitFor([&] { return window.live().status().phase == phase; });
    }
    MainWindow window;
};

/// 1024 × 640 at text of 200 %, but for the bar that scrolls; and at text of 100 %.
TEST_F(LiveTest, ANarrowPageFoldsAndIsNotScrolledSideways)
{
    LivePanel panel(Renderer::software);
    QAction calibrate(QStringLiteral("Calibrate")), pause(QStringLiteral("Pause")), freeze(QStringLiteral("Freeze Picture")),
        stop(QStringLiteral("Stop")), again(QStringLiteral("Train Again"));
    panel.setActions({&pause, &freeze, &stop, &again});
    panel.setCalibrate(calibrate);
    panel.startAnew(QStringLiteral("Tiny: four dimensions, sixteen ranks, double precision"));
    panel.setVisible(true);
    const auto settleAt = [&](QSize size) {
        panel.resize(size);
        for (int round = 0; round < 5; ++round)
            QCoreApplication::processEvents();
    };
    settleAt({502, 960});
    EXPECT_EQ(panel.width(), 502);
    EXPECT_EQ(cutLabels(panel).join(QStringLiteral("; ")).toStdString(), "");
    for (const QToolButton* button : panel.findChildren<QToolButton*>())
        if (button->isVisible()) {
            EXPECT_TRUE(panel.rect().contains(QRect(button->mapTo(&panel, QPoint(0, 0)), button->size())))
                << button->text().toStdString();
            EXPECT_GE(button->width(), button->minimumSizeHint().width()) << button->text().toStdString();
        }
    for (int round = 0; round < 2; ++round) // by itself it is a window, which is as high as it was before it unfolds
        settleAt({1024, 600});
    EXPECT_EQ(panel.width(), 1024);
    EXPECT_EQ(panel.height(), 600);
    EXPECT_GE(panel.differences().width(), 360) << "its first column can be read";
    EXPECT_EQ(cutLabels(panel).join(QStringLiteral("; ")).toStdString(), "");
}

/// Of a step that broke off with the connection there is no parallel clock; the last whole one is kept on screen, and named.
TEST_F(LiveTest, AfterALostConnectionTheLastWholeStepStays)
{
    const ::test::SmallKinds kinds;
    const std::vector<sim::SpanKind> known = kinds.all.from();
    const auto run = std::make_shared<const live::RunDescription>(::test::smallRun(2));
    const auto sum = [&](std::int64_t step) {
        return ::test::commSpan(live::SpanTrack::tp, kinds.allReduce, 100, 110, 150, 99, static_cast<int>(step));
    };
    const auto pictureOf = [&](int step, bool isWhole) {
        std::vector<live::RankSpan> spans = {{0, ::test::computeSpan(kinds, 0, 100, step)}, {0, sum(step)}};
        if (isWhole)
            spans.insert(spans.end(), {{1, ::test::computeSpan(kinds, 0, 90, step)}, {1, sum(step)}});
        return makeStepPicture({.run = *run, .kinds = known, .spans = spans, .memory = {}, .step = step, .complete = true},
                               nullptr);
    };
    LivePanel panel(Renderer::software);
    panel.startAnew(QStringLiteral("Tiny"));
    panel.resize(1200, 800);
    panel.setVisible(true);
    LiveUpdate update;
    update.status = {LivePhase::training, QStringLiteral("Training"), {}};
    update.run = run;
    update.picture = pictureOf(6, true);
    panel.show(update);
    const auto caption = [&] {
        for (const Node& node : panel.canvas(LivePicture::timelines).nodes())
            if (node.role == "caption" && node.name.starts_with("Measured"))
                return node.name;
        return std::string();
    };
    EXPECT_NE(caption().find("step 6"), std::string::npos) << caption();
    EXPECT_EQ(caption().find("a part"), std::string::npos) << caption();
    update.status = {LivePhase::lost, QStringLiteral("Connection lost"), {}};
    update.picture = pictureOf(7, false);
    panel.show(update);
    EXPECT_NE(caption().find("step 6, the last whole one: only a part of step 7 came"), std::string::npos) << caption();
    panel.setClock(LiveClock::wall);
    EXPECT_NE(caption().find("step 7"), std::string::npos) << "what came is there on the wall clock: " << caption();
}

TEST(LiveDifferences, WhatRunsAloneIsNotCalledExposed)
{
    DifferenceTable table;
    live::Difference difference;
    difference.predicted.transferNs[0] = difference.measured.transferNs[0] = 37'900;
    table.show(QStringLiteral("STEP 1"), difference);
    EXPECT_TRUE(table.text().contains(QStringLiteral("TP alone"))) << table.text().toStdString();
    EXPECT_FALSE(table.text().contains(QStringLiteral("exposed"))) << "which is what kernels waited for: another number";
}

TEST(LiveDifferences, TellWhatIsDoneOtherwiseThanPredicted)
{
    DifferenceTable table;
    live::Difference difference;
    difference.otherwise = {"live training sends keys and values round a ring of cp; the simulator exchanges heads"};
    table.show(QStringLiteral("STEP 1"), difference);
    EXPECT_TRUE(table.text().contains(QStringLiteral("Live training sends keys"))) << table.text().toStdString();
    EXPECT_TRUE(table.text().contains(QStringLiteral("Computing"))) << "beside the numbers";
    difference.otherwise.clear();
    table.show(QStringLiteral("STEP 2"), difference);
    EXPECT_FALSE(table.text().contains(QStringLiteral("ring"))) << table.text().toStdString();
}

/// Before any step is whole: what broke off runs no more, and no next step is promised.
TEST_F(LiveTest, AfterALostConnectionNothingIsStillRunning)
{
    const ::test::SmallKinds kinds;
    const std::vector<sim::SpanKind> known = kinds.all.from();
    const auto run = std::make_shared<const live::RunDescription>(::test::smallRun(1));
    const std::vector<live::RankSpan> spans = {{0, ::test::computeSpan(kinds, 0, 100, 2)}};
    LivePanel panel(Renderer::software);
    panel.startAnew(QStringLiteral("Tiny"));
    panel.resize(1200, 800);
    panel.setVisible(true);
    LiveUpdate update;
    update.run = run;
    update.picture =
        makeStepPicture({.run = *run, .kinds = known, .spans = spans, .memory = {}, .step = 2, .complete = false}, nullptr);
    const auto caption = [&] {
        for (const Node& node : panel.canvas(LivePicture::timelines).nodes())
            if (node.role == "caption" && node.name.starts_with("Measured"))
                return node.name;
        return std::string();
    };
    panel.setClock(LiveClock::wall);
    update.status = {LivePhase::training, QStringLiteral("Training"), {}};
    panel.show(update);
    EXPECT_NE(caption().find("step 2, still running"), std::string::npos) << caption();
    EXPECT_TRUE(panel.differences().text().contains(QStringLiteral("whole step tells")));
    update = {};
    update.status = {LivePhase::lost, QStringLiteral("Connection lost"), {}};
    panel.show(update); // no picture comes any more
    EXPECT_NE(caption().find("step 2, broken off"), std::string::npos) << caption();
    EXPECT_FALSE(panel.differences().text().contains(QStringLiteral("step tells"))) << panel.differences().text().toStdString();
}

TEST_F(LiveTest, AConnectionLostBeforeTheFirstStepPromisesNone)
{
    LivePanel panel(Renderer::software);
    panel.startAnew(QStringLiteral("Tiny"));
    panel.resize(1200, 800);
    panel.setVisible(true);
    LiveUpdate update;
    update.run = std::make_shared<const live::RunDescription>(::test::smallRun(1));
    const auto isPromised = [&] {
        const auto& nodes = panel.canvas(LivePicture::timelines).nodes();
        return std::any_of(nodes.begin(), nodes.end(),
                           [](const Node& node) { return node.name.find("on its way") != std::string::npos; });
    };
    update.status = {LivePhase::training, QStringLiteral("Training"), {}};
    panel.show(update);
    EXPECT_TRUE(isPromised());
    update.status = {LivePhase::lost, QStringLiteral("Connection lost"), {}};
    panel.show(update);
    EXPECT_FALSE(isPromised());
    EXPECT_TRUE(panel.differences().text().contains(QStringLiteral("No step was received")));
    update.status = {LivePhase::training, QStringLiteral("Training"), {}};
    panel.show(update);
    EXPECT_TRUE(isPromised());
    EXPECT_TRUE(panel.differences().text().contains(QStringLiteral("first step tells"))) << "it came back";
}

TEST_F(LiveTest, KeysOfTheTimelineGoToItWhicheverPictureWasUsedLast)
{
    LivePanel panel(Renderer::software);
    panel.startAnew(QStringLiteral("Tiny"));
    panel.resize(1200, 800);
    panel.setVisible(true);
    Q_EMIT panel.canvas(LivePicture::curves).viewChanged();
    ASSERT_EQ(panel.usedPicture(), LivePicture::curves);
    panel.runCommand(ViewCommand::groupRows, false);
    EXPECT_EQ(panel.usedPicture(), LivePicture::timelines);
    Q_EMIT panel.canvas(LivePicture::curves).viewChanged();
    panel.runCommand(ViewCommand::clear, false); // else Esc would never leave the page for a rank that is selected
    EXPECT_EQ(panel.usedPicture(), LivePicture::grid);
}

TEST_F(LiveTest, StepsArriveThenStopLeavesNoProcess)
{
    startTraining(100'000);
    LivePanel& live = window.live();
    ASSERT_TRUE(waitFor([&] { return live.steps().size() >= 5 && live.isComplete(); })) << live.status().detail.toStdString();
    EXPECT_LT(live.steps().back().loss, live.steps().front().loss);
    const qint64 worker = window.liveRun()->workerId();
    EXPECT_TRUE(isAlive(worker));
    EXPECT_FALSE(window.isEnabled(CommandId::calibrate)) << "it would measure a machine that trains";
    EXPECT_TRUE(whyNot(command(CommandId::calibrate), window).contains(QStringLiteral("once this training is over")));
    EXPECT_TRUE(whyNot(command(CommandId::textSmaller), window).contains(QStringLiteral("usual size"))) << "of no scenario";
    // Through the tree that a screen reader has: the ranks, and both timelines' rows.
    const auto& cells = live.canvas(LivePicture::grid).nodes();
    EXPECT_EQ(std::count_if(cells.begin(), cells.end(), [](const Node& node) { return node.role == "cell"; }), 8);
    const auto& timelines = live.canvas(LivePicture::timelines).nodes();
    EXPECT_EQ(std::count_if(timelines.begin(), timelines.end(), [](const Node& node) { return node.role == "caption"; }), 2);
    EXPECT_TRUE(live.differences().text().contains(QStringLiteral("Computing"))) << live.differences().text().toStdString();

    window.run(CommandId::pauseRun);
    ASSERT_TRUE(waitForPhase(LivePhase::paused));
    window.run(CommandId::pauseRun);
    ASSERT_TRUE(waitForPhase(LivePhase::training));
    window.run(CommandId::stopRun);
    ASSERT_TRUE(waitForPhase(LivePhase::stopped));
    EXPECT_GE(live.steps().size(), 5U);
    EXPECT_TRUE(waitFor([&] { return !isAlive(worker); }));
    window.run(CommandId::copyFigure);
    const QByteArray figure = QApplication::clipboard()->mimeData()->data(QStringLiteral("image/svg+xml"));
    for (const Node& node : timelines)
        if (node.role == "caption") {
            EXPECT_TRUE(figure.contains(QByteArray::fromStdString(node.name.substr(0, node.name.find_first_of(",·:")))))
                << "of this page: " << node.name;
        }
    EXPECT_FALSE(window.isEnabled(CommandId::stopRun));
    EXPECT_TRUE(window.isEnabled(CommandId::calibrate));

    window.run(CommandId::exportFigure);
    auto* dialog = window.findChild<ExportDialog*>();
    ASSERT_TRUE(dialog);
    const auto boxes = dialog->findChildren<QComboBox*>(); // picture, size, colours, format
    ASSERT_EQ(boxes.size(), 4);
    EXPECT_EQ(boxes[0]->count(), 3);
    const QTemporaryDir folder;
    for (int picture = 0; picture < boxes[0]->count(); ++picture) {
        boxes[0]->setCurrentIndex(picture);
        boxes[2]->setCurrentIndex(picture);
        dialog->save(folder.filePath(QStringLiteral("%1.svg").arg(picture)));
        QFile file(folder.filePath(QStringLiteral("%1.svg").arg(picture)));
        ASSERT_TRUE(file.open(QIODevice::ReadOnly));
        const QByteArray svg = file.readAll();
        EXPECT_TRUE(svg.contains(live.runName().toHtmlEscaped().toUtf8())) << "the title of " << picture;
        if (picture == static_cast<int>(LivePicture::timelines)) {
            EXPECT_TRUE(svg.contains("Predicted") && svg.contains("Measured"));
        } else {
            EXPECT_EQ(svg.contains("Step time"), picture == static_cast<int>(LivePicture::curves)) << picture;
        }
        const Theme& theme = themeFor(static_cast<ThemeChoice>(boxes[2]->currentData().toInt()));
        EXPECT_TRUE(svg.contains(toQColor(theme.canvas).name().toUtf8())) << "the colours of " << picture;
    }
    dialog->reject();
}

TEST_F(LiveTest, CardsAreOfTheStepThatWasChosen)
{
    startTraining(5);
    ASSERT_TRUE(waitForPhase(LivePhase::finished));
    const auto noteOf = [&](const QString& title) {
        QString notes;
        for (const MetricCard* card : window.live().findChildren<MetricCard*>())
            if (card->title() == title)
                for (const QLabel* label : card->findChildren<QLabel*>())
                    notes += label->text() + QLatin1Char('|');
        return notes;
    };
    const QString wall = QStringLiteral("Step, wall clock"), loss = QStringLiteral("Loss");
    EXPECT_TRUE(noteOf(wall).contains(QStringLiteral("step 5"))) << noteOf(wall).toStdString();
    const QString last = noteOf(loss);
    Q_EMIT window.live().stepChosen(2);
    EXPECT_TRUE(noteOf(wall).contains(QStringLiteral("step 2"))) << noteOf(wall).toStdString();
    EXPECT_NE(noteOf(loss), last) << "of the same step";
}

TEST(Parting, IsSaidWithWhatHelps)
{
    EXPECT_TRUE(partingText(0.011, 0.010, false, true, 0).isEmpty()) << "as near as predictions come";
    EXPECT_TRUE(partingText(0.011, 0, false, true, 0).isEmpty());
    const QString unknown = partingText(0.020, 0.010, false, true, 0);
    EXPECT_TRUE(unknown.contains(QStringLiteral("Calibrate measures it"))) << unknown.toStdString();
    EXPECT_FALSE(unknown.contains(QStringLiteral("busy")));
    EXPECT_TRUE(partingText(0.020, 0.010, false, false, 0).contains(QStringLiteral("once this training is over")))
        << "its button is disabled until then";
    const QString busy = partingText(0.020, 0.010, false, true, 1.5);
    EXPECT_TRUE(busy.contains(QStringLiteral("This machine is busy: other programs use 1.5 of its cores"))) << busy.toStdString();
    EXPECT_TRUE(partingText(0.010, 0.010, true, true, 1.5).startsWith(QStringLiteral("This machine is busy")));
    EXPECT_TRUE(partingText(0.010, 0.010, true, true, 1.5, true).startsWith(QStringLiteral("This machine was busy")))
        << "nothing was heard of it since";
    EXPECT_FALSE(partingText(0.020, 0.010, true, true, 0).contains(QStringLiteral("does not know")));
    const QString twice = partingText(0.020, 0.010, false, true, 0, true, true);
    EXPECT_TRUE(twice.contains(QStringLiteral("double precision"))) << twice.toStdString();
    EXPECT_FALSE(twice.contains(QStringLiteral("alibrat"))) << "it would measure single precision: " << twice.toStdString();
}

TEST_F(LiveTest, AKilledWorkerIsAMessageAndLosesNothing)
{
    startTraining(100'000);
    LivePanel& live = window.live();
    ASSERT_TRUE(waitFor([&] { return live.steps().size() >= 3 && live.picture(); }));
    const std::size_t steps = live.steps().size();
    ::kill(static_cast<pid_t>(window.liveRun()->workerId()), SIGKILL);
    ASSERT_TRUE(waitForPhase(LivePhase::crashed));
    EXPECT_TRUE(live.status().headline.contains(QStringLiteral("signal 9"))) << live.status().headline.toStdString();
    EXPECT_TRUE(live.status().detail.contains(QStringLiteral("is kept")));
    EXPECT_GE(live.steps().size(), steps);
    EXPECT_TRUE(live.picture());
    for (const CommandId senseless : {CommandId::pauseRun, CommandId::freezePicture, CommandId::stopRun})
        EXPECT_FALSE(window.isEnabled(senseless)) << textOf(command(senseless)).toStdString();
    EXPECT_TRUE(window.isEnabled(CommandId::trainAgain));
    EXPECT_TRUE(window.isEnabled(CommandId::saveTrace));
}

TEST_F(LiveTest, ASilentWorkerIsALostConnectionThatComesBack)
{
    startTraining(100'000);
    ASSERT_TRUE(waitFor([&] { return window.live().steps().size() >= 2; }));
    const auto worker = static_cast<pid_t>(window.liveRun()->workerId());
    ::kill(worker, SIGSTOP);
    EXPECT_TRUE(waitForPhase(LivePhase::lost));
    EXPECT_FALSE(window.isEnabled(CommandId::pauseRun)) << "nobody would answer";
    EXPECT_FALSE(window.isEnabled(CommandId::freezePicture));
    EXPECT_TRUE(window.isEnabled(CommandId::stopRun)) << "it was started here: by force";
    ::kill(worker, SIGCONT);
    EXPECT_TRUE(waitForPhase(LivePhase::training));
}

TEST_F(LiveTest, AWorkerThatWeEndedByForceDiedOfNothingElse)
{
    startTraining(100'000);
    ASSERT_TRUE(waitFor([&] { return window.live().steps().size() >= 2; }));
    ::kill(static_cast<pid_t>(window.liveRun()->workerId()), SIGSTOP);
    window.run(CommandId::stopRun);
    ASSERT_TRUE(waitFor([&] { return window.live().status().headline.contains(QStringLiteral("by force")); }))
        << window.live().status().headline.toStdString();
    EXPECT_FALSE(window.live().status().headline.contains(QStringLiteral("memory")));
}

TEST_F(LiveTest, AJobTooBigIsToldInNumbersAndShrunkByOneClick)
{
    open(kLarge);
    TrainDialog* dialog = trainDialog();
    ASSERT_TRUE(dialog);
    EXPECT_FALSE(dialog->plan().fits);
    EXPECT_TRUE(dialog->plan().problem.contains(QStringLiteral("16384 ranks"))) << dialog->plan().problem.toStdString();
    for (QPushButton* button : dialog->findChildren<QPushButton*>())
        if (button->text() == QStringLiteral("Shrink to a Tiny Model"))
            button->click();
    ASSERT_TRUE(waitFor([&] { return !dialog->isPreparing(); }));
    EXPECT_TRUE(dialog->plan().fits) << dialog->plan().problem.toStdString();
    EXPECT_LE(dialog->plan().ranks, 64);
    dialog->reject();
}

TEST_F(LiveTest, WithoutTheWorkersProgramItSaysSo)
{
    qputenv("RANKSCOPE_LIVE_PROGRAM", "/no/such/rankscope-live");
    open(kTiny);
    window.run(CommandId::checkSerial);
    auto* dialog = window.findChild<WorkerDialog*>();
    ASSERT_TRUE(dialog);
    ASSERT_TRUE(waitFor([&] { return dialog->isDone(); }));
    EXPECT_TRUE(dialog->message().contains(QStringLiteral("/no/such/rankscope-live")));
    dialog->reject();
    window.train(scenario(document(kTiny)));
    ASSERT_TRUE(waitForPhase(LivePhase::cannotStart));
}

TEST_F(LiveTest, TheViewGoesAndComesBack)
{
    open(kTiny);
    EXPECT_FALSE(window.isEnabled(CommandId::showLive));
    window.attach(QStringLiteral("tcp://127.0.0.1:9"));
    EXPECT_TRUE(window.isLiveShown());
    EXPECT_FALSE(window.isEnabled(CommandId::editOrder));
    window.run(CommandId::showLive);
    EXPECT_FALSE(window.isLiveShown());
    EXPECT_TRUE(window.isEnabled(CommandId::chooseSchedule));
    window.run(CommandId::showLive);
    EXPECT_TRUE(window.isLiveShown());
    QTest::keyClick(&window.live().canvas(LivePicture::timelines), Qt::Key_Escape);
    EXPECT_FALSE(window.isLiveShown());
    EXPECT_TRUE(window.workspace().isVisible());
    EXPECT_TRUE(window.liveRun()) << "the run goes on";
}

TEST_F(LiveTest, ATrainingThatIsLeftIsToldAtTheFootAndHasAWayBack)
{
    startTraining(100'000);
    ASSERT_TRUE(waitForPhase(LivePhase::training));
    auto* away = window.findChild<QToolButton*>(QStringLiteral("runAway"));
    ASSERT_TRUE(away);
    EXPECT_TRUE(away->isHidden());
    window.run(CommandId::showLive);
    ASSERT_FALSE(window.isLiveShown());
    EXPECT_FALSE(away->isHidden());
    const QString first = away->text();
    EXPECT_TRUE(first.contains(QStringLiteral("step"))) << first.toStdString();
    EXPECT_TRUE(waitFor([&] { return away->text() != first; })) << "it goes on";
    window.showGallery();
    EXPECT_FALSE(away->isHidden());
    window.run(CommandId::stopRun);
    EXPECT_TRUE(waitFor([&] { return hasEnded(window.live().status().phase); }));
    EXPECT_FALSE(away->isHidden()) << "nobody has seen how it ended";
    away->click();
    EXPECT_TRUE(window.isLiveShown());
    EXPECT_TRUE(away->isHidden());
    window.showGallery();
    EXPECT_TRUE(away->isHidden());
}

/// Jobs that end by themselves, as the real program does them.
class LiveJobTest : public LiveTest {
protected:
    WorkerDialog* start(CommandId id)
    {
        window.run(id);
        return window.findChild<WorkerDialog*>();
    }
    static QString saidBy(const WorkerDialog& dialog) { return dialog.findChild<QPlainTextEdit*>()->toPlainText(); }
};

TEST_F(LiveJobTest, TheLayoutIsCheckedAgainstSerial)
{
    open(kTiny);
    WorkerDialog* dialog = start(CommandId::checkSerial);
    ASSERT_TRUE(dialog);
    EXPECT_TRUE(dialog->findChild<QProgressBar*>()->isVisible());
    ASSERT_TRUE(waitFor([&] { return dialog->isDone(); }));
    EXPECT_TRUE(dialog->message().contains(QStringLiteral("trains as one rank does"))) << dialog->message().toStdString();
    EXPECT_TRUE(saidBy(*dialog).contains(QStringLiteral("gradient norm"))) << saidBy(*dialog).toStdString();
    EXPECT_FALSE(dialog->findChild<QProgressBar*>()->isVisible());
    dialog->reject();
}

TEST_F(LiveJobTest, AJobIsCancelledAndLeavesNothing)
{
    open(kTiny);
    WorkerDialog* dialog = start(CommandId::calibrate);
    ASSERT_TRUE(dialog);
    ASSERT_TRUE(waitFor([&] { return !saidBy(*dialog).isEmpty(); })); // it is at work
    const qint64 worker = dialog->workerId();
    EXPECT_TRUE(isAlive(worker));
    dialog->reject();
    EXPECT_TRUE(waitFor([&] { return !isAlive(worker); }));
    EXPECT_TRUE(window.session().scenario()->cluster.efficiency.profile.empty());
}

TEST_F(LiveJobTest, CalibratingPredictsWithWhatWasMeasured)
{
    startTraining(6);
    LivePanel& live = window.live();
    ASSERT_TRUE(waitForPhase(LivePhase::finished));
    ASSERT_TRUE(waitFor([&] { return live.isComplete(); }));
    const double before = live.prediction()->simulation->metrics().stepTimeSeconds;
    WorkerDialog* dialog = start(CommandId::calibrate);
    ASSERT_TRUE(dialog);
    ASSERT_TRUE(waitFor([&] { return dialog->isDone(); }));
    EXPECT_TRUE(waitFor([&] { return dialog->message().contains(QStringLiteral("Predicted step")); }))
        << dialog->message().toStdString();
    ASSERT_TRUE(waitFor([&] { return live.prediction()->calibrated; }));
    const sim::Simulation& after = *live.prediction()->simulation;
    EXPECT_FALSE(after.scenario().cluster.efficiency.profile.empty());
    EXPECT_NE(after.metrics().stepTimeSeconds, before);
    EXPECT_FALSE(window.session().scenario()->cluster.efficiency.profile.empty());
    dialog->reject();
    window.session().undoStack().undo();
    EXPECT_TRUE(window.session().scenario()->cluster.efficiency.profile.empty());
    window.run(CommandId::trainAgain);
    EXPECT_TRUE(waitFor([&] { return live.prediction() && live.prediction()->calibrated; }))
        << "what was measured is known still";
}

TEST_F(LiveJobTest, CalibratingARunLeavesAnotherScenarioAlone)
{
    startTraining(4);
    ASSERT_TRUE(waitForPhase(LivePhase::finished));
    open(kSixteen); // another than what was trained
    window.run(CommandId::showLive);
    WorkerDialog* dialog = start(CommandId::calibrate);
    ASSERT_TRUE(dialog);
    ASSERT_TRUE(waitFor([&] { return dialog->isDone(); }));
    ASSERT_TRUE(waitFor([&] { return window.live().prediction() && window.live().prediction()->calibrated; }));
    EXPECT_TRUE(window.session().scenario()->cluster.efficiency.profile.empty());
    EXPECT_FALSE(window.session().isModified());
    dialog->reject();
    open(kTiny); // what is on screen, though a run was watched before
    dialog = start(CommandId::calibrate);
    ASSERT_TRUE(dialog);
    ASSERT_TRUE(waitFor([&] { return dialog->isDone(); }));
    EXPECT_TRUE(waitFor([&] { return dialog->message().contains(QStringLiteral("Predicted step")); }))
        << dialog->message().toStdString();
    EXPECT_FALSE(window.session().scenario()->cluster.efficiency.profile.empty());
    dialog->reject();
}

TEST_F(LiveTest, OneClickInTheGalleryTrainsSixteenRanks)
{
    for (QPushButton* button : window.findChildren<QPushButton*>())
        if (button->text() == QStringLiteral("Start Live Demo")) {
            EXPECT_GT(button->mapTo(&window, QPoint()).y(),
                      window.gallery().findChild<QListView*>()->mapTo(&window, QPoint()).y())
                << "after the lessons";
            button->click();
        }
    ASSERT_TRUE(window.isLiveShown());
    ASSERT_TRUE(waitFor([&] { return !window.live().steps().empty(); })) << window.live().status().detail.toStdString();
    EXPECT_EQ(window.live().prediction()->simulation->mesh().worldSize(), 16);
}

class AttachTest : public testing::Test {
protected:
    void type(const QString& endpoint) { dialog.findChild<QComboBox*>()->setCurrentText(endpoint); }
    bool asksForKeys() const
    {
        for (const QLineEdit* field : dialog.findChildren<QLineEdit*>())
            if (field->accessibleName() == QStringLiteral("Your key file"))
                return !field->parentWidget()->isHidden();
        return false;
    }
    void enter(const QString& name, const QString& text)
    {
        for (QLineEdit* field : dialog.findChildren<QLineEdit*>())
            if (field->accessibleName() == name)
                field->setText(text);
    }
    void attach()
    {
        for (QPushButton* button : dialog.findChildren<QPushButton*>())
            if (button->text() == QStringLiteral("Attach"))
                button->click();
    }
    AttachDialog& dialog = *new AttachDialog; // deletes itself when it is closed
};

TEST_F(AttachTest, KeysAreAskedForWhereARunIsElsewhere)
{
    type(QStringLiteral("tcp://127.0.0.1:5555"));
    EXPECT_FALSE(asksForKeys());
    dialog.findChild<QCheckBox*>()->setChecked(true); // the end of a tunnel
    EXPECT_TRUE(asksForKeys());
    dialog.findChild<QCheckBox*>()->setChecked(false);
    type(QStringLiteral("tcp://node7:5555"));
    EXPECT_TRUE(asksForKeys());
    QString endpoint;
    std::optional<live::ViewerKeys> given;
    QObject::connect(&dialog, &AttachDialog::chosen, [&](const QString& where, const std::optional<live::ViewerKeys>& keys) {
        endpoint = where;
        given = keys;
    });
    attach();
    EXPECT_TRUE(endpoint.isEmpty()) << "no keys, no attaching";
    QTemporaryDir folder;
    const live::KeyPair own = live::createKeyFiles(folder.filePath(QStringLiteral("me")).toStdString());
    const live::KeyPair run = live::createKeyFiles(folder.filePath(QStringLiteral("run")).toStdString());
    enter(QStringLiteral("Your key file"), folder.filePath(QStringLiteral("me")));
    enter(QStringLiteral("Key of the run"), folder.filePath(QStringLiteral("run.pub")));
    attach();
    EXPECT_EQ(endpoint, QStringLiteral("tcp://node7:5555"));
    ASSERT_TRUE(given);
    EXPECT_EQ(given->own.publicKey, own.publicKey);
    EXPECT_EQ(given->serverPublicKey, run.publicKey);
    EXPECT_EQ(recentAddresses().value(0), endpoint);
}

/// The programs themselves: a run in one process, a picture of it by another.
TEST(AttachFromTheCommandLine, APictureOfARunThatListens)
{
    QTemporaryDir folder;
    const QString endpoint = QStringLiteral("ipc://") + folder.filePath(QStringLiteral("run"));
    const QString picture = folder.filePath(QStringLiteral("out.png"));
    QProcess run;
    run.start(QStringLiteral(RANKSCOPE_BIN_DIR "/rankscope-live"),
              {QStringLiteral("run"), galleryFile(kTiny), QStringLiteral("--listen"), endpoint, QStringLiteral("--steps"),
               QStringLiteral("100000")});
    ASSERT_TRUE(run.waitForStarted());
    QProcess window;
    window.start(QStringLiteral(RANKSCOPE_BIN_DIR "/rankscope"),
                 {QStringLiteral("--attach"), endpoint, QStringLiteral("--screenshot"), picture});
    ASSERT_TRUE(window.waitForFinished(60'000 * ::test::patience()));
    EXPECT_EQ(window.exitCode(), 0) << window.readAllStandardError().toStdString();
    EXPECT_EQ(QImage(picture).size(), QSize(1600, 900));
    EXPECT_EQ(run.state(), QProcess::Running) << "a viewer that leaves ends nothing";
    run.terminate();
    EXPECT_TRUE(run.waitForFinished(10'000 * ::test::patience()));
}

} // namespace
} // namespace app
