// Warm-up, steady state and cool-down of a rank, read from its list of actions, whatever the schedule.
#pragma once

#include "sim/schedule/schedule.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace app {

enum class Phase { warmUp, steady, coolDown };

struct PhaseCounts {
    int forwards = 0;
    int gradients = 0; ///< full backwards and input gradients
    int weights = 0;   ///< weight gradients on their own
    bool operator==(const PhaseCounts&) const = default;
};

/// Warm-up: forwards before forwards and backwards take turns. Steady: from the forward that the first backward follows to the
/// backward that follows the last forward. Cool-down: what is left. Without turns (GPipe) there is no steady state.
struct SchedulePhases {
    std::size_t steadyBegin = 0, coolDownBegin = 0; ///< places in the list
    PhaseCounts warmUp, steady, coolDown;
    Phase at(std::size_t place) const
    {
        return place < steadyBegin ? Phase::warmUp : place < coolDownBegin ? Phase::steady : Phase::coolDown;
    }
};
SchedulePhases phasesOf(std::span<const sim::ActionKind>);
std::vector<sim::ActionKind> kindsOf(const std::vector<sim::Action>&);

/// How many forwards the ranks r of p warm up with, where one rule fits them all: a (p - 1 - r) + c.
struct WarmUpRule {
    int perRankBelow = 0, constant = 0;
    std::string text() const;                      ///< "2 (p − 1 − r) + 4"
    std::string worked(int ranks, int rank) const; ///< "2 (p − 1 − r) + 4 = 2 (8 − 1 − 3) + 4"

private:
    std::string with(const std::string& p, const std::string& r) const;
};
std::optional<WarmUpRule> warmUpRule(const sim::Schedule&);

/// A sentence about the phase with the counts in it. `rule` says where the number of warm-up forwards comes from; may be empty.
std::string phaseSentence(const SchedulePhases&, Phase, const std::string& rule);
/// "Warm-up 3 F", "Steady 5 × F B", "Cool-down 3 B"
std::string phaseLabel(const SchedulePhases&, Phase);

} // namespace app
