// The memory lane under the timeline, and the arrows of the action under the pointer.
#include "app/canvas/recorder_canvas.h"
#include "app/views/memory/memory_model.h"
#include "app/views/timeline/timeline_dependencies.h"
#include "app/views/timeline/timeline_memory.h"
#include "app/views/timeline/timeline_view.h"
#include "sim/schedule/families/families.h"
#include "sim/simulate/action_class.h"
#include "tests/app/views/timeline/timeline_fixture.h"

#include <gmock/gmock.h>

#include <set>

namespace app {
namespace {

using test::fourStages;
using test::Timeline;

TEST(MemoryLane, ShowsTheRankInFocusElseTheFirst)
{
    Timeline timeline(fourStages());
    const auto name = [&] { return timeline.draw().nodesOf("memory").at(0).name; };
    EXPECT_THAT(name(), testing::HasSubstr("pp 0"));
    timeline.selection.selectRank(2);
    EXPECT_THAT(name(), testing::HasSubstr("pp 2"));
    timeline.selection.hoveredRank = 1;
    EXPECT_THAT(name(), testing::HasSubstr("pp 1")) << "what is pointed at before what was clicked";
}

TEST(MemoryLane, PeakIsTheSimulationsAndLiesWhereItSays)
{
    Timeline timeline(fourStages());
    const TimelineModel model({timeline.simulation, timeline.trace});
    for (int rank = 0; rank < 4; ++rank) {
        timeline.selection.selectRank(rank);
        const auto curve = memoryCurve(model, timeline.selection);
        ASSERT_TRUE(curve);
        const int row = timeline.simulation->classOf(rank);
        EXPECT_EQ(curve->peakBytes, timeline.simulation->memoryOfClass(row).total());
        EXPECT_EQ(model.counter(curve->counter).highest(curve->peakNs, curve->peakNs + 1), curve->peakBytes);
        EXPECT_LT(model.counter(curve->counter).highest(0, curve->peakNs), curve->peakBytes) << "the first time";
        const sim::MemoryBreakdown memory = timeline.simulation->memoryOfClass(row);
        EXPECT_EQ(curve->statesBytes, memory.parameters + memory.gradients + memory.optimizer);
    }
}

/// One curve and one time of the peak in both pictures, whatever the trace's detail.
TEST(MemoryLane, IsTheCurveOfTheMemoryPicture)
{
    for (const sim::TraceDetail detail : {sim::TraceDetail::actions, sim::TraceDetail::kernels}) {
        Timeline timeline(fourStages(), detail);
        const TimelineModel model({timeline.simulation, timeline.trace});
        const MemoryModel picture(timeline.simulation, timeline.trace);
        for (int rank = 0; rank < 4; ++rank) {
            timeline.selection.selectRank(rank);
            const auto curve = memoryCurve(model, timeline.selection);
            ASSERT_TRUE(curve);
            const HeldOverTime& held = picture.held(picture.rowOfRank(rank));
            EXPECT_EQ(curve->peakNs, held.peakNs());
            EXPECT_EQ(curve->peakNs, timeline.simulation->metrics().perPipelineRank[static_cast<std::size_t>(rank)].peakAtNs);
            constexpr int kMoments = 500;
            for (int i = 0; i < kMoments; ++i) {
                const std::int64_t begin = timeline.trace->endNs * i / kMoments, end = timeline.trace->endNs * (i + 1) / kMoments;
                ASSERT_EQ(model.counter(curve->counter).highest(begin, end), held.fullest(begin, end).total())
                    << rank << " " << i;
            }
        }
    }
}

TEST(MemoryLane, LiesOnTheTimeAxisOfTheRows)
{
    for (const float height : {300.0F, 420.0F, 900.0F}) {
        const TimelineFrame frame({0, 0, 1000, height}, {.memory = true});
        EXPECT_EQ(frame.memory.left, frame.rows.left);
        EXPECT_EQ(frame.memory.right, frame.rows.right);
        EXPECT_GT(frame.memory.height(), 40);
        EXPECT_GE(frame.memory.top, frame.rows.bottom);
        EXPECT_LE(frame.memory.bottom, frame.overview.top);
    }
    EXPECT_EQ(TimelineFrame({0, 0, 1000, 200}, {.memory = true}).memory.height(), 0) << "rows first";
    EXPECT_EQ(TimelineFrame({0, 0, 1000, 900}).memory.height(), 0);
}

/// The limit close above the peak runs behind the peak's words, not through them.
TEST(MemoryLane, NoLineIsDrawnThroughThePeaksWords)
{
    sim::Scenario scenario = fourStages();
    constexpr double kGib = 1024.0 * 1024 * 1024;
    scenario.cluster.gpu.memoryGib = 1.07 * static_cast<double>(sim::simulate(scenario)->memoryOfClass(0).total()) / kGib;
    Timeline timeline(scenario);
    const RecorderCanvas drawn = timeline.draw();
    Rect words, behind;
    bool hasLimit = false;
    for (const Primitive& primitive : drawn.primitives()) {
        if (primitive.kind == Primitive::Kind::text && primitive.text.starts_with("peak ")) {
            words = primitive.rect;
            EXPECT_LE(behind.left, words.left);
            EXPECT_GE(behind.right, words.right);
            EXPECT_LE(behind.top, words.top);
            break;
        }
        if (primitive.kind == Primitive::Kind::fillRect)
            behind = primitive.rect;
        hasLimit = hasLimit || (primitive.kind == Primitive::Kind::line && primitive.style == LineStyle::dashed);
    }
    EXPECT_TRUE(hasLimit) << "below its words";
    EXPECT_GT(words.width(), 0);
}

TEST(MemoryLane, PointingAtItTellsWhatIsHeld)
{
    Timeline timeline(fourStages());
    const Rect lane = TimelineFrame(timeline.area, {.memory = true}).memory;
    timeline.move({(lane.left + lane.right) / 2, (lane.top + lane.bottom) / 2});
    EXPECT_THAT(timeline.view.tooltip(), testing::AllOf(testing::HasSubstr(" held by rank 0 · pp 0"),
                                                        testing::HasSubstr("activations"), testing::HasSubstr("GPU 80.0 GiB")));
    timeline.drag({lane.left + 100, lane.top + 5}, {lane.left + 300, lane.top + 5});
    EXPECT_TRUE(timeline.selection.range) << "times are selected here as on the rows";

    Timeline copies(test::smallScenario(1, 1, 4, 8)); // which are all alike
    copies.move({(lane.left + lane.right) / 2, (lane.top + lane.bottom) / 2});
    EXPECT_THAT(copies.view.tooltip(), testing::HasSubstr(" held by each of all 4 ranks"));
}

TEST(Dependencies, AreThoseOfThePipeline)
{
    for (const char* kind : {"1f1b", "zb-h1", "zb-v"}) {
        sim::Scenario scenario = fourStages();
        scenario.schedule.kind = kind;
        scenario.schedule.virtualStages = sim::findScheduleFamily(kind)->chunks.least;
        scenario.schedule.layersPerStage.clear();
        test::resolve(scenario);
        Timeline timeline(scenario);
        const TimelineModel model({timeline.simulation, timeline.trace});
        const int last = timeline.simulation->schedule().stages() - 1;
        std::size_t transfers = 0;
        const auto withStage = [&](SpanRef ref) {
            const sim::Trace& trace = *timeline.trace;
            return std::to_string(trace.kinds[trace.tracks[ref.track].kind[ref.span]].stage) +
                   sim::spanName(trace, ref.track, ref.span);
        };
        for (std::uint32_t track = 0; track < timeline.trace->tracks.size(); ++track)
            for (std::uint32_t span = 0; span < timeline.trace->tracks[track].size(); ++span) {
                const SpanRef ref{track, span};
                const sim::SpanKind& passKind = timeline.trace->kinds[timeline.trace->tracks[track].kind[span]];
                if (passKind.stage < 0)
                    continue;
                std::multiset<std::string> inputs;
                for (const Dependency& d : dependenciesOf(model, ref)) {
                    if (!(d.to == ref))
                        continue;
                    inputs.insert(withStage(d.from));
                    transfers += d.transfer ? 1U : 0U;
                    EXPECT_EQ(d.transfer, d.from.track != d.to.track);
                    EXPECT_LE(model.endNs(d.from), timeline.trace->tracks[track].startNs[span]);
                }
                const std::string mb = std::to_string(timeline.trace->tracks[track].microbatch[span]);
                const std::string gradient = std::string(kind) == "1f1b" ? "B" : "I";
                std::multiset<std::string> expected;
                const int s = passKind.stage;
                if (passKind.opClass == sim::OpClass::forward) {
                    if (s > 0)
                        expected.insert(std::to_string(s - 1).append("F").append(mb));
                } else if (passKind.opClass == sim::OpClass::backwardWeight) {
                    expected.insert(std::to_string(s) + "I" + mb);
                } else {
                    expected.insert(std::to_string(s) + "F" + mb);
                    if (s < last)
                        expected.insert(std::to_string(s + 1).append(gradient).append(mb));
                }
                EXPECT_EQ(inputs, expected) << kind << " " << withStage(ref);
            }
        EXPECT_EQ(transfers, timeline.trace->flows.size()) << kind;
    }
}

TEST(Dependencies, OfTheHoveredActionAreDrawnAndTold)
{
    Timeline timeline(fourStages());
    const TimelineModel model({timeline.simulation, timeline.trace});
    const sim::Flow flow = timeline.trace->flows[5];
    const auto curves = [&] {
        const RecorderCanvas canvas = timeline.draw();
        return std::count_if(canvas.primitives().begin(), canvas.primitives().end(),
                             [](const Primitive& p) { return p.kind == Primitive::Kind::polyline; });
    };
    EXPECT_EQ(curves(), 0);
    timeline.move(timeline.centreOfSpan(flow.toTrack, flow.toSpan));
    const auto count = dependenciesOf(model, {flow.toTrack, flow.toSpan}).size();
    EXPECT_EQ(curves(), 2 * static_cast<std::ptrdiff_t>(count)) << "each with its halo";
    EXPECT_THAT(timeline.view.tooltip(),
                testing::HasSubstr("needs " + model.nameBeside({flow.fromTrack, flow.fromSpan}, model.rowOf(flow.toTrack))));
    EXPECT_EQ(timeline.view.tooltipName(), model.className(model.opClass(flow.toTrack, flow.toSpan))) << "the name alone";
}

} // namespace
} // namespace app
