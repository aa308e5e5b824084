#include "app/session/edit.h"

#include "sim/schedule/csv.h"
#include "sim/schedule/families.h"

#include <QJsonDocument>
#include <QJsonObject>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <sstream>

namespace app {
namespace {

struct ControlInfo {
    std::string_view pointer, name;
};

const ControlInfo& info(Control control)
{
    static constexpr std::array<ControlInfo, kControls.size()> kInfo{{
        {"/layout/tp", "tp"},
        {"/layout/cp", "cp"},
        {"/layout/pp", "pp"},
        {"/layout/dp", "dp"},
        {"/layout/ep", "ep"},
        {"/cluster/nodes", "nodes"},
        {"/schedule/virtual_stages", "virtual stages"},
        {"/training/micro_batch_size", "micro-batch size"},
        {"/training/global_batch_size", "global batch"},
        {"/training/sequence_length", "sequence length"},
    }};
    return kInfo[static_cast<std::size_t>(control)];
}

int scenarioValue(const sim::Scenario& s, Control control)
{
    switch (control) {
    case Control::tp:
        return s.layout.tp;
    case Control::cp:
        return s.layout.cp;
    case Control::pp:
        return s.layout.pp;
    case Control::dp:
        return s.layout.dp;
    case Control::ep:
        return s.layout.ep;
    case Control::nodes:
        return s.cluster.nodes;
    case Control::virtualStages:
        return s.schedule.virtualStages;
    case Control::microBatchSize:
        return s.training.microBatchSize;
    case Control::globalBatchSize:
        return s.training.globalBatchSize;
    case Control::sequenceLength:
        return s.training.sequenceLength;
    }
    return 1;
}

std::string step(std::string_view name, int before, int after)
{
    return std::string(name) + " " + std::to_string(before) + " → " + std::to_string(after);
}

bool sharesGpusWithDp(Control c)
{
    return c == Control::tp || c == Control::cp || c == Control::pp;
}

/// The sizes whose product is the world.
struct Sizes {
    std::int64_t tp, cp, pp, dp;
    std::int64_t world() const { return tp * cp * pp * dp; }
    std::int64_t& of(Control c) { return c == Control::tp ? tp : c == Control::cp ? cp : c == Control::pp ? pp : dp; }
};

Sizes sizes(const sim::ScenarioDocument& document, const sim::Scenario* lastLegal)
{
    const auto value = [&](Control c) { return static_cast<std::int64_t>(controlValue(document, lastLegal, c)); };
    return {value(Control::tp), value(Control::cp), value(Control::pp), value(Control::dp)};
}

/// The GPUs that are kept: those of the last layout that worked, so that a wrong number does not change them.
std::int64_t keptWorld(const sim::Scenario* lastLegal, const Sizes& now)
{
    return lastLegal ? lastLegal->layout.worldSize() : now.world();
}

/// Adds the number of nodes to an edit that makes the world `world` ranks large.
void letNodesFollow(Edit& edit, const sim::ScenarioDocument& document, const sim::Scenario* lastLegal, std::int64_t world)
{
    if (!lastLegal || lastLegal->cluster.gpusPerNode < 1)
        return;
    const std::int64_t perNode = lastLegal->cluster.gpusPerNode;
    const int nodes = controlValue(document, lastLegal, Control::nodes);
    const bool wasFull = lastLegal->layout.worldSize() == lastLegal->cluster.gpus();
    const std::int64_t needed = (world + perNode - 1) / perNode;
    if (needed == nodes || needed > INT32_MAX || (needed < nodes && !wasFull))
        return;
    edit.assignments.push_back({std::string(controlPointer(Control::nodes)), std::to_string(needed)});
    edit.text += ", " + step("nodes", nodes, static_cast<int>(needed));
}

/// A list of layers a stage is as long as there are stages: with another number of them the balanced default takes its place.
void letLayersFollow(Edit& edit, const sim::ScenarioDocument& document)
{
    if (!document.get("/schedule/layers_per_stage"))
        return;
    edit.assignments.push_back({"/schedule/layers_per_stage", std::nullopt});
    edit.text += ", layers balanced";
}

/// The name under which a catalogue lists an id.
std::string nameOf(const std::vector<sim::Catalogue::Entry>& entries, std::string_view id)
{
    const auto found = std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.id == id; });
    return found == entries.end() ? std::string(id) : found->name;
}

int gpusPerNode(const sim::Catalogue& catalogue, std::string_view clusterId)
{
    constexpr int kUsual = 8;
    const std::string* json = catalogue.clusterJson(clusterId);
    if (!json)
        return kUsual;
    const auto object = QJsonDocument::fromJson(QByteArray::fromStdString(*json)).object();
    return std::max(1, object.value(QStringLiteral("gpus_per_node")).toInt(kUsual));
}

} // namespace

std::string_view controlPointer(Control control)
{
    return info(control).pointer;
}
std::string_view controlName(Control control)
{
    return info(control).name;
}

int controlValue(const sim::ScenarioDocument& document, const sim::Scenario* lastLegal, Control control)
{
    if (const auto text = document.get(controlPointer(control))) {
        int value = 0;
        const char* end = text->data() + text->size();
        if (const auto [at, failed] = std::from_chars(text->data(), end, value); failed == std::errc{} && at == end)
            return value;
    }
    return lastLegal ? scenarioValue(*lastLegal, control) : 1;
}

bool keepsGpus(const sim::ScenarioDocument& document, const sim::Scenario* lastLegal, Control control, int value)
{
    if (!sharesGpusWithDp(control))
        return true;
    Sizes s = sizes(document, lastLegal);
    const std::int64_t world = keptWorld(lastLegal, s);
    s.of(control) = value;
    const std::int64_t rest = s.tp * s.cp * s.pp;
    return rest > 0 && world % rest == 0;
}

Edit makeEdit(const sim::ScenarioDocument& document, const sim::Scenario* lastLegal, Control control, int value, LayoutRule rule)
{
    Edit edit;
    const int before = controlValue(document, lastLegal, control);
    edit.assignments.push_back({std::string(controlPointer(control)), std::to_string(value)});
    edit.text = step(controlName(control), before, value);
    if ((control == Control::pp || control == Control::virtualStages) && value != before)
        letLayersFollow(edit, document);
    if (!sharesGpusWithDp(control) && control != Control::dp)
        return edit;

    Sizes s = sizes(document, lastLegal);
    const std::int64_t world = keptWorld(lastLegal, s);
    s.of(control) = value;
    if (rule == LayoutRule::keepGpus && sharesGpusWithDp(control) && value > 0 &&
        keepsGpus(document, lastLegal, control, value)) {
        const auto dp = static_cast<int>(world / (s.tp * s.cp * s.pp));
        if (dp != s.dp) {
            edit.assignments.push_back({std::string(controlPointer(Control::dp)), std::to_string(dp)});
            edit.text += ", " + step("dp", static_cast<int>(s.dp), dp);
        }
        s.dp = dp;
    }
    if (s.world() > 0)
        letNodesFollow(edit, document, lastLegal, s.world());
    return edit;
}

Edit makeScheduleEdit(const sim::ScenarioDocument& document, const sim::Scenario* lastLegal, std::string_view kind)
{
    const auto before = document.get("/schedule/kind");
    std::string shown = before && before->size() > 2 && before->front() == '"' ? before->substr(1, before->size() - 2)
                        : lastLegal                                            ? lastLegal->schedule.kind
                                                                               : std::string("1f1b");
    Edit edit = makeKeyEdit("/schedule/kind", quoted(kind), "schedule", shown, kind);
    if (const sim::ScheduleFamily* family = sim::findScheduleFamily(kind)) {
        const int current = controlValue(document, lastLegal, Control::virtualStages);
        const int most = family->maxVirtualStages > 0 ? family->maxVirtualStages : INT32_MAX;
        const int legal = std::clamp(current, family->minVirtualStages, std::max(most, family->minVirtualStages));
        if (legal != current) {
            edit.assignments.push_back({std::string(controlPointer(Control::virtualStages)), std::to_string(legal)});
            edit.text += ", " + step(controlName(Control::virtualStages), current, legal);
            letLayersFollow(edit, document);
        }
    }
    return edit;
}

Edit makeOrderEdit(const sim::ScenarioDocument& document, const sim::Scenario* lastLegal, const sim::Schedule& schedule)
{
    Edit edit = makeScheduleEdit(document, lastLegal, "custom");
    std::string lines;
    std::istringstream csv(sim::scheduleCsv(schedule));
    for (std::string line; std::getline(csv, line);)
        lines += (lines.empty() ? "" : ",") + app::quoted(line);
    edit.assignments.push_back({"/schedule/actions", "[" + lines + "]"});
    edit.assignments.push_back({std::string(controlPointer(Control::virtualStages)), std::to_string(schedule.virtualStages)});
    if (schedule.virtualStages != controlValue(document, lastLegal, Control::virtualStages))
        letLayersFollow(edit, document);
    edit.text = "order of actions edited";
    return edit;
}

Edit makeSynthesisEdit(const sim::ScenarioDocument& document, int virtualStages, double memoryGib)
{
    Edit edit;
    edit.text = "schedule synthesised";
    edit.assignments = {{"/schedule/kind", quoted("auto")},
                        {std::string(controlPointer(Control::virtualStages)), std::to_string(virtualStages)},
                        {"/schedule/memory_cap_gib", std::to_string(memoryGib)},
                        {"/schedule/actions", std::nullopt}};
    if (virtualStages != controlValue(document, nullptr, Control::virtualStages))
        letLayersFollow(edit, document);
    return edit;
}

std::string whyNotCustom(const sim::Schedule& schedule)
{
    if (schedule.chains > 1)
        return "two copies of the model cannot be written as a custom schedule";
    if (schedule.slices > 1)
        return "slices of sequences cannot be written as a custom schedule";
    const sim::Schedule read = sim::parseScheduleCsv(sim::scheduleCsv(schedule));
    return read.actions == schedule.actions && read.stageToRank == schedule.stageToRank
               ? std::string()
               : "its actions cannot be written as a custom schedule";
}

Edit makeModelEdit(const sim::ScenarioDocument& document, const sim::Catalogue& catalogue, std::string_view id)
{
    std::string before = "own";
    if (const auto base = document.get("/model/base"); base && base->size() > 2)
        before = nameOf(catalogue.models(), std::string_view(*base).substr(1, base->size() - 2));
    else if (const auto name = document.get("/model"); name && name->size() > 2 && name->front() == '"')
        before = nameOf(catalogue.models(), std::string_view(*name).substr(1, name->size() - 2));
    Edit edit = makeKeyEdit("/model", "{\"base\":" + quoted(id) + "}", "model", before, nameOf(catalogue.models(), id));
    letLayersFollow(edit, document);
    return edit;
}

Edit makeClusterEdit(const sim::ScenarioDocument& document, const sim::Scenario* lastLegal, const sim::Catalogue& catalogue,
                     std::string_view id)
{
    const std::int64_t perNode = gpusPerNode(catalogue, id);
    const std::int64_t nodes = std::max<std::int64_t>(1, (sizes(document, lastLegal).world() + perNode - 1) / perNode);
    const std::string before =
        lastLegal ? (lastLegal->cluster.name.empty() ? lastLegal->cluster.base : lastLegal->cluster.name) : "own";
    return makeKeyEdit("/cluster", "{\"base\":" + quoted(id) + ",\"nodes\":" + std::to_string(nodes) + "}", "cluster", before,
                       nameOf(catalogue.clusters(), id));
}

Edit makeKeyEdit(std::string pointer, std::string json, std::string_view name, std::string_view before, std::string_view after)
{
    Edit edit;
    edit.assignments.push_back({std::move(pointer), std::move(json)});
    edit.text = std::string(name) + " " + std::string(before) + " → " + std::string(after);
    return edit;
}

std::string quoted(std::string_view text)
{
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        out += c;
    }
    return out + '"';
}

void apply(sim::ScenarioDocument& document, const Edit& edit)
{
    for (const Assignment& a : edit.assignments) {
        if (a.json)
            document.set(a.pointer, *a.json);
        else
            document.erase(a.pointer);
    }
}

} // namespace app
