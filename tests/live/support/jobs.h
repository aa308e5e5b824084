// Small training jobs made in code, and how close to serial training they must come.
#pragma once

#include "live/runtime/check_serial.h"
#include "sim/scenario/scenario.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace live::test {

/// Assignments as --set takes them: "layout.tp=2".
using Settings = std::vector<std::string>;
Settings operator+(Settings, const Settings&);

/// The base job with these settings: 4 layers of 32, 4 heads, 61 words (so that no tp divides them), sequences of 16, 4 steps'
/// worth of micro-batches. Throws sim::ScenarioError.
sim::Scenario job(const Settings&);
/// The same; nothing where the validator refuses it.
std::optional<sim::Scenario> jobIfValid(const Settings&);

// What cuts it.
inline const Settings kTp2 = {"layout.tp=2"}, kPp2 = {"layout.pp=2"};
inline const Settings kZero2 = {"layout.zero_stage=2"}, kZero3 = {"layout.zero_stage=3"};

// What changes the model.
inline const Settings kTied = {"model.tie_word_embeddings=true"};
/// rmsnorm, rotary positions, gated SiLU, grouped queries, no biases.
inline const Settings kLlama = {"model.normalization=rmsnorm", "model.position_embedding=rope", "model.hidden_act=silu",
                                "model.gated_mlp=true",        "model.num_key_value_heads=2",   "model.bias=false"};
/// Ranks that share a key-value head keep it each, instead of a part of it.
inline const Settings kCopiedHeads = {R"(training.stack={"gathers_heads":false})"};
/// 4 experts, of which each token takes 2.
inline const Settings kExperts = {"model.num_experts=4", "model.num_experts_per_tok=2", "model.moe_intermediate_size=32",
                                  "model.bias=false"};
/// Low-rank adapters, of which one factor is 0 at first: fast enough that it soon is not.
inline const Settings kAdapters = {R"(training.lora={"rank":4})", "live.learning_rate=0.05"};
/// Latent attention with compressed queries, DeepSeek-V3's choice of 8 experts, a shared one.
inline const Settings kDeepSeek = {"model.normalization=rmsnorm",
                                   "model.position_embedding=rope",
                                   "model.hidden_act=silu",
                                   "model.gated_mlp=true",
                                   "model.bias=false",
                                   "model.q_lora_rank=12",
                                   "model.kv_lora_rank=10",
                                   "model.qk_nope_head_dim=6",
                                   "model.qk_rope_head_dim=4",
                                   "model.v_head_dim=8",
                                   "model.num_experts=8",
                                   "model.num_experts_per_tok=3",
                                   "model.moe_intermediate_size=16",
                                   "model.num_shared_experts=2",
                                   "model.first_k_dense_replace=1",
                                   "model.router_bias=true",
                                   "model.scoring_func=sigmoid",
                                   "model.n_group=4",
                                   "model.topk_group=2",
                                   "model.routed_scaling_factor=2.5"};

/// Largest relative differences from serial training that rounding explains (from the noise floor that was measured).
struct Limits {
    double loss = 0, firstStepNorm = 0, gradientNorm = 0, gradients = 0, values = 0;
};
Limits limitsOf(const sim::Scenario&);

testing::AssertionResult isIdentical(const SerialCheck&);
testing::AssertionResult isWithin(const SerialCheck&, const Limits&);
/// Serial training of the same model, remembered from one call to the next.
const TrainedSteps& serialSteps(const sim::Scenario& hybrid, const TrainOptions& = {});
/// The check against it.
SerialCheck against(const sim::Scenario& hybrid, const TrainOptions& = {});

/// Both layouts trained and compared; tied gradients apart in both.
SerialCheck compareLayouts(const sim::Scenario& expected, const sim::Scenario& actual, TrainOptions = {});

/// A name for a test from settings: letters, digits and _ only.
std::string testName(const std::string&);

} // namespace live::test
