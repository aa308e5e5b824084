#include "sim/lesson/holds.h"

#include "sim/text/quoted.h"

#include "sim/lesson/cases.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <utility>

namespace sim {
namespace {

constexpr std::size_t kMostHolds = 256;

/// [begin, end) of the description.
struct Excerpt {
    std::size_t begin = 0, end = 0;
    bool covers(std::size_t from, std::size_t to) const { return begin <= from && to <= end; }
    bool touches(const Excerpt& other) const { return begin < other.end && other.begin < end; }
};

/// A number as a message tells it beside what is written: "0.0927 (9.27 %)" would say too much; six digits do.
std::string told(double value)
{
    return shownValue(LessonValue(value));
}

LessonValue parsed(const ScenarioDocument& document, std::string_view pointer)
{
    const auto text = document.get(pointer);
    return text ? LessonValue::parse(*text) : LessonValue();
}

class HoldsCheck {
public:
    HoldsCheck(const ScenarioDocument& document, const Catalogue& catalogue) : m_document(document), m_cases(document, catalogue)
    {
        const LessonValue cases = parsed(document, "/cases");
        if (!cases.is_null() && !cases.is_object())
            throw ScenarioError({{document.fileName(), "/cases", "cases by name are expected"}});
        for (const auto& [name, given] : cases.items())
            m_cases.add({name, "/cases/" + name, given});
        if (const LessonValue description = parsed(document, "/description"); description.is_string())
            m_description = description.get<std::string>();
    }

    std::vector<Problem> run()
    {
        const LessonValue holds = parsed(m_document, "/holds");
        if (!holds.is_null() && (!holds.is_array() || holds.size() > kMostHolds))
            report("/holds", "a list of up to " + std::to_string(kMostHolds) + " expressions and objects is expected");
        else
            for (std::size_t i = 0; i < holds.size(); ++i)
                check("/holds/" + std::to_string(i), holds[i]);
        for (const std::string& name : m_cases.unused())
            report("/cases/" + name, "no expression uses this case");
        lookForUnproven();
        return std::move(m_problems);
    }

private:
    void report(const std::string& pointer, std::string message)
    {
        m_problems.push_back({m_document.fileName(), pointer, std::move(message)});
    }

    void check(const std::string& pointer, const LessonValue& hold)
    {
        if (hold.is_string())
            return mustHold(pointer, hold.get<std::string>());
        const auto textOf = [&](const char* key) {
            const auto found = hold.is_object() ? hold.find(key) : hold.end();
            return found != hold.end() && found->is_string() ? std::optional(found->get<std::string>()) : std::nullopt;
        };
        const auto says = textOf("says"), holds = textOf("holds"), quotes = textOf("quotes");
        const bool is = hold.is_object() && hold.contains("is");
        if (!says || static_cast<int>(holds.has_value()) + static_cast<int>(quotes.has_value()) + static_cast<int>(is) != 1 ||
            hold.size() != 2)
            return report(pointer, R"(an expression, or an object with "says" and one of "holds", "is", "quotes" is expected)");
        if (!notePlace(pointer, *says))
            return;
        if (holds)
            mustHold(pointer, *holds);
        else if (is)
            mustBe(pointer, *says, hold.at("is"));
        else if (quotes->empty() || !m_document.get("/source"))
            report(pointer, "say where the source has this number, and name the source");
    }

    bool notePlace(const std::string& pointer, const std::string& says)
    {
        const std::size_t at = m_description.find(says);
        const bool found = !says.empty() && at != std::string::npos;
        if (!found)
            report(pointer, "the description does not say \"" + says + "\"");
        else if (m_description.find(says, at + 1) != std::string::npos)
            report(pointer, "the description says \"" + says + "\" more than once; quote more of it");
        else
            m_proven.push_back({at, at + says.size()});
        return found;
    }

    std::optional<LessonValue> valueOf(const std::string& pointer, const std::string& text)
    {
        try {
            return Expression::parse(text).evaluate(m_cases);
        } catch (const Error& error) {
            report(pointer, shownText(text) + ": " + error.what());
            return std::nullopt;
        }
    }

    void mustHold(const std::string& pointer, const std::string& text)
    {
        if (auto why = whyNot(text, m_cases))
            report(pointer, std::move(*why));
    }

    /// The numbers in the words, in their order, are the values of the expressions.
    void mustBe(const std::string& pointer, const std::string& says, const LessonValue& given)
    {
        const LessonValue expressions = given.is_array() ? given : LessonValue::array({given});
        const auto numbers = writtenNumbers(says);
        if (numbers.size() != expressions.size())
            return report(pointer, "\"" + says + "\" has " + std::to_string(numbers.size()) + " numbers and \"is\" " +
                                       std::to_string(expressions.size()) + " expressions");
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            if (!expressions[i].is_string()) {
                report(pointer + "/is", "an expression or a list of them is expected");
                continue;
            }
            const auto text = expressions[i].get<std::string>();
            const auto value = valueOf(pointer, text);
            if (!value)
                continue;
            constexpr double kRounding = 1e-9;
            const WrittenNumber& written = numbers[i];
            if (!value->is_number() || std::abs(value->get<double>() - written.value) >
                                           written.tolerance + kRounding * std::max(1.0, std::abs(written.value)))
                report(pointer,
                       "\"" + says + "\": " + shownText(text) + " is " + shownValue(*value) + ", not " + told(written.value));
        }
    }

    bool isProven(std::size_t from, std::size_t to) const
    {
        return std::any_of(m_proven.begin(), m_proven.end(), [&](const Excerpt& e) { return e.covers(from, to); });
    }

    void lookForUnproven()
    {
        for (const WrittenNumber& number : writtenNumbers(m_description))
            if (!isProven(number.begin, number.end))
                report("/description", "no hold proves \"" + around(number.begin, number.end) + "\"");
        for (const Excerpt& sentence : sentences())
            if (saysTry(sentence) &&
                std::none_of(m_proven.begin(), m_proven.end(), [&](const Excerpt& excerpt) { return excerpt.touches(sentence); }))
                report("/description",
                       "no hold proves \"" + m_description.substr(sentence.begin, sentence.end - sentence.begin) + "\"");
    }

    /// Some words to each side.
    std::string around(std::size_t begin, std::size_t end) const
    {
        constexpr std::size_t kReach = 24;
        std::size_t from = begin > kReach ? begin - kReach : 0, to = std::min(end + kReach, m_description.size());
        while (from > 0 && m_description[from] != ' ')
            --from;
        while (to < m_description.size() && m_description[to] != ' ')
            ++to;
        return m_description.substr(from, to - from);
    }

    /// Up to ". ", "? ", ": " or the end.
    std::vector<Excerpt> sentences() const
    {
        std::vector<Excerpt> out;
        for (std::size_t begin = 0; begin < m_description.size();) {
            std::size_t end = begin;
            while (end < m_description.size() &&
                   !((m_description[end] == '.' || m_description[end] == '?' || m_description[end] == '\n') &&
                     (end + 1 == m_description.size() || m_description[end + 1] == ' ' || m_description[end] == '\n')))
                ++end;
            out.push_back({begin, end});
            begin = end + 1;
        }
        return out;
    }
    bool saysTry(const Excerpt& sentence) const
    {
        const auto isLetter = [&](std::size_t at) {
            return at < m_description.size() && std::isalpha(static_cast<unsigned char>(m_description[at])) != 0;
        };
        for (std::size_t at = sentence.begin; at + 3 <= sentence.end; ++at)
            if ((m_description.compare(at, 3, "try") == 0 || m_description.compare(at, 3, "Try") == 0) && !isLetter(at + 3) &&
                (at == 0 || !isLetter(at - 1)))
                return true;
        return false;
    }

    const ScenarioDocument& m_document;
    Cases m_cases;
    std::string m_description;
    std::vector<Excerpt> m_proven;
    std::vector<Problem> m_problems;
};

} // namespace

std::vector<Problem> checkHolds(const ScenarioDocument& document, const Catalogue& catalogue)
{
    try {
        return HoldsCheck(document, catalogue).run();
    } catch (const ScenarioError& error) {
        return error.problems();
    }
}

} // namespace sim
