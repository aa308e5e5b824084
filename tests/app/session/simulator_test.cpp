#include "app/session/simulator.h"

#include "tests/app/session/session_fixtures.h"

#include <QCoreApplication>
#include <QStringList>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <new>
#include <stdexcept>
#include <thread>

namespace app {
namespace {

using namespace test;
using namespace std::chrono_literals;

sim::Scenario withTp(int tp)
{
    static const sim::ScenarioDocument kDocument = document(kTiny);
    sim::ScenarioDocument changed = kDocument;
    changed.set("layout.tp", std::to_string(tp));
    changed.set("layout.dp", std::to_string(4 / tp));
    return scenario(changed);
}

/// Holds every job up until it is cancelled or let go.
struct Gate {
    std::atomic<bool> open{false};
    std::atomic<int> started{0}, cancelled{0};

    Simulator::SimulateFunction function()
    {
        return [this](const sim::Scenario& s, const sim::SimulateOptions& options) {
            ++started;
            while (!open) {
                if (sim::cancelRequested()) {
                    ++cancelled;
                    throw sim::Cancelled();
                }
                std::this_thread::sleep_for(100us);
            }
            return sim::simulate(s, options);
        };
    }
};

TEST(Simulator, GivesWhatTheLibraryGives)
{
    Simulator simulator;
    SimulationPtr result;
    TracePtr trace;
    InstantsPtr instants;
    QObject::connect(&simulator, &Simulator::finished,
                     [&](const SimulationPtr& simulation, const TracePtr& actions, const InstantsPtr& ofActions) {
                         result = simulation;
                         trace = actions;
                         instants = ofActions;
                     });
    simulator.request(withTp(2));
    ASSERT_TRUE(waitFor([&] { return result != nullptr; }));
    const auto expected = sim::simulate(withTp(2));
    EXPECT_EQ(result->metrics().stepTimeSeconds, expected->metrics().stepTimeSeconds);
    EXPECT_EQ(trace->spanCount(), expected->trace(sim::TraceDetail::actions).spanCount());
    ASSERT_TRUE(instants) << "the window's thread need not make them";
    EXPECT_EQ(&instants->trace(), trace.get());
    EXPECT_TRUE(waitFor([&] { return !simulator.isBusy(); }));
}

TEST(Simulator, NewestRequestWinsAndCancelsTheOneBefore)
{
    Gate gate;
    Simulator simulator(nullptr, gate.function());
    std::vector<int> delivered;
    QObject::connect(&simulator, &Simulator::finished,
                     [&](const SimulationPtr& simulation) { delivered.push_back(simulation->scenario().layout.tp); });
    simulator.request(withTp(1));
    ASSERT_TRUE(waitFor([&] { return gate.started == 1; }));
    simulator.request(withTp(4));
    simulator.request(withTp(2));
    ASSERT_TRUE(waitFor([&] { return gate.cancelled >= 1; }));
    gate.open = true;
    ASSERT_TRUE(waitFor([&] { return !delivered.empty(); }));
    EXPECT_TRUE(waitFor([&] { return !simulator.isBusy(); }));
    EXPECT_EQ(delivered, std::vector{2});
}

TEST(Simulator, AFinishedResultThatWasOvertakenIsNotDelivered)
{
    Simulator simulator;
    std::vector<int> delivered;
    QObject::connect(&simulator, &Simulator::finished,
                     [&](const SimulationPtr& simulation) { delivered.push_back(simulation->scenario().layout.tp); });
    simulator.request(withTp(1));
    std::this_thread::sleep_for(100ms); // done, and waiting for the event loop
    simulator.request(withTp(4));
    ASSERT_TRUE(waitFor([&] { return !delivered.empty(); }));
    EXPECT_EQ(delivered.back(), 4);
    EXPECT_EQ(delivered.size(), 1U);
}

TEST(Simulator, ManyRequestsEndWithTheLast)
{
    Simulator simulator;
    int last = 0;
    QObject::connect(&simulator, &Simulator::finished,
                     [&](const SimulationPtr& simulation) { last = simulation->scenario().layout.tp; });
    for (int i = 0; i < 300; ++i) {
        simulator.request(withTp(1 << i % 3));
        if (i % 7 == 0)
            QCoreApplication::processEvents();
    }
    simulator.request(withTp(2));
    ASSERT_TRUE(waitFor([&] { return !simulator.isBusy(); }));
    EXPECT_EQ(last, 2);
}

TEST(Simulator, DestructionCancelsTheJobThatRuns)
{
    Gate gate;
    int delivered = 0;
    {
        Simulator simulator(nullptr, gate.function());
        QObject::connect(&simulator, &Simulator::finished, [&] { ++delivered; });
        simulator.request(withTp(1));
        ASSERT_TRUE(waitFor([&] { return gate.started == 1; }));
    }
    EXPECT_EQ(gate.cancelled, 1);
    QCoreApplication::processEvents();
    EXPECT_EQ(delivered, 0);
}

TEST(Simulator, NothingComesAfterDestruction)
{
    int delivered = 0;
    {
        Simulator simulator;
        QObject::connect(&simulator, &Simulator::finished, [&] { ++delivered; });
        simulator.request(withTp(1));
        std::this_thread::sleep_for(100ms); // finished and posted, not delivered
    }
    QCoreApplication::processEvents();
    EXPECT_EQ(delivered, 0);
}

TEST(Simulator, FailuresArriveAsMessages)
{
    Simulator simulator(nullptr, [](const sim::Scenario&, const sim::SimulateOptions&) -> SimulationPtr {
        throw sim::Error("tp 3 does not divide 8");
    });
    QString message;
    QObject::connect(&simulator, &Simulator::failed, [&](const QString& text) { message = text; });
    simulator.request(withTp(1));
    ASSERT_TRUE(waitFor([&] { return !message.isEmpty(); }));
    EXPECT_EQ(message, QStringLiteral("tp 3 does not divide 8"));
}

TEST(Simulator, WhateverIsThrownIsToldAndTheNextRequestIsServed)
{
    int jobs = 0;
    Simulator simulator(nullptr, [&](const sim::Scenario& s, const sim::SimulateOptions& options) -> SimulationPtr {
        switch (++jobs) {
        case 1:
            throw std::bad_alloc();
        case 2:
            throw 42;
        case 3:
            throw std::out_of_range("vector::_M_range_check");
        default:
            return sim::simulate(s, options);
        }
    });
    QStringList messages;
    int finished = 0;
    QObject::connect(&simulator, &Simulator::failed, [&](const QString& text) { messages << text; });
    QObject::connect(&simulator, &Simulator::finished, [&] { ++finished; });
    for (int job = 1; job <= 3; ++job) {
        simulator.request(withTp(1));
        ASSERT_TRUE(waitFor([&] { return messages.size() == job; }));
        EXPECT_FALSE(messages.back().isEmpty());
    }
    EXPECT_TRUE(messages.front().contains(QStringLiteral("memory"))) << messages.front().toStdString();
    simulator.request(withTp(2));
    EXPECT_TRUE(waitFor([&] { return finished == 1; }));
    EXPECT_EQ(messages.size(), 3);
}

TEST(Simulator, WhatCannotBeTriedOrFoundEndsNothing)
{
    Simulator simulator(nullptr,
                        [](const sim::Scenario&, const sim::SimulateOptions&) -> SimulationPtr { throw std::bad_alloc(); });
    const auto of = document("50-mixtral-8x7b-ep8.json");
    FindingList found;
    std::size_t without = 0, edits = 0;
    QObject::connect(&simulator, &Simulator::findingsReady,
                     [&](const SimulationPtr&, const FindingList& findings) { found = findings; });
    QObject::connect(&simulator, &Simulator::tryMeasured,
                     [&](const SimulationPtr&, const TryResult& result) { without += result.effect ? 0 : 1; });
    simulator.requestFindings(of, catalogue(), sim::simulate(scenario(of)));
    ASSERT_TRUE(waitFor([&] { return !found.empty() && !simulator.isBusy(); }));
    for (const sim::Finding& finding : found)
        edits += finding.tries.size();
    EXPECT_GT(edits, 0U);
    EXPECT_EQ(without, edits) << "each is told, by its missing effect";
}

TEST(Simulator, KernelsBelongToTheResultTheyWereAskedFor)
{
    Simulator simulator;
    SimulationPtr result, kernelsOf;
    TracePtr actions, kernels;
    QObject::connect(&simulator, &Simulator::finished, [&](const SimulationPtr& simulation, const TracePtr& trace) {
        result = simulation;
        actions = trace;
    });
    QObject::connect(&simulator, &Simulator::kernelsReady, [&](const SimulationPtr& simulation, const TracePtr& trace) {
        kernelsOf = simulation;
        kernels = trace;
    });
    simulator.request(withTp(2));
    ASSERT_TRUE(waitFor([&] { return result != nullptr; }));
    simulator.requestKernels(result);
    ASSERT_TRUE(waitFor([&] { return kernels != nullptr; }));
    EXPECT_EQ(kernelsOf, result);
    EXPECT_GT(kernels->spanCount(), actions->spanCount());

    kernelsOf.reset();
    simulator.requestKernels(result);
    simulator.request(withTp(1));
    ASSERT_TRUE(waitFor([&] { return !simulator.isBusy(); }));
    EXPECT_EQ(kernelsOf, nullptr) << "nobody looks at the old result any more";
}

TEST(Simulator, LegalValuesCoverEveryControl)
{
    Simulator simulator;
    LegalValueTable table;
    QObject::connect(&simulator, &Simulator::legalValuesReady, [&](const LegalValueTable& values) { table = values; });
    const auto tiny = document(kTiny);
    simulator.requestLegalValues(tiny, catalogue(), scenario(tiny), LayoutRule::keepGpus);
    ASSERT_TRUE(waitFor([&] { return !table.empty(); }));
    const sim::Scenario legal = scenario(tiny);
    EXPECT_EQ(table.size(), formPointers(ScenarioState(tiny, &legal, catalogue())).size());
    EXPECT_TRUE(table.find(Control::tp)->second.contains(2));
}

} // namespace
} // namespace app
