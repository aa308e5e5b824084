// Planning in the window: asked for by a command, it fills, is stopped by a change, and what it found is opened and compared.
#include "app/shell/plan/plan_panel.h"

#include "app/canvas/recorder_canvas.h"
#include "app/shell/form/form_row.h"
#include "app/shell/form/number_row.h"
#include "app/shell/form/scenario_form.h"
#include "app/shell/form/value_rows.h"
#include "app/shell/plan/run_length_ask.h"
#include "sim/text/number_text.h"
#include "tests/app/shell/pressed_groove.h"
#include "tests/app/shell/window_fixture.h"

#include <QAccessible>
#include <QAction>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QScreen>
#include <QScrollArea>
#include <QScrollBar>
#include <QSlider>
#include <QSpinBox>
#include <QToolButton>
#include <QUndoStack>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace app {
namespace {

using namespace test;

constexpr const char* kPlannedFile = "05-dp2-tp4-pp2-sixteen-gpus.json";

class PlanWindow : public WindowTest {
protected:
    void SetUp() override
    {
        open(kPlannedFile);
        panel().setFillsMap(false);
        window.run(CommandId::showPlan);
        settle();
    }
    PlanPanel& panel() { return window.planner(); }
    void plan()
    {
        panel().start();
        settle();
        ASSERT_TRUE(panel().state().has_value()) << panel().proofText().toStdString();
        ASSERT_FALSE(panel().state()->answer->best.empty());
    }
    const sim::PlannedLayout& first() { return panel().state()->answer->best.front(); }
    const std::string text() { return window.session().document().text(); }
};

TEST_F(PlanWindow, SaysTheProofAndChoosesTheBestByNameAndByKey)
{
    EXPECT_TRUE(panel().isVisible());
    plan();
    EXPECT_EQ(panel().proofText().toStdString(), panel().state()->proof);
    EXPECT_TRUE(panel().proofText().endsWith(QStringLiteral("the first is proved best"))) << panel().proofText().toStdString();
    ASSERT_TRUE(panel().choice().has_value());
    EXPECT_TRUE(panel().choice()->isLayout(first()));
    EXPECT_TRUE(panel().detailText().contains(QStringLiteral("GiB at the peak"))) << panel().detailText().toStdString();
    EXPECT_FALSE(panel().canvas(PlanPart::map).nodes().empty());

    for (QWidget* widget : panel().findChildren<QWidget*>()) {
        const bool isControl =
            qobject_cast<QSpinBox*>(widget) || qobject_cast<QSlider*>(widget) || qobject_cast<CanvasWidget*>(widget);
        if (isControl) {
            EXPECT_FALSE(widget->accessibleName().isEmpty()) << widget->metaObject()->className();
        }
    }
    QAccessibleInterface* map = QAccessible::queryAccessibleInterface(&panel().canvas(PlanPart::map));
    ASSERT_NE(map, nullptr);
    EXPECT_EQ(map->childCount(), static_cast<int>(panel().canvas(PlanPart::map).nodes().size()));

    panel().canvas(PlanPart::map).setFocus();
    const PlanChoice before = *panel().choice();
    window.run(CommandId::next);
    settle();
    EXPECT_NE(std::pair(panel().choice()->tp, panel().choice()->pp), std::pair(before.tp, before.pp));
    EXPECT_FALSE(panel().detailText().isEmpty());
}

TEST_F(PlanWindow, OpensALayoutThatSimulatesToItsNumberAsOneStepAndLaysItBesideMine)
{
    plan();
    const std::string before = text();
    const double seconds = first().stepSeconds;
    panel().openChosen();
    settle();
    EXPECT_EQ(window.desk().simulation()->metrics().stepTimeSeconds, seconds);
    EXPECT_EQ(window.session().undoStack().count(), 1);
    EXPECT_TRUE(panel().canOpen()) << "the plan still stands: nothing but what it searches has changed";
    window.run(CommandId::undo);
    settle();
    EXPECT_EQ(text(), before);
    EXPECT_TRUE(panel().canOpen());
    // By the keyboard, from the picture.
    panel().canvas(PlanPart::map).setFocus();
    QTest::keyClick(&panel().canvas(PlanPart::map), Qt::Key_Return);
    settle();
    EXPECT_EQ(window.desk().simulation()->metrics().stepTimeSeconds, seconds);

    // And beside mine.
    window.run(CommandId::undo);
    settle();
    const double mine = window.desk().simulation()->metrics().stepTimeSeconds;
    panel().compareChosen();
    settle();
    EXPECT_TRUE(window.isCompareShown());
    ASSERT_TRUE(window.desk().baseline().isReady());
    EXPECT_EQ(window.desk().baseline().metrics()->stepTimeSeconds, seconds);
    EXPECT_EQ(window.desk().simulation()->metrics().stepTimeSeconds, mine);
}

TEST_F(PlanWindow, ACellThatWasCutIsSearchedWhenItIsChosen)
{
    plan();
    const auto& cells = panel().picture().cells();
    const auto cut =
        std::find_if(cells.begin(), cells.end(), [](const PlanCell& cell) { return cell.kind == PlanCellKind::floor; });
    ASSERT_NE(cut, cells.end());
    const int tp = cut->tp, pp = cut->pp;
    const double least = cut->leastSeconds;
    panel().choose(tp, pp);
    settle();
    const PlanCell* cell = panel().picture().cell(tp, pp);
    ASSERT_TRUE(cell->best.has_value()) << panel().detailText().toStdString();
    EXPECT_GE(cell->best->stepSeconds, least) << "no layout is below its floor";
    EXPECT_TRUE(panel().detailText().contains(QStringLiteral("more than the first: "))) << panel().detailText().toStdString();
    ASSERT_TRUE(panel().canOpen());
    const double seconds = cell->best->stepSeconds;
    panel().openChosen();
    settle();
    EXPECT_EQ(window.desk().simulation()->metrics().stepTimeSeconds, seconds);
    EXPECT_EQ(shownLayout().tp, tp);
    EXPECT_EQ(shownLayout().pp, pp);
}

TEST_F(PlanWindow, TheMapIsFilledOnceTheFirstIsProved)
{
    panel().setFillsMap(true);
    panel().setHeld("layout.cp", true);
    plan();
    EXPECT_EQ(panel().proofText().toStdString(), panel().state()->proof);
    for (const PlanCell& cell : panel().picture().cells()) {
        EXPECT_TRUE(cell.kind != PlanCellKind::floor && cell.kind != PlanCellKind::open) << cell.tp << " " << cell.pp;
        if (cell.best) {
            EXPECT_GE(cell.best->stepSeconds, first().stepSeconds);
        }
    }
}

TEST_F(PlanWindow, AChangeOfTheScenarioEndsTheSearchAtOnce)
{
    panel().start();
    EXPECT_TRUE(panel().isSearching());
    window.session().edit(makeKeyEdit("/training/global_batch_size", "256", "global batch", "", "256"));
    EXPECT_FALSE(panel().isSearching());
    settle();
    EXPECT_FALSE(panel().canOpen());
    plan();
    window.session().edit(makeKeyEdit("/training/sequence_length", "2048", "sequence", "", "2048"));
    settle();
    EXPECT_FALSE(panel().canOpen()) << "its numbers are of another job";
    EXPECT_TRUE(panel().proofText().startsWith(QStringLiteral("The scenario has changed since")))
        << panel().proofText().toStdString();
    window.run(CommandId::undo);
    settle();
    EXPECT_TRUE(panel().canOpen()) << "and of this one again";
}

TEST_F(PlanWindow, WhileAScenarioIsIllegalForAMomentTheSearchGoesOn)
{
    ASSERT_TRUE(window.openFile(galleryFile(kLarge)).empty());
    settle();
    window.run(CommandId::showPlan);
    panel().start();
    ASSERT_TRUE(waitFor([&] { return panel().state().has_value(); }));
    window.session().edit(makeKeyEdit("/layout/tp", "7", "tp", "", "7"));
    ASSERT_FALSE(window.session().isLegal());
    EXPECT_TRUE(panel().isSearching());
    window.run(CommandId::undo);
    EXPECT_TRUE(panel().isSearching());
    // Another job ends it; back at the first, what was found is told as of a search that was broken off.
    window.session().edit(makeKeyEdit("/training/sequence_length", "2048", "sequence", "", "2048"));
    EXPECT_FALSE(panel().isSearching());
    window.run(CommandId::undo);
    settle();
    EXPECT_FALSE(panel().isSearching());
    EXPECT_TRUE(panel().proofText().contains(QStringLiteral("stopped: what was found until then")))
        << panel().proofText().toStdString();
}

TEST_F(PlanWindow, KeepsWhatItFoundWhenItIsStopped)
{
    ASSERT_TRUE(window.openFile(galleryFile(kLarge)).empty());
    settle();
    window.run(CommandId::showPlan);
    panel().start();
    ASSERT_TRUE(waitFor([&] { return panel().state().has_value(); }));
    EXPECT_FALSE(panel().picture().isEmpty()) << "the picture fills while it is searched";
    panel().stop();
    settle();
    EXPECT_FALSE(panel().isSearching());
    EXPECT_TRUE(panel().proofText().contains(QStringLiteral("stopped: what was found until then")))
        << panel().proofText().toStdString();
    EXPECT_FALSE(panel().picture().isEmpty());
}

TEST_F(PlanWindow, PlansForOtherNumbersOfGpusAndKnowsThemAgain)
{
    plan();
    const sim::PlannedLayout sixteen = first();
    auto* slider = panel().findChild<QSlider*>();
    ASSERT_NE(slider, nullptr);
    slider->setValue(slider->value() + 1);
    settle();
    EXPECT_EQ(panel().state()->answer->gpus, 32);
    EXPECT_NE(first().settings, sixteen.settings);
    const double seconds = first().stepSeconds;
    panel().openChosen();
    settle();
    EXPECT_EQ(window.desk().simulation()->metrics().stepTimeSeconds, seconds);
    EXPECT_EQ(shownLayout().worldSize(), 32);
    window.run(CommandId::undo);
    settle();
    panel().setGpus(16);
    EXPECT_EQ(panel().state()->answer->gpus, 16) << "without a search";
    EXPECT_EQ(first().settings, sixteen.settings);
    EXPECT_FALSE(panel().isSearching());
}

TEST_F(PlanWindow, TheWinnerOfEachSizeStandsBelowTheSliderAndIsChosenThere)
{
    plan();
    window.showMaximized();
    panel().resize(1000, 700);
    const auto named = [&](const QString& words) -> const Node* {
        panel().canvas(PlanPart::sizes).requestFrame();
        settle();
        static std::vector<Node> nodes;
        nodes = panel().canvas(PlanPart::sizes).nodes();
        for (const Node& node : nodes)
            if (QString::fromStdString(node.name).startsWith(words))
                return &node;
        return nullptr;
    };
    const Node* sixteen = named(QStringLiteral("16 GPUs: "));
    ASSERT_NE(sixteen, nullptr);
    EXPECT_TRUE(sixteen->selected);
    // What is said is what the engine says of it.
    const double engine = sim::simulate(sim::resolvedScenario(sim::withSettings(panel().state()->request, first().settings),
                                                              window.session().catalogue()))
                              ->metrics()
                              .stepTimeSeconds;
    EXPECT_NE(sixteen->name.find("step " + sim::numberText(engine, sim::Unit::seconds)), std::string::npos) << sixteen->name;
    const Node* other = named(QStringLiteral("32 GPUs: "));
    ASSERT_NE(other, nullptr);
    EXPECT_NE(other->name.find("not searched"), std::string::npos) << other->name;
    CanvasWidget& canvas = panel().canvas(PlanPart::sizes);
    canvas.setFocus();
    canvas.runCommand(ViewCommand::next, false);
    settle();
    EXPECT_EQ(panel().state()->answer->gpus, 32);
    other = named(QStringLiteral("32 GPUs: "));
    ASSERT_NE(other, nullptr);
    EXPECT_TRUE(other->selected);
    EXPECT_NE(other->name.find("proved best"), std::string::npos) << other->name;
    sixteen = named(QStringLiteral("16 GPUs: "));
    EXPECT_NE(sixteen->name.find("tokens a day"), std::string::npos) << "it is still known";
}

TEST_F(PlanWindow, HoldsWhatItIsToldAndSaysWhatIsMissing)
{
    panel().setObjective(sim::PlanObjective::cost);
    panel().start();
    settle();
    EXPECT_TRUE(panel().proofText().contains(QStringLiteral("price of a GPU hour"))) << panel().proofText().toStdString();
    panel().setPrice(2.5);
    plan();
    EXPECT_GT(first().cost, 0);
    panel().setObjective(sim::PlanObjective::time);
    panel().setHeld("layout.tp", true);
    plan();
    EXPECT_EQ(first().grid.tp, 4);
    for (const PlanCell& cell : panel().picture().cells())
        EXPECT_EQ(cell.tp, 4);
    const double seconds = first().stepSeconds;
    panel().openChosen();
    settle();
    EXPECT_EQ(window.desk().simulation()->metrics().stepTimeSeconds, seconds);
}

TEST_F(PlanWindow, AControlOfTheFormIsHeldOrFreed)
{
    QList<QAction*> actions;
    for (QWidget* widget : window.form().findChildren<QWidget*>())
        if (const auto* of = qobject_cast<FormRow*>(widget); of && of->pointer() == "/layout/tp")
            actions = widget->actions();
    ASSERT_EQ(actions.size(), 2) << "of the row for tp";
    actions[0]->trigger();
    settle();
    ASSERT_TRUE(panel().state().has_value());
    EXPECT_EQ(first().grid.tp, 4);
    EXPECT_TRUE(panel().isHeld("layout.tp"));
    EXPECT_FALSE(panel().isHeld("layout.pp"));
    actions[1]->trigger();
    settle();
    EXPECT_FALSE(panel().isHeld("layout.tp"));
    EXPECT_TRUE(panel().isHeld("layout.pp"));
    EXPECT_EQ(first().grid.pp, 2) << "as it is: the rest stays";
    const double seconds = first().stepSeconds;
    panel().openChosen();
    settle();
    EXPECT_EQ(window.desk().simulation()->metrics().stepTimeSeconds, seconds);
}

TEST_F(PlanWindow, OtherNumbersOfGpusAreSearchedWhileDaysAndCostAreLookedAt)
{
    panel().showPart(PlanPart::cost);
    window.session().edit(makeKeyEdit("/training/tokens", "1e11", "tokens", "", "100 billion"));
    panel().setHeld("schedule.kind", true);
    panel().setGpus(4);
    plan();
    EXPECT_GT(panel().canvas(PlanPart::cost).nodes().size(), 2U) << "a dot for each number of GPUs on which it fits";
}

TEST_F(PlanWindow, DaysAndCostAskForTheTokensOfTheRunWhereTheScenarioDoesNotSayThem)
{
    panel().showPart(PlanPart::cost);
    panel().setHeld("schedule.kind", true);
    panel().setGpus(4);
    plan();
    auto* ask = panel().findChild<RunLengthAsk*>();
    ASSERT_TRUE(ask && ask->isVisible()) << "not an empty page";
    EXPECT_FALSE(panel().canvas(PlanPart::cost).isVisible());
    ask->field().setText(QStringLiteral("many"));
    ask->take();
    EXPECT_FALSE(window.session().document().get("training.tokens")) << "it is no number";
    EXPECT_TRUE(ask->isVisible());
    ask->field().setText(QStringLiteral("100 B"));
    panel().findChild<QPushButton*>(QStringLiteral("setRunTokens"))->click();
    settle();
    EXPECT_EQ(window.desk().simulation()->scenario().training.tokens, 1e11);
    EXPECT_FALSE(ask->isVisible());
    EXPECT_GT(panel().canvas(PlanPart::cost).nodes().size(), 2U) << "planned anew, for its days";
    window.session().undoStack().undo();
    settle();
    EXPECT_TRUE(ask->isVisible()) << "one step, that can be undone";
}

TEST_F(PlanWindow, SmallerBatchesAreSearchedWhereTheBatchIsFreed)
{
    panel().setObjective(sim::PlanObjective::tokens);
    panel().planAlone("training.global_batch_size");
    settle();
    ASSERT_TRUE(panel().state().has_value());
    EXPECT_TRUE(panel().proofText().contains(QStringLiteral("by the time that a token takes")))
        << panel().proofText().toStdString();
    EXPECT_TRUE(panel().detailText().contains(QStringLiteral("tokens a day"))) << panel().detailText().toStdString();
    const double seconds = first().stepSeconds;
    panel().openChosen();
    settle();
    EXPECT_EQ(window.desk().simulation()->metrics().stepTimeSeconds, seconds);
}

TEST_F(PlanWindow, ARefusalLeavesNothingOfThePlanBefore)
{
    plan();
    panel().setObjective(sim::PlanObjective::cost);
    panel().start();
    settle();
    EXPECT_EQ(panel().proofText(), QStringLiteral("Planning by cost wants the price of a GPU hour: File > Settings"));
    EXPECT_TRUE(panel().picture().cells().empty());
}

TEST_F(PlanWindow, StagesAreDealtByWhatTheyCostWhereThatIsFreed)
{
    window.session().edit(makeKeyEdit("/model/vocab_size", "400000", "vocabulary", "", "400,000")); // the head costs six layers
    settle();
    const double even = window.desk().simulation()->metrics().stepTimeSeconds;
    panel().planAlone("schedule.layers_per_stage");
    settle();
    ASSERT_TRUE(panel().state().has_value());
    EXPECT_TRUE(std::any_of(first().settings.begin(), first().settings.end(),
                            [](const sim::PlanSetting& s) { return s.first == "schedule.layers_per_stage"; }));
    EXPECT_LT(first().stepSeconds, even);
    const double seconds = first().stepSeconds;
    panel().openChosen();
    settle();
    EXPECT_EQ(window.desk().simulation()->metrics().stepTimeSeconds, seconds);
}

TEST_F(PlanWindow, WhatWasOpenedIsChangedOnInTheForm)
{
    plan();
    panel().openChosen();
    settle();
    EXPECT_FALSE(window.session().document().get("layout.dp_shard")) << "all of dp and cp, unsaid, as they change";
    const int all = shownLayout().dp * shownLayout().cp; // and written out by somebody else
    window.session().edit(makeKeyEdit("/layout/dp_shard", std::to_string(all), "shard", "", "all"));
    settle();
    for (const std::string_view pointer : {Control::tp, Control::pp, Control::dp}) {
        LegalSpinBox* spin = window.form().row(pointer)->spinBox();
        const double before = spin->value();
        spin->setFocus();
        QTest::keyClick(spin, before > 1 ? Qt::Key_Down : Qt::Key_Up);
        settle();
        EXPECT_NE(spin->value(), before) << pointer;
        EXPECT_TRUE(window.session().isLegal()) << pointer;
        EXPECT_EQ(shownLayout().dpShard, shownLayout().dp * shownLayout().cp) << pointer;
        window.run(CommandId::undo);
        settle();
    }
}

TEST_F(PlanWindow, WalksThePathBesideThePlan)
{
    plan();
    panel().showPart(PlanPart::guide);
    settle();
    ASSERT_NE(panel().guide(), nullptr);
    ASSERT_TRUE(panel().guide()->layout.has_value()) << panel().guide()->end;
    const std::vector<Node>& nodes = panel().canvas(PlanPart::guide).nodes();
    const auto path =
        std::find_if(nodes.begin(), nodes.end(), [](const Node& node) { return node.name.starts_with("Where the path leads"); });
    const auto found = std::find_if(nodes.begin(), nodes.end(),
                                    [](const Node& node) { return node.name.starts_with("What the planner found"); });
    ASSERT_NE(path, nodes.end());
    ASSERT_NE(found, nodes.end());
    EXPECT_GE(panel().guide()->layout->stepSeconds, first().stepSeconds) << "the planner's is proved best";
    const double seconds = panel().guide()->layout->stepSeconds;
    panel().canvas(PlanPart::guide).setFocus();
    window.run(CommandId::previous);
    EXPECT_TRUE(panel().detailText().startsWith(QStringLiteral("Where the path leads"))) << panel().detailText().toStdString();
    ASSERT_TRUE(panel().canOpen());
    panel().openChosen();
    settle();
    EXPECT_EQ(window.desk().simulation()->metrics().stepTimeSeconds, seconds);
    window.session().edit(makeKeyEdit("/training/sequence_length", "1024", "sequence", "", "1024"));
    EXPECT_EQ(panel().guide(), nullptr) << "it was of another job";
    EXPECT_FALSE(panel().canOpen());
    EXPECT_NE(panel().guideTitle(), "Walking the path…") << "nothing is under way yet";
    settle();
    ASSERT_NE(panel().guide(), nullptr) << "walked anew while it is looked at";
    EXPECT_NE(panel().guide()->layout->stepSeconds, seconds);
}

TEST_F(PlanWindow, SaysWhichLayoutLosesLeastWhereNotAllGoesAsPlanned)
{
    panel().showPart(PlanPart::robust); // without a plan nothing is compared
    settle();
    EXPECT_EQ(panel().robust(), nullptr);
    plan();
    settle();
    ASSERT_NE(panel().robust(), nullptr) << "it is looked at";
    const sim::RobustChoice& choice = *panel().robust();
    ASSERT_GE(choice.layouts.size(), 2U);
    EXPECT_EQ(choice.seconds[0][0], first().stepSeconds);
    const std::vector<Node>& nodes = panel().canvas(PlanPart::robust).nodes();
    const auto said =
        std::find_if(nodes.begin(), nodes.end(), [&](const Node& node) { return node.name == robustCellText(choice, 1, 1); });
    ASSERT_NE(said, nodes.end()) << "each step with how far it is behind";
    panel().canvas(PlanPart::robust).setFocus();
    for (std::size_t i = 0; i < choice.layouts.size(); ++i)
        window.run(CommandId::previous);
    window.run(CommandId::next); // from the first on
    ASSERT_TRUE(panel().choice().has_value());
    EXPECT_EQ(panel().choice()->layout->grid, choice.layouts[1].grid);
    ASSERT_TRUE(panel().canOpen());
    const double seconds = choice.layouts[1].stepSeconds;
    panel().openChosen();
    settle();
    EXPECT_EQ(window.desk().simulation()->metrics().stepTimeSeconds, seconds);
    window.session().edit(makeKeyEdit("/training/sequence_length", "1024", "sequence", "", "1024"));
    EXPECT_EQ(panel().robust(), nullptr) << "it was of another job";
}

TEST_F(PlanWindow, ThePathIsOfWhatIsAskedForNow)
{
    panel().showPart(PlanPart::guide); // without a plan
    EXPECT_TRUE(panel().guideTitle().starts_with("Walking")) << panel().guideTitle();
    window.session().edit(makeKeyEdit("/training/sequence_length", "1024", "sequence", "", "1024")); // while it is walked
    settle();
    ASSERT_NE(panel().guide(), nullptr) << panel().guideTitle();
    EXPECT_EQ(panel().guide()->gpus, 16);
    panel().setGpus(32);
    EXPECT_EQ(panel().guide(), nullptr) << "it was of 16";
    settle();
    ASSERT_NE(panel().guide(), nullptr);
    EXPECT_EQ(panel().guide()->gpus, 32);
    panel().setHeld("layout.tp", true);
    EXPECT_EQ(panel().guide(), nullptr);
    settle();
    EXPECT_NE(panel().guide(), nullptr);
}

/// Every layout of the plan has the document's: with another one it is of another job.
TEST_F(PlanWindow, AnOrderThatIsNotSearchedIsOfTheJob)
{
    plan();
    ASSERT_TRUE(panel().canOpen());
    window.session().edit(makeKeyEdit("/layout/order", "\"tp-cp-ep-pp-dp\"", "order", "", "tp-cp-ep-pp-dp"));
    settle();
    EXPECT_FALSE(panel().canOpen()) << panel().proofText().toStdString();
}

TEST_F(PlanWindow, APlanThatBeginsOrFailsTakesTheOneBeforeAway)
{
    plan();
    ASSERT_TRUE(panel().canOpen());
    window.session().edit(makeKeyEdit("/training/global_batch_size", "256", "global batch", "", "256"));
    settle();
    panel().start();
    EXPECT_FALSE(panel().state().has_value());
    EXPECT_TRUE(panel().picture().isEmpty());
    EXPECT_FALSE(panel().canOpen()) << "what is clicked would be of the job before";
    settle();
    EXPECT_TRUE(panel().canOpen());
}

TEST_F(PlanWindow, ALayoutOpenedFromAPlanWithWrittenOutLayersIsStillOfThePlan)
{
    window.session().edit(makeKeyEdit("/schedule/layers_per_stage", "[20,20]", "layers", "", ""));
    settle();
    plan();
    for (const PlanCell& cell : panel().picture().cells())
        if (cell.best && cell.pp != 2) {
            panel().choose(cell.tp, cell.pp);
            break;
        }
    panel().openChosen();
    settle();
    EXPECT_NE(window.session().document().get("schedule.layers_per_stage"), "[20,20]");
    EXPECT_TRUE(panel().canOpen()) << panel().proofText().toStdString();
}

TEST_F(PlanWindow, AMapThatIsNotFilledToTheEndSaysSo)
{
    panel().setFillsMap(true);
    panel().setMostFillSeconds(0);
    plan();
    const auto& cells = panel().picture().cells();
    const auto left = std::count_if(cells.begin(), cells.end(), [](const PlanCell& cell) {
        return !cell.best && (cell.kind == PlanCellKind::floor || cell.kind == PlanCellKind::open);
    });
    ASSERT_GT(left, 1);
    EXPECT_TRUE(panel().proofText().contains(QStringLiteral("has ended before %1 cells").arg(left)))
        << panel().proofText().toStdString();
}

TEST_F(PlanWindow, TheMapIsAsHighAsItsCellsNeedInALowPanel)
{
    plan();
    window.setMinimumSize(512, 320);
    for (const QSize size : {QSize(1280, 720), QSize(1024, 640), QSize(640, 400)}) {
        window.resize(size);
        settle();
        const CanvasWidget& map = panel().canvas(PlanPart::map);
        for (const Node& cell : map.nodes())
            EXPECT_GE(cell.rect.height(), 15) << size.width() << ": " << cell.name;
        ASSERT_FALSE(map.nodes().empty());
    }
}

/// Of a model with as many heads as there are nine columns.
TEST_F(PlanWindow, TheMapStandsAboveTheListWhereItsColumnsHaveNoRoomBesideIt)
{
    open("45-llama3-70b-64-gpus.json");
    plan();
    const std::size_t columns = panel().picture().tps().size();
    ASSERT_GE(columns, 7U);
    bool wasAbove = false, wasBeside = false;
    window.setMinimumSize(512, 320); // 1024 x 640 with large text has no more room than that
    for (const QSize size : {QSize(1600, 900), QSize(1366, 768), QSize(1024, 640), QSize(640, 400)}) {
        window.resize(size);
        settle();
        const CanvasWidget &map = panel().canvas(PlanPart::map), &list = panel().canvas(PlanPart::best);
        ASSERT_FALSE(map.nodes().empty());
        for (const Node& cell : map.nodes())
            EXPECT_GE(cell.rect.width(), 26) << size.width() << ": " << cell.name;
        const auto at = [&](const QWidget& canvas) { return canvas.mapTo(&panel(), QPoint(0, 0)); };
        const bool isAbove = at(list).y() >= at(map).y() + map.height();
        EXPECT_TRUE(isAbove || at(list).x() >= at(map).x() + map.width());
        wasAbove = wasAbove || isAbove;
        wasBeside = wasBeside || !isAbove;
        EXPECT_EQ(panel().findChild<QScrollArea*>()->horizontalScrollBar()->maximum(), 0) << size.width();
        if (size.width() < 1600) // in a lower list what the places mean stands in the rows' tips
            continue;
        PlanBestLayouts shown(std::make_shared<std::optional<PlanChoice>>(), lightTheme());
        shown.setPicture(std::make_shared<const PlanPicture>(panel().picture()));
        RecorderCanvas canvas({0, 0, static_cast<float>(list.width()), static_cast<float>(list.height())});
        shown.draw(canvas);
        EXPECT_TRUE(std::ranges::any_of(canvas.texts(), [](const std::string& text) {
            return text.starts_with("Places after the first") || text.starts_with("After the first");
        })) << list.height();
    }
    EXPECT_TRUE(wasAbove);
    EXPECT_TRUE(wasBeside);
}

TEST_F(PlanWindow, APressOnTheGrooveBringsTheNumberOfGpusThere)
{
    QSlider& slider = *panel().findChild<QSlider*>();
    ASSERT_GT(slider.maximum(), 3);
    QSpinBox& gpus = *panel().findChild<QSpinBox*>();
    const std::vector<int> stops = planGpuStops(window.desk().session().scenario()->cluster.gpusPerNode, gpus.value());
    ASSERT_EQ(static_cast<int>(stops.size()), slider.maximum() + 1);
    for (const int stop : {slider.maximum() - 1, 1, 2}) {
        pressGroove(slider, static_cast<double>(stop) / slider.maximum());
        EXPECT_EQ(slider.value(), stop);
        EXPECT_EQ(gpus.value(), stops[static_cast<std::size_t>(stop)]);
    }
}

TEST_F(PlanWindow, TheButtonOfLimitsSaysThemAndThatItHasAMenu)
{
    EXPECT_EQ(panel().options().text(), QStringLiteral("All may change"));
    panel().setHeld("layout.tp", true);
    EXPECT_TRUE(panel().options().text().startsWith(QStringLiteral("Held: "))) << panel().options().text().toStdString();
    EXPECT_EQ(panel().options().accessibleDescription(), panel().options().text());
    QAccessibleInterface* const told = QAccessible::queryAccessibleInterface(&panel().options());
    ASSERT_TRUE(told);
    EXPECT_TRUE(told->state().hasPopup);
    QTest::mouseClick(&panel().options(), Qt::LeftButton);
    auto* const menu = panel().options().menu();
    ASSERT_TRUE(menu && menu->isVisible());
    EXPECT_TRUE(panel().options().screen()->availableGeometry().contains(menu->geometry()));
    EXPECT_FALSE(menu->isEmpty());
    for (const char* title : {"Held as it is", "Searched besides"}) { // of a separator the style draws no words
        const auto actions = menu->actions();
        const auto found =
            std::ranges::find_if(actions, [&](const QAction* action) { return action->text() == QLatin1String(title); });
        ASSERT_NE(found, actions.end()) << title;
        EXPECT_FALSE((*found)->isSeparator()) << title;
        EXPECT_FALSE((*found)->isEnabled()) << title;
    }
    QStringList entries;
    for (const QAction* action : menu->actions())
        entries << action->text();
    EXPECT_TRUE(entries.contains(QStringLiteral("kind: 1F1B"))) << entries.join(QLatin1Char('|')).toStdString();
    EXPECT_TRUE(entries.filter(QStringLiteral("ZeRO: ")).size() == 1) << "as the form says them";
    menu->close();
    EXPECT_FALSE(panel().options().isDown());
}

TEST_F(PlanWindow, ABatchThatGrowsIsPlannedWithEachOfItsSizes)
{
    const auto chooseRamp = [&](qsizetype place) {
        QTest::mouseClick(&panel().options(), Qt::LeftButton);
        for (QAction* action : panel().options().menu()->actions())
            if (action->menu() && action->text() == QStringLiteral("Batch at the Start"))
                action->menu()->actions().at(place < 0 ? action->menu()->actions().size() + place : place)->trigger();
        panel().options().menu()->close();
        settle();
    };
    plan();
    EXPECT_TRUE(panel().state()->request.rampBatches.empty());
    const int batch = window.desk().session().scenario()->training.globalBatchSize;
    chooseRamp(-1);
    const std::vector<int> batches = panel().state()->request.rampBatches;
    ASSERT_FALSE(batches.empty());
    const int smallest = batches.front();
    EXPECT_EQ(batches.back() + smallest, batch);
    EXPECT_TRUE(panel().options().text().contains(QStringLiteral("batch from %1").arg(smallest)))
        << panel().options().text().toStdString();
    for (const sim::PlannedLayout& layout : panel().state()->answer->best)
        EXPECT_EQ(smallest % layout.grid.dp, 0) << "legal with the smallest";
    chooseRamp(0);
    EXPECT_TRUE(panel().state()->request.rampBatches.empty());
    EXPECT_EQ(panel().options().text(), QStringLiteral("All may change"));
}

TEST_F(PlanWindow, MarksTheScenarioAsItIsAndTellsWhatItCosts)
{
    plan();
    const auto& mine = panel().picture().mine();
    ASSERT_TRUE(mine.has_value());
    EXPECT_EQ(mine->tp, shownLayout().tp);
    EXPECT_EQ(mine->paceSeconds, window.desk().simulation()->metrics().stepTimeSeconds);
    EXPECT_FALSE(panel().detailText().contains(QStringLiteral("costs ")));
    panel().setPrice(3);
    EXPECT_TRUE(panel().detailText().contains(QStringLiteral("costs "))) << panel().detailText().toStdString();
    panel().openChosen();
    settle();
    ASSERT_TRUE(panel().picture().mine().has_value());
    EXPECT_EQ(panel().picture().mine()->paceSeconds, first().stepSeconds) << "it is the scenario now";
}

TEST_F(PlanWindow, ASmallPanelFoldsAndScrollsAndCutsNothing)
{
    plan();
    PlanPanel small(window.desk(), Renderer::software);
    auto* const area = small.findChild<QScrollArea*>();
    ASSERT_TRUE(area);
    small.setVisible(true);
    for (const QSize size : {QSize(1000, 500), QSize(420, 500), QSize(380, 500), QSize(360, 500), QSize(345, 500),
                             QSize(300, 420), QSize(260, 180), QSize(200, 140)}) {
        small.resize(size);
        for (int round = 0; round < 5; ++round)
            QCoreApplication::processEvents();
        const QWidget& page = *area->widget();
        for (const QWidget* part : page.findChildren<QWidget*>())
            if (part->isVisible() && qobject_cast<const QAbstractButton*>(part)) {
                const QRect rect(part->mapTo(&page, QPoint(0, 0)), part->size());
                EXPECT_TRUE(page.rect().contains(rect)) << size.width() << " x " << size.height();
                EXPECT_GE(part->width(), part->minimumSizeHint().width()) << size.width();
            }
        for (const QPushButton* use : small.findChildren<QPushButton*>(QString(), Qt::FindDirectChildrenOnly))
            EXPECT_LE(use->geometry().bottom(), small.height()) << "what a layout is chosen for is in sight";
        EXPECT_EQ(small.findChildren<QPushButton*>(QString(), Qt::FindDirectChildrenOnly).size(), 2);
        const QSlider* gpus = small.findChild<QSlider*>();
        EXPECT_TRUE(gpus->isVisible()) << "where the text is large, too, at " << size.width();
        EXPECT_TRUE(page.rect().contains(QRect(gpus->mapTo(&page, QPoint(0, 0)), gpus->size()))) << size.width();
        const bool fitsAcross = page.width() <= area->viewport()->width();
        const bool fitsDown = page.height() <= area->viewport()->height();
        EXPECT_TRUE(fitsAcross || size.width() < 300) << "folds before it scrolls, at " << size.width();
        EXPECT_TRUE(fitsAcross || area->horizontalScrollBar()->maximum() > 0) << size.width();
        EXPECT_TRUE(fitsDown || area->verticalScrollBar()->maximum() > 0) << size.height();
    }
}

/// 1280 × 720, as text of 125, 150 and 200 % leave it, and back.
TEST_F(PlanWindow, IsAsHighAgainAsItWasMade)
{
    const auto* dock = window.findChild<QDockWidget*>(QStringLiteral("plan"));
    ASSERT_TRUE(dock);
    const QSize usual(1280, 720);
    window.setMinimumSize(512, 320);
    const auto resize = [this](QSize size) {
        window.resize(size);
        settle();
    };
    resize(usual);
    window.resizeDocks({const_cast<QDockWidget*>(dock)}, {300}, Qt::Vertical);
    settle();
    ASSERT_EQ(dock->height(), 300);
    for (const QSize small : {QSize(1024, 576), QSize(853, 480), QSize(640, 360), QSize(1300, 420)}) {
        resize(small);
        resize(usual);
        EXPECT_EQ(dock->height(), 300) << small.width() << " x " << small.height();
    }
}

TEST(PlanMenu, OpensOnTheScreenAndNotOverItsButton)
{
    const QRect screen(0, 0, 1000, 600);
    for (const QRect& button : {QRect(20, 10, 100, 24), QRect(880, 560, 100, 24), QRect(400, 300, 100, 24)})
        for (const QSize menu : {QSize(200, 100), QSize(200, 550)}) {
            const QRect at(menuPlace(button, menu, screen), menu);
            EXPECT_TRUE(screen.contains(at)) << at.x() << " " << at.y();
            EXPECT_FALSE(at.intersects(button)) << at.x() << " " << at.y();
        }
    EXPECT_EQ(menuPlace(QRect(20, 10, 100, 24), QSize(200, 900), screen).y(), 0);
}

TEST(PlanGpuStops, AreNodesDoubledAndWhatThereIs)
{
    EXPECT_EQ(planGpuStops(8, 24), (std::vector<int>{1, 2, 4, 8, 16, 24, 32, 64}));
    EXPECT_EQ(planGpuStops(1, 1), (std::vector<int>{1, 2, 4, 8}));
}

} // namespace
} // namespace app
