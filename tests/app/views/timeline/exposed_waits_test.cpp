// Communication that a rank waits for, in a timeline of actions alone.
#include "tests/app/views/timeline/timeline_fixture.h"

#include "app/step/class_names.h"
#include "app/views/timeline/exposed_waits.h"
#include "app/views/timeline/range_statistics.h"
#include "app/views/timeline/timeline_search.h"

#include <algorithm>
#include <memory>
#include <numeric>

namespace test {
namespace {

std::int64_t waitedNs(const sim::Track& track)
{
    return std::accumulate(track.durationNs.begin(), track.durationNs.end(), std::int64_t{0});
}

TEST(ExposedWaits, AreAllThatTheStepCallsExposed)
{
    for (const sim::Scenario& scenario : {smallScenario(1, 1, 2), smallScenario(2, 2, 2), smallScenario(2, 4, 1, 8)}) {
        const Timeline timeline(scenario);
        const TimelineModel model({timeline.simulation, timeline.trace});
        for (int row = 0; row < static_cast<int>(model.rows().size()); ++row) {
            const ExposedWaits* waits = model.exposed(row);
            ASSERT_NE(waits, nullptr);
            EXPECT_EQ(waitedNs(waits->inside()) + waitedNs(waits->between()), timeline.simulation->timeOfClass(row).waitingNs());
            const sim::Track& actions = timeline.trace->tracks[model.rows()[static_cast<std::size_t>(row)].work];
            for (std::size_t i = 0; i < waits->between().size(); ++i)
                for (std::size_t a = 0; a < actions.size(); ++a)
                    EXPECT_TRUE(actions.startNs[a] + actions.durationNs[a] <= waits->between().startNs[i] ||
                                actions.startNs[a] >= waits->between().startNs[i] + waits->between().durationNs[i]);
        }
    }
}

/// Rows of many ops are looked at on several threads: each has its own all the same.
TEST(ExposedWaits, AreThoseOfTheirRowsHoweverManyOpsThereAre)
{
    const Timeline timeline(smallScenario(2, 8, 1, 640));
    ASSERT_GT(timeline.simulation->times().opCount(), 200'000);
    const TimelineModel model({timeline.simulation, timeline.trace});
    for (int row = 0; row < static_cast<int>(model.rows().size()); ++row) {
        const ExposedWaits* waits = model.exposed(row);
        ASSERT_NE(waits, nullptr);
        const ExposedWaits alone(*timeline.simulation, row,
                                 timeline.trace->tracks[model.rows()[static_cast<std::size_t>(row)].work]);
        EXPECT_EQ(waits->inside().startNs, alone.inside().startNs);
        EXPECT_EQ(waits->between().startNs, alone.between().startNs);
        EXPECT_EQ(waitedNs(waits->inside()) + waitedNs(waits->between()), timeline.simulation->timeOfClass(row).waitingNs());
    }
}

TEST(ExposedWaits, OfGradientsAreSeenAndNamedWithoutASwitch)
{
    Timeline timeline(smallScenario(1, 1, 2));
    const RecorderCanvas canvas = timeline.draw();
    const auto transfers = canvas.nodesOf("transfer");
    ASSERT_FALSE(transfers.empty());
    EXPECT_TRUE(transfers.back().name.starts_with("dp comm for ")) << transfers.back().name;
    EXPECT_GT(transfers.back().rect.width(), 10);
    const TimelineModel model({timeline.simulation, timeline.trace});
    EXPECT_NE(std::find(model.classesPresent().begin(), model.classesPresent().end(), sim::OpClass::dpComm),
              model.classesPresent().end())
        << "the legend tells its colour";
    const auto& rect = transfers.back().rect;
    timeline.move({(rect.left + rect.right) / 2, (rect.top + rect.bottom) / 2});
    EXPECT_NE(timeline.view.tooltip().find("all-reduce"), std::string::npos) << timeline.view.tooltip();
    const auto clear = timeline.view.tooltipKeepsClearOf();
    ASSERT_TRUE(clear);
    EXPECT_LE(clear->top, rect.top);
    EXPECT_GE(clear->bottom, rect.bottom) << "the tip does not cover what it tells about";
}

TEST(ExposedWaits, InsideSpansNarrowerThanAPixelHaveTheirShareOfIt)
{
    Timeline timeline(smallScenario(4, 1, 1, 64));
    const TimelineModel model({timeline.simulation, timeline.trace});
    const double waiting = static_cast<double>(waitedNs(model.exposed(0)->inside())) / static_cast<double>(timeline.trace->endNs);
    ASSERT_GT(waiting, 0.05);
    timeline.area = {0, 0, 150, 420};
    const RecorderCanvas canvas = timeline.draw();
    const Rect rows = timeline.rows();
    double area = 0;
    float top = rows.bottom, bottom = rows.top;
    for (int c = 0; c < sim::kOpClassCount; ++c)
        for (const auto& bar : canvas.rectsOf(lightTheme().fill(static_cast<sim::OpClass>(c)))) {
            if (bar.rect.top < rows.top || bar.rect.bottom > rows.bottom)
                continue;
            if (static_cast<sim::OpClass>(c) == sim::OpClass::tpComm)
                area += static_cast<double>(bar.rect.width() * bar.rect.height());
            top = std::min(top, bar.rect.top);
            bottom = std::max(bottom, bar.rect.bottom);
        }
    ASSERT_GT(bottom, top);
    EXPECT_GT(area / static_cast<double>(rows.width() * (bottom - top)), waiting / 2) << "not a foot of a few pixels";
}

TEST(ExposedWaits, InsideActionsAreAsHighAsTheirShareAndSayWhyAtTheFoot)
{
    Timeline timeline(smallScenario(4, 1, 1, 2));
    const TimelineModel model({timeline.simulation, timeline.trace});
    const double waiting = static_cast<double>(waitedNs(model.exposed(0)->inside())) / static_cast<double>(timeline.trace->endNs);
    ASSERT_GT(waiting, 0.1);
    const RecorderCanvas canvas = timeline.draw();
    const Rect rows = timeline.rows();
    const auto actions = canvas.nodesOf("span");
    ASSERT_FALSE(actions.empty());
    const Rect action = actions.front().rect;
    double area = 0;
    for (const auto& bar : canvas.rectsOf(lightTheme().fill(sim::OpClass::tpComm)))
        if (bar.rect.top >= action.top && bar.rect.bottom <= action.bottom)
            area += static_cast<double>(bar.rect.width() * bar.rect.height());
    EXPECT_NEAR(area / static_cast<double>(rows.width() * action.height()),
                std::min(waiting, static_cast<double>(footOfWaits(action.height()) / action.height())), 0.04);
    const float middle = (action.left + action.right) / 2;
    timeline.move({middle, action.top + 3});
    EXPECT_EQ(timeline.view.tooltip().find("idle inside"), std::string::npos) << "that is about the action";
    timeline.move({middle, action.bottom - 2});
    EXPECT_NE(timeline.view.tooltip().find("idle inside F0, before "), std::string::npos) << timeline.view.tooltip();
    EXPECT_NE(timeline.view.tooltip().find("all waits inside passes together are "), std::string::npos);
}

TEST(ExposedWaits, AreNotCalledDataParallelWhereNothingIs)
{
    sim::Scenario tied = fourStages();
    tied.model.tieWordEmbeddings = true;
    const Timeline timeline(tied), parallel(smallScenario(1, 1, 2));
    EXPECT_EQ(TimelineModel({timeline.simulation, timeline.trace}).className(sim::OpClass::dpComm), "embedding comm");
    EXPECT_EQ(TimelineModel({parallel.simulation, parallel.trace}).className(sim::OpClass::dpComm), "dp comm");
    const auto kernels = std::make_shared<const sim::Trace>(timeline.simulation->trace(sim::TraceDetail::kernels));
    const TimelineModel model({timeline.simulation, kernels});
    EXPECT_FALSE(SpanSearch(model, "embedding comm").found().empty());
    EXPECT_EQ(SpanSearch(model, "embedding comm").found().size(), SpanSearch(model, "dp comm").found().size());
}

/// The lanes of one rank's streams, with kernels.
TEST(ExposedWaits, ALaneIsCalledAsTheTransfersInIt)
{
    sim::Scenario tied = fourStages();
    tied.model.tieWordEmbeddings = true;
    Timeline timeline(tied, sim::TraceDetail::kernels);
    timeline.area = {0, 0, 1100, 900};
    for (const bool isNarrow : {false, true}) {
        timeline.area.right = isNarrow ? 640 : 1100;
        const std::vector<std::string> texts = timeline.draw().texts();
        const auto has = [&](const char* text) { return std::find(texts.begin(), texts.end(), text) != texts.end(); };
        EXPECT_FALSE(has("dp comm"));
        EXPECT_TRUE(has("receive"));
        EXPECT_TRUE(has("send activations") || has("activations")) << isNarrow;
        EXPECT_TRUE(has("embedding comm") || has("embedding")) << isNarrow;
    }
}

TEST(ClassNames, CallGroupsThatNobodyKnowsTheUseOfBySuchAName)
{
    sim::Trace trace;
    const auto add = [&](const std::string& group) {
        sim::SpanKind& kind = trace.kinds.emplace_back();
        kind.opClass = sim::OpClass::dpComm;
        kind.group = group;
    };
    add(std::string(sim::kUnknownUse));
    EXPECT_EQ(app::ClassNames(trace, nullptr)[sim::OpClass::dpComm], "comm of unknown use");
    add("dp");
    EXPECT_EQ(app::ClassNames(trace, nullptr)[sim::OpClass::dpComm], "dp comm, or unknown");
}

TEST(SpanSearch, FindsNoDataParallelismInGroupsOfUnknownUse)
{
    const auto trace = std::make_shared<sim::Trace>();
    trace->processes.push_back({.rank = 0});
    for (const std::string& group : {std::string(sim::kUnknownUse), std::string("dp")})
        trace->kinds.push_back({.name = "all-reduce", .opClass = sim::OpClass::dpComm, .group = group});
    trace->tracks.push_back({.process = 0,
                             .name = "communication",
                             .role = sim::TrackRole::communication,
                             .startNs = {0, 10},
                             .durationNs = {5, 5},
                             .kind = {0, 1},
                             .microbatch = {-1, -1}});
    trace->endNs = 20;
    const TimelineModel model({nullptr, trace});
    EXPECT_EQ(SpanSearch(model, "all-reduce").found().size(), 2U);
    EXPECT_EQ(SpanSearch(model, "dp comm").found().size(), 1U);
}

TEST(ExposedWaits, HaveLanesOfTheirOwnAmongKernels)
{
    const Timeline timeline(smallScenario(1, 1, 2), sim::TraceDetail::kernels);
    EXPECT_EQ(TimelineModel({timeline.simulation, timeline.trace}).exposed(0), nullptr);
}

TEST(ExposedWaits, AreNotIdleInARange)
{
    const Timeline timeline(smallScenario(1, 1, 2));
    const TimelineModel model({timeline.simulation, timeline.trace});
    const RangeStatistics all = rangeStatistics(model, {0, timeline.trace->endNs});
    const auto length = static_cast<double>(timeline.trace->endNs);
    constexpr double kExact = 1e-9;
    EXPECT_GT(all.exposed, 0);
    EXPECT_NEAR(all.exposed, static_cast<double>(waitedNs(model.exposed(0)->between())) / length, kExact);
    EXPECT_NEAR(all.counted + all.other + all.exposed + all.idle, 1, kExact);
    const double gradients = all.share[static_cast<std::size_t>(sim::OpClass::dpComm)],
                 launches = all.share[static_cast<std::size_t>(sim::OpClass::hostTransfer)]; // before passes
    EXPECT_GT(gradients, 0);
    EXPECT_GT(launches, 0);
    EXPECT_NEAR(gradients + launches, all.exposed, kExact);
}

TEST(ExposedWaits, SayWhyWherePixelsHoldManyOfThem)
{
    Timeline timeline(fourStages());
    timeline.area = {0, 0, 160, 420};
    const float top = timeline.draw().nodesOf("row").front().rect.top; // the legend takes several lines
    const Rect rows = TimelineFrame(timeline.area).rows;
    int mixed = 0;
    for (float x = rows.left + 1; x < rows.right; ++x) {
        timeline.move({x, top + 10});
        const std::string tip = timeline.view.tooltip();
        if (!tip.starts_with("forward") && !tip.starts_with("backward") && !tip.starts_with("idle "))
            continue;
        if (tip.find("idle ") == std::string::npos) // what the pixel holds, and none of it is idle
            continue;
        ++mixed;
        EXPECT_NE(tip.find("longest: "), std::string::npos) << tip;
    }
    EXPECT_GT(mixed, 0);
}

} // namespace
} // namespace test
