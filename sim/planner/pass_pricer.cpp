#include "sim/planner/pass_pricer.h"

#include "sim/checked.h"
#include "sim/index.h"

#include <algorithm>
#include <array>
#include <bit>

namespace sim {

PassPricer::PassPricer(const Scenario& scenario, const CostModel& cost, const GroupGeometry& groups)
    : m_cost(cost), m_groups(groups), m_besideTransfers(scenario.cluster.efficiency.besideTransfers)
{
}

PassReplay PassPricer::operator()(const Pass& pass, bool asHalf) const
{
    PassReplay replay;
    double bytes = 0;
    std::vector<std::int64_t> durations(pass.ops.size(), 0);
    for (std::size_t i = 0; i < pass.ops.size(); ++i) {
        const Op& op = pass.ops[i];
        bytes += static_cast<double>(op.allocBytes);
        replay.peakBytes = std::max(replay.peakBytes, bytes);
        bytes -= static_cast<double>(op.freeBytes);
        if (op.kind == OpKind::compute) {
            durations[i] = m_cost.kernelNs(pass.shapes[i]);
            replay.kernelNs += static_cast<double>(durations[i]);
        } else if (op.kind == OpKind::collective) {
            durations[i] = m_cost.collectiveNs(pass.shapes[i], m_groups.shapes[asIndex(op.group)], op.group);
        }
    }
    StreamClock clock(m_besideTransfers, StreamClock::Begin::ofPass);
    const PricedPass priced = pricePass(m_cost, pass, durations, m_groups, nullptr);
    clock.run(priced, 0, priced.ops.size(), 0, OpPorts{});
    replay.chainNs = clock.tail(Stream::compute);
    replay.workNs = clock.workNs();
    if (asHalf)
        addBlock(priced, replay);
    replay.keptBytes = bytes;
    return replay;
}

void PassPricer::addBlock(const PricedPass& priced, PassReplay& replay) const
{
    if (std::none_of(priced.ops.begin(), priced.ops.end(), [](const PricedOp& op) { return op.stream == Stream::ep; })) {
        replay.blockNs = replay.chainNs;
        replay.blockWorkNs = replay.workNs;
        return;
    }
    PricedPass piece;
    piece.ports = priced.ports;
    const auto end = [&] {
        StreamClock clock(m_besideTransfers, StreamClock::Begin::ofPass);
        clock.run(piece, 0, piece.ops.size(), 0, OpPorts{});
        replay.blockNs += clock.tail(Stream::compute);
        replay.blockWorkNs += clock.workNs();
        piece.ops.clear();
    };
    for (const PricedOp& op : priced.ops) {
        if (op.stream != Stream::ep) {
            piece.ops.push_back(op);
            continue;
        }
        replay.exchangeNs += op.ns;
        if (!piece.ops.empty())
            end();
    }
    end();
}

double PassPricer::earlyNs(const Pass& pass) const
{
    const Pass early = beforeMessage(pass);
    std::vector<std::int64_t> durations(early.ops.size(), 0);
    for (std::size_t i = 0; i < early.ops.size(); ++i)
        if (early.ops[i].kind == OpKind::compute)
            durations[i] = m_cost.kernelNs(early.shapes[i]);
        else if (early.ops[i].kind == OpKind::collective)
            durations[i] = m_cost.collectiveNs(early.shapes[i], m_groups.shapes[asIndex(early.ops[i].group)], early.ops[i].group);
    StreamClock clock(m_besideTransfers, StreamClock::Begin::ofPass);
    const PricedPass priced = pricePass(m_cost, early, durations, m_groups, nullptr);
    clock.run(priced, 0, priced.ops.size(), 0, OpPorts{});
    return std::max(0.0, clock.endNs());
}

PassReplay PassPricer::kernelsOf(const Pass& pass) const
{
    PassReplay replay;
    for (std::size_t i = 0; i < pass.ops.size(); ++i) {
        if (pass.ops[i].kind == OpKind::compute)
            replay.kernelNs += static_cast<double>(m_cost.kernelNs(pass.shapes[i]));
        replay.keptBytes += static_cast<double>(pass.ops[i].allocBytes) - static_cast<double>(pass.ops[i].freeBytes);
    }
    return replay;
}

double PassPricer::updateNs(Pass pass) const
{
    Program program;
    program.passes.push_back(std::move(pass));
    const OpDurations durations = m_cost.price(program, m_groups);
    const std::vector<PassLaunches> launches = m_cost.launches(program);
    HostClock host;
    std::array<std::int64_t, kStreamCount> tail{};
    const Pass& of = program.passes.front();
    for (std::size_t i = 0; i < of.ops.size(); ++i) {
        std::int64_t start = tail[asIndex(of.ops[i].stream)];
        for (unsigned waits = of.ops[i].waits; waits != 0; waits &= waits - 1)
            start = std::max(start, tail[asIndex(std::countr_zero(waits))]);
        if (!launches.empty())
            start = host.beginNs(launches[0].ops[i], of.ops[i].stream == Stream::compute, start);
        tail[asIndex(of.ops[i].stream)] = checkedAdd(start, durations[0][i]);
    }
    return static_cast<double>(tail[asIndex(Stream::compute)]);
}

double PassPricer::dataParallelNs(const Pass& pass) const
{
    double ns = 0;
    for (std::size_t i = 0; i < pass.ops.size(); ++i)
        if (const Op& op = pass.ops[i]; op.kind == OpKind::collective && op.stream == Stream::dp)
            ns += static_cast<double>(m_cost.collectiveNs(pass.shapes[i], m_groups.shapes[asIndex(op.group)], op.group));
    return ns;
}

} // namespace sim
