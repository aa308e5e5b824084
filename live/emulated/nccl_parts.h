// What the machine's stand-in of NCCL is made of: for its own sources only. Under the machine's lock.
#pragma once

#include "live/comm/nccl/nccl_calls.h"
#include "live/emulated/machine.h"
#include "live/emulated/wire.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace live::emulated {

struct Kernel;
struct Clique;

/// What a Comm points to.
struct Member {
    std::shared_ptr<Clique> clique;
    int member = 0, host = -1;
    std::deque<std::shared_ptr<Kernel>> order; ///< issued and not done
    std::uint64_t collectives = 0;             ///< issued
    bool sums = false;                         ///< has asked for its first collective
    std::set<std::pair<int, int>> channels;    ///< from and to: used by this member
    bool aborted = false;
    int gpu = 0;
    int blocks = 32;           ///< of each kernel: what NCCL takes where nobody says
    Stream* kernels = nullptr; ///< NCCL's own: each kernel begins after it, and it waits for each
    std::unique_ptr<Event> event;
};

struct Part {
    bool isSend = false;
    int peer = 0;
    const void* from = nullptr;
    void* to = nullptr;
    std::size_t bytes = 0;
    bool done = false;
};

enum class Collective : std::uint8_t { none, allReduce, reduceScatter, allGather, broadcast };

/// The members of one communicator.
struct Clique {
    std::string name;
    std::vector<int> ranks;
    std::vector<Member*> members; ///< null: has not come yet
    bool connectsLate = true;
    struct Channel {
        std::set<bool> asked;                                  ///< true: the sender, false: the receiver
        std::deque<std::pair<Kernel*, Part*>> sends, receives; ///< of kernels that run
    };
    std::map<std::pair<int, int>, Channel> channels;
    std::map<std::uint64_t, std::vector<Kernel*>> collectives; ///< by place in the order: those that run, by member
    /// Where the others are processes of their own: what they have told, by member; by ends of a channel.
    std::vector<std::shared_ptr<Wire::Incoming>> made;
    std::map<std::pair<int, int>, std::shared_ptr<Wire::Incoming>> opened;
    int id = 0; ///< the group's

    /// Of messages; each group has its own.
    enum class About : std::uint8_t { made, opened, sum, data, taken, kinds };
    int tag(About about) const { return id * static_cast<int>(About::kinds) + static_cast<int>(about); }
    int processOf(int member) const { return ranks[static_cast<std::size_t>(member)]; }

    int size() const { return static_cast<int>(ranks.size()); }
    Wait waitFor(int member, const std::string& what) const
    {
        const Member* const other = members[static_cast<std::size_t>(member)];
        const std::string number = std::to_string(ranks[static_cast<std::size_t>(member)]);
        const bool isProcess = Machine::current().hostCalled("process " + number) >= 0; // of several ranks
        const std::string rank = (isProcess ? "process " : "rank ") + number;
        const int host = other ? other->host : Machine::current().hostCalled(rank);
        return {nullptr, host, "waits for " + rank + " to " + what + " in group " + name};
    }
};

struct World {
    std::map<int, int> blocks;  ///< of the kernels that run, by GPU
    std::vector<Kernel*> wired; ///< those that run and wait for other processes
    std::uint64_t ids = 0;
    std::map<std::string, std::shared_ptr<Clique>> cliques;
    std::vector<std::unique_ptr<Member>> members;
};

World& world();
/// What the member's last call still waits for; no text: nothing.
Wait missing(const Member&);

/// An operation of a member: runs until its peers run theirs.
struct Kernel final : Meeting {
    Member* member = nullptr;
    std::string name;
    Collective collective = Collective::none;
    std::uint64_t place = 0; ///< of a collective
    DType type = DType::f32;
    ReduceOp reduce = ReduceOp::sum;
    std::size_t count = 0; ///< elements, as the call counts them
    const void* input = nullptr;
    void* output = nullptr;
    int root = 0;
    std::vector<Part> parts;
    int blocks = 0;                                      ///< while it runs
    Clock learnt;                                        ///< of the others
    std::vector<std::shared_ptr<Wire::Incoming>> coming; ///< over the wire: by part, or by member

    bool mayBegin(const Operation&, Wait* why) const override;
    void begin(Operation&) override;
    Wait waitsFor(const Operation&) const override;
    template <class Fits>
    Wait peersKernel(int peer, const Fits& fits) const;
    void finish();
    static void exchange(Clique::Channel& channel);
    void meet();
    void compute(const std::vector<const void*>& inputs, std::vector<void*>& outputs, std::size_t first) const;
    std::size_t inputBytes() const;
    void beginOnWire(Wire& wire);
    void goOnOnWire(Wire& wire);
    const Part& sentToMyself() const;
};

} // namespace live::emulated
