// A scenario as it stands in a session, key by key: what the document says, and where it is silent what its bases and defaults
// say. Everything that edits starts from one of these.
#pragma once

#include "sim/scenario/document.h"

#include <optional>
#include <string>
#include <string_view>

namespace app {

class ScenarioState {
public:
    /// `lastLegal` may be nullptr: then only what is written is known. All three must outlive this.
    ScenarioState(const sim::ScenarioDocument&, const sim::Scenario* lastLegal, const sim::Catalogue&);

    const sim::ScenarioDocument& document() const { return m_document; }
    const sim::Scenario* lastLegal() const { return m_lastLegal; }
    const sim::Catalogue& catalogue() const { return m_catalogue; }

    /// JSON text of the value in force; nothing where there is none. Of "/model", "/cluster" and "/cluster/gpu" the id they are
    /// based on, of "/cluster/efficiency" the profile it names, of "/training/recompute" its kind.
    std::optional<std::string> at(std::string_view pointer) const;
    std::optional<double> number(std::string_view pointer) const;
    /// JSON text of a whole block with everything filled in.
    std::optional<std::string> resolved(std::string_view pointer) const;
    /// Entries of a list.
    std::size_t count(std::string_view pointer) const;
    /// Whether the document itself says it.
    bool isWritten(std::string_view pointer) const { return m_document.get(pointer).has_value(); }

private:
    const sim::ScenarioDocument& m_document;
    const sim::Scenario* m_lastLegal;
    const sim::Catalogue& m_catalogue;
    std::optional<sim::ScenarioDocument> m_resolved;
};

/// A JSON text that is a number; nothing for anything else.
std::optional<double> numberOf(std::string_view json);
/// As short as it can be read back: "8", "0.0003".
std::string jsonNumber(double);
/// The characters of a JSON string; any other text as it is.
std::string unquoted(std::string_view json);

} // namespace app
