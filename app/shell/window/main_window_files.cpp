// What the main window reads and writes: scenarios with what was on screen, figures, tables, traces, and the user's settings.
#include "app/session/gallery.h"
#include "app/session/names_apart.h"
#include "app/session/scenario_name.h"
#include "app/session/scenario_state.h"
#include "app/session/settings_import.h"
#include "app/shell/compare/compare_page.h"
#include "app/shell/details/details_panel.h"
#include "app/shell/dialogs/export_dialog.h"
#include "app/shell/dialogs/name_dialog.h"
#include "app/shell/dialogs/new_dialog.h"
#include "app/shell/dialogs/settings_dialog.h"
#include "app/shell/dialogs/table_dialog.h"
#include "app/shell/film/film_dialog.h"
#include "app/shell/findings/findings_panel.h"
#include "app/shell/form/scenario_form.h"
#include "app/shell/gallery/gallery_page.h"
#include "app/shell/live/live_panel.h"
#include "app/shell/ops/ops_panel.h"
#include "app/shell/plan/plan_panel.h"
#include "app/shell/recorded/recorded_panel.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/kept_focus.h"
#include "app/shell/widgets/problem_banner.h"
#include "app/shell/widgets/save_file.h"
#include "app/shell/widgets/translations.h"
#include "app/shell/window/main_window.h"
#include "app/views/grid/grid_view.h"
#include "app/views/timeline/timeline_view.h"
#include "sim/error.h"
#include "sim/simulate/memory_cap.h"
#include "sim/trace/export.h"

#include <QAction>
#include <QClipboard>
#include <QDir>
#include <QFileInfo>
#include <QGuiApplication>
#include <QMenu>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QRegularExpression>
#include <QScreen>
#include <QShowEvent>
#include <QStatusBar>
#include <QTimer>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace app {
namespace {

constexpr int kSavedMs = 4000, kForgottenMs = 20'000;
constexpr QSize kUsualSize{1600, 900};
constexpr QSize kSmallestWindow{1024, 640}; ///< at text of 100 %; larger text leaves room for less of it
constexpr QSize kFrame{8, 40};              ///< what the desktop adds around a window, before anybody knows
const QString kGeometryKey = QStringLiteral("window/geometry");
const QString kDocksKey = QStringLiteral("window/docks");
const QString kPlacesFindingsKey = QStringLiteral("window/places_findings");
const QString kPicturesKey = QStringLiteral("window/pictures");
const QString kFoldsKey = QStringLiteral("form/folds");

/// "Llama 3.1 405B … on 16,384 GPUs · tp 8 · pp 16 · dp 128. Step 5.06 s, MFU 41.3 %, bubble 8.1 %. Simulated with Rankscope.";
/// of a step that cannot run "… dp 128. Does not fit: needs 89.5 of 80 GiB; if it did: step 5.06 s, …".
QString captionOf(const sim::Simulation& simulation)
{
    const sim::Metrics& m = simulation.metrics();
    const auto misfit = sim::misfit(simulation);
    const QString step =
        misfit ? MainWindow::tr("Does not fit: needs %1; if it did: step").arg(QString::fromStdString(misfit->text()))
               : MainWindow::tr("Step");
    return MainWindow::tr("%1. %2 %3, MFU %4, bubble %5. Simulated with Rankscope.")
        .arg(layoutLine(simulation.scenario().layout).simplified(), step, durationQuantity(m.stepTimeSeconds).text(),
             percentQuantity(m.mfu).text(), percentQuantity(m.bubbleFraction).text());
}

GridView& gridOf(Workspace& workspace)
{
    return static_cast<GridView&>(workspace.view(Picture::grid));
}

std::string shownName(GridLens lens)
{
    return QString::fromUtf8(gridLensName(lens)).toLower().toStdString();
}

/// "Llama 3.1 8B on 16 GPUs: dp 16" without what file systems, or whoever types them, stumble over.
QString nameAsFile(const QString& name)
{
    QString out;
    for (const QChar each : name)
        out += each.isLetterOrNumber() || each == QLatin1Char('.') ? each.toLower() : QLatin1Char('-');
    static const QRegularExpression kDashes(QStringLiteral("-+")), kEnds(QStringLiteral("^[-.]+|[-.]+$"));
    out.replace(kDashes, QStringLiteral("-")).remove(kEnds);
    constexpr int kLongest = 80;
    out.truncate(kLongest);
    return out.isEmpty() ? QStringLiteral("scenario") : out;
}

/// "stragglers": as the view in a file calls it. There the bubble's lens has the name that it had at first: files keep their
/// words.
std::string fileName(GridLens lens)
{
    return lens == GridLens::bubble ? "waiting" : shownName(lens);
}

std::optional<GridLens> lensNamed(const std::string& name)
{
    for (int lens = 0; lens < kGridLensCount; ++lens)
        if (const auto one = static_cast<GridLens>(lens); name == fileName(one) || name == shownName(one))
            return one;
    return {};
}

} // namespace

bool MainWindow::mayLoseChanges()
{
    m_form->takeTyped();
    if (!mayLoseOrder())
        return false;
    const bool isLessons = m_showsScene && m_session.path().isEmpty(); // what was tried in a lesson is nobody's work
    if (!m_session.hasWork() || m_options.reproducible || isLessons)
        return true;
    const auto answer =
        QMessageBox::question(this, tr("Unsaved Changes"), tr("Save the changes to “%1”?").arg(m_session.displayName()),
                              QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, QMessageBox::Save);
    return answer == QMessageBox::Discard || (answer == QMessageBox::Save && save());
}

namespace {

QString notSavedTitle(const QString& path)
{
    return MainWindow::tr("%1 cannot be saved").arg(QFileInfo(path).fileName());
}

} // namespace

bool MainWindow::save()
{
    // What came with the program is an example, not the user's own file.
    const QString gallery = QString::fromStdString(m_session.catalogue().scenarios().string());
    if (m_session.path().isEmpty() || QFileInfo(m_session.path()).absoluteDir() == QDir(gallery))
        return saveAs();
    if (m_session.isChangedOnDisk()) {
        QMessageBox box(QMessageBox::Question, tr("The file has changed"),
                        tr("%1 was changed by somebody else since it was opened here. Saving would undo that.")
                            .arg(QFileInfo(m_session.path()).fileName()),
                        QMessageBox::Cancel, this);
        const QPushButton* overwrite = box.addButton(tr("Overwrite"), QMessageBox::DestructiveRole);
        QPushButton* other = box.addButton(tr("Save As…"), QMessageBox::AcceptRole);
        box.setDefaultButton(other);
        box.exec();
        if (box.clickedButton() == other)
            return saveAs();
        if (box.clickedButton() != overwrite)
            return false;
    }
    if (const Problems problems = m_session.save(); !problems.empty()) {
        m_banner->tell(notSavedTitle(m_session.path()), problems);
        return false;
    }
    m_banner->dismiss(notSavedTitle(m_session.path()));
    statusBar()->showMessage(tr("Saved"), 2000);
    return true;
}

bool MainWindow::saveAs()
{
    const QString name =
        m_session.path().isEmpty() ? exportName() + QStringLiteral(".json") : QFileInfo(m_session.path()).fileName();
    const QString path = chooseSaveFile(this, tr("Save Scenario"), name, tr("Scenarios (*.json)"));
    if (path.isEmpty())
        return false;
    if (const Problems problems = m_session.saveAs(path); !problems.empty()) {
        m_banner->tell(notSavedTitle(path), problems);
        return false;
    }
    m_banner->dismiss(notSavedTitle(path));
    if (!m_options.reproducible)
        tellIfForgotten(addRecentFile(path));
    return true;
}

void MainWindow::chooseNew()
{
    if (!mayLoseChanges())
        return;
    auto* dialog = new NewDialog(m_session.catalogue(), this);
    connect(dialog, &NewDialog::made, this, [this](const sim::ScenarioDocument& document) {
        m_banner->dismiss();
        m_session.startNew(document);
    });
    connect(dialog, &QDialog::finished, this, [this](int result) { // not the button that had the keyboard before
        if (result == QDialog::Accepted)
            QTimer::singleShot(0, this, [this] { m_workspace->canvas(m_workspace->lastUsedPicture()).setFocus(); });
    });
    dialog->open();
}

void MainWindow::nameScenario()
{
    const auto text = [this](const char* pointer) {
        return QString::fromStdString(unquoted(m_session.document().get(pointer).value_or(std::string())));
    };
    const QString name = text("/name"), description = text("/description");
    auto* dialog =
        new NameDialog(name, description, m_session.scenario() ? generatedName(*m_session.scenario()) : QString(), this);
    connect(dialog, &NameDialog::chosen, this, [this, name, description](const QString& newName, const QString& newDescription) {
        Edit edit;
        edit.text = newName == name ? tr("description").toStdString() : tr("name %1 → %2").arg(name, newName).toStdString();
        for (const auto& [pointer, before, now] :
             {std::tuple{"/name", name, newName}, {"/description", description, newDescription}})
            if (before != now)
                edit.assignments.push_back(
                    {pointer, now.isEmpty() ? std::nullopt : std::optional(app::quoted(now.toStdString()))});
        if (!edit.assignments.empty())
            m_session.edit(edit);
    });
    dialog->open();
}

void MainWindow::fillRecentMenu()
{
    m_recentMenu->clear();
    const QStringList recent = m_options.reproducible ? QStringList() : recentFiles();
    const QStringList names = namesApart(recent, &QFileInfo::fileName);
    for (qsizetype i = 0; i < recent.size(); ++i) {
        const QString path = recent[i];
        QAction* file = m_recentMenu->addAction(QString(names[i]).replace(QLatin1Char('&'), QLatin1String("&&")));
        file->setStatusTip(path);
        file->setToolTip(path);
        connect(file, &QAction::triggered, this, [this, path] { openFile(path); });
    }
    if (m_recentMenu->isEmpty())
        m_recentMenu->addAction(tr("None yet"))->setEnabled(false);
    m_recentMenu->addSeparator();
    m_recentMenu->addAction(action(CommandId::clearRecent));
}

QString MainWindow::exportName() const
{
    if (!m_session.path().isEmpty())
        return QFileInfo(m_session.path()).completeBaseName();
    return m_session.isOpen() ? nameAsFile(m_session.displayName()) : QStringLiteral("rankscope");
}

void MainWindow::tellSaved(const QString& path)
{
    statusBar()->showMessage(tr("Saved %1").arg(QFileInfo(path).fileName()), kSavedMs);
}

void MainWindow::tellNotSaved(const QString& path, const QString& reason)
{
    m_banner->tell(notSavedTitle(path), {{path.toStdString(), {}, reason.toStdString(), sim::Severity::error}});
}

void MainWindow::exportFigure()
{
    const Picture inHand = m_workspace->pictureInHand();
    std::vector<FigureSource> sources;
    std::size_t first = 0;
    for (const PictureInfo& info : pictures()) {
        if (info.picture == inHand)
            first = sources.size();
        StepView& view = m_workspace->upToDateView(info.picture);
        const bool isLaidOut = m_workspace->isPictureVisible(info.picture);
        sources.push_back({tr(info.title), QLatin1String(info.name), &view, [&view](const Theme& theme) { view.setTheme(theme); },
                           m_workspace->canvas(isLaidOut ? info.picture : inHand).size()});
    }
    const auto words = [this] {
        return ExportDialog::Words{m_session.displayName(), captionOf(*m_desk.simulation()), exportName()};
    };
    ExportDialog* dialog = openExport(std::move(sources), first, words());
    // It may have been on its way. Pictures that nobody sees are of it when they are exported, too.
    connect(&m_desk, &Desk::stepChanged, dialog, [this, dialog, words] {
        for (const PictureInfo& info : pictures())
            m_workspace->upToDateView(info.picture);
        dialog->setWords(words());
    });
}

void MainWindow::exportLiveFigure()
{
    const QString name = m_live->runName();
    openExport(m_live->figures(), static_cast<std::size_t>(m_live->usedPicture()), {name, {}, nameAsFile(name)});
}

void MainWindow::exportRecordedFigure()
{
    const QString name = recordedRun()->name();
    std::vector<FigureSource> figures = m_recorded->figures();
    const auto used = std::find_if(figures.begin(), figures.end(),
                                   [&](const FigureSource& figure) { return figure.view == &m_recorded->usedView(); });
    const auto first = static_cast<std::size_t>(used - figures.begin());
    openExport(std::move(figures), first, {name, m_recorded->headline(), nameAsFile(name)});
}

ExportDialog* MainWindow::openExport(std::vector<FigureSource> sources, std::size_t first, ExportDialog::Words words)
{
    auto* dialog =
        new ExportDialog(std::move(sources), static_cast<int>(first), std::move(words), themeFor(m_settings.theme), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &ExportDialog::saved, this, &MainWindow::tellSaved);
    connect(dialog, &ExportDialog::failed, this, &MainWindow::tellNotSaved);
    connect(dialog, &ExportDialog::copied, this, [this] { statusBar()->showMessage(tr("Figure copied"), kSavedMs); });
    dialog->open();
    return dialog;
}

void MainWindow::copyFigure()
{
    const auto copy = [this](View& view, QSize size, const QString& name) {
        QGuiApplication::clipboard()->setMimeData(figureMimeData(view, {.logical = size}));
        statusBar()->showMessage(tr("%1 copied, as pixels and as SVG").arg(name), kSavedMs);
    };
    const Picture picture = m_workspace->pictureInHand();
    try {
        if (isRecordedShown())
            copy(m_recorded->usedView(), m_recorded->usedCanvas().size(), tr("Figure"));
        else if (isLiveShown())
            copy(m_live->usedView(), m_live->usedCanvas().size(), tr("Figure"));
        else if (isCompareShown())
            copy(m_compare->view(), comparisonSize(), tr("Comparison"));
        else
            copy(m_workspace->upToDateView(picture), m_workspace->canvas(picture).size(), tr(pictureInfo(picture).title));
    } catch (const sim::Error& error) {
        m_banner->tell(tr("The figure cannot be copied"), {{{}, {}, error.what(), sim::Severity::error}});
    }
}

void MainWindow::exportTable()
{
    auto* dialog = new TableDialog(m_desk.simulation(), m_desk.step().trace, m_desk.selection(), exportName(), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    if (m_desk.selection().range) // whoever marks a range wants what is in it
        dialog->show("spans");
    connect(dialog, &TableDialog::saved, this, &MainWindow::tellSaved);
    connect(dialog, &TableDialog::failed, this, &MainWindow::tellNotSaved);
    dialog->open();
}

void MainWindow::exportFilm()
{
    if (isRecordedShown()) {
        exportRecordedFilm();
        return;
    }
    StepFilm film{.step = m_desk.step(),
                  .pictures = {},
                  .title = m_session.displayName().toStdString(),
                  .caption = {},
                  .span = filmSpan(m_desk.step(), m_desk.selection()),
                  .selection = m_desk.selection()};
    openFilmDialog(std::move(film), exportName());
}

void MainWindow::openFilmDialog(StepFilm film, const QString& name)
{
    auto* dialog = new FilmDialog(std::move(film), name, themeFor(m_settings.theme), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &FilmDialog::saved, this, &MainWindow::tellSaved);
    connect(dialog, &FilmDialog::failed, this, &MainWindow::tellNotSaved);
    dialog->open();
}

void MainWindow::exportTrace()
{
    const QString perfetto = tr("For Perfetto (*.pftrace)"), chrome = tr("For other viewers, Chrome trace events (*.json)");
    const QString path = chooseSaveFile(this, tr("Export Trace"), exportName() + QStringLiteral(".pftrace"),
                                        perfetto + QStringLiteral(";;") + chrome);
    if (path.isEmpty())
        return;
    statusBar()->showMessage(tr("Writing %1…").arg(QFileInfo(path).fileName()));
    m_fileExport.start(path, [simulation = m_desk.simulation(), path] {
        sim::saveTrace(simulation->trace(sim::TraceDetail::kernels), path.toStdString());
    });
    updateActions();
}

ViewState MainWindow::viewState() const
{
    const Selection& selection = m_desk.selection();
    ViewState state;
    for (const PictureInfo& info : pictures())
        if (m_workspace->isPictureVisible(info.picture))
            state.pictures.emplace_back(info.name);
    state.ranks = selection.ranks;
    state.rank = selection.selectedRank;
    state.range = selection.range;
    state.cursorNs = selection.cursorNs;
    state.classes = selection.classes;
    state.lens = fileName(gridOf(*m_workspace).lens());
    state.kernels = action(CommandId::showKernels)->isChecked();
    state.timeline = m_workspace->timeline().state();
    state.arrangement = gridOf(*m_workspace).arrangement();
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
    if (!json) {
        m_workspace->timeline().setState({}); // marks and rows of the file before are none of this one's
        return;
    }
    const auto [state, warnings] = readViewState(*json, m_desk.simulation()->mesh().worldSize());
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
    m_desk.setSelection(selection);
    if (const auto lens = lensNamed(state.lens))
        gridOf(*m_workspace).setLens(*lens);
    gridOf(*m_workspace).setArrangement(state.arrangement);
    m_workspace->timeline().setState(state.timeline);
    setKernels(state.kernels);
    m_playsNext = false; // it opens on what its author saw
}

/// What was asked for, else what is remembered; light where nothing may differ from run to run.
ThemeChoice MainWindow::startTheme() const
{
    return m_options.theme.value_or(m_options.reproducible ? ThemeChoice::light : app::readSettings().theme);
}

void MainWindow::readSettings()
{
    fitScreen();
    Settings settings;
    if (!m_options.reproducible) {
        const QSettings file = userSettings();
        restoreGeometry(unsealed(file.value(kGeometryKey).toByteArray()));
        m_dockState = unsealed(file.value(kDocksKey).toByteArray());
        m_placesFindings = file.value(kPlacesFindingsKey, m_dockState.isEmpty()).toBool();
        m_workspace->restoreLayout(unsealed(file.value(kPicturesKey).toByteArray()));
        m_form->setFolds(file.value(kFoldsKey).toStringList());
        settings = m_knownSettings = app::readSettings();
    }
    settings.theme = startTheme();
    applySettings(settings);
}

void MainWindow::writeSettings()
{
    if (m_options.reproducible)
        return;
    QSettings file = userSettings();
    file.setValue(kGeometryKey, sealed(saveGeometry()));
    file.setValue(kDocksKey, sealed(isWorkspaceShown() ? dockState() : m_dockState));
    file.setValue(kPlacesFindingsKey, m_placesFindings && !findingsAreMoved());
    file.setValue(kPicturesKey, sealed(m_workspace->saveLayout()));
    file.setValue(kFoldsKey, m_form->folds());
    Settings settings = m_settings;
    if (m_options.theme) // for this run only
        settings.theme = m_knownSettings.theme;
    const bool isLayoutKept = isKept(file);
    tellIfForgotten(app::writeSettings(settings, m_knownSettings) && isLayoutKept);
    m_knownSettings = settings;
}

/// Once: whatever is remembered next goes the same way.
void MainWindow::tellIfForgotten(bool isKept)
{
    if (isKept || std::exchange(m_hasToldForgotten, true))
        return;
    const QString told =
        tr("Settings, layout and recent files cannot be kept: %1 cannot be written").arg(userSettings().fileName());
    statusBar()->showMessage(told, kForgottenMs);
    std::fputs(qPrintable(told + QLatin1Char('\n')), stderr); // also where the window goes just now
}

/// As large as usual, frame included, where the screen is large enough; in its middle.
void MainWindow::fitScreen()
{
    const QRect room = screen()->availableGeometry();
    resize(kUsualSize.boundedTo(room.size() - kFrame));
    const QSize rest = room.size() - kFrame - size();
    move(room.topLeft() + QPoint(rest.width() / 2, rest.height() / 2));
}

/// The same pixels at every size of the text; less where the screen itself has less.
QSize MainWindow::smallestSize() const
{
    const QSize smallest = kSmallestWindow * kSmallestSizePercent / m_textSize.percent();
    return m_options.reproducible ? smallest : smallest.boundedTo(screen()->availableGeometry().size() - kFrame);
}

/// What a desktop of another size left of it: never below or beside the screen.
void MainWindow::showEvent(QShowEvent* event)
{
    QMainWindow::showEvent(event);
    if (!event->spontaneous() && !m_options.reproducible)
        tellIfForgotten(userSettings().isWritable());
    if (event->spontaneous() || m_options.reproducible || isMaximized() || isFullScreen())
        return;
    const QRect room = screen()->availableGeometry();
    if (!room.contains(QRect(pos(), size() + kFrame)))
        fitScreen();
    constexpr std::array kFramedMs{400, 1500, 4000}; // the window manager's frame comes later, and may reach beyond the screen
    for (const int ms : kFramedMs)                   // much later where the machine is busy
        QTimer::singleShot(ms, this, [this] {
            const QPoint least = screen()->availableGeometry().topLeft(), is = frameGeometry().topLeft();
            if (is.x() < least.x() || is.y() < least.y())
                move(std::max(is.x(), least.x()), std::max(is.y(), least.y()));
        });
}

void MainWindow::chooseTextSize(int percent)
{
    m_settings.sizePercent = percent;
    m_textSizeTimer.start(); // keys pressed one after the other are one change: each arranges the whole window anew
    statusBar()->showMessage(tr("Text, controls and pictures at %1 %").arg(percent), kSavedMs);
}

void MainWindow::takeTextSize()
{
    const KeptFocus focus(*this);
    applySettings(m_settings);
    writeSettings();
    foldDocks();
    placeFindings();
}

SettingsDialog& MainWindow::openSettings()
{
    auto* dialog = new SettingsDialog(m_settings, translationsIn(assetsPath()), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &SettingsDialog::changed, this, [this](const Settings& settings) {
        applySettings(settings);
        writeSettings();
    });
    dialog->open();
    return *dialog;
}

void MainWindow::applySettings(const Settings& settings)
{
    m_settings = settings;
    m_session.setAutosaveDelay(settings.autosaveSeconds);
    m_wheelHabit.setZooms(settings.navigation == NavigationStyle::tracy);
    if (GalleryPage* page = m_gallery.ifPlaced())
        page->setReducedMotion(settings.reduceMotion);
    gridOf(*m_workspace).setAnimated(!settings.reduceMotion);
    if (!m_options.reproducible)
        m_textSize.set(settings.sizePercent);
    m_details->setGpuHourPrice(settings.gpuHourPrice);
    if (ComparePage* page = m_compare.ifPlaced())
        page->setGpuHourPrice(settings.gpuHourPrice);
    if (PlanPanel* panel = m_plan.ifPlaced())
        panel->setPrice(settings.gpuHourPrice);
    setMinimumSize(smallestSize());
    setThemeChoice(settings.theme);
}

void MainWindow::setThemeChoice(ThemeChoice choice)
{
    m_settings.theme = choice;
    const Theme& theme = themeFor(choice);
    applyStyle(theme, assetsPath());
    m_workspace->setTheme(theme, assetsPath());
    m_details->setTheme(theme);
    m_findings->setTheme(theme);
    if (OpsPanel* panel = m_ops.ifPlaced())
        panel->setTheme(theme);
    if (PlanPanel* panel = m_plan.ifPlaced())
        panel->setTheme(theme);
    if (GalleryPage* page = m_gallery.ifPlaced())
        page->setTheme(theme);
    if (LivePanel* page = m_live.ifPlaced())
        page->setTheme(theme);
    if (RecordedPanel* page = m_recorded.ifPlaced())
        page->setTheme(theme, assetsPath());
    if (ComparePage* page = m_compare.ifPlaced())
        page->setTheme(theme);
    showTermsOnCards();
    updateIcons();
    updateActions();
}

} // namespace app
