// What is found about the step on the desk, and what each edit brings, when nothing else is to be done.
#include "app/session/desk.h"

#include "sim/simulate/plan_schedule.h"
#include "tests/app/session/session_fixtures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <thread>

namespace app {
namespace {

using namespace test;
using namespace std::chrono_literals;

constexpr const char* kRecomputes = "50-mixtral-8x7b-ep8.json"; // and need not

struct Found {
    Desk desk;
    FindingList findings;
    int times = 0;
    std::vector<EditResult> results;

    explicit Found(SimulateFunction simulate = sim::simulate) : desk(catalogue(), {}, {}, std::move(simulate))
    {
        QObject::connect(&desk, &Desk::findingsReady, [this](const FindingList& found) {
            EXPECT_TRUE(results.empty());
            findings = found;
            ++times;
        });
        QObject::connect(&desk, &Desk::editMeasured, [this](const EditResult& result) {
            EXPECT_FALSE(findings.empty());
            results.push_back(result);
        });
    }
    std::size_t edits() const
    {
        std::size_t edits = 0;
        for (const sim::Finding& finding : findings)
            edits += finding.suggestions.size();
        return edits;
    }
};

TEST(DeskFindings, ComeWithWhatEachEditBrings)
{
    Found found;
    ASSERT_TRUE(found.desk.session().open(galleryFile(kRecomputes)).empty());
    ASSERT_TRUE(waitFor([&] { return found.desk.isSettled(); }));
    ASSERT_GT(found.edits(), 3U);
    ASSERT_EQ(found.results.size(), found.edits());
    for (const EditResult& result : found.results) {
        const auto tried =
            sim::scenarioWith(found.findings.at(result.finding).suggestions.at(result.edit), document(kRecomputes), catalogue());
        ASSERT_TRUE(tried && result.effect);
        EXPECT_EQ(*result.effect, sim::effectOf(*found.desk.simulation(), *sim::simulate(*tried)));
    }
}

TEST(DeskFindings, AreDroppedWhenTheScenarioChanges)
{
    std::atomic<int> simulated{0};
    Found found([&](const sim::Scenario& s, const sim::SimulateOptions& options) {
        if (++simulated == 2) // the first edit is tried
            while (!sim::cancelRequested())
                std::this_thread::sleep_for(100us);
        return sim::simulate(s, options);
    });
    ASSERT_TRUE(found.desk.session().open(galleryFile(kRecomputes)).empty());
    ASSERT_TRUE(waitFor([&] { return simulated == 2; }));
    const SimulationPtr before = found.desk.simulation();
    found.findings.clear();
    found.desk.session().replaceContent(document(kTiny), QStringLiteral("another"));
    ASSERT_TRUE(waitFor([&] { return found.desk.simulation() != before; }));
    EXPECT_TRUE(found.results.empty());
    EXPECT_EQ(simulated, 3) << "no other edit was tried";
    EXPECT_TRUE(waitFor([&] { return found.desk.isSettled(); }));
    EXPECT_EQ(found.results.size(), found.edits());
}

TEST(DeskFindings, WaitForWhatIsMoreUrgent)
{
    Found found;
    QStringList order;
    QObject::connect(&found.desk, &Desk::stepChanged, [&] { order << QStringLiteral("step"); });
    QObject::connect(&found.desk, &Desk::detailChanged, [&] { order << QStringLiteral("kernels"); });
    QObject::connect(&found.desk, &Desk::legalValuesReady, [&] { order << QStringLiteral("values"); });
    QObject::connect(&found.desk, &Desk::findingsReady, [&] { order << QStringLiteral("findings"); });
    found.desk.setKernels(true);
    ASSERT_TRUE(found.desk.session().open(galleryFile(kTiny)).empty());
    ASSERT_TRUE(waitFor([&] { return found.desk.isSettled(); }));
    EXPECT_EQ(order.join(QLatin1Char(' ')), QStringLiteral("step kernels values findings"));
}

TEST(DeskFindings, AreOfTheDocumentTheyWereFoundIn)
{
    Found found;
    ASSERT_TRUE(found.desk.session().open(galleryFile(kRecomputes)).empty());
    ASSERT_TRUE(waitFor([&] { return found.desk.simulation() != nullptr; }));
    auto illegal = document(kRecomputes);
    illegal.set("layout.tp", "7");
    found.desk.session().replaceContent(illegal, QStringLiteral("illegal"));
    ASSERT_FALSE(found.desk.session().isLegal());
    ASSERT_TRUE(waitFor([&] { return found.times == 1 && found.desk.isSettled(); }));
    EXPECT_TRUE(
        std::all_of(found.results.begin(), found.results.end(), [](const EditResult& r) { return r.effect.has_value(); }));
    EXPECT_EQ(found.results.size(), found.edits());
}

TEST(DeskFindings, WhatCannotBeTriedEndsNothing)
{
    std::atomic<int> simulated{0};
    Found found([&](const sim::Scenario& s, const sim::SimulateOptions& options) -> SimulationPtr {
        if (++simulated > 1)
            throw std::bad_alloc();
        return sim::simulate(s, options);
    });
    ASSERT_TRUE(found.desk.session().open(galleryFile(kRecomputes)).empty());
    ASSERT_TRUE(waitFor([&] { return found.desk.isSettled(); }));
    EXPECT_GT(found.edits(), 0U);
    EXPECT_EQ(found.results.size(), found.edits());
    for (const EditResult& result : found.results)
        EXPECT_FALSE(result.effect) << "each is told, by its missing effect";
}

} // namespace
} // namespace app
