#include "app/session/playback.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr int kTickMs = 16;
constexpr double kLongestTickSeconds = 0.25; ///< a window that was held up does not leap

} // namespace

Playback::Playback(QObject* parent) : QObject(parent)
{
    m_timer.setInterval(kTickMs);
    m_timer.setTimerType(Qt::PreciseTimer);
    connect(&m_timer, &QTimer::timeout, this, &Playback::tick);
}

void Playback::setSpan(TimeRange span)
{
    if (span == m_span)
        return;
    m_span = span;
    m_remainder = 0;
    if (isEmpty())
        pause();
    if (m_positionNs < span.beginNs || m_positionNs > span.endNs)
        m_positionNs = span.beginNs;
    Q_EMIT stateChanged();
}

void Playback::play()
{
    if (isPlaying() || isEmpty())
        return;
    if (m_positionNs >= m_span.endNs || m_positionNs < m_span.beginNs) {
        m_positionNs = m_span.beginNs;
        Q_EMIT moved(m_positionNs);
    }
    m_sinceTick.start();
    m_timer.start();
    Q_EMIT stateChanged();
}

void Playback::pause()
{
    if (!isPlaying())
        return;
    m_timer.stop();
    Q_EMIT stateChanged();
}

void Playback::setRepeating(bool repeats)
{
    m_repeats = repeats;
    Q_EMIT stateChanged();
}

void Playback::setSpeed(double speed)
{
    m_speed = speed;
    Q_EMIT stateChanged();
}

double Playback::nsASecond() const
{
    return static_cast<double>(m_span.endNs - m_span.beginNs) / kSecondsASpan * m_speed;
}

void Playback::setPosition(std::int64_t ns)
{
    m_positionNs = ns;
    m_remainder = 0;
}

void Playback::advance(double seconds)
{
    if (isEmpty())
        return;
    const double by = seconds * nsASecond() + m_remainder;
    const auto whole = static_cast<std::int64_t>(std::floor(by));
    m_remainder = by - static_cast<double>(whole);
    m_positionNs += whole;
    if (m_positionNs >= m_span.endNs) {
        const std::int64_t length = m_span.endNs - m_span.beginNs;
        m_positionNs = m_repeats ? m_span.beginNs + (m_positionNs - m_span.beginNs) % length : m_span.endNs;
        if (!m_repeats)
            pause();
    }
    Q_EMIT moved(m_positionNs);
}

void Playback::tick()
{
    advance(std::min(static_cast<double>(m_sinceTick.restart()) * 1e-3, kLongestTickSeconds));
}

} // namespace app
