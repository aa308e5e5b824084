#include "live/stream/history.h"
#include "live/stream/pack.h"
#include "run_for_tests.h"
#include "sim/error.h"
#include "sim/simulate/simulation.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <random>
#include <set>

namespace {

using live::RankSpan;

bool same(const RankSpan& a, const RankSpan& b)
{
    const live::SpanRecord &x = a.span, &y = b.span;
    return a.rank == b.rank && x.startNs == y.startNs && x.endNs == y.endNs && x.readyNs == y.readyNs && x.cpuNs == y.cpuNs &&
           x.bytes == y.bytes && x.correlation == y.correlation && x.kind == y.kind && x.microbatch == y.microbatch &&
           x.step == y.step && x.track == y.track;
}

RankSpan randomSpan(std::mt19937_64& random)
{
    // Any magnitude, up to the largest.
    const auto any = [&] {
        return static_cast<std::int64_t>(random() >> (random() % 64)) & std::numeric_limits<std::int64_t>::max();
    };
    RankSpan span;
    span.rank = static_cast<int>(random() % 16);
    span.span.startNs = any() / 4;
    span.span.endNs = span.span.startNs + any() / 4;
    span.span.readyNs = any();
    span.span.cpuNs = any();
    span.span.bytes = -any();
    span.span.correlation = random();
    span.span.kind = static_cast<std::uint32_t>(random() % 100);
    span.span.microbatch = static_cast<int>(random() % 5) - 1;
    span.span.step = static_cast<int>(random() >> 33U);
    span.span.track = static_cast<live::SpanTrack>(random() % live::kSpanTrackCount);
    return span;
}

TEST(Pack, GivesBackEveryBit)
{
    std::mt19937_64 random(1);
    for (const std::size_t count : {0, 1, 2, 100, 8192}) {
        std::vector<RankSpan> spans, read;
        for (std::size_t i = 0; i < count; ++i)
            spans.push_back(randomSpan(random));
        live::unpackSpans(live::packSpans(spans), {16, 100}, read);
        ASSERT_EQ(read.size(), count);
        for (std::size_t i = 0; i < count; ++i)
            ASSERT_TRUE(same(spans[i], read[i])) << i;
    }
    std::vector<live::RankMemory> values = {{3, {7, std::numeric_limits<std::int64_t>::min()}}, {0, {-1, 5}}}, readValues;
    live::unpackMemory(live::packMemory(values), {4, 0}, readValues);
    ASSERT_EQ(readValues.size(), 2U);
    EXPECT_EQ(readValues[0].value.value, std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(readValues[1].value.timeNs, -1);
    live::StepSummary step;
    step.step = 12;
    step.loss = 0.1;
    step.sums.bytes[4] = 99;
    std::vector<live::StepSummary> readSteps;
    live::unpackSteps(live::packSteps(std::vector{step}), readSteps);
    ASSERT_EQ(readSteps.size(), 1U);
    EXPECT_EQ(readSteps[0].loss, 0.1);
    EXPECT_TRUE(std::isnan(readSteps[0].gradientNorm));
    EXPECT_EQ(readSteps[0].sums.bytes[4], 99);
}

TEST(Pack, BrokenBytesAreRefusedAndNeverTrusted)
{
    std::mt19937_64 random(2);
    std::vector<RankSpan> spans;
    for (int i = 0; i < 50; ++i)
        spans.push_back(randomSpan(random));
    const std::string good = live::packSpans(spans);
    int refused = 0;
    for (int trial = 0; trial < 20'000; ++trial) {
        std::string bytes = good;
        for (std::uint64_t change = random() % 4; change-- > 0;)
            bytes[random() % (trial % 2 == 0 ? 100 : bytes.size())] = static_cast<char>(random());
        if (random() % 2 == 0)
            bytes.resize(random() % (bytes.size() + 1));
        std::vector<RankSpan> read;
        try {
            live::unpackSpans(bytes, {16, 100}, read);
            for (const RankSpan& span : read) {
                ASSERT_TRUE(span.rank >= 0 && span.rank < 16 && span.span.kind < 100);
                ASSERT_LE(span.span.startNs, span.span.endNs);
                ASSERT_LT(static_cast<int>(span.span.track), live::kSpanTrackCount);
            }
        } catch (const sim::Error&) {
            ++refused;
        }
    }
    EXPECT_GT(refused, 8000);
    std::vector<RankSpan> read;
    EXPECT_THROW(live::unpackSpans(std::string(4, '\xff'), {16, 100}, read), sim::Error);
    std::vector<live::StepSummary> steps;
    EXPECT_THROW(live::unpackSteps(std::string(4, '\xff'), steps), sim::Error);
}

TEST(Collector, KeepsTheLastStepsAndTheNumbersOfAll)
{
    test::Run run({.history = {.steps = 5}});
    for (int step = 0; step < 30; ++step)
        run.train(step, 1);
    const live::RunHistory history = run.collector->history();
    EXPECT_EQ(history.stepsWithSpans().first, 25);
    EXPECT_EQ(history.stepsWithSpans().last, 29);
    EXPECT_EQ(history.spans({0, 100}).size(), 20U);
    EXPECT_EQ(history.state.spansRecorded, 120U);
    EXPECT_EQ(history.state.spansForgotten, 100U);
    ASSERT_EQ(history.steps.size(), 30U);
    for (int step = 0; step < 30; ++step) {
        EXPECT_EQ(history.steps[static_cast<std::size_t>(step)].step, step);
        EXPECT_EQ(history.steps[static_cast<std::size_t>(step)].sums.spans, 4);
        EXPECT_EQ(history.steps[static_cast<std::size_t>(step)].loss, 10.0 - step);
    }
}

TEST(Collector, MemoryIsBoundedByBytesAndSummariesToo)
{
    test::Run run({.history = {.steps = 1'000'000, .bytes = 4096, .summaries = 100}});
    for (int step = 0; step < 1000; ++step)
        run.train(step, 1);
    const live::RunHistory history = run.collector->history();
    EXPECT_LE(history.blockBytes, 4096U);
    EXPECT_LE(history.steps.size(), 100U);
    EXPECT_EQ(history.steps.back().step, 999);
    const std::size_t kept = history.spans(history.stepsWithSpans()).size();
    EXPECT_GT(kept, 0U);
    EXPECT_EQ(history.state.spansForgotten + kept, 4000U);
}

TEST(Collector, TakesAllThatFourRanksRecordWhileItIsRead)
{
    constexpr int kSpans = 20'000;
    test::Run run({.history = {.steps = 1 << 30}, .interval = std::chrono::milliseconds(1)});
    std::atomic<bool> done{false};
    std::thread reader([&] {
        live::Collector::Cursor cursor = run.collector->beginning();
        while (!done) {
            run.collector->since(cursor, {.bytes = 10'000});
            run.collector->history();
        }
    });
    std::vector<std::thread> writers;
    for (const auto& recorder : run.recorders)
        writers.emplace_back([&] {
            for (int i = 0; i < kSpans; ++i) {
                recorder->spans.push(test::computeSpan(run.kinds, i, i + 1, i / 1000));
                recorder->memory.push({i, i});
                if (i % 1000 == 0)
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
        });
    for (std::thread& writer : writers)
        writer.join();
    run.collector->setStatus(live::RunStatus::finished);
    done = true;
    reader.join();
    const live::RunHistory history = run.collector->history();
    EXPECT_EQ(history.state.spansRecorded + history.state.spansDropped, 4U * kSpans);
    std::vector<std::int64_t> next(4, 0);
    for (const RankSpan& span : history.spans(history.stepsWithSpans())) {
        const auto rank = static_cast<std::size_t>(span.rank);
        if (history.state.spansDropped == 0) {
            ASSERT_EQ(span.span.startNs, next[rank]++) << "a rank's spans lie in its order";
        }
    }
}

TEST(Collector, SumsWaitingAndTransferApart)
{
    test::Run run;
    run.recorders[0]->spans.push(test::commSpan(live::SpanTrack::dp, run.kinds.allReduce, 100, 300, 350, 1));
    live::SpanRecord kernel = test::computeSpan(run.kinds, 0, 100);
    kernel.cpuNs = 60;
    run.recorders[1]->spans.push(kernel);
    run.collector->collect();
    const live::SpanSums sums = run.collector->history().steps.at(0).sums;
    EXPECT_EQ(sums.waitNs[4], 200);
    EXPECT_EQ(sums.transferNs[4], 50);
    EXPECT_EQ(sums.bytes[4], 4096);
    EXPECT_EQ(sums.computeNs, 100);
    EXPECT_EQ(sums.computeCpuNs, 60);
}

TEST(RunDescription, NamesRanksAndGroupsAsTheSimulatorDoes)
{
    const sim::Scenario scenario = test::smallScenario(2, 2, 2);
    const auto simulation = sim::simulate(scenario, {.full = true});
    const live::RunDescription run = live::describeRun(scenario, simulation->mesh(), "{}");
    const sim::Trace trace = simulation->trace(sim::TraceDetail::actions);
    ASSERT_EQ(run.rankNames.size(), trace.processes.size());
    for (std::size_t rank = 0; rank < trace.processes.size(); ++rank)
        EXPECT_EQ(run.rankNames[rank], trace.processes[rank].name);
    EXPECT_EQ(run.groupSizes.at("tp"), 2);
    EXPECT_EQ(run.groupSizes.at("world"), 8);
    EXPECT_NE(run.runId, live::describeRun(scenario, simulation->mesh(), "{}").runId);
}

TEST(SpanTrack, HasTheNameOfTheSimulatorsStream)
{
    std::set<std::string> names;
    for (int track = 0; track < live::kSpanTrackCount; ++track)
        names.insert(live::spanTrackName(static_cast<live::SpanTrack>(track)));
    const auto simulation = sim::simulate(test::smallScenario(2, 2, 2));
    for (const sim::Track& track : simulation->trace(sim::TraceDetail::kernels).tracks)
        EXPECT_TRUE(names.contains(track.name)) << track.name;
}

} // namespace
