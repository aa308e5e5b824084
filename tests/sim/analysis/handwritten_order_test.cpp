// What the text of the hand-written schedule in the gallery promises: which edits of its lines run, and which hang.
#include "sim/error.h"
#include "sim/schedule/check.h"
#include "sim/schedule/csv.h"
#include "tests/support/gallery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

using namespace sim;

namespace {

using Lines = std::vector<std::vector<std::string>>;

Lines handwritten()
{
    const test::Opened opened = test::openNumber("20");
    Lines lines;
    for (const std::string& line : opened.simulation->scenario().schedule.actions) {
        auto& actions = lines.emplace_back();
        std::istringstream cells(line);
        for (std::string action; std::getline(cells, action, ',');)
            actions.push_back(action);
    }
    return lines;
}

Lines swapped(Lines lines, std::size_t rank, const std::string& a, const std::string& b)
{
    auto& line = lines[rank];
    std::iter_swap(std::find(line.begin(), line.end(), a), std::find(line.begin(), line.end(), b));
    return lines;
}

std::vector<std::string> joined(const Lines& lines)
{
    std::vector<std::string> out;
    for (const auto& line : lines) {
        std::string text;
        for (const std::string& action : line)
            text += (text.empty() ? "" : ",") + action;
        out.push_back(text);
    }
    return out;
}

/// The step as simulated, or why there is none.
std::string whatHappens(const Lines& lines, double* seconds = nullptr)
{
    Scenario scenario = test::openNumber("20").simulation->scenario();
    scenario.schedule.actions = joined(lines);
    try {
        const double step = simulate(scenario)->metrics().stepTimeSeconds;
        if (seconds != nullptr)
            *seconds = step;
        return "runs";
    } catch (const Error& error) {
        return error.what();
    }
}

bool hangs(const Lines& lines)
{
    return !deadlockCycle(parseScheduleCsv(joined(lines))).empty();
}

} // namespace

TEST(HandwrittenOrder, RunsWhereTwoNeighbouringForwardsAreSwapped)
{
    double before = 0, after = 0;
    EXPECT_EQ(whatHappens(handwritten(), &before), "runs");
    for (const auto& [rank, a, b] : {std::tuple{0U, "0F1", "0F2"}, {0U, "0F0", "0F1"}, {1U, "1F1", "1F2"}}) {
        const Lines lines = swapped(handwritten(), rank, a, b);
        EXPECT_FALSE(hangs(lines));
        EXPECT_EQ(whatHappens(lines, &after), "runs") << a;
        EXPECT_GE(after, before) << a;
    }
}

TEST(HandwrittenOrder, HangsWhereABackwardIsPutBeforeAForwardThatItsGradientNeeds)
{
    // 0I0 waits for 1I0, which rank 1 runs after 1F1; that waits for 0F1, which rank 0 now runs after 0I0.
    const Lines crossed = swapped(handwritten(), 0, "0F1", "0I0");
    EXPECT_TRUE(hangs(crossed));
    EXPECT_EQ(whatHappens(crossed),
              "/schedule/actions: deadlock: rank 0 waits at 0I0 for 1I0 of rank 1, which waits at 1F1 for 0F1 of rank 0");
    EXPECT_TRUE(hangs(swapped(handwritten(), 0, "0F2", "0I0")));
    EXPECT_FALSE(hangs(swapped(handwritten(), 0, "0F3", "0I0"))) << "one place earlier: rank 1 has all it needs";
    EXPECT_TRUE(hangs(swapped(handwritten(), 0, "0F1", "0F4"))) << "forwards far apart: the same circle";
}

TEST(HandwrittenOrder, GetsItsBubbleBackWhereEveryWeightGradientFollowsItsInputGradient)
{
    Lines lines;
    for (const auto& line : handwritten()) {
        auto& eager = lines.emplace_back();
        for (const std::string& action : line)
            if (action.find('W') == std::string::npos) {
                eager.push_back(action);
                if (const auto letter = action.find('I'); letter != std::string::npos)
                    eager.push_back(std::string(action).replace(letter, 1, "W"));
            }
    }
    double before = 0, after = 0;
    EXPECT_EQ(whatHappens(handwritten(), &before), "runs");
    EXPECT_EQ(whatHappens(lines, &after), "runs");
    EXPECT_GT(after, 1.08 * before);
}
