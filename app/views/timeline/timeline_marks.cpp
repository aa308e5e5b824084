#include "app/views/timeline/timeline_marks.h"

#include <algorithm>
#include <tuple>

namespace app {

const TimelineMark* TimelineMarks::find(int number) const
{
    const auto found = std::find_if(m_marks.begin(), m_marks.end(), [=](const TimelineMark& m) { return m.number == number; });
    return found == m_marks.end() ? nullptr : &*found;
}

int TimelineMarks::add(TimeRange range, std::string label)
{
    if (range.endNs < range.beginNs)
        std::swap(range.beginNs, range.endNs);
    int number = 1;
    while (find(number) != nullptr)
        ++number;
    const auto place = std::upper_bound(m_marks.begin(), m_marks.end(), range, [](const TimeRange& r, const TimelineMark& m) {
        return std::tie(r.beginNs, r.endNs) < std::tie(m.range.beginNs, m.range.endNs);
    });
    m_marks.insert(place, {.number = number, .range = range, .label = std::move(label)});
    return number;
}

bool TimelineMarks::remove(int number)
{
    return std::erase_if(m_marks, [=](const TimelineMark& m) { return m.number == number; }) > 0;
}

bool TimelineMarks::rename(int number, std::string label)
{
    for (TimelineMark& mark : m_marks)
        if (mark.number == number) {
            mark.label = std::move(label);
            return true;
        }
    return false;
}

std::optional<int> TimelineMarks::at(TimeRange range) const
{
    for (const TimelineMark& mark : m_marks)
        if (mark.range == range)
            return mark.number;
    return std::nullopt;
}

void TimelineMarks::set(std::vector<TimelineMark> marks)
{
    m_marks.clear();
    for (TimelineMark& mark : marks) {
        const bool isNew = mark.number > 0 && find(mark.number) == nullptr;
        const int given = add(mark.range, std::move(mark.label));
        for (TimelineMark& added : m_marks)
            if (added.number == given && isNew)
                added.number = mark.number;
    }
}

} // namespace app
