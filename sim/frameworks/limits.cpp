#include "sim/frameworks/limits.h"

#include "sim/error.h"
#include "sim/frameworks/frameworks.h"
#include "sim/frameworks/limit_table.h"
#include "sim/frameworks/stacks.h"

#include <algorithm>
#include <array>

namespace sim {
namespace {

// Settings of Accelerate are written as FSDP's, whose stage 3 is not DeepSpeed's.
constexpr std::array kFrameworks{
    Framework{
        "megatron", "Megatron Core", "megatron-args", {"megatron-te-2024", "megatron-te-2025", "megatron-2022", "megatron-2021"}},
    Framework{"torchtitan",
              "torchtitan",
              "torchtitan-toml",
              {stacks::kEager, stacks::kCompiledLayers, stacks::kCompiledWithLoss, "pytorch-compiled-2026"}},
    Framework{
        "deepspeed",
        "DeepSpeed",
        "deepspeed-json",
        {stacks::kTransformers, stacks::kTransformersZero3, "deepspeed-2021", "megatron-deepspeed", "megatron-deepspeed-2023"},
        stacks::kTransformersZero3},
    Framework{"nanotron", "nanotron", "nanotron-yaml", {stacks::kEager, "flash-attn"}},
    Framework{"picotron", "picotron", "picotron-json", {stacks::kEager, "flash-attn"}},
    Framework{"huggingface",
              "Accelerate",
              "accelerate-yaml",
              {stacks::kTransformers, stacks::kTransformersZero3, stacks::kEager, stacks::kCompiledLayers,
               stacks::kCompiledWithLoss, "pytorch-compiled-2026"}},
    Framework{"maxtext", "MaxText", "maxtext", {"xla"}}};

} // namespace

bool isSplitInReplicas(const Scenario& s)
{
    const bool hasExpertReplicas = s.model.numExperts > 0 && s.layout.worldSize() > s.layout.pp * s.layout.ep * s.layout.etp;
    return s.layout.dp * s.layout.cp > 1 || hasExpertReplicas;
}

bool Framework::hasStack(std::string_view stack) const
{
    return !stack.empty() && std::find(stacks.begin(), stacks.end(), stack) != stacks.end();
}

std::span<const Framework> frameworkList()
{
    return kFrameworks;
}

const Framework* findFramework(std::string_view id)
{
    const auto found = std::find_if(kFrameworks.begin(), kFrameworks.end(), [id](const Framework& one) { return one.id == id; });
    return found == kFrameworks.end() ? nullptr : &*found;
}

std::string frameworkLimit(std::string_view id, const Scenario& scenario)
{
    for (const LayoutLimit& limit : layoutLimits())
        if (limit.framework == id && limit.breaks(scenario))
            return limit.text(scenario);
    return {};
}

bool breaksLimit(std::string_view id, const Scenario& scenario)
{
    return std::ranges::any_of(layoutLimits(),
                               [&](const LayoutLimit& limit) { return limit.framework == id && limit.breaks(scenario); });
}

std::string exportProblem(const Framework& framework, const Scenario& scenario, const Catalogue& catalogue)
{
    Exported out;
    try {
        out = exportSettings(scenario, framework.kind, catalogue);
    } catch (const Error& error) {
        return error.what();
    }
    const bool hasOtherModel =
        std::any_of(out.notes.begin(), out.notes.end(), [](const Note& note) { return note.pointer.starts_with("/model/"); });
    for (const Note& note : out.notes) {
        if (note.became != Became::notRepresentable || note.pointer.starts_with("/model") ||
            note.pointer.starts_with("/perturbations") || note.pointer.starts_with("/training/stack") ||
            (hasOtherModel && note.pointer.starts_with("/schedule")) || isLeftToProgram(framework.kind, scenario, note.pointer))
            continue;
        return note.pointer + ": " + std::string(framework.name) + " has no setting for " + note.value + ": " + note.text;
    }
    return {};
}

void refuseWhatBreaks(std::string_view id, const Scenario& scenario)
{
    for (const LayoutLimit& limit : layoutLimits())
        if (limit.framework == id && limit.breach == Breach::refused && limit.breaks(scenario))
            throw Error(limit.text(scenario));
}

std::vector<std::size_t> refusalsOfKind(std::string_view kind, const Scenario& scenario)
{
    std::string_view id = kind == "nemo-yaml" || kind == "bridge-python" ? "megatron" : "";
    for (const Framework& framework : kFrameworks)
        id = framework.kind == kind ? framework.id : id;
    Scenario written = scenario;
    if (kind == "nemo-yaml" && scenario.layout.zeroStage == 2) // as its FSDP, of which one strategy shares gradients alone
        written.layout.zeroStage = 3;
    std::vector<std::size_t> out;
    const std::span<const LayoutLimit> limits = layoutLimits();
    for (std::size_t i = 0; i < limits.size(); ++i)
        if (limits[i].framework == id && limits[i].breach == Breach::refused && limits[i].breaks(written))
            out.push_back(i);
    return out;
}

Overlap overlapOf(std::string_view id, const Scenario& s)
{
    Overlap overlap = s.training.overlap;
    const bool hasTensorParallelism = s.layout.tp > 1;
    if (id == "megatron") {
        overlap.paramGather = overlap.paramGather && overlap.gradReduce && s.layout.zeroStage > 0;
        overlap.tpComm = overlap.tpComm && hasTensorParallelism && s.layout.sequenceParallel;
        overlap.p2p = overlap.p2p && s.layout.pp > 1 && s.schedule.virtualStages > 1;
        overlap.epComm = overlap.epComm && s.model.numExperts > 0 && hidesExperts(s);
    } else if (id == "torchtitan") {
        overlap = {.gradReduce = true, .paramGather = true, .tpComm = overlap.tpComm && hasTensorParallelism, .p2p = false};
    } else if (id == "deepspeed") {
        overlap = {.gradReduce = overlap.gradReduce,
                   .paramGather = s.layout.zeroStage == 3 && s.training.stack.gathersAhead,
                   .tpComm = false};
    } else if (id == "nanotron") {
        overlap = {.gradReduce = true, .paramGather = false, .tpComm = overlap.tpComm && hasTensorParallelism, .p2p = false};
    } else if (id == "picotron") {
        overlap = {.gradReduce = true, .tpComm = false, .p2p = false};
    } else if (id == "huggingface") {
        overlap = {.gradReduce = true, .paramGather = s.layout.zeroStage == 3 && s.training.stack.gathersAhead, .tpComm = false};
    } else if (id == "maxtext") {
        overlap = {.gradReduce = true, .paramGather = true, .tpComm = false, .p2p = true};
    }
    return overlap;
}

int microbatchGroupOf(std::string_view id, int ranks, int microbatches)
{
    if (id != "torchtitan")
        return ranks;
    const int rounds = std::max(1, microbatches / std::max(1, ranks));
    return microbatches % rounds == 0 ? microbatches / rounds : 0;
}

bool takesZeroStage(std::string_view id, const Scenario& of, int stage, int ranks)
{
    Scenario alone = of;
    alone.layout = Layout{};
    alone.layout.dp = alone.layout.dpShard = ranks;
    alone.layout.zeroStage = stage;
    return std::none_of(layoutLimits().begin(), layoutLimits().end(), [&](const LayoutLimit& limit) {
        return limit.framework == id && limit.breaks(alone) && limit.text(alone).starts_with("/layout/zero_stage");
    });
}

std::string_view onlyOrderOf(std::string_view id)
{
    return id == "picotron" ? "tp-cp-ep-pp-dp" : "";
}

bool isLeftToProgram(std::string_view kind, const Scenario& scenario, std::string_view pointer)
{
    if (kind == "nanotron-yaml") // deals layers out by itself, near to evenly
        return pointer.starts_with("/schedule/layers_per_stage");
    if (kind == "deepspeed-json")
        return pointer == "/training/sequence_length" || pointer == "/training/tokens" ||
               (scenario.layout.pp == 1 && pointer.starts_with("/training/recompute") && !isSelective(scenario) &&
                !isPartlyRecomputed(scenario));
    const bool isDdp = scenario.layout.zeroStage == 0 && scenario.layout.tp == 1 && scenario.layout.cp == 1; // without FSDP's
    if (kind == "accelerate-yaml" && pointer.starts_with("/training/recompute"))
        return isDdp && !isSelective(scenario) && !isPartlyRecomputed(scenario);
    if (kind == "accelerate-yaml" && pointer == "/training/gradient_dtype") // FullyShardedDataParallelPlugin's policy
        return !isDdp;
    if (kind == "accelerate-yaml" &&
        pointer == "/layout/reduce_each_microbatch") // GradientAccumulationPlugin(sync_each_batch=True)
        return scenario.layout.reduceEachMicrobatch;
    if (kind == "accelerate-yaml")
        return pointer == "/training/sequence_length" || pointer == "/training/micro_batch_size" ||
               pointer == "/training/global_batch_size" || pointer == "/training/tokens";
    return false;
}

} // namespace sim
