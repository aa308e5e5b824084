#include "app/shell/dialogs/command_palette.h"
#include "app/shell/widgets/format.h"
#include "app/shell/window/commands.h"
#include "app/views/common/labels.h"

#include <QKeyEvent>
#include <QListWidget>

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace app {
namespace {

const Command* pressed(int key, Qt::KeyboardModifiers modifiers = Qt::NoModifier)
{
    return canvasCommand(QKeyEvent(QEvent::KeyPress, key, modifiers));
}

TEST(Commands, EveryIdIsInTheTableOnce)
{
    std::map<CommandId, int> times;
    for (const Command& c : commands())
        ++times[c.id];
    for (int id = 0; id <= static_cast<int>(CommandId::about); ++id)
        EXPECT_EQ(times[static_cast<CommandId>(id)], 1) << id;
}

TEST(Commands, NoTwoShareAKey)
{
    std::map<QString, QString> owners;
    for (const Command& c : commands()) {
        for (const QKeySequence& keys : shortcutsOf(c)) {
            ASSERT_FALSE(keys.isEmpty()) << c.text << ": " << c.shortcuts;
            const auto [owner, isNew] = owners.try_emplace(keys.toString(), plainText(c));
            EXPECT_TRUE(isNew) << keys.toString().toStdString() << ": " << c.text << " and " << owner->second.toStdString();
        }
    }
}

TEST(Commands, NoMenuHasAMnemonicTwice)
{
    std::set<std::pair<CommandMenu, QChar>> seen;
    for (const Command& c : commands()) {
        const QString text = QString::fromUtf8(c.text);
        const qsizetype at = text.indexOf(QLatin1Char('&'));
        if (at >= 0) {
            EXPECT_TRUE(seen.emplace(c.menu, text[at + 1].toLower()).second) << c.text;
        }
    }
}

TEST(Commands, SayWhatTheyDo)
{
    for (const Command& c : commands()) {
        EXPECT_TRUE(c.enabled && c.run) << c.text;
        EXPECT_GT(QString::fromUtf8(c.what).size(), 4) << c.text;
        EXPECT_FALSE(plainText(c).contains(QLatin1Char('&')));
        EXPECT_TRUE(!c.viewCommand || c.scope == CommandScope::canvas) << c.text;
    }
}

TEST(Commands, CommaAndFullStopAreTheSameKeysWithShift)
{
    ASSERT_TRUE(pressed(Qt::Key_Period));
    for (const int key : {Qt::Key_Period, Qt::Key_Greater})
        EXPECT_EQ(pressed(key, Qt::ShiftModifier), pressed(Qt::Key_Period)) << key;
    for (const int key : {Qt::Key_Comma, Qt::Key_Less})
        EXPECT_EQ(pressed(key, Qt::ShiftModifier), pressed(Qt::Key_Comma)) << key;
    const auto at = [](quint32 place, int key) {
        return canvasCommand(QKeyEvent(QEvent::KeyPress, key, Qt::ShiftModifier, place, 0, 0));
    };
    EXPECT_EQ(at(60, Qt::Key_Colon), pressed(Qt::Key_Period)) << "of a German keyboard";
    EXPECT_EQ(at(59, Qt::Key_Semicolon), pressed(Qt::Key_Comma));
    EXPECT_EQ(at(47, Qt::Key_Colon), nullptr) << "an English keyboard's, elsewhere";
    EXPECT_EQ(pressed(Qt::Key_Greater), nullptr) << "a key of its own on some keyboards";
}

TEST(Commands, CanvasKeysAreThoseOfPerfetto)
{
    ASSERT_TRUE(pressed(Qt::Key_W));
    EXPECT_EQ(pressed(Qt::Key_W)->viewCommand, ViewCommand::zoomIn);
    EXPECT_EQ(pressed(Qt::Key_S)->viewCommand, ViewCommand::zoomOut);
    EXPECT_EQ(pressed(Qt::Key_A)->viewCommand, ViewCommand::panLeft);
    EXPECT_EQ(pressed(Qt::Key_Right)->viewCommand, ViewCommand::stepRight);
    EXPECT_EQ(pressed(Qt::Key_D)->viewCommand, ViewCommand::panRight);
    EXPECT_EQ(pressed(Qt::Key_F, Qt::ShiftModifier)->viewCommand, ViewCommand::focusSelection);
    EXPECT_EQ(pressed(Qt::Key_M)->viewCommand, ViewCommand::mark);
    EXPECT_EQ(pressed(Qt::Key_M, Qt::ShiftModifier)->viewCommand, ViewCommand::keepRange);
    EXPECT_EQ(pressed(Qt::Key_Backspace)->viewCommand, ViewCommand::viewBack);
    EXPECT_EQ(pressed(Qt::Key_Backspace, Qt::ShiftModifier)->viewCommand, ViewCommand::viewForward);
    EXPECT_EQ(pressed(Qt::Key_W, Qt::ShiftModifier)->viewCommand, ViewCommand::zoomIn) << "four times as far";
    EXPECT_EQ(pressed(Qt::Key_BracketRight)->viewCommand, ViewCommand::followForward);
    EXPECT_EQ(pressed(Qt::Key_S, Qt::ControlModifier), nullptr) << "that is Save";
    EXPECT_EQ(pressed(Qt::Key_Q), nullptr);
}

TEST(Palette, FindsByPartsOfTheName)
{
    EXPECT_GT(matchScore(QStringLiteral("Export Timeline"), QStringLiteral("time")),
              matchScore(QStringLiteral("Sometimes"), QStringLiteral("time")));
    EXPECT_GT(matchScore(QStringLiteral("Zoom In"), QStringLiteral("zin")), 0);
    EXPECT_LT(matchScore(QStringLiteral("Zoom In"), QStringLiteral("xq")), 0);
    EXPECT_GT(
        matchScore(QStringLiteral("Price of a GPU hour"), QStringLiteral("gpu price")),
        matchScore(QStringLiteral("Group prices"), QStringLiteral("gpu price"))); // words in any order before letters in order
}

/// However far from the beginning it stands: those who ask go by the least score of a way to answer.
TEST(Palette, AScoreTellsHowATextAnswers)
{
    for (const int before : {0, 1, 40, 60, 120, 400}) {
        const QString start = QString(before, QLatin1Char('x')), aside = before == 0 ? QString() : start + QLatin1Char(' ');
        EXPECT_GE(matchScore(aside + QStringLiteral("zoom"), QStringLiteral("zoom")), MatchScore::kBeginsWord) << before;
        const int inWord = matchScore(QLatin1Char('x') + start + QStringLiteral("zoom"), QStringLiteral("zoom"));
        EXPECT_GE(inWord, MatchScore::kInWord) << before;
        EXPECT_LT(inWord, MatchScore::kBeginsWord) << before;
        EXPECT_EQ(matchScore(aside + QStringLiteral("zoom in"), QStringLiteral("in zoom")), MatchScore::kWords) << before;
        EXPECT_LT(matchScore(aside + QStringLiteral("z-oom"), QStringLiteral("zoom")), MatchScore::kWords) << before;
    }
}

TEST(Palette, OffersTheCommandsThatAnswerWhatIsTyped)
{
    const auto commands = [] {
        return std::vector<PaletteEntry>{
            {QStringLiteral("Sometimes"), {}, {}}, {QStringLiteral("Quit"), {}, {}}, {QStringLiteral("Export Timeline"), {}, {}}};
    };
    CommandPalette palette(commands, 0);
    EXPECT_EQ(palette.shown().size(), 3);
    palette.setFilter(QStringLiteral("time"));
    EXPECT_EQ(palette.shown(), (QStringList{QStringLiteral("Export Timeline"), QStringLiteral("Sometimes")}))
        << "the better first";
    palette.setFilter(QStringLiteral("zzz"));
    EXPECT_TRUE(palette.shown().isEmpty());
}

TEST(Palette, EndsWithNoFarMatchesWhereSomethingIsCalledSo)
{
    const auto commands = [] {
        return std::vector<PaletteEntry>{{QStringLiteral("Zoom In"), {}, {}},
                                         {QStringLiteral("Order of Many"), {}, {}},
                                         {QStringLiteral("Room for Text"), {}, {}}};
    };
    CommandPalette alone(commands, 0);
    alone.setFilter(QStringLiteral("oom"));
    EXPECT_EQ(alone.shown().size(), 3) << "better than nothing";
    CommandPalette palette(commands, 0);
    palette.addSource([](const QString&) {
        return std::vector<PaletteEntry>{{QStringLiteral("Out of memory"), {}, {}, {}, true}};
    });
    palette.setFilter(QStringLiteral("oom"));
    EXPECT_EQ(palette.shown(), QStringList{QStringLiteral("Out of memory")});
}

TEST(Palette, FindsACommandByWhatElseItIsCalled)
{
    CommandPalette palette(
        [] {
            std::vector<PaletteEntry> out;
            for (const Command& c : commands())
                out.push_back({plainText(c), {}, {}, {}, false, otherWordsOf(c)});
            return out;
        },
        0);
    for (const auto& [typed, id] : {std::pair{"screenshot", CommandId::exportFigure},
                                    {"font", CommandId::textLarger},
                                    {"bigger text", CommandId::textLarger},
                                    {"copy megatron", CommandId::copySettings},
                                    {"explain", CommandId::because},
                                    {"reality", CommandId::showDetails},
                                    {"measured by others", CommandId::showDetails},
                                    {"accuracy", CommandId::showDetails},
                                    {"operations", CommandId::showOps},
                                    {"new scenario", CommandId::newScenario},
                                    {"compare schedules", CommandId::chooseSchedule},
                                    {"live demo", CommandId::showLive}}) {
        palette.setFilter(QLatin1String(typed));
        EXPECT_TRUE(palette.shown().first(std::min<qsizetype>(3, palette.shown().size())).contains(plainText(command(id))))
            << typed;
    }
}

TEST(Palette, ALastResortIsNotChosenUnasked)
{
    CommandPalette palette([] { return std::vector<PaletteEntry>(); }, 0);
    palette.addSource([](const QString&) {
        return std::vector<PaletteEntry>{{QStringLiteral("Light"), {}, {}, {}, false, {}, true}};
    });
    palette.setFilter(QStringLiteral("what"));
    const auto* list = palette.findChild<QListWidget*>();
    ASSERT_EQ(list->count(), 1);
    EXPECT_EQ(list->currentRow(), -1) << "Return does nothing";
}

TEST(Palette, WhatIsCalledExactlySoComesFirst)
{
    CommandPalette palette([] { return std::vector<PaletteEntry>{{QStringLiteral("One slow GPU more"), {}, {}}}; }, 0);
    palette.addSource([](const QString&) {
        return std::vector<PaletteEntry>{{QStringLiteral("Another"), {}, {}}, {QStringLiteral("One slow GPU"), {}, {}}};
    });
    palette.setFilter(QStringLiteral("one slow gpu"));
    EXPECT_EQ(palette.shown(),
              (QStringList{QStringLiteral("One slow GPU"), QStringLiteral("One slow GPU more"), QStringLiteral("Another")}));
}

TEST(Palette, ANumberGoesToThatRank)
{
    CommandPalette palette([] { return std::vector<PaletteEntry>(); }, 16);
    palette.setFilter(QStringLiteral("13"));
    EXPECT_EQ(palette.shown(), QStringList{QStringLiteral("Go to rank 13")});
    palette.setFilter(QStringLiteral("rank 15"));
    EXPECT_EQ(palette.shown(), QStringList{QStringLiteral("Go to rank 15")});
    palette.setFilter(QStringLiteral("16"));
    EXPECT_TRUE(palette.shown().isEmpty()) << "there are ranks 0 to 15";
}

TEST(Format, NumbersAsPeopleReadThem)
{
    EXPECT_EQ(separated(16384), QStringLiteral("16,384"));
    EXPECT_EQ(separated(7), QStringLiteral("7"));
    EXPECT_EQ(durationQuantity(0.4123).text(), QStringLiteral("412 ms"));
    EXPECT_EQ(durationQuantity(5.061).text(), QStringLiteral("5.06 s"));
    EXPECT_EQ(durationQuantity(8.12e-4).text(), QStringLiteral("812 µs"));
    EXPECT_EQ(durationQuantity(9.996e-4).text(), durationQuantity(1e-3).text());
    EXPECT_EQ(durationQuantity(0.9996).text(), durationQuantity(1).text());
    EXPECT_EQ(durationQuantity(0.999).text(), QStringLiteral("999 ms"));
    EXPECT_EQ(countQuantity(405853388800.0).text(), QStringLiteral("406 B"));
    EXPECT_EQ(countQuantity(9529).text(), QStringLiteral("9,529"));
    EXPECT_EQ(memoryQuantity(71.23).text(), QStringLiteral("71.2 GiB"));
    for (const double gib : {49.25, 10.05, 2.125, 7.375}) // half-way: one way round on the whole screen
        EXPECT_EQ(memoryQuantity(gib).text().toStdString(), bytesText(gib * 1073741824.0));
    EXPECT_EQ(memoryQuantity(0.5).text(), QStringLiteral("512 MiB"));
    const auto isIn = [](double gib, double limitGib) {
        const auto [held, limit] = memoryBesideLimit(gib, limitGib);
        return QStringLiteral("%1 in %2").arg(held.text(), limit);
    };
    EXPECT_EQ(isIn(71.23, 80), QStringLiteral("71.2 GiB in 80.0"));
    EXPECT_EQ(isIn(93.14, 80), QStringLiteral("93.1 GiB in 80.0"));
    EXPECT_EQ(isIn(80.003, 80), QStringLiteral("80.003 GiB in 80"));
    EXPECT_EQ(percentQuantity(0.413).text(), QStringLiteral("41.3 %"));
    EXPECT_EQ(percentQuantity(0.0053).text(), QStringLiteral("0.53 %"));
    sim::Layout layout;
    EXPECT_EQ(layoutLine(layout), QStringLiteral("1 GPU"));
    layout.tp = 8;
    layout.dp = 128;
    EXPECT_EQ(layoutLine(layout), QStringLiteral("1,024 GPUs  ·  tp 8  ·  dp 128"));
}

} // namespace
} // namespace app
