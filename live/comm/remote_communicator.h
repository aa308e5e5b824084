// Ranks in several processes. Members of one process meet in memory; between processes the bytes go over a Transport, and sums
// are made in the order of members, so that they have the same bits as in one process.
#pragma once

#include "live/comm/communicator.h"
#include "live/comm/transport.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace live {

/// When the transport fails: may tell others, and returns the run's reason, with which all requests are then ended.
using OnTransportFailure = std::function<std::string(const std::string& why)>;

/// processOfRank: of all ranks; `process` is this one. poll() must be called again and again (WorkerPool::setPoller).
std::unique_ptr<Communicator> makeRemoteCommunicator(WorkerPool&, std::unique_ptr<Transport>, std::vector<int> processOfRank,
                                                     int process, OnTransportFailure);

} // namespace live
