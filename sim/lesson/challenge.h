// A challenge as it stands: what has been changed, how many changes that counts as, whether the goal is reached.
#pragma once

#include "sim/lesson/question.h"

namespace sim {

struct ChallengeState {
    std::vector<std::string> changed;   ///< pointers that count, one a control moved
    std::vector<std::string> followed;  ///< pointers that moved by themselves, such as dp: free, and part of what was done
    std::vector<std::string> forbidden; ///< of them, those that the lesson does not allow
    std::vector<std::string> unmet;     ///< goals that do not hold, with the values on both sides
    std::string problem;                ///< why what is on screen is no job at all; empty if it is
    int mostChanges = 1;

    bool isTooMuch() const { return static_cast<int>(changed.size()) > mostChanges; }
    bool isReached() const { return unmet.empty() && problem.empty() && forbidden.empty() && !isTooMuch(); }
    /// One line: "2 changes, 1 is possible", "mine.fits is false".
    std::string text() const;
};

/// `mine`: what is on screen. What follows by itself from other changes does not count: dp that gives way to tp, cp and pp, nodes
/// that the ranks need, the name and the view, layers dealt evenly to another number of stages. Throws Error where the case that
/// it starts from cannot be resolved. `simulation`: the step of `mine`, where it is there already.
ChallengeState stateOf(const Challenge&, const CaseSubject& mine, const Cases&,
                       const std::shared_ptr<const Simulation>& simulation = nullptr);

/// Whether a change of that key, or of what is below it, is one that the lesson allows.
bool mayChange(const Challenge&, const std::string& pointer);

/// What the challenge begins with; throws Error if there is no such case.
const CaseSubject& startOf(const Challenge&, const Cases&);

} // namespace sim
