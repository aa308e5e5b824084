#include "sim/engine/shared_ports.h"

#include "sim/index.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace sim {
namespace {

/// A bit for each port that the collectives of a role take part in.
struct RolePorts {
    std::array<std::uint8_t, kCommunicatorRoleCount> ports{};
    std::array<StreamMask, kCommunicatorRoleCount> stream{};
};

RolePorts rolePorts(const Program& program, int pipelineRank, const OpUses& uses)
{
    RolePorts out;
    std::vector<bool> seen(program.passes.size());
    for (const Step& step : program.ranks[asIndex(pipelineRank)].steps) {
        if (seen[step.pass])
            continue;
        seen[step.pass] = true;
        const Pass& pass = program.passes[step.pass];
        for (std::size_t i = 0; i < uses[step.pass].size(); ++i) {
            if (pass.ops[i].kind != OpKind::collective)
                continue;
            const auto role = asIndex(pass.ops[i].group);
            out.stream[role] = maskOf(pass.ops[i].stream);
            for (std::size_t port = 0; port < kPortCount; ++port)
                if (uses[step.pass][i][port] > 0)
                    out.ports[role] |= static_cast<std::uint8_t>(1U << port);
        }
    }
    return out;
}

/// How many transfers of a class can cross each of its ports at once.
struct PortUsers {
    std::array<std::array<int, 2>, kPortCount> count{}; ///< [port][way out, way in]
    std::uint8_t arriving = 0;                          ///< a bit for each port that messages come in over
};

/// What crosses a card is what all of its ranks send over it. Whoever has one together with others may be met by what these do.
void joinCards(std::vector<PortUsers>& users, const RankClasses& classes)
{
    constexpr auto kCard = static_cast<std::size_t>(Port::network);
    std::vector<std::array<int, 2>> count(users.size());
    std::vector<int> ranks(users.size());
    for (int c = 0; c < classes.count(); ++c) {
        const auto nic = asIndex(classes.nicOf(c));
        ranks[nic] += classes.sharersOf(c);
        for (std::size_t way = 0; way < 2; ++way)
            count[nic][way] += classes.sharersOf(c) * users[asIndex(c)].count[kCard][way];
    }
    for (int c = 0; c < classes.count(); ++c) {
        const auto nic = asIndex(classes.nicOf(c));
        users[asIndex(c)].count[kCard] = count[nic];
        if (ranks[nic] > 1)
            users[asIndex(c)].arriving |= std::uint8_t{1U << kCard};
    }
}

/// Pipeline ranks and the stream of each way that messages take.
struct MessageWay {
    int from = 0, to = 0;
    Stream stream = Stream::sendForward;
    auto operator<=>(const MessageWay&) const = default;
};

std::set<MessageWay> messageWays(const Program& program)
{
    std::vector<StreamMask> sends(program.passes.size());
    for (std::size_t pass = 0; pass < sends.size(); ++pass)
        for (const Op& op : program.passes[pass].ops)
            if (op.kind == OpKind::send)
                sends[pass] |= maskOf(op.stream);
    std::set<MessageWay> ways;
    for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
        MessageWay last; // mostly the same again
        for (const Step& step : program.ranks[rank].steps)
            for (const Stream stream : {Stream::sendForward, Stream::sendBackward})
                if ((sends[step.pass] & maskOf(stream)) != 0 && step.sendTo >= 0)
                    if (const MessageWay way{static_cast<int>(rank), step.sendTo, stream}; way != last) {
                        ways.insert(way);
                        last = way;
                    }
    }
    return ways;
}

} // namespace

SharedPorts::SharedPorts(const Program& program, const RankClasses& classes, const PricedProgram& prices)
    : m_classes(classes), m_sendUse(prices.sendUse), m_shared(asIndex(classes.count())), m_besides(asIndex(classes.count())),
      m_groupIsShared(classes.classGroups.size()), m_groupMeetsMessages(classes.classGroups.size())
{
    const std::set<MessageWay> ways = messageWays(program);
    std::map<std::pair<int, int>, RolePorts> known; // by geometry and pipeline rank
    std::vector<const RolePorts*> rolesOf;          // [class]
    std::vector<PortUsers> users(asIndex(classes.count()));
    for (int c = 0; c < classes.count(); ++c) {
        const int geometry = classes.geometry[asIndex(c)];
        const int pipelineRank = classes.pipelineRank[asIndex(c)];
        const auto [position, isNew] = known.try_emplace({geometry, pipelineRank});
        if (isNew)
            position->second = rolePorts(program, pipelineRank, prices.uses[asIndex(geometry)]);
        rolesOf.push_back(&position->second);

        PortUsers& of = users[asIndex(c)];
        std::array<StreamMask, kPortCount> streams{}; // of collectives that cross the port
        for (std::size_t role = 0; role < kCommunicatorRoleCount; ++role)
            for (std::size_t port = 0; port < kPortCount; ++port)
                if ((rolesOf.back()->ports[role] >> port & 1U) != 0)
                    streams[port] |= rolesOf.back()->stream[role];
        for (std::size_t port = 0; port < kPortCount; ++port)
            of.count[port] = {__builtin_popcount(streams[port]), __builtin_popcount(streams[port])};
        std::array<StreamMask, kPortCount> leaving{};
        for (const PipelinePeer& peer : classes.pipelinePeers[asIndex(c)])
            for (std::size_t port = 0; port < kPortCount; ++port) {
                if (m_sendUse[asIndex(peer.tier)][port] == 0)
                    continue;
                for (const Stream stream : {Stream::sendForward, Stream::sendBackward}) {
                    if (ways.count({pipelineRank, peer.pipelineRank, stream}) != 0)
                        leaving[port] |= maskOf(stream);
                    if (ways.count({peer.pipelineRank, pipelineRank, stream}) != 0) {
                        ++of.count[port][in];
                        of.arriving |= static_cast<std::uint8_t>(1U << port);
                    }
                }
            }
        for (std::size_t port = 0; port < kPortCount; ++port)
            of.count[port][out] += __builtin_popcount(leaving[port]);
    }
    if (!classes.nic.empty())
        joinCards(users, classes);

    for (int c = 0; c < classes.count(); ++c) {
        const RolePorts& roles = *rolesOf[asIndex(c)];
        const PortUsers& of = users[asIndex(c)];
        for (std::size_t port = 0; port < kPortCount; ++port)
            for (const Direction direction : {out, in})
                if (of.count[port][direction] > 1)
                    m_shared[asIndex(c)] |= maskOfPort(port, direction);
        for (std::size_t role = 0; role < kCommunicatorRoleCount; ++role) {
            const int group = classes.groups[asIndex(c)][role];
            if (group < 0 || roles.stream[role] == 0)
                continue;
            if ((roles.ports[role] & of.arriving) != 0)
                m_groupMeetsMessages[asIndex(group)] = true;
            const bool isExperts = (roles.stream[role] & maskOf(Stream::ep)) != 0;
            const bool isBeside =
                (isExperts ? prices.slowestBeside() : prices.besideTransfers) > 1 && (roles.stream[role] & kBesideKernels) != 0;
            if (isBeside)
                m_besides[asIndex(c)] |= roles.stream[role];
            for (std::size_t port = 0; port < kPortCount; ++port)
                if (isBeside ||
                    ((roles.ports[role] >> port & 1U) != 0 && (isSharedPort(c, port, out) || isSharedPort(c, port, in))))
                    m_groupIsShared[asIndex(group)] = true;
        }
    }
}

bool SharedPorts::isShared(int fromClass, int toClass, int tier) const
{
    for (std::size_t port = 0; port < kPortCount; ++port)
        if (m_sendUse[asIndex(tier)][port] > 0 && (isSharedPort(fromClass, port, out) || isSharedPort(toClass, port, in)))
            return true;
    return false;
}

void SharedPorts::addClaims(std::vector<FairShare::Claim>& to, int classIndex, const PortUse& use) const
{
    for (std::size_t port = 0; port < kPortCount; ++port)
        for (const Direction direction : {out, in})
            if (use[port] > 0 && isSharedPort(classIndex, port, direction))
                to.push_back(claimOf(classIndex, port, direction, use[port]));
}

void SharedPorts::addMessageClaims(std::vector<FairShare::Claim>& to, int fromClass, int toClass, int tier) const
{
    for (std::size_t port = 0; port < kPortCount; ++port)
        if (const std::uint32_t use = m_sendUse[asIndex(tier)][port]; use > 0) {
            if (isSharedPort(fromClass, port, out))
                to.push_back(claimOf(fromClass, port, out, use));
            if (isSharedPort(toClass, port, in))
                to.push_back(claimOf(toClass, port, in, use));
        }
}

} // namespace sim
