// What the simulator finds and tries when nothing else is to be done.
#include "app/session/simulator.h"

#include "sim/analysis/plan_schedule.h"
#include "tests/app/session/session_fixtures.h"

#include <QStringList>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <new>
#include <thread>

namespace app {
namespace {

using namespace test;
using namespace std::chrono_literals;

constexpr const char* kRecomputes = "50-mixtral-8x7b-ep8.json"; // and need not

SimulationPtr simulationOf(const sim::ScenarioDocument& of)
{
    return sim::simulate(scenario(of));
}

TEST(SimulatorFindings, ComeWithWhatEachEditBrings)
{
    Simulator simulator;
    const auto of = document(kRecomputes);
    const SimulationPtr simulation = simulationOf(of);
    FindingList found;
    std::vector<TryResult> results;
    QObject::connect(&simulator, &Simulator::findingsReady, [&](const SimulationPtr& about, const FindingList& findings) {
        EXPECT_EQ(about, simulation);
        EXPECT_TRUE(results.empty());
        found = findings;
    });
    QObject::connect(&simulator, &Simulator::tryMeasured, [&](const SimulationPtr& about, const TryResult& result) {
        EXPECT_EQ(about, simulation);
        EXPECT_FALSE(found.empty());
        results.push_back(result);
    });
    simulator.requestFindings(of, catalogue(), simulation);
    ASSERT_TRUE(waitFor([&] { return !simulator.isBusy(); }));
    std::size_t edits = 0;
    for (const sim::Finding& finding : found)
        edits += finding.tries.size();
    ASSERT_GT(edits, 3U);
    ASSERT_EQ(results.size(), edits);
    for (const TryResult& result : results) {
        const auto tried = sim::tried(found.at(result.finding).tries.at(result.edit), of, catalogue());
        ASSERT_TRUE(tried && result.effect);
        EXPECT_EQ(*result.effect,
                  sim::effectOf(simulation->metrics(), sim::simulate(*tried)->metrics(), sim::memoryCapGib(*tried)));
    }
}

TEST(SimulatorFindings, AreDroppedWhenTheScenarioChanges)
{
    std::atomic<int> simulated{0};
    Simulator simulator(nullptr, [&](const sim::Scenario& s, const sim::SimulateOptions& options) {
        ++simulated;
        while (s.name == "held up" && !sim::cancelRequested())
            std::this_thread::sleep_for(100us);
        return sim::simulate(s, options);
    });
    auto of = document(kRecomputes);
    of.set("/name", "\"held up\"");
    const SimulationPtr simulation = simulationOf(of);
    int found = 0, measured = 0, finished = 0;
    QObject::connect(&simulator, &Simulator::findingsReady, [&] { ++found; });
    QObject::connect(&simulator, &Simulator::tryMeasured, [&] { ++measured; });
    QObject::connect(&simulator, &Simulator::finished, [&] { ++finished; });
    simulator.requestFindings(of, catalogue(), simulation);
    ASSERT_TRUE(waitFor([&] { return simulated == 1; })) << "the first edit is being tried";
    simulator.request(scenario(document(kTiny)));
    ASSERT_TRUE(waitFor([&] { return finished == 1 && !simulator.isBusy(); }));
    EXPECT_LE(found, 1);
    EXPECT_EQ(measured, 0);
    EXPECT_EQ(simulated, 2) << "no other edit was tried";
}

TEST(SimulatorFindings, WaitForWhatIsMoreUrgent)
{
    std::atomic<bool> everythingIsAsked{false};
    Simulator simulator(nullptr, [&](const sim::Scenario& scenario, const sim::SimulateOptions& options) {
        while (!everythingIsAsked)
            std::this_thread::yield();
        return sim::simulate(scenario, options);
    });
    const auto of = document(kTiny);
    const SimulationPtr simulation = simulationOf(of);
    QStringList order;
    QObject::connect(&simulator, &Simulator::findingsReady, [&] { order << QStringLiteral("findings"); });
    QObject::connect(&simulator, &Simulator::tryMeasured, [&] {
        if (order.last() != QLatin1String("tries"))
            order << QStringLiteral("tries");
    });
    QObject::connect(&simulator, &Simulator::finished, [&] { order << QStringLiteral("result"); });
    QObject::connect(&simulator, &Simulator::kernelsReady, [&] { order << QStringLiteral("kernels"); });
    simulator.request(scenario(of));
    simulator.requestFindings(of, catalogue(), simulation);
    simulator.requestLegalValues(of, catalogue(), simulation->scenario(), LayoutRule::keepGpus);
    simulator.requestKernels(simulation);
    everythingIsAsked = true;
    ASSERT_TRUE(waitFor([&] { return !order.isEmpty() && !simulator.isBusy(); }));
    EXPECT_EQ(order.first(), QStringLiteral("result"));
    EXPECT_EQ(order.last(), QStringLiteral("tries")) << order.join(QLatin1Char(' ')).toStdString();
}

/// A step of which nobody can say anything.
class UnspeakableSimulation : public sim::Simulation {
public:
    explicit UnspeakableSimulation(SimulationPtr of) : m_of(std::move(of)) {}
    const sim::Scenario& scenario() const override { return m_of->scenario(); }
    const sim::Mesh& mesh() const override { return m_of->mesh(); }
    const sim::Placement& placement() const override { return m_of->placement(); }
    const sim::Schedule& schedule() const override { return m_of->schedule(); }
    const sim::Metrics& metrics() const override { throw std::bad_alloc(); }
    int classCount() const override { return m_of->classCount(); }
    int classOf(int rank) const override { return m_of->classOf(rank); }
    int representative(int index) const override { return m_of->representative(index); }
    int classSize(int index) const override { return m_of->classSize(index); }
    sim::MemoryBreakdown memoryOfClass(int) const override { throw std::bad_alloc(); }
    sim::TimeShares timeOfClass(int) const override { throw std::bad_alloc(); }
    sim::MemoryCurves memoryCurves(int) const override { throw std::bad_alloc(); }
    sim::MemoryContents memoryContents(int, std::int64_t) const override { throw std::bad_alloc(); }
    sim::Trace trace(sim::TraceDetail) const override { throw std::bad_alloc(); }
    sim::Traffic traffic() const override { throw std::bad_alloc(); }
    sim::LinkLoad linkLoad(const sim::TrafficSenders&, const sim::LoadWindow&) const override { throw std::bad_alloc(); }

private:
    SimulationPtr m_of;
};

TEST(SimulatorFindings, WhyThereAreNoneIsTold)
{
    Simulator simulator;
    const auto of = document(kTiny);
    const SimulationPtr unspeakable = std::make_shared<UnspeakableSimulation>(simulationOf(of));
    QString why;
    int found = 0;
    SimulationPtr kernelsOf;
    QObject::connect(&simulator, &Simulator::findingsReady, [&] { ++found; });
    QObject::connect(&simulator, &Simulator::findingsFailed, [&](const SimulationPtr& about, const QString& text) {
        EXPECT_EQ(about, unspeakable);
        why = text;
    });
    simulator.requestFindings(of, catalogue(), unspeakable);
    ASSERT_TRUE(waitFor([&] { return !why.isEmpty() && !simulator.isBusy(); }));
    EXPECT_TRUE(why.contains(QStringLiteral("memory"))) << why.toStdString();
    EXPECT_EQ(found, 0);
    // Neither do its kernels end anything.
    QString failure;
    QObject::connect(&simulator, &Simulator::kernelsFailed, [&](const SimulationPtr& about, const QString& text) {
        EXPECT_EQ(about, unspeakable);
        failure = text;
    });
    QObject::connect(&simulator, &Simulator::failed,
                     [](const QString&) { ADD_FAILURE() << "the step itself was simulated well"; });
    simulator.requestKernels(unspeakable);
    ASSERT_TRUE(waitFor([&] { return !failure.isEmpty(); }));
}

TEST(SimulatorFindings, OfTheNewestRequestAlone)
{
    Simulator simulator;
    const auto first = document(kRecomputes), second = document(kTiny);
    const SimulationPtr a = simulationOf(first), b = simulationOf(second);
    SimulationPtr last;
    QObject::connect(&simulator, &Simulator::findingsReady, [&](const SimulationPtr& about) { last = about; });
    QObject::connect(&simulator, &Simulator::tryMeasured,
                     [&](const SimulationPtr& about, const TryResult&) { EXPECT_EQ(about, last); });
    simulator.requestFindings(first, catalogue(), a);
    simulator.requestFindings(second, catalogue(), b);
    ASSERT_TRUE(waitFor([&] { return last && !simulator.isBusy(); }));
    EXPECT_EQ(last, b);
}

} // namespace
} // namespace app
