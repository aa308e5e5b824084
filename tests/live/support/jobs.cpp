#include "tests/live/support/jobs.h"

#include "sim/scenario/catalogue.h"
#include "sim/scenario/document.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace live::test {
namespace {

constexpr const char* kBase = R"({
  "format": "rankscope-scenario", "version": 1, "name": "test",
  "model": { "name": "test", "num_hidden_layers": 4, "hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4,
             "num_key_value_heads": 4, "head_dim": 8, "vocab_size": 61, "max_position_embeddings": 16,
             "tie_word_embeddings": false, "hidden_act": "gelu", "gated_mlp": false, "normalization": "layernorm",
             "position_embedding": "learned", "bias": true },
  "cluster": { "base": "laptop", "gpus_per_node": 64 },
  "layout": {},
  "schedule": { "kind": "1f1b" },
  "training": { "sequence_length": 16, "micro_batch_size": 1, "global_batch_size": 4, "precision": "fp32" },
  "live": { "learning_rate": 0.001, "seed": 1, "data": "builtin", "dtype": "fp64" }
})";

const sim::Catalogue& catalogue()
{
    static const sim::Catalogue loaded = sim::Catalogue::load(sim::Catalogue::findAssets());
    return loaded;
}

sim::ScenarioDocument::Resolved resolve(const Settings& settings)
{
    sim::ScenarioDocument document = sim::ScenarioDocument::parse(kBase);
    for (const std::string& setting : settings)
        document.applyOverride(setting);
    return document.resolve(catalogue());
}

testing::AssertionResult failure(const SerialCheck& check)
{
    return testing::AssertionFailure() << check.text();
}

} // namespace

Settings operator+(Settings a, const Settings& b)
{
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

sim::Scenario job(const Settings& settings)
{
    sim::ScenarioDocument::Resolved resolved = resolve(settings);
    if (!resolved.scenario)
        throw sim::ScenarioError(resolved.problems);
    return *resolved.scenario;
}

std::optional<sim::Scenario> jobIfValid(const Settings& settings)
{
    return resolve(settings).scenario;
}

Limits limitsOf(const sim::Scenario& scenario)
{
    if (scenario.live.dtype == "fp64")
        return {.loss = 1e-12, .firstStepNorm = 1e-12, .gradientNorm = 1e-12, .gradients = 1e-11, .values = 1e-10};
    return {.loss = 1e-6, .firstStepNorm = 1e-6, .gradientNorm = 1e-4, .gradients = 1e-5, .values = 2e-4};
}

testing::AssertionResult isIdentical(const SerialCheck& check)
{
    return check.identical ? testing::AssertionSuccess() << "identical" : failure(check);
}

testing::AssertionResult isWithin(const SerialCheck& check, const Limits& limits)
{
    // Written so that NaN fails.
    const bool within = check.loss <= limits.loss && check.firstStepNorm <= limits.firstStepNorm &&
                        check.gradientNorm <= limits.gradientNorm && check.gradients.relative <= limits.gradients &&
                        check.values.relative <= limits.values;
    return within ? testing::AssertionSuccess() << check.text() : failure(check);
}

const TrainedSteps& serialSteps(const sim::Scenario& hybrid, const TrainOptions& options)
{
    static std::map<std::string, TrainedSteps> known;
    const std::string key =
        sim::resolvedText(serialTwin(hybrid)) + std::to_string(options.steps) + " " + std::to_string(options.training.epsilon);
    const auto place = known.find(key);
    return place != known.end() ? place->second : known[key] = trainSerially(hybrid, options);
}

SerialCheck against(const sim::Scenario& hybrid, const TrainOptions& options)
{
    return compareSteps(serialSteps(hybrid, options), trainSteps(hybrid, options));
}

SerialCheck compareLayouts(const sim::Scenario& expected, const sim::Scenario& actual, TrainOptions options)
{
    options.training.separateTiedGradients = true;
    return compareSteps(trainSteps(expected, options), trainSteps(actual, options));
}

std::string testName(const std::string& text)
{
    std::string name = text;
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return name;
}

} // namespace live::test
