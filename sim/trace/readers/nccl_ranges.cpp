#include "sim/trace/readers/nccl_ranges.h"

#include "sim/cancel.h"
#include "sim/trace/readers/reading.h"
#include "sim/trace/readers/recording_builder.h"

#include <algorithm>
#include <array>

namespace sim {
namespace {

/// Bytes of NVTX's predefined types; 4 for what else stands in NCCL's schemas, its enumerations.
std::size_t sizeOfType(std::int64_t type)
{
    constexpr auto kSizes = std::to_array<std::pair<std::int64_t, std::size_t>>({
        {1, 1},  {2, 1},  {3, 2},  {4, 2},  {5, 4},  {6, 4},  {7, 8},  {8, 8},  {9, 8}, {10, 8}, // char … unsigned long long
        {11, 1}, {12, 1}, {13, 2}, {14, 2}, {15, 4}, {16, 4}, {17, 8}, {18, 8},                  // int8 … uint64
        {19, 4}, {20, 8}, {22, 8}, {23, 8},                                                      // float, double, size, address
    });
    const auto* const found =
        std::find_if(kSizes.begin(), kSizes.end(), [type](const auto& known) { return known.first == type; });
    return found == kSizes.end() ? 4 : found->second;
}

std::uint64_t numberAt(const unsigned char* bytes, std::size_t size)
{
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < size; ++i)
        number |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
    return number;
}

std::string nameOfCommunicator(std::uint64_t id)
{
    constexpr const char* kDigits = "0123456789abcdef";
    std::string text = "0x";
    bool isLeading = true;
    for (int shift = 60; shift >= 0; shift -= 4) {
        const auto digit = static_cast<std::size_t>((id >> shift) & 0xF);
        isLeading = isLeading && digit == 0 && shift > 0;
        if (!isLeading)
            text += kDigits[digit];
    }
    return text;
}

bool isTransfer(const std::string& call)
{
    return call == "ncclSend" || call == "ncclRecv";
}

} // namespace

void NcclPayloads::addEntry(std::int64_t domain, std::int64_t schema, std::int64_t type, std::string_view name,
                            std::int64_t offset)
{
    constexpr std::int64_t kLongest = 4096;
    constexpr std::size_t kMostEntries = 64;
    std::vector<Entry>& entries = m_schemas[{static_cast<std::uint64_t>(domain), static_cast<std::uint64_t>(schema)}];
    // Each process registers the schema anew.
    if (offset > kLongest || entries.size() >= kMostEntries ||
        std::any_of(entries.begin(), entries.end(), [name](const Entry& entry) { return entry.name == name; }))
        return;
    const std::size_t size = sizeOfType(type);
    std::size_t at = entries.empty() ? 0 : entries.back().offset + entries.back().size;
    at = offset >= 0 ? static_cast<std::size_t>(offset) : (at + size - 1) / size * size;
    entries.push_back({std::string(name), at, size});
}

std::optional<NcclPayload> NcclPayloads::read(const unsigned char* bytes, std::size_t size) const
{
    constexpr std::size_t kWord = 8, kHeader = 4 * kWord;
    if (bytes == nullptr || size < kHeader)
        return std::nullopt;
    // Domains and schemas are numbers of 32 bits beside which others stand.
    constexpr std::uint64_t kLow = 0xFFFFFFFF;
    const auto found = m_schemas.find({numberAt(bytes, kWord) & kLow, numberAt(bytes + kWord, kWord) & kLow});
    if (found == m_schemas.end())
        return std::nullopt;
    NcclPayload payload;
    for (const Entry& entry : found->second) {
        if (entry.offset + entry.size > size - kHeader)
            continue;
        const std::uint64_t number = numberAt(bytes + kHeader + entry.offset, entry.size);
        const auto small = number < static_cast<std::uint64_t>(kMostRanksOfAJob) ? static_cast<int>(number) : -1;
        if (entry.name == "NCCL communicator ID")
            payload.communicator = number;
        else if (entry.name == "Message size [bytes]")
            payload.bytes = number <= static_cast<std::uint64_t>(kMostMessageBytes) ? static_cast<std::int64_t>(number) : -1;
        else if (entry.name == "Peer rank")
            payload.peer = small;
        else if (entry.name == "No. of ranks")
            payload.size = small;
        else if (entry.name == "Rank")
            payload.rank = small;
    }
    return payload;
}

void NcclRanges::addRange(std::int64_t thread, std::int64_t startNs, std::int64_t endNs, std::string_view name,
                          std::uint32_t span, const std::optional<NcclPayload>& payload)
{
    m_threads[thread].ranges.push_back({startNs, endNs, std::string(name), span, payload.value_or(NcclPayload{})});
    if (payload && payload->communicator != 0 && payload->size > 0)
        m_sizes[payload->communicator] = payload->size;
}

void NcclRanges::addKernel(std::int64_t correlation, const RecordedCollective& kernel)
{
    if (correlation == 0 || !m_kernels.try_emplace(correlation, kernel).second)
        m_unlaunched.push_back(kernel); // of a graph: one launch for many
}

void NcclRanges::addLaunch(std::int64_t correlation, std::int64_t thread, std::int64_t startNs)
{
    m_threads[thread].launches.push_back({startNs, correlation});
}

void NcclRanges::settle(RecordingBuilder& builder)
{
    for (auto& [id, thread] : m_threads) {
        checkCancelled();
        settleThread(builder, thread);
    }
    for (const auto& [correlation, kernel] : m_kernels)
        builder.addCollective(kernel, 0);
    for (const RecordedCollective& kernel : m_unlaunched)
        builder.addCollective(kernel, 0);
    m_kernels.clear();
    m_unlaunched.clear();
}

/// Calls launch within themselves, those between ncclGroupStart and the last ncclGroupEnd within that.
void NcclRanges::settleThread(RecordingBuilder& builder, Thread& thread)
{
    std::stable_sort(thread.ranges.begin(), thread.ranges.end(), [](const Range& a, const Range& b) {
        return a.startNs != b.startNs ? a.startNs < b.startNs : a.endNs > b.endNs;
    });
    std::stable_sort(thread.launches.begin(), thread.launches.end(),
                     [](const Launch& a, const Launch& b) { return a.startNs < b.startNs; });
    auto next = thread.launches.begin();
    std::vector<const Range*> open; // calls whose kernels are yet to come
    int depth = 0;
    for (const Range& range : thread.ranges) {
        if (range.name == "ncclGroupStart") {
            if (depth++ == 0)
                open.clear();
            continue;
        }
        const bool isEnd = range.name == "ncclGroupEnd";
        if (isEnd)
            depth = std::max(0, depth - 1);
        else if (range.payload.bytes < 0)
            continue;
        else
            open.push_back(&range);
        if (depth > 0)
            continue;
        while (next != thread.launches.end() && next->startNs < range.startNs)
            ++next;
        std::vector<Launch> launches;
        for (; next != thread.launches.end() && next->startNs <= range.endNs; ++next)
            launches.push_back(*next);
        if (!launches.empty()) {
            tell(builder, launches, isEnd ? open : std::vector<const Range*>{&range});
            open.clear();
        } else if (isEnd) {
            open.clear(); // into a graph
        }
    }
}

void NcclRanges::tell(RecordingBuilder& builder, const std::vector<Launch>& launches, const std::vector<const Range*>& calls)
{
    // What a kernel does is in its name, but for generic ones.
    const auto kindOfCall = [](const Range* call) {
        return isTransfer(call->name) ? std::string("sendrecv") : collectiveOfKernelName(call->name);
    };
    std::map<std::string, std::vector<std::int64_t>> kernels;
    for (const Launch& launch : launches)
        kernels[builder.recording.names[m_kernels.at(launch.correlation).name]].push_back(launch.correlation);
    for (const auto& [kind, launched] : kernels) {
        std::vector<const Range*> of;
        for (const Range* call : calls)
            if (kind.empty() || kindOfCall(call) == kind)
                of.push_back(call);
        if (of.size() == launched.size()) {
            for (std::size_t i = 0; i < of.size(); ++i)
                tellKernel(builder, launched[i], {of[i]});
        } else if (launched.size() == 1 && !of.empty()) {
            tellKernel(builder, launched.front(), of);
        } else if (!of.empty() && std::all_of(of.begin(), of.end(), [&of](const Range* call) {
                       return call->payload.communicator == of.front()->payload.communicator;
                   })) {
            // Whose bytes went with which kernel is not known.
            Range shared = *of.front();
            shared.payload = {.communicator = shared.payload.communicator};
            for (const std::int64_t correlation : launched)
                tellKernel(builder, correlation, {&shared});
        }
    }
}

void NcclRanges::tellKernel(RecordingBuilder& builder, std::int64_t correlation, const std::vector<const Range*>& calls)
{
    RecordedCollective& kernel = m_kernels.at(correlation);
    const NcclPayload& first = calls.front()->payload;
    kernel.hostSpan = calls.front()->span;
    if (first.communicator != 0 && std::all_of(calls.begin(), calls.end(), [&first](const Range* call) {
            return call->payload.communicator == first.communicator;
        })) {
        const auto size = m_sizes.find(first.communicator);
        kernel.group =
            builder.group(nameOfCommunicator(first.communicator), "", {}, size == m_sizes.end() ? 0 : size->second, kNcclRanges);
    }
    std::int64_t bytes = 0;
    std::set<int> sources, destinations;
    for (const Range* call : calls) {
        if (call->payload.bytes < 0)
            return;
        bytes += call->payload.bytes;
        if (isTransfer(call->name))
            (call->name == "ncclSend" ? destinations : sources).insert(call->payload.peer);
    }
    const auto only = [](const std::set<int>& peers) {
        return peers.size() == 1 && *peers.begin() >= 0 ? placeInGroup(*peers.begin()) : -1;
    };
    const std::string kind = collectiveOfKernelName(calls.front()->name);
    if (calls.size() == 1)
        kernel.name = builder.recording.names.add(!kind.empty()                       ? std::string_view(kind)
                                                  : calls.front()->name == "ncclSend" ? "send"
                                                  : calls.front()->name == "ncclRecv" ? "recv"
                                                                                      : builder.recording.names[kernel.name]);
    kernel.destinationRank = only(destinations);
    kernel.sourceRank = only(sources);
    kernel.isPointToPoint = !sources.empty() || !destinations.empty();
    // What one member gives, or gets: nameMembers() says what all do.
    if (kind == "allgather" || kind == "all_to_all" || kind == "reduce_scatter") {
        kernel.dtype = builder.recording.names.add("Byte");
        (kind == "reduce_scatter" ? kernel.outElements : kernel.inElements) = bytes;
    } else {
        kernel.bytes = bytes;
    }
}

std::map<std::int64_t, NcclRanges::Place> NcclRanges::places(std::int64_t processMask) const
{
    struct Largest {
        std::uint64_t communicator = 0;
        Place place;
    };
    std::map<std::int64_t, Largest> largest;
    for (const auto& [id, thread] : m_threads)
        for (const Range& range : thread.ranges) {
            const NcclPayload& of = range.payload;
            Largest& known = largest[id & processMask];
            if (of.communicator != 0 && of.rank >= 0 && of.rank < of.size && of.size > known.place.worldSize)
                known = {of.communicator, {of.rank, of.size}};
        }
    std::map<std::int64_t, Place> places;
    std::set<int> ranks;
    for (const auto& [process, of] : largest) {
        if (of.communicator == 0 || of.communicator != largest.begin()->second.communicator ||
            !ranks.insert(of.place.rank).second)
            return {};
        places[process] = of.place;
    }
    return places;
}

std::map<std::int64_t, NcclRanges::PlacesByName> NcclRanges::communicators(std::int64_t processMask) const
{
    std::map<std::int64_t, std::map<std::uint64_t, int>> places;
    CancelPoll poll;
    for (const auto& [id, thread] : m_threads) {
        std::map<std::uint64_t, int>& known = places[id & processMask];
        for (const Range& range : thread.ranges) {
            poll();
            if (range.payload.communicator == 0)
                continue;
            int& place = known.try_emplace(range.payload.communicator, -1).first->second;
            place = std::max(place, range.payload.rank);
        }
    }
    std::map<std::int64_t, PlacesByName> named;
    for (const auto& [process, known] : places)
        for (const auto& [communicator, place] : known)
            named[process][nameOfCommunicator(communicator)] = place;
    return named;
}

} // namespace sim
