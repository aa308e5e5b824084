#include "sim/scenario/schema.h"

#include "sim/scenario/problem_list.h"
#include "sim/text/nearest.h"
#include "sim/text/number_text.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace sim {
namespace {

constexpr std::array<std::string_view, 8> kAnnotations = {"$schema", "$id",         "$defs",   "$comment",
                                                          "title",   "description", "default", "examples"};
constexpr std::string_view kDefinitions = "#/$defs/";

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& words, std::string_view word)
{
    return std::find(words.begin(), words.end(), word) != words.end();
}

[[noreturn]] void failSchema(const std::string& pointer, const std::string& message)
{
    throw Error("scenario schema: " + shownPlace(pointer) + ": " + message);
}

/// Keywords that the reader does not know, and known ones whose value is not what the reader takes them for: what checks values
/// need not look again.
void refuseWhatIsNoSchema(const Json& schema, const Json& definitions, const std::string& pointer)
{
    const auto require = [&](bool holds, const std::string& at, const char* expected) {
        if (!holds)
            failSchema(at, std::string("the reader expects ") + expected);
    };
    const auto isText = [](const Json& value) { return value.is_string(); };
    const auto named = [&](const Json& rule) {
        const auto place = memberOr<std::string>(rule, "$ref", {});
        return place.starts_with(kDefinitions) ? memberOf(definitions, place.substr(kDefinitions.size())) : nullptr;
    };
    require(schema.is_object(), pointer, "an object");
    for (const auto& [key, value] : schema.items()) {
        const std::string at = childPointer(pointer, key);
        if (key == "properties" || key == "$defs") {
            require(value.is_object(), at, "an object");
            for (const auto& [name, property] : value.items())
                refuseWhatIsNoSchema(property, definitions, childPointer(at, name));
        } else if (key == "items") {
            refuseWhatIsNoSchema(value, definitions, at);
        } else if (key == "anyOf") {
            require(value.is_array() && !value.empty(), at, "a list of alternatives");
            for (const Json& alternative : value) {
                refuseWhatIsNoSchema(alternative, definitions, at);
                const Json* definition = named(alternative);
                require((definition != nullptr ? *definition : alternative).contains("type"), at, "alternatives with a type");
            }
        } else if (key == "$ref") {
            const Json* target = named(schema);
            require(target != nullptr && !target->contains("$ref"), at, "the place of a definition that names no other");
        } else if (key == "type" || key == "description") {
            require(value.is_string(), at, "a string");
        } else if (key == "required" || key == "enum") {
            require(value.is_array() && (key == "enum" || std::all_of(value.begin(), value.end(), isText)), at,
                    "a list of words");
        } else if (key == "minimum" || key == "maximum" || key == "exclusiveMinimum") {
            require(value.is_number(), at, "a number");
        } else if (key == "minItems" || key == "maxItems" || key == "maxLength") {
            require(valueAs<std::size_t>(value).has_value(), at, "a whole number");
        } else if (!contains(kAnnotations, key) && key != "additionalProperties") {
            failSchema(at, "keyword the reader does not enforce");
        }
    }
}

/// "a string", for messages.
std::string kindOf(const Json& value)
{
    constexpr std::array kKinds{"null", "an object", "a list", "a string", "a boolean"}; // as Json::value_t begins
    const auto type = static_cast<std::size_t>(value.type());
    return type < kKinds.size() ? kKinds[type] : "a number";
}

std::string kindNamed(std::string_view type)
{
    if (type == "object")
        return "an object";
    if (type == "array")
        return "a list";
    if (type == "integer")
        return "a whole number";
    if (type == "boolean")
        return "true or false";
    if (type == "null")
        return "null";
    return "a " + std::string(type);
}

/// A number without the ".0" that says to a program alone that it is no integer: 1000000.
std::string plain(const Json& value)
{
    return value.is_number_float() ? number(value.get<double>()).dump() : value.dump();
}

/// The value as a person wrote it, not all of it if it is long.
std::string shown(const Json& value)
{
    if (value.is_structured())
        return kindOf(value);
    return value.is_string() ? quotedText(value.get_ref<const std::string&>()) : plain(value);
}

/// "\"six\" is a string"; lists, objects and null are what they are.
std::string described(const Json& value)
{
    return value.is_structured() || value.is_null() ? kindOf(value) : shown(value) + " is " + kindOf(value);
}

bool hasType(const Json& value, std::string_view type)
{
    if (type == "integer") // JSON Schema: 4.0 is an integer; so is 1e30, which its maximum refuses
        return value.is_number_integer() || (value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>());
    return type == value.type_name();
}

/// Where a value stands: put into words only if there is something to say of it.
struct Place {
    const Place* above = nullptr;
    std::string_view key = {};             ///< in the object above; of the outermost place the pointer to it
    std::optional<std::size_t> index = {}; ///< in the list above
    std::string pointer() const
    {
        if (above == nullptr)
            return std::string(key);
        return index ? above->pointer() + "/" + std::to_string(*index) : childPointer(above->pointer(), key);
    }
};

} // namespace

struct Schema::Check {
    const Schema& schema;
    const std::string& file;
    ProblemList& problems;

    /// `message` is made only if it will be told.
    template <typename Message>
    void report(const Place& place, Message&& message) const
    {
        if (problems.isFull())
            problems.countOneMore();
        else
            problems.add({file, place.pointer(), message()});
    }

    void alternatives(const Json& value, const Json& anyOf, const Place& place) const
    {
        std::string expected;
        for (const Json& alternative : anyOf) {
            const Json& rule = schema.followed(alternative);
            const auto type = memberOr<std::string>(rule, "type", {});
            if (hasType(value, type))
                return (*this)(value, rule, place);
            expected += (expected.empty() ? "" : " or ") + kindNamed(type);
        }
        report(place, [&] { return described(value) + " where " + expected + " is expected"; });
    }

    void operator()(const Json& value, const Json& unfollowed, const Place& place) const
    {
        const Json& rule = schema.followed(unfollowed);
        if (rule.contains("anyOf"))
            return alternatives(value, rule.at("anyOf"), place);
        if (rule.contains("type")) {
            const std::string& type = rule.at("type").get_ref<const std::string&>();
            if (!hasType(value, type)) {
                const bool fraction = type == "integer" && value.is_number();
                report(place, [&] {
                    return fraction ? shown(value) + " is not a whole number"
                                    : described(value) + " where " + kindNamed(type) + " is expected";
                });
                return;
            }
        }
        if (rule.contains("enum"))
            words(value, rule.at("enum"), place);
        if (value.is_number())
            range(value, rule, place);
        else if (value.is_array())
            elements(value, rule, place);
        else if (value.is_string())
            length(value, rule, place);
        else if (value.is_object())
            members(value, rule, place);
    }

    void words(const Json& value, const Json& allowed, const Place& place) const
    {
        if (std::find(allowed.begin(), allowed.end(), value) != allowed.end())
            return;
        report(place, [&] {
            std::vector<std::string> names;
            for (const Json& word : allowed)
                names.push_back(word.is_string() ? word.get<std::string>() : word.dump());
            const std::string pointer = place.pointer(), key = pointer.substr(pointer.rfind('/') + 1);
            const bool isEntry = key.find_first_not_of("0123456789") == std::string::npos; // of a list
            return shown(value) + ": unknown " + (isEntry ? "word" : key) +
                   nearestWords(value.is_string() ? value.get_ref<const std::string&>() : value.dump(), names);
        });
    }

    void range(const Json& value, const Json& rule, const Place& place) const
    {
        const double number = value.get<double>();
        const auto refuse = [&](const char* why, const Json* limit) {
            report(place, [&] { return shown(value) + why + (limit != nullptr ? plain(*limit) : ""); });
        };
        const Json* least = memberOf(rule, "minimum");
        const Json* beyond = memberOf(rule, "exclusiveMinimum");
        const Json* most = memberOf(rule, "maximum");
        if (!std::isfinite(number))
            refuse(" is not a finite number", nullptr);
        else if (least != nullptr && number < least->get<double>())
            refuse(" is too small; nearest: ", least);
        else if (beyond != nullptr && number <= beyond->get<double>())
            refuse(" is too small; it must be greater than ", beyond);
        else if (most != nullptr && number > most->get<double>())
            refuse(" is too large; nearest: ", most);
    }

    /// Of names and texts, which windows and terminals show whole.
    void length(const Json& value, const Json& rule, const Place& place) const
    {
        const Json* most = memberOf(rule, "maxLength");
        const std::string& text = value.get_ref<const std::string&>();
        const auto characters = std::count_if(
            text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }); // of UTF-8
        if (most != nullptr && characters > most->get<std::ptrdiff_t>())
            report(place, [&] {
                return "the text has " + numberText(static_cast<double>(characters), Unit::count) + " characters; at most " +
                       numberText(most->get<double>(), Unit::count) + " are possible";
            });
    }

    void elements(const Json& value, const Json& rule, const Place& place) const
    {
        const auto refuse = [&](const char* limit, const Json& count, const char* what) {
            report(place, [&] {
                return "the list has " + std::to_string(value.size()) + (value.size() == 1 ? " entry" : " entries") + limit +
                       count.dump() + (count == 1 ? " is " : " are ") + what;
            });
        };
        const Json* least = memberOf(rule, "minItems");
        const Json* most = memberOf(rule, "maxItems");
        if (least != nullptr && value.size() < least->get<std::size_t>())
            refuse("; at least ", *least, "needed");
        if (most != nullptr && value.size() > most->get<std::size_t>())
            return refuse("; at most ", *most, "possible");
        if (const Json* items = memberOf(rule, "items"))
            for (std::size_t i = 0; i < value.size(); ++i)
                (*this)(value[i], *items, {.above = &place, .key = {}, .index = i});
    }

    void members(const Json& value, const Json& rule, const Place& place) const
    {
        static const Json kNoProperties = Json::object();
        const Json& properties = rule.contains("properties") ? rule.at("properties") : kNoProperties;
        const bool closed = rule.contains("additionalProperties") && rule.at("additionalProperties") == false;
        for (const auto& [key, member] : value.items()) {
            const Place at{.above = &place, .key = key};
            if (const auto property = properties.find(key); property != properties.end())
                (*this)(member, *property, at);
            else if (closed)
                report(at, [&, name = std::string_view(key)] {
                    std::vector<std::string> keys;
                    for (const auto& [known, unused] : properties.items())
                        keys.push_back(known);
                    return std::string(kUnknownKey) + nearestWords(name, keys);
                });
        }
        if (const Json* required = memberOf(rule, "required"))
            for (const Json& key : *required)
                if (!value.contains(key.get_ref<const std::string&>()))
                    report(place, [&] { return "key \"" + key.get_ref<const std::string&>() + "\" is missing"; });
    }
};

Schema::Schema(Json schema) : m_schema(std::move(schema))
{
    const Json* definitions = memberOf(m_schema, "$defs");
    refuseWhatIsNoSchema(m_schema, definitions != nullptr ? *definitions : Json::object(), "");
}

const Json& Schema::definition(std::string_view name) const
{
    const Json* definitions = memberOf(m_schema, "$defs");
    const Json* found = definitions != nullptr ? memberOf(*definitions, name) : nullptr;
    if (found == nullptr)
        failSchema("/$defs", "there is no definition " + quotedText(name));
    return *found;
}

/// Where a rule only names a definition: that definition.
const Json& Schema::followed(const Json& rule) const
{
    const Json* at = &rule;
    while (at->contains("$ref"))
        at = &definition(at->at("$ref").get_ref<const std::string&>().substr(kDefinitions.size()));
    return *at;
}

std::vector<Problem> Schema::check(const Json& value, const std::string& file, std::string_view definitionName,
                                   const std::string& pointer) const
{
    ProblemList problems;
    Check{*this, file, problems}(value, definitionName.empty() ? m_schema : definition(definitionName), {.key = pointer});
    return std::move(problems).take(file);
}

std::vector<std::string> Schema::keysOf(std::string_view name) const
{
    std::vector<std::string> keys;
    if (const Json* properties = memberOf(definition(name), "properties"))
        for (const auto& [key, unused] : properties->items())
            keys.push_back(key);
    return keys;
}

std::optional<KeyFacts> Schema::facts(std::string_view pointer) const
{
    const Json* rule = &m_schema;
    std::string description;
    for (const std::string& segment : splitPointer(pointer)) {
        const Json* inner = nullptr;
        const auto look = [&](const Json& alternative) {
            const Json& holder = followed(alternative);
            if (holder.contains("properties") && holder.at("properties").contains(segment))
                inner = &holder.at("properties").at(segment);
            else if (holder.contains("items") && segment.find_first_not_of("*0123456789") == std::string::npos)
                inner = &holder.at("items");
        };
        const Json& holder = followed(*rule);
        if (holder.contains("anyOf"))
            std::for_each(holder.at("anyOf").begin(), holder.at("anyOf").end(), look);
        else
            look(holder);
        if (inner == nullptr)
            return std::nullopt;
        rule = inner;
        description = rule->value("description", followed(*rule).value("description", std::string()));
    }
    const Json* own = &followed(*rule);
    while (own->contains("anyOf"))
        own = &followed(own->at("anyOf").front());

    static constexpr std::array<std::pair<std::string_view, KeyType>, 6> kTypes{{{"object", KeyType::object},
                                                                                 {"array", KeyType::list},
                                                                                 {"string", KeyType::text},
                                                                                 {"boolean", KeyType::boolean},
                                                                                 {"integer", KeyType::integer},
                                                                                 {"number", KeyType::number}}};
    KeyFacts facts;
    facts.description = std::move(description);
    for (const auto& [name, type] : kTypes)
        if (own->value("type", std::string()) == name)
            facts.type = type;
    if (own->contains("enum")) {
        facts.type = KeyType::word;
        facts.words = valueAs<std::vector<std::string>>(own->at("enum")).value_or(std::vector<std::string>());
    }
    facts.lowIsOpen = own->contains("exclusiveMinimum");
    facts.low = own->value(facts.lowIsOpen ? "exclusiveMinimum" : "minimum", facts.low);
    facts.high = own->value("maximum", facts.high);
    return facts;
}

std::optional<KeyFacts> keyFacts(const Catalogue& catalogue, std::string_view pointer)
{
    return catalogue.schema().facts(pointer);
}

} // namespace sim
