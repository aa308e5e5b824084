// What the table of ops says of a group, and the bars of its durations.
#include "app/views/common/op_columns.h"

#include <gtest/gtest.h>

#include <numeric>

namespace app {
namespace {

sim::OpTable handWritten()
{
    sim::OpTable table{.beginNs = 0, .endNs = 1'000'000, .ranks = 2, .ofKernels = true};
    sim::OpGroup gemm{
        .name = "attn, first", .opClass = sim::OpClass::forward, .count = 4, .totalNs = 400'000, .wholeNs = 400'000};
    gemm.shortestNs = 64'000;
    gemm.longestNs = 128'000;
    gemm.flops = 4e10;
    gemm.computingNs = 400'000;
    for (const std::int64_t ns : {64'000, 64'000, 100'000, 128'000})
        gemm.durations.add(ns, 1);
    sim::OpGroup reduce{.name = "reduce", .opClass = sim::OpClass::tpComm, .count = 1, .totalNs = 8000, .wholeNs = 8000};
    reduce.bytes = 1 << 20;
    reduce.durations.add(8000, 1);
    table.all.durations.add(gemm.durations);
    table.all.durations.add(reduce.durations);
    table.groups = {gemm, reduce};
    return table;
}

TEST(OpColumns, SayWhatThereIsAndNothingWhereThereIsNone)
{
    const sim::OpTable table = handWritten();
    const OpUnits units = opUnits(table);
    const auto cell = [&](std::size_t group, OpColumn column) { return opCell(table, table.groups[group], column, units); };
    EXPECT_EQ(cell(0, OpColumn::count), "4");
    EXPECT_EQ(cell(0, OpColumn::total), "400");
    EXPECT_EQ(cell(0, OpColumn::share), "20.0"); // of two ranks for a millisecond
    EXPECT_EQ(cell(0, OpColumn::mean), "100");
    EXPECT_EQ(cell(0, OpColumn::longest), "128");
    EXPECT_EQ(cell(0, OpColumn::flopRate), "100");
    EXPECT_EQ(cell(0, OpColumn::bytes), "");
    EXPECT_EQ(cell(1, OpColumn::bytes), "1.00");
    EXPECT_EQ(cell(1, OpColumn::flopRate), "");
}

TEST(OpColumns, AUnitIsSaidOnceOverItsColumnAndFitsItsNumbers)
{
    sim::OpTable table = handWritten();
    const auto heading = [&](OpColumn column) {
        return opHeading(opColumns()[static_cast<std::size_t>(column)].title, column, opUnits(table));
    };
    EXPECT_EQ(heading(OpColumn::count), "Count");
    EXPECT_EQ(heading(OpColumn::total), "Total\n(µs)");
    EXPECT_EQ(heading(OpColumn::share), "Share\n(%)");
    EXPECT_EQ(heading(OpColumn::bytes), "Bytes\n(MiB)");
    EXPECT_EQ(heading(OpColumn::flopRate), "TFLOP/s");
    EXPECT_EQ(opHeading("Total", OpColumn::total, {}), "Total") << "of nothing";
    table.groups[0].totalNs = 2.5e9; // beside 8 µs: in milliseconds both can be read
    EXPECT_EQ(heading(OpColumn::total), "Total\n(ms)");
    const OpUnits units = opUnits(table);
    EXPECT_EQ(opCell(table, table.groups[0], OpColumn::total, units), "2,500");
    EXPECT_EQ(opCell(table, table.groups[1], OpColumn::total, units), "0.008");
}

TEST(OpColumns, BarsOfAllRowsStandOnOneAxis)
{
    const sim::OpTable table = handWritten();
    for (const int most : {1, 3, 7, 100}) {
        const DurationBars gemm = durationBars(table, table.groups[0], most), reduce = durationBars(table, table.groups[1], most);
        EXPECT_LE(gemm.heights.size(), static_cast<std::size_t>(most));
        EXPECT_EQ(gemm.heights.size(), reduce.heights.size());
        EXPECT_EQ(gemm.beginNs, reduce.beginNs);
        EXPECT_LE(gemm.beginNs, 8000);
        EXPECT_GT(gemm.endNs, 128'000);
        EXPECT_DOUBLE_EQ(*std::max_element(gemm.heights.begin(), gemm.heights.end()), 1);
    }
    const DurationBars fine = durationBars(table, table.groups[0], 100);
    EXPECT_DOUBLE_EQ(std::accumulate(fine.heights.begin(), fine.heights.end(), 0.0), 2); // 2 of one bucket, 1 and 1
    EXPECT_DOUBLE_EQ(durationBars(table, table.groups[1], 100).heights.front(), 1);
    EXPECT_EQ(fine.heights.front(), 0);
    EXPECT_EQ(fine.highest, 2);
    EXPECT_EQ(durationBars(table, table.groups[0], 1).highest, 4);
}

TEST(OpColumns, TheTableHasExactNumbers)
{
    const Table table = tableOf(handWritten());
    ASSERT_EQ(table.rows.size(), 2U);
    EXPECT_EQ(table.header.size(), table.rows[0].size());
    EXPECT_EQ(table.rows[0][0], "attn, first");
    EXPECT_EQ(table.rows[0][2], "400000");
    EXPECT_EQ(table.rows[1][7], "1048576");
}

} // namespace
} // namespace app
