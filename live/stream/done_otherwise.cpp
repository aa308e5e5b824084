#include "live/stream/done_otherwise.h"

#include "sim/scenario/head_exchange.h"

#include <string>

namespace live {

std::vector<sim::Problem> doneOtherwise(const sim::Scenario& scenario)
{
    const sim::Model& model = scenario.model;
    const sim::Layout& layout = scenario.layout;
    const sim::Training& training = scenario.training;
    const sim::Stack& stack = training.stack;
    std::vector<sim::Problem> found;
    const auto tell = [&](bool is, const char* key, const std::string& here, const std::string& there) {
        if (is)
            found.push_back({.file = {},
                             .pointer = std::string("/training/stack/") + key,
                             .message = "live training " + here + "; the simulator " + there,
                             .severity = sim::Severity::warning});
    };
    if (const int tp = layout.tp; tp > 1) {
        const bool sharesHeads = !model.isLatentAttention() && tp > model.numKeyValueHeads;
        const bool isCut = sharesHeads && model.headDim % (tp / model.numKeyValueHeads) == 0;
        tell(sharesHeads && stack.gathersHeads && !isCut, "gathers_heads",
             "has copies of key-value heads, whose " + std::to_string(model.headDim) + " elements (head_dim) " +
                 std::to_string(tp / model.numKeyValueHeads) + " ranks cannot cut into equal parts, and adds up their gradients",
             "has heads of any size gathered");
        tell(sharesHeads && !stack.gathersHeads, "gathers_heads",
             "adds up the gradients of key-value heads that several ranks keep", "leaves that sum out");
        tell(stack.plainTensorParallel && stack.gathersApart, "gathers_apart",
             "gathers once what several products read, and reduces the sum of its gradients",
             "has each product gather and reduce by itself");
        tell(stack.plainTensorParallel && !stack.gathersApart, "plain_tensor_parallel",
             "reduces the sum of gradients of what several products read, and under sequence parallelism gathers again what it "
             "did "
             "not keep",
             "has each product's gradient reduced by itself and keeps what was gathered");
        tell(stack.wholeEmbedding, "whole_embedding", "gives each rank of tp a part of the embedding's vocabulary",
             "gives each the whole");
        tell(stack.wholeHead, "whole_head", "gives each rank of tp a part of the head's vocabulary", "gives each the whole");
        tell(stack.gathersLogits && !stack.wholeHead, "gathers_logits", "takes the loss of logits that stay in parts",
             "has them gathered first");
    }
    tell(sim::dealsHeads(scenario), "exchanges_heads", "sends keys and values round a ring of cp",
         "exchanges heads for parts of the sequence");
    if (layout.zeroStage == 1 && layout.dp * layout.cp > 1) {
        const std::string here = "reduces gradients to the ranks' shards and gathers what they updated";
        tell(stack.sendsShards, "sends_shards", here, "has whole gradients on every rank, and updates broadcast");
        tell(stack.reducesWhole, "reduces_whole", here, "has whole gradients on every rank");
    }
    return found;
}

} // namespace live
