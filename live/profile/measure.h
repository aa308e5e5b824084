// Measures a machine: every kind of kernel at a grid of shapes, transfers between ranks of one process by size and members. The
// result is a hardware profile that `cluster.efficiency` can name.
#pragma once

#include "live/comm/communicator.h"
#include "live/kernels/device.h"
#include "live/tasks/worker_pool.h"
#include "sim/scenario/scenario.h"

#include <functional>
#include <memory>

namespace live {

struct MeasureOptions {
    double budgetSeconds = 25; ///< about so long; a small budget takes fewer shapes and fewer repetitions
    static constexpr double kQuickSeconds = 5;
    bool isQuick() const { return budgetSeconds < 10; }
};

using CommunicatorFactory = std::function<std::unique_ptr<Communicator>(WorkerPool&)>;

/// Without a factory no transfers are measured: the cluster's tiers keep their say. On the CPU in processor time of the calling
/// thread, as cores are shared; the device should then spread over no workers.
sim::HardwareProfile measureProfile(Device&, WorkerPool&, const CommunicatorFactory&, const MeasureOptions& = {});

} // namespace live
