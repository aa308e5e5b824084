#include "app/shell/window/commands.h"

#include "app/lessons/lesson_panel.h"
#include "app/session/scenario_name.h"
#include "app/session/settings.h"
#include "app/shell/compare/compare_page.h"
#include "app/shell/live/live_panel.h"
#include "app/shell/recorded/recorded_panel.h"
#include "app/shell/window/main_window.h"
#include "app/shell/window/text_size.h"

#include <QDockWidget>
#include <QUndoStack>

#include <algorithm>
#include <cassert>

namespace app {

/// A friend of the window: when its commands can be run, and the rows.
struct CommandTable {
    using W = MainWindow;

    static bool always(const W&) { return true; }
    static bool onWorkspace(const W& w) { return w.isWorkspaceShown(); }
    static bool onScenario(const W& w) { return w.isWorkspaceShown() || w.isCompareShown(); }
    static bool onPictures(const W& w) { return !w.isStartShown(); }
    static bool onRunOrComparison(const W& w) { return onPictures(w) && !w.isWorkspaceShown(); }
    static bool hasStep(const W& w) { return w.isWorkspaceShown() && w.m_desk.simulation(); }
    /// What takes numbers of the step elsewhere waits while a lesson asks for one of them.
    static bool maySay(const W& w) { return hasStep(w) && !w.m_masksNumbers; }
    static bool hasRecording(const W& w) { return w.hasRecordedRun(); }
    static bool hasTable(const W& w) { return maySay(w) || (w.isRecordedShown() && w.hasRecordedRun()); }
    static bool hasLivePicture(const W& w) { return w.m_live.ifPlaced() != nullptr && w.m_live.ifPlaced()->picture(); }
    static bool hasFigure(const W& w) { return hasTable(w) || (w.isLiveShown() && hasLivePicture(w)); }
    static bool hasRun(const W& w) { return w.m_run != nullptr; }
    static bool mayFilm(const W& w)
    {
        return w.isRecordedShown() ? w.hasRecordedRun() && w.recordedRun()->picture() != nullptr : maySay(w);
    }
    static bool canWriteFile(const W& w) { return maySay(w) && !w.m_fileExport.isBusy(); }
    static bool isOpen(const W& w) { return w.m_session.isOpen(); }
    static bool mayCompare(const W& w) { return isOpen(w) && !w.m_masksNumbers; }
    static bool isEditing(const W& w) { return w.isWorkspaceShown() && w.m_workspace->isEditing(); }
    static bool isComparing(const W& w) { return w.isCompareShown() && w.m_compare.ifPlaced()->view().comparison(); }
    static bool isPinned(const W& w) { return w.m_baseline.isPinned(); }
    static bool isPlayingLesson(const W& w) { return w.m_lesson->isPlaying(); }
    /// What has the key with it, or shows it, waits while a question is open.
    static bool mayTellOfLesson(const W& w) { return isPlayingLesson(w) && !w.m_masksNumbers && !w.m_fileExport.isBusy(); }
    static bool mayPresent(const W& w)
    {
        const bool isExam = isPlayingLesson(w) && w.m_lesson->play()->lesson().draws.has_value();
        return isExam ? !w.m_masksNumbers : hasStep(w) || isPlayingLesson(w) || (isComparing(w) && !w.m_masksNumbers);
    }
    /// Nor is a group selected that somebody is to find.
    static bool maySelectGroup(const W& w) { return onPictures(w) && !w.m_desk.selection().asksForRanks; }
    static bool mayPlan(const W& w) { return maySay(w) && !(w.m_isInLesson && w.m_lesson->asksSomething()); }
    static bool isTraining(const W& w) { return w.runIsActive(); }
    static bool answers(const W& w) { return isTraining(w) && w.m_run->status().phase != LivePhase::lost; }
    /// As far as anybody knows: one that was started here may be silent, and can be ended by force.
    static bool trainsStill(const W& w) { return isTraining(w) && (answers(w) || w.m_run->isOwn()); }
    static bool isPaused(const W& w) { return w.m_run && w.m_run->status().phase == LivePhase::paused; }
    static bool isFrozen(const W& w) { return w.m_run && w.m_run->pinned().has_value(); }
    static bool canTrain(const W& w)
    {
        return !w.isStartShown() && !w.isRecordedShown() && w.m_desk.simulation() && !w.m_masksNumbers;
    }
    static bool canFindSchedule(const W& w)
    {
        const auto& scenario = w.m_session.scenario();
        return maySay(w) && scenario && scenario->layout.pp > 1 &&
               w.m_desk.simulation()->scenario() == *scenario; // else it is on its way
    }
    static bool canGoBackToBaseline(const W& w)
    {
        return onScenario(w) && isOpen(w) && isPinned(w) && !w.m_baseline.isAnother() &&
               w.m_session.document().text() != w.m_baseline.document().text();
    }
    /// What is kept nowhere but in the action, which a click has switched before the command runs.
    template <CommandId id>
    static bool isOn(const W& w)
    {
        return w.action(id)->isChecked();
    }
    template <ThemeChoice theme>
    static bool hasTheme(const W& w)
    {
        return w.m_settings.theme == theme;
    }
    /// As it looks, whatever the desktop has to do with it.
    static bool isLight(const W& w) { return &themeFor(w.m_settings.theme) == &lightTheme(); }
    static bool canTakeBack(const W& w) { return isEditing(w) && w.m_workspace->editor().canTakeBack(); }
    static QString withStep(CommandId id, const QString& step)
    {
        const QString text = textOf(command(id));
        return step.isEmpty() ? text : text + QLatin1Char(' ') + step;
    }
    static constexpr Command inWindow(CommandId id, CommandMenu menu, const char* text, const char* shortcuts, const char* what,
                                      bool (*enabled)(const W&), void (*run)(W&), const CommandExtras& extra = {})
    {
        return {id, menu, CommandScope::window, text, shortcuts, what, enabled, run, extra};
    }
    template <ViewCommand viewCommand>
    static constexpr Command inView(CommandId id, CommandMenu menu, const char* text, const char* shortcuts, const char* what,
                                    const CommandExtras& extra = {})
    {
        const auto run = [](W& w) { w.runInView(viewCommand, false); };
        return {id, menu, CommandScope::canvas, text, shortcuts, what, onPictures, run, extra, viewCommand};
    }
    template <ViewCommand viewCommand>
    static constexpr Command ofGroup(CommandId id, const char* text, const char* shortcuts, const char* what,
                                     const CommandExtras& extra = {})
    {
        Command out = inView<viewCommand>(id, CommandMenu::navigate, text, shortcuts, what, extra);
        out.enabled = maySelectGroup;
        return out;
    }
    template <Picture picture>
    static constexpr Command ofPicture(CommandId id, const char* text, const char* shortcuts, const char* what)
    {
        const auto visible = [](const W& w) { return w.m_workspace->isPictureVisible(picture); };
        const auto goToOrHide = [](W& w) { w.m_workspace->goToOrHide(picture); };
        return inWindow(id, CommandMenu::view, text, shortcuts, what, onWorkspace, goToOrHide, {.checked = visible});
    }

    static QString whyNot(const Command&, const W&);
    static QString whyNoTraining(const Command& c, const W& w)
    {
        if (c.enabled == canTrain)
            return w.isStartShown()      ? W::tr("open a scenario first")
                   : w.isRecordedShown() ? W::tr("it trains a scenario, not a recorded run")
                                         : W::tr("the scenario is not simulated yet");
        if (c.id == CommandId::trainAgain)
            return w.m_trained ? W::tr("a training runs") : W::tr("nothing was trained yet");
        return w.m_run ? QString() : W::tr("no training is watched");
    }
    static QString ofRecorded(const W& w, const char* text) { return w.isRecordedShown() ? W::tr(text) : QString(); }
    static QString lineupIsFull(const W& w)
    {
        return w.m_desk.lineup().isFull() ? W::tr("six scenarios are on the axis already, and no more fit") : QString();
    }
    static QString textIsUsual(const W&) { return W::tr("the text is of its usual size, 100 %"); }
    static std::span<const Command> rows();
};

QString CommandTable::whyNot(const Command& c, const W& w)
{
    if (c.enabled(w))
        return {};
    if (const QString own = c.extra.whyNot ? c.extra.whyNot(w) : QString(); !own.isEmpty())
        return own;
    if (w.m_masksNumbers)
        return w.whyHidden();
    if (c.menu == CommandMenu::live)
        return whyNoTraining(c, w);
    if (c.menu == CommandMenu::recorded)
        return hasRecording(w) ? QString() : W::tr("no recorded run is open");
    if (w.isStartShown())
        return W::tr("open a scenario first");
    if (w.isRecordedShown())
        return W::tr("it is of a scenario that is simulated, not of a recorded run");
    if (w.isLiveShown())
        return W::tr("it is of the scenario, not of the training that is watched");
    return w.isCompareShown() ? W::tr("it is of one scenario: Esc leaves the comparison") : QString();
}

std::span<const Command> CommandTable::rows()
{
    using enum CommandId;
    using enum CommandMenu;
    static constexpr Command kRows[]{
        inWindow(newScenario, file, "&New…", "Ctrl+N", "A scenario of a model, a number of GPUs and a goal", always,
                 [](W& w) { w.chooseNew(); }, {.tool = {ToolSection::file, "new"}}),
        inWindow(gallery, file, "&Gallery", "Ctrl+G", "Choose a scenario to look at", always,
                 [](W& w) { w.isGalleryShown() && w.m_session.isOpen() ? w.showWorkspace() : w.showGallery(); },
                 {.tool = {ToolSection::file, "gallery"}}),
        inWindow(open, file, "&Open…", "Ctrl+O", "Open a scenario file, or the traces of a recorded run", always,
                 [](W& w) { w.chooseFile(); }, {.tool = {ToolSection::file, "open"}}),
        inWindow(openFromClipboard, file, "Open from Clip&board", "Ctrl+Shift+O",
                 "A rankscope: link, the text of a scenario, or a command line of a framework", always,
                 [](W& w) { w.openFromClipboard(); }),
        inWindow(importSettings, file, "Import Settings…", "Ctrl+I",
                 "Scripts and files of Megatron, torchtitan, DeepSpeed and others as a scenario", always,
                 [](W& w) { w.chooseSettings(); }),
        inWindow(save, file, "&Save", "Ctrl+S", "Save the scenario", onScenario, [](W& w) { w.save(); },
                 {.startsGroup = true, .tool = {ToolSection::file, "save"}}),
        inWindow(saveAs, file, "Save &As…", "Ctrl+Shift+S", "Save the scenario under another name", onScenario,
                 [](W& w) { w.saveAs(); }),
        inWindow(saveWithView, file, "Save with &View", "", "Save the scenario to open on what is on screen now", onWorkspace,
                 [](W& w) { w.saveWithView(); }),
        inWindow(clearRecent, file, "Clear Recent Files", "", "Forget the recent files", always,
                 [](W& w) {
                     w.tellIfForgotten(clearRecentFiles());
                     if (w.isGalleryShown())
                         w.refreshGallery();
                 }),
        inWindow(
            exportFigure, file, "&Export Figure…", "Ctrl+E", "A picture as SVG, PDF or PNG, for papers and slides",
            [](const W& w) { return hasFigure(w) || isComparing(w); },
            [](W& w) {
                if (isComparing(w))
                    w.exportComparisonFigure();
                else if (w.isRecordedShown())
                    w.exportRecordedFigure();
                else if (w.isLiveShown())
                    w.exportLiveFigure();
                else
                    w.exportFigure();
            },
            {.startsGroup = true}),
        inWindow(exportTable, file, "Export &Table…", "Ctrl+Shift+E", "Numbers, memory, groups or spans as CSV", hasTable,
                 [](W& w) { w.isRecordedShown() ? w.exportRecordedTable() : w.exportTable(); }),
        inWindow(exportTrace, file, "E&xport Trace…", "Ctrl+Alt+T", "The step for Perfetto and other trace viewers", canWriteFile,
                 [](W& w) { w.exportTrace(); }),
        inWindow(exportFilm, file, "Export &Film…", "Ctrl+Alt+F", "The step as it plays: MP4, WebM, GIF or numbered SVGs",
                 mayFilm, [](W& w) { w.exportFilm(); }),
        inWindow(exportPage, file, "Export &Page…", "", "Scenario, numbers and pictures as one file that any browser opens",
                 canWriteFile, [](W& w) { w.exportPage(); }),
        inWindow(handout, file, "&Hand-out of the Lesson…", "",
                 "The lesson on paper: questions with room to answer, key on its own sheet", mayTellOfLesson,
                 [](W& w) { w.exportHandout(); }, {.startsGroup = true}),
        inWindow(exportResults, file, "Lesson Res&ults…", "", "What was answered, and the engine's answers, as CSV or JSON",
                 mayTellOfLesson, [](W& w) { w.exportResults(); }),
        inWindow(leaveLesson, file, "Leave the Lesson", "", "To the gallery; the lesson goes on here next time", isPlayingLesson,
                 [](W& w) { Q_EMIT w.m_lesson->left(); }),
        inWindow(recordLesson, file, "Recor&d a Lesson…", "", "Make a lesson of what the window shows, step by step", onWorkspace,
                 [](W& w) { w.recordLesson(); }),
        inWindow(copyLink, file, "Copy &Link", "Ctrl+Alt+C", "The scenario as a rankscope: link, to be sent in a message",
                 onScenario, [](W& w) { w.copyLink(); }),
        inWindow(
            copySettings, file, "Cop&y As…", "Ctrl+Alt+A", "The layout as settings of Megatron, torchtitan, DeepSpeed and others",
            [](const W& w) { return onScenario(w) && w.m_session.scenario(); }, [](W& w) { w.copySettings(); }),
        inWindow(
            copyFigure, file, "&Copy Figure", "Ctrl+Shift+C",
            "The picture used last or brought in front by its tab, or the whole comparison",
            [](const W& w) { return w.isCompareShown() ? isComparing(w) : hasFigure(w); }, [](W& w) { w.copyFigure(); }),
        inWindow(exportComparison, file, "Export Co&mparison…", "",
                 "What differs from the baseline, and what that does, as CSV or as a figure", isComparing,
                 [](W& w) { w.exportComparison(); }),
        inWindow(settings, file, "Sett&ings…", "Ctrl+,", "Theme, text size, wheel, renderer, autosave", always,
                 [](W& w) { w.openSettings(); }, {.startsGroup = true}),
        inWindow(quit, file, "&Quit", "Ctrl+Q", "Close the window", always, [](W& w) { w.close(); }),

        inWindow(
            undo, edit, "&Undo", "Ctrl+Z", "Take the last change of the scenario back",
            [](const W& w) { return onScenario(w) && (canTakeBack(w) || w.m_session.undoStack().canUndo()); },
            [](W& w) { canTakeBack(w) ? w.m_workspace->editor().takeBack() : w.m_session.undoStack().undo(); },
            {.textNow =
                 [](const W& w) {
                     return withStep(undo, canTakeBack(w) ? W::tr("move of an action") : w.m_session.undoStack().undoText());
                 },
             .tool = {ToolSection::history, "undo"}}),
        inWindow(
            redo, edit, "&Redo", "Ctrl+Shift+Z Ctrl+Y", "Make it again",
            [](const W& w) { return onScenario(w) && w.m_session.undoStack().canRedo(); },
            [](W& w) { w.m_session.undoStack().redo(); },
            {.textNow = [](const W& w) { return withStep(redo, w.m_session.undoStack().redoText()); },
             .tool = {ToolSection::history, "redo"}}),
        inWindow(
            nameScenario, edit, "&Name and Description…", "F2", "What the scenario is called, and what it shows",
            [](const W& w) { return onScenario(w) && !w.m_masksNumbers; }, [](W& w) { w.nameScenario(); }, {.startsGroup = true}),
        inWindow(
            chooseSchedule, edit, "&Choose Schedule…", "Ctrl+L", "See every schedule beside each other and use one",
            [](const W& w) { return w.isWorkspaceShown() && w.m_session.scenario() && !w.m_masksNumbers; },
            [](W& w) { w.chooseSchedule(); }),
        inWindow(findSchedule, edit, "&Find a Schedule…", "Ctrl+Shift+L",
                 "Search for the shortest order of actions in the memory there is, and see how near to the best it comes",
                 canFindSchedule, [](W& w) { w.findSchedule(); }),
        inWindow(
            editOrder, edit, "Edit &Order of Actions", "Ctrl+R",
            "Drag actions of the schedule, see what it costs, keep it as a custom schedule",
            [](const W& w) { return maySay(w) && w.m_desk.simulation()->schedule().ranks > 1; },
            [](W& w) { w.editOrder(isOn<editOrder>(w)); }, {.checked = isOn<editOrder>}),
        inWindow(moveEarlier, edit, "Move Action &Earlier", "Alt+Left", "In the order editor: one place earlier on its rank",
                 isEditing, [](W& w) { w.m_workspace->runCommand(ViewCommand::moveEarlier, false); }),
        inWindow(moveLater, edit, "Move Action &Later", "Alt+Right", "In the order editor: one place later on its rank",
                 isEditing, [](W& w) { w.m_workspace->runCommand(ViewCommand::moveLater, false); }),
        inWindow(
            pinBaseline, edit, "Pin as &Baseline", "Ctrl+B", "Keep the scenario as it is now, to compare with",
            [](const W& w) { return onScenario(w) && w.m_desk.simulation(); }, [](W& w) { w.pinBaseline(); },
            {.startsGroup = true,
             .textNow = [](const W& w) { return isPinned(w) ? W::tr("Pin &Baseline Anew") : textOf(command(pinBaseline)); }}),
        inWindow(
            forgetBaseline, edit, "For&get Baseline", "", "Compare with the step before each change again",
            [](const W& w) { return onScenario(w) && isPinned(w); }, [](W& w) { w.forgetBaseline(); }),
        inWindow(
            formerBaseline, edit, "Baseline As &It Was Before", "", "Take back that another was pinned, or that it was forgotten",
            [](const W& w) { return onScenario(w) && w.m_baseline.hasFormer(); }, [](W& w) { w.goBackToFormerBaseline(); }),
        inWindow(compareWithFile, edit, "Compare &With File…", "Ctrl+Shift+B", "Take another scenario as the baseline",
                 mayCompare, [](W& w) { w.chooseBaseline(); }),
        inWindow(
            compareWithMore, edit, "Compare With &More Files…", "Ctrl+Alt+M", "Lay further scenarios on the same axis, up to six",
            [](const W& w) { return mayCompare(w) && !w.m_desk.lineup().isFull(); }, [](W& w) { w.chooseFurther(); },
            {.whyNot = lineupIsFull}),
        inWindow(
            keepInComparison, edit, "Kee&p in Comparison", "Ctrl+Alt+K", "Keep the scenario as it is now on the axis, up to six",
            [](const W& w) { return onScenario(w) && w.m_desk.simulation() && !w.m_desk.lineup().isFull(); },
            [](W& w) { w.keepInComparison(); }, {.whyNot = lineupIsFull}),
        inWindow(
            endComparison, edit, "Compare Only &A and B", "", "Take the further scenarios off the axis",
            [](const W& w) { return !w.m_desk.lineup().entries().empty(); }, [](W& w) { w.m_desk.lineup().clear(); }),
        inWindow(backToBaseline, edit, "Bac&k to Baseline", "",
                 "Make the scenario what it was when the baseline was pinned; undo takes it back", canGoBackToBaseline,
                 [](W& w) { w.m_session.replaceContent(w.m_baseline.document(), W::tr("back to the baseline")); }),

        inView<ViewCommand::zoomIn>(zoomIn, navigate, "Zoom &In", "W", "Zoom in at the pointer; Shift: four times as much",
                                    {.position = 17}),
        inView<ViewCommand::zoomOut>(zoomOut, navigate, "Zoom &Out", "S", "Zoom out", {.position = 31}),
        inView<ViewCommand::panLeft>(panLeft, navigate, "Pan &Left", "A", "Earlier, or left", {.position = 30}),
        inView<ViewCommand::panRight>(panRight, navigate, "Pan &Right", "D", "Later, or right", {.position = 32}),
        inView<ViewCommand::panUp>(panUp, navigate, "Pan &Up", "", "Rows above"),
        inView<ViewCommand::panDown>(panDown, navigate, "Pan &Down", "", "Rows below"),
        inView<ViewCommand::stepLeft>(stepLeft, navigate, "Step Left", "Left", "The rank at the left, or earlier"),
        inView<ViewCommand::stepRight>(stepRight, navigate, "Step Right", "Right", "The rank at the right, or later"),
        inView<ViewCommand::stepUp>(stepUp, navigate, "Step Up", "Up", "The rank above, or rows above"),
        inView<ViewCommand::stepDown>(stepDown, navigate, "Step Down", "Down", "The rank below, or rows below"),
        inView<ViewCommand::focusSelection>(focusSelection, navigate, "&Focus Selection", "F",
                                            "Frame what is selected; again: all", {.startsGroup = true}),
        inView<ViewCommand::fitAll>(fitAll, navigate, "Fit &All", "Home", "The whole picture",
                                    {.tool = {ToolSection::picture, "fit"}}),
        inView<ViewCommand::viewBack>(viewBack, navigate, "View &Back", "Backspace", "The time range looked at before"),
        inView<ViewCommand::viewForward>(viewForward, navigate, "View For&ward", "Shift+Backspace",
                                         "The time range come back from"),
        inView<ViewCommand::previous>(previous, navigate, "&Previous", ",", "Previous span in the row, or rank",
                                      {.startsGroup = true}),
        inView<ViewCommand::next>(next, navigate, "&Next", ".", "Next span in the row, or rank"),
        inView<ViewCommand::followBack>(followBack, navigate, "Follow Backwards", "[", "The span that this one waited for"),
        inView<ViewCommand::followForward>(followForward, navigate, "Follow Forwards", "]", "The span that waits for this one"),
        inView<ViewCommand::nextWait>(nextWait, navigate, "Next Wait", "G",
                                      "The row's next idle time: what it waits for, and why"),
        inView<ViewCommand::previousWait>(previousWait, navigate, "Previous Wait", "Shift+G", "The row's idle time before"),
        inView<ViewCommand::nextMatch>(nextMatch, navigate, "Ne&xt Match", "F3 N", "The next span that was searched for"),
        inView<ViewCommand::previousMatch>(previousMatch, navigate, "Pre&vious Match", "Shift+F3 Shift+N", "The one before it"),
        inView<ViewCommand::mark>(mark, navigate, "&Mark", "M",
                                  "Mark the selected range or the time cursor; again: take the mark away", {.startsGroup = true}),
        inView<ViewCommand::keepRange>(keepRange, navigate, "&Keep Range", "Shift+M",
                                       "Mark the selected range, or that of the selected span"),
        inView<ViewCommand::rangeOfSpan>(rangeOfSpan, navigate, "Rang&e of Span", "R",
                                         "Select the time range of the selected span"),
        inView<ViewCommand::pinRow>(pinRow, navigate, "Pin Row", "P", "Keep the row in focus at the top, or let it go",
                                    {.startsGroup = true}),
        inView<ViewCommand::groupRows>(groupRows, navigate, "Group Rows", "U",
                                       "By stage, node, replica …: the next way there is"),
        inView<ViewCommand::sortRows>(sortRows, navigate, "&Sort Rows", "O", "By rank, by busy time, by end"),
        inView<ViewCommand::filterRows>(filterRows, navigate, "Only Selected Rows", "L", "Rows of the selected ranks, or all"),
        inView<ViewCommand::criticalPath>(criticalPath, navigate, "Cri&tical Path", "X",
                                          "What made the step as long as it is, or all alike"),
        inView<ViewCommand::clear>(clear, navigate, "&Clear Selection", "Esc", "Select nothing"),
        inView<ViewCommand::because>(because, navigate, "Because", "=",
                                     "Where the number under the pointer comes from: formula, values, source"),
        inWindow(goToRank, navigate, "&Go to Rank…", "/", "Type a rank's number to select it", hasStep,
                 [](W& w) { w.openPalette(W::tr("rank ")); }, {.startsGroup = true}),
        ofGroup<ViewCommand::selectTpGroup>(selectTpGroup, "Select Tensor Group", "T",
                                            "All ranks of the rank's tensor-parallel group", {.startsGroup = true}),
        ofGroup<ViewCommand::selectCpGroup>(selectCpGroup, "Select Context Group", "C",
                                            "All ranks of its context-parallel group"),
        ofGroup<ViewCommand::selectPpGroup>(selectPpGroup, "Select Pipeline", "I", "All ranks of its pipeline"),
        ofGroup<ViewCommand::selectDpGroup>(selectDpGroup, "Select Data Group", "B",
                                            "All its data-parallel replicas: those that share the batch"),
        ofGroup<ViewCommand::selectEpGroup>(selectEpGroup, "Select Expert Group", "E", "All ranks of its expert-parallel group"),
        {play,
         navigate,
         CommandScope::canvas,
         "Pla&y or Pause",
         "Space",
         "Move the time cursor through the step",
         [](const W& w) { return hasStep(w) || (w.isRecordedShown() && w.hasRecordedRun()); },
         [](W& w) { w.isRecordedShown() ? w.m_recorded->play() : w.m_desk.playback().toggle(); },
         {.startsGroup = true}},

        ofPicture<Picture::grid>(showGrid, "Rank &Grid", "Alt+1", "Go to the rank grid; again: hide it"),
        ofPicture<Picture::timeline>(showTimeline, "&Timeline", "Alt+2", "Go to the timeline; again: hide it"),
        ofPicture<Picture::memory>(showMemory, "&Memory", "Alt+7", "What fills the GPUs, rank by rank and over the step"),
        ofPicture<Picture::traffic>(showTraffic, "T&raffic", "Alt+8", "Who sends how much to whom, over which link"),
        ofPicture<Picture::storage>(showStorage, "What a GP&U Stores", "Alt+9", "Which slice of every tensor a rank holds"),
        ofPicture<Picture::block>(showBlock, "A Block on a Rank", "Ctrl+Alt+B",
                                  "The operators of one layer as a rank runs them, with its collectives, forward and backward"),
        inWindow(showForm, view, "&Scenario", "Alt+3", "Go to the scenario form; again: hide it", onWorkspace,
                 [](W& w) { w.goToOrHide(*w.m_formDock, showForm); }, {.checked = isOn<showForm>}),
        inWindow(showDetails, view, "&Details", "Alt+4", "Go to the numbers; again: hide them", onWorkspace,
                 [](W& w) { w.goToOrHide(*w.m_detailsDock, showDetails); }, {.checked = isOn<showDetails>}),
        inWindow(showFindings, view, "F&indings", "Ctrl+Shift+F", "Go to what there is to say about the layout; again: hide it",
                 onWorkspace, [](W& w) { w.goToOrHide(*w.m_findingsDock, showFindings); }, {.checked = isOn<showFindings>}),
        inWindow(showOps, view, "Ta&ble of Ops", "Alt+0",
                 "Ops of the selected ranks and time added up: count, time, bytes, FLOP/s; again: hide it", onWorkspace,
                 [](W& w) { w.goToOrHide(*w.m_opsDock, showOps); },
                 {.checked = isOn<showOps>,
                  .whyNot =
                      [](const W& w) {
                          return ofRecorded(w, "it adds up the ops of a simulated step; of a recorded run the tabs Kernels, "
                                               "Communication and Ranks do");
                      }}),
        inWindow(showPlan, view, "Plan: Best Layout", "Ctrl+Alt+P",
                 "The best layout of the job on so many GPUs, proved, and why each other one lost; again: hide it", mayPlan,
                 [](W& w) { w.goToOrHide(*w.m_planDock, showPlan); }, {.checked = isOn<showPlan>}),
        inWindow(resetLayout, view, "Reset Lay&out", "", "Every picture at its usual place", onWorkspace,
                 [](W& w) { w.resetLayout(); }),
        inWindow(showKernels, view, "&Kernels", "Ctrl+K", "Show every kernel and collective, not only the actions", onPictures,
                 [](W& w) {
                     w.setKernels(isOn<showKernels>(w));
                     w.m_kernelsOfHint = false;
                 },
                 {.startsGroup = true,
                  .checked = [](const W& w) { return w.m_desk.wantsKernels(); },
                  .tool = {ToolSection::picture, "kernels"}}),
        inWindow(
            showEveryRank, view, "Every Ra&nk", "Ctrl+Shift+K",
            "A row for each rank, not one for all that behave alike; up to 512 ranks",
            [](const W& w) { return w.isWorkspaceShown() && w.m_desk.canShowEveryRank(); },
            [](W& w) { w.m_desk.setEveryRank(isOn<showEveryRank>(w)); }, {.checked = isOn<showEveryRank>}),
        inWindow(stepThrough, view, "Ste&p Through", "Ctrl+T", "Reveal the schedule action by action, and explain it", hasStep,
                 [](W& w) { w.m_workspace->setStepping(!w.m_workspace->isStepping()); },
                 {.checked = [](const W& w) { return w.m_workspace->isStepping(); },
                  .whyNot =
                      [](const W& w) {
                          return ofRecorded(w, "it reveals the schedule of a scenario; a recorded step plays with Space");
                      }}),
        inWindow(showLive, view, "Li&ve Run", "Alt+5", "Go to the training that is watched, and back", hasRun,
                 [](W& w) { w.isLiveShown() ? w.leavePage() : w.showLive(); },
                 {.checked = [](const W& w) { return w.isLiveShown(); }}),
        inWindow(
            showRecorded, view, "Recorded Run", "Ctrl+Alt+R", "Go to the recorded run that was opened, and back",
            [](const W& w) { return w.recordedRun() != nullptr; },
            [](W& w) { w.isRecordedShown() ? w.leavePage() : w.showRecorded(); },
            {.checked = [](const W& w) { return w.isRecordedShown(); }}),
        inWindow(
            showCompare, view, "&Compare", "Alt+6", "Lay the scenario on the baseline, and back",
            [](const W& w) { return isOpen(w) && !w.m_masksNumbers; },
            [](W& w) { w.isCompareShown() ? w.showWorkspace() : w.showCompare(); },
            {.checked = [](const W& w) { return w.isCompareShown(); }}),
        inWindow(leavePage, view, "Back to the Scenario", "",
                 "From a run or a comparison, as Esc does, or to the gallery where none is open; a training goes on",
                 onRunOrComparison, [](W& w) { w.leavePage(); }),
        inWindow(
            swapSides, view, "S&wap A and B", "Shift+X", "In the comparison: the other way round",
            [](const W& w) { return isComparing(w) && !w.m_compare.ifPlaced()->view().isSecondLeftOut(); },
            [](W& w) {
                w.m_compare->swapSides();
                w.showStatus();
            }),
        inView<ViewCommand::lensGroups>(lensGroups, view, "Lens: Groups", "1", "In the rank grid: who belongs to whom",
                                        {.startsGroup = true}),
        inView<ViewCommand::lensMemory>(lensMemory, view, "Lens: Memory", "2", "In the rank grid: bytes at the peak"),
        inView<ViewCommand::lensBusy>(lensBusy, view, "Lens: Busy", "3", "In the rank grid: share of the step that computes"),
        inView<ViewCommand::lensSent>(lensSent, view, "Lens: Sent", "4", "In the rank grid: bytes that leave a rank in a step"),
        inView<ViewCommand::lensBubble>(lensBubble, view, "Lens: Bubble", "5",
                                        "In the rank grid: share of the step that waits, and who waits for whom"),
        inView<ViewCommand::lensStraggler>(lensStraggler, view, "Lens: Stragglers", "6",
                                           "In the rank grid: slower or faster than its peers"),
        inView<ViewCommand::lensNow>(lensNow, view, "Lens: Now", "7", "In the rank grid: what each rank does at the time cursor"),
        inView<ViewCommand::switchArrangement>(switchArrangement, view, "Logical or Physical", "H",
                                               "Lay the rank grid out by axes, or as the hardware lies"),
        inWindow(present, view, "Pr&esentation", "F9",
                 "The pictures, or the lesson, before an audience: large text, steered by a clicker", mayPresent,
                 [](W& w) { w.present(); },
                 {.startsGroup = true,
                  .whyNot =
                      [](const W& w) {
                          return ofRecorded(w, "it shows a scenario or a lesson; F11 shows the recorded run on the full screen");
                      }}),
        inWindow(fullScreen, view, "&Full Screen", "F11", "Fill the screen", always,
                 [](W& w) { w.setWindowState(w.windowState() ^ Qt::WindowFullScreen); },
                 {.checked = [](const W& w) { return w.isFullScreen(); }}),
        inWindow(
            textLarger, view, "Larger Text", "Ctrl++ Ctrl+=", "Text, controls and pictures larger, up to twice as large",
            [](const W& w) { return w.m_settings.sizePercent < kLargestSizePercent; },
            [](W& w) { w.chooseTextSize(nextTextSize(w.m_settings.sizePercent, +1)); },
            {.startsGroup = true, .whyNot = [](const W&) { return W::tr("the text is as large as it can be, 200 %"); }}),
        inWindow(
            textSmaller, view, "Smaller Text", "Ctrl+-", "Text, controls and pictures smaller",
            [](const W& w) { return w.m_settings.sizePercent > kSmallestSizePercent; },
            [](W& w) { w.chooseTextSize(nextTextSize(w.m_settings.sizePercent, -1)); }, {.whyNot = textIsUsual}),
        inWindow(
            textUsual, view, "Usual Text Size", "Ctrl+0", "Text, controls and pictures at 100 %",
            [](const W& w) { return w.m_settings.sizePercent != kSmallestSizePercent; },
            [](W& w) { w.chooseTextSize(kSmallestSizePercent); }, {.whyNot = textIsUsual}),
        inWindow(themeSystem, view, "Theme: As the Desktop", "", "Light or dark as the desktop is", always,
                 [](W& w) { w.setThemeChoice(ThemeChoice::system); },
                 {.checked = hasTheme<ThemeChoice::system>, .excludesOthers = true}),
        inWindow(themeLight, view, "Theme: &Light", "", "Dark on light", always,
                 [](W& w) { w.setThemeChoice(ThemeChoice::light); },
                 {.checked = hasTheme<ThemeChoice::light>, .excludesOthers = true}),
        inWindow(themeDark, view, "Theme: D&ark", "", "Light on dark", always, [](W& w) { w.setThemeChoice(ThemeChoice::dark); },
                 {.checked = hasTheme<ThemeChoice::dark>, .excludesOthers = true}),
        inWindow(themeHighContrast, view, "Theme: &High Contrast", "", "White and yellow on black, strong borders", always,
                 [](W& w) { w.setThemeChoice(ThemeChoice::highContrast); },
                 {.checked = hasTheme<ThemeChoice::highContrast>, .excludesOthers = true}),
        inWindow(switchTheme, view, "Theme: Switch Light and Dark", "Ctrl+Shift+D", "From light to dark, from any other to light",
                 always, [](W& w) { w.setThemeChoice(isLight(w) ? ThemeChoice::dark : ThemeChoice::light); },
                 {.startsGroup = true, .tool = {ToolSection::end, "theme"}}),

        inWindow(trainScenario, live, "&Train This Scenario…", "F5", "Really train it, on this machine, and watch", canTrain,
                 [](W& w) { w.chooseTraining(); },
                 {.textNow =
                      [](const W& w) { // beside a run of another scenario "this" says nothing
                          constexpr qsizetype kLongest = 40;
                          const QString name = w.isLiveShown() && w.m_desk.simulation()
                                                   ? nameOf(w.m_desk.simulation()->scenario()).simplified()
                                                   : QString();
                          if (name.isEmpty())
                              return textOf(command(trainScenario));
                          const QString shown =
                              name.size() > kLongest ? name.left(kLongest).trimmed() + QStringLiteral("…") : name;
                          return W::tr("&Train “%1”…").arg(QString(shown).replace(QLatin1Char('&'), QStringLiteral("&&")));
                      },
                  .tool = {ToolSection::training, "train"}}),
        inWindow(
            trainAgain, live, "Train A&gain", "Ctrl+F5", "The training that ran last, once more from its first step",
            [](const W& w) { return w.m_trained && !w.runIsActive(); }, [](W& w) { w.trainAgain(); }),
        inWindow(attachRun, live, "&Attach…", "Ctrl+Shift+A", "Watch a training that runs already, by its address", always,
                 [](W& w) { w.chooseAddress(); }),
        inWindow(pauseRun, live, "&Pause", "F6", "Hold the training between two steps, or go on", answers,
                 [](W& w) { isPaused(w) ? w.m_run->resume() : w.m_run->pause(); },
                 {.startsGroup = true,
                  .textNow = [](const W& w) { return isPaused(w) ? W::tr("&Resume") : textOf(command(pauseRun)); }}),
        inWindow(
            freezePicture, live, "&Freeze Picture", "F7", "Keep the step that is shown while the training goes on",
            [](const W& w) { return isFrozen(w) || (answers(w) && hasLivePicture(w)); },
            [](W& w) { w.freezePicture(!isFrozen(w)); }, {.checked = isFrozen}),
        inWindow(stopRun, live, "&Stop", "Shift+F5", "End the training after its step; what was received stays", trainsStill,
                 [](W& w) { w.m_run->stop(); }),
        inWindow(
            switchClock, live, "Other &Clock", "F8", "Wall clock, or as if every rank had a device",
            [](const W& w) { return w.isLiveShown() && w.m_run; },
            [](W& w) { w.m_live->setClock(w.m_live->clock() == LiveClock::wall ? LiveClock::parallel : LiveClock::wall); },
            {.startsGroup = true}),
        inWindow(saveTrace, live, "Sa&ve Trace…", "Ctrl+Shift+T", "Save the steps that are kept for Perfetto", hasRun,
                 [](W& w) { w.chooseTraceFile(); }),
        inWindow(checkSerial, live, "Check Against Se&rial", "",
                 "Train a few steps as laid out and on one rank, and compare every number", canTrain,
                 [](W& w) { w.checkSerial(); }, {.startsGroup = true}),
        inWindow(
            calibrate, live, "Cali&brate", "",
            "Measure this machine, so that predictions are about it; while nothing trains on it",
            [](const W& w) { return !trainsStill(w); }, [](W& w) { w.calibrate(); },
            {.whyNot =
                 [](const W& w) {
                     return w.m_run->isOwn() ? W::tr("it would measure a machine that trains: once this training is over")
                                             : W::tr("the attached run still trains, and if it trains here it would be measured "
                                                     "too: once it is over");
                 }}),

        inWindow(openFolder, recorded, "Open a &Folder…", "Ctrl+Alt+O",
                 "The traces of a job's ranks: of PyTorch, Chrome, Perfetto, Nsight Systems, NCCL", always,
                 [](W& w) { w.chooseTraceFolder(); }),
        inWindow(predictRecorded, recorded, "&Predict…", "",
                 "The simulation of the recorded job above what was measured: asks for model and cluster", hasRecording,
                 [](W& w) { w.predictRecorded(); }, {.startsGroup = true}),
        inWindow(
            whatIfRecorded, recorded, "&What If From This Run", "",
            "A scenario of the recorded job that predicts with what was measured: change it and see",
            [](const W& w) {
                return w.hasRecordedRun() && w.recordedRun()->prediction() && w.recordedRun()->prediction()->calibration;
            },
            [](W& w) { w.whatIfFromRecorded(); }),
        inWindow(compareRecorded, recorded, "&Compare…", "", "Another run of this job: what takes longer in it", hasRecording,
                 [](W& w) { w.compareRecorded(); }),
        inWindow(compareRecordedFolder, recorded, "Compare With a Fol&der…", "",
                 "Another run of this job whose files lie in a folder: what takes longer in it", hasRecording,
                 [](W& w) { w.compareRecordedFolder(); }),
        inWindow(saveRecorded, recorded, "&Save as One Trace…", "", "All files of the run as one, for Perfetto or Chrome",
                 hasRecording, [](W& w) { w.saveRecorded(); }, {.startsGroup = true}),
        inWindow(
            keepRecordedCache, recorded, "&Keep a Cache Beside the Files", "",
            "What was read in one file, which is opened instead for as long as the files stay as they are",
            [](const W& w) { return w.hasRecordedRun() && w.recordedRun()->mayKeepCache(); },
            [](W& w) { w.recordedRun()->keepCache(); }),

        inWindow(palette, help, "&Command Palette…", "Ctrl+Shift+P", "Find any command by typing a part of its name", always,
                 [](W& w) { w.openPalette(); }, {.tool = {ToolSection::find, "search"}}),
        inWindow(keys, help, "&Keys", "? F1", "All keys on one sheet", always, [](W& w) { w.showKeys(); },
                 {.tool = {ToolSection::end, "help"}}),
        inWindow(glossary, help, "&Glossary and Manual", "Shift+F1", "Every term of the screen in two sentences, and the manual",
                 always, [](W& w) { w.showHelp({}); }),
        inWindow(about, help, "&About Rankscope", "", "Version and licence", always, [](W& w) { w.showAbout(); },
                 {.startsGroup = true}),
    };
    return kRows;
}

std::span<const Command> commands()
{
    return CommandTable::rows();
}

QString whyNot(const Command& command, const MainWindow& window)
{
    return CommandTable::whyNot(command, window);
}

const Command& command(CommandId id)
{
    const auto found = std::find_if(commands().begin(), commands().end(), [id](const Command& c) { return c.id == id; });
    assert(found != commands().end());
    return *found;
}

} // namespace app
