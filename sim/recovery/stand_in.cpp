#include "sim/recovery/stand_in.h"

#include "sim/recovery/to_scenario.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sim {
namespace {

/// Ranks of a node as they were recorded; else eight, or what divides the world.
int ranksOfANode(const Recovered& recovered)
{
    const int world = std::max(1, recovered.axes.worldSize);
    if (const auto each = recordedRanksOfANode(recovered))
        return *each;
    int ranks = std::min(8, world);
    while (world % ranks != 0)
        --ranks;
    return ranks;
}

} // namespace

nlohmann::ordered_json standInScenario(const Recovered& recovered)
{
    std::vector<UnknownKey> unknown;
    nlohmann::ordered_json scenario = scenarioOf(recovered, nlohmann::ordered_json::object(), unknown);
    nlohmann::ordered_json& layout = scenario["layout"];
    const auto size = [&layout](const char* axis) { return layout.value(axis, std::int64_t{1}); };
    const std::int64_t tp = size("tp"), cp = size("cp"), pp = size("pp"), dp = size("dp"), ep = size("ep"), etp = size("etp");
    constexpr int kHead = 16, kWidth = 64;
    nlohmann::ordered_json model{{"num_hidden_layers", pp},
                                 {"hidden_size", kHead * tp * cp},
                                 {"intermediate_size", kWidth * tp * etp},
                                 {"num_attention_heads", tp * cp},
                                 {"num_key_value_heads", tp * cp},
                                 {"vocab_size", kWidth * tp},
                                 {"max_position_embeddings", kWidth * tp * cp * 2}};
    if (ep > 1) {
        model["num_experts"] = ep;
        model["num_experts_per_tok"] = 1;
        model["moe_intermediate_size"] = kWidth * etp;
    }
    scenario["model"] = std::move(model);
    const int node = ranksOfANode(recovered);
    const int nodes = std::max(1, recovered.axes.worldSize) / node;
    nlohmann::ordered_json tiers = nlohmann::ordered_json::array();
    constexpr double kFast = 400, kSlow = 50;
    tiers.push_back({{"name", "node"},
                     {"span", nodes > 1 ? nlohmann::ordered_json(node) : nlohmann::ordered_json("all")},
                     {"bandwidth_gbs", kFast},
                     {"latency_us", 1}});
    if (nodes > 1)
        tiers.push_back({{"name", "network"}, {"span", "all"}, {"bandwidth_gbs", kSlow}, {"latency_us", 5}});
    scenario["cluster"] = {{"gpu", "h100-sxm"}, {"gpus_per_node", node}, {"nodes", nodes}, {"tiers", std::move(tiers)}};
    layout["zero_stage"] = 0;
    layout.erase("sequence_parallel");
    layout.erase("reshard_after_forward");
    scenario["schedule"] = {{"kind", "1f1b"}};
    scenario["training"] = {{"sequence_length", kWidth * tp * cp * 2}, {"micro_batch_size", 1}, {"global_batch_size", dp * pp}};
    return scenario;
}

} // namespace sim
