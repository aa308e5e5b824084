#include "sim/lesson/check.h"

#include "sim/lesson/challenge.h"
#include "sim/lesson/live_text.h"
#include "sim/lesson/paper.h"
#include "sim/lesson/question.h"
#include "sim/lesson/time_limit.h"
#include "sim/scenario/json_text.h"
#include "sim/text/nearest.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <cmath>
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
            checkOnScreen(step, shown);
        }
        for (const Question& question : m_lesson.remember)
            check(question);
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
        std::vector<std::string> expressions{question.answer};
        for (const QuestionOption& option : question.options)
            expressions.push_back(option.rightIf);
        for (const QuestionPart& part : question.parts)
            expressions.push_back(part.value);
        for (const std::string& text : expressions)
            if (!text.empty())
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

    void check(const Question& question)
    {
        constexpr std::size_t kMostAskings = 64;
        mustShow(question.pointer + "/on", question.on);
        const std::size_t count = std::min(combinationsOf(question), kMostAskings);
        for (std::size_t i = 0; i < count; ++i) {
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
        for (std::size_t i = 0; i < question.mistakes.size(); ++i) {
            const std::string pointer = place + "/mistakes/" + std::to_string(i) + "/near";
            at(pointer, [&] { checkMistake(pointer, asked, right, question.mistakes[i]); });
        }
        if (question.input == QuestionInput::ranks || question.input == QuestionInput::tensor)
            mustBeScenario(question, right);
        if (question.input == QuestionInput::actions)
            checkOrders(asked);
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
    }

    void checkMistake(const std::string& pointer, const AskedQuestion& asked, const LessonValue& right, const Mistake& mistake)
    {
        const LessonValue value = asked.valueOf(mistake.near);
        if (const std::string why = asked.whyNoAnswer(value); !why.empty())
            report(pointer, mistake.near + " is " + shownValue(value) + "; " + why);
        else if (asked.isNear(value, right))
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
                       "there is no rank " + shownValue(rank) + "; the layout has 0 to " + std::to_string(ranks - 1));
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
