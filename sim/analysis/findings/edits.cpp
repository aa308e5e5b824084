#include "sim/analysis/findings/edits.h"

#include "sim/scenario/words.h"
#include "sim/schedule/families/families.h"
#include "sim/schedule/problems.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sim {
namespace {

std::string quoted(std::string_view text)
{
    return "\"" + std::string(text) + "\"";
}

std::string layersText(int recomputed)
{
    return "full, " + countedText(recomputed, "layer") + " of each chunk";
}

/// "none", "full", "full, 10 layers of each chunk": what a scenario recomputes.
std::string recomputeText(const Scenario& scenario)
{
    const Training& t = scenario.training;
    return t.recompute == Recompute::full && !recomputesEveryLayer(scenario) ? layersText(t.recomputeLayers)
                                                                             : std::string(toWord(kRecomputeWords, t.recompute));
}

std::string arrow(int before, int after)
{
    return std::to_string(before) + " → " + std::to_string(after);
}

std::string arrow(std::string_view name, int before, int after)
{
    return std::string(name) + " " + arrow(before, after);
}

struct Axis {
    const char* name;
    int Layout::*size;
};
constexpr std::array<Axis, 5> kAxes{
    {{"tp", &Layout::tp}, {"cp", &Layout::cp}, {"ep", &Layout::ep}, {"pp", &Layout::pp}, {"dp", &Layout::dp}}};

} // namespace

SuggestedEdit Edits::layout(const Layout& to) const
{
    const Layout& from = m_scenario.layout;
    SuggestedEdit out;
    for (const auto& [name, size] : kAxes) {
        if (from.*size == to.*size)
            continue;
        out.changes.push_back({std::string("/layout/") + name, std::to_string(to.*size)});
        out.text += (out.text.empty() ? "" : ", ") + arrow(name, from.*size, to.*size);
    }
    // Values that were only what follows from the sizes follow again.
    if (to.tp != from.tp && from.etp == from.tp)
        out.changes.push_back({"/layout/etp", std::nullopt});
    if (from.dpShard == from.dp * from.cp)
        out.changes.push_back({"/layout/dp_shard", std::nullopt});
    if (to.tp == 1 && from.sequenceParallel)
        out.changes.push_back({"/layout/sequence_parallel", "false"});
    if (to.pp != from.pp) {
        out.changes.push_back({"/schedule/layers_per_stage", std::nullopt});
        out.changes.push_back({"/schedule/microbatch_group", std::nullopt});
        if (to.pp == 1 || from.pp == 1) {
            out.changes.push_back({"/schedule/kind", quoted("1f1b")});
            out.changes.push_back({"/schedule/virtual_stages", "1"});
        }
    }
    const int perNode = std::max(1, m_scenario.cluster.gpusPerNode);
    const int nodes = (to.worldSize() + perNode - 1) / perNode;
    if (nodes > m_scenario.cluster.nodes) {
        out.changes.push_back({"/cluster/nodes", std::to_string(nodes)});
        out.text += ", " + arrow("nodes", m_scenario.cluster.nodes, nodes);
    }
    return out;
}

std::optional<SuggestedEdit> Edits::shift(int Layout::*from, int Layout::*to, int factor) const
{
    Layout changed = m_scenario.layout;
    if (factor < 2 || changed.*from % factor != 0)
        return std::nullopt;
    changed.*from /= factor;
    changed.*to *= factor;
    return layout(changed);
}

SuggestedEdit Edits::microBatch(int size) const
{
    return set("/training/micro_batch_size", std::to_string(size),
               arrow("micro-batch", m_scenario.training.microBatchSize, size));
}

SuggestedEdit Edits::globalBatch(int sequences) const
{
    return set("/training/global_batch_size", std::to_string(sequences),
               arrow("global batch", m_scenario.training.globalBatchSize, sequences));
}

SuggestedEdit Edits::schedule(std::string_view kind, int virtualStages) const
{
    const ScheduleSettings& s = m_scenario.schedule;
    SuggestedEdit out;
    if (kind != s.kind) {
        out.text = std::string(scheduleFamily(s.kind).title) + " → " + std::string(scheduleFamily(kind).title);
        out.changes.push_back({"/schedule/kind", quoted(kind)});
        for (const char* key : {"/schedule/actions", "/schedule/sequence_slices", "/schedule/memory_cap_gib"})
            out.changes.push_back({key, std::nullopt});
    }
    if (virtualStages != s.virtualStages) {
        out.text += (out.text.empty() ? "" : ", ") + arrow("chunks a rank", s.virtualStages, virtualStages);
        out.changes.push_back({"/schedule/virtual_stages", std::to_string(virtualStages)});
        out.changes.push_back({"/schedule/layers_per_stage", std::nullopt});
    }
    return out;
}

SuggestedEdit Edits::layersPerStage(const std::vector<int>& layers) const
{
    std::string json, moved;
    const std::vector<int>& before = m_scenario.schedule.layersPerStage;
    std::vector<std::pair<std::string, std::vector<int>>> changes; ///< "12 → 13", and the stages that it is of
    for (std::size_t i = 0; i < layers.size(); ++i) {
        json += (i > 0 ? "," : "") + std::to_string(layers[i]);
        if (i >= before.size() || before[i] == layers[i])
            continue;
        const std::string change = arrow(before[i], layers[i]);
        auto same = std::find_if(changes.begin(), changes.end(), [&](const auto& each) { return each.first == change; });
        if (same == changes.end())
            same = changes.insert(changes.end(), {change, {}});
        same->second.push_back(static_cast<int>(i));
    }
    for (const auto& [change, stages] : changes)
        moved += (moved.empty() ? "" : "; ") + change + (stages.size() > 1 ? " on stages " : " on stage ") + rangesText(stages);
    return set("/schedule/layers_per_stage", "[" + json + "]", "layers: " + moved);
}

SuggestedEdit Edits::zero(int stage) const
{
    return set("/layout/zero_stage", std::to_string(stage), arrow("ZeRO", m_scenario.layout.zeroStage, stage));
}

SuggestedEdit Edits::shardGroup(int ranks) const
{
    return set("/layout/dp_shard", std::to_string(ranks), arrow("shard group", m_scenario.layout.dpShard, ranks));
}

SuggestedEdit Edits::recompute(Recompute kind) const
{
    const std::string_view word = toWord(kRecomputeWords, kind);
    return set("/training/recompute", quoted(word), "recompute " + recomputeText(m_scenario) + " → " + std::string(word));
}

SuggestedEdit Edits::recompute(RecomputeModules modules) const
{
    if (modules.empty())
        return recompute(Recompute::none);
    std::string json;
    for (const auto& [word, module] : kRecomputeModuleWords)
        if (modules.has(module))
            json += (json.empty() ? "" : ",") + quoted(word);
    const Training& t = m_scenario.training;
    const std::string before = t.recompute == Recompute::selective ? spokenModules(t.recomputeModules)
                                                                   : std::string(toWord(kRecomputeWords, t.recompute));
    return set("/training/recompute", R"({"kind":"selective","modules":[)" + json + "]}",
               "recompute " + before + " → " + spokenModules(modules));
}

SuggestedEdit Edits::recomputeLayers(int layers) const
{
    return set("/training/recompute", R"({"kind":"full","layers":)" + std::to_string(layers) + "}",
               "recompute " + recomputeText(m_scenario) + " → " + layersText(layers));
}

SuggestedEdit Edits::fuseAttention() const
{
    return {"fused attention off → on", {{"/training/attention", "\"auto\""}, {"/training/flash_attention", "true"}}};
}

std::optional<SuggestedEdit> Edits::lossInChunks() const
{
    constexpr int kTokens = 2048;
    const Training& t = m_scenario.training;
    if (t.lossChunkTokens > 0 || std::int64_t{t.microBatchSize} * t.sequenceLength / m_scenario.layout.cp <= kTokens)
        return std::nullopt;
    return set("/training/loss_chunk_tokens", std::to_string(kTokens),
               "logits and loss of " + numberText(kTokens, Unit::count) + " tokens at a time");
}

std::optional<SuggestedEdit> Edits::narrowParameters() const
{
    const Training& t = m_scenario.training;
    const bool isIn8Bits = t.precision == Precision::fp8 || t.precision == Precision::mxfp8;
    if (!isIn8Bits || !t.stack.keepsNarrowWeights || m_scenario.layout.zeroStage == 0)
        return std::nullopt;
    return set("/training/stack/keeps_narrow_weights", "false", "parameters in 8 bits alone");
}

SuggestedEdit Edits::turnOn(std::string_view pointer, std::string_view name) const
{
    return set(pointer, "true", std::string(name) + " off → on");
}

SuggestedEdit Edits::set(std::string_view pointer, std::string json, std::string text)
{
    return {std::move(text), {{std::string(pointer), std::move(json)}}};
}

SuggestedEdit Edits::erase(std::string_view pointer, std::string text)
{
    return {std::move(text), {{std::string(pointer), std::nullopt}}};
}

SuggestedEdit Edits::both(SuggestedEdit first, const SuggestedEdit& second)
{
    first.text += ", " + second.text;
    first.changes.insert(first.changes.end(), second.changes.begin(), second.changes.end());
    return first;
}

bool recomputesEveryLayer(const Scenario& scenario)
{
    const std::vector<int>& chunks = scenario.schedule.layersPerStage;
    const int layers = scenario.training.recomputeLayers;
    return scenario.training.recompute == Recompute::full &&
           (layers == 0 || std::all_of(chunks.begin(), chunks.end(), [layers](int each) { return each <= layers; }));
}

void offer(Finding& finding, std::optional<SuggestedEdit> edit)
{
    if (edit && !edit->changes.empty())
        finding.suggestions.push_back(std::move(*edit));
}

} // namespace sim
