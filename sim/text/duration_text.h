// Spans of time that people wait for: "3.9 min", "2.78 h", "58.9 days". What machines do in less stays with numberText.
#pragma once

#include <string>

namespace sim {

/// Three digits, in the largest unit of which there are at least two; "forever" for what never ends.
std::string durationText(double seconds);

} // namespace sim
