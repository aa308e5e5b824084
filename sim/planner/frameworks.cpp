// What frameworks refuse of what is legal, as data: facts of their argument checks, each with where it stands.
#include "sim/planner/space.h"

#include "sim/error.h"
#include "sim/text/nearest.h"
#include "sim/text/quoted.h"

#include <array>

namespace sim {
namespace {

struct FrameworkLimit {
    std::string_view framework;
    bool (*refuses)(const Scenario&);
    std::string_view text; ///< after "megatron: "
};

bool isOneOf(const std::string& kind, std::initializer_list<std::string_view> kinds)
{
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

constexpr std::array<std::string_view, 7> kPlannedFrameworks{"megatron", "torchtitan",  "deepspeed", "nanotron",
                                                             "picotron", "huggingface", "maxtext"};

const std::array kFrameworkLimits{
    // Megatron-LM, training/arguments.py and core/parallel_state.py
    FrameworkLimit{"megatron",
                   [](const Scenario& s) {
                       return !isOneOf(s.schedule.kind, {"1f1b", "interleaved-1f1b"});
                   },
                   "its pipelines run 1f1b or interleaved-1f1b"},
    FrameworkLimit{"megatron",
                   [](const Scenario& s) {
                       const int tp = s.layout.tp, groups = s.model.numKeyValueHeads;
                       return groups % tp != 0 && tp % groups != 0;
                   },
                   "query groups and tp must divide one another"},
    FrameworkLimit{"megatron",
                   [](const Scenario& s) { return s.model.numHiddenLayers % (s.layout.pp * s.schedule.virtualStages) != 0; },
                   "layers must divide by pp x virtual stages, unless the first and last stage are told apart"},
    FrameworkLimit{"megatron",
                   [](const Scenario& s) { return s.model.numExperts > 0 && s.layout.tp > 1 && !s.layout.sequenceParallel; },
                   "experts with tp > 1 require sequence parallelism"},
    FrameworkLimit{"megatron", [](const Scenario& s) { return s.layout.zeroStage >= 2; },
                   "its distributed optimizer is ZeRO 1; more is FSDP, which excludes pipelines"},
    // torchtitan, models/llama3/infra/parallelize.py and distributed/pipeline_parallel.py
    FrameworkLimit{"torchtitan", [](const Scenario& s) { return s.model.numKeyValueHeads % s.layout.tp != 0; },
                   "tp must divide the key-value heads: it does not replicate them"},
    FrameworkLimit{"torchtitan",
                   [](const Scenario& s) {
                       return !isOneOf(s.schedule.kind, {"gpipe", "1f1b", "interleaved-1f1b", "looped-bfs", "interleaved-zb",
                                                         "zb-v", "dualpipe-v"});
                   },
                   "PyTorch's pipelining has no such schedule"},
    FrameworkLimit{"torchtitan", [](const Scenario& s) { return s.layout.tp > 1 && !s.layout.sequenceParallel; },
                   "its tensor parallelism always shards the sequence between layers"},
    FrameworkLimit{"torchtitan", [](const Scenario& s) { return s.layout.zeroStage == 1 || s.layout.zeroStage == 2; },
                   "it shards everything (FSDP) or replicates (DDP)"},
    // DeepSpeed, runtime/pipe/engine.py
    FrameworkLimit{"deepspeed", [](const Scenario& s) { return s.layout.pp > 1 && s.layout.zeroStage >= 2; },
                   "its pipelines take ZeRO 0 and 1 only"},
    FrameworkLimit{"deepspeed", [](const Scenario& s) { return s.layout.cp > 1; }, "it has no context parallelism"},
    FrameworkLimit{"deepspeed", [](const Scenario& s) { return s.schedule.kind != "1f1b"; }, "its pipelines run 1f1b"},
    FrameworkLimit{"deepspeed", [](const Scenario& s) { return s.layout.dp % s.layout.ep != 0; }, "ep must divide dp"},
    // nanotron, config/parallelism_config.py; picotron, train.py
    FrameworkLimit{"nanotron",
                   [](const Scenario& s) {
                       return !isOneOf(s.schedule.kind, {"1f1b", "gpipe"});
                   },
                   "its pipeline engines are 1f1b and all forward, all backward"},
    FrameworkLimit{"nanotron", [](const Scenario& s) { return s.layout.zeroStage >= 2; }, "it has ZeRO 1"},
    FrameworkLimit{"picotron", [](const Scenario& s) { return s.model.numExperts > 0; }, "it has no experts"},
    FrameworkLimit{"picotron",
                   [](const Scenario& s) {
                       return !isOneOf(s.schedule.kind, {"1f1b", "gpipe"});
                   },
                   "its pipeline engines are 1f1b and all forward, all backward"},
    FrameworkLimit{"picotron", [](const Scenario& s) { return s.layout.zeroStage > 0; }, "it has no ZeRO"},
    FrameworkLimit{"picotron", [](const Scenario& s) { return s.model.numKeyValueHeads % s.layout.tp != 0; },
                   "tp must divide the key-value heads"},
    FrameworkLimit{"huggingface", [](const Scenario& s) { return s.layout.pp > 1; }, "FSDP has no pipeline"},
    FrameworkLimit{"huggingface", [](const Scenario& s) { return s.layout.ep > 1; }, "Accelerate has no expert parallelism"},
};

} // namespace

std::string frameworkLimit(std::string_view framework, const Scenario& scenario)
{
    for (const FrameworkLimit& limit : kFrameworkLimits)
        if (limit.framework == framework && limit.refuses(scenario))
            return std::string(framework) + ": " + std::string(limit.text);
    return {};
}

std::span<const std::string_view> plannedFrameworks()
{
    return kPlannedFrameworks;
}

void requireFramework(std::string_view framework)
{
    std::vector<std::string> known;
    std::string all;
    for (const std::string_view name : kPlannedFrameworks) {
        if (name == framework)
            return;
        known.emplace_back(name);
        all += (all.empty() ? "" : ", ") + known.back();
    }
    throw Error("there is no framework " + quotedText(std::string(framework)) + nearestWords(std::string(framework), known) +
                "; known: " + all);
}

} // namespace sim
