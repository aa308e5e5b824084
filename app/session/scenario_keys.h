// The keys of a scenario that a person can change, in the order of the form: one entry a key. What a key means, its type, range
// and words are the schema's to say (sim/scenario/key_facts.h); here stands what only a form needs.
#pragma once

#include "sim/scenario/key_facts.h"
#include "sim/scenario/scenario.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace app {

/// The list that people add to and take from.
inline constexpr std::string_view kPerturbations = "/perturbations";

enum class KeySection {
    model,
    modelDetails,
    experts,
    latentAttention,
    cluster,
    gpu,
    links,
    efficiency,
    layout,
    schedule,
    training,
    overlap,
    perturbations,
    live
};

struct ScenarioKey {
    std::string_view pointer; ///< "/layout/tp"; "*" is every place in a list
    KeySection section;
    const char* label;
    const char* unit = "";
    const char* ifAbsent = "";                          ///< what it means that nothing is given: "all"
    bool (*isRelevant)(const sim::Scenario&) = nullptr; ///< where it has no effect its row is left out; null: always shown
    double assumed = 0; ///< what is reckoned with where no number is given, and the first step leads to; 0: its first or last
};
std::span<const ScenarioKey> scenarioKeys();
/// Of "/cluster/tiers/1/span", too; nullptr if the form does not have it.
const ScenarioKey* findScenarioKey(std::string_view pointer);
/// "/cluster/tiers/*/span" with its star replaced.
std::string pointerAt(std::string_view pattern, std::size_t index);
/// As a sentence says it: "tp", "micro-batch", "ZeRO".
std::string sentenceName(const ScenarioKey&);

/// A list of hundreds is no form, and making rows for it takes the window's time: entries beyond these stand in the file.
inline constexpr std::size_t kMostFormEntries = 16;

/// Whether a perturbation of that kind ("slow_gpu") looks at a key of its own ("/perturbations/0/factor").
bool perturbationTakes(std::string_view kind, std::string_view pointer);

/// Keys that the form leaves out, and why. A pointer stands for all that is below it.
struct KeyLeftOut {
    std::string_view pointer;
    const char* reason;
};
std::span<const KeyLeftOut> keysLeftOut();

/// What a chooser offers for a key.
struct KeyOption {
    std::string json;
    std::string text;
    std::string what; ///< more about it; may be empty
};
/// Empty for keys that are no choice among a few.
std::vector<KeyOption> keyOptions(const sim::Catalogue&, const ScenarioKey&);
/// Of a list: words that it may have. Empty for others.
std::vector<KeyOption> wordOptions(const ScenarioKey&);

} // namespace app
