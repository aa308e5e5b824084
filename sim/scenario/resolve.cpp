#include "sim/scenario/resolve.h"

#include "sim/scenario/files.h"
#include "sim/scenario/hardware_profile.h"
#include "sim/scenario/schema.h"
#include "sim/scenario/stack_json.h"
#include "sim/scenario/words.h"
#include "sim/text/nearest.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <limits>
#include <sstream>
#include <utility>

namespace sim {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> idsOf(const std::vector<Catalogue::Entry>& entries)
{
    std::vector<std::string> ids;
    for (const Catalogue::Entry& entry : entries)
        ids.push_back(entry.id);
    return ids;
}

int clampToInt(std::int64_t value)
{
    return static_cast<int>(std::min<std::int64_t>(value, std::numeric_limits<int>::max()));
}

/// Even shares. What is left over goes to the inner stages first: the outer two hold embedding and head as well (Llama 3, section
/// 3.3.2: 126 layers on 128 stages).
std::vector<int> balancedLayers(int layers, int stages)
{
    std::vector<int> share(static_cast<std::size_t>(stages), layers / stages);
    const int left = layers % stages;
    for (int i = 0; i < left; ++i)
        ++share[static_cast<std::size_t>(i + 1 < stages - 1 ? i + 1 : (i + 2) % stages)];
    return share;
}

class Resolver {
public:
    Resolver(const Json& root, const std::string& file, std::vector<Problem> shape, const Catalogue& catalogue)
        : m_root(root), m_file(file), m_catalogue(catalogue)
    {
        m_out.problems = std::move(shape);
        for (const Problem& problem : m_out.problems)
            if (!problem.message.starts_with(Schema::kUnknownKey))
                m_out.broken.insert(problem.pointer);
        for (const char* key : {"model", "cluster", "layout"})
            if (!root.contains(key))
                m_out.broken.insert(childPointer("", key));
    }

    Resolution run()
    {
        Scenario& scenario = m_out.scenario;
        const Block top = block("", m_root, nullptr, {});
        top.read("name", scenario.name);
        top.read("description", scenario.description);
        top.read("source", scenario.source);
        readModel(top);
        readLayout(top);
        readCluster(top);
        readSchedule(top);
        readTraining(top);
        readPerturbations(top);
        readLive(top);
        scenario.uncertainty =
            m_catalogue.uncertainty(scenario.cluster.efficiency.id, scenario.training.stack.id, scenario.model.numExperts > 0);
        return std::move(m_out);
    }

private:
    /// An object of the file over the catalogue entry it is based on.
    struct Block {
        Resolver& resolver;
        std::string pointer;
        const Json& own;
        const Json& base;
        std::string baseId;

        /// The usable value of a key, noting where it came from; nullptr if nobody gave one.
        const Json* find(std::string_view key) const
        {
            const std::string at = childPointer(pointer, key);
            const std::string name(key);
            if (const auto found = own.find(name); found != own.end()) {
                if (!resolver.isUsable(at, *found))
                    return nullptr;
                resolver.m_out.origins.given.insert(at);
                return &*found;
            }
            if (const auto found = base.find(name); found != base.end()) {
                resolver.m_out.origins.based.emplace(at, baseId);
                return &*found;
            }
            return nullptr;
        }
        /// False if nobody gave it, or what was given is no T.
        template <typename T>
        bool read(std::string_view key, T& target) const
        {
            const Json* value = find(key);
            if (value == nullptr)
                return false;
            std::optional<T> given = valueAs<T>(*value);
            if (given)
                target = std::move(*given);
            else
                resolver.refuseKind(childPointer(pointer, key));
            return given.has_value();
        }
        template <typename Enum, std::size_t N>
        bool read(std::string_view key, const Words<Enum, N>& words, Enum& target) const
        {
            std::string word;
            const bool given = read(key, word);
            if (given)
                target = fromWord(words, word, target);
            return given;
        }
    };

    /// Shape problems inside an object break its keys one by one; inside a list they break the list.
    bool isUsable(const std::string& pointer, const Json& value) const
    {
        if (m_out.broken.contains(pointer))
            return false;
        const auto next = m_out.broken.lower_bound(pointer + "/");
        return !value.is_array() || next == m_out.broken.end() || !next->starts_with(pointer + "/");
    }

    /// `own` and `base` stay where they are: a scenario is resolved once for each value that a control might take.
    Block block(std::string pointer, const Json& own, const Json* base, std::string baseId)
    {
        return {*this, std::move(pointer), own.is_object() ? own : m_nothing, base != nullptr ? *base : m_nothing,
                std::move(baseId)};
    }

    /// A plain object of the file, or an empty one.
    Block block(const Block& parent, std::string_view key)
    {
        const Json* value = parent.find(key);
        return block(childPointer(parent.pointer, key), value != nullptr ? *value : m_nothing, nullptr, {});
    }

    /// The schema has told it better, where it knows the key.
    void refuseKind(const std::string& pointer)
    {
        if (m_out.isSound(pointer))
            report(pointer, "is of another kind than this key has");
    }

    void report(const std::string& pointer, std::string message)
    {
        m_out.problems.push_back({m_file, pointer, std::move(message)});
        m_out.broken.insert(pointer);
    }

    /// A string, or an object with "base", that names an entry of the catalogue.
    template <typename Lookup>
    Block basedBlock(const Block& parent, std::string_view key, std::string_view what,
                     const std::vector<Catalogue::Entry>& entries, Lookup lookup)
    {
        const std::string at = childPointer(parent.pointer, key);
        const Json* value = parent.find(key);
        if (value == nullptr)
            return block(at, m_nothing, nullptr, {});
        const bool isShort = value->is_string();
        const Json* const name = isShort ? value : memberOf(*value, "base");
        const auto id = name != nullptr ? valueAs<std::string>(*name) : std::nullopt;
        if (!id)
            return block(at, *value, nullptr, {});
        const Json* entry = lookup(*id);
        if (entry == nullptr) {
            report(isShort ? at : at + "/base",
                   "the catalogue has no " + std::string(what) + " " + quotedText(*id) + nearestWords(*id, idsOf(entries)));
            m_out.broken.insert(at);
        }
        return block(at, *value, entry, *id);
    }

    /// A key without which the block says nothing.
    template <typename T>
    void require(const Block& from, std::string_view key, T& target, std::string_view catalogueOf)
    {
        const std::string at = childPointer(from.pointer, key);
        if (!from.read(key, target) && m_out.isSound(at))
            report(from.pointer,
                   "key \"" + std::string(key) + "\" is missing; write it, or name a base of assets/" + std::string(catalogueOf));
    }

    void readModel(const Block& top)
    {
        const Block from = basedBlock(top, "model", "model", m_catalogue.models(),
                                      [this](const std::string& id) { return m_catalogue.modelJson(id); });
        if (m_out.broken.contains("/model"))
            return;
        Model& model = m_out.scenario.model;
        model.base = from.baseId;
        from.read("name", model.name);
        require(from, "num_hidden_layers", model.numHiddenLayers, "models");
        require(from, "hidden_size", model.hiddenSize, "models");
        require(from, "num_attention_heads", model.numAttentionHeads, "models");
        require(from, "vocab_size", model.vocabSize, "models");
        model.intermediateSize = clampToInt(4LL * model.hiddenSize);
        from.read("intermediate_size", model.intermediateSize);
        model.numKeyValueHeads = model.numAttentionHeads;
        from.read("num_key_value_heads", model.numKeyValueHeads);
        model.maxPositionEmbeddings = 2048;
        from.read("max_position_embeddings", model.maxPositionEmbeddings);
        from.read("tie_word_embeddings", model.tieWordEmbeddings);
        from.read("hidden_act", kActivationWords, model.hiddenAct);
        model.gatedMlp = model.hiddenAct == HiddenActivation::silu;
        from.read("gated_mlp", model.gatedMlp);
        from.read("normalization", kNormalizationWords, model.normalization);
        from.read("position_embedding", kPositionWords, model.positionEmbedding);
        from.read("rope_theta", model.ropeTheta);
        from.read("rms_norm_eps", model.rmsNormEps);
        from.read("layer_norm_epsilon", model.layerNormEpsilon);
        from.read("bias", model.bias);
        from.read("qkv_bias", model.qkvBias);
        from.read("attention_output_bias", model.outputBias);
        from.read("qk_norm", model.qkNorm);
        from.read("attention_sinks", model.attentionSinks);
        // Models with biases everywhere, as GPT-2's, are taken as trained with dropout where nobody says.
        model.hiddenDropout = model.attentionDropout = model.bias ? 0.1 : 0;
        from.read("hidden_dropout", model.hiddenDropout);
        from.read("attention_dropout", model.attentionDropout);
        readLayerTypes(from);
        from.read("num_nextn_predict_layers", model.numNextnPredictLayers);
        from.read("num_experts", model.numExperts);
        from.read("num_experts_per_tok", model.numExpertsPerTok);
        if (model.numExperts > 0)
            model.moeIntermediateSize = model.intermediateSize;
        from.read("moe_intermediate_size", model.moeIntermediateSize);
        from.read("num_shared_experts", model.numSharedExperts);
        from.read("first_k_dense_replace", model.firstKDenseReplace);
        from.read("moe_layer_freq", model.moeLayerFreq);
        from.read("router_bias", model.routerBias);
        from.read("expert_bias", model.expertBias);
        from.read("q_lora_rank", model.qLoraRank);
        from.read("kv_lora_rank", model.kvLoraRank);
        from.read("qk_nope_head_dim", model.qkNopeHeadDim);
        from.read("qk_rope_head_dim", model.qkRopeHeadDim);
        from.read("v_head_dim", model.vHeadDim);
        if (!from.read("head_dim", model.headDim) && model.numAttentionHeads > 0)
            model.headDim = model.isLatentAttention() ? model.qkNopeHeadDim + model.qkRopeHeadDim
                                                      : model.hiddenSize / model.numAttentionHeads;
        if (model.name.empty())
            model.name = model.base.empty() ? "model" : model.base;
    }

    /// Null is none, as config.json writes it.
    static void readOrNull(const Block& from, std::string_view key, int& target)
    {
        if (const Json* value = from.find(key); value != nullptr && value->is_null())
            target = 0;
        else
            from.read(key, target);
    }

    void readLayerTypes(const Block& from)
    {
        Model& model = m_out.scenario.model;
        readOrNull(from, "sliding_window", model.slidingWindow);
        readOrNull(from, "sliding_window_pattern", model.slidingWindowPattern);
        readOrNull(from, "attention_chunk_size", model.attentionChunkSize);
        readOrNull(from, "no_rope_layer_interval", model.noRopeLayerInterval);
        std::vector<std::string> words;
        if (const Json* types = from.find("layer_types"); types != nullptr && !types->is_null())
            from.read("layer_types", words);
        for (const std::string& word : words)
            model.layerTypes.push_back(fromWord(kLayerTypeWords, word, LayerType::full));
    }

    void readLayout(const Block& top)
    {
        const Block from = block(top, "layout");
        Layout& layout = m_out.scenario.layout;
        from.read("tp", layout.tp);
        from.read("cp", layout.cp);
        from.read("pp", layout.pp);
        from.read("dp", layout.dp);
        from.read("ep", layout.ep);
        layout.etp = layout.tp;
        from.read("etp", layout.etp);
        from.read("order", layout.order);
        from.read("sequence_parallel", layout.sequenceParallel);
        from.read("zero_stage", layout.zeroStage);
        layout.dpShard = clampToInt(std::int64_t{layout.dp} * layout.cp);
        from.read("dp_shard", layout.dpShard);
        layout.reshardAfterForward = layout.pp == 1;
        from.read("reshard_after_forward", layout.reshardAfterForward);
        if (const Json* placement = from.find("placement")) {
            if (placement->is_array()) {
                layout.placement = PlacementRule::explicitList;
                from.read("placement", layout.explicitPlacement);
            } else {
                layout.placement = *placement == "round-robin" ? PlacementRule::roundRobin : PlacementRule::packed;
            }
        }
    }

    void readGpu(const Block& cluster, Efficiency& efficiency)
    {
        // An object without a base changes the GPU of the cluster's entry.
        const Json* value = cluster.find("gpu");
        const bool isOverride = value != nullptr && value->is_object() && !value->contains("base");
        const Block from = [&] {
            if (!isOverride || !cluster.base.contains("gpu"))
                return basedBlock(cluster, "gpu", "GPU", m_catalogue.gpus(),
                                  [this](const std::string& name) { return m_catalogue.gpuJson(name); });
            const auto id = memberOr<std::string>(cluster.base, "gpu", {});
            return block("/cluster/gpu", *value, m_catalogue.gpuJson(id), id);
        }();
        if (m_out.broken.contains("/cluster/gpu"))
            return;
        Gpu& gpu = m_out.scenario.cluster.gpu;
        gpu.base = from.baseId;
        gpu.name = from.baseId.empty() ? "GPU" : from.baseId;
        from.read("name", gpu.name);
        require(from, "memory_gib", gpu.memoryGib, "gpus");
        require(from, "memory_bandwidth_gbs", gpu.memoryBandwidthGBs, "gpus");
        from.read("host_bandwidth_gbs", gpu.hostBandwidthGBs);
        from.read("multiprocessors", gpu.multiprocessors);
        if (from.find("peak_tflops") == nullptr) {
            if (m_out.isSound("/cluster/gpu/peak_tflops"))
                report("/cluster/gpu", "key \"peak_tflops\" is missing; write it, or name a base of assets/gpus");
        }
        for (const Json* rates :
             {memberOf(from.base, "peak_tflops"), from.own.contains("peak_tflops") ? from.find("peak_tflops") : nullptr})
            if (rates != nullptr)
                for (const auto& [word, precision] : kPrecisionWords)
                    if (const Json* rate = memberOf(*rates, word);
                        rate != nullptr && m_out.isSound("/cluster/gpu/peak_tflops/" + std::string(word)))
                        gpu.peakTflops[precision] = valueAs<double>(*rate).value_or(0);
        if (const Json* based = memberOf(from.base, "efficiency"))
            readEfficiency(block("/cluster/gpu/efficiency", *based, nullptr, {}), from.baseId, efficiency);
        if (from.own.contains("efficiency"))
            readEfficiency(block(from, "efficiency"), {}, efficiency);
    }

    static void readEfficiency(const Block& from, const std::string& id, Efficiency& efficiency)
    {
        if (!id.empty())
            efficiency.id = id;
        from.read("id", efficiency.id);
        from.read("gemm", efficiency.gemm);
        from.read("gemm_half_k", efficiency.gemmHalfK);
        // What is said of attention at large replaces what a farther place says of single kernels.
        const bool forwardGiven = from.read("attention_forward", efficiency.attentionForward);
        const bool backwardGiven = from.read("attention_backward", efficiency.attentionBackward);
        for (AttentionRate& rate : efficiency.attention) {
            rate.forward = forwardGiven ? 0 : rate.forward;
            rate.backward = backwardGiven ? 0 : rate.backward;
        }
        from.read("memory", efficiency.memory);
        from.read("grouped_gemm", efficiency.groupedGemm);
        from.read("fp8_gemm", efficiency.fp8Gemm);
        from.read("host_link", efficiency.hostLink);
        from.read("host_memory", efficiency.hostMemory);
        from.read("weight_gradient", efficiency.weightGradient);
        from.read("kernel_us", efficiency.kernelUs);
        from.read("attention_half_length", efficiency.attentionHalfLength);
        if (const Json* kernels = from.find("attention"); kernels != nullptr && kernels->is_object())
            for (const auto& [word, rates] : kernels->items()) {
                const AttentionKernel kernel = fromWord(kAttentionWords, word, AttentionKernel::automatic);
                if (rates.is_array() && rates.size() == 2)
                    efficiency.attention[static_cast<std::size_t>(kernel)] = {valueAs<double>(rates[0]).value_or(0),
                                                                              valueAs<double>(rates[1]).value_or(0)};
            }
        from.read("launch_us", efficiency.launchUs);
        from.read("network", efficiency.network);
        from.read("inter_node", efficiency.interNode);
        from.read("all_to_all", efficiency.allToAll);
        from.read("collective_us", efficiency.collectiveUs);
        from.read("beside_transfers", efficiency.besideTransfers);
        HardwareProfile& profile = efficiency.profile;
        from.read("device", profile.device);
        if (Precision precision = Precision::fp32; from.read("precision", kPrecisionWords, precision))
            profile.precision = precision;
        if (const Json* curves = from.find("kernels"))
            profile.kernels = curvesFromJson(*curves);
        if (const Json* curves = from.find("transfers"))
            profile.transfers = curvesFromJson(*curves);
    }

    /// A file that the scenario names. Shared scenarios must not make the reader wait at a pipe or a device.
    std::string readBeside(const std::string& name, std::size_t mostBytes) const
    {
        return readFile(fs::path(m_file).parent_path() / name, mostBytes);
    }

    /// A GPU of the catalogue, or a file beside the scenario.
    void readNamedEfficiency(const std::string& name, Efficiency& efficiency)
    {
        const std::string at = "/cluster/efficiency";
        if (const Json* gpu = m_catalogue.gpuJson(name)) {
            const Json* measured = memberOf(*gpu, "efficiency");
            readEfficiency(block(at, measured != nullptr ? *measured : m_nothing, nullptr, {}), name, efficiency);
            return;
        }
        try {
            constexpr std::size_t kMostBytes = 1U << 20U;
            const Json profile = parseStrict(readBeside(name, kMostBytes), shownPlace(name));
            const auto problems = m_catalogue.schema().check(profile, name, "efficiency", at);
            if (problems.empty())
                readEfficiency(block(at, profile, nullptr, {}), name, efficiency);
            for (const Problem& problem : problems)
                report(problem.pointer, "in " + shownPlace(name) + ": " + problem.message);
        } catch (const Error& error) {
            report(at, quotedText(name) + " is no GPU of the catalogue" + nearestWords(name, idsOf(m_catalogue.gpus())) +
                           "; and as a file: " + error.what());
        }
    }

    void readTiers(const Block& from, int baseGpusPerNode)
    {
        Cluster& cluster = m_out.scenario.cluster;
        const Json* tiers = from.find("tiers");
        if (tiers == nullptr) {
            if (m_out.isSound("/cluster/tiers"))
                report("/cluster", "key \"tiers\" is missing; write it, or name a base of assets/clusters");
            return;
        }
        const bool ofBase = !from.own.contains("tiers");
        for (const Json& entry : *tiers) { // whose keys the schema has found to be there
            Tier tier;
            tier.name = memberOr<std::string>(entry, "name", {});
            tier.span = memberOr<int>(entry, "span", 0); // or "all"
            // The base's node follows gpus_per_node.
            if (ofBase && tier.span == baseGpusPerNode)
                tier.span = cluster.gpusPerNode;
            tier.bandwidthGBs = memberOr<double>(entry, "bandwidth_gbs", 0);
            tier.latencyUs = memberOr<double>(entry, "latency_us", 0);
            tier.inNetworkReduction = memberOr<bool>(entry, "in_network_reduction", false);
            cluster.tiers.push_back(std::move(tier));
        }
    }

    /// Of the entry's node, if the scenario's has as many GPUs; else what a GPU usually has beside it, as the schema says.
    void readHost(const Block& cluster, Cluster& out)
    {
        constexpr double kBandwidthGBs = 50, kMemoryGib = 250;
        out.host = {.memoryBandwidthGBs = kBandwidthGBs * out.gpusPerNode, .memoryGib = kMemoryGib * out.gpusPerNode};
        const Json* const based = memberOf(cluster.base, "host");
        if (based != nullptr && memberOr<int>(cluster.base, "gpus_per_node", -1) == out.gpusPerNode)
            readHost(block("/cluster/host", *based, nullptr, {}), out.host);
        if (cluster.own.contains("host"))
            readHost(block(cluster, "host"), out.host);
    }
    static void readHost(const Block& from, Host& host)
    {
        from.read("memory_bandwidth_gbs", host.memoryBandwidthGBs);
        from.read("memory_gib", host.memoryGib);
    }

    void readCluster(const Block& top)
    {
        const Block from = basedBlock(top, "cluster", "cluster", m_catalogue.clusters(),
                                      [this](const std::string& id) { return m_catalogue.clusterJson(id); });
        if (m_out.broken.contains("/cluster"))
            return;
        Cluster& cluster = m_out.scenario.cluster;
        cluster.base = from.baseId;
        cluster.name = from.baseId.empty() ? "cluster" : from.baseId;
        from.read("name", cluster.name);
        readGpu(from, cluster.efficiency);
        require(from, "gpus_per_node", cluster.gpusPerNode, "clusters");
        readTiers(from, memberOr<int>(from.base, "gpus_per_node", -1));
        readHost(from, cluster);
        if (const Json* based = memberOf(from.base, "efficiency"))
            readEfficiency(block("/cluster/efficiency", *based, nullptr, {}), from.baseId, cluster.efficiency);
        if (from.own.contains("efficiency"))
            if (const Json* efficiency = from.find("efficiency")) {
                if (const auto name = valueAs<std::string>(*efficiency))
                    readNamedEfficiency(*name, cluster.efficiency);
                else
                    readEfficiency(block("/cluster/efficiency", *efficiency, nullptr, {}), {}, cluster.efficiency);
            }

        // Not the entry's size: a scenario uses as many nodes as its layout needs unless it says otherwise.
        const Layout& layout = m_out.scenario.layout;
        const double world = double{1} * layout.tp * layout.cp * layout.pp * layout.dp;
        if (!(from.own.contains("nodes") && from.read("nodes", cluster.nodes)) && cluster.gpusPerNode > 0)
            cluster.nodes = static_cast<int>(
                std::min<double>((world + cluster.gpusPerNode - 1) / cluster.gpusPerNode, std::numeric_limits<int>::max()));
    }

    void readActions(const Block& from)
    {
        const Json* actions = from.find("actions");
        if (actions == nullptr)
            return;
        auto& lines = m_out.scenario.schedule.actions;
        if (actions->is_array()) {
            from.read("actions", lines);
            return;
        }
        std::string text;
        from.read("actions", text);
        if (text.find_first_of(",\n") == std::string::npos && text.find_first_of("./") != std::string::npos) {
            try {
                text = readBeside(text, kMaxFileBytes);
            } catch (const Error& error) {
                report("/schedule/actions", error.what());
                return;
            }
        }
        std::istringstream stream(text);
        for (std::string line; std::getline(stream, line);) {
            if (!line.empty() && line.back() == '\r')
                line.pop_back();
            if (!line.empty())
                lines.push_back(line);
        }
    }

    void readSchedule(const Block& top)
    {
        const Block from = block(top, "schedule");
        ScheduleSettings& schedule = m_out.scenario.schedule;
        from.read("kind", schedule.kind);
        schedule.virtualStages = scheduleFamily(schedule.kind).chunks.least;
        const bool chunksGiven = from.read("virtual_stages", schedule.virtualStages);
        std::string kind = chunksGiven && schedule.virtualStages > 1 ? "interleaved-1f1b" : "1f1b";
        from.read("kind", kind);
        schedule.kind = kind;
        const ScheduleFamily& family = scheduleFamily(kind);
        schedule.microbatchGroup = m_out.scenario.layout.pp;
        from.read("microbatch_group", schedule.microbatchGroup);
        schedule.sequenceSlices = family.usualSlices;
        from.read("sequence_slices", schedule.sequenceSlices);
        if (!family.cutsSequences()) // the others run whole sequences; validate.cpp says so
            schedule.sequenceSlices = 1;
        from.read("memory_cap_gib", schedule.memoryCapGib);
        readActions(from);
        if (!family.isWrittenOut) // the others make their own; validate.cpp says so
            schedule.actions.clear();
        constexpr std::int64_t kMostStages = 65536;
        const std::int64_t stages = std::max<std::int64_t>(1, std::int64_t{m_out.scenario.layout.pp} * schedule.virtualStages /
                                                                  m_out.scenario.modelCopies());
        if (!from.read("layers_per_stage", schedule.layersPerStage) && stages <= kMostStages)
            schedule.layersPerStage = balancedLayers(m_out.scenario.model.numHiddenLayers, static_cast<int>(stages));
    }

    void readTraining(const Block& top)
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
        if (const Json* recompute = from.find("recompute")) {
            if (recompute->is_string()) {
                from.read("recompute", kRecomputeWords, training.recompute);
            } else {
                const Block settings = block(from, "recompute");
                settings.read("kind", kRecomputeWords, training.recompute);
                settings.read("layers", training.recomputeLayers);
                std::vector<std::string> words;
                if (settings.read("modules", words) && training.recompute == Recompute::selective) {
                    training.recomputeModules = {};
                    for (const std::string& word : words)
                        training.recomputeModules.add(fromWord(kRecomputeModuleWords, word, RecomputeModule::coreAttention));
                }
            }
        }
        readLora(from);
        from.read("optimizer", kOptimizerWords, training.optimizer);
        from.read("causal", training.causal);
        readStackOf(from);
        readAttention(from);
        readMoe(from);
        const Block offload = block(from, "offload");
        offload.read("optimizer", training.offload.optimizer);
        offload.read("activation_layers", training.offload.activationLayers);
        const Block overlap = block(from, "overlap");
        overlap.read("grad_reduce", training.overlap.gradReduce);
        overlap.read("param_gather", training.overlap.paramGather);
        overlap.read("tp_comm", training.overlap.tpComm);
        overlap.read("p2p", training.overlap.p2p);
        overlap.read("ep_comm", training.overlap.epComm);
    }

    /// Without targets all linear layers of attention and MLP: "all-linear" of PEFT. Beside experts those of attention.
    void readLora(const Block& from)
    {
        const Block given = block(from, "lora");
        Model& model = m_out.scenario.model;
        given.read("rank", model.lora.rank);
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
    void readStackOf(const Block& from)
    {
        static constexpr const char* kUsual = "megatron-te-2024";
        Stack& stack = m_out.scenario.training.stack;
        const Block given = basedBlock(from, "stack", "software stack", m_catalogue.stacks(),
                                       [this](const std::string& id) { return m_catalogue.stackJson(id); });
        const Json* const usual = given.baseId.empty() ? m_catalogue.stackJson(kUsual) : nullptr;
        stack.id = given.baseId.empty() ? kUsual : given.baseId;
        readStack(usual != nullptr ? *usual : given.base, stack);
        readStack(given.own, stack);
        std::string dtype = stack.gradientDtype;
        from.read("gradient_dtype", dtype);
        m_out.scenario.training.gradientBytes = dtype == "bf16" ? 2 : 4;
    }

    /// `flash_attention` is older than `attention`, and counts where that leaves the choice open: false is unfused, and true is
    /// the stack's kernel.
    void readAttention(const Block& from)
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

    void readMoe(const Block& from)
    {
        const Block given = block(from, "moe");
        MoeSettings& moe = m_out.scenario.training.moe;
        const int usual = m_out.scenario.training.precision == Precision::fp32 ? 4 : 2;
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
            double sum = 0, most = 0;
            std::vector<double> tokens;
            given.read("imbalance", tokens);
            const int experts = m_out.scenario.model.numExperts;
            if (static_cast<int>(tokens.size()) != experts)
                report("/training/moe/imbalance", "the list has " + std::to_string(tokens.size()) +
                                                      " entries, and the model has " + std::to_string(experts) + " experts");
            else if (std::all_of(tokens.begin(), tokens.end(), [](double of) { return of == 0; }))
                report("/training/moe/imbalance", "no expert has any tokens");
            const auto ranks = static_cast<std::size_t>(std::max(1, m_out.scenario.layout.ep));
            std::vector<double> ofRank(ranks, 0);
            for (std::size_t expert = 0; expert < tokens.size(); ++expert)
                ofRank[expert * ranks / tokens.size()] += tokens[expert];
            for (const double of : ofRank) {
                sum += of;
                most = std::max(most, of);
            }
            if (sum > 0)
                moe.imbalance = std::clamp(most * static_cast<double>(ranks) / sum, 1.0, 10000.0);
        } else {
            given.read("imbalance", moe.imbalance);
        }
    }

    void readPerturbations(const Block& top)
    {
        const Json* list = top.find("perturbations");
        if (list == nullptr)
            return;
        for (std::size_t i = 0; i < list->size(); ++i) {
            const Block from = block("/perturbations/" + std::to_string(i), (*list)[i], nullptr, {});
            Perturbation perturbation;
            from.read("kind", kPerturbationWords, perturbation.kind);
            const bool hasRank = from.read("rank", perturbation.rank);
            const bool hasFactor = from.read("factor", perturbation.factor);
            const bool hasSigma = from.read("sigma", perturbation.sigma);
            from.read("seed", perturbation.seed);
            const std::string kind(toWord(kPerturbationWords, perturbation.kind));
            const auto need = [&](bool given, const char* key) {
                if (!given)
                    report(from.pointer, kind + " needs \"" + key + "\"");
            };
            const bool isJitter = perturbation.kind == PerturbationKind::jitter;
            const bool isFailure = perturbation.kind == PerturbationKind::failure;
            need(hasRank || isJitter || isFailure, "rank");
            need(hasFactor || isJitter || isFailure, "factor");
            need(hasSigma || !isJitter, "sigma");
            readFailures(from, perturbation.failures);
            m_out.scenario.perturbations.push_back(perturbation);
        }
    }

    static void readFailures(const Block& from, Failures& failures)
    {
        from.read("mtbf_hours", failures.mtbfHours);
        for (const auto& [key, seconds] :
             {std::pair{"checkpoint_every_s", &failures.checkpointEverySeconds}, {"checkpoint_s", &failures.checkpointSeconds}})
            if (double given = 0; from.read(key, given))
                *seconds = given;
        from.read("storage_gbs", failures.storageGBs);
        from.read("restart_s", failures.restartSeconds);
        from.read("replace_s", failures.replaceSeconds);
        from.read("spares", failures.spares);
        from.read("days", failures.days);
    }

    void readLive(const Block& top)
    {
        const Block from = block(top, "live");
        LiveSettings& live = m_out.scenario.live;
        from.read("device", live.device);
        from.read("steps", live.steps);
        from.read("learning_rate", live.learningRate);
        from.read("seed", live.seed);
        from.read("data", live.data);
        from.read("dtype", live.dtype);
        from.read("dropout", live.dropout);
        from.read("weight_decay", live.weightDecay);
        from.read("clip_norm", live.clipNorm);
        from.read("aux_loss", live.auxiliaryLoss);
    }

    const Json m_nothing = Json::object();
    const Json& m_root;
    const std::string& m_file;
    const Catalogue& m_catalogue;
    Resolution m_out;
};

} // namespace

std::string Origins::of(std::string_view pointer) const
{
    if (given.contains(pointer))
        return {};
    const auto base = based.find(pointer);
    return base != based.end() ? " (of " + base->second + ")" : " (default)";
}

bool Resolution::isSound(std::string_view pointer) const
{
    for (const std::string& bad : broken)
        if (bad == pointer || (!bad.empty() && pointer.starts_with(bad) && pointer[bad.size()] == '/') ||
            (bad.starts_with(pointer) && bad[pointer.size()] == '/'))
            return false;
    return true;
}

Resolution resolveScenario(const Json& root, const std::string& file, std::vector<Problem> shape, const Catalogue& catalogue)
{
    return Resolver(root, file, std::move(shape), catalogue).run();
}

} // namespace sim
