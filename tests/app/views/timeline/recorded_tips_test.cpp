// What is told of a recorded step under the pointer: why a rank waits, in its idle time and over the transfer it waits in.
#include "tests/app/views/timeline/timeline_fixture.h"

#include "app/views/timeline/timeline_dependencies.h"
#include "sim/recovery/step_trace.h"
#include "sim/trace/time_use.h"
#include "tests/support/recorded.h"

#include <gmock/gmock.h>

namespace test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Eight ranks of which the fifth computes slower, as a lane each.
struct RecordedTimeline {
    explicit RecordedTimeline(const std::function<void(ShownStep&)>& change = [](ShownStep&) {})
    {
        sim::Scenario scenario = smallScenario(2, 2, 2);
        scenario.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = 5, .factor = 1.4});
        const sim::Recording recording = recordingOf(*sim::simulate(scenario, {.full = true}));
        const auto recovered = std::make_shared<const sim::Recovered>(sim::recover(recording));
        const sim::StepTrace made = sim::stepTrace(recording, *recovered, sim::arrivalsOf(*recovered), 0);
        ShownStep step{.trace = std::make_shared<const sim::Trace>(sim::timeUseTrace(made.trace)),
                       .waits = std::make_shared<sim::RecordedWaits>(recovered, 0)};
        change(step);
        trace = step.trace;
        view.setStep(step);
    }
    /// Where a rank's lane has something, or with `rank` nothing, at a time.
    Point at(int rank, std::int64_t ns)
    {
        RecorderCanvas canvas(kArea, true);
        view.draw(canvas);
        const Rect rows = TimelineFrame(kArea).rows;
        const TimeAxis axis{0, static_cast<double>(trace->endNs), rows.left, rows.right};
        for (const Node& node : canvas.nodesOf("row"))
            if (node.name.starts_with("rank " + std::to_string(rank)))
                return {axis.x(static_cast<double>(ns)), (node.rect.top + node.rect.bottom) / 2};
        ADD_FAILURE() << "rank " << rank << " has no row";
        return {};
    }
    std::string tipAt(int rank, std::int64_t ns)
    {
        view.pointer({.kind = PointerEvent::Kind::move, .at = at(rank, ns)}, kArea);
        return view.tooltip();
    }
    /// The middle of the longest gap of a rank's lane, or of its longest span that a test is true of.
    template <typename Is>
    std::int64_t middleOfLongest(int rank, Is is) const
    {
        const sim::Track& lane = trace->tracks[static_cast<std::size_t>(rank)];
        std::int64_t longest = 0, middle = 0, before = 0;
        const auto take = [&](std::int64_t begin, std::int64_t end) {
            if (end - begin > longest) {
                longest = end - begin;
                middle = (begin + end) / 2;
            }
        };
        for (std::size_t i = 0; i < lane.size(); ++i) {
            const std::int64_t end = lane.startNs[i] + lane.durationNs[i];
            if (is(nullptr))
                take(before, lane.startNs[i]);
            else if (is(&trace->kinds[lane.kind[i]]))
                take(lane.startNs[i], end);
            before = std::max(before, end);
        }
        return middle;
    }
    Selection selection;
    TimelineView view{selection, lightTheme()};
    TracePtr trace;
};

bool isGap(const sim::SpanKind* kind)
{
    return kind == nullptr;
}

TEST(RecordedTips, SayWhyARankIsIdleAndWhyItWaits)
{
    RecordedTimeline timeline;
    EXPECT_THAT(timeline.tipAt(0, timeline.middleOfLongest(0, isGap)),
                AllOf(HasSubstr(" idle before B0\nwaits for B0 of pp 1 (rank "), HasSubstr(" of the step"),
                      Not(HasSubstr("nothing here for"))));
    const auto isWait = [](const sim::SpanKind* kind) { return kind != nullptr && kind->name == "wait dp"; };
    EXPECT_THAT(timeline.tipAt(6, timeline.middleOfLongest(6, isWait)),
                AllOf(HasSubstr("\n\n"), HasSubstr(" idle before the optimizer\nwaits for the "), HasSubstr(" in dp, "),
                      HasSubstr("its last member is pp 1 (rank ")));
    EXPECT_TRUE(timeline.view.tooltipKeepsClearOf()) << "the way to what is waited for is drawn";
}

TEST(RecordedTips, SayWhatIsMissingToSayWhy)
{
    RecordedTimeline kept([](ShownStep& step) {
        step.waits = nullptr;
        step.whyNoWaits = "why: it was not kept";
    });
    EXPECT_THAT(kept.tipAt(0, kept.middleOfLongest(0, isGap)),
                AllOf(HasSubstr("nothing here for"), HasSubstr("\nwhy: it was not kept")));
}

TEST(RecordedTips, NameWhatAnActionNeedsOnceThoughItsLaneHasItInPieces)
{
    const RecordedTimeline timeline;
    const TimelineModel model({.trace = timeline.trace});
    const sim::Track& lane = timeline.trace->tracks[0];
    std::uint32_t span = 0;
    while (model.opClass(0, span) != sim::OpClass::backward || lane.microbatch[span] != 1)
        ++span;
    ASSERT_TRUE(model.opClass(0, span + 1) != sim::OpClass::backward) << "it is in pieces";
    EXPECT_EQ(dependencyText(model, {0, span}), "needs F1");
    EXPECT_EQ(dependenciesOf(model, {0, span}).size(), 1U) << "and one arrow comes from there";
}

} // namespace
} // namespace test
