// Answers ZeroMQ's question who may come in (ZAP, RFC 27): viewers whose public key is on the list. Private to live/stream.
#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>
#include <zmq.hpp>

namespace live {

class Gatekeeper {
public:
    /// Must be there before a socket of the context asks, and go before the context does.
    Gatekeeper(zmq::context_t&, const std::vector<std::string>& allowedKeys);
    ~Gatekeeper();
    Gatekeeper(const Gatekeeper&) = delete;
    Gatekeeper& operator=(const Gatekeeper&) = delete;
    std::uint64_t refused() const { return m_refused.load(); }

private:
    void answer();

    std::set<std::string> m_allowed; ///< 32 bytes each
    zmq::socket_t m_questions;
    std::atomic<bool> m_stop{false};
    std::atomic<std::uint64_t> m_refused{0};
    std::thread m_thread;
};

} // namespace live
