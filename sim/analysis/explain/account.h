// How an explanation is written down.
#pragma once

#include "sim/analysis/explain/explain.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace sim {

/// The source of what the engine found.
inline constexpr const char* kSimulated = "Event simulation of all ops";
/// What bubble is, as glossary and manual have it.
inline constexpr const char* kBubbleIs = "Neither computing nor held up by communication or the host: a rank waits for other "
                                         "pipeline stages, for a slow GPU or for the busiest experts.";

/// Collects the terms of one explanation while its formula is written down.
class Account {
public:
    Account(std::string name, std::string symbol, double value, Unit unit)
    {
        m_out.name = std::move(name);
        m_out.result = {std::move(symbol), value, unit};
    }
    Formula term(std::string symbol, double value, Unit unit, std::string meaning,
                 std::shared_ptr<const Explanation> because = nullptr)
    {
        m_out.terms.push_back({{std::move(symbol), value, unit}, std::move(meaning), std::move(because)});
        return Formula::term(m_out.terms.size() - 1);
    }
    /// A term that is explained itself.
    Formula term(Explanation because)
    {
        Quantity quantity = because.result;
        std::string meaning = because.name;
        m_out.terms.push_back({std::move(quantity), std::move(meaning), std::make_shared<const Explanation>(std::move(because))});
        return Formula::term(m_out.terms.size() - 1);
    }
    /// `formula` empty: what the terms are is said, and the value was measured.
    Explanation close(std::optional<Formula> formula, std::string convention, std::string source, ShowHint show = {})
    {
        m_out.formula = std::move(formula);
        m_out.convention = std::move(convention);
        m_out.source = std::move(source);
        m_out.show = std::move(show);
        return std::move(m_out);
    }

private:
    Explanation m_out;
};

} // namespace sim
