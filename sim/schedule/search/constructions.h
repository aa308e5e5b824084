// The portfolio that the synthesiser starts from: known schedules and list schedules, each split into I and W, its micro-batches
// in ascending order, brought under the cap where it is over it. Private to sim/schedule.
#pragma once

#include "sim/schedule/search/building_blocks.h"
#include "sim/schedule/search/pipeline_problem.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sim {

/// A way to make a schedule for a problem.
struct Construction {
    enum class Kind : std::uint8_t { oneByOne, family, greedy, list, block, given } kind = Kind::oneByOne;
    std::string name;
    std::string family;        ///< the key of a schedule family
    double limit = 0;          ///< greedy: the memory that it plans for
    std::size_t listRules = 0; ///< list: which of listRules()
    BuildingBlock block;
    Schedule schedule; ///< given: an order of the problem's frame
};

/// For every placement first the one that always fits: one micro-batch at a time.
std::vector<Construction> constructionsFor(const PipelineProblem&);

struct Candidate {
    std::optional<Schedule> schedule; ///< nothing if it cannot be made
    std::string whyNot;               ///< then, for a person
    double span = 0, peak = 0;        ///< as constructed
    bool fits = false;
    std::optional<Schedule> repaired; ///< if it does not fit: the nearest order that does
    double repairedSpan = 0;
};

Candidate construct(const PipelineProblem&, const Construction&);

} // namespace sim
