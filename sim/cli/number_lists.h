// Lists of numbers as options take them: "8,16,32", "16:16".
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace sim::cli {

/// "1,2,": the last one is empty.
std::vector<std::string> splitWords(const std::string& list, char between);

/// Whole numbers from 1 on; throws UsageError with `usage` where one is none.
std::vector<int> splitNumbers(const std::string& list, char between, const std::string& usage,
                              int most = std::numeric_limits<int>::max());

} // namespace sim::cli
