// The traffic picture as seen and touched: through the canvas recorder, pointer events and commands alone.
#include "app/canvas/recorder_canvas.h"
#include "app/views/common/labels.h"
#include "app/views/traffic/traffic_load.h"
#include "app/views/traffic/traffic_view.h"
#include "sim/analysis/traffic/link_load.h"
#include "sim/simulate/purpose_name.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

namespace app {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr Rect kTrafficArea{10, 20, 1010, 520};

/// Two nodes of eight GPUs: tensor parallelism inside, data parallelism inside, the pipeline between.
sim::Scenario twoNodes()
{
    sim::Scenario s = test::smallScenario(4, 2, 2, 8);
    s.cluster = test::h100Cluster(16);
    return s;
}

struct Picture {
    Selection selection;
    TrafficView view{selection, lightTheme()};
    std::shared_ptr<const sim::Simulation> simulation;
    Rect area = kTrafficArea;

    explicit Picture(const sim::Scenario& scenario) : simulation(sim::simulate(scenario)) { view.setStep({simulation, nullptr}); }
    RecorderCanvas draw(bool nodes = true)
    {
        RecorderCanvas canvas(area, nodes);
        view.draw(canvas);
        EXPECT_TRUE(canvas.clipsAreBalanced());
        return canvas;
    }
    bool send(PointerEvent::Kind kind, Point at, PointerButton button = PointerButton::none, bool control = false)
    {
        return view.pointer({.kind = kind, .at = at, .button = button, .control = control}, area);
    }
    void click(Point at, bool control = false)
    {
        send(PointerEvent::Kind::move, at);
        send(PointerEvent::Kind::press, at, PointerButton::left, control);
        send(PointerEvent::Kind::release, at, PointerButton::left, control);
    }
    void drag(Point from, Point to)
    {
        send(PointerEvent::Kind::press, from, PointerButton::left);
        send(PointerEvent::Kind::move, to, PointerButton::left);
        send(PointerEvent::Kind::release, to, PointerButton::left);
    }
    bool command(ViewCommand c, bool fast = false) { return view.command(c, fast, area); }
    /// The node of a role whose name begins so.
    Node node(const std::string& role, const std::string& start)
    {
        const std::vector<Node> nodes = draw().nodesOf(role);
        const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const Node& n) { return n.name.starts_with(start); });
        if (found == nodes.end()) {
            ADD_FAILURE() << "no " << role << " \"" << start << "\"";
            return {};
        }
        return *found;
    }
    void press(const std::string& role, const std::string& start) { click(middle(node(role, start).rect)); }
    static Point middle(Rect r) { return {(r.left + r.right) / 2, (r.top + r.bottom) / 2}; }
    std::vector<std::string> names(const std::string& role)
    {
        std::vector<std::string> out;
        for (const Node& node : draw().nodesOf(role))
            out.push_back(node.name);
        return out;
    }
    std::string chosen(const std::string& role)
    {
        std::string name;
        for (const Node& node : draw().nodesOf(role))
            name += node.selected ? node.name : "";
        return name;
    }
};

TEST(TrafficView, SaysWhatToDoWithoutAStep)
{
    Selection selection;
    TrafficView view(selection, darkTheme());
    RecorderCanvas canvas(kTrafficArea);
    view.draw(canvas);
    EXPECT_THAT(canvas.texts(), testing::Contains("No traffic yet"));
    EXPECT_FALSE(view.command(ViewCommand::next, false, kTrafficArea));
    EXPECT_FALSE(view.pointer({.at = {50, 50}}, kTrafficArea));
    EXPECT_EQ(view.tooltip(), "");
}

/// Bytes have reasons: an equals sign, the other button, the key.
struct AskedTraffic : Picture {
    std::vector<sim::Explanation> asked;
    AskedTraffic() : Picture(twoNodes())
    {
        view.setAskBecause([this](const Becauses& of, Rect) { asked.push_back(of.front().explain()); });
    }
    std::string lastAsked() const { return asked.empty() ? "nothing" : asked.back().name; }
};

TEST(TrafficBecause, AnEqualsSignBesideEachPurposeAndTierOpensItsFormula)
{
    AskedTraffic picture;
    const std::vector<Node> marks = picture.draw().nodesOf("button");
    const sim::TrafficSums sums = sim::Traffic(*picture.simulation).senders().total();
    ASSERT_EQ(marks.size(), 3U + 2U) << "tp, pp, dp; nvlink and infiniband";
    const std::vector<std::string> texts = picture.draw().texts();
    EXPECT_EQ(std::count(texts.begin(), texts.end(), "="), 5) << "what can be clicked is seen";
    for (const Node& mark : marks) {
        picture.click(Picture::middle(mark.rect));
        ASSERT_FALSE(picture.asked.empty()) << mark.name;
        EXPECT_THAT(mark.name, HasSubstr(picture.asked.back().inSymbols())) << "screen readers hear the formula";
    }
    std::vector<double> values;
    for (const sim::Explanation& why : picture.asked)
        values.push_back(why.result.value);
    for (const sim::Dimension purpose : {sim::Dimension::tp, sim::Dimension::pp, sim::Dimension::dp})
        EXPECT_THAT(values, testing::Contains(static_cast<double>(sums.ofDimension(purpose))));
    for (int tier = 0; tier < 2; ++tier)
        EXPECT_THAT(values, testing::Contains(static_cast<double>(sums.ofTier(tier))));
    EXPECT_TRUE(picture.selection.shows(sim::OpClass::tpComm)) << "asking leaves nothing out";
}

TEST(TrafficBecause, TheOtherButtonAsksOfACellALinkOrAPurpose)
{
    AskedTraffic picture;
    const Rect cell = picture.node("cell", "rank 0 sends rank 8 ").rect;
    picture.send(PointerEvent::Kind::move, Picture::middle(cell));
    picture.send(PointerEvent::Kind::press, Picture::middle(cell), PointerButton::right);
    EXPECT_EQ(picture.lastAsked(), "Sent from rank 0 to rank 8");
    EXPECT_FALSE(picture.selection.selectedRank) << "and selects nothing";
    EXPECT_EQ(picture.asked.back().formula->isSingleTerm(), false);
    const Rect purpose = picture.node("purpose", "pp ").rect;
    picture.send(PointerEvent::Kind::press, {purpose.left + 2, Picture::middle(purpose).y}, PointerButton::right);
    EXPECT_EQ(picture.asked.back().result.symbol, "V_pp");
}

TEST(TrafficBecause, TheKeyAsksOfWhatIsUnderThePointerAndElseOfAll)
{
    AskedTraffic picture;
    picture.draw();
    picture.command(ViewCommand::because);
    EXPECT_EQ(picture.lastAsked(), "All sent in a step");
    EXPECT_EQ(picture.asked.back().result.value,
              static_cast<double>(sim::Traffic(*picture.simulation).senders().total().total()));
    picture.send(PointerEvent::Kind::move, Picture::middle(picture.node("cell", "rank 0 sends rank 1 ").rect));
    picture.command(ViewCommand::because);
    EXPECT_EQ(picture.lastAsked(), "Sent from rank 0 to rank 1");
}

TEST(TrafficBecause, OfSelectedRanksIsTheirShareOfAll)
{
    AskedTraffic picture;
    picture.selection.selectRanks({0, 1, 2, 3}, 0);
    const std::vector<Node> marks = picture.draw().nodesOf("button");
    ASSERT_FALSE(marks.empty());
    picture.click(Picture::middle(marks.front().rect));
    EXPECT_EQ(picture.lastAsked(), "tp sent by the 4 selected ranks");
    const std::vector<int> four{0, 1, 2, 3};
    EXPECT_EQ(picture.asked.back().result.value,
              static_cast<double>(sim::Traffic(*picture.simulation).senders(four).total().ofDimension(sim::Dimension::tp)));
}

TEST(TrafficView, SaysThatOneRankSendsNothing)
{
    Picture picture(test::smallScenario(1, 1, 1));
    EXPECT_THAT(picture.draw().texts(), testing::Contains("One rank sends nothing"));
    EXPECT_FALSE(picture.command(ViewCommand::next));
}

TEST(TrafficView, MatrixHasACellForEveryPairThatExchanges)
{
    Picture picture(twoNodes());
    EXPECT_EQ(picture.chosen("mode"), "Matrix");
    EXPECT_EQ(picture.chosen("level"), "ranks");
    const sim::Traffic traffic = sim::Traffic(*picture.simulation);
    std::vector<int> every(16);
    std::iota(every.begin(), every.end(), 0);
    EXPECT_EQ(picture.draw().nodesOf("cell").size(), traffic.between(every, 16).cells.size());
    // tp neighbours: all of tp to the next; the pipeline joins ranks of equal place on the two nodes.
    EXPECT_THAT(picture.node("cell", "rank 0 sends rank 1 ").name, HasSubstr(": tp "));
    EXPECT_THAT(picture.node("cell", "rank 0 sends rank 8 ").name, HasSubstr(": pp "));
    EXPECT_THAT(picture.names("cell"), Not(testing::Contains(HasSubstr("rank 0 sends rank 9 "))));
}

TEST(TrafficView, AllCellsSayTheirBytesOrNoneDoes)
{
    Picture picture(twoNodes());
    std::set<bool> ways;
    for (float width = 800; width <= 1600; width += 25) {
        picture.area = {0, 0, width, 900};
        const RecorderCanvas canvas = picture.draw();
        std::size_t said = 0;
        const auto cells = canvas.nodesOf("cell");
        for (const Node& cell : cells)
            said += std::any_of(canvas.primitives().begin(), canvas.primitives().end(), [&](const Primitive& p) {
                return p.kind == Primitive::Kind::text &&
                       cell.rect.contains({(p.rect.left + p.rect.right) / 2, (p.rect.top + p.rect.bottom) / 2});
            });
        EXPECT_TRUE(said == 0 || said == cells.size()) << said << " of " << cells.size() << " at width " << width;
        ways.insert(said > 0);
    }
    EXPECT_EQ(ways.size(), 2U);
}

TEST(TrafficView, SummarisesByPurposeTierAndExposure)
{
    Picture picture(twoNodes());
    const auto exposed = picture.simulation->metrics().exposedComm;
    EXPECT_GT(exposed[sim::Dimension::tp], 0);
    EXPECT_THAT(picture.node("purpose", "tp ").name, HasSubstr(", NVLink, "));
    EXPECT_THAT(picture.node("purpose", "pp ").name, HasSubstr(", network, "));
    EXPECT_THAT(picture.names("purpose"), testing::Each(HasSubstr("% of the step exposed")));
    EXPECT_EQ(picture.names("purpose").size(), 3U) << "tp, pp, dp and nothing that is not there";
}

TEST(TrafficView, LeavingOutAPurposeTakesItsBytesAwayEverywhere)
{
    Picture picture(twoNodes());
    const std::size_t all = picture.names("cell").size();
    picture.press("purpose", "tp ");
    EXPECT_FALSE(picture.selection.shows(sim::OpClass::tpComm));
    EXPECT_LT(picture.names("cell").size(), all);
    EXPECT_THAT(picture.names("cell"), testing::Each(Not(HasSubstr("tp "))));
    picture.press("purpose", "tp ");
    EXPECT_EQ(picture.selection.classes, kAllClasses);
    EXPECT_EQ(picture.names("cell").size(), all);
}

TEST(TrafficView, ChipsAndKeysChooseModeAndLevel)
{
    Picture picture(twoNodes());
    picture.press("level", "nodes");
    EXPECT_EQ(picture.chosen("level"), "nodes");
    EXPECT_THAT(picture.names("cell"), testing::Contains(testing::StartsWith("node 0 sends node 1 ")));
    EXPECT_THAT(picture.names("cell"), testing::Contains(testing::StartsWith("within node 1 ")));
    EXPECT_TRUE(picture.command(ViewCommand::zoomOut));
    EXPECT_EQ(picture.chosen("level"), "pipeline");
    EXPECT_FALSE(picture.command(ViewCommand::zoomOut)) << "nothing is coarser";
    EXPECT_THAT(picture.names("cell"), testing::Contains(testing::StartsWith("pipeline rank 1 sends pipeline rank 0 ")));
    EXPECT_TRUE(picture.command(ViewCommand::fitAll));
    EXPECT_EQ(picture.chosen("level"), "ranks");

    EXPECT_TRUE(picture.command(ViewCommand::next));
    EXPECT_EQ(picture.chosen("mode"), "Diagram");
    EXPECT_TRUE(picture.command(ViewCommand::next));
    EXPECT_EQ(picture.chosen("mode"), "Load");
    EXPECT_TRUE(picture.command(ViewCommand::next));
    EXPECT_EQ(picture.chosen("mode"), "Matrix");
    picture.press("mode", "Load");
    EXPECT_EQ(picture.chosen("mode"), "Load");
}

TEST(TrafficView, PointingAtACellTellsItsBytesAndLightsTheSender)
{
    Picture picture(twoNodes());
    const Node cell = picture.node("cell", "rank 3 sends rank 0 ");
    EXPECT_TRUE(picture.send(PointerEvent::Kind::move, Picture::middle(cell.rect)));
    EXPECT_EQ(picture.selection.hoveredRank, 3);
    EXPECT_EQ(picture.view.tooltip(), cell.name);
    EXPECT_TRUE(picture.node("cell", "rank 3 sends rank 0 ").selected);
    EXPECT_THAT(picture.names("bar"), testing::Each(HasSubstr("rank 3 → 0: tp ")));
    EXPECT_TRUE(picture.send(PointerEvent::Kind::leave, {}));
    EXPECT_EQ(picture.selection.hoveredRank, std::nullopt);
    picture.click(Picture::middle(cell.rect));
    EXPECT_EQ(picture.selection.ranks, std::vector{3});
    EXPECT_TRUE(picture.command(ViewCommand::clear));
    EXPECT_EQ(picture.selection.selectedRank, std::nullopt);
}

TEST(TrafficView, TheRankInFocusListsItsPeers)
{
    Picture picture(twoNodes());
    picture.selection.selectRank(5);
    std::vector<sim::TrafficFlow> flows;
    sim::Traffic(*picture.simulation).appendSends(5, flows);
    EXPECT_EQ(picture.names("bar").size(), flows.size());
    EXPECT_THAT(picture.names("bar"), testing::Each(testing::StartsWith("rank 5 sends: to rank ")));
    EXPECT_TRUE(picture.command(ViewCommand::panDown));
    EXPECT_EQ(picture.selection.selectedRank, 6);
    EXPECT_TRUE(picture.command(ViewCommand::panUp, true));
    EXPECT_EQ(picture.selection.selectedRank, 2);
}

TEST(TrafficView, SeveralSelectedRanksAreTheOnlySenders)
{
    Picture picture(twoNodes());
    picture.selection.selectRanks({0, 1, 2, 3}, 0);
    EXPECT_THAT(picture.draw().texts(), testing::Contains(HasSubstr("by the 4 selected ranks")));
    for (const std::string& name : picture.names("cell"))
        EXPECT_THAT(name, testing::MatchesRegex("rank [0-3] sends (rank [0-3]|all others) .*"));
    picture.press("level", "nodes");
    EXPECT_THAT(picture.names("cell"), testing::Each(Not(testing::StartsWith("node 1"))));
    // A row of a node is its ranks.
    picture.command(ViewCommand::clear);
    const Rect within = picture.node("cell", "within node 1").rect;
    picture.click(Picture::middle(within));
    EXPECT_EQ(picture.selection.ranks, (std::vector{8, 9, 10, 11, 12, 13, 14, 15}));
    EXPECT_TRUE(picture.send(PointerEvent::Kind::doubleClick, Picture::middle(within)));
    EXPECT_EQ(picture.chosen("level"), "ranks");
}

TEST(TrafficView, DiagramShowsNodesGpusAndLinks)
{
    Picture picture(twoNodes());
    picture.command(ViewCommand::next);
    EXPECT_THAT(picture.names("node"), testing::ElementsAre(testing::StartsWith("node 0, "), testing::StartsWith("node 1, ")));
    EXPECT_EQ(picture.names("gpu").size(), 16U);
    EXPECT_THAT(picture.names("link"), testing::UnorderedElementsAre(testing::StartsWith("node 0 sends node 1 "),
                                                                     testing::StartsWith("node 1 sends node 0 ")));
    // GPUs of one rail stand in one column.
    EXPECT_EQ(picture.node("gpu", "rank 3 ").rect.left, picture.node("gpu", "rank 11 ").rect.left);

    const auto shapes = [&picture] {
        const RecorderCanvas canvas = picture.draw();
        return canvas.primitives().size() - canvas.texts().size();
    };
    const std::size_t before = shapes();
    picture.press("gpu", "rank 3 ");
    EXPECT_EQ(picture.selection.ranks, std::vector{3});
    picture.send(PointerEvent::Kind::leave, {});
    EXPECT_GT(shapes(), before) << "its flows are arrows";
    picture.send(PointerEvent::Kind::move, Picture::middle(picture.node("link", "node 0 sends node 1").rect));
    EXPECT_THAT(picture.view.tooltip(), testing::StartsWith("node 0 sends node 1 "));
    picture.click(Picture::middle(picture.node("gpu", "rank 12 ").rect), true);
    EXPECT_EQ(picture.selection.ranks, (std::vector{3, 12}));
}

TEST(TrafficView, OneNodeIsDrawnAsItsRanks)
{
    sim::Scenario scenario = test::smallScenario(4, 2, 1, 8);
    scenario.cluster = test::h100Cluster(8);
    Picture picture(scenario);
    picture.command(ViewCommand::next);
    EXPECT_EQ(picture.names("node").size(), 8U);
    EXPECT_THAT(picture.names("link"), testing::Contains(testing::StartsWith("rank 0 sends rank 4 ")));
    picture.press("node", "rank 6");
    EXPECT_EQ(picture.selection.ranks, std::vector{6});
}

/// Without data parallelism nothing is "dp".
TEST(TrafficView, TheReductionOfASharedEmbeddingIsCalledThat)
{
    sim::Scenario scenario = test::smallScenario(1, 4, 1, 8);
    scenario.model.tieWordEmbeddings = true;
    const auto alone = sim::simulate(scenario);
    EXPECT_EQ(sim::purposeName(*alone, sim::Dimension::dp), "embedding");
    EXPECT_EQ(sim::purposeName(*alone, sim::Dimension::pp), "pp");
    EXPECT_EQ(sim::purposeName(*sim::simulate(twoNodes()), sim::Dimension::dp), "dp");
    Picture picture(scenario);
    const std::vector<std::string> texts = picture.draw().texts();
    const auto has = [&](const std::string& start) {
        return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) { return text.starts_with(start); });
    };
    EXPECT_TRUE(has("embedding"));
    EXPECT_FALSE(has("dp"));
}

TEST(TrafficView, TellsWhoSharesANetworkCard)
{
    sim::Scenario scenario = twoNodes();
    scenario.cluster.tiers.back().gpusPerNic = 4;
    Picture picture(scenario);
    picture.area.right += 600; // all of the caption has room
    picture.press("mode", "Diagram");
    EXPECT_THAT(picture.draw().texts(), testing::Contains(testing::EndsWith(" · every 4 columns share a card")));
    picture.press("mode", "Load");
    EXPECT_THAT(picture.names("tier"),
                testing::ElementsAre(testing::StartsWith("NVLink, 450 GB/s a GPU, mean load "),
                                     testing::StartsWith("network, 50.0 GB/s a card of 4 GPUs, mean load ")));
}

TEST(TrafficView, LoadIsOnTheTimelinesAxis)
{
    Picture picture(twoNodes());
    picture.press("mode", "Load");
    EXPECT_THAT(picture.names("tier"), testing::ElementsAre(testing::StartsWith("NVLink, 450 GB/s a GPU, mean load "),
                                                            testing::StartsWith("network, 50.0 GB/s a GPU, mean load ")));
    const Rect lane = picture.node("tier", "network").rect;
    const TimelineFrame timeline(picture.area);
    const TimeAxis axis{0, TimeWindow::all(picture.simulation->metrics().stepTimeSeconds * 1e9).endNs, timeline.rows.left,
                        timeline.rows.right};
    const Point from{timeline.rows.left + 200, lane.top + 30}, to{timeline.rows.left + 400, lane.top + 30};
    picture.drag(from, to);
    ASSERT_TRUE(picture.selection.range.has_value());
    EXPECT_NEAR(static_cast<double>(picture.selection.range->beginNs), axis.ns(from.x), axis.nsPerPixel());
    EXPECT_NEAR(static_cast<double>(picture.selection.range->endNs), axis.ns(to.x), axis.nsPerPixel());
    EXPECT_TRUE(picture.command(ViewCommand::focusSelection));
    EXPECT_TRUE(picture.command(ViewCommand::focusSelection)) << "the second shows all";
    picture.click(from);
    EXPECT_EQ(picture.selection.range, std::nullopt);
}

/// Numbers are of the step, not of the pixels that happen to show it.
TEST(TrafficView, LoadsAreTheSameAtAnyWidth)
{
    Picture picture(twoNodes());
    picture.press("mode", "Load");
    picture.drag({picture.node("tier", "network").rect.left + 300, 200}, {picture.node("tier", "network").rect.left + 400, 200});
    const std::vector<std::string> wide = picture.names("tier");
    const sim::Traffic traffic(*picture.simulation);
    const auto stepNs = std::llround(picture.simulation->metrics().stepTimeSeconds * 1e9);
    const sim::LinkLoad whole = sim::linkLoad(*picture.simulation, traffic.senders(), {.beginNs = 0, .endNs = stepNs, .bins = 1});
    for (int tier = 0; tier < 2; ++tier)
        EXPECT_THAT(wide[static_cast<std::size_t>(tier)], HasSubstr("mean load " + percentText(whole.share(tier, 0)) + ", peak "))
            << "as `rankscope-sim traffic` has it";
    for (const float width : {700.0F, 433.0F, 271.0F}) {
        picture.area.right = picture.area.left + width;
        EXPECT_EQ(picture.names("tier"), wide) << width;
    }
}

TEST(TrafficView, ANarrowTierIsAbbreviatedNotRenamed)
{
    sim::Scenario scenario = twoNodes();
    scenario.cluster.tiers[1].name = "infiniband of the second hall";
    Picture picture(scenario);
    picture.press("mode", "Load");
    picture.area.right = picture.area.left + 240;
    const std::vector<std::string> texts = picture.draw().texts();
    const auto has = [&](const std::string& start) {
        return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) { return text.starts_with(start); });
    };
    EXPECT_FALSE(has("tier 1"));
    EXPECT_TRUE(has("inf"));
}

TEST(TrafficView, TheTimeCursorIsDraggedOnTheRulerOrByItself)
{
    Picture picture(twoNodes());
    picture.press("mode", "Load");
    const Rect lane = picture.node("tier", "NVLink").rect;
    const Rect rows = TimelineFrame(picture.area).rows;
    const float ruler = lane.top - 14;
    picture.drag({rows.left + 100, ruler}, {rows.left + 300, ruler});
    const std::int64_t at = picture.selection.cursorNs;
    EXPECT_GT(at, 0);
    EXPECT_EQ(picture.selection.range, std::nullopt);
    picture.drag({rows.left + 300, lane.top + 20}, {rows.left + 150, lane.top + 20});
    EXPECT_LT(picture.selection.cursorNs, at);
    EXPECT_GT(picture.selection.cursorNs, 0);
    EXPECT_EQ(picture.selection.range, std::nullopt);
}

TEST(TrafficView, ZoomsAndPansInTime)
{
    Picture picture(twoNodes());
    picture.press("mode", "Load");
    EXPECT_TRUE(picture.command(ViewCommand::zoomIn, true));
    EXPECT_TRUE(picture.command(ViewCommand::panRight));
    EXPECT_TRUE(picture.command(ViewCommand::panLeft));
    picture.draw();
    EXPECT_TRUE(picture.command(ViewCommand::fitAll));
    EXPECT_FALSE(picture.command(ViewCommand::fitAll));
    const Rect lane = picture.node("tier", "NVLink").rect;
    picture.send(PointerEvent::Kind::move, {TimelineFrame(picture.area).rows.left + 300, lane.top + 20});
    EXPECT_THAT(picture.view.tooltip(),
                testing::AllOf(testing::StartsWith("NVLink "), HasSubstr("tp "), HasSubstr("mean over ")));
}

TEST(TrafficView, SixteenThousandRanksAreGroupsOfNodes)
{
    Picture picture(test::llama405b());
    EXPECT_EQ(picture.chosen("level"), "nodes");
    const std::vector<std::string> levels = picture.names("level");
    EXPECT_THAT(levels, testing::ElementsAre("nodes", "pipeline")) << "too many ranks for a cell each";
    EXPECT_THAT(picture.names("cell"), testing::Contains(testing::StartsWith("within nodes 32–63 ")));
    EXPECT_LE(picture.names("cell").size(), 64U * 64U);
    picture.selection.selectRanks({0, 1, 2, 3, 4, 5, 6, 7}, 0);
    EXPECT_THAT(picture.names("level"), testing::ElementsAre("ranks", "nodes", "pipeline"));
    picture.press("level", "ranks");
    EXPECT_THAT(picture.names("cell"), testing::Contains(testing::StartsWith("rank 7 sends all others ")));
    picture.command(ViewCommand::clear);
    for (int mode = 0; mode < 3; ++mode) {
        EXPECT_LT(picture.draw(false).primitives().size(), 6000U);
        picture.command(ViewCommand::next);
    }
}

TEST(TrafficView, AnotherStepKeepsWhatWasChosen)
{
    Picture picture(twoNodes());
    picture.press("level", "nodes");
    picture.command(ViewCommand::next);
    picture.view.setStep({sim::simulate(test::smallScenario(8, 2, 2, 8)), nullptr});
    EXPECT_EQ(picture.chosen("mode"), "Diagram");
    picture.command(ViewCommand::previous);
    EXPECT_EQ(picture.chosen("level"), "nodes");
    picture.view.setStep({sim::simulate(test::smallScenario(2, 1, 1, 4)), nullptr});
    EXPECT_EQ(picture.names("cell").size(), 2U) << "one node: its two ranks";
}

/// At text of 200 % a picture has half the room.
TEST(TrafficView, ItsPurposesAreNamedHoweverNarrowItIs)
{
    sim::Scenario s = twoNodes();
    s.layout.sequenceParallel = true;
    Picture picture(s);
    const std::size_t all = picture.names("purpose").size();
    ASSERT_GE(all, 3U);
    for (const float height : {500.0F, 220.0F, 140.0F})
        for (const float width : {1000.0F, 320.0F, 150.0F, 110.0F}) {
            picture.area = {0, 0, width, height};
            const RecorderCanvas canvas = picture.draw();
            const auto purposes = canvas.nodesOf("purpose");
            EXPECT_EQ(purposes.size(), all) << width << " x " << height;
            for (const Node& node : purposes) {
                EXPECT_LE(node.rect.right, width) << node.name;
                EXPECT_LE(node.rect.bottom, height) << node.name;
            }
            for (const Primitive& text : canvas.cutTexts())
                EXPECT_FALSE(text.rect.top >= purposes.front().rect.top && text.rect.bottom <= purposes.back().rect.bottom)
                    << "cut: " << text.text;
        }
}

TEST(TrafficView, NoTextIsCutAtAnySize)
{
    std::mt19937 random(41);
    for (int i = 0; i < 12; ++i) {
        const sim::Scenario scenario = test::randomScenario(random, 128);
        SCOPED_TRACE(test::describe(scenario));
        Picture picture(scenario);
        for (const Point size : {Point{300, 200}, Point{520, 300}, Point{900, 500}, Point{1600, 900}, Point{700, 120}}) {
            picture.area = {3, 5, 3 + size.x, 5 + size.y};
            picture.selection = {};
            for (const bool focused : {false, true})
                for (int mode = 0; mode < 3; ++mode) {
                    if (focused && picture.simulation->mesh().worldSize() > 1)
                        picture.selection.selectRank(picture.simulation->mesh().worldSize() / 2);
                    const RecorderCanvas canvas = picture.draw();
                    for (const Primitive& text : canvas.cutTexts())
                        ADD_FAILURE() << size.x << "x" << size.y << " mode " << mode << " cut: " << text.text;
                    picture.command(ViewCommand::next);
                }
        }
    }
}

TEST(TrafficView, NodesHaveNumbersOfTheirOwn)
{
    Picture picture(twoNodes());
    for (int mode = 0; mode < 3; ++mode) {
        std::vector<std::uint64_t> ids;
        const RecorderCanvas canvas = picture.draw();
        for (const Node& node : canvas.nodes())
            ids.push_back(node.id);
        std::sort(ids.begin(), ids.end());
        EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
        picture.command(ViewCommand::next);
    }
}

} // namespace
} // namespace app
