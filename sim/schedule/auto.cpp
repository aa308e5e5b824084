// `auto`: the best order that the synthesiser finds under the memory cap.
#include "sim/schedule/family_parts.h"
#include "sim/schedule/synthesis.h"

namespace sim {

namespace {

std::optional<std::string> unmet(const ScheduleRequest& request)
{
    if (auto problem = basicsUnmet(request, 1, 0))
        return problem;
    constexpr int kMostStages = 32768; // constructing the first order takes some seconds for so many, and grows with the square
    if (std::int64_t{request.ranks} * request.virtualStages <= kMostStages)
        return std::nullopt;
    return "auto looks for an order of at most " + std::to_string(kMostStages) + " stages, asked for " +
           std::to_string(std::int64_t{request.ranks} * request.virtualStages) +
           (request.virtualStages <= kMostStages
                ? "; nearest: " + std::to_string(kMostStages / request.virtualStages) + " pipeline ranks"
                : "");
}

} // namespace

SynthesisRequest synthesisRequest(const ScheduleRequest& request)
{
    return {.ranks = request.ranks,
            .microbatches = request.microbatches,
            .virtualStages = request.virtualStages,
            .times = request.times,
            .memory = request.memory,
            .memoryCap = request.memoryCap};
}

ScheduleFamily autoFamily()
{
    return {.kind = "auto",
            .title = "Synthesised",
            .character = "the shortest order found for the passes' real times under a memory cap, and how near to the best it is",
            .source = "Rankscope: constructions of the zero-bubble papers and list scheduling, then simulated annealing",
            .minVirtualStages = 1,
            .maxVirtualStages = 0,
            .unmet = unmet,
            .make = [](const ScheduleRequest& request) { return synthesise(synthesisRequest(request)).schedule; },
            .plansByCost = true};
}

} // namespace sim
