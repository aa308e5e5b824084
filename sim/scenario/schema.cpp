#include "sim/scenario/schema.h"

#include "sim/scenario/other_names.h"
#include "sim/scenario/problem_list.h"
#include "sim/text/nearest.h"
#include "sim/text/number_text.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
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

[[noreturn]] void failNoDefinition(std::string_view name)
{
    failSchema("/$defs", "there is no definition " + quotedText(name));
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

/// A rule as the check asks for it. Made once from the text: a control that looks for what is legal checks a thousand documents,
/// and to find each keyword in the text took longer than all that is checked.
struct Schema::Rule {
    std::string_view type;         ///< "integer"; empty: any
    std::uint32_t kinds = ~0U;     ///< bit Json::value_t of each kind of value that the type takes
    bool takesWholeFloats = false; ///< JSON Schema: 4.0 is an integer; so is 1e30, which its maximum refuses
    bool isClosed = false;         ///< no properties but these
    std::vector<const Rule*> anyOf;
    std::vector<std::pair<std::string_view, const Rule*>> properties; ///< by name
    const Rule* items = nullptr;
    /// The values of keywords; nullptr where one is not there.
    const Json *words = nullptr, *least = nullptr, *beyond = nullptr, *most = nullptr, *longest = nullptr, *fewest = nullptr,
               *mostItems = nullptr, *known = nullptr, *required = nullptr;

    bool takes(const Json& value) const
    {
        if ((kinds >> static_cast<std::uint32_t>(value.type()) & 1U) != 0)
            return true;
        return takesWholeFloats && value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>();
    }
    const Rule* property(std::string_view name) const
    {
        const auto found = std::lower_bound(properties.begin(), properties.end(), name,
                                            [](const auto& property, std::string_view of) { return property.first < of; });
        return found != properties.end() && found->first == name ? found->second : nullptr;
    }
};

struct Schema::Rules {
    explicit Rules(Json json) : text(std::move(json))
    {
        const Json* definitions = memberOf(text, "$defs");
        refuseWhatIsNoSchema(text, definitions != nullptr ? *definitions : Json::object(), "");
        if (definitions != nullptr) { // all have a place before one is read: they name each other
            for (const auto& [name, rule] : definitions->items())
                named.emplace(name, &all.emplace_back());
            for (const auto& [name, rule] : definitions->items())
                read(rule, *named.find(name)->second);
        }
        whole = &ruleOf(text);
    }
    Rules(const Rules&) = delete;
    Rules& operator=(const Rules&) = delete;

    const Json text;
    std::deque<Rule> all;                            ///< what others point to stays where it is
    std::map<std::string, Rule*, std::less<>> named; ///< $defs
    const Rule* whole = nullptr;

private:
    /// Where a rule only names a definition: that definition's.
    const Rule& ruleOf(const Json& json)
    {
        if (const Json* place = memberOf(json, "$ref"))
            return *named.find(place->get_ref<const std::string&>().substr(kDefinitions.size()))->second;
        Rule& out = all.emplace_back();
        read(json, out);
        return out;
    }
    void read(const Json& json, Rule& out)
    {
        if (const Json* type = memberOf(json, "type")) {
            out.type = type->get_ref<const std::string&>();
            out.takesWholeFloats = out.type == "integer";
            out.kinds = 0;
            using Kind = Json::value_t;
            for (const Kind kind : {Kind::null, Kind::object, Kind::array, Kind::string, Kind::boolean, Kind::number_integer,
                                    Kind::number_unsigned, Kind::number_float})
                if (const Json each(kind); out.takesWholeFloats ? each.is_number_integer() : out.type == each.type_name())
                    out.kinds |= 1U << static_cast<std::uint32_t>(kind);
        }
        if (const Json* alternatives = memberOf(json, "anyOf"))
            for (const Json& each : *alternatives)
                out.anyOf.push_back(&ruleOf(each));
        out.known = memberOf(json, "properties");
        if (out.known != nullptr)
            for (const auto& [name, rule] : out.known->get_ref<const Json::object_t&>())
                out.properties.emplace_back(name, &ruleOf(rule));
        std::sort(out.properties.begin(), out.properties.end());
        if (const Json* items = memberOf(json, "items"))
            out.items = &ruleOf(*items);
        const Json* others = memberOf(json, "additionalProperties");
        out.isClosed = others != nullptr && *others == false;
        out.words = memberOf(json, "enum");
        out.least = memberOf(json, "minimum");
        out.beyond = memberOf(json, "exclusiveMinimum");
        out.most = memberOf(json, "maximum");
        out.longest = memberOf(json, "maxLength");
        out.fewest = memberOf(json, "minItems");
        out.mostItems = memberOf(json, "maxItems");
        out.required = memberOf(json, "required");
    }
};

struct Schema::Check {
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

    void alternatives(const Json& value, const Rule& rule, const Place& place) const
    {
        for (const Rule* alternative : rule.anyOf)
            if (alternative->takes(value))
                return (*this)(value, *alternative, place);
        report(place, [&] {
            std::string expected;
            for (const Rule* alternative : rule.anyOf)
                expected += (expected.empty() ? "" : " or ") + kindNamed(alternative->type);
            return described(value) + " where " + expected + " is expected";
        });
    }

    void operator()(const Json& value, const Rule& rule, const Place& place) const
    {
        if (!rule.anyOf.empty())
            return alternatives(value, rule, place);
        if (!rule.takes(value)) {
            const bool fraction = rule.type == "integer" && value.is_number();
            report(place, [&] {
                const bool isText = value.is_string() && (rule.type == "integer" || rule.type == "number");
                return fraction ? shown(value) + " is not a whole number"
                                : described(value) + " where " + kindNamed(rule.type) + " is expected" +
                                      (isText ? withoutUnitText(value.get_ref<const std::string&>()) : std::string());
            });
            return;
        }
        if (rule.words != nullptr)
            words(value, *rule.words, place);
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
            const std::string given = value.is_string() ? value.get<std::string>() : value.dump();
            const std::string_view own = pointer == "/schedule/kind" ? ownKind(given) : std::string_view();
            return shown(value) + ": unknown " + (isEntry ? "word" : key) +
                   (own.empty() ? nearestWords(given, names) : "; here it is " + std::string(own));
        });
    }

    void range(const Json& value, const Rule& rule, const Place& place) const
    {
        const double number = value.get<double>();
        const auto refuse = [&](const char* why, const Json* limit) {
            report(place, [&] { return shown(value) + why + (limit != nullptr ? plain(*limit) : ""); });
        };
        if (!std::isfinite(number))
            refuse(" is not a finite number", nullptr);
        else if (rule.least != nullptr && number < rule.least->get<double>())
            refuse(" is too small; nearest: ", rule.least);
        else if (rule.beyond != nullptr && number <= rule.beyond->get<double>())
            refuse(" is too small; it must be greater than ", rule.beyond);
        else if (rule.most != nullptr && number > rule.most->get<double>())
            refuse(" is too large; nearest: ", rule.most);
    }

    /// Of names and texts, which windows and terminals show whole.
    void length(const Json& value, const Rule& rule, const Place& place) const
    {
        if (rule.longest == nullptr)
            return;
        const std::string& text = value.get_ref<const std::string&>();
        const auto characters = std::count_if(
            text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }); // of UTF-8
        if (characters > rule.longest->get<std::ptrdiff_t>())
            report(place, [&] {
                return "the text has " + numberText(static_cast<double>(characters), Unit::count) + " characters; at most " +
                       numberText(rule.longest->get<double>(), Unit::count) + " are possible";
            });
    }

    void elements(const Json& value, const Rule& rule, const Place& place) const
    {
        const auto refuse = [&](const char* limit, const Json& count, const char* what) {
            report(place, [&] {
                return "the list has " + std::to_string(value.size()) + (value.size() == 1 ? " entry" : " entries") + limit +
                       count.dump() + (count == 1 ? " is " : " are ") + what;
            });
        };
        if (rule.fewest != nullptr && value.size() < rule.fewest->get<std::size_t>())
            refuse("; at least ", *rule.fewest, "needed");
        if (rule.mostItems != nullptr && value.size() > rule.mostItems->get<std::size_t>())
            return refuse("; at most ", *rule.mostItems, "possible");
        if (rule.items != nullptr)
            for (std::size_t i = 0; i < value.size(); ++i)
                (*this)(value[i], *rule.items, {.above = &place, .key = {}, .index = i});
    }

    void members(const Json& value, const Rule& rule, const Place& place) const
    {
        for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) {
            const Place at{.above = &place, .key = key};
            if (const Rule* property = rule.property(key))
                (*this)(member, *property, at);
            else if (rule.isClosed)
                report(at, [&, name = std::string_view(key)] {
                    std::vector<std::string> keys;
                    if (rule.known != nullptr)
                        for (const auto& [known, unused] : rule.known->items())
                            keys.push_back(known);
                    const std::string nearest = nearestWords(name, keys);
                    // Of another block, or of none that is near; deeper in, a word may mean anything.
                    const std::string pointer = at.pointer();
                    const std::string_view own = std::count(pointer.begin(), pointer.end(), '/') <= 2 ? ownKey(name) : "";
                    const bool isSaid =
                        nearest.find("\"" + std::string(own.substr(own.rfind('.') + 1)) + "\"") != std::string::npos;
                    return std::string(kUnknownKey) + nearest +
                           (own.empty() || isSaid ? std::string() : "; it may be \"" + std::string(own) + "\"");
                });
        }
        if (rule.required != nullptr)
            for (const Json& key : *rule.required)
                if (!value.contains(key.get_ref<const std::string&>()))
                    report(place, [&] { return "key \"" + key.get_ref<const std::string&>() + "\" is missing"; });
    }
};

Schema::Schema(Json schema) : m_rules(std::make_shared<Rules>(std::move(schema))) {}

const Json& Schema::definition(std::string_view name) const
{
    const Json* definitions = memberOf(m_rules->text, "$defs");
    const Json* found = definitions != nullptr ? memberOf(*definitions, name) : nullptr;
    if (found == nullptr)
        failNoDefinition(name);
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
    const Rule* rule = m_rules->whole;
    if (!definitionName.empty()) {
        const auto named = m_rules->named.find(definitionName);
        if (named == m_rules->named.end())
            failNoDefinition(definitionName);
        rule = named->second;
    }
    ProblemList problems;
    Check{file, problems}(value, *rule, {.key = pointer});
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
    const Json* rule = &m_rules->text;
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
