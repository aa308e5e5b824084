#include "sim/lesson/confusion.h"

#include "sim/scenario/json_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

namespace sim {
namespace {

bool isOneNumber(const Question& question)
{
    return (question.input == QuestionInput::slider || question.input == QuestionInput::number) && !question.answer.empty();
}

std::set<std::string> namesIn(const std::string& expression)
{
    std::set<std::string> names;
    for (const Expression::NameAsked& asked : Expression::parse(expression).namesAsked())
        names.insert(asked.name);
    return names;
}
/// The cases that an expression speaks of.
std::set<std::string> casesIn(const std::string& expression, const Cases& cases)
{
    std::set<std::string> names = namesIn(expression);
    std::erase_if(names, [&](const std::string& name) { return cases.subject(name) == nullptr; });
    return names;
}

class ConfusionSearch {
public:
    explicit ConfusionSearch(const AskedQuestion& asked)
        : m_asked(asked), m_right(asked.rightAnswer()), m_own(casesIn(asked.question().answer, asked.names()))
    {
    }

    void tryMistakesOf(const Question& other)
    {
        for (const Mistake& mistake : other.mistakes) {
            const std::string what = "what \"" + other.id + "\" lists as a mistake (" + mistake.near + ")";
            const std::set<std::string> names = namesIn(mistake.near);
            if (isOfThisAsking(names))
                tryValue(what, mistake.near, m_asked.names());
            const std::set<std::string> theirs = casesIn(other.answer, m_asked.names());
            if (m_own.size() != 1 || theirs.size() != 1 || m_own == theirs || !names.contains(*theirs.begin()))
                continue;
            Cases renamed(&m_asked.names());
            renamed.putSame(*theirs.begin(), *m_own.begin());
            tryValue(what + " of \"" + *m_own.begin() + "\"", mistake.near, renamed);
        }
    }

    void tryOtherWhole()
    {
        constexpr std::array kWholes{std::pair(".bubble.over_ideal", ".bubble.of_makespan"),
                                     std::pair(".bubble.of_makespan", ".bubble.over_ideal")};
        for (const auto& [whole, other] : kWholes) {
            std::string text = m_asked.question().answer;
            const std::size_t at = text.find(whole);
            if (at == std::string::npos)
                continue;
            text.replace(at, std::string_view(whole).size(), other);
            tryValue("the same share of another whole (" + text + ")", text, m_asked.names());
        }
    }

    void tryStageMore()
    {
        for (const std::string& name : m_own) {
            const auto* pipeline = std::get_if<LessonValue>(m_asked.names().subject(name));
            const LessonValue* stages = pipeline == nullptr ? nullptr : memberOf(*pipeline, "stages");
            if (stages == nullptr || !stages->is_number_integer() || pipeline->contains("actions"))
                continue;
            LessonValue longer = *pipeline;
            longer["stages"] = stages->get<int>() + 1;
            Cases names(&m_asked.names());
            names.put(name, CaseSubject(std::move(longer)));
            tryValue("that of a stage more, p for p - 1", m_asked.question().answer, names);
        }
    }

    std::vector<Confusion> take() { return std::move(m_found); }

private:
    /// A number of another job is no idea about one that is drawn: that it lies near is chance.
    bool isOfThisAsking(const std::set<std::string>& names) const
    {
        const DrawnNumbers& drawn = m_asked.numbers();
        return drawn.empty() ||
               std::any_of(drawn.begin(), drawn.end(), [&](const auto& number) { return names.contains(number.first); }) ||
               std::any_of(m_own.begin(), m_own.end(), [&](const std::string& own) { return names.contains(own); });
    }
    void tryValue(const std::string& what, const std::string& expression, const Names& names)
    {
        constexpr double kSame = 1e-3; // by another way to the same number
        try {
            LessonValue value = Expression::parse(expression).evaluate(names);
            if (!value.is_number() || !m_right.is_number())
                return;
            const double is = value.get<double>(), right = m_right.get<double>();
            if (std::abs(is - right) > kSame * std::abs(right) && m_asked.isRight(value))
                m_found.push_back({what, std::move(value)});
        } catch (const Error&) { // numbers that only the other question draws; a pipeline that there cannot be
        }
    }

    const AskedQuestion& m_asked;
    LessonValue m_right;
    std::set<std::string> m_own;
    std::vector<Confusion> m_found;
};

} // namespace

std::vector<Confusion> confusionsWith(const AskedQuestion& asked, const Lesson& lesson)
{
    const Question& question = asked.question();
    if (!isOneNumber(question))
        return {};
    ConfusionSearch search(asked);
    const auto tryOf = [&](const Question& other) {
        if (other.pointer != question.pointer && isOneNumber(other) && other.unit == question.unit)
            search.tryMistakesOf(other);
    };
    for (const Question* other : lesson.questions())
        tryOf(*other);
    std::for_each(lesson.remember.begin(), lesson.remember.end(), tryOf);
    search.tryOtherWhole();
    search.tryStageMore();
    return search.take();
}

} // namespace sim
