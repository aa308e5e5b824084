#include "sim/analysis/explain_traffic.h"

#include "sim/analysis/explainer.h"

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
constexpr const char* kContext = "Liu et al. 2023 (Ring Attention), section 3";

OpClass classOf(TrafficPurpose purpose)
{
    constexpr std::array kClasses{OpClass::tpComm, OpClass::cpComm, OpClass::epComm, OpClass::ppComm, OpClass::dpComm};
    return kClasses[static_cast<std::size_t>(purpose)];
}

} // namespace

TrafficExplainer::TrafficExplainer(const Simulation& simulation)
    : m_simulation(simulation), m_scenario(simulation.scenario()), m_sharding(Sharding::of(simulation.scenario())),
      m_sums(simulation.traffic().senders().total()), m_uses(collectiveUses(simulation))
{
}

const char* TrafficExplainer::sourceOf(GroupRole role) const
{
    switch (role) {
    case GroupRole::tp:
        return m_scenario.layout.sequenceParallel ? kSequence : kMegatron;
    case GroupRole::cp:
        return kContext;
    case GroupRole::ep:
    case GroupRole::exptTp:
        return kExperts;
    case GroupRole::pp:
        return kPipeline;
    default:
        return m_scenario.layout.zeroStage > 0 ? kZero : kRing;
    }
}

ShowHint TrafficExplainer::show(TrafficPurpose purpose) const
{
    return {.pictures = {"timeline", "traffic"}, .ranks = {}, .range = {}, .classes = {classOf(purpose)}};
}

Explanation TrafficExplainer::sends() const
{
    const PipelineSends sends = pipelineSends(m_simulation);
    const double p = m_scenario.layout.pp, ranks = world() / p;
    Account account("sends between stages", "V_pp", static_cast<double>(m_sums.ofRole(GroupRole::pp)), Unit::bytes);
    const double passes = m_simulation.schedule().microbatches;
    const int chunks = m_simulation.schedule().chainLength();
    Formula out = Formula::number(2) * account.term("r", ranks, Unit::count, "ranks of a stage");
    const bool isEven = 2 * m_simulation.schedule().microbatches * sends.crossings == sends.count;
    const char* convention = "Activations forward, their gradients backward; stages on one rank send nothing.";
    if (!isEven) {
        account = Account("sends between stages", "V_pp", static_cast<double>(m_sums.ofRole(GroupRole::pp)), Unit::bytes);
        out = Formula::product(
            {account.term("r", ranks, Unit::count, "ranks of a stage"),
             account.term("c", static_cast<double>(sends.count), Unit::count, "sends of one rank of each stage; counted")});
    } else {
        out = std::move(out) *
              account.term("m", passes, Unit::count, m_sharding.slices > 1 ? "slices of micro-batches" : "micro-batches");
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
        out = std::move(out) *
              account.term(boundary.close(std::move(crossings), isLine || isV ? "" : "Counted in the schedule.", ""));
    }
    Account activation("bytes of one send", "M", static_cast<double>(sends.bytes), Unit::bytes);
    Formula one = tokens(activation, true);
    one = std::move(one) * activation.term("h", m_scenario.model.hiddenSize, Unit::count, "hidden size");
    one = std::move(one) * elementSize(activation);
    out = std::move(out) * account.term(activation.close(std::move(one), "", ""));
    return account.close(std::move(out), convention, kPipeline, show(TrafficPurpose::pp));
}

Explanation TrafficExplainer::ofRole(GroupRole role) const
{
    if (role == GroupRole::pp && m_sums.ofRole(role) > 0)
        return sends();
    const std::string name = groupRoleName(role);
    std::vector<Explanation> parts;
    for (const CollectiveUse& each : m_uses)
        if (each.role == role && each.members > 1)
            parts.push_back(use(each, "V_" + std::to_string(parts.size() + 1)));
    const double value = static_cast<double>(m_sums.ofRole(role));
    const ShowHint hint = show(trafficPurposeOf(role));
    if (parts.size() == 1) {
        Explanation only = std::move(parts.front());
        only.name = "Sent over " + name + ": " + only.name;
        only.result = {"V_" + name, value, Unit::bytes};
        only.show = hint;
        return only;
    }
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Explanation& a, const Explanation& b) { return a.result.value > b.result.value; });
    Account account("Sent over " + name, "V_" + name, value, Unit::bytes);
    std::optional<Formula> sum;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        parts[i].result.symbol = "V_" + std::to_string(i + 1);
        const Formula next = account.term(std::move(parts[i]));
        sum = sum ? *sum + next : next;
    }
    return account.close(sum.value_or(Formula::number(0)),
                         "Bytes of a step, counted where they leave a rank, all ranks together.", sourceOf(role), hint);
}

Explanation TrafficExplainer::ofPurpose(TrafficPurpose purpose) const
{
    std::vector<GroupRole> roles;
    for (const GroupRole role : kTrafficRoles)
        if (trafficPurposeOf(role) == purpose && m_sums.ofRole(role) > 0)
            roles.push_back(role);
    const std::string name = trafficPurposeName(purpose);
    if (roles.size() == 1) {
        Explanation only = ofRole(roles.front());
        only.result.symbol = "V_" + name;
        return only;
    }
    Account account("Sent for " + name, "V_" + name, static_cast<double>(m_sums.ofPurpose(purpose)), Unit::bytes);
    std::optional<Formula> sum;
    for (const GroupRole role : roles) {
        const Formula next = account.term(ofRole(role));
        sum = sum ? *sum + next : next;
    }
    return account.close(sum.value_or(Formula::number(0)),
                         "Bytes of a step, counted where they leave a rank, all ranks together.",
                         roles.empty() ? "" : sourceOf(roles.front()), show(purpose));
}

/// The part of what is sent for a purpose that goes one way, counted transfer by transfer.
Explanation TrafficExplainer::share(TrafficPurpose purpose, double bytes, const Quantity& whole) const
{
    const std::string name = trafficPurposeName(purpose);
    Account account("of all that is sent for " + name + ": by where its groups lie", "x_" + name, bytes / whole.value,
                    Unit::fraction);
    const Formula here = account.term("B", bytes, Unit::bytes, "of transfers from rank to rank that go this way");
    return account.close(here / account.term(whole.symbol, whole.value, whole.unit, "of all transfers"), "", "");
}

Explanation TrafficExplainer::ofFlow(const std::string& name, const BytesByPurpose& bytes) const
{
    double all = 0;
    for (const std::int64_t each : bytes)
        all += static_cast<double>(each);
    Account account(name, "V", all, Unit::bytes);
    std::optional<Formula> sum;
    ShowHint hint{.pictures = {"timeline", "traffic"}, .ranks = {}, .range = {}, .classes = {}};
    for (int i = 0; i < kTrafficPurposeCount; ++i) {
        const auto purpose = static_cast<TrafficPurpose>(i);
        const auto here = static_cast<double>(bytes[static_cast<std::size_t>(i)]);
        if (here <= 0)
            continue;
        Explanation whole = ofPurpose(purpose);
        const Quantity sent = whole.result;
        Formula next = account.term(std::move(whole));
        if (here < sent.value)
            next = account.term(share(purpose, here, sent)) * next;
        sum = sum ? *sum + next : next;
        hint.classes.push_back(classOf(purpose));
    }
    return account.close(sum.value_or(Formula::number(0)),
                         "Bytes of a step. A ring over several domains leaves each by all its members' ports; an all-to-all goes "
                         "directly; a transfer counts on the innermost tier that joins its two ends.",
                         kRing, hint);
}

Explanation TrafficExplainer::ofTier(int tier) const
{
    BytesByPurpose bytes{};
    for (int purpose = 0; purpose < kTrafficPurposeCount; ++purpose)
        bytes[static_cast<std::size_t>(purpose)] = m_sums.bytes(tier, static_cast<TrafficPurpose>(purpose));
    return ofFlow("Sent over " + m_scenario.cluster.tiers[static_cast<std::size_t>(tier)].name, bytes);
}

} // namespace sim
