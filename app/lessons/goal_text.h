// What of a challenge is not reached yet, in a learner's words: "the peak memory is 33.8 GiB, at most 20 GiB is asked for".
#pragma once

#include "sim/lesson/challenge.h"

#include <QString>

namespace app {

/// Of one goal as whyNot tells it; a claim of a form that has no words of its own stays as it is.
QString goalText(const std::string& unmet);
/// Of all that keeps a challenge from being reached, what comes first.
QString goalText(const sim::ChallengeState&);

} // namespace app
