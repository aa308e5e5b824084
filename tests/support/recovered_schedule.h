// A recovered schedule beside the one that really ran.
#pragma once

#include "sim/index.h"
#include "sim/recovery/schedule_kind.h"
#include "sim/schedule/schedule.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace test {

/// Named as it is called, said to be possible too, or another kind's name for the same order of recorded passes.
inline bool isRecognised(const std::optional<sim::RecoveredSchedule>& found, const std::string& kind)
{
    return found && (found->kind == kind || (!found->rows.empty() && found->alike >= 1) ||
                     std::find(found->alsoPossible.begin(), found->alsoPossible.end(), kind) != found->alsoPossible.end());
}

/// Every pass of the recorded ranks in its place; recorders do not say which two ran as one block.
inline bool isSameOrder(const std::optional<sim::RecoveredSchedule>& found, const sim::Schedule& ran)
{
    if (!found || found->rows.empty())
        return false;
    for (const auto& [rank, row] : found->rows) {
        std::vector<sim::Action> expected = ran.actions[sim::asIndex(rank)], recorded = row;
        for (std::vector<sim::Action>* actions : {&expected, &recorded})
            for (sim::Action& action : *actions)
                action.overlapsNext = false;
        if (recorded != expected)
            return false;
    }
    return true;
}

} // namespace test
