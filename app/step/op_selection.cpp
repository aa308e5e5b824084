#include "app/step/op_selection.h"

#include <algorithm>

namespace app {

sim::OpSelection opSelection(const sim::Simulation* simulation, const sim::Trace& trace, const Selection& selection)
{
    sim::OpSelection out;
    if (!selection.ranks.empty())
        out.ranks.resize(trace.processes.size());
    for (const int rank : selection.ranks) {
        const auto ofRank = std::find_if(trace.processes.begin(), trace.processes.end(),
                                         [rank](const sim::Process& process) { return process.rank == rank; });
        // Process i of a simulated trace is class i.
        const auto process = simulation ? static_cast<std::size_t>(simulation->classOf(rank))
                                        : static_cast<std::size_t>(ofRank - trace.processes.begin());
        if (process < out.ranks.size())
            ++out.ranks[process];
    }
    if (selection.range) {
        out.beginNs = selection.range->beginNs;
        out.endNs = selection.range->endNs;
    }
    if (selection.classes != kAllClasses)
        out.classes = [classes = selection.classes](sim::OpClass c) { return (classes & maskOf(c)) != 0; };
    return out;
}

sim::OpTable shownOpTable(const sim::Trace& trace, const ClassNames& names, sim::OpGrouping grouping,
                          const sim::OpSelection& selection)
{
    sim::OpTable table = sim::opTable(trace, grouping, selection);
    if (grouping == sim::OpGrouping::opClass)
        for (sim::OpGroup& group : table.groups)
            group.name = names[group.opClass];
    return table;
}

} // namespace app
