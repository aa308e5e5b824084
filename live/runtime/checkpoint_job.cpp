#include "live/runtime/checkpoint_job.h"

#include "live/runtime/data.h"
#include "sim/scenario/changed_keys.h"
#include "sim/scenario/document.h"
#include "sim/scenario/pointer_text.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace live {
namespace {

/// A layer whose window or chunk holds the whole sequence sees all of it; without rotary positions none is turned.
sim::LayerKind computedKind(const sim::Scenario& scenario, int layer)
{
    const sim::Model& model = scenario.model;
    sim::LayerKind kind = model.layerKind(layer);
    const int length = scenario.training.sequenceLength;
    if ((kind.type == sim::LayerType::sliding && model.slidingWindow >= length) ||
        (kind.type == sim::LayerType::chunked && model.attentionChunkSize >= length))
        kind.type = sim::LayerType::full;
    kind.rope = kind.rope && model.positionEmbedding == sim::PositionEmbedding::rope;
    return kind;
}

bool hasLayersOf(const sim::Scenario& scenario, sim::LayerType type)
{
    for (int layer = 0; layer < scenario.model.numHiddenLayers; ++layer)
        if (computedKind(scenario, layer).type == type)
            return true;
    return false;
}

bool haveSameLayers(const sim::Scenario& a, const sim::Scenario& b)
{
    bool same = a.model.numHiddenLayers == b.model.numHiddenLayers;
    for (int layer = 0; same && layer < a.model.numHiddenLayers; ++layer)
        same = computedKind(a, layer) == computedKind(b, layer);
    return same;
}

/// The model of `b`, but for what neither computes with: that is as in `a`, and so no difference.
sim::Model withUnusedOf(const sim::Scenario& a, const sim::Scenario& b)
{
    const sim::Model& from = a.model;
    sim::Model model = b.model;
    const auto unlessUsed = [&](const auto& uses, auto... keys) {
        if (!uses(a.model) && !uses(b.model))
            ((model.*keys = from.*keys), ...);
    };
    const auto never = [](const sim::Model&) { return false; };
    using M = sim::Model;
    unlessUsed(never, &M::name, &M::hiddenDropout, &M::attentionDropout); // live.dropout is what is dropped
    unlessUsed([](const M& m) { return m.positionEmbedding == sim::PositionEmbedding::learned; }, &M::maxPositionEmbeddings);
    unlessUsed([](const M& m) { return m.positionEmbedding == sim::PositionEmbedding::rope; }, &M::ropeTheta, &M::ropeScaling);
    unlessUsed([](const M& m) { return m.normalization == sim::Normalization::rmsnorm || m.qkNorm; }, &M::rmsNormEps);
    unlessUsed([](const M& m) { return m.normalization == sim::Normalization::layernorm; }, &M::layerNormEpsilon);
    unlessUsed([](const M& m) { return m.isLatentAttention(); }, &M::qLoraRank, &M::qkNopeHeadDim, &M::qkRopeHeadDim,
               &M::vHeadDim);
    unlessUsed([](const M& m) { return !m.isLatentAttention(); }, &M::numKeyValueHeads, &M::headDim);
    unlessUsed([](const M& m) { return m.moeLayers() < m.numHiddenLayers; }, &M::intermediateSize);
    unlessUsed([](const M& m) { return m.moeLayers() > 0; }, &M::numExperts, &M::numExpertsPerTok, &M::moeIntermediateSize,
               &M::numSharedExperts, &M::routerBias, &M::expertBias, &M::scoringFunction, &M::expertGroups, &M::chosenGroups,
               &M::normTopkProb, &M::routedScalingFactor);
    if (!haveSameLayers(a, b))
        return model;
    unlessUsed(never, &M::layerTypes, &M::slidingWindowPattern, &M::noRopeLayerInterval, &M::firstKDenseReplace,
               &M::moeLayerFreq);
    if (!hasLayersOf(a, sim::LayerType::sliding)) // nor has b
        unlessUsed(never, &M::slidingWindow);
    if (!hasLayersOf(a, sim::LayerType::chunked))
        unlessUsed(never, &M::attentionChunkSize);
    return model;
}

template <class IsMeant>
std::vector<sim::ChangedKey> changesOf(const sim::Scenario& its, const sim::Scenario& mine, const IsMeant& isMeant)
{
    sim::Scenario alike = mine;
    alike.model = withUnusedOf(its, mine);
    std::vector<sim::ChangedKey> changes = sim::changedKeys(its, alike);
    std::erase_if(changes, [&](const sim::ChangedKey& key) { return !isMeant(key.pointer); });
    return changes;
}

std::string valueText(const std::optional<std::string>& value)
{
    return value ? sim::shownText(*value) : "not given";
}

/// What the manifest says; where this version does not read it as a scenario, its seed alone is known.
sim::Scenario scenarioOf(const CheckpointInfo& info, const sim::Scenario& mine)
{
    sim::Scenario its = mine;
    try {
        its = sim::resolvedScenario(sim::ScenarioDocument::parse(info.scenarioJson),
                                    sim::Catalogue::load(sim::Catalogue::findAssets()));
    } catch (const sim::Error&) { // of another version: names and shapes are still compared
    }
    its.live.seed = info.seed;
    return its;
}

std::vector<sim::ChangedKey> changesOfModel(const sim::Scenario& its, const sim::Scenario& mine)
{
    return changesOf(its, mine, [](const std::string& pointer) {
        return pointer == "/model" || pointer.starts_with("/model/") || pointer == "/training/causal";
    });
}

/// Of two names: what they hold counts, wherever they lie. `mark`: of the first, when it was trained on. What nobody knows of one
/// that is not to be found may be either's.
bool mayBeSameData(const std::string& a, const std::optional<FileMark>& mark, const std::string& b)
{
    namespace fs = std::filesystem;
    if (a == "builtin" || b == "builtin" || isTokenIds(a) != isTokenIds(b))
        return false;
    try {
        return mark ? *mark == markOfData(b) : fs::equivalent(a, b) || markOfData(a) == markOfData(b);
    } catch (const std::exception&) { // moved since, on another machine, or not to be read
        return true;
    }
}

/// live.data as the manifest's scenario has it, whether or not this version reads that.
std::string nameOfData(const CheckpointInfo& info)
{
    const auto scenario = nlohmann::json::parse(info.scenarioJson, nullptr, false);
    const nlohmann::json::json_pointer place("/live/data");
    return scenario.contains(place) && scenario.at(place).is_string() ? scenario.at(place).get<std::string>() : std::string();
}

/// What a file of the same name held and what it holds; "" where that is the same, or not known.
std::string changeOfData(const CheckpointInfo& info, const sim::Scenario& mine)
{
    const std::string name = std::filesystem::path(nameOfData(info)).filename().string();
    if (!info.data || name != std::filesystem::path(mine.live.data).filename().string())
        return {};
    const FileMark now = markOfData(mine.live.data);
    return now == *info.data
               ? std::string()
               : "live.data, " + sim::shownText(name) + ", is " + markText(*info.data) + " there, " + markText(now) + " here";
}

std::string originText(const WeightsOrigin& origin)
{
    return origin.folder.empty() ? "random" : "of " + sim::shownPlace(origin.folder) + " (" + markText(origin.mark) + ")";
}

std::vector<sim::ChangedKey> changesOfTraining(const CheckpointInfo& info, const sim::Scenario& its, const sim::Scenario& mine)
{
    return changesOf(its, mine, [&](const std::string& pointer) {
        if (pointer == "/live/data")
            return !mayBeSameData(its.live.data, info.data, mine.live.data);
        if (pointer == "/live/aux_loss")
            return its.model.moeLayers() > 0 || mine.model.moeLayers() > 0;
        const bool isOfTheRun = pointer.starts_with("/live/") && pointer != "/live/device" && pointer != "/live/steps";
        return isOfTheRun || pointer == "/training/sequence_length" || pointer == "/training/global_batch_size" ||
               pointer == "/training/optimizer" || pointer == "/training/moment_dtype" || pointer.starts_with("/training/lora");
    });
}

std::string changesText(const std::vector<sim::ChangedKey>& changes)
{
    std::string text;
    for (const sim::ChangedKey& key : changes)
        text += (text.empty() ? "" : "; ") + sim::dotted(key.pointer) + " is " + valueText(key.a) + " there, " +
                valueText(key.b) + " here";
    return text;
}

/// What gives this run the values of the checkpoint's.
std::string settingsOfChanges(const std::vector<sim::ChangedKey>& changes)
{
    std::string text;
    for (const sim::ChangedKey& key : changes) {
        if (!key.a || key.a->size() > sim::kMostShown)
            return "the scenario that its manifest.json has";
        const auto value = nlohmann::json::parse(*key.a);
        const std::string setting = sim::dotted(key.pointer) + "=" + (value.is_string() ? value.get<std::string>() : *key.a);
        text += (text.empty() ? "--set " : " --set ") + (value.is_structured() ? "'" + setting + "'" : setting);
    }
    return text;
}

} // namespace

void checkIsOfModel(const std::filesystem::path& checkpoint, const CheckpointInfo& info, const sim::Scenario& mine)
{
    if (const std::vector<sim::ChangedKey> changes = changesOfModel(scenarioOf(info, mine), mine); !changes.empty())
        throw sim::Error("checkpoint: " + checkpoint.string() + " is of another model: " + changesText(changes) +
                         "; nearest: " + settingsOfChanges(changes));
}

void checkIsOfData(const std::filesystem::path& checkpoint, const CheckpointInfo& info, const sim::Scenario& mine)
{
    if (const std::string change = changeOfData(info, mine); !change.empty())
        throw sim::Error("checkpoint: " + checkpoint.string() + " is of other data: " + change +
                         "; nearest: the file as it was; to go on with what it holds now, give it another name");
}

std::string otherSettings(const CheckpointInfo& info, const sim::Scenario& mine)
{
    return changesText(changesOfTraining(info, scenarioOf(info, mine), mine));
}

void checkHoldsNoOtherRun(const std::filesystem::path& folder, const std::filesystem::path& resumed, int stepsDone,
                          const sim::Scenario& mine, const std::optional<WeightsOrigin>& weights)
{
    std::filesystem::path newest;
    CheckpointInfo info;
    try {
        newest = findCheckpoint(folder);
        info = readCheckpointInfo(newest);
    } catch (const std::exception&) { // it holds none, or none that anybody could go on from
        return;
    }
    std::error_code none;
    if (!resumed.empty() && info.step <= stepsDone &&
        std::filesystem::equivalent(std::filesystem::canonical(resumed, none).parent_path(), folder, none))
        return;
    const sim::Scenario its = scenarioOf(info, mine);
    std::vector<sim::ChangedKey> changes = changesOfModel(its, mine);
    const std::vector<sim::ChangedKey> others = changesOfTraining(info, its, mine);
    changes.insert(changes.end(), others.begin(), others.end());
    std::string told = changesText(changes);
    const auto tell = [&](const std::string& what) { told += (told.empty() || what.empty() ? "" : "; ") + what; };
    tell(changeOfData(info, mine));
    if (weights && info.weights && weights->mark != info.weights->mark)
        tell("weights at the beginning are " + originText(*info.weights) + " there, " + originText(*weights) + " here");
    if (!told.empty())
        throw sim::Error("checkpoint: " + newest.string() + " is of another run: " + told +
                         "; nearest: a folder of its own for this one");
}

} // namespace live
