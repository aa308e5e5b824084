// Recorded runs in the main window: opening files of other profilers, predicting, comparing, and what if from such a run.
#include "app/canvas/qt/figure.h"
#include "app/session/edit.h"
#include "app/session/trace_file.h"
#include "app/shell/recorded/cache_question.h"
#include "app/shell/recorded/predict_dialog.h"
#include "app/shell/recorded/recorded_film.h"
#include "app/shell/recorded/recorded_panel.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/problem_banner.h"
#include "app/shell/widgets/save_file.h"
#include "app/shell/window/main_window.h"
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

#include <cmath>

namespace app {
namespace {

QString traceFilter()
{
    return MainWindow::tr("Recorded runs (*.json *.gz *.zst *.pftrace *.perfetto-trace *.sqlite *.pickle *.pkl);;All files (*)");
}

} // namespace

void MainWindow::openTraces(const QStringList& paths)
{
    m_banner->dismiss();
    m_recorded->open(std::make_unique<RecordedRun>(paths, m_session.catalogue(), &TimelineView::prepare));
    connect(m_recorded->run(), &RecordedRun::saved, this, &MainWindow::tellSaved);
    if (!m_options.reproducible)
        connect(m_recorded->run(), &RecordedRun::recovered, this, [this, run = m_recorded->run()] {
            m_recorded->cacheQuestion().consider(run->paths(), run->mayKeepCache() && run->isLarge(), cacheChoice());
        });
    if (!m_options.reproducible && paths.size() == 1)
        addRecentFile(QFileInfo(paths.front()).absoluteFilePath());
    showRecorded();
}

bool MainWindow::isRecordedShown() const
{
    return isPage(m_recorded);
}

bool MainWindow::hasRecordedRun() const
{
    return m_recorded->run() && m_recorded->run()->run();
}

void MainWindow::showRecorded()
{
    showPage(m_recorded);
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
    RecordedRun& run = *m_recorded->run();
    const bool isOpen = m_session.isOpen() && m_session.isLegal();
    auto* dialog = new PredictDialog(m_session.catalogue(), run.run()->recovered.axes.worldSize,
                                     isOpen ? m_session.displayName() : QString(),
                                     isOpen ? sim::resolvedText(*m_session.scenario()) : std::string(), this);
    const auto predict = [this](const QString& name, const std::string& text) {
        if (!m_recorded->run())
            return;
        m_recordedBusy = tr("Predicting…");
        statusBar()->showMessage(m_recordedBusy);
        m_recorded->run()->predict(name, text);
    };
    connect(dialog, &PredictDialog::chosen, this, predict);
    connect(dialog, &PredictDialog::fileRequested, this, [this, predict] {
        const QString path = QFileDialog::getOpenFileName(this, tr("A Scenario With the Run's Model and Cluster"), {},
                                                          tr("Scenarios (*.json);;All files (*)"));
        if (!path.isEmpty())
            predictRecordedAs(path);
    });
    dialog->open();
}

Problems MainWindow::predictRecordedAs(const QString& path)
{
    Problems problems = problemsOf(path, [&]() -> Problems {
        auto resolved = readDocument(path).resolve(m_session.catalogue());
        if (resolved.scenario)
            m_recorded->run()->predict(QFileInfo(path).completeBaseName(), sim::resolvedText(*resolved.scenario));
        return resolved.scenario ? Problems() : resolved.problems;
    });
    if (!problems.empty())
        m_banner->tell(tr("%1 cannot be predicted from").arg(QFileInfo(path).fileName()), problems);
    return problems;
}

/// The recovered job as a scenario that predicts with what was measured: whatever is changed in it is predicted from that run.
void MainWindow::whatIfFromRecorded()
{
    const RecordedPredictionPtr prediction = m_recorded->run()->prediction();
    if (!prediction || !prediction->calibration || !mayLoseChanges())
        return;
    const sim::RunCalibration& calibration = *prediction->calibration;
    const QString folder = m_options.reproducible
                               ? QDir::tempPath()
                               : QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + QStringLiteral("/profiles");
    const std::string profile = sim::calibratedProfileText(traceName(m_recorded->run()->paths()).toStdString(), calibration);
    const QString file =
        folder + QStringLiteral("/measured-%1.json").arg(measuredProfileName(m_recorded->run()->paths(), profile));
    QString text = tr("Predicts from %1: its step %2 against %3 measured (%4%5 %).")
                       .arg(m_recorded->run()->name(), durationQuantity(calibration.calibratedSeconds).text(),
                            durationQuantity(calibration.measuredSeconds).text(),
                            calibration.errorAfter() >= 0 ? QStringLiteral("+") : QStringLiteral("−"))
                       .arg(std::abs(calibration.errorAfter()) * 100, 0, 'f', 1);
    if (calibration.heldOut)
        text += tr(" Steps it has not seen: %1%2 %.")
                    .arg(calibration.heldOut->error() >= 0 ? QStringLiteral("+") : QStringLiteral("−"))
                    .arg(std::abs(calibration.heldOut->error()) * 100, 0, 'f', 1);
    const Problems problems = problemsOf({}, [&]() -> Problems {
        QDir().mkpath(folder);
        sim::replaceFile(file.toStdString(), profile);
        auto document = sim::ScenarioDocument::parse(sim::resolvedText(prediction->scenario));
        document.set("/name", app::quoted(tr("What if, from %1").arg(m_recorded->run()->name()).toStdString()));
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
    compareRecordedWith(QFileDialog::getOpenFileNames(this, tr("Another Run of This Job"), {}, traceFilter()));
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
    m_recorded->run()->compareWith(paths);
}

/// The step that is shown, as it plays.
void MainWindow::exportRecordedFilm()
{
    openFilmDialog(recordedFilm(*m_recorded->run(), m_recorded->selection()), m_recorded->run()->name());
}

/// The table that is in front.
void MainWindow::exportRecordedTable()
{
    const QString path =
        chooseSaveFile(this, tr("Export Table"), m_recorded->run()->name() + QStringLiteral(".csv"), tr("Tables (*.csv)"));
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
    m_recorded->run()->save(path);
}

} // namespace app
