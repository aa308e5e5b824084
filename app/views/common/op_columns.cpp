#include "app/views/common/op_columns.h"

#include "app/views/common/labels.h"
#include "sim/text/spoken_name.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

namespace app {
namespace {

constexpr std::array kOpColumns{
    OpColumnInfo{OpColumn::name, "Ops", "what they have in common"},
    OpColumnInfo{OpColumn::count, "Count", "how many, on all selected ranks together"},
    OpColumnInfo{OpColumn::total, "Total",
                 "their time inside the selected range, all selected ranks together; a collective's begins when its rank is "
                 "ready, and waiting "
                 "for the other members is in it"},
    OpColumnInfo{OpColumn::share, "Share",
                 "of the time of the selected ranks; streams run at once, so that shares may sum to more than 100 %"},
    OpColumnInfo{OpColumn::mean, "Mean", "how long one takes"},
    OpColumnInfo{OpColumn::longest, "Longest", "Enter or a double click goes to it"},
    OpColumnInfo{
        OpColumn::bytes, "Bytes",
        "of the tensors that move: once at each member of a collective, a message at both ends; what is sent, the traffic tells"},
    OpColumnInfo{OpColumn::flopRate, "FLOP/s", "while it computes, what is computed again counted too"},
    OpColumnInfo{OpColumn::durations, "Durations",
                 "how many take how long, on one logarithmic axis for all rows; left of the bars how many the highest one is"}};

constexpr std::array kTimeUnits{OpUnit{"ns", 1}, OpUnit{"µs", 1e3}, OpUnit{"ms", 1e6}, OpUnit{"s", 1e9}};
constexpr std::array kByteUnits{OpUnit{"B", 1}, OpUnit{"KiB", 0x1p10}, OpUnit{"MiB", 0x1p20}, OpUnit{"GiB", 0x1p30},
                                OpUnit{"TiB", 0x1p40}};
constexpr std::array kFlopRateUnits{OpUnit{"FLOP/s", 1}, OpUnit{"KFLOP/s", 1e3}, OpUnit{"MFLOP/s", 1e6}, OpUnit{"GFLOP/s", 1e9},
                                    OpUnit{"TFLOP/s", 1e12}};
constexpr std::array kPercentUnits{OpUnit{"%", 0.01}};

/// That numbers of a column may be in, smallest first; none where they are bare.
std::span<const OpUnit> unitsFor(OpColumn column)
{
    switch (column) {
    case OpColumn::total:
    case OpColumn::mean:
    case OpColumn::longest:
        return kTimeUnits;
    case OpColumn::share:
        return kPercentUnits;
    case OpColumn::bytes:
        return kByteUnits;
    case OpColumn::flopRate:
        return kFlopRateUnits;
    default:
        return {};
    }
}

/// Three digits; of small numbers what three decimals say.
std::string shortNumber(double value)
{
    constexpr double kLeast = 0.0005; // reads 0.001
    if (value >= 0.0995 || value == 0)
        return threeDigits(value);
    if (value < kLeast)
        return "<0.001";
    std::array<char, 16> out{};
    std::snprintf(out.data(), out.size(), "%.3f", value);
    return out.data();
}

/// The shortest that reads back as the same number, without an exponent.
std::string exact(double value)
{
    std::array<char, 400> out{};
    return {out.data(), std::to_chars(out.data(), out.data() + out.size(), value, std::chars_format::fixed).ptr};
}

/// Buckets of the whole table that hold something: [first, last].
std::pair<std::size_t, std::size_t> bucketsInUse(const sim::OpTable& table)
{
    const auto counts = table.all.durations.counts();
    const auto first = std::find_if(counts.begin(), counts.end(), [](std::int64_t count) { return count > 0; });
    return {static_cast<std::size_t>(first - counts.begin()), counts.empty() ? 0 : counts.size() - 1};
}

} // namespace

std::span<const OpColumnInfo> opColumns()
{
    return kOpColumns;
}

double opValue(const sim::OpTable& table, const sim::OpGroup& group, OpColumn column)
{
    switch (column) {
    case OpColumn::name:
        return 0;
    case OpColumn::count:
        return static_cast<double>(group.count);
    case OpColumn::total:
        return group.totalNs;
    case OpColumn::share:
        return table.share(group);
    case OpColumn::mean:
        return group.meanNs();
    case OpColumn::longest:
    case OpColumn::durations:
        return static_cast<double>(group.longestNs);
    case OpColumn::bytes:
        return group.bytes;
    case OpColumn::flopRate:
        return group.flopsPerSecond();
    }
    return 0;
}

OpUnits opUnits(const sim::OpTable& table)
{
    OpUnits out;
    for (const OpColumnInfo& info : opColumns()) {
        const auto units = unitsFor(info.column);
        double smallest = 0, largest = 0;
        for (const sim::OpGroup& group : table.groups)
            if (const double value = opValue(table, group, info.column); value > 0) {
                smallest = smallest > 0 ? std::min(smallest, value) : value;
                largest = std::max(largest, value);
            }
        // The largest unit that does not make the largest number a fraction; smaller ones while they tell the smallest.
        constexpr double kTold = 0.01, kLong = 1e5;
        std::size_t unit = units.empty() ? 0 : units.size() - 1;
        while (unit > 0 &&
               (largest < units[unit].size || (smallest < kTold * units[unit].size && largest < kLong * units[unit - 1].size)))
            --unit;
        out.push_back(units.empty() ? OpUnit{} : units[unit]);
    }
    return out;
}

std::string opHeading(const std::string& title, OpColumn column, const OpUnits& units)
{
    const auto at = static_cast<std::size_t>(column);
    const std::string unit = at < units.size() ? units[at].name : "";
    return unit.ends_with(title) ? unit : unit.empty() ? title : title + "\n(" + unit + ")";
}

std::string opCell(const sim::OpTable& table, const sim::OpGroup& group, OpColumn column, const OpUnits& units)
{
    const double value = opValue(table, group, column) / units[static_cast<std::size_t>(column)].size;
    switch (column) {
    case OpColumn::name:
        return sim::spokenPass(group.name);
    case OpColumn::count:
        return countText(group.count);
    case OpColumn::durations:
        return {};
    case OpColumn::bytes:
    case OpColumn::flopRate:
        return value > 0 ? shortNumber(value) : std::string();
    default:
        return shortNumber(value);
    }
}

DurationBars durationBars(const sim::OpTable& table, const sim::OpGroup& group, int mostBars)
{
    const auto [first, last] = bucketsInUse(table);
    const auto counts = group.durations.counts();
    const std::size_t buckets = last + 1 - first;
    const std::size_t perBar = (buckets + static_cast<std::size_t>(mostBars) - 1) / static_cast<std::size_t>(mostBars);
    DurationBars bars{.heights = std::vector<double>((buckets + perBar - 1) / perBar, 0)};
    for (std::size_t bucket = first; bucket < std::min(counts.size(), last + 1); ++bucket)
        bars.heights[(bucket - first) / perBar] += static_cast<double>(counts[bucket]);
    const double highest = *std::max_element(bars.heights.begin(), bars.heights.end());
    for (double& height : bars.heights)
        height = highest > 0 ? height / highest : 0;
    bars.highest = static_cast<std::int64_t>(highest);
    bars.beginNs = sim::OpHistogram::beginNs(static_cast<int>(first));
    bars.endNs = sim::OpHistogram::beginNs(static_cast<int>(first + bars.heights.size() * perBar));
    return bars;
}

Table tableOf(const sim::OpTable& table)
{
    Table out{.header = {sim::opGroupingName(table.grouping), "count", "total (ns)", "share", "mean (ns)", "shortest (ns)",
                         "longest (ns)", "moved (bytes)", "work (FLOP)", "FLOP/s"},
              .rows = {}};
    for (const sim::OpGroup& group : table.groups)
        out.rows.push_back({group.name, std::to_string(group.count), exact(group.totalNs), exact(table.share(group)),
                            exact(group.meanNs()), std::to_string(group.shortestNs), std::to_string(group.longestNs),
                            exact(group.bytes), exact(group.flops), exact(group.flopsPerSecond())});
    return out;
}

} // namespace app
