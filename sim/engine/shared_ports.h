// Which ports several transfers of a step can cross at the same time. What crosses no such port needs no share of one.
#pragma once

#include "sim/engine/classes.h"
#include "sim/engine/fair_share.h"
#include "sim/engine/priced_program.h"
#include "sim/program/program.h"

#include <cstdint>
#include <vector>

namespace sim {

/// Kernels lose multiprocessors and memory bandwidth to collectives that run beside them; tensor parallelism's mostly do not, and
/// where software cuts them to pieces it moves them by copy engines.
inline constexpr auto kBesideKernels =
    static_cast<StreamMask>(maskOf(Stream::cp) | maskOf(Stream::ep) | maskOf(Stream::dp) | maskOf(Stream::replicas));

class SharedPorts {
public:
    SharedPorts(const Program&, const RankClasses&, const PricedProgram&);

    /// A way out and a way in of every port of every class; a card that several classes have together is one port.
    int portCount() const { return 2 * static_cast<int>(kPortCount * m_shared.size()); }

    /// True if others can put off the end of this communicator's collectives, or if kernels run slower beside them.
    bool isShared(int classGroup) const { return m_groupIsShared[static_cast<std::size_t>(classGroup)]; }
    /// True if messages come in over ports that its collectives take.
    bool meetsMessages(int classGroup) const { return m_groupMeetsMessages[static_cast<std::size_t>(classGroup)]; }
    /// Of a message from one class to another over a tier.
    bool isShared(int fromClass, int toClass, int tier) const;

    /// Streams whose collectives make kernels of this class slower.
    StreamMask besides(int classIndex) const { return m_besides[static_cast<std::size_t>(classIndex)]; }

    /// What a member's part of a collective claims, added to `to`.
    void addClaims(std::vector<FairShare::Claim>& to, int classIndex, const PortUse&) const;
    void addMessageClaims(std::vector<FairShare::Claim>& to, int fromClass, int toClass, int tier) const;
    /// Brings nearer what a message between nodes claims.
    void fetchCards(const FairShare& of, int fromClass, int toClass) const
    {
        constexpr auto kCard = static_cast<std::size_t>(Port::network);
        of.fetchPort(idOf(fromClass, kCard, out));
        of.fetchPort(idOf(toClass, kCard, in));
    }

private:
    enum Direction : std::uint8_t { out, in };
    using PortMask = std::uint8_t; ///< a bit for each direction of each port
    static PortMask maskOfPort(std::size_t port, Direction direction)
    {
        return static_cast<PortMask>(1U << (2 * port + direction));
    }
    bool isSharedPort(int classIndex, std::size_t port, Direction direction) const
    {
        return (m_shared[static_cast<std::size_t>(classIndex)] & maskOfPort(port, direction)) != 0;
    }
    /// Those of a network card are of the lowest class that has it.
    int idOf(int classIndex, std::size_t port, Direction direction) const
    {
        const auto owner = static_cast<std::size_t>(isNic(port) ? m_classes.nicOf(classIndex) : classIndex);
        return static_cast<int>(2 * (kPortCount * owner + port)) + direction;
    }
    static bool isNic(std::size_t port) { return port == static_cast<std::size_t>(Port::network); }
    FairShare::Claim claimOf(int classIndex, std::size_t port, Direction direction, std::uint32_t use) const
    {
        return {
            .port = idOf(classIndex, port, direction), .use = use, .ranks = isNic(port) ? m_classes.sharersOf(classIndex) : 1};
    }

    const RankClasses& m_classes;
    const std::vector<PortUse>& m_sendUse;                   ///< [tier]
    std::vector<PortMask> m_shared;                          ///< [class]
    std::vector<StreamMask> m_besides;                       ///< [class]
    std::vector<bool> m_groupIsShared, m_groupMeetsMessages; ///< [class group]
};

} // namespace sim
