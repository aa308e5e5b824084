// What a job is, in no framework's words: dialects fill it in, `scenarioOf` makes the scenario of it.
#pragma once

#include "sim/frameworks/reading.h"

#include <optional>
#include <string>
#include <vector>

namespace sim::frameworks {

struct Job {
    Reading reading;
    const Catalogue& catalogue;
    std::optional<int> askedGpus;                         ///< what the caller said
    std::string askedCluster{};                           ///< likewise; empty: it is guessed
    std::map<std::string, int, std::less<>> askedSizes{}; ///< likewise, of what the files leave open
    std::vector<std::string> fileNames{};

    Json modelBeside = Json::object(); ///< of a config.json, which counts

    // Blocks of the scenario as far as they are known; keys as in the file.
    Json model = Json::object(), layout = Json::object(), schedule = Json::object(), training = Json::object();
    int tp = 1, cp = 1, pp = 1;
    int dp = 1;
    int expertRanks = 1;        ///< that experts are laid out over: etp x ep x pp; a world that is not given is a multiple of it
    std::optional<int> givenDp; ///< where the framework is told
    std::optional<int> gpus, nodes, gpusPerNode;
    std::string gpusFrom{}; ///< setting that says so
    std::optional<int> microBatch, globalBatch, accumulation;
    bool addsUpWhole = false; ///< the software reduces gradients with a step's last micro-batch, however they are cut
    std::vector<std::string> unknown{};

    /// Writes a value; "/training/overlap/p2p".
    void put(std::string_view pointer, Json value);
    void ask(std::string_view pointer, std::string text);
};

/// GPUs of a node by the processes that srun or a batch file starts on each: for where nothing else counts them.
std::optional<int> gpusByTasks(Reading&);
/// dp from GPUs, or GPUs from dp; says what does not fit. After tp, cp, pp and what there is of gpus, nodes, gpusPerNode.
void settleWorld(Job&);
/// The three batch numbers from those that are given.
void settleBatch(Job&);
/// The model by a name as people write it: catalogue id, Hugging Face id, flavour ("llama3", "70B"); empty if none is meant.
/// `whole`: the name is no more than that.
enum class WholeName : bool { no, yes };
std::string modelByName(const Catalogue&, std::string_view name, WholeName whole = WholeName::no);
/// The catalogue's entries whose names begin most like it: "; nearest: a, b, c"; empty where none does.
std::string modelsNear(const Catalogue&, const std::string& name);
/// Names the model in the job; asks for it, with a guess in its place, where the name is not of the catalogue.
void putModelByName(Job&, std::string_view setting, const std::string& name);
/// An entry to stand in for a model that no file says: near in width, or with experts where they are laid out.
std::string guessedModel(const Job&, int hiddenSize);
/// Fills in what nobody said, marks it unknown, writes the scenario's text.
Imported scenarioOf(Job&&, std::string_view kind);

/// Splits `layers` evenly over `stages`; the first ones get one more.
std::vector<int> evenLayers(int layers, int stages);
/// "2048", "1e9" and "_" are understood; the last batch of "0:384 200B:768 400B:1152".
std::optional<int> lastBatchOf(const std::string& schedule);
/// bf16 and the like from a framework's word: "bf16-mixed", "bfloat16", "fp8_cs", "16-true"; empty if it is none.
std::string precisionWord(std::string_view word);
/// training.loss_chunk_tokens of software that does not say how long its chunks are.
inline constexpr int kFusedLossChunk = 1024;
/// Why a setting by which documents are packed into sequences, and attended each by itself, becomes no key: what it says changes
/// with the documents. Whoever has a note of it is asked for training.documents.
inline constexpr std::string_view kPackedDocuments =
    "documents are packed into sequences and attention stays within each, whose lengths are of the data: attention is timed over "
    "whole sequences, which is more, unless training.documents.lengths says how long they are";
/// Packed documents of which each is attended with those before it, as a sequence is here: `unless` would keep them apart.
void tellPackedAcross(Reading&, std::string_view setting, std::string_view unless);
/// training.stack, which the kind of settings makes certain: an id of the catalogue, and why it is that one.
void putSoftware(Job&, std::string_view stack, const std::string& why);
/// training.stack.exchanges_heads, which `setting` asks for; job.cp has the ranks that a sequence is cut over. `ringRanks`: those
/// of another axis, round which keys and values go besides.
void putExchangedHeads(Job&, std::string_view setting, int ringRanks = 1);
/// training.optimizer by a framework's word. Other rules than Adam's and SGD's, and moments in fewer bits, are told on `setting`.
void putOptimizer(Job&, std::string_view setting, std::string_view word);

// Dialects. Each fills a job from settings in its framework's words.
void readMegatron(Job&);
void readMegatronYaml(Job&);
void readNemo(Job&);
void readBridge(Job&);
void readMegatronDeepSpeed(Job&);
void readDeepSpeed(Job&);
void readTorchtitan(Job&);
void readNanotron(Job&);
void readAccelerate(Job&);
void readAxolotl(Job&);
void readLlamaFactory(Job&);
void readTrl(Job&);
void readSwift(Job&);
void readVeOmni(Job&);
void readHuggingFace(Job&);
void readPicotron(Job&);
void readMaxText(Job&);

/// What Megatron's own arguments mean, under the names of its command line with "_"; for it and all that is built on it.
struct MegatronRules {
    bool groupsNeedFlag = true;          ///< --num-query-groups counts only beside --group-query-attention
    bool alwaysShardsOptimizer = false;  ///< Bridge
    bool shardsOptimizer = false;        ///< unless given
    bool offloadNeedsSwitch = false;     ///< a number of layers alone keeps no activations on the host: NeMo, Bridge
    bool hidesReplicas = false;          ///< Bridge: its recipes overlap gradients and parameters with the passes
    bool p2pIsOff = false;               ///< NeMo: overlap_p2p_comm is false unless given
    bool backendNamesDispatcher = false; ///< moe_flex_dispatcher_backend counts by itself: Bridge's performance recipes
    bool modelIsNamed = false;           ///< sizes come from a base recipe unless given
    std::optional<int> zeroStage{};      ///< decided already: DeepSpeed
    std::optional<bool> gradReduce{};    ///< likewise
    std::optional<int> expertTensor{};   ///< ranks that an expert is cut over unless given; nothing: tp
    std::optional<int> experts{};        ///< likewise decided
    int expertsPerToken = 2;             ///< unless given
    int expertInterval = 1;              ///< the last of so many layers has experts, unless a pattern says it
    bool partitionsAnyCount = false;     ///< layers need not divide over stages
    bool narrowsSwiglu = false;          ///< --yaml-cfg: an MLP of the activation "swiglu" is 2/3 as wide unless given
    bool routerHasBias = true;           ///< where linear layers have biases; DeepSpeed's never has one
    bool attentionIsFused = true;        ///< unless given
    std::string precision = "fp32";      ///< unless given
    std::string recompute = "none";      ///< unless given
    std::optional<int> microBatch{};     ///< unless given
    std::optional<int> globalBatch{};    ///< unless given
};
void readMegatronArguments(Job&, const MegatronRules&);
/// What Megatron itself would refuse together, told on one of them with where the other stands.
void tellRefusedMegatronArguments(Job&);
/// Rules of a job whose model is named beside the settings (`model`), as launchers around Megatron have it; else as given.
MegatronRules rulesOfNamedModel(Job&, MegatronRules);
/// Notes on those that become no key: unsayable here, or without effect on the step.
void noteUnreadMegatronArguments(Reading&);
/// Names with dashes, "MODEL_ARGS.--x" and "args.--x" as "x"; old spellings as new ones.
void useMegatronNames(Reading&);
/// The model block of a config.json, below a prefix ("model.model_config.").
void readHuggingFaceModel(Job&, const std::string& prefix);
/// model.rope_scaling of settings below a prefix ("rope_scaling.").
void readRopeScaling(Job&, const std::string& prefix);

} // namespace sim::frameworks
