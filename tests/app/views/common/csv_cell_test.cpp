#include "sim/text/csv_cell.h"

#include "app/views/common/table.h"

#include <gtest/gtest.h>

using namespace sim;

TEST(CsvCell, IsQuotedWhereItHasTo)
{
    EXPECT_EQ(csvCell("plain name"), "plain name");
    EXPECT_EQ(csvCell("a,b"), "\"a,b\"");
    EXPECT_EQ(csvCell("say \"b\""), "\"say \"\"b\"\"\"");
    EXPECT_EQ(csvCell("two\rlines"), "\"two\rlines\"");
    EXPECT_EQ(csvCell("=1+1"), "=1+1");
}

TEST(CsvCell, IsNoFormulaWhoeverNamedIt)
{
    for (const char* formula :
         {"=cmd|'/c calc'!A1", "@SUM(A1)", "+1+1", "-2+3", "+1+cmd", "+A1", "-1 ms(2)", "+-1", "--1", "\tTAB=1", "'=1"})
        EXPECT_EQ(guardedCsvCell(formula).substr(0, 2), "\"'") << formula;
    for (const char* plain : {"-2", "-1.5e-3", "+5", "+1.2 ms", "+3.4 %", "-12 µs", "+8 GB/s", "all_reduce", "", "a=b", "tp 8"})
        EXPECT_EQ(guardedCsvCell(plain), csvCell(plain)) << plain;
    const app::Table table{.header = {"name", "time (ms)"}, .rows = {{"=HYPERLINK(\"x\")", "-2.5"}}};
    EXPECT_EQ(app::csvText(table), "name,time (ms)\r\n\"'=HYPERLINK(\"\"x\"\")\",-2.5\r\n");
    EXPECT_EQ(app::tabbedText(table), "name\ttime (ms)\n'=HYPERLINK(\"x\")\t-2.5\n");
}
