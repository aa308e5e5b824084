// A lesson as its file (assets/lessons/*.json) has it; assets/lesson.schema.json tells the keys. No answer stands in it: what is
// right follows from expressions over its cases, which the engine works out (question.h, challenge.h).
#pragma once

#include "sim/lesson/expression.h"
#include "sim/scenario/document.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sim {

/// One of a lesson's cases, not resolved yet (cases.h).
struct CaseDefinition {
    std::string name, pointer;
    LessonValue given;
};

enum class QuestionInput : std::uint8_t { slider, number, choice, ranks, tensor, order, bars, actions, sketch };
std::string_view questionInputName(QuestionInput);

struct QuestionOption {
    std::string text;    ///< live text, as is everything that is shown
    std::string rightIf; ///< expression
    std::string say;     ///< to who chooses it though it is wrong
};
/// A card or a bar.
struct QuestionPart {
    std::string text;
    std::string value; ///< expression: how high the bar is; by what cards are ordered
};
struct Mistake {
    std::string near; ///< expression: what comes out for who thinks so
    std::string say;
};
struct Tolerance {
    double relative = 0, absolute = 0; ///< the larger of both counts
};

struct Question {
    std::string pointer; ///< in the file
    std::string id, ask, unit, on, because;
    QuestionInput input = QuestionInput::number;
    std::vector<std::pair<std::string, std::vector<double>>> vary; ///< name: values of which one is drawn
    std::vector<std::string> range;                                ///< expressions: from, to; or none
    double step = 0;                                               ///< of a slider; 0: any value
    std::string answer;                                            ///< expression
    std::optional<Tolerance> tolerance;
    std::vector<QuestionOption> options;
    std::vector<QuestionPart> parts;
    std::string over;              ///< expression: the places of a sketch
    std::string along;             ///< what they count; may be empty
    std::vector<std::string> goal; ///< expressions of `mine`, for actions
    std::vector<std::vector<std::string>> solvedBy;
    std::vector<Mistake> mistakes;
    bool many = false, sure = false;
    bool asksPercent() const { return unit == "%"; }
};

struct Challenge {
    std::string pointer;
    std::string id, ask, from, because;
    std::vector<std::string> goal; ///< expressions of `mine`
    int changes = 1;
    std::vector<std::string> allow, forbid; ///< pointers; nothing in `allow`: everything
    std::vector<std::string> hints;
    std::vector<LessonValue> solvedBy; ///< pointer: value
};

struct LessonPoint {
    std::string picture, text;
    std::string tensor; ///< of the storage picture, by its name there: it is scrolled to; empty: none
    int rank = -1;
};
struct LessonReveal {
    std::string show, compare, say;
    bool play = false;
};
/// A few numbers beside each other, where no picture has them.
struct LessonChart {
    std::string unit;
    std::vector<QuestionPart> bars;
};
struct LessonStep {
    std::string pointer;
    std::string say, show, compare, notes;
    bool play = false;
    bool isOnPaper = false; ///< of a hand-out: what it says stands before its questions though something was asked before
    LessonValue view;       ///< null, or an object as a scenario file's
    std::vector<LessonPoint> points;
    std::optional<LessonChart> chart;
    std::optional<Question> predict;
    std::optional<LessonReveal> reveal;
    std::optional<Challenge> challenge;
};

/// The case that a step puts on screen, by its name; empty for what was there before.
const std::string& shownBy(const LessonStep&);

struct Lesson {
    std::string fileName;
    std::string id, title, breaks, source;
    double minutes = 0;
    int number = 0; ///< place in the course; 0: none
    std::vector<std::string> after;
    std::vector<CaseDefinition> cases;
    std::vector<std::string> holds;
    std::vector<LessonStep> steps;
    std::vector<Question> remember;
    struct Draws {
        int count = 0;
        std::vector<std::string> from; ///< ids of lessons beside this file
    };
    std::optional<Draws> draws; ///< an exam has them

    std::vector<const Question*> questions() const; ///< of its steps, in order
    std::vector<const Challenge*> challenges() const;
};

/// Strict JSON of the schema's shape, ids that differ, expressions that can be read, inputs with what they need. Throws
/// ScenarioError with everything that is wrong. Nothing is simulated.
Lesson parseLesson(std::string_view json, const std::string& fileName, const Catalogue&);
Lesson readLesson(const std::filesystem::path&, const Catalogue&);

/// All *.json of a folder that can be read, in the course's order; `unread` gets what is wrong with the others.
std::vector<Lesson> readLessons(const std::filesystem::path& folder, const Catalogue&, std::vector<Problem>& unread);
/// assets/lessons.
std::filesystem::path lessonFolder(const Catalogue&);

class Schema;
/// assets/lesson.schema.json, read once.
const Schema& lessonSchema(const Catalogue&);

/// A word that names something in an expression: letters, digits and _, none of the language's own words.
bool isExpressionName(std::string_view);

} // namespace sim
