// A schedule written out by the user, in PyTorch's action grammar.
#include "sim/error.h"
#include "sim/schedule/check.h"
#include "sim/schedule/families/family_parts.h"
#include "sim/schedule/text/csv.h"

namespace sim {

namespace {

std::string lines(const std::vector<std::string>& problems)
{
    std::string text;
    for (const std::string& problem : problems)
        text += (text.empty() ? "" : "\n") + problem;
    return text;
}

std::optional<std::string> unmetActions(const ScheduleRequest& request)
{
    Schedule schedule;
    try {
        schedule = parseScheduleCsv(request.customActions);
    } catch (const Error& error) {
        return error.what();
    }
    if (schedule.chains > 1)
        return "the custom schedule runs " + std::to_string(schedule.chains) +
               " copies of the model side by side; nearest: kind dualpipe";
    if (schedule.slices > 1)
        return "the custom schedule cuts sequences into " + std::to_string(schedule.slices) +
               " slices; nearest: kind seq-1f1b with sequence_slices " + std::to_string(schedule.slices);
    for (int rank = 0; rank < schedule.ranks; ++rank) {
        const auto chunks = static_cast<int>(schedule.stagesOfRank(rank).size());
        if (chunks != request.virtualStages)
            return "rank " + std::to_string(rank) + " of the custom schedule holds " + std::to_string(chunks) +
                   (chunks == 1 ? " stage" : " stages") + ", virtual_stages says " + std::to_string(request.virtualStages) +
                   (schedule.stages() == schedule.ranks * chunks ? "; nearest: virtual_stages " + std::to_string(chunks)
                                                                 : "; every rank must hold equally many");
    }
    if (schedule.microbatches != request.microbatches)
        return "the custom schedule runs " + microbatchesText(schedule.microbatches) + ", the training has " +
               std::to_string(request.microbatches) + "; nearest: " + std::to_string(schedule.microbatches);
    const std::vector<std::string> problems = checkSchedule(schedule);
    return problems.empty() ? std::nullopt : std::optional(lines(problems));
}

Schedule makeCustom(const ScheduleRequest& request)
{
    return parseScheduleCsv(request.customActions);
}

} // namespace

ScheduleFamily customFamily()
{
    return {.kind = "custom",
            .title = "Custom",
            .character = "an order of your own, or one saved from PyTorch",
            .source = "PyTorch's schedule CSV",
            .chunks = {1, 0},
            .isWrittenOut = true,
            .make = makeCustom,
            .unmetActions = unmetActions};
}

} // namespace sim
