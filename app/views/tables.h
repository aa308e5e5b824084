// The numbers of a step as tables: to save as CSV (RFC 4180) or to copy into a spreadsheet. Units are in the headers.
#pragma once

#include "app/step/selection.h"
#include "app/views/common/table.h"
#include "sim/simulate/simulation.h"

#include <span>
#include <string>
#include <string_view>

namespace app {

/// What tables are made from.
struct TableSource {
    const sim::Simulation& simulation;
    const sim::Trace& trace;    ///< that is shown
    const Selection& selection; ///< its ranks, range and classes narrow the table of spans
};

struct TableInfo {
    const char* name;  ///< in file names: "pipeline-ranks"
    const char* title; ///< on screen: "Pipeline ranks"
    const char* what;  ///< one line: what a row is
    Table (*make)(const TableSource&);
};

std::span<const TableInfo> tables();
const TableInfo* findTable(std::string_view name); ///< nullptr: there is none of that name

} // namespace app
