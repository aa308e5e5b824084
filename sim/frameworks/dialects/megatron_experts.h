// How Megatron sends tokens to experts, and adapters in the names of its matrices.
#pragma once

#include "sim/frameworks/job.h"

namespace sim::frameworks {

/// training.moe.send_once_per_node of the dispatcher's kind. After the model.
/// `backendAlone`: a backend that is named without a kind of dispatcher counts (Megatron-Bridge's performance recipes hand it to
/// apply_flex_dispatcher_backend, which sets the kind).
enum class BackendAlone : bool { no, yes };
void readDispatcher(Job&, BackendAlone);

/// Targets of training.lora in the names of Megatron's matrices, each of which has one adapter (linear_qkv, linear_fc1), or in
/// those of its parts, which CanonicalLoRA has adapters beside. `unlessGiven`: likewise. After training.lora's rank and the
/// model.
void readMegatronTargets(Job&, const char* setting, std::string_view unlessGiven);

} // namespace sim::frameworks
