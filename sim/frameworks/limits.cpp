#include "sim/frameworks/limits.h"

#include "sim/error.h"
#include "sim/frameworks/frameworks.h"
#include "sim/frameworks/limit_table.h"

#include <algorithm>
#include <array>

namespace sim {
namespace {

constexpr std::array kFrameworks{Framework{"megatron", "Megatron Core", "megatron-args"},
                                 Framework{"torchtitan", "torchtitan", "torchtitan-toml"},
                                 Framework{"deepspeed", "DeepSpeed", "deepspeed-json"},
                                 Framework{"nanotron", "nanotron", "nanotron-yaml"},
                                 Framework{"picotron", "picotron", "picotron-json"},
                                 Framework{"huggingface", "Accelerate", "accelerate-yaml"},
                                 Framework{"maxtext", "MaxText", "maxtext"}};

} // namespace

bool isSplitInReplicas(const Scenario& s)
{
    const bool hasExpertReplicas = s.model.numExperts > 0 && s.layout.worldSize() > s.layout.pp * s.layout.ep * s.layout.etp;
    return s.layout.dp * s.layout.cp > 1 || hasExpertReplicas;
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

std::string_view onlyOrderOf(std::string_view id)
{
    return id == "picotron" ? "tp-cp-ep-pp-dp" : "";
}

bool isLeftToProgram(std::string_view kind, const Scenario& scenario, std::string_view pointer)
{
    if (kind == "nanotron-yaml") // deals layers out by itself, near to evenly
        return pointer.starts_with("/schedule/layers_per_stage");
    if (kind == "deepspeed-json")
        return pointer == "/training/sequence_length" || (scenario.layout.pp == 1 && pointer.starts_with("/training/recompute") &&
                                                          !isSelective(scenario) && !isPartlyRecomputed(scenario));
    const bool isDdp = scenario.layout.zeroStage == 0 && scenario.layout.tp == 1 && scenario.layout.cp == 1; // without FSDP's
    if (kind == "accelerate-yaml" && pointer.starts_with("/training/recompute"))
        return isDdp && !isSelective(scenario) && !isPartlyRecomputed(scenario);
    if (kind == "accelerate-yaml")
        return pointer == "/training/sequence_length" || pointer == "/training/micro_batch_size" ||
               pointer == "/training/global_batch_size";
    return false;
}

} // namespace sim
