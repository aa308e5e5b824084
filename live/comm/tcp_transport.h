// A connection between each two processes, found through the store.
#pragma once

#include "live/comm/store.h"
#include "live/comm/transport.h"

#include <memory>

namespace live {

/// All processes of the store call it.
std::unique_ptr<Transport> makeTcpTransport(Store&, std::chrono::milliseconds connectTimeout = std::chrono::seconds(60));

} // namespace live
