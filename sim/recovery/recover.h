// The front door: recordings of a job's ranks in; who is who, when what ran, on one clock, out. Each fact says why and how sure.
#pragma once

#include "sim/recovery/axes.h"
#include "sim/recovery/clock.h"
#include "sim/recovery/evidence.h"
#include "sim/recovery/matching.h"
#include "sim/recovery/passes.h"
#include "sim/recovery/said_grid.h"
#include "sim/recovery/schedule_kind.h"
#include "sim/recovery/steps.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sim {

struct Recording;

/// What a person knows better: the ranks `stride` apart are this axis.
struct AxisCorrection {
    int stride = 1;
    std::string name; ///< "tp", "cp", "dp", "pp", "ep", or "" for none
};

struct RecoverOptions {
    std::vector<AxisCorrection> corrections;
    /// The whole grid, where a person knows it: dense axes longer than 1 whose product is the world, and perhaps ep across them,
    /// as namedGrid() makes them; empty: as recovered. Throws Error with gridProblem() where they are none of the recording's.
    std::vector<NamedAxis> grid;
    bool alignClocks = true; ///< false: times stay as they were recorded
};

struct Recovered {
    RunEvidence evidence; ///< on one clock where `clock` is aligned
    Meetings meetings;
    ClockAlignment clock;
    std::vector<KnownGroup> groups; ///< with two members and more, each set and name once
    RecoveredAxes axes;
    RecoveredSteps steps;
    RecoveredPasses passes;
    std::optional<RecoveredSchedule> schedule;
    std::vector<std::string> problems; ///< of all parts, for a person

    /// Of a step (an index of its list), by recorded rank: the first and the last instant at which something begins that is the
    /// step's. Empty where there is no such step.
    std::vector<std::pair<std::int64_t, std::int64_t>> windowOf(std::size_t step) const;
    /// Of the typical step: where analyses look that nobody told otherwise.
    std::vector<std::pair<std::int64_t, std::int64_t>> typicalStep() const { return windowOf(steps.typical()); }
};

Recovered recover(const Recording&, const RecoverOptions& = {});
Recovered recover(RunEvidence, const RecoverOptions& = {});

} // namespace sim
