// A program's messages beside its results.
#pragma once

#include <iostream>
#include <string>

namespace live::cli {

/// One line to standard error, in one piece.
inline void sayLine(const std::string& line)
{
    std::cerr << line + "\n";
}

} // namespace live::cli
