#include "app/session/desk.h"

#include "tests/app/session/session_fixtures.h"

#include <QCoreApplication>
#include <QStringList>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <new>
#include <stdexcept>
#include <thread>

namespace app {
namespace {

using namespace test;
using namespace std::chrono_literals;

sim::ScenarioDocument withTp(int tp)
{
    sim::ScenarioDocument changed = document(kTiny);
    changed.set("layout.tp", std::to_string(tp));
    changed.set("layout.dp", std::to_string(4 / tp));
    return changed;
}

/// A desk with the small job on it, and the tp of each step that came.
struct Opened {
    Desk desk;
    std::vector<int> delivered;

    explicit Opened(SimulateFunction simulate = sim::simulate, std::vector<PrepareFunction> prepare = {})
        : desk(catalogue(), {}, std::move(prepare), std::move(simulate))
    {
        QObject::connect(&desk, &Desk::stepChanged, [this] { delivered.push_back(desk.simulation()->scenario().layout.tp); });
        EXPECT_TRUE(desk.session().open(galleryFile(kTiny)).empty());
    }
    void change(int tp) { desk.session().replaceContent(withTp(tp), QStringLiteral("another tp")); }
};

/// Holds every job up until it is cancelled or let go.
struct Gate {
    std::atomic<bool> open{false};
    std::atomic<int> started{0}, cancelled{0};

    SimulateFunction function()
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

struct Prepared : PictureModel {
    explicit Prepared(ShownStep s) : step(std::move(s)) {}
    ShownStep step;
    std::thread::id by = std::this_thread::get_id();
};

PictureModelPtr prepared(const ShownStep& step)
{
    return std::make_shared<Prepared>(step);
}

TEST(Desk, ShowsWhatTheLibraryGives)
{
    Opened opened;
    ASSERT_TRUE(waitFor([&] { return opened.desk.isSettled(); }));
    const ShownStep& step = opened.desk.step();
    const auto expected = sim::simulate(scenario(document(kTiny)));
    EXPECT_EQ(step.simulation->metrics().stepTimeSeconds, expected->metrics().stepTimeSeconds);
    EXPECT_EQ(step.trace->spanCount(), expected->trace(sim::TraceDetail::actions).spanCount());
    ASSERT_TRUE(step.instants) << "the window's thread need not make them";
    EXPECT_EQ(&step.instants->trace(), step.trace.get());
}

TEST(Desk, KnowsWhatFailuresLeaveOfItsStepAndForgetsItWithTheStep)
{
    Opened opened;
    ASSERT_TRUE(waitFor([&] { return opened.desk.isSettled(); }));
    EXPECT_FALSE(opened.desk.goodput());
    sim::ScenarioDocument failing = document(kTiny);
    failing.set("/perturbations", R"([{"kind":"failure","mtbf_hours":200}])");
    opened.desk.session().replaceContent(failing, QStringLiteral("GPUs fail"));
    std::optional<double> withTheStep; // what a panel finds that follows the step
    QObject::connect(&opened.desk, &Desk::stepChanged,
                     [&] { withTheStep = opened.desk.goodput() ? opened.desk.goodput()->shares.useful : -1; });
    ASSERT_TRUE(waitFor([&] { return opened.desk.isSettled(); }));
    const auto expected = sim::goodput(*opened.desk.simulation());
    ASSERT_TRUE(expected && withTheStep);
    EXPECT_EQ(*withTheStep, expected->shares.useful);
    opened.desk.session().close();
    EXPECT_FALSE(opened.desk.goodput());
}

TEST(Desk, WhatIsExpectedIsMadeAtLeisureAndOnce)
{
    std::atomic<int> made{0};
    const sim::Scenario wanted = scenario(withTp(4));
    Opened opened(
        [&](const sim::Scenario& s, const sim::SimulateOptions& options) {
            made += s == wanted ? 1 : 0;
            return sim::simulate(s, options);
        },
        {&prepared});
    ASSERT_TRUE(waitFor([&] { return opened.desk.isResting(); }));
    made = 0; // a finding may have suggested it
    opened.desk.expect({withTp(4), withTp(1)});
    ASSERT_TRUE(waitFor([&] { return opened.desk.isResting(); }));
    EXPECT_EQ(made, 1);
    const auto ahead = opened.desk.expectedStep(withTp(4));
    ASSERT_TRUE(ahead);
    opened.change(4);
    ASSERT_TRUE(waitFor([&] { return !opened.desk.isSimulating(); }));
    EXPECT_EQ(made, 1) << "nobody waits for it again";
    EXPECT_EQ(opened.desk.simulation(), ahead->simulation);
    ASSERT_TRUE(opened.desk.isPrepared(0)) << "with what pictures show of it";
    EXPECT_EQ(static_cast<const Prepared&>(*opened.desk.model(0)).step.trace, ahead->trace);
    EXPECT_TRUE(opened.desk.expectedStep(withTp(1))) << "what else was expected may still come";
    opened.change(2);
    EXPECT_FALSE(opened.desk.expectedStep(withTp(1))) << "not when something else came";
    ASSERT_TRUE(waitFor([&] { return opened.desk.isSettled(); }));
    EXPECT_EQ(opened.delivered.back(), 2);
}

TEST(Desk, WhatIsExpectedAndCannotRunIsToldWhenItIsOpened)
{
    Opened opened;
    ASSERT_TRUE(waitFor([&] { return opened.desk.isResting(); }));
    opened.desk.expect({withTp(3)});
    ASSERT_TRUE(waitFor([&] { return opened.desk.isResting(); }));
    EXPECT_FALSE(opened.desk.expectedStep(withTp(3)));
    opened.change(3);
    EXPECT_FALSE(opened.desk.session().isLegal());
}

TEST(Desk, NewestScenarioWinsAndCancelsTheOneBefore)
{
    Gate gate;
    Opened opened(gate.function());
    ASSERT_TRUE(waitFor([&] { return gate.started == 1; }));
    opened.change(4);
    opened.change(1);
    ASSERT_TRUE(waitFor([&] { return gate.cancelled >= 1; }));
    EXPECT_TRUE(opened.desk.isSimulating());
    gate.open = true;
    ASSERT_TRUE(waitFor([&] { return opened.desk.isSettled(); }));
    EXPECT_EQ(opened.delivered, std::vector{1});
}

TEST(Desk, AStepThatWasOvertakenIsNotShown)
{
    Opened opened;
    std::this_thread::sleep_for(100ms); // done, and waiting for the event loop
    opened.change(4);
    ASSERT_TRUE(waitFor([&] { return opened.desk.isSettled(); }));
    EXPECT_EQ(opened.delivered, std::vector{4});
}

TEST(Desk, ManyChangesEndWithTheLast)
{
    Opened opened;
    for (int i = 0; i < 300; ++i) {
        opened.change(1 << i % 3);
        if (i % 7 == 0)
            QCoreApplication::processEvents();
    }
    opened.change(2);
    ASSERT_TRUE(waitFor([&] { return opened.desk.isSettled(); }));
    EXPECT_EQ(opened.desk.simulation()->scenario().layout.tp, 2);
}

TEST(Desk, ItsEndCancelsTheJobThatRunsAndIsSilent)
{
    Gate gate;
    int delivered = 0;
    {
        Opened opened(gate.function());
        QObject::connect(&opened.desk, &Desk::stepChanged, [&] { ++delivered; });
        ASSERT_TRUE(waitFor([&] { return gate.started == 1; }));
    }
    EXPECT_EQ(gate.cancelled, 1);
    {
        Opened opened;
        QObject::connect(&opened.desk, &Desk::stepChanged, [&] { ++delivered; });
        std::this_thread::sleep_for(100ms); // finished and posted, not delivered
    }
    QCoreApplication::processEvents();
    EXPECT_EQ(delivered, 0);
}

TEST(Desk, WhateverIsThrownIsToldAndTheNextScenarioIsServed)
{
    int jobs = 0;
    Opened opened([&](const sim::Scenario& s, const sim::SimulateOptions& options) -> SimulationPtr {
        switch (++jobs) {
        case 1:
            throw sim::Error("tp 3 does not divide 8");
        case 2:
            throw std::bad_alloc();
        case 3:
            throw 42;
        case 4:
            throw std::out_of_range("vector::_M_range_check");
        default:
            return sim::simulate(s, options);
        }
    });
    QStringList messages;
    QObject::connect(&opened.desk, &Desk::stepFailed, [&](const QString& text) { messages << text; });
    for (const int tp : {1, 4, 2, 1}) {
        const auto before = messages.size();
        ASSERT_TRUE(waitFor([&] { return messages.size() > before; }));
        EXPECT_FALSE(messages.back().isEmpty());
        EXPECT_FALSE(opened.desk.whyNoStep().isEmpty());
        opened.change(tp);
    }
    EXPECT_EQ(messages.front(), QStringLiteral("tp 3 does not divide 8"));
    EXPECT_TRUE(messages.at(1).contains(QStringLiteral("memory"))) << messages.at(1).toStdString();
    EXPECT_TRUE(waitFor([&] { return opened.desk.isSettled(); }));
    EXPECT_EQ(opened.delivered, std::vector{1});
    EXPECT_EQ(messages.size(), 4);
}

TEST(Desk, KernelsAreOfTheStepOnScreen)
{
    Opened opened;
    ASSERT_TRUE(waitFor([&] { return opened.desk.isSettled(); }));
    const std::size_t actions = opened.desk.step().trace->spanCount();
    opened.desk.setKernels(true);
    EXPECT_TRUE(opened.desk.isSimulating());
    ASSERT_TRUE(waitFor([&] { return opened.desk.isSettled(); }));
    EXPECT_GT(opened.desk.step().trace->spanCount(), actions);
    EXPECT_EQ(opened.desk.actions()->spanCount(), actions);

    opened.desk.setKernels(true);
    opened.change(1); // nobody looks at the old step any more
    ASSERT_TRUE(waitFor([&] { return opened.desk.isSettled(); }));
    EXPECT_EQ(opened.desk.step().simulation, opened.desk.simulation());
    EXPECT_EQ(opened.desk.simulation()->scenario().layout.tp, 1);
    opened.desk.setKernels(false);
    ASSERT_TRUE(waitFor([&] { return opened.desk.isSettled(); }));
    EXPECT_EQ(opened.desk.step().trace, opened.desk.actions());
}

TEST(Desk, WhyThereAreNoKernelsIsTold)
{
    // As large as the step itself, so that its trace is too much.
    Opened opened([](const sim::Scenario& of, const sim::SimulateOptions&) {
        for (double limit = 1;; limit *= 1.2)
            try {
                auto simulation = sim::simulate(of, {.memoryLimitBytes = limit});
                static_cast<void>(simulation->trace(sim::TraceDetail::actions));
                return simulation;
            } catch (const sim::Error&) {
            }
    });
    QString failure;
    QObject::connect(&opened.desk, &Desk::kernelsFailed, [&](const QString& text) { failure = text; });
    QObject::connect(&opened.desk, &Desk::stepFailed,
                     [](const QString&) { ADD_FAILURE() << "the step itself was simulated well"; });
    opened.desk.setKernels(true);
    ASSERT_TRUE(waitFor([&] { return !failure.isEmpty(); }));
    EXPECT_TRUE(failure.contains(QStringLiteral("memory"))) << failure.toStdString();
    EXPECT_TRUE(opened.desk.step().trace) << "the actions stay";
}

TEST(Desk, LegalValuesCoverEveryControl)
{
    Opened opened;
    LegalValueTable table;
    QObject::connect(&opened.desk, &Desk::legalValuesReady, [&](const LegalValueTable& values) { table = values; });
    ASSERT_TRUE(waitFor([&] { return opened.desk.isSettled(); }));
    const auto tiny = document(kTiny);
    const sim::Scenario legal = scenario(tiny);
    EXPECT_EQ(table.size(), formPointers(ScenarioState(tiny, &legal, catalogue())).size());
    EXPECT_TRUE(table.find(Control::tp)->second.contains(2));
}

TEST(Desk, PicturesThatAreSeenArePreparedBeforeTheStepIsShown)
{
    Opened opened(sim::simulate, {prepared, prepared, nullptr});
    Desk& desk = opened.desk;
    desk.setSeen(0, true);
    std::vector<bool> readyAtOnce;
    QObject::connect(&desk, &Desk::stepChanged, [&] {
        readyAtOnce = {desk.isPrepared(0), desk.isPrepared(1), desk.isPrepared(2)};
    });
    opened.change(4);
    std::vector<qsizetype> ready;
    QObject::connect(&desk, &Desk::modelReady, [&](qsizetype picture) { ready.push_back(picture); });
    ASSERT_TRUE(waitFor([&] { return desk.isSettled() && desk.isPrepared(1); }));
    EXPECT_EQ(readyAtOnce, (std::vector{true, false, true}));
    EXPECT_EQ(ready, std::vector<qsizetype>{1});
    for (const std::size_t picture : {0U, 1U}) {
        const auto& model = dynamic_cast<const Prepared&>(*desk.model(picture));
        EXPECT_EQ(model.step, desk.step());
        EXPECT_NE(model.by, std::this_thread::get_id()) << "the window's thread digests nothing";
    }
    EXPECT_FALSE(desk.model(2));
    desk.setKernels(true);
    ASSERT_TRUE(waitFor([&] { return desk.isSettled(); }));
    EXPECT_EQ(dynamic_cast<const Prepared&>(*desk.model(0)).step, desk.step());
}

TEST(Desk, APictureThatComesIntoSightIsPreparedNext)
{
    std::atomic<bool> go{false};
    const auto slow = [&](const ShownStep& step) {
        while (!go && !sim::cancelRequested())
            std::this_thread::sleep_for(100us);
        sim::checkCancelled();
        return prepared(step);
    };
    Opened opened(sim::simulate, {slow, slow, slow});
    Desk& desk = opened.desk;
    ASSERT_TRUE(waitFor([&] { return desk.simulation() != nullptr; }));
    std::vector<qsizetype> ready;
    QObject::connect(&desk, &Desk::modelReady, [&](qsizetype picture) { ready.push_back(picture); });
    desk.setSeen(2, true);
    EXPECT_FALSE(desk.isSettled());
    go = true;
    ASSERT_TRUE(waitFor([&] { return ready.size() == 3; }));
    EXPECT_EQ(ready.front(), 2);
}

TEST(Desk, KernelsThatAreUntickedWhileAStepComesLeaveThatStep)
{
    Gate gate;
    gate.open = true;
    Opened opened(gate.function());
    ASSERT_TRUE(waitFor([&] { return opened.desk.isSettled(); }));
    opened.desk.setKernels(true);
    ASSERT_TRUE(waitFor([&] { return opened.desk.isSettled(); }));
    gate.open = false;
    opened.change(4);
    opened.desk.setKernels(false);
    gate.open = true;
    ASSERT_TRUE(waitFor([&] { return opened.desk.isSettled(); }));
    EXPECT_EQ(opened.desk.simulation()->scenario().layout.tp, 4);
    EXPECT_EQ(opened.desk.step().simulation, opened.desk.simulation());
    EXPECT_EQ(opened.desk.step().trace, opened.desk.actions());
}

TEST(Desk, WhatAFailedStepLeavesOnScreenIsPreparedAllTheSame)
{
    std::atomic<bool> fails{false}, slow{true};
    const auto prepare = [&](const ShownStep& step) {
        while (slow) {
            sim::checkCancelled();
            std::this_thread::sleep_for(100us);
        }
        return prepared(step);
    };
    Opened opened(
        [&](const sim::Scenario& s, const sim::SimulateOptions& options) {
            if (fails)
                throw sim::Error("too much");
            return sim::simulate(s, options);
        },
        {prepare});
    Desk& desk = opened.desk;
    ASSERT_TRUE(waitFor([&] { return desk.simulation() != nullptr; }));
    desk.setSeen(0, true);
    fails = true;
    opened.change(4);
    slow = false;
    ASSERT_TRUE(waitFor([&] { return desk.isSettled(); }));
    EXPECT_EQ(dynamic_cast<const Prepared&>(*desk.model(0)).step, desk.step());
    EXPECT_FALSE(desk.pinBaseline()) << "the numbers on screen are of another scenario";
}

TEST(Desk, APictureThatCannotBePreparedIsNoFaultOfTheStep)
{
    const auto fails = [](const ShownStep&) -> PictureModelPtr { throw std::bad_alloc(); };
    Opened opened(sim::simulate, {fails, prepared});
    opened.desk.setSeen(0, true);
    opened.desk.setSeen(1, true);
    QObject::connect(&opened.desk, &Desk::stepFailed, [](const QString& why) { ADD_FAILURE() << why.toStdString(); });
    ASSERT_TRUE(waitFor([&] { return opened.desk.isSettled(); }));
    EXPECT_TRUE(opened.desk.simulation());
    EXPECT_TRUE(opened.desk.whyNoModel(0).contains(QStringLiteral("memory")));
    EXPECT_TRUE(opened.desk.model(1));
    EXPECT_TRUE(opened.desk.whyNoModel(1).isEmpty());
}

TEST(Desk, TheFilmGoesOnWhereTheCursorIs)
{
    Opened opened;
    Desk& desk = opened.desk;
    ASSERT_TRUE(waitFor([&] { return desk.isSettled(); }));
    int zooms = 0;
    QObject::connect(&desk, &Desk::zoomChanged, [&] { ++zooms; });
    const std::int64_t end = desk.step().trace->endNs;
    Selection wanted;
    wanted.range = TimeRange{10, 20};
    wanted.cursorNs = 15;
    desk.setSelection(wanted);
    const int before = zooms;
    desk.zoom().zoom(10, 0.5);
    desk.selectionMayHaveChanged();
    EXPECT_EQ(zooms, before + 1);
    opened.change(4);
    ASSERT_TRUE(waitFor([&] { return desk.isSettled(); }));
    ASSERT_NE(desk.step().trace->endNs, end);
    EXPECT_EQ(desk.playback().span(), (TimeRange{10, 20}));
    EXPECT_EQ(desk.playback().positionNs(), 15);
}

TEST(Desk, WhatIsSelectedExistsInTheStep)
{
    Opened opened;
    Desk& desk = opened.desk;
    ASSERT_TRUE(waitFor([&] { return desk.isSettled(); }));
    const std::int64_t end = desk.step().trace->endNs;
    int cursorMoves = 0, others = 0;
    QObject::connect(&desk, &Desk::selectionChanged, [&](bool onlyCursor) { ++(onlyCursor ? cursorMoves : others); });
    Selection wanted;
    wanted.selectRanks({1, 3, 900}, 900);
    wanted.selectedSpan = SpanRef{0, 100'000'000};
    wanted.range = TimeRange{1, end + 1};
    wanted.cursorNs = end + 5;
    desk.setSelection(wanted);
    EXPECT_EQ(desk.selection().ranks, (std::vector{1, 3}));
    EXPECT_EQ(desk.selection().selectedRank, 1);
    EXPECT_FALSE(desk.selection().selectedSpan);
    EXPECT_FALSE(desk.selection().range);
    EXPECT_EQ(desk.selection().cursorNs, end);
    EXPECT_EQ(desk.playback().positionNs(), end);
    desk.setCursor(7);
    EXPECT_EQ(cursorMoves, 1);
    EXPECT_EQ(others, 1);
    desk.selectRank(8);
    desk.selectRank(-1);
    EXPECT_FALSE(desk.selectSpan({0, 100'000'000}));
    EXPECT_EQ(others, 1) << "there are 8 ranks";
    EXPECT_TRUE(desk.selectSpan({0, 1}));
    EXPECT_EQ(desk.selection().cursorNs, desk.step().trace->tracks[0].startNs[1]);
    wanted = {};
    wanted.range = TimeRange{10, 20};
    desk.setSelection(wanted);
    EXPECT_EQ(desk.playback().span(), (TimeRange{10, 20}));
    opened.change(1);
    ASSERT_TRUE(waitFor([&] { return desk.isSettled(); }));
    EXPECT_EQ(desk.selection().range, (TimeRange{10, 20})) << "what still exists stays";
    desk.session().close();
    EXPECT_EQ(desk.selection(), Selection());
    EXPECT_FALSE(desk.simulation());
}

TEST(Desk, NumbersAreComparedWithThePinnedElseWithTheStepBefore)
{
    Opened opened;
    Desk& desk = opened.desk;
    ASSERT_TRUE(waitFor([&] { return desk.isSettled(); }));
    const double first = desk.simulation()->metrics().stepTimeSeconds;
    EXPECT_FALSE(desk.comparedTo());
    opened.change(4);
    EXPECT_FALSE(desk.pinBaseline()) << "what is on screen is another";
    ASSERT_TRUE(waitFor([&] { return desk.isSettled(); }));
    EXPECT_EQ(desk.comparedTo()->stepTimeSeconds, first);
    EXPECT_TRUE(desk.pinBaseline());
    EXPECT_EQ(desk.comparedTo()->stepTimeSeconds, desk.simulation()->metrics().stepTimeSeconds);
    desk.baseline().unpin();
    EXPECT_EQ(desk.comparedTo()->stepTimeSeconds, first);
}

TEST(Desk, ADragThatPassesItsOriginIsComparedWithIt)
{
    Opened opened;
    Desk& desk = opened.desk;
    ASSERT_TRUE(waitFor([&] { return desk.isSettled(); }));
    const double origin = desk.simulation()->metrics().stepTimeSeconds;
    const auto drag = [&](int batch, int gesture = 7) {
        desk.session().edit({.assignments = {{"/training/global_batch_size", std::to_string(batch)}},
                             .text = "batch → " + std::to_string(batch),
                             .gesture = gesture});
    };
    const int batch = desk.session().scenario()->training.globalBatchSize;
    drag(2 * batch);
    ASSERT_TRUE(waitFor([&] { return desk.isSettled(); }));
    EXPECT_EQ(desk.comparedTo()->stepTimeSeconds, origin);
    drag(batch);     // the step is gone again
    drag(4 * batch); // before anything was simulated
    ASSERT_TRUE(waitFor([&] { return desk.isSettled(); }));
    EXPECT_EQ(desk.comparedTo()->stepTimeSeconds, origin) << "not with a place that was passed";
    drag(8 * batch);
    drag(2 * batch, 8);
    ASSERT_TRUE(waitFor([&] { return desk.isSettled(); }));
    EXPECT_FALSE(desk.comparedTo()) << "what the drag ended with was never simulated";
}

TEST(Desk, NumbersAreComparedWithTheStepBeforeHoweverManyThereWere)
{
    Opened opened;
    Desk& desk = opened.desk;
    const int batch = desk.session().scenario()->training.globalBatchSize;
    const auto change = [&](int to) {
        desk.session().edit(
            {.assignments = {{"/training/global_batch_size", std::to_string(to)}}, .text = "batch", .gesture = 0});
    };
    const int kept = desk.session().undoStack().undoLimit();
    ASSERT_GT(kept, 0);
    for (int i = 0; i < kept + 3; ++i)
        change(batch * (i % 2 + 1));
    for (const int factor : {4, 2, 8}) {
        ASSERT_TRUE(waitFor([&] { return desk.isSettled(); }));
        const double before = desk.simulation()->metrics().stepTimeSeconds;
        change(factor * batch);
        ASSERT_TRUE(waitFor([&] { return desk.isSettled(); }));
        ASSERT_NE(desk.simulation()->metrics().stepTimeSeconds, before);
        ASSERT_TRUE(desk.comparedTo());
        EXPECT_EQ(desk.comparedTo()->stepTimeSeconds, before);
    }
}

/// What is tried for the form and for findings is what decides the step: marks in the view do not.
TEST(Desk, AViewWithThousandsOfMarksIsNotCarriedThroughEveryTry)
{
    const auto settle = [](const sim::ScenarioDocument& document) {
        Desk desk(catalogue(), {});
        desk.session().startNew(document);
        const std::clock_t before = std::clock(); // of all threads
        EXPECT_TRUE(waitFor([&] { return desk.isSettled(); }));
        return static_cast<double>(std::clock() - before);
    };
    std::string marks;
    for (int i = 0; i < 20'000; ++i)
        marks += std::string(i == 0 ? "" : ",") + "{\"begin_ns\":" + std::to_string(i) + ",\"label\":\"m\"}";
    sim::ScenarioDocument marked = document(kTiny);
    marked.set("/view", "{\"marks\":[" + marks + "]}");
    constexpr double kParsing = 4; // the document itself is read and resolved a few times
    double with = 0, without = 0;
    for (int i = 0; i < 3; ++i) { // what others do to the caches only adds to it
        const double first = settle(document(kTiny)), second = settle(marked);
        without = i == 0 ? first : std::min(without, first);
        with = i == 0 ? second : std::min(with, second);
    }
    EXPECT_LT(with, kParsing * without);
}

} // namespace
} // namespace app
