// torchtitan, DeepSpeed, nanotron, Accelerate: each what it can say of a scenario.
#include "sim/frameworks/dialects/torchtitan_flavours.h"
#include "sim/frameworks/export/writers.h"
#include "sim/frameworks/limits.h"
#include "sim/frameworks/placements.h"

#include "sim/scenario/words.h"
#include "sim/text/nearest.h"

#include <algorithm>

namespace sim::frameworks {

const char* dtypeWord(Precision precision)
{
    return precision == Precision::fp16                                   ? "float16"
           : precision == Precision::fp32 || precision == Precision::tf32 ? "float32"
                                                                          : "bfloat16";
}

namespace {

/// How the layers are dealt out: by what embedding and output count for, or where that does not come out so, each stage by name.
std::string titanStages(const Scenario& s)
{
    const std::vector<int>& counts = s.schedule.layersPerStage;
    const int layers = s.model.numHiddenLayers, stages = static_cast<int>(counts.size());
    const bool hasUsualChunks = s.schedule.virtualStages == (s.schedule.kind == "1f1b" || s.schedule.kind == "gpipe" ? 1 : 2);
    if (stages == 0)
        return {};
    constexpr int kMost = 8; // layers that embedding or output may count for
    for (int first = 0; first <= kMost; ++first)
        for (int last = 0; last <= kMost; ++last) {
            const int units = layers + first + last, each = (units + stages - 1) / stages;
            if (std::max(first, last) > units / stages || titanLayers(layers, stages, first, last) != counts ||
                *std::min_element(counts.begin(), counts.end()) < 1 || (!hasUsualChunks && (units + each - 1) / each != stages))
                continue;
            return "pipeline_parallel_first_stage_less_layers = " + std::to_string(first) +
                   "\npipeline_parallel_last_stage_less_layers = " + std::to_string(last) + "\n" +
                   (hasUsualChunks ? std::string() : "pipeline_parallel_layers_per_stage = " + std::to_string(each) + "\n");
        }
    std::string text = "module_fqns_per_model_part = [\n";
    for (int stage = 0, layer = 0; stage < stages; ++stage) {
        std::string modules = stage == 0 ? "\"tok_embeddings\"" : "";
        const auto add = [&modules](const std::string& module) { modules += (modules.empty() ? "\"" : ", \"") + module + "\""; };
        for (int i = 0; i < counts[static_cast<std::size_t>(stage)]; ++i)
            add("layers." + std::to_string(layer++));
        if (stage == stages - 1) {
            add("norm");
            add("output");
        }
        text += "    [" + modules + "],\n";
    }
    return text + "]\n";
}

/// Its converter of experts' products in 8 bits knows neither pipeline stages nor context-parallel ranks.
bool convertsExperts(const Scenario& s)
{
    return s.model.numExperts > 0 && (s.training.precision != Precision::fp8 || (s.layout.pp == 1 && s.layout.cp == 1));
}

std::string titanConverters(const Scenario& s)
{
    const std::string form = s.training.precision == Precision::fp8 ? "float8" : "mx";
    std::string text = "converters = [\"quantize.linear." + form + "\"";
    if (convertsExperts(s))
        text += ", \"quantize.grouped_mm." + form + "\"";
    text += "]\n";
    return text;
}

} // namespace

std::string writeTorchtitan(const Scenario& s)
{
    refuseWhatBreaks("torchtitan", s);
    const Layout& l = s.layout;
    const Training& t = s.training;
    std::string text = "[model]\n";
    const TitanName* const found = titanName(s.model.base);
    if (found != nullptr && found->isGone) // the keys below are younger than that
        text +=
            "# torchtitan has no Llama 2 since December 2024, and so none of this flavour; add its sizes in its model registry\n";
    text += found != nullptr ? "name = \"" + std::string(found->name) + "\"\nflavor = \"" + std::string(found->flavour) + "\"\n"
                             : "# torchtitan names models by flavour and has none like this one; add one in its model "
                               "registry\nname = \"llama3\"\nflavor = \"" +
                                   (s.model.base.empty() ? std::string("custom") : s.model.base) + "\"\n";
    if (isNarrow(t.precision))
        text += titanConverters(s);
    const int microbatches = s.microbatches();
    const int local = l.pp > 1 ? t.microBatchSize * microbatches : t.microBatchSize;
    text += "\n[training]\nlocal_batch_size = " + std::to_string(local) +
            "\nglobal_batch_size = " + std::to_string(t.globalBatchSize) + "\nseq_len = " + std::to_string(t.sequenceLength) +
            "\n";
    if (t.tokens > 0)
        text += "steps = " + std::to_string(stepsOfRun(s)) + "\n";
    if (t.precision == Precision::fp32 || t.precision == Precision::tf32)
        text += "mixed_precision_param = \"float32\"\n";
    const int shard = titanShards(l);
    text += "\n[parallelism]\ndata_parallel_replicate_degree = " + std::to_string(l.dp / std::max(1, shard)) +
            "\ndata_parallel_shard_degree = " + std::to_string(shard) + "\ntensor_parallel_degree = " + std::to_string(l.tp) +
            "\ncontext_parallel_degree = " + std::to_string(l.cp) + "\npipeline_parallel_degree = " + std::to_string(l.pp) + "\n";
    if (l.zeroStage == 2 || l.zeroStage == 3)
        text += std::string("fsdp_reshard_after_forward = \"") +
                (l.zeroStage == 2 || !l.reshardAfterForward ? "never" : "always") + "\"\n";
    if (t.overlap.tpComm && l.tp > 1)
        text += "enable_async_tensor_parallel = true\n";
    if (l.ep > 1)
        text += "expert_parallel_degree = " + std::to_string(l.ep) +
                "\nexpert_tensor_parallel_degree = " + std::to_string(l.etp) + "\n";
    if (l.ep > 1 && t.moe.sendOncePerNode && l.etp == 1)
        text += "expert_parallel_comm_backend = \"deepep\"\n";
    if (l.pp > 1) {
        static constexpr std::pair<std::string_view, std::string_view> kSchedules[] = {
            {"gpipe", "GPipe"},
            {"1f1b", "1F1B"},
            {"interleaved-1f1b", "Interleaved1F1B"},
            {"looped-bfs", "LoopedBFS"},
            {"interleaved-zb", "InterleavedZeroBubble"},
            {"zb-v", "ZBVZeroBubble"},
            {"dualpipe-v", "DualPipeV"}};
        for (const auto& [kind, word] : kSchedules)
            if (kind == s.schedule.kind)
                text += "pipeline_parallel_schedule = \"" + std::string(word) + "\"\n";
        text += "pipeline_parallel_microbatch_size = " + std::to_string(t.microBatchSize) + "\n";
        text += titanStages(s);
    }
    text += std::string("\n[activation_checkpoint]\nmode = \"") + std::string(toWord(kRecomputeWords, t.recompute)) + "\"\n";
    if (t.recompute == Recompute::selective)
        text += "selective_ac_option = \"op\"\n";
    if (t.stack.id.starts_with("pytorch-compiled"))
        text += std::string("\n[compile]\nenable = true\ncomponents = [\"model\"") +
                (t.stack.id == "pytorch-compiled" ? "" : ", \"loss\"") + "]\n";
    if (isNarrow(t.precision) && convertsExperts(s))
        text += "\n[quantize.grouped_mm." + std::string(t.precision == Precision::fp8 ? "float8" : "mx") +
                "]\nfqns = [\"experts\"]\n";
    return text;
}

std::string writeDeepSpeed(const Scenario& s)
{
    refuseWhatBreaks("deepspeed", s);
    const Training& t = s.training;
    Json root{{"train_batch_size", t.globalBatchSize},
              {"train_micro_batch_size_per_gpu", t.microBatchSize},
              {"gradient_accumulation_steps", s.microbatches()}};
    Json zero{{"stage", s.layout.zeroStage}, {"overlap_comm", t.overlap.gradReduce}};
    if (s.layout.zeroStage == 3 && s.layout.dpShard < s.layout.dp * s.layout.cp)
        zero["mics_shard_size"] = s.layout.dpShard;
    if (t.offload.optimizer > 0)
        zero["offload_optimizer"] = {{"device", "cpu"}, {"ratio", number(t.offload.optimizer)}};
    if (s.layout.zeroStage >= 2 && t.stack.reduceBucket > 0)
        zero["reduce_bucket_size"] = t.stack.reduceBucket;
    root["zero_optimization"] = zero;
    if (t.precision == Precision::fp16)
        root["fp16"] = {{"enabled", true}};
    else if (t.precision != Precision::fp32 && t.precision != Precision::tf32)
        root["bf16"] = {{"enabled", true}};
    const bool isWhole = t.precision == Precision::fp32 || t.precision == Precision::tf32;
    if (s.layout.zeroStage > 0 && t.gradientBytes != (isWhole ? 4 : 2)) // else they are added up in the model's own format
        root["data_types"] = {{"grad_accum_dtype", t.gradientBytes == 4 ? "fp32" : "bf16"}};
    if (s.layout.tp > 1)
        root["tensor_parallel"] = {{"autotp_size", s.layout.tp}};
    if (s.layout.cp > 1) { // which deepspeed.initialize reads beside each other alone
        root["sequence_parallel_size"] = s.layout.cp;
        root["data_parallel_size"] = s.layout.dp;
    }
    if (s.layout.ep > 1)
        root["expert_parallel"] = {{"enabled", true}, {"autoep_size", s.layout.ep}};
    if (s.layout.pp > 1) {
        root["pipeline"] = {{"stages", s.layout.pp}};
        if (t.recompute == Recompute::full)
            root["pipeline"]["activation_checkpoint_interval"] = 1;
    }
    if (t.optimizer == Optimizer::sgd)
        root["optimizer"] = {{"type", "SGD"}};
    return prettyText(root);
}

std::string writeNanotron(const Scenario& s)
{
    refuseWhatBreaks("nanotron", s);
    const Layout& l = s.layout;
    const Model& m = s.model;
    const Training& t = s.training;
    // Layers without rotation are its Qwen's alone, and each n-th of a multiple of n.
    const bool skipsRope = m.noRopeLayerInterval > 0 && m.numHiddenLayers % m.noRopeLayerInterval == 0;
    Json config{{m.qkvBias || m.numExperts > 0 || skipsRope ? "is_qwen2_config" : "is_llama_config", true},
                {"num_hidden_layers", m.numHiddenLayers},
                {"hidden_size", m.hiddenSize},
                {"intermediate_size", m.intermediateSize},
                {"num_attention_heads", m.numAttentionHeads},
                {"num_key_value_heads", m.numKeyValueHeads},
                {"vocab_size", m.vocabSize},
                {"max_position_embeddings", m.maxPositionEmbeddings},
                {"tie_word_embeddings", m.tieWordEmbeddings},
                {"rope_theta", number(m.ropeTheta)},
                {"rms_norm_eps", number(m.rmsNormEps)},
                {"hidden_act", m.hiddenAct == HiddenActivation::gelu ? "gelu" : "silu"}};
    if (m.qkvBias)
        config["attention_bias"] = true;
    if (skipsRope)
        config["no_rope_layer"] = m.noRopeLayerInterval;
    if (m.slidingWindow > 0)
        config["sliding_window_size"] = m.slidingWindow;
    if (m.numExperts > 0) {
        Json moe{{"num_experts", m.numExperts},
                 {"top_k", m.numExpertsPerTok},
                 {"moe_intermediate_size", m.moeIntermediateSize},
                 {"enable_shared_expert", m.numSharedExperts > 0}};
        if (m.numSharedExperts > 0)
            moe["shared_expert_intermediate_size"] = m.numSharedExperts * m.moeIntermediateSize;
        config["moe_config"] = moe;
    }
    Json root{{"parallelism",
               {{"dp", l.dp},
                {"pp", l.pp},
                {"tp", l.tp},
                {"context_parallel_size", l.cp},
                {"expert_parallel_size", 1},
                {"pp_engine", s.schedule.kind == "gpipe" ? "afab" : "1f1b"},
                {"tp_mode", l.sequenceParallel || l.tp == 1 ? "REDUCE_SCATTER" : "ALL_REDUCE"},
                {"tp_linear_async_communication", t.overlap.tpComm && l.tp > 1},
                {"recompute_layer", t.recompute == Recompute::full}}},
              {"tokens",
               {{"sequence_length", t.sequenceLength},
                {"micro_batch_size", t.microBatchSize},
                {"batch_accumulation_per_replica", s.microbatches()}}},
              {"optimizer", {{"zero_stage", std::min(l.zeroStage, 1)}, {"accumulate_grad_in_fp32", t.gradientBytes == 4}}},
              {"model", {{"dtype", dtypeWord(t.precision)}, {"make_vocab_size_divisible_by", 1}, {"model_config", config}}}};
    if (t.tokens > 0)
        root["tokens"]["train_steps"] = stepsOfRun(s);
    return yamlText(root);
}

std::string writeAccelerate(const Scenario& s)
{
    refuseWhatBreaks("huggingface", s);
    const Layout& l = s.layout;
    const int shard = l.zeroStage == 0 ? 1 : std::max(1, l.dpShard / l.cp);
    const int replicate = std::max(1, l.dp / shard);
    const int perNode = std::max(1, std::min(s.cluster.gpusPerNode, l.worldSize()));
    Json root{{"compute_environment", "LOCAL_MACHINE"},
              {"distributed_type", l.zeroStage == 0 && l.tp == 1 && l.cp == 1 ? "MULTI_GPU" : "FSDP"}};
    if (root["distributed_type"] == "FSDP")
        root["fsdp_config"] = {{"fsdp_version", 2},
                               {"fsdp_reshard_after_forward", l.zeroStage != 2},
                               {"fsdp_activation_checkpointing", s.training.recompute == Recompute::full}};
    root["mixed_precision"] = s.training.precision == Precision::fp16   ? "fp16"
                              : isNarrow(s.training.precision)          ? "fp8"
                              : s.training.precision == Precision::bf16 ? "bf16"
                                                                        : "no";
    root["num_machines"] = std::max(1, l.worldSize() / perNode);
    root["num_processes"] = l.worldSize();
    root["gradient_accumulation_steps"] = s.microbatches();
    root["parallelism_config"] = {{"parallelism_config_dp_replicate_size", replicate},
                                  {"parallelism_config_dp_shard_size", shard},
                                  {"parallelism_config_tp_size", l.tp},
                                  {"parallelism_config_cp_size", l.cp}};
    return yamlText(root);
}

} // namespace sim::frameworks
