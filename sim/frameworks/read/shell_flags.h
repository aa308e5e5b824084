// From the commands of a script to settings: which of them is the training, and its flags.
#pragma once

#include "sim/frameworks/read/setting.h"
#include "sim/frameworks/read/shell_values.h"

#include <functional>
#include <string>
#include <vector>

namespace sim::frameworks {

struct ShellCommand {
    std::vector<ShellText> words;
    int flags = 0;    ///< words that begin with "--"
    int assigned = 0; ///< words "name=value"
    std::size_t startsFrom =
        0; ///< the first of the commands that it started, which stand in front of it; itself: it started none
};

/// What running a script would have done.
struct ShellScript {
    std::vector<ShellCommand> commands;
    ShellVariables variables;
    std::vector<std::string> order; ///< of the variables' first assignments
    OpenBranches branches;
};

using FailAtLine = std::function<void(int line, const std::string& message)>;
/// The command with the most flags is the training; what else has many is told. Lines of flags alone belong together, and where
/// nothing is started the variables hold the flags. `fail`, which throws, is called beyond kMostSettings.
void addFlagsOf(const ShellScript&, Sheet&, const FailAtLine& fail);

} // namespace sim::frameworks
