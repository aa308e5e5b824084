// What the main window gives away and keeps: figures, tables, traces, the view in the scenario's file, and the user's settings.
#include "app/shell/command_palette.h"
#include "app/shell/details_panel.h"
#include "app/shell/export_dialog.h"
#include "app/shell/format.h"
#include "app/shell/gallery_page.h"
#include "app/shell/live_panel.h"
#include "app/shell/main_window.h"
#include "app/shell/palette_sources.h"
#include "app/shell/problem_banner.h"
#include "app/shell/settings_dialog.h"
#include "app/shell/table_dialog.h"
#include "app/shell/translations.h"
#include "app/views/timeline_view.h"
#include "sim/error.h"

#include <QAction>
#include <QClipboard>
#include <QFileDialog>
#include <QFileInfo>
#include <QGuiApplication>
#include <QMimeData>
#include <QStatusBar>

namespace app {
namespace {

constexpr int kSavedMs = 4000;

/// "Llama 3.1 405B … on 16,384 GPUs · tp 8 · pp 16 · dp 128. Step 5.06 s, MFU 41.3 %, bubble 8.1 %. Simulated with Rankscope."
QString captionOf(const sim::Simulation& simulation)
{
    const sim::Metrics& m = simulation.metrics();
    return MainWindow::tr("%1. Step %2, MFU %3, bubble %4. Simulated with Rankscope.")
        .arg(layoutLine(simulation.scenario().layout).simplified(), durationQuantity(m.stepTimeSeconds).text(),
             percentQuantity(m.mfu).text(), percentQuantity(m.bubbleFraction).text());
}

} // namespace

QString MainWindow::exportName() const
{
    return m_session.path().isEmpty() ? QStringLiteral("rankscope") : QFileInfo(m_session.path()).completeBaseName();
}

void MainWindow::tellSaved(const QString& path)
{
    statusBar()->showMessage(tr("Saved %1").arg(QFileInfo(path).fileName()), kSavedMs);
}

void MainWindow::tellNotSaved(const QString& path, const QString& reason)
{
    m_banner->tell(tr("%1 cannot be saved").arg(QFileInfo(path).fileName()),
                   {{path.toStdString(), {}, reason.toStdString(), sim::Severity::error}});
}

void MainWindow::exportFigure()
{
    std::vector<ExportDialog::Source> sources;
    for (const PictureInfo& info : pictures()) {
        const QSize size = m_workspace->canvas(info.picture).size();
        const bool isLaidOut = m_workspace->isPictureVisible(info.picture);
        sources.push_back({info.picture, &m_workspace->upToDateView(info.picture),
                           isLaidOut ? size : m_workspace->canvas(m_workspace->lastUsedPicture()).size()});
    }
    auto* dialog =
        new ExportDialog(std::move(sources), m_workspace->lastUsedPicture(),
                         {m_session.displayName(), captionOf(*m_simulation), exportName()}, themeFor(m_settings.theme), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &ExportDialog::saved, this, &MainWindow::tellSaved);
    connect(dialog, &ExportDialog::failed, this, &MainWindow::tellNotSaved);
    connect(dialog, &ExportDialog::copied, this, [this] { statusBar()->showMessage(tr("Figure copied"), kSavedMs); });
    dialog->open();
}

void MainWindow::copyFigure()
{
    const Picture picture = m_workspace->lastUsedPicture();
    try {
        QGuiApplication::clipboard()->setMimeData(
            figureMimeData(m_workspace->upToDateView(picture), {.logical = m_workspace->canvas(picture).size()}));
        statusBar()->showMessage(tr("%1 copied, as pixels and as SVG").arg(tr(pictureInfo(picture).title)), kSavedMs);
    } catch (const sim::Error& error) {
        m_banner->tell(tr("The figure cannot be copied"), {{{}, {}, error.what(), sim::Severity::error}});
    }
}

void MainWindow::exportTable()
{
    auto* dialog = new TableDialog(m_simulation, m_workspace->trace(), m_workspace->selection(), exportName(), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    if (m_workspace->selection().range) // whoever marks a range wants what is in it
        dialog->show("spans");
    connect(dialog, &TableDialog::saved, this, &MainWindow::tellSaved);
    connect(dialog, &TableDialog::failed, this, &MainWindow::tellNotSaved);
    dialog->open();
}

void MainWindow::exportTrace()
{
    QString chosen;
    const QString perfetto = tr("For Perfetto (*.pftrace)"), chrome = tr("For other viewers, Chrome trace events (*.json)");
    QString path = QFileDialog::getSaveFileName(this, tr("Export Trace"), exportName() + QStringLiteral(".pftrace"),
                                                perfetto + QStringLiteral(";;") + chrome, &chosen);
    if (path.isEmpty())
        return;
    if (QFileInfo(path).suffix().isEmpty())
        path += chosen == chrome ? QStringLiteral(".json") : QStringLiteral(".pftrace");
    statusBar()->showMessage(tr("Writing %1…").arg(QFileInfo(path).fileName()));
    m_traceExport.start(m_simulation, sim::TraceDetail::kernels, path);
    updateActions();
}

ViewState MainWindow::viewState() const
{
    const Selection& selection = m_workspace->selection();
    ViewState state;
    for (const PictureInfo& info : pictures())
        if (m_workspace->isPictureVisible(info.picture))
            state.pictures.emplace_back(info.name);
    state.ranks = selection.ranks;
    state.rank = selection.selectedRank;
    state.range = selection.range;
    state.cursorNs = selection.cursorNs;
    state.classes = selection.classes;
    state.kernels = action(CommandId::showKernels)->isChecked();
    const TimeRange window = m_workspace->timeline().visibleRange();
    if (m_workspace->trace() && (window.beginNs > 0 || window.endNs < m_workspace->trace()->endNs))
        state.window = window;
    return state;
}

/// Into the file, as a step that can be undone.
void MainWindow::saveWithView()
{
    const std::string before = m_session.document().get("/view").value_or(std::string());
    m_session.edit(makeKeyEdit("/view", viewStateJson(viewState(), before), "view", tr("before").toStdString(),
                               tr("as on screen").toStdString()));
    save();
}

/// Of the file that was just opened, if it has one.
void MainWindow::applyViewState()
{
    const auto json = m_session.document().get("/view");
    if (!json)
        return;
    const auto [state, warnings] = readViewState(*json, m_simulation->mesh().worldSize());
    if (!warnings.empty())
        m_banner->tell(tr("A part of the view that came with the file cannot be shown"), warnings);
    std::vector<Picture> shown;
    for (const std::string& name : state.pictures)
        if (const PictureInfo* info = findPicture(name))
            shown.push_back(info->picture);
    if (!shown.empty()) {
        m_workspace->showOnly(shown.front());
        for (const Picture picture : shown)
            m_workspace->setPictureVisible(picture, true);
    }
    Selection selection;
    selection.ranks = state.ranks;
    selection.selectedRank = state.rank;
    selection.range = state.range;
    selection.classes = state.classes;
    selection.cursorNs = state.cursorNs;
    m_workspace->setSelection(selection);
    if (state.window)
        m_workspace->timeline().setVisibleRange(*state.window);
    action(CommandId::showKernels)->setChecked(state.kernels);
    m_playsNext = false; // it opens on what its author saw
}

void MainWindow::openSettings()
{
    auto* dialog = new SettingsDialog(m_settings, translationsIn(assetsPath()), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &SettingsDialog::changed, this, [this](const Settings& settings) {
        applySettings(settings);
        writeSettings();
    });
    dialog->open();
}

void MainWindow::applySettings(const Settings& settings)
{
    m_settings = settings;
    m_session.setAutosaveDelay(settings.autosaveSeconds);
    m_wheelHabit.setZooms(settings.navigation == NavigationStyle::tracy);
    m_gallery->setReducedMotion(settings.reduceMotion);
    setThemeChoice(settings.theme);
}

void MainWindow::setThemeChoice(ThemeChoice choice)
{
    m_settings.theme = choice;
    const Theme& theme = themeFor(choice);
    applyStyle(theme, assetsPath());
    m_workspace->setTheme(theme, assetsPath());
    m_details->setTheme(theme);
    m_gallery->setTheme(theme);
    m_live->setTheme(theme);
    updateIcons();
    const CommandId ids[]{CommandId::themeSystem, CommandId::themeLight, CommandId::themeDark, CommandId::themeHighContrast};
    action(ids[static_cast<int>(choice)])->setChecked(true); // in the order of ThemeChoice
}

void MainWindow::openPalette(const QString& typed)
{
    const bool hasStep = isWorkspaceShown() && m_simulation;
    auto* palette =
        new CommandPalette([this](CommandId id) { return isEnabled(id); }, hasStep ? m_simulation->mesh().worldSize() : 0, this);
    const auto open = [this](const QString& path) { openFile(path); };
    palette->addSource([this, open, recent = m_options.reproducible ? QStringList() : recentFiles()](const QString& text) {
        return findFiles(text, recent, m_gallery->entries(), open);
    });
    if (hasStep)
        palette->addSource([this, trace = m_workspace->trace()](const QString& text) {
            return findSpans(text, *trace, [this](SpanRef span) { m_workspace->selectSpan(span); });
        });
    connect(
        palette, &CommandPalette::commandChosen, this, [this](CommandId id) { run(id); }, Qt::QueuedConnection);
    connect(palette, &CommandPalette::rankChosen, m_workspace, &Workspace::selectRank, Qt::QueuedConnection);
    if (!typed.isEmpty())
        palette->setFilter(typed);
    constexpr int kFromTop = 84;
    palette->move(mapToGlobal(QPoint((width() - palette->width()) / 2, kFromTop)));
    palette->show();
}

} // namespace app
