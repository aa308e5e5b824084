#include "sim/lesson/paper.h"

#include "sim/lesson/challenge.h"
#include "sim/lesson/live_text.h"
#include "sim/lesson/time_limit.h"
#include "sim/scenario/json_text.h"
#include "sim/text/nearest.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <filesystem>

namespace sim {

Paper::Paper(Lesson lesson, std::uint64_t seed, const Catalogue& catalogue) : m_seed(seed)
{
    const std::string fileName = lesson.fileName;
    withinTime(fileName, [&] { draw(std::move(lesson), catalogue); }); // cases may be worked out from others
}

/// The questions, with their numbers.
void Paper::draw(Lesson lesson, const Catalogue& catalogue)
{
    SeededDraw drawing(m_seed);
    m_sources.push_back(std::make_unique<PaperSource>(std::move(lesson), catalogue));
    const PaperSource& own = *m_sources.front();
    const auto ask = [&](const PaperSource& source, const Question& question, std::string id, bool isToRemember) {
        const std::size_t index = drawing.below(combinationsOf(question));
        m_questions.push_back({std::move(id), source.lesson.id,
                               std::make_unique<AskedQuestion>(question, source.cases, combination(question, index)),
                               isToRemember});
    };
    if (const auto& draws = own.lesson.draws) {
        struct Candidate {
            const PaperSource* source;
            const Question* question;
        };
        std::vector<Candidate> pool;
        for (const std::string& id : draws->from) {
            const auto path = std::filesystem::path(own.lesson.fileName).parent_path() / (id + ".json");
            m_sources.push_back(std::make_unique<PaperSource>(readLesson(path, catalogue), catalogue));
            const std::string& drawnId = m_sources.back()->lesson.id;
            for (const auto& source : m_sources)
                if (source != m_sources.back() && source->lesson.id == drawnId)
                    throw ScenarioError({{own.lesson.fileName, "/draws/from",
                                          quotedText(id) + " has the id " + quotedText(drawnId) +
                                              " that another of these lessons has: answers could not be told apart"}});
            for (const Question& question : m_sources.back()->lesson.remember)
                pool.push_back({m_sources.back().get(), &question});
        }
        if (pool.size() < static_cast<std::size_t>(draws->count))
            throw ScenarioError({{own.lesson.fileName, "/draws/count",
                                  "these lessons have " + std::to_string(pool.size()) + " questions to remember, not " +
                                      std::to_string(draws->count)}});
        // One a lesson as long as that goes: an exam asks about all of them.
        std::vector<Candidate> drawn;
        while (drawn.size() < static_cast<std::size_t>(draws->count)) {
            std::vector<std::size_t> fresh;
            std::size_t fewest = pool.size();
            const auto timesOf = [&](const Candidate& of) {
                return static_cast<std::size_t>(
                    std::count_if(drawn.begin(), drawn.end(), [&](const Candidate& other) { return other.source == of.source; }));
            };
            for (const Candidate& candidate : pool)
                fewest = std::min(fewest, timesOf(candidate));
            for (std::size_t i = 0; i < pool.size(); ++i)
                if (timesOf(pool[i]) == fewest)
                    fresh.push_back(i);
            const std::size_t place = fresh[drawing.below(fresh.size())];
            drawn.push_back(pool[place]);
            pool.erase(pool.begin() + static_cast<std::ptrdiff_t>(place));
        }
        for (const auto& [source, question] : drawn)
            ask(*source, *question, source->lesson.id + "/" + question->id, false);
    }
    for (const Question* question : own.lesson.questions())
        ask(own, *question, question->id, false);
    for (const Question& question : own.lesson.remember)
        ask(own, question, question.id, true);
}

LessonValue Paper::key() const
{
    return withinTime(lesson().fileName, [this] { return workedKey(); });
}

LessonValue Paper::workedKey() const
{
    const PaperSource& own = *m_sources.front();
    LessonValue questions = LessonValue::array(), challenges = LessonValue::array();
    for (const PaperQuestion& question : m_questions) {
        const AskedQuestion& asked = *question.asked;
        LessonValue numbers = LessonValue::object();
        for (const auto& [name, value] : asked.numbers())
            numbers[name] = value;
        LessonValue entry{{"id", question.id}, {"lesson", question.lesson}};
        try {
            entry["ask"] = asked.text();
            entry["input"] = questionInputName(asked.question().input);
            entry["numbers"] = std::move(numbers);
            entry["answer"] = asked.rightAnswer();
            LessonValue parts = LessonValue::array();
            for (const QuestionOption& option : asked.question().options)
                parts.push_back(asked.filled(option.text));
            for (const QuestionPart& part : asked.question().parts)
                parts.push_back(asked.filled(part.text));
            if (!parts.empty())
                entry["choices"] = std::move(parts);
            if (!asked.question().unit.empty())
                entry["unit"] = asked.question().unit;
            const Tolerance tolerance = asked.tolerance();
            entry["tolerance"] = {{"relative", tolerance.relative}, {"absolute", tolerance.absolute}};
        } catch (const Error& error) {
            entry["problem"] = error.what();
        }
        questions.push_back(std::move(entry));
    }
    for (const Challenge* challenge : own.lesson.challenges())
        challenges.push_back({{"id", challenge->id},
                              {"ask", filledIn(challenge->ask, own.cases.all())},
                              {"from", challenge->from},
                              {"goal", challenge->goal},
                              {"changes", challenge->changes},
                              {"solved_by", challenge->solvedBy}});
    return {{"lesson", own.lesson.id},
            {"title", own.lesson.title},
            {"seed", m_seed},
            {"questions", std::move(questions)},
            {"challenges", std::move(challenges)}};
}

LessonValue Paper::mark(const LessonValue& answers, const std::string& fileName, const std::string& pointer) const
{
    return withinTime(lesson().fileName, [&] { return marked(answers, fileName, pointer); });
}

LessonValue Paper::marked(const LessonValue& answers, const std::string& fileName, const std::string& pointer) const
{
    const PaperSource& own = *m_sources.front();
    const auto refuse = [&](const std::string& member, const std::string& message) {
        throw ScenarioError({{fileName, pointer + member, message}});
    };
    if (memberOr<std::string>(answers, "format", {}) != "rankscope-answers" || memberOr(answers, "version", 0) != 1)
        refuse(
            "",
            R"(answers are a JSON object: { "format": "rankscope-answers", "version": 1, "lesson", "answers": { id: value } })");
    if (const auto id = memberOr<std::string>(answers, "lesson", {}); id != own.lesson.id)
        refuse("/lesson", "these are answers to " + quotedText(id) + ", not to " + quotedText(own.lesson.id));
    if (const auto seed = memberOr<std::uint64_t>(answers, "seed", m_seed); seed != m_seed)
        refuse("/seed", "these are answers to the paper of seed " + std::to_string(seed) + ", not of " + std::to_string(m_seed));
    if (const LessonValue* name = memberOf(answers, "learner"); name != nullptr && !name->is_string())
        refuse("/learner", shownValue(*name) + " is no name; a learner is a text, such as \"" +
                               (name->is_number() ? shownValue(*name) : std::string("Ada")) + "\"");
    const LessonValue* given = memberOf(answers, "answers");
    if (given == nullptr || !given->is_object())
        refuse("/answers", "an object is expected, id of the question: answer");

    std::vector<std::string> ids;
    for (const PaperQuestion& question : m_questions)
        ids.push_back(question.id);
    for (const Challenge* challenge : own.lesson.challenges())
        ids.push_back(challenge->id);
    LessonValue marks = LessonValue::array(), problems = LessonValue::array();
    for (const auto& [id, unused] : given->items())
        if (std::find(ids.begin(), ids.end(), id) == ids.end())
            problems.push_back("there is no question " + quotedText(id) + nearestWords(id, ids));

    int right = 0;
    const auto isWrapped = [](const LessonValue& answer) { return answer.is_object() && answer.contains("value"); };
    /// That was given; nullptr where nothing was.
    const auto valueOf = [&](const std::string& id) -> const LessonValue* {
        const LessonValue* answer = memberOf(*given, id);
        const LessonValue* value = answer != nullptr && isWrapped(*answer) ? memberOf(*answer, "value") : answer;
        return value == nullptr || value->is_null() ? nullptr : value;
    };
    /// A mark without its judgement.
    const auto begun = [&](const std::string& id) {
        const LessonValue* value = valueOf(id);
        LessonValue mark{{"id", id}, {"given", value != nullptr ? *value : LessonValue()}, {"right", false}};
        if (const LessonValue* answer = memberOf(*given, id); value != nullptr && isWrapped(*answer)) {
            for (const char* key : {"sure", "seconds"})
                if (const LessonValue* said = memberOf(*answer, key); said != nullptr && said->is_number())
                    mark[key] = *said;
            if (memberOr(*answer, "solution_shown", false))
                mark["solution_shown"] = true;
        }
        return mark;
    };
    const auto judge = [&](const std::string& id, auto&& work) {
        LessonValue mark = begun(id);
        try {
            work(mark, valueOf(id));
        } catch (const Error& error) {
            mark["problem"] = error.what();
        }
        right += mark.at("right") == LessonValue(true) ? 1 : 0;
        marks.push_back(std::move(mark));
    };
    for (const PaperQuestion& question : m_questions) {
        if (question.isToRemember && valueOf(question.id) == nullptr)
            continue;
        judge(question.id, [&](LessonValue& mark, const LessonValue* value) {
            const AskedQuestion& asked = *question.asked;
            mark["ask"] = asked.text();
            mark["answer"] = asked.rightAnswer();
            if (value == nullptr)
                return;
            if (const std::string why = asked.whyNoAnswer(*value); !why.empty())
                throw Error(why);
            mark["right"] = asked.isRight(*value);
            if (const LessonValue meant = asked.meant(*value); meant != *value)
                mark["meant"] = meant;
            if (const std::string reason = mark.at("right") ? "" : asked.reasonFor(*value); !reason.empty())
                mark["reason"] = reason;
        });
    }
    for (const Challenge* challenge : own.lesson.challenges())
        judge(challenge->id, [&](LessonValue& mark, const LessonValue* value) {
            mark["ask"] = filledIn(challenge->ask, own.cases.all());
            if (value == nullptr)
                return;
            CaseSubject mine = startOf(*challenge, own.cases.all());
            setKeys(mine, *value);
            const ChallengeState state = stateOf(*challenge, mine, own.cases.all());
            const bool wasShown = mark.contains("solution_shown");
            mark["right"] = state.isReached() && !wasShown;
            if (!state.isReached())
                mark["reason"] = state.text();
            else if (wasShown)
                mark["reason"] = "a solution was shown";
        });
    LessonValue result{{"lesson", own.lesson.id},
                       {"title", own.lesson.title},
                       {"learner", memberOr<std::string>(answers, "learner", {})},
                       {"seed", m_seed},
                       {"right", right},
                       {"of", marks.size()},
                       {"marks", std::move(marks)}};
    if (!problems.empty())
        result["problems"] = std::move(problems);
    return result;
}

} // namespace sim
