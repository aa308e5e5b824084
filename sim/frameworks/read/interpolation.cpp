#include "sim/frameworks/read/setting.h"

#include "sim/text/characters.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace sim::frameworks {
namespace {

/// What stands for a variable of the environment that nobody sets: "2" of "${NAME:2}", as Primus has them, and of
/// "${oc.env:NAME,2}".
std::optional<std::string> defaultOfVariable(std::string_view expression)
{
    constexpr std::string_view kOwn = "oc.env:";
    const std::size_t at = expression.find(expression.starts_with(kOwn) ? ',' : ':');
    if (at == std::string_view::npos)
        return std::nullopt;
    const std::string_view name = expression.substr(0, at);
    const bool isVariable =
        std::all_of(name.begin(), name.end(), [](char c) { return isDigit(c) || c == '_' || (c >= 'A' && c <= 'Z'); });
    std::string_view value = expression.substr(at + 1);
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    if (name.empty() || value.empty() || (!isVariable && !expression.starts_with(kOwn)))
        return std::nullopt;
    if (value.size() > 1 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front())
        value = value.substr(1, value.size() - 2);
    return std::string(value);
}

/// OmegaConf: "${a.b}" from the root, "${.x}" a sibling, "${..x}" of the table above; NeMo adds multiply, divide, sum.
class OmegaConf {
public:
    explicit OmegaConf(const Settings& settings)
    {
        for (const Setting& setting : settings)
            m_values[setting.name] = &setting.value;
    }

    Json resolved(const Json& value, const std::string& name, int depth = 0)
    {
        if (!value.is_string() || depth > 16 || ++m_steps > 100000)
            return value;
        const std::string text = value.get<std::string>();
        const std::size_t at = text.find("${");
        if (at == std::string::npos)
            return value;
        const std::size_t end = closing(text, at);
        if (end == std::string::npos || text.size() > 4096)
            return value;
        const Json inner = evaluated(text.substr(at + 2, end - at - 2), name, depth);
        if (inner.is_discarded())
            return value;
        if (at == 0 && end + 1 == text.size())
            return inner;
        return resolved(text.substr(0, at) + shownValue(inner) + text.substr(end + 1), name, depth + 1);
    }

private:
    static std::size_t closing(const std::string& text, std::size_t at)
    {
        int open = 0;
        for (std::size_t i = at; i < text.size(); ++i) {
            if (text.compare(i, 2, "${") == 0)
                ++open;
            if (text[i] == '}' && --open == 0)
                return i;
        }
        return std::string::npos;
    }

    Json evaluated(const std::string& expression, const std::string& name, int depth)
    {
        const std::size_t colon = expression.find(':');
        if (colon == std::string::npos) {
            std::string path = expression;
            if (path.starts_with('.')) {
                std::string table = name;
                while (path.starts_with('.')) {
                    const std::size_t dot = table.rfind('.');
                    table = dot == std::string::npos ? "" : table.substr(0, dot);
                    path.erase(0, 1);
                }
                path = table.empty() ? path : table + "." + path;
            }
            const auto found = m_values.find(path);
            return found == m_values.end() ? Json(Json::value_t::discarded) : resolved(*found->second, path, depth + 1);
        }
        if (const std::optional<std::string> fallback = defaultOfVariable(expression)) {
            const Json value = resolved(*fallback, name, depth + 1);
            return value.is_string() ? valueOf(value.get<std::string>()) : value;
        }
        const std::string function = expression.substr(0, colon);
        double result = function == "multiply" ? 1 : 0;
        bool isFirst = true;
        std::size_t start = colon + 1;
        int braces = 0;
        for (std::size_t i = start; i <= expression.size(); ++i) {
            if (i < expression.size() && (expression[i] == '{' || expression[i] == '}'))
                braces += expression[i] == '{' ? 1 : -1;
            if (i < expression.size() && (expression[i] != ',' || braces > 0))
                continue;
            std::string word = expression.substr(start, i - start);
            word.erase(0, word.find_first_not_of(' '));
            word.erase(word.find_last_not_of(' ') + 1);
            start = i + 1;
            Json part = resolved(word, name, depth + 1);
            if (part.is_string())
                part = valueOf(part.get<std::string>());
            if (!part.is_number())
                return Json(Json::value_t::discarded);
            const double number = part.get<double>();
            if (function == "multiply")
                result *= number;
            else if (function == "sum" || function == "add")
                result += number;
            else if ((function == "divide" || function == "int_div" || function == "divide_ceil" || function == "divide_floor") &&
                     (isFirst || number != 0))
                result = isFirst ? number : result / number;
            else
                return Json(Json::value_t::discarded);
            isFirst = false;
        }
        if (function == "divide_ceil")
            result = std::ceil(result);
        else if (function == "int_div" || function == "divide_floor")
            result = std::floor(result);
        return sim::number(result);
    }

    std::map<std::string, const Json*> m_values;
    int m_steps = 0;
};

} // namespace

void resolveInterpolations(Settings& settings)
{
    OmegaConf config(settings);
    std::vector<Json> values;
    values.reserve(settings.size());
    for (const Setting& setting : settings)
        values.push_back(config.resolved(setting.value, setting.name));
    for (std::size_t i = 0; i < settings.size(); ++i)
        settings[i].value = std::move(values[i]);
}

} // namespace sim::frameworks
