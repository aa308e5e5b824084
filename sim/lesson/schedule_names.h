// What an expression may ask of a pipeline alone, in units of time: the keys of `schedule --json`, with or without `schedule.` in
// front (unit.peak_activations, unit.schedule.bubble.over_ideal), and, for an order written out, `hangs`, `waits` (the ranks that
// wait for each other: rank, blocked, needed, provider) and `problems`, which all others are without.
#pragma once

#include "sim/lesson/expression.h"
#include "sim/schedule/request.h"

#include <optional>

namespace sim {

/// `given`: an object of the schema's definition "schedule". Throws Error for a kind that there is not or that does not take its
/// numbers, and for more actions than a lesson should make anybody wait for.
ScheduleRequest lessonSchedule(const LessonValue& given);

/// Are the same micro-batches put through the same stages, on as many ranks? False where one of them cannot be read. Throws Error
/// as lessonSchedule does.
bool isSameWork(const LessonValue& a, const LessonValue& b);

class ScheduleNames final : public Names {
public:
    explicit ScheduleNames(LessonValue given) : m_given(std::move(given)) {}

    Meaning find(std::string_view name) const override;
    std::vector<std::string> known() const override;
    const LessonValue& given() const { return m_given; }

private:
    const LessonValue& answer() const;
    LessonValue m_given;
    mutable std::optional<LessonValue> m_answer;
};

} // namespace sim
