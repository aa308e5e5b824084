// Live runs in the main window: starting, attaching, freezing, saving, checking, calibrating.
#include "app/session/settings.h"
#include "app/session/training_plan.h"
#include "app/shell/live_panel.h"
#include "app/shell/main_window.h"
#include "app/shell/problem_banner.h"
#include "app/shell/train_dialog.h"
#include "app/shell/worker_dialog.h"
#include "live/stream/keys.h"
#include "sim/scenario/document.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QInputDialog>
#include <QMessageBox>
#include <QStandardPaths>
#include <QStatusBar>
#include <QSysInfo>

namespace app {

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
    connect(m_live, &LivePanel::stepChosen, m_run.get(), [this](int step) {
        m_run->pin(step);
        m_live->setPinned(step);
        updateActions();
    });
    m_banner->dismiss();
    showLive();
}

void MainWindow::train(const sim::Scenario& scenario)
{
    m_run.reset(); // the worker before it ends first
    watch(std::make_unique<LiveRun>(LaunchOptions{.scenario = scenario, .program = {}}, m_session.catalogue()),
          QString::fromStdString(scenario.name));
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
    if (isLiveShown())
        showStatus();
    if (before != update.status.phase || first)
        updateActions();
}

void MainWindow::chooseTraining()
{
    if (!mayEndRun())
        return;
    auto* dialog = new TrainDialog(m_simulation, m_session.catalogue(), thisMachine(), this);
    connect(dialog, &TrainDialog::chosen, this, &MainWindow::train);
    dialog->open();
}

void MainWindow::chooseAddress()
{
    if (!mayEndRun())
        return;
    auto* dialog = new QInputDialog(this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Attach to a Run"));
    dialog->setLabelText(tr("Address that the run listens at, as in\nrankscope-live run FILE --listen tcp://127.0.0.1:5555"));
    dialog->setTextValue(QStringLiteral("tcp://127.0.0.1:5555"));
    dialog->setOkButtonText(tr("Attach"));
    connect(dialog, &QInputDialog::textValueSelected, this, [this](const QString& endpoint) { attach(endpoint.trimmed()); });
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
    const QString path = QFileDialog::getSaveFileName(this, tr("Save Trace"), QStringLiteral("run.pftrace"),
                                                      tr("Perfetto (*.pftrace);;Chrome trace events (*.json)"));
    if (!path.isEmpty())
        m_run->saveTrace(QFileInfo(path).suffix().isEmpty() ? path + QStringLiteral(".pftrace") : path);
}

void MainWindow::checkSerial()
{
    auto* dialog = new WorkerDialog(
        {.title = tr("Check Against Serial"),
         .what =
             tr("Trains a few steps as laid out, and the same micro-batches on one rank; compares loss, gradient norm, gathered "
                "gradients and weights."),
         .arguments = {QStringLiteral("run"), QStringLiteral("%FILE%"), QStringLiteral("--check-serial")},
         .program = {},
         .scenario = QByteArray::fromStdString(sim::resolvedText(m_simulation->scenario())),
         .good = tr("The layout trains as one rank does."),
         .bad = tr("It could not be shown that the layout trains as one rank does.")},
        this);
    dialog->open();
}

void MainWindow::calibrate()
{
    const QString folder = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + QStringLiteral("/profiles");
    QDir().mkpath(folder);
    const QString path = folder + QStringLiteral("/%1.json").arg(QSysInfo::machineHostName());
    auto* dialog = new WorkerDialog(
        {.title = tr("Calibrate"),
         .what = tr("Measures matrix products, attention, memory and collectives of this machine. The scenario on screen is then "
                    "predicted with them; undo takes that back."),
         .arguments = {QStringLiteral("profile"), QStringLiteral("--device"), QStringLiteral("auto"), QStringLiteral("--out"),
                       path},
         .program = {},
         .scenario = {},
         .good = tr("Measured: %1").arg(path),
         .bad = tr("This machine could not be measured.")},
        this);
    connect(dialog, &WorkerDialog::succeeded, this, [this, path] {
        if (m_session.isOpen())
            m_session.edit(
                makeKeyEdit("/cluster/efficiency", app::quoted(path.toStdString()), "efficiency", "catalogue", "measured"));
    });
    dialog->open();
}

} // namespace app
