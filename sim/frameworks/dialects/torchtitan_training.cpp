// torchtitan's precision, compiler, recomputation, overlap, optimizer and loss.
#include "sim/frameworks/dialects/primus.h"
#include "sim/frameworks/dialects/torchtitan_parts.h"
#include "sim/frameworks/stacks.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace sim::frameworks {
namespace {

constexpr std::array kFloat8Of2024 = {"training.enable_fp8_linear", "training.enable_float8_linear",
                                      "float8.enable_float8_linear"};

/// Whether products are in 8 bits by a switch, before there were converters.
bool has8OfOldName(const Reading& reading)
{
    return std::any_of(kFloat8Of2024.begin(), kFloat8Of2024.end(), [&reading](const char* name) {
        const Json* const given = reading.peek(name);
        return given != nullptr && *given == Json(true);
    });
}

void readTitanPrecision(Job& job)
{
    Reading& reading = job.reading;
    std::string precision = "bf16";
    if (const auto param = reading.word("training.mixed_precision_param", "/training/precision");
        param && !precisionWord(*param).empty())
        precision = precisionWord(*param);
    const auto dtype = reading.word("training.dtype", "/training/precision");
    const bool hasNoCopy = dtype && precisionWord(*dtype) == "bf16";
    if (hasNoCopy)
        precision = "bf16";
    bool has8 = false;
    if (const auto converters = reading.any("model.converters", "/training/precision")) {
        bool isOfExperts = true;
        for (const std::string& converter : wordsOfList(*converters)) {
            const bool isFloat8 = converter.find("float8") != std::string::npos;
            const bool isMx = converter.find("mx") != std::string::npos, isNvfp4 = converter.find("nvfp4") != std::string::npos;
            has8 = has8 || isFloat8;
            if (isMx || isNvfp4)
                precision = isNvfp4 ? "nvfp4" : "mxfp8";
            isOfExperts = isOfExperts && (!(isFloat8 || isMx || isNvfp4) || converter.find("grouped_mm") != std::string::npos);
        }
        if (isOfExperts && (has8 || precision == "mxfp8" || precision == "nvfp4"))
            reading.addNote("model.converters", Became::notRepresentable,
                            "the products of experts alone are narrow: the scenario has one precision for all of them",
                            "/training/precision");
    }
    if (const auto old = reading.word("training.fp8_linear", "/training/precision"); old && !old->empty() && *old != "false")
        has8 = true; // spring 2024
    for (const char* name : kFloat8Of2024)
        has8 = reading.flag(name, "/training/precision").value_or(false) || has8;
    if (const std::optional<std::string> file = modelOfPrimus(reading); file && file->ends_with("-fp8"))
        has8 = true;
    if (has8)
        precision = "fp8";
    if (!has8 && reading.hasPrefix("float8."))
        reading.addNote("[float8]", Became::harmless, "does nothing without model.converters = [\"float8\"]",
                        "/training/precision");
    job.training["precision"] = precision;
    if (const auto reduce = reading.word("training.mixed_precision_reduce", "/training/gradient_dtype");
        hasNoCopy || (reduce && precisionWord(*reduce) == "bf16"))
        job.training["gradient_dtype"] = "bf16";
    else
        job.training["gradient_dtype"] = "fp32";
    if (hasNoCopy) {
        job.training["moment_dtype"] = "bf16";
        reading.say("training.dtype", Became::notRepresentable,
                    *dtype + ": parameters, gradients and moments are in 16 bits, which is imported, and there is no copy of the "
                             "parameters in fp32, which the scenario counts (4 bytes a parameter)",
                    "/training/moment_dtype");
    }
}

/// What the tables of the converters say of products in 8 bits beside that there are some.
void readNarrowProducts(Reading& reading)
{
    constexpr const char *kPointer = "/training/precision", *kConverters = "model.converters";
    const Json* const given = reading.peek(kConverters);
    const std::vector<std::string> converters = given != nullptr ? wordsOfList(*given) : std::vector<std::string>();
    const std::optional<std::string> file = modelOfPrimus(reading);
    // Of 2026, or of Primus's file of the model: which there are is not known by that name.
    const bool isSaidElsewhere = given == nullptr && (reading.hasPrefix("model_converters") ||
                                                      (file && file->ends_with("-fp8")) || has8OfOldName(reading));
    for (const char* table : {"float8.", "mx.", "quantize.linear.float8.", "quantize.linear.mx.", "quantize.grouped_mm.float8.",
                              "quantize.grouped_mm.mx."}) {
        const std::string of = table, converter = of.substr(0, of.size() - 1);
        if (!isSaidElsewhere && std::find(converters.begin(), converters.end(), converter) == converters.end()) {
            const std::string why = given == nullptr ? "does nothing without model.converters"
                                                     : "does nothing: model.converters (" + reading.placeOf(kConverters) +
                                                           ") has no " + quotedText(converter);
            for (const char* name : {"filter_fqns", "recipe_name"})
                reading.say(of + name, Became::harmless, why, kPointer);
            continue;
        }
        if (const auto without = reading.any(of + "filter_fqns", kPointer)) {
            const std::vector<std::string> names = wordsOfList(*without);
            const bool isHead = std::all_of(names.begin(), names.end(), [](const std::string& name) { return name == "output"; });
            reading.say(of + "filter_fqns", isHead ? Became::harmless : Became::notRepresentable,
                        isHead ? "the head stays in 16 bits" : "products that stay in 16 bits have no key");
        }
        if (const auto recipe = reading.word(of + "recipe_name", kPointer); recipe) {
            const bool isUsual = *recipe == "tensorwise" || recipe->starts_with("mxfp8");
            reading.say(of + "recipe_name", isUsual ? Became::used : Became::notRepresentable,
                        isUsual ? ""
                                : quotedText(*recipe) + ": how narrow numbers are scaled has no key, see training.precision");
        }
    }
}

/// `[training] compile` compiles layers, the [compile] table (June 2025) the loss too, unless its components leave it out.
std::string_view stackOf(Reading& reading)
{
    constexpr const char* kPointer = "/training/stack";
    if (reading.hasPrefix("training.compile"))
        return reading.flagOr("training.compile", kPointer, false) ? stacks::kCompiledLayers : stacks::kEager;
    const bool isRefused = reading.flag("compile.no_enable", kPointer).value_or(false); // a command line's way to say false
    const bool compiles =
        !isRefused && reading.flagOr("compile.enable", kPointer, modelOfPrimus(reading).has_value()); // its pre_trainer.yaml
    const std::vector<std::string> parts =
        wordsOfList(reading.any("compile.components", kPointer).value_or(Json{"model", "loss"}));
    const auto has = [&](const char* part) { return std::find(parts.begin(), parts.end(), part) != parts.end(); };
    return !compiles || !has("model") ? stacks::kEager : has("loss") ? stacks::kCompiledWithLoss : stacks::kCompiledLayers;
}

/// Head and loss of a share of each sequence at a time, with the gradients of both (components/loss.py, ChunkedCELoss and
/// ChunkedLossWrapper, 2026). All registered configs of language models have it, but those whose names say otherwise.
void readChunkedLoss(Job& job)
{
    constexpr const char *kSetting = "loss.num_chunks", *kPointer = "/training/loss_chunk_tokens";
    constexpr int kRegistered = 8;
    std::optional<int> chunks = job.reading.size(kSetting, kPointer);
    const Json* const config = job.reading.peek("config");
    const bool isRegistered = !chunks && config != nullptr && shownValue(*config).find("_ce_loss") == std::string::npos;
    if (isRegistered)
        chunks = kRegistered;
    if (!chunks)
        return;
    const auto share = [](long long all, long long parts) { return (all + parts - 1) / parts; };
    const long long own = share(memberOr<int>(job.training, "sequence_length", 2048), std::max(1, job.cp));
    const long long tokens = std::max(1, job.microBatch.value_or(1)) * share(own, std::max(1, *chunks));
    job.training["loss_chunk_tokens"] = std::min(tokens, 1LL << 30);
    if (!isRegistered) // else it is asked for with all that the config sets
        job.reading.addNote(kSetting, Became::used,
                            std::to_string(*chunks) + " chunks of the " + std::to_string(own) +
                                " tokens that a rank has of each sequence: " + std::to_string(tokens) +
                                " tokens of a micro-batch",
                            kPointer);
}

/// The compiler keeps as many activations as the budget allows: 1 all, 0 none.
const char* recomputeByBudget(Reading& reading)
{
    const double budget = reading.real("activation_checkpoint.memory_budget", "/training/recompute").value_or(0.5);
    const char* const nearest = budget >= 1 ? "none" : budget <= 0 ? "full" : "selective";
    reading.say("activation_checkpoint.mode", Became::notRepresentable,
                "what runs again the compiler chooses, for a budget of " + shownValue(number(budget)) +
                    " of the activations' memory: " + nearest + " is imported",
                "/training/recompute");
    return nearest;
}

void readTitanRecompute(Job& job, const TitanStages& of)
{
    Reading& reading = job.reading;
    std::string mode = reading.wordOr("activation_checkpoint.mode", "/training/recompute",
                                      modelOfPrimus(reading) ? "none" : "selective"); // its pre_trainer.yaml
    std::transform(mode.begin(), mode.end(), mode.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::optional<std::string> option = reading.word("activation_checkpoint.selective_ac_option", "/training/recompute");
    if (mode.starts_with("full")) {
        job.training["recompute"] = "full";
        if (option)
            reading.say("activation_checkpoint.selective_ac_option", Became::harmless, "counts only in the mode selective");
    } else if (mode.starts_with("selective")) {
        const std::optional<int> every = wholeNumber<int>(valueOf(option.value_or("2")));
        if (every && *every > 0) {
            const int most = of.counts.empty() ? (of.layers > 0 ? of.layers / of.stages : 0)
                                               : *std::max_element(of.counts.begin(), of.counts.end());
            const int some = std::max(1, most / *every);
            job.training["recompute"] = most > 0 && *every > 1 ? Json({{"kind", "full"}, {"layers", some}}) : Json("full");
            if (*every > 1)
                reading.addNote("activation_checkpoint.selective_ac_option", Became::notRepresentable,
                                "selective activation checkpoint of every " + std::to_string(*every) +
                                    "-th layer: full recompute of that share of the layers" +
                                    (most > 0 ? ", the first " + std::to_string(some) + " of each stage" : ""),
                                "/training/recompute");
        } else {
            job.training["recompute"] = "selective";
            reading.addNote("activation_checkpoint.selective_ac_option", Became::used,
                            "attention and every other matrix product are kept, all else runs again", "/training/recompute");
        }
    } else if (mode == "memory_budget") {
        job.training["recompute"] = recomputeByBudget(reading);
    } else {
        const bool isNone = mode == "none" || mode == "false";
        job.training["recompute"] = isNone ? "none" : "full";
        if (!isNone)
            reading.say("activation_checkpoint.mode", Became::unknown,
                        quotedText(mode) + " is no mode known here: full is imported");
    }
}

void readTitanOverlap(Job& job)
{
    Reading& reading = job.reading;
    const bool async = reading.flagOr("parallelism.enable_async_tensor_parallel", "/training/overlap/tp_comm", false);
    job.put("/training/overlap/grad_reduce", true);
    job.put("/training/overlap/param_gather", true);
    job.put("/training/overlap/tp_comm", async && job.tp > 1);
    job.put("/training/overlap/p2p", false);
    job.put("/training/overlap/ep_comm", false);
    reading.byDefault("FSDP prefetch", true, "/training/overlap/grad_reduce", "FSDP reduces and gathers beside the passes");
    reading.byDefault("pipeline p2p", false, "/training/overlap/p2p", "sends and receives are waited for");
}

} // namespace

namespace {

/// One name for all parameters until 2026; then one for each group of them, the last for those that no other takes, which counts
/// where they differ.
void readTitanOptimizer(Job& job)
{
    Reading& reading = job.reading;
    if (const auto name = reading.word("optimizer.name", "/training/optimizer"))
        putOptimizer(job, "optimizer.name", *name);
    for (int group = 0;; ++group) {
        const std::string setting = "optimizer.param_groups[" + std::to_string(group) + "].optimizer_name";
        const auto name = reading.word(setting, "/training/optimizer");
        if (!name)
            break;
        putOptimizer(job, setting, *name);
    }
    constexpr const char* kImplementation = "optimizer.implementation";
    const auto implementation = reading.word(kImplementation, "/training/moment_dtype");
    if (implementation == "fused_opt_states_bf16")
        job.training["moment_dtype"] = "bf16";
    else if (implementation == "for-loop")
        reading.say(kImplementation, Became::notRepresentable,
                    "a kernel for each parameter and step of the update: the optimizer's kernels are counted as fused");
    else if (implementation)
        reading.say(kImplementation, Became::harmless, {});
}

} // namespace

void readTitanTraining(Job& job, const TitanStages& stages)
{
    readTitanPrecision(job);
    readNarrowProducts(job.reading);
    job.training["stack"] = stackOf(job.reading);
    readTitanRecompute(job, stages);
    readTitanOverlap(job);
    readTitanOptimizer(job);
    readChunkedLoss(job);
}

} // namespace sim::frameworks
