#include "app/session/view_state.h"
#include "tests/app/session/session_fixtures.h"

#include <gtest/gtest.h>

#include <random>

namespace app {
namespace {

using namespace test;

ViewState randomState(std::mt19937& random, int world)
{
    const auto upTo = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
    ViewState state;
    if (upTo(1))
        state.pictures = {"timeline", "grid"};
    if (upTo(1))
        state.lens = "memory";
    for (int rank = 0; rank < world; ++rank)
        if (upTo(3) == 0)
            state.ranks.push_back(rank);
    if (!state.ranks.empty())
        state.rank = state.ranks[static_cast<std::size_t>(upTo(static_cast<int>(state.ranks.size()) - 1))];
    if (upTo(1))
        state.range = TimeRange{upTo(1000), 1001 + upTo(1'000'000)};
    if (upTo(1))
        state.timeline.visible = TimeRange{-upTo(1000), 1 + upTo(1'000'000)};
    for (int number = 1; upTo(2) != 0; ++number) {
        const std::int64_t begin = upTo(1'000'000);
        state.timeline.marks.push_back({number, {begin, begin + upTo(1) * upTo(1000)}, upTo(1) ? "here" : ""});
    }
    state.timeline.rows.filter = static_cast<RowFilter>(upTo(1));
    state.timeline.rows.sort = static_cast<RowSort>(upTo(2));
    state.timeline.rows.grouping = static_cast<RowGrouping>(upTo(kRowGroupingCount - 1));
    for (int i = upTo(3); i > 0; --i)
        state.timeline.rows.pinnedRanks.push_back(upTo(world - 1));
    if (upTo(1))
        state.timeline.rows.turnedOver = {"pp 0", "pp 3"};
    state.timeline.criticalPath = upTo(1) != 0;
    state.arrangement.physical = upTo(1) != 0;
    if (upTo(1))
        state.arrangement.seats = {{"tp", AxisPlace::columns}, {"pp", AxisPlace::rows}, {"dp", AxisPlace::boxes}};
    state.cursorNs = upTo(1'000'000);
    state.classes = static_cast<ClassMask>(1 + upTo(kAllClasses - 1));
    state.kernels = upTo(1) != 0;
    return state;
}

TEST(ViewState, ComesBackAsItWas)
{
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        const ViewState state = randomState(random, 16);
        const std::string json = viewStateJson(state);
        const ReadViewState read = readViewState(json, 16);
        EXPECT_TRUE(read.warnings.empty()) << json;
        EXPECT_EQ(read.state, state) << json;
    }
}

TEST(ViewState, WhatIsAsUsualIsNotWritten)
{
    EXPECT_EQ(viewStateJson({}), "{}");
    EXPECT_EQ(readViewState("{}", 16).state, ViewState{});
}

TEST(ViewState, KeysOfOthersStay)
{
    const std::string json = viewStateJson({.cursorNs = 7}, R"({"cursor_ns": 3, "theirs": {"a": [1, 2]}, "ranks": [1]})");
    EXPECT_EQ(json, R"({"cursor_ns":7,"theirs":{"a":[1,2]}})");
    EXPECT_TRUE(readViewState(json, 16).warnings.empty()) << "what is not known is nobody's mistake";
    EXPECT_EQ(viewStateJson({}, "[1, 2"), "{}");
}

TEST(ViewState, WhatCannotBeUsedIsToldAndTheRestCounts)
{
    const auto [state, warnings] = readViewState(
        R"({"pictures": ["grid", 3], "lens": 4, "ranks": [1, 99, -1, "x"], "rank": 1e9, "range_ns": [5, 5], "window_ns": "all",
            "cursor_ns": -4, "classes": ["forward", "nonsense"], "detail": "atoms", "marks": [{"begin_ns": 9, "end_ns": 3}],
            "sort": "colour", "pinned": [2, 77], "axes": [["tp", "sideways"], ["pp", "rows"]], "physical": 1})",
        16);
    EXPECT_EQ(state.pictures, std::vector<std::string>{"grid"});
    EXPECT_EQ(state.ranks, std::vector<int>{1});
    EXPECT_EQ(state.classes, maskOf(sim::OpClass::forward));
    EXPECT_FALSE(state.range);
    EXPECT_FALSE(state.timeline.visible);
    EXPECT_TRUE(state.timeline.marks.empty());
    EXPECT_EQ(state.timeline.rows.pinnedRanks, std::vector<int>{2});
    EXPECT_EQ(state.arrangement, (GridArrangement{.physical = false, .seats = {{"pp", AxisPlace::rows}}}));
    EXPECT_EQ(state.cursorNs, 0);
    EXPECT_FALSE(state.kernels);
    std::vector<std::string> pointers;
    for (const sim::Problem& warning : warnings) {
        EXPECT_EQ(warning.severity, sim::Severity::warning);
        pointers.push_back(warning.pointer);
    }
    for (const char* expected :
         {"/view/pictures/1", "/view/lens", "/view/ranks/1", "/view/ranks/2", "/view/ranks/3", "/view/rank", "/view/range_ns",
          "/view/window_ns", "/view/cursor_ns", "/view/classes", "/view/detail", "/view/marks/0", "/view/sort", "/view/pinned/1",
          "/view/axes/0", "/view/physical"})
        EXPECT_EQ(std::count(pointers.begin(), pointers.end(), expected), 1) << expected;
    EXPECT_EQ(pointers.size(), 16U);
}

TEST(ViewState, WarnsInShortAndTakesNoTimeThatSumsOverflowWith)
{
    const auto [state, warnings] = readViewState(
        R"({"lens": [")" + std::string(5000, 'x') + R"("], "range_ns": [-9223372036854775808, 9223372036854775807]})", 16);
    EXPECT_FALSE(state.range);
    ASSERT_EQ(warnings.size(), 2U);
    EXPECT_LT(warnings.front().text().size(), 200U);
    EXPECT_FALSE(readViewState(R"({"range_ns": [18446744073709551615, 5]})", 16).state.range) << "it is no -1";
}

TEST(ViewState, ThousandsOfMarksAndProblemsAreMoreThanAreTaken)
{
    std::string marks, ranks;
    for (int i = 0; i < 60'000; ++i) {
        marks += (i == 0 ? "" : ",") + ("{\"begin_ns\":" + std::to_string(i) + "}");
        ranks += i == 0 ? "-1" : ",-1";
    }
    const ReadViewState marked = readViewState("{\"marks\":[" + marks + "]}", 16);
    EXPECT_EQ(marked.state.timeline.marks.size(), 1000U);
    ASSERT_EQ(marked.warnings.size(), 1U);
    EXPECT_EQ(marked.warnings.front().message, "has 60000 marks; those after the first 1000 are left out");
    const ReadViewState wrong = readViewState("{\"ranks\":[" + ranks + "]}", 16);
    ASSERT_EQ(wrong.warnings.size(), 1001U);
    EXPECT_EQ(wrong.warnings.back().message, "there are 59000 more problems than the 1000 listed");
}

TEST(ViewState, AnythingCanStandInTheFile)
{
    for (const char* json : {"", "null", "[]", "3", "\"grid\"", "{", "{\"ranks\": {}}", "{\"range_ns\": [1, 2, 3]}",
                             "{\"range_ns\": [1.5, 2]}", "{\"cursor_ns\": 99999999999999999999}", "{\"classes\": []}"})
        EXPECT_NO_THROW(readViewState(json, 16)) << json;
    EXPECT_EQ(readViewState("{\"classes\": []}", 16).state.classes, kAllClasses);
}

TEST(ViewState, ADocumentKeepsItAndTheScenarioIsTheSame)
{
    sim::ScenarioDocument with = document(kSixteen);
    with.set("/view", viewStateJson({.ranks = {3, 5}, .rank = 5}));
    EXPECT_EQ(scenario(with), scenario(document(kSixteen)));
    const auto again = sim::ScenarioDocument::parse(with.text());
    EXPECT_EQ(readViewState(*again.get("/view"), 16).state.ranks, (std::vector<int>{3, 5}));
}

} // namespace
} // namespace app
