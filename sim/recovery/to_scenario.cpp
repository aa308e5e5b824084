#include "sim/recovery/to_scenario.h"

#include "sim/error.h"
#include "sim/recovery/rank_time.h"
#include "sim/schedule/families/families.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <set>

namespace sim {
namespace {

/// Axes fastest first, as layouts write them; ep goes before dp, where Megatron has it. Of a run without experts whose pipeline
/// is not last an order says nothing of ep: one that names it asks of the experts' grid what no rank of such a run does.
std::string orderOf(const RecoveredAxes& axes)
{
    std::vector<std::string> order{"tp", "cp", "dp", "pp"};
    const auto stride = [&axes](const std::string& name) {
        const RecoveredAxis* axis = axes.find(name);
        if (axis == nullptr && name == "dp") // one without a name counts as such, and lies where it lies
            axis = axes.find("");
        return axis == nullptr ? 0 : axis->stride;
    };
    // Axes of one rank have no place of their own: they stay where the usual order has them.
    std::vector<std::string> placed;
    for (const std::string& name : order)
        if (stride(name) > 0)
            placed.push_back(name);
    std::stable_sort(placed.begin(), placed.end(),
                     [&](const std::string& a, const std::string& b) { return stride(a) < stride(b); });
    auto next = placed.begin();
    for (std::string& name : order)
        if (stride(name) > 0)
            name = *next++;
    std::string text;
    bool namesExperts = axes.sizeOf("ep") == 1 && order.back() != "pp";
    for (const std::string& name : order) {
        if (!namesExperts && (name == "dp" || name == "pp")) {
            text += text.empty() ? "ep" : "-ep";
            namesExperts = true;
        }
        text += (text.empty() ? "" : "-") + name;
    }
    return text;
}

/// 0: gradients are summed whole; 1: scattered, and parameters gathered once; 3: gathered again for passes. Nothing where no
/// group of data-parallel ranks was seen.
std::optional<int> zeroStageOf(const Recovered& recovered)
{
    double sums = 0, scatters = 0, gathers = 0;
    for (const KnownGroup& group : recovered.groups) {
        const std::string axes = axesOfGroup(recovered.axes, group.ranks);
        if (axes != "dp" && axes != "cp_dp" && axes != "dp_cp")
            continue;
        sums += group.carried.of(Exchange::allReduce);
        scatters += group.carried.of(Exchange::reduceScatter);
        gathers += group.carried.of(Exchange::allGather);
    }
    if (scatters > 0)
        return gathers > 1.5 * scatters ? 3 : 1;
    return sums > 0 ? std::optional(0) : std::nullopt;
}

/// Tensor-parallel ranks that scatter what they sum keep slices of the sequence between layers.
bool scattersActivations(const Recovered& recovered)
{
    return std::any_of(recovered.groups.begin(), recovered.groups.end(), [&](const KnownGroup& group) {
        return axesOfGroup(recovered.axes, group.ranks) == "tp" && group.carried.of(Exchange::reduceScatter) > 0;
    });
}

} // namespace

std::optional<int> recordedRanksOfANode(const Recovered& recovered)
{
    const int world = std::max(1, recovered.axes.worldSize);
    std::vector<std::string> hosts; // one after the other
    if (static_cast<int>(recovered.evidence.ranks.size()) != world)
        return std::nullopt;
    for (const RankEvidence& rank : recovered.evidence.ranks) {
        if (rank.host.empty())
            return std::nullopt;
        if (hosts.empty() || hosts.back() != rank.host)
            hosts.push_back(rank.host);
    }
    const auto count = static_cast<int>(hosts.size());
    if (world % count != 0 || std::set<std::string>(hosts.begin(), hosts.end()).size() != hosts.size())
        return std::nullopt;
    const int each = world / count;
    for (int rank = 0; rank < world; ++rank)
        if (recovered.evidence.ranks[static_cast<std::size_t>(rank)].host != hosts[static_cast<std::size_t>(rank / each)])
            return std::nullopt;
    return each;
}

void fitNodes(nlohmann::ordered_json& cluster, int ranksOfANode)
{
    if (!cluster.is_object() || !cluster.contains("gpus_per_node") || !cluster["gpus_per_node"].is_number_integer())
        return;
    const int gpus = cluster["gpus_per_node"].get<int>();
    if (ranksOfANode < 1 || gpus <= ranksOfANode || !cluster.contains("tiers") || !cluster["tiers"].is_array())
        return;
    for (auto& tier : cluster["tiers"])
        if (tier.is_object() && tier.contains("span") && tier["span"].is_number_integer() && tier["span"].get<int>() % gpus == 0)
            tier["span"] = tier["span"].get<int>() / gpus * ranksOfANode;
    cluster["gpus_per_node"] = ranksOfANode;
}

std::string unnamedAxesText(const RecoveredAxes& axes)
{
    if (!axes.unknownGrid().empty())
        return {};
    std::string text;
    for (const RecoveredAxis& axis : axes.axes)
        if (axis.name.empty())
            text += (text.empty() ? "what the " : ", and what the ") + std::to_string(axis.size) + " ranks that lie " +
                    std::to_string(axis.stride) + " apart have to do with another is not known";
    return text;
}

std::string misplacedAxisText(const RecoveredAxes& axes, const Mesh& mesh)
{
    const bool isDataWhole = axes.find("") == nullptr; // else a layout joins the two
    for (const auto& [name, coordinate] :
         {std::pair{"tp", &Coordinates::tp}, {"cp", &Coordinates::cp}, {"pp", &Coordinates::pp}, {"dp", &Coordinates::dp}}) {
        const RecoveredAxis* axis = axes.find(name);
        if (axis == nullptr || (axis->name == "dp" && !isDataWhole))
            continue;
        for (int rank = 0; rank < mesh.worldSize(); ++rank)
            if (mesh.coordinates(rank).*coordinate != RecoveredAxes::coordinate(*axis, rank))
                return "the ranks of " + axis->name +
                       " lie as in no layout, with parts of another axis between them: all stand " +
                       "in the order of their numbers";
    }
    return {};
}

void requireKnownGrid(const RecoveredAxes& axes)
{
    if (const std::string unknown = axes.unknownGrid(); !unknown.empty())
        throw Error(unknown + "; say how they lie, or give a scenario of " + std::to_string(axes.worldSize) +
                    " ranks, whose layout is then taken");
}

nlohmann::ordered_json scenarioOf(const Recovered& recovered, nlohmann::ordered_json base, std::vector<UnknownKey>& unknown)
{
    nlohmann::ordered_json scenario = std::move(base);
    const RecoveredAxes& axes = recovered.axes;
    scenario["format"] = "rankscope-scenario";
    scenario["version"] = 1;
    scenario["name"] = "Recovered from a trace of " + std::to_string(axes.worldSize) + " ranks";
    for (const char* key : {"/model", "/training/sequence_length", "/training/micro_batch_size"})
        unknown.push_back({key, "a trace does not say it"});
    nlohmann::ordered_json layout = nlohmann::ordered_json::object();
    std::int64_t named = 1;
    for (const char* name : {"tp", "cp", "pp"}) {
        layout[name] = axes.sizeOf(name);
        named *= axes.sizeOf(name);
        if (const RecoveredAxis* axis = axes.find(name); axis != nullptr && axis->sure < 0.7)
            unknown.push_back({"/layout/" + std::string(name), "not sure: " + axis->evidence});
    }
    const int data = std::max(1, static_cast<int>(axes.worldSize / named));
    layout["dp"] = data;
    if (data != axes.sizeOf("dp"))
        unknown.push_back({"/layout/dp", "what the axes with names leave of " + std::to_string(axes.worldSize) + " ranks"});
    for (const RecoveredAxis& axis : axes.axes)
        if (axis.name.empty())
            unknown.push_back({"/layout", std::to_string(axis.size) + " ranks " + std::to_string(axis.stride) +
                                              " apart are an axis without a name; they count as data parallel"});
    layout["order"] = orderOf(axes);
    if (const RecoveredAxis* expert = axes.find("ep")) {
        layout["ep"] = expert->size;
        layout["etp"] = expert->stride; // experts' ranks come right after those that cut an expert
    }
    if (const auto zero = zeroStageOf(recovered))
        layout["zero_stage"] = *zero;
    else if (data > 1)
        unknown.push_back({"/layout/zero_stage", "no collective of data-parallel ranks was recorded"});

    if (axes.sizeOf("tp") > 1)
        layout["sequence_parallel"] = scattersActivations(recovered);
    if (scenario["layout"].is_object())
        for (const char* key : {"placement", "reshard_after_forward", "reduce_each_microbatch"}) // of which traces say nothing
            if (scenario["layout"].contains(key))
                layout[key] = scenario["layout"][key];
    scenario["layout"] = std::move(layout);

    int microbatches = 0;
    const int pipelineRanks = axes.sizeOf("pp");
    nlohmann::ordered_json& schedule = scenario["schedule"];
    schedule = nlohmann::ordered_json::object();
    if (recovered.schedule && !recovered.schedule->kind.empty() && recovered.schedule->pipelineRanks == pipelineRanks) {
        const RecoveredSchedule& found = *recovered.schedule;
        schedule["kind"] = found.kind;
        microbatches = found.microbatches;
        if (found.kind == "custom" && static_cast<int>(found.rows.size()) == pipelineRanks) {
            for (const auto& [rank, row] : found.rows) {
                std::string line;
                for (const Action& action : row)
                    line += (line.empty() ? "" : ",") + actionText(action);
                schedule["actions"].push_back(line);
            }
        } else if (found.kind == "custom") {
            schedule["kind"] = "1f1b";
            unknown.push_back(
                {"/schedule/kind", "the order of passes is none that is known, and not all pipeline ranks are recorded"});
        } else if (const ScheduleFamily* family = findScheduleFamily(found.kind)) {
            if (family->chunks.most != 1)
                schedule["virtual_stages"] = found.virtualStages;
            if (family->dealsInGroups() && found.microbatchGroup > 0)
                schedule["microbatch_group"] = found.microbatchGroup;
            if (family->cutsSequences())
                schedule["sequence_slices"] = found.slices;
        }
    } else {
        schedule["kind"] = "1f1b";
        if (pipelineRanks > 1)
            unknown.push_back({"/schedule/kind", "passes of the pipeline were not recorded"});
    }
    const auto& training = scenario["training"];
    const int microBatch = training.is_object() ? training.value("micro_batch_size", 1) : 1;
    if (microbatches > 0)
        scenario["training"]["global_batch_size"] = std::int64_t{microbatches} * data * microBatch;
    else
        unknown.push_back({"/training/global_batch_size", "how many micro-batches a step has was not recorded"});

    std::set<std::string> hosts;
    for (const RankEvidence& rank : recovered.evidence.ranks)
        if (!rank.host.empty())
            hosts.insert(rank.host);
    if (hosts.empty())
        unknown.push_back({"/cluster/nodes", "no file names its host"});
    else if (static_cast<int>(recovered.evidence.ranks.size()) == axes.worldSize)
        scenario["cluster"]["nodes"] = static_cast<int>(hosts.size());
    if (const auto each = recordedRanksOfANode(recovered))
        fitNodes(scenario["cluster"], *each);
    unknown.push_back({"/cluster", "a trace names GPUs and hosts, not links; taken from the scenario given"});
    return scenario;
}

} // namespace sim
