// What NCCL says of its calls in Nsight Systems' files: NVTX ranges of its own domain, whose binary payloads hold communicator,
// bytes and peer (facts: NCCL's src/include/nvtx_payload_schemas.h, NVTX's nvToolsExtPayload.h). The kernels of the same file say
// when; which call launched which kernel follows from the launches inside the ranges.
#pragma once

#include "sim/trace/recording.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sim {

class RecordingBuilder;

/// A file that tells of longer messages is damaged.
inline constexpr std::int64_t kMostMessageBytes = std::int64_t{1} << 50;

/// One range's payload. -1, communicator 0: not said.
struct NcclPayload {
    std::uint64_t communicator = 0;
    std::int64_t bytes = -1; ///< of what one member hands in
    int peer = -1;           ///< place in the communicator
    int size = -1, rank = -1;
};

/// Payloads by the schemas that the file holds.
class NcclPayloads {
public:
    /// Entries of a schema in their order. `offset` -1: behind the one before.
    void addEntry(std::int64_t domain, std::int64_t schema, std::int64_t type, std::string_view name, std::int64_t offset);
    /// Of the bytes as Nsight exports them: domain, schema, size and end, eight bytes each, then the payload.
    std::optional<NcclPayload> read(const unsigned char* bytes, std::size_t size) const;

private:
    struct Entry {
        std::string name;
        std::size_t offset = 0, size = 0;
    };
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<Entry>> m_schemas; ///< by domain and schema
};

class NcclRanges {
public:
    void addRange(std::int64_t thread, std::int64_t startNs, std::int64_t endNs, std::string_view name, std::uint32_t span,
                  const std::optional<NcclPayload>&);
    /// A kernel of NCCL by the number of its launch.
    void addKernel(std::int64_t correlation, const RecordedCollective&);
    bool launches(std::int64_t correlation) const { return m_kernels.contains(correlation); }
    void addLaunch(std::int64_t correlation, std::int64_t thread, std::int64_t startNs);
    /// All kernels become collectives, with what the calls that launched them say.
    void settle(RecordingBuilder&);
    /// Place of a process in its largest communicator, where all processes have it in common and each its own place; and its
    /// size.
    struct Place {
        int rank = -1, worldSize = 0;
    };
    std::map<std::int64_t, Place> places(std::int64_t processMask) const;
    /// Communicators that each process names, and its place in them; -1: not told.
    using PlacesByName = std::map<std::string, int>;
    std::map<std::int64_t, PlacesByName> communicators(std::int64_t processMask) const;

private:
    struct Range {
        std::int64_t startNs, endNs;
        std::string name;
        std::uint32_t span;
        NcclPayload payload;
    };
    struct Launch {
        std::int64_t startNs, correlation;
    };
    struct Thread {
        std::vector<Range> ranges;
        std::vector<Launch> launches;
    };
    void settleThread(RecordingBuilder&, Thread&);
    void tell(RecordingBuilder&, const std::vector<Launch>&, const std::vector<const Range*>&);
    void tellKernel(RecordingBuilder&, std::int64_t correlation, const std::vector<const Range*>&);

    std::map<std::int64_t, Thread> m_threads;
    std::map<std::int64_t, RecordedCollective> m_kernels; ///< by the number of their launch
    std::vector<RecordedCollective> m_unlaunched;
    std::map<std::uint64_t, int> m_sizes; ///< of communicators
};

} // namespace sim
