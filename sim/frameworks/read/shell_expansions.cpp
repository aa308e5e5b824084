// What stands for something else in words of a script: $NAME, ${NAME…}, $((…)).
#include "sim/frameworks/read/shell_words.h"
#include "sim/text/characters.h"

#include <algorithm>
#include <cctype>
#include <span>
#include <string_view>
#include <utility>

namespace sim::frameworks {
namespace {

/// What the script does not decide is one word, whatever blanks its text has: "$(wc -l < hosts)".
std::string withoutBlanks(const std::string& text)
{
    std::string out;
    for (const char c : text)
        out += isShellBlank(c) || c == '\n' || c == kContinuation ? std::string("\xC2\xA0") : std::string(1, c); // no-break space
    return out;
}

/// Where the "))" begins that closes the "((" at `from`; none where it closes as two commands do, or not at all.
std::size_t endOfArithmetic(const std::string& text, std::size_t from)
{
    int open = 0;
    for (std::size_t at = from; at < text.size(); ++at) {
        open += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
        if (open == 0)
            return text[at - 1] == ')' ? at - 1 : std::string::npos;
    }
    return std::string::npos;
}

/// Length of the shortest or the longest beginning of a text that a pattern with * and ? matches; nothing where none does. Takes
/// text x pattern steps.
std::optional<std::size_t> matchedBeginning(std::string_view text, std::string_view pattern, bool isLongest)
{
    std::vector<bool> matches(pattern.size() + 1, false); // [j]: the pattern's first j letters match the text so far
    matches[0] = true;
    std::optional<std::size_t> found;
    for (std::size_t length = 0;; ++length) {
        for (std::size_t j = 0; j < pattern.size(); ++j)
            matches[j + 1] = matches[j + 1] || (matches[j] && pattern[j] == '*');
        if (matches.back())
            found = length;
        if (length == text.size() || (found && !isLongest))
            return found;
        for (std::size_t j = pattern.size(); j > 0; --j)
            matches[j] = (matches[j - 1] && (pattern[j - 1] == '?' || pattern[j - 1] == text[length])) ||
                         (matches[j] && j < pattern.size() && pattern[j] == '*');
        matches[0] = !pattern.empty() && pattern[0] == '*';
    }
}

/// "a{%,%%}pattern", "a{#,##}pattern", "a^^", "a,,", "a/from/to": what of the text is left, or becomes of it.
std::optional<std::string> changedText(const std::string& text, const std::string& change)
{
    constexpr std::size_t kLongestText = 2000, kLongestChange = 100;
    if (text.size() > kLongestText || change.empty() || change.size() > kLongestChange || isUnsetText(change))
        return std::nullopt;
    const bool isTwice = change.size() > 1 && change[1] == change[0];
    std::string rest = change.substr(isTwice ? 2 : 1);
    if (rest.find_first_of("[(\\") != std::string::npos)
        return std::nullopt;
    if (rest.find_first_of("\"'") != std::string::npos) {
        if (rest.find_first_of("*?") != std::string::npos) // which of them are quoted
            return std::nullopt;
        std::erase_if(rest, [](char c) { return c == '"' || c == '\''; });
    }
    std::string out = text;
    switch (change[0]) {
    case '^':
    case ',':
        if (!isTwice || !rest.empty())
            return std::nullopt;
        for (char& c : out)
            c = static_cast<char>(change[0] == '^' ? std::toupper(static_cast<unsigned char>(c))
                                                   : std::tolower(static_cast<unsigned char>(c)));
        return out;
    case '#':
        return text.substr(matchedBeginning(text, rest, isTwice).value_or(0));
    case '%': {
        std::reverse(out.begin(), out.end());
        std::reverse(rest.begin(), rest.end());
        return text.substr(0, text.size() - matchedBeginning(out, rest, isTwice).value_or(0));
    }
    case '/': {
        const std::size_t slash = rest.find('/');
        const std::string from = rest.substr(0, slash), to = slash == std::string::npos ? "" : rest.substr(slash + 1);
        if (from.empty() || from.find_first_of("*?#%") != std::string::npos)
            return std::nullopt;
        out.clear();
        std::size_t at = 0;
        for (std::size_t hit = text.find(from); hit != std::string::npos;
             hit = isTwice ? text.find(from, at) : std::string::npos) {
            out += text.substr(at, hit - at) + to;
            at = hit + from.size();
        }
        return out + text.substr(at);
    }
    default:
        return std::nullopt;
    }
}

bool hasSmallLetter(const std::string& name)
{
    return std::any_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

} // namespace

int ShellWords::moreOpen(int a, int b) const
{
    if (a == b || a == 0 || b == 0)
        return std::max(a, b);
    const bool isOpenA = !isDecided(a), isOpenB = !isDecided(b);
    return isOpenA == isOpenB ? std::max(a, b) : isOpenA ? a : b; // of two that are decided the inner one, which came later
}

int ShellWords::branchOf(std::string_view written, bool isSum)
{
    spend(written.size());
    int branch = 0;
    for (std::size_t at = 0, end = 0; at < written.size(); at = std::max(end, at + 1)) {
        end = at;
        while (end < written.size() && (startsName(written[end]) || isDigit(written[end])))
            ++end;
        const std::string_view before = written.substr(0, at);
        const bool isName = isSum || before.ends_with('$') || before.ends_with("${") || before.ends_with("${#");
        const auto found = isName && end > at ? m_variables.find(written.substr(at, end - at)) : m_variables.end();
        if (found == m_variables.end())
            continue;
        spend(found->second.pieces.size() + found->second.elements.size());
        branch = moreOpen(branch, found->second.branch);
        for (const std::vector<ShellText>* const texts : {&found->second.pieces, &found->second.elements})
            for (const ShellText& one : *texts)
                branch = moreOpen(branch, one.branch);
    }
    return branch;
}

void ShellWords::assignSums(const ShellSum& sum, int line, int branch)
{
    if (skipping())
        return;
    for (const ShellCalculation& one : sum.assigned)
        assignText(one.name, {one.value ? std::to_string(*one.value) : "$((" + one.name + "))", line,
                              moreOpen(branch, branchOf(one.operands, true))});
}

bool ShellWords::areDecided(std::span<const ShellText> texts) const
{
    return std::all_of(texts.begin(), texts.end(),
                       [this](const ShellText& one) { return isDecided(one.branch) && !isUnsetText(one.text); });
}

void ShellWords::expansion(std::vector<Part>& out, bool isQuoted, int depth)
{
    const int line = m_line;
    const auto keep = [&](std::string text, int branch = 0) {
        spend(text.size());
        out.push_back({.texts = {{std::move(text), line, branch}}});
    };
    const auto output = [&](const std::string& command) {
        std::optional<ShellText> printed = printedBy(command, line, depth);
        if (!printed) {
            m_ranOther = true;
            keep(withoutBlanks("$(" + command.substr(0, 80) + ")"));
            return;
        }
        spend(printed->text.size());
        out.push_back({.texts = {std::move(*printed)}, .isSplit = !isQuoted});
    };
    if (peek() == '`') {
        next();
        const std::size_t start = m_at;
        while (!atEnd() && peek() != '`')
            next();
        const std::string command = m_text->substr(start, m_at - start);
        if (!atEnd())
            next();
        output(command);
        return;
    }
    next();
    if (const std::size_t end = peek() == '(' && peek(1) == '(' ? endOfArithmetic(*m_text, m_at) : std::string::npos;
        end != std::string::npos) {
        const std::string written = m_text->substr(m_at + 2, end - m_at - 2);
        const std::string expression = expandedText(written, line, depth + 1);
        m_line += static_cast<int>(std::count(m_text->begin() + static_cast<std::ptrdiff_t>(m_at),
                                              m_text->begin() + static_cast<std::ptrdiff_t>(end), '\n'));
        m_at = end + 2;
        const ShellSum sum = shellSum(expression, m_variables, spender());
        keep(sum.value ? std::to_string(*sum.value) : withoutBlanks("$((" + expression.substr(0, 80) + "))"),
             branchOf(written, true));
        assignSums(sum, line, branchOf(written));
        return;
    }
    if (peek() == '(') {
        const std::size_t start = m_at;
        int open = 0;
        do {
            const char c = next();
            open += c == '(' ? 1 : c == ')' ? -1 : 0;
        } while (!atEnd() && open > 0);
        output(m_text->substr(start + 1, m_at - start - (open == 0 ? 2 : 1)));
        return;
    }
    if (peek() == '{') {
        const std::size_t start = ++m_at;
        int open = 1;
        while (!atEnd() && open > 0) {
            const char c = next();
            open += c == '{' ? 1 : c == '}' ? -1 : 0;
        }
        braced(m_text->substr(start, m_at - start - (open == 0 ? 1 : 0)), line, out, isQuoted, depth);
        return;
    }
    if (peek() == '@' || peek() == '*' || peek() == '#') {
        const char which = next();
        const auto given = m_variables.find(kArguments); // to a function; to the script itself none are
        if (which == '#')
            keep(std::to_string(given == m_variables.end() ? 0 : given->second.elements.size()));
        else if (given != m_variables.end())
            variable(kArguments, {}, line, out, isQuoted, which == '@' ? Elements::words : Elements::joined);
        return;
    }
    std::string name;
    if (isDigit(peek()))
        name += next();
    else
        while (!atEnd() && (startsName(peek()) || isDigit(peek())))
            name += next();
    if (name.empty()) {
        keep("$");
        return;
    }
    variable(name, "${" + name + "}", line, out, isQuoted, Elements::first);
}

void ShellWords::variable(const std::string& name, const std::string& asWritten, int line, std::vector<Part>& out, bool isQuoted,
                          Elements which)
{
    const auto found = m_variables.find(name);
    if (found == m_variables.end()) {
        if (hasSmallLetter(name) && m_assignedElsewhere.contains(name)) // the environment's are in capitals
            return;
        spend(asWritten.size());
        out.push_back({.texts = {{asWritten, line}}});
        return;
    }
    const ShellVariable& value = found->second;
    Part part{.texts = {}, .isSplit = !isQuoted};
    if (value.isArray && which == Elements::first)
        part.texts.assign(value.elements.begin(), value.elements.begin() + (value.elements.empty() ? 0 : 1));
    else
        part.texts = value.isArray ? value.elements : value.pieces;
    if (value.isArray) {
        for (ShellText& element : part.texts)
            element.text.erase(0, keyOfElement(element.text).size());
        part.areWords = !isQuoted || which == Elements::words;
        if (which == Elements::joined && isQuoted)
            for (std::size_t i = 1; i < part.texts.size(); ++i)
                part.texts[i].text.insert(0, " ");
    }
    for (const ShellText& text : part.texts)
        spend(text.text.size());
    if (!part.texts.empty())
        out.push_back(std::move(part));
}

void ShellWords::braced(const std::string& inside, int line, std::vector<Part>& out, bool isQuoted, int depth)
{
    const bool isCount = inside.size() > 1 && inside[0] == '#'; // "${#LIST[@]}", "${#TEXT}"
    const std::size_t start = isCount ? 1 : 0;
    std::size_t length = start;
    while (length < inside.size() && (startsName(inside[length]) || isDigit(inside[length])))
        ++length;
    std::string name = inside.substr(start, length - start);
    Elements which = Elements::first;
    if (name.empty() && start < inside.size() && (inside[start] == '@' || inside[start] == '*')) { // "${@}", "${*}"
        name = kArguments;
        which = inside[start] == '@' ? Elements::words : Elements::joined;
        length = start + 1;
    }
    std::string rest = inside.substr(length);
    const std::string asWritten = "${" + inside.substr(0, 80) + "}";
    const auto keep = [&](std::string text, int branch = 0) {
        spend(text.size());
        out.push_back({.texts = {{std::move(text), line, branch}}});
    };
    const auto found = m_variables.find(name);
    if (found != m_variables.end()) // each of which is looked at
        spend(costOfLook(found->second));
    const bool isOfKeys = found != m_variables.end() && hasKeys(found->second);
    if (rest.starts_with("[@]") || rest.starts_with("[*]") || (rest.starts_with("[0]") && !isOfKeys)) {
        which = rest[1] == '@' ? Elements::words : rest[1] == '*' ? Elements::joined : which;
        rest.erase(0, 3);
    } else if (rest.starts_with('[') && rest.ends_with(']') && !isCount && depth <= 16) {
        const std::optional<ShellText> element =
            found == m_variables.end() ? std::nullopt : elementOf(found->second, rest.substr(1, rest.size() - 2), line, depth);
        keep(element ? element->text : asWritten, element ? element->branch : 0);
        return;
    }
    if (name.empty() || depth > 16) {
        keep(asWritten);
        return;
    }
    if (isCount) {
        const bool isList = which == Elements::words || which == Elements::joined;
        const ShellVariable* const value = found != m_variables.end() && rest.empty() ? &found->second : nullptr;
        const bool isKnown =
            value != nullptr && isDecided(value->branch) && areDecided(value->isArray ? value->elements : value->pieces);
        const std::string text = isKnown && !isList ? joined(*value) : std::string();
        spend(text.size());
        keep(!isKnown ? asWritten
                      : std::to_string(!isList          ? text.size()
                                       : value->isArray ? value->elements.size()
                                                        : 1),
             isKnown ? branchOf("${" + name) : 0);
        return;
    }
    const bool hasColon = rest.starts_with(':');
    const auto hasText = [&](const auto& is) {
        return std::any_of(found->second.pieces.begin(), found->second.pieces.end(),
                           [&](const ShellText& one) { return is(one.text); });
    };
    const bool isSet = found != m_variables.end() &&
                       (!hasColon || found->second.isArray || hasText([](const std::string& text) { return !text.empty(); }));
    const std::string op = rest.substr(hasColon ? 1 : 0, 1);
    const auto ofBranch = [&] { return branchOf("${" + inside); };
    if (rest.empty() || ((op == "-" || op == "=" || op == "?") && isSet)) {
        variable(name, asWritten, line, out, isQuoted, which);
    } else if (op == "-" || op == "=") {
        std::string fallback = expandedText(rest.substr(hasColon ? 2 : 1), line, depth + 1);
        if (fallback.size() >= 2 && (fallback[0] == '"' || fallback[0] == '\'') && fallback.back() == fallback[0])
            fallback = fallback.substr(1, fallback.size() - 2);
        ShellText text{std::move(fallback), line, branchOf(rest)};
        if (op == "=" && !skipping())
            assignText(name, text);
        spend(text.text.size());
        out.push_back({.texts = {std::move(text)}, .isSplit = !isQuoted});
    } else if (op == "+" && hasColon && isSet && hasText(isUnsetText)) { // it may be empty
        keep(asWritten);
    } else if (op == "+") {
        if (isSet)
            out.push_back({.texts = {{expandedText(rest.substr(hasColon ? 2 : 1), line, depth + 1), line, ofBranch()}},
                           .isSplit = !isQuoted});
    } else {
        const std::string text =
            found != m_variables.end() && which == Elements::first && !hasColon ? joined(found->second) : asWritten;
        spend(text.size());
        const std::optional<std::string> changed =
            isUnsetText(text) ? std::nullopt : changedText(text, expandedText(rest, line, depth + 1));
        keep(changed.value_or(asWritten), ofBranch());
    }
}

std::string ShellWords::keyText(const std::string& written, int line, int depth)
{
    std::string key = expandedText(written, line, depth);
    std::erase_if(key, [](char c) { return c == '"' || c == '\''; });
    return key;
}

std::optional<ShellText> ShellWords::elementOf(const ShellVariable& array, const std::string& index, int line, int depth)
{
    const std::string key = keyText(index, line, depth + 1), start = "[" + key + "]=";
    if (!array.isArray || isUnsetText(key))
        return std::nullopt;
    for (const ShellText& one : array.elements) // of ([8b]=4096 [70b]=8192)
        if (one.text.starts_with(start))
            return areDecided({&one, 1})
                       ? std::optional(ShellText{one.text.substr(start.size()), one.line, moreOpen(one.branch, branchOf(index))})
                       : std::nullopt;
    const std::optional<long long> number = shellArithmetic(key, m_variables, spender());
    const auto size = static_cast<long long>(array.elements.size());
    if (!number || *number >= size || *number < -size)
        return std::nullopt;
    const auto at = static_cast<std::size_t>(*number < 0 ? *number + size : *number);
    const std::span<const ShellText> all(array.elements);
    const bool isKnown = areDecided(*number < 0 ? all.subspan(at) : all.first(at + 1)); // as many words as there seem to be
    if (!isKnown || hasKeys(array))
        return std::nullopt;
    return ShellText{all[at].text, all[at].line, moreOpen(all[at].branch, branchOf(index, true))};
}

std::string ShellWords::expandedText(const std::string& text, int line, int depth)
{
    if (depth > 16)
        return text;
    spend(text.size());
    const std::string* const outerText = std::exchange(m_text, &text);
    const std::size_t outerAt = std::exchange(m_at, 0);
    const int outerLine = std::exchange(m_line, line);
    std::string out;
    while (!atEnd()) {
        if (peek() == '\\' && (peek(1) == '$' || peek(1) == '`' || peek(1) == '\\')) { // "\$X" of a here-document
            next();
            out += next();
        } else if (peek() == '$' || peek() == '`') {
            std::vector<Part> expanded;
            expansion(expanded, true, depth + 1);
            for (const Part& part : expanded)
                for (const ShellText& one : part.texts)
                    out += (part.areWords && !out.empty() ? " " : "") + one.text;
        } else {
            out += next();
        }
    }
    m_text = outerText;
    m_at = outerAt;
    m_line = outerLine;
    return out;
}

} // namespace sim::frameworks
