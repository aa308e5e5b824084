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
    /// It goes on with its action, which takes long.
    void moves();
    /// It pauses until a request is done, or goes on.
    void waits(bool);

    struct State {
        std::vector<FlightEntry> entries; ///< oldest first
        std::string action;
        std::int64_t sinceNs = 0;   ///< of the action
        std::uint64_t progress = 0; ///< grows with all that is told here
        bool waits = false;
        bool inStep() const { return !action.empty(); }
    };
    State state() const;

private:
    mutable std::mutex m_mutex;
    std::array<FlightEntry, kKept> m_entries{};
    std::uint64_t m_next = 0;
    std::string m_action;
    std::int64_t m_sinceNs = 0;
    std::uint64_t m_progress = 0;
    bool m_waits = false;
};

/// What a rank that no longer moves tells of itself: also to other processes.
struct StalledRank {
    struct Request {
        std::string what;  ///< "all-reduce attn.sum of group tp {0,1}"
        std::string group; ///< "tp {0,1}"
        std::vector<int> ranks;
        std::int64_t sequence = 0;
        std::int64_t waitedNs = 0;
        bool isPending = false;
    };
    int rank = 0;
    std::string action; ///< empty: in no step
    std::int64_t actionNs = 0;
    std::vector<Request> requests; ///< oldest first
};
std::vector<StalledRank> stalledRanks(const std::vector<const FlightRecord*>&, std::int64_t nowNs);

/// Where they stand, for people: who has waited longest, in what, who has not come, and the circle if they wait for each other.
std::string describeStall(const std::vector<StalledRank>&);

} // namespace live
