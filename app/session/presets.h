// Common what-ifs as one step with a name: "double the GPUs", "next GPU generation".
#pragma once

#include "app/session/edit.h"

namespace app {

struct Preset {
    std::string name; ///< of menus and palette; the name of the step, too
    std::string what; ///< a sentence: what changes and what stays
    Edit edit;
    std::string whyNot; ///< what it would break now; empty if it can be done
};

/// Those that mean something for this scenario, the same ones in the same order as long as its kind stays.
std::vector<Preset> presets(const ScenarioState&);

} // namespace app
