// One communication between processes, as one of them sees it: what it sends and receives in up to three rounds, and what it
// computes between them. Private to the remote communicator.
//
// Round one, "hello": every process of the group tells every other one what its members ask for, so that disagreements are found,
// and small inputs come along. Round two, "move": the bytes. Round three, "exchange", of large all-reduces only: each process has
// summed one part for all.
#pragma once

#include "live/comm/agreement.h"
#include "live/comm/communicator.h"
#include "live/comm/transport.h"

#include <deque>
#include <vector>

namespace live::remote {

/// A member of this process and its request.
struct Arrival {
    const CommRequest* request = nullptr;
    Completion* completion = nullptr;
};

/// A group as seen from one process.
struct Place {
    const CommGroup* group = nullptr;
    int own = 0;                ///< this process
    std::vector<int> processOf; ///< by member
    std::vector<int> processes; ///< with members, ascending; this one too
    std::vector<int> members;   ///< of this process
    std::vector<int> membersOf(int process) const;
};

/// Messages of one operation have tags from a base on.
inline constexpr int kTagsPerOperation = 8;

class Operation {
public:
    /// Arrivals: of a collective those of all own members, in their order; of a transfer one. The place outlives it.
    Operation(const Place&, std::vector<Arrival>, int tag);
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

    const std::vector<Arrival>& arrivals() const { return m_arrivals; }
    std::int64_t readyNs() const { return m_readyNs; } ///< when all members were known to be there
    /// All that was under way has arrived: compute() comes next.
    bool ready() const { return m_open == 0; }

    // start and proceed use the transport; compute does not, so that others can meanwhile.
    void start(Transport&);
    void compute(WorkerPool&);
    /// Starts the next round. False if there is none: the operation is done.
    bool proceed(Transport&);

private:
    enum class Round : std::uint8_t { hello, move, exchange, done };
    enum Code : std::uint8_t { helloCode, moveCode, exchangeCode, transferHelloCode, transferCode };

    const CommRequest& own(std::size_t i) const { return *m_arrivals[i].request; }
    CommKind kind() const { return own(0).kind; }
    bool isTransfer() const { return live::isTransfer(kind()); }
    void send(Transport&, int process, Code, const void*, std::int64_t bytes);
    void receive(Transport&, int process, Code, void*, std::int64_t capacity);
    std::byte* scratch(std::int64_t bytes);

    void packHello();
    void unpackHello(int process, const Transfer&, const std::vector<std::byte>&);
    void checkRows() const;
    void computeFirst(WorkerPool&);
    void computeReduceScatter(WorkerPool&);
    void gatherKnown(WorkerPool&);
    void spread(WorkerPool&); ///< the first own member's output to the others'
    void startMove(Transport&);
    void startMoveAllReduce(Transport&);
    void startMoveReduceScatter(Transport&);
    void startMoveAllToAll(Transport&);
    void startExchange(Transport&);
    bool allInputsKnown() const;
    std::int64_t partBegin(std::size_t process) const; ///< in elements, of a large all-reduce
    std::size_t ownPart() const;

    const Place& m_place;
    const std::vector<Arrival> m_arrivals;
    const int m_tag;
    Round m_round = Round::hello, m_next = Round::done;
    int m_open = 0;
    std::int64_t m_readyNs = 0;
    std::deque<Transfer> m_transfers;
    std::vector<std::byte> m_hello;
    std::vector<std::vector<std::byte>> m_hellos; ///< beside m_place.processes; empty for this one
    std::vector<Transfer*> m_helloTransfers;
    std::vector<std::vector<std::byte>> m_scratch;
    // By member.
    std::vector<RequestSummary> m_summaries;
    std::vector<const std::byte*> m_inputs;            ///< the whole input, where this process has it
    std::vector<std::vector<std::int64_t>> m_sendRows; ///< of an allToAll
    std::vector<std::vector<std::byte*>> m_parts;      ///< of a reduction: [own or 0][member], what came for it
};

} // namespace live::remote
