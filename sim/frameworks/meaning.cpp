// From framework-neutral facts to a scenario: the model's sizes, the cluster, and what has to be asked for.
#include "sim/frameworks/catalogue_models.h"
#include "sim/scenario/document.h"
#include "sim/scenario/key_facts.h"
#include "sim/scenario/pointer_text.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>

namespace sim::frameworks {
namespace {

constexpr int kUsualGpusPerNode = 8;

struct ClusterHint {
    std::string_view word, id;
};
constexpr std::array kClusterHints = {
    ClusterHint{"vr200", "gb300-nvl72"},    ClusterHint{"gb300", "gb300-nvl72"},   ClusterHint{"gb200", "gb200-nvl72"},
    ClusterHint{"b300", "dgx-b300"},        ClusterHint{"b200", "dgx-b200"},       ClusterHint{"h200", "dgx-h200"},
    ClusterHint{"h20", "h20-ib400"},        ClusterHint{"h800", "h800-ib400"},     ClusterHint{"h100", "h100-sxm-ib400"},
    ClusterHint{"a100", "dgx-a100"},        ClusterHint{"v100", "dgx-2-v100"},     ClusterHint{"mi300", "mi300x-roce400"},
    ClusterHint{"mi325", "mi325x-roce400"}, ClusterHint{"mi355", "mi355x-roce400"}};

/// "8xh100", "dgx-h100.sh" speak of h100; "h2048" does not speak of h20, nor does "epoch20".
bool speaksOf(const std::string& words, std::string_view hint)
{
    for (std::size_t at = words.find(hint); at != std::string::npos; at = words.find(hint, at + 1)) {
        const auto is = [&words](std::size_t place, auto kind) {
            return place < words.size() && kind(static_cast<unsigned char>(words[place])) != 0;
        };
        const bool inWord = at > 0 && words[at - 1] != 'x' && is(at - 1, [](int c) { return std::isalpha(c); });
        if (!inWord && !is(at + hint.size(), [](int c) { return std::isdigit(c); }))
            return true;
    }
    return false;
}

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
        if (chosen.word.empty() && speaksOf(words, hint.word))
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

/// Says how many tokens the run has, where a file says its steps or samples.
void sayTokens(Job& job)
{
    struct RunLength {
        std::string_view name;
        bool isSamples = false;
    };
    constexpr std::array kLengths = {RunLength{"train_samples", true},
                                     RunLength{"train_iters"},
                                     RunLength{"training.steps"},
                                     RunLength{"tokens.train_steps"},
                                     RunLength{"trainer.max_steps"},
                                     RunLength{"train.max_steps"},
                                     RunLength{"max_steps"},
                                     RunLength{"steps"},
                                     RunLength{"training.total_train_steps"}};
    const double sequence = numberIn(job.training, "sequence_length"), batch = numberIn(job.training, "global_batch_size");
    const bool isRamped =
        job.reading.peek("rampup_batch_size") != nullptr || job.reading.peek("step_batch_size_schedule") != nullptr;
    for (const RunLength& length : kLengths) {
        const Json* const value = job.reading.peek(length.name);
        if (value == nullptr || !wholeNumber<std::int64_t>(*value) || value->get<double>() < 1 || (isRamped && !length.isSamples))
            continue;
        const double tokens = value->get<double>() * sequence * (length.isSamples ? 1 : batch);
        const std::optional<KeyFacts> facts = keyFacts(job.catalogue, "/training/tokens");
        if (job.training.contains("tokens") || tokens < 1 || (facts && tokens > facts->high))
            continue;
        job.training["tokens"] = tokens;
        job.reading.say(length.name, Became::used, {}, "/training/tokens");
    }
}

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
    const bool accumulates = 1LL * job.microBatch.value_or(1) * job.dp < job.globalBatch.value_or(1);
    // Accelerate, concept_guides/gradient_synchronization: no_sync, unless GradientAccumulationPlugin(sync_each_batch=True). Its
    // FSDP 2 has it since autumn 2025 (pull request 3762).
    constexpr const char* kSaid = "accelerator_config.gradient_accumulation_kwargs.sync_each_batch";
    const bool isCut = memberOr<int>(job.layout, "zero_stage", 0) >= 2;
    if (job.addsUpWhole && accumulates && job.pp == 1 && isCut &&
        !job.reading.flag(kSaid, "/layout/reduce_each_microbatch").value_or(false)) {
        job.layout["reduce_each_microbatch"] = false;
        job.reading.byDefault(
            kSaid, false, "/layout/reduce_each_microbatch",
            "gradients are reduced with a step's last micro-batch, and until then each rank has them whole (with "
            "FSDP 2 from Accelerate of autumn 2025 on)");
    }
    const Json cluster = clusterOf(job);
    sayTokens(job);

    // What the files leave to somebody else is asked for, too, where it is a key.
    for (const std::string& pointer : job.reading.outside())
        if (!pointer.starts_with("/cluster") && std::find(job.unknown.begin(), job.unknown.end(), pointer) == job.unknown.end())
            job.unknown.push_back(pointer);

    Imported out;
    out.notes = job.reading.takeNotes();
    constexpr const char* kDocuments = "/training/documents";
    const auto isPacked = [](const Note& note) {
        return note.became == Became::notRepresentable && note.text.starts_with(kPackedDocuments);
    };
    if (std::any_of(out.notes.begin(), out.notes.end(), isPacked)) {
        for (Note& note : out.notes)
            if (isPacked(note))
                note.pointer = kDocuments;
        out.notes.push_back({dotted(std::string(kDocuments)), "", 0, Became::unknown, kDocuments,
                             "how long the packed documents are is not in the file: one a sequence is assumed; --set "
                             "training.documents.lengths=[…] says it in tokens, and training.documents.weights how often each "
                             "comes"});
        job.unknown.emplace_back(kDocuments);
    }

    std::string name = job.fileNames.empty() ? "Imported" : job.fileNames.front();
    name = name.substr(name.find_last_of('/') + 1);
    const auto kinds = frameworkKinds();
    const auto known = std::find_if(kinds.begin(), kinds.end(), [&](const FrameworkKind& of) { return of.id == kind; });
    std::string description = "Imported from " + std::string(known == kinds.end() ? kind : known->name) + ".";
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

    out.kind = kind;
    out.scenario = prettyText(scenario);
    tellUnusable(out.notes, unusable);
    out.unknown = std::move(job.unknown);
    return out;
}

} // namespace sim::frameworks
