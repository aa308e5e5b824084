// What commands, their menus and submenus are called on screen.
#include "app/shell/window/commands.h"

#include <QCoreApplication>
#include <QStringList>

#include <array>

namespace app {
namespace {

/// In the language of the program; what has no translation stays as it is.
QString translated(const char* text)
{
    return QCoreApplication::translate("Commands", text);
}

const char* menuTitle(CommandMenu menu)
{
    switch (menu) {
    case CommandMenu::file:
        return "&File";
    case CommandMenu::edit:
        return "&Edit";
    case CommandMenu::navigate:
        return "&Navigate";
    case CommandMenu::view:
        return "&View";
    case CommandMenu::live:
        return "&Live";
    case CommandMenu::recorded:
        return "&Recorded";
    case CommandMenu::help:
        return "&Help";
    }
    return "";
}

} // namespace

QString submenuTitle(CommandId id)
{
    using enum CommandId;
    struct Submenu {
        CommandId first, last; ///< in the order of the table
        const char* title;
    };
    static constexpr Submenu kSubmenus[]{
        {openFromClipboard, importSettings, "Im&port"},
        {exportFigure, exportPage, "&Export and Copy"},
        {handout, recordLesson, "&Lesson"},
        {copyLink, exportComparison, "&Export and Copy"},
        {chooseSchedule, editOrder, "&Schedule"},
        {moveEarlier, moveLater, "&Schedule"},
        {forgetBaseline, formerBaseline, "Base&line"},
        {compareWithFile, endComparison, "&Compare"},
        {backToBaseline, backToBaseline, "Base&line"},
        {zoomIn, stepDown, "&Zoom and Pan"},
        {viewBack, viewForward, "&Zoom and Pan"},
        {previous, previousMatch, "F&ollow and Find"},
        {mark, rangeOfSpan, "&Marks and Ranges"},
        {pinRow, filterRows, "&Rows"},
        {selectTpGroup, selectEpGroup, "&Select Group"},
        {showGrid, showBlock, "P&ictures"},
        {showForm, showPlan, "P&anels"},
        {showLive, swapSides, "&Runs and Comparison"},
        {lensGroups, switchArrangement, "&Lens"},
        {textLarger, textUsual, "Te&xt Size"},
        {themeSystem, switchTheme, "T&heme"},
    };
    for (const Submenu& submenu : kSubmenus)
        if (id >= submenu.first && id <= submenu.last)
            return translated(submenu.title);
    return {};
}

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

QStringList otherWordsOf(const Command& command)
{
    struct Words {
        CommandId of;
        const char* words; ///< separated by a comma
    };
    static constexpr std::array kWords{
        Words{CommandId::exportFigure, QT_TRANSLATE_NOOP("Commands", "screenshot,picture,image")},
        Words{CommandId::copyFigure, QT_TRANSLATE_NOOP("Commands", "screenshot,copy picture,copy image")},
        Words{CommandId::copySettings, QT_TRANSLATE_NOOP("Commands", "copy megatron,megatron arguments,torchtitan,command line")},
        Words{CommandId::textLarger, QT_TRANSLATE_NOOP("Commands", "font,bigger text,text size,zoom text")},
        Words{CommandId::textSmaller, QT_TRANSLATE_NOOP("Commands", "font,text size")},
        Words{CommandId::because, QT_TRANSLATE_NOOP("Commands", "explain,why,sensitivity,formula,where a number comes from")},
        Words{CommandId::showDetails, QT_TRANSLATE_NOOP("Commands", "measured by others,reality,accuracy,error")},
        Words{CommandId::showOps, QT_TRANSLATE_NOOP("Commands", "operations,kernels by name,table of operations")},
        Words{CommandId::newScenario, QT_TRANSLATE_NOOP("Commands", "new scenario,create a scenario,start from a model")},
        Words{CommandId::chooseSchedule, QT_TRANSLATE_NOOP("Commands", "compare schedules,pipeline schedules,1f1b,zero bubble")},
        Words{CommandId::showForm, QT_TRANSLATE_NOOP("Commands", "what if,presets")},
        Words{CommandId::showLive, QT_TRANSLATE_NOOP("Commands", "live demo,live run,training")},
        Words{CommandId::trainScenario, QT_TRANSLATE_NOOP("Commands", "live demo,live run")},
    };
    QStringList out;
    for (const Words& words : kWords)
        if (words.of == command.id)
            out += translated(words.words).split(QLatin1Char(','));
    return out;
}

QString plainText(const Command& command)
{
    QString text = textOf(command);
    return text.remove(QLatin1Char('&')).remove(QStringLiteral("…"));
}

} // namespace app
