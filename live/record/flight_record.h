// The last things a rank asked of others and the action it is in: what is told when a run hangs or dies.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace live {

struct FlightEntry {
    std::string_view kind; ///< "all-reduce"; a literal
    std::string_view what; ///< "attn.sum"; a literal
    const std::string* group = nullptr;
    const std::vector<int>* ranks = nullptr;
    std::int64_t sequence = 0;
    std::int64_t issuedNs = 0;
    std::int64_t doneNs = 0; ///< 0: pending
};

/// Written by the worker that runs the rank, read by the watchdog.
class FlightRecord {
public:
    static constexpr std::size_t kKept = 64;

    explicit FlightRecord(int ofRank) : rank(ofRank) {}
    const int rank;

    /// Returns a number for done().
    std::uint64_t issued(const FlightEntry&);
    void done(std::uint64_t number, std::int64_t doneNs);
    /// The rank began an action ("0F3") or, empty, ended its step.
    void enter(std::string action, std::int64_t nowNs);

    struct State {
        std::vector<FlightEntry> entries; ///< oldest first
        std::string action;
        std::int64_t sinceNs = 0; ///< of the action
    };
    State state() const;

private:
    mutable std::mutex m_mutex;
    std::array<FlightEntry, kKept> m_entries{};
    std::uint64_t m_next = 0;
    std::string m_action;
    std::int64_t m_sinceNs = 0;
};

/// Why nothing moves, for people: which ranks wait in what since when, and who has not come; "" if no rank has waited or
/// computed for `deadlineNs`.
std::string describeStall(const std::vector<const FlightRecord*>&, std::int64_t nowNs, std::int64_t deadlineNs);

} // namespace live
