// What is under way while the step plays: every message of the step at its fraction of the way, every byte once.
#include "app/canvas/recorder_canvas.h"
#include "app/views/traffic/traffic_motion.h"
#include "app/views/traffic/traffic_view.h"
#include "sim/analysis/traffic/link_load.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace app {
namespace {

using testing::HasSubstr;

struct MovingStep {
    std::shared_ptr<const sim::Simulation> simulation;
    sim::Traffic traffic;
    std::shared_ptr<const sim::TimedTransfers> transfers;
    explicit MovingStep(const sim::Scenario& scenario)
        : simulation(sim::simulate(scenario)), traffic(*simulation), transfers(std::make_shared<sim::TimedTransfers>(*simulation))
    {
    }
    std::int64_t endNs() const { return simulation->times().endNs; }
    /// Each rank a part.
    TrafficMotion byRank(std::span<const int> senders = {}) const
    {
        std::vector<int> partOf(static_cast<std::size_t>(traffic.worldSize()));
        std::iota(partOf.begin(), partOf.end(), 0);
        return {*simulation, traffic, transfers, partOf, senders};
    }
};

/// Tensor parallelism and data parallelism inside a node, the pipeline between two.
sim::Scenario twoNodesOfMotion()
{
    sim::Scenario s = test::smallScenario(4, 2, 2, 8);
    s.cluster = test::h100Cluster(16);
    return s;
}

/// The first message from pipeline rank 0 to 1.
const sim::TimedTransfer& firstForward(const MovingStep& step)
{
    for (const sim::TimedTransfers::Row& row : step.transfers->rows())
        if (row.sendTo == 1 && step.simulation->mesh().coordinates(step.simulation->representative(row.rankClass)).pp == 0)
            return row.transfers.front();
    throw std::runtime_error("nothing is sent from stage 0 to stage 1");
}

TEST(TrafficMotion, AMessageIsAtItsFractionOfTheWay)
{
    const MovingStep step(twoNodesOfMotion());
    TrafficMotion motion = step.byRank();
    const sim::TimedTransfer& message = firstForward(step);
    const sim::Mesh& mesh = step.simulation->mesh();
    for (const int percent : {0, 25, 50, 99}) {
        const std::int64_t ns = message.beginNs + (message.endNs - message.beginNs) * percent / 100;
        const auto& packets = motion.at(ns, 1).packets;
        const auto found = std::find_if(packets.begin(), packets.end(), [&](const TrafficPacket& p) {
            return p.purpose == sim::Dimension::pp && p.from == 0 && mesh.coordinates(p.to).pp == 1;
        });
        ASSERT_NE(found, packets.end()) << percent;
        EXPECT_DOUBLE_EQ(found->way, message.wayAt(ns));
        EXPECT_NEAR(found->way, percent / 100.0, 1e-3);
        EXPECT_DOUBLE_EQ(found->bytes, static_cast<double>(message.bytes));
        EXPECT_EQ(found->microbatch, 0);
    }
    for (const TrafficPacket& p : motion.at(message.endNs, 1).packets)
        EXPECT_FALSE(p.purpose == sim::Dimension::pp && p.from == 0 && p.microbatch == 0) << "it has arrived";
}

TEST(TrafficMotion, HoldsEveryByteThatTheStepHasUnderWay)
{
    std::mt19937 random(71);
    for (int i = 0; i < 20; ++i) {
        const sim::Scenario scenario = test::randomScenario(random, 64);
        SCOPED_TRACE(test::describe(scenario));
        const MovingStep step(scenario);
        TrafficMotion motion = step.byRank();
        for (int k = 1; k < 20; ++k) {
            const std::int64_t ns = step.endNs() * k / 20;
            double wanted = 0;
            for (const sim::TimedTransfers::Row& row : step.transfers->rows())
                for (const sim::TimedTransfer& t : row.transfers)
                    if (t.beginNs <= ns && ns < t.endNs)
                        wanted += static_cast<double>(t.bytes) * step.simulation->classSize(row.rankClass);
            const TrafficMoment& now = motion.at(ns, 1);
            EXPECT_NEAR(now.bytes, wanted, 1e-5 * wanted + 1);
            double inPackets = 0;
            for (const TrafficPacket& packet : now.packets) {
                inPackets += packet.bytes;
                EXPECT_GE(packet.way, 0);
                EXPECT_LT(packet.way, 1);
                EXPECT_GE(packet.stretch, 1);
                EXPECT_LE(packet.bytes, motion.mostBytes() * 1.000001 * step.traffic.worldSize());
            }
            EXPECT_NEAR(inPackets, now.bytes, 1e-9 * now.bytes);
        }
    }
}

/// Before the step there was no time to send in: shares are of what has passed of it.
TEST(TrafficMotion, TheFirstMomentsAreNoLongerThanTheStepHasRun)
{
    const MovingStep step(twoNodesOfMotion());
    TrafficMotion motion = step.byRank();
    const std::int64_t exposureNs = step.endNs() / 10;
    for (const std::int64_t ns : {exposureNs / 10, exposureNs / 2, exposureNs, 2 * exposureNs}) {
        const TrafficMoment& now = motion.at(ns, exposureNs);
        EXPECT_EQ(now.exposureNs, std::min(ns, exposureNs));
        const sim::LinkLoad load = sim::linkLoad(*step.simulation, step.traffic.senders(),
                                                 {.beginNs = ns - std::min(ns, exposureNs), .endNs = ns, .bins = 1});
        for (std::size_t tier = 0; tier < now.tiers.size(); ++tier)
            EXPECT_NEAR(now.tiers[tier].share(), load.share(static_cast<int>(tier), 0), 1e-4);
    }
}

TEST(TrafficMotion, LoadsItsTiersAsTheLoadOverTimeSays)
{
    const MovingStep step(twoNodesOfMotion());
    TrafficMotion motion = step.byRank();
    const std::int64_t exposureNs = step.endNs() / 50;
    int busy = 0;
    double mostOfRank0 = 0;
    for (int k = 2; k < 40; ++k) {
        const std::int64_t ns = step.endNs() * k / 40;
        const TrafficMoment& now = motion.at(ns, exposureNs);
        const sim::LinkLoad load =
            sim::linkLoad(*step.simulation, step.traffic.senders(), {.beginNs = ns - exposureNs, .endNs = ns, .bins = 1});
        double passed = 0, ofRank0 = 0;
        for (std::size_t tier = 0; tier < now.tiers.size(); ++tier) {
            EXPECT_NEAR(now.tiers[tier].share(), load.share(static_cast<int>(tier), 0), 1e-4);
            for (const sim::Dimension purpose : sim::kDimensions)
                passed += load.tiers[tier].bytes[purpose][0];
        }
        busy += passed > 0;
        double inFlows = 0;
        for (const TrafficNow& flow : now.flows) {
            inFlows += flow.bytes;
            ofRank0 += flow.from == 0 ? flow.load : 0;
        }
        EXPECT_NEAR(inFlows, passed, 1e-4 * passed + 1);
        mostOfRank0 = std::max(mostOfRank0, ofRank0);
    }
    EXPECT_GT(busy, 20);
    EXPECT_GT(mostOfRank0, 0.01) << "of what its ports carry";
    EXPECT_LT(mostOfRank0, 2);
}

TEST(TrafficMotion, OfARankThatSharesItsCardIsOfTheWholeCard)
{
    sim::Scenario scenario = twoNodesOfMotion();
    scenario.cluster.tiers.back().gpusPerNic = 4; // of 50 GB/s: as many bytes a nanosecond
    const MovingStep step(scenario);
    TrafficMotion motion = step.byRank();
    const sim::TimedTransfer& message = firstForward(step);
    const std::int64_t exposureNs = (message.endNs - message.beginNs) / 2;
    int messages = 0;
    for (const TrafficNow& flow : motion.at(message.endNs, exposureNs).flows)
        if (flow.purpose == sim::Dimension::pp) {
            EXPECT_NEAR(flow.load, flow.bytes / (50.0 * static_cast<double>(exposureNs)), 1e-9);
            EXPECT_LE(flow.load, 1);
            ++messages;
        }
    EXPECT_GT(messages, 0);
}

TEST(TrafficMotion, OfSomeRanksIsWhatTheySend)
{
    const MovingStep step(twoNodesOfMotion());
    const std::vector<int> some{3, 5};
    TrafficMotion motion = step.byRank(some);
    const TrafficMoment& now = motion.at(firstForward(step).beginNs, 1);
    ASSERT_FALSE(now.packets.empty());
    for (const TrafficPacket& packet : now.packets)
        EXPECT_THAT(some, testing::Contains(packet.from));
}

TEST(TrafficMotion, AShareOfACurveIsOneOfItsLength)
{
    const std::vector<Point> corner{{0, 0}, {30, 0}, {30, 10}};
    EXPECT_EQ(pointAlong(corner, 0), (Point{0, 0}));
    EXPECT_EQ(pointAlong(corner, 0.5), (Point{20, 0}));
    EXPECT_EQ(pointAlong(corner, 0.875), (Point{30, 5}));
    EXPECT_EQ(pointAlong(corner, 1), (Point{30, 10}));
    EXPECT_EQ(piece(corner, 0.5, 0.875), (std::vector<Point>{{20, 0}, {30, 0}, {30, 5}}));
}

/// The picture itself, playing.
struct Playing {
    MovingStep step{twoNodesOfMotion()};
    Selection selection;
    TrafficView view{selection, lightTheme()};
    Playing()
    {
        view.setStep({step.simulation, nullptr});
        const int matrix = view.mode();
        EXPECT_TRUE(view.showNow());
        EXPECT_NE(view.mode(), matrix);
        EXPECT_FALSE(view.showNow());
    }
    RecorderCanvas at(std::int64_t ns)
    {
        selection.cursorNs = ns;
        RecorderCanvas canvas({0, 0, 1000, 600});
        view.draw(canvas);
        EXPECT_TRUE(canvas.clipsAreBalanced());
        return canvas;
    }
};

std::vector<Node> pipelineMessages(const RecorderCanvas& canvas)
{
    std::vector<Node> found = canvas.nodesOf("message");
    std::erase_if(found, [](const Node& node) { return !node.name.starts_with("pp"); });
    return found;
}

TEST(TrafficMotion, MessagesGoFromGpuToGpu)
{
    Playing playing;
    const sim::TimedTransfer message = firstForward(playing.step);
    float before = 0;
    for (const int percent : {10, 50, 90}) {
        const RecorderCanvas canvas = playing.at(message.beginNs + (message.endNs - message.beginNs) * percent / 100);
        const auto messages = pipelineMessages(canvas);
        ASSERT_EQ(messages.size(), 8U) << "one from each rank of the first stage";
        EXPECT_THAT(messages.front().name, HasSubstr(std::to_string(percent)));
        EXPECT_GT(messages.front().rect.top, before) << "down to the second node";
        before = messages.front().rect.top;
        EXPECT_THAT(canvas.texts(), testing::Contains(HasSubstr("in the last")));
    }
}

TEST(TrafficMotion, NothingMovesOverANodeThatItDoesNotConcern)
{
    // FSDP over four nodes: the ring's way back from the last node to the first.
    const auto simulation = sim::simulate(::test::smallScenario(1, 1, 32, 1));
    Selection selection;
    TrafficView view(selection, lightTheme());
    view.setStep({simulation, nullptr});
    view.showNow();
    int drawn = 0;
    for (int tenth = 1; tenth < 10; ++tenth) {
        selection.cursorNs = simulation->times().endNs * tenth / 10;
        RecorderCanvas canvas({0, 0, 900, 600});
        view.draw(canvas);
        EXPECT_THAT(canvas.texts(), testing::Not(testing::Contains("0 B"))) << "what is not told is not nothing";
        std::vector<Rect> nodes;
        for (const Node& node : canvas.nodesOf("node"))
            nodes.push_back(node.rect);
        ASSERT_EQ(nodes.size(), 4U);
        for (const Primitive& p : canvas.primitives()) {
            if (p.kind != Primitive::Kind::polyline)
                continue;
            ++drawn;
            const bool isWithinOne = std::any_of(nodes.begin(), nodes.end(), [&](const Rect& node) {
                return std::all_of(p.points.begin(), p.points.end(), [&](Point at) { return node.contains(at); });
            });
            for (const Rect& node : isWithinOne ? std::vector<Rect>() : nodes) // what is a node's own lies in it
                for (const Point& at : p.points)
                    EXPECT_FALSE(node.inset(14).contains(at)) << tenth;
        }
    }
    EXPECT_GT(drawn, 0);
}

TEST(TrafficMotion, WhatMovesWithinANodeStaysInItsBox)
{
    for (const float height : {600.0F, 240.0F}) {
        Playing playing;
        int within = 0;
        for (int part = 1; part < 40; ++part) {
            playing.selection.cursorNs = playing.step.endNs() * part / 40;
            RecorderCanvas canvas({0, 0, 1000, height});
            playing.view.draw(canvas);
            const auto nodes = canvas.nodesOf("node");
            for (const Node& message : canvas.nodesOf("message")) {
                if (message.name.starts_with("pp")) // between the two
                    continue;
                ++within;
                EXPECT_TRUE(std::any_of(nodes.begin(), nodes.end(),
                                        [&](const Node& node) { return intersected(node.rect, message.rect) == message.rect; }))
                    << message.name << " at " << message.rect.top << " … " << message.rect.bottom << " of " << height;
            }
        }
        EXPECT_GT(within, 20) << height;
    }
}

TEST(TrafficMotion, WhatComesToANodeStopsBesideItsName)
{
    sim::Scenario scenario = test::smallScenario(8, 1, 64, 1); // nodes as one, without their GPUs
    scenario.cluster = test::h100Cluster(512);
    test::resolve(scenario);
    const auto simulation = sim::simulate(scenario);
    Selection selection;
    TrafficView view(selection, lightTheme());
    view.setStep({simulation, nullptr});
    view.showNow();
    int between = 0;
    for (int part = 1; part < 60; ++part) {
        selection.cursorNs = simulation->times().endNs * part / 60;
        RecorderCanvas canvas({0, 0, 720, 300});
        view.draw(canvas);
        const auto nodes = canvas.nodesOf("node");
        for (const Node& message : canvas.nodesOf("message")) {
            const bool isWithin = std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
                return intersected(node.rect, message.rect) == message.rect;
            });
            for (const Node& node : nodes)
                EXPECT_TRUE(isWithin || intersected(node.rect, message.rect).width() <= 0 ||
                            intersected(node.rect, message.rect).height() <= 0)
                    << message.name << " on " << node.name;
            between += isWithin ? 0 : 1;
        }
    }
    EXPECT_GT(between, 10);
}

/// As in a window of 1366 × 768, and beside the names of many nodes as one.
TEST(TrafficMotion, WhatMovesWithinANodeLeavesItsNamesToBeRead)
{
    const auto many = [] {
        sim::Scenario s = test::smallScenario(8, 1, 64, 1);
        s.cluster = test::h100Cluster(512);
        return s;
    };
    for (const auto& [scenario, area] : {std::pair(twoNodesOfMotion(), Rect{0, 0, 725, 244}),
                                         std::pair(many(), Rect{0, 0, 725, 244}), std::pair(many(), Rect{0, 0, 420, 244})}) {
        const auto simulation = sim::simulate(scenario);
        Selection selection;
        TrafficView view(selection, lightTheme());
        view.setStep({simulation, nullptr});
        view.showNow();
        int within = 0;
        for (int part = 1; part < 40; ++part) {
            selection.cursorNs = simulation->times().endNs * part / 40;
            RecorderCanvas canvas(area);
            view.draw(canvas);
            std::vector<Rect> names;
            std::vector<Node> nodes = canvas.nodesOf("node");
            for (const Primitive& p : canvas.primitives())
                if (p.kind == Primitive::Kind::text && std::any_of(nodes.begin(), nodes.end(), [&](const Node& n) {
                        return n.rect.contains({p.rect.left, p.rect.top + 2});
                    }))
                    names.push_back(p.rect);
            ASSERT_FALSE(names.empty());
            for (const Primitive& p : canvas.primitives()) {
                const bool isWithin =
                    p.kind == Primitive::Kind::polyline && std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
                        return std::all_of(p.points.begin(), p.points.end(), [&](Point at) { return node.rect.contains(at); });
                    });
                if (!isWithin)
                    continue;
                ++within;
                for (const Rect& name : names)
                    for (const Point& at : p.points)
                        EXPECT_FALSE(name.inset(2).contains(at)) << at.x << ", " << at.y << " of " << area.width();
            }
        }
        EXPECT_GT(within, 20) << area.width();
    }
}

TEST(TrafficMotion, AtTheEndsOfTheStepNothingMoves)
{
    Playing playing;
    for (const std::int64_t ns : {std::int64_t{0}, playing.step.endNs()}) {
        const RecorderCanvas canvas = playing.at(ns);
        EXPECT_TRUE(canvas.nodesOf("message").empty());
        EXPECT_THAT(canvas.texts(), testing::Not(testing::Contains(HasSubstr("in the last"))));
    }
}

TEST(TrafficMotion, WhatIsLeftOutDoesNotMove)
{
    Playing playing;
    const sim::TimedTransfer message = firstForward(playing.step);
    playing.selection.classes = static_cast<ClassMask>(kAllClasses ^ maskOf(sim::OpClass::ppComm));
    EXPECT_TRUE(pipelineMessages(playing.at((message.beginNs + message.endNs) / 2)).empty());
}

} // namespace
} // namespace app
