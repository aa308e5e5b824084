#include "sim/scenario/schema.h"

#include "sim/scenario/nearest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace sim {
namespace {

constexpr std::array<std::string_view, 8> kAnnotations = {"$schema", "$id",         "$defs",   "$comment",
                                                          "title",   "description", "default", "examples"};
constexpr std::array<std::string_view, 12> kKeywords = {
    "$ref",     "type",     "enum",  "minimum",    "maximum",  "exclusiveMinimum",
    "minItems", "maxItems", "items", "properties", "required", "anyOf"};
/// More help nobody, and a hostile file must not ask for gigabytes of messages.
constexpr std::size_t kMostProblems = 1000;

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& words, std::string_view word)
{
    return std::find(words.begin(), words.end(), word) != words.end();
}

void refuseUnknownKeywords(const Json& schema, const std::string& pointer)
{
    for (const auto& [key, value] : schema.items()) {
        const std::string at = childPointer(pointer, key);
        if (key == "properties" || key == "$defs") {
            for (const auto& [name, property] : value.items())
                refuseUnknownKeywords(property, childPointer(at, name));
        } else if (key == "items") {
            refuseUnknownKeywords(value, at);
        } else if (key == "anyOf") {
            for (const Json& alternative : value)
                refuseUnknownKeywords(alternative, at);
        } else if (!contains(kAnnotations, key) && !contains(kKeywords, key) && key != "additionalProperties") {
            throw Error("scenario schema: " + at + ": keyword the reader does not enforce");
        }
    }
}

/// "a string", for messages.
std::string kindOf(const Json& value)
{
    switch (value.type()) {
    case Json::value_t::null:
        return "null";
    case Json::value_t::object:
        return "an object";
    case Json::value_t::array:
        return "a list";
    case Json::value_t::string:
        return "a string";
    case Json::value_t::boolean:
        return "a boolean";
    default:
        return "a number";
    }
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
    return "a " + std::string(type);
}

/// The value as a person wrote it, shortened.
std::string shown(const Json& value)
{
    constexpr std::size_t kLongest = 40;
    if (value.is_structured())
        return kindOf(value);
    if (value.is_string())
        return "\"" + shortened(value.get<std::string>(), kLongest) + "\"";
    return value.dump();
}

/// "\"six\" is a string"; lists, objects and null are what they are.
std::string described(const Json& value)
{
    return value.is_structured() || value.is_null() ? kindOf(value) : shown(value) + " is " + kindOf(value);
}

bool hasType(const Json& value, std::string_view type)
{
    if (type == "object")
        return value.is_object();
    if (type == "array")
        return value.is_array();
    if (type == "string")
        return value.is_string();
    if (type == "boolean")
        return value.is_boolean();
    if (type == "number")
        return value.is_number();
    if (type == "integer") // JSON Schema: 4.0 is an integer
        return value.is_number_integer() || (value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>());
    return value.is_null();
}

std::string numberText(const Json& number)
{
    return number.dump();
}

} // namespace

struct Schema::Check {
    const Schema& schema;
    const std::string& file;
    std::vector<Problem>& problems;

    void report(const std::string& pointer, std::string message) const
    {
        if (problems.size() < kMostProblems)
            problems.push_back({file, pointer, std::move(message)});
        else if (problems.size() == kMostProblems)
            problems.push_back({file, "", "there are more problems than the " + std::to_string(kMostProblems) + " listed"});
    }

    void alternatives(const Json& value, const Json& anyOf, const std::string& pointer) const
    {
        std::string expected;
        for (const Json& alternative : anyOf) {
            const Json& rule = schema.followed(alternative);
            const std::string& type = rule.at("type").get_ref<const std::string&>();
            if (hasType(value, type))
                return (*this)(value, rule, pointer);
            expected += (expected.empty() ? "" : " or ") + kindNamed(type);
        }
        report(pointer, described(value) + " where " + expected + " is expected");
    }

    void operator()(const Json& value, const Json& unfollowed, const std::string& pointer) const
    {
        const Json& rule = schema.followed(unfollowed);
        if (rule.contains("anyOf"))
            return alternatives(value, rule.at("anyOf"), pointer);
        if (rule.contains("type")) {
            const std::string& type = rule.at("type").get_ref<const std::string&>();
            if (!hasType(value, type)) {
                const bool fraction = type == "integer" && value.is_number();
                report(pointer, fraction ? shown(value) + " is not a whole number"
                                         : described(value) + " where " + kindNamed(type) + " is expected");
                return;
            }
        }
        if (rule.contains("enum"))
            words(value, rule.at("enum"), pointer);
        if (value.is_number())
            range(value, rule, pointer);
        else if (value.is_array())
            elements(value, rule, pointer);
        else if (value.is_object())
            members(value, rule, pointer);
    }

    void words(const Json& value, const Json& allowed, const std::string& pointer) const
    {
        if (std::find(allowed.begin(), allowed.end(), value) != allowed.end())
            return;
        std::vector<std::string> names;
        for (const Json& word : allowed)
            names.push_back(word.is_string() ? word.get<std::string>() : word.dump());
        report(pointer, shown(value) + ": unknown " + pointer.substr(pointer.rfind('/') + 1) +
                            nearestWords(value.is_string() ? value.get<std::string>() : value.dump(), names));
    }

    void range(const Json& value, const Json& rule, const std::string& pointer) const
    {
        const double number = value.get<double>();
        if (!std::isfinite(number))
            report(pointer, shown(value) + " is not a finite number");
        else if (rule.contains("minimum") && number < rule.at("minimum").get<double>())
            report(pointer, shown(value) + " is too small; nearest: " + numberText(rule.at("minimum")));
        else if (rule.contains("exclusiveMinimum") && number <= rule.at("exclusiveMinimum").get<double>())
            report(pointer, shown(value) + " is too small; it must be greater than " + numberText(rule.at("exclusiveMinimum")));
        else if (rule.contains("maximum") && number > rule.at("maximum").get<double>())
            report(pointer, shown(value) + " is too large; nearest: " + numberText(rule.at("maximum")));
    }

    void elements(const Json& value, const Json& rule, const std::string& pointer) const
    {
        if (rule.contains("minItems") && value.size() < rule.at("minItems").get<std::size_t>())
            report(pointer, "the list has " + std::to_string(value.size()) + (value.size() == 1 ? " entry" : " entries") +
                                "; at least " + rule.at("minItems").dump() + " are needed");
        if (rule.contains("maxItems") && value.size() > rule.at("maxItems").get<std::size_t>()) {
            report(pointer, "the list has " + std::to_string(value.size()) + " entries; at most " + rule.at("maxItems").dump() +
                                " are possible");
            return;
        }
        if (rule.contains("items"))
            for (std::size_t i = 0; i < value.size() && problems.size() <= kMostProblems; ++i)
                (*this)(value[i], rule.at("items"), pointer + "/" + std::to_string(i));
    }

    void members(const Json& value, const Json& rule, const std::string& pointer) const
    {
        static const Json kNoProperties = Json::object();
        const Json& properties = rule.contains("properties") ? rule.at("properties") : kNoProperties;
        const bool closed = rule.contains("additionalProperties") && rule.at("additionalProperties") == false;
        for (const auto& [key, member] : value.items()) {
            if (problems.size() > kMostProblems)
                return;
            const std::string at = childPointer(pointer, key);
            if (const auto property = properties.find(key); property != properties.end()) {
                (*this)(member, *property, at);
            } else if (closed) {
                std::vector<std::string> keys;
                for (const auto& [name, unused] : properties.items())
                    keys.push_back(name);
                report(at, std::string(kUnknownKey) + nearestWords(key, keys));
            }
        }
        if (rule.contains("required"))
            for (const Json& key : rule.at("required"))
                if (!value.contains(key.get_ref<const std::string&>()))
                    report(pointer, "key \"" + key.get<std::string>() + "\" is missing");
    }
};

Schema::Schema(Json schema) : m_schema(std::move(schema))
{
    refuseUnknownKeywords(m_schema, "");
}

const Json& Schema::definition(std::string_view name) const
{
    const Json& definitions = m_schema.at("$defs");
    const auto found = definitions.find(std::string(name));
    if (found == definitions.end())
        throw Error("scenario schema: no definition \"" + std::string(name) + "\"");
    return *found;
}

/// Where a rule only names a definition: that definition.
const Json& Schema::followed(const Json& rule) const
{
    const Json* at = &rule;
    while (at->contains("$ref"))
        at = &definition(at->at("$ref").get_ref<const std::string&>().substr(std::string_view("#/$defs/").size()));
    return *at;
}

std::vector<Problem> Schema::check(const Json& value, const std::string& file, std::string_view definitionName,
                                   const std::string& pointer) const
{
    std::vector<Problem> problems;
    Check{*this, file, problems}(value, definitionName.empty() ? m_schema : definition(definitionName), pointer);
    return problems;
}

std::vector<std::string> Schema::keysOf(std::string_view name) const
{
    std::vector<std::string> keys;
    for (const auto& [key, unused] : definition(name).at("properties").items())
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
        facts.words = own->at("enum").get<std::vector<std::string>>();
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
