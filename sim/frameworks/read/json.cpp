#include "sim/error.h"
#include "sim/frameworks/read/setting.h"
#include "sim/text/characters.h"
#include "sim/text/quoted.h"

#include <iterator>

namespace sim::frameworks {
namespace {

/// Counts lines as nlohmann's parser reads, which tells no places of its own.
class CountingIterator {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    CountingIterator(const char* at, int* line) : m_at(at), m_line(line) {}
    reference operator*() const { return *m_at; }
    CountingIterator& operator++()
    {
        if (m_line != nullptr && *m_at == '\n')
            ++*m_line;
        ++m_at;
        return *this;
    }
    CountingIterator operator++(int)
    {
        CountingIterator before = *this;
        ++*this;
        return before;
    }
    bool operator==(const CountingIterator& other) const { return m_at == other.m_at; }

private:
    const char* m_at;
    int* m_line;
};

/// Makes the tree of what nlohmann's parser tells; keys may come twice.
class JsonTree : public nlohmann::json_sax<Json> {
public:
    JsonTree(std::string file, const int& line) : m_file(std::move(file)), m_line(line) {}
    Tree root{};

    bool null() override { return put({.value = nullptr}); }
    bool boolean(bool value) override { return put({.value = value}); }
    bool number_integer(number_integer_t value) override { return put({.value = value}); }
    bool number_unsigned(number_unsigned_t value) override { return put({.value = value}); }
    bool number_float(number_float_t value, const string_t&) override { return put({.value = value}); }
    bool string(string_t& value) override { return put({.value = value}); }
    bool binary(binary_t&) override { return false; }
    bool start_object(std::size_t) override { return start(Tree::Kind::map); }
    bool end_object() override { return finish(); }
    bool start_array(std::size_t) override { return start(Tree::Kind::list); }
    bool end_array() override { return finish(); }
    bool key(string_t& value) override
    {
        m_keys.back() = {value, m_line};
        return true;
    }
    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override
    {
        const std::string_view what = error.what();
        const std::size_t syntax = what.find("syntax error"), bracket = what.find("] ");
        const std::size_t at = syntax != std::string_view::npos    ? syntax
                               : bracket == std::string_view::npos ? bracket
                                                                   : bracket + 2;
        const std::size_t column = what.find(", column ");
        const std::size_t colon = column == std::string_view::npos ? column : what.find(':', column);
        failAt(m_file, m_line,
               "is no JSON: " + shownText(at == std::string_view::npos ? what : what.substr(at), 200) +
                   (colon == std::string_view::npos ? "" : ", at" + std::string(what.substr(column + 1, colon - column - 1))));
    }

private:
    bool put(Tree tree)
    {
        if (++m_count > 4 * kMostSettings)
            failAt(m_file, m_line, "has more than " + std::to_string(4 * kMostSettings) + " values");
        if (m_open.empty()) {
            root = std::move(tree);
            return true;
        }
        Tree& parent = m_open.back();
        if (parent.kind == Tree::Kind::map) {
            tree.line = m_keys.back().second;
            parent.members.emplace_back(m_keys.back().first, std::move(tree));
        } else {
            if (tree.line == 0)
                tree.line = m_line;
            parent.items.push_back(std::move(tree));
        }
        return true;
    }
    bool start(Tree::Kind kind)
    {
        if (static_cast<int>(m_open.size()) >= kMostLevels)
            failAt(m_file, m_line, "is nested more than " + std::to_string(kMostLevels) + " levels deep");
        m_open.push_back({.kind = kind, .line = m_line});
        m_keys.emplace_back("", m_line);
        return true;
    }
    bool finish()
    {
        Tree tree = std::move(m_open.back());
        m_open.pop_back();
        m_keys.pop_back();
        return put(std::move(tree));
    }

    std::string m_file;
    const int& m_line;
    std::vector<Tree> m_open;
    std::vector<std::pair<std::string, int>> m_keys;
    std::size_t m_count = 0;
};

} // namespace

std::string withQuotedVariables(const std::string& json)
{
    std::string out;
    bool isString = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (c == '"' && (i == 0 || json[i - 1] != '\\'))
            isString = !isString;
        if (isString || c != '$') {
            out += c;
            continue;
        }
        out += '"';
        int open = 0;
        for (; i < json.size() && json[i] != '"' && json[i] != '\n' && json[i] != '\\'; ++i) {
            const char at = json[i];
            if (open == 0 && (at == ',' || at == ']' || at == '}' || at == ' '))
                break;
            open += at == '{' || at == '(' ? 1 : at == '}' || at == ')' ? -1 : 0;
            out += at;
        }
        out += '"';
        --i;
    }
    return out;
}

namespace {

/// JSON with bare words where values stand, as templates have them, as what is decided outside: {"train_batch_size": CONFIG_GBS}.
/// Empty where there are none.
std::string withQuotedWords(const std::string& json)
{
    std::string out;
    bool isString = false, hasWords = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (c == '"' && (i == 0 || json[i - 1] != '\\'))
            isString = !isString;
        if (isString || !startsName(c)) {
            out += c;
            continue;
        }
        const std::size_t start = i;
        while (i < json.size() && (startsName(json[i]) || isDigit(json[i])))
            ++i;
        const std::string word = json.substr(start, i-- - start);
        const bool isValue = word == "true" || word == "false" || word == "null" || (start > 0 && isDigit(json[start - 1]));
        const bool isKey = json.compare(std::min(json.find_first_not_of(" \t\n\r", i + 1), json.size()), 1, ":") == 0;
        if (isKey || word == "NaN" || word == "Infinity") // no value of a template: JSON's own error says where it is
            return {};
        hasWords = hasWords || !isValue;
        out += isValue           ? word
               : word == "True"  ? "true" // as Python writes them
               : word == "False" ? "false"
               : word == "None"  ? "null"
                                 : "\"${" + word + "}\"";
    }
    return hasWords ? out : std::string();
}

Tree treeOfJson(const std::string& file, const std::string& text, int firstLine)
{
    int line = firstLine;
    JsonTree events(file, line);
    Json::sax_parse(CountingIterator(text.data(), &line), CountingIterator(text.data() + text.size(), nullptr), &events,
                    nlohmann::detail::input_format_t::json, true, true);
    return std::move(events.root);
}

} // namespace

Sheet readJson(const std::string& file, const std::string& text, int firstLine)
{
    Sheet sheet;
    try {
        flatten(treeOfJson(file, text, firstLine), file, sheet.settings);
    } catch (const Error&) {
        const std::string words = withQuotedWords(text);
        Tree tree;
        try {
            tree = words.empty() ? Tree{} : treeOfJson(file, words, firstLine);
        } catch (const Error&) { // it is the text as it is that has to be mended
        }
        if (tree.kind != Tree::Kind::map)
            throw;
        flatten(tree, file, sheet.settings);
    }
    return sheet;
}

} // namespace sim::frameworks
