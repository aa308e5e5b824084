#include "sim/engine/event_queue.h"

#include "sim/engine/few.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

TEST(EventQueue, HandsOutAllOfAnInstantTogetherAndInstantsInOrder)
{
    std::mt19937 random(61);
    sim::EventQueue<int> queue;
    std::map<std::int64_t, std::multiset<int>> expected;
    std::vector<int> taken;
    std::int64_t now = 0;
    for (int i = 0; i < 20'000; ++i) {
        if (expected.empty() || random() % 3 != 0) {
            // Few instants, so that many meet; some far apart, so that instants that look alike to the queue meet too.
            const std::int64_t ns = now + static_cast<std::int64_t>(random() % 5) * (random() % 2 == 0 ? 1 : 4096);
            queue.push(ns, i);
            expected[ns].insert(i);
            continue;
        }
        ASSERT_FALSE(queue.empty());
        now = queue.nextNs();
        ASSERT_EQ(now, expected.begin()->first);
        queue.takeNext(taken);
        EXPECT_EQ(std::multiset<int>(taken.begin(), taken.end()), expected.begin()->second);
        expected.erase(expected.begin());
    }
    EXPECT_EQ(queue.empty(), expected.empty());
}

TEST(EventQueue, KeepsTheOrderInWhichEventsOfAnInstantCame)
{
    sim::EventQueue<int> queue;
    std::vector<int> taken;
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 100; ++i)
            queue.push(1000 * round + 7, i);
        queue.takeNext(taken);
        ASSERT_EQ(taken.size(), 100U);
        for (int i = 0; i < 100; ++i)
            EXPECT_EQ(taken[static_cast<std::size_t>(i)], i);
    }
}

TEST(EventQueue, KeepsItAcrossTheBucketsThatAnInstantIsSpreadOver)
{
    // Two instants that look alike to the queue put each other's bucket away every time.
    sim::EventQueue<int> queue;
    for (int i = 0; i < 20; ++i) {
        queue.push(7, i);
        queue.push(7 + 64 * 64, 100 + i);
    }
    std::vector<int> taken;
    for (const int first : {0, 100}) {
        queue.takeNext(taken);
        ASSERT_EQ(taken.size(), 20U);
        for (int i = 0; i < 20; ++i)
            EXPECT_EQ(taken[static_cast<std::size_t>(i)], first + i);
    }
    EXPECT_TRUE(queue.empty());
}

TEST(Few, HoldsManyToo)
{
    std::mt19937 random(62);
    sim::Few<int, 3> few;
    std::vector<int> expected;
    for (int i = 0; i < 5000; ++i) {
        if (expected.empty() || random() % 2 == 0) {
            few.push_back(i);
            expected.push_back(i);
        } else { // as ports forget a transfer
            const std::size_t at = random() % expected.size();
            *(few.begin() + at) = few.back();
            few.pop_back();
            expected[at] = expected.back();
            expected.pop_back();
        }
        ASSERT_EQ(std::vector<int>(few.begin(), few.end()), expected);
    }
    few.assign(expected.begin(), expected.end());
    EXPECT_EQ(std::vector<int>(few.begin(), few.end()), expected);
    few.clear();
    EXPECT_EQ(few.begin(), few.end());
}
