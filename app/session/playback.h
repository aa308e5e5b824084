// Moves the one time cursor through a step, as a film: play, pause, repeat, slower and faster. Its timer runs only while it
// plays.
#pragma once

#include "app/step/selection.h"

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

#include <array>

namespace app {

class Playback : public QObject {
    Q_OBJECT
public:
    explicit Playback(QObject* parent = nullptr);

    /// What is played: a step, or a range that was selected in it. A position outside moves to its begin.
    void setSpan(TimeRange);
    TimeRange span() const { return m_span; }
    bool isEmpty() const { return m_span.endNs <= m_span.beginNs; }

    bool isPlaying() const { return m_timer.isActive(); }
    void play(); ///< at the end: from the begin
    void pause();
    void toggle() { isPlaying() ? pause() : play(); }
    void setRepeating(bool);

    /// At speed 1 a span lasts kSecondsASpan, however short it really is: a step of 3 ms is watched in slow motion.
    static constexpr double kSecondsASpan = 10;
    static constexpr std::array kSpeeds{0.1, 0.25, 0.5, 1.0, 2.0, 4.0};
    void setSpeed(double);
    double speed() const { return m_speed; }
    /// Nanoseconds of the step that pass in a second.
    double nsASecond() const;

    std::int64_t positionNs() const { return m_positionNs; }
    void setPosition(std::int64_t ns); ///< somebody else moved the cursor; nothing is emitted
    /// As if so much time had passed while it played.
    void advance(double seconds);

Q_SIGNALS:
    void moved(qint64 ns);
    void stateChanged(); ///< playing, repeating, speed or span

private:
    void tick();

    QTimer m_timer;
    QElapsedTimer m_sinceTick;
    TimeRange m_span;
    std::int64_t m_positionNs = 0;
    double m_remainder = 0; ///< of a nanosecond, so that slow motion does not stand still
    double m_speed = 1;
    bool m_repeats = false;
};

} // namespace app
