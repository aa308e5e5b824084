#include "sim/engine/fair_share.h"

#include "sim/index.h"

#include <algorithm>
#include <limits>

namespace sim {

FairShare::FairShare(int ports, int transfers)
    : m_ports(asIndex(ports)), m_filling(asIndex(ports)), m_transfers(asIndex(transfers))
{
}

void FairShare::touch(int port)
{
    if (!std::exchange(m_ports[asIndex(port)].isTouched, true))
        m_touched.push_back(port);
}

void FairShare::begin(int transfer, const std::vector<Claim>& claims)
{
    TransferState& state = m_transfers[asIndex(transfer)];
    state.claims.assign(claims.begin(), claims.end());
    state.rate = kFullRate;
    state.speed = 1;
    for (const Claim& claim : state.claims) {
        PortState& port = m_ports[asIndex(claim.port)];
        port.transfers.push_back(transfer);
        port.load += std::int64_t{claim.use} * claim.ranks;
        state.speed = std::max<std::int64_t>(state.speed, claim.use);
        touch(claim.port);
    }
}

void FairShare::end(int transfer)
{
    TransferState& state = m_transfers[asIndex(transfer)];
    for (const Claim& claim : state.claims) {
        PortState& port = m_ports[asIndex(claim.port)];
        *std::find(port.transfers.begin(), port.transfers.end(), transfer) = port.transfers.back();
        port.transfers.pop_back();
        port.load -= std::int64_t{claim.use} * claim.ranks;
        touch(claim.port);
    }
    state.claims.clear();
}

void FairShare::collect(int transfer)
{
    if (!std::exchange(m_transfers[asIndex(transfer)].isCollected, true))
        m_collected.push_back(transfer);
}

/// Only full ports bind: whoever crosses none goes at full rate, and passes nothing on to others.
const std::vector<std::pair<int, std::int64_t>>& FairShare::settle()
{
    m_changed.clear();
    for (const int touched : m_touched) {
        PortState& port = m_ports[asIndex(touched)];
        port.isTouched = false;
        const bool full = isFull(port);
        if (full || port.wasFull)
            for (const int transfer : port.transfers)
                collect(transfer);
        port.wasFull = full;
    }
    m_touched.clear();
    if (m_collected.empty())
        return m_changed;
    for (std::size_t i = 0; i < m_collected.size(); ++i) // NOLINT(modernize-loop-convert): it grows meanwhile
        for (const Claim& claim : m_transfers[asIndex(m_collected[i])].claims) {
            PortState& port = m_ports[asIndex(claim.port)];
            if (!isFull(port) || std::exchange(port.isCollected, true))
                continue;
            m_fullPorts.push_back(claim.port);
            for (const int other : port.transfers)
                collect(other);
        }
    fill();
    for (const int port : m_fullPorts)
        m_ports[asIndex(port)].isCollected = false;
    m_fullPorts.clear();
    for (const int transfer : m_collected)
        m_transfers[asIndex(transfer)].isCollected = false;
    m_collected.clear();
    return m_changed;
}

/// How far those without a rate can rise together: until the slowest of them has all that it can use, or a port is full.
std::int64_t FairShare::level() const
{
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const int transfer : m_unfilled)
        least = std::min(least, m_transfers[asIndex(transfer)].speed);
    for (const int port : m_fullPorts)
        if (const Filling& state = m_filling[asIndex(port)]; state.wanted > 0)
            least = std::min(least, state.left * kFullRate / state.wanted);
    return least;
}

void FairShare::fill()
{
    m_unfilled = m_collected;
    const auto wantedOf = [&](const TransferState& transfer, const Claim& claim) {
        return claim.use * kFullRate / transfer.speed * claim.ranks;
    };
    for (const int port : m_fullPorts) {
        m_filling[asIndex(port)] = {.left = kWholePort, .wanted = 0};
    }
    for (const int transfer : m_unfilled) {
        const TransferState& state = m_transfers[asIndex(transfer)];
        for (const Claim& claim : state.claims)
            m_filling[asIndex(claim.port)].wanted += wantedOf(state, claim);
    }
    while (!m_unfilled.empty()) {
        const std::int64_t reached = level();
        const auto isStopped = [&](int transfer) {
            const TransferState& state = m_transfers[asIndex(transfer)];
            return state.speed <= reached || std::any_of(state.claims.begin(), state.claims.end(), [&](const Claim& claim) {
                       const Filling& port = m_filling[asIndex(claim.port)];
                       return m_ports[asIndex(claim.port)].isCollected && port.wanted > 0 &&
                              port.left * kFullRate / port.wanted <= reached;
                   });
        };
        // All that stop at this level do so by the state before any of them took its share.
        const auto stopped = std::partition(m_unfilled.begin(), m_unfilled.end(), [&](int t) { return !isStopped(t); });
        for (auto it = stopped; it != m_unfilled.end(); ++it) {
            TransferState& state = m_transfers[asIndex(*it)];
            const std::int64_t rate = std::clamp<std::int64_t>(reached * kFullRate / state.speed, 1, kFullRate);
            for (const Claim& claim : state.claims) {
                Filling& port = m_filling[asIndex(claim.port)];
                port.wanted -= wantedOf(state, claim);
                port.left = std::max<std::int64_t>(0, port.left - claim.use * rate / kFullRate * claim.ranks);
            }
            if (std::exchange(state.rate, rate) != rate)
                m_changed.emplace_back(*it, rate);
        }
        m_unfilled.erase(stopped, m_unfilled.end());
    }
}

} // namespace sim
