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
    ShellVariables environment{}; ///< that stands in front of it, and of no other: "NPROC_PER_NODE=8 torchrun …"
    int flags = 0;                ///< words that begin with "--"
    int assigned = 0;             ///< words "name=value"
    /// The first of the commands that it started, which stand in front of it; itself: it started none.
    std::size_t startsFrom = 0;
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
/// nothing is started the variables hold the flags. `fail`, which throws, is called beyond kMostSettings. Returns that command;
/// null where it is none of the script's.
const ShellCommand* addFlagsOf(const ShellScript&, Sheet&, const FailAtLine& fail);

} // namespace sim::frameworks
