#include "app/shell/commands.h"

#include <QCoreApplication>
#include <QGuiApplication>
#include <QKeyEvent>

#include <algorithm>
#include <cassert>

namespace app {
namespace {

using enum CommandMenu;
using enum CommandScope;

constexpr Command kCommands[]{
    {CommandId::gallery, file, window, "&Gallery", "Ctrl+G", "Choose a scenario to look at", true},
    {CommandId::open, file, window, "&Open…", "Ctrl+O", "Open a scenario file"},
    {CommandId::save, file, window, "&Save", "Ctrl+S", "Save the scenario", true},
    {CommandId::saveAs, file, window, "Save &As…", "Ctrl+Shift+S", "Save the scenario under another name"},
    {CommandId::saveWithView, file, window, "Save with &View", "", "Save the scenario to open on what is on screen now"},
    {CommandId::clearRecent, file, window, "Clear Recent Files", "", "Forget the recent files"},
    {CommandId::exportFigure, file, window, "&Export Figure…", "Ctrl+E", "A picture as SVG, PDF or PNG, for papers and slides",
     true},
    {CommandId::exportTable, file, window, "Export &Table…", "Ctrl+Shift+E", "Numbers, memory, groups or spans as CSV"},
    {CommandId::exportTrace, file, window, "Export T&race…", "Ctrl+Alt+T", "The step for Perfetto and other trace viewers"},
    {CommandId::copyFigure, file, window, "&Copy Figure", "Ctrl+Shift+C", "The picture used last, as pixels and SVG"},
    {CommandId::exportComparison, file, window, "Export Co&mparison…", "",
     "What differs from the baseline, and what that does, as CSV"},
    {CommandId::settings, file, window, "Sett&ings…", "Ctrl+,", "Theme, text size, wheel, renderer, autosave", true},
    {CommandId::quit, file, window, "&Quit", "Ctrl+Q", "Close the window"},

    {CommandId::undo, edit, window, "&Undo", "Ctrl+Z", "Take the last change of the scenario back"},
    {CommandId::redo, edit, window, "&Redo", "Ctrl+Shift+Z Ctrl+Y", "Make it again"},
    {CommandId::chooseSchedule, edit, window, "&Choose Schedule…", "Ctrl+L", "See every schedule beside each other and use one",
     true},

    {CommandId::findSchedule, edit, window, "&Find a Schedule…", "Ctrl+Shift+L",
     "Search for the shortest order of actions in the memory there is, and see how near to the best it comes"},
    {CommandId::editOrder, edit, window, "Edit &Order of Actions", "Ctrl+R",
     "Drag actions of the schedule, see what it costs, keep it as a custom schedule"},
    {CommandId::moveEarlier, edit, window, "Move Action &Earlier", "Alt+Left",
     "In the order editor: one place earlier on its rank"},
    {CommandId::moveLater, edit, window, "Move Action &Later", "Alt+Right", "In the order editor: one place later on its rank"},
    {CommandId::pinBaseline, edit, window, "Pin as &Baseline", "Ctrl+B",
     "Keep the scenario as it is now, to compare with; again: forget it", true},
    {CommandId::compareWithFile, edit, window, "Compare &With File…", "Ctrl+Shift+B", "Take another scenario as the baseline"},
    {CommandId::backToBaseline, edit, window, "Bac&k to Baseline", "",
     "Make the scenario what the baseline is; undo takes it back"},

    {CommandId::zoomIn, navigate, canvas, "Zoom &In", "W", "Zoom in at the pointer; Shift: four times as much", false,
     ViewCommand::zoomIn, 17},
    {CommandId::zoomOut, navigate, canvas, "Zoom &Out", "S", "Zoom out", false, ViewCommand::zoomOut, 31},
    {CommandId::panLeft, navigate, canvas, "Pan &Left", "A", "Earlier, or left", false, ViewCommand::panLeft, 30},
    {CommandId::panRight, navigate, canvas, "Pan &Right", "D", "Later, or right", false, ViewCommand::panRight, 32},
    {CommandId::panUp, navigate, canvas, "Pan &Up", "", "Rows above", false, ViewCommand::panUp},
    {CommandId::panDown, navigate, canvas, "Pan &Down", "", "Rows below", false, ViewCommand::panDown},
    {CommandId::stepLeft, navigate, canvas, "Step Left", "Left", "The rank at the left, or earlier", false,
     ViewCommand::stepLeft},
    {CommandId::stepRight, navigate, canvas, "Step Right", "Right", "The rank at the right, or later", false,
     ViewCommand::stepRight},
    {CommandId::stepUp, navigate, canvas, "Step Up", "Up", "The rank above, or rows above", false, ViewCommand::stepUp},
    {CommandId::stepDown, navigate, canvas, "Step Down", "Down", "The rank below, or rows below", false, ViewCommand::stepDown},
    {CommandId::focusSelection, navigate, canvas, "&Focus Selection", "F", "Frame what is selected; again: all", true,
     ViewCommand::focusSelection},
    {CommandId::fitAll, navigate, canvas, "Fit &All", "Home", "The whole picture", false, ViewCommand::fitAll},
    {CommandId::viewBack, navigate, canvas, "View &Back", "Backspace", "The time range looked at before", false,
     ViewCommand::viewBack},
    {CommandId::viewForward, navigate, canvas, "View For&ward", "Shift+Backspace", "The time range come back from", false,
     ViewCommand::viewForward},
    {CommandId::previous, navigate, canvas, "&Previous", ",", "Previous span in the row, or rank", true, ViewCommand::previous},
    {CommandId::next, navigate, canvas, "&Next", ".", "Next span in the row, or rank", false, ViewCommand::next},
    {CommandId::followBack, navigate, canvas, "Follow Backwards", "[", "The span that this one waited for", false,
     ViewCommand::followBack},
    {CommandId::followForward, navigate, canvas, "Follow Forwards", "]", "The span that waits for this one", false,
     ViewCommand::followForward},
    {CommandId::nextMatch, navigate, canvas, "Ne&xt Match", "F3 N", "The next span that was searched for", false,
     ViewCommand::nextMatch},
    {CommandId::previousMatch, navigate, canvas, "Pre&vious Match", "Shift+F3 Shift+N", "The one before it", false,
     ViewCommand::previousMatch},
    {CommandId::mark, navigate, canvas, "&Mark", "M", "Mark the selected range or the time cursor; again: take the mark away",
     true, ViewCommand::mark},
    {CommandId::keepRange, navigate, canvas, "&Keep Range", "Shift+M", "Mark the selected range, or that of the selected span",
     false, ViewCommand::keepRange},
    {CommandId::rangeOfSpan, navigate, canvas, "Rang&e of Span", "R", "Select the time range of the selected span", false,
     ViewCommand::rangeOfSpan},
    {CommandId::pinRow, navigate, canvas, "Pin Row", "P", "Keep the row in focus at the top, or let it go", true,
     ViewCommand::pinRow},
    {CommandId::groupRows, navigate, canvas, "Group Rows", "U", "By stage, node, replica …: the next way there is", false,
     ViewCommand::groupRows},
    {CommandId::sortRows, navigate, canvas, "&Sort Rows", "O", "By rank, by busy time, by end", false, ViewCommand::sortRows},
    {CommandId::filterRows, navigate, canvas, "Only Selected Rows", "L", "Rows of the selected ranks, or all", false,
     ViewCommand::filterRows},
    {CommandId::criticalPath, navigate, canvas, "Cri&tical Path", "X", "What made the step as long as it is, or all alike", false,
     ViewCommand::criticalPath},
    {CommandId::clear, navigate, canvas, "&Clear Selection", "Esc", "Select nothing", false, ViewCommand::clear},
    {CommandId::because, navigate, canvas, "Because", "=", "Where the bytes under the pointer come from", false,
     ViewCommand::because},
    {CommandId::goToRank, navigate, window, "&Go to Rank…", "/", "Type a rank's number to select it", true},
    {CommandId::selectTpGroup, navigate, canvas, "Select Tensor Group", "T", "All ranks of the rank's tensor-parallel group",
     true, ViewCommand::selectTpGroup},
    {CommandId::selectCpGroup, navigate, canvas, "Select Context Group", "C", "All ranks of its context-parallel group", false,
     ViewCommand::selectCpGroup},
    {CommandId::selectPpGroup, navigate, canvas, "Select Pipeline", "I", "All ranks of its pipeline", false,
     ViewCommand::selectPpGroup},
    {CommandId::selectDpGroup, navigate, canvas, "Select Data Group", "B",
     "All its data-parallel replicas: those that share the batch", false, ViewCommand::selectDpGroup},
    {CommandId::selectEpGroup, navigate, canvas, "Select Expert Group", "E", "All ranks of its expert-parallel group", false,
     ViewCommand::selectEpGroup},

    {CommandId::play, navigate, canvas, "Pla&y or Pause", "Space", "Move the time cursor through the step", true},

    {CommandId::showGrid, view, window, "Rank &Grid", "Alt+1", "Show or hide the rank grid", false, std::nullopt, 0,
     Picture::grid},
    {CommandId::showTimeline, view, window, "&Timeline", "Alt+2", "Show or hide the timeline", false, std::nullopt, 0,
     Picture::timeline},
    {CommandId::showMemory, view, window, "&Memory", "Alt+7", "What fills the GPUs, rank by rank and over the step", false,
     std::nullopt, 0, Picture::memory},
    {CommandId::showTraffic, view, window, "T&raffic", "Alt+8", "Who sends how much to whom, over which link", false,
     std::nullopt, 0, Picture::traffic},
    {CommandId::showStorage, view, window, "What a GP&U Stores", "Alt+9", "Which slice of every tensor a rank holds", false,
     std::nullopt, 0, Picture::storage},
    {CommandId::showForm, view, window, "&Scenario", "Alt+3", "Show or hide the scenario form"},
    {CommandId::showDetails, view, window, "&Details", "Alt+4", "Show or hide the numbers"},
    {CommandId::showFindings, view, window, "F&indings", "Ctrl+Shift+F", "Show or hide what there is to say about the layout"},
    {CommandId::resetLayout, view, window, "Reset Lay&out", "", "Every picture at its usual place"},
    {CommandId::showKernels, view, window, "&Kernels", "Ctrl+K", "Show every kernel and collective, not only the actions", true},
    {CommandId::showEveryRank, view, window, "Every Ra&nk", "Ctrl+Shift+K",
     "A row for each rank, not one for all that behave alike; up to 512 ranks"},
    {CommandId::stepThrough, view, window, "Ste&p Through", "Ctrl+T", "Reveal the schedule action by action, and explain it"},
    {CommandId::showLive, view, window, "Li&ve Run", "Alt+5", "Go to the training that is watched, and back"},
    {CommandId::showCompare, view, window, "&Compare", "Alt+6", "Lay the scenario on the baseline, and back"},
    {CommandId::swapSides, view, window, "S&wap A and B", "Shift+X", "In the comparison: the other way round"},
    {CommandId::lensGroups, view, canvas, "Lens: Groups", "1", "In the rank grid: who belongs to whom", true,
     ViewCommand::lensGroups},
    {CommandId::lensMemory, view, canvas, "Lens: Memory", "2", "In the rank grid: bytes at the peak", false,
     ViewCommand::lensMemory},
    {CommandId::lensBusy, view, canvas, "Lens: Busy", "3", "In the rank grid: share of the step that computes", false,
     ViewCommand::lensBusy},
    {CommandId::lensSent, view, canvas, "Lens: Sent", "4", "In the rank grid: bytes that leave a rank in a step", false,
     ViewCommand::lensSent},
    {CommandId::lensBubble, view, canvas, "Lens: Bubble", "5",
     "In the rank grid: share of the step that waits, and who waits for whom", false, ViewCommand::lensBubble},
    {CommandId::lensStraggler, view, canvas, "Lens: Stragglers", "6", "In the rank grid: slower or faster than its peers", false,
     ViewCommand::lensStraggler},
    {CommandId::lensNow, view, canvas, "Lens: Now", "7", "In the rank grid: what each rank does at the time cursor", false,
     ViewCommand::lensNow},
    {CommandId::switchArrangement, view, canvas, "Logical or Physical", "H",
     "Lay the rank grid out by axes, or as the hardware lies", false, ViewCommand::switchArrangement},
    {CommandId::fullScreen, view, window, "&Full Screen", "F11", "Fill the screen"},
    {CommandId::themeSystem, view, window, "Theme: S&ystem", "", "Light or dark as the desktop is", true},
    {CommandId::themeLight, view, window, "Theme: &Light", "", "Dark on light"},
    {CommandId::themeDark, view, window, "Theme: D&ark", "Ctrl+Shift+D", "Light on dark"},
    {CommandId::themeHighContrast, view, window, "Theme: &High Contrast", "", "White and yellow on black, strong borders"},

    {CommandId::trainScenario, live, window, "&Train This Scenario…", "F5", "Really train it, on this machine, and watch"},
    {CommandId::attachRun, live, window, "&Attach…", "Ctrl+Shift+A", "Watch a training that runs already, by its address"},
    {CommandId::pauseRun, live, window, "&Pause", "F6", "Hold the training between two steps, or go on", true},
    {CommandId::freezePicture, live, window, "&Freeze Picture", "F7", "Keep the step that is shown while the training goes on"},
    {CommandId::stopRun, live, window, "&Stop", "Shift+F5", "End the training after its step; what was received stays"},
    {CommandId::switchClock, live, window, "Other &Clock", "F8", "Wall clock, or as if every rank had a device", true},
    {CommandId::saveTrace, live, window, "Sa&ve Trace…", "Ctrl+Shift+T", "Save the steps that are kept for Perfetto"},
    {CommandId::checkSerial, live, window, "Check Against Se&rial", "",
     "Train a few steps as laid out and on one rank, and compare every number", true},
    {CommandId::calibrate, live, window, "Cali&brate", "", "Measure this machine, so that predictions are about it"},

    {CommandId::palette, help, window, "&Command Palette…", "Ctrl+Shift+P", "Find any command by typing a part of its name"},
    {CommandId::keys, help, window, "&Keys", "? F1", "All keys on one sheet"},
    {CommandId::about, help, window, "&About Rankscope", "", "Version and licence", true},
};

/// Physical keys are numbered by evdev; X11 and Wayland pass them on with 8 added. Nothing elsewhere.
int positionOf(const QKeyEvent& event)
{
    static const bool known = QGuiApplication::platformName() == QLatin1String("xcb") ||
                              QGuiApplication::platformName().startsWith(QLatin1String("wayland"));
    constexpr quint32 kOffset = 8;
    return known && event.nativeScanCode() > kOffset ? static_cast<int>(event.nativeScanCode() - kOffset) : 0;
}

/// In the language of the program; what has no translation stays as it is.
QString translated(const char* text)
{
    return QCoreApplication::translate("Commands", text);
}

const char* menuTitle(CommandMenu menu)
{
    switch (menu) {
    case file:
        return "&File";
    case edit:
        return "&Edit";
    case navigate:
        return "&Navigate";
    case view:
        return "&View";
    case live:
        return "&Live";
    case help:
        return "&Help";
    }
    return "";
}

} // namespace

QString commandMenuTitle(CommandMenu menu)
{
    return translated(menuTitle(menu));
}

QString textOf(const Command& command)
{
    return translated(command.text);
}

QString whatOf(const Command& command)
{
    return translated(command.what);
}

std::span<const Command> commands()
{
    return kCommands;
}

const Command& command(CommandId id)
{
    const auto* found = std::find_if(std::begin(kCommands), std::end(kCommands), [id](const Command& c) { return c.id == id; });
    assert(found != std::end(kCommands));
    return *found;
}

QList<QKeySequence> shortcutsOf(const Command& command)
{
    QList<QKeySequence> out;
    for (const QString& part : QString::fromUtf8(command.shortcuts).split(QLatin1Char(' '), Qt::SkipEmptyParts))
        out.push_back(QKeySequence::fromString(part, QKeySequence::PortableText));
    return out;
}

QString plainText(const Command& command)
{
    QString text = textOf(command);
    return text.remove(QLatin1Char('&')).remove(QStringLiteral("…"));
}

const Command* canvasCommand(const QKeyEvent& event)
{
    if (event.modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier))
        return nullptr;
    const int position = positionOf(event);
    const QKeySequence pressed(static_cast<int>(event.modifiers() & Qt::ShiftModifier) | event.key());
    const Command* byLetter = nullptr;
    for (const Command& c : kCommands) {
        if (c.scope != canvas)
            continue;
        if (position != 0 && c.position == position)
            return &c;
        const auto keys = shortcutsOf(c);
        const bool withShift = keys.contains(pressed) && (event.modifiers() & Qt::ShiftModifier) != 0;
        if (withShift)
            return &c;
        const bool letterMatches = std::any_of(keys.begin(), keys.end(), [&](const QKeySequence& s) {
            return s[0].key() == event.key() && (s[0].keyboardModifiers() & Qt::ShiftModifier) == 0;
        });
        // A key that is meant by place does not also answer to its letter elsewhere.
        const bool meantByPlace = position != 0 && c.position != 0 && event.key() >= Qt::Key_A && event.key() <= Qt::Key_Z;
        if (letterMatches && !meantByPlace)
            byLetter = &c;
    }
    return byLetter;
}

} // namespace app
