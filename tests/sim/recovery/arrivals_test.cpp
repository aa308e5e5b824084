// Who waits for whom where collectives are open at once: each instant of a rank counts once, and who is late is told of all.
#include "sim/recovery/arrivals.h"
#include "sim/recovery/measured_run.h"
#include "sim/recovery/run_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

namespace {

constexpr std::int64_t kMicro = 1000;
constexpr std::int64_t kBeginOfSums = 1'700'000'000 * std::int64_t{1'000'000'000};

/// Ranks of one program; times are µs since its begin.
class RunOfSums {
public:
    explicit RunOfSums(int ranks)
    {
        m_evidence.worldSize = ranks;
        m_evidence.isOneClock = true;
        m_evidence.names = {"", "gemm", "ncclDevKernel_AllReduce", "ncclDevKernel_SendRecv"};
        for (int rank = 0; rank < ranks; ++rank)
            m_evidence.ranks.emplace_back().rank = rank;
    }
    std::int32_t group(std::vector<int> ranks)
    {
        m_evidence.groups.push_back({.name = std::to_string(m_evidence.groups.size()), .ranks = std::move(ranks)});
        return static_cast<std::int32_t>(m_evidence.groups.size()) - 1;
    }
    void work(int rank, std::int64_t start, std::int64_t end)
    {
        of(rank).work.push_back({.startNs = kBeginOfSums + start * kMicro, .endNs = kBeginOfSums + end * kMicro, .name = 1});
    }
    /// `starts`: as the group's ranks.
    void sum(std::int32_t group, const std::vector<std::int64_t>& starts, std::int64_t end)
    {
        const std::vector<int>& ranks = m_evidence.groups[static_cast<std::size_t>(group)].ranks;
        for (std::size_t i = 0; i < ranks.size(); ++i)
            of(ranks[i]).comms.push_back({.startNs = kBeginOfSums + starts[i] * kMicro,
                                          .endNs = kBeginOfSums + end * kMicro,
                                          .exchange = sim::Exchange::allReduce,
                                          .group = group,
                                          .sequence = m_sums[group],
                                          .bytes = 4096 * (m_sums[group] + 1), // nothing comes again: all is one step
                                          .stream = 9,
                                          .name = 2});
        ++m_sums[group];
    }
    void message(int from, int to, std::int64_t sent, std::int64_t asked, std::int64_t end)
    {
        const std::int64_t message = m_messages++;
        for (const bool isSend : {true, false})
            of(isSend ? from : to)
                .comms.push_back({.startNs = kBeginOfSums + (isSend ? sent : asked) * kMicro,
                                  .endNs = kBeginOfSums + end * kMicro,
                                  .exchange = isSend ? sim::Exchange::send : sim::Exchange::receive,
                                  .bytes = 4096,
                                  .message = message,
                                  .peer = isSend ? to : from,
                                  .stream = 10,
                                  .name = 3});
    }
    /// Of all ranks.
    void step(std::int64_t number, std::int64_t start, std::int64_t end)
    {
        for (sim::RankEvidence& rank : m_evidence.ranks)
            rank.steps.push_back(
                {.number = number, .startNs = kBeginOfSums + start * kMicro, .endNs = kBeginOfSums + end * kMicro});
    }
    /// The last `count` have no recording.
    void leaveOut(std::size_t count) { m_evidence.ranks.resize(m_evidence.ranks.size() - count); }
    sim::Recovered recovered()
    {
        for (sim::RankEvidence& rank : m_evidence.ranks) {
            const auto isEarlier = [](const auto& a, const auto& b) { return a.startNs < b.startNs; };
            std::stable_sort(rank.work.begin(), rank.work.end(), isEarlier);
            std::stable_sort(rank.comms.begin(), rank.comms.end(), isEarlier);
        }
        return sim::recover(m_evidence);
    }

private:
    sim::RankEvidence& of(int rank) { return m_evidence.ranks[static_cast<std::size_t>(rank)]; }
    sim::RunEvidence m_evidence;
    std::map<std::int32_t, std::int64_t> m_sums;
    std::int64_t m_messages = 0;
};

TEST(LateRoots, OfWhoBeginsTheNextBeforeTheLastOneEndedAreTheLast)
{
    RunOfSums run(4);
    const std::int32_t both = run.group({0, 2}), ofFirst = run.group({0, 1}), ofLast = run.group({2, 3});
    run.sum(ofFirst, {0, 10}, 12);
    run.sum(both, {20, 320}, 400);
    run.sum(both, {50, 600}, 620); // rank 0 waits for none to ask for it, rank 2 comes late by itself
    run.sum(ofFirst, {330, 390}, 395);
    run.sum(ofFirst, {450, 500}, 505);
    run.sum(ofLast, {500, 550}, 555); // and waited for rank 3 for less than a tenth of that
    const sim::Recovered recovered = run.recovered();
    const sim::Arrivals arrivals = sim::arrivalsOf(recovered);
    const auto late = std::find_if(arrivals.list.begin(), arrivals.list.end(),
                                   [](const sim::Arrival& one) { return one.lastStartNs == kBeginOfSums + 600 * kMicro; });
    ASSERT_NE(late, arrivals.list.end());
    EXPECT_EQ(late->last, 2U);
    EXPECT_EQ(late->root, 2U);
}

TEST(Arrivals, OfCollectivesThatAreOpenAtOnceCountEachInstantOnce)
{
    RunOfSums run(2);
    const std::int32_t all = run.group({0, 1});
    for (const int rank : {0, 1})
        run.work(rank, -200, 0);
    run.sum(all, {0, 100}, 110);
    run.sum(all, {10, 105}, 120);
    run.sum(all, {20, 105}, 130);
    const sim::Recovered recovered = run.recovered();
    const sim::Arrivals arrivals = sim::arrivalsOf(recovered);
    ASSERT_EQ(arrivals.list.size(), 3U);
    EXPECT_EQ(arrivals.ranks[0].waitedNs, 105 * kMicro);
    EXPECT_EQ(arrivals.ranks[1].waitedNs, 0);
    EXPECT_EQ(arrivals.causedNs, 105 * kMicro);
    EXPECT_EQ(arrivals.ranks[1].causedNs, 105 * kMicro);
    EXPECT_EQ(arrivals.ranks[1].last, 3U) << "in each of them";
    EXPECT_EQ(arrivals.list[0].waited(), 100 * kMicro);
    EXPECT_EQ(arrivals.list[1].waited(), 5 * kMicro);
    EXPECT_EQ(arrivals.list[2].waited(), 0);
    EXPECT_EQ(arrivals.list[2].waitNs[0], 85 * kMicro) << "of each by itself";
    std::int64_t ofAxes = 0;
    for (const auto& [axis, waits] : arrivals.byAxis)
        ofAxes += waits.waitedNs;
    EXPECT_EQ(ofAxes, arrivals.causedNs);
    double waiting = 0; // as runs are compared
    for (const auto& [of, series] : sim::MeasuredRun(recovered, false).collectives)
        waiting += std::accumulate(series[0].waiting.begin(), series[0].waiting.end(), 0.0);
    EXPECT_NEAR(waiting, 105e-6, 1e-12);
}

/// Rank 0 of four computes `late` µs longer of 1000 and comes last to each sum.
sim::RunAnswers lateByMicros(std::int64_t late)
{
    RunOfSums run(4);
    const std::int32_t all = run.group({0, 1, 2, 3});
    for (std::int64_t at = 0, step = 0; step < 6; ++step, at += 1000 + late) {
        for (const int rank : {0, 1, 2, 3})
            run.work(rank, at, at + 950 + (rank == 0 ? late : 0));
        run.sum(all, {at + 950 + late, at + 950, at + 950, at + 950}, at + 960 + late);
    }
    return sim::answersOf(run.recovered());
}

TEST(LateRanks, AreFoundWhereTheOthersLoseTimeByThem)
{
    for (const std::int64_t late : {20, 200}) {
        const sim::RunAnswers answers = lateByMicros(late);
        EXPECT_THAT(
            answers.arrivals.text,
            testing::HasSubstr("rank 0 comes last in 6 of 6 collectives and causes 100 % of the waiting in collectives, "));
        EXPECT_EQ(answers.arrivals.straggler, late == 200 ? 0 : -1) << late;
        EXPECT_EQ(std::any_of(answers.findings.begin(), answers.findings.end(),
                              [](const sim::RunFinding& finding) { return finding.kind == "late-rank"; }),
                  late == 200);
    }
}

TEST(Arrivals, AreOfUsualSteps)
{
    // A sum before the first step waits 30 s for rank 3, one in a step unlike the others 5 s for rank 2. In all steps rank 1 is
    // late by 2 of 15 ms.
    RunOfSums run(4);
    const std::int32_t all = run.group({0, 1, 2, 3});
    constexpr std::int64_t kSecond = 1'000'000, kEarly = -30 * kSecond;
    run.sum(all, {kEarly, kEarly, kEarly, -2000}, -1000);
    std::int64_t at = 0;
    for (std::int64_t step = 0; step < 20; ++step) {
        const std::int64_t skew = step == 4 ? 5 * kSecond : 0;
        for (const int rank : {0, 1, 2, 3})
            run.work(rank, at, at + 8000 + (rank == 1 ? 2000 : 0));
        run.sum(all, {at + 8000, at + 10'000, at + 8000 + skew, at + 8000}, at + 15'000 + skew);
        run.step(step, at, at + 15'000 + skew);
        at += 15'000 + skew;
    }
    const sim::Recovered recovered = run.recovered();
    ASSERT_EQ(recovered.steps.usual().size(), 19U);
    const sim::BusyTime usual = sim::usualStepsOf(recovered, 2);
    EXPECT_TRUE(usual.holds(kBeginOfSums + 50'000 * kMicro));
    EXPECT_FALSE(usual.holds(kBeginOfSums + kSecond * kMicro)) << "in step 4";
    const sim::RunAnswers answers = sim::answersOf(recovered);
    EXPECT_EQ(answers.arrivals.straggler, 1) << answers.arrivals.text;
    EXPECT_THAT(answers.arrivals.text, testing::HasSubstr("rank 1 comes last in 19 of 19 collectives and causes 100 %"));
    EXPECT_EQ(answers.arrivals.causedNs, 19 * 3 * 2000 * kMicro);
    EXPECT_EQ(answers.arrivals.ranks[0].waitedNs, 19 * 2000 * kMicro);
    EXPECT_EQ(answers.arrivals.list.size(), 21U) << "what is drawn of other steps stays";
    const auto late = std::find_if(answers.findings.begin(), answers.findings.end(),
                                   [](const sim::RunFinding& finding) { return finding.kind == "late-rank"; });
    ASSERT_NE(late, answers.findings.end());
    EXPECT_NEAR(late->seconds, 2e-3, 1e-9) << "a step";
    std::int64_t ofAxes = 0;
    for (const auto& [axis, waits] : answers.arrivals.byAxis)
        ofAxes += waits.waitedNs;
    EXPECT_EQ(ofAxes, answers.arrivals.causedNs);
}

TEST(Arrivals, OfGroupsOfWhichSomeAreNotRecordedSaySo)
{
    // Both recorded ranks wait 10 of 15 ms for one of the two that are not; rank 1 comes 0.2 ms after rank 0.
    RunOfSums run(4);
    const std::int32_t all = run.group({0, 1, 2, 3});
    for (std::int64_t step = 0; step < 6; ++step) {
        const std::int64_t at = step * 15'000;
        for (const int rank : {0, 1, 2, 3})
            run.work(rank, at, at + 5000 + (rank == 1 ? 200 : 0));
        run.sum(all, {at + 5000, at + 5200, at + 5000, at + 14'900}, at + 15'000);
        run.step(step, at, at + 15'000);
    }
    EXPECT_THAT(sim::arrivalsOf(run.recovered()).text, testing::Not(testing::HasSubstr("recorded")));
    run.leaveOut(2);
    const sim::Arrivals arrivals = sim::arrivalsOf(run.recovered());
    EXPECT_THAT(arrivals.text, testing::HasSubstr("causes 100 % of what the recorded ranks wait for each other in collectives, "
                                                  "1.20 ms of their time and 1.0 % of what they spend in these"));
    EXPECT_EQ(arrivals.straggler, -1);
}

TEST(Arrivals, OfAnyRunCostNoRankMoreThanItsTime)
{
    std::mt19937 random(29);
    const auto upTo = [&random](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
    std::size_t overlapping = 0;
    for (int trial = 0; trial < 60; ++trial) {
        const int ranks = 2 + upTo(4);
        RunOfSums run(ranks);
        std::vector<std::vector<int>> members;
        for (int g = 0; g < 3; ++g) {
            std::vector<int> of(static_cast<std::size_t>(ranks));
            std::iota(of.begin(), of.end(), 0);
            std::shuffle(of.begin(), of.end(), random);
            of.resize(static_cast<std::size_t>(2 + upTo(ranks - 2)));
            std::sort(of.begin(), of.end());
            run.group(of);
            members.push_back(std::move(of));
        }
        constexpr std::int64_t kLast = 4000;
        for (int rank = 0; rank < ranks; ++rank)
            run.work(rank, 0, kLast);
        std::vector<std::int64_t> from(3, 1);
        for (std::int64_t at = 1; at < kLast - 1500; at += 1 + upTo(150)) {
            if (upTo(3) == 0) {
                const int sender = upTo(ranks - 1), receiver = (sender + 1 + upTo(ranks - 2)) % ranks;
                const std::int64_t sent = at + upTo(300), asked = at + upTo(300);
                run.message(sender, receiver, sent, asked, std::max(sent, asked) + 1 + upTo(20));
                continue;
            }
            const auto g = static_cast<std::size_t>(upTo(2));
            if (from[g] > kLast - 1500)
                continue;
            std::vector<std::int64_t> starts; // in flight at once, in one order
            for (std::size_t i = 0; i < members[g].size(); ++i)
                starts.push_back(std::max(at, from[g]) + upTo(upTo(4) == 0 ? 900 : 60));
            from[g] = *std::max_element(starts.begin(), starts.end()) - upTo(100);
            run.sum(static_cast<std::int32_t>(g), starts, *std::max_element(starts.begin(), starts.end()) + 1 + upTo(100));
        }
        const sim::Recovered recovered = run.recovered();
        const sim::Arrivals arrivals = sim::arrivalsOf(recovered);
        std::int64_t waited = 0, caused = 0, byAxis = 0, each = 0;
        for (const sim::RankArrivals& rank : arrivals.ranks) {
            EXPECT_LE(rank.waitedNs, kLast * kMicro) << trial;
            waited += rank.waitedNs;
            caused += rank.causedNs;
        }
        for (const auto& [axis, waits] : arrivals.byAxis)
            byAxis += waits.waitedNs;
        for (const sim::Arrival& arrival : arrivals.list) {
            each += std::accumulate(arrival.waitNs.begin(), arrival.waitNs.end(), std::int64_t{0});
            ASSERT_EQ(arrival.countedNs.size(), arrival.waitNs.size());
            for (std::size_t i = 0; i < arrival.waitNs.size(); ++i) {
                EXPECT_GE(arrival.countedNs[i], 0);
                EXPECT_LE(arrival.countedNs[i], arrival.waitNs[i]);
            }
        }
        EXPECT_EQ(caused, waited) << trial;
        EXPECT_EQ(byAxis, waited) << trial;
        EXPECT_EQ(arrivals.causedNs, waited) << trial;
        overlapping += each > waited ? 1 : 0;
        std::vector<double> waiting(static_cast<std::size_t>(ranks), 0);
        for (const auto& [of, series] : sim::MeasuredRun(recovered, false).collectives)
            for (std::size_t r = 0; r < series.size(); ++r)
                waiting[r] += std::accumulate(series[r].waiting.begin(), series[r].waiting.end(), 0.0);
        for (const double seconds : waiting)
            EXPECT_LE(seconds, kLast * 1e-6) << trial;
        const sim::Arrivals again = sim::arrivalsOf(recovered);
        for (std::size_t i = 0; i < arrivals.list.size(); ++i)
            EXPECT_EQ(again.list[i].root, arrivals.list[i].root) << trial;
    }
    EXPECT_GT(overlapping, 30U);
}

} // namespace
