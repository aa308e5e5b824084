#include "sim/lesson/question.h"

#include "sim/lesson/live_text.h"
#include "sim/scenario/json_text.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

namespace sim {
namespace {

constexpr double kRounding = 1e-9;
constexpr double kHundred = 100; ///< per cent of one
constexpr double kTenth = 0.1;

using Numbers = std::vector<double>;

bool isWithin(double given, double value, const Tolerance& tolerance)
{
    const double allowed = std::max(tolerance.absolute, tolerance.relative * std::abs(value));
    return std::abs(given - value) <= allowed + kRounding * std::max(1.0, std::abs(value));
}

std::optional<Numbers> numbersIn(const LessonValue& value)
{
    return valueAs<Numbers>(value);
}

/// Whole, none below 0, none twice.
bool arePlaces(const Numbers& numbers, double below)
{
    std::set<double> seen;
    return std::all_of(numbers.begin(), numbers.end(),
                       [&](double at) { return at == std::floor(at) && at >= 0 && at < below && seen.insert(at).second; });
}

Numbers sorted(Numbers numbers)
{
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

/// The case that another one starts from.
std::string startOf(const CaseDefinition& definition)
{
    return definition.given.is_object() ? memberOr<std::string>(definition.given, "from", {}) : std::string();
}

/// Each after the one that it starts from, however the file has them: some tools sort keys. What starts from nothing that there
/// is comes last, and fails when it is added.
std::vector<const CaseDefinition*> inOrder(const std::vector<CaseDefinition>& all)
{
    std::vector<const CaseDefinition*> ordered, left;
    for (const CaseDefinition& definition : all)
        left.push_back(&definition);
    for (std::size_t before = left.size() + 1; left.size() < before;) {
        before = left.size();
        std::erase_if(left, [&](const CaseDefinition* definition) {
            const std::string from = startOf(*definition);
            const bool isReady = from.empty() || std::any_of(ordered.begin(), ordered.end(), [&](const CaseDefinition* earlier) {
                                     return earlier->name == from;
                                 });
            if (isReady)
                ordered.push_back(definition);
            return isReady;
        });
    }
    ordered.insert(ordered.end(), left.begin(), left.end());
    return ordered;
}

} // namespace

LessonCases::LessonCases(const Lesson& lesson, const Catalogue& catalogue) : m_cases(lesson.fileName, catalogue)
{
    std::vector<Problem> problems;
    std::set<std::string> dependent;
    for (const CaseDefinition* definition : inOrder(lesson.cases)) {
        if (hasExpressions(*definition) || dependent.contains(startOf(*definition))) {
            dependent.insert(definition->name);
            m_dependent.push_back(*definition);
            continue;
        }
        try {
            m_cases.add(*definition);
        } catch (const ScenarioError& error) {
            problems.insert(problems.end(), error.problems().begin(), error.problems().end());
        }
    }
    if (!problems.empty())
        throw ScenarioError(std::move(problems));
    const auto note = [this](const Question& question) {
        for (const auto& [name, unused] : question.vary)
            m_varied.insert(name);
    };
    for (const Question* question : lesson.questions())
        note(*question);
    std::for_each(lesson.remember.begin(), lesson.remember.end(), note);
}

std::vector<CaseDefinition> LessonCases::dependentOn(const DrawnNumbers& numbers) const
{
    const auto isOfAnother = [&](const std::string& name) {
        return m_varied.contains(name) &&
               std::none_of(numbers.begin(), numbers.end(), [&](const auto& drawn) { return drawn.first == name; });
    };
    std::vector<CaseDefinition> out;
    std::set<std::string> left;
    for (const CaseDefinition& definition : m_dependent) {
        const std::vector<std::string> asked = namesAsked(definition);
        if (left.contains(startOf(definition)) || std::any_of(asked.begin(), asked.end(), isOfAnother) ||
            std::any_of(asked.begin(), asked.end(), [&](const std::string& name) { return left.contains(name); }))
            left.insert(definition.name);
        else
            out.push_back(definition);
    }
    return out;
}

std::vector<std::string> expressionsAbout(const Question& question)
{
    std::vector<std::string> out{question.answer};
    for (const QuestionOption& option : question.options)
        out.push_back(option.rightIf);
    for (const QuestionPart& part : question.parts)
        out.push_back(part.value);
    std::erase(out, std::string());
    return out;
}

std::size_t combinationsOf(const Question& question)
{
    constexpr std::size_t kMost = 1U << 20U;
    std::size_t count = 1;
    for (const auto& [name, values] : question.vary)
        count = std::min(count * values.size(), kMost);
    return count;
}

DrawnNumbers combination(const Question& question, std::size_t index)
{
    DrawnNumbers drawn;
    for (const auto& [name, values] : question.vary) {
        drawn.emplace_back(name, values[index % values.size()]);
        index /= values.size();
    }
    return drawn;
}

SliderNotches::SliderNotches(double start, double to, double asked)
    : from(start), step(asked > 0 && (to - start) / asked <= kMost ? asked : (to - start) / kUsual)
{
    constexpr int kMostDecimals = 10;
    if (asked == 0) // what the thumb stops at is told in as many digits as its steps have
        decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step))), 0, kMostDecimals);
}

double SliderNotches::at(std::int64_t notch) const
{
    const double value = from + static_cast<double>(notch) * step, unit = std::pow(10.0, -decimals);
    return decimals < 0 ? value : std::round(value / unit) * unit;
}

std::size_t SeededDraw::below(std::size_t count)
{
    // Steele, Lea, Flood 2014: Fast Splittable Pseudorandom Number Generators
    m_state += 0x9E3779B97F4A7C15ULL;
    std::uint64_t mixed = m_state;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBULL;
    return static_cast<std::size_t>((mixed ^ (mixed >> 31U)) % count);
}

AskedQuestion::AskedQuestion(const Question& question, const LessonCases& cases, DrawnNumbers numbers)
    : m_question(question), m_numbers(std::move(numbers)), m_names(&cases.all())
{
    for (const auto& [name, value] : m_numbers)
        m_names.putNumber(name, value);
    if (!m_question.vary.empty())
        for (const CaseDefinition& definition : cases.dependentOn(m_numbers))
            m_names.add(definition);
}

std::string AskedQuestion::filled(const std::string& liveText) const
{
    return filledIn(liveText, m_names);
}

LessonValue AskedQuestion::valueOf(const std::string& expression) const
{
    return Expression::parse(expression).evaluate(m_names);
}

Numbers AskedQuestion::valuesOfParts() const
{
    Numbers values;
    for (const QuestionPart& part : m_question.parts) {
        const LessonValue value = valueOf(part.value);
        if (!value.is_number())
            throw Error(part.value + " is " + shownValue(value) + "; a number is expected");
        values.push_back(value.get<double>());
    }
    return values;
}

/// Of the options that are right.
LessonValue AskedQuestion::rightPlaces() const
{
    LessonValue places = LessonValue::array();
    for (std::size_t i = 0; i < m_question.options.size(); ++i) {
        const LessonValue value = valueOf(m_question.options[i].rightIf);
        if (!value.is_boolean())
            throw Error(m_question.options[i].rightIf + " is " + shownValue(value) + "; something true or false is expected");
        if (value.get<bool>())
            places.push_back(i);
    }
    return places;
}

LessonValue AskedQuestion::rightAnswer() const
{
    switch (m_question.input) {
    case QuestionInput::choice: {
        LessonValue places = rightPlaces();
        if (!m_question.many && places.size() != 1)
            throw Error(std::to_string(places.size()) + " options are right; exactly one should be");
        return m_question.many ? places : places.front();
    }
    case QuestionInput::order: {
        const Numbers by = valuesOfParts();
        std::vector<std::size_t> places(by.size());
        std::iota(places.begin(), places.end(), 0);
        std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) { return by[a] < by[b]; });
        return places;
    }
    case QuestionInput::bars:
        return valuesOfParts();
    case QuestionInput::actions:
        return m_question.solvedBy.front();
    default:
        return valueOf(m_question.answer);
    }
}

std::pair<double, double> AskedQuestion::range() const
{
    Numbers ends;
    for (const std::string& end : m_question.range) {
        const LessonValue value = valueOf(end);
        if (!value.is_number())
            throw Error(end + " is " + shownValue(value) + "; a number is expected");
        ends.push_back(value.get<double>());
    }
    if (ends.size() != 2 || ends[0] >= ends[1])
        throw Error("a range goes from a number to a larger one");
    return {ends[0], ends[1]};
}

Tolerance AskedQuestion::tolerance() const
{
    if (m_question.tolerance)
        return *m_question.tolerance;
    // What is counted is right or not; what is measured or estimated has a tenth.
    const bool isCounted = m_question.input == QuestionInput::number && m_question.unit.empty();
    return {.relative = isCounted ? 0 : kTenth};
}

std::string AskedQuestion::whyNoAnswer(const LessonValue& given) const
{
    const auto list = [&](std::size_t count, const char* of) -> std::string {
        const auto numbers = numbersIn(given);
        return numbers && numbers->size() == count ? "" : "a list of " + std::to_string(count) + " " + of + " is expected";
    };
    const auto places = [&](std::size_t count, const char* of) -> std::string {
        const auto numbers = numbersIn(given);
        return numbers && arePlaces(*numbers, static_cast<double>(count)) ? "" : "a list of " + std::string(of) + " is expected";
    };
    constexpr std::size_t kMostRanks = 1U << 20U;
    switch (m_question.input) {
    case QuestionInput::slider:
    case QuestionInput::number:
        return given.is_number() && std::isfinite(given.get<double>()) ? "" : "a number is expected";
    case QuestionInput::choice: {
        const std::size_t count = m_question.options.size();
        if (m_question.many)
            return places(count, "places of options, counted from 0,");
        const auto place = wholeNumber<std::int64_t>(given);
        return place && *place >= 0 && *place < static_cast<std::int64_t>(count)
                   ? ""
                   : "the place of an option is expected, 0 to " + std::to_string(count - 1);
    }
    case QuestionInput::ranks:
        return places(kMostRanks, "ranks");
    case QuestionInput::tensor:
        return list(2, "numbers, from and to,");
    case QuestionInput::order: {
        std::string why = list(m_question.parts.size(), "places of cards");
        return why.empty() ? places(m_question.parts.size(), "places of cards, each once,") : why;
    }
    case QuestionInput::bars:
        return list(m_question.parts.size(), "numbers");
    case QuestionInput::sketch:
        try {
            return valueOf(m_question.over).empty() ? "the sketch has no places"
                                                    : list(valueOf(m_question.over).size(), "numbers");
        } catch (const Error& error) {
            return error.what();
        }
    case QuestionInput::actions:
        return valueAs<std::vector<std::string>>(given) ? "" : "a list of lines of actions is expected, one a rank";
    }
    return {};
}

bool AskedQuestion::isNear(const LessonValue& given, const LessonValue& value) const
{
    const Tolerance allowed = tolerance();
    if (given.is_number() && value.is_number())
        return isWithin(given.get<double>(), value.get<double>(), allowed);
    const auto a = numbersIn(given), b = numbersIn(value);
    if (!a || !b || (a->size() != b->size()))
        return false;
    switch (m_question.input) {
    case QuestionInput::ranks:
        return sorted(*a) == sorted(*b);
    case QuestionInput::bars:
        for (std::size_t i = 0; i < a->size(); ++i)
            if (!isWithin((*a)[i], (*b)[i], allowed))
                return false;
        return true;
    case QuestionInput::sketch: { // a curve is drawn by hand: it may be off on the whole, and nowhere by far more
        constexpr double kAtOnePlace = 2.5;
        double off = 0, farthest = 0, most = 0;
        for (std::size_t i = 0; i < a->size(); ++i) {
            const double here = std::abs((*a)[i] - (*b)[i]);
            off += here / static_cast<double>(a->size());
            farthest = std::max(farthest, here);
            most = std::max(most, std::abs((*b)[i]));
        }
        const double within = std::max(allowed.absolute, allowed.relative * most) + kRounding * std::max(1.0, most);
        return off <= within && farthest <= kAtOnePlace * within;
    }
    default:
        return *a == *b;
    }
}

OrderOutcome AskedQuestion::outcomeOf(const LessonValue& rows) const
{
    const CaseSubject* on = m_names.subject(m_question.on);
    if (on == nullptr || !std::holds_alternative<LessonValue>(*on))
        throw Error("there is no pipeline \"" + m_question.on + "\" to put actions in order for");
    LessonValue mine = std::get<LessonValue>(*on);
    mine["actions"] = rows;
    OrderOutcome outcome;
    if (!isSameWork(mine, std::get<LessonValue>(*on))) { // fewer micro-batches are no better order
        outcome.problem = "these are not the same actions";
        outcome.unmet = m_question.goal;
        return outcome;
    }
    Cases names(&m_names);
    names.put("mine", CaseSubject(std::move(mine)));
    try {
        const auto valueNamed = [&names](const char* what) { return Expression::parse(what).evaluate(names); };
        if (const LessonValue problems = valueNamed("mine.problems"); !problems.empty())
            throw Error(problems.front().get<std::string>()); // in its own words, not those of an expression that asks for it
        const auto numberOf = [&valueNamed](const char* what) {
            const LessonValue value = valueNamed(what);
            if (!value.is_number())
                throw Error(std::string(what) + " is " + shownValue(value) + "; a number is expected");
            return value.get<double>();
        };
        outcome.bubbleOverIdeal = numberOf("mine.bubble.over_ideal");
        outcome.mostHeld = static_cast<int>(numberOf("max(mine.peak_activations)"));
    } catch (const Error& error) {
        outcome.problem = error.what();
    }
    for (const std::string& goal : m_question.goal)
        if (auto why = whyNot(goal, names))
            outcome.unmet.push_back(std::move(*why));
    return outcome;
}

bool AskedQuestion::isListedMistake(const LessonValue& given) const
{
    return std::any_of(m_question.mistakes.begin(), m_question.mistakes.end(),
                       [&](const Mistake& mistake) { return isNear(given, valueOf(mistake.near)); });
}

/// Whether its slider stops there: then nobody can tell that it was typed.
bool AskedQuestion::mayBeDragged(double given) const
{
    if (m_question.input != QuestionInput::slider || m_question.range.empty())
        return false;
    const double scale = m_question.asksPercent() ? kHundred : 1, shown = given * scale;
    const auto [from, to] = range();
    if (given < from - kRounding || given > to + kRounding)
        return false;
    const SliderNotches notches(from * scale, to * scale, m_question.step * scale);
    return std::abs(notches.at(std::llround((shown - notches.from) / notches.step)) - shown) <=
           kRounding * std::max(1.0, std::abs(shown));
}

LessonValue AskedQuestion::meant(const LessonValue& given) const
{
    const bool isOne = m_question.input == QuestionInput::slider || m_question.input == QuestionInput::number;
    if (!m_question.asksPercent() || !isOne || !given.is_number())
        return given;
    const LessonValue right = rightAnswer();
    const double size = given.get<double>();
    if (mayBeDragged(size) || isNear(given, right) || isListedMistake(given))
        return given;
    std::vector<LessonValue> otherwise{LessonValue(size * kHundred)};
    if (std::abs(size) > 1)
        otherwise.emplace_back(size / kHundred);
    const auto isTakenFor = [this](const LessonValue& read, const LessonValue& value) {
        return value.is_number() && isNear(read, value) &&
               isWithin(read.get<double>(), value.get<double>(), {.relative = kTenth});
    };
    for (const LessonValue& read : otherwise)
        if (isTakenFor(read, right))
            return read;
    for (const LessonValue& read : otherwise)
        for (const Mistake& mistake : m_question.mistakes)
            if (isTakenFor(read, valueOf(mistake.near)))
                return read;
    return given;
}

bool AskedQuestion::isRight(const LessonValue& given) const
{
    switch (m_question.input) {
    case QuestionInput::choice: {
        const LessonValue right = rightPlaces();
        if (m_question.many)
            return sorted(numbersIn(given).value_or(Numbers())) == numbersIn(right).value_or(Numbers());
        return right.size() == 1 && given == right.front();
    }
    case QuestionInput::order: { // those that are alike may stand either way round
        const Numbers by = valuesOfParts();
        double last = -INFINITY;
        for (const double place : numbersIn(given).value_or(Numbers())) {
            const double value = by.at(static_cast<std::size_t>(place));
            if (value < last - kRounding * std::max(1.0, std::abs(last)))
                return false;
            last = value;
        }
        return true;
    }
    case QuestionInput::actions:
        return outcomeOf(given).unmet.empty();
    default:
        return isNear(meant(given), rightAnswer());
    }
}

/// Of each that is wrong what it says; of several, also those that are right and missed, with what they say.
std::string AskedQuestion::reasonForOptions(const LessonValue& given) const
{
    const Numbers places = given.is_array() ? numbersIn(given).value_or(Numbers()) : Numbers{given.get<double>()};
    std::vector<std::string> sentences;
    const auto add = [&](const std::string& say) {
        if (!say.empty())
            sentences.push_back(filled(say));
    };
    for (const double place : places) {
        const QuestionOption& option = m_question.options.at(static_cast<std::size_t>(place));
        if (valueOf(option.rightIf) != LessonValue(true))
            add(option.say);
    }
    for (std::size_t i = 0; m_question.many && i < m_question.options.size(); ++i) {
        const QuestionOption& option = m_question.options[i];
        if (std::find(places.begin(), places.end(), static_cast<double>(i)) != places.end() ||
            valueOf(option.rightIf) != LessonValue(true))
            continue;
        add("Missed: " + option.text + (option.say.empty() ? "." : ":"));
        add(option.say);
    }
    std::string all;
    for (const std::string& sentence : sentences)
        all += (all.empty() ? "" : " ") + sentence;
    return all;
}

/// A share of one where per cent are typed, or per cent where shares of one are written: no mistake of the lesson's, so how it is
/// written is all that can be said.
std::string AskedQuestion::reasonForWriting(double given) const
{
    const LessonValue right = rightAnswer();
    if (!m_question.asksPercent() || !right.is_number())
        return {};
    const double answer = std::abs(right.get<double>()), size = std::abs(given);
    constexpr int kShareDigits = 4; // noughts at the end go
    const auto percent = [](double share) { return chosenPercentText(share); };
    if (size > 0 && size < 1 / kHundred && answer > 1 / kHundred && !mayBeDragged(given)) // 1 % of one would be all of it
        return "This counts as " + percent(given) + ". If a share of one was meant, it is " + percent(given * kHundred) + ".";
    if (size > 1 && answer <= 1)
        return "This counts as " + percent(given) + ". If per cent were meant, it is " + percent(given / kHundred) +
               ", or as a share of one " + numberText(given / kHundred, Unit::number, kShareDigits) + ".";
    return {};
}

std::string AskedQuestion::reasonFor(const LessonValue& answer) const
{
    if (m_question.input == QuestionInput::choice)
        return reasonForOptions(answer);
    const LessonValue given = meant(answer);
    const Mistake* nearest = nullptr;
    double least = INFINITY;
    for (const Mistake& mistake : m_question.mistakes) {
        const LessonValue value = valueOf(mistake.near);
        if (!isNear(given, value))
            continue;
        const double off = given.is_number() && value.is_number() ? std::abs(given.get<double>() - value.get<double>()) : 0;
        if (off < least) {
            nearest = &mistake;
            least = off;
        }
    }
    if (nearest == nullptr && m_question.input == QuestionInput::tensor) { // the end is the first that is not in it any more
        const LessonValue right = rightAnswer();
        if (given.size() == 2 && given[0] == right[0] && given[1].get<double>() + 1 == right[1].get<double>())
            return "The part is right, but its end is given as the first number that is not in it any more: " +
                   shownValue(right[1]) + ", not " + shownValue(given[1]) + ".";
    }
    if (nearest == nullptr && given.is_number())
        return reasonForWriting(given.get<double>());
    return nearest != nullptr ? filled(nearest->say) : std::string();
}

} // namespace sim
