// What an event of the Chrome form is by its category.
#pragma once

#include "sim/trace/recording.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace sim {

enum class ChromeCategory : std::uint8_t {
    kernel,
    request,
    memcpy,
    memset,
    gpuAnnotation,
    cpuOp,
    runtime,
    annotation,
    pythonFunction,
    synchronization,
    overhead,
    launchFlow,   ///< between ends that have a number of their own besides
    callFlow,     ///< Ascend's: from a call of CANN to its task
    operatorFlow, ///< Ascend's: from an operator of the framework to its task
    passFlow,
    memory,
    own,
    communication,
    hostCommunication,
    other
};

/// In lower case, as profilers write it.
ChromeCategory categoryOfWord(std::string_view word);
/// The class that Rankscope's own files have for a category.
std::optional<OpClass> ownClass(std::string_view word);
/// MTIA's rows hold all that its command processors were asked for: programs, transfers of memory, events.
RecordedKind kindOfRequest(std::string_view name);

} // namespace sim
