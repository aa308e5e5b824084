#include "sim/lesson/play.h"

#include "sim/lesson/live_text.h"
#include "sim/lesson/time_limit.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace sim {
namespace {

/// That an expression may ask for.
std::vector<std::string> namesOf(const std::string& expression)
{
    std::vector<std::string> names;
    for (const Expression::NameAsked& asked : Expression::parse(expression).namesAsked())
        names.push_back(asked.name);
    return names;
}
/// By what each part of an answer is judged: a bar is one of its own, the cards of an order are judged together.
std::vector<std::vector<std::string>> partsOfAnswer(const Question& question, std::vector<std::string> answers)
{
    if (question.input != QuestionInput::bars)
        return {std::move(answers)};
    std::vector<std::vector<std::string>> out;
    for (const QuestionPart& part : question.parts)
        out.push_back({part.value});
    return out;
}

/// That an answer is worked out from; of a choice the option that is right.
std::vector<std::string> answersOf(const AskedQuestion& asked)
{
    const Question& question = asked.question();
    std::vector<std::string> out{question.on, question.answer};
    if (question.input == QuestionInput::choice) {
        const LessonValue right = asked.rightAnswer();
        for (std::size_t i = 0; i < question.options.size(); ++i)
            if (right == LessonValue(i) || (right.is_array() && std::find(right.begin(), right.end(), i) != right.end()))
                out.push_back(question.options[i].rightIf);
    }
    for (const QuestionPart& part : question.parts)
        out.push_back(part.value);
    return out;
}

/// In words with live numbers.
std::vector<std::string> expressionsOf(const std::string& text)
{
    std::vector<std::string> out;
    for (LivePart& part : liveParts(text))
        out.push_back(std::move(part.expression));
    return out;
}

/// A setting of the job or who is in a group, which form and map have: no number that the engine finds out.
bool isGiven(std::string_view path)
{
    constexpr std::array<std::string_view, 8> kGiven{
        ".traffic.layer.",    ".describe.layout.", ".describe.training.", ".describe.model.",
        ".describe.cluster.", ".world_size",       ".microbatches",       ".groups("};
    return std::any_of(kGiven.begin(), kGiven.end(), [&](std::string_view given) { return path.starts_with(given); });
}

/// All words of a step that are said when it is reached.
std::vector<std::string> toldBy(const LessonStep& step)
{
    std::vector<std::string> out;
    const auto add = [&](const std::string& text) {
        for (std::string& expression : expressionsOf(text))
            out.push_back(std::move(expression));
    };
    add(step.say);
    for (const LessonPoint& point : step.points)
        add(point.text);
    if (step.chart)
        for (const QuestionPart& bar : step.chart->bars) {
            add(bar.text);
            out.push_back(bar.value);
        }
    if (step.reveal)
        add(step.reveal->say);
    if (step.predict)
        add(step.predict->ask);
    if (step.challenge)
        add(step.challenge->ask);
    return out;
}

bool isAmong(const std::vector<std::string>& names, const std::string& name)
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

const std::string& comparesOf(const LessonStep& step)
{
    return step.reveal && !step.reveal->compare.empty() ? step.reveal->compare : step.compare;
}

} // namespace

LessonPlay::LessonPlay(Lesson given, std::uint64_t seed, const Catalogue& catalogue) : m_paper(std::move(given), seed, catalogue)
{
    const auto& questions = m_paper.questions();
    const auto named = [&](const std::string& id) -> const AskedQuestion* {
        for (const PaperQuestion& question : questions)
            if (question.lesson == lesson().id && question.id == id)
                return question.asked.get();
        return nullptr;
    };
    for (const LessonStep& step : lesson().steps) {
        m_steps.push_back({.as = step});
        if (step.predict) {
            m_steps.back().id = step.predict->id;
            m_steps.back().asked = named(step.predict->id);
        } else if (step.challenge) {
            m_steps.back().id = step.challenge->id;
        }
    }
    std::size_t place = 0; // of what is drawn: after the words that the exam begins with
    while (place < m_steps.size() && m_steps[place].id.empty() && !m_steps[place].as.reveal)
        ++place;
    for (const PaperQuestion& question : questions) {
        if (question.lesson == lesson().id)
            continue;
        Step drawn{.id = question.id, .asked = question.asked.get(), .isDrawn = true};
        drawn.as.pointer = question.asked->question().pointer;
        drawn.as.predict = question.asked->question();
        m_steps.insert(m_steps.begin() + static_cast<std::ptrdiff_t>(place++), std::move(drawn));
    }
    withinTime(lesson().fileName, [this] {
        for (Step& step : m_steps)
            try {
                workOut(step);
            } catch (const Error& error) {
                throw ScenarioError({{lesson().fileName, step.as.pointer, error.what()}});
            }
        for (std::size_t at = 0; at < m_steps.size(); ++at)
            static_cast<void>(peakGibOf(m_steps[at].as.predict ? seenWhenAnswered(at).compared : std::string()));
    });
    findAnswersAhead();
}

/// All that is shown, and all that is asked of the engine later.
void LessonPlay::workOut(Step& out)
{
    const Cases& names = cases();
    const LessonStep& step = out.as;
    out.text = filledIn(step.say, names);
    const auto append = [&](const std::string& more) { out.text += (out.text.empty() ? "" : "\n\n") + more; };
    for (const LessonPoint& point : step.points)
        out.points.push_back(filledIn(point.text, names));
    if (step.chart)
        for (const QuestionPart& bar : step.chart->bars) {
            const LessonValue value = Expression::parse(bar.value).evaluate(names);
            if (!value.is_number())
                throw Error("a bar is as long as a number; " + bar.value + " is " + shownValue(value));
            const std::string unit = step.chart->unit.empty() ? std::string() : " " + step.chart->unit;
            out.chart.push_back({filledIn(bar.text, names), writtenValue(value, "") + unit, value.get<double>()});
        }
    if (step.reveal)
        append(filledIn(step.reveal->say, names));
    if (const std::string& name = comparesOf(step); scenarioOf(name) != nullptr) // a reveal shows how high it was
        static_cast<void>(Expression::parse(name + ".peak_memory_gib").evaluate(names));
    if (step.challenge) {
        append(filledIn(step.challenge->ask, names));
        out.because = filledIn(step.challenge->because, names);
        for (const std::string& hint : step.challenge->hints)
            out.hints.push_back(filledIn(hint, names));
        static_cast<void>(stateOf(*step.challenge, startOf(*step.challenge, names), names));
    }
    if (out.asked == nullptr)
        return;
    const AskedQuestion& asked = *out.asked;
    const Question& question = asked.question();
    append(asked.text());
    out.because = asked.filled(question.because);
    const LessonValue right = asked.rightAnswer();
    if (const std::string why = asked.whyNoAnswer(right); !why.empty())
        throw Error("the engine's answer is " + shownValue(right) + "; " + why);
    static_cast<void>(asked.isRight(right));
    if (!question.range.empty())
        static_cast<void>(asked.range());
    for (const QuestionOption& option : question.options)
        for (const std::string& text : {option.text, option.say})
            static_cast<void>(asked.filled(text));
    for (const QuestionPart& part : question.parts)
        static_cast<void>(asked.filled(part.text));
    for (const Mistake& mistake : question.mistakes) {
        static_cast<void>(asked.valueOf(mistake.near));
        static_cast<void>(asked.filled(mistake.say));
    }
}

const LessonValue& LessonPlay::view(std::size_t at) const
{
    for (std::size_t i = at + 1; i-- > 0;)
        if (!step(i).view.is_null())
            return step(i).view;
    return step(at).view;
}

const ScenarioDocument* LessonPlay::scenarioOf(const std::string& name) const
{
    const CaseSubject* subject = name.empty() ? nullptr : cases().subject(name);
    return subject != nullptr ? std::get_if<ScenarioDocument>(subject) : nullptr;
}

std::string LessonPlay::shownName(std::size_t at) const
{
    if (isDrawn(at))
        return {};
    for (std::size_t i = at + 1; i-- > 0;)
        if (const std::string& name = shownBy(step(i)); !isDrawn(i) && scenarioOf(name) != nullptr) // else another lesson's
            return name;
    return {};
}

bool LessonPlay::showsWhatIsAsked(std::size_t questionAt, std::size_t shownAt) const
{
    const AskedQuestion* question = asked(questionAt);
    const ScenarioDocument* const seen = shown(shownAt);
    if (question == nullptr || seen == nullptr)
        return false;
    // A case of another name may be the same scenario.
    const auto isSeen = [&](const std::string& name) {
        const ScenarioDocument* const of = scenarioOf(name);
        return of != nullptr && of->text() == seen->text();
    };
    const std::vector<std::string> names = casesOf(expressionsAbout(question->question()));
    return std::any_of(names.begin(), names.end(), isSeen);
}

std::string LessonPlay::firstNameOf(const std::string& caseName) const
{
    const ScenarioDocument* const document = scenarioOf(caseName);
    if (document != nullptr)
        for (const CaseDefinition& each : lesson().cases)
            if (const ScenarioDocument* other = scenarioOf(each.name); other != nullptr && other->text() == document->text())
                return each.name;
    return caseName;
}

std::vector<LessonPlay::Quantity> LessonPlay::quantitiesOf(const std::vector<std::string>& expressions) const
{
    std::vector<Quantity> out;
    for (const std::string& expression : expressions)
        if (!expression.empty())
            for (const Expression::NameAsked& asked : Expression::parse(expression).namesAsked())
                if (!asked.path.empty() && !isGiven(asked.path) && scenarioOf(asked.name) != nullptr)
                    out.push_back({firstNameOf(asked.name), asked.path});
    return out;
}

/// The scenarios at a step whose question, if it has one, is answered; none where the next step's reveal is seen then.
std::vector<std::string> LessonPlay::onScreen(std::size_t at) const
{
    const Seen seen = seenWhenAnswered(at);
    if (seen.isNextStep && step(at + 1).reveal)
        return {};
    std::vector<std::string> out;
    for (const std::string& name :
         {seen.shown.empty() ? shownName(at) : seen.shown, seen.shown.empty() ? comparedName(at) : seen.compared})
        if (!name.empty())
            out.push_back(firstNameOf(name));
    return out;
}

/// What is asked of the picture itself (ranks, a slice) is hidden there while it is asked, and is no number.
void LessonPlay::findAnswersAhead()
{
    std::vector<std::vector<std::string>> seen; // at each step
    for (std::size_t at = 0; at < steps(); ++at)
        seen.push_back(step(at).reveal || step(at).challenge ? std::vector<std::string>() : onScreen(at));
    std::vector<Quantity> told;
    const auto isTold = [&](const Quantity& quantity) {
        return std::any_of(told.begin(), told.end(),
                           [&](const Quantity& each) { return each.of == quantity.of && quantity.path.starts_with(each.path); });
    };
    const auto tell = [&](const std::vector<std::string>& expressions) {
        for (Quantity& quantity : quantitiesOf(expressions))
            told.push_back(std::move(quantity));
    };
    for (std::size_t ask = 0; ask < steps(); ++ask) {
        if (isDrawn(ask))
            continue;
        tell(toldBy(step(ask)));
        const AskedQuestion* question = asked(ask);
        if (question == nullptr)
            continue;
        const QuestionInput input = question->question().input;
        const bool isOfPicture = input == QuestionInput::ranks || input == QuestionInput::tensor;
        for (const auto& part : partsOfAnswer(question->question(), answersOf(*question))) {
            std::vector<Quantity> open = quantitiesOf(part);
            std::erase_if(open, isTold);
            for (std::size_t at = 0; at < ask && !open.empty() && !isOfPicture; ++at) {
                const bool isSeen =
                    std::all_of(open.begin(), open.end(), [&](const Quantity& each) { return isAmong(seen[at], each.of); });
                auto& ahead = m_steps[at].answersAhead;
                if (isSeen && (ahead.empty() || ahead.back() != ask))
                    ahead.push_back(ask);
            }
        }
        if (input != QuestionInput::choice && input != QuestionInput::order) // those tell what is more, not how much
            tell(answersOf(*question));
        tell(expressionsOf(question->question().because));
    }
}

std::string LessonPlay::textOnPaper(std::size_t at) const
{
    std::map<std::string, std::string> answered;
    int number = 0;
    for (std::size_t earlier = 0; earlier < at; ++earlier) {
        if (step(earlier).challenge)
            ++number;
        const AskedQuestion* const question = asked(earlier);
        if (question == nullptr)
            continue;
        ++number;
        std::vector<std::string> answers{question->question().answer};
        if (question->question().input == QuestionInput::bars)
            for (const QuestionPart& part : question->question().parts)
                answers.push_back(part.value);
        for (const std::string& answer : answers)
            if (!answer.empty() && !isDrawn(earlier))
                answered.emplace(answer, "(answer " + std::to_string(number) + ")");
    }
    const LessonStep& of = step(at);
    const AskedQuestion* const question = asked(at);
    const Names& names = question != nullptr ? static_cast<const Names&>(question->names()) : cases();
    std::string text = filledIn(of.say, names, answered);
    for (const std::string& more :
         {of.challenge ? of.challenge->ask : std::string(), of.predict ? of.predict->ask : std::string()})
        if (!more.empty())
            text += (text.empty() ? "" : "\n\n") + filledIn(more, names, answered);
    return text;
}

std::vector<std::string> LessonPlay::casesOf(const std::vector<std::string>& expressions) const
{
    std::vector<std::string> out;
    for (const std::string& expression : expressions)
        if (!expression.empty())
            for (const std::string& name : namesOf(expression))
                if (scenarioOf(name) != nullptr && !isAmong(out, name))
                    out.push_back(name);
    return out;
}

/// The case that what is on screen at a step is compared with already.
std::string LessonPlay::comparedWithShown(std::size_t at) const
{
    for (std::size_t i = at + 1; i-- > 0;) {
        if (!comparedName(i).empty())
            return comparedName(i);
        if (const std::string& name = shownBy(step(i)); !isDrawn(i) && scenarioOf(name) != nullptr)
            return {};
    }
    return {};
}

LessonPlay::Seen LessonPlay::seenWhenAnswered(std::size_t at) const
{
    const AskedQuestion* question = asked(at);
    if (question == nullptr || isDrawn(at))
        return {};
    const QuestionInput input = question->question().input;
    if (input == QuestionInput::ranks || input == QuestionInput::tensor) // asked of what is on screen
        return {};
    const std::string was = shownName(at);
    const std::vector<std::string> answers = casesOf(answersOf(*question));
    const std::vector<std::string> reasons = casesOf(expressionsOf(question->question().because));
    if (at + 1 < steps() && asked(at + 1) == nullptr && !step(at + 1).challenge) {
        const std::string& next = shownBy(step(at + 1));
        const bool reveals = step(at + 1).reveal.has_value();
        const bool isAnother = next != was || (reveals && !step(at + 1).view.is_null()); // case, or pictures of the same one
        if (scenarioOf(next) != nullptr && isAnother && (reveals || isAmong(answers, next) || isAmong(reasons, next)))
            return {.shown = next, .compared = comparedName(at + 1), .isNextStep = true};
    }
    std::vector<std::string> others = answers;
    std::erase(others, was);
    const bool isAnswered = isAmong(answers, was); // a number made of both is told of the one that is there
    const bool isCompared = isAnswered || isAmong(reasons, was);
    if (others.empty() || (isAnswered && input != QuestionInput::choice) || (isCompared && others.size() != 1) ||
        (isCompared && others.front() == comparedWithShown(at)))
        return {};
    const auto said = std::find_if(others.begin(), others.end(), [&](const auto& name) { return isAmong(reasons, name); });
    const std::string& shown = said != others.end() ? *said : others.front();
    for (std::size_t later = at + 1; later < steps() && shownBy(step(later)) != shown; ++later)
        if (asked(later) != nullptr && isAmong(casesOf(answersOf(*asked(later))), shown))
            return {}; // it would tell that
    const bool isAskedOf = isAmong(casesOf(expressionsOf(question->question().ask)), was);
    return {.shown = shown, .compared = isCompared || isAskedOf ? was : std::string()};
}

const ScenarioDocument* LessonPlay::drawnCase(std::size_t at) const
{
    const AskedQuestion* question = isDrawn(at) ? asked(at) : nullptr;
    if (question == nullptr)
        return nullptr;
    std::vector<std::string> names{question->question().on};
    for (const std::string& expression : expressionsAbout(question->question()))
        for (std::string& name : namesOf(expression))
            names.push_back(std::move(name));
    for (const std::string& name : names)
        if (const CaseSubject* subject = question->names().subject(name); subject != nullptr)
            if (const auto* document = std::get_if<ScenarioDocument>(subject))
                return document;
    return nullptr;
}

const ScenarioDocument* LessonPlay::shown(std::size_t at) const
{
    return scenarioOf(shownName(at));
}

const ScenarioDocument* LessonPlay::compared(std::size_t at) const
{
    return scenarioOf(comparesOf(step(at)));
}

std::string LessonPlay::comparedName(std::size_t at) const
{
    return compared(at) != nullptr ? comparesOf(step(at)) : std::string();
}

double LessonPlay::comparedPeakGib(std::size_t at) const
{
    return peakGibOf(comparedName(at));
}

double LessonPlay::peakGibOf(const std::string& name) const
{
    if (name.empty())
        return 0;
    const LessonValue peak = Expression::parse(name + ".peak_memory_gib").evaluate(cases());
    return peak.is_number() ? peak.get<double>() : 0;
}

} // namespace sim
