// What every op of a program costs, by geometry: durations of what has the machine to itself, and what transfers take of the
// ports that they share.
#pragma once

#include "sim/cost/cost.h"
#include "sim/engine/classes.h"
#include "sim/program/program.h"

#include <cstdint>
#include <vector>

namespace sim {

/// [pass][op]: of collectives; a pass without any has an empty list.
using OpUses = std::vector<std::vector<PortUse>>;

/// Prices by geometry, as RankClasses numbers them.
struct PricedProgram {
    std::vector<OpDurations> durations; ///< [geometry]
    std::vector<OpUses> uses;           ///< [geometry]
    std::vector<std::int64_t> sendNs;   ///< [tier]
    std::vector<PortUse> sendUse;       ///< [tier]
    std::vector<PassLaunches> launches; ///< [pass]; those behind them, and all where there are none, begin whatever the host does
    OpDurations fastest;                ///< of kernels: no jitter makes one faster; empty where nothing could
    OpDurations beyondMean;     ///< of kernels of routed tokens: by how much a mean rank's are shorter; empty where none are
    double besideTransfers = 1; ///< kernels take this many times as long while a collective runs beside them
    double besideAllToAll = 1;  ///< and while it is an all-to-all of experts' tokens, if more
    double slowestBeside() const { return besideTransfers > besideAllToAll ? besideTransfers : besideAllToAll; }
    const PassLaunches* launchesOf(std::size_t pass) const { return pass < launches.size() ? &launches[pass] : nullptr; }
    std::int64_t launchNs(std::size_t pass) const { return pass < launches.size() ? launches[pass].ns : 0; }
};
/// Throws ScenarioError for a program whose times or bytes could not be added up (range.h).
PricedProgram priceProgram(const Scenario&, const Program&, const RankClasses&);

/// Duration of a collective or kernel as this class of ranks sees it with the machine to itself, perturbations included.
std::int64_t opDurationNs(const PricedProgram&, const RankClasses&, const Program&, int classIndex, const Step&, std::size_t op,
                          std::int64_t opOrdinal);

} // namespace sim
