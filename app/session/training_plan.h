// What really training a scenario on this machine would take, told before it is started; and a tiny job of the same layout where
// it would be too much.
#pragma once

#include "sim/scenario/catalogue.h"
#include "sim/simulate/simulation.h"

#include <QString>

#include <cstdint>
#include <string>

namespace app {

struct Machine {
    int cores = 1;
    std::int64_t freeBytes = 0; ///< memory that could be had now; 0 where nobody knows
    QString cudaProblem;        ///< why there is no CUDA device; empty if there seems to be one
};
Machine thisMachine();

struct TrainingPlan {
    int ranks = 1;
    std::int64_t stateBytes = 0;      ///< weights, gradients and optimizer of all ranks
    std::int64_t activationBytes = 0; ///< of all ranks at their peaks
    double stepSeconds = 0;           ///< on all cores; an order of magnitude
    bool fits = false;
    QString text;    ///< what will happen, a few sentences
    QString problem; ///< why it does not fit, with the numbers; empty if it does
};
/// On the CPU, in fp64, fp32 or bf16.
TrainingPlan planTraining(const sim::Simulation&, const Machine&, const std::string& dtype);

/// The same layout, schedule and options with a model and a batch that any machine trains in a moment. Layouts of more ranks than
/// a machine can take turns with are halved, data parallelism first. Throws sim::Error if that cannot be done.
sim::Scenario shrunk(const sim::Scenario&, const sim::Catalogue&);

} // namespace app
