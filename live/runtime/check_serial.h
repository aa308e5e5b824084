// Truth is serial training: the same job once as laid out and once on one rank, step by step side by side.
#pragma once

#include "live/model/shape.h"
#include "live/runtime/snapshot.h"
#include "sim/scenario/scenario.h"

#include <string>
#include <vector>

namespace live {

class Communicator;
class Device;
class WorkerPool;

/// What a few steps of a layout brought.
struct TrainedSteps {
    std::vector<double> losses, auxiliaryLosses, gradientNorms;
    Snapshot firstGradients; ///< of step 1, before clipping
    Snapshot values;         ///< after the last step
    Snapshot begin;          ///< before the first: of trainSerially() alone, as all layouts begin with the same
    Snapshot firstMoments;
    /// Adds the snapshots of another process's ranks of the same run.
    void addPart(const TrainedSteps&);
};

struct TrainOptions {
    int steps = 3;
    int workers = 1;
    TrainingOptions training;
    int firstRank = 0, rankCount = 0; ///< held by this process; 0 = all
    bool record = false;              ///< spans too, which nobody reads
};
/// Trains in this process on the CPU, in the scenario's live.dtype (fp32 or fp64).
TrainedSteps trainSteps(const sim::Scenario&, const TrainOptions&);
/// The same on a device and a communicator of the caller's; options.workers says nothing here.
TrainedSteps trainSteps(const sim::Scenario&, const TrainOptions&, WorkerPool&, Device&, Communicator&);

/// The scenario on one rank: the same micro-batches in the same order, nothing sharded.
sim::Scenario serialTwin(const sim::Scenario&);

/// The largest relative differences from serial training.
struct SerialCheck {
    double loss = 0, gradientNorm = 0, firstStepNorm = 0;
    SnapshotDifference gradients, values;
    SnapshotDifference updates; ///< of what all steps together changed the values by; 0 where `begin` is not known
    int steps = 0;
    bool identical = false; ///< all of them, bit for bit
    bool hasTensors = true; ///< gradients and weights were compared, not losses and norms alone
    /// Whether rounding in `dtype` (fp64, fp32) explains them: loss, norm and gradients of step 1, and the updates, which alone
    /// tell what the last step did; NaN is never explained. Later norms are told but not judged.
    bool isRounding(const std::string& dtype) const;
    /// For people: one line a quantity.
    std::string text() const;
};
SerialCheck compareSteps(const TrainedSteps& serial, const TrainedSteps& hybrid);
SerialCheck checkSerial(const sim::Scenario&, const TrainOptions&);
/// The steps that others are compared with: the twin's, on the CPU.
TrainedSteps trainSerially(const sim::Scenario&, const TrainOptions&);

} // namespace live
