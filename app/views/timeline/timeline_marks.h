// Numbered marks on the time axis, in order of time.
#pragma once

#include "app/step/timeline_state.h"

#include <optional>
#include <string>
#include <vector>

namespace app {

class TimelineMarks {
public:
    /// By begin, then end.
    const std::vector<TimelineMark>& all() const { return m_marks; }
    const TimelineMark* find(int number) const; ///< nullptr: there is none
    /// Gets the lowest free number, and has it for as long as it exists. Returns that.
    int add(TimeRange, std::string label = {});
    bool remove(int number);
    bool rename(int number, std::string label);
    /// The mark at exactly this place.
    std::optional<int> at(TimeRange) const;
    /// Those of a saved state; a number that comes twice is given anew.
    void set(std::vector<TimelineMark>);

private:
    std::vector<TimelineMark> m_marks;
};

} // namespace app
