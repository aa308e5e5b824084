// The commands of the main window: actions, menus and tool bar from the one table, and what each command does.
#include "app/session/pass_times.h"
#include "app/session/settings.h"
#include "app/shell/command_palette.h"
#include "app/shell/compare_page.h"
#include "app/shell/details_panel.h"
#include "app/shell/findings_panel.h"
#include "app/shell/format.h"
#include "app/shell/gallery_page.h"
#include "app/shell/key_sheet.h"
#include "app/shell/live_panel.h"
#include "app/shell/main_window.h"
#include "app/shell/palette_sources.h"
#include "app/shell/problem_banner.h"
#include "app/shell/scenario_form.h"
#include "app/shell/schedule_chooser.h"
#include "app/shell/synthesis_dialog.h"

#include <QActionGroup>
#include <QCoreApplication>
#include <QDockWidget>
#include <QMenuBar>
#include <QMessageBox>
#include <QStatusBar>
#include <QToolBar>
#include <QToolButton>

#include <array>

namespace app {
namespace {

constexpr std::array kCheckable{
    CommandId::showForm,      CommandId::showDetails, CommandId::showFindings, CommandId::showKernels,
    CommandId::showEveryRank, CommandId::stepThrough, CommandId::editOrder,    CommandId::fullScreen,
    CommandId::showLive,      CommandId::showCompare, CommandId::pinBaseline,  CommandId::freezePicture,
    CommandId::themeSystem,   CommandId::themeLight,  CommandId::themeDark,    CommandId::themeHighContrast};
/// Commands that mean something without a scenario on screen.
constexpr std::array kAlways{
    CommandId::gallery,     CommandId::open,       CommandId::clearRecent, CommandId::quit,     CommandId::fullScreen,
    CommandId::themeSystem, CommandId::themeLight, CommandId::themeDark,   CommandId::palette,  CommandId::keys,
    CommandId::about,       CommandId::attachRun,  CommandId::calibrate,   CommandId::settings, CommandId::themeHighContrast};

constexpr std::array kThemes{CommandId::themeSystem, CommandId::themeLight, CommandId::themeDark, CommandId::themeHighContrast};

struct IconOf {
    CommandId id;
    const char* icon;
    bool startsGroup = false;
};
/// The tool bar, from left to right.
constexpr std::array kToolBar{IconOf{CommandId::gallery, "gallery"},     IconOf{CommandId::open, "open"},
                              IconOf{CommandId::save, "save"},           IconOf{CommandId::undo, "undo", true},
                              IconOf{CommandId::redo, "redo"},           IconOf{CommandId::fitAll, "fit", true},
                              IconOf{CommandId::showKernels, "kernels"}, IconOf{CommandId::trainScenario, "train", true}};
/// And at its right end.
constexpr std::array kToolBarEnd{IconOf{CommandId::themeDark, "theme"}, IconOf{CommandId::keys, "help"}};

template <typename Ids>
bool contains(const Ids& ids, CommandId id)
{
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

QString keysText(const Command& command)
{
    const auto sequences = shortcutsOf(command);
    return sequences.isEmpty() ? QString() : sequences.front().toString(QKeySequence::NativeText);
}

QAction* stretch(QToolBar& bar)
{
    auto* space = new QWidget;
    space->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    space->setAttribute(Qt::WA_TransparentForMouseEvents);
    return bar.addWidget(space);
}

} // namespace

void MainWindow::buildActions()
{
    auto* themes = new QActionGroup(this);
    for (const Command& c : commands()) {
        QString text = textOf(c);
        if (c.scope == CommandScope::canvas)
            text += QLatin1Char('\t') + keysText(c); // shown, not registered: keyPressEvent knows what it is meant for
        auto* out = new QAction(text, this);
        if (c.scope == CommandScope::window)
            out->setShortcuts(shortcutsOf(c));
        const QString what = whatOf(c);
        out->setStatusTip(what);
        out->setToolTip(keysText(c).isEmpty() ? what : QStringLiteral("%1  (%2)").arg(what, keysText(c)));
        out->setCheckable(c.picture || contains(kCheckable, c.id));
        if (contains(kThemes, c.id))
            themes->addAction(out);
        connect(out, &QAction::triggered, this, [this, id = c.id] { perform(id); });
        addAction(out);
        m_actions.emplace(c.id, out);
    }
    updatePictureActions();
    for (const CommandId id : {CommandId::showForm, CommandId::showDetails, CommandId::showFindings})
        action(id)->setChecked(true);
    m_live->setActions({action(CommandId::pauseRun), action(CommandId::freezePicture), action(CommandId::stopRun)});
    m_compare->setActions({action(CommandId::swapSides), action(CommandId::backToBaseline), action(CommandId::exportComparison)});
    for (const CommandId id : {CommandId::pauseRun, CommandId::freezePicture, CommandId::stopRun, CommandId::swapSides,
                               CommandId::backToBaseline, CommandId::exportComparison})
        action(id)->setIconText(plainText(command(id)));
    for (const auto& list : {std::span<const IconOf>(kToolBar), std::span<const IconOf>(kToolBarEnd)}) {
        for (const IconOf& item : list)
            action(item.id)->setIconText(plainText(command(item.id)));
    }
}

void MainWindow::buildMenus()
{
    std::map<CommandMenu, QMenu*> menus;
    for (const Command& c : commands()) {
        QMenu*& menu = menus[c.menu];
        if (!menu)
            menu = menuBar()->addMenu(commandMenuTitle(c.menu));
        if (c.id == CommandId::clearRecent)
            continue; // at the end of the recent files
        if (c.startsGroup && !menu->isEmpty())
            menu->addSeparator();
        menu->addAction(action(c.id));
        if (c.id == CommandId::open) {
            m_recentMenu = menu->addMenu(tr("Open &Recent"));
            connect(m_recentMenu, &QMenu::aboutToShow, this, &MainWindow::fillRecentMenu);
        }
    }
}

void MainWindow::buildToolBar()
{
    auto* bar = addToolBar(tr("Tools"));
    bar->setObjectName(QStringLiteral("tools"));
    bar->setMovable(false);
    bar->setIconSize({16, 16});
    bar->setContextMenuPolicy(Qt::PreventContextMenu);
    for (const IconOf& item : kToolBar) {
        if (item.startsGroup)
            bar->addSeparator();
        bar->addAction(action(item.id));
    }
    auto* kernels = qobject_cast<QToolButton*>(bar->widgetForAction(action(CommandId::showKernels)));
    kernels->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    auto* train = qobject_cast<QToolButton*>(bar->widgetForAction(action(CommandId::trainScenario)));
    train->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    action(CommandId::trainScenario)->setIconText(tr("Train"));
    stretch(*bar);
    auto* find = new QToolButton;
    find->setDefaultAction(action(CommandId::palette));
    find->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    find->setMinimumWidth(320);
    setRole(find, "find");
    action(CommandId::palette)->setIconText(tr("Find a command, a file, a rank   %1").arg(keysText(command(CommandId::palette))));
    bar->addWidget(find);
    stretch(*bar);
    for (const IconOf& item : kToolBarEnd)
        bar->addAction(action(item.id));
}

void MainWindow::updateIcons()
{
    const Theme& theme = themeFor(m_settings.theme);
    const QString assets = assetsPath();
    const auto set = [&](const IconOf& item) { action(item.id)->setIcon(themedIcon(assets, QLatin1String(item.icon), theme)); };
    std::for_each(kToolBar.begin(), kToolBar.end(), set);
    std::for_each(kToolBarEnd.begin(), kToolBarEnd.end(), set);
    set({CommandId::palette, "search"});
    for (QAction* a : actions())
        a->setIconVisibleInMenu(false);
}

bool MainWindow::isEnabled(CommandId id) const
{
    switch (id) {
    case CommandId::undo:
        return (isWorkspaceShown() || isCompareShown()) && m_session.undoStack().canUndo();
    case CommandId::redo:
        return (isWorkspaceShown() || isCompareShown()) && m_session.undoStack().canRedo();
    case CommandId::chooseSchedule:
        return isWorkspaceShown() && m_session.scenario();
    case CommandId::findSchedule:
        return isWorkspaceShown() && m_session.scenario() && m_session.scenario()->layout.pp > 1 && m_simulation &&
               m_simulation->scenario() == *m_session.scenario(); // else it is on its way
    case CommandId::editOrder:
        return isWorkspaceShown() && m_simulation && m_simulation->schedule().ranks > 1;
    case CommandId::moveEarlier:
    case CommandId::moveLater:
        return isWorkspaceShown() && m_workspace->isEditing();
    case CommandId::exportFigure:
    case CommandId::exportTable:
    case CommandId::copyFigure:
    case CommandId::stepThrough:
    case CommandId::play:
    case CommandId::goToRank:
        return isWorkspaceShown() && m_simulation;
    case CommandId::exportTrace:
        return isWorkspaceShown() && m_simulation && !m_traceExport.isBusy();
    case CommandId::trainScenario:
    case CommandId::checkSerial:
        return !isStartShown() && m_simulation;
    case CommandId::pinBaseline:
        return (isWorkspaceShown() || isCompareShown()) && (m_simulation || m_baseline.isPinned());
    case CommandId::compareWithFile:
    case CommandId::showCompare:
        return m_session.isOpen();
    case CommandId::backToBaseline:
        return (isWorkspaceShown() || isCompareShown()) && m_session.isOpen() && m_baseline.isPinned() &&
               m_session.document().text() != m_baseline.document().text();
    case CommandId::swapSides:
    case CommandId::exportComparison:
        return isCompareShown() && m_compare->view().comparison();
    case CommandId::save:
    case CommandId::saveAs:
        return isWorkspaceShown() || isCompareShown();
    case CommandId::showLive:
    case CommandId::saveTrace:
        return m_run != nullptr;
    case CommandId::pauseRun:
    case CommandId::stopRun:
        return runIsActive();
    case CommandId::freezePicture:
        return m_run && m_live->picture();
    case CommandId::switchClock:
        return isLiveShown() && m_run;
    case CommandId::showKernels:
        return !isStartShown();
    case CommandId::showEveryRank:
        return isWorkspaceShown() && m_requested && canShowEveryRank();
    default:
        return contains(kAlways, id) || isWorkspaceShown() ||
               ((isLiveShown() || isCompareShown()) && command(id).scope == CommandScope::canvas);
    }
}

void MainWindow::updateActions()
{
    for (const auto& [id, a] : m_actions)
        a->setEnabled(isEnabled(id));
    const QUndoStack& history = m_session.undoStack();
    const auto withText = [](CommandId id, const QString& step) {
        const QString text = textOf(command(id));
        return step.isEmpty() ? text : text + QLatin1Char(' ') + step;
    };
    const bool paused = m_run && m_run->status().phase == LivePhase::paused;
    action(CommandId::pauseRun)->setText(paused ? tr("&Resume") : textOf(command(CommandId::pauseRun)));
    action(CommandId::pauseRun)->setIconText(paused ? tr("Resume") : tr("Pause"));
    action(CommandId::showLive)->setChecked(isLiveShown());
    action(CommandId::showCompare)->setChecked(isCompareShown());
    action(CommandId::pinBaseline)->setChecked(m_baseline.isPinned());
    action(CommandId::pinBaseline)
        ->setText(m_baseline.isPinned() ? tr("Forget &Baseline") : textOf(command(CommandId::pinBaseline)));
    action(CommandId::freezePicture)->setChecked(m_run && m_run->pinned().has_value());
    action(CommandId::undo)->setText(withText(CommandId::undo, history.undoText()));
    action(CommandId::redo)->setText(withText(CommandId::redo, history.redoText()));
}

void MainWindow::perform(CommandId id)
{
    if (const auto viewCommand = command(id).viewCommand) {
        if (isLiveShown())
            m_live->runCommand(*viewCommand, false);
        else if (isCompareShown())
            m_compare->runCommand(*viewCommand, false);
        else
            m_workspace->runCommand(*viewCommand, false);
        return;
    }
    const auto checked = [&] { return action(id)->isChecked(); };
    if (const auto picture = command(id).picture) {
        // Behind another tab it comes to the front first.
        const bool hide = m_workspace->isPictureInFront(*picture);
        m_workspace->setPictureVisible(*picture, !hide);
        updatePictureActions();
        return;
    }
    switch (id) {
    case CommandId::gallery:
        if (isGalleryShown() && m_session.isOpen())
            showWorkspace();
        else
            showGallery();
        break;
    case CommandId::open:
        chooseFile();
        break;
    case CommandId::save:
        save();
        break;
    case CommandId::saveAs:
        saveAs();
        break;
    case CommandId::clearRecent:
        clearRecentFiles();
        if (isGalleryShown())
            refreshGallery();
        break;
    case CommandId::saveWithView:
        saveWithView();
        break;
    case CommandId::exportFigure:
        exportFigure();
        break;
    case CommandId::exportTable:
        exportTable();
        break;
    case CommandId::exportTrace:
        exportTrace();
        break;
    case CommandId::copyFigure:
        copyFigure();
        break;
    case CommandId::settings:
        openSettings();
        break;
    case CommandId::quit:
        close();
        break;
    case CommandId::undo:
        m_session.undoStack().undo();
        break;
    case CommandId::redo:
        m_session.undoStack().redo();
        break;
    case CommandId::chooseSchedule:
        chooseSchedule();
        break;
    case CommandId::findSchedule:
        findSchedule();
        break;
    case CommandId::editOrder:
        editOrder(checked());
        break;
    case CommandId::moveEarlier:
        m_workspace->runCommand(ViewCommand::moveEarlier, false);
        break;
    case CommandId::moveLater:
        m_workspace->runCommand(ViewCommand::moveLater, false);
        break;
    case CommandId::pinBaseline:
        pinBaseline(checked());
        break;
    case CommandId::compareWithFile:
        chooseBaseline();
        break;
    case CommandId::backToBaseline:
        m_session.replaceContent(m_baseline.document(), tr("back to the baseline"));
        break;
    case CommandId::showCompare:
        if (isCompareShown())
            showWorkspace();
        else
            showCompare();
        break;
    case CommandId::swapSides:
        m_compare->swapSides();
        showStatus();
        break;
    case CommandId::exportComparison:
        exportComparison();
        break;
    case CommandId::goToRank:
        openPalette(tr("rank "));
        break;
    case CommandId::resetLayout:
        m_workspace->resetLayout();
        break;
    case CommandId::play:
        m_workspace->playback().toggle();
        break;
    case CommandId::showForm:
        m_formDock->setVisible(checked());
        break;
    case CommandId::showDetails:
        m_detailsDock->setVisible(checked());
        break;
    case CommandId::showFindings:
        m_findingsDock->setVisible(checked());
        break;
    case CommandId::showKernels:
        m_live->setKernels(checked());
        showKernels(checked());
        break;
    case CommandId::showEveryRank:
        simulate();
        break;
    case CommandId::showLive:
        if (!isLiveShown())
            showLive();
        else if (m_session.isOpen())
            showWorkspace();
        else
            showGallery();
        break;
    case CommandId::trainScenario:
        chooseTraining();
        break;
    case CommandId::attachRun:
        chooseAddress();
        break;
    case CommandId::pauseRun:
        if (m_run->status().phase == LivePhase::paused)
            m_run->resume();
        else
            m_run->pause();
        break;
    case CommandId::freezePicture:
        freezePicture(checked());
        break;
    case CommandId::stopRun:
        m_run->stop();
        break;
    case CommandId::switchClock:
        m_live->setClock(m_live->clock() == LiveClock::wall ? LiveClock::parallel : LiveClock::wall);
        break;
    case CommandId::saveTrace:
        chooseTraceFile();
        break;
    case CommandId::checkSerial:
        checkSerial();
        break;
    case CommandId::calibrate:
        calibrate();
        break;
    case CommandId::stepThrough:
        if (checked())
            m_workspace->setPictureVisible(Picture::timeline, true);
        m_workspace->setStepping(checked());
        break;
    case CommandId::fullScreen:
        setWindowState(windowState() ^ Qt::WindowFullScreen);
        break;
    case CommandId::themeSystem:
        setThemeChoice(ThemeChoice::system);
        break;
    case CommandId::themeLight:
        setThemeChoice(ThemeChoice::light);
        break;
    case CommandId::themeDark: // the same key goes back
        setThemeChoice(m_settings.theme == ThemeChoice::dark ? ThemeChoice::light : ThemeChoice::dark);
        break;
    case CommandId::themeHighContrast:
        setThemeChoice(ThemeChoice::highContrast);
        break;
    case CommandId::palette:
        openPalette();
        break;
    case CommandId::keys: {
        auto* sheet = new KeySheet(this);
        sheet->setAttribute(Qt::WA_DeleteOnClose);
        sheet->show();
        break;
    }
    case CommandId::about:
        QMessageBox::about(this, tr("About Rankscope"),
                           tr("<h3>Rankscope %1</h3><p>See, ask and run hybrid-parallel training.</p>"
                              "<p>Apache License 2.0</p>")
                               .arg(QCoreApplication::applicationVersion()));
        break;
    default: // canvas commands ran above
        break;
    }
}

void MainWindow::showOnly(Picture picture)
{
    m_workspace->showOnly(picture);
    updatePictureActions();
}

void MainWindow::updatePictureActions()
{
    for (const Command& c : commands()) {
        if (c.picture)
            action(c.id)->setChecked(m_workspace->isPictureVisible(*c.picture));
    }
}

void MainWindow::chooseSchedule()
{
    auto* chooser = new ScheduleChooser(themeFor(m_settings.theme), this);
    connect(&m_simulator, &Simulator::candidatesReady, chooser, &ScheduleChooser::setCandidates);
    connect(&m_simulator, &Simulator::candidatesFailed, chooser, &ScheduleChooser::setFailure);
    connect(chooser, &ScheduleChooser::chosen, this, [this](const QString& kind) {
        m_session.edit(makeScheduleEdit(m_session.document(), m_session.scenario(), kind.toStdString()));
    });
    m_simulator.requestCandidates(m_session.document(), m_session.catalogue(), *m_session.scenario());
    chooser->open();
}

void MainWindow::findSchedule()
{
    auto* dialog =
        new SynthesisDialog(m_session.document(), m_session.catalogue(), m_simulation, themeFor(m_settings.theme), this);
    connect(dialog, &SynthesisDialog::chosen, this, [this](const sim::Schedule& schedule) {
        m_session.edit(makeOrderEdit(m_session.document(), m_session.scenario(), schedule));
    });
    dialog->open();
}

void MainWindow::editOrder(bool on)
{
    if (on) {
        const sim::Schedule& schedule = m_simulation->schedule();
        if (const std::string why = whyNotCustom(schedule); !why.empty()) {
            m_banner->tell(tr("This schedule cannot be edited"), {{{}, "/schedule/kind", why, sim::Severity::error}});
            on = false;
        } else {
            m_workspace->startEditing(OrderDraft(schedule, measurePasses(*m_actionTrace, schedule)));
        }
    } else {
        m_workspace->stopEditing();
    }
    action(CommandId::editOrder)->setChecked(on);
    updateActions();
}

void MainWindow::saveOrder()
{
    const Edit edit = makeOrderEdit(m_session.document(), m_session.scenario(), m_workspace->editor().draft()->schedule());
    editOrder(false);
    m_session.edit(edit);
}

void MainWindow::openPalette(const QString& typed)
{
    const bool hasStep = isWorkspaceShown() && m_simulation;
    auto* palette =
        new CommandPalette([this](CommandId id) { return isEnabled(id); }, hasStep ? m_simulation->mesh().worldSize() : 0, this);
    if (isWorkspaceShown())
        palette->addSource([this, whatIfs = m_form->whatIfs()](const QString& text) {
            return findWhatIfs(text, whatIfs, [this](const Preset& preset) { m_form->perform(preset); });
        });
    const auto open = [this](const QString& path) { openFile(path); };
    palette->addSource([this, open, recent = m_options.reproducible ? QStringList() : recentFiles()](const QString& text) {
        return findFiles(text, recent, m_gallery->entries(), open);
    });
    if (hasStep) {
        palette->addSource([this, trace = m_workspace->trace()](const QString& text) {
            return findSpans(text, *trace, [this](SpanRef span) { m_workspace->selectSpan(span); });
        });
        palette->addSource([this](const QString& text) {
            const auto light = [this, text] {
                const auto found = static_cast<std::int64_t>(m_workspace->findSpans(text));
                statusBar()->showMessage(found == 0
                                             ? tr("No span is called “%1”").arg(text)
                                             : tr("%1 spans are called “%2”; N goes to the next").arg(separated(found)).arg(text),
                                         8000);
            };
            return std::vector<PaletteEntry>{{tr("Light all spans called “%1”").arg(text), tr("Timeline"), light}};
        });
    }
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
