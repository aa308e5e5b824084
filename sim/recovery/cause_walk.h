// From a time on a rank back through what led to it, over all recorded ranks of a step: to the last starter of a collective, to
// the sender of a receive, else to what ended last before on the rank (stream order and event waits look alike in a trace), to
// the launch where that came later.
#pragma once

#include "sim/recovery/recover.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sim {

enum class PathPart : std::uint8_t {
    computing,     ///< a kernel
    copying,       ///< a copy, or memory that is set
    communicating, ///< a collective after its last member came; a transfer after its send began
    launching,     ///< the device idles until the host asks
    idling         ///< nothing that was recorded explains the gap
};
std::string_view pathPartText(PathPart);

struct PathSegment {
    std::uint32_t rank = 0; ///< index into RunEvidence::ranks
    std::int64_t startNs = 0, endNs = 0;
    PathPart part = PathPart::idling;
    std::uint32_t name = 0;  ///< index into RunEvidence::names, of the span; 0 for gaps
    std::int32_t group = -1; ///< of a communication
};

/// Something that occupied a rank's device: a place in its comms, or else in its work.
struct DeviceSpan {
    std::uint32_t place = 0;
    bool isComm = false;
};

class CauseWalk {
public:
    /// `step`: an index into RecoveredSteps::steps. Where clocks are apart no way leads to another rank. O(spans log spans); the
    /// recovered run must outlive it.
    CauseWalk(const Recovered&, std::size_t step);

    std::int64_t beginNs() const { return m_beginNs; } ///< of the first rank to begin
    /// The rank whose device is busy last, and until when; nothing where none ever was. What ends later than `byNs` is left out.
    struct End {
        std::uint32_t rank = 0;
        std::int64_t ns = 0;
    };
    std::optional<End> lastEnd(std::int64_t byNs = INT64_MAX) const;
    /// The same of one rank.
    std::optional<End> lastEndOf(std::uint32_t rank, std::int64_t byNs = INT64_MAX) const;

    /// nullptr: of a span that no recorded rank met in, or that does not end for all.
    const Meeting* meetingOf(std::uint32_t rank, std::uint32_t comm) const;
    /// Of a receive: with its send. nullptr: it was not matched.
    const Meeting* transferOf(std::uint32_t rank, std::uint32_t comm) const;

    /// Told from the end to the begin, without holes; the span is nullptr of gaps.
    using Tell = std::function<void(const PathSegment&, const DeviceSpan*)>;
    /// `launchNs`: when the host asked for what begins then, INT64_MIN where that is not known.
    void back(End from, std::int64_t launchNs, std::int64_t beginNs, const Tell&) const;

private:
    std::int64_t startOf(std::size_t rank, DeviceSpan) const;
    std::int64_t endOf(std::size_t rank, DeviceSpan) const;
    /// What ended last by `at` on the rank; nullptr: nothing did.
    const DeviceSpan* before(std::size_t rank, std::int64_t at) const;
    /// What runs at the instant, and had begun before; nullptr: nothing that computes.
    const DeviceSpan* computingAt(std::size_t rank, std::int64_t at) const;
    /// Since when it was under way for the rank, whose doing that is, and when the host of that one asked for it.
    struct Cause {
        std::int64_t fromNs = 0;
        std::uint32_t rank = 0;
        std::int64_t launchNs = INT64_MIN;
    };
    Cause causeOf(std::uint32_t rank, DeviceSpan) const;

    const RunEvidence& m_evidence;
    std::vector<std::pair<std::int64_t, std::int64_t>> m_window; ///< [rank]
    std::vector<std::vector<DeviceSpan>> m_spans;                ///< [rank], by end
    std::unordered_map<std::uint64_t, const Meeting*> m_meetingOf, m_receiveOf;
    std::int64_t m_beginNs = 0;
    std::size_t m_count = 0; ///< of all spans
};

} // namespace sim
