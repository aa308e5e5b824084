// Recorded runs in the main window: opening files of other profilers, predicting, comparing, and what if from such a run.
#include "app/canvas/qt/figure.h"
#include "app/session/edit.h"
#include "app/session/trace_file.h"
#include "app/shell/recorded/cache_question.h"
#include "app/shell/recorded/predict_dialog.h"
#include "app/shell/recorded/recorded_film.h"
#include "app/shell/recorded/recorded_panel.h"
#include "app/shell/recorded/recorded_words.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/problem_banner.h"
#include "app/shell/widgets/save_file.h"
#include "app/shell/window/file_filters.h"
#include "app/shell/window/main_window.h"
#include "app/shell/window/transport_bar.h"
#include "app/views/common/table.h"
#include "app/views/timeline/timeline_view.h"
#include "sim/error.h"
#include "sim/scenario/document.h"
#include "sim/scenario/files.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QStandardPaths>
#include <QStatusBar>

namespace app {

RecordedPanel* MainWindow::buildRecorded(QWidget* parent)
{
    auto* out = new RecordedPanel(m_options.renderer, parent);
    constexpr QSize kLeast{484, 376}; // 1024 × 640 at text of 200 %, but for the bars that scroll and the one that plays
    out->setMinimumSize(kLeast);
    m_recorded.area()->setFoot(&out->transport());
    out->setTheme(themeFor(m_settings.theme), assetsPath());
    out->setRows(m_desk.wantsKernels() ? RecordedRows::streams : RecordedRows::timeUse);
    out->setActions({action(CommandId::predictRecorded), action(CommandId::whatIfRecorded), action(CommandId::compareRecorded),
                     action(CommandId::leavePage)});
    connect(out, &RecordedPanel::openOtherRequested, this, &MainWindow::chooseFile);
    connect(&out->cacheQuestion(), &CacheQuestion::answered, this,
            [this](CacheChoice choice) { tellIfForgotten(setCacheChoice(choice)); });
    connect(out, &RecordedPanel::changed, this, [this] {
        updateActions();
        if (isRecordedShown() || statusBar()->currentMessage() == m_recordedBusy)
            statusBar()->clearMessage();
    });
    showTermsOnCards();
    return out;
}

void MainWindow::openTraces(const QStringList& paths)
{
    m_banner->dismiss();
    m_recorded->open(std::make_unique<RecordedRun>(paths, m_session.catalogue(), &TimelineView::prepare));
    connect(recordedRun(), &RecordedRun::saved, this, &MainWindow::tellSaved);
    connect(recordedRun(), &RecordedRun::recovered, this, [this] { // until then its pictures cannot have the keys
        if (isRecordedShown() && !m_recorded.area()->isAncestorOf(focusWidget()))
            m_recorded->timelineCanvas().setFocus();
    });
    if (!m_options.reproducible)
        connect(recordedRun(), &RecordedRun::recovered, this, [this, run = recordedRun()] {
            m_recorded->cacheQuestion().consider(run->paths(), run->mayKeepCache() && run->isLarge(), cacheChoice());
            if (run->paths().size() == 1) // not before it could be read
                tellIfForgotten(addRecentFile(run->paths().front()));
        });
    showRecorded();
}

bool MainWindow::isRecordedShown() const
{
    return isShown(m_recorded.area());
}

RecordedRun* MainWindow::recordedRun() const
{
    const RecordedPanel* panel = m_recorded.ifPlaced();
    return panel == nullptr ? nullptr : panel->run();
}

bool MainWindow::hasRecordedRun() const
{
    return recordedRun() && recordedRun()->run();
}

void MainWindow::showRecorded()
{
    showPage(*m_recorded.area());
    m_recorded->timelineCanvas().setFocus();
}

void MainWindow::chooseTraceFolder()
{
    const QString folder = QFileDialog::getExistingDirectory(this, tr("Open the Folder of a Recorded Run"));
    if (!folder.isEmpty())
        openTraces({folder});
}

void MainWindow::predictRecorded()
{
    RecordedRun& run = *recordedRun();
    const bool isOpen = m_session.isOpen() && m_session.isLegal();
    auto* dialog = new PredictDialog(m_session.catalogue(), run.run()->recovered.axes.worldSize,
                                     isOpen ? m_session.displayName() : QString(),
                                     isOpen ? sim::resolvedText(*m_session.scenario()) : std::string(), this);
    connect(dialog, &PredictDialog::chosen, this, [this](const QString& name, const std::string& text) {
        if (!recordedRun())
            return;
        m_recordedBusy = tr("Predicting…");
        statusBar()->showMessage(m_recordedBusy);
        recordedRun()->predict(name, text);
    });
    connect(dialog, &PredictDialog::fileRequested, this, [this] {
        const QString path =
            QFileDialog::getOpenFileName(this, tr("A Scenario With the Run's Model and Cluster"), {}, scenarioFilter());
        if (!path.isEmpty() && recordedRun())
            predictRecordedAs(path);
    });
    dialog->open();
}

Problems MainWindow::predictRecordedAs(const QString& path)
{
    Problems problems = problemsOf(path, [&]() -> Problems {
        auto resolved = readDocument(path).resolve(m_session.catalogue());
        if (!resolved.scenario)
            return resolved.problems;
        m_recordedBusy = tr("Predicting…");
        statusBar()->showMessage(m_recordedBusy);
        recordedRun()->predict(QFileInfo(path).completeBaseName(), sim::resolvedText(*resolved.scenario));
        return {};
    });
    if (!problems.empty())
        m_banner->tell(tr("%1 cannot be predicted from").arg(QFileInfo(path).fileName()), problems);
    return problems;
}

/// The recovered job as a scenario that predicts with what was measured: whatever is changed in it is predicted from that run.
void MainWindow::whatIfFromRecorded()
{
    const RecordedPredictionPtr prediction = recordedRun()->prediction();
    if (!prediction || !prediction->calibration || !mayLoseChanges())
        return;
    const sim::RunCalibration& calibration = *prediction->calibration;
    const QString folder = m_options.reproducible
                               ? QDir::tempPath()
                               : QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + QStringLiteral("/profiles");
    const std::string profile = sim::calibratedProfileText(traceName(recordedRun()->paths()).toStdString(), calibration);
    const QString file = folder + QStringLiteral("/measured-%1.json").arg(measuredProfileName(recordedRun()->paths(), profile));
    const QString text = whatIfText(recordedRun()->name(), calibration);
    const Problems problems = problemsOf({}, [&]() -> Problems {
        QDir().mkpath(folder);
        sim::replaceFile(file.toStdString(), profile);
        auto document = sim::ScenarioDocument::parse(sim::resolvedText(prediction->scenario));
        document.set("/name", app::quoted(tr("What if, from %1").arg(recordedRun()->name()).toStdString()));
        document.set("/description", app::quoted(text.toStdString()));
        document.set("/cluster/efficiency", app::quoted(file.toStdString()));
        m_session.startNew(document);
        return {};
    });
    if (!problems.empty()) {
        m_banner->tell(tr("What was measured cannot be used"), problems);
        return;
    }
    statusBar()->showMessage(text, 20'000);
}

void MainWindow::compareRecorded()
{
    compareRecordedWith(QFileDialog::getOpenFileNames(this, tr("Another Run of This Job"), {}, recordedFilter()));
}

void MainWindow::compareRecordedFolder()
{
    const QString folder = QFileDialog::getExistingDirectory(this, tr("The Folder of Another Run of This Job"));
    compareRecordedWith(folder.isEmpty() ? QStringList() : QStringList{folder});
}

void MainWindow::compareRecordedWith(const QStringList& paths)
{
    if (paths.isEmpty())
        return;
    m_recordedBusy = tr("Reading %1…").arg(traceName(paths));
    statusBar()->showMessage(m_recordedBusy);
    recordedRun()->compareWith(paths);
}

/// The step that is shown, as it plays.
void MainWindow::exportRecordedFilm()
{
    openFilmDialog(recordedFilm(*recordedRun(), m_recorded->selection()), recordedRun()->name());
}

/// The table that is in front.
void MainWindow::exportRecordedTable()
{
    const QString path =
        chooseSaveFile(this, tr("Export Table"), recordedRun()->name() + QStringLiteral(".csv"), tr("Tables (*.csv)"));
    if (path.isEmpty())
        return;
    try {
        sim::replaceFile(path.toStdString(), csvText(m_recorded->shownTable()));
        tellSaved(path);
    } catch (const sim::Error& error) {
        tellNotSaved(path, QString::fromUtf8(error.what()));
    }
}

void MainWindow::saveRecorded()
{
    const QString path = chooseSaveFile(this, tr("Save the Recorded Run as One Trace"), QStringLiteral("run.pftrace"),
                                        tr("Perfetto (*.pftrace);;Chrome trace events (*.json)"));
    if (path.isEmpty())
        return;
    statusBar()->showMessage(tr("Writing %1…").arg(QFileInfo(path).fileName()));
    recordedRun()->save(path);
}

} // namespace app
