// The one table of commands: what each is called, where it stands, when it can be run and what it does. Menus, tool bar,
// shortcuts, the palette and the key sheet are all made from it and cannot disagree. A new command is an id here and a row in
// commands.cpp.
#pragma once

#include "app/canvas/view.h"
#include "app/views/pictures.h"

#include <QKeySequence>
#include <QList>
#include <QString>

#include <optional>
#include <span>

class QKeyEvent;

namespace app {

class MainWindow;

enum class CommandId {
    newScenario,
    gallery,
    open,
    openFromClipboard,
    importSettings,
    save,
    saveAs,
    saveWithView,
    clearRecent,
    exportFigure,
    exportTable,
    exportTrace,
    exportFilm,
    exportPage,
    handout,
    exportResults,
    leaveLesson,
    recordLesson,
    copyLink,
    copySettings,
    copyFigure,
    exportComparison,
    settings,
    quit,
    undo,
    redo,
    nameScenario,
    chooseSchedule,
    findSchedule,
    editOrder,
    pinBaseline,
    forgetBaseline,
    formerBaseline,
    compareWithFile,
    compareWithMore,
    keepInComparison,
    endComparison,
    backToBaseline,
    moveEarlier,
    moveLater,
    zoomIn,
    zoomOut,
    panLeft,
    panRight,
    panUp,
    panDown,
    stepLeft,
    stepRight,
    stepUp,
    stepDown,
    focusSelection,
    fitAll,
    viewBack,
    viewForward,
    previous,
    next,
    followBack,
    followForward,
    nextWait,
    previousWait,
    nextMatch,
    previousMatch,
    mark,
    keepRange,
    rangeOfSpan,
    pinRow,
    groupRows,
    sortRows,
    filterRows,
    criticalPath,
    clear,
    because,
    goToRank,
    selectTpGroup,
    selectCpGroup,
    selectPpGroup,
    selectDpGroup,
    selectEpGroup,
    lensGroups,
    lensMemory,
    lensBusy,
    lensSent,
    lensBubble,
    lensStraggler,
    lensNow,
    switchArrangement,
    play,
    showGrid,
    showTimeline,
    showMemory,
    showTraffic,
    showStorage,
    showBlock,
    resetLayout,
    showForm,
    showDetails,
    showFindings,
    showOps,
    showPlan,
    showKernels,
    showEveryRank,
    stepThrough,
    showLive,
    showRecorded,
    showCompare,
    leavePage,
    swapSides,
    present,
    fullScreen,
    textLarger,
    textSmaller,
    textUsual,
    themeSystem,
    themeLight,
    themeDark,
    themeHighContrast,
    switchTheme,
    trainScenario,
    trainAgain,
    attachRun,
    pauseRun,
    freezePicture,
    stopRun,
    switchClock,
    saveTrace,
    checkSerial,
    calibrate,
    openFolder,
    predictRecorded,
    whatIfRecorded,
    compareRecorded,
    compareRecordedFolder,
    saveRecorded,
    keepRecordedCache,
    palette,
    keys,
    glossary,
    about
};

enum class CommandMenu { file, edit, navigate, view, live, recorded, help };
QString commandMenuTitle(CommandMenu);
/// Of the submenu that a command stands in; empty for those of the menu itself.
QString submenuTitle(CommandId);

enum class CommandScope {
    window, ///< an ordinary shortcut, everywhere in the window
    canvas  ///< a key of the picture under the pointer or with the focus; Shift makes it four times as far
};

/// Parts of the tool bar, from left to right.
enum class ToolSection { none, file, history, picture, training, find, end };

/// What few commands have.
struct CommandExtras {
    bool startsGroup = false; ///< of its menu
    /// Whether it is ticked; nullptr: there is nothing to tick.
    bool (*checked)(const MainWindow&) = nullptr;
    bool excludesOthers = false;                     ///< one of those that say so is ticked: the themes
    QString (*textNow)(const MainWindow&) = nullptr; ///< translated, in place of the text, where that changes
    struct Tool {
        ToolSection section = ToolSection::none;
        const char* icon = nullptr; ///< in assets/icons
    } tool = {};
    /// Key position as Linux numbers it (evdev), for keys that are meant by place and not by letter; 0 if none.
    int position = 0;
    /// Why it cannot be run now, where that is not told of all commands of its kind; may be empty.
    QString (*whyNot)(const MainWindow&) = nullptr;
};

struct Command {
    CommandId id;
    CommandMenu menu;
    CommandScope scope;
    const char* text;      ///< menu text, with its mnemonic
    const char* shortcuts; ///< portable, separated by a space; empty for none
    const char* what;      ///< a sentence for the key sheet and the status bar
    bool (*enabled)(const MainWindow&);
    void (*run)(MainWindow&);
    CommandExtras extra = {};
    std::optional<ViewCommand> viewCommand = std::nullopt; ///< what it runs, for keys with Shift
};

std::span<const Command> commands();
/// Why a command cannot be run now; empty where it can, or where it is plain to see.
QString whyNot(const Command&, const MainWindow&);
const Command& command(CommandId);
QList<QKeySequence> shortcutsOf(const Command&);
QString keysOf(const Command&);    ///< all its shortcuts, as people read them
QString textOf(const Command&);    ///< in the language of the program, with its mnemonic
QString whatOf(const Command&);    ///< likewise
QString plainText(const Command&); ///< text without mnemonic and dots
/// What else people call what a command does: "screenshot" of a figure.
QStringList otherWordsOf(const Command&);
/// The canvas command of a key: with Shift where one is meant so, else by position where the platform tells it (W/A/S/D lie the
/// same on every keyboard), else by letter.
const Command* canvasCommand(const QKeyEvent&);

} // namespace app
