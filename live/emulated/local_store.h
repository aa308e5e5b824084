// The store of processes that are hosts of one machine: a table in memory.
#pragma once

#include "live/comm/store.h"

#include <memory>
#include <vector>

namespace live::emulated {

class Machine;

/// One for each process, by number. The machine must outlive them; calls come from its hosts.
std::vector<std::unique_ptr<Store>> makeLocalStores(Machine&, int processes);

} // namespace live::emulated
