// torchtitan's pipeline: its schedule, and the layers of each stage.
#include "sim/frameworks/dialects/torchtitan_flavours.h"
#include "sim/frameworks/dialects/torchtitan_parts.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <cctype>

namespace sim::frameworks {
namespace {

std::string scheduleOfTitan(std::string word)
{
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (word == "1f1b")
        return "1f1b";
    if (word == "gpipe")
        return "gpipe";
    if (word == "interleaved1f1b")
        return "interleaved-1f1b";
    if (word == "interleavedzerobubble")
        return "interleaved-zb";
    if (word == "loopedbfs")
        return "looped-bfs";
    if (word == "zbvzerobubble")
        return "zb-v";
    if (word == "dualpipev")
        return "dualpipe-v";
    return "";
}

/// Layers of each stage where the modules of each are listed (module_fqns_per_model_part); empty where they are not.
std::vector<int> layersByModules(Job& job)
{
    constexpr const char* kPointer = "/schedule/layers_per_stage";
    Reading& reading = job.reading;
    std::vector<int> counts;
    for (const std::string part = "parallelism.module_fqns_per_model_part";;) {
        const std::string name = part + "[" + std::to_string(counts.size()) + "]";
        if (!reading.has(name))
            break;
        const std::vector<std::string> modules = wordsOfList(reading.any(name, kPointer).value_or(Json::array()));
        counts.push_back(static_cast<int>(std::count_if(
            modules.begin(), modules.end(), [](const std::string& module) { return module.starts_with("layers."); })));
    }
    if (counts.empty() || (job.pp > 1 && static_cast<int>(counts.size()) % job.pp == 0))
        return job.pp > 1 ? counts : std::vector<int>();
    reading.addNote("parallelism.module_fqns_per_model_part[0]", Became::contradictory,
                    std::to_string(counts.size()) + " lists of modules are no stages of pp " + std::to_string(job.pp), kPointer);
    return {};
}

} // namespace

TitanStages readTitanStages(Job& job, bool isOf2024)
{
    Reading& reading = job.reading;
    const std::string given = reading.wordOr("parallelism.pipeline_parallel_schedule", "/schedule/kind", "1F1B");
    std::string kind = scheduleOfTitan(given);
    if (kind.empty()) {
        reading.say("parallelism.pipeline_parallel_schedule", Became::notRepresentable, quotedText(given) + ": 1f1b is imported");
        kind = "1f1b";
    }
    const bool isMulti = kind != "1f1b" && kind != "gpipe";
    int layers = memberOr<int>(job.model, "num_hidden_layers", 0);
    if (const Json* const base =
            job.model.contains("base") ? job.catalogue.modelJson(job.model["base"].get<std::string>()) : nullptr)
        layers = memberOr<int>(*base, "num_hidden_layers", 0);
    int chunks = isMulti && job.pp > 1 ? 2 : 1;
    const auto firstLess = reading.integer("parallelism.pipeline_parallel_first_stage_less_layers", "/schedule/layers_per_stage");
    const auto lastLess = reading.integer("parallelism.pipeline_parallel_last_stage_less_layers", "/schedule/layers_per_stage");
    const int first = std::clamp(firstLess.value_or(1), 0, 1000), last = std::clamp(lastLess.value_or(1), 0, 1000);
    if (const auto each = reading.integer("parallelism.pipeline_parallel_layers_per_stage", "/schedule/virtual_stages");
        each && *each > 0 && *each < 1000000 && layers > 0 && job.pp > 1) {
        const int stages = (layers + first + last + *each - 1) / *each;
        if (stages % job.pp == 0)
            chunks = std::max(1, stages / job.pp);
        else
            reading.say("parallelism.pipeline_parallel_layers_per_stage", Became::contradictory,
                        std::to_string(stages) + " stages of " + std::to_string(*each) + " layers are no multiple of pp " +
                            std::to_string(job.pp));
    }
    job.schedule["kind"] = job.pp > 1 ? kind : "1f1b";
    job.schedule["virtual_stages"] = chunks;
    const int stages = std::min(job.pp, 100000) * chunks;
    std::vector<int> counts;
    if (const auto points = reading.any("parallelism.pipeline_parallel_split_points", "/schedule/layers_per_stage");
        points && layers > 0 && job.pp > 1) {
        int before = 0;
        for (const std::string& point : wordsOfList(*points))
            if (const auto at = point.starts_with("layers.") ? wholeNumber<int>(valueOf(point.substr(7))) : std::nullopt;
                at && *at >= before && *at <= layers) {
                counts.push_back(*at - before);
                before = *at;
            }
        counts.push_back(layers - before);
        if (static_cast<int>(counts.size()) % job.pp != 0)
            counts.clear();
        else
            job.schedule["virtual_stages"] = static_cast<int>(counts.size()) / job.pp;
    } else if (const std::vector<int> named = layersByModules(job); !named.empty()) {
        counts = named;
        job.schedule["virtual_stages"] = static_cast<int>(counts.size()) / job.pp;
    } else if (!isOf2024 && job.pp > 1 && layers >= stages) {
        counts = titanLayers(layers, stages, first, last);
        if (*std::min_element(counts.begin(), counts.end()) < 1)
            counts.clear();
        else if (!firstLess && !lastLess)
            reading.byDefault("parallelism.pipeline_parallel_first_stage_less_layers", 1, "/schedule/layers_per_stage",
                              "are not given: the first and the last stage have a layer less, for embedding and output");
    }
    if (!counts.empty())
        job.schedule["layers_per_stage"] = counts;
    return {.layers = layers, .stages = stages, .counts = std::move(counts)};
}

} // namespace sim::frameworks
