#include "app/views/tables.h"
#include "tests/support/gallery.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace app {
namespace {

using namespace test;

class TablesTest : public testing::Test {
protected:
    Table make(const char* name) const { return findTable(name)->make({*simulation, trace, selection}); }
    static std::size_t column(const Table& table, std::string_view header)
    {
        const auto found = std::find(table.header.begin(), table.header.end(), header);
        EXPECT_NE(found, table.header.end()) << header;
        return static_cast<std::size_t>(found - table.header.begin());
    }
    static double sum(const Table& table, std::string_view header)
    {
        const std::size_t at = column(table, header);
        return std::accumulate(table.rows.begin(), table.rows.end(), 0.0,
                               [&](double all, const auto& row) { return all + std::stod(row[at]); });
    }

    std::shared_ptr<const sim::Simulation> simulation = ::test::openNumber("09").simulation;
    sim::Trace trace = simulation->trace(sim::TraceDetail::actions);
    Selection selection;
};

/// What a reader of RFC 4180 makes of the text.
std::vector<std::vector<std::string>> parsed(const std::string& csv)
{
    std::vector<std::vector<std::string>> rows(1, {std::string()});
    bool quoted = false;
    for (std::size_t i = 0; i < csv.size(); ++i) {
        const char c = csv[i];
        if (quoted && c == '"' && i + 1 < csv.size() && csv[i + 1] == '"')
            rows.back().back() += csv[++i];
        else if (c == '"')
            quoted = !quoted;
        else if (c == ',' && !quoted)
            rows.back().emplace_back();
        else if (c == '\r' && !quoted && csv[i + 1] == '\n')
            rows.push_back({std::string()}), ++i;
        else
            rows.back().back() += c;
    }
    rows.pop_back(); // after the last line's end
    return rows;
}

TEST(Csv, WhateverACellHoldsComesBack)
{
    const Table table{{"a", "b, c"}, {{"plain", "with, comma"}, {"\"quoted\"", "two\r\nlines"}, {"", "µs → ≤"}}};
    const std::string text = csvText(table);
    EXPECT_TRUE(text.ends_with("\r\n"));
    auto expected = table.rows;
    expected.insert(expected.begin(), table.header);
    EXPECT_EQ(parsed(text), expected);
}

TEST(Csv, TabbedTextHasOneLineARow)
{
    EXPECT_EQ(tabbedText({{"a", "b"}, {{"1", "x\ty\nz"}}}), "a\tb\n1\tx y z\n");
}

TEST_F(TablesTest, EveryTableIsARectangleWithUnits)
{
    for (const TableInfo& info : tables()) {
        const Table table = make(info.name);
        EXPECT_FALSE(table.rows.empty()) << info.name;
        for (const auto& row : table.rows)
            EXPECT_EQ(row.size(), table.header.size()) << info.name;
        EXPECT_EQ(parsed(csvText(table)).size(), table.rows.size() + 1) << info.name;
    }
    EXPECT_EQ(findTable("nothing"), nullptr);
}

TEST_F(TablesTest, NumbersReadBackExactly)
{
    const Table table = make("metrics");
    const auto row = std::find_if(table.rows.begin(), table.rows.end(), [](const auto& r) { return r[0] == "step time"; });
    ASSERT_NE(row, table.rows.end());
    EXPECT_EQ(std::stod((*row)[1]), simulation->metrics().stepTimeSeconds);
    EXPECT_EQ((*row)[2], "s");
}

TEST_F(TablesTest, WhatMissesItsCapDoesNotFit)
{
    const auto fits = [this] {
        const Table table = make("metrics");
        const auto row = std::find_if(table.rows.begin(), table.rows.end(), [](const auto& r) { return r[0] == "fits"; });
        return row == table.rows.end() ? std::string("no row") : (*row)[1];
    };
    EXPECT_EQ(fits(), "true");
    simulation = ::test::openNumber("73", {"schedule.memory_cap_gib=3"}).simulation;
    EXPECT_TRUE(simulation->metrics().fits) << "its GPUs";
    EXPECT_EQ(fits(), "false");
}

TEST_F(TablesTest, MemoryCountsEveryRankOnceAndItsPartsAreTheWhole)
{
    const Table table = make("memory");
    EXPECT_EQ(sum(table, "ranks alike"), simulation->mesh().worldSize());
    const std::size_t total = column(table, "total (bytes)");
    for (const auto& row : table.rows) {
        double parts = 0;
        for (std::size_t c = column(table, "parameters (bytes)"); c < total; ++c)
            parts += std::stod(row[c]);
        EXPECT_EQ(parts, std::stod(row[total]));
    }
}

TEST_F(TablesTest, EachRankIsInOneGroupOfAKind)
{
    const Table table = make("groups");
    int tpGroups = 0;
    for (const auto& row : table.rows)
        tpGroups += row[0] == "tp";
    EXPECT_EQ(tpGroups, 8); // 16 ranks, two each
    const auto first = std::find_if(table.rows.begin(), table.rows.end(), [](const auto& r) { return r[0] == "tp"; });
    EXPECT_EQ((*first)[3], "0 1");
}

TEST_F(TablesTest, SpansFollowTheSelection)
{
    const Table all = make("spans");
    EXPECT_EQ(all.rows.size(), trace.spanCount());
    const std::size_t start = column(all, "start (ns)"), duration = column(all, "duration (ns)"), kind = column(all, "class");

    selection.range = TimeRange{trace.endNs / 4, trace.endNs / 2};
    const Table inRange = make("spans");
    EXPECT_LT(inRange.rows.size(), all.rows.size());
    EXPECT_FALSE(inRange.rows.empty());
    for (const auto& row : inRange.rows) {
        EXPECT_LT(std::stoll(row[start]), selection.range->endNs);
        EXPECT_GT(std::stoll(row[start]) + std::stoll(row[duration]), selection.range->beginNs);
    }

    selection.classes = maskOf(sim::OpClass::forward);
    for (const auto& row : make("spans").rows)
        EXPECT_EQ(row[kind], "forward");

    selection = {};
    selection.selectRank(simulation->representative(0));
    for (const auto& row : make("spans").rows)
        EXPECT_EQ(row[0], std::to_string(simulation->representative(0)));
}

} // namespace
} // namespace app
