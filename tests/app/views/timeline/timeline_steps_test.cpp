// Stepping through a schedule: phases read from any list, actions revealed one by one.
#include "app/views/timeline/schedule_phases.h"
#include "app/views/timeline/timeline_dependencies.h"
#include "app/views/timeline/timeline_model.h"
#include "app/views/timeline/timeline_steps.h"
#include "sim/analysis/wait_chain.h"
#include "sim/scenario/document.h"
#include "sim/schedule/families/families.h"
#include "tests/app/views/timeline/timeline_fixture.h"
#include "tests/support/catalogue.h"

#include <gmock/gmock.h>

namespace app {
namespace {

using test::fourStages;
using test::Timeline;

SchedulePhases phasesOfRank(const sim::ScheduleRequest& request, int rank)
{
    return phasesOf(kindsOf(sim::makeSchedule(request).actions[static_cast<std::size_t>(rank)]));
}

TEST(SchedulePhases, OneForwardOneBackwardWarmsUpWithTheRanksAfterIt)
{
    for (int p = 2; p <= 8; ++p)
        for (int r = 0; r < p; ++r) {
            const int m = 2 * p + 1;
            const SchedulePhases phases = phasesOfRank({.kind = "1f1b", .ranks = p, .microbatches = m}, r);
            EXPECT_EQ(phases.warmUp, (PhaseCounts{p - 1 - r, 0, 0}));
            EXPECT_EQ(phases.steady, (PhaseCounts{m - (p - 1 - r), m - (p - 1 - r), 0}));
            EXPECT_EQ(phases.coolDown, (PhaseCounts{0, p - 1 - r, 0}));
        }
}

TEST(SchedulePhases, WithoutTurnsThereIsNoSteadyState)
{
    const SchedulePhases phases = phasesOfRank({.kind = "gpipe", .ranks = 4, .microbatches = 6}, 1);
    EXPECT_EQ(phases.warmUp.forwards, 6);
    EXPECT_EQ(phases.steady, PhaseCounts{});
    EXPECT_EQ(phases.coolDown.gradients, 6);
    EXPECT_EQ(phasesOf({}).coolDownBegin, 0U);
}

TEST(SchedulePhases, CoverEveryActionOfEveryFamily)
{
    for (const sim::ScheduleFamily& family : sim::scheduleFamilies()) {
        const sim::ScheduleRequest request{
            .kind = std::string(family.kind), .ranks = 4, .virtualStages = family.chunks.least, .microbatches = 8};
        if (family.kind == "custom" || family.unmet(request))
            continue;
        for (const auto& list : family.make(request).actions) {
            const SchedulePhases phases = phasesOf(kindsOf(list));
            ASSERT_LE(phases.steadyBegin, phases.coolDownBegin) << family.kind;
            EXPECT_EQ(phases.warmUp.gradients + phases.warmUp.weights, 0) << family.kind;
            EXPECT_EQ(phases.coolDown.forwards, 0) << family.kind;
            int actions = 0;
            for (const PhaseCounts& c : {phases.warmUp, phases.steady, phases.coolDown})
                actions += c.forwards + c.gradients + c.weights;
            EXPECT_EQ(actions, static_cast<int>(list.size())) << family.kind;
        }
    }
}

TEST(WarmUpRule, IsFoundWhereOneFitsAllRanks)
{
    const auto rule = [](const char* kind, int virtualStages = 1) {
        const auto found =
            warmUpRule(sim::makeSchedule({.kind = kind, .ranks = 4, .virtualStages = virtualStages, .microbatches = 16}));
        return found ? found->text() : std::string();
    };
    EXPECT_EQ(rule("1f1b"), "p − 1 − r");
    EXPECT_EQ(rule("zb-h1"), "p − 1 − r");
    EXPECT_EQ(rule("zb-h2"), "2 (p − 1 − r)");
    EXPECT_EQ(rule("interleaved-1f1b", 2), "2 (p − 1 − r) + 4") << "(v − 1) groups of p";
    EXPECT_EQ((WarmUpRule{2, 4}.worked(8, 3)), "2 (p − 1 − r) + 4 = 2 (8 − 1 − 3) + 4");
    EXPECT_EQ((WarmUpRule{0, 8}.worked(8, 3)), "8");
}

TEST(TimelineSteps, EachStepRevealsOneActionAndNoneBeforeItsInputs)
{
    Timeline timeline(fourStages());
    const TimelineModel model({timeline.simulation, timeline.trace});
    TimelineSteps steps(model);
    ASSERT_EQ(steps.count(), timeline.trace->spanCount());
    for (std::size_t step = 0; step < steps.count(); ++step) {
        steps.goTo(step);
        std::size_t shown = 0;
        for (std::uint32_t track = 0; track < timeline.trace->tracks.size(); ++track)
            shown += steps.revealed(track);
        ASSERT_EQ(shown, step + 1);
        EXPECT_TRUE(steps.isRevealed(*steps.now()));
        for (const Dependency& d : dependenciesOf(model, *steps.now()))
            if (d.to == *steps.now()) {
                EXPECT_TRUE(steps.isRevealed(d.from));
            }
    }
    steps.goTo(1'000'000);
    EXPECT_EQ(steps.current(), steps.count() - 1);
}

TEST(TimelineSteps, TellWhyAnActionStartsWhenItDoes)
{
    Timeline timeline(fourStages());
    const TimelineModel model({timeline.simulation, timeline.trace});
    TimelineSteps steps(model);
    EXPECT_EQ(steps.happens(), "F0 of pp 0 starts the step");
    steps.goTo(1);
    EXPECT_EQ(steps.happens(), "F1 of pp 0 starts right after F0");
    bool waited = false;
    for (std::size_t step = 0; step < steps.count(); ++step) {
        steps.goTo(step);
        waited = waited || steps.happens() == "F0 of pp 1 starts as soon as F0 of pp 0 is there";
    }
    EXPECT_TRUE(waited);
}

/// Between a rank's last backward pass and its optimizer may lie what all of them wait for.
TEST(TimelineSteps, SayNotRightAfterWhereTheRankWaited)
{
    sim::Scenario scenario = fourStages();
    scenario.model.tieWordEmbeddings = true; // their gradients are added between the first stage and the last
    Timeline timeline(scenario);
    const TimelineModel model({timeline.simulation, timeline.trace});
    TimelineSteps steps(model);
    int waited = 0;
    for (std::size_t step = 0; step < steps.count(); ++step) {
        steps.goTo(step);
        const SpanRef now = *steps.now();
        const sim::Track& track = timeline.trace->tracks[now.track];
        if (now.span == 0)
            continue;
        const std::int64_t gapNs = track.startNs[now.span] - track.startNs[now.span - 1] - track.durationNs[now.span - 1];
        const bool isSeen = gapNs * 50 > track.durationNs[now.span - 1];
        EXPECT_FALSE(isSeen && steps.happens().find("right after") != std::string::npos) << steps.happens() << " " << gapNs;
        waited += steps.happens().find(": it waited for the all-reduce of gradients") != std::string::npos ? 1 : 0;
    }
    EXPECT_GT(waited, 0) << steps.happens();
}

/// gpt2-xl over four stages: behind ZeRO 3's gathers, and with an optimizer whose host comes late.
sim::Scenario gatheredStages()
{
    const auto document = sim::ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1, "model": "gpt2-xl",
        "cluster": {"base": "h100-sxm-ib400", "nodes": 1}, "layout": {"pp": 4, "dp": 2, "zero_stage": 3},
        "schedule": {"kind": "1f1b"},
        "training": {"sequence_length": 1024, "global_batch_size": 16, "micro_batch_size": 1}})");
    return document.resolve(test::catalogue()).scenario.value();
}

/// The longest part of each wait, with its time, as the tip over the same gap has it.
TEST(TimelineSteps, NameWhatMostOfAWaitWasFor)
{
    Timeline timeline(gatheredStages());
    const TimelineModel model({timeline.simulation, timeline.trace});
    TimelineSteps steps(model);
    sim::WaitChains waits(*timeline.simulation);
    int waited = 0, launched = 0;
    for (std::size_t step = 0; step < steps.count(); ++step) {
        steps.goTo(step);
        const SpanRef now = *steps.now();
        const std::string happens = steps.happens();
        const std::size_t told = happens.find(": it waited for ");
        if (told == std::string::npos)
            continue;
        const sim::Track& track = timeline.trace->tracks[now.track];
        const std::string text = happens.substr(told + std::string_view(": it waited for ").size());
        const auto gap = waits.gapAt(model.rowOf(now.track), track.startNs[now.span] - 1);
        ASSERT_TRUE(gap) << happens;
        if (now.span > 0 && gap->beginNs != track.startNs[now.span - 1] + track.durationNs[now.span - 1])
            continue; // the tip is over more than is told here
        std::string tip;
        for (const std::string& line : waits.lines(waits.chain(*gap)))
            tip += line + "\n";
        // Else its own part of the gap alone; and a long tip leaves the middle out.
        if (happens.find(" is there: ") == std::string::npos && tip.find("… and ") == std::string::npos) {
            EXPECT_THAT(tip, testing::HasSubstr(text)) << happens;
        }
        ++waited;
        const auto longest = [&] {
            std::int64_t most = 0;
            for (const sim::WaitLink& link : waits.chain(*gap).links)
                most = std::max(most, link.kind == sim::WaitLink::Kind::launch ? link.lengthNs() : 0);
            return most;
        }();
        if (longest * 2 > gap->lengthNs()) {
            EXPECT_TRUE(text.starts_with("the host's launch of ")) << happens << "\n" << tip;
            ++launched;
        }
    }
    EXPECT_GT(waited, 4);
    EXPECT_GT(launched, 0);
    steps.goTo(0);
    EXPECT_THAT(steps.happens(), testing::StartsWith("F0 of pp 0 starts "));
    EXPECT_THAT(steps.happens(), testing::HasSubstr(" into the step: it waited for the all-gather of parameters in dp, "));
}

TEST(TimelineSteps, TellTheSameWhereKernelsAreShown)
{
    for (const char* kind : {"1f1b", "zb-h1"}) {
        sim::Scenario scenario = fourStages();
        scenario.schedule.kind = kind;
        Timeline timeline(scenario);
        const auto kernels = std::make_shared<const sim::Trace>(timeline.simulation->trace(sim::TraceDetail::kernels));
        const TimelineModel model({timeline.simulation, timeline.trace}), detailed({timeline.simulation, kernels});
        TimelineSteps steps(model), ofKernels(detailed);
        ASSERT_EQ(steps.count(), ofKernels.count());
        for (std::size_t step = 0; step < steps.count(); ++step) {
            steps.goTo(step);
            ofKernels.goTo(step);
            ASSERT_EQ(steps.happens(), ofKernels.happens()) << kind << " step " << step;
        }
    }
}

TEST(TimelineSteps, TheViewShowsWhatHasStartedAndTellsThePhaseOfTheRankInFocus)
{
    Timeline timeline(fourStages());
    timeline.area.bottom = 600;
    timeline.area.right = 4000; // each pass can be read: what is in sight stays
    const auto spans = [&] { return timeline.draw().nodesOf("span").size(); };
    const std::size_t all = spans();
    timeline.view.setStepping(true);
    EXPECT_EQ(spans(), 1U);
    EXPECT_TRUE(timeline.command(ViewCommand::next));
    EXPECT_TRUE(timeline.command(ViewCommand::panRight)) << "the arrow keys too";
    EXPECT_EQ(spans(), 3U);
    EXPECT_TRUE(timeline.command(ViewCommand::previous));
    EXPECT_EQ(spans(), 2U);

    timeline.selection.selectRank(1);
    const auto story = [&] { return timeline.draw().nodesOf("story").at(0).name; };
    EXPECT_THAT(story(), testing::HasSubstr("Waits for its first input"));
    std::string seen;
    while (timeline.command(ViewCommand::next))
        seen += story() + "\n";
    EXPECT_THAT(seen, testing::AllOf(testing::HasSubstr("Warm-up: 2 forwards = p − 1 − r = 4 − 1 − 1"),
                                     testing::HasSubstr("Steady state: 6 times one forward and one backward"),
                                     testing::HasSubstr("Cool-down: the last 2 backwards")));
    EXPECT_EQ(spans(), all);
    timeline.view.setStepping(false);
    EXPECT_TRUE(timeline.draw().nodesOf("story").empty());
}

TEST(TimelineSteps, FollowTheTimeCursorWhoeverMovesIt)
{
    Timeline timeline(fourStages());
    timeline.area = {0, 0, 4000, 600};
    const auto startOf = [&](SpanRef ref) { return timeline.trace->tracks[ref.track].startNs[ref.span]; };
    const auto named = [&] { return timeline.draw().nodesOf("story").at(0).name; };
    timeline.view.setStepping(true);
    std::vector<std::pair<std::int64_t, std::string>> told; // of each moment at which actions start the last that does
    do {
        const std::int64_t start = startOf(*timeline.selection.selectedSpan);
        if (told.empty() || told.back().first != start)
            told.emplace_back(start, "");
        told.back().second = named();
    } while (timeline.command(ViewCommand::next));
    ASSERT_GT(told.size(), 8U);
    EXPECT_FALSE(timeline.view.stepToCursor());
    for (const std::size_t i : {told.size() / 2, std::size_t{3}, told.size() - 2}) { // back, and forth
        timeline.selection.cursorNs = told[i].first;
        EXPECT_TRUE(timeline.view.stepToCursor());
        EXPECT_EQ(named(), told[i].second);
        EXPECT_EQ(startOf(*timeline.selection.selectedSpan), told[i].first);
        timeline.selection.cursorNs = told[i + 1].first - 1;
        EXPECT_FALSE(timeline.view.stepToCursor()) << "nothing else has started";
    }

    timeline.view.setStepping(false);
    timeline.selection.cursorNs = told[4].first + 1;
    timeline.view.setStepping(true);
    EXPECT_EQ(named(), told[4].second) << "they begin where the cursor is";
    timeline.view.setStepping(false);
    timeline.selection.cursorNs = timeline.trace->endNs;
    timeline.view.setStepping(true);
    EXPECT_EQ(timeline.selection.cursorNs, told.front().first) << "anew where it is at the end";
}

TEST(TimelineSteps, AreFramedSoThatEachPassIsReadWithItsNeighbours)
{
    sim::Scenario scenario = fourStages();
    scenario.training.globalBatchSize = 64;
    test::resolve(scenario);
    Timeline timeline(scenario);
    timeline.draw();
    const TimeRange whole = timeline.view.visibleRange();
    timeline.view.setStepping(true);
    const auto& tracks = timeline.trace->tracks;
    std::size_t steps = 0;
    do {
        const SpanRef now = *timeline.selection.selectedSpan;
        const std::int64_t start = tracks[now.track].startNs[now.span], length = tracks[now.track].durationNs[now.span];
        const TimeRange seen = timeline.view.visibleRange();
        ASSERT_LE(seen.beginNs, std::max<std::int64_t>(0, start - length)) << steps;
        ASSERT_GE(seen.endNs, std::min(start + 2 * length, timeline.trace->endNs)) << steps;
        if (steps++ % 37 != 0)
            continue;
        const std::uint64_t id = static_cast<std::uint64_t>(now.track) << 32 | now.span;
        const RecorderCanvas drawn = timeline.draw();
        const auto nodes = drawn.nodesOf("span");
        const auto own = std::find_if(nodes.begin(), nodes.end(), [id](const Node& node) { return node.id == id; });
        ASSERT_TRUE(own != nodes.end()) << steps;
        EXPECT_GE(own->rect.width(), 22) << steps << ": its name can be read";
    } while (timeline.command(ViewCommand::next));
    EXPECT_GT(steps, 500U);
    timeline.view.setStepping(false);
    EXPECT_EQ(timeline.view.visibleRange(), whole) << "as it was";
}

TEST(TimelineSteps, LeaveWhatIsInSightWhereEachPassCanBeReadOrSomebodyZoomed)
{
    Timeline few(fourStages());
    few.area.right = 4000;
    few.draw();
    const TimeRange whole = few.view.visibleRange();
    few.view.setStepping(true);
    EXPECT_EQ(few.view.visibleRange(), whole);

    sim::Scenario scenario = fourStages();
    scenario.training.globalBatchSize = 64;
    test::resolve(scenario);
    Timeline many(scenario);
    many.view.setStepping(true); // before it was ever drawn
    many.draw();
    EXPECT_LT(many.view.visibleRange().endNs, whole.endNs * 4);
    EXPECT_TRUE(many.command(ViewCommand::zoomIn));
    const TimeRange own = many.view.visibleRange();
    many.view.setStepping(false);
    EXPECT_EQ(many.view.visibleRange(), own);
}

/// From 200 % text in the lowest window on.
TEST(TimelineSteps, WhatHappensIsToldWholeAndFourRowsCanBeReadWhateverTheSize)
{
    Timeline timeline(fourStages());
    timeline.view.setStepping(true);
    for (int i = 0; i < 12; ++i)
        timeline.command(ViewCommand::next);
    for (const auto& [width, height] : {std::pair(1100, 400), {560, 200}, {320, 260}, {500, 121}, {320, 150}, {215, 130}}) {
        timeline.area = {0, 0, static_cast<float>(width), static_cast<float>(height)};
        const RecorderCanvas drawn = timeline.draw();
        std::string words;
        for (const std::string& text : drawn.texts())
            words += text + " ";
        EXPECT_THAT(words, testing::HasSubstr("B0 of pp 2 starts as soon as B0 of pp 3 is there")) << width << "x" << height;
        EXPECT_THAT(words, testing::AnyOf(testing::HasSubstr("Steady state: 7 times one forward and one backward; "
                                                             "each backward frees what a forward took"),
                                          testing::Not(testing::HasSubstr("Steady state"))))
            << width << "x" << height;
        EXPECT_EQ(drawn.nodesOf("row").size(), 4U) << width << "x" << height;
        for (const Node& row : drawn.nodesOf("row"))
            EXPECT_GE(row.rect.height(), kLowestRow - 1) << width << "x" << height;
    }
}

TEST(TimelineSteps, TextsStayWholeWhateverTheSize)
{
    Timeline timeline(fourStages());
    timeline.view.setStepping(true);
    for (int i = 0; i < 12; ++i)
        timeline.command(ViewCommand::next);
    for (int width = 60; width <= 1500; width += 120)
        for (int height = 110; height <= 800; height += 130) {
            timeline.area = {0, 0, static_cast<float>(width), static_cast<float>(height)};
            for (const Primitive& text : timeline.draw().cutTexts())
                ADD_FAILURE() << width << "x" << height << " cut: " << text.text;
        }
}

} // namespace
} // namespace app
