// Who watches a run, and how far each has come: what a publisher does but for its socket. Each viewer is a place in the
// collector's history and what is on the way to it. What viewers say is read within ViewerBudget. Private to live/stream.
#pragma once

#include "live/stream/budget.h"
#include "live/stream/messages.h"
#include "live/stream/publisher.h"

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace live {

class Audience {
public:
    using Clock = std::chrono::steady_clock;
    /// A part of a message: a text, or a block whose bytes need no copy.
    struct Part {
        std::string text;
        std::shared_ptr<const Block> block;
    };
    /// False if it cannot be taken now: tried again later.
    using Send = std::function<bool(const std::string& viewer, std::vector<Part>)>;

    Audience(Collector&, const PublishOptions&, Send);

    // One thread, all of these but counts().
    /// A message of a viewer (by the name its connection has). Never throws for what is in it.
    void receive(const std::string& viewer, std::span<const std::string_view> frames, Clock::time_point now);
    /// Sends what is new, and forgets those who are silent.
    void tick(Clock::time_point now);
    /// This process itself was stopped: nobody could be heard.
    void wasAway(Clock::time_point now);
    /// From now on viewers are told that it is over once they have taken everything.
    void end() { m_ending = true; }
    bool everybodyKnowsTheEnd() const;
    void sayEnd(); ///< to those who do not
    /// Whether it has a place, or waits for a run that nobody knows yet.
    bool contains(const std::string& viewer) const { return m_viewers.contains(viewer) || m_early.contains(viewer); }
    std::size_t size() const { return m_viewers.size(); }

    PublisherCounts counts() const; ///< any thread
    void countCut();

private:
    struct Viewer {
        Collector::Cursor cursor;
        std::uint64_t nextMessage = 1;
        struct Message {
            std::uint64_t number = 0;
            std::size_t bytes = 0, records = 0;
        };
        std::deque<Message> onTheWay; ///< not acknowledged yet
        std::size_t bytesOnTheWay = 0, recordsOnTheWay = 0;
        Clock::time_point heard, spoken;
        Clock::time_point took;   ///< anything, or had nothing to take
        bool hasAnswered = false; ///< has acknowledged something
        bool toldEnd = false;
    };
    using Viewers = std::map<std::string, Viewer>;
    struct Newcomer {
        Clock::time_point since, heard;
    };

    void understand(const std::string& viewer, const Json&, Clock::time_point now);
    void attach(const std::string& viewer, const Json&, Clock::time_point now);
    bool hasPlace(const std::string& viewer, Clock::time_point now);
    void control(const std::string& viewer, const Json&);
    void acknowledge(Viewer&, std::uint64_t number, Clock::time_point now);
    void sendNews(const std::string& name, Viewer&, Clock::time_point now);
    bool mayBeSentMore(const Viewer&) const;
    bool say(const std::string& viewer, const Json&);
    template <class F>
    void count(F change);

    Collector& m_collector;
    const PublishOptions m_options;
    const Send m_send;
    std::string m_runMessage;
    Viewers m_viewers;
    std::map<std::string, Newcomer> m_waiting; ///< for a place
    std::set<std::string> m_early;             ///< came before the run was described: say hello again until it is
    bool m_ending = false;
    mutable std::mutex m_countsMutex;
    PublisherCounts m_counts;
};

} // namespace live
