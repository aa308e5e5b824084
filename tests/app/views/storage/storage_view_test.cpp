// The storage picture: tensors, slices and ZeRO shards of one rank.
#include "app/canvas/recorder_canvas.h"
#include "app/views/common/labels.h"
#include "app/views/storage/storage_painter.h"
#include "app/views/storage/storage_view.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <regex>

namespace app {
namespace {

using testing::Contains;
using testing::HasSubstr;

struct Storage {
    Selection selection;
    StorageView view{selection, lightTheme()};
    SimulationPtr simulation;
    Rect area{0, 0, 1000, 1400};

    explicit Storage(const sim::Scenario& scenario) : simulation(sim::simulate(scenario)) { view.setStep({simulation, nullptr}); }
    RecorderCanvas draw()
    {
        RecorderCanvas canvas(area);
        view.draw(canvas);
        return canvas;
    }
    std::string tensor(std::string_view name)
    {
        for (const Node& node : draw().nodesOf("tensor"))
            if (node.name.starts_with(std::string(name) + ","))
                return node.name;
        return {};
    }
    Point centreOfSlice(std::string_view tensor, int rank)
    {
        for (const Node& node : draw().nodesOf("slice"))
            if (node.name.starts_with(std::string(tensor) + ",") && node.name.ends_with("rank " + std::to_string(rank)))
                return {(node.rect.left + node.rect.right) / 2, (node.rect.top + node.rect.bottom) / 2};
        ADD_FAILURE() << "no slice of " << tensor << " of rank " << rank;
        return {};
    }
    bool send(PointerEvent::Kind kind, Point at, PointerButton button = PointerButton::none)
    {
        return view.pointer({.kind = kind, .at = at, .button = button}, area);
    }
    bool says(std::string_view start)
    {
        const auto texts = draw().texts();
        return std::any_of(texts.begin(), texts.end(), [&](const std::string& t) { return t.starts_with(start); });
    }
};

sim::Scenario moeScenario()
{
    sim::Scenario scenario = test::smallScenario(2, 2, 4);
    scenario.model.numExperts = 8;
    scenario.model.numExpertsPerTok = 2;
    scenario.model.moeIntermediateSize = 512;
    scenario.model.numSharedExperts = 1;
    scenario.model.firstKDenseReplace = 1;
    scenario.layout.ep = 4;
    scenario.layout.etp = 1;
    scenario.layout.zeroStage = 1;
    return scenario;
}

TEST(StoragePicture, TellsEveryTensorsSliceAndBytes)
{
    Storage storage(test::smallScenario(4, 2, 2));
    storage.selection.selectRank(5); // tp 1
    EXPECT_THAT(storage.tensor("MLP gate"), HasSubstr("1,024 × 2,816, column-parallel, columns 704–1,407 of 2,816, in 4 layers"));
    EXPECT_THAT(storage.tensor("MLP down"), HasSubstr("2,816 × 1,024, row-parallel, rows 704–1,407 of 2,816"));
    EXPECT_THAT(storage.tensor("attention norm"), HasSubstr("whole, all of it"));
    EXPECT_THAT(storage.tensor("token embedding"), HasSubstr("row-parallel, rows 8,000–15,999 of 32,000"));
    EXPECT_THAT(storage.tensor("MLP gate"), HasSubstr("parameters " + bytesText(1024.0 * 704 * 2 * 4)));
    EXPECT_EQ(storage.tensor("output projection"), "") << "the other pipeline rank's";
    EXPECT_TRUE(storage.says("Rank 5"));
}

TEST(StoragePicture, SumIsWhatTheSimulationHoldsFromStepToStep)
{
    Storage storage(test::smallScenario(2, 2, 2));
    for (int rank = 0; rank < 8; ++rank) {
        storage.selection.selectRank(rank);
        const sim::MemoryBreakdown states = storage.simulation->memoryCurves(storage.simulation->classOf(rank)).states;
        EXPECT_TRUE(storage.says(bytesText(static_cast<double>(states.total())) + " from step to step"));
    }
}

TEST(StoragePicture, IsOfRank0UntilOneIsChosen)
{
    Storage storage(test::smallScenario(2, 2, 2));
    EXPECT_TRUE(storage.says("Rank 0"));
    storage.selection.hoveredRank = 6; // in another picture
    EXPECT_TRUE(storage.says("Rank 6"));
    storage.selection.hoveredRank.reset();
    EXPECT_TRUE(storage.view.command(ViewCommand::next, false, storage.area));
    EXPECT_TRUE(storage.view.command(ViewCommand::next, false, storage.area));
    EXPECT_TRUE(storage.says("Rank 1"));
    EXPECT_TRUE(storage.view.command(ViewCommand::clear, false, storage.area));
    EXPECT_TRUE(storage.says("Rank 0"));
}

TEST(StoragePicture, PointingAtAnothersSliceLightsThatRankAndAClickGoesThere)
{
    Storage storage(test::smallScenario(4));
    const Point at = storage.centreOfSlice("MLP up", 2);
    EXPECT_TRUE(storage.send(PointerEvent::Kind::move, at));
    EXPECT_EQ(storage.selection.hoveredRank, 2);
    EXPECT_TRUE(storage.says("Rank 0")) << "what is pointed at stays where it is";
    EXPECT_THAT(storage.view.tooltip(),
                testing::AllOf(HasSubstr("MLP up"), HasSubstr("columns 1,408–2,111"), HasSubstr("rank 2")));
    EXPECT_TRUE(storage.send(PointerEvent::Kind::press, at, PointerButton::left));
    EXPECT_EQ(storage.selection.selectedRank, 2);
    EXPECT_TRUE(storage.says("Rank 2"));
    EXPECT_TRUE(storage.send(PointerEvent::Kind::leave, {}));
    EXPECT_FALSE(storage.selection.hoveredRank);
}

TEST(StoragePicture, RowsThatAreTooLowForNumbersHaveTheirRanksBesideThem)
{
    const std::vector<std::string> texts = Storage(test::smallScenario(8)).draw().texts();
    EXPECT_THAT(texts, Contains("5")) << "columns have a number each";
    EXPECT_THAT(texts, Contains("0 … 7"));
}

TEST(StoragePicture, ExpertsLieInBlocksOfTheirRanks)
{
    Storage storage(moeScenario());
    EXPECT_THAT(storage.tensor("expert gate"), HasSubstr("8 × 1,024 × 512, expert-parallel, experts 0–1 of 8, in 3 layers"));
    const Point at = storage.centreOfSlice("expert gate", 3);
    storage.send(PointerEvent::Kind::move, at);
    EXPECT_EQ(storage.selection.hoveredRank, 3);
    EXPECT_THAT(storage.view.tooltip(), HasSubstr("experts 6–7 of 8"));
}

TEST(StoragePicture, PointingIntoTheOwnSliceFindsTheRankOfTheZeroGroup)
{
    sim::Scenario scenario = test::smallScenario(1, 1, 4);
    scenario.layout.zeroStage = 1;
    Storage storage(scenario);
    storage.draw();
    const sim::Holdings holdings = sim::holdingsOf(*storage.simulation, 0);
    const StorageTable table(holdings, StorageFrame(storage.area).table.height());
    const StorageScene scene{*storage.simulation,        holdings, table, lightTheme(), storage.selection,
                             StorageFrame(storage.area), 0,        {}};
    const auto line = std::find_if(table.lines.begin(), table.lines.end(), [&](const StorageLine& l) {
        return scene.tensor(l) != nullptr && scene.tensor(l)->name == "MLP up";
    });
    ASSERT_NE(line, table.lines.end());
    for (const StoredState state : kStoredStates) {
        const Rect whole = tensorRect(*scene.tensor(*line), scene.cell(*line, state), largestSide(holdings));
        const Rect third = shardRect(*scene.tensor(*line), whole, 2, 4);
        storage.send(PointerEvent::Kind::move, {(third.left + third.right) / 2, (third.top + third.bottom) / 2});
        EXPECT_EQ(storage.selection.hoveredRank, state == StoredState::optimizer ? 2 : 0);
    }
}

TEST(StorageLayout, WhereNobodyCanScrollRowsAreAsLowAsTheirWords)
{
    const auto simulation = sim::simulate(test::smallScenario(1, 1, 4));
    const sim::Holdings holdings = sim::holdingsOf(*simulation, 0);
    const float low = StorageTable(holdings, 0, true).height;
    for (const float room : {1000.0F, 1.2F * low, low}) {
        EXPECT_LE(StorageTable(holdings, room, true).height, room + 0.5F);
        for (const StorageLine& line : StorageTable(holdings, room, true).lines)
            EXPECT_GE(line.height, 18) << "a line of words";
    }
    EXPECT_LT(low, 0.8F * StorageTable(holdings, 0).height) << "who can scroll does";
}

TEST(StorageLayout, SlicesFillTheTensorAndOneIsTheRanksOwn)
{
    std::mt19937 random(51);
    for (int i = 0; i < 20; ++i) {
        sim::Scenario scenario = test::randomScenario(random, 48);
        scenario.training.recompute = sim::Recompute::none;
        const auto simulation = sim::simulate(scenario);
        const int rank = static_cast<int>(random() % static_cast<unsigned>(simulation->mesh().worldSize()));
        const sim::Holdings holdings = sim::holdingsOf(*simulation, rank);
        for (const sim::HoldingGroup& group : holdings.groups)
            for (const sim::TensorHolding& tensor : group.tensors) {
                const Rect cell{10, 20, 210, 70};
                const Rect whole = tensorRect(tensor, cell, largestSide(holdings));
                EXPECT_EQ(intersected(whole, cell), whole) << tensor.name;
                const auto slices = tensorSlices(tensor, whole);
                EXPECT_EQ(std::count_if(slices.begin(), slices.end(), [](const TensorSlice& s) { return s.own; }), 1);
                float covered = 0, gaps = 0;
                for (const TensorSlice& slice : slices) {
                    covered += slice.rect.width() * slice.rect.height();
                    EXPECT_EQ(slice.own, slice.owner == rank);
                    for (const TensorSlice& other : slices)
                        EXPECT_TRUE(&other == &slice || intersected(slice.rect, other.rect) == Rect{});
                }
                gaps = 2.0F * static_cast<float>(tensor.expertBlocks - 1) * whole.height();
                EXPECT_NEAR(covered, whole.width() * whole.height(), gaps + 0.5F) << tensor.name;
            }
    }
}

TEST(StorageLayout, ShardsLieSideBySideAcrossTheCut)
{
    sim::TensorHolding tensor{{.rows = 1024, .columns = 4096, .split = sim::TensorSplit::columns}, 2};
    const Rect slice{100, 50, 160, 90};
    float top = slice.top;
    for (int i = 0; i < 8; ++i) {
        const Rect shard = shardRect(tensor, slice, i, 8);
        EXPECT_EQ(shard.top, top);
        EXPECT_EQ(shard.width(), slice.width()) << "a column slice is cut by rows";
        EXPECT_EQ(shardAt(tensor, slice, {110, (shard.top + shard.bottom) / 2}, 8), i);
        top = shard.bottom;
    }
    EXPECT_EQ(top, slice.bottom);
    tensor.split = sim::TensorSplit::rows;
    EXPECT_EQ(shardRect(tensor, slice, 0, 4).height(), slice.height()) << "a row slice by columns";
    const Rect thin = shardRect(tensor, slice, 1023, 1024);
    EXPECT_GE(thin.width(), 3) << "always seen";
    EXPECT_LE(thin.right, slice.right);
}

TEST(StoragePicture, FillsOfEachStateOnlyWhatZeroLeaves)
{
    for (int zero = 0; zero <= 3; ++zero) {
        sim::Scenario scenario = test::smallScenario(1, 1, 4);
        scenario.layout.zeroStage = zero;
        Storage storage(scenario);
        const RecorderCanvas canvas = storage.draw();
        const auto filled = [&](Color color) {
            double sum = 0;
            for (const Primitive& p : canvas.rectsOf(color))
                if (p.rect.top >= StorageFrame(storage.area).table.top)
                    sum += static_cast<double>(p.rect.width()) * static_cast<double>(p.rect.height());
            return sum;
        };
        const Theme& theme = lightTheme();
        const double whole = std::max({filled(theme.parameters), filled(theme.gradients), filled(theme.optimizer)});
        constexpr double kWholePixels = 0.06; // of shards' edges
        for (const auto& [color, stage] : {std::pair{theme.optimizer, 1}, {theme.gradients, 2}, {theme.parameters, 3}}) {
            const double expected = zero == 3 ? 1.0 : zero >= stage ? 0.25 : 1.0;
            EXPECT_NEAR(filled(color) / whole, expected, kWholePixels) << "stage " << stage << " under ZeRO " << zero;
        }
    }
}

TEST(StoragePicture, CutsNoTextAtAnySizeNorScroll)
{
    sim::Scenario gpt = test::smallScenario(4, 1, 2);
    gpt.model = test::gptModel(8, 512, 8, 50257, 1024);
    for (const sim::Scenario& scenario : {test::smallScenario(), gpt, moeScenario(), test::smallScenario(8, 2, 4)}) {
        Storage storage(scenario);
        for (const Rect area :
             {Rect{0, 0, 300, 200}, Rect{5, 5, 420, 520}, Rect{0, 0, 1000, 180}, Rect{0, 0, 700, 420}, Rect{0, 0, 1600, 900}}) {
            storage.area = area;
            storage.view.command(ViewCommand::fitAll, false, area);
            for (int scroll = 0; scroll < 3; ++scroll) {
                const RecorderCanvas canvas = storage.draw();
                EXPECT_TRUE(canvas.clipsAreBalanced());
                for (const Primitive& text : canvas.cutTexts())
                    ADD_FAILURE() << text.text << " is cut at " << area.width() << " x " << area.height();
                EXPECT_FALSE(canvas.nodesOf("tensor").empty());
                storage.view.command(ViewCommand::panDown, true, area);
            }
        }
    }
}

/// At the edges of the table too, where of a row only some is in sight.
TEST(StoragePicture, NoPictureStandsWithoutTheNameOfItsTensor)
{
    Storage storage(test::smallScenario(2, 2, 4));
    int rows = 0;
    for (float height = 180; height < 420; height += 7) {
        storage.area = {0, 0, 560, height};
        storage.view.setForAudience(height < 300);
        const RecorderCanvas canvas = storage.draw();
        float lowest = 0; // of the words
        for (const Primitive& p : canvas.primitives())
            if (p.kind == Primitive::Kind::text)
                lowest = std::max(lowest, p.rect.bottom);
        for (const Primitive& p : canvas.rectsOf(lightTheme().parameters)) {
            ++rows;
            EXPECT_LE(p.rect.top, lowest) << height;
        }
    }
    EXPECT_GT(rows, 60);
}

TEST(StoragePicture, WhatIsSpokenOfIsBroughtIntoSight)
{
    Storage storage(test::smallScenario(2, 2, 4));
    storage.area = {0, 0, 700, 260};
    const auto isInSight = [&](const std::string& tensor) {
        for (const Node& node : storage.draw().nodesOf("tensor"))
            if (node.name.starts_with(tensor + ",") && node.rect.height() > 10)
                return true;
        return false;
    };
    ASSERT_FALSE(isInSight("MLP down")) << "it is there to be scrolled to";
    storage.view.pointAt("MLP down");
    EXPECT_TRUE(isInSight("MLP down"));
    storage.view.command(ViewCommand::fitAll, false, storage.area);
    EXPECT_FALSE(isInSight("MLP down")) << "once: who scrolls on is not held there";
    storage.view.pointAt("no such tensor");
    EXPECT_TRUE(isInSight("token embedding"));
}

TEST(StoragePicture, BeforeAnAudienceNoRowIsLeftOut)
{
    Storage storage(test::smallScenario(2, 2, 4));
    storage.area = {0, 0, 560, 480};
    const auto cut = [&] {
        std::size_t rows = 0;
        for (const Node& node : storage.draw().nodesOf("tensor"))
            rows += node.rect.height() < 20;
        return rows;
    };
    std::size_t all = 0;
    for (const sim::HoldingGroup& group : sim::holdingsOf(*storage.simulation, 0).groups)
        all += group.tensors.size();
    ASSERT_LT(storage.draw().nodesOf("tensor").size() - cut(), all) << "some have to be scrolled to";
    storage.view.setForAudience(true);
    EXPECT_EQ(storage.draw().nodesOf("tensor").size(), all);
    EXPECT_EQ(cut(), 0U);
}

TEST(StoragePicture, OfNothingSaysSo)
{
    Storage storage(test::smallScenario());
    storage.view.setStep({});
    EXPECT_THAT(storage.draw().texts(), Contains("Nothing is stored yet"));
    EXPECT_FALSE(storage.send(PointerEvent::Kind::move, {50, 50}));
}

TEST(RunsText, JoinsWhatCountsOn)
{
    EXPECT_EQ(runsText({}), "none");
    EXPECT_EQ(runsText({4}), "4");
    EXPECT_EQ(runsText({0, 1, 2, 3, 8, 9, 12}), "0–3, 8, 9, 12");
    EXPECT_EQ(runsText({0, 2, 4, 6, 8, 10, 11, 12}), "0, 2, 4 … 10–12");
}

} // namespace
/// A question about a tensor: pieces lie there, whoever keeps them, and a drag marks some.
TEST(StoragePicture, ASliceThatIsAskedForIsMarkedAndNotTold)
{
    Storage storage(test::smallScenario(4, 1, 2));
    storage.selection.selectRank(1);
    const Point first = storage.centreOfSlice("MLP gate", 0), third = storage.centreOfSlice("MLP gate", 2);
    EXPECT_THAT(storage.tensor("MLP gate"), HasSubstr("columns "));
    const auto tellsColumns = [&] {
        const auto texts = storage.draw().texts();
        return std::any_of(texts.begin(), texts.end(),
                           [](const std::string& t) { return std::regex_search(t, std::regex("columns [0-9]")); });
    };
    EXPECT_TRUE(tellsColumns()) << "it is there to be hidden";
    storage.selection.asksForSlice = true;
    EXPECT_THAT(storage.tensor("MLP gate"), Not(HasSubstr("columns "))) << "this rank's";
    const RecorderCanvas asked = storage.draw();
    for (const Node& node : asked.nodesOf("slice"))
        EXPECT_THAT(node.name, Not(HasSubstr("rank")));
    EXPECT_FALSE(tellsColumns());

    storage.send(PointerEvent::Kind::move, first);
    EXPECT_FALSE(storage.selection.hoveredRank);
    EXPECT_TRUE(storage.send(PointerEvent::Kind::press, first, PointerButton::left));
    EXPECT_TRUE(storage.send(PointerEvent::Kind::move, third));
    storage.send(PointerEvent::Kind::release, third, PointerButton::left);
    ASSERT_TRUE(storage.selection.marked);
    const std::int64_t columns = storage.simulation->scenario().model.intermediateSize;
    EXPECT_EQ(*storage.selection.marked, (MarkedSlice{"MLP gate", 0, 3 * columns / 4}));
    EXPECT_EQ(storage.selection.selectedRank, 1) << "nobody else is looked at";
    std::size_t marked = 0;
    for (const Node& node : storage.draw().nodesOf("slice"))
        marked += node.name.ends_with(", marked");
    EXPECT_EQ(marked, 3U);
    EXPECT_THAT(storage.view.tooltip(), Not(HasSubstr("rank")));
}

} // namespace app
