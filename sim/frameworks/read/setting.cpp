#include "sim/frameworks/read/setting.h"

#include "sim/error.h"
#include "sim/text/characters.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

namespace sim::frameworks {

void fillIn(Settings& settings, const std::map<std::string, std::string, std::less<>>& variables)
{
    for (Setting& setting : settings) {
        if (!setting.value.is_string())
            continue;
        const std::string text = setting.value.get<std::string>();
        if (!text.starts_with("${") || !text.ends_with('}'))
            continue;
        if (const auto found = variables.find(text.substr(2, text.size() - 3)); found != variables.end())
            setting.value = valueOf(found->second);
    }
}

void failAt(const std::string& file, int line, const std::string& message)
{
    throw Error(file + (line > 0 ? ":" + std::to_string(line) : "") + ": " + message);
}

std::string cleanText(const std::string& file, std::string text)
{
    if (text.size() > kMostBytes)
        failAt(file, 0,
               "is " + std::to_string(text.size()) + " bytes; settings are read from files of at most " +
                   std::to_string(kMostBytes) + " bytes");
    if (text.starts_with("\xEF\xBB\xBF"))
        text.erase(0, 3);
    std::string out;
    out.reserve(text.size());
    int line = 1;
    std::size_t lineStart = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '\0')
            failAt(file, line, "has a zero byte: this is no text");
        if (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n')
            continue;
        out += c == '\r' ? '\n' : c;
        if (out.back() == '\n') {
            ++line;
            lineStart = out.size();
        } else if (out.size() - lineStart > kMostOfLine) {
            failAt(file, line, "has more than " + std::to_string(kMostOfLine) + " bytes in one line");
        }
    }
    return validUtf8(out);
}

namespace {

std::string withoutUnderscores(std::string_view text)
{
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] != '_' || i == 0 || i + 1 == text.size() || !isDigit(text[i - 1]) || !isDigit(text[i + 1]))
            out += text[i];
    return out;
}

} // namespace

bool matchesPattern(std::string_view text, std::string_view pattern)
{
    std::size_t at = 0, p = 0, star = std::string_view::npos, from = 0;
    while (at < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            from = at;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[at])) {
            ++p;
            ++at;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            at = ++from;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*')
        ++p;
    return p == pattern.size();
}

Json valueOf(const std::string& text)
{
    if (text == "True" || text == "true")
        return true;
    if (text == "False" || text == "false")
        return false;
    if (text == "None" || text == "null" || text == "~" || text.empty())
        return nullptr;
    if (text.size() > 40 || !(isDigit(text[0]) || text[0] == '-' || text[0] == '+' || text[0] == '.'))
        return text;
    std::string digits = withoutUnderscores(text);
    if (digits[0] == '+')
        digits.erase(0, 1);
    const char* const end = digits.data() + digits.size();
    std::int64_t whole = 0;
    if (const auto [at, error] = std::from_chars(digits.data(), end, whole); error == std::errc() && at == end)
        return whole;
    double number = 0;
    if (const auto [at, error] = std::from_chars(digits.data(), end, number);
        error == std::errc() && at == end && std::isfinite(number))
        return number;
    return text;
}

std::string shownValue(const Json& value)
{
    if (value.is_string())
        return value.get<std::string>();
    if (value.is_array()) {
        std::string text;
        for (const Json& item : value)
            text += (text.empty() ? "" : " ") + shownValue(item);
        return text;
    }
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::string> wordsOfList(const Json& value)
{
    std::vector<std::string> words;
    std::string word;
    const auto end = [&] {
        if (!word.empty())
            words.push_back(std::exchange(word, {}));
    };
    for (const char c : shownValue(value)) {
        if (c == ' ' || c == ',' || c == '\n' || c == '\t' || c == '[' || c == ']' || c == '\'' || c == '"')
            end();
        else
            word += c;
    }
    end();
    return words;
}

namespace {

void flattenInto(const Tree& tree, const std::string& path, const std::string& file, Settings& out)
{
    if (out.size() > kMostSettings)
        failAt(file, tree.line, "has more than " + std::to_string(kMostSettings) + " settings");
    const auto below = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
    if (tree.kind == Tree::Kind::map) {
        for (const auto& [key, member] : tree.members)
            flattenInto(member, below(key), file, out);
        if (!tree.members.empty() || path.empty())
            return;
        out.push_back({path, nullptr, tree.line, path, file});
        return;
    }
    if (tree.kind == Tree::Kind::list) {
        const bool allScalars =
            std::all_of(tree.items.begin(), tree.items.end(), [](const Tree& item) { return item.kind == Tree::Kind::scalar; });
        if (!allScalars) {
            for (std::size_t i = 0; i < tree.items.size(); ++i)
                flattenInto(tree.items[i], path + "[" + std::to_string(i) + "]", file, out);
            return;
        }
        Json list = Json::array();
        for (const Tree& item : tree.items)
            list.push_back(item.value);
        out.push_back({path, std::move(list), tree.line, path, file});
        return;
    }
    out.push_back({path, tree.value, tree.line, path, file});
}

} // namespace

void flatten(const Tree& tree, const std::string& file, Settings& out)
{
    flattenInto(tree, "", file, out);
}

void joinReferences(Settings& settings)
{
    struct Reference {
        std::size_t target = 0;
        bool hasTarget = false, isReference = false, hasMembers = false;
        std::optional<int> number{};
    };
    constexpr std::string_view kTarget = "_target_";
    std::map<std::string, Reference> all;
    for (std::size_t i = 0; i < settings.size(); ++i) {
        const std::string& name = settings[i].name;
        const std::size_t dot = name.rfind('.');
        if (dot == std::string::npos)
            continue;
        Reference& one = all[name.substr(0, dot)];
        const std::string member = name.substr(dot + 1);
        const Json& value = settings[i].value;
        if (member == kTarget) {
            one.hasTarget = true;
            one.target = i;
        } else if (member == "_call_" || member == "_partial_") {
            one.isReference = one.isReference || value == Json(member == "_partial_");
        } else if (member == "_args_") {
            if (value.is_array() && value.size() == 1)
                one.number = wholeNumber<int>(value.front());
        } else {
            one.hasMembers = true;
        }
    }
    // megatron/core/transformer/enums.py
    static constexpr std::array<std::string_view, 6> kBackends = {"", "flash", "fused", "unfused", "local", "auto"};
    for (const auto& [name, one] : all) {
        if (!one.hasTarget || one.hasMembers)
            continue;
        const std::string target = shownValue(settings[one.target].value);
        const std::string last = target.substr(target.rfind('.') + 1);
        const bool isBackend = last == "AttnBackend" && one.number && *one.number > 0 && *one.number < 6;
        if (!isBackend && !one.isReference)
            continue;
        settings[one.target].name = settings[one.target].spelled = name;
        settings[one.target].value = isBackend ? last + "." + std::string(kBackends[static_cast<std::size_t>(*one.number)])
                                     : target.starts_with("torch.") && target.rfind('.') == 5 ? target
                                                                                              : last;
        settings[one.target].shown = target;
    }
}

bool looksLikeArgumentDump(std::string_view text)
{
    int found = 0;
    for (std::size_t at = text.find(" ...."); at != std::string_view::npos && found < 3; at = text.find(" ....", at + 5))
        ++found;
    return found >= 3;
}

Sheet readArgumentDump(const std::string& file, const std::string& text)
{
    Sheet sheet;
    int line = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view row(text.data() + at, end - at);
        at = end + 1;
        ++line;
        const std::size_t dots = row.find(" ..");
        if (dots == std::string_view::npos)
            continue;
        const std::size_t value = row.find_first_not_of('.', dots + 1);
        if (value == std::string_view::npos || row[value] != ' ')
            continue;
        const std::string_view before = row.substr(0, dots); // a log may put "[rank 0]: " in front
        const std::size_t space = before.find_last_of(" :\t");
        const std::string name(space == std::string_view::npos ? before : before.substr(space + 1));
        if (name.empty() || !startsName(name[0]))
            continue;
        std::string shown(row.substr(value + 1));
        while (!shown.empty() && shown.back() == ' ')
            shown.pop_back();
        if (sheet.settings.size() > kMostSettings)
            failAt(file, line, "has more than " + std::to_string(kMostSettings) + " settings");
        sheet.settings.push_back({name, valueOf(shown), line, name, file});
    }
    return sheet;
}

} // namespace sim::frameworks
