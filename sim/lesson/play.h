// A lesson with all that the engine says of it, ready to be shown: everything that takes simulating is done when it is made, so
// that who plays it never waits. What is made by one thread may be used by another afterwards, by one at a time.
#pragma once

#include "sim/lesson/challenge.h"

#include <memory>

namespace sim {

class LessonPlay {
public:
    /// `seed`: of numbers that vary. Throws ScenarioError with what keeps the lesson from being played.
    LessonPlay(Lesson, std::uint64_t seed, const Catalogue&);
    LessonPlay(const LessonPlay&) = delete;
    LessonPlay& operator=(const LessonPlay&) = delete;

    const Lesson& lesson() const { return m_lesson; }
    std::size_t steps() const { return m_lesson.steps.size(); }
    const LessonStep& step(std::size_t at) const { return m_lesson.steps[at]; }
    const Cases& cases() const { return m_cases.all(); }

    /// What a step says, its numbers filled in; Markdown. Of a question or a challenge what it asks, of a reveal what it says.
    const std::string& text(std::size_t at) const { return m_steps[at].text; }
    /// Why it is so, for after the answer; empty where the lesson does not say.
    const std::string& because(std::size_t at) const { return m_steps[at].because; }
    const std::vector<std::string>& hints(std::size_t at) const { return m_steps[at].hints; }
    const std::vector<std::string>& points(std::size_t at) const { return m_steps[at].points; }
    /// The question of a step; nullptr where it asks none.
    const AskedQuestion* asked(std::size_t at) const { return m_steps[at].asked.get(); }

    /// The scenario on screen at a step and what it is compared with: what this step or the last one before it shows; nullptr
    /// where nothing has been shown yet.
    const ScenarioDocument* shown(std::size_t at) const;
    const ScenarioDocument* compared(std::size_t at) const;
    /// The case's name; empty likewise.
    std::string shownName(std::size_t at) const;

private:
    struct Step {
        std::string text, because;
        std::vector<std::string> hints, points;
        std::unique_ptr<AskedQuestion> asked;
    };
    const ScenarioDocument* scenarioOf(const std::string& name) const;
    Lesson m_lesson;
    LessonCases m_cases;
    std::vector<Step> m_steps;
};

} // namespace sim
