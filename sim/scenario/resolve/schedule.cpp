#include "sim/scenario/balanced_layers.h"
#include "sim/scenario/files.h"
#include "sim/scenario/named_files.h"
#include "sim/scenario/resolve/resolver.h"

#include <algorithm>
#include <sstream>

namespace sim {
void Resolver::readActions(const Block& from)
{
    const Json* actions = from.find("actions");
    if (actions == nullptr)
        return;
    auto& lines = m_out.scenario.schedule.actions;
    if (actions->is_array()) {
        from.read("actions", lines);
        return;
    }
    std::string text;
    from.read("actions", text);
    if (namesFileOfActions(text)) {
        try {
            text = readBeside(text, kMaxFileBytes);
        } catch (const Error& error) {
            report("/schedule/actions", error.what());
            return;
        }
    }
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        if (!line.empty() && line.back() == '\r')
            line.pop_back();
        if (!line.empty())
            lines.push_back(line);
    }
}

void Resolver::readSchedule(const Block& top)
{
    const Block from = block(top, "schedule");
    ScheduleSettings& schedule = m_out.scenario.schedule;
    from.read("kind", schedule.kind);
    schedule.virtualStages = scheduleFamily(schedule.kind).chunks.least;
    const bool chunksGiven = from.read("virtual_stages", schedule.virtualStages);
    std::string kind = chunksGiven && schedule.virtualStages > 1 ? "interleaved-1f1b" : "1f1b";
    from.read("kind", kind);
    schedule.kind = kind;
    const ScheduleFamily& family = scheduleFamily(kind);
    schedule.microbatchGroup = m_out.scenario.layout.pp;
    from.read("microbatch_group", schedule.microbatchGroup);
    schedule.sequenceSlices = family.usualSlices;
    from.read("sequence_slices", schedule.sequenceSlices);
    if (!family.cutsSequences()) // the others run whole sequences; validate.cpp says so
        schedule.sequenceSlices = 1;
    from.read("memory_cap_gib", schedule.memoryCapGib);
    readActions(from);
    if (!family.isWrittenOut) // the others make their own; validate.cpp says so
        schedule.actions.clear();
    constexpr std::int64_t kMostStages = 65536;
    const std::int64_t stages =
        std::max<std::int64_t>(1, std::int64_t{m_out.scenario.layout.pp} * schedule.virtualStages / m_out.scenario.modelCopies());
    if (!from.read("layers_per_stage", schedule.layersPerStage) && stages <= kMostStages)
        schedule.layersPerStage = balancedLayers(m_out.scenario.model.numHiddenLayers, static_cast<int>(stages));
}

} // namespace sim
