#include "sim/trace/readers/host_calls.h"

#include "sim/trace/readers/operator_shape.h"
#include "sim/trace/readers/reading.h"
#include "sim/trace/readers/recording_builder.h"

#include <algorithm>
#include <array>
#include <string>

namespace sim {
namespace {

bool startsWithOneOf(std::string_view name, const auto& words)
{
    return std::any_of(words.begin(), words.end(), [name](std::string_view word) { return name.starts_with(word); });
}

/// Of all tensors together; -1 where they are not told, or are none that a message could hold.
std::int64_t elementsOf(std::string_view dims)
{
    constexpr std::int64_t kMost = std::int64_t{1} << 50;
    std::int64_t sum = 0;
    for (const std::vector<std::int64_t>& tensor : inputDims(dims)) {
        std::int64_t elements = tensor.empty() ? 0 : 1;
        for (const std::int64_t extent : tensor)
            if (__builtin_mul_overflow(elements, extent, &elements) || elements > kMost)
                return -1;
        sum += elements;
    }
    return sum > 0 && sum <= kMost ? sum : -1;
}

} // namespace

bool isCallOfLibrary(std::string_view name)
{
    constexpr auto kLibraries = std::to_array<std::string_view>({"nccl:", "gloo:", "hccl:", "xccl:", "ucc:", "mpi:"});
    return startsWithOneOf(name, kLibraries);
}

void HostCalls::note(RecordingBuilder& builder, std::uint32_t span, std::string_view name, std::string_view dims,
                     std::string_view types)
{
    constexpr auto kOnHost = std::to_array<std::string_view>({"gloo:", "mpi:"});
    if (!startsWithOneOf(name, kOnHost))
        return;
    RecordedCollective call;
    call.hostSpan = span;
    const std::string said(name.substr(name.find(':') + 1));
    call.isPointToPoint = isPointToPointName(said);
    call.name = builder.recording.names.add(said);
    call.inElements = elementsOf(dims);
    if (call.inElements >= 0)
        call.dtype = builder.recording.names.add(firstTensorType(types));
    m_calls.push_back(call);
}

void HostCalls::settle(RecordingBuilder& builder, bool areTold)
{
    if (areTold) {
        builder.timeByHostCalls(m_calls);
        std::vector<RecordedCollective>().swap(m_calls);
        return;
    }
    const std::vector<RecordedGroup>& groups = builder.recording.groups;
    const auto isOfSeveral = [](const RecordedGroup& group) { return group.ranks.size() > 1; };
    const auto first = std::find_if(groups.begin(), groups.end(), isOfSeveral);
    const std::int32_t several = first == groups.end() || std::any_of(std::next(first), groups.end(), isOfSeveral)
                                     ? -1
                                     : static_cast<std::int32_t>(first - groups.begin());
    for (RecordedCollective& call : m_calls) {
        // A group of one has sums, but nobody to send to.
        call.group = groups.size() == 1 || call.isPointToPoint ? several : -1;
        builder.addCollective(call, 0);
    }
    std::vector<RecordedCollective>().swap(m_calls);
}

} // namespace sim
