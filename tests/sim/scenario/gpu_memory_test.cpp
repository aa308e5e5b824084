// GPUs have the memory that their driver gives, not that of the data sheet: in nvidia-smi, MiB of a whole GPU.
#include "sim/scenario/document.h"
#include "tests/support/catalogue.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

using namespace sim;

TEST(GpuMemory, IsWhatTheDriverGivesWithinOnePercent)
{
    constexpr double kMibPerGib = 1024;
    for (const auto& [gpu, mib] : {std::pair{"a100-sxm-40gb", 40'960.0},
                                   {"a100-sxm-80gb", 81'920.0},
                                   {"h100-sxm", 81'559.0},
                                   {"h100-pcie", 81'559.0},
                                   {"h200-sxm", 143'771.0},
                                   {"h20-sxm", 97'871.0},
                                   {"b200-sxm", 183'359.0},
                                   {"b300-sxm", 275'040.0},
                                   {"gb200", 189'471.0},
                                   {"gb300", 284'208.0},
                                   {"l40s", 46'068.0},
                                   {"t4", 15'360.0},
                                   {"rtx-3090", 24'576.0},
                                   {"rtx-4090", 24'564.0}}) {
        ScenarioDocument document = ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1,
            "model": {"base": "llama2-7b"}, "cluster": {"base": "h100-sxm-ib400"}, "layout": {"tp": 1, "dp": 8}})");
        document.set("cluster.gpu", "\"" + std::string(gpu) + "\"");
        const double gib = mib / kMibPerGib;
        EXPECT_NEAR(resolvedScenario(document, test::catalogue()).cluster.gpu.memoryGib, gib, 0.01 * gib) << gpu;
    }
}
