// Calls of a communication library as torch's annotations around them tell: "nccl:all_reduce". Of libraries that run on the host
// (Gloo, MPI) such a call is the exchange itself, and nothing else in the file tells of it.
#pragma once

#include "sim/trace/recording.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace sim {

class RecordingBuilder;

/// "nccl:all_reduce", "gloo:send"; nothing else that begins with a word and a colon.
bool isCallOfLibrary(std::string_view name);

class HostCalls {
public:
    /// An annotation, where it is an exchange on the host. `dims`, `types`: of the tensors it was given, as written.
    void note(RecordingBuilder&, std::uint32_t span, std::string_view name, std::string_view dims, std::string_view types);
    /// They become collectives; of the group that they can only have met in, where there is one. `areTold`: other events tell of
    /// collectives; then each is the time of one of those, where they are as many.
    void settle(RecordingBuilder&, bool areTold);

private:
    std::vector<RecordedCollective> m_calls;
};

} // namespace sim
