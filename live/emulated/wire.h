// What members of one communicator tell each other where they are processes of their own: bytes over the run's TCP transport.
#pragma once

#include "live/comm/transport.h"

#include <cstddef>
#include <list>
#include <memory>
#include <vector>

namespace live::emulated {

/// Under the machine's lock.
class Wire {
public:
    explicit Wire(std::unique_ptr<Transport> transport) : m_transport(std::move(transport)) {}
    ~Wire() { m_transport->abandon(); }
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;

    class Incoming {
    public:
        bool isDone() const { return m_open == 0; }
        std::vector<std::byte> bytes; ///< as many as were waited for
        std::int64_t came() const { return m_transfer.bytes; }

    private:
        friend class Wire;
        Transfer m_transfer;
        int m_open = 1;
    };
    /// Messages of one tag arrive in the order of sending.
    void send(int process, int tag, const void* data, std::size_t bytes);
    std::shared_ptr<Incoming> receive(int process, int tag, std::size_t bytes);
    /// Whether something moved. Throws sim::Error where a process is lost.
    bool poll();
    bool hasSent() const { return m_sent.empty(); } ///< all that was given to it

private:
    struct Outgoing {
        std::vector<std::byte> bytes;
        Transfer transfer;
        int open = 1;
    };
    std::unique_ptr<Transport> m_transport;
    std::list<Outgoing> m_sent;
    std::list<std::shared_ptr<Incoming>> m_awaited;
};

} // namespace live::emulated
