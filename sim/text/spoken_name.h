// What names of ops, tensors and process groups are called where people read them. Files, the API and the command line keep the
// names themselves: "attn.qkv.wgrad", "dp_cp".
#pragma once

#include <string>
#include <string_view>

namespace sim {

/// "attention QKV, weight gradient", "gradient reduction", of all passes of a stage "F of stage 0"; of a name that is not of the
/// model's operators, such as a kernel's in a foreign trace, the name itself.
std::string spokenOp(std::string_view name);

/// Of passes alone: "F of stage 0" for "0F"; other names as they are.
std::string spokenPass(std::string_view name);

/// Of a module that the backward pass runs again, in Megatron's words: "core_attn" is "core attention".
std::string spokenModule(std::string_view name);

/// Of a process group or of who communicates: "dp × cp", "expert dp", "tied embedding"; short ones are words already.
std::string spokenGroup(std::string_view name);
/// The same as the index of a symbol, in one word: "dpcp".
std::string symbolOfGroup(std::string_view name);

/// Of a network of a cluster, as who makes it writes it: "NVLink"; other names are words already.
std::string spokenNetwork(std::string_view name);

} // namespace sim
