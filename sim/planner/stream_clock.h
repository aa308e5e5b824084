// When the ops of a rank can have ended at the earliest: its streams, each in its order, and what they cannot help but do to each
// other between two of its kernels. Private to sim/planner.
//
// Where all of some kernels and collectives run between two moments, these lie so far apart at least:
// - K + E + beta (T - E) of kernels that take K alone, between which lies so much time E without one, and collectives of a stream
//   that are under way for T: of each moment that a collective is beside a kernel the kernel loses the share beta;
// - the sum of what transfers take of a port while they have it to themselves: together they get no more of it.
// A first moment is the end of a kernel that a collective waits for, a last one the beginning of a kernel that waits for one. Of
// all first moments, that counts which makes the last one latest; sums from the beginning on tell it without looking back.
//
// Where all replicas do the same at the same time, collectives of data parallelism begin when this rank comes to them, so that it
// is known when they run beside its kernels. Nothing that is left out lets a rank catch up: wherever it stood where it stands
// here it would lose as much, since what it left behind would be under way for as long at least.
#pragma once

#include "sim/cost/cost.h"
#include "sim/program/program.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace sim {

/// Nanoseconds of each port that a transfer takes.
using OpPorts = std::array<double, kPortCount>;
OpPorts portsOf(const PortUse&, double ns);

/// One op, or kernels in a row of which the first alone waits for anything.
struct PricedOp {
    double ns = 0, lastNs = 0; ///< of all, of the last
    OpLaunch launch;           ///< of the first
    /// Since the host began the pass, the least that its launches leave: when the last can begin, and when it has ended.
    double lastFromHostNs = static_cast<double>(OpLaunch::kNever), fromHostNs = static_cast<double>(OpLaunch::kNever);
    Stream stream = Stream::compute;
    StreamMask waits = 0;
    bool isSend = false;
    std::int32_t ports = -1; ///< index into PricedPass::ports
    CommunicatorRole group = CommunicatorRole::none;
};

/// The ops of a pass at the prices of one geometry, without receives.
struct PricedPass {
    std::vector<PricedOp> ops;
    std::vector<OpPorts> ports;
    double launchNs = 0;
};
/// `launches`: null where the host is left out.
PricedPass pricePass(const CostModel&, const Pass&, const std::vector<std::int64_t>& durations, const GroupGeometry&,
                     const PassLaunches* launches);

/// The ops of a pass that do not wait for its message, on a stream that has not waited either: what selective recomputation runs
/// again before the gradient is there. Empty where the pass has no message.
Pass beforeMessage(const Pass&);
/// Whether something of that takes time.
bool beginsBeforeMessage(const Pass&);

class StreamClock {
public:
    static constexpr double kLongAgo = -1e30; ///< streams that have nothing on them hold nobody up
    enum class Begin : std::uint8_t { ofStep, ofPass };
    enum class Replicas : std::uint8_t { differ, areAlike };

    /// `besideTransfers`: kernels take so many times as long beside a collective.
    StreamClock(double besideTransfers, Begin, Replicas = Replicas::differ);

    /// Ops of a pass, from one up to another, behind a message that the receiving stream stands at; its own takes `sendNs`.
    /// Returns when that is ready.
    double run(const PricedPass&, std::size_t from, std::size_t to, double sendNs, const OpPorts& sendPorts);
    /// When the next op could begin.
    double readyNs(const PricedOp&) const;
    /// The same of one that ran `alone` from its beginning on: it waits for nothing that was issued before it but kernels and its
    /// message, and begins when both are there.
    void append(const StreamClock& alone, double arrivalNs);

    /// Whether it is known that a kernel from then on runs beside a collective.
    bool isBesideFrom(double ns) const { return !m_underWay.empty() && m_underWay.back().to > ns; }
    double tail(Stream stream) const { return m_tails[static_cast<std::size_t>(stream)]; }
    void setTail(Stream stream, double ns) { m_tails[static_cast<std::size_t>(stream)] = ns; }
    void holdUntil(Stream stream, double ns) { setTail(stream, std::max(tail(stream), ns)); }
    /// When all that was issued has ended.
    double endNs() const;
    /// K + (1 - beta) E of all kernels that were issued.
    double workNs() const { return m_work; }

private:
    void awaitAll(StreamMask, double& startNs);
    void issue(const PricedOp&, double ns, const OpPorts*);
    void noteUnderWay(double from, double to);
    double kernelEndNs(double startNs, double ns);

    using Tails = std::array<double, kStreamCount>;
    struct UnderWay {
        double from = 0, to = 0;
    };

    double m_besideTransfers, m_lost; ///< lost: beta
    bool m_isFromBegin, m_hasKernel, m_areReplicasAlike;
    std::vector<UnderWay> m_underWay;            ///< collectives of data parallelism, where it is known when; one after the other
    std::size_t m_firstUnderWay = 0;             ///< that had not ended when the last kernel began
    StreamMask m_used = maskOf(Stream::compute); ///< that something was issued on
    Tails m_tails{};
    /// How long after the last kernel's end streams go on with what waited for that: those of the mask.
    Tails m_sinceKernel{};
    StreamMask m_isSinceKernel = maskOf(Stream::compute);
    double m_work = 0; ///< see workNs
    double m_lastKernelStartNs = kLongAgo, m_passStartNs = kLongAgo;
    double m_hostBeganNs = 0, m_launchNs = 0; ///< HostClock's, and what the host does for the pass
    // Of collectives a stream, and of the moment that a window begins at best: when, less what was before.
    Tails m_beside{}, m_besideFrom{};
    // Likewise of ports.
    std::array<OpPorts, kStreamCount> m_issued{}, m_awaited{};
    OpPorts m_issuedSum{}, m_awaitedSum{}, m_portFrom{};
    OpPorts m_loose{}; ///< of what may have begun before the pass
    StreamMask m_notAwaited = 0;
};

} // namespace sim
