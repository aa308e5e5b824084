// What a framework cannot do of what is legal, each limit once: exporters refuse by it, and a search keeps to it.
#pragma once

#include "sim/scenario/catalogue.h"
#include "sim/scenario/scenario.h"

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// A framework as people name it, and the kind of settings that its layouts are written in.
struct Framework {
    std::string_view id;   ///< "megatron"
    std::string_view name; ///< in sentences: "Megatron Core"
    std::string_view kind; ///< FrameworkKind::id: "megatron-args"
    /// Its software in the catalogue (assets/stacks), and empty ones: the first runs what names none.
    std::array<std::string_view, 6> stacks;
    std::string_view stackOfZero3 = {}; ///< runs that instead with stage 3 of ZeRO; empty: no other does
    /// What runs its layouts where a job names no software: `training.stack`, as importers have it of the framework's settings.
    std::string_view usualStack(int zeroStage) const
    {
        return zeroStage == 3 && !stackOfZero3.empty() ? stackOfZero3 : stacks.front();
    }
    bool hasStack(std::string_view stack) const;
};
std::span<const Framework> frameworkList();
/// Null if there is none of that id.
const Framework* findFramework(std::string_view id);

/// The first limit that a layout breaks: "/layout/cp: DeepSpeed has no context parallelism; cp is 2, nearest: 1". Empty: it is
/// written, and what is written is this job. Allocates nothing then.
std::string frameworkLimit(std::string_view id, const Scenario&);
/// Throws Error for the first of those that the framework itself would refuse; others it takes, and runs another job.
void refuseWhatBreaks(std::string_view id, const Scenario&);
/// All of those that what is written as settings of that kind would be refused for, by their place among all limits: an edit
/// after which these are fewer, and none is new, is on the way to what is written. `kind`: FrameworkKind::id.
std::vector<std::size_t> refusalsOfKind(std::string_view kind, const Scenario&);

/// Whether several ranks hold the same parameters, the dense ones or experts': else ZeRO has nothing to share out.
bool isSplitInReplicas(const Scenario&);

/// Whether there is a limit that it breaks.
bool breaksLimit(std::string_view id, const Scenario&);
/// Whether a framework shards by that stage of ZeRO where one stage of a pipeline holds the whole model, on that many ranks.
bool takesZeroStage(std::string_view id, const Scenario&, int stage, int ranks);
/// What its export says: the refusal, or the first thing that is not this job when it is read again. Empty: nothing. Some
/// milliseconds; the limits above are the same, quickly and of the layout alone.
std::string exportProblem(const Framework&, const Scenario&, const Catalogue&);

/// What the framework decides by itself of how communication is hidden: a function of layout and schedule.
Overlap overlapOf(std::string_view id, const Scenario&);
/// How many micro-batches a chunk takes before the next one, where its schedule deals in groups: as many as there are ranks, or
/// for torchtitan what PyTorch makes of them (schedules.py, ScheduleInterleaved1F1B: max(1, m // ranks) equal rounds); 0: these
/// cannot be dealt.
int microbatchGroupOf(std::string_view id, int ranks, int microbatches);
/// The only order of dimensions that it has; empty: several, or the usual.
std::string_view onlyOrderOf(std::string_view id);

/// Whether a key of a scenario is said to the program that reads the settings, or decided by it, and not in them: a sequence
/// length for DeepSpeed, the layers of stages for nanotron.
bool isLeftToProgram(std::string_view kind, const Scenario&, std::string_view pointer);

} // namespace sim
