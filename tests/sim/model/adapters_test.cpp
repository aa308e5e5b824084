// Adapters beside the matrices of one product: each with an A of its own, or one for all.
#include "sim/model/operators.h"
#include "sim/model/parameters.h"
#include "sim/scenario/document.h"
#include "tests/support/catalogue.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

using namespace sim;

namespace {

/// Llama 3 70B's layer, which has fewer heads of keys than of queries.
struct Adapted {
    Scenario scenario = test::smallScenario();
    explicit Adapted(bool fused, double dropout = 0)
    {
        const auto resolved = ScenarioDocument::parse(R"({"format":"rankscope-scenario","version":1,"model":"llama3-70b",)"
                                                      R"("cluster":{"base":"dgx-a100","nodes":1},"layout":{"dp":8}})")
                                  .resolve(test::catalogue());
        if (!resolved.scenario)
            throw Error("llama3-70b does not resolve");
        scenario.model = resolved.scenario->model;
        scenario.model.lora.rank = 16;
        scenario.model.lora.fused = fused;
        scenario.model.lora.dropout = dropout;
    }
    OperatorList list() const { return operatorsOf(scenario.model, Sharding::of(scenario), ModelPart::dense); }
};

Operator find(const OperatorList& list, std::string_view name)
{
    for (const Operator& op : list.operators)
        if (op.name == name)
            return op;
    ADD_FAILURE() << name;
    return {};
}

constexpr std::int64_t kHidden = 8192, kQuery = 8192, kKeys = 1024, kWidth = 28672, kRank = 16, kLayers = 80;

} // namespace

/// Megatron-Bridge's LoRA has 16 x (8,192 + 10,240) parameters beside linear_qkv, PEFT's three adapters 16 x 34,816.
TEST(FusedAdapters, HaveOneAForEachProduct)
{
    const std::int64_t rest = (kQuery + kHidden) + (kWidth + kHidden); // beside the output and down
    const std::int64_t b = kQuery + 2 * kKeys + 2 * kWidth;
    EXPECT_EQ(trainableParameterCount(Adapted(false).scenario.model), kLayers * kRank * (5 * kHidden + b + rest));
    EXPECT_EQ(trainableParameterCount(Adapted(true).scenario.model), kLayers * kRank * (2 * kHidden + b + rest));
}

TEST(FusedAdapters, DropTheirInputOnce)
{
    const OperatorList apart = Adapted(false, 0.1).list(), fused = Adapted(true, 0.1).list();
    const double tokens = static_cast<double>(find(apart, "attn.qkv").m);
    for (const auto& [name, targets] : {std::pair{"attn.qkv.lora_", 3.0}, std::pair{"mlp.up.lora_", 2.0}}) {
        const std::string dropout = std::string(name) + "dropout", a = std::string(name) + "a", b = std::string(name) + "b";
        const auto kept = [&](const OperatorList& list) { // mask and copy
            return static_cast<double>(find(list, dropout).savedBytes + find(list, a).savedInputBytes);
        };
        EXPECT_DOUBLE_EQ(kept(fused), tokens * kHidden * 3) << name;
        EXPECT_DOUBLE_EQ(kept(apart), targets * kept(fused)) << name;
        EXPECT_DOUBLE_EQ(find(apart, a).flops, targets * find(fused, a).flops) << name;
        EXPECT_DOUBLE_EQ(static_cast<double>(find(fused, b).savedInputBytes), tokens * kRank * 2) << name;
        EXPECT_DOUBLE_EQ(static_cast<double>(find(apart, b).savedInputBytes), targets * tokens * kRank * 2) << name;
        EXPECT_DOUBLE_EQ(find(apart, b).flops, find(fused, b).flops) << name;
    }
    EXPECT_EQ(find(apart, "mlp.down.lora_a").savedInputBytes, find(fused, "mlp.down.lora_a").savedInputBytes);
}

TEST(FusedAdapters, OfSomeTargetsShareWhatThereIs)
{
    Adapted some(true);
    some.scenario.model.lora.targets = {true, false, true, false, false, false, false};
    EXPECT_EQ(trainableParameterCount(some.scenario.model), kLayers * kRank * (kHidden + kQuery + kKeys));
}
