// Live runs in the main window: starting, attaching, freezing, saving, checking, calibrating.
#include "app/session/plain_words.h"
#include "app/session/scenario_name.h"
#include "app/session/settings.h"
#include "app/session/training_plan.h"
#include "app/shell/dialogs/attach_dialog.h"
#include "app/shell/dialogs/train_dialog.h"
#include "app/shell/dialogs/worker_dialog.h"
#include "app/shell/live/live_panel.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/problem_banner.h"
#include "app/shell/widgets/save_file.h"
#include "app/shell/window/main_window.h"
#include "live/stream/keys.h"
#include "sim/scenario/document.h"
#include "sim/scenario/files.h"
#include "sim/scenario/hardware_profile.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QMessageBox>
#include <QStandardPaths>
#include <QStatusBar>
#include <QSysInfo>

#include <array>
#include <cmath>

namespace app {

LivePanel* MainWindow::buildLive(QWidget* parent)
{
    auto* out = new LivePanel(m_options.renderer, parent);
    out->setTheme(themeFor(m_settings.theme));
    out->setActions({action(CommandId::pauseRun), action(CommandId::freezePicture), action(CommandId::stopRun),
                     action(CommandId::trainAgain), action(CommandId::leavePage)});
    out->setCalibrate(*action(CommandId::calibrate));
    connect(out, &LivePanel::stepChosen, this, [this](int step) {
        if (!m_run)
            return;
        m_run->pin(step);
        m_live->setPinned(step);
        updateActions();
    });
    showTermsOnCards();
    return out;
}

bool MainWindow::runIsActive() const
{
    return m_run && !hasEnded(m_run->status().phase);
}

bool MainWindow::mayEndRun()
{
    if (!runIsActive() || !m_run->isOwn() || m_options.reproducible)
        return true;
    return QMessageBox::question(this, tr("A training is running"),
                                 tr("Stop it? What was received is lost unless you save its trace."),
                                 QMessageBox::Yes | QMessageBox::No, QMessageBox::No) == QMessageBox::Yes;
}

void MainWindow::watch(std::unique_ptr<LiveRun> run, const QString& name)
{
    m_run = std::move(run);
    m_live->startAnew(name);
    connect(m_run.get(), &LiveRun::updated, this, &MainWindow::showUpdate);
    connect(m_run.get(), &LiveRun::traceSaved, this,
            [this](const QString& path) { statusBar()->showMessage(tr("Saved %1").arg(QFileInfo(path).fileName()), 4000); });
    connect(m_run.get(), &LiveRun::traceNotSaved, this, [this](const QString& message) {
        m_banner->tell(tr("The trace cannot be saved"), {{{}, {}, message.toStdString(), sim::Severity::error}});
    });
    m_banner->dismiss();
    showLive();
}

void MainWindow::train(const sim::Scenario& scenario)
{
    m_run.reset(); // the worker before it ends first
    m_trained = scenario;
    m_trainedKnows.reset();
    watch(std::make_unique<LiveRun>(LaunchOptions{.scenario = scenario, .program = {}}, m_session.catalogue()), nameOf(scenario));
}

void MainWindow::attach(const QString& endpoint, const std::optional<live::ViewerKeys>& keys)
{
    m_run.reset();
    watch(std::make_unique<LiveRun>(AttachOptions{.endpoint = endpoint, .keys = keys}, m_session.catalogue()), endpoint);
}

void MainWindow::showUpdate(const LiveUpdate& update)
{
    const LivePhase before = m_live->status().phase;
    const bool first = !m_live->picture() && update.picture;
    m_live->show(update);
    const bool isTold = update.run && !hasEnded(update.status.phase) && !m_options.reproducible; // while it trained
    if (const qint64 trains = isTold ? processHere(*update.run) : 0; trains != 0)
        if (const auto cores = m_load.othersCores(std::array{trains, QCoreApplication::applicationPid()}))
            m_live->setOthersCores(*cores);
    if (isLiveShown())
        showStatus();
    else
        showRunAway();
    if (before != update.status.phase || first)
        updateActions();
}

void MainWindow::chooseTraining()
{
    if (!mayEndRun())
        return;
    auto* dialog = new TrainDialog(m_desk.simulation(), m_session.catalogue(), thisMachine(), this);
    connect(dialog, &TrainDialog::chosen, this, &MainWindow::train);
    dialog->open();
}

void MainWindow::trainAgain()
{
    if (!m_trained)
        return;
    const auto measured = m_trainedKnows;
    train(sim::Scenario(*m_trained)); // of its own: it is remembered anew
    m_trainedKnows = measured;
    if (measured)
        m_run->predictWith(*measured);
}

void MainWindow::startDemo(const QString& path)
{
    const auto isOpen = [&] { return QFileInfo(m_session.path()) == QFileInfo(path); }; // or changes were worth keeping
    if (mayEndRun() && openFile(path).empty() && isOpen() && m_session.scenario())
        train(*m_session.scenario());
}

void MainWindow::chooseAddress()
{
    if (!mayEndRun())
        return;
    auto* dialog = new AttachDialog(this);
    connect(dialog, &AttachDialog::chosen, this, &MainWindow::attach);
    dialog->open();
}

void MainWindow::freezePicture(bool on)
{
    std::optional<int> step;
    if (on && m_live->picture())
        step = m_live->picture()->step;
    m_run->pin(step);
    m_live->setPinned(step);
    updateActions();
}

void MainWindow::chooseTraceFile()
{
    const QString path = chooseSaveFile(this, tr("Save Trace"), QStringLiteral("run.pftrace"),
                                        tr("Perfetto (*.pftrace);;Chrome trace events (*.json)"));
    if (!path.isEmpty())
        m_run->saveTrace(path);
}

void MainWindow::checkSerial()
{
    auto* dialog = new WorkerDialog(
        {.title = tr("Check Against Serial"),
         .what = tr("%1: trains a few steps as laid out, and the same micro-batches on one rank; compares loss, gradient norm, "
                    "gathered gradients and weights.")
                     .arg(nameOf(m_desk.simulation()->scenario())),
         .arguments = {QStringLiteral("run"), QStringLiteral("%FILE%"), QStringLiteral("--check-serial")},
         .program = {},
         .scenario = QByteArray::fromStdString(sim::resolvedText(m_desk.simulation()->scenario())),
         .good = tr("The layout trains as one rank does."),
         .bad = tr("It could not be shown that the layout trains as one rank does.")},
        this);
    dialog->open();
}

/// What the step on screen takes: of the run on the live page, else of the scenario that is open.
struct MainWindow::Predicted {
    sim::Scenario scenario;
    double seconds = 0;         ///< 0: it is not predicted
    double measuredSeconds = 0; ///< as if parallel; 0 where nothing was
};

MainWindow::Predicted MainWindow::predictedNow() const
{
    const LivePanel* const panel = isRunOnScreen() ? m_live.ifPlaced() : nullptr;
    const PredictionPtr ofRun = panel != nullptr ? panel->prediction() : nullptr;
    const SimulationPtr simulation = panel == nullptr ? m_desk.simulation() : ofRun ? ofRun->simulation : nullptr;
    if (!simulation)
        return {};
    const StepPicturePtr picture = panel != nullptr ? panel->picture() : nullptr;
    return {.scenario = simulation->scenario(),
            .seconds = simulation->metrics().stepTimeSeconds,
            .measuredSeconds = picture && picture->complete ? static_cast<double>(picture->parallel.stepNs) * 1e-9 : 0};
}

bool MainWindow::isRunOnScreen() const
{
    return m_run && isLiveShown();
}

/// What is measured here says nothing of a run on another machine.
bool MainWindow::calibratesRun() const
{
    if (!isRunOnScreen())
        return false;
    const LivePanel* const panel = m_live.ifPlaced();
    const live::RunDescription* const told = panel != nullptr ? panel->run() : nullptr;
    return m_run->isOwn() || (told != nullptr && isOnThisMachine(*told));
}

/// The scenario that is open: no run is on screen, or that scenario is what it trains.
bool MainWindow::calibratesScenario() const
{
    if (!m_session.isOpen() || !m_session.scenario())
        return false;
    if (!isRunOnScreen())
        return true;
    if (!m_run->isOwn() || !m_trained)
        return false;
    sim::Scenario trained = *m_trained;
    trained.live = m_session.scenario()->live; // steps and device are asked for each time
    return sim::resolvedText(trained) == sim::resolvedText(*m_session.scenario());
}

/// Predicts with what was measured, and says in the dialog: "12.1 ms instead of 10.5 ms; measured 12.8 ms".
void MainWindow::useProfile(const QString& path, const Predicted& before, WorkerDialog& dialog)
{
    const std::string file = path.toStdString();
    const sim::HardwareProfile profile =
        sim::readHardwareProfile(sim::readFile(file, sim::kMostProfileBytes), file, m_session.catalogue().schema());
    if (calibratesScenario())
        m_session.edit(makeKeyEdit("/cluster/efficiency", app::quoted(file), "efficiency", "catalogue", "measured"));
    sim::Scenario scenario = before.scenario;
    sim::Efficiency& efficiency = scenario.cluster.efficiency;
    efficiency.id = QFileInfo(path).completeBaseName().toStdString();
    efficiency.profile = profile;
    if (calibratesRun()) {
        m_run->predictWith(efficiency);
        if (m_run->isOwn())
            m_trainedKnows = efficiency;
    }
    if (before.seconds <= 0 || !(calibratesRun() || calibratesScenario()))
        return;
    auto* worker = new Worker(&dialog); // who closes the dialog does not want to know
    worker->ask(
        0, [scenario = std::move(scenario)] { return simulateBeside(sim::simulate, scenario)->metrics().stepTimeSeconds; },
        [&dialog, before](double seconds) {
            QString text = tr("Predicted step: %1, before %2.")
                               .arg(durationQuantity(seconds).text(), durationQuantity(before.seconds).text());
            if (before.measuredSeconds > 0) {
                text += tr(" Measured, as if parallel: %1.").arg(durationQuantity(before.measuredSeconds).text());
                const auto apart = [&](double predicted) { return std::abs(std::log(predicted / before.measuredSeconds)); };
                if (before.scenario.live.dtype == "fp64")
                    text += tr(" It trains in double precision (fp64), and predictions are of single.");
                else if (apart(seconds) > apart(before.seconds))
                    text += tr(" That is further from it than before: this machine, or the run, may have been busy.");
            }
            dialog.addResult(text);
        },
        [&dialog](const QString& why) { dialog.addResult(tr("What was measured cannot be used: %1").arg(why)); });
}

void MainWindow::calibrate()
{
    const QString folder = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + QStringLiteral("/profiles");
    QDir().mkpath(folder);
    const QString path = folder + QStringLiteral("/%1.json").arg(QSysInfo::machineHostName());
    const Predicted before = predictedNow();
    const QString device = QString::fromStdString(before.seconds > 0 ? before.scenario.live.device : sim::LiveSettings().device);
    QString what = tr("Measures matrix products, attention, memory and collectives of this machine, for about five seconds; best "
                      "while nothing else runs. ");
    if (!isRunOnScreen())
        what += tr("The scenario on screen is then predicted with them; undo takes that back.");
    else if (!calibratesRun())
        what += tr("The run on screen is of another machine: its predictions stay as they are. What is measured is kept in %1.")
                    .arg(path);
    else if (calibratesScenario())
        what += tr("The run's steps and %1 are then predicted with them; undo, beside the scenario, takes its part back.")
                    .arg(nameOf(*m_session.scenario()));
    else
        what += tr("The run's steps are then predicted with them.");
    auto* dialog = new WorkerDialog({.title = tr("Calibrate"),
                                     .what = what,
                                     .arguments = {QStringLiteral("profile"), QStringLiteral("--device"), device,
                                                   QStringLiteral("--quick"), QStringLiteral("--out"), path},
                                     .program = {},
                                     .scenario = {},
                                     .good = tr("Measured."),
                                     .bad = tr("This machine could not be measured.")},
                                    this);
    connect(dialog, &WorkerDialog::succeeded, this, [this, dialog, path, before] {
        const Problems problems = problemsOf({}, [&]() -> Problems {
            useProfile(path, before, *dialog);
            return {};
        });
        if (!problems.empty())
            dialog->addResult(
                tr("What was measured cannot be used: %1").arg(plainWords(QString::fromStdString(problems.front().text()))));
    });
    dialog->open();
}

} // namespace app
