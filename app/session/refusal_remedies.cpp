#include "app/session/refusal_remedies.h"

#include "app/session/legal_values.h"
#include "app/session/number_candidates.h"
#include "app/session/scenario_keys.h"
#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/frameworks/frameworks.h"
#include "sim/frameworks/limits.h"
#include "sim/scenario/key_facts.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>

namespace app {
namespace {

constexpr std::size_t kMostRemedies = 3;
constexpr std::size_t kMostTried = 16; ///< values of a key

/// Empty: it is written.
std::string refusalOf(const sim::Scenario& scenario, std::string_view kind, const sim::Catalogue& catalogue)
{
    try {
        sim::exportSettings(scenario, kind, catalogue);
    } catch (const sim::Error& error) {
        return error.what();
    }
    return {};
}

/// "/layout/cp" of "/layout/cp: DeepSpeed has no context parallelism".
std::string_view pointerOf(std::string_view refusal)
{
    return refusal.starts_with('/') ? refusal.substr(0, refusal.find_first_of(": ")) : std::string_view();
}

/// Fewer rules are broken, and none that was kept: whatever is told first of what is left. Both ascending.
bool isNearer(const std::vector<std::size_t>& left, const std::vector<std::size_t>& before)
{
    return left.size() < before.size() && std::includes(before.begin(), before.end(), left.begin(), left.end());
}

/// As a whole word: pp is not in "--pp-size" or "app".
bool speaksOf(std::string_view text, std::string_view word)
{
    const auto isPart = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; };
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
        const std::size_t end = at + word.size();
        if ((at == 0 || !isPart(text[at - 1])) && (end == text.size() || !isPart(text[end])))
            return true;
    }
    return false;
}

/// The key that it is about, then those that it speaks of, by their names in the file or, of ZeRO's stage, by its own.
std::vector<std::string> keysOf(std::string_view refusal)
{
    std::vector<std::string> out;
    const std::string_view about = pointerOf(refusal);
    if (findScenarioKey(about) != nullptr)
        out.emplace_back(about);
    const std::string_view said = refusal.substr(about.size());
    for (const ScenarioKey& key : scenarioKeys()) {
        const std::string_view pointer = key.pointer;
        if (pointer == about || pointer.find('*') != std::string_view::npos ||
            (!pointer.starts_with("/layout") && !pointer.starts_with("/training") && !pointer.starts_with("/schedule")))
            continue;
        if (speaksOf(said, pointer.substr(pointer.rfind('/') + 1)) || (pointer == "/layout/zero_stage" && speaksOf(said, "ZeRO")))
            out.emplace_back(pointer);
    }
    return out;
}

/// Nearest first; of numbers equally near the smaller.
std::vector<std::string> otherValues(const ScenarioState& state, std::string_view pointer)
{
    const ScenarioKey& key = *findScenarioKey(pointer);
    const auto facts = sim::keyFacts(state.catalogue(), pointer);
    const std::optional<std::string> now = state.at(pointer);
    std::vector<std::string> out;
    if (!facts)
        return out;
    if (facts->type == sim::KeyType::boolean)
        return {now == "true" ? "false" : "true"};
    for (const KeyOption& option : keyOptions(state.catalogue(), key))
        out.push_back(option.json);
    if (out.empty())
        for (const double value : candidateNumbers(state, pointer))
            out.push_back(jsonNumber(value));
    std::erase_if(out, [&](const std::string& json) { return json == now; });
    if (const auto from = state.number(pointer)) {
        const auto distance = [from](const std::string& json) {
            const double to = numberOf(json).value_or(0);
            return *from > 0 && to > 0 ? std::abs(std::log(to / *from)) : std::abs(to - *from);
        };
        std::stable_sort(out.begin(), out.end(),
                         [&](const std::string& a, const std::string& b) { return distance(a) < distance(b); });
    }
    if (out.size() > kMostTried)
        out.resize(kMostTried);
    return out;
}

} // namespace

std::vector<Edit> refusalRemedies(const sim::ScenarioDocument& document, const sim::Scenario& scenario, std::string_view kind,
                                  const sim::Catalogue& catalogue)
{
    const std::string refusal = refusalOf(scenario, kind, catalogue);
    if (refusal.empty())
        return {};
    const ScenarioState state(document, &scenario, catalogue);
    const std::vector<std::size_t> broken = sim::refusalsOfKind(kind, scenario);
    std::vector<Edit> whole, partly;
    for (const std::string& pointer : keysOf(refusal)) {
        std::optional<Edit> found, next;
        for (const std::string& json : otherValues(state, pointer)) {
            sim::checkCancelled();
            if (whyGpusAreNotKept(state, pointer, json, LayoutRule::keepGpus))
                continue;
            Edit edit = makeEdit(state, pointer, json, LayoutRule::keepGpus);
            sim::ScenarioDocument changed = document;
            apply(changed, edit);
            const auto resolved = changed.resolve(catalogue);
            if (!resolved.scenario || resolved.scenario->layout.worldSize() != scenario.layout.worldSize())
                continue;
            const std::string left = refusalOf(*resolved.scenario, kind, catalogue);
            if (left.empty()) {
                found = std::move(edit);
                break;
            }
            if (!next && isNearer(sim::refusalsOfKind(kind, *resolved.scenario), broken))
                next = std::move(edit);
        }
        if (found)
            whole.push_back(std::move(*found));
        else if (next)
            partly.push_back(std::move(*next));
    }
    if (whole.empty())
        whole = std::move(partly);
    if (whole.size() > kMostRemedies)
        whole.resize(kMostRemedies);
    return whole;
}

} // namespace app
