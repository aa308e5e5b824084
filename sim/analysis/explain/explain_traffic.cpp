#include "sim/analysis/explain/explain_traffic.h"
#include "sim/simulate/purpose_name.h"

#include "sim/analysis/collective_uses.h"
#include "sim/analysis/explain/explainer.h"
#include "sim/analysis/traffic/traffic.h"
#include "sim/mesh/spoken_group.h"
#include "sim/program/pass_builder.h"
#include "sim/program/states.h"
#include "sim/simulate/action_class.h"
#include "sim/text/spoken_name.h"

#include <algorithm>
#include <utility>

namespace sim {
namespace {

constexpr const char* kMegatron = "Shoeybi et al. 2019 (Megatron-LM), section 3";
constexpr const char* kSequence = "Korthikanti et al. 2022, section 4.2";
constexpr const char* kRing = "Patarasuk and Yuan 2009: a ring sends no byte more than an all-reduce must";
constexpr const char* kZero = "Rajbhandari et al. 2020 (ZeRO), section 7";
constexpr const char* kPipeline = "Narayanan et al. 2021, section 3.2";
constexpr const char* kExperts = "Lepikhin et al. 2020 (GShard), section 3.2";
constexpr const char* kKeyRing = "Liu et al. 2023 (Ring Attention), section 3";
constexpr const char* kKeyGathers = "Grattafiori et al. 2024 (Llama 3), section 3.3.2: all-gather of keys and values";
constexpr const char* kKeyRingAndGathers = "Liu et al. 2023 (Ring Attention), section 3, for layers that see the whole sequence; "
                                           "Grattafiori et al. 2024 (Llama 3), section 3.3.2, for those that gather";
constexpr const char* kHeadExchange = "Jacobs et al. 2023 (DeepSpeed Ulysses, arXiv 2309.14509), section 3";

} // namespace

TrafficExplainer::TrafficExplainer(const Simulation& simulation)
    : m_simulation(simulation), m_scenario(simulation.scenario()), m_sharding(Sharding::of(simulation.scenario())),
      m_sums(Traffic(simulation).senders().total()), m_uses(collectiveUses(simulation))
{
}

const char* TrafficExplainer::sourceOf(CommunicatorRole role) const
{
    switch (role) {
    case CommunicatorRole::tp:
        return m_scenario.layout.sequenceParallel ? kSequence : kMegatron;
    case CommunicatorRole::cp: {
        const KeyExchange exchange = keyExchange(m_uses);
        if (exchange.forHeads)
            return kHeadExchange;
        return !exchange.gathered ? kKeyRing : exchange.inRing ? kKeyRingAndGathers : kKeyGathers;
    }
    case CommunicatorRole::ep:
    case CommunicatorRole::exptTp:
        return kExperts;
    case CommunicatorRole::pp:
        return kPipeline;
    default:
        return m_scenario.layout.zeroStage > 0 ? kZero : kRing;
    }
}

ShowHint TrafficExplainer::show(Dimension purpose) const
{
    return {.pictures = {"timeline", "traffic"}, .classes = {opClassOf(purpose)}};
}

Explanation TrafficExplainer::sends() const
{
    const PipelineSends sends = pipelineSends(m_simulation);
    const double p = m_scenario.layout.pp, ranks = world() / p;
    Account account("sends between stages", "V_pp", static_cast<double>(m_sums.ofRole(CommunicatorRole::pp)), Unit::bytes);
    const double passes = m_simulation.schedule().microbatches;
    const int chunks = m_simulation.schedule().chainLength();
    const Formula each = account.term("r", ranks, Unit::count, "ranks of a stage");
    Formula out = Formula::number(2) * each;
    const bool isEven = 2 * m_simulation.schedule().microbatches * sends.crossings == sends.count;
    const char* convention = "Activations forward, their gradients backward; stages on one rank send nothing.";
    if (!isEven) {
        out = each * account.term("c", static_cast<double>(sends.count), Unit::count, "sends of one rank of each stage; counted");
    } else {
        out *= account.term("m", passes, Unit::count, m_sharding.slices > 1 ? "slices of micro-batches" : "micro-batches");
        Account boundary("crossings from rank to rank on the way through the model", "x", static_cast<double>(sends.crossings),
                         Unit::count);
        const bool isLine = sends.crossings == chunks - 1;
        const bool isV =
            !isLine && sends.crossings == std::int64_t{m_simulation.schedule().virtualStages} * (m_scenario.layout.pp - 1);
        std::optional<Formula> crossings;
        if (isLine)
            crossings = boundary.term("l", chunks, Unit::count, "stages of the model") - Formula::number(1);
        else if (isV)
            crossings = Formula::product({boundary.term("v", m_simulation.schedule().virtualStages, Unit::count,
                                                        "chunks a rank: the turn of a V stays on it"),
                                          boundary.term("p", p, Unit::count, "pipeline ranks") - Formula::number(1)});
        out *= account.term(boundary.close(std::move(crossings), isLine || isV ? "" : "Counted in the schedule.", ""));
    }
    Account activation("bytes of one send", "M", static_cast<double>(sends.bytes), Unit::bytes);
    Formula one = tokens(activation, true);
    one *= activation.term("h", m_scenario.model.hiddenSize, Unit::count, "hidden size");
    one *= elementSize(activation);
    if (scattersSends(m_scenario))
        one /= activation.term("t", m_scenario.layout.tp, Unit::count, "tensor-parallel ranks: each sends its part");
    out *= account.term(activation.close(std::move(one), "", ""));
    return account.close(std::move(out), convention, kPipeline, show(Dimension::pp));
}

Explanation TrafficExplainer::ofRole(CommunicatorRole role) const
{
    if (role == CommunicatorRole::pp && m_sums.ofRole(role) > 0)
        return sends();
    const std::string name = spokenGroup(communicatorRoleName(role), m_scenario.layout),
                      symbol = "V_" + symbolOfGroup(communicatorRoleName(role));
    std::vector<Explanation> parts;
    for (const CollectiveUse& each : m_uses)
        if (each.role == role && each.members > 1)
            parts.push_back(use(each, "V_" + std::to_string(parts.size() + 1)));
    const double value = static_cast<double>(m_sums.ofRole(role));
    const ShowHint hint = show(dimensionOf(role));
    if (parts.size() == 1) {
        Explanation only = std::move(parts.front());
        only.name = "Sent over " + name + ": " + only.name;
        only.result = {symbol, value, Unit::bytes};
        only.show = hint;
        return only;
    }
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Explanation& a, const Explanation& b) { return a.result.value > b.result.value; });
    Account account("Sent over " + name, symbol, value, Unit::bytes);
    std::vector<Formula> sum;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        parts[i].result.symbol = "V_" + std::to_string(i + 1);
        sum.push_back(account.term(std::move(parts[i])));
    }
    return account.close(Formula::sum(std::move(sum)), "Bytes of a step, counted where they leave a rank, all ranks together.",
                         sourceOf(role), hint);
}

Explanation TrafficExplainer::ofDimension(Dimension purpose) const
{
    std::vector<CommunicatorRole> roles;
    for (const CommunicatorRole role : kTrafficRoles)
        if (dimensionOf(role) == purpose && m_sums.ofRole(role) > 0)
            roles.push_back(role);
    const std::string name = dimensionName(purpose), spoken = purposeName(m_simulation, purpose);
    if (roles.size() == 1) {
        Explanation only = ofRole(roles.front());
        only.result.symbol = "V_" + name;
        return only;
    }
    Account account("Sent for " + spoken, "V_" + name, static_cast<double>(m_sums.ofDimension(purpose)), Unit::bytes);
    std::vector<Formula> sum;
    for (const CommunicatorRole role : roles)
        sum.push_back(account.term(ofRole(role)));
    return account.close(Formula::sum(std::move(sum)), "Bytes of a step, counted where they leave a rank, all ranks together.",
                         roles.empty() ? "" : sourceOf(roles.front()), show(purpose));
}

/// The part of what is sent for a purpose that goes one way, counted transfer by transfer.
Explanation TrafficExplainer::share(Dimension purpose, double bytes, const Quantity& whole) const
{
    const std::string name = dimensionName(purpose);
    Account account("of all that is sent for " + purposeName(m_simulation, purpose) + ": by where its groups lie", "x_" + name,
                    bytes / whole.value, Unit::fraction);
    const Formula here = account.term("B", bytes, Unit::bytes, "of transfers from rank to rank that go this way");
    return account.close(here / account.term(whole.symbol, whole.value, whole.unit, "of all transfers"), "", "");
}

Explanation TrafficExplainer::ofFlow(const std::string& name, const BytesByDimension& bytes) const
{
    double all = 0;
    for (const std::int64_t each : bytes)
        all += static_cast<double>(each);
    Account account(name, "V", all, Unit::bytes);
    std::vector<Formula> sum;
    ShowHint hint{.pictures = {"timeline", "traffic"}};
    for (const Dimension purpose : kDimensions) {
        const auto here = static_cast<double>(bytes[purpose]);
        if (here <= 0)
            continue;
        Explanation whole = ofDimension(purpose);
        const Quantity sent = whole.result;
        Formula next = account.term(std::move(whole));
        if (here < sent.value)
            next = account.term(share(purpose, here, sent)) * next;
        sum.push_back(std::move(next));
        hint.classes.push_back(opClassOf(purpose));
    }
    return account.close(Formula::sum(std::move(sum)),
                         "Bytes of a step. A ring over several domains leaves each by all its members' ports; an all-to-all goes "
                         "directly; a transfer counts on the innermost tier that joins its two ends.",
                         kRing, hint);
}

Explanation TrafficExplainer::ofTier(int tier) const
{
    return ofFlow("Sent over " + spokenNetwork(m_scenario.cluster.tiers[static_cast<std::size_t>(tier)].name),
                  m_sums.byDimension(tier));
}

} // namespace sim
