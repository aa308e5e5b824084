// The state that the files of explanations share. Private to sim/analysis.
#pragma once

#include "sim/analysis/explain/account.h"
#include "sim/analysis/step_by_flops.h"
#include "sim/model/flops.h"
#include "sim/model/tensors.h"
#include "sim/simulate/exposed_transfers.h"

namespace sim {

inline constexpr const char* kKorthikanti6 = "Korthikanti et al. 2022, section 6";
inline constexpr const char* kPalmB = "Chowdhery et al. 2022 (PaLM), appendix B";
/// PaLM counts attention in full, 12 L H Q T a token; that where it is causal half of it is work is a convention of later papers.
inline constexpr const char* kPalmBHalved =
    "Chowdhery et al. 2022 (PaLM), appendix B, which counts attention in full; where it is causal, half of that here";

/// Elements that one rank of each stage holds, all stages together, before any sharding over data-parallel ranks.
Explanation parametersOfStages(const Simulation&, bool routed, bool trained); // explain_memory.cpp

class Explainer {
public:
    Explainer(const Simulation&, std::optional<int> rank);
    Explanation explain(MetricId) const;

private:
    // explain.cpp: time and speed
    Explanation stepTime() const;
    Explanation stepTimeLeaf() const;
    Explanation share(StepPart) const;
    const ExposedKinds& exposedKindsOfStep() const;
    std::optional<Formula> sumOfKinds(const std::vector<ExposedKind>&, StepPart, Account&) const;
    Explanation idealTime() const;
    Explanation recomputeTime() const;
    Explanation kernelTime() const;
    Explanation hostTime() const;
    Explanation tokensPerStep() const;
    Explanation tokens(bool perGpu) const;
    Explanation flopRate(bool hardware) const;
    Explanation utilisation(MetricId) const;
    Explanation bubble() const;
    Explanation bubbleTime() const;
    Explanation exposedTotal() const;
    Explanation exposed(Dimension) const;
    ShowHint showOf(Dimension) const;
    /// "Groups of 8 ranks, joined by NVLink (450 GB/s a GPU); replicas: groups of 4 ranks, joined by InfiniBand (50 GB/s a GPU)."
    std::string groupText(Dimension) const;
    std::string groupText(CommunicatorRole) const;

    // explain_model.cpp: FLOPs and parameters, from the shapes of the model
    Explanation modelFlops(bool fullAttention) const;
    Explanation hardwareFlops() const;
    Explanation linearFlops() const;
    Explanation attentionFlops(bool full) const;
    Explanation parameters() const;
    Explanation layerParameters(ModelPart) const;

    // explain_memory.cpp
    Explanation memory() const;
    Explanation states(MetricId) const;
    Explanation heldParameters(bool routed, bool trained) const;
    Explanation activations() const;
    Explanation buffers() const;
    ShowHint showMemory() const;

    double step() const { return m_simulation.metrics().stepTimeSeconds; }
    double world() const { return m_simulation.metrics().worldSize; }
    double peakFlops() const { return m_scenario.cluster.gpu.peakTflops.at(m_scenario.training.precision) * 1e12; }
    Formula peakTerm(Account&) const;
    Formula worldTerm(Account&) const;
    /// N × P: what the GPUs could do.
    Formula capability(Account& account) const { return Formula::product({worldTerm(account), peakTerm(account)}); }

    const Simulation& m_simulation;
    const Scenario& m_scenario;
    const ByStepPart<double> m_seconds;
    const StepFlops m_flops;
    mutable std::optional<ExposedKinds> m_exposedKinds; ///< found when asked for
    int m_rank = 0;                                     ///< whose memory is explained
    bool m_rankIsFullest = true;
};

} // namespace sim
