// A picture of one step: all of them are given the same simulation, trace and selection, and are told of changes alike.
#pragma once

#include "app/canvas/view.h"
#include "app/views/theme.h"
#include "sim/simulation.h"
#include "sim/trace/trace.h"

#include <memory>
#include <string>
#include <utility>

namespace app {

using SimulationPtr = std::shared_ptr<const sim::Simulation>;
using TracePtr = std::shared_ptr<const sim::Trace>;

class StepView : public View {
public:
    /// The trace is of the simulation: its actions, or its kernels too. Both nullptr: the empty state. What the user had chosen
    /// (zoom, lens, scroll) stays where it still makes sense.
    virtual void setStep(SimulationPtr, TracePtr) = 0;
    virtual void setTheme(const Theme&) = 0;
    /// What stands in the empty state: how to get a step, at first; or that one is on its way.
    void setHint(std::string hint) { m_hint = std::move(hint); }

protected:
    const std::string& hint() const { return m_hint; }

private:
    std::string m_hint = "Open a scenario, or choose one in the gallery.";
};

} // namespace app
