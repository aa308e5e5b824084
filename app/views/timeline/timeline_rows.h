// Which rows the timeline shows and in what order: filtered, sorted, gathered in groups that open and close, some pinned to the
// top.
#pragma once

#include "app/step/timeline_state.h"

#include <array>
#include <string>
#include <vector>

namespace app {

class TimelineModel;

/// What there is to know of a row to put it in its place.
struct RowFacts {
    int rank = 0;
    double busyShare = 0;
    std::int64_t endNs = 0; ///< of its last span
    /// Its group in each way of grouping; -1 where it has none.
    std::array<int, kRowGroupingCount> groupOf{};
};
std::vector<RowFacts> rowFacts(const TimelineModel&);

struct RowGroup {
    std::string name; ///< "pp 3"
    std::vector<int> rows;
    bool open = true;
    std::string countedRows() const; ///< "8 rows"
};

/// One line of the picture: a row of the model, or the header of a group.
struct RowLine {
    int row = -1, group = -1;
    bool isHeader() const { return row < 0; }
    bool operator==(const RowLine&) const = default;
};

struct RowArrangement {
    std::vector<RowLine> lines; ///< top to bottom, the pinned ones first
    std::vector<RowGroup> groups;
    std::vector<int> lineOfRow;               ///< its own; its group's header where that is closed; -1 if filtered out
    int pinned = 0;                           ///< lines
    int rowsShown = 0;                        ///< that the filter lets through, in closed groups too
    RowGrouping grouping = RowGrouping::none; ///< never automatic
    std::vector<RowGrouping> groupings;       ///< that would tell rows apart: none first
};

/// From so many rows on, rows are gathered, and groups start closed.
constexpr int kManyRows = 32;

/// `selected`: rows the filter keeps. Pinned rows are kept whatever the filter says.
RowArrangement arrangeRows(const std::vector<RowFacts>&, const RowWishes&, const std::vector<int>& selected);

const char* rowSortName(RowSort);         ///< "rank", "busy", "end"
const char* rowGroupingName(RowGrouping); ///< "stage", "node", …

} // namespace app
