// How long a view takes to prepare a frame: everything up to the canvas, which here swallows it.
#include "app/views/compare/compare_view.h"
#include "app/views/grid/grid_view.h"
#include "app/views/pictures.h"
#include "app/views/timeline/timeline_view.h"
#include "app/views/traffic/traffic_view.h"
#include "sim/analysis/traffic/timed_transfers.h"
#include "sim/scenario/document.h"
#include "tests/support/many_spans.h"

#include <benchmark/benchmark.h>

#include <cmath>
#include <map>

namespace {

class NullCanvas final : public app::Canvas {
public:
    explicit NullCanvas(app::Rect area) : m_area(area) {}
    std::int64_t primitives = 0;

    app::Rect area() const override { return m_area; }
    void fillRect(app::Rect, app::Color) override { ++primitives; }
    void strokeRect(app::Rect, app::Color, float, app::LineStyle) override { ++primitives; }
    void line(app::Point, app::Point, app::Color, float, app::LineStyle) override { ++primitives; }
    void polyline(const std::vector<app::Point>&, app::Color, float) override { ++primitives; }
    void fillConvex(const std::vector<app::Point>&, app::Color) override { ++primitives; }
    void text(app::Point, std::string_view, app::Color, app::FontFace, app::Align) override { ++primitives; }
    float textWidth(std::string_view text, app::FontFace) override { return 7 * static_cast<float>(text.size()); }
    float textHeight(app::FontFace) override { return 14; }
    void pushClip(app::Rect) override {}
    void popClip() override {}
    void node(app::Node) override {}

private:
    app::Rect m_area;
};

constexpr app::Rect kGridArea{0, 0, 1600, 700}, kTimelineArea{0, 0, 1600, 900};

std::shared_ptr<const sim::Simulation> llama405b()
{
    static const auto simulation = sim::simulate(sim::readScenario(
        RANKSCOPE_SOURCE_DIR "/scenarios/42-llama3-405b-16384-gpus.json", sim::Catalogue::load(RANKSCOPE_SOURCE_DIR "/assets")));
    return simulation;
}

void gridFrame(benchmark::State& state)
{
    app::Selection selection;
    app::GridView view(selection, app::darkTheme());
    view.setStep({llama405b(), nullptr});
    if (state.range(0) != 0)
        selection.hoveredRank = 5000;
    NullCanvas canvas(kGridArea);
    view.draw(canvas); // lays out once
    canvas.primitives = 0;
    for (auto _ : state)
        view.draw(canvas);
    state.counters["primitives"] = benchmark::Counter(static_cast<double>(canvas.primitives), benchmark::Counter::kAvgIterations);
}

/// Every frame another instant: what all ranks do is read anew.
void gridNowFrame(benchmark::State& state)
{
    static const auto trace = std::make_shared<const sim::Trace>(llama405b()->trace(sim::TraceDetail::actions));
    app::Selection selection;
    app::GridView view(selection, app::darkTheme());
    view.setStep({llama405b(), trace});
    view.setLens(app::GridLens::now);
    selection.selectRank(5000);
    NullCanvas canvas(kGridArea);
    view.draw(canvas);
    for (auto _ : state) {
        selection.cursorNs = (selection.cursorNs + trace->endNs / 997) % trace->endNs;
        view.draw(canvas);
    }
}

/// Cells on their way between two arrangements.
void gridMotionFrame(benchmark::State& state)
{
    app::Selection selection;
    app::GridView view(selection, app::darkTheme());
    view.setStep({llama405b(), nullptr});
    double seconds = 0;
    view.setClock([&] { return seconds; });
    NullCanvas canvas(kGridArea);
    view.draw(canvas);
    view.setArrangement({.physical = true});
    seconds = 0.09; // half of the way
    view.draw(canvas);
    for (auto _ : state)
        view.draw(canvas);
}

/// A frame with the window zoomed in by 4^range.
void timelineFrame(benchmark::State& state, std::size_t spans)
{
    static std::map<std::size_t, app::TracePtr> traces;
    app::TracePtr& trace = traces[spans];
    if (!trace)
        trace = test::manySpans(spans, 64);
    app::Selection selection;
    app::TimelineView view(selection, app::darkTheme());
    view.setStep({nullptr, trace});
    view.setRows({.grouping = app::RowGrouping::none}); // every row, not a strip for many
    NullCanvas canvas(kTimelineArea);
    view.draw(canvas);
    const double length = static_cast<double>(trace->endNs) / std::pow(4.0, static_cast<double>(state.range(0)));
    const auto begin = static_cast<std::int64_t>(static_cast<double>(trace->endNs) * 0.37);
    if (state.range(0) > 0)
        view.setVisibleRange({begin, begin + static_cast<std::int64_t>(length)});
    canvas.primitives = 0;
    for (auto _ : state)
        view.draw(canvas);
    state.counters["primitives"] = benchmark::Counter(static_cast<double>(canvas.primitives), benchmark::Counter::kAvgIterations);
}

/// As a cache opens: a lane for each of 1,024 ranks, in strips of 32, moved on every frame, so that nothing is kept.
void timelineStrips(benchmark::State& state)
{
    static const app::TracePtr trace = test::manySpans(2'000'000, 1024);
    app::Selection selection;
    app::TimelineView view(selection, app::darkTheme());
    view.setStep({nullptr, trace});
    NullCanvas canvas(kTimelineArea);
    view.draw(canvas);
    const double length = static_cast<double>(trace->endNs) / std::pow(4.0, static_cast<double>(state.range(0)));
    std::int64_t frame = 0;
    for (auto _ : state) {
        const auto begin = static_cast<std::int64_t>(static_cast<double>(trace->endNs) * 0.2 +
                                                     length * 0.03 * static_cast<double>(frame++ % 20));
        view.setVisibleRange({begin, begin + static_cast<std::int64_t>(length)});
        view.draw(canvas);
    }
}

/// Any picture of the step of 16,384 ranks, a rank in focus and the time cursor in the middle.
void stepFrame(benchmark::State& state, const app::PictureInfo& picture)
{
    static const auto trace = std::make_shared<const sim::Trace>(llama405b()->trace(sim::TraceDetail::actions));
    app::Selection selection;
    selection.selectRank(5000);
    selection.cursorNs = trace->endNs / 2;
    const auto view = picture.make(selection, app::darkTheme(), nullptr);
    view->setStep({llama405b(), trace});
    NullCanvas canvas(kTimelineArea);
    view->draw(canvas);
    canvas.primitives = 0;
    for (auto _ : state)
        view->draw(canvas);
    state.counters["primitives"] = benchmark::Counter(static_cast<double>(canvas.primitives), benchmark::Counter::kAvgIterations);
}

/// 405B on 16,384 GPUs beside itself: taking the two steps, a frame of both, and a blend that moves every frame.
void compare(benchmark::State& state)
{
    enum { taking, stacked, blending };
    app::Selection selection;
    app::CompareView view(selection, app::darkTheme());
    const app::CompareView::Side side{
        llama405b(), std::make_shared<sim::Trace>(llama405b()->trace(sim::TraceDetail::actions)), "405B", {}};
    view.setSides(side, side);
    NullCanvas canvas(kTimelineArea);
    int frame = 0;
    for (auto _ : state) {
        if (state.range(0) == taking) {
            view.setSides(side, side);
            continue;
        }
        if (state.range(0) == blending)
            view.setBlend(0.01 * static_cast<double>(++frame % 100));
        view.draw(canvas);
    }
}

/// What a picture does when a slider has moved: on the window's own thread.
void setStep(benchmark::State& state, const app::PictureInfo& picture)
{
    const auto trace = std::make_shared<const sim::Trace>(llama405b()->trace(sim::TraceDetail::actions));
    app::Selection selection;
    const auto view = picture.make(selection, app::darkTheme(), nullptr);
    NullCanvas canvas(kTimelineArea);
    for (auto _ : state) {
        view->setStep({llama405b(), trace});
        view->draw(canvas);
    }
}

const bool kViewsRegistered = [] {
    for (const app::PictureInfo& picture : app::pictures()) {
        const std::string name = std::string("/") + picture.name + "/llama405b";
        benchmark::RegisterBenchmark(("StepFrame" + name).c_str(), [&](benchmark::State& state) {
            stepFrame(state, picture);
        })->Unit(benchmark::kMillisecond);
        benchmark::RegisterBenchmark(("SetStep" + name).c_str(), [&](benchmark::State& state) {
            setStep(state, picture);
        })->Unit(benchmark::kMillisecond);
    }
    return true;
}();

/// Matrix, diagram and load, one after the other.
void trafficFrame(benchmark::State& state)
{
    app::Selection selection;
    app::TrafficView view(selection, app::darkTheme());
    view.setStep({llama405b(), nullptr});
    NullCanvas canvas(kTimelineArea);
    view.draw(canvas);
    for (std::int64_t mode = 0; mode < state.range(0); ++mode)
        view.command(app::ViewCommand::next, false, kTimelineArea);
    view.draw(canvas);
    canvas.primitives = 0;
    for (auto _ : state)
        view.draw(canvas);
    state.counters["primitives"] = benchmark::Counter(static_cast<double>(canvas.primitives), benchmark::Counter::kAvgIterations);
}

/// A new step, with all that its first frame computes.
/// While the step plays: another moment each frame.
void trafficMotionFrame(benchmark::State& state)
{
    app::Selection selection;
    app::TrafficView view(selection, app::darkTheme());
    view.setStep({llama405b(), nullptr});
    view.showNow();
    NullCanvas canvas(kGridArea);
    const std::int64_t endNs = llama405b()->times().endNs;
    selection.cursorNs = endNs / 2;
    view.draw(canvas);
    for (auto _ : state) {
        selection.cursorNs = 1 + (selection.cursorNs + endNs / 301) % (endNs - 1);
        view.draw(canvas);
    }
}

/// What playing needs of a step, once.
void transfers(benchmark::State& state)
{
    std::size_t count = 0;
    for (auto _ : state) {
        const sim::TimedTransfers made(*llama405b());
        count = 0;
        for (const sim::TimedTransfers::Row& row : made.rows())
            count += row.transfers.size();
    }
    state.counters["transfers"] = static_cast<double>(count);
}

void trafficStep(benchmark::State& state)
{
    app::Selection selection;
    app::TrafficView view(selection, app::darkTheme());
    NullCanvas canvas(kTimelineArea);
    for (auto _ : state) {
        view.setStep({llama405b(), nullptr});
        view.draw(canvas);
    }
}

BENCHMARK(gridFrame)->Name("GridFrame/16384ranks")->ArgName("focus")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(gridNowFrame)->Name("GridFrame/16384ranks/now")->Unit(benchmark::kMillisecond);
BENCHMARK(gridMotionFrame)->Name("GridFrame/16384ranks/motion")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(timelineFrame, 10M, 10'000'000)
    ->Name("TimelineFrame/10Mspans")
    ->ArgName("zoom")
    ->DenseRange(0, 7, 1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(compare)->Name("Compare/llama405b")->ArgName("what")->DenseRange(0, 2, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(timelineFrame, 100M, 100'000'000) // 4 GiB of memory; each zoom prepares it anew
    ->Name("TimelineFrame/100Mspans")
    ->ArgName("zoom")
    ->DenseRange(0, 9, 3)
    ->Iterations(20)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(timelineFrame, 1M, 1'000'000)
    ->Name("TimelineFrame/1Mspans")
    ->ArgName("zoom")
    ->DenseRange(0, 5, 1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(timelineStrips)
    ->Name("TimelineFrame/1024lanes/moving")
    ->ArgName("zoom")
    ->DenseRange(1, 7, 2)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(trafficFrame)->Name("TrafficFrame/16384ranks")->ArgName("mode")->DenseRange(0, 2, 1)->Unit(benchmark::kMillisecond);
BENCHMARK(trafficMotionFrame)->Name("TrafficFrame/16384ranks/motion")->Unit(benchmark::kMillisecond);
BENCHMARK(transfers)->Name("TimedTransfers/llama405b")->Unit(benchmark::kMillisecond);
BENCHMARK(trafficStep)->Name("TrafficStep/16384ranks")->Unit(benchmark::kMillisecond);

} // namespace
