// Is a lesson right, by the engine of today? `rankscope-sim lesson check`.
#pragma once

#include "sim/lesson/lesson.h"

namespace sim {

/// Everything in a lesson that is not so, with its pointer and the values: cases that do not resolve, cases that nothing uses,
/// holds that do not hold, live numbers that cannot be worked out, ranges that do not contain the answer or have it at an end,
/// choices without exactly one right option, mistakes that would count as right, challenges that are reached before anything is
/// changed or that a `solved_by` does not reach. Questions with numbers that vary are asked with all of them, up to 64 times.
/// Cases are simulated. Throws nothing but bad_alloc.
std::vector<Problem> checkLesson(const Lesson&, const Catalogue&);

} // namespace sim
