// Libraries that are found when the program runs may be others than those it was compiled for.
#pragma once

#include <string>

namespace live {

/// "2.28.9" of 22809: as NCCL and cuBLASLt count.
std::string versionText(int version);
/// Throws sim::Error where the library that was found is of an earlier minor version than the one this was built for, and so may
/// lack what is called, or of another major one, whose types may differ.
void requireVersion(const std::string& library, int found, int built);

} // namespace live
