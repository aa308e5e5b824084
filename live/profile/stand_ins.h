// Communication of ranks that are alone: whomever a rank meets is made up on the spot.
#pragma once

#include "live/comm/communicator.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace live {

/// Each request meets stand-ins that issue what the other members would, with memory of their own that nobody has touched for a
/// while, and is carried out as among ranks of one process: it takes as long. Who awaits it gives way to other ranks, as it would
/// to those it waits for. One worker.
class StandInCommunicator final : public Communicator {
public:
    explicit StandInCommunicator(WorkerPool&);
    std::string name() const override { return "with stand-ins"; }
    void issue(const CommRequest&, Completion&) override;
    /// One request after the other, the oldest first.
    bool poll() override;
    void abort(const std::string& why) override;

    std::map<std::uint64_t, int> membersOf;          ///< by the correlation of its spans
    std::vector<std::vector<std::int64_t>> routings; ///< a rank's tokens of each expert, for every passing of a layer

private:
    struct Buffer {
        std::vector<std::byte> bytes;
        DType type = DType::f32;
    };
    /// What a member's memory is for: values that are never written, that are those of the request, that become a sum, results.
    enum class Use : std::uint8_t { given, mirrored, summed, written };
    static constexpr std::size_t kUses = 4;
    /// Pieces of memory that are taken in turn.
    struct Pool {
        std::vector<Buffer> pieces;
        std::size_t next = 0;
    };
    /// A group as one rank has it: nobody else's.
    struct OwnGroup {
        CommGroup group;
        std::vector<std::array<Pool, kUses>> memory; ///< by member
    };
    OwnGroup& ownGroup(const CommRequest&);
    Tensor madeUp(DType) const;
    void makeUp(Buffer&) const;
    CommRequest standIn(OwnGroup&, const CommRequest&, int member) const;
    Tensor tensorOf(Pool&, Use, const Tensor& like, std::int64_t rows, int members) const;

    WorkerPool& m_pool;
    std::unique_ptr<Communicator> m_local;
    std::map<std::pair<int, int>, OwnGroup> m_groups; ///< by rank and group
    std::deque<Completion*> m_due;
    std::vector<float> m_singles; ///< what activations are made of
    std::vector<double> m_doubles;
};

} // namespace live
