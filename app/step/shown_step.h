// A step as it is shown: handed to all pictures alike, never changed.
#pragma once

#include "app/step/instant.h"
#include "sim/recovery/recorded_waits.h"
#include "sim/simulate/simulation.h"
#include "sim/trace/trace.h"

#include <memory>
#include <string>

namespace app {

using SimulationPtr = std::shared_ptr<const sim::Simulation>;
using InstantsPtr = std::shared_ptr<const Instants>;
/// Asked on the window's thread alone: it keeps what it finds out.
using RecordedWaitsPtr = std::shared_ptr<sim::RecordedWaits>;

struct ShownStep {
    SimulationPtr simulation = nullptr; ///< nullptr: of the trace nothing more is known
    TracePtr trace = nullptr;           ///< of the simulation: its actions, or its kernels too; nullptr: there is no step
    InstantsPtr instants = nullptr;     ///< of the trace; nullptr: who needs them makes them
    RecordedWaitsPtr waits = nullptr;   ///< of a recorded step, whose ranks are the trace's processes
    std::string whyNoWaits = {};        ///< of a recorded step without them
    bool operator==(const ShownStep&) const = default;
};

/// What one picture shows of a step: what takes long to find out is found out when it is made, on a worker. From then on it is
/// one view's, on the window's thread: drawing fills what it keeps.
class PictureModel {
public:
    virtual ~PictureModel() = default;
};
using PictureModelPtr = std::shared_ptr<PictureModel>;

} // namespace app
