// How long a view takes to prepare a frame: everything up to the canvas, which here swallows it.
#include "app/views/compare_view.h"
#include "app/views/grid_view.h"
#include "app/views/timeline_view.h"
#include "sim/scenario/document.h"

#include <benchmark/benchmark.h>

#include <cmath>
#include <random>

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

std::shared_ptr<const sim::Trace> manySpans(std::size_t spans, int tracks)
{
    std::mt19937 random(1);
    auto trace = std::make_shared<sim::Trace>();
    // As in a pipeline: forward, backward and weight gradient mixed.
    for (const auto c : {sim::OpClass::forward, sim::OpClass::backwardInput, sim::OpClass::backwardWeight})
        trace->kinds.push_back({.name = "op", .opClass = c});
    for (int t = 0; t < tracks; ++t) {
        trace->processes.push_back({.rank = t});
        sim::Track track{.process = t, .name = "actions", .role = sim::TrackRole::actions};
        std::int64_t now = 0;
        for (std::size_t i = 0; i < spans / static_cast<std::size_t>(tracks); ++i) {
            const auto length = static_cast<std::int64_t>(1 + random() % 20000);
            track.startNs.push_back(now);
            track.durationNs.push_back(length);
            track.kind.push_back(static_cast<std::uint32_t>(random() % trace->kinds.size()));
            track.microbatch.push_back(static_cast<std::int32_t>(i % 100));
            now += length + static_cast<std::int64_t>(random() % 4000);
        }
        trace->endNs = std::max(trace->endNs, now);
        trace->tracks.push_back(std::move(track));
    }
    return trace;
}

void gridFrame(benchmark::State& state)
{
    app::Selection selection;
    app::GridView view(selection, app::darkTheme());
    view.setStep(llama405b(), nullptr);
    if (state.range(0) != 0)
        selection.hoveredRank = 5000;
    NullCanvas canvas(kGridArea);
    view.draw(canvas); // lays out once
    canvas.primitives = 0;
    for (auto _ : state)
        view.draw(canvas);
    state.counters["primitives"] = benchmark::Counter(static_cast<double>(canvas.primitives), benchmark::Counter::kAvgIterations);
}

/// A frame with the window zoomed in by 4^range.
void timelineFrame(benchmark::State& state, std::size_t spans)
{
    static const auto trace10 = manySpans(10'000'000, 64);
    app::Selection selection;
    app::TimelineView view(selection, app::darkTheme());
    view.setStep(nullptr, spans == trace10->spanCount() ? trace10 : manySpans(spans, 64));
    NullCanvas canvas(kTimelineArea);
    view.draw(canvas);
    const double length = static_cast<double>(trace10->endNs) / std::pow(4.0, static_cast<double>(state.range(0)));
    const auto begin = static_cast<std::int64_t>(static_cast<double>(trace10->endNs) * 0.37);
    if (state.range(0) > 0)
        view.setVisibleRange({begin, begin + static_cast<std::int64_t>(length)});
    canvas.primitives = 0;
    for (auto _ : state)
        view.draw(canvas);
    state.counters["primitives"] = benchmark::Counter(static_cast<double>(canvas.primitives), benchmark::Counter::kAvgIterations);
}

void simulatedTimelineFrame(benchmark::State& state)
{
    app::Selection selection;
    app::TimelineView view(selection, app::darkTheme());
    view.setStep(llama405b(), std::make_shared<sim::Trace>(llama405b()->trace(sim::TraceDetail::actions)));
    NullCanvas canvas(kTimelineArea);
    for (auto _ : state)
        view.draw(canvas);
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

BENCHMARK(gridFrame)->Name("GridFrame/16384ranks")->ArgName("focus")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(timelineFrame, 10M, 10'000'000)
    ->Name("TimelineFrame/10Mspans")
    ->ArgName("zoom")
    ->DenseRange(0, 7, 1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(compare)->Name("Compare/llama405b")->ArgName("what")->DenseRange(0, 2, 1)->Unit(benchmark::kMillisecond);
BENCHMARK(simulatedTimelineFrame)->Name("TimelineFrame/llama405b")->Unit(benchmark::kMillisecond);

} // namespace
