#include "app/views/common/counter_levels.h"
#include "app/views/common/timeline_geometry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace app {
namespace {

TEST(TimeAxis, PixelsAndTimesGoBothWays)
{
    struct Row {
        double beginNs, endNs;
        float left, right;
        double atNs;
        float atX;
    };
    for (const Row& row : {Row{0, 1000, 100, 1100, 500, 600}, Row{0, 1e9, 0, 1000, 1e6, 1},
                           Row{5e8, 5e8 + 100, 10, 210, 5e8 + 25, 60}, Row{1e12, 1e12 + 50, 0, 2000, 1e12 + 50, 2000}}) {
        const TimeAxis axis{row.beginNs, row.endNs, row.left, row.right};
        EXPECT_FLOAT_EQ(axis.x(row.atNs), row.atX);
        EXPECT_NEAR(axis.ns(row.atX), row.atNs, axis.nsPerPixel() * 1e-3);
    }
}

TEST(TimeWindow, ZoomKeepsTheTimeUnderThePointer)
{
    std::mt19937 random(3);
    TimeWindow window = TimeWindow::all(4.9e9);
    for (int i = 0; i < 2000; ++i) {
        const double share = static_cast<double>(random() % 1001) / 1000;
        const double factor = std::pow(1.25, static_cast<double>(random() % 7) - 3);
        const double before = window.beginNs + share * window.span();
        const TimeWindow next = window.zoomed(factor, share);
        const double after = next.beginNs + share * next.span();
        const bool atAnEdge = next.beginNs <= 0 || next.endNs >= next.limitNs() - 1e-3;
        if (!atAnEdge) {
            ASSERT_NEAR(after, before, 1e-3) << i;
        }
        ASSERT_GE(next.beginNs, 0);
        ASSERT_LE(next.endNs, next.limitNs() + 1e-3);
        ASSERT_GE(next.span(), TimeWindow::kShortestNs * 0.999);
        window = next;
    }
}

TEST(TimeWindow, StopsAtBothEnds)
{
    const TimeWindow all = TimeWindow::all(1e6);
    EXPECT_TRUE(all.showsAll());
    EXPECT_EQ(all.zoomed(0.5, 0.3), all) << "nothing beyond all";
    EXPECT_EQ(all.moved(1e9), all);
    TimeWindow near = all;
    for (int i = 0; i < 100; ++i)
        near = near.zoomed(2, 0.7);
    EXPECT_DOUBLE_EQ(near.span(), TimeWindow::kShortestNs);
    EXPECT_DOUBLE_EQ(near.moved(-1e9).beginNs, 0);
    EXPECT_NEAR(near.moved(1e9).endNs, all.limitNs(), 1e-6);
    EXPECT_NEAR(near.moved(1e9).span(), near.span(), 1e-6) << "panning does not zoom";
    const TimeWindow framed = all.to(2e5, 3e5);
    EXPECT_DOUBLE_EQ(framed.beginNs, 2e5);
    EXPECT_DOUBLE_EQ(framed.endNs, 3e5);
}

TEST(Ticks, AreRoundAndApart)
{
    for (double span = 60; span < 1e13; span *= 1.7) {
        const TimeAxis axis{span * 3.3, span * 4.3, 0, 1000};
        const std::vector<Tick> marks = ticks(axis, 90);
        float last = -1e9F;
        int majors = 0;
        for (const Tick& tick : marks) {
            EXPECT_EQ(tick.major, !tick.label.empty());
            if (!tick.major)
                continue;
            ++majors;
            const float x = axis.x(static_cast<double>(tick.ns));
            EXPECT_GE(x - last, 89.0F) << span;
            last = x;
        }
        EXPECT_GE(majors, 3) << span;
        EXPECT_LE(marks.size(), 80U);
    }
}

TEST(Ticks, FarFromZeroAreNoMoreThanPixels)
{
    // 126e15 ns: four years, where a double no longer knows every nanosecond.
    EXPECT_LE(ticks({126e15, 126e15 + 100, 0, 1000}, 90).size(), 1001U);
    const TimeWindow window = TimeWindow::all(1.3e17).to(126e15, 126e15 + 100);
    EXPECT_GT(window.span(), 1000 * 16.0) << "a number for every pixel";
    EXPECT_LE(ticks({window.beginNs, window.endNs, 0, 1000}, 90).size(), 1001U);
}

TEST(Ticks, LabelsOfNeighboursDiffer)
{
    for (double span = 60; span < 1e11; span *= 2.3) {
        std::vector<std::string> labels;
        for (const Tick& tick : ticks({4e9, 4e9 + span, 0, 1000}, 90))
            if (tick.major)
                labels.push_back(tick.label);
        EXPECT_EQ(std::adjacent_find(labels.begin(), labels.end()), labels.end()) << span << " " << labels.front();
    }
    EXPECT_EQ(timeText(0, 1, 1), "0");
    EXPECT_EQ(timeText(260e3, 1e7, 7.52e9), "260 µs") << "not 0.00 s";
    EXPECT_EQ(timeText(6e6, 1e7, 7.52e9), "0.01 s");
    EXPECT_EQ(timeText(363.5e6, 5e5, 4e8), "363.5 ms");
    EXPECT_EQ(timeText(4e9, 100, 4e9), "4.0000000 s");
    EXPECT_EQ(timeText(2e9, 1e9, 5e9), "2 s");
}

TEST(Rows, FitWithoutScrollingWhileFourteenPixelsAreLeft)
{
    for (int rows = 1; rows <= 64; ++rows) {
        const std::vector<RowNeed> needs(static_cast<std::size_t>(rows), RowNeed{1, true});
        const RowStack stack = stackRows(needs, static_cast<float>(rows) * 14);
        EXPECT_LE(stack.height, static_cast<float>(rows) * 14) << rows;
        EXPECT_EQ(stackRows(needs, static_cast<float>(rows) * 9).height, static_cast<float>(rows) * 14) << "then they scroll";
    }
}

TEST(Rows, LieBelowEachOtherAndAreFoundAgain)
{
    for (const float height : {40.0F, 300.0F, 900.0F})
        for (const int lanes : {1, 5}) {
            const RowStack stack = stackRows(std::vector<RowNeed>(12, RowNeed{lanes, true}), height);
            for (std::size_t i = 0; i < stack.rows.size(); ++i) {
                const RowPlace& row = stack.rows[i];
                EXPECT_GE(row.bottom, row.lanesBottom(lanes));
                EXPECT_GE(row.top, i > 0 ? stack.rows[i - 1].bottom : 0.0F);
                EXPECT_EQ(stack.rowAt((row.top + row.bottom) / 2), static_cast<int>(i));
            }
            EXPECT_EQ(stack.rowAt(-1), -1);
            EXPECT_EQ(stack.rowAt(stack.height + 1), -1);
        }
}

TEST(Rows, MemoryIsShownWhereThereIsRoom)
{
    EXPECT_GT(stackRows(std::vector<RowNeed>(4, RowNeed{1, true}), 300).rows[0].sparklineHeight, 0);
    EXPECT_EQ(stackRows(std::vector<RowNeed>(4, RowNeed{1, false}), 300).rows[0].sparklineHeight, 0);
    EXPECT_EQ(stackRows(std::vector<RowNeed>(64, RowNeed{1, true}), 900).rows[0].sparklineHeight, 0);
}

TEST(Frame, PartsDoNotOverlapAndStayInside)
{
    for (const Rect area : {Rect{0, 0, 1200, 500}, Rect{30, 40, 330, 180}, Rect{0, 0, 200, 140}}) {
        const TimelineFrame f(area);
        EXPECT_LE(f.header.bottom, f.ruler.top);
        EXPECT_LE(f.ruler.bottom, f.rows.top);
        EXPECT_LE(f.rows.bottom, f.overview.top);
        EXPECT_LE(f.overview.bottom, area.bottom);
        EXPECT_LT(f.gutter.right, f.rows.left);
        EXPECT_LE(f.rows.right, f.scroll.left);
        EXPECT_GE(f.gutter.left, area.left);
    }
}

TEST(CounterLevels, HighestIsWhatLookingAtAllPointsFinds)
{
    std::mt19937 random(11);
    sim::Counter counter;
    std::int64_t time = 0;
    for (int i = 0; i < 5000; ++i) {
        counter.timeNs.push_back(time);
        counter.value.push_back(static_cast<std::int64_t>(random() % 1000));
        time += static_cast<std::int64_t>(random() % 5); // some at the same time
    }
    const CounterLevels levels(counter);
    EXPECT_EQ(levels.peak(), *std::max_element(counter.value.begin(), counter.value.end()));
    for (int i = 0; i < 2000; ++i) {
        const auto begin = static_cast<std::int64_t>(random() % static_cast<unsigned>(time));
        const auto end = begin + 1 + static_cast<std::int64_t>(random() % (i % 3 == 0 ? 9000U : 20U));
        std::int64_t expected = 0;
        for (std::size_t p = 0; p < counter.timeNs.size(); ++p) {
            const std::int64_t until = p + 1 < counter.timeNs.size() ? counter.timeNs[p + 1] : time + 10000;
            const bool holds = counter.timeNs[p] < end && until > begin;
            const bool instant = counter.timeNs[p] >= begin && counter.timeNs[p] < end;
            if (holds || instant)
                expected = std::max(expected, counter.value[p]);
        }
        ASSERT_EQ(levels.highest(begin, end), expected) << begin << " " << end;
    }
    EXPECT_EQ(CounterLevels(sim::Counter{}).highest(0, 100), 0);

    for (int round = 0; round < 50; ++round) {
        std::vector<std::int64_t> edges{static_cast<std::int64_t>(random() % 3000) - 500};
        for (int i = 0; i < 100; ++i)
            edges.push_back(edges.back() + static_cast<std::int64_t>(random() % (round % 2 == 0 ? 400U : 6U)));
        const std::vector<std::int64_t> highest = levels.highestBetween(edges);
        ASSERT_EQ(highest.size() + 1, edges.size());
        for (std::size_t i = 0; i < highest.size(); ++i)
            ASSERT_EQ(highest[i], levels.highest(edges[i], edges[i + 1])) << edges[i] << " " << edges[i + 1];
    }
}

} // namespace
} // namespace app
