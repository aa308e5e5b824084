// The rules behind findings(), by what they look at. Private to sim/analysis. Rules offer edits freely; findings() keeps the
// legal ones.
#pragma once

#include "sim/analysis/findings/edits.h"
#include "sim/analysis/findings/findings.h"
#include "sim/analysis/step_by_flops.h"
#include "sim/analysis/traffic/traffic.h"
#include "sim/engine/classes.h"
#include "sim/text/number_text.h"

namespace sim {

/// A seventh of the step is worth an afternoon; less is what good layouts live with.
inline constexpr double kCostlyShare = 0.15;

struct RuleContext {
    RuleContext(const Simulation& s, const ScenarioDocument& d, const Catalogue& c, bool memory)
        : simulation(s), document(d), catalogue(c), offersMemory(memory), scenario(s.scenario()), layout(s.scenario().layout),
          training(s.scenario().training), metrics(s.metrics()), seconds(stepByFlops(s)), edits(s.scenario())
    {
    }
    const Simulation& simulation;
    const ScenarioDocument& document;
    const Catalogue& catalogue;
    bool offersMemory; ///< edits that free it
    const Scenario& scenario;
    const Layout& layout;
    const Training& training;
    const Metrics& metrics;
    ByStepPart<double> seconds; ///< where the step goes
    Edits edits;

    double step() const { return metrics.stepTimeSeconds; }
    double shareOf(StepPart part) const { return seconds[part] / step(); }
    double shareOf(Dimension dimension) const { return shareOf(partOf<StepPart>(dimension)); }
    double capacityBytes() const { return scenario.cluster.gpu.memoryGib * 1073741824.0; }
    std::vector<int> ranksOfPipelineRank(int pp) const;
    RoleSpan span(CommunicatorRole role) const { return roleSpan(role, simulation.mesh(), simulation.placement(), scenario); }
    const Tier& tier(int index) const { return scenario.cluster.tiers[static_cast<std::size_t>(index)]; }
    /// GPUs that the innermost tier joins.
    int innerSpan() const;
    /// Of the step with an edit made, or of another scenario; nothing where that is not legal or cannot be simulated.
    std::optional<Metrics> with(const SuggestedEdit&) const;
    std::optional<Metrics> with(const Scenario&) const;
    /// Does the edit take noticeably less of the fullest rank's memory?
    bool frees(const Metrics&) const;
    /// "use 64 of the 72 GPUs of each NVLink domain": where groups of so many neighbours then lie within domains.
    std::optional<SuggestedEdit> wholeGroups(int gpus) const;
};

/// A number for a finding's words; kept with what it is of.
std::string say(Finding&, ClaimOf, double value, Unit, CommunicatorRole = CommunicatorRole::none);
std::string say(Finding&, ClaimOf, double value, std::string text, CommunicatorRole = CommunicatorRole::none);
/// "25.0 % less than now", "12.0 % more than now", "as much as now".
std::string sayChange(Finding&, ClaimOf, double relative);
/// Relative change of the bytes of a purpose with the scenario changed: -0.25 is a quarter less. The order of actions stays.
double trafficChange(const RuleContext&, const Scenario& changed, Dimension);

inline FindingSeverity severityOf(double stepShare)
{
    return stepShare >= kCostlyShare ? FindingSeverity::costly : FindingSeverity::hint;
}

/// Layers of each chunk that have to run again so that the fullest rank keeps within `bytes`, as few as can be, and the step
/// then; nothing where all of them are not enough, or none is needed. Asked of the simulator, a few times.
struct FewestRecomputed {
    int layers = 0;
    Metrics metrics;
};
std::optional<FewestRecomputed> fewestRecomputed(const RuleContext&, Scenario, double bytes);

using FindingList = std::vector<Finding>;
void findMemory(const RuleContext&, FindingList&);        // finding_memory.cpp
void findPipeline(const RuleContext&, FindingList&);      // finding_pipeline.cpp
void findCommunication(const RuleContext&, FindingList&); // finding_communication.cpp
void findKernels(const RuleContext&, FindingList&);       // finding_kernels.cpp
void findHost(const RuleContext&, FindingList&);          // finding_host.cpp
Finding composition(const RuleContext&, bool nothingElse);

} // namespace sim
