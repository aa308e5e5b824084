// What somebody who has tuned many of them would say about a layout: what it costs, why, where to look, and what to try. Every
// edit that is offered gives a legal scenario; what it brings is found by simulating it.
#pragma once

#include "sim/analysis/show_hint.h"
#include "sim/scenario/document.h"
#include "sim/simulation.h"

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
    slowRank,          ///< a perturbation makes everybody wait
    tensorAcrossNodes, ///< a tensor-parallel group leaves its NVLink domain
    exposedTensor,
    exposedContext,
    exposedExpert,
    exposedPipeline,
    exposedData,
    smallKernels,
    needlessRecompute,
    noSequenceParallel,
    idleGpus,
    unevenRounds, ///< the last round of an interleaved schedule is not like the others
    slowPrecision,
    composition ///< what the step consists of; always there, always last
};

enum class FindingSeverity : std::uint8_t {
    broken, ///< cannot run
    costly, ///< a good part of the step
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
struct Try {
    std::string text; ///< "tp 16 → 8, pp 2 → 4"
    std::vector<Change> changes;
    bool operator==(const Try&) const = default;
};

struct Finding {
    FindingKind kind = FindingKind::composition;
    FindingSeverity severity = FindingSeverity::note;
    std::string title;      ///< one sentence with the number that matters
    std::string reason;     ///< why, and what it is compared to
    double stepShare = 0;   ///< of the step that this is about
    double memoryShare = 0; ///< of a GPU's memory that this is about
    ShowHint show;
    std::vector<Try> tries;
};

/// `document` is what the simulation is of. Worst first; never empty.
std::vector<Finding> findings(const Simulation&, const ScenarioDocument& document, const Catalogue&);

/// The scenario with the edit made; nothing if it is not legal.
std::optional<Scenario> tried(const Try&, const ScenarioDocument&, const Catalogue&);

/// What an edit brought, measured by simulating it.
struct TryEffect {
    double stepSeconds = 0;
    double timePerToken = 0; ///< relative change: -0.12 is 12 % less
    double peakGib = 0, peakChangeGib = 0;
    bool fits = true;
    bool operator==(const TryEffect&) const = default;
};
TryEffect effectOf(const Metrics& before, const Metrics& after);
/// Is it any better for what the finding is about: does it fit, is it faster, is there more room?
bool helps(FindingKind, const TryEffect&);

} // namespace sim
