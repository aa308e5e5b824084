// Writers of settings, one a kind. Each writes what it can say and throws where its framework would refuse; what is lost on the
// way exportSettings finds by reading the text again.
#pragma once

#include "sim/error.h"
#include "sim/scenario/json_text.h"
#include "sim/scenario/scenario.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sim::frameworks {

/// A setting under Megatron's name with "_", in the order in which people write them.
using MegatronFlags = std::vector<std::pair<std::string, Json>>;
/// Throws Error for what Megatron Core refuses.
MegatronFlags megatronFlags(const Scenario&);

std::string writeMegatron(const Scenario&);
std::string writeNemo(const Scenario&);
std::string writeBridge(const Scenario&);
std::string writeTorchtitan(const Scenario&);
std::string writeDeepSpeed(const Scenario&);
std::string writeNanotron(const Scenario&);
std::string writeAccelerate(const Scenario&);
std::string writeHuggingFace(const Scenario&);
std::string writePicotron(const Scenario&);
std::string writeMaxText(const Scenario&);

/// config.json of a model, in the words of the family that it is nearest to.
Json huggingFaceConfig(const Model&);
/// What a model of the catalogue is called on Hugging Face, of those with Llama's layers alone; empty where it is none of them.
std::string huggingFaceId(std::string_view base);
/// "8 nodes x 8 GPUs = 64: tp 4 x cp 1 x pp 8 x dp 2; 64 micro-batches of 1"
std::string worldLine(const Scenario&);
/// Steps of training.tokens, the last one begun: a run is whole steps. 0 where nobody says how long it is.
std::int64_t stepsOfRun(const Scenario&);
/// "bfloat16": what a matrix product's operands are kept in.
const char* dtypeWord(Precision);
/// "True" and None for Python, otherwise JSON.
std::string pythonLiteral(const Json&);
/// Block style; lists in one line.
std::string yamlText(const Json&, int indentation = 0);

} // namespace sim::frameworks
