// Edits of the schedule: another family, an order of actions, a synthesised one.
#include "app/session/edit.h"

#include "sim/schedule/families/families.h"
#include "sim/schedule/text/csv.h"

#include <algorithm>
#include <cstdint>
#include <sstream>

namespace app {
namespace {

/// A family of any number of chunks is chosen for its chunks: with one it is a simpler family under another name, Looped BFS
/// GPipe, interleaved ZB ZB-H1. What a file says stays.
int leastChunks(const sim::ScheduleFamily& family, std::string_view before)
{
    const bool isForChunks = family.chunks.most == 0 && !family.isWrittenOut && !family.isSearched && family.kind != before;
    return isForChunks ? std::max(family.chunks.least, 2) : family.chunks.least;
}

} // namespace

Edit makeScheduleEdit(const sim::ScenarioDocument& document, const sim::Scenario* lastLegal, std::string_view kind)
{
    const auto before = document.get("/schedule/kind");
    std::string shown = before && before->size() > 2 && before->front() == '"' ? before->substr(1, before->size() - 2)
                        : lastLegal                                            ? lastLegal->schedule.kind
                                                                               : std::string("1f1b");
    Edit edit = makeKeyEdit("/schedule/kind", quoted(kind), "schedule", shown, kind);
    if (const sim::ScheduleFamily* family = sim::findScheduleFamily(kind)) {
        const int current = controlValue(document, lastLegal, Control::virtualStages);
        const int most = family->chunks.most > 0 ? family->chunks.most : INT32_MAX, least = leastChunks(*family, shown);
        const int legal = std::clamp(current, least, std::max(most, least));
        if (legal != current) {
            edit.assignments.push_back({std::string(Control::virtualStages), std::to_string(legal)});
            edit.text += ", virtual stages " + std::to_string(current) + " → " + std::to_string(legal);
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
    edit.assignments.push_back({std::string(Control::virtualStages), std::to_string(schedule.virtualStages)});
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
                        {std::string(Control::virtualStages), std::to_string(virtualStages)},
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

} // namespace app
