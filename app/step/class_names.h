// What the classes of ops are called beside the step that they are of: in legends, tables and tooltips alike.
#pragma once

#include "sim/simulate/simulation.h"
#include "sim/trace/trace.h"

#include <array>
#include <string>

namespace app {

class ClassNames {
public:
    /// `simulation`: of the trace; nullptr: more is not known of it. O(kinds).
    ClassNames(const sim::Trace&, const sim::Simulation*);
    /// As sim::opClassName(), but "embedding comm" for what goes the way of dp in a job without data parallelism, "comm of
    /// unknown use" of a recorded run's groups that are of no axis, as what was found out of that run calls them, and "waiting"
    /// for class other where all its spans are waits.
    const std::string& operator[](sim::OpClass opClass) const { return m_names[static_cast<std::size_t>(opClass)]; }
    /// Of a lane of transfers: what they are called where it is called as their class is.
    const std::string& ofLane(const sim::Track&) const;
    /// What both are called where they are told together: by the class alone where they do not call it alike.
    void joinWith(const ClassNames&);
    bool othersWait() const { return m_othersWait; }

private:
    std::array<std::string, sim::kOpClassCount> m_names;
    bool m_othersWait = false;
};

} // namespace app
