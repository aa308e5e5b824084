#include "app/session/scenario_keys.h"
#include "app/shell/dialogs/command_palette.h"
#include "app/shell/dialogs/help_dialog.h"
#include "app/shell/form/scenario_form.h"
#include "app/shell/ops/ops_panel.h"
#include "app/shell/widgets/metric_card.h"
#include "app/shell/widgets/term_image.h"
#include "app/shell/window/palette_sources.h"
#include "sim/error.h"
#include "tests/app/shell/window_fixture.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QHeaderView>
#include <QHelpEvent>
#include <QJsonDocument>
#include <QLabel>
#include <QListWidget>
#include <QScrollBar>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBrowser>

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

namespace app {
namespace {

using namespace test;

const Help& help()
{
    static const Help kHelp = Help::read(catalogue().assets());
    return kHelp;
}

QString firstOf(const QString& typed)
{
    const auto found = help().find(typed);
    return found.empty() ? QString() : found.front()->title;
}

/// What a widget says when the pointer rests on it.
QString restedOn(QWidget& widget)
{
    QHelpEvent event(QEvent::ToolTip, widget.rect().center(), widget.mapToGlobal(widget.rect().center()));
    QCoreApplication::sendEvent(&widget, &event);
    return widget.toolTip();
}

TEST(Help, TheLeastTimeOfAKernelIsNotTakenForItsLaunch)
{
    constexpr std::string_view kLeast = "/cluster/efficiency/launch_us";
    const ScenarioKey* key = findScenarioKey(kLeast);
    ASSERT_TRUE(key);
    const HelpEntry* entry = help().aboutSetting(kLeast, QString::fromUtf8(key->label));
    EXPECT_TRUE(entry == nullptr || entry->title != QStringLiteral("Launch")) << "that is the host's, of the software";
}

TEST(Help, TermsAreFoundByWhatPeopleCallThem)
{
    EXPECT_EQ(firstOf(QStringLiteral("mfu")), QStringLiteral("MFU"));
    EXPECT_EQ(firstOf(QStringLiteral("cost")), QStringLiteral("GPU-hours"));
    EXPECT_EQ(firstOf(QStringLiteral("NVLink")), QStringLiteral("NVLink"));
    EXPECT_EQ(firstOf(QStringLiteral("OOM")), QStringLiteral("OOM"));
    EXPECT_EQ(firstOf(QStringLiteral("out of mem")), QStringLiteral("OOM"));
    EXPECT_EQ(firstOf(QStringLiteral("memory")), QStringLiteral("Peak memory"));
    EXPECT_EQ(firstOf(QStringLiteral("gradient checkpointing")), QStringLiteral("Recompute"));
    EXPECT_EQ(firstOf(QStringLiteral("infiniband")), QStringLiteral("Network"));
    EXPECT_EQ(firstOf(QStringLiteral("CUDA graphs")), QStringLiteral("Launch"));
    EXPECT_EQ(firstOf(QStringLiteral("launch-bound")), QStringLiteral("Launch"));
    EXPECT_EQ(firstOf(QStringLiteral("wave of blocks")), QStringLiteral("Kernels below peak"));
    EXPECT_EQ(firstOf(QStringLiteral("half length")), QStringLiteral("Half length"));
    EXPECT_EQ(firstOf(QStringLiteral("memory margin")), QStringLiteral("Memory left free"));
    EXPECT_EQ(firstOf(QStringLiteral("gathered logits")), QStringLiteral("Logits"));
    EXPECT_EQ(firstOf(QStringLiteral("why it waits")), QStringLiteral("1. Look")) << "a paragraph of the manual";
    EXPECT_EQ(firstOf(QStringLiteral("qwertz")), QString());
}

TEST(Help, ATermIsTwoSentencesAndItsSettingsAreOnesOfTheForm)
{
    std::set<QString> titles;
    for (const HelpEntry& entry : help().entries()) {
        if (entry.kind != HelpEntry::Kind::term)
            continue;
        EXPECT_TRUE(titles.insert(entry.title).second) << entry.title.toStdString() << " twice";
        const auto ends = entry.text.count(QStringLiteral(". "));
        EXPECT_EQ(ends, 1) << entry.title.toStdString() << ": " << entry.text.toStdString();
        EXPECT_TRUE(entry.text.endsWith(QLatin1Char('.'))) << entry.title.toStdString();
        for (const std::string& pointer : entry.settings)
            EXPECT_TRUE(findScenarioKey(pointer)) << entry.title.toStdString() << " " << pointer;
    }
    EXPECT_GT(titles.size(), 40U);
}

TEST(Help, EveryTermHasADrawingOfItsOwn)
{
    std::set<QByteArray> seen;
    for (const HelpEntry& entry : help().entries()) {
        if (entry.kind != HelpEntry::Kind::term)
            continue;
        SCOPED_TRACE(entry.title.toStdString());
        EXPECT_NE(termPictureOf(entry).kind, TermPicture::Kind::none);
        const QImage image = termImage(entry, lightTheme());
        EXPECT_FALSE(image.isNull());
        EXPECT_NE(image, termImage(entry, darkTheme())) << "in the theme's colours";
        EXPECT_TRUE(seen.insert(QByteArray(reinterpret_cast<const char*>(image.constBits()), image.sizeInBytes())).second)
            << "drawn like another term";
    }
    HelpEntry bad{.title = QStringLiteral("Bad"), .also = {}, .text = {}, .settings = {}};
    for (const char* json : {R"({"kind": "photo"})", R"({"kind": "rows", "rows": [["pp 0", "Q"]]})",
                             R"({"kind": "grid", "columns": 1, "cells": ["0"], "lit": [1]})"}) {
        bad.picture = QJsonDocument::fromJson(json).object();
        EXPECT_THROW(termPictureOf(bad), sim::Error) << json;
        EXPECT_TRUE(termImage(bad, lightTheme()).isNull());
    }
}

/// In bf16 with AdamW: 2 bytes of weight, 4 of its gradient in fp32, 12 of copy and two moments (Rajbhandari et al. 2020, section
/// 3, with gradients in fp32). Whoever learns that in the course must not see something else here; shares may be smaller.
TEST(Help, StatesAreDrawnAsWideAsTheyAre)
{
    int drawn = 0;
    for (const HelpEntry& entry : help().entries()) {
        std::map<std::string, double> most;
        if (entry.kind == HelpEntry::Kind::term)
            for (const auto& [name, parts] : termPictureOf(entry).bars)
                for (const TermPicture::Part& part : parts)
                    most[part.name] = std::max(most[part.name], part.size);
        if (!most.contains("parameters") || !most.contains("gradients") || !most.contains("optimizer"))
            continue;
        ++drawn;
        EXPECT_EQ(most["gradients"], 4.0 / 2 * most["parameters"]) << entry.title.toStdString();
        EXPECT_EQ(most["optimizer"], 12.0 / 2 * most["parameters"]) << entry.title.toStdString();
    }
    EXPECT_GE(drawn, 4);
}

TEST(Help, ADamagedGlossaryIsToldWithItsFile)
{
    const QTemporaryDir folder;
    const std::filesystem::path assets = folder.path().toStdString();
    for (const char* text : {"{", "{}", R"({"terms": [{"term": "MFU"}]})"}) {
        std::ofstream(assets / "glossary.json") << text;
        try {
            Help::read(assets);
            ADD_FAILURE() << text;
        } catch (const sim::Error& error) {
            EXPECT_NE(std::string(error.what()).find("glossary.json"), std::string::npos) << error.what();
        }
    }
}

class HelpTest : public WindowTest {
protected:
    CommandPalette* palette(const char* typed)
    {
        window.run(CommandId::palette);
        auto* opened = window.findChild<CommandPalette*>();
        if (opened)
            opened->setFilter(QLatin1String(typed));
        return opened;
    }
};

TEST_F(HelpTest, EveryCardHasItsTermAndSaysWhatItMeans)
{
    window.live(); // pages that are built when they are first wanted
    window.recorded();
    const auto cards = window.findChildren<MetricCard*>();
    ASSERT_GT(cards.size(), 18);
    for (MetricCard* card : cards) {
        const HelpEntry* entry = help().about(card->title());
        ASSERT_TRUE(entry) << card->title().toStdString() << " is explained nowhere";
        EXPECT_EQ(card->term(), entry->title);
        EXPECT_TRUE(restedOn(*card).contains(entry->text.toHtmlEscaped())) << card->title().toStdString();
        Q_EMIT card->termRequested(); // a click on its title
        auto* dialog = window.findChild<HelpDialog*>();
        ASSERT_TRUE(dialog) << card->title().toStdString();
        EXPECT_TRUE(dialog->told().startsWith(entry->title)) << card->title().toStdString();
        dialog->close();
    }
    open(kTiny); // titles that say more
    for (const MetricCard* card : cards)
        EXPECT_TRUE(help().about(card->title())) << card->title().toStdString();
}

TEST_F(HelpTest, ACardsTitleOpensItsTermWithItsDrawing)
{
    open(kTiny);
    MetricCard* bubble = nullptr;
    for (MetricCard* card : window.findChildren<MetricCard*>())
        if (card->term() == QStringLiteral("Bubble"))
            bubble = card;
    ASSERT_TRUE(bubble);
    EXPECT_TRUE(restedOn(*bubble).contains(QStringLiteral("<img"))) << "the tooltip has the drawing, too";
    QLabel* title = nullptr;
    for (QLabel* label : bubble->findChildren<QLabel*>())
        if (label->text() == bubble->title())
            title = label;
    ASSERT_TRUE(title);
    QTest::mouseClick(title, Qt::LeftButton);
    auto* dialog = window.findChild<HelpDialog*>();
    ASSERT_TRUE(dialog);
    EXPECT_TRUE(dialog->told().startsWith(QStringLiteral("Bubble")));
    EXPECT_TRUE(dialog->showsPicture());
    dialog->close();
}

TEST_F(HelpTest, ASettingsLabelOpensItsTerm)
{
    open(kTiny);
    auto* form = window.findChild<ScenarioForm*>();
    ASSERT_TRUE(form);
    for (const auto& [pointer, term] : {std::pair{"/layout/tp", "Tensor parallel"},
                                        {"/layout/zero_stage", "ZeRO"},
                                        {"/schedule/kind", "Schedule"},
                                        {"/training/micro_batch_size", "Micro-batch"},
                                        {"/training/recompute", "Recompute"}}) {
        FormRow* row = form->rowAt(pointer);
        ASSERT_TRUE(row) << pointer;
        EXPECT_EQ(row->term(), QString::fromLatin1(term)) << pointer;
        EXPECT_TRUE(row->label()->toolTip().contains(QString::fromLatin1(term))) << pointer;
        QTest::mouseClick(row->label(), Qt::LeftButton);
        auto* dialog = window.findChild<HelpDialog*>();
        ASSERT_TRUE(dialog) << pointer;
        EXPECT_TRUE(dialog->told().startsWith(QString::fromLatin1(term))) << pointer;
        dialog->close();
    }
    for (const ScenarioKey& key : scenarioKeys()) // what the words on the form are
        if (const FormRow* row = form->rowAt(key.pointer);
            row && (key.pointer.starts_with("/layout/") || key.pointer.starts_with("/schedule/"))) {
            EXPECT_FALSE(row->term().isEmpty()) << key.pointer;
        }
}

TEST_F(HelpTest, DrawingsOfTheGlossaryAreNoWiderThanThePage)
{
    open(kTiny);
    window.run(CommandId::glossary);
    auto* dialog = window.findChild<HelpDialog*>();
    ASSERT_TRUE(dialog);
    auto* text = dialog->findChild<QTextBrowser*>();
    ASSERT_TRUE(text);
    for (const int width : {500, 560, 624, 700}) {
        dialog->resize(width, 310); // 1280 × 720 at 200 %: the page is longer than that
        for (const char* term : {"Step time", "MFU", "Peak memory"}) {
            dialog->showEntry(QString::fromLatin1(term));
            QCoreApplication::processEvents();
            ASSERT_TRUE(dialog->showsPicture()) << term;
            EXPECT_EQ(text->horizontalScrollBar()->maximum(), 0) << term << " at " << width;
        }
    }
}

TEST_F(HelpTest, TheGlossaryFitsAScreenOfLargeText)
{
    open(kTiny);
    window.run(CommandId::glossary);
    auto* dialog = window.findChild<HelpDialog*>();
    ASSERT_TRUE(dialog);
    dialog->showEntry(QStringLiteral("MFU"));
    for (const QRect room : {QRect(0, 0, 683, 384), QRect(0, 0, 512, 320)}) { // 1366 × 768 and 1024 × 640 at 200 %
        dialog->fitInto(room);
        QCoreApplication::processEvents();
        EXPECT_TRUE(room.contains(QRect(dialog->pos(), dialog->size()))) << dialog->width() << " x " << dialog->height();
        auto* text = dialog->findChild<QTextBrowser*>();
        ASSERT_TRUE(text);
        EXPECT_EQ(text->horizontalScrollBar()->maximum(), 0) << "everything wraps";
        EXPECT_GE(text->width(), 260);
        EXPECT_FALSE(dialog->findChild<QListWidget*>()->horizontalScrollBar()->isVisible());
    }
    dialog->close();
}

TEST_F(HelpTest, ThePaletteFindsTermsAndSettingsBeforeWhatMerelyHasTheLetters)
{
    open(kTiny);
    auto* opened = palette("OOM");
    ASSERT_TRUE(opened);
    const QStringList shown = opened->shown();
    EXPECT_EQ(shown.value(0), QStringLiteral("OOM")) << shown.join(QLatin1Char('|')).toStdString();
    EXPECT_TRUE(shown.contains(QStringLiteral("Set Recompute"))) << shown.join(QLatin1Char('|')).toStdString();
    opened->close();
}

TEST_F(HelpTest, SettingsAreFoundByWhatPeopleCallThem)
{
    open(kTiny);
    auto* form = window.findChild<ScenarioForm*>();
    ASSERT_TRUE(form);
    for (const auto& [word, pointer] : {std::pair{"cost", "/training/tokens"},
                                        {"price", "/training/tokens"},
                                        {"money", "/training/tokens"},
                                        {"OOM", "/training/recompute"},
                                        {"out of memory", "/layout/zero_stage"},
                                        {"NVLink", "/cluster"}}) {
        form->search(QString::fromLatin1(word));
        EXPECT_FALSE(form->rowAt(pointer)->isHidden()) << word;
        EXPECT_TRUE(form->rowAt("/training/precision")->isHidden()) << word;
    }
    for (const auto& [word, answer] : {std::pair{"price", "Price of a GPU hour…"},
                                       {"money", "Set Whole run"},
                                       {"out of memory", "Set ZeRO"},
                                       {"set whole run", "Set Whole run"},
                                       {"Set Tens", "Set Tensor"},
                                       {"NVLink", "Set Cluster"}}) {
        auto* opened = palette(word);
        ASSERT_TRUE(opened);
        EXPECT_TRUE(opened->shown().contains(QString::fromUtf8(answer)))
            << word << ": " << opened->shown().join(QLatin1Char('|')).toStdString();
        opened->close();
    }
}

TEST_F(HelpTest, AnEntryLeadsToItsSetting)
{
    open(kTiny);
    window.run(CommandId::glossary);
    auto* dialog = window.findChild<HelpDialog*>();
    ASSERT_TRUE(dialog);
    dialog->showEntry(QStringLiteral("ZeRO"));
    EXPECT_TRUE(dialog->told().contains(QStringLiteral("Shards")));
    Q_EMIT dialog->settingRequested(QStringLiteral("/layout/zero_stage"));
    auto* form = window.findChild<ScenarioForm*>();
    ASSERT_TRUE(form && form->rowAt("/layout/zero_stage"));
    EXPECT_FALSE(form->rowAt("/layout/zero_stage")->isHidden());
    EXPECT_TRUE(form->rowAt("/training/sequence_length")->isHidden()) << "the form shows that row";
    EXPECT_TRUE(dialog->listed().contains(QStringLiteral("Manual: 2. Ask")));
}

/// Words that stand over columns or in a legend and are as plain as they look: letters of what is compared, what was counted and
/// how, and names of things.
bool isPlain(const QString& word)
{
    static const std::set<QString> kPlain{QStringLiteral("A"),
                                          QStringLiteral("B"),
                                          QStringLiteral("Difference"),
                                          QStringLiteral("Key"),
                                          QStringLiteral("For"),
                                          QStringLiteral("From"),
                                          QStringLiteral("On"),
                                          QStringLiteral("Longest in"),
                                          QStringLiteral("Reached by"),
                                          QStringLiteral("Type"),
                                          QStringLiteral("Operator and shape"),
                                          QStringLiteral("Rate"),
                                          QStringLiteral("Of the peak"),
                                          QStringLiteral("Host"),
                                          QStringLiteral("Takes"),
                                          QStringLiteral("Against the median"),
                                          QStringLiteral("Of the step"),
                                          QStringLiteral("Of all"),
                                          QStringLiteral("Shortest"),
                                          QStringLiteral("Longest"),
                                          QStringLiteral("Times"),
                                          QStringLiteral("Matched"),
                                          QStringLiteral("Measured"),
                                          QStringLiteral("This run"),
                                          QStringLiteral("The other"),
                                          QStringLiteral("Mean of ranks"),
                                          QStringLiteral("A rank's step"),
                                          QStringLiteral("Count"),
                                          QStringLiteral("Total"),
                                          QStringLiteral("Share"),
                                          QStringLiteral("Mean"),
                                          QStringLiteral("Durations"),
                                          QStringLiteral("Ops"),
                                          QStringLiteral("Bytes"),
                                          QStringLiteral("Idle"),
                                          QStringLiteral("Calls, all ranks"),
                                          QStringLiteral("other")};
    return kPlain.contains(word);
}

TEST(Help, EveryClassAndEveryPartOfAStepIsATerm)
{
    for (int c = 0; c < sim::kOpClassCount; ++c) {
        const QString name = QString::fromLatin1(sim::opClassName(static_cast<sim::OpClass>(c)));
        EXPECT_TRUE(help().aboutDrawn(name) != nullptr || isPlain(name)) << name.toStdString();
    }
    for (const sim::StepPart part : sim::kStepParts)
        EXPECT_TRUE(help().aboutDrawn(QString::fromLatin1(sim::factsOf(part).name))) << sim::factsOf(part).name;
    const auto titleOf = [](const char* drawn) {
        const HelpEntry* entry = help().aboutDrawn(QString::fromLatin1(drawn));
        return entry ? entry->title.toStdString() : std::string();
    };
    EXPECT_EQ(titleOf("tp comm, left out"), "Tensor parallel");
    EXPECT_EQ(titleOf("backward"), "F, B, I, W");
    EXPECT_EQ(titleOf("optimizer +3.1 ms: 2 ms in A"), "Optimizer state");
    EXPECT_EQ(titleOf("exposed dp"), "Exposed communication");
    EXPECT_EQ(titleOf("qwertz"), "");
}

TEST_F(HelpTest, EveryLensAndLegendOfThePicturesIsATerm)
{
    open(kSixteen);
    std::map<std::string, int> seen;
    for (const PictureInfo& info : app::pictures()) {
        window.workspace().setPictureVisible(info.picture, true);
        settle();
        for (const Node& node : window.workspace().canvas(info.picture).nodes()) {
            if (node.role != "class" && node.role != "choice" && node.role != "purpose" && node.role != "legend" &&
                node.role != "heading")
                continue;
            if (node.role == "choice" && info.picture != Picture::grid)
                continue; // how a picture is laid out
            const QString name = QString::fromStdString(node.name);
            const bool isArrangement = node.role == "choice" && !node.name.starts_with("lens "); // how ranks lie
            ++seen[node.role];
            EXPECT_TRUE(help().aboutDrawn(name) != nullptr || isPlain(name) || isArrangement)
                << info.name << ": " << node.role << " " << node.name;
        }
    }
    EXPECT_GE(seen["choice"], 7) << "lenses";
    EXPECT_GE(seen["class"], 3);
    EXPECT_GE(seen["purpose"], 2);
    EXPECT_GE(seen["legend"], 4);
    EXPECT_GE(seen["heading"], 3);
}

TEST_F(HelpTest, EveryHeadingOfATableIsATerm)
{
    open(kSixteen);
    window.run(CommandId::showOps);
    ASSERT_TRUE(window.openFile(QStringLiteral(RANKSCOPE_TEST_DATA "/kineto/nccl_data.json.gz")).empty());
    settle();
    int headings = 0;
    for (const auto* table : window.findChildren<QTableView*>()) {
        const QAbstractItemModel* model = table->model();
        for (int column = 0; model != nullptr && column < model->columnCount(); ++column) {
            const QString word = model->headerData(column, Qt::Horizontal).toString();
            if (word.isEmpty())
                continue;
            ++headings;
            EXPECT_TRUE(help().aboutDrawn(word) != nullptr || isPlain(word))
                << table->accessibleName().toStdString() << ": " << word.toStdString();
        }
    }
    EXPECT_GE(headings, 20);
}

TEST_F(HelpTest, ARightClickOnAWordOfAPictureOpensItsTermAndF1OnTheChosenLens)
{
    open(kSixteen);
    const auto opened = [&] {
        auto* dialog = window.findChild<HelpDialog*>();
        const QString told = dialog != nullptr && dialog->isVisible() ? dialog->told() : QString();
        if (dialog != nullptr)
            dialog->close();
        return told;
    };
    const auto askAt = [&](CanvasWidget& canvas, const std::string& role, const std::string& name) {
        for (const Node& node : canvas.nodes())
            if (node.role == role && node.name.starts_with(name)) {
                const QPoint at(static_cast<int>((node.rect.left + node.rect.right) / 2),
                                static_cast<int>((node.rect.top + node.rect.bottom) / 2));
                QContextMenuEvent event(QContextMenuEvent::Mouse, at, canvas.mapToGlobal(at));
                QApplication::sendEvent(&canvas, &event);
                return;
            }
        ADD_FAILURE() << "there is no " << role << " " << name;
    };
    CanvasWidget& grid = window.workspace().canvas(Picture::grid);
    askAt(grid, "choice", "lens Stragglers");
    EXPECT_TRUE(opened().startsWith(QStringLiteral("Straggler")));
    askAt(grid, "choice", "lens Bubble");
    EXPECT_TRUE(opened().startsWith(QStringLiteral("Bubble")));
    askAt(window.workspace().canvas(Picture::timeline), "class", "forward");
    EXPECT_TRUE(opened().startsWith(QStringLiteral("F, B, I, W")));
    askAt(grid, "cell", "");
    EXPECT_EQ(opened(), QString()) << "a rank is no word";

    window.run(CommandId::lensMemory);
    grid.setFocus();
    window.run(CommandId::glossary);
    EXPECT_TRUE(opened().startsWith(QStringLiteral("Peak memory")));

    window.run(CommandId::showOps);
    window.run(CommandId::showKernels); // passes have no FLOP/s
    settle();
    auto* ops = window.findChild<OpsPanel*>();
    ASSERT_TRUE(ops);
    auto* const header = ops->view().horizontalHeader();
    const auto flops = static_cast<int>(OpColumn::flopRate);
    const QPoint at(header->sectionViewportPosition(flops) + 4, header->height() / 2);
    ASSERT_TRUE(header->viewport()->rect().contains(at));
    QContextMenuEvent event(QContextMenuEvent::Mouse, at, header->viewport()->mapToGlobal(at));
    QApplication::sendEvent(header->viewport(), &event);
    EXPECT_TRUE(opened().startsWith(QStringLiteral("FLOP")));
}

} // namespace
} // namespace app
