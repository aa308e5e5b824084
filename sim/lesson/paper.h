// A lesson or an exam on paper: the same seed gives the same questions with the same numbers. Its key, and what somebody
// answered, marked. `rankscope-sim lesson key | mark`.
#pragma once

#include "sim/lesson/question.h"

#include <memory>

namespace sim {

/// One question of a paper, with the lesson that it comes from.
struct PaperQuestion {
    std::string id;     ///< unique on the paper: "one-f-one-b/remember-1" where it comes from another lesson
    std::string lesson; ///< its id
    std::unique_ptr<AskedQuestion> asked;
    bool isToRemember = false; ///< of the paper's own lesson, asked days after it: marked only where it was answered
};

/// A lesson and its cases.
struct PaperSource {
    PaperSource(Lesson given, const Catalogue& catalogue) : lesson(std::move(given)), cases(lesson, catalogue) {}
    Lesson lesson;
    LessonCases cases;
};

class Paper {
public:
    /// What an exam draws comes from lessons beside the file. Throws ScenarioError.
    Paper(Lesson, std::uint64_t seed, const Catalogue&);

    const Lesson& lesson() const { return m_sources.front()->lesson; }
    std::uint64_t seed() const { return m_seed; }
    const std::vector<PaperQuestion>& questions() const { return m_questions; }
    /// The paper's own lesson's cases.
    const LessonCases& cases() const { return m_sources.front()->cases; }
    /// Its own lesson, then those that an exam may draw from.
    const std::vector<std::unique_ptr<const PaperSource>>& sources() const { return m_sources; }

    /// {"lesson","title","seed","questions":[{"id","lesson","ask","input","numbers","answer","choices","unit","tolerance"}],
    /// "challenges":[{"id","ask","from","goal","changes","solved_by"}]}; choices and unit where it has them. A question that the
    /// engine cannot answer has "problem", too, beside what could be worked out.
    LessonValue key() const;

    /// `answers`, which stand at `pointer` of the file: {"format":"rankscope-answers","version":1,"lesson","seed","learner",
    /// "answers":{id: value or {"value","sure","seconds","solution_shown"}}}; of a challenge the value is {pointer: value}, the
    /// changes, which are not right where its solution was shown before. Gives {"lesson","title","learner","seed","right","of",
    /// "marks":[{"id","ask","given","answer","right","reason","sure","seconds","solution_shown","problem"}],"problems":[…]}. What
    /// nothing was answered to counts as wrong; a question to remember then is no mark at all. Throws ScenarioError for answers
    /// to another paper or of another shape.
    LessonValue mark(const LessonValue& answers, const std::string& fileName, const std::string& pointer = {}) const;

private:
    void draw(Lesson, const Catalogue&);
    LessonValue workedKey() const;
    LessonValue marked(const LessonValue& answers, const std::string& fileName, const std::string& pointer) const;
    std::uint64_t m_seed;
    std::vector<std::unique_ptr<const PaperSource>> m_sources;
    std::vector<PaperQuestion> m_questions;
};

} // namespace sim
