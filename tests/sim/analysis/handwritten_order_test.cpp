// What the text of the hand-written schedule in the gallery promises: which edits of its lines run, and which hang.
#include "sim/error.h"
#include "sim/schedule/check.h"
#include "sim/schedule/text/csv.h"
#include "tests/support/gallery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

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

/// Lines may stand in any order of ranks: the embedding that first and last stage share is then exchanged between other ranks.
TEST(HandwrittenOrder, StagesMayLieOnAnyRank)
{
    const auto step = [](const std::string& actions) {
        auto document = ScenarioDocument::parse(
            R"({"format":"rankscope-scenario","version":1,"model":{"base":"gpt2"},"cluster":{"base":"dgx-a100","nodes":1},)"
            R"("layout":{"pp":3},"schedule":{"kind":"custom","actions":)" +
                actions + R"(},"training":{"global_batch_size":1}})",
            "test");
        const auto resolved = document.resolve(test::catalogue());
        EXPECT_TRUE(resolved.scenario);
        return simulate(*resolved.scenario);
    };
    const auto inOrder = step(R"(["0F0,0B0","1F0,1B0","2F0,2B0"])");
    const std::array<std::string, 3> lines = {R"("0F0,0B0")", R"("1F0,1B0")", R"("2F0,2B0")"};
    std::array<std::size_t, 3> place = {0, 1, 2};
    do {
        const auto any = step("[" + lines[place[0]] + "," + lines[place[1]] + "," + lines[place[2]] + "]");
        EXPECT_NEAR(any->metrics().stepTimeSeconds, inOrder->metrics().stepTimeSeconds, 1e-9);
        for (int rank = 0; rank < 3; ++rank) {
            const bool holdsEnd = place[static_cast<std::size_t>(rank)] != 1;
            EXPECT_EQ(any->mesh().groupOf(ProcessGroup::embd, rank) >= 0, holdsEnd);
        }
    } while (std::next_permutation(place.begin(), place.end()));
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
