// What of a challenge is not reached yet, in a learner's words: "the peak memory is 33.8 GiB, at most 20 GiB is asked for".
#pragma once

#include "sim/lesson/challenge.h"

#include <QStringList>

#include <memory>

namespace app {

/// Of one goal as whyNot tells it; a claim of a form that has no words of its own stays as it is.
QString goalText(const std::string& unmet);
/// What besides its goal keeps a challenge from being reached: no job at all, a setting that may not be changed, too many of
/// them. Empty: nothing.
QString hindranceText(const sim::ChallengeState&);
/// Each part of its goal, marked as met or not: "✓ Met: the MFU is 50.1 %", "✗ Not yet: the MFU is 40.3 %; it should be at
/// least 48 %". One that is met and has no words is left out. `step`: of `mine`.
QStringList goalTexts(const sim::Challenge&, const sim::ScenarioDocument& mine, const sim::Cases&,
                      const std::shared_ptr<const sim::Simulation>& step);

/// Of a challenge that is reached, the numbers that it was about: "the peak memory is 18.2 GiB, it was 33.8 GiB". Those that are
/// as they were are left out. `step`: of `mine`.
QStringList reachedTexts(const sim::Challenge&, const sim::ScenarioDocument& mine, const sim::Cases&,
                         const std::shared_ptr<const sim::Simulation>& step);

} // namespace app
