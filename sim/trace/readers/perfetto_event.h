// Perfetto's messages as values: what a packet's parts say, without the recording that comes of them. Field numbers:
// protos/perfetto/trace of the Perfetto project. All of these throw protozero's exceptions where the bytes are no message.
#pragma once

#include "sim/trace/readers/job_words.h"
#include "sim/trace/recording.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sim {

inline constexpr std::uint32_t kPerfettoBoottime = 6;

struct PerfettoClock {
    std::int64_t offsetNs = 0; ///< to the boot clock
    std::int64_t nowNs = 0;    ///< of an incremental clock: the last packet's time
    std::int64_t unitNs = 1;
    bool isIncremental = false;
};
using PerfettoClocks = std::map<std::uint32_t, PerfettoClock>; ///< by number

/// What packets of one sequence have said before, and later ones refer to by number.
struct PerfettoSequence {
    std::unordered_map<std::uint64_t, std::uint32_t> names; ///< -> Recording::names
    std::unordered_map<std::uint64_t, std::string> categories, annotationNames, annotationTexts;
    std::uint64_t defaultTrack = 0;
    std::uint32_t defaultClock = kPerfettoBoottime;
    PerfettoClocks clocks; ///< of this sequence alone
    /// Forgets all but its clocks, which packets do not repeat.
    void clearState();
};

/// Clocks of the whole trace.
struct PerfettoTime {
    PerfettoClocks clocks;
    std::optional<std::int64_t> realtimeNs; ///< 1970 to the boot
    /// A snapshot of clocks taken together. Those of the sequence are put there, the others here.
    void takeSnapshot(std::string_view snapshot, PerfettoSequence&);
    /// Nanoseconds of the boot clock, empty beyond ±4e18. To be asked once of each packet with a time: incremental clocks
    /// advance.
    std::optional<std::int64_t> absoluteNs(std::uint64_t timestamp, std::uint32_t clock, PerfettoSequence&);
};

/// As a descriptor tells of it.
struct PerfettoTrack {
    std::uint64_t parent = 0;
    std::string name, process, thread;
    bool isProcess = false, isThread = false, isCounter = false, isIncremental = false;
    int multiplicity = 1;
    std::string description; ///< "": none
    std::string unit;
    std::int64_t unitMultiplier = 1;
};

struct PerfettoEvent {
    enum Type { kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4 };
    int type = 0;
    std::optional<std::int64_t> lastsNs; ///< of a begin that says when it ends
    std::uint64_t track = 0, correlation = 0;
    std::optional<std::uint32_t> name;
    std::string category;
    std::vector<std::uint64_t> flows, endingFlows;
    std::optional<double> counter;
    RecordedMeaning meaning;
    CollectiveWords words;
    int microbatch = -1, slice = 0;
};

void takePerfettoDefaults(std::string_view defaults, PerfettoSequence&);
void takePerfettoInterned(std::string_view interned, PerfettoSequence&, NameTable&);
/// The track's number, and what is said of it.
std::pair<std::uint64_t, PerfettoTrack> perfettoTrack(std::string_view descriptor);
PerfettoEvent perfettoEvent(std::string_view event, const PerfettoSequence&, NameTable&);

} // namespace sim
