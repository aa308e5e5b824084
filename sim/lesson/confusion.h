// Answers that would be taken for right though another idea leads to them: the question's tolerance is too wide to tell.
#pragma once

#include "sim/lesson/question.h"

namespace sim {

struct Confusion {
    std::string what; ///< "what \"of-step\" lists as a mistake (1/4)"
    LessonValue value;
};

/// Of a question that is answered by one number, all of:
/// - the mistakes that other questions of the lesson list for a number of the same unit, as they stand (of a question that
///   varies only those of its own numbers and cases) and with this question's case in place of theirs;
/// - the same share of another whole: the bubble over the ideal time and of the makespan;
/// - a pipeline with a stage more: who writes p where p - 1 stands.
/// A value that is the right one itself is none of them, and what has no value here is left out.
std::vector<Confusion> confusionsWith(const AskedQuestion&, const Lesson&);

} // namespace sim
