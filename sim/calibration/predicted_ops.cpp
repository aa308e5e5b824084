#include "sim/calibration/predicted_ops.h"

#include "sim/cost/cost.h"
#include "sim/cost/profile_curves.h"
#include "sim/engine/classes.h"
#include "sim/index.h"
#include "sim/recovery/rank_time.h"
#include "sim/simulate/action_class.h"

#include <map>
#include <tuple>

namespace sim {
namespace {

constexpr Exchange exchangeOf(CollectiveKind kind)
{
    switch (kind) {
    case CollectiveKind::allReduce:
        return Exchange::allReduce;
    case CollectiveKind::allGather:
        return Exchange::allGather;
    case CollectiveKind::reduceScatter:
        return Exchange::reduceScatter;
    case CollectiveKind::allToAll:
        return Exchange::allToAll;
    case CollectiveKind::ringShift:
        break;
    }
    return Exchange::sendReceive;
}

class OpCounter {
public:
    OpCounter(const Simulation& simulation, const Recovered& recovered)
        : m_simulation(simulation), m_recovered(recovered), m_cost(simulation.scenario())
    {
    }

    PredictedOps count()
    {
        for (const RankEvidence& rank : m_recovered.evidence.ranks) {
            if (rank.rank >= m_simulation.mesh().worldSize())
                continue;
            ++m_ops.ranks;
            m_ranksOf[m_simulation.classOf(rank.rank)].push_back(rank.rank);
        }
        for (const auto& [c, ranks] : m_ranksOf)
            addClass(c, ranks);
        return std::move(m_ops);
    }

private:
    void addClass(int c, const std::vector<int>& ranks)
    {
        const RankClasses& classes = m_simulation.classes();
        const Program& program = m_simulation.program();
        const auto many = static_cast<double>(ranks.size());
        std::map<std::uint32_t, double> timesOf; // pass -> runs of it
        for (const Step& step : program.ranks[asIndex(classes.pipelineRank[asIndex(c)])].steps) {
            timesOf[step.pass] += many;
            if (step.sendSlot != kNoSlot)
                addSend(classes.peerOf(c, step.sendTo).tier, many);
        }
        for (const auto& [pass, times] : timesOf)
            for (std::size_t i = 0; i < program.passes[pass].ops.size(); ++i) {
                const Op& op = program.passes[pass].ops[i];
                // A GPU runs pieces one by one, and each is priced by itself.
                const OpShape& whole = program.passes[pass].shapes[i];
                const OpShape shape = pieceOf(whole);
                const double ns =
                    static_cast<double>(m_simulation.prices().durations[asIndex(classes.geometry[asIndex(c)])][pass][i]) /
                    whole.pieces;
                if (op.kind == OpKind::compute)
                    addKernel(op, shape, ns, times * whole.pieces);
                else if (op.kind == OpKind::collective)
                    addCollective(op, shape, c, ranks.front(), ns, times * whole.pieces);
            }
    }

    void addKernel(const Op& op, const OpShape& shape, double ns, double times)
    {
        const auto key = std::tuple(op.label, static_cast<int>(opClassOf(op)), static_cast<int>(shape.pass), shape.flops,
                                    shape.bytes, shape.m, shape.n, shape.k, shape.batch, ns);
        const auto [place, isNew] = m_kernels.try_emplace(key, m_ops.kernels.size());
        if (isNew)
            m_ops.kernels.push_back({.label = m_simulation.program().labels[op.label],
                                     .curve = kernelCurveName(shape.family, shape.pass, m_simulation.scenario()),
                                     .opClass = opClassOf(op),
                                     .shape = shape,
                                     .ns = ns});
        m_ops.kernels[place->second].count += times;
    }

    void addCollective(const Op& op, const OpShape& shape, int c, int rank, double ns, double times)
    {
        const RankClasses& classes = m_simulation.classes();
        const GroupShape& group = classes.geometries[asIndex(classes.geometry[asIndex(c)])].shapes[asIndex(op.group)];
        if (group.size < 2)
            return;
        OpShape empty = shape;
        empty.bytes = 0;
        addTransfer({.label = m_simulation.program().labels[op.label],
                     .curve = factsOf(shape.collective).curve,
                     .axes = axesOf(op.group, rank),
                     .exchange = exchangeOf(shape.collective),
                     .kind = shape.collective,
                     .bytes = shape.bytes,
                     .members = group.size,
                     .tier = group.spanningTier(),
                     .ns = ns,
                     .latencyNs = static_cast<double>(m_cost.collectiveNs(empty, group, op.group))},
                    times);
    }

    void addSend(int tier, double times)
    {
        addTransfer({.label = {},
                     .curve = kSendCurveName,
                     .axes = "pp",
                     .exchange = Exchange::send,
                     .bytes = m_simulation.program().sendBytes,
                     .members = 2,
                     .tier = tier,
                     .ns = static_cast<double>(m_simulation.prices().sendNs[asIndex(tier)]),
                     .latencyNs = static_cast<double>(m_cost.sendNs(0, tier))},
                    times);
    }

    void addTransfer(PredictedTransfer transfer, double times)
    {
        const auto key = std::tuple(transfer.label, transfer.curve, transfer.axes, transfer.bytes, transfer.members,
                                    transfer.tier, transfer.ns);
        const auto [place, isNew] = m_transfers.try_emplace(key, m_ops.transfers.size());
        if (isNew)
            m_ops.transfers.push_back(std::move(transfer));
        m_ops.transfers[place->second].count += times;
    }

    const std::string& axesOf(CommunicatorRole role, int rank)
    {
        const auto [known, isNew] = m_axes.try_emplace(role);
        if (isNew) {
            const RoleGroups groups = roleGroups(role, m_simulation.mesh(), m_simulation.scenario());
            if (const int group = groups.groupOf[asIndex(rank)]; group >= 0)
                known->second = role == CommunicatorRole::ep && m_recovered.axes.find("ep") != nullptr
                                    ? std::string("ep")
                                    : axesOfGroup(m_recovered.axes, {groups.members.begin() + groups.first[asIndex(group)],
                                                                     groups.members.begin() + groups.first[asIndex(group) + 1]});
        }
        return known->second;
    }

    const Simulation& m_simulation;
    const Recovered& m_recovered;
    CostModel m_cost;
    PredictedOps m_ops;
    std::map<int, std::vector<int>> m_ranksOf; ///< class -> recorded ranks
    std::map<CommunicatorRole, std::string> m_axes;
    std::map<
        std::tuple<std::uint16_t, int, int, double, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, double>,
        std::size_t>
        m_kernels;
    std::map<std::tuple<std::string, std::string, std::string, std::int64_t, int, int, double>, std::size_t> m_transfers;
};

} // namespace

PredictedOps predictedOps(const Simulation& simulation, const Recovered& recovered)
{
    return OpCounter(simulation, recovered).count();
}

} // namespace sim
