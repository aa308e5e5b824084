// A lesson that is put together without code: what is on screen becomes a step, with the cases, views and questions that a lesson
// file needs. What comes out passes `lesson check`.
#pragma once

#include "sim/lesson/lesson.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// A number of a step that can be asked for, by the expression language's name.
struct RecordedMetric {
    std::string_view name;  ///< "peak_memory_gib"
    std::string_view words; ///< "the peak memory"
    std::string_view asks;  ///< "How much is the peak memory"
    std::string_view unit;  ///< of the question; "%" is asked in percent
};
std::span<const RecordedMetric> recordedMetrics();

struct RecordedQuestion {
    enum class Kind : std::uint8_t {
        number,  ///< on a slider where the engine's answer leaves room at both ends, else typed
        compared ///< less, about the same or more than in the step before, which must be of a scenario
    };
    std::string metric; ///< one of recordedMetrics()
    Kind kind = Kind::number;
    std::string ask; ///< live text; empty: made of the metric's words
};

struct RecordedLessonStep {
    ScenarioDocument shown;
    LessonValue view; ///< as a scenario's /view; null: none
    std::string say, notes;
    std::optional<RecordedQuestion> question; ///< asked before the step is shown
};

struct LessonRecording {
    std::string title, breaks;
    std::vector<RecordedLessonStep> steps;

    /// The file, with `id`: cases each once, as changes of an earlier one where these are few. Metrics are worked out by the
    /// engine for the sliders' ranges. Throws Error where nothing was recorded, there is no title, a step cannot be simulated, or
    /// a question compares with nothing.
    LessonValue file(const std::string& id, const Catalogue&) const;

    /// What the check finds wrong with it, in the order of the steps and by their numbers as they were recorded (a step that asks
    /// first is two in the file): "step 2, say: there is no …". Without a title, too; empty where nothing is wrong.
    std::vector<std::string> problems(const Catalogue&) const;
    /// One problem of the file that was made of it, likewise.
    std::string inRecordedWords(const Problem&) const;
};

/// Letters, digits and - of a title: "Same time, less memory" is same-time-less-memory; "lesson" where none are left.
std::string lessonIdOf(std::string_view title);

} // namespace sim
