// A lesson with all that the engine says of it, ready to be shown: everything that takes simulating is done when it is made, so
// that who plays it never waits. What is made by one thread may be used by another afterwards, by one at a time.
#pragma once

#include "sim/lesson/challenge.h"
#include "sim/lesson/paper.h"

#include <memory>

namespace sim {

class LessonPlay {
public:
    /// `seed`: of numbers that vary, and of what an exam draws; its drawn questions come after what it says first. Throws
    /// ScenarioError with what keeps the lesson from being played.
    LessonPlay(Lesson, std::uint64_t seed, const Catalogue&);
    LessonPlay(const LessonPlay&) = delete;
    LessonPlay& operator=(const LessonPlay&) = delete;

    const Lesson& lesson() const { return m_paper.lesson(); }
    std::uint64_t seed() const { return m_paper.seed(); }
    std::size_t steps() const { return m_steps.size(); }
    const LessonStep& step(std::size_t at) const { return m_steps[at].as; }
    const Cases& cases() const { return m_paper.cases().all(); }
    /// By which the answer to a step's question or challenge is kept; empty where it has none.
    const std::string& id(std::size_t at) const { return m_steps[at].id; }
    /// How the window stands at a step: its own `view`, or that of the last step before it which has one.
    const LessonValue& view(std::size_t at) const;

    /// What a step says, its numbers filled in; Markdown. Of a question or a challenge what it asks, of a reveal what it says.
    const std::string& text(std::size_t at) const { return m_steps[at].text; }
    /// Why it is so, for after the answer; empty where the lesson does not say.
    const std::string& because(std::size_t at) const { return m_steps[at].because; }
    const std::vector<std::string>& hints(std::size_t at) const { return m_steps[at].hints; }
    const std::vector<std::string>& points(std::size_t at) const { return m_steps[at].points; }
    struct Bar {
        std::string text, number; ///< with its unit
        double value = 0;
    };
    /// The bars that a step shows beside its words; mostly none.
    const std::vector<Bar>& chart(std::size_t at) const { return m_steps[at].chart; }
    /// The question of a step; nullptr where it asks none.
    const AskedQuestion* asked(std::size_t at) const { return m_steps[at].asked; }

    /// The scenario on screen at a step and what it is compared with: what this step or the last one before it shows; nullptr
    /// where nothing has been shown yet.
    const ScenarioDocument* shown(std::size_t at) const;
    const ScenarioDocument* compared(std::size_t at) const;
    /// The cases' names; empty likewise.
    std::string shownName(std::size_t at) const;
    std::string comparedName(std::size_t at) const;
    /// Of what is compared, the peak memory of its fullest rank in GiB; 0 where nothing is.
    double comparedPeakGib(std::size_t at) const;
    /// A question of another lesson, drawn for an exam: its case is not on screen, where it would tell the answer.
    bool isDrawn(std::size_t at) const { return m_steps[at].isDrawn; }
    /// The scenario that a drawn question is about, for after the answer; nullptr where it is about none.
    const ScenarioDocument* drawnCase(std::size_t at) const;
    /// What is on screen once a step's question is answered: the case that the answer speaks of. That is what the next step
    /// shows, where it shows it; else a case of the answer itself, unless it would tell what is asked later. Empty: what was
    /// there when it was asked stays, for it is spoken of, too, or asked of the picture itself.
    struct Seen {
        std::string shown, compared; ///< cases
        bool isNextStep = false;     ///< seen as the next step has it
    };
    Seen seenWhenAnswered(std::size_t at) const;
    /// Of a scenario case; nullptr: it is none.
    const ScenarioDocument* scenario(const std::string& name) const { return scenarioOf(name); }
    /// Of a scenario case, the peak memory of its fullest rank in GiB; 0 of no case.
    double peakGibOf(const std::string& name) const;
    /// Is the open question of a step about the scenario that is on screen there, or at another step? Then its pictures tell the
    /// answer.
    bool showsWhatIsAsked(std::size_t at) const { return showsWhatIsAsked(at, at); }
    bool showsWhatIsAsked(std::size_t question, std::size_t shownAt) const;
    /// The questions after a step, by their steps, to which the numbers of what is on screen at it, its own question answered,
    /// are the answer, though nothing has told them when they are asked. None of a reveal and a challenge: those are for numbers.
    const std::vector<std::size_t>& answersAhead(std::size_t at) const { return m_steps[at].answersAhead; }
    /// The step's words on a sheet where all questions are seen at once: where they tell what an earlier one asks for, its number
    /// on the sheet stands in their place.
    std::string textOnPaper(std::size_t at) const;

private:
    struct Step {
        LessonStep as;
        std::string id, text, because;
        std::vector<std::string> hints, points;
        std::vector<Bar> chart;
        const AskedQuestion* asked = nullptr; ///< of the paper
        bool isDrawn = false;
        std::vector<std::size_t> answersAhead;
    };
    /// A number that the engine finds out of a scenario: the first of its cases' names, and which.
    struct Quantity {
        std::string of, path;
    };
    void workOut(Step&);
    void findAnswersAhead();
    std::vector<std::string> onScreen(std::size_t at) const;
    std::string firstNameOf(const std::string& caseName) const;
    std::vector<Quantity> quantitiesOf(const std::vector<std::string>& expressions) const;
    const ScenarioDocument* scenarioOf(const std::string& name) const;
    std::vector<std::string> casesOf(const std::vector<std::string>& expressions) const;
    std::string comparedWithShown(std::size_t at) const;
    Paper m_paper;
    std::vector<Step> m_steps;
};

} // namespace sim
