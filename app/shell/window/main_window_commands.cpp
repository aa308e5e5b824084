// Actions, menus, tool bar, palette and key sheet of the main window, from the one table; and what is longer than a row of it.
#include "app/lessons/lesson_panel.h"
#include "app/session/pass_times.h"
#include "app/session/settings.h"
#include "app/shell/compare/compare_page.h"
#include "app/shell/dialogs/command_palette.h"
#include "app/shell/dialogs/key_sheet.h"
#include "app/shell/dialogs/schedule_chooser.h"
#include "app/shell/dialogs/settings_dialog.h"
#include "app/shell/dialogs/synthesis_dialog.h"
#include "app/shell/form/scenario_form.h"
#include "app/shell/gallery/gallery_page.h"
#include "app/shell/live/live_panel.h"
#include "app/shell/plan/plan_panel.h"
#include "app/shell/presentation/comparison_talk.h"
#include "app/shell/presentation/presentation.h"
#include "app/shell/recorded/recorded_panel.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/problem_banner.h"
#include "app/shell/window/main_window.h"
#include "app/shell/window/palette_sources.h"

#include <QActionGroup>
#include <QCoreApplication>
#include <QKeyEvent>
#include <QLayout>
#include <QMenuBar>
#include <QMessageBox>
#include <QPushButton>
#include <QStatusBar>
#include <QToolBar>
#include <QToolButton>

#include <utility>

namespace app {
namespace {

constexpr int kWhyNotMs = 8000;

QString firstKeyOf(const Command& command)
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
    auto* excludingOthers = new QActionGroup(this);
    for (const Command& c : commands()) {
        QString text = textOf(c);
        const QString submenu = submenuTitle(c.id).remove(QLatin1Char('&'));
        if (!submenu.isEmpty() && text.startsWith(submenu + QStringLiteral(": ")))
            text.remove(0, submenu.size() + 2); // which the menu says already; the palette has the whole name
        if (c.scope == CommandScope::canvas)
            text += QLatin1Char('\t') + firstKeyOf(c); // shown, not registered: keyPressEvent knows what it is meant for
        auto* out = new QAction(text, this);
        if (c.scope == CommandScope::window)
            out->setShortcuts(shortcutsOf(c));
        if (c.extra.tool.icon || !c.extra.textNow) // else buttons follow the text
            out->setIconText(plainText(c));
        out->setCheckable(c.extra.checked != nullptr);
        if (c.extra.excludesOthers)
            excludingOthers->addAction(out);
        const bool isOfHistory = c.id == CommandId::undo || c.id == CommandId::redo; // letters have a history of their own
        connect(out, &QAction::triggered, this, [this, &c, isOfHistory] {
            if (!isOfHistory)
                m_form->takeTyped(); // a key leaves the focus where it is
            c.run(*this);
            updateActions();
        });
        addAction(out);
        m_actions.emplace(c.id, out);
    }
    for (const CommandId id : {CommandId::showForm, CommandId::showDetails, CommandId::showFindings})
        action(id)->setChecked(true);
    action(CommandId::leavePage)->setIconText(tr("Close"));
    action(CommandId::exportComparison)->setIconText(tr("Export"));
}

void MainWindow::buildMenus()
{
    std::map<CommandMenu, QMenu*> menus;
    std::map<std::pair<CommandMenu, QString>, QMenu*> submenus;
    for (const Command& c : commands()) {
        QMenu*& menu = menus[c.menu];
        if (!menu)
            (menu = menuBar()->addMenu(commandMenuTitle(c.menu)))->setToolTipsVisible(true);
        if (c.id == CommandId::clearRecent)
            continue; // at the end of the recent files
        QMenu* into = menu;
        const QString submenu = submenuTitle(c.id);
        if (!submenu.isEmpty()) {
            QMenu*& known = submenus[{c.menu, submenu}];
            const bool isNew = known == nullptr;
            if (isNew && c.extra.startsGroup && !menu->isEmpty())
                menu->addSeparator();
            if (isNew)
                (known = menu->addMenu(submenu))->setToolTipsVisible(true);
            into = known;
        }
        if (c.extra.startsGroup && !into->isEmpty())
            into->addSeparator();
        into->addAction(action(c.id));
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
    const auto add = [&](ToolSection section) {
        for (const Command& c : commands())
            if (c.extra.tool.section == section)
                bar->addAction(action(c.id));
    };
    add(ToolSection::file);
    for (const ToolSection section : {ToolSection::history, ToolSection::picture, ToolSection::training}) {
        bar->addSeparator();
        add(section);
    }
    for (const CommandId id : {CommandId::showKernels, CommandId::trainScenario})
        m_textButtons << qobject_cast<QToolButton*>(bar->widgetForAction(action(id)));
    action(CommandId::trainScenario)->setIconText(tr("Train"));
    stretch(*bar);
    auto* find = new QToolButton;
    find->setDefaultAction(action(CommandId::palette));
    setRole(find, "find");
    m_findButton = find;
    m_textButtons << find;
    bar->addWidget(find);
    fitToolBar();
    stretch(*bar);
    add(ToolSection::end);
}

/// Buttons say less in a narrow window, and nothing but their icons in a very narrow one.
void MainWindow::fitToolBar()
{
    constexpr int kWide = 900, kWideButton = 320, kVeryNarrow = 600;
    const bool isWide = width() >= kWide;
    const QString key = firstKeyOf(command(CommandId::palette));
    action(CommandId::palette)->setIconText(isWide ? tr("Find a command, a file, a rank   %1").arg(key) : tr("Find"));
    m_findButton->setMinimumWidth(isWide ? kWideButton : 0);
    const auto style = width() < kVeryNarrow ? Qt::ToolButtonIconOnly : Qt::ToolButtonTextBesideIcon;
    for (QToolButton* button : m_textButtons)
        button->setToolButtonStyle(style);
    // A button that had no room is hidden, and what is hidden tells no layout that it needs less now.
    m_findButton->parentWidget()->layout()->invalidate();
}

void MainWindow::updateIcons()
{
    const Theme& theme = themeFor(m_settings.theme);
    for (const Command& c : commands()) {
        if (c.extra.tool.icon)
            action(c.id)->setIcon(themedIcon(assetsPath(), QLatin1String(c.extra.tool.icon), theme));
        action(c.id)->setIconVisibleInMenu(false);
    }
}

void MainWindow::updateActions()
{
    for (const Command& c : commands()) {
        QAction& a = *action(c.id);
        a.setEnabled(c.enabled(*this));
        const QString what = whatOf(c), keys = firstKeyOf(c), why = whyNot(c, *this);
        a.setStatusTip(why.isEmpty() ? what : tr("Not now: %1").arg(why));
        a.setToolTip((keys.isEmpty() ? what : QStringLiteral("%1  (%2)").arg(what, keys)) +
                     (why.isEmpty() ? QString() : tr("\nNot now: %1").arg(why)));
        if (c.extra.checked)
            a.setChecked(c.extra.checked(*this));
        if (c.extra.textNow)
            a.setText(c.extra.textNow(*this));
    }
}

void MainWindow::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Escape && m_banner->isVisible()) {
        m_banner->dismiss();
        return;
    }
    if (event->key() == Qt::Key_Escape && isGalleryShown() && m_session.isOpen())
        return showWorkspace();
    if (event->key() == Qt::Key_Escape && isEnabled(CommandId::leavePage)) {
        if (!runInView(ViewCommand::clear, false)) // nothing is left of what somebody chose on it
            run(CommandId::leavePage);
        return;
    }
    const QKeySequence pressed(event->keyCombination());
    for (const Command& c : commands()) // shortcuts of disabled actions are keys like others
        if (c.scope == CommandScope::window && shortcutsOf(c).contains(pressed) && !c.enabled(*this))
            return tellWhyNot(c);
    const Command* command = isStartShown() ? nullptr : canvasCommand(*event);
    // A digit beside a lesson's question is more often a try to answer it.
    const bool isNotForGrid = m_isInLesson && command && command->viewCommand && isOfGrid(*command->viewCommand) &&
                              !m_workspace->canvas(Picture::grid).hasFocus();
    if (!command || isNotForGrid)
        QMainWindow::keyPressEvent(event);
    else if (command->viewCommand)
        runInView(*command->viewCommand, event->modifiers() & Qt::ShiftModifier);
    else if (command->enabled(*this))
        run(command->id);
    else
        tellWhyNot(*command);
}

/// Nobody knows otherwise why a key does nothing.
void MainWindow::tellWhyNot(const Command& command)
{
    if (const QString why = whyNot(command, *this); !why.isEmpty())
        statusBar()->showMessage(tr("%1, not now: %2").arg(plainText(command), why), kWhyNotMs);
}

bool MainWindow::runInView(ViewCommand viewCommand, bool fast)
{
    bool changed = true, areRowsAsked = false;
    if (isLiveShown()) {
        areRowsAsked = m_live->canvas(LivePicture::timelines).isVisible();
        changed = m_live->runCommand(viewCommand, fast);
    } else if (isRecordedShown()) {
        areRowsAsked = true;
        changed = m_recorded->runCommand(viewCommand, fast);
    } else if (isCompareShown()) {
        changed = m_compare->runCommand(viewCommand, fast);
    } else if (PlanPanel* plan = m_plan.ifPlaced(); plan != nullptr && plan->hasCanvasFocus()) {
        plan->runCommand(viewCommand, fast);
    } else {
        areRowsAsked = m_workspace->isPictureVisible(Picture::timeline);
        changed = m_workspace->runCommand(viewCommand, fast);
    }
    if (!changed && areRowsAsked && viewCommand == ViewCommand::groupRows) // whether there is another way, only the rows know
        statusBar()->showMessage(
            tr("%1, not now: no way of grouping tells these rows apart").arg(plainText(command(CommandId::groupRows))),
            kWhyNotMs);
    return changed;
}

void MainWindow::showOnly(Picture picture)
{
    m_workspace->showOnly(picture);
    updateActions();
}

void MainWindow::showInFront(Picture picture)
{
    m_inFrontNext = picture;
}

Presentation* MainWindow::presentation() const
{
    return m_presentation;
}

void MainWindow::present(bool fromItsBegin)
{
    if (m_presentation) {
        m_presentation->activateWindow();
        return;
    }
    m_tried = m_lesson->isPlaying() && m_session.undoStack().count() > 0 ? m_session.aside() : nullptr;
    auto talk = m_lesson->isPlaying() ? talkOfLesson() : nullptr;
    const int place = talk && !fromItsBegin ? m_lessonTalkStart : 0;
    if (!talk && isCompareShown())
        talk = talkOfComparison(m_compare->view(), themeFor(m_settings.theme));
    if (!talk) {
        const auto& scenario = m_session.scenario();
        talk = talkOfScenario(m_session.displayName(), scenario ? QString::fromStdString(scenario->description) : QString());
    }
    m_presentation =
        new Presentation(m_desk, *m_workspace, std::move(talk), m_options.renderer, themeFor(m_settings.theme), this);
    if (place > 0)
        m_presentation->goTo(place);
    m_presentation->setTextPercent(m_textSize.percent());
    m_presentation->setGeometry(geometry()); // so that it fills the screen that the window is on
    m_presentation->showFullScreen();
    if (!m_lesson->isPlaying()) // it tells the description of a scenario that is not on screen any more
        connect(&m_desk, &Desk::opened, m_presentation, &QWidget::close, Qt::QueuedConnection);
    connect(m_presentation, &Presentation::left, m_lesson, [this] {
        m_lesson->setSuspended(false);
        if (const auto tried = std::exchange(m_tried, nullptr); tried && m_lesson->isPlaying())
            m_session.takeUp(*tried);
    });
}

void MainWindow::chooseSchedule()
{
    auto* chooser = new ScheduleChooser(themeFor(m_settings.theme), this);
    connect(&m_desk, &Desk::candidatesListed, chooser, &ScheduleChooser::setCandidates);
    connect(&m_desk, &Desk::candidateWeighed, chooser, &ScheduleChooser::setCandidate);
    connect(chooser, &ScheduleChooser::chosen, this, [this](const QString& kind) {
        m_session.edit(makeScheduleEdit(m_session.document(), m_session.scenario(), kind.toStdString()));
    });
    connect(chooser, &ScheduleChooser::compareRequested, this,
            [this, chooser](const QString& kind) { chooser->tell(compareWithSchedule(kind)); });
    connect(chooser, &QDialog::finished, &m_desk, &Desk::dropCandidates);
    m_desk.requestCandidates();
    chooser->open();
}

void MainWindow::findSchedule()
{
    auto* dialog =
        new SynthesisDialog(m_session.document(), m_session.catalogue(), m_desk.simulation(), themeFor(m_settings.theme), this);
    connect(dialog, &SynthesisDialog::chosen, this, [this](const sim::Schedule& schedule) {
        m_session.edit(makeOrderEdit(m_session.document(), m_session.scenario(), schedule));
    });
    dialog->open();
}

void MainWindow::editOrder(bool on)
{
    if (on) {
        const sim::Schedule& schedule = m_desk.simulation()->schedule();
        if (const std::string why = whyNotCustom(schedule); !why.empty()) {
            m_banner->tell(tr("This schedule cannot be edited"), {{{}, "/schedule/kind", why, sim::Severity::error}});
            on = false;
        } else {
            m_workspace->startEditing(OrderDraft(schedule, measurePasses(*m_desk.actions(), schedule)));
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
    giveUpOrder();
    m_session.edit(edit);
}

/// What was moved goes with the editor; editOrder(false) keeps it for when the same schedule is edited again.
void MainWindow::giveUpOrder()
{
    editOrder(false);
    m_workspace->editor().giveUp();
}

/// Another step: with the same schedule what was moved is as good as before, at other times. With another there is nothing to
/// edit; the moves wait for theirs.
void MainWindow::followOrder()
{
    if (!m_workspace->isEditing())
        return;
    constexpr int kToldMs = 20'000;
    OrderEditorPanel& editor = m_workspace->editor();
    const sim::Schedule& schedule = m_desk.simulation()->schedule();
    if (!editor.hasMoves())
        return editOrder(false);
    if (schedule == editor.draft()->original())
        return editor.start(OrderDraft(schedule, measurePasses(*m_desk.actions(), schedule)));
    editOrder(false);
    statusBar()->showMessage(tr("What you moved is kept: with the schedule it is of, Edit Order of Actions goes on"), kToldMs);
}

bool MainWindow::mayLoseOrder()
{
    if (!m_workspace->isEditing() || !m_workspace->editor().hasMoves() || m_options.reproducible)
        return true;
    QMessageBox box(QMessageBox::Question, tr("Unsaved Order"), tr("The order of actions that you edit is not in the scenario."),
                    QMessageBox::Discard | QMessageBox::Cancel, this);
    const bool canRun = m_workspace->editor().draft()->canRun();
    QPushButton* save = canRun ? box.addButton(tr("Save as Custom"), QMessageBox::AcceptRole) : nullptr;
    box.setDefaultButton(canRun ? save : qobject_cast<QPushButton*>(box.button(QMessageBox::Cancel)));
    box.exec();
    if (save != nullptr && box.clickedButton() == save) {
        saveOrder();
        return true;
    }
    return box.clickedButton() == box.button(QMessageBox::Discard);
}

void MainWindow::openPalette(const QString& typed)
{
    const bool hasStep = isWorkspaceShown() && m_desk.simulation();
    const auto runnable = [this] {
        std::vector<PaletteEntry> out;
        for (const Command& c : commands())
            if (c.id != CommandId::palette && c.enabled(*this))
                out.push_back({plainText(c), keysOf(c), [this, id = c.id] { run(id); }, whatOf(c), false, otherWordsOf(c)});
        return out;
    };
    auto* palette = new CommandPalette(runnable, hasStep ? m_desk.simulation()->mesh().worldSize() : 0, this);
    palette->addSource(
        [this](const QString& text) { return findHelp(text, m_help, [this](const QString& title) { showHelp(title); }); });
    palette->addSource([this](const QString& text) { return findPrice(text, m_help, [this] { openSettings().askForPrice(); }); });
    if (isWorkspaceShown())
        palette->addSource([this](const QString& text) {
            return findSettings(text, m_help, [this](const QString& pointer) { showSetting(pointer); });
        });
    if (isWorkspaceShown() && !m_masksNumbers)
        palette->addSource([this, whatIfs = m_form->whatIfs()](const QString& text) {
            return findWhatIfs(text, whatIfs, [this](const Preset& preset) { m_form->perform(preset); });
        });
    if (hasStep && m_session.scenario() && !m_masksNumbers)
        palette->addSource([this](const QString& text) {
            return findSchedules(text, [this](std::string_view kind) {
                m_session.edit(makeScheduleEdit(m_session.document(), m_session.scenario(), kind));
            });
        });
    const auto open = [this](const QString& path) { openFile(path); };
    palette->addSource([this, open, recent = m_options.reproducible ? QStringList() : recentFiles()](const QString& text) {
        if (m_gallery->isEmpty()) // it has not been shown yet, or not since a lesson
            refreshGallery();
        return findFiles(text, recent, m_gallery->entries(), open);
    });
    if (hasStep && !m_masksNumbers) {
        palette->addSource([this, trace = m_desk.step().trace](const QString& text) {
            return findSpans(text, *trace, [this](SpanRef span) { m_workspace->selectSpan(span); });
        });
        palette->addSource([this, trace = m_desk.step().trace](const QString& text) {
            if (!hasSpansCalled(text, *trace))
                return std::vector<PaletteEntry>();
            const auto light = [this, text] {
                const auto found = static_cast<std::int64_t>(m_workspace->findSpans(text));
                statusBar()->showMessage(found == 0 ? tr("No span is called “%1”").arg(text)
                                         : found == 1
                                             ? tr("1 span is called “%1”").arg(text)
                                             : tr("%1 spans are called “%2”; N goes to the next").arg(separated(found)).arg(text),
                                         8000);
            };
            return std::vector<PaletteEntry>{
                {tr("Light all spans called “%1”").arg(text), tr("Timeline"), light, {}, false, {}, true}};
        });
    }
    connect(palette, &CommandPalette::rankChosen, &m_desk, &Desk::selectRank, Qt::QueuedConnection);
    if (!typed.isEmpty())
        palette->setFilter(typed);
    constexpr int kFromTop = 84;
    palette->move(mapToGlobal(QPoint((width() - palette->width()) / 2, kFromTop)));
    palette->show();
}

void MainWindow::showKeys()
{
    std::vector<KeySheet::Section> sections;
    for (const CommandMenu menu : {CommandMenu::navigate, CommandMenu::view, CommandMenu::file, CommandMenu::edit,
                                   CommandMenu::live, CommandMenu::recorded, CommandMenu::help}) {
        KeySheet::Section& section =
            sections.emplace_back(KeySheet::Section{commandMenuTitle(menu).remove(QLatin1Char('&')), {}});
        for (const Command& c : commands())
            if (c.menu == menu && !keysOf(c).isEmpty())
                section.lines.push_back({keysOf(c), plainText(c), whatOf(c)});
    }
    auto* sheet = new KeySheet(std::move(sections), m_settings.navigation, this);
    sheet->setAttribute(Qt::WA_DeleteOnClose);
    sheet->show();
}

void MainWindow::showAbout()
{
    QMessageBox box(this);
    box.setWindowTitle(tr("About Rankscope"));
    box.setIconPixmap(windowIcon().pixmap(style()->pixelMetric(QStyle::PM_MessageBoxIconSize, nullptr, this)));
    box.setTextFormat(Qt::RichText);
    box.setText(tr("<h3>Rankscope %1</h3><p>See, ask and run hybrid-parallel training.</p>"
                   "<p>Apache License 2.0</p>")
                    .arg(QCoreApplication::applicationVersion()));
    box.exec();
}

} // namespace app
