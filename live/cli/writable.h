// Whether results can be written where they are asked for: later is too late to learn that they cannot.
#pragma once

#include <string>

namespace live::cli {

/// Throws sim::Error that begins with the flag and says why no such file can be made; empty: nothing is asked for.
void checkWritable(const std::string& file, const char* flag);
/// The same of a folder, which is made with the first checkpoint.
void checkCanBeFolder(const std::string& path, const char* flag);

} // namespace live::cli
