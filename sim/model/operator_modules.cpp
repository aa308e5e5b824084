#include "sim/model/operator_modules.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace sim {
namespace {

using Module = RecomputeModule;
struct ModuleRow {
    std::string_view name;
    RecomputeModules modules;
    RecomputeModules keepsInputOf = {};
    std::optional<Module> inputFrom = {};
};
/// Megatron Core's modules (transformer_config.py, recompute_modules) as operators. Norms of latent vectors are none of
/// layernorm's. Without compressed queries these are projected up from the norm's output.
constexpr std::array kModuleRows{
    ModuleRow{"attn.norm", {Module::layernorm}},
    ModuleRow{"attn.qkv", {}, {}, Module::layernorm},
    ModuleRow{"attn.qkv.lora_a", {}, {}, Module::layernorm},
    ModuleRow{"attn.q_down", {}, {}, Module::layernorm},
    ModuleRow{"attn.q", {Module::mlaUpProjection}, {}, Module::layernorm},
    ModuleRow{"attn.q_up", {Module::mlaUpProjection}},
    ModuleRow{"attn.kv_up", {Module::mlaUpProjection}},
    ModuleRow{"attn.rope", {Module::mlaUpProjection}},
    ModuleRow{"attn.ring", {Module::coreAttention}},
    ModuleRow{"attn.keys", {Module::coreAttention}},
    ModuleRow{"attn.exchange", {Module::coreAttention}},
    ModuleRow{"attn.core", {Module::coreAttention}, {Module::coreAttention}},
    ModuleRow{"attn.merge", {Module::coreAttention}},
    ModuleRow{"attn.scores", {Module::coreAttention}, {Module::coreAttention}},
    ModuleRow{"attn.softmax", {Module::coreAttention}},
    ModuleRow{"attn.dropout", {Module::coreAttention}},
    ModuleRow{"attn.context", {Module::coreAttention}, {Module::coreAttention}},
    ModuleRow{"attn.exchange_back", {Module::coreAttention}},
    ModuleRow{"mlp.norm", {Module::layernorm}},
    ModuleRow{"mlp.gather", {Module::mlp}},
    ModuleRow{"mlp.up", {Module::mlp}, {Module::mlp}, Module::layernorm},
    ModuleRow{"mlp.up.lora_dropout", {Module::mlp}},
    ModuleRow{"mlp.up.lora_a", {Module::mlp}, {Module::mlp}, Module::layernorm},
    ModuleRow{"mlp.up.lora_gather", {Module::mlp}},
    ModuleRow{"mlp.up.lora_b", {Module::mlp}},
    ModuleRow{"mlp.up.lora_add", {Module::mlp}},
    ModuleRow{"mlp.act", {Module::mlp}},
    ModuleRow{"mlp.down", {Module::mlp}},
    ModuleRow{"mlp.down.lora_dropout", {Module::mlp}},
    ModuleRow{"mlp.down.lora_a", {Module::mlp}},
    ModuleRow{"mlp.down.lora_reduce", {Module::mlp}},
    ModuleRow{"mlp.down.lora_b", {Module::mlp}},
    ModuleRow{"mlp.down.lora_output", {Module::mlp}},
    ModuleRow{"mlp.down.lora_add", {Module::mlp}},
    ModuleRow{"mlp.reduce", {Module::mlp}},
    ModuleRow{"moe.norm", {Module::layernorm}},
    ModuleRow{"moe.router", {Module::moe}, {Module::moe}, Module::layernorm},
    ModuleRow{"moe.drop", {Module::moe}},
    ModuleRow{"moe.permute", {Module::moe}},
    ModuleRow{"moe.dispatch", {Module::moe}},
    ModuleRow{"moe.gather", {Module::moe}},
    ModuleRow{"moe.up", {Module::moe}},
    ModuleRow{"moe.act", {Module::moe, Module::moeActivation}},
    ModuleRow{"moe.down", {Module::moe}, {}, Module::moeActivation},
    ModuleRow{"moe.bias", {Module::moe}},
    ModuleRow{"moe.reduce", {Module::moe}},
    ModuleRow{"moe.combine", {Module::moe}},
    ModuleRow{"moe.unpermute", {Module::moe}},
    ModuleRow{"moe.collect", {Module::moe}},
    ModuleRow{"shared.gather", {Module::moe, Module::sharedExperts}},
    ModuleRow{"shared.up", {Module::moe, Module::sharedExperts}, {Module::sharedExperts}, Module::layernorm},
    ModuleRow{"shared.act", {Module::moe, Module::sharedExperts}},
    ModuleRow{"shared.down", {Module::moe, Module::sharedExperts}},
    ModuleRow{"shared.reduce", {Module::moe, Module::sharedExperts}}};

const ModuleRow* moduleRow(std::string_view name)
{
    const auto found =
        std::find_if(kModuleRows.begin(), kModuleRows.end(), [name](const ModuleRow& row) { return row.name == name; });
    return found == kModuleRows.end() ? nullptr : &*found;
}

} // namespace

void assignModules(Operator& op)
{
    if (const ModuleRow* row = moduleRow(op.name)) {
        op.modules = row->modules;
        op.keepsInputOf = row->keepsInputOf;
        op.inputFrom = row->inputFrom;
    }
}

RecomputeModules modulesOf(std::string_view operatorName)
{
    const ModuleRow* row = moduleRow(operatorName);
    return row != nullptr ? row->modules : RecomputeModules();
}

/// The next layer keeps its input by itself.
bool isUnread(std::string_view operatorName, const Scenario& scenario)
{
    return !scenario.training.stack.rerunsUnread && !scenario.model.lora.isOn() &&
           (operatorName == "mlp.down" || operatorName == "mlp.reduce" || operatorName == "mlp.residual");
}

} // namespace sim
