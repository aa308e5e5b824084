// Reads trace files back the way viewers do, strictly: what a viewer would drop or mend is an error here.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace test {

/// A span as a viewer shows it. `thread` is the track, or "track (2)" for what overlaps on it.
struct ReadSpan {
    std::string process, thread, name, category;
    std::int64_t startNs = 0, durationNs = 0;
    std::map<std::string, std::string> arguments;
    std::uint64_t correlation = 0;
    auto operator<=>(const ReadSpan&) const = default;
};

/// For messages of failing tests.
std::ostream& operator<<(std::ostream&, const ReadSpan&);

struct ReadCounter {
    std::string unit;
    std::vector<std::pair<std::int64_t, std::int64_t>> points; ///< time in ns, value
    bool operator==(const ReadCounter&) const = default;
};

struct ReadTrace {
    std::vector<std::string> processes;              ///< in the order to show
    std::map<std::string, std::string> multiplicity; ///< process -> what says how many ranks it stands for; absent for one
    std::vector<std::pair<std::string, std::string>> threads; ///< process, thread: in the order to show
    std::vector<ReadSpan> spans;
    std::vector<std::pair<ReadSpan, ReadSpan>> flows;
    std::map<std::pair<std::string, std::string>, ReadCounter> counters; ///< process, name
};

/// Throw std::runtime_error for anything that is not understood, does not pair or does not nest.
ReadTrace readPerfetto(const std::string& bytes);
ReadTrace readChromeJson(const std::string& text);

} // namespace test
