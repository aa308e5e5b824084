// What dialects write into a job, and framework's words that mean the same everywhere.
#include "sim/frameworks/job.h"

#include "sim/text/characters.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <cctype>

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

void tellPackedAcross(Reading& reading, std::string_view setting, std::string_view unless)
{
    if (const Json* const given = reading.peek(setting); given != nullptr && *given == Json(true))
        reading.say(setting, Became::harmless,
                    "attention looks across the documents of a sequence, as here, unless " + std::string(unless) +
                        " keeps them apart");
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

void putSoftware(Job& job, std::string_view stack, const std::string& why)
{
    Json& block = job.training["stack"];
    if (block.is_object()) // what a setting says of it stays
        block["base"] = stack;
    else
        block = stack;
    job.reading.byDefault("software", stack, "/training/stack", why);
}

void putExchangedHeads(Job& job, std::string_view setting, int ringRanks)
{
    if (ringRanks > 1)
        return job.reading.say(setting, Became::notRepresentable,
                               "heads exchanged among some ranks, and keys and values round a ring of the others, have no key: "
                               "imported as one ring",
                               "/layout/cp");
    Json& stack = job.training["stack"];
    if (stack.is_string())
        stack = {{"base", stack}};
    stack["exchanges_heads"] = true;
    job.reading.say(setting, Became::used, "context parallelism that exchanges heads: training.stack.exchanges_heads",
                    "/layout/cp");
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

} // namespace sim::frameworks
