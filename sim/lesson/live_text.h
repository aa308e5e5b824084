// Text with live numbers: "GPipe needs **{gpipe.peak_memory_gib|gib}**." The part before | is an expression, the part after it
// how its value is written: gib (of GiB), bytes, gb (decimal, of bytes), count, percent (of a fraction), s, times ("8.1 ×"),
// flops, gb_s (of GB/s), whole, .N (N digits after the point); without one, three digits, or all of a whole number. "{{" is a
// brace. Words and lists are written as they are.
#pragma once

#include "sim/lesson/expression.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

struct LivePart {
    std::size_t begin = 0, end = 0; ///< in the text, braces included
    std::string expression, format;
};
/// Throws Error for a brace that nothing closes, an expression that cannot be read, a format that there is not.
std::vector<LivePart> liveParts(std::string_view text);

/// Throws Error as liveParts, and where an expression cannot be worked out or its value has not the kind of its format.
std::string filledIn(std::string_view text, const Names&);
/// The same; in place of an expression that `words` has words for stand those.
std::string filledIn(std::string_view text, const Names&, const std::map<std::string, std::string>& words);
/// One value so written. Throws Error.
std::string writtenValue(const LessonValue&, std::string_view format);

} // namespace sim
