// Which spans of a track are too narrow to be drawn by themselves, and which of them are gathered.
#pragma once

#include "sim/trace/trace.h"

#include <cstddef>

namespace app {

class NarrowSpans {
public:
    static constexpr double kWidest = 2.5; ///< pixels from which a span, or a pause, is seen by itself

    NarrowSpans(const sim::Track& track, double pixelsPerNs) : m_track(track), m_pixelsPerNs(pixelsPerNs) {}

    /// Wide enough; between narrow ones it takes more, lest they make a comb.
    bool standsAlone(std::size_t span) const;
    /// From the span before it, by a pause that is seen. One that comes after each of the spans around would make a comb too.
    bool isParted(std::size_t span) const // inline: asked of each of many
    {
        const double pause = pauseBefore(span);
        return pause >= kWidest || (pause >= kLonePause && isLonePause(span));
    }

private:
    double pixelsOf(std::size_t span) const { return static_cast<double>(m_track.durationNs[span]) * m_pixelsPerNs; }
    /// In pixels; none before the first.
    double pauseBefore(std::size_t span) const
    {
        if (span == 0 || span >= m_track.size())
            return 0;
        return static_cast<double>(m_track.startNs[span] - m_track.startNs[span - 1] - m_track.durationNs[span - 1]) *
               m_pixelsPerNs;
    }
    bool isLonePause(std::size_t span) const;

    static constexpr double kLonePause = 1.5; ///< pixels from which a pause is seen where those around it are shorter by half

    const sim::Track& m_track;
    double m_pixelsPerNs;
};

} // namespace app
