#include "sim/scenario/json_text.h"

#include "sim/scenario/document.h"
#include "sim/text/characters.h"
#include "sim/text/number_text.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>
#include <utility>

namespace sim {
namespace {

constexpr std::size_t kLineWidth = 120;

std::string jsonString(const std::string& text)
{
    return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// "line 3, column 14" of a byte offset.
std::string placeOf(std::string_view text, std::size_t offset)
{
    const bool isAtEnd = offset > text.size() || offset == 0;
    offset = std::min(offset, text.size());
    const std::string_view before = text.substr(0, isAtEnd ? offset : offset - 1); // a line break itself is of the line it ends
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t lineStart = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    return "line " + std::to_string(line) + ", column " + std::to_string(std::max<std::size_t>(offset - lineStart, 1));
}

/// The word, string or sign that a character belongs to, as the author wrote it.
std::string_view tokenAt(std::string_view text, std::size_t at)
{
    constexpr std::string_view kEnds = " \t\r\n,:[]{}\"";
    const auto isEnd = [&](std::size_t i) { return kEnds.find(text[i]) != std::string_view::npos; };
    if (text[at] == '"') // strings are read as a whole: this is the end of one
        for (std::size_t begin = at; begin > 0 && text[begin - 1] != '\n';)
            if (text[--begin] == '"' && (begin == 0 || text[begin - 1] != '\\'))
                return text.substr(begin, at + 1 - begin);
    if (isEnd(at))
        return text.substr(at, 1);
    std::size_t begin = at;
    while (begin > 0 && !isEnd(begin - 1))
        --begin;
    return text.substr(begin, std::min(text.find_first_of(kEnds, at), text.size()) - begin);
}

/// What is wrong at `position`, one past the character that could not be. The library says it in words of its own, which are for
/// its developers; which of them they are tells what happened.
std::string complaint(std::string_view text, std::size_t position, std::string ofLibrary)
{
    // Without what it read last, which is the author's.
    if (const std::size_t read = ofLibrary.find("; last read: '"); read != std::string::npos)
        ofLibrary.erase(read, ofLibrary.rfind('\'') - read);
    const auto says = [&ofLibrary](std::string_view words) { return ofLibrary.find(words) != std::string_view::npos; };
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
        return "there is nothing in it";
    for (const auto& [words, meaning] :
         {std::pair{"number overflow", "a number is too large to be one; the largest has 308 digits"},
          {"control character",
           "a string holds a line break or another control character; write it as \\n or \\u000a, or close the "
           "string with \""},
          {"ill-formed UTF-8", "a string is not UTF-8; save the file in that encoding"},
          {"surrogate", "a string has half of a character: \\ud800 to \\udbff and \\udc00 to \\udfff stand in pairs"},
          {"invalid string: missing closing quote", "a string has no closing \""}})
        if (says(words))
            return meaning;
    if (says("unexpected end of input") || position > text.size())
        return "the text ends in the middle of a value; a }, ] or \" is missing";
    const std::size_t at = position > 0 ? position - 1 : 0;
    constexpr std::size_t kMostRead = 20;
    if (says("invalid string")) // at the letter after the backslash
        return shownText(text.substr(at - std::min<std::size_t>(at, 1), 2), kMostRead) +
               " is no escape that JSON has; a backslash itself is written \\\\";
    // A number that breaks off does so at what comes after it.
    const std::string_view token = tokenAt(text, says("invalid number") && tokenAt(text, at).size() == 1 && at > 0 ? at - 1 : at);
    // Not in quotes, which are a part of the language here.
    const std::string found = shownText(token, kMostRead);
    const std::string_view digits = token.substr(token.starts_with('-') ? 1 : 0);
    if (says("invalid number") || (digits.size() > 1 && digits[0] == '0' && isDigit(digits[1])))
        return found + " is no way to write a number";
    for (const auto& [words, meaning] :
         {std::pair{"expected end of input", " stands after the end of the document"},
          {"parsing object key", " stands where a key in double quotes, or the end of the object, is expected"},
          {"parsing object separator", " stands where : is expected"},
          {"parsing object", " stands where , or } is expected"},
          {"parsing array", " stands where , or ] is expected"}})
        if (says(words))
            return found + meaning;
    return found + " stands where a value is expected" + (isLetter(token[0]) ? "; text needs double quotes" : "");
}

/// Reads the text and tells how far reading has come, which the parser's events do not.
struct Cursor {
    using iterator_category = std::forward_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    const char* at = nullptr;
    const char** reached = nullptr;

    const char& operator*() const { return *at; }
    Cursor& operator++()
    {
        *reached = ++at;
        return *this;
    }
    bool operator==(const Cursor& other) const { return at == other.at; }
};

/// Builds the tree from the parser's events, so that depth and doubled keys are seen before anything recurses.
class TreeBuilder final : public nlohmann::json_sax<Json> {
public:
    explicit TreeBuilder(std::string_view text) : m_text(text), m_reached(text.data()) {}

    Json root;
    std::string problem; ///< empty if all went well
    std::string pointer; ///< of the problem, where it has one

    Cursor begin() { return {m_text.data(), &m_reached}; }
    Cursor end() { return {m_text.data() + m_text.size(), &m_reached}; }

    bool null() override { return add(nullptr); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(number_integer_t value) override { return add(value); }
    bool number_unsigned(number_unsigned_t value) override { return add(value); }
    bool number_float(number_float_t value, const string_t&) override { return add(value); }
    bool string(string_t& value) override { return add(std::move(value)); }
    bool binary(binary_t&) override { return false; }
    bool start_object(std::size_t) override { return open(true); }
    bool start_array(std::size_t) override { return open(false); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t& key) override
    {
        Level& level = m_open.back();
        if (!level.isNew(key))
            return fail("key " + quotedText(key) + " is given twice", childPointer(openPointer(), key));
        level.keys.push_back(std::move(key));
        return true;
    }
    bool parse_error(std::size_t position, const std::string&, const Json::exception& error) override
    {
        problem = placeOf(m_text, position) + ": " + complaint(m_text, position, error.what());
        return false;
    }

private:
    /// What has been read of an object or a list that is still open. It becomes one when it ends: an object that grows copies
    /// all that is in it, as the library's keys cannot be moved.
    struct Level {
        bool isObject;
        std::vector<std::string> keys = {}; ///< of an object, of the member that comes next too
        std::vector<Json> values = {};
        std::unordered_set<std::string> manyKeys = {};

        bool isNew(const std::string& key)
        {
            constexpr std::size_t kFew = 16; // are compared sooner than they are hashed
            if (keys.size() < kFew)
                return std::find(keys.begin(), keys.end(), key) == keys.end();
            if (manyKeys.empty())
                manyKeys.insert(keys.begin(), keys.end());
            return manyKeys.insert(key).second;
        }
        Json json() &&
        {
            if (!isObject)
                return Json(std::move(values));
            Json::object_t members;
            members.reserve(values.size());
            for (std::size_t i = 0; i < values.size(); ++i) // each key is there once: without the library's search for it
                members.emplace_back(std::move(keys[i]), std::move(values[i]));
            return Json(std::move(members));
        }
    };

    bool fail(std::string message, std::string where)
    {
        problem = placeOf(m_text, static_cast<std::size_t>(m_reached - m_text.data())) + ": " + std::move(message);
        pointer = std::move(where);
        return false;
    }
    /// Of the innermost open object.
    std::string openPointer() const
    {
        std::string path;
        for (std::size_t i = 0; i + 1 < m_open.size(); ++i)
            path = childPointer(path, m_open[i].isObject ? m_open[i].keys.back() : std::to_string(m_open[i].values.size()));
        return path;
    }

    void place(Json value)
    {
        if (m_open.empty())
            root = std::move(value);
        else
            m_open.back().values.push_back(std::move(value));
    }
    bool count()
    {
        return ++m_values <= kMaxValues ||
               fail("it holds more than " + countedText(static_cast<std::int64_t>(kMaxValues), "value"), {});
    }
    bool add(Json value)
    {
        if (!count())
            return false;
        place(std::move(value));
        return true;
    }
    bool open(bool isObject)
    {
        if (m_open.size() >= kMaxDepth)
            return fail("it is nested more than " + std::to_string(kMaxDepth) + " levels deep", {});
        if (!count())
            return false;
        m_open.push_back({isObject});
        return true;
    }
    bool close()
    {
        Json value = std::move(m_open.back()).json();
        m_open.pop_back();
        place(std::move(value));
        return true;
    }

    std::string_view m_text;
    const char* m_reached;
    std::size_t m_values = 0;
    std::vector<Level> m_open;
};

bool isScalar(const Json& value)
{
    return !value.is_structured();
}

/// One line: scalars, lists of such lines, objects of scalars and short lists.
bool fitsOneLine(const Json& value, std::size_t column)
{
    if (value.is_object() && !std::all_of(value.begin(), value.end(), [](const Json& member) {
            return isScalar(member) || (member.is_array() && std::all_of(member.begin(), member.end(), isScalar));
        }))
        return false;
    return value.dump(-1, ' ', false, Json::error_handler_t::replace).size() + value.size() * 2 + column <= kLineWidth;
}

void writeInline(std::string& out, const Json& value)
{
    if (value.is_object()) {
        out += "{ ";
        std::string separator;
        for (const auto& [key, member] : value.items()) {
            out += separator + jsonString(key) + ": ";
            writeInline(out, member);
            separator = ", ";
        }
        out += value.empty() ? "}" : " }";
    } else if (value.is_array()) {
        out += "[";
        std::string separator;
        for (const Json& element : value) {
            out += separator;
            writeInline(out, element);
            separator = ", ";
        }
        out += "]";
    } else {
        out += value.dump(-1, ' ', false, Json::error_handler_t::replace);
    }
}

void write(std::string& out, const Json& value, std::size_t indent)
{
    if (isScalar(value) || value.empty() || (indent > 0 && fitsOneLine(value, indent))) {
        writeInline(out, value);
        return;
    }
    const std::string margin(indent + 2, ' ');
    if (value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& v) { return v.is_number(); })) {
        // Long lists of numbers (layers a stage, GPUs of ranks) are wrapped like text.
        out += "[\n" + margin;
        std::size_t column = margin.size();
        for (std::size_t i = 0; i < value.size(); ++i) {
            const std::string number = value[i].dump() + (i + 1 < value.size() ? "," : "");
            if (column > margin.size() && column + number.size() + 1 > kLineWidth) {
                out += "\n" + margin;
                column = margin.size();
            } else if (column > margin.size()) {
                out += ' ';
                ++column;
            }
            out += number;
            column += number.size();
        }
        out += "\n" + std::string(indent, ' ') + "]";
        return;
    }
    out += value.is_object() ? "{\n" : "[\n";
    std::size_t left = value.size();
    for (const auto& [key, member] : value.items()) {
        out += margin;
        if (value.is_object())
            out += jsonString(key) + ": ";
        write(out, member, indent + 2);
        out += --left > 0 ? ",\n" : "\n";
    }
    out += std::string(indent, ' ') + (value.is_object() ? "}" : "]");
}

} // namespace

Json parseStrict(std::string_view text, const std::string& file)
{
    if (text.size() > kMaxFileBytes)
        throw ScenarioError(
            {{file, "",
              countedText(static_cast<std::int64_t>(text.size()), "byte") + " are more than a scenario may have (" +
                  numberText(static_cast<double>(kMaxFileBytes), Unit::count) + ")"}});
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) // as PowerShell's > writes it
        throw ScenarioError({{file, "", placeOf(text, 1) + ": this is UTF-16; save it as UTF-8"}});
    if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) // ends the text for the parser
        throw ScenarioError({{file, "", placeOf(text, nul + 1) + ": JSON has no NUL byte"}});
    TreeBuilder builder(text);
    if (!Json::sax_parse(builder.begin(), builder.end(), &builder))
        throw ScenarioError({{file, builder.pointer, builder.problem}});
    return std::move(builder.root);
}

const Json* memberOf(const Json& object, std::string_view key)
{
    if (!object.is_object())
        return nullptr;
    // Past the library's iterators: a scenario is read by a thousand such questions, and a control asks for a thousand scenarios.
    const auto& members = object.get_ref<const Json::object_t&>();
    const auto found = std::find_if(members.begin(), members.end(), [key](const auto& member) { return member.first == key; });
    return found == members.end() ? nullptr : &found->second;
}

Json number(double value)
{
    constexpr double kExact = 1e15;
    if (std::trunc(value) == value && std::abs(value) < kExact)
        return static_cast<std::int64_t>(value);
    return value;
}

bool isUtf8(std::string_view text)
{
    try {
        static_cast<void>(Json(text).dump()); // refuses what is no UTF-8
        return true;
    } catch (const Json::exception&) {
        return false;
    }
}

std::string prettyText(const Json& value)
{
    std::string out;
    write(out, value, 0);
    return out + "\n";
}

std::vector<std::string> splitPointer(std::string_view pointer)
{
    const bool isJsonPointer = pointer.starts_with('/');
    const char separator = isJsonPointer ? '/' : '.';
    if (isJsonPointer)
        pointer.remove_prefix(1);
    std::vector<std::string> segments;
    for (std::size_t begin = 0; !pointer.empty() && begin <= pointer.size();) {
        const std::size_t end = std::min(pointer.find(separator, begin), pointer.size());
        std::string segment(pointer.substr(begin, end - begin));
        if (isJsonPointer)
            for (const auto& [code, character] : {std::pair{"~1", "/"}, {"~0", "~"}})
                for (std::size_t at = segment.find(code); at != std::string::npos; at = segment.find(code, at + 1))
                    segment.replace(at, 2, character);
        segments.push_back(std::move(segment));
        begin = end + 1;
    }
    return segments;
}

const Json* findAt(const Json& root, const std::vector<std::string>& segments)
{
    const Json* value = &root;
    for (const std::string& segment : segments) {
        if (value->is_object()) {
            const auto found = value->find(segment);
            if (found == value->end())
                return nullptr;
            value = &*found;
        } else if (value->is_array()) {
            std::size_t index = 0;
            const auto [end, error] = std::from_chars(segment.data(), segment.data() + segment.size(), index);
            if (error != std::errc{} || end != segment.data() + segment.size() || index >= value->size())
                return nullptr;
            value = &(*value)[index];
        } else {
            return nullptr;
        }
    }
    return value;
}

std::string childPointer(const std::string& parent, std::string_view key)
{
    std::string text = parent + "/";
    for (const char c : key)
        if (c == '~')
            text += "~0";
        else if (c == '/')
            text += "~1";
        else
            text += c;
    return text;
}

} // namespace sim
