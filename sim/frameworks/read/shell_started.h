// What srun, timeout, bash -c and the like start: which words of a command are another command.
#pragma once

#include "sim/frameworks/read/shell_values.h"

#include <cstddef>
#include <span>
#include <string_view>

namespace sim::frameworks {

struct ShellStart {
    std::size_t at = 0;      ///< place of the word that is started; 0: nothing is
    std::size_t program = 0; ///< place of what starts it
    bool isText = false;     ///< of bash -c: a text that is run, with what stands behind it as "$0", "$1" and on
};
/// Whether a program starts others: bash, srun, timeout.
bool startsOthers(std::string_view word);
ShellStart startedBy(std::span<const ShellText> words);
/// Whether a command runs what it is given as its input: "sbatch <<EOF", "ssh HOST bash <<EOF".
bool runsItsInput(std::span<const ShellText> words);

} // namespace sim::frameworks
