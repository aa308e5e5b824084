// How long an op takes. The seam between what is executed (program) and on what (cluster): kernels by a roofline over their
// shape, collectives by latency and bandwidth on the tiers they cross. Constants belong to the GPU type (Efficiency) or to the
// software (Stack), never to a scenario. Where the cluster has a measured profile, its times are taken instead.
#pragma once

#include "sim/cost/all_to_all.h"
#include "sim/cost/launches.h"
#include "sim/cost/measured_time.h"
#include "sim/mesh/placement.h"
#include "sim/program/program.h"
#include "sim/scenario/scenario.h"

#include <array>
#include <cstdint>
#include <vector>

namespace sim {

/// How a rank's communicators lie on the cluster; ranks with equal geometry pay equal prices.
struct GroupGeometry {
    std::array<GroupShape, kCommunicatorRoleCount> shapes;
    bool operator==(const GroupGeometry&) const = default;
    auto operator<=>(const GroupGeometry&) const = default;
};

/// What a GPU has one of, and all of its transfers share: its links inside the innermost domain, those inside the node beyond it,
/// its share of the node's network cards, and of what joins the network's domains.
enum class Port : std::uint8_t { inner, node, network, spine };
inline constexpr std::size_t kPortCount = 4;
/// The one that crossing a tier takes; over the spine one goes through the network card, too.
Port portOf(const Cluster&, int tier);

/// Keys that a query sees at which attention's backward pass reaches half of its rate, where forward needs one and the GPU does
/// not say (Hopper's kernels).
inline constexpr double kBackwardHalfLength = 2.2;

/// How the fused attention of a scenario runs.
struct AttentionSpeed {
    double rate = 0, halfLength = 0, halfHead = 0; ///< as AttentionRate has them
    bool isNarrow = false;                         ///< in 8 bits; the rate is of the peak there
};
AttentionSpeed attentionSpeed(const Scenario&, bool isForward);
/// Keys at which attention reaches half of its rate, both passes together: the backward pass has about 2.5 times the work.
double meanAttentionHalfLength(const Scenario&);

/// [Port]: the share of its rate that a transfer takes while it has the port to itself, in 1/kWholePort.
using PortUse = std::array<std::uint32_t, kPortCount>;
inline constexpr std::uint32_t kWholePort = 1U << 20U;

/// Nanoseconds of every op of every pass, parallel to Program::passes. Sends and receives are priced per link instead: 0 here.
using OpDurations = std::vector<std::vector<std::int64_t>>;

/// One of OpShape::pieces: of a kernel tokens are the rows, and of a weight gradient what is summed over.
OpShape pieceOf(OpShape);

class CostModel {
public:
    explicit CostModel(const Scenario&);

    /// At least 1 and at least fastestNs, but for what a profile has measured. Throws OutOfRange beyond kLongestNs, as the
    /// others.
    std::int64_t kernelNs(const OpShape&) const;
    /// What the GPU's peaks allow: nothing that is computed goes faster, however lucky.
    std::int64_t fastestNs(const OpShape&) const;
    /// `role`: what the group is to its members; software drives data-parallel ones in ways of its own.
    std::int64_t collectiveNs(const OpShape&, const GroupShape&, CommunicatorRole role = CommunicatorRole::none) const;
    /// Point to point over a tier.
    std::int64_t sendNs(std::int64_t bytes, int tier) const;

    /// A copy on one of these streams, or the host's work on so many bytes.
    std::int64_t hostNs(std::int64_t bytes, Stream) const;
    /// What a rank gets of its link to the host, each way, and on Stream::host of the host's memory: where the most ranks share
    /// it.
    double hostGBs(Stream) const;

    /// What one that takes `ns` uses of each member's ports. Nothing where it was measured: on what, nobody knows.
    PortUse collectiveUse(const OpShape&, const GroupShape&, std::int64_t ns) const;
    PortUse sendUse(std::int64_t bytes, int tier, std::int64_t ns) const;

    OpDurations price(const Program&, const GroupGeometry&) const;
    /// Whether what the host takes to start ops comes on top of their times (but of kernels measured with it): a CPU calls its
    /// kernels.
    bool countsLaunches() const;
    /// What the host does to start the ops of each pass; empty where that counts for nothing.
    std::vector<PassLaunches> launches(const Program&) const;
    /// fastestNs of every kernel, likewise parallel to the program; 0 for what was measured.
    OpDurations fastest(const Program&) const;

private:
    double flopsPerSecond(const OpShape&) const; ///< peak of the units that it runs on
    double gemmSeconds(const OpShape&) const;
    double attentionSeconds(const OpShape&) const;
    double attentionCastSeconds(const OpShape&) const;
    double castSeconds(const OpShape&) const;
    double kernelsOf(const OpShape&) const;                ///< that the host starts for it
    bool isCast(const OpShape&) const;                     ///< whether a kernel makes its operand narrow before it
    double castsOf(const OpShape&) const;                  ///< of them, those that make a product's operand narrow
    double launchSeconds(const Op&, const OpShape&) const; ///< the host's time to start an op
    double memoryBytesPerSecond() const;
    const MeasuredTime* measuredKernel(const OpShape&) const;
    /// `kind`: a CollectiveKind, or kSendCurve. Null beyond the innermost tier: the profile is of one machine.
    const MeasuredTime* measuredTransfer(std::size_t kind, int tier) const;

    static constexpr std::size_t kSendCurve = kCollectiveFacts.size(); ///< after the kinds of collectives
    static constexpr std::size_t kNotMeasured = ~std::size_t{0};
    std::vector<MeasuredTime> m_measured;
    bool m_kernelsAlone = false;                                                             ///< HardwareProfile's
    std::array<std::array<std::size_t, kKernelPassCount>, kKernelFamilyCount> m_kernelCurve; ///< index into m_measured
    std::array<std::size_t, kSendCurve + 1> m_transferCurve;                                 ///< likewise

    Cluster m_cluster; ///< without the profile
    Stack m_stack;
    std::int64_t m_hiddenSize = 0;
    int m_ranksOfHost = 1;        ///< of the node with the most of them
    double m_partsOfSequence = 1; ///< that ranks and slices take its queries in
    TokenChoice m_tokenChoice;
    AttentionSpeed m_attentionForward, m_attentionBackward;
    double m_narrowFlopsPerSecond = 0; ///< of attention in 8 bits; 0 where it runs in 16
    double m_lowFlopsPerSecond = 0;    ///< dense peak of the precision
    double m_wideFlopsPerSecond = 0;   ///< what does not run in 8 or 4 bits runs in 16
    bool m_casts = false;              ///< operands are made narrower before products
    bool m_isCausal = true;
    int m_elementBytes = 2, m_gradientBytes = 4;
    double m_operandBytes = 2; ///< of products in the precision itself
};

} // namespace sim
