// Collectives of groups that have several members on one GPU: NCCL takes one member a GPU and process, so its members are the
// processes. Each process first does what it can among its own members, NCCL does the rest between processes, and the result is
// handed to the members; all on one stream, by the thread that has the requests of all members of this process.
#pragma once

#include "live/comm/communicator.h"
#include "live/comm/nccl/nccl_calls.h"

#include <functional>
#include <vector>

namespace live::cuda {

/// Where the members of a group are.
struct GroupPlaces {
    std::vector<int> processes; ///< NCCL's members, in the order of their first members
    std::vector<int> place;     ///< [member] of its process in `processes`
    std::vector<int> mine;      ///< members of this process, ascending
    int self = 0;               ///< this process's place in `processes`
    bool isInside() const { return processes.size() == 1; }
    bool isOneEach() const { return processes.size() == place.size(); }
    /// Each process has equally many members, one after the other.
    bool isEven() const;
    std::vector<int> membersOf(int processPlace) const; ///< ascending
};
/// processOf: [rank]; a rank beyond it is its own process.
GroupPlaces placesOf(const CommGroup&, const std::vector<int>& processOf, int process);

/// One collective.
class SharedOperation {
public:
    using Result = nccl::Result;
    using Keep = std::function<void(Result)>;

    /// requests: of the members of this process, in their order.
    SharedOperation(const GroupPlaces& places, const std::vector<const CommRequest*>& requests, nccl::Comm communicator,
                    Stream stream)
        : m_places(places), m_requests(requests), m_first(*requests.front()), m_communicator(communicator), m_stream(stream)
    {
    }
    void* nothing = nullptr;                                               ///< a float
    std::function<void(Result)> check;                                     ///< throws where NCCL failed
    std::function<void(const std::function<void(const Keep&)>&)> together; ///< several calls of NCCL as one
    std::function<void*(std::size_t bytes)> scratch;                       ///< free until the stream's next operation
    void run();

private:
    void allReduce();
    void reduceScatter();
    void allGather();
    void allToAll();
    void broadcast();
    void handOn(const void* from, std::size_t firstRequest); ///< to the outputs from this one on

    const GroupPlaces& m_places;
    const std::vector<const CommRequest*>& m_requests;
    const CommRequest& m_first;
    const nccl::Comm m_communicator;
    const Stream m_stream;
};

} // namespace live::cuda
