// A question as it is asked: its numbers drawn, its answer worked out by the engine, what is given judged.
#pragma once

#include "sim/lesson/cases.h"

#include <set>

namespace sim {

/// The numbers of one asking, by name.
using DrawnNumbers = std::vector<std::pair<std::string, double>>;

/// A lesson's cases, those that a question's numbers change left aside for asking.
class LessonCases {
public:
    /// Throws ScenarioError with all that is wrong with the cases.
    LessonCases(const Lesson&, const Catalogue&);
    const Cases& all() const { return m_cases; }
    /// Definitions with expressions in them, and those that start from such, as far as these numbers are what they ask for: not
    /// those of another question's.
    std::vector<CaseDefinition> dependentOn(const DrawnNumbers&) const;

private:
    Cases m_cases;
    std::vector<CaseDefinition> m_dependent;
    std::set<std::string> m_varied; ///< names of numbers that some question varies
};

/// All that a question is about: what is right, and what it would be right by.
std::vector<std::string> expressionsAbout(const Question&);

/// How often a question can be asked with numbers that differ; at least 1.
std::size_t combinationsOf(const Question&);
/// The numbers of combination `index` of them.
DrawnNumbers combination(const Question&, std::size_t index);

/// What a slider can be dragged to: from `from` on, `step` apart, each rounded to `decimals`; negative: none is.
struct SliderNotches {
    static constexpr int kUsual = 200; ///< where a question asks for no step of its own
    static constexpr int kMost = 10'000;

    /// `step` is 0 where the question has none; one that is far too fine is none either.
    SliderNotches(double from, double to, double step);
    double at(std::int64_t notch) const;

    double from = 0, step = 1;
    int decimals = -1;
};

/// The same numbers for the same seed everywhere (splitmix64).
class SeededDraw {
public:
    explicit SeededDraw(std::uint64_t seed) : m_state(seed) {}
    /// 0 to `count` - 1; `count` is not 0.
    std::size_t below(std::size_t count);

private:
    std::uint64_t m_state;
};

/// What an order of actions comes to, beside what was asked for.
struct OrderOutcome {
    std::string problem;            ///< why it is no order of these actions, or hangs; empty where it runs
    double bubbleOverIdeal = 0;     ///< of the ideal time; 0.125 is an eighth
    int mostHeld = 0;               ///< micro-batches at once, on the fullest rank
    std::vector<std::string> unmet; ///< goals that do not hold, with the values on both sides; all where it does not run
};

/// An answer is JSON, as an answer file has it: a number (of %: the fraction); the place of an option, or a list of them; a list
/// of ranks; [from, to) of a tensor; cards as a list of their places; bars and sketches as lists of numbers; lines of actions.
class AskedQuestion {
public:
    /// Throws ScenarioError where its cases cannot be made with these numbers. Question and cases must live as long.
    AskedQuestion(const Question&, const LessonCases&, DrawnNumbers = {});

    const Question& question() const { return m_question; }
    const DrawnNumbers& numbers() const { return m_numbers; }
    const Cases& names() const { return m_names; }
    /// The question with its numbers filled in; likewise any other of its texts. Throws Error.
    std::string text() const { return filled(m_question.ask); }
    std::string filled(const std::string& liveText) const;

    /// In the form of an answer; of actions, the first order that solves it. Throws Error where the engine has none.
    LessonValue rightAnswer() const;
    /// From, to; throws Error.
    std::pair<double, double> range() const;
    Tolerance tolerance() const;

    /// Why what is given is no answer at all ("a number is expected"); empty where it is one. Throws nothing.
    std::string whyNoAnswer(const LessonValue& given) const;
    /// What is meant by it. Where per cent are asked for, some write 0.375 and some 37.5: where what is given is neither right
    /// nor a mistake of the lesson's, and is one or the other when it is read as the other of the two, that is meant. Then it has
    /// to lie within a tenth of it as well: what is allowed beside a share of nothing would take any number. What a slider can be
    /// dragged to is read as the slider shows it, and all else as it is given. Throws Error where the engine has no answer.
    LessonValue meant(const LessonValue& given) const;
    /// Of what is an answer, as it is meant. Throws Error where the engine has none.
    bool isRight(const LessonValue& given) const;
    /// The reason for a wrong answer, filled in: of the nearest mistake within tolerance; of options that are wrong, and of
    /// several also which right ones are missed; of a share that seems to be written in another way, how it is written. Empty if
    /// there is none.
    std::string reasonFor(const LessonValue& given) const;
    /// Of lines of actions, one a rank; throws Error where the question is not about an order.
    OrderOutcome outcomeOf(const LessonValue& rows) const;
    /// The value of one expression of the question.
    LessonValue valueOf(const std::string& expression) const;
    /// As reasonFor does it: would this answer be taken for that value?
    bool isNear(const LessonValue& given, const LessonValue& value) const;

private:
    LessonValue rightPlaces() const;
    std::vector<double> valuesOfParts() const;
    bool isListedMistake(const LessonValue& given) const;
    bool mayBeDragged(double given) const;
    std::string reasonForOptions(const LessonValue& given) const;
    std::string reasonForWriting(double given) const;
    const Question& m_question;
    DrawnNumbers m_numbers;
    Cases m_names;
};

} // namespace sim
