// The stretch of a time axis that is in sight.
#pragma once

#include <algorithm>

namespace app {

/// What of a trace of `lengthNs` can be seen: no less than shortestNs(), no more than all of it and a little air after its end.
/// Beside a longer trace the axis may begin before time 0.
struct TimeWindow {
    static constexpr double kShortestNs = 50;
    static constexpr double kAir = 0.015; ///< of the axis, after the end

    double beginNs = 0, endNs = 1, lengthNs = 1;
    double firstNs = 0; ///< where the axis begins, 0 or before

    static TimeWindow all(double lengthNs, double firstNs = 0);
    double span() const { return endNs - beginNs; }
    double limitNs() const { return lengthNs + (lengthNs - firstNs) * kAir; }
    /// Far from zero, what a double can still tell apart.
    double shortestNs() const { return std::max(kShortestNs, limitNs() * 0x1p-40); }
    bool showsAll() const { return beginNs <= firstNs && endNs >= limitNs(); }
    TimeWindow whole() const { return all(lengthNs, firstNs); }
    /// The time at `share` of the window stays where it is. Above 1 zooms in.
    TimeWindow zoomed(double factor, double share) const;
    TimeWindow moved(double byNs) const;
    TimeWindow to(double beginNs, double endNs) const; ///< as far as limits allow
    bool operator==(const TimeWindow&) const = default;
};

} // namespace app
