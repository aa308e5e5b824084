// What tests of costs price.
#pragma once

#include "sim/cost/cost.h"
#include "tests/support/scenarios.h"

namespace test {

inline sim::OpShape gemm(std::int64_t m, std::int64_t n, std::int64_t k)
{
    const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    return {.kernel = sim::KernelKind::gemm, .m = m, .n = n, .k = k, .flops = flops};
}

/// Without what starts cost, so that the closed forms stand alone.
inline sim::Scenario plain()
{
    sim::Scenario scenario = smallScenario(8, 1, 2);
    sim::Efficiency& efficiency = scenario.cluster.efficiency;
    efficiency.collectiveUs = efficiency.kernelUs = 0;
    efficiency.interNode = 0;
    efficiency.allToAll = 1;
    return scenario;
}

} // namespace test
