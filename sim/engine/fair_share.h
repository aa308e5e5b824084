// Transfers that cross the same ports at the same time share them fairly: all get faster together until one has its full rate or
// a port is full; what the others leave is shared again (max-min fairness; Bertsekas and Gallager, Data Networks, section 6.5.2).
//
// In whole numbers throughout, so that rates do not depend on the order in which transfers come, nor on how many equal copies of
// a port there are: ranks that are simulated once get the same times as ranks that are simulated one by one.
#pragma once

#include "sim/cost/cost.h"
#include "sim/engine/few.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace sim {

class FairShare {
public:
    /// What a transfer takes of a port at its full rate, in 1/kWholePort.
    struct Claim {
        int port = 0;
        std::uint32_t use = 0;
        std::int32_t ranks = 1; ///< that each take so much, and go on alike
    };
    /// In 1/kFullRate: how fast a transfer goes, of what it would reach alone. Never 0.
    static constexpr std::int64_t kFullRate = std::int64_t{1} << 20U;

    FairShare(int ports, int transfers);

    /// Brings nearer what begin or end of a transfer looks at.
    void fetch(int transfer) const { __builtin_prefetch(&m_transfers[static_cast<std::size_t>(transfer)], 1); }
    /// Likewise, once fetch is through.
    void fetchPorts(int transfer) const
    {
        for (const Claim& claim : m_transfers[static_cast<std::size_t>(transfer)].claims)
            fetchPort(claim.port);
    }
    void fetchPort(int port) const { __builtin_prefetch(&m_ports[static_cast<std::size_t>(port)], 1); }
    /// Of a port that several of its ranks have together a transfer may have several claims.
    void begin(int transfer, const std::vector<Claim>&);
    void end(int transfer);

    /// Transfers under way whose rate is not what it was at the last call, with their rates. A new one's was kFullRate.
    const std::vector<std::pair<int, std::int64_t>>& settle();

private:
    /// There are many, and each transfer finds others: one line of the cache.
    struct alignas(64) PortState {
        Few<int, 6> transfers;
        std::int64_t load = 0; ///< sum of what they claim
        bool wasFull = false;  ///< at the last settle
        bool isTouched = false;
        bool isCollected = false; ///< while rates are found
    };
    /// While rates are found.
    struct Filling {
        std::int64_t left = 0;   ///< of the port
        std::int64_t wanted = 0; ///< by those without a rate, for each unit that their level rises
    };
    struct TransferState {
        Few<Claim, 4> claims;
        std::int64_t speed = 0; ///< what it takes of the port that it takes most of
        std::int64_t rate = kFullRate;
        bool isCollected = false;
    };
    bool isFull(const PortState& port) const { return port.load > kWholePort; }
    void touch(int port);
    void collect(int transfer);
    void fill();
    std::int64_t level() const;

    std::vector<PortState> m_ports;
    std::vector<Filling> m_filling; ///< [port]
    std::vector<TransferState> m_transfers;
    std::vector<int> m_touched;
    std::vector<int> m_collected, m_fullPorts, m_unfilled;
    std::vector<std::pair<int, std::int64_t>> m_changed;
};

} // namespace sim
