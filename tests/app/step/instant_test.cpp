// A moment of a trace: against looking through all its spans and flows.
#include "app/step/instant.h"

#include "sim/simulate/simulation.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <tuple>

namespace app {
namespace {

TracePtr traceOf(const sim::Scenario& scenario, sim::TraceDetail detail = sim::TraceDetail::actions)
{
    return std::make_shared<const sim::Trace>(sim::simulate(scenario)->trace(detail));
}

/// The span of the tracks of that role that runs and began last: its start and track.
std::optional<std::pair<std::int64_t, SpanRef>> search(const sim::Trace& trace, int process, sim::TrackRole role,
                                                       std::int64_t time)
{
    std::optional<std::pair<std::int64_t, SpanRef>> found;
    for (std::uint32_t t = 0; t < trace.tracks.size(); ++t) {
        const sim::Track& track = trace.tracks[t];
        for (std::uint32_t i = 0; track.process == process && track.role == role && i < track.size(); ++i)
            if (track.startNs[i] <= time && time < track.startNs[i] + track.durationNs[i] &&
                (!found || track.startNs[i] > found->first))
                found = {track.startNs[i], {t, i}};
    }
    return found;
}

TEST(Instants, SayWhatLookingThroughAllSpansSays)
{
    std::mt19937 random(3);
    for (int round = 0; round < 12; ++round) {
        const sim::Scenario scenario = test::randomScenario(random, 64);
        SCOPED_TRACE(test::describe(scenario));
        const auto detail = round % 2 == 0 ? sim::TraceDetail::actions : sim::TraceDetail::kernels;
        const TracePtr trace = traceOf(scenario, detail);
        const Instants instants(trace);
        ASSERT_EQ(instants.processes(), static_cast<int>(trace->processes.size()));
        EXPECT_TRUE(detail == sim::TraceDetail::kernels || !instants.knowsTransfers());
        for (int i = 0; i < 40; ++i) {
            const auto time = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(trace->endNs + 1));
            const int process = static_cast<int>(random() % trace->processes.size());
            const auto action = instants.action(process, time);
            const auto wanted = search(*trace, process, sim::TrackRole::actions, time);
            ASSERT_EQ(action.has_value(), wanted.has_value()) << "at " << time;
            if (action) {
                EXPECT_EQ(action->span, wanted->second);
                EXPECT_GE(action->progress, 0);
                EXPECT_LT(action->progress, 1.0001F);
            }
            const auto comm = instants.communication(process, time);
            const auto wantedComm = search(*trace, process, sim::TrackRole::communication, time);
            ASSERT_EQ(comm.has_value(), wantedComm.has_value()) << "at " << time;
            if (comm) {
                EXPECT_EQ(trace->tracks[comm->span.track].startNs[comm->span.span], wantedComm->first);
            }
        }
    }
}

TEST(Instants, AnActionBeginsAtItsStartAndIsOverAtItsEnd)
{
    const TracePtr trace = traceOf(test::smallScenario(1, 2, 1));
    const Instants instants(trace);
    const sim::Track& actions = trace->tracks.front();
    ASSERT_EQ(actions.role, sim::TrackRole::actions);
    const std::int64_t end = actions.startNs[0] + actions.durationNs[0];
    EXPECT_EQ(instants.action(0, actions.startNs[0])->span.span, 0U);
    EXPECT_EQ(instants.action(0, actions.startNs[0])->progress, 0);
    EXPECT_NEAR(instants.action(0, (actions.startNs[0] + end) / 2)->progress, 0.5, 1e-5); // of whole nanoseconds
    EXPECT_FALSE(instants.action(0, end) && instants.action(0, end)->span.span == 0);
    EXPECT_EQ(instants.label({0, 0}), "F0");
}

TEST(Instants, MessagesArriveBeforeTheyAreNeededAndNoneIsLost)
{
    std::mt19937 random(5);
    for (int round = 0; round < 8; ++round) {
        const sim::Scenario scenario = test::randomScenario(random, 64);
        SCOPED_TRACE(test::describe(scenario));
        const TracePtr trace = traceOf(scenario);
        const Instants instants(trace);
        EXPECT_EQ(instants.messages().size(), trace->flows.size());
        for (const Message& message : instants.messages()) {
            EXPECT_LE(message.sentNs, message.hereNs);
            std::int64_t needed = 0;
            for (const sim::Track& track : trace->tracks)
                if (track.process == message.to && track.role == sim::TrackRole::actions)
                    needed = track.startNs[message.toSpan];
            EXPECT_LE(message.hereNs, needed);
        }
        for (int i = 0; i < 30; ++i) {
            const auto time = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(trace->endNs + 1));
            const std::int64_t linger = i % 2 == 0 ? 0 : trace->endNs / 50;
            const auto expected = std::count_if(instants.messages().begin(), instants.messages().end(),
                                                [&](const Message& m) { return m.sentNs <= time && time < m.hereNs + linger; });
            EXPECT_EQ(static_cast<std::ptrdiff_t>(instants.underWay(time, linger).size()), expected);
        }
    }
}

TEST(Instants, KernelsAndActionsTellOfTheSameMessages)
{
    for (const int virtualStages : {1, 2}) {
        sim::Scenario scenario = test::smallScenario(2, 4, 1, 8);
        scenario.schedule.kind = virtualStages == 1 ? "1f1b" : "interleaved-1f1b";
        scenario.schedule.virtualStages = virtualStages;
        scenario.schedule.layersPerStage.clear();
        test::resolve(scenario);
        std::set<std::tuple<int, std::uint32_t, int, std::uint32_t>> told[2];
        for (const auto detail : {sim::TraceDetail::actions, sim::TraceDetail::kernels}) {
            const Instants instants(traceOf(scenario, detail));
            for (const Message& m : instants.messages())
                told[static_cast<int>(detail)].emplace(m.from, m.fromSpan, m.to, m.toSpan);
        }
        EXPECT_FALSE(told[0].empty());
        EXPECT_EQ(told[0], told[1]);
    }
}

TEST(Instants, AtTheStartEveryoneWaitsForTheFirstStage)
{
    sim::Scenario scenario = test::smallScenario(1, 4, 1);
    scenario.training.stack.launchUs = 0;
    const Instants instants(traceOf(scenario));
    EXPECT_FALSE(instants.waiting(0, 0)) << "it works";
    EXPECT_EQ(instants.waitChain(3, 0), (std::vector<int>{3, 2, 1, 0}));
    const auto waiting = instants.waiting(2, 0);
    ASSERT_TRUE(waiting);
    EXPECT_EQ(waiting->waitsFor, 1);
    EXPECT_EQ(waiting->next, 0U);
    EXPECT_FALSE(waiting->messageUnderWay);
}

TEST(Instants, AChainEndsWhereSomeoneWorksOrAMessageTravels)
{
    std::mt19937 random(11);
    int chains = 0;
    for (int round = 0; round < 10; ++round) {
        const sim::Scenario scenario = test::randomScenario(random, 32);
        SCOPED_TRACE(test::describe(scenario));
        const Instants instants(traceOf(scenario));
        for (int i = 0; i < 60; ++i) {
            const auto time = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(instants.trace().endNs));
            const int process = static_cast<int>(random() % static_cast<unsigned>(instants.processes()));
            const std::vector<int> chain = instants.waitChain(process, time);
            ASSERT_EQ(chain.front(), process);
            EXPECT_EQ(std::set<int>(chain.begin(), chain.end()).size(), chain.size()) << "nobody twice";
            for (std::size_t link = 0; link + 1 < chain.size(); ++link) {
                EXPECT_FALSE(instants.action(chain[link], time));
                EXPECT_EQ(instants.waiting(chain[link], time)->waitsFor, chain[link + 1]);
            }
            chains += chain.size() > 1 ? 1 : 0;
        }
    }
    EXPECT_GT(chains, 10);
}

TEST(Instants, ATraceWithoutAnythingIsQuiet)
{
    auto trace = std::make_shared<sim::Trace>();
    trace->processes.push_back({.rank = 0});
    const Instants instants(trace);
    EXPECT_FALSE(instants.action(0, 0));
    EXPECT_FALSE(instants.communication(0, 5));
    EXPECT_TRUE(instants.underWay(0, 10).empty());
    EXPECT_EQ(instants.waitChain(0, 0), std::vector<int>{0});
}

} // namespace
} // namespace app
