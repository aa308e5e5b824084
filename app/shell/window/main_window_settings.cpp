// Settings of other frameworks: taken up as a scenario, and the scenario as settings.
#include "app/session/settings_import.h"
#include "app/shell/dialogs/copy_settings_dialog.h"
#include "app/shell/dialogs/settings_import_dialog.h"
#include "app/shell/widgets/problem_banner.h"
#include "app/shell/window/main_window.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QStatusBar>

#include <utility>

namespace app {
namespace {

constexpr int kToldForMs = 6000;

} // namespace

void MainWindow::chooseSettings()
{
    const QStringList paths = QFileDialog::getOpenFileNames(
        this, tr("Import Settings"), m_session.path().isEmpty() ? QString() : QFileInfo(m_session.path()).path(),
        tr("Scripts and settings (*.sh *.bash *.slurm *.sbatch *.py *.yaml *.yml *.toml *.json *.txt *.log);;All files (*)"));
    if (paths.isEmpty())
        return;
    const Problems problems = importSettings(paths);
    if (!problems.empty())
        tellUnopened(paths.front(), problems, {});
}

Problems MainWindow::importSettings(const QStringList& paths, const QStringList& overrides)
{
    return problemsOf(paths.front(), [&]() -> Problems { return importSettings(SettingsImport::read(paths), overrides); });
}

/// Files of one job, from wherever they come. Throws sim::Error.
Problems MainWindow::importSettings(std::vector<sim::SettingsFile> files, const QStringList& overrides)
{
    SettingsImport settings(std::move(files), m_session.catalogue());
    if (!mayLoseChanges())
        return {};
    auto* dialog = new SettingsImportDialog(std::move(settings), this);
    connect(dialog, &SettingsImportDialog::chosen, this, [this, overrides](sim::ScenarioDocument document) {
        const Problems problems = problemsOf(Session::overridesText(overrides), [&]() -> Problems {
            for (const QString& assignment : overrides)
                document.applyOverride(assignment.toStdString());
            return {};
        });
        m_banner->dismiss();
        m_session.startNew(document);
        if (!problems.empty())
            m_banner->tell(tr("Not all of the command line could be set"), problems);
    });
    dialog->open();
    return {};
}

void MainWindow::copySettings()
{
    auto* dialog = new CopySettingsDialog(*m_session.scenario(), m_session.catalogue(), exportName(), this);
    connect(dialog, &CopySettingsDialog::copied, this,
            [this](const QString& name) { statusBar()->showMessage(tr("Copied as %1").arg(name), kToldForMs); });
    connect(dialog, &CopySettingsDialog::saved, this, &MainWindow::tellSaved);
    dialog->open();
}

} // namespace app
