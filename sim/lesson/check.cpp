#include "sim/lesson/check.h"

#include "sim/analysis/holdings.h"
#include "sim/lesson/challenge.h"
#include "sim/lesson/confusion.h"
#include "sim/lesson/live_text.h"
#include "sim/lesson/paper.h"
#include "sim/lesson/question.h"
#include "sim/lesson/time_limit.h"
#include "sim/scenario/json_text.h"
#include "sim/scenario/key_facts.h"
#include "sim/text/nearest.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

namespace sim {
namespace {

class LessonCheck {
public:
    LessonCheck(const Lesson& lesson, const Catalogue& catalogue) : m_lesson(lesson), m_cases(lesson, catalogue) {}

    std::vector<Problem> run()
    {
        for (std::size_t i = 0; i < m_lesson.holds.size(); ++i)
            if (auto why = whyNot(m_lesson.holds[i], m_cases.all()))
                report("/holds/" + std::to_string(i), *why);
        std::string shown;
        const LessonValue* view = nullptr;
        for (const LessonStep& step : m_lesson.steps) {
            check(step);
            if (const std::string& name = shownBy(step); isScenario(name))
                shown = name;
            if (!step.view.is_null())
                view = &step.view;
            if (view != nullptr && (view == &step.view || isScenario(shownBy(step))))
                checkRanks(step, shown, *view);
            checkPoints(step, shown);
            checkOnScreen(step, shown);
        }
        for (const Question& question : m_lesson.remember)
            check(question);
        for (std::size_t i = 0; i < m_lesson.after.size(); ++i)
            mustBeLesson("/after/" + std::to_string(i), m_lesson.after[i]);
        if (m_lesson.draws)
            at("/draws", [&] { const Paper drawn(m_lesson, 1, m_cases.all().catalogue()); });
        for (const std::string& name : m_cases.all().unused())
            if (!isShown(name) && std::none_of(m_lesson.cases.begin(), m_lesson.cases.end(), [&](const CaseDefinition& other) {
                    return other.given.is_object() && memberOr<std::string>(other.given, "from", {}) == name;
                }))
                report("/cases/" + name, "nothing uses this case");
        return std::move(m_problems);
    }

private:
    void report(const std::string& pointer, std::string message)
    {
        const bool isTold = std::any_of(m_problems.begin(), m_problems.end(), [&](const Problem& problem) {
            return problem.pointer == pointer && problem.message == message;
        });
        if (!isTold)
            m_problems.push_back({m_lesson.fileName, pointer, std::move(message)});
    }
    /// Runs `work`; what it throws is a problem there.
    template <typename Work>
    void at(const std::string& pointer, Work&& work)
    {
        try {
            work();
        } catch (const Error& error) {
            report(pointer, error.what());
        }
    }

    void mustFill(const std::string& pointer, const std::string& text, const Names& names)
    {
        at(pointer, [&] { filledIn(text, names); });
    }
    /// A case that is put on screen: there is one, and a scenario of it that is legal.
    void mustShow(const std::string& pointer, const std::string& name)
    {
        if (name.empty())
            return;
        const CaseSubject* subject = m_cases.all().subject(name);
        if (subject == nullptr)
            return report(pointer, "there is no case \"" + name + "\"" + nearestWords(name, m_cases.all().known()));
        if (const auto* document = std::get_if<ScenarioDocument>(subject))
            at(pointer, [&] { resolvedScenario(*document, m_cases.all().catalogue()); });
    }
    bool isScenario(const std::string& name) const
    {
        const CaseSubject* subject = name.empty() ? nullptr : m_cases.all().subject(name);
        return subject != nullptr && std::holds_alternative<ScenarioDocument>(*subject);
    }

    /// A view stays until a step has another: the ranks that it selects are in every case that it shows.
    void checkRanks(const LessonStep& step, const std::string& shown, const LessonValue& view)
    {
        const LessonValue* ranks = view.is_object() ? memberOf(view, "ranks") : nullptr;
        if (ranks == nullptr || !isScenario(shown))
            return;
        at(step.pointer, [&] {
            const auto& document = std::get<ScenarioDocument>(*m_cases.all().subject(shown));
            const int world = resolvedScenario(document, m_cases.all().catalogue()).layout.worldSize();
            for (const int rank : valueAs<std::vector<int>>(*ranks).value_or(std::vector<int>()))
                if (rank < 0 || rank >= world)
                    report(step.pointer, "the view selects rank " + std::to_string(rank) + ", and \"" + shown +
                                             "\" has ranks 0 to " + std::to_string(world - 1) +
                                             "; give the step a view of its own");
        });
    }

    /// What a step points at is there: a rank of the case, a tensor of its model.
    void checkPoints(const LessonStep& step, const std::string& shown)
    {
        for (std::size_t i = 0; i < step.points.size(); ++i) {
            const LessonPoint& point = step.points[i];
            const std::string pointer = step.pointer + "/point/" + std::to_string(i);
            if ((point.rank < 0 && point.tensor.empty()) || !isScenario(shown))
                continue;
            at(pointer, [&] {
                const auto& document = std::get<ScenarioDocument>(*m_cases.all().subject(shown));
                const Scenario scenario = resolvedScenario(document, m_cases.all().catalogue());
                if (const int world = scenario.layout.worldSize(); point.rank >= world)
                    report(pointer + "/rank", "\"" + shown + "\" has ranks 0 to " + std::to_string(world - 1) + ", not " +
                                                  std::to_string(point.rank));
                const std::vector<std::string> tensors = tensorNames(scenario.model);
                if (!point.tensor.empty() && std::find(tensors.begin(), tensors.end(), point.tensor) == tensors.end())
                    report(pointer + "/tensor",
                           "there is no tensor " + quotedText(point.tensor) + nearestWords(point.tensor, tensors));
            });
        }
    }

    /// Beside this file, or of the course.
    void mustBeLesson(const std::string& pointer, const std::string& id)
    {
        const std::filesystem::path beside = std::filesystem::path(m_lesson.fileName).parent_path();
        std::vector<std::string> known;
        std::error_code unread;
        for (const std::filesystem::path& folder : {beside.empty() ? "." : beside, lessonFolder(m_cases.all().catalogue())})
            for (const auto& entry : std::filesystem::directory_iterator(folder, unread))
                if (entry.path().extension() == ".json")
                    known.push_back(entry.path().stem().string());
        if (id == m_lesson.id)
            report(pointer, "a lesson does not come before itself");
        else if (std::find(known.begin(), known.end(), id) == known.end())
            report(pointer, "there is no lesson " + quotedText(id) + nearestWords(id, known));
    }

    /// A key that a scenario can have, so that allowing it, or forbidding it, means something.
    void mustBeKeys(const std::string& pointer, const std::vector<std::string>& keys)
    {
        for (std::size_t i = 0; i < keys.size(); ++i)
            if (!keyFacts(m_cases.all().catalogue(), keys[i]))
                report(pointer + "/" + std::to_string(i),
                       "a scenario has no " + quotedText(keys[i]) + "; /layout/tp and /training are such pointers");
    }

    /// What is said beside a picture is said of what it shows, or compares with; else the words "on screen" tell what is there.
    void checkOnScreen(const LessonStep& step, const std::string& shown)
    {
        if (shown.empty())
            return;
        const bool comparesItself = step.reveal && !step.reveal->compare.empty();
        const std::string& compared = comparesItself ? step.reveal->compare : step.compare;
        mustBeOnScreen(step.pointer + "/say", step.say, shown, compared);
        for (std::size_t i = 0; i < step.points.size(); ++i)
            mustBeOnScreen(step.pointer + "/point/" + std::to_string(i), step.points[i].text, shown, compared);
        if (step.reveal)
            mustBeOnScreen(step.pointer + "/reveal/say", step.reveal->say, shown, compared);
        if (step.predict)
            mustBeOnScreen(step.predict->pointer + "/ask", step.predict->ask, shown, compared, supposedBy(*step.predict));
        if (step.challenge)
            mustBeOnScreen(step.challenge->pointer + "/ask", step.challenge->ask, shown, compared);
    }

    /// The cases that a question asks about: "with eight of them instead?" They are not on screen yet.
    std::set<std::string> supposedBy(const Question& question) const
    {
        std::set<std::string> names{question.on};
        for (const std::string& text : expressionsAbout(question))
            for (const Expression::NameAsked& asked : Expression::parse(text).namesAsked())
                names.insert(asked.name);
        return names;
    }

    void mustBeOnScreen(const std::string& pointer, const std::string& text, const std::string& shown,
                        const std::string& compared, const std::set<std::string>& supposed = {})
    {
        if (text.find("on screen") != std::string::npos || text.find("On screen") != std::string::npos)
            return;
        at(pointer, [&] {
            for (const LivePart& part : liveParts(text)) {
                const Expression expression = Expression::parse(part.expression);
                std::vector<std::string> others;
                Cases asShown(&m_cases.all());
                for (const Expression::NameAsked& asked : expression.namesAsked())
                    if (asked.name != shown && asked.name != compared && !supposed.contains(asked.name) &&
                        isScenario(asked.name) && std::find(others.begin(), others.end(), asked.name) == others.end()) {
                        others.push_back(asked.name);
                        asShown.putSame(asked.name, shown);
                    }
                if (others.empty())
                    continue;
                const std::string said = writtenValue(expression.evaluate(m_cases.all()), part.format);
                const std::string seen = writtenValue(expression.evaluate(asShown), part.format);
                if (said != seen) {
                    report(pointer, "{" + part.expression + "} says " + said + " of \"" + others.front() +
                                        "\", but on screen is \"" + shown + "\", where it is " + seen +
                                        "; show the case, or say in words which one is on screen");
                    return;
                }
            }
        });
    }

    bool isShown(const std::string& name) const
    {
        return std::any_of(m_lesson.steps.begin(), m_lesson.steps.end(), [&](const LessonStep& step) {
            return step.show == name || step.compare == name ||
                   (step.reveal && (step.reveal->show == name || step.reveal->compare == name)) ||
                   (step.challenge && step.challenge->from == name) || (step.predict && step.predict->on == name);
        });
    }

    void check(const LessonStep& step)
    {
        const Cases& names = m_cases.all();
        mustFill(step.pointer + "/say", step.say, names);
        mustShow(step.pointer + "/show", step.show);
        mustShow(step.pointer + "/compare", step.compare);
        for (std::size_t i = 0; i < step.points.size(); ++i)
            mustFill(step.pointer + "/point/" + std::to_string(i), step.points[i].text, names);
        if (step.chart)
            for (const QuestionPart& bar : step.chart->bars) {
                mustFill(step.pointer + "/chart", bar.text, names);
                at(step.pointer + "/chart", [&] {
                    const LessonValue value = Expression::parse(bar.value).evaluate(names);
                    if (!value.is_number() || value.get<double>() < 0)
                        report(step.pointer + "/chart", bar.value + " is " + shownValue(value) + "; a bar is no shorter than 0");
                });
            }
        if (step.reveal) {
            mustShow(step.pointer + "/reveal/show", step.reveal->show);
            mustShow(step.pointer + "/reveal/compare", step.reveal->compare);
            mustFill(step.pointer + "/reveal/say", step.reveal->say, names);
        }
        if (step.predict)
            check(*step.predict);
        if (step.challenge)
            check(*step.challenge);
    }

    /// All of them where they are few; else each value of each number at least once, with others that are drawn.
    static std::set<std::size_t> askingsToTry(const Question& question)
    {
        constexpr std::size_t kFew = 64;
        const std::size_t all = combinationsOf(question);
        std::set<std::size_t> tried;
        for (std::size_t i = 0; all <= kFew && i < all; ++i)
            tried.insert(i);
        if (!tried.empty())
            return tried;
        SeededDraw draw(1);
        std::size_t stride = 1;
        for (const auto& [name, values] : question.vary) {
            for (std::size_t value = 0; value < values.size(); ++value) {
                const std::size_t any = draw.below(all), own = any / stride % values.size();
                tried.insert((any + (value + values.size() - own) % values.size() * stride) % all);
            }
            stride *= values.size();
        }
        tried.insert({0, all - 1});
        while (tried.size() < kFew)
            tried.insert(draw.below(all));
        return tried;
    }

    void check(const Question& question)
    {
        mustShow(question.pointer + "/on", question.on);
        for (const std::size_t i : askingsToTry(question)) {
            const std::size_t before = m_problems.size();
            const DrawnNumbers numbers = combination(question, i);
            at(question.pointer, [&] { check(AskedQuestion(question, m_cases, numbers)); });
            std::string with;
            for (const auto& [name, value] : numbers)
                with += (with.empty() ? "with " : ", ") + name + " " + shownValue(LessonValue(value));
            for (std::size_t problem = before; problem < m_problems.size() && !with.empty(); ++problem)
                m_problems[problem].message = with + ": " + m_problems[problem].message;
            if (m_problems.size() > before)
                return; // the others would say the same
        }
    }

    void check(const AskedQuestion& asked)
    {
        const Question& question = asked.question();
        const std::string& place = question.pointer;
        mustFill(place + "/ask", question.ask, asked.names());
        mustFill(place + "/because", question.because, asked.names());
        for (std::size_t i = 0; i < question.options.size(); ++i)
            for (const std::string& text : {question.options[i].text, question.options[i].say})
                mustFill(place + "/options/" + std::to_string(i), text, asked.names());
        for (const QuestionPart& part : question.parts)
            mustFill(place, part.text, asked.names());
        for (std::size_t i = 0; i < question.mistakes.size(); ++i)
            mustFill(place + "/mistakes/" + std::to_string(i) + "/say", question.mistakes[i].say, asked.names());

        const LessonValue right = asked.rightAnswer();
        if (const std::string why = asked.whyNoAnswer(right); !why.empty())
            return report(place + "/answer", "the engine's answer is " + shownValue(right) + "; " + why);
        if (!question.range.empty())
            at(place + "/range", [&] { checkRange(asked, right); });
        at(place + "/ask", [&] {
            for (const LivePart& part : liveParts(question.ask))
                if (!question.answer.empty() && part.expression == question.answer)
                    report(place + "/ask", "{" + part.expression + "} tells the answer");
        });
        for (std::size_t i = 0; i < question.mistakes.size(); ++i) {
            const std::string pointer = place + "/mistakes/" + std::to_string(i) + "/near";
            at(pointer, [&] { checkMistake(pointer, asked, right, question.mistakes[i]); });
        }
        for (const Confusion& confusion : confusionsWith(asked, m_lesson))
            report(place + "/tolerance", shownValue(confusion.value) + ", " + confusion.what +
                                             ", would be taken for the right answer, " + shownValue(right));
        if (question.input == QuestionInput::ranks || question.input == QuestionInput::tensor)
            mustBeScenario(question, right);
        if (question.input == QuestionInput::actions)
            checkOrders(asked);
        if (question.input == QuestionInput::ranks && right.empty())
            report(place + "/answer", "no rank is right; who clicks none has not answered");
        if (question.input == QuestionInput::tensor && !(right[0].get<double>() >= 0 && right[0] < right[1]))
            report(place + "/answer", shownValue(right) + " is no part of a tensor: from 0 on, the end behind the beginning");
    }

    void checkRange(const AskedQuestion& asked, const LessonValue& right)
    {
        const auto [from, to] = asked.range();
        for (const LessonValue& value : right.is_array() ? right : LessonValue::array({right})) {
            const double is = value.get<double>();
            const bool mayTouch = right.is_array(); // a bar may be as low as its scale
            if (is < from || is > to || (!mayTouch && (is == from || is == to)))
                report(asked.question().pointer + "/range", "the answer, " + shownValue(value) + ", is not inside " +
                                                                shownValue(LessonValue(from)) + " to " +
                                                                shownValue(LessonValue(to)));
        }
        if (right.is_number() && asked.isNear(from, right) && asked.isNear(to, right))
            report(asked.question().pointer + "/tolerance",
                   "every answer from " + shownValue(LessonValue(from)) + " to " + shownValue(LessonValue(to)) + " is within it");
    }

    static bool isInRange(const AskedQuestion& asked, double value)
    {
        const auto [from, to] = asked.range();
        return from <= value && value <= to;
    }

    void checkMistake(const std::string& pointer, const AskedQuestion& asked, const LessonValue& right, const Mistake& mistake)
    {
        const LessonValue value = asked.valueOf(mistake.near);
        if (const std::string why = asked.whyNoAnswer(value); !why.empty())
            report(pointer, mistake.near + " is " + shownValue(value) + "; " + why);
        else if (value.is_number() && !asked.question().range.empty() && !isInRange(asked, value.get<double>()))
            report(pointer, "this mistake's " + shownValue(value) + " cannot be given: the range is " +
                                shownValue(LessonValue(asked.range().first)) + " to " +
                                shownValue(LessonValue(asked.range().second)));
        else if (asked.isRight(value))
            report(pointer,
                   "this mistake's " + shownValue(value) + " is within the tolerance of the right answer, " + shownValue(right));
    }

    void mustBeScenario(const Question& question, const LessonValue& right)
    {
        const CaseSubject* on = m_cases.all().subject(question.on);
        const auto* document = on != nullptr ? std::get_if<ScenarioDocument>(on) : nullptr;
        if (document == nullptr)
            return report(question.pointer + "/on", "a scenario is expected");
        if (question.input != QuestionInput::ranks)
            return;
        const int ranks = resolvedScenario(*document, m_cases.all().catalogue()).layout.worldSize();
        for (const LessonValue& rank : right)
            if (rank.get<double>() >= ranks)
                report(question.pointer + "/answer",
                       "there is no rank " + shownValue(rank) + "; the layout has ranks 0 to " + std::to_string(ranks - 1));
    }

    void checkOrders(const AskedQuestion& asked)
    {
        const Question& question = asked.question();
        for (std::size_t i = 0; i < question.solvedBy.size(); ++i)
            if (!asked.isRight(question.solvedBy[i]))
                report(question.pointer + "/solved_by/" + std::to_string(i), "this order does not meet the goal");
        Cases names(&asked.names());
        if (const CaseSubject* on = names.subject(question.on)) {
            names.put("mine", *on);
            if (std::none_of(question.goal.begin(), question.goal.end(),
                             [&](const std::string& goal) { return whyNot(goal, names).has_value(); }))
                report(question.pointer + "/goal", "the order that it starts with meets the goal");
        }
    }

    void check(const Challenge& challenge)
    {
        const Cases& names = m_cases.all();
        const std::string& place = challenge.pointer;
        mustShow(place + "/from", challenge.from);
        mustFill(place + "/ask", challenge.ask, names);
        mustFill(place + "/because", challenge.because, names);
        for (std::size_t i = 0; i < challenge.hints.size(); ++i)
            mustFill(place + "/hints/" + std::to_string(i), challenge.hints[i], names);
        if (isScenario(challenge.from)) {
            mustBeKeys(place + "/allow", challenge.allow);
            mustBeKeys(place + "/forbid", challenge.forbid);
        }
        at(place, [&] {
            const CaseSubject& start = startOf(challenge, names);
            const ChallengeState untouched = stateOf(challenge, start, names);
            if (untouched.problem.empty() && untouched.unmet.empty())
                report(place + "/goal", "the start reaches the goal before anything is changed");
            for (std::size_t i = 0; i < challenge.solvedBy.size(); ++i)
                at(place + "/solved_by/" + std::to_string(i), [&] {
                    CaseSubject mine = start;
                    setKeys(mine, challenge.solvedBy[i]);
                    const ChallengeState state = stateOf(challenge, mine, names);
                    if (!state.isReached())
                        report(place + "/solved_by/" + std::to_string(i), state.text());
                });
        });
    }

    const Lesson& m_lesson;
    LessonCases m_cases;
    std::vector<Problem> m_problems;
};

} // namespace

std::vector<Problem> checkLesson(const Lesson& lesson, const Catalogue& catalogue)
{
    try {
        return withinTime(lesson.fileName, [&] { return LessonCheck(lesson, catalogue).run(); });
    } catch (const ScenarioError& error) {
        return error.problems();
    } catch (const Error& error) {
        return {{lesson.fileName, "", error.what()}};
    }
}

} // namespace sim
