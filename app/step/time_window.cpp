#include "app/step/time_window.h"

namespace app {

TimeWindow TimeWindow::all(double lengthNs, double firstNs)
{
    TimeWindow window;
    window.lengthNs = std::max(lengthNs, kShortestNs);
    window.beginNs = window.firstNs = std::min(firstNs, 0.0);
    window.endNs = window.limitNs();
    return window;
}

TimeWindow TimeWindow::to(double newBegin, double newEnd) const
{
    TimeWindow window = *this;
    const double most = limitNs() - firstNs;
    const double length = std::clamp(newEnd - newBegin, std::min(shortestNs(), most), most);
    const double middle = (newBegin + newEnd) / 2;
    const double begin = length == newEnd - newBegin ? newBegin : middle - length / 2;
    window.beginNs = std::clamp(begin, firstNs, std::max(firstNs, limitNs() - length));
    window.endNs = window.beginNs + length;
    return window;
}

TimeWindow TimeWindow::zoomed(double factor, double share) const
{
    const double most = limitNs() - firstNs;
    const double length = std::clamp(span() / factor, std::min(shortestNs(), most), most);
    const double fixed = beginNs + span() * share;
    return to(fixed - length * share, fixed - length * share + length);
}

TimeWindow TimeWindow::moved(double byNs) const
{
    const double begin = std::clamp(beginNs + byNs, firstNs, std::max(firstNs, limitNs() - span()));
    TimeWindow window = *this;
    window.endNs = begin + span();
    window.beginNs = begin;
    return window;
}

} // namespace app
