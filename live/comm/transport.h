// Bytes between processes: what a RemoteCommunicator needs of TCP or MPI, and no more. Also the boundary of the MPI module, so it
// includes nothing of ours.
#pragma once

#include <cstdint>
#include <string>

namespace live {

/// One message under way; owned by who asked for it, alive until it is done.
struct Transfer {
    int* open = nullptr;    ///< counted down by one when this one is done
    std::int64_t bytes = 0; ///< of a receive that is done: how many came
    int parts = 0;          ///< the transport's own
};

/// Messages from one process to another with one tag fill that tag's receives in the order in which both were asked for. Used by
/// one thread at a time. Failures (a process that is lost, a message longer than its receive) throw sim::Error.
class Transport {
public:
    virtual ~Transport() = default;
    virtual std::string name() const = 0; ///< "MPI (Open MPI v4.1.4)", "TCP"
    virtual int maxTag() const = 0;
    /// Done when the bytes may be changed again. May be done at once.
    virtual void send(int process, int tag, const void*, std::int64_t bytes, Transfer&) = 0;
    virtual void receive(int process, int tag, void*, std::int64_t capacity, Transfer&) = 0;
    /// Moves what can be moved without waiting; returns whether anything did.
    virtual bool poll() = 0;
    /// Forgets all transfers: their memory is not touched any more. Nothing can be sent or received after it.
    virtual void abandon() noexcept = 0;
};

} // namespace live
