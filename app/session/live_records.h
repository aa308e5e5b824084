// What was received of a run and is needed for its picture: the newest steps' spans, what each rank holds, and which step to
// show. Bounded: older steps are the viewer's history. Knows no thread, no process.
#pragma once

#include "app/session/live_run.h"

#include <chrono>
#include <deque>

namespace app {

class LiveRecords {
public:
    using Time = std::chrono::steady_clock::time_point;

    void take(const live::ViewerUpdate&, Time now);

    bool isKnown() const { return m_run != nullptr; }
    const std::shared_ptr<const live::RunDescription>& run() const { return m_run; }
    const live::RunState& state() const { return m_state; }
    std::uint64_t missed() const { return m_missed; }
    int lastStep() const { return m_lastDone; } ///< that is done; -1 if none
    /// Last actions, and what is held.
    std::vector<RankReading> ranks() const { return m_ranks; }

    /// The step to show when nobody chose one: the newest that is complete; while a step takes long, that one as it grows.
    struct Choice {
        int step = -1;
        bool complete = false;
        std::size_t spans = 0;
        bool explainsWaits = false; ///< as of StepRecords
        bool operator==(const Choice&) const = default;
    };
    Choice newest(Time now) const;
    /// A step of which spans are still here.
    Choice choice(int step, Time now) const;
    bool has(int step) const { return m_spans.contains(step); }
    StepPicturePtr picture(const Choice&, const Prediction*, const StepPictureFunction& make) const;
    /// Of a step whose spans came from elsewhere (the viewer's history).
    StepPicturePtr pictureOf(const Choice&, std::span<const live::RankSpan>, const Prediction*,
                             const StepPictureFunction& make) const;

private:
    struct Step {
        std::vector<live::RankSpan> spans;
        Time firstSeen, lastSeen;
    };
    bool isComplete(int step, const Step&, Time now) const;
    void forgetOld();

    std::shared_ptr<const live::RunDescription> m_run;
    std::vector<sim::SpanKind> m_kinds;
    std::map<int, Step> m_spans;
    std::map<int, Time> m_doneAt; ///< steps whose numbers came, as long as their spans are here
    std::deque<live::RankMemory> m_memory;
    std::vector<RankReading> m_ranks;
    live::RunState m_state;
    std::uint64_t m_missed = 0;
    int m_lastDone = -1;
};

} // namespace app
