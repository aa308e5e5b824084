// `auto`: the best order that the synthesiser finds under the memory cap.
#include "sim/schedule/families/family_parts.h"
#include "sim/schedule/search/synthesis.h"

namespace sim {

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
            .chunks = {1, 0},
            .mostStages = 32768, // constructing the first order takes some seconds for so many, and grows with the square
            .plansByCost = true,
            .isSearched = true,
            .make = [](const ScheduleRequest& request) { return synthesise(synthesisRequest(request)).schedule; }};
}

} // namespace sim
