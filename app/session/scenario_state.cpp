#include "app/session/scenario_state.h"

#include "app/session/edit.h"

#include <nlohmann/json.hpp>

#include <array>
#include <charconv>

namespace app {
namespace {

/// A block that a bare string may stand for.
std::optional<std::string> baseOf(const sim::ScenarioDocument& document, std::string_view pointer)
{
    const auto text = document.get(pointer);
    if (!text)
        return std::nullopt;
    return text->front() == '"' ? text : document.get(std::string(pointer) + "/base");
}

} // namespace

ScenarioState::ScenarioState(const sim::ScenarioDocument& document, const sim::Scenario* lastLegal,
                             const sim::Catalogue& catalogue)
    : m_document(document), m_lastLegal(lastLegal), m_catalogue(catalogue)
{
    if (lastLegal)
        m_resolved = sim::ScenarioDocument::parse(sim::resolvedText(*lastLegal));
}

std::optional<std::string> ScenarioState::at(std::string_view pointer) const
{
    const bool isModel = pointer == "/model", isCluster = pointer == "/cluster";
    const bool isStack = pointer == "/training/stack";
    if (isModel || isCluster || isStack || pointer == "/cluster/gpu") {
        if (auto id = baseOf(m_document, pointer))
            return id;
        if (!m_lastLegal)
            return std::nullopt;
        return app::quoted(isModel     ? m_lastLegal->model.base
                           : isCluster ? m_lastLegal->cluster.base
                           : isStack   ? m_lastLegal->training.stack.id
                                       : m_lastLegal->cluster.gpu.base);
    }
    if (pointer == "/cluster/efficiency") {
        const auto name = m_document.get(pointer);
        return name && name->front() == '"' ? name : std::nullopt;
    }
    // Entries of this list come and go: what an earlier one said is of no use.
    const bool comesAndGoes = pointer.starts_with("/perturbations/");
    for (const sim::ScenarioDocument* source : {&m_document, m_resolved && !comesAndGoes ? &*m_resolved : nullptr}) {
        if (!source)
            continue;
        auto value = source->get(pointer);
        if (value && pointer == "/training/recompute" && value->front() == '{')
            value = source->get("/training/recompute/kind");
        if (value)
            return value;
    }
    return std::nullopt;
}

std::optional<double> ScenarioState::number(std::string_view pointer) const
{
    const auto json = at(pointer);
    return json ? numberOf(*json) : std::nullopt;
}

std::optional<std::string> ScenarioState::resolved(std::string_view pointer) const
{
    return m_resolved ? m_resolved->get(pointer) : std::nullopt;
}

std::size_t ScenarioState::count(std::string_view pointer) const
{
    const auto written = m_document.get(pointer);
    const bool isFilledIn = m_resolved && pointer != "/perturbations";
    const sim::ScenarioDocument* source = written ? &m_document : isFilledIn ? &*m_resolved : nullptr;
    std::size_t entries = 0;
    while (source && source->get(std::string(pointer) + "/" + std::to_string(entries)))
        ++entries;
    return entries;
}

std::optional<double> numberOf(std::string_view json)
{
    double value = 0;
    const auto [end, failed] = std::from_chars(json.data(), json.data() + json.size(), value);
    if (failed != std::errc{} || end != json.data() + json.size())
        return std::nullopt;
    return value;
}

std::string jsonNumber(double value)
{
    std::array<char, 32> text{};
    const double largest = 1e15;
    const auto result = value > -largest && value < largest
                            ? std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed)
                            : std::to_chars(text.data(), text.data() + text.size(), value);
    if (result.ec != std::errc{}) // very many digits behind the point
        return std::to_string(value);
    return {text.data(), result.ptr};
}

std::string unquoted(std::string_view json)
{
    const auto value = nlohmann::json::parse(json, nullptr, false);
    return value.is_string() ? value.get<std::string>() : std::string(json);
}

} // namespace app
