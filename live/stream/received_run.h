// What a viewer was told and keeps: reads a run's messages, whoever sent them, within RunBudget. No sockets: bytes in, news and
// history out. Private to live/stream.
#pragma once

#include "live/stream/budget.h"
#include "live/stream/messages.h"
#include "live/stream/viewer.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace live {

class ReceivedRun {
public:
    using Clock = std::chrono::steady_clock;
    explicit ReceivedRun(HistoryLimits limits) : m_limits(limits) {}

    /// What a message asks of whoever holds the connection.
    enum class Meaning : std::uint8_t {
        nothing,
        greeted,    ///< the run has answered a hello and goes on from where we are
        anotherRun, ///< one answered that is not the one that was watched
        whoAreYou,  ///< say hello again
        refused,    ///< text: why
        ended,      ///< text: how
        news,       ///< for poll()
    };
    struct Heard {
        Meaning meaning = Meaning::nothing;
        std::string text;
    };

    // The connection's thread.
    /// One message, its header first. Throws sim::Error with the numbers if it is nonsense or over the budget.
    Heard take(std::span<const std::string_view> frames, Clock::time_point now = Clock::now());
    bool isGreeted() const { return m_greeted; }
    void connectionEnded() { m_greeted = false; }
    /// Nothing while so much waits to be polled that what the run would send could not be taken.
    std::optional<Json> hello() const;
    /// The number of the last message whose news were polled.
    std::uint64_t acknowledged() const;
    void asked(RunRequest); ///< was sent: a reply may come
    void notAsked(RunRequest, const std::string& why);

    // Any thread.
    /// Overwrites the update; whether something must now be acknowledged.
    bool poll(ViewerUpdate&);
    RunHistory history() const;

private:
    struct StepExtent {
        std::size_t spans = 0;
        std::int64_t firstNs = 0, lastNs = 0, longestNs = 0;
    };

    Heard takeRun(const Json&);
    void takeData(const Json&, std::span<const std::string_view> frames);
    bool takeReply(const Json&);
    std::string howItEnded() const;
    std::vector<sim::SpanKind> newKinds(const Json&) const;
    void takeBlock(const Json& header, std::string_view bytes, std::size_t kinds, ViewerUpdate& news,
                   std::vector<std::shared_ptr<const Block>>& blocks);
    void checkSteps(const std::vector<StepSummary>&) const;
    std::size_t dropExcess(std::vector<RankSpan>&, std::size_t first);
    bool isWithin(const RankSpan&);
    void countEmpty(Clock::time_point now);

    const HistoryLimits m_limits;

    // The connection's thread's own.
    bool m_greeted = false;
    bool m_hasBlocks = false;                       ///< any at all: what was gone before is not missed
    std::uint64_t m_nextBlock = 0, m_spansSeen = 0; ///< how far we are
    std::size_t m_waiting = 0;                      ///< records not polled when this message came: may become fewer only
    std::map<std::int32_t, StepExtent> m_extents;   ///< of the newest steps of which spans came
    std::array<int, 4> m_asked{};                   ///< by RunRequest: replies that may come
    Clock::time_point m_second;                     ///< empty messages are counted from here on
    int m_emptyMessages = 0;

    mutable std::mutex m_mutex; ///< all below. The connection's thread alone writes the history: it may read it unlocked
    ViewerUpdate m_pending;
    std::map<int, StepSummary> m_pendingSteps;
    RunHistory m_history;
    std::uint64_t m_received = 0, m_acknowledged = 0; ///< numbers of data messages: arrived; taken by poll()
};

} // namespace live
