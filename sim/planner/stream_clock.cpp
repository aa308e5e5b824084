#include "sim/planner/stream_clock.h"

#include "sim/engine/shared_ports.h"
#include "sim/index.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace sim {
namespace {

void add(OpPorts& to, const OpPorts& what)
{
    for (std::size_t port = 0; port < kPortCount; ++port)
        to[port] += what[port];
}

constexpr bool isOn(StreamMask mask, std::size_t stream)
{
    return (mask >> stream & 1U) != 0;
}

} // namespace

OpPorts portsOf(const PortUse& use, double ns)
{
    OpPorts ports{};
    for (std::size_t port = 0; port < kPortCount; ++port)
        ports[port] = ns * use[port] / kWholePort;
    return ports;
}

PricedPass pricePass(const CostModel& cost, const Pass& pass, const std::vector<std::int64_t>& durations,
                     const GroupGeometry& geometry, const PassLaunches* launches)
{
    PricedPass priced;
    priced.launchNs = launches == nullptr ? 0 : static_cast<double>(launches->ns);
    for (std::size_t i = 0; i < pass.ops.size(); ++i) {
        const Op& op = pass.ops[i];
        const auto ns = static_cast<double>(durations[i]);
        if (op.kind == OpKind::receive || op.kind == OpKind::post)
            continue;
        const OpLaunch launch = launches == nullptr ? OpLaunch{} : launches->ops[i];
        const auto startedNs = static_cast<double>(launch.startedNs);
        if (op.stream == Stream::compute && op.waits == 0 && !launch.asks() && !priced.ops.empty() &&
            priced.ops.back().stream == Stream::compute) {
            PricedOp& row = priced.ops.back();
            row.ns += ns;
            row.lastNs = ns;
            row.lastFromHostNs = std::max(row.fromHostNs, startedNs);
            row.fromHostNs = row.lastFromHostNs + ns;
            continue;
        }
        PricedOp& made = priced.ops.emplace_back(PricedOp{.ns = ns,
                                                          .lastNs = ns,
                                                          .launch = launch,
                                                          .lastFromHostNs = startedNs,
                                                          .fromHostNs = startedNs + ns,
                                                          .stream = op.stream,
                                                          .waits = op.waits,
                                                          .isSend = op.kind == OpKind::send,
                                                          .ports = -1,
                                                          .group = op.group});
        if (op.kind != OpKind::collective)
            continue;
        made.ports = static_cast<std::int32_t>(priced.ports.size());
        priced.ports.push_back(portsOf(cost.collectiveUse(pass.shapes[i], geometry.shapes[asIndex(op.group)], durations[i]), ns));
    }
    return priced;
}

Pass beforeMessage(const Pass& pass)
{
    Pass before;
    StreamMask behind = 0; // streams that have waited for the message
    for (std::size_t i = 0; i < pass.ops.size(); ++i) {
        const Op& op = pass.ops[i];
        if (op.kind == OpKind::receive || ((op.waits | maskOf(op.stream)) & behind) != 0) {
            behind |= maskOf(op.stream);
            continue;
        }
        before.ops.push_back(op);
        before.shapes.push_back(pass.shapes[i]);
    }
    return behind == 0 ? Pass{} : before;
}

bool beginsBeforeMessage(const Pass& pass)
{
    const Pass before = beforeMessage(pass);
    return std::any_of(before.ops.begin(), before.ops.end(), [](const Op& op) {
        return op.kind == OpKind::compute || op.kind == OpKind::collective || op.kind == OpKind::copy;
    });
}

StreamClock::StreamClock(double besideTransfers, Begin begin, Replicas replicas)
    : m_besideTransfers(besideTransfers), m_lost(1 - 1 / besideTransfers), m_isFromBegin(begin == Begin::ofStep),
      m_hasKernel(m_isFromBegin), m_areReplicasAlike(replicas == Replicas::areAlike && besideTransfers > 1)
{
    m_tails.fill(kLongAgo);
    m_tails[asIndex(Stream::compute)] = 0;
    m_besideFrom.fill(m_isFromBegin ? 0 : kLongAgo);
    m_hostBeganNs = m_isFromBegin ? 0 : kLongAgo;
    m_portFrom.fill(m_isFromBegin ? 0 : kLongAgo);
}

/// What it waits for is over, in as much time as that takes beside the kernels before.
void StreamClock::awaitAll(StreamMask waits, double& startNs)
{
    double idle = 0;
    for (unsigned left = waits & m_isSinceKernel; left != 0; left &= left - 1)
        idle = std::max(idle, m_sinceKernel[asIndex(std::countr_zero(left))]);
    m_work += (1 - m_lost) * idle;
    for (unsigned left = waits & kBesideKernels; left != 0; left &= left - 1) {
        const auto s = asIndex(std::countr_zero(left));
        startNs = std::max(startNs, m_besideFrom[s] + m_work + m_lost * m_beside[s]);
    }
    const auto awaited = static_cast<StreamMask>(waits & m_notAwaited);
    if (awaited == 0)
        return;
    for (unsigned left = awaited; left != 0; left &= left - 1) {
        const auto s = asIndex(std::countr_zero(left));
        for (std::size_t port = 0; port < kPortCount; ++port)
            m_awaitedSum[port] += m_issued[s][port] - m_awaited[s][port];
        m_awaited[s] = m_issued[s];
    }
    m_notAwaited &= static_cast<StreamMask>(~awaited);
    for (std::size_t port = 0; port < kPortCount; ++port)
        startNs = std::max({startNs, m_portFrom[port] + m_awaitedSum[port], m_isFromBegin ? m_awaitedSum[port] : kLongAgo});
}

void StreamClock::issue(const PricedOp& op, double ns, const OpPorts* ports)
{
    const auto s = asIndex(op.stream);
    const bool isBehindKernel = (op.waits & maskOf(Stream::compute)) != 0 && m_hasKernel;
    const double kernelEnd = m_tails[asIndex(Stream::compute)];
    if ((maskOf(op.stream) & kBesideKernels) != 0) {
        if (isBehindKernel)
            m_besideFrom[s] = std::max(m_besideFrom[s], kernelEnd - m_work - m_lost * m_beside[s]);
        m_beside[s] += ns;
    }
    if (ports == nullptr)
        return;
    for (std::size_t port = 0; port < kPortCount; ++port)
        if (isBehindKernel)
            m_portFrom[port] = std::max(m_portFrom[port], kernelEnd - m_issuedSum[port]);
        else { // it may have begun before that
            m_portFrom[port] -= (*ports)[port];
            m_loose[port] += (*ports)[port];
        }
    add(m_issued[s], *ports);
    add(m_issuedSum, *ports);
    m_notAwaited |= maskOf(op.stream);
}

/// Of two streams, which may run side by side: what is beside kernels longer than what was noted before.
void StreamClock::noteUnderWay(double from, double to)
{
    if (!m_underWay.empty() && from <= m_underWay.back().to)
        m_underWay.back().to = std::max(m_underWay.back().to, to);
    else
        m_underWay.push_back({from, to});
}

double StreamClock::kernelEndNs(double startNs, double ns)
{
    double now = startNs, left = ns;
    while (m_firstUnderWay < m_underWay.size() && m_underWay[m_firstUnderWay].to <= startNs)
        ++m_firstUnderWay;
    for (std::size_t i = m_firstUnderWay; i < m_underWay.size() && m_underWay[i].from < now + left; ++i) {
        const double alone = std::max(0.0, m_underWay[i].from - now);
        now += alone;
        left -= alone;
        const double beside = std::min(left, (m_underWay[i].to - now) / m_besideTransfers);
        now += beside * m_besideTransfers;
        left -= beside;
    }
    return now + left;
}

double StreamClock::readyNs(const PricedOp& op) const
{
    double ready = op.stream == Stream::compute ? kLongAgo : m_passStartNs;
    for (unsigned left = op.waits | maskOf(op.stream); left != 0; left &= left - 1)
        ready = std::max(ready, m_tails[asIndex(std::countr_zero(left))]);
    return ready;
}

double StreamClock::run(const PricedPass& priced, std::size_t from, std::size_t to, double sendNs, const OpPorts& sendPorts)
{
    double sent = kLongAgo;
    if (from == 0) { // it is issued when the last kernel of the one before has begun
        m_passStartNs = m_lastKernelStartNs;
        m_hostBeganNs += std::exchange(m_launchNs, priced.launchNs);
    }
    double& compute = m_tails[asIndex(Stream::compute)];
    for (std::size_t i = from; i < to; ++i) {
        const PricedOp& op = priced.ops[i];
        m_used |= maskOf(op.stream);
        double start = readyNs(op);
        if (op.stream == Stream::compute) {
            if (op.waits != 0)
                awaitAll(op.waits, start);
            compute = m_areReplicasAlike ? kernelEndNs(start, op.ns) : start + op.ns;
            m_lastKernelStartNs = compute - op.lastNs * (m_areReplicasAlike ? m_besideTransfers : 1); // no later than it does
            m_hostBeganNs = std::max(m_hostBeganNs, start - static_cast<double>(op.launch.askedNs));
            compute = std::max(compute, m_hostBeganNs + op.fromHostNs);
            m_lastKernelStartNs = std::max(m_lastKernelStartNs, m_hostBeganNs + op.lastFromHostNs);
            m_work += op.ns;
            m_hasKernel = true;
            m_isSinceKernel = maskOf(Stream::compute);
            m_sinceKernel[asIndex(Stream::compute)] = 0;
            continue;
        }
        double ns = op.ns;
        const auto startedNs = static_cast<double>(op.launch.startedNs);
        start = std::max({start, m_hostBeganNs + startedNs, start + startedNs - static_cast<double>(op.launch.askedNs)});
        if (op.isSend) {
            sent = start = std::max(start, compute);
            ns = sendNs;
            issue(op, ns, &sendPorts);
        } else {
            issue(op, ns, op.ports < 0 ? nullptr : &priced.ports[asIndex(op.ports)]);
        }
        const auto s = asIndex(op.stream);
        m_tails[s] = start + ns;
        if (m_areReplicasAlike && (maskOf(op.stream) & kDataParallelStreams) != 0)
            noteUnderWay(start, start + ns);
        double since = kLongAgo;
        for (unsigned left = (op.waits | maskOf(op.stream)) & m_isSinceKernel; left != 0; left &= left - 1)
            since = std::max(since, m_sinceKernel[asIndex(std::countr_zero(left))]);
        if (since == kLongAgo)
            continue;
        m_sinceKernel[s] = since + ns;
        m_isSinceKernel |= maskOf(op.stream);
    }
    return sent;
}

void StreamClock::append(const StreamClock& alone, double arrivalNs)
{
    double& compute = m_tails[asIndex(Stream::compute)];
    const double base = std::max(compute, arrivalNs);
    for (unsigned left = alone.m_used; left != 0; left &= left - 1) {
        const auto s = asIndex(std::countr_zero(left));
        m_tails[s] = std::max(m_tails[s], base + alone.m_tails[s]);
        m_besideFrom[s] = std::max(m_besideFrom[s], base + alone.m_besideFrom[s] - m_work - m_lost * m_beside[s]);
        m_beside[s] += alone.m_beside[s];
        if (isOn(alone.m_notAwaited, s) || alone.m_issued[s] != OpPorts{}) {
            for (std::size_t port = 0; port < kPortCount; ++port) {
                const double awaited = alone.m_awaited[s][port] > 0 ? m_issued[s][port] + alone.m_awaited[s][port] : 0;
                if (awaited > m_awaited[s][port]) {
                    m_awaitedSum[port] += awaited - m_awaited[s][port];
                    m_awaited[s][port] = awaited;
                }
            }
            add(m_issued[s], alone.m_issued[s]);
            m_notAwaited |= static_cast<StreamMask>(alone.m_notAwaited & maskOf(static_cast<Stream>(s)));
        }
    }
    for (std::size_t port = 0; port < kPortCount; ++port)
        m_portFrom[port] = std::max(m_portFrom[port] - alone.m_loose[port], base + alone.m_portFrom[port] - m_issuedSum[port]);
    add(m_issuedSum, alone.m_issuedSum);
    m_work += alone.m_work;
    m_hostBeganNs = std::max(m_hostBeganNs + m_launchNs, base + alone.m_hostBeganNs);
    m_launchNs = alone.m_launchNs;
    if (alone.m_hasKernel) {
        m_lastKernelStartNs = base + alone.m_lastKernelStartNs;
        m_sinceKernel = alone.m_sinceKernel;
        m_isSinceKernel = alone.m_isSinceKernel;
        m_hasKernel = true;
    }
}

double StreamClock::endNs() const
{
    double end = 0;
    for (std::size_t s = 0; s < m_tails.size(); ++s)
        end = std::max({end, m_tails[s], isOn(kBesideKernels, s) ? m_besideFrom[s] + m_work + m_lost * m_beside[s] : 0});
    for (std::size_t port = 0; port < kPortCount; ++port)
        end = std::max({end, m_portFrom[port] + m_issuedSum[port], m_isFromBegin ? m_issuedSum[port] : kLongAgo});
    return end;
}

} // namespace sim
