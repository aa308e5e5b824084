#include "sim/scenario/stack_json.h"

#include "sim/scenario/words.h"

#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <variant>

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
                                   {"gather_bytes", &Stack::gatherBytes},
                                   {"weight_gradient_bytes", &Stack::weightGradientBytes},
                                   {"step_ms", &Stack::stepMs},
                                   {"ring_merge_bytes", &Stack::ringMergeBytes},
                                   {"ring_gradient_bytes", &Stack::ringGradientBytes},
                                   {"sequence_copy_bytes", &Stack::sequenceCopyBytes},
                                   {"sharded_loss_saved", &Stack::shardedLossSaved}};

/// What is counted.
struct StackCount {
    const char* key;
    std::int64_t Stack::*member;
};
constexpr StackCount kStackCounts[] = {{"update_moments", &Stack::updateMoments},
                                       {"updated_together", &Stack::updatedTogether},
                                       {"reduce_bucket", &Stack::reduceBucket},
                                       {"reductions_ahead", &Stack::reductionsAhead}};

/// What the software does or does not.
struct StackFlag {
    const char* key;
    bool Stack::*member;
};
constexpr StackFlag kStackFlags[] = {{"pads_vocabulary", &Stack::padsVocabulary},
                                     {"narrow_gather", &Stack::narrowGather},
                                     {"narrow_reduce", &Stack::narrowReduce},
                                     {"narrow_attention", &Stack::narrowAttention},
                                     {"narrow_saved", &Stack::narrowSaved},
                                     {"shares_attention_output", &Stack::sharesAttentionOutput},
                                     {"keeps_narrow_weights", &Stack::keepsNarrowWeights},
                                     {"gathers_after_reduction", &Stack::gathersAfterReduction},
                                     {"gathers_ahead", &Stack::gathersAhead},
                                     {"reruns_unread", &Stack::rerunsUnread},
                                     {"keeps_unread", &Stack::keepsUnread},
                                     {"passes_gradients", &Stack::passesGradients},
                                     {"offloads_gradients", &Stack::offloadsGradients},
                                     {"joins_gradients", &Stack::joinsGradients},
                                     {"keeps_loss_head", &Stack::keepsLossHead},
                                     {"sends_shards", &Stack::sendsShards},
                                     {"reduces_whole", &Stack::reducesWhole},
                                     {"reduces_wide", &Stack::reducesWide},
                                     {"parameters_are_master", &Stack::parametersAreMaster},
                                     {"plain_tensor_parallel", &Stack::plainTensorParallel},
                                     {"gathers_apart", &Stack::gathersApart},
                                     {"exchanges_heads", &Stack::exchangesHeads},
                                     {"reduces_among_all", &Stack::reducesAmongAll},
                                     {"whole_embedding", &Stack::wholeEmbedding},
                                     {"whole_head", &Stack::wholeHead},
                                     {"blocks_launches", &Stack::blocksLaunches},
                                     {"gathers_logits", &Stack::gathersLogits},
                                     {"gathers_heads", &Stack::gathersHeads},
                                     {"fuses_experts", &Stack::fusesExperts},
                                     {"repeats_keys", &Stack::repeatsKeys},
                                     {"ring_gradients_wide", &Stack::ringGradientsWide},
                                     {"scatters_sends", &Stack::scattersSends},
                                     {"keeps_messages", &Stack::keepsMessages},
                                     {"keeps_outputs", &Stack::keepsOutputs},
                                     {"gathers_chunks", &Stack::gathersChunks}};

/// All by their keys: to look for each of them among a stack's forty took a fifth of the time in which a scenario is read.
const auto& membersByKey()
{
    static const auto kMembers = [] {
        std::unordered_map<std::string_view, std::variant<bool Stack::*, double Stack::*, std::int64_t Stack::*>> out;
        for (const auto& [key, member] : kStackFlags)
            out.emplace(key, member);
        for (const auto& [key, member] : kStackKeys)
            out.emplace(key, member);
        for (const auto& [key, member] : kStackCounts)
            out.emplace(key, member);
        return out;
    }();
    return kMembers;
}

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
    if (const Json* modules = memberOf(json, "selective"); modules != nullptr && modules->is_array()) {
        stack.selective = {};
        for (const Json& word : *modules)
            stack.selective.add(
                fromWord(kRecomputeModuleWords, valueAs<std::string>(word).value_or(""), RecomputeModule::coreAttention));
    }
    for (const auto& [key, value] : json.get_ref<const Json::object_t&>())
        if (const auto found = membersByKey().find(key); found != membersByKey().end())
            std::visit(
                [&stack, &given = value](auto member) {
                    auto& target = stack.*member;
                    target = valueAs<std::remove_reference_t<decltype(target)>>(given).value_or(target);
                },
                found->second);
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
    json["selective"] = Json::array();
    for (const auto& [word, module] : kRecomputeModuleWords)
        if (stack.selective.has(module))
            json["selective"].push_back(word);
    for (const auto& [key, member] : kStackFlags)
        json[key] = stack.*member;
    for (const auto& [key, member] : kStackKeys)
        json[key] = number(stack.*member);
    for (const auto& [key, member] : kStackCounts)
        json[key] = stack.*member;
    for (std::size_t part = 0; part < kStackPartNames.size(); ++part) {
        const Fusion& fusion = stack.parts[part];
        json[std::string(kStackPartNames[part])] = {{"traffic", {number(fusion.traffic), number(fusion.backwardTraffic)}},
                                                    {"launches", {number(fusion.launches), number(fusion.backwardLaunches)}},
                                                    {"saved", number(fusion.saved)}};
    }
    return json;
}

} // namespace sim
