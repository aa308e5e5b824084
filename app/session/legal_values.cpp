#include "app/session/legal_values.h"

#include "app/session/number_candidates.h"
#include "app/session/scenario_keys.h"
#include "sim/cancel.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

namespace app {
namespace {

/// "/perturbations/7".
std::string perturbationAt(std::size_t index)
{
    return std::string(kPerturbations) + "/" + std::to_string(index);
}

/// With one of its perturbations alone.
sim::ScenarioDocument withOnly(const sim::ScenarioDocument& document, std::size_t perturbation)
{
    sim::ScenarioDocument out = document;
    if (const auto entry = document.get(perturbationAt(perturbation)))
        out.set(kPerturbations, "[" + *entry + "]");
    return out;
}

/// With the one perturbation that other keys may break: a layout must have its rank.
sim::ScenarioDocument withFarthest(const ScenarioState& state)
{
    const std::size_t count = state.count(kPerturbations);
    const auto rank = [&](std::size_t i) { return state.number(perturbationAt(i) + "/rank").value_or(0); };
    std::size_t farthest = 0;
    for (std::size_t i = 1; i < count; ++i)
        if (rank(i) > rank(farthest))
            farthest = i;
    return count > 1 ? withOnly(state.document(), farthest) : state.document();
}

/// What a value would break; nothing if it is legal.
std::optional<std::string> refusal(const ScenarioState& state, std::string_view pointer, const std::string& json, LayoutRule rule)
{
    if (auto why = whyGpusAreNotKept(state, pointer, json, rule))
        return why;
    sim::ScenarioDocument changed = state.document();
    apply(changed, makeEdit(state, pointer, json, rule));
    const auto resolved = changed.resolve(state.catalogue());
    if (resolved.scenario)
        return std::nullopt;
    const auto problem = std::find_if(resolved.problems.begin(), resolved.problems.end(),
                                      [](const sim::Problem& p) { return p.severity == sim::Severity::error; });
    if (problem == resolved.problems.end())
        return "not possible";
    // What else would be right is told by the values themselves.
    return problem->message.substr(0, problem->message.find("; nearest: "));
}

/// Numbers that no rule compares with another, and ranks, which are as many as there are: between two legal ones all are.
bool isFreeBetweenEnds(std::string_view pointer, const sim::KeyFacts& facts)
{
    return facts.type == sim::KeyType::number || (pointer.starts_with(kPerturbations) && pointer.ends_with("/rank"));
}

LegalValues legalNumbers(const ScenarioState& state, std::string_view pointer, const sim::KeyFacts& facts, LayoutRule rule)
{
    LegalValues out;
    const std::set<double> tried = candidateNumbers(state, pointer);
    const auto why = [&](double value) { return refusal(state, pointer, jsonNumber(value), rule); };
    if (isFreeBetweenEnds(pointer, facts) && !tried.empty() && !why(*tried.begin()) && !why(*tried.rbegin()))
        out.values.assign(tried.begin(), tried.end());
    else
        for (const double value : tried) {
            sim::checkCancelled();
            if (!why(value))
                out.values.push_back(value);
        }
    if (out.values.empty() || facts.type != sim::KeyType::integer)
        return out;

    std::set<double> neighbours;
    const auto first = tried.find(out.values.front());
    neighbours.insert(first == tried.begin() ? std::floor(*first / 2) : *std::prev(first));
    const auto afterLast = std::next(tried.find(out.values.back()));
    neighbours.insert(afterLast == tried.end() ? out.values.back() * 2 : *afterLast);
    if (const auto now = state.number(pointer); now && !out.contains(*now)) {
        neighbours.insert(*now); // what stands there is asked about, not what is beside it
    } else if (now) {
        neighbours.insert(*now - 1);
        neighbours.insert(*now + 1);
    }
    for (const double value : neighbours) {
        if (value < facts.low || out.contains(value))
            continue;
        if (auto reason = why(value))
            out.refused.push_back({jsonNumber(value), std::move(*reason)});
    }
    return out;
}

} // namespace

bool LegalValues::contains(double value) const
{
    return std::binary_search(values.begin(), values.end(), value);
}

double LegalValues::stepped(double value, int steps) const
{
    if (values.empty() || steps == 0)
        return value;
    const auto last = static_cast<std::ptrdiff_t>(values.size()) - 1;
    // From between two legal values the first step goes to the next one in that direction.
    const auto above = std::upper_bound(values.begin(), values.end(), value) - values.begin();
    const auto atOrAbove = std::lower_bound(values.begin(), values.end(), value) - values.begin();
    const std::ptrdiff_t index = steps > 0 ? above + steps - 1 : atOrAbove + steps;
    return values[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(index, 0, last))];
}

int LegalValues::indexOfNearest(double value) const
{
    const auto nearest = std::min_element(values.begin(), values.end(),
                                          [value](double a, double b) { return std::fabs(a - value) < std::fabs(b - value); });
    return nearest == values.end() ? 0 : static_cast<int>(nearest - values.begin());
}

std::vector<double> LegalValues::around(double value) const
{
    std::vector<double> out;
    const auto above = std::lower_bound(values.begin(), values.end(), value);
    if (above != values.begin())
        out.push_back(*std::prev(above));
    if (above != values.end() && *above != value)
        out.push_back(*above);
    return out;
}

std::string LegalValues::whyNotLess() const
{
    const bool isPastEnd = !refused.empty() && !values.empty() && numberOf(refused.front().json) < values.front();
    return isPastEnd ? refused.front().why : std::string();
}

std::string LegalValues::whyNotMore() const
{
    const bool isPastEnd = !refused.empty() && !values.empty() && numberOf(refused.back().json) > values.back();
    return isPastEnd ? refused.back().why : std::string();
}

std::optional<std::string> whyGpusAreNotKept(const ScenarioState& state, std::string_view pointer, const std::string& json,
                                             LayoutRule rule)
{
    const auto number = numberOf(json);
    const bool isAsked = rule == LayoutRule::keepGpus && state.lastLegal() && number && std::fabs(*number) < 1e9;
    if (!isAsked || keepsGpus(state.document(), state.lastLegal(), pointer, static_cast<int>(*number)))
        return std::nullopt;
    return sim::countedText(state.lastLegal()->layout.worldSize(), "GPU") + " cannot be shared out with " +
           std::string(pointer.substr(pointer.rfind('/') + 1)) + " " + json + ": dp would be no whole number";
}

LegalValues legalValues(const ScenarioState& state, std::string_view pointer, LayoutRule rule)
{
    LegalValues out;
    const ScenarioKey* key = findScenarioKey(pointer);
    const auto facts = sim::keyFacts(state.catalogue(), pointer);
    if (!key || !facts || !state.lastLegal())
        return out;
    // Each word alone: what it asks for is missing whatever stands beside it.
    for (const KeyOption& word :
         key->isRelevant == nullptr || key->isRelevant(*state.lastLegal()) ? wordOptions(*key) : std::vector<KeyOption>()) {
        sim::checkCancelled();
        const std::string alone = "[" + word.json + "]";
        if (auto reason = refusal(state, pointer, alone, rule))
            out.refused.push_back({alone, std::move(*reason)});
    }
    std::vector<KeyOption> options = keyOptions(state.catalogue(), *key);
    if (facts->type == sim::KeyType::boolean)
        options = {{"false", {}, {}}, {"true", {}, {}}};
    if (options.empty() && facts->type != sim::KeyType::text && facts->type != sim::KeyType::list)
        return legalNumbers(state, pointer, *facts, rule);
    for (const KeyOption& option : options) {
        sim::checkCancelled();
        if (option.json == state.at(pointer))
            continue;
        if (auto reason = refusal(state, pointer, option.json, rule))
            out.refused.push_back({option.json, std::move(*reason)});
    }
    return out;
}

LegalValueTable legalValues(const sim::ScenarioDocument& document, const sim::Catalogue& catalogue,
                            const sim::Scenario& lastLegal, LayoutRule rule)
{
    LegalValueTable out;
    sim::Scenario unperturbed = lastLegal; // of perturbations only what the document says counts
    unperturbed.perturbations.clear();
    const ScenarioState state(document, &unperturbed, catalogue);
    const sim::ScenarioDocument farthest = withFarthest(state);
    const ScenarioState ofOthers(farthest, &unperturbed, catalogue);
    for (const std::string& pointer : formPointers(state)) {
        sim::checkCancelled();
        if (!pointer.starts_with(kPerturbations)) {
            out.emplace(pointer, legalValues(ofOthers, pointer, rule));
            continue;
        }
        const std::size_t key = pointer.rfind('/'), index = pointer.rfind('/', key - 1) + 1;
        const sim::ScenarioDocument alone = withOnly(document, std::stoul(pointer.substr(index, key - index)));
        out.emplace(pointer, legalValues({alone, &unperturbed, catalogue}, perturbationAt(0) + pointer.substr(key), rule));
    }
    return out;
}

std::vector<std::string> formPointers(const ScenarioState& state)
{
    std::vector<std::string> out;
    for (const ScenarioKey& key : scenarioKeys()) {
        const std::size_t star = key.pointer.find("/*");
        const std::size_t entries = star == std::string_view::npos ? 1 : state.count(key.pointer.substr(0, star));
        for (std::size_t i = 0; i < std::min(entries, kMostFormEntries); ++i) {
            const bool isPerturbation = key.pointer.starts_with(kPerturbations);
            const auto kind = isPerturbation ? state.at(perturbationAt(i) + "/kind") : std::nullopt;
            if (!kind || perturbationTakes(unquoted(*kind), key.pointer))
                out.push_back(pointerAt(key.pointer, i));
        }
    }
    return out;
}

} // namespace app
