// From framework-neutral facts to a scenario: world, batch, cluster, and what has to be asked for.
#include "sim/frameworks/job.h"

#include "sim/scenario/document.h"
#include "sim/scenario/key_facts.h"
#include "sim/scenario/pointer_text.h"
#include "sim/text/characters.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <numeric>

namespace sim::frameworks {

void Job::put(std::string_view pointer, Json value)
{
    const std::vector<std::string> segments = splitPointer(pointer);
    Json* at = segments[0] == "model"      ? &model
               : segments[0] == "layout"   ? &layout
               : segments[0] == "schedule" ? &schedule
                                           : &training;
    for (std::size_t i = 1; i + 1 < segments.size(); ++i)
        at = &(*at)[segments[i]];
    (*at)[segments.back()] = std::move(value);
}

void Job::ask(std::string_view pointer, std::string text)
{
    if (std::find(unknown.begin(), unknown.end(), pointer) == unknown.end())
        unknown.emplace_back(pointer);
    reading.ask(pointer, std::move(text));
}

std::optional<int> gpusByTasks(Reading& reading)
{
    for (const char* name : {"ntasks_per_node", "@launcher.ntasks_per_node"})
        if (const std::optional<int> tasks = reading.integer(name, "/cluster/gpus_per_node"); tasks && *tasks > 0) {
            const std::optional<int> each = reading.integer("@launcher.gpus_per_task", "/cluster/gpus_per_node");
            if (*tasks > 1 || each)
                return std::clamp(*tasks, 1, 1 << 12) * std::clamp(each.value_or(1), 1, 1 << 10);
            reading.say(name, Became::harmless, "one process of a node may start others: it counts no GPUs");
        }
    return std::nullopt;
}

void settleWorld(Job& job)
{
    constexpr int kMostOfAxis = 1 << 10;
    constexpr long long kMostRanks = 1 << 20;
    const auto product = [&job] { return static_cast<double>(job.tp) * job.cp * job.pp; };
    if (product() > static_cast<double>(kMostRanks)) {
        job.reading.addNote("world", Became::contradictory,
                            "tp " + std::to_string(job.tp) + " x cp " + std::to_string(job.cp) + " x pp " +
                                std::to_string(job.pp) + " are more ranks than any cluster has: at most " +
                                std::to_string(kMostOfAxis) + " of tp and of pp are taken, cp 1");
        job.tp = std::min(job.tp, kMostOfAxis);
        job.pp = std::min(job.pp, kMostOfAxis);
        job.cp = 1;
    }
    const long long model = 1LL * job.tp * job.cp * job.pp;
    std::optional<int> fromFile = job.gpus;
    if (!fromFile && job.nodes && job.gpusPerNode && 1LL * *job.nodes * *job.gpusPerNode < (1 << 30))
        fromFile = *job.nodes * *job.gpusPerNode;
    const std::string text = "tp " + std::to_string(job.tp) + " x cp " + std::to_string(job.cp) + " x pp " +
                             std::to_string(job.pp) + " = " + std::to_string(model);
    std::optional<int> world = job.askedGpus ? job.askedGpus : fromFile;
    if (job.askedGpus && fromFile && *job.askedGpus != *fromFile)
        job.reading.addNote(job.gpusFrom.empty() ? "GPUs" : job.gpusFrom, Became::contradictory,
                            "the file says " + std::to_string(*fromFile) + " GPUs, --gpus says " +
                                std::to_string(*job.askedGpus) + ": --gpus counts");
    if (job.givenDp) {
        job.dp = std::max(1, *job.givenDp);
        if (world && model * job.dp != *world)
            job.reading.addNote(job.gpusFrom.empty() ? "GPUs" : job.gpusFrom, Became::contradictory,
                                text + ", x dp " + std::to_string(job.dp) + " is " + std::to_string(model * job.dp) +
                                    " ranks, not the " + std::to_string(*world) + " GPUs given: the product counts",
                                "/layout/dp");
    } else if (!world) {
        const int experts = std::clamp(job.expertRanks, 1, 1 << 20);
        job.dp = static_cast<int>(experts / std::gcd<long long>(experts, model));
        job.ask("/layout/dp",
                "the file does not say how many GPUs there are: " +
                    (job.dp == 1 ? "one replica of " + std::to_string(model) + (model == 1 ? " rank" : " ranks")
                                 : std::to_string(model * job.dp) + " ranks, the fewest that its experts lie over,") +
                    " is assumed; give --gpus N");
    } else if (*world % model != 0 || *world < model) {
        const long long below = *world / model * model;
        job.reading.addNote(job.gpusFrom.empty() ? "GPUs" : job.gpusFrom, Became::contradictory,
                            std::to_string(*world) + " GPUs are no multiple of " + text +
                                "; nearest: " + (below > 0 ? std::to_string(below) + ", " : "") + std::to_string(below + model) +
                                ", which is taken",
                            "/layout/dp");
        job.dp = static_cast<int>(std::min<long long>((*world + model - 1) / model, 1 << 20));
    } else {
        job.dp = static_cast<int>(*world / model);
    }
    job.dp = static_cast<int>(std::min<long long>(job.dp, kMostRanks / model));
    const long long ranks = model * job.dp;
    job.gpus = static_cast<int>(ranks);
    job.layout["tp"] = job.tp;
    job.layout["cp"] = job.cp;
    job.layout["pp"] = job.pp;
    job.layout["dp"] = job.dp;
}

void settleBatch(Job& job)
{
    const auto text = [](long long value) { return std::to_string(value); };
    for (std::optional<int>* const size : {&job.microBatch, &job.globalBatch, &job.accumulation})
        if (*size && **size < 1) {
            job.reading.addNote("batch", Became::contradictory,
                                "a batch of " + text(**size) + " trains nothing: as if it were not given",
                                "/training/global_batch_size");
            size->reset();
        }
    if (!job.microBatch && job.globalBatch && job.accumulation) {
        const long long parts = 1LL * std::max(1, *job.accumulation) * job.dp;
        job.microBatch = static_cast<int>(std::max<long long>(1, *job.globalBatch / parts));
    }
    if (!job.microBatch) {
        job.microBatch = 1;
        job.ask("/training/micro_batch_size", "the micro-batch is not in the file: 1 is assumed");
    }
    const long long step = 1LL * *job.microBatch * job.dp;
    if (!job.globalBatch && job.accumulation)
        job.globalBatch = static_cast<int>(std::min<long long>(step * *job.accumulation, 1 << 30));
    else if (job.globalBatch && job.accumulation && step * *job.accumulation != *job.globalBatch)
        job.reading.addNote("global batch", Became::contradictory,
                            "a global batch of " + text(*job.globalBatch) + " is not " + text(step * *job.accumulation) +
                                " = micro-batch " + text(*job.microBatch) + " x accumulation " + text(*job.accumulation) +
                                " x dp " + text(job.dp) + ": the global batch counts",
                            "/training/global_batch_size");
    if (!job.globalBatch) {
        job.globalBatch = static_cast<int>(std::min<long long>(step, 1 << 30));
        job.reading.byDefault("global batch", *job.globalBatch, "/training/global_batch_size",
                              "is not given: one micro-batch of each of the dp " + text(job.dp) + " replicas");
    } else if (*job.globalBatch % step != 0) {
        const long long below = *job.globalBatch / step * step;
        job.reading.addNote("global batch", Became::contradictory,
                            "a global batch of " + text(*job.globalBatch) + " is not a multiple of " + text(step) +
                                " = micro-batch " + text(*job.microBatch) + " x dp " + text(job.dp) +
                                "; nearest: " + (below > 0 ? text(below) + ", " : "") + text(below + step),
                            "/training/global_batch_size");
    }
    job.training["micro_batch_size"] = *job.microBatch;
    job.training["global_batch_size"] = *job.globalBatch;
}

std::vector<int> evenLayers(int layers, int stages)
{
    std::vector<int> out;
    for (int i = 0; i < stages; ++i)
        out.push_back(layers / stages + (i < layers % stages ? 1 : 0));
    return out;
}

std::optional<int> lastBatchOf(const std::string& schedule)
{
    const std::size_t colon = schedule.rfind(':');
    if (colon == std::string::npos)
        return std::nullopt;
    return wholeNumber<int>(valueOf(schedule.substr(colon + 1)));
}

std::string precisionWord(std::string_view given)
{
    std::string word;
    for (const char c : given)
        word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto has = [&word](std::string_view part) { return word.find(part) != std::string::npos; };
    if (has("nvfp4") || has("fp4"))
        return "nvfp4";
    if (has("mxfp8") || has("fp8_mx") || has("fp8mx"))
        return "mxfp8";
    if (has("fp8") || has("float8"))
        return "fp8";
    if (has("bf16") || has("bfloat16"))
        return "bf16";
    if (has("fp16") || has("float16") || word == "16" || word.starts_with("16-"))
        return "fp16";
    if (has("fp32") || has("float32") || word == "32" || word.starts_with("32-") || word == "no")
        return "fp32";
    return "";
}

void putOptimizer(Job& job, std::string_view setting, std::string_view given)
{
    // Adam with two moments in 32 bits, under the names of PyTorch, Apex, DeepSpeed and transformers
    static constexpr std::array<std::string_view, 20> kAdams = {"adam",
                                                                "adamw",
                                                                "adamwtorch",
                                                                "adamwtorchfused",
                                                                "adamwtorchxla",
                                                                "adamwtorchnpufused",
                                                                "adamwhf",
                                                                "adamwapexfused",
                                                                "adamwfused",
                                                                "fusedadam",
                                                                "fusedadamw",
                                                                "distributedfusedadam",
                                                                "cpuadam",
                                                                "deepspeedcpuadam",
                                                                "muadam",
                                                                "muadamw",
                                                                "torchadam",
                                                                "torchadamw",
                                                                "mcoredistributedoptim",
                                                                "megatronfusedadam"};
    std::string word;
    for (const char c : given)
        if (isLetter(c) || isDigit(c))
            word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const bool isSgd = word.starts_with("sgd") || word == "musgd";
    job.training["optimizer"] = isSgd ? "sgd" : "adamw";
    if (word == "sgd" || word == "musgd" || std::find(kAdams.begin(), kAdams.end(), word) != kAdams.end())
        return;
    job.reading.say(setting, Became::notRepresentable,
                    quotedText(given) + ": the scenario has adamw with moments in 32 or 16 bits and sgd; " +
                        (isSgd ? "sgd is imported" : "adamw with moments in 32 bits is imported"),
                    "/training/optimizer");
}

namespace {

constexpr std::array<std::string_view, 4> kOtherInputs = {"vl", "vision", "omni", "audio"};

/// Letters and digits, small; versions and endings of Llama's and others' names made one.
std::string plainModelName(std::string_view given)
{
    std::string name;
    const std::size_t slash = given.rfind('/');
    for (const char c : slash == std::string_view::npos ? given : given.substr(slash + 1))
        if (isLetter(c) || isDigit(c))
            name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto replaceStart = [&name](std::string_view from, std::string_view to) {
        if (name.starts_with(from))
            name = std::string(to) + name.substr(from.size());
    };
    replaceStart("metallama", "llama");
    for (const char* version : {"llama318b", "llama3170b", "llama31405b", "llama3370b"})
        replaceStart(version, "llama3" + std::string(version).substr(7));
    if (name.starts_with("llama3370b"))
        name = "llama370b";
    return name;
}

/// Whether another model's name goes on behind the part that is one of the catalogue's: "DeepSeek-V3.2", "Qwen3-8B-VL"; not
/// behind "-Instruct" or a date. `rest`: letters and digits behind it.
bool namesAnother(std::string_view given, std::size_t rest)
{
    std::size_t at = given.size();
    for (; at > 0 && rest > 0; --at)
        rest -= isLetter(given[at - 1]) || isDigit(given[at - 1]) ? 1 : 0;
    const std::string_view tail = given.substr(at);
    std::string small;
    for (const char c : tail)
        small += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const bool isVersion = !tail.empty() && at > 0 && isDigit(tail.front()) &&
                           (isDigit(given[at - 1]) || (given[at - 1] == '.' && at > 1 && isDigit(given[at - 2])));
    return isVersion || std::any_of(std::begin(kOtherInputs), std::end(kOtherInputs),
                                    [&](std::string_view word) { return small.find(word) != std::string::npos; });
}

int numberIn(const Json& object, std::string_view key)
{
    return memberOr<int>(object, key, 0);
}

} // namespace

std::string modelByName(const Catalogue& catalogue, std::string_view name, WholeName whole)
{
    const std::string plain = plainModelName(name);
    std::string best;
    std::size_t length = 0;
    for (const Catalogue::Entry& entry : catalogue.models()) {
        const std::string id = plainModelName(entry.id);
        if (id.starts_with("tiny")) { // the catalogue's own, for tests: TinyLlama is another
            if (name == entry.id)
                return entry.id;
            continue;
        }
        if (plain == id)
            return entry.id;
        if (whole == WholeName::no && id.size() > length && id.size() >= 6 && plain.find(id) != std::string::npos &&
            !namesAnother(name, plain.size() - plain.find(id) - id.size())) {
            best = entry.id;
            length = id.size();
        }
    }
    return best;
}

namespace {

/// A size of a model; where it is not written, what follows from others.
int impliedSize(const Json& model, const std::string& key)
{
    const int written = numberIn(model, key);
    if (key == "num_experts")
        return std::max(1, written); // one is a dense layer
    if (written == 0 && key == "num_key_value_heads")
        return numberIn(model, "num_attention_heads");
    return written == 0 && key == "intermediate_size" ? 4 * std::min(numberIn(model, "hidden_size"), 1 << 26) : written;
}

/// The catalogue's entries of the sizes of a model whose vocabulary alone is not known. Llama's first, whose sizes others took
/// over.
std::vector<std::string> modelsBySizes(const Catalogue& catalogue, const Json& sizes)
{
    std::vector<std::string> all;
    for (const Catalogue::Entry& entry : catalogue.models()) {
        const Json* const model = catalogue.modelJson(entry.id);
        bool matches = model != nullptr;
        for (const char* key : {"num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size",
                                "num_key_value_heads", "num_experts"})
            matches = matches && impliedSize(*model, key) == impliedSize(sizes, key);
        if (matches)
            all.push_back(entry.id);
    }
    std::stable_partition(all.begin(), all.end(), [](const std::string& id) { return id.starts_with("llama"); });
    return all;
}

/// The entry whose hidden size is nearest, in ratio; of those with the same kind of positions, which came with a tokenizer.
std::string nearestModel(const Catalogue& catalogue, int hiddenSize, const std::string& position = {})
{
    std::string best = "llama3-8b";
    double distance = 1e9;
    for (const Catalogue::Entry& entry : catalogue.models()) {
        const int hidden = numberIn(*catalogue.modelJson(entry.id), "hidden_size");
        if (hidden == 0 || hiddenSize <= 0 ||
            (!position.empty() &&
             memberOr<std::string>(*catalogue.modelJson(entry.id), "position_embedding", "rope") != position))
            continue;
        const double away = std::abs(std::log(static_cast<double>(hidden) / hiddenSize));
        if (away < distance) {
            distance = away;
            best = entry.id;
        }
    }
    return best;
}

} // namespace

std::string guessedModel(const Job& job, int hiddenSize)
{
    // Experts that are laid out over ranks want a model that has as many.
    if (const int ep = memberOr<int>(job.layout, "ep", 1); ep > 1)
        for (const char* id : {"mixtral-8x7b", "qwen3-30b-a3b", "deepseek-v3", "kimi-k2"})
            if (const Json* const model = job.catalogue.modelJson(id);
                model != nullptr && numberIn(*model, "num_experts") > 0 && numberIn(*model, "num_experts") % ep == 0)
                return id;
    return hiddenSize > 0 ? nearestModel(job.catalogue, hiddenSize) : std::string("llama3-8b");
}

std::string modelsNear(const Catalogue& catalogue, const std::string& name)
{
    // Those that share the most letters at the beginning.
    const std::string plain = plainModelName(name);
    std::vector<std::pair<std::size_t, std::string>> found;
    for (const Catalogue::Entry& entry : catalogue.models()) {
        const std::string id = plainModelName(entry.id);
        const auto [a, b] = std::mismatch(id.begin(), id.end(), plain.begin(), plain.end());
        found.emplace_back(static_cast<std::size_t>(a - id.begin()), entry.id);
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    constexpr std::size_t kLettersAlike = 3; // fewer are chance
    std::string text;
    for (std::size_t i = 0; i < found.size() && i < 3 && found[i].first >= kLettersAlike; ++i)
        text += (i > 0 ? ", " : "; nearest: ") + found[i].second;
    return text;
}

namespace {

constexpr int kUsualGpusPerNode = 8;

struct ClusterHint {
    std::string_view word, id;
};
constexpr std::array kClusterHints = {
    ClusterHint{"vr200", "gb300-nvl72"}, ClusterHint{"gb300", "gb300-nvl72"},    ClusterHint{"gb200", "gb200-nvl72"},
    ClusterHint{"b300", "dgx-b300"},     ClusterHint{"b200", "dgx-b200"},        ClusterHint{"h200", "dgx-h200"},
    ClusterHint{"h800", "h800-ib400"},   ClusterHint{"h100", "h100-sxm-ib400"},  ClusterHint{"a100", "dgx-a100"},
    ClusterHint{"v100", "dgx-2-v100"},   ClusterHint{"mi300", "mi300x-roce400"}, ClusterHint{"mi355", "mi355x-roce400"}};

Json clusterOf(Job& job)
{
    std::string words;
    for (const std::string& name : job.fileNames)
        words += name + " ";
    for (const std::string& comment : job.reading.comments())
        words += comment + " ";
    std::transform(words.begin(), words.end(), words.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::string precision = memberOr<std::string>(job.training, "precision", "");
    const bool isNewer = precision == "mxfp8" || precision == "nvfp4"; // than Hopper
    ClusterHint chosen{"", isNewer ? "dgx-b200" : "h100-sxm-ib400"};
    for (const ClusterHint& hint : kClusterHints)
        if (chosen.word.empty() && words.find(hint.word) != std::string::npos)
            chosen = hint;
    const bool isAsked = !job.askedCluster.empty();
    if (isAsked)
        chosen = {"", job.askedCluster};
    else
        job.ask("/cluster",
                chosen.word.empty()
                    ? "no file says what GPUs and network these are: " + std::string(chosen.id) +
                          " is assumed; others: dgx-a100, dgx-b200, gb200-nvl72, mi300x-roce400 (--set cluster.base=…)"
                    : "a name or comment speaks of " + std::string(chosen.word) + ": " + std::string(chosen.id) +
                          " is assumed (--set cluster.base=…)");
    const int gpus = job.gpus.value_or(1);
    const Json* const base = job.catalogue.clusterJson(chosen.id);
    const int usual = base == nullptr ? 0 : numberIn(*base, "gpus_per_node");
    int perNode = job.gpusPerNode.value_or(usual > 0 ? usual : kUsualGpusPerNode);
    perNode = std::clamp(perNode, 1, std::max(1, gpus));
    if (gpus % perNode != 0)
        perNode = std::gcd(gpus, perNode);
    Json cluster{{"base", chosen.id}, {"nodes", gpus / perNode}};
    if (usual != perNode)
        cluster["gpus_per_node"] = perNode;
    return cluster;
}

} // namespace

void putModelByName(Job& job, std::string_view setting, const std::string& name)
{
    const std::string id = modelByName(job.catalogue, name);
    if (!id.empty()) {
        job.model["base"] = id;
        job.reading.say(setting, Became::used, "the catalogue's " + id, "/model/base");
        return;
    }
    job.reading.say(setting, Became::unknown,
                    quotedText(name) + " is not in the catalogue" + modelsNear(job.catalogue, name) +
                        " (--set model.base=…, or give its config.json too)",
                    "/model/base");
}

namespace {

struct Unusable {
    std::string pointer, why;
};

/// Takes out what there is at least one of, where a file says less, and what is more than a scenario takes.
std::vector<Unusable> takeUnusable(Job& job)
{
    std::vector<Unusable> taken;
    for (const auto& [block, name] : {std::pair{&job.model, "/model/"}, std::pair{&job.training, "/training/"}})
        for (auto member = block->begin(); member != block->end();) {
            const std::string pointer = name + member.key();
            const std::optional<KeyFacts> facts =
                member.value().is_number() ? keyFacts(job.catalogue, pointer) : std::optional<KeyFacts>();
            if (facts && member.value().get<double>() > facts->high) {
                taken.push_back({pointer, " is more than the " + shownValue(number(facts->high)) +
                                              " that a scenario takes, and not imported"});
                member = block->erase(member);
            } else {
                ++member;
            }
        }
    const auto look = [&taken](Json& block, const std::string& name, std::initializer_list<const char*> keys) {
        for (const char* key : keys)
            if (const Json* const value = memberOf(block, key);
                value != nullptr && value->is_number() && value->get<double>() < 1) {
                taken.push_back({"/" + name + "/" + key, " is less than 1, and not imported"});
                block.erase(key);
            }
    };
    look(job.model, "model",
         {"num_hidden_layers", "hidden_size", "num_attention_heads", "num_key_value_heads", "intermediate_size", "head_dim",
          "vocab_size", "max_position_embeddings", "moe_intermediate_size", "num_experts_per_tok"});
    look(job.training, "training", {"sequence_length"});
    return taken;
}

void tellUnusable(std::vector<Note>& notes, const std::vector<Unusable>& all)
{
    for (Note& note : notes)
        for (const Unusable& one : all)
            if (note.became == Became::used && note.pointer == one.pointer) {
                note.became = Became::unknown;
                note.text = note.value + one.why;
            }
}

struct KnownVocabulary {
    int size = 0; ///< 0: no tokenizer that is known
    std::string of{};
};

/// By the tokenizer's kind where one vocabulary is meant, else by the model whose tokenizer it is.
KnownVocabulary vocabularyOfTokenizer(const Job& job)
{
    struct Kind {
        std::string_view word;
        int size;
    };
    const auto said = [&job](std::initializer_list<std::string_view> names) {
        std::vector<std::string> words;
        for (const std::string_view name : names)
            if (const Json* const value = job.reading.peek(name); value != nullptr && value->is_string())
                words.push_back(value->get<std::string>());
        return words;
    };
    for (const std::string& word : said({"tokenizer_type", "tokenizer.type", "tokenizer.tokenizer_type"}))
        for (const Kind& kind : {Kind{"GPT2BPETokenizer", 50257}, Kind{"Llama2Tokenizer", 32000}})
            if (word == kind.word)
                return {kind.size, word};
    for (const std::string& name :
         said({"tokenizer_model", "tokenizer.model", "tokenizer.tokenizer_model", "tokenizer_name_or_path",
               "tokenizer.tokenizer_name_or_path", "tokenizer.type", "load", "hf_model_path"}))
        if (const std::string id = modelByName(job.catalogue, name); !id.empty())
            if (const int size = numberIn(*job.catalogue.modelJson(id), "vocab_size"); size > 0)
                return {size, id + ", whose tokenizer it is,"};
    return {};
}

} // namespace

Imported scenarioOf(Job&& job, std::string_view kind)
{
    const std::vector<Unusable> unusable = takeUnusable(job);
    Json& model = job.model;
    const bool isWritten = numberIn(model, "num_hidden_layers") > 0 && numberIn(model, "hidden_size") > 0 &&
                           numberIn(model, "num_attention_heads") > 0;
    if (!model.contains("base") && !isWritten) {
        const std::string guess = guessedModel(job, numberIn(model, "hidden_size"));
        Json with{{"base", guess}};
        for (const auto& [key, value] : model.items())
            with[key] = value;
        model = std::move(with);
        job.ask("/model", "the model is not in the file: " + guess +
                              " stands in its place; say it with --set model.base=…, or give its config.json too");
    }
    if (!model.contains("base") && !model.contains("vocab_size")) {
        const std::vector<std::string> same = modelsBySizes(job.catalogue, model);
        const KnownVocabulary known = vocabularyOfTokenizer(job);
        const std::string near = same.empty() ? nearestModel(job.catalogue, numberIn(model, "hidden_size"),
                                                             memberOr<std::string>(model, "position_embedding", ""))
                                              : same.front();
        const int size = known.size > 0 ? known.size : numberIn(*job.catalogue.modelJson(near), "vocab_size");
        model["vocab_size"] = size;
        std::string others;
        for (const std::string& id : same)
            if (id != near || known.size > 0)
                others += std::to_string(numberIn(*job.catalogue.modelJson(id), "vocab_size")) + " (" + id + "), ";
        job.ask("/model/vocab_size", "the vocabulary comes from the tokenizer: the " + std::to_string(size) + " of " +
                                         (known.size > 0 ? known.of : near + (same.empty() ? "" : ", which has these sizes,")) +
                                         " is assumed; others: " + others +
                                         "32000 (Llama 2), 50257 (GPT-2), 128256 (Llama 3), 151936 (Qwen3)");
    }
    if (!job.training.contains("sequence_length")) {
        job.training["sequence_length"] = 2048;
        job.ask("/training/sequence_length", "the sequence length is not in the file: 2048 is assumed");
    }
    if (!job.training.contains("micro_batch_size") || !job.training.contains("global_batch_size")) {
        if (!job.training.contains("micro_batch_size")) // or it was more than a scenario takes
            job.microBatch.reset();
        if (!job.training.contains("global_batch_size"))
            job.globalBatch.reset();
        job.accumulation.reset();
        settleBatch(job);
    }
    if (job.pp > 1 && !job.schedule.contains("kind"))
        job.schedule["kind"] = "1f1b";
    const Json cluster = clusterOf(job);

    // What the files leave to somebody else is asked for, too, where it is a key.
    for (const std::string& pointer : job.reading.outside())
        if (!pointer.starts_with("/cluster") && std::find(job.unknown.begin(), job.unknown.end(), pointer) == job.unknown.end())
            job.unknown.push_back(pointer);

    std::string name = job.fileNames.empty() ? "Imported" : job.fileNames.front();
    name = name.substr(name.find_last_of('/') + 1);
    std::string description = "Imported from settings of the kind " + std::string(kind) + ".";
    if (!job.unknown.empty()) {
        description += " Not in the file, and guessed:";
        for (std::size_t i = 0; i < job.unknown.size(); ++i)
            description += (i > 0 ? ", " : " ") + ("`" + job.unknown[i] + "`");
        description += ".";
    }
    Json scenario{{"format", "rankscope-scenario"},
                  {"version", 1},
                  {"name", shownText(name, 80)},
                  {"description", description},
                  {"model", model},
                  {"cluster", cluster},
                  {"layout", job.layout}};
    if (!job.schedule.empty())
        scenario["schedule"] = job.schedule;
    scenario["training"] = job.training;

    Imported out;
    out.kind = kind;
    out.scenario = prettyText(scenario);
    out.notes = job.reading.takeNotes();
    tellUnusable(out.notes, unusable);
    out.unknown = std::move(job.unknown);
    return out;
}

} // namespace sim::frameworks
