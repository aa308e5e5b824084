// One event of a Chrome trace: its members as written, and what they become.
#pragma once

#include "sim/trace/readers/ascend_rows.h"
#include "sim/trace/readers/chrome_arguments.h"
#include "sim/trace/readers/chrome_category.h"
#include "sim/trace/readers/host_calls.h"
#include "sim/trace/readers/json_scan.h"
#include "sim/trace/readers/reading.h"
#include "sim/trace/readers/recording_builder.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sim {

/// Members as written: strings with their quotes. Empty: not there. Views into the window.
struct ChromeEvent {
    std::string_view ph, cat, name, pid, tid, ts, dur, id, args;
};

/// `at` stands on the brace, then behind the event.
Scan scanEvent(const char*& at, const char* end, ChromeEvent&, Quotes);

class ChromeEvents {
public:
    ChromeEvents(RecordingBuilder&, const ReadingFile&);
    /// Null, or why it is damaged.
    const char* take(const ChromeEvent&);
    /// At the end: what began and never ended lasts until then.
    void finish();
    int device() const; ///< on which most kernels ran; -1: none
    bool isOwn() const { return m_isOwn; }
    bool isOfXlaDevices() const { return m_isOfXlaDevices; }                    ///< from finish() on
    bool isOfAscend() const { return m_isOfAscend; }                            ///< likewise
    bool looksLikeEpoch() const { return m_firstNs > 100'000'000'000'000'000; } ///< later than 1973
    int slices() const { return m_slices; }

private:
    using Category = ChromeCategory;
    struct Row {
        std::uint32_t track = 0;
        std::vector<std::uint32_t> open; ///< spans of B without their E
    };
    Category categoryOf(std::string_view written);
    std::uint32_t nameOf(std::string_view written);
    Row& rowOf(const ChromeEvent&);
    const char* takeSpan(const ChromeEvent&, std::int64_t startNs, std::int64_t durationNs);
    const char* takeMetadata(const ChromeEvent&);
    const char* takeCounter(const ChromeEvent&, std::int64_t ns);
    void takeInstant(const ChromeEvent&, std::int64_t ns);
    const char* takeFlow(const ChromeEvent&, std::int64_t ns);
    void takeCollective(const ChromeArguments&, std::uint32_t span, bool isKernel, std::uint32_t name);
    void takeShape(std::string_view args, std::uint32_t span, const std::string& op);
    void takeOwn(const ChromeEvent&, std::uint32_t span, std::uint32_t track);
    std::int32_t groupOf(const ChromeArguments&);

    RecordingBuilder& m_builder;
    const ReadingFile& m_file;
    std::vector<std::pair<std::string, Category>> m_categories;
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> m_names; ///< as written
    std::unordered_map<std::string, Row, Hash, std::equal_to<>> m_rows;            ///< pid and tid as written
    std::string m_rowKey;
    std::vector<signed char> m_isCommunication;                ///< [name]: -1 not yet known
    std::map<std::string, std::int32_t, std::less<>> m_groups; ///< by their arguments as written
    std::map<int, std::size_t> m_devices;
    std::int64_t m_firstNs = 0;
    int m_slices = 1;
    std::vector<std::pair<std::uint32_t, std::int32_t>> m_sliceOf; ///< span, slice
    bool m_isOwn = false;
    bool m_isOfXlaDevices = false;
    HostCalls m_hostCalls;
    AscendRows m_ascend;
    bool m_isOfAscend = false;
    bool m_anyCollective = false; ///< of those that their events tell of
};

} // namespace sim
