// What somebody who has tuned many of them would say about a layout: what it costs, why, where to look, and what to try. Every
// edit that is offered gives a legal scenario; what it brings is found by simulating it.
#pragma once

#include "sim/analysis/explain/show_hint.h"
#include "sim/analysis/likely_ratio.h"
#include "sim/program/communicator_role.h"
#include "sim/scenario/document.h"
#include "sim/simulate/simulation.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

enum class FindingKind : std::uint8_t {
    doesNotFit,
    capMissed, ///< the memory cap of `auto`
    nearlyFull,
    memoryImbalance,
    replicatedStates, ///< optimizer states on every data-parallel rank
    unfusedAttention,
    bubble,
    stageImbalance,
    slowRank,           ///< a perturbation makes everybody wait
    unevenRouting,      ///< so do the experts with the most tokens
    tensorAcrossNodes,  ///< a tensor-parallel group leaves its NVLink domain
    expertsAcrossNodes, ///< so do groups of experts
    exposedTensor,
    exposedContext,
    exposedExpert,
    exposedPipeline,
    exposedData,
    exposedHost,
    hostFull, ///< the host has less memory than is offloaded
    smallKernels,
    needlessRecompute,
    noSequenceParallel,
    idleGpus,
    slowPrecision,
    composition ///< what the step consists of; always there, always last
};

/// "exposed_tensor".
std::string_view findingKindName(FindingKind);

enum class FindingSeverity : std::uint8_t {
    broken, ///< cannot run, or not as asked
    costly, ///< a good part of the step, or likely to run out of memory
    hint,   ///< worth knowing
    note    ///< nothing to do about it
};

/// One key of the scenario file.
struct Change {
    std::string pointer;
    std::optional<std::string> json; ///< nothing: erase the key
    bool operator==(const Change&) const = default;
};

/// An edit that might help.
struct SuggestedEdit {
    std::string text; ///< "tp 16 → 8, pp 2 → 4"
    std::vector<Change> changes;
    bool operator==(const SuggestedEdit&) const = default;
};

/// What a number in a finding's words is of. Whatever is said is a claim: tests compute each again by another way.
enum class ClaimOf : std::uint8_t {
    exposedShare,    ///< of the step, by the finding's dimension
    exposedSeconds,  ///< the same, as time
    transferSeconds, ///< a step, of the finding's dimension, waited for or not
    gatherSeconds,   ///< of them, gathering parameters over groups of the claim's role
    reduceSeconds,   ///< of them, reducing gradients over groups of the claim's role
    bubbleShare,     ///< of the step
    bubbleWithout,   ///< of the step without perturbations
    idealBubble,     ///< closed form, of the step
    expertWait,      ///< of the step: waiting for the rank whose experts have the most tokens
    busiestTokens,   ///< of that rank, over the mean
    stepTime,        ///< seconds
    shareOfStep,     ///< of a part of the step that composition names
    groupRanks,      ///< ranks of the finding's groups
    innerBandwidth,  ///< GB/s of the innermost tier, a GPU or a network card that several share
    outerBandwidth,  ///< likewise of the widest tier that the finding's groups cross
    gpusOfCard,      ///< that share a network card of it
    innerDomain,     ///< GPUs that the innermost tier joins
    blockRanks,      ///< ep × etp: ranks that hold a layer's experts once
    groupsAcross,    ///< of the finding's groups, those in several domains
    groups,          ///< all of them
    bytesAcross,     ///< share of the groups' bytes that leaves the domains
    tokensOfRank,    ///< of a sequence
    expertsOfToken,
    chunks, ///< virtual stages
    microbatches,
    pipelineRanks,
    fullestRank,
    peakBytes,        ///< of the fullest rank
    capacityBytes,    ///< of a GPU
    bytesTooMuch,     ///< peak - capacity
    bytesLeft,        ///< capacity - peak
    shareLeft,        ///< of the capacity
    memoryCap,        ///< of `auto`, bytes
    keptCap,          ///< one that its search would keep
    allocatorReserve, ///< kAllocatorReserve
    largestPartBytes, ///< of the fullest rank's memory
    largestPartShare, ///< of its peak
    ranksTooFull,
    worldSize,
    fullestStage,    ///< pipeline rank of the fullest rank
    meanPeakBytes,   ///< over pipeline ranks
    stateCopies,     ///< ranks that keep the same optimizer states, over all copies of a stage
    expertCopies,    ///< ranks that keep the same states of experts
    bytesShared,     ///< optimizer states that ZeRO 1 would take from a GPU
    gradientBytes,   ///< of an element
    parameterBytes,  ///< of an element
    dataTraffic,     ///< over dp with the finding's first edit, relative: -0.25 is a quarter less
    tensorTraffic,   ///< over tp, likewise
    pipelineTraffic, ///< over pp, likewise
    queriesOfKernel, ///< of attention: of a sequence, what a rank computes at once
    sequenceLength,
    shareOfPeak,    ///< FLOP/s while kernels run, over the peak
    gemmEfficiency, ///< of the largest products, in the precision
    rowsOfProduct,
    rowsOfExpert,     ///< of a product of one expert, on average
    timeWithoutFlops, ///< of the time of kernels without recomputation, that of those without FLOPs
    timeOfAttention,  ///< of the same time
    hiddenSize,
    tensorRanks,
    timeSaved,   ///< share of the step that is gone with the finding's first edit
    peakWithout, ///< bytes of the fullest rank with that edit
    peakOfHalf,  ///< of bf16 over that of this precision; of fp16 where the GPU has no bf16
    idleGpus,
    clusterGpus,
    slowestStage, ///< pipeline rank that computes longest
    stageLag,     ///< by which it computes longer than the mean, relative
    layersOfStage,
    meanLayers,
    vocabulary,
    slowRank,
    slowFactor,
    microbatchesTooFew, ///< pipeline ranks - micro-batches, or their slices
    exposedHostShare,   ///< of the step
    kernelLaunch,       ///< the host's time to launch a kernel, forward
    launchSeconds,      ///< of that, until the host has launched what could begin
    expertLaunch,       ///< that of an expert's, where they are launched one by one
    hostStep,           ///< the host's work before the optimizer
    hostStepSeconds,    ///< of that, until it is done
    hostCopySeconds,    ///< of that, for what goes to the host or comes back
    hostWorkSeconds,    ///< of that, for what the host computes
    hostLink,           ///< GB/s that a GPU's link to its host reaches
    hostWorkRate,       ///< GB/s of the host's memory that a GPU's share of its work reaches
    hostMemory,         ///< bytes in use of a host's memory, at most
    hostHas             ///< its memory, bytes
};

struct Claim {
    ClaimOf of{};
    double value = 0;
    std::string text;                               ///< as it stands in title or reason
    CommunicatorRole role = CommunicatorRole::none; ///< whose groups it is of, where a finding is of those of several
    bool operator==(const Claim&) const = default;
};

/// Caching allocators reserve so much more than is allocated (344 ranks of published B200 runs: 1.01 to 1.09).
inline constexpr double kAllocatorReserve = 0.04;

struct Finding {
    FindingKind kind = FindingKind::composition;
    FindingSeverity severity = FindingSeverity::note;
    std::string title;         ///< one sentence with the number that matters
    std::string reason;        ///< why, and what it is compared to
    std::vector<Claim> claims; ///< every number of title and reason
    double stepShare = 0;      ///< of the step that this is about
    double memoryShare = 0;    ///< of a GPU's memory that this is about
    ShowHint show;
    std::vector<SuggestedEdit> suggestions;
};

/// Which edits are offered is found by simulating some of them: not for those who only want to know what there is to find.
enum class FindingEdits : std::uint8_t { all, ofTitles };

/// `document` is what the simulation is of. Worst first; never empty. `ofTitles`: of what does not fit, or hardly, no edits.
std::vector<Finding> findings(const Simulation&, const ScenarioDocument& document, const Catalogue&,
                              FindingEdits = FindingEdits::all);

/// The scenario with the edit made; nothing if it is not legal.
std::optional<Scenario> scenarioWith(const SuggestedEdit&, const ScenarioDocument&, const Catalogue&);

/// What an edit brought, measured by simulating it.
struct EditEffect {
    double stepSeconds = 0;
    double timePerToken = 0; ///< relative change: -0.12 is 12 % less
    double tokens = 1;       ///< of the step, to what they were: 2 is a batch twice as large
    double peakGib = 0, peakChangeGib = 0;
    bool fits = true;           ///< the GPU
    bool hostFits = true;       ///< what is offloaded, its memory
    bool overfillsHost = false; ///< it did fit before
    bool keepsCap = true;       ///< what a GPU may hold then
    bool leavesNoRoom = false;  ///< fits, but not with what the allocator reserves, which it did before
    /// As sim::fitsEverywhere of its step.
    bool fitsAll() const { return fits && hostFits && keepsCap; }
    LikelyRatio likely; ///< of the time a token takes, to what it took
    bool operator==(const EditEffect&) const = default;
};
/// `capGib`: what a GPU may hold afterwards (capacityGib).
EditEffect effectOf(const Metrics& before, const Metrics& after, double capGib);
/// And how sure that is.
EditEffect effectOf(const Simulation& before, const Simulation& after);
/// What an edit is worth to what the finding is about: does it fit, is it faster, is there more room?
enum class EditWorth : std::uint8_t {
    none,
    untold, ///< faster, by what is within what the model can tell apart
    told
};
EditWorth worthOf(FindingKind, const EditEffect&);
inline bool helps(FindingKind kind, const EditEffect& effect)
{
    return worthOf(kind, effect) != EditWorth::none;
}
/// Is `a` to be offered before `b`? What fits, then what the model can tell apart, then what is fastest.
bool isOfferedBefore(FindingKind, const EditEffect& a, const EditEffect& b);
/// An edit and what it brought.
struct TriedEdit {
    SuggestedEdit edit;
    EditEffect effect;
};
/// Does `by` bring as much with fewer settings? No noticeably more time a token or memory, and it fits where that does.
bool isOutdone(const TriedEdit&, const TriedEdit& by);
/// Findings in the order in which to show them when their edits have been tried: as they were found, but among those of a
/// severity the ones where all that helps is untold come last. `tried`: [finding]. Indices.
std::vector<std::size_t> rankedByGain(const std::vector<Finding>&, const std::vector<std::vector<EditEffect>>& tried);

} // namespace sim
