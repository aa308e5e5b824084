#include "app/views/timeline/timeline_rows.h"

#include "app/views/common/labels.h"
#include "app/views/timeline/timeline_model.h"
#include "sim/index.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace app {
namespace {

using sim::asIndex;

/// In the order in which they are tried when nobody has chosen, and gone through when somebody does.
constexpr std::array kGroupings{RowGrouping::pipeline, RowGrouping::node,   RowGrouping::data,
                                RowGrouping::context,  RowGrouping::tensor, RowGrouping::blocks};

/// Ranks of a block: about as many as there are blocks, and a power of two.
int blockSize(std::size_t rows)
{
    int size = 1;
    while (asIndex(size) * asIndex(size) < rows)
        size *= 2;
    return size;
}

std::map<int, std::vector<int>> gathered(const std::vector<RowFacts>& facts, RowGrouping grouping)
{
    std::map<int, std::vector<int>> out;
    for (std::size_t row = 0; row < facts.size(); ++row)
        out[facts[row].groupOf[asIndex(grouping)]].push_back(static_cast<int>(row));
    return out;
}

std::vector<RowGrouping> usefulGroupings(const std::vector<RowFacts>& facts)
{
    std::vector<RowGrouping> out{RowGrouping::none};
    for (const RowGrouping grouping : kGroupings) {
        if (grouping == RowGrouping::blocks && facts.size() <= kManyRows)
            continue; // few rows are told apart as they are
        const auto groups = gathered(facts, grouping);
        const bool known = !groups.empty() && groups.begin()->first >= 0;
        if (known && groups.size() > 1 && groups.size() < facts.size())
            out.push_back(grouping);
    }
    return out;
}

/// Each row is a pipeline rank of its own.
bool isRowAPipelineRank(const std::vector<RowFacts>& facts)
{
    const auto ranks = gathered(facts, RowGrouping::pipeline);
    return ranks.size() == facts.size() && ranks.begin()->first >= 0;
}

/// Blocks are called by their pipeline ranks where each row is one (`byPipeline`), else by their ranks.
std::string groupName(const std::vector<RowFacts>& facts, RowGrouping grouping, int number, const std::vector<int>& rows,
                      bool byPipeline)
{
    switch (grouping) {
    case RowGrouping::pipeline:
        return "pp " + countText(number);
    case RowGrouping::node:
        return "node " + countText(number);
    case RowGrouping::data:
        return "dp " + countText(number);
    case RowGrouping::context:
        return "cp " + countText(number);
    case RowGrouping::tensor:
        return "tp " + countText(number);
    default: {
        std::vector<int> numbers;
        for (const int row : rows)
            numbers.push_back(byPipeline ? facts[asIndex(row)].groupOf[asIndex(RowGrouping::pipeline)]
                                         : facts[asIndex(row)].rank);
        std::sort(numbers.begin(), numbers.end());
        return byPipeline ? "pp " + runsText(numbers) : "ranks " + rankListText(numbers);
    }
    }
}

void sortRows(std::vector<int>& rows, const std::vector<RowFacts>& facts, RowSort sort)
{
    if (sort == RowSort::rank)
        return;
    std::stable_sort(rows.begin(), rows.end(), [&](int a, int b) {
        const RowFacts &x = facts[asIndex(a)], &y = facts[asIndex(b)];
        return sort == RowSort::busy ? x.busyShare > y.busyShare : x.endNs > y.endNs;
    });
}

} // namespace

std::vector<RowFacts> rowFacts(const TimelineModel& model)
{
    const auto& processes = model.trace().processes;
    const sim::Simulation* simulation = model.simulation();
    // A class of several ranks has one place in the pipeline and many on all other axes.
    const bool single =
        std::all_of(processes.begin(), processes.end(), [](const sim::Process& p) { return p.multiplicity == 1; });
    const int block = blockSize(processes.size());
    std::vector<RowFacts> out;
    for (std::size_t row = 0; row < processes.size(); ++row) {
        RowFacts facts{.rank = processes[row].rank, .busyShare = model.rows()[row].busyShare, .endNs = model.rows()[row].endNs};
        facts.groupOf.fill(-1);
        facts.groupOf[asIndex(RowGrouping::blocks)] = static_cast<int>(row) / block;
        if (simulation && facts.rank < simulation->mesh().worldSize()) {
            const sim::Coordinates where = simulation->mesh().coordinates(facts.rank);
            facts.groupOf[asIndex(RowGrouping::pipeline)] = where.pp;
            if (single) {
                facts.groupOf[asIndex(RowGrouping::node)] = simulation->placement().node(facts.rank);
                facts.groupOf[asIndex(RowGrouping::data)] = where.dp;
                facts.groupOf[asIndex(RowGrouping::context)] = where.cp;
                facts.groupOf[asIndex(RowGrouping::tensor)] = where.tp;
            }
        }
        out.push_back(facts);
    }
    return out;
}

std::string RowGroup::countedRows() const
{
    return countText(static_cast<std::int64_t>(rows.size())) + (rows.size() == 1 ? " row" : " rows");
}

RowArrangement arrangeRows(const std::vector<RowFacts>& facts, const RowWishes& wishes, const std::vector<int>& selected)
{
    RowArrangement out;
    out.lineOfRow.assign(facts.size(), -1);
    out.groupings = usefulGroupings(facts);
    const auto& known = out.groupings;
    if (wishes.grouping == RowGrouping::automatic)
        out.grouping = facts.size() > kManyRows && known.size() > 1 ? known[1] : RowGrouping::none;
    else if (std::find(known.begin(), known.end(), wishes.grouping) != known.end())
        out.grouping = wishes.grouping;

    std::vector<char> left(facts.size(), wishes.filter == RowFilter::all ? 1 : 0); // still to be placed
    if (wishes.filter == RowFilter::selected)
        for (const int row : selected)
            left[asIndex(row)] = 1;
    const auto place = [&](int row) {
        out.lineOfRow[asIndex(row)] = static_cast<int>(out.lines.size());
        out.lines.push_back({.row = row});
        left[asIndex(row)] = 0;
    };
    for (const int rank : wishes.pinnedRanks)
        for (std::size_t row = 0; row < facts.size(); ++row)
            if (facts[row].rank == rank && out.lineOfRow[row] < 0) {
                place(static_cast<int>(row));
                ++out.rowsShown;
            }
    out.pinned = static_cast<int>(out.lines.size());
    out.rowsShown += static_cast<int>(std::count(left.begin(), left.end(), 1));

    const auto stay = [&](std::vector<int> rows) {
        std::erase_if(rows, [&](int row) { return left[asIndex(row)] == 0; });
        sortRows(rows, facts, wishes.sort);
        return rows;
    };
    if (out.grouping == RowGrouping::none) {
        std::vector<int> all(facts.size());
        std::iota(all.begin(), all.end(), 0);
        for (const int row : stay(std::move(all)))
            place(row);
        return out;
    }
    const bool byPipeline = isRowAPipelineRank(facts);
    const bool startOpen = out.rowsShown <= kManyRows;
    for (const auto& [number, all] : gathered(facts, out.grouping)) {
        RowGroup group{.name = groupName(facts, out.grouping, number, all, byPipeline), .rows = stay(all)};
        if (group.rows.empty())
            continue;
        group.open = startOpen != wishes.turnedOver.contains(group.name);
        const int header = static_cast<int>(out.lines.size());
        out.lines.push_back({.group = static_cast<int>(out.groups.size())});
        for (const int row : group.rows) {
            if (group.open)
                place(row);
            else
                out.lineOfRow[asIndex(row)] = header;
        }
        out.groups.push_back(std::move(group));
    }
    return out;
}

const char* rowSortName(RowSort sort)
{
    switch (sort) {
    case RowSort::rank:
        return "rank";
    case RowSort::busy:
        return "busy";
    case RowSort::end:
        return "end";
    }
    return "";
}

const char* rowGroupingName(RowGrouping grouping)
{
    switch (grouping) {
    case RowGrouping::automatic:
        return "size";
    case RowGrouping::none:
        return "nothing";
    case RowGrouping::pipeline:
        return "stage";
    case RowGrouping::node:
        return "node";
    case RowGrouping::data:
        return "replica";
    case RowGrouping::context:
        return "cp";
    case RowGrouping::tensor:
        return "tp";
    case RowGrouping::blocks:
        return "block";
    }
    return "";
}

} // namespace app
