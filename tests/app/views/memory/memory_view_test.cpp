// The memory picture: bars against the GPU's memory, and what one rank holds over the step.
#include "app/canvas/recorder_canvas.h"
#include "app/views/common/labels.h"
#include "app/views/common/memory_parts.h"
#include "app/views/memory/memory_painter.h"
#include "app/views/memory/memory_view.h"
#include "tests/app/views/timeline/timeline_fixture.h"

#include <gmock/gmock.h>

namespace app {
namespace {

using test::fourStages;
using testing::HasSubstr;
using testing::IsEmpty;

struct Memory {
    Selection selection;
    Theme theme = lightTheme();
    MemoryView view{selection, theme};
    SimulationPtr simulation;
    TracePtr trace;
    Rect area{0, 0, 1000, 600};

    explicit Memory(const sim::Scenario& scenario)
        : simulation(sim::simulate(scenario)), trace(std::make_shared<sim::Trace>(simulation->trace(sim::TraceDetail::actions)))
    {
        view.setStep({simulation, trace});
    }
    RecorderCanvas draw()
    {
        RecorderCanvas canvas(area);
        view.draw(canvas);
        return canvas;
    }
    MemoryFrame frame() const { return {area, static_cast<std::size_t>(simulation->mesh().pipelineRanks())}; }
    bool send(PointerEvent::Kind kind, Point at, PointerButton button = PointerButton::none)
    {
        return view.pointer({.kind = kind, .at = at, .button = button}, area);
    }
    void drag(Point from, Point to)
    {
        send(PointerEvent::Kind::press, from, PointerButton::left);
        send(PointerEvent::Kind::move, to, PointerButton::left);
        send(PointerEvent::Kind::release, to, PointerButton::left);
    }
    Point row(int index) const
    {
        return {frame().bars.left + 5, frame().bars.top + frame().pitch * (static_cast<float>(index) + 0.5F)};
    }
    std::string overTime() { return draw().nodesOf("memory over time").at(0).name; }
};

sim::Scenario withGpuMemory(sim::Scenario scenario, double gib)
{
    scenario.cluster.gpu.memoryGib = gib;
    return scenario;
}

/// Three of four stages would hide just the one that is spoken of.
TEST(MemoryPicture, AFewRowsAreAllInSightInALowPicture)
{
    for (float height = 130; height < 500; height += 10) {
        const MemoryFrame frame({0, 0, 480, height}, 4);
        EXPECT_GE(frame.bars.height(), 4 * frame.pitch) << height;
    }
    EXPECT_GT(MemoryFrame({0, 0, 480, 245}, 4).plot.height(), 55) << "and what is held over the step below them";
}

/// A limit without a number is asked about.
TEST(MemoryPicture, NamesTheGpusMemoryAboveTheBarsHoweverNarrowTheyAre)
{
    Memory memory(withGpuMemory(fourStages(), 80));
    for (float width = 150; width < 600; width += 20) {
        memory.area = {0, 0, width, 420};
        const RecorderCanvas canvas = memory.draw();
        // Of what is drawn: the legend may have moved it down.
        const float bars = canvas.nodesOf("bar").at(0).rect.top, scale = bars - memory.frame().scale.height();
        EXPECT_TRUE(std::ranges::any_of(canvas.primitives(), [&](const Primitive& p) {
            return p.kind == Primitive::Kind::text && p.rect.top >= scale && p.rect.bottom <= bars &&
                   p.text.find("80.0 GiB") != std::string::npos;
        })) << width;
    }
}

TEST(MemoryPicture, HasABarForEachPipelineRankWithThePeakOfTheMetrics)
{
    Memory memory(fourStages());
    const std::vector<Node> bars = memory.draw().nodesOf("bar");
    ASSERT_EQ(bars.size(), 4U);
    for (std::size_t p = 0; p < 4; ++p) {
        const sim::MemoryBreakdown peak = memory.simulation->metrics().perPipelineRank[p].memory;
        EXPECT_THAT(bars[p].name, HasSubstr("pp " + std::to_string(p)));
        EXPECT_THAT(bars[p].name, HasSubstr("peak " + bytesText(static_cast<double>(peak.total())) + " of 80.0 GiB"));
        EXPECT_THAT(bars[p].name, HasSubstr("activations " + bytesText(static_cast<double>(peak.activations))));
    }
}

TEST(MemoryPicture, PartsOfABarAreAsLongAsTheirBytes)
{
    const sim::MemoryBreakdown held{.parameters = 10, .gradients = 20, .optimizer = 30, .activations = 25, .buffers = 15};
    RecorderCanvas canvas({0, 0, 500, 20});
    paintMemoryBar(canvas, lightTheme(), held, {50, 0, 450, 20}, 0.25);
    float x = 50;
    for (const MemoryPart& part : memoryParts(held, lightTheme())) {
        const auto rects = canvas.rectsOf(part.color);
        ASSERT_EQ(rects.size(), 1U) << part.name;
        EXPECT_EQ(rects[0].rect.left, x);
        x += static_cast<float>(part.bytes) * 4;
        EXPECT_NEAR(rects[0].rect.right, x, 1) << "a seam";
    }
}

TEST(MemoryPicture, WhatDoesNotFitIsHatchedInTheErrorColour)
{
    const double peakGib = sim::simulate(fourStages())->metrics().peakMemoryGib;
    for (const bool fits : {true, false}) {
        Memory memory(withGpuMemory(fourStages(), peakGib * (fits ? 1.01 : 0.8)));
        const RecorderCanvas canvas = memory.draw();
        const auto hatches = std::count_if(canvas.primitives().begin(), canvas.primitives().end(), [&](const Primitive& p) {
            return p.kind == Primitive::Kind::line && p.color == memory.theme.error && p.style == LineStyle::solid;
        });
        EXPECT_EQ(hatches == 0, fits);
        EXPECT_EQ(canvas.nodesOf("bar")[0].name.find("does not fit") == std::string::npos, fits);
        const auto texts = canvas.texts();
        EXPECT_EQ(std::any_of(texts.begin(), texts.end(), [](const std::string& t) { return t.starts_with("does not fit"); }),
                  !fits);
    }
}

TEST(MemoryPicture, WhatBarelyDoesNotFitReadsAsMoreThanThereIs)
{
    const double peakGib = sim::simulate(fourStages())->metrics().peakMemoryGib;
    Memory memory(withGpuMemory(fourStages(), peakGib * (1 - 1e-5)));
    const RecorderCanvas canvas = memory.draw();
    int over = 0;
    for (const Node& bar : canvas.nodesOf("bar")) {
        const std::size_t peak = bar.name.find(", peak "), of = bar.name.find(" of ", peak);
        const std::size_t rest = bar.name.find(", does not fit");
        if (rest == std::string::npos)
            continue;
        ++over;
        const std::size_t begin = peak + std::string_view(", peak ").size(), limit = of + std::string_view(" of ").size();
        EXPECT_NE(bar.name.substr(begin, of - begin), bar.name.substr(limit, rest - limit)) << bar.name;
    }
    EXPECT_GT(over, 0);
}

TEST(MemoryPicture, ClickSelectsTheRanksOfTheRowAndPointingLightsIt)
{
    sim::Scenario scenario = fourStages();
    scenario.layout.dp = 2;
    scenario.training.globalBatchSize *= 2;
    scenario.layout.dpShard = 0;
    test::resolve(scenario);
    Memory memory(scenario);
    memory.draw();
    memory.send(PointerEvent::Kind::press, memory.row(2), PointerButton::left);
    std::vector<int> expected;
    for (int rank = 0; rank < 8; ++rank)
        if (memory.simulation->mesh().coordinates(rank).pp == 2)
            expected.push_back(rank);
    EXPECT_EQ(memory.selection.ranks, expected);
    EXPECT_EQ(memory.selection.selectedRank, expected.front());
    EXPECT_TRUE(memory.draw().nodesOf("bar")[2].selected);
    EXPECT_FALSE(memory.draw().nodesOf("bar")[1].selected);

    memory.send(PointerEvent::Kind::move, memory.row(3));
    ASSERT_TRUE(memory.selection.hoveredRank);
    EXPECT_EQ(memory.simulation->mesh().coordinates(*memory.selection.hoveredRank).pp, 3);
    EXPECT_THAT(memory.view.tooltip(), HasSubstr("at its peak"));
    memory.send(PointerEvent::Kind::leave, {});
    EXPECT_FALSE(memory.selection.hoveredRank);
    EXPECT_TRUE(memory.view.command(ViewCommand::next, false, memory.area));
    EXPECT_EQ(memory.simulation->mesh().coordinates(*memory.selection.selectedRank).pp, 3);
}

TEST(MemoryPicture, OverTimeShowsTheRankInFocusElseTheFullest)
{
    Memory memory(fourStages());
    EXPECT_THAT(memory.overTime(), testing::StartsWith("fullest, pp 0"));
    memory.selection.selectRank(2);
    EXPECT_THAT(memory.overTime(), testing::StartsWith("rank 2, pp 2"));
    memory.selection.hoveredRank = 1;
    EXPECT_THAT(memory.overTime(), testing::StartsWith("rank 1, pp 1"));
}

TEST(MemoryPicture, TellsWhatIsHeldAtThePeak)
{
    Memory memory(fourStages());
    EXPECT_THAT(memory.overTime(), HasSubstr("stage 0 · micro-batches 0–3"));
    memory.selection.selectRank(2);
    EXPECT_THAT(memory.overTime(), HasSubstr("stage 2 · micro-batches 0, 1"));
    EXPECT_THAT(memory.draw().texts(), testing::Contains("MLP activation function"));
}

/// What is compared with it may have taken more.
TEST(MemoryPicture, ItsAxesReachAsFarAsTheyAreTold)
{
    Memory memory(fourStages());
    const auto before = memory.draw().texts();
    memory.view.setLeastBytes(std::int64_t{1} << 38);
    EXPECT_NE(memory.draw().texts(), before);
    memory.view.setLeastBytes(0);
    EXPECT_EQ(memory.draw().texts(), before);
}

/// The first micro-batch of GPipe's last to be freed keeps a little more than the others: it is held all the same.
TEST(MemoryPicture, WhereThereIsOneLineAllThatIsHeldIsInIt)
{
    sim::Scenario scenario = fourStages();
    scenario.schedule.kind = "gpipe";
    Memory memory(scenario);
    memory.selection.selectRank(0);
    const std::string all = "micro-batches 0–" + std::to_string(scenario.microbatches() - 1);
    int told = 0;
    for (float width = 420; width < 900; width += 20) { // as wide as the line has room
        memory.area = {0, 0, width, 420};
        for (const std::string& text : memory.draw().texts())
            if (text.starts_with("peak") && text.find("micro-batch") != std::string::npos) {
                ++told;
                EXPECT_THAT(text, HasSubstr(all)) << width;
            }
    }
    EXPECT_GT(told, 0);
}

TEST(MemoryPicture, EveryColumnIsAsHighAsItsFullestMoment)
{
    std::mt19937 random(41);
    for (int i = 0; i < 12; ++i) {
        const auto simulation = sim::simulate(test::randomScenario(random, 32));
        const sim::MemoryCurves curves = simulation->memoryCurves(0);
        const HeldOverTime held(curves);
        EXPECT_EQ(held.peak(), simulation->memoryOfClass(0));
        const std::int64_t length = curves.timeNs.back() + 1;
        for (int k = 0; k < 200; ++k) {
            const auto begin = static_cast<std::int64_t>(random()) % length;
            const std::int64_t end = begin + 1 + static_cast<std::int64_t>(random()) % std::max<std::int64_t>(1, length / 50);
            std::int64_t expected = 0;
            for (std::size_t p = 0; p < curves.size(); ++p) {
                const std::int64_t until = p + 1 < curves.size() ? curves.timeNs[p + 1] : length * 2;
                const bool holds = curves.timeNs[p] < end && until > begin;
                if (holds || (curves.timeNs[p] >= begin && curves.timeNs[p] < end))
                    expected = std::max(expected, curves.at(p).total());
            }
            ASSERT_EQ(held.fullest(begin, end).total(), expected);
        }
    }
}

TEST(MemoryPicture, TheRulerMovesTheCursorWithinTheStep)
{
    Memory memory(fourStages());
    const MemoryFrame f = memory.frame();
    const Point middle{(f.plot.left + f.plot.right) / 2, f.ruler.top + 5};
    memory.drag({f.plot.left + 20, f.ruler.top + 5}, middle);
    EXPECT_NEAR(static_cast<double>(memory.selection.cursorNs), static_cast<double>(memory.trace->endNs) / 2,
                static_cast<double>(memory.trace->endNs) * 0.01);
    const float cursorX = std::floor(middle.x);
    memory.drag({cursorX, f.plot.top + 20}, {f.plot.right + 300, f.plot.top + 20}); // the line itself, too
    EXPECT_EQ(memory.selection.cursorNs, memory.trace->endNs);
    EXPECT_FALSE(memory.selection.range);
    memory.drag({f.plot.right - 30, f.ruler.top + 5}, {-50, f.ruler.top});
    EXPECT_EQ(memory.selection.cursorNs, 0);
}

TEST(MemoryPicture, DraggingOverThePlotSelectsTimesAndAClickForgetsThem)
{
    Memory memory(fourStages());
    const MemoryFrame f = memory.frame();
    memory.drag({f.plot.left + 100, f.plot.top + 20}, {f.plot.left + 200, f.plot.top + 20});
    ASSERT_TRUE(memory.selection.range);
    EXPECT_GT(memory.selection.range->endNs, memory.selection.range->beginNs);
    EXPECT_TRUE(memory.view.command(ViewCommand::focusSelection, false, memory.area)) << "frames it";
    EXPECT_TRUE(memory.view.command(ViewCommand::fitAll, false, memory.area));
    memory.drag({f.plot.left + 300, f.plot.top + 20}, {f.plot.left + 300, f.plot.top + 20});
    EXPECT_FALSE(memory.selection.range);
}

TEST(MemoryPicture, PointingAtATimeTellsItBesideThePeak)
{
    Memory memory(fourStages());
    memory.draw();
    const MemoryFrame f = memory.frame();
    ASSERT_GT(f.contents.width(), 0);
    const std::size_t before = memory.draw().nodesOf("part").size();
    EXPECT_EQ(memory.draw().nodesOf("part")[0].name.find(", at 0"), std::string::npos);
    EXPECT_TRUE(memory.send(PointerEvent::Kind::move, {f.plot.left + 1, f.plot.top + 20}));
    const std::vector<Node> parts = memory.draw().nodesOf("part");
    ASSERT_GE(parts.size(), before);
    const auto activations =
        std::find_if(parts.begin(), parts.end(), [](const Node& n) { return n.name.starts_with("activations"); });
    EXPECT_THAT(activations->name, testing::AllOf(HasSubstr("at the peak"), HasSubstr(" s ")));
    EXPECT_TRUE(memory.send(PointerEvent::Kind::leave, {})) << "told no longer";
}

TEST(MemoryPicture, CutsNoTextAtAnySize)
{
    std::vector<sim::Scenario> scenarios = {test::smallScenario(), fourStages(), withGpuMemory(fourStages(), 8),
                                            test::smallScenario(2, 8, 2, 16)};
    scenarios.push_back(test::smallScenario(1, 4, 1, 8));
    scenarios.back().schedule = {.kind = "interleaved-1f1b", .virtualStages = 2};
    test::resolve(scenarios.back());
    for (const sim::Scenario& scenario : scenarios) {
        Memory memory(scenario);
        for (const Rect area : {Rect{0, 0, 300, 200}, Rect{5, 5, 340, 520}, Rect{0, 0, 1000, 180}, Rect{0, 0, 1200, 300},
                                Rect{0, 0, 700, 420}, Rect{0, 0, 1600, 900}}) {
            memory.area = area;
            for (const bool pointed : {false, true}) {
                memory.selection.selectedRank = pointed ? std::optional(0) : std::nullopt;
                memory.selection.cursorNs = pointed ? memory.trace->endNs / 3 : 0;
                const RecorderCanvas canvas = memory.draw();
                EXPECT_TRUE(canvas.clipsAreBalanced());
                for (const Primitive& text : canvas.cutTexts())
                    ADD_FAILURE() << text.text << " is cut at " << area.width() << " x " << area.height();
            }
        }
    }
}

TEST(MemoryPicture, ALegendWithoutRoomBesideGoesBelow)
{
    for (const double gib : {80.0, 1.0}) {
        Memory memory(withGpuMemory(fourStages(), gib));
        for (const float width : {1000.0F, 560.0F, 400.0F, 300.0F}) {
            SCOPED_TRACE(std::to_string(gib) + " " + std::to_string(width));
            memory.area = {0, 0, width, 400};
            const RecorderCanvas canvas = memory.draw();
            const std::vector<Node> legend = canvas.nodesOf("legend");
            ASSERT_GE(legend.size(), 4U);
            for (std::size_t i = 0; i < legend.size(); ++i) {
                EXPECT_LE(legend[i].rect.right, width - 12);
                for (std::size_t j = 0; j < i; ++j)
                    EXPECT_TRUE(intersected(legend[i].rect, legend[j].rect).width() <= 0 ||
                                intersected(legend[i].rect, legend[j].rect).height() <= 0);
            }
        }
    }
}

TEST(MemoryPicture, OfNothingSaysSo)
{
    Memory memory(fourStages());
    memory.view.setStep({});
    EXPECT_THAT(memory.draw().texts(), testing::Contains("No memory to show yet"));
    EXPECT_FALSE(memory.send(PointerEvent::Kind::move, {50, 50}));
}

TEST(MemoryTicks, AreRoundAndReachAlongTheScale)
{
    constexpr std::int64_t kGib = std::int64_t{1} << 30;
    EXPECT_EQ(
        memoryTicks(static_cast<double>(kGib) / 10, 800, 100),
        (std::vector<std::int64_t>{0, 10 * kGib, 20 * kGib, 30 * kGib, 40 * kGib, 50 * kGib, 60 * kGib, 70 * kGib, 80 * kGib}));
    EXPECT_EQ(memoryTickText(20 * kGib, 80 * kGib), "20 GiB");
    EXPECT_EQ(memoryTickText(kGib / 2, kGib), "0.5 GiB");
    EXPECT_EQ(memoryTickText(0, kGib), "0");
}

} // namespace
} // namespace app
