// A choice as settings of the scenario, and what no choice changes.
#include "sim/frameworks/limits.h"
#include "sim/planner/free_keys.h"
#include "sim/scenario/pointer_text.h"
#include "sim/scenario/words.h"

#include <bit>

namespace sim {

std::vector<PlanSetting> PlanSpace::settingsOf(const Choice& choice) const
{
    std::vector<PlanSetting> settings;
    const auto add = [&](bool isFree, const char* pointer, std::string value) {
        if (isFree)
            settings.emplace_back(pointer, std::move(value));
    };
    const PlanGrid& grid = choice.grid;
    add(free.tp, "layout.tp", std::to_string(grid.tp));
    add(free.cp, "layout.cp", std::to_string(grid.cp));
    add(free.pp, "layout.pp", std::to_string(grid.pp));
    add(free.dp, "layout.dp", std::to_string(grid.dp));
    const bool moe = base.model.numExperts > 0;
    add(free.ep, "layout.ep", std::to_string(grid.ep));
    add(free.etp && (moe || m_etpGiven), "layout.etp", std::to_string(grid.etp));
    add(free.order || m_orderFollows, "layout.order", "\"" + orders[asIndex(choice.order)].axes + "\"");
    add(free.placement, "layout.placement",
        orders[asIndex(choice.order)].placement == PlacementRule::packed ? "\"packed\"" : "\"round-robin\"");
    add(free.sequenceParallel, "layout.sequence_parallel", choice.sequenceParallel ? "true" : "false");
    add(free.zeroStage, "layout.zero_stage", std::to_string(choice.zeroStage));
    add(free.dpShard, "layout.dp_shard", std::to_string(choice.dpShard));
    add(free.kind, "schedule.kind", "\"" + kinds[asIndex(choice.kind)] + "\"");
    add(free.chunks, "schedule.virtual_stages", std::to_string(choice.chunks));
    add(free.microBatch, "training.micro_batch_size", std::to_string(choice.microBatch));
    add(free.batch, "training.global_batch_size", std::to_string(choice.batch));
    if (m_unsaidBatch)
        settings.push_back(*m_unsaidBatch);
    add(free.recompute, "training.recompute",
        choice.recompute == Recompute::none ? "\"none\""
        : choice.recompute == Recompute::selective
            ? selectiveJson
            : R"({"kind":"full","layers":)" + std::to_string(choice.recomputeLayers) + "}");
    if ((m_layersGiven && !m_layersFixed) || choice.deal > 0) {
        std::string list;
        for (const int layers : layersOfStages(choice))
            list += (list.empty() ? "[" : ",") + std::to_string(layers);
        settings.emplace_back("schedule.layers_per_stage", list + "]");
    }
    if (m_nodes > 0)
        settings.emplace_back("cluster.nodes", std::to_string(m_nodes));
    const Scenario scenario = scenarioOf(choice);
    if (m_group == 0 && scenario.schedule.microbatchGroup != grid.pp)
        settings.emplace_back("schedule.microbatch_group", std::to_string(scenario.schedule.microbatchGroup));
    if (scenario.layout.reduceEachMicrobatch != base.layout.reduceEachMicrobatch && scenario.layout.zeroStage >= 2 &&
        grid.pp == 1)
        settings.emplace_back("layout.reduce_each_microbatch", scenario.layout.reduceEachMicrobatch ? "true" : "false");
    const Training& training = scenario.training;
    if (m_stackFollows)
        settings.emplace_back("training.stack", "\"" + training.stack.id + "\"");
    const Overlap& mine = training.overlap;
    constexpr std::array<std::pair<const char*, bool Overlap::*>, 5> kOverlaps{
        {{"training.overlap.grad_reduce", &Overlap::gradReduce},
         {"training.overlap.param_gather", &Overlap::paramGather},
         {"training.overlap.tp_comm", &Overlap::tpComm},
         {"training.overlap.p2p", &Overlap::p2p},
         {"training.overlap.ep_comm", &Overlap::epComm}}};
    for (const auto& [pointer, member] : kOverlaps)
        if (mine.*member != base.training.overlap.*member)
            settings.emplace_back(pointer, mine.*member ? "true" : "false");
    return settings;
}

std::map<std::string, std::string> PlanSpace::heldFixed() const
{
    std::map<std::string, std::string> all;
    const auto hold = [&](const std::string& pointer, const std::string& otherwise) {
        if (std::string value = m_document.get(pointer).value_or(otherwise); !value.empty())
            all[slashed(pointer)] = std::move(value);
    };
    const auto quoted = [](std::string_view word) { return "\"" + std::string(word) + "\""; };
    const bool layersFollow = m_layersGiven && !m_layersFixed; // the file's list is of its own layout
    for (const FreeKeyFacts& key : kFreeKeys)
        if (!(free.*key.isFree) && key.isFree != &FreeKeys::batch && !(layersFollow && key.isFree == &FreeKeys::layersPerStage))
            hold(std::string(key.pointer), key.pointer == "layout.order"               ? quoted(orders.front().axes)
                                           : key.isFree == &FreeKeys::layersPerStage   ? std::string()
                                           : key.isFree == &FreeKeys::placement        ? quoted("packed")
                                           : key.isFree == &FreeKeys::kind             ? quoted(kinds.front())
                                           : key.isFree == &FreeKeys::recompute        ? quoted("none")
                                           : key.isFree == &FreeKeys::sequenceParallel ? "false"
                                           : key.isFree == &FreeKeys::zeroStage        ? "0"
                                                                                       : "1");
    if (!free.batch)
        hold("training.global_batch_size", std::to_string(base.training.globalBatchSize));
    hold("training.sequence_length", std::to_string(base.training.sequenceLength));
    hold("training.precision", quoted(toWord(kPrecisionWords, base.training.precision)));
    // What the search does not try, and a step may be faster or leaner with.
    hold("training.offload.optimizer", "0");
    hold("training.offload.activation_layers", "0");
    hold("training.loss_chunk_tokens", "0");
    for (const char* key : {"training.lora", "training.attention", "training.flash_attention", "layout.reduce_each_microbatch"})
        hold(key, {});
    if (!m_stackFollows && softwareText(m_request.framework, m_document, base.training.stack.id).empty())
        hold("training.stack", quoted(base.training.stack.id));
    hold("schedule.microbatch_group", {});
    if (base.schedule.memoryCapGib > 0)
        hold("schedule.memory_cap_gib", {});
    return all;
}

/// "grad_reduce, p2p on; tp_comm, ep_comm off": what hides transfers is not searched.
std::string PlanSpace::overlapText() const
{
    const Overlap& overlap = base.training.overlap;
    std::string on, off;
    for (const auto& [name, is] : {std::pair{"grad_reduce", overlap.gradReduce},
                                   {"tp_comm", overlap.tpComm},
                                   {"p2p", overlap.p2p},
                                   {"ep_comm", overlap.epComm}})
        (is ? on : off) += ((is ? on : off).empty() ? "" : ", ") + std::string(name);
    const std::string gather = !m_gatherGiven ? "param_gather as the ZeRO stage usually has it" : std::string();
    if (m_gatherGiven)
        (overlap.paramGather ? on : off) += ((overlap.paramGather ? on : off).empty() ? "" : ", ") + std::string("param_gather");
    std::string out = on.empty() ? std::string() : on + " on";
    for (const std::string& more : {off.empty() ? std::string() : off + " off", gather})
        out += (out.empty() || more.empty() ? "" : "; ") + more;
    return out;
}

/// Of domains of several nodes whose size is no power of two, which groups are: empty for others.
std::string PlanSpace::domainsText() const
{
    const int span = base.cluster.tiers.empty() ? 0 : base.cluster.tiers.front().span;
    const int whole = span > 0 ? static_cast<int>(std::bit_floor(static_cast<unsigned>(span))) : 0;
    if (base.cluster.tiers.size() < 2 || span <= base.cluster.gpusPerNode || span >= gpus || whole == span)
        return {};
    return "ranks fill all " + std::to_string(span) + " GPUs of a domain before the next one; span " + std::to_string(whole) +
           ", which leaves the others idle and groups whole, is not tried";
}

std::map<std::string, std::string> PlanSpace::heldRules() const
{
    std::map<std::string, std::string> all;
    const std::string batch = std::to_string(base.training.globalBatchSize);
    if (free.batch) {
        std::string plannedByCost;
        for (const std::string& kind : kinds)
            if (scheduleFamily(kind).plansByCost)
                plannedByCost += (plannedByCost.empty() ? "; the largest alone of " : ", ") + kind;
        all["/training/global_batch_size"] = "at most " + batch + ", by the time that a token takes" + plannedByCost;
    }
    if (const std::vector<int>& ramp = m_request.rampBatches; !ramp.empty())
        all["/training/global_batch_size"] = "from " + std::to_string(ramp.front()) + " to " + batch + " in " +
                                             std::to_string(ramp.size()) + (ramp.size() == 1 ? " step" : " steps") +
                                             ", timed at the last";
    if (const Framework* const framework = findFramework(m_request.framework))
        all["/training/overlap"] = "as " + std::string(framework->name) + " hides transfers";
    else
        all["/training/overlap"] = overlapText();
    if (std::string domains = domainsText(); !domains.empty())
        all["/cluster/tiers"] = std::move(domains);
    if (std::string software = softwareText(m_request.framework, m_document, base.training.stack.id); !software.empty())
        all["/training/stack"] = std::move(software);
    if (free.layersPerStage)
        all["/schedule/layers_per_stage"] =
            "balanced, or dealt so that the slowest rank is as fast as it can be within its memory";
    else if (!m_layersGiven && !m_document.get("schedule.layers_per_stage"))
        all["/schedule/layers_per_stage"] = "balanced";
    if (!m_document.get("schedule.microbatch_group"))
        all["/schedule/microbatch_group"] = m_request.framework == "torchtitan"
                                                ? "as PyTorch deals them, in equal rounds of pp or more, or all of them in one"
                                                : "as many as pp";
    // Limits of the search, where one leaves something out.
    bool isOneRank = false, hasMicroBatches = false, hasChunks = false;
    for (const PlanGrid& grid : grids()) {
        const int sequences = base.training.globalBatchSize;
        isOneRank = isOneRank || grid.pp == 1;
        hasMicroBatches = hasMicroBatches || ((free.batch || sequences % grid.dp == 0) && sequences / grid.dp > kMostMicroBatch);
        for (const std::string& kind : kinds)
            hasChunks = hasChunks || (scheduleFamily(kind).chunks.most == 0 && (grid.pp > 1 || !free.kind) &&
                                      chunksThatHaveLayers(grid, scheduleFamily(kind)) > kMostChunks);
    }
    // ZeRO 2 and 3 of one stage: whether gradients are cut micro-batch by micro-batch, or wait whole for one reduction.
    std::string stages;
    for (const int stage : {2, 3})
        if (free.zeroStage ? takesZeroStage(m_request.framework, base, stage, gpus) : held.zeroStage == stage)
            stages += (stages.empty() ? "" : " and ") + std::to_string(stage);
    if (!m_reductionGiven && !stages.empty() && isOneRank && gpus > 1)
        all["/layout/reduce_each_microbatch"] =
            m_request.framework == "huggingface"
                ? "false, as Accelerate has it: with ZeRO " + stages + " gradients wait whole for a step's last micro-batch"
                : "true: with ZeRO " + stages +
                      " gradients are reduced with each micro-batch; once a step takes fewer transfers and more memory";
    if (free.kind)
        all["/schedule/kind"] =
            "of those that deal whole sequences and make their own order: not seq-1f1b, auto, custom" +
            (!isOneRank || !free.chunks
                 ? std::string()
                 : "; where pp is 1, 1f1b alone" +
                       std::string(base.model.numExperts > 0 ? ", and dualpipe-v where experts are spread" : "") +
                       ": other orders of one rank differ little");
    if (free.microBatch && hasMicroBatches)
        all["/training/micro_batch_size"] = "at most " + std::to_string(kMostMicroBatch);
    if (free.chunks && hasChunks)
        all["/schedule/virtual_stages"] = "at most " + std::to_string(kMostChunks);
    if (free.recompute)
        all["/training/recompute"] =
            std::string("none, full from the first layer of each chunk on, or selective with ") +
            (selectiveJson.starts_with('{') ? "the modules that the scenario gives" : "its usual modules") + ": one set of them";
    return all;
}

} // namespace sim
