#include "app/step/time_zoom.h"

namespace app {

TimeWindow TimeZoom::whole() const
{
    return TimeWindow::all(static_cast<double>(std::max(m_axis.endNs, m_traceEndNs.value_or(0))),
                           static_cast<double>(m_axis.beginNs));
}

TimeWindow TimeZoom::at(TimeRange range, double marginNs) const
{
    return m_now.to(static_cast<double>(range.beginNs) - marginNs, static_cast<double>(range.endNs) + marginNs);
}

void TimeZoom::setTrace(std::optional<std::int64_t> endNs)
{
    const bool showedAll = !m_traceEndNs || m_now.showsAll();
    m_traceEndNs = endNs;
    m_framed = false;
    m_history.forget();
    if (!endNs)
        return;
    const TimeWindow before = m_now;
    m_now = whole();
    if (m_awaited)
        m_now = at(*m_awaited, 0);
    else if (!showedAll)
        m_now = m_now.to(before.beginNs, before.endNs);
    m_awaited.reset();
}

void TimeZoom::setAxis(TimeRange axis)
{
    m_axis = axis;
    const TimeWindow all = whole();
    if (all.lengthNs != m_now.lengthNs || all.firstNs != m_now.firstNs)
        m_now = m_now.showsAll() ? all : all.to(m_now.beginNs, m_now.endNs);
}

void TimeZoom::setRange(TimeRange range)
{
    m_now = at(range, 0);
    m_framed = false;
}

void TimeZoom::restore(const std::optional<TimeRange>& range)
{
    m_history.forget();
    if (!m_traceEndNs)
        m_awaited = range;
    else if (range)
        setRange(*range);
    else
        m_now = whole();
}

bool TimeZoom::follow(std::int64_t cursorNs)
{
    constexpr double kAhead = 0.9, kBehind = 0.1; // of the window: where it turns over, and where the cursor is then
    const auto cursor = static_cast<double>(cursorNs);
    if (!m_traceEndNs || (cursor >= m_now.beginNs && cursor <= m_now.beginNs + m_now.span() * kAhead))
        return false;
    const TimeWindow before = m_now;
    m_now = m_now.moved(cursor - m_now.beginNs - m_now.span() * kBehind);
    return !(m_now == before);
}

bool TimeZoom::show(const TimeWindow& next, bool continued)
{
    m_framed = false;
    if (next == m_now)
        return false;
    m_history.leave(m_now, continued);
    m_now = next;
    return true;
}

bool TimeZoom::keepInSight(TimeRange times)
{
    const auto begin = static_cast<double>(times.beginNs), end = static_cast<double>(times.endNs);
    return (begin < m_now.beginNs || end > m_now.endNs) && centre((begin + end) / 2);
}

bool TimeZoom::frame(const std::optional<TimeRange>& times)
{
    constexpr double kMargin = 0.1; // of the times, on both sides
    if (!times)
        return showAll();
    const bool changed = show(at(*times, static_cast<double>(times->endNs - times->beginNs) * kMargin));
    m_framed = true;
    return changed;
}

bool TimeZoom::returnTo(const std::optional<TimeWindow>& place)
{
    if (!place)
        return false;
    m_now = m_now.to(place->beginNs, place->endNs);
    m_framed = false;
    return true;
}

} // namespace app
