// What was on screen, as the scenario's "view" keeps it: a shared file opens on what its author saw.
#pragma once

#include "app/step/grid_arrangement.h"
#include "app/step/selection.h"
#include "app/step/timeline_state.h"
#include "sim/scenario/document.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace app {

struct ViewState {
    std::vector<std::string> pictures; ///< names of those that are shown; empty: as the reader's window has them
    std::string lens;                  ///< of the rank grid, by its name; empty: the usual one
    std::vector<int> ranks;            ///< selected, ascending
    std::optional<int> rank;           ///< of them, whose details are shown
    std::optional<TimeRange> range;    ///< selected on the timeline
    std::int64_t cursorNs = 0;
    ClassMask classes = kAllClasses;
    TimelineState timeline;
    GridArrangement arrangement;
    bool kernels = false; ///< every kernel, not only the actions
    bool operator==(const ViewState&) const = default;
};

/// The value of "view" as JSON: what is as usual is left out; keys of `before` (the value so far) that are not known here stay.
std::string viewStateJson(const ViewState&, std::string_view before = {});

struct ReadViewState {
    ViewState state;
    std::vector<sim::Problem> warnings; ///< of what cannot be used, each with its pointer: the rest counts all the same
};
/// Never throws. Ranks must exist in a world of so many.
ReadViewState readViewState(std::string_view json, int worldSize);

} // namespace app
