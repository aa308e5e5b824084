// Checks JSON against assets/scenario.schema.json. Knows exactly the keywords that file uses and refuses a schema with others, so
// that what editors see and what the reader enforces cannot differ.
#pragma once

#include "sim/scenario/document.h"
#include "sim/scenario/json_text.h"
#include "sim/scenario/key_facts.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

class Schema {
public:
    /// How the problem of a key that the schema does not know begins; such a key breaks nothing else.
    static constexpr std::string_view kUnknownKey = "unknown key";

    /// Throws Error for a schema that uses something this class does not know.
    explicit Schema(Json schema);

    /// Everything wrong with the shape of a value: unknown keys, types, ranges, words. `definition` names one of $defs; empty for
    /// the whole schema. `pointer` is where the value stands in its file.
    std::vector<Problem> check(const Json& value, const std::string& file, std::string_view definition = {},
                               const std::string& pointer = {}) const;
    /// Keys of a $defs object, in its order.
    std::vector<std::string> keysOf(std::string_view definition) const;
    /// Of the key at a pointer, "*" for any place in a list; nothing if there is none.
    std::optional<KeyFacts> facts(std::string_view pointer) const;

private:
    struct Rule;
    struct Rules;
    struct Check;
    const Json& definition(std::string_view name) const;
    const Json& followed(const Json& rule) const;
    /// The text and its rules, which point into it: they move and are copied together.
    std::shared_ptr<const Rules> m_rules;
};

} // namespace sim
