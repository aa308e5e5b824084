// The search for a layout runs by itself, fills while it goes on, keeps what it found when it is stopped, and what it proposes
// simulates to the number that it prints.
#include "app/session/plan_search.h"

#include "app/session/desk.h"
#include "sim/answers/plan.h"
#include "tests/app/session/session_fixtures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace app {
namespace {

using namespace test;

constexpr const char* kPlanned = "05-dp2-tp4-pp2-sixteen-gpus.json";

struct ToldPlan {
    std::vector<PlanState> progress;
    std::optional<PlanState> end;
    QString failure;
    std::optional<PlanCellState> cell;
    explicit ToldPlan(PlanSearch& search)
    {
        QObject::connect(&search, &PlanSearch::progressed, &search, [this](const PlanState& now) { progress.push_back(now); });
        QObject::connect(&search, &PlanSearch::finished, &search, [this](const PlanState& now) { end = now; });
        QObject::connect(&search, &PlanSearch::failed, &search, [this](const QString& why) { failure = why; });
        QObject::connect(&search, &PlanSearch::cellFound, &search, [this](const PlanCellState& now) { cell = now; });
    }
};

sim::PlanRequest planned(int gpus = 0)
{
    return {.document = document(kPlanned), .gpus = gpus};
}

TEST(PlanSearch, SaysWhatTheCommandLineSays)
{
    PlanSearch search(catalogue());
    ToldPlan told(search);
    search.start(planned());
    EXPECT_TRUE(search.isRunning());
    ASSERT_TRUE(waitFor([&] { return told.end.has_value(); }));
    EXPECT_FALSE(search.isRunning());
    const sim::PlanAnswer own = sim::plan(planned(), catalogue());
    EXPECT_EQ(told.end->proof, sim::planProof(sim::planAnswer(own, planned())));
    EXPECT_TRUE(told.end->proof.ends_with("; the first is proved best")) << told.end->proof;
    ASSERT_FALSE(told.end->answer->best.empty());
    EXPECT_EQ(told.end->answer->best.front().settings, own.best.front().settings);
    ASSERT_FALSE(told.progress.empty());
    EXPECT_TRUE(told.progress.back().isRunning);
    for (const PlanState& state : told.progress)
        EXPECT_EQ(state.answer->rejected.size() + (state.answer->best.empty() ? 0 : 1), own.rejected.size() + 1)
            << "every grid has its place from the first picture on";
}

TEST(PlanSearch, WhatItProposesSimulatesToItsNumberBitForBit)
{
    PlanSearch search(catalogue());
    ToldPlan told(search);
    for (const int gpus : {0, 32}) {
        told.end.reset();
        search.start(planned(gpus));
        ASSERT_TRUE(waitFor([&] { return told.end.has_value(); }));
        const sim::PlannedLayout& best = told.end->answer->best.front();

        Desk desk(catalogue(), {});
        ASSERT_TRUE(desk.session().open(galleryFile(kPlanned)).empty());
        ASSERT_TRUE(waitFor([&] { return desk.isSettled(); }));
        const std::string before = desk.session().document().text();
        desk.session().edit(makePlanEdit(told.end->request, best));
        ASSERT_TRUE(waitFor([&] { return desk.isSettled(); }));
        ASSERT_TRUE(desk.session().isLegal());
        EXPECT_EQ(desk.simulation()->metrics().stepTimeSeconds, best.stepSeconds);
        EXPECT_EQ(desk.simulation()->metrics().peakMemoryGib, best.peakMemoryGib);
        EXPECT_EQ(desk.session().undoStack().undoText(), QString::fromStdString("plan: " + best.grid.text()));
        EXPECT_EQ(desk.session().undoStack().count(), 1) << "one step";
        desk.session().undoStack().undo();
        EXPECT_EQ(desk.session().document().text(), before);
    }
}

TEST(PlanSearch, KeepsWhatItFoundWhenItIsStopped)
{
    PlanSearch search(catalogue());
    ToldPlan told(search);
    search.start({.document = document(kLarge)});
    ASSERT_TRUE(waitFor([&] { return !told.progress.empty(); }));
    search.stop();
    ASSERT_TRUE(waitFor([&] { return told.end.has_value(); }));
    EXPECT_TRUE(told.end->answer->stopped);
    EXPECT_FALSE(told.end->answer->proved);
    EXPECT_NE(told.end->proof.find("stopped: what was found until then"), std::string::npos);
    EXPECT_FALSE(told.end->answer->rejected.empty());
    for (const sim::RejectedGrid& grid : told.end->answer->rejected)
        EXPECT_FALSE(grid.text.empty()) << grid.grid.text() << ": a reason for each, wherever it was stopped";
}

TEST(PlanSearch, StoppedBeforeItJudgedAnythingSaysNoMore)
{
    sim::Answer answer{{"covered", 0},   {"gpus", 1024},    {"proved", false},    {"best", sim::Answer::array()},
                       {"too_large", 0}, {"stopped", true}, {"objective", "time"}};
    EXPECT_EQ(sim::planProof(answer), "no layout on 1,024 GPUs was judged yet\nstopped: what was found until then");
    answer["proved"] = true;
    answer["rejected"] = sim::Answer::array();
    EXPECT_TRUE(sim::planProof(answer).starts_with("0 legal layouts on 1,024 GPUs; none fits"));
}

TEST(PlanSearch, EndsByItselfAfterAWhile)
{
    PlanSearch search(catalogue());
    ToldPlan told(search);
    search.start({.document = document(kLarge)}, 0.0);
    ASSERT_TRUE(waitFor([&] { return told.end.has_value(); }));
    EXPECT_TRUE(told.end->answer->stopped);
    EXPECT_TRUE(told.end->proof.ends_with("\nstopped after 0 s; press Plan again to go on")) << told.end->proof;
}

TEST(PlanSearch, TellsNothingOnceItIsDropped)
{
    PlanSearch search(catalogue());
    ToldPlan told(search);
    for (int i = 0; i < 5; ++i) {
        search.start({.document = document(kLarge)});
        search.drop();
        EXPECT_FALSE(search.isRunning());
    }
    search.start(planned());
    ASSERT_TRUE(waitFor([&] { return told.end.has_value(); }));
    EXPECT_EQ(told.end->answer->gpus, 16) << "the last one alone was told of";
    for (const PlanState& state : told.progress)
        EXPECT_EQ(state.answer->gpus, 16);
}

TEST(PlanSearch, SaysWhyNothingCanBeSearchedInTheWordsOfTheForm)
{
    PlanSearch search(catalogue());
    ToldPlan told(search);
    sim::PlanRequest request = planned();
    request.fixed = {{"training.micro_batch_size", "3.5"}};
    search.start(request);
    ASSERT_TRUE(waitFor([&] { return !told.failure.isEmpty(); }));
    EXPECT_TRUE(told.failure.startsWith(QLatin1String("micro-batch = 3.5 cannot be held: "))) << told.failure.toStdString();
    EXPECT_FALSE(told.failure.contains(QLatin1Char('_'))) << told.failure.toStdString();
    EXPECT_FALSE(search.isRunning());
}

/// While the map is filled: what is best so far of a cell, each time better, and last what is told in the end.
TEST(PlanSearch, TellsOfACellAsItImproves)
{
    PlanSearch search(catalogue());
    std::map<std::pair<int, int>, std::vector<double>> paces;
    std::size_t improvements = 0, cells = 0;
    bool isFilled = false;
    QObject::connect(&search, &PlanSearch::cellImproved, &search, [&](const PlanCellState& now) {
        ASSERT_FALSE(now.answer->best.empty());
        EXPECT_EQ(now.answer->best.front().grid.tp, now.tp);
        EXPECT_EQ(now.answer->best.front().grid.pp, now.pp);
        paces[{now.tp, now.pp}].push_back(now.answer->best.front().paceSeconds());
        ++improvements;
    });
    QObject::connect(&search, &PlanSearch::cellFound, &search, [&](const PlanCellState& now) {
        ++cells;
        ASSERT_FALSE(now.answer->best.empty());
        std::vector<double>& told = paces[{now.tp, now.pp}];
        told.push_back(now.answer->best.front().paceSeconds());
        EXPECT_TRUE(std::is_sorted(told.rbegin(), told.rend())) << "each better than the one before";
    });
    QObject::connect(&search, &PlanSearch::cellsFilled, &search, [&] { isFilled = true; });
    search.fillCells({planned()}, {{8, 2}, {4, 2}});
    ASSERT_TRUE(waitFor([&] { return isFilled; }));
    EXPECT_EQ(cells, 2U);
    EXPECT_GE(improvements, 2U) << "some of each";
}

TEST(PlanSearch, FindsTheBestOfACell)
{
    PlanSearch search(catalogue());
    ToldPlan told(search);
    search.askCell({planned()}, 8, 2);
    ASSERT_TRUE(waitFor([&] { return told.cell.has_value(); }));
    EXPECT_EQ(told.cell->tp, 8);
    EXPECT_EQ(told.cell->pp, 2);
    ASSERT_FALSE(told.cell->answer->best.empty());
    const sim::PlannedLayout& best = told.cell->answer->best.front();
    EXPECT_EQ(best.grid.tp, 8);
    EXPECT_EQ(best.grid.pp, 2);
    sim::ScenarioDocument opened = document(kPlanned);
    apply(opened, makePlanEdit(told.cell->request, best));
    EXPECT_EQ(sim::simulate(scenario(opened))->metrics().stepTimeSeconds, best.stepSeconds);
}

} // namespace
} // namespace app
