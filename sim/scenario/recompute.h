// Which activations are not kept for the backward pass but computed again in it.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

namespace sim {

enum class Recompute : std::uint8_t { none, selective, full };
/// What `selective` runs again: Megatron Core's recompute_modules, of which three keep their inputs and make their outputs a
/// second time (moe_act, layernorm, mla_up_proj) and the others run a whole part of the layer. `operators` is none of these: what
/// attention, the products of experts and every other product of a layer made is kept, and all else runs again (torchtitan's
/// selective activation checkpointing of operators, torchtitan/distributed/activation_checkpoint.py).
enum class RecomputeModule : std::uint8_t {
    coreAttention,
    moeActivation,
    layernorm,
    mlaUpProjection,
    mlp,
    moe,
    sharedExperts,
    operators
};
inline constexpr std::array kRecomputeModules = {RecomputeModule::coreAttention, RecomputeModule::moeActivation,
                                                 RecomputeModule::layernorm,     RecomputeModule::mlaUpProjection,
                                                 RecomputeModule::mlp,           RecomputeModule::moe,
                                                 RecomputeModule::sharedExperts, RecomputeModule::operators};

class RecomputeModules {
public:
    constexpr RecomputeModules() = default;
    constexpr RecomputeModules(std::initializer_list<RecomputeModule> modules)
    {
        for (const RecomputeModule module : modules)
            add(module);
    }
    constexpr void add(RecomputeModule module) { m_bits = static_cast<std::uint8_t>(m_bits | bit(module)); }
    constexpr void remove(RecomputeModule module) { m_bits = static_cast<std::uint8_t>(m_bits & ~bit(module)); }
    constexpr bool has(RecomputeModule module) const { return (m_bits & bit(module)) != 0; }
    constexpr bool empty() const { return m_bits == 0; }
    constexpr bool operator==(const RecomputeModules&) const = default;

private:
    static constexpr unsigned bit(RecomputeModule module) { return 1U << static_cast<unsigned>(module); }
    std::uint8_t m_bits = 0;
};

} // namespace sim
