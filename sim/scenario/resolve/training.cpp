#include "sim/scenario/expert_load.h"
#include "sim/scenario/resolve/resolver.h"
#include "sim/scenario/stack_json.h"
#include "sim/scenario/usual_overlap.h"

#include <algorithm>

namespace sim {

void Resolver::readTraining(const Block& top)
{
    const Block from = block(top, "training");
    Training& training = m_out.scenario.training;
    const Layout& layout = m_out.scenario.layout;
    training.sequenceLength = m_out.scenario.model.maxPositionEmbeddings;
    from.read("sequence_length", training.sequenceLength);
    from.read("micro_batch_size", training.microBatchSize);
    // Enough micro-batches to fill a pipeline, as far as the key goes.
    const std::int64_t unit = std::max<std::int64_t>(1, std::int64_t{layout.dp} * training.microBatchSize);
    const std::int64_t microbatches = layout.pp > 1 ? 4LL * layout.pp : 1;
    training.globalBatchSize = clampToInt(unit * std::clamp<std::int64_t>(kMostSequences / unit, 1, microbatches));
    from.read("global_batch_size", training.globalBatchSize);
    from.read("tokens", training.tokens);
    for (const Precision usual : {Precision::bf16, Precision::fp16, Precision::fp32})
        if (m_out.scenario.cluster.gpu.peakTflops.contains(usual)) {
            training.precision = usual;
            break;
        }
    from.read("precision", kPrecisionWords, training.precision);
    bool saysModules = false;
    if (const Json* recompute = from.find("recompute")) {
        if (recompute->is_string()) {
            from.read("recompute", kRecomputeWords, training.recompute);
        } else {
            const Block settings = block(from, "recompute");
            settings.read("kind", kRecomputeWords, training.recompute);
            settings.read("layers", training.recomputeLayers);
            std::vector<std::string> words;
            saysModules = settings.read("modules", words) && training.recompute == Recompute::selective;
            if (saysModules) {
                training.recomputeModules = {};
                for (const std::string& word : words)
                    training.recomputeModules.add(fromWord(kRecomputeModuleWords, word, RecomputeModule::coreAttention));
            }
        }
    }
    readLora(from);
    from.read("optimizer", kOptimizerWords, training.optimizer);
    from.read("causal", training.causal);
    from.read("loss_chunk_tokens", training.lossChunkTokens);
    readStackOf(from);
    if (!saysModules)
        training.recomputeModules = training.stack.selective;
    readAttention(from);
    readMoe(from);
    readDocuments(block(from, "documents"));
    const Block offload = block(from, "offload");
    offload.read("optimizer", training.offload.optimizer);
    offload.read("activation_layers", training.offload.activationLayers);
    const Block overlap = block(from, "overlap");
    overlap.read("grad_reduce", training.overlap.gradReduce);
    training.overlap.paramGather = usuallyGathersAhead(m_out.scenario);
    training.overlap.saysParamGather.yes = overlap.read("param_gather", training.overlap.paramGather);
    overlap.read("tp_comm", training.overlap.tpComm);
    overlap.read("p2p", training.overlap.p2p);
    overlap.read("ep_comm", training.overlap.epComm);
}

/// Without targets all linear layers of attention and MLP: "all-linear" of PEFT. Beside experts those of attention.
void Resolver::readLora(const Block& from)
{
    const Block given = block(from, "lora");
    Model& model = m_out.scenario.model;
    given.read("rank", model.lora.rank);
    given.read("dropout", model.lora.dropout);
    given.read("fused", model.lora.fused);
    std::vector<std::string> words;
    if (given.read("targets", words)) {
        model.lora.targets = {};
        for (const std::string& word : words)
            model.lora.targets[static_cast<std::size_t>(fromWord(kLoraTargetWords, word, LoraTarget::query))] = true;
    } else if (model.lora.isOn()) {
        const auto set = [&model](LoraTarget target, bool on) { model.lora.targets[static_cast<std::size_t>(target)] = on; };
        const bool hasMlp = model.moeLayers() == 0;
        set(LoraTarget::gate, hasMlp && model.gatedMlp);
        set(LoraTarget::up, hasMlp);
        set(LoraTarget::down, hasMlp);
    }
}

/// Software that is not named is taken as today's usual for the GPU: fused, with a distributed optimizer.
void Resolver::readStackOf(const Block& from)
{
    static constexpr const char* kUsual = "megatron-te-2024";
    Stack& stack = m_out.scenario.training.stack;
    const Block given = basedBlock(from, "stack", "software stack", m_catalogue.stacks(),
                                   [this](const std::string& id) { return m_catalogue.stackJson(id); });
    const Json* const usual = given.baseId.empty() ? m_catalogue.stackJson(kUsual) : nullptr;
    stack.id = given.baseId.empty() ? kUsual : given.baseId;
    readStack(usual != nullptr ? *usual : given.base, stack);
    readStack(given.own, stack);
    // A stack written out whole says its id, too, and needs no base.
    if (given.baseId.empty() && stack.id != kUsual && m_catalogue.stackJson(stack.id) != nullptr &&
        2 * given.own.size() < toJson(stack).size())
        m_out.problems.push_back({m_file, given.pointer + "/id",
                                  "names the software " + quotedText(stack.id) +
                                      " alone: without a base its kernels are those of " + quotedText(kUsual) +
                                      "; nearest: base " + quotedText(stack.id),
                                  Severity::warning});
    // What software keeps gradients in beside 16-bit parameters; beside parameters of 32 bits it is those.
    // Where it has no master copy, gradients and moments are made like the parameters that it updates.
    Training& training = m_out.scenario.training;
    const bool isWide = elementBytes(training.precision) == 4;
    from.read("master_weights", training.masterWeights);
    std::string dtype = isWide ? "fp32" : training.masterWeights ? stack.gradientDtype : "bf16";
    from.read("gradient_dtype", dtype);
    training.gradientBytes = dtype == "bf16" ? 2 : 4;
    std::string moments = training.masterWeights || isWide ? "fp32" : "bf16";
    from.read("moment_dtype", moments);
    training.momentBytes = moments == "bf16" ? 2 : 4;
    readLoraBase(block(from, "lora"));
}

/// Transformer Engine's parameters in 8 bits (Megatron-Core's --fp8-param-gather) are what frozen layers have alone.
void Resolver::readLoraBase(const Block& given)
{
    Lora& lora = m_out.scenario.model.lora;
    const Training& training = m_out.scenario.training;
    const bool isIn8Bits = training.precision == Precision::fp8 || training.precision == Precision::mxfp8;
    if (lora.isOn() && isIn8Bits && training.stack.narrowSaved && !training.stack.keepsNarrowWeights)
        lora.base = LoraBase::fp8;
    given.read("base_dtype", kLoraBaseWords, lora.base);
}

/// `flash_attention` is older than `attention`, and counts where that leaves the choice open: false is unfused, and true is
/// the stack's kernel.
void Resolver::readAttention(const Block& from)
{
    Training& training = m_out.scenario.training;
    const bool flashGiven = from.read("flash_attention", training.flashAttention);
    AttentionKernel kernel = AttentionKernel::automatic;
    from.read("attention", kAttentionWords, kernel);
    const bool asksFused = flashGiven && training.flashAttention && kernel == AttentionKernel::automatic;
    if (kernel == AttentionKernel::automatic)
        kernel = flashGiven && !training.flashAttention ? AttentionKernel::unfused : training.stack.attention;
    if (kernel == AttentionKernel::automatic || (asksFused && kernel == AttentionKernel::unfused))
        kernel = AttentionKernel::flash2;
    training.attention = kernel;
    training.flashAttention = kernel != AttentionKernel::unfused;
}

void Resolver::readDocuments(const Block& from)
{
    Documents& documents = m_out.scenario.training.documents;
    from.read("lengths", documents.lengths);
    from.read("seed", documents.seed);
    if (!from.read("weights", documents.weights))
        documents.weights.assign(documents.lengths.size(), 1);
    else if (documents.lengths.empty())
        report("/training/documents", "weights need \"lengths\"");
    else if (documents.weights.size() != documents.lengths.size())
        report("/training/documents/weights", "the list has " + std::to_string(documents.weights.size()) +
                                                  " entries, and there are " + std::to_string(documents.lengths.size()) +
                                                  " lengths");
    else if (std::all_of(documents.weights.begin(), documents.weights.end(), [](double of) { return of == 0; }))
        report("/training/documents/weights", "no document is ever drawn");
}

void Resolver::readMoe(const Block& from)
{
    const Block given = block(from, "moe");
    MoeSettings& moe = m_out.scenario.training.moe;
    const int usual = elementBytes(m_out.scenario.training.precision);
    const auto bytesOf = [&](const char* key, int& bytes) {
        std::string word;
        bytes = usual;
        if (given.read(key, word))
            bytes = word == "fp32" ? 4 : word == "fp8" ? 1 : 2;
    };
    bytesOf("dispatch_dtype", moe.dispatchBytes);
    bytesOf("combine_dtype", moe.combineBytes);
    given.read("send_once_per_node", moe.sendOncePerNode);
    const Json* imbalance = given.find("imbalance");
    if (imbalance != nullptr && imbalance->is_array()) { // tokens of each expert
        std::vector<double> tokens;
        given.read("imbalance", tokens);
        const int experts = m_out.scenario.model.numExperts;
        if (static_cast<int>(tokens.size()) != experts)
            report("/training/moe/imbalance", "the list has " + std::to_string(tokens.size()) +
                                                  (tokens.size() == 1 ? " entry" : " entries") + ", and the model has " +
                                                  std::to_string(experts) + " experts");
        else if (std::all_of(tokens.begin(), tokens.end(), [](double of) { return of == 0; }))
            report("/training/moe/imbalance", "no expert has any tokens");
        moe.imbalance = std::clamp(expertImbalance(tokens, std::max(1, m_out.scenario.layout.ep)), 1.0, 10000.0);
    } else {
        given.read("imbalance", moe.imbalance);
    }
}

} // namespace sim
