// Why a step sends as many bytes as it does: what traffic counts, as closed forms of the scenario's shapes. Like explain(), and
// shown the same way. Bytes are those that all ranks together send in a step.
#pragma once

#include "sim/analysis/collective_uses.h"
#include "sim/analysis/explain/explain.h"
#include "sim/analysis/traffic/traffic.h"
#include "sim/model/operators.h"

#include <optional>
#include <string>
#include <vector>

namespace sim {

class Account;

/// What its explanations have in common is counted once.
class TrafficExplainer {
public:
    /// The simulation must outlive it.
    explicit TrafficExplainer(const Simulation&);

    /// Over one communicator: how often which tensor, times what a collective makes its members send of it.
    Explanation ofRole(CommunicatorRole) const;
    /// Of all communicators of a purpose.
    Explanation ofDimension(Dimension) const;
    /// What a tier of the interconnect carries, of each purpose its share.
    Explanation ofTier(int tier) const;
    /// What one part of the world sends another: `name` says which, `bytes` how much.
    Explanation ofFlow(const std::string& name, const BytesByDimension& bytes) const;

private:
    // explain_traffic.cpp
    const char* sourceOf(CommunicatorRole) const;
    Explanation sends() const;
    Explanation share(Dimension, double bytes, const Quantity& whole) const;
    ShowHint show(Dimension) const;
    double world() const { return m_simulation.metrics().worldSize; }

    // explain_collective.cpp
    Formula sequences(Account&) const;
    Formula tokens(Account&, bool ofSlice) const;
    Formula elementSize(Account&, int narrowedBy = 1) const;
    Explanation tensor(const CollectiveUse&) const;
    Explanation count(const CollectiveUse&) const;
    Explanation use(const CollectiveUse&, std::string symbol) const;
    std::optional<Formula> states(Account&, const CollectiveUse&, const Formula& sent) const;
    std::int64_t gatheredForForwardAlone() const;

    const Simulation& m_simulation;
    const Scenario& m_scenario;
    const Sharding m_sharding;
    const TrafficSums m_sums;
    const std::vector<CollectiveUse> m_uses;
};

/// "all-gathers and reduce-scatters of activations, all-gathers of inputs, again for weight gradients": what waits where
/// communication of the purpose is exposed. Empty where there is none.
std::string collectivesText(const Simulation&, Dimension);

} // namespace sim
