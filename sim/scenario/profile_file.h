// A hardware profile that lies beside a scenario: what its text says, and what is wrong with it.
#pragma once

#include "sim/scenario/document.h"
#include "sim/scenario/json_text.h"

#include <string>
#include <vector>

namespace sim {

struct ProfileFile {
    std::string text, name;
    Json json;
    std::vector<Problem> problems; ///< their pointers begin with "/cluster/efficiency"
};

} // namespace sim
