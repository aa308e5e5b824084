// Settings of other frameworks: taken up as a scenario, and the scenario as settings.
#include "app/session/settings.h"
#include "app/session/settings_import.h"
#include "app/shell/dialogs/copy_settings_dialog.h"
#include "app/shell/dialogs/settings_import_dialog.h"
#include "app/shell/widgets/problem_banner.h"
#include "app/shell/window/file_filters.h"
#include "app/shell/window/main_window.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QStatusBar>

#include <optional>
#include <utility>

namespace app {
namespace {

constexpr int kToldForMs = 6000;

} // namespace

void MainWindow::chooseSettings()
{
    const QStringList paths = QFileDialog::getOpenFileNames(
        this, tr("Import Settings"), m_session.path().isEmpty() ? QString() : QFileInfo(m_session.path()).path(),
        settingsFilter());
    if (paths.isEmpty())
        return;
    const Problems problems = importSettings(paths);
    if (!problems.empty())
        tellUnopened(paths.front(), problems, {});
}

Problems MainWindow::importSettings(const QStringList& paths, const QStringList& overrides)
{
    std::optional<SettingsImport> settings;
    Problems problems;
    const QString failure = readBeside(paths, [&settings, &problems, &paths, &catalogue = m_session.catalogue()] {
        problems = problemsOf(paths.front(), [&]() -> Problems {
            settings.emplace(SettingsImport::read(paths), catalogue);
            return {};
        });
    });
    if (!failure.isEmpty())
        problems = {{paths.front().toStdString(), {}, failure.toStdString(), sim::Severity::error}};
    if (problems.empty())
        importSettings(std::move(*settings), overrides, paths.size() == 1 ? paths.front() : QString());
    return problems;
}

/// What the files do not say is asked. `path`: a file that opens it again.
void MainWindow::importSettings(SettingsImport settings, const QStringList& overrides, const QString& path)
{
    if (!mayLoseChanges())
        return;
    auto* dialog = new SettingsImportDialog(std::move(settings), this);
    connect(dialog, &SettingsImportDialog::chosen, this, [this, overrides, path](sim::ScenarioDocument document) {
        const Problems problems = problemsOf(Session::overridesText(overrides), [&]() -> Problems {
            for (const QString& assignment : overrides)
                document.applyOverride(assignment.toStdString(), m_session.catalogue());
            return {};
        });
        m_banner->dismiss();
        m_session.startImported(document);
        if (!path.isEmpty() && !m_options.reproducible)
            tellIfForgotten(addRecentFile(path));
        if (!problems.empty())
            m_banner->tell(tr("Not all of the command line could be set"), problems);
    });
    dialog->open();
}

void MainWindow::copySettings()
{
    auto* dialog = new CopySettingsDialog(m_session.document(), *m_session.scenario(), m_session.catalogue(), exportName(), this);
    connect(dialog, &CopySettingsDialog::remedyChosen, this, [this, dialog](const Edit& edit) {
        m_session.edit(edit);
        dialog->setScenario(m_session.document(), *m_session.scenario());
    });
    connect(dialog, &CopySettingsDialog::copied, this,
            [this](const QString& name) { statusBar()->showMessage(tr("Copied as %1").arg(name), kToldForMs); });
    connect(dialog, &CopySettingsDialog::saved, this, &MainWindow::tellSaved);
    dialog->open();
}

} // namespace app
