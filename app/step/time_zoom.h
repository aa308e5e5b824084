// What of the time axis is in sight, and where it has been. One for all pictures of a window: who zooms in on one zooms in on
// all.
#pragma once

#include "app/step/selection.h"
#include "app/step/time_window.h"
#include "app/step/view_history.h"

#include <cmath>

namespace app {

inline constexpr double kPanShare = 0.08; ///< of what is in sight, a notch or key press

class TimeZoom {
public:
    const TimeWindow& now() const { return m_now; }

    /// Where the trace ends; nothing: there is none. What was looked at stays in sight while a slider changes the trace.
    void setTrace(std::optional<std::int64_t> endNs);
    /// The axis begins and ends at least there.
    void setAxis(TimeRange);

    TimeRange range() const { return {std::llround(m_now.beginNs), std::llround(m_now.endNs)}; }
    void setRange(TimeRange); ///< not to be gone back over
    /// What a scenario file keeps: nothing where all is in sight. A range that is restored without a trace waits for one.
    std::optional<TimeRange> kept() const { return !m_traceEndNs || m_now.showsAll() ? m_awaited : std::optional(range()); }
    void restore(const std::optional<TimeRange>&);
    /// Moves on when the time cursor has left, or is about to. Not to be gone back over.
    bool follow(std::int64_t cursorNs);

    // Moves that can be gone back over. False: nothing changes. `continued`: one of many small ones, which are one until a rest.
    bool show(const TimeWindow&, bool continued = false);
    bool show(TimeRange range) { return show(at(range, 0)); }
    bool showAll() { return show(m_now.whole()); }
    bool zoom(double factor, double share) { return show(m_now.zoomed(factor, share), true); }
    bool pan(double shares) { return show(m_now.moved(m_now.span() * shares), true); }
    bool centre(double ns) { return show(m_now.moved(ns - (m_now.beginNs + m_now.endNs) / 2), true); }
    bool keepInSight(TimeRange);
    bool frame(const std::optional<TimeRange>&); ///< with a margin; of nothing, all
    /// All, where the last move was to frame.
    bool frameOrAll(const std::optional<TimeRange>& times) { return m_framed ? showAll() : frame(times); }
    bool back() { return returnTo(m_history.back(m_now)); }
    bool forward() { return returnTo(m_history.forward(m_now)); }
    void rest() { m_history.rest(); }

private:
    TimeWindow whole() const;
    TimeWindow at(TimeRange, double marginNs) const;
    bool returnTo(const std::optional<TimeWindow>&);

    TimeWindow m_now;
    ViewHistory<TimeWindow> m_history;
    TimeRange m_axis;
    std::optional<std::int64_t> m_traceEndNs;
    std::optional<TimeRange> m_awaited; ///< to show once there is a trace
    bool m_framed = false;
};

} // namespace app
