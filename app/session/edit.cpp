#include "app/session/edit.h"

#include "app/session/scenario_keys.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace app {
namespace {

constexpr std::string_view kTiers = "/cluster/tiers", kEfficiency = "/cluster/efficiency", kRecompute = "/training/recompute",
                           kRecomputeLayers = "/training/recompute/layers", kRecomputeModules = "/training/recompute/modules",
                           kAdapters = "/training/lora", kAdapterRank = "/training/lora/rank",
                           kGpusPerNode = "/cluster/gpus_per_node", kShard = "/layout/dp_shard";

/// Whole numbers that edits look at, where the document does not say them.
int scenarioValue(const sim::Scenario& s, std::string_view pointer)
{
    const std::pair<std::string_view, int> values[] = {
        {Control::tp, s.layout.tp},
        {Control::cp, s.layout.cp},
        {Control::pp, s.layout.pp},
        {Control::dp, s.layout.dp},
        {Control::ep, s.layout.ep},
        {Control::nodes, s.cluster.nodes},
        {kGpusPerNode, s.cluster.gpusPerNode},
        {Control::virtualStages, s.schedule.virtualStages},
        {Control::microBatchSize, s.training.microBatchSize},
        {Control::globalBatchSize, s.training.globalBatchSize},
        {Control::sequenceLength, s.training.sequenceLength},
    };
    for (const auto& [key, value] : values) {
        if (key == pointer)
            return value;
    }
    return 1;
}

std::string nameAt(std::string_view pointer)
{
    const ScenarioKey* key = findScenarioKey(pointer);
    return key ? sentenceName(*key) : std::string(pointer);
}

std::string step(std::string_view pointer, int before, int after)
{
    return nameAt(pointer) + " " + std::to_string(before) + " → " + std::to_string(after);
}

bool sharesGpusWithDp(std::string_view pointer)
{
    return pointer == Control::tp || pointer == Control::cp || pointer == Control::pp;
}

/// The sizes whose product is the world.
struct Sizes {
    std::int64_t tp, cp, pp, dp;
    std::int64_t world() const { return tp * cp * pp * dp; }
    std::int64_t& of(std::string_view p) { return p == Control::tp ? tp : p == Control::cp ? cp : p == Control::pp ? pp : dp; }
};

Sizes sizes(const sim::ScenarioDocument& document, const sim::Scenario* lastLegal)
{
    const auto value = [&](std::string_view p) { return static_cast<std::int64_t>(controlValue(document, lastLegal, p)); };
    return {value(Control::tp), value(Control::cp), value(Control::pp), value(Control::dp)};
}

/// The GPUs that are kept: those of the last layout that worked, so that a wrong number does not change them.
std::int64_t keptWorld(const sim::Scenario* lastLegal, const Sizes& now)
{
    return lastLegal ? lastLegal->layout.worldSize() : now.world();
}

/// Adds the number of nodes to an edit that makes the world `world` ranks large on nodes of `perNode` GPUs.
void letNodesFollow(Edit& edit, const sim::ScenarioDocument& document, const sim::Scenario* lastLegal, std::int64_t world,
                    std::int64_t perNode)
{
    if (!lastLegal || lastLegal->cluster.gpusPerNode < 1 || perNode < 1)
        return;
    const int nodes = controlValue(document, lastLegal, Control::nodes);
    const bool wasFull = lastLegal->layout.worldSize() == lastLegal->cluster.gpus();
    const std::int64_t needed = (world + perNode - 1) / perNode;
    if (needed == nodes || needed > INT32_MAX || (needed < nodes && !wasFull))
        return;
    edit.assignments.push_back({std::string(Control::nodes), std::to_string(needed)});
    edit.text += ", " + step(Control::nodes, nodes, static_cast<int>(needed));
}

/// A shard group that is written out and was all of dp × cp goes on being that.
void letShardFollow(Edit& edit, const sim::ScenarioDocument& document, const Sizes& before, const Sizes& after)
{
    const auto written = document.get(kShard);
    if (!written || numberOf(*written) != static_cast<double>(before.dp * before.cp))
        return;
    const std::string shard = std::to_string(after.dp * after.cp);
    if (shard != *written)
        edit.assignments.push_back({std::string(kShard), shard});
}

/// Tiers that are written out and join a node's GPUs go on doing so.
void letTiersFollow(Edit& edit, const ScenarioState& state, int before, const std::string& after)
{
    for (std::size_t i = 0; state.isWritten(kTiers) && i < state.count(kTiers); ++i) {
        const std::string span = std::string(kTiers) + "/" + std::to_string(i) + "/span";
        if (state.number(span) == before)
            edit.assignments.push_back({span, after});
    }
}

/// The name under which a catalogue lists an id.
std::string nameOf(const std::vector<sim::Catalogue::Entry>& entries, std::string_view id)
{
    const auto found = std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.id == id; });
    return found == entries.end() ? std::string(id) : found->name;
}

/// What a person reads for a value.
std::string valueText(const ScenarioState& state, const ScenarioKey* key, const std::optional<std::string>& json)
{
    if (!json)
        return key && *key->ifAbsent != '\0' ? key->ifAbsent : "default";
    if (key) {
        for (const KeyOption& option : keyOptions(state.catalogue(), *key)) {
            if (option.json == *json)
                return option.text.substr(0, option.text.find(" · "));
        }
    }
    if (json->front() == '[')
        return "other";
    return *json == "true" ? "on" : *json == "false" ? "off" : unquoted(*json);
}

/// Of a key inside something that the document has from elsewhere as a whole: that is written out first.
void writeOutFirst(Edit& edit, const ScenarioState& state, std::string_view pointer)
{
    const auto write = [&](std::string_view block) {
        if (auto json = state.resolved(block))
            edit.assignments.push_back({std::string(block), *json});
    };
    if (pointer.starts_with(kTiers) && !state.isWritten(kTiers))
        write(kTiers);
    const auto efficiency = state.document().get(kEfficiency);
    if (pointer.starts_with(kEfficiency) && efficiency && efficiency->front() == '"')
        write(kEfficiency);
}

/// What a model needs besides to have experts or latent attention at all, where nothing of it is there.
void letModelFollow(Edit& edit, const ScenarioState& state, std::string_view pointer, double value)
{
    struct Need {
        std::string_view of, key;
        double usual; ///< top-2 as in Mixtral; latent attention as in DeepSeek-V2
    };
    static constexpr std::array<Need, 4> kNeeds{{{"/model/num_experts", "/model/num_experts_per_tok", 2},
                                                 {"/model/kv_lora_rank", "/model/qk_nope_head_dim", 128},
                                                 {"/model/kv_lora_rank", "/model/qk_rope_head_dim", 64},
                                                 {"/model/kv_lora_rank", "/model/v_head_dim", 128}}};
    for (const Need& need : kNeeds) {
        if (need.of != pointer || value < 1)
            continue;
        const double now = state.number(need.key).value_or(0);
        const bool isPartOfIt = need.of == "/model/num_experts"; // a token cannot go to more experts than there are
        const double wanted = std::min(now < 1 ? need.usual : now, isPartOfIt ? value : now + need.usual);
        if (wanted == now)
            continue;
        edit.assignments.push_back({std::string(need.key), jsonNumber(wanted)});
        edit.text += ", " + nameAt(need.key) + " " + jsonNumber(now) + " → " + jsonNumber(wanted);
    }
}

/// What a perturbation of a kind needs, strong enough to be seen.
std::string perturbationJson(std::string_view kind, const std::string& rank)
{
    const std::string begin = "{ \"kind\": " + quoted(kind);
    if (kind == "jitter")
        return begin + ", \"sigma\": 0.05, \"seed\": 1 }";
    if (kind == "failure") // written out, so that there is something to change
        return begin + ", \"mtbf_hours\": 50000, \"restart_s\": 600, \"replace_s\": 0, \"spares\": 0 }";
    return begin + ", \"rank\": " + rank + ", \"factor\": 1.5 }";
}

bool isPerturbationKind(std::string_view pointer)
{
    return pointer.starts_with(kPerturbations) && pointer.ends_with("/kind");
}

/// Recompute is a word, or an object where it says how many layers or which modules.
std::optional<std::string> recomputeJson(const ScenarioState& state, std::string_view pointer,
                                         const std::optional<std::string>& json)
{
    if (pointer == kRecompute)
        return json;
    const std::string kind = state.at(kRecompute).value_or("\"none\"");
    const char* const key = pointer == kRecomputeModules ? "modules" : "layers";
    return json ? "{ \"kind\": " + kind + ", \"" + key + "\": " + *json + " }" : kind;
}

} // namespace

int gpusPerNode(const sim::Catalogue& catalogue, std::string_view clusterId)
{
    constexpr int kUsual = 8;
    const auto* cluster = catalogue.clusterJson(clusterId);
    return cluster ? std::max(1, cluster->value("gpus_per_node", kUsual)) : kUsual;
}

int controlValue(const sim::ScenarioDocument& document, const sim::Scenario* lastLegal, std::string_view pointer)
{
    if (const auto text = document.get(pointer)) {
        int value = 0;
        const char* end = text->data() + text->size();
        if (const auto [at, failed] = std::from_chars(text->data(), end, value); failed == std::errc{} && at == end)
            return value;
    }
    return lastLegal ? scenarioValue(*lastLegal, pointer) : 1;
}

bool keepsGpus(const sim::ScenarioDocument& document, const sim::Scenario* lastLegal, std::string_view pointer, int value)
{
    if (!sharesGpusWithDp(pointer))
        return true;
    Sizes s = sizes(document, lastLegal);
    const std::int64_t world = keptWorld(lastLegal, s);
    s.of(pointer) = value;
    const std::int64_t rest = s.tp * s.cp * s.pp;
    return rest > 0 && world % rest == 0;
}

Edit makeEdit(const sim::ScenarioDocument& document, const sim::Scenario* lastLegal, std::string_view pointer, int value,
              LayoutRule rule)
{
    Edit edit;
    const int before = controlValue(document, lastLegal, pointer);
    edit.assignments.push_back({std::string(pointer), std::to_string(value)});
    edit.text = step(pointer, before, value);
    if ((pointer == Control::pp || pointer == Control::virtualStages) && value != before)
        letLayersFollow(edit, document);
    if (!sharesGpusWithDp(pointer) && pointer != Control::dp)
        return edit;

    const Sizes sizesBefore = sizes(document, lastLegal);
    Sizes s = sizesBefore;
    const std::int64_t world = keptWorld(lastLegal, s);
    s.of(pointer) = value;
    if (rule == LayoutRule::keepGpus && sharesGpusWithDp(pointer) && value > 0 &&
        keepsGpus(document, lastLegal, pointer, value)) {
        const auto dp = static_cast<int>(world / (s.tp * s.cp * s.pp));
        if (dp != s.dp) {
            edit.assignments.push_back({std::string(Control::dp), std::to_string(dp)});
            edit.text += ", " + step(Control::dp, static_cast<int>(s.dp), dp);
        }
        s.dp = dp;
    }
    letShardFollow(edit, document, sizesBefore, s);
    if (s.world() > 0)
        letNodesFollow(edit, document, lastLegal, s.world(), lastLegal ? lastLegal->cluster.gpusPerNode : 0);
    return edit;
}

Edit makeEdit(const ScenarioState& state, std::string_view pointer, const std::optional<std::string>& json, LayoutRule rule)
{
    const sim::ScenarioDocument& document = state.document();
    const sim::Scenario* lastLegal = state.lastLegal();
    if (json && pointer == "/model")
        return makeModelEdit(document, state.catalogue(), unquoted(*json));
    if (json && pointer == "/cluster")
        return makeClusterEdit(document, lastLegal, state.catalogue(), unquoted(*json));
    if (json && pointer == "/schedule/kind")
        return makeScheduleEdit(document, lastLegal, unquoted(*json));
    const auto number = json ? numberOf(*json) : std::nullopt;
    const bool isSize = sharesGpusWithDp(pointer) || pointer == Control::dp || pointer == Control::virtualStages;
    if (isSize && number && *number == static_cast<double>(static_cast<int>(std::clamp(*number, -2e9, 2e9))))
        return makeEdit(document, lastLegal, pointer, static_cast<int>(*number), rule);

    const ScenarioKey* key = findScenarioKey(pointer);
    const auto before = state.at(pointer);
    Edit edit;
    edit.text = nameAt(pointer) + " " + valueText(state, key, before) + " → " + valueText(state, key, json);
    writeOutFirst(edit, state, pointer);
    if (pointer == kAdapterRank && !json) // without it there are none
        edit.assignments.push_back({std::string(kAdapters), std::nullopt});
    else if (pointer == kRecompute || pointer == kRecomputeLayers || pointer == kRecomputeModules)
        edit.assignments.push_back({std::string(kRecompute), recomputeJson(state, pointer, json)});
    else if (json && isPerturbationKind(pointer)) {
        const std::string entry(pointer.substr(0, pointer.rfind('/')));
        edit.assignments.push_back({entry, perturbationJson(unquoted(*json), state.at(entry + "/rank").value_or("0"))});
    } else
        edit.assignments.push_back({std::string(pointer), json});
    if (pointer == "/model/num_hidden_layers")
        letLayersFollow(edit, document);
    if (number)
        letModelFollow(edit, state, pointer, *number);
    if (pointer == kGpusPerNode && number && *number >= 1) {
        letTiersFollow(edit, state, controlValue(document, lastLegal, pointer), *json);
        letNodesFollow(edit, document, lastLegal, sizes(document, lastLegal).world(), static_cast<std::int64_t>(*number));
    }
    return edit;
}

Edit makePerturbationEdit(const ScenarioState& state, std::string_view kind)
{
    Edit edit;
    edit.text = "add " + std::string(kind == "jitter"      ? "jitter"
                                     : kind == "slow_link" ? "a slow link"
                                     : kind == "failure"   ? "failures"
                                                           : "a slow GPU");
    edit.assignments.push_back(
        {std::string(kPerturbations) + "/" + std::to_string(state.count(kPerturbations)), perturbationJson(kind, "0")});
    return edit;
}

Edit makeRemovalEdit(const ScenarioState& state, std::size_t perturbation)
{
    Edit edit;
    edit.text = "remove perturbation " + std::to_string(perturbation + 1);
    const bool isLast = state.count(kPerturbations) == 1;
    edit.assignments.push_back(
        {std::string(kPerturbations) + (isLast ? std::string() : "/" + std::to_string(perturbation)), std::nullopt});
    return edit;
}

Edit makeModelEdit(const sim::ScenarioDocument& document, const sim::Catalogue& catalogue, std::string_view id)
{
    std::string before = "own";
    if (const auto base = document.get("/model/base"); base && base->size() > 2)
        before = nameOf(catalogue.models(), unquoted(*base));
    else if (const auto name = document.get("/model"); name && name->size() > 2 && name->front() == '"')
        before = nameOf(catalogue.models(), unquoted(*name));
    Edit edit = makeKeyEdit("/model", "{\"base\":" + quoted(id) + "}", "model", before, nameOf(catalogue.models(), id));
    letLayersFollow(edit, document);
    return edit;
}

Edit makeClusterEdit(const sim::ScenarioDocument& document, const sim::Scenario* lastLegal, const sim::Catalogue& catalogue,
                     std::string_view id)
{
    const std::int64_t perNode = gpusPerNode(catalogue, id);
    const std::int64_t nodes = std::max<std::int64_t>(1, (sizes(document, lastLegal).world() + perNode - 1) / perNode);
    const std::string before =
        lastLegal ? (lastLegal->cluster.name.empty() ? lastLegal->cluster.base : lastLegal->cluster.name) : "own";
    return makeKeyEdit("/cluster", "{\"base\":" + quoted(id) + ",\"nodes\":" + std::to_string(nodes) + "}", "cluster", before,
                       nameOf(catalogue.clusters(), id));
}

Edit makeKeyEdit(std::string pointer, std::string json, std::string_view name, std::string_view before, std::string_view after)
{
    Edit edit;
    edit.assignments.push_back({std::move(pointer), std::move(json)});
    edit.text = std::string(name) + " " + std::string(before) + " → " + std::string(after);
    return edit;
}

void letLayersFollow(Edit& edit, const sim::ScenarioDocument& document)
{
    if (!document.get("/schedule/layers_per_stage"))
        return;
    edit.assignments.push_back({"/schedule/layers_per_stage", std::nullopt});
    edit.text += ", layers balanced";
}

std::string quoted(std::string_view text)
{
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void apply(sim::ScenarioDocument& document, const Edit& edit)
{
    if (edit.document) {
        document = sim::ScenarioDocument::parse(*edit.document, document.fileName());
        return;
    }
    for (const Assignment& a : edit.assignments) {
        if (a.json)
            document.set(a.pointer, *a.json);
        else
            document.erase(a.pointer);
    }
}

} // namespace app
