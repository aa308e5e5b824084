#include "sim/scenario/stack_json.h"

#include "sim/scenario/words.h"

namespace sim {
namespace {

/// The numbers of a stack that stand alone.
struct StackKey {
    const char* key;
    double Stack::*member;
};
constexpr StackKey kStackKeys[] = {{"gemm", &Stack::gemm},
                                   {"network", &Stack::network},
                                   {"launch_us", &Stack::launchUs},
                                   {"backward_launch_us", &Stack::backwardLaunchUs},
                                   {"collective_launch_us", &Stack::collectiveLaunchUs},
                                   {"expert_launch_us", &Stack::expertLaunchUs},
                                   {"cast_bytes", &Stack::castBytes},
                                   {"cast_launches", &Stack::castLaunches},
                                   {"optimizer_bytes", &Stack::optimizerBytes},
                                   {"gradient_bytes", &Stack::gradientBytes},
                                   {"weight_gradient_bytes", &Stack::weightGradientBytes},
                                   {"step_ms", &Stack::stepMs}};

/// "traffic": [forward, backward].
void readPair(const Json& json, const char* key, double& forward, double& backward)
{
    if (const Json* pair = memberOf(json, key); pair != nullptr && pair->is_array() && pair->size() == 2) {
        forward = valueAs<double>((*pair)[0]).value_or(forward);
        backward = valueAs<double>((*pair)[1]).value_or(backward);
    }
}

} // namespace

void readStack(const Json& json, Stack& stack)
{
    stack.id = memberOr(json, "id", stack.id);
    stack.name = memberOr(json, "name", stack.name);
    stack.date = memberOr(json, "date", stack.date);
    stack.attention = fromWord(kAttentionWords, memberOr<std::string>(json, "attention", {}), stack.attention);
    stack.cudaGraphs = fromWord(kCudaGraphsWords, memberOr<std::string>(json, "cuda_graphs", {}), stack.cudaGraphs);
    stack.gradientDtype = memberOr(json, "gradient_dtype", stack.gradientDtype);
    stack.softmaxMultiple = memberOr(json, "softmax_multiple", stack.softmaxMultiple);
    stack.padsVocabulary = memberOr(json, "pads_vocabulary", stack.padsVocabulary);
    stack.narrowGather = memberOr(json, "narrow_gather", stack.narrowGather);
    stack.narrowSaved = memberOr(json, "narrow_saved", stack.narrowSaved);
    stack.gathersAfterReduction = memberOr(json, "gathers_after_reduction", stack.gathersAfterReduction);
    stack.rerunsUnread = memberOr(json, "reruns_unread", stack.rerunsUnread);
    if (const Json* modules = memberOf(json, "selective"); modules != nullptr && modules->is_array()) {
        stack.selective = {};
        for (const Json& word : *modules)
            stack.selective.add(
                fromWord(kRecomputeModuleWords, valueAs<std::string>(word).value_or(""), RecomputeModule::coreAttention));
    }
    stack.sendsShards = memberOr(json, "sends_shards", stack.sendsShards);
    stack.reducesWhole = memberOr(json, "reduces_whole", stack.reducesWhole);
    stack.reducesWide = memberOr(json, "reduces_wide", stack.reducesWide);
    stack.plainTensorParallel = memberOr(json, "plain_tensor_parallel", stack.plainTensorParallel);
    stack.blocksLaunches = memberOr(json, "blocks_launches", stack.blocksLaunches);
    stack.gathersLogits = memberOr(json, "gathers_logits", stack.gathersLogits);
    stack.fusesExperts = memberOr(json, "fuses_experts", stack.fusesExperts);
    stack.repeatsKeys = memberOr(json, "repeats_keys", stack.repeatsKeys);
    stack.scattersSends = memberOr(json, "scatters_sends", stack.scattersSends);
    stack.gathersChunks = memberOr(json, "gathers_chunks", stack.gathersChunks);
    for (const auto& [key, member] : kStackKeys)
        stack.*member = memberOr(json, key, stack.*member);
    for (std::size_t part = 0; part < kStackPartNames.size(); ++part)
        if (const Json* given = memberOf(json, kStackPartNames[part])) {
            Fusion& fusion = stack.parts[part];
            readPair(*given, "traffic", fusion.traffic, fusion.backwardTraffic);
            readPair(*given, "launches", fusion.launches, fusion.backwardLaunches);
            fusion.saved = memberOr(*given, "saved", fusion.saved);
        }
}

Json toJson(const Stack& stack)
{
    Json json = Json::object();
    json["id"] = stack.id;
    json["name"] = stack.name;
    json["date"] = stack.date;
    json["attention"] = toWord(kAttentionWords, stack.attention);
    json["cuda_graphs"] = toWord(kCudaGraphsWords, stack.cudaGraphs);
    json["gradient_dtype"] = stack.gradientDtype;
    json["softmax_multiple"] = stack.softmaxMultiple;
    json["pads_vocabulary"] = stack.padsVocabulary;
    json["narrow_gather"] = stack.narrowGather;
    json["narrow_saved"] = stack.narrowSaved;
    json["gathers_after_reduction"] = stack.gathersAfterReduction;
    json["reruns_unread"] = stack.rerunsUnread;
    json["selective"] = Json::array();
    for (const auto& [word, module] : kRecomputeModuleWords)
        if (stack.selective.has(module))
            json["selective"].push_back(word);
    json["sends_shards"] = stack.sendsShards;
    json["reduces_whole"] = stack.reducesWhole;
    json["reduces_wide"] = stack.reducesWide;
    json["plain_tensor_parallel"] = stack.plainTensorParallel;
    json["blocks_launches"] = stack.blocksLaunches;
    json["gathers_logits"] = stack.gathersLogits;
    json["fuses_experts"] = stack.fusesExperts;
    json["repeats_keys"] = stack.repeatsKeys;
    json["scatters_sends"] = stack.scattersSends;
    json["gathers_chunks"] = stack.gathersChunks;
    for (const auto& [key, member] : kStackKeys)
        json[key] = number(stack.*member);
    for (std::size_t part = 0; part < kStackPartNames.size(); ++part) {
        const Fusion& fusion = stack.parts[part];
        json[std::string(kStackPartNames[part])] = {{"traffic", {number(fusion.traffic), number(fusion.backwardTraffic)}},
                                                    {"launches", {number(fusion.launches), number(fusion.backwardLaunches)}},
                                                    {"saved", number(fusion.saved)}};
    }
    return json;
}

} // namespace sim
