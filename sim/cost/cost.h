// How long an op takes. The seam between what is executed (program) and on what (cluster): kernels by a roofline over their
// shape, collectives by latency and bandwidth on the tiers they cross. Constants belong to the GPU type (Efficiency), never to a
// scenario.
#pragma once

#include "sim/mesh/placement.h"
#include "sim/program/program.h"
#include "sim/scenario/scenario.h"

#include <array>
#include <cstdint>
#include <vector>

namespace sim {

/// How a rank's communicators lie on the cluster; ranks with equal geometry pay equal prices.
struct GroupGeometry {
    std::array<GroupShape, kGroupRoleCount> shapes;
    bool operator==(const GroupGeometry&) const = default;
    auto operator<=>(const GroupGeometry&) const = default;
};

/// Nanoseconds of every op of every pass, parallel to Program::passes. Sends and receives are priced per link instead: 0 here.
using OpDurations = std::vector<std::vector<std::int64_t>>;

class CostModel {
public:
    explicit CostModel(const Scenario&);

    std::int64_t kernelNs(const OpShape&) const;
    std::int64_t collectiveNs(const OpShape&, const GroupShape&) const;
    /// Point to point over a tier.
    std::int64_t sendNs(std::int64_t bytes, int tier) const;

    OpDurations price(const Program&, const GroupGeometry&) const;

private:
    double gemmSeconds(const OpShape&) const;

    Cluster m_cluster;
    double m_gemmFlopsPerSecond = 0;      ///< dense peak of the precision
    double m_attentionFlopsPerSecond = 0; ///< attention runs in 16 bit under fp8
    int m_elementBytes = 2;
};

} // namespace sim
