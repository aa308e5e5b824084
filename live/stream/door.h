// Where strangers come in: a ZeroMQ router that listens, lets in whose key is known, and follows every connection from beside it,
// so that whoever sends too much, or never says who it is, is cut off. What they say is the owner's business. Private to
// live/stream. One thread, all of it.
#pragma once

#include "live/stream/keys.h"
#include "live/stream/line.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <zmq.hpp>

namespace live {

class Gatekeeper;

struct DoorOptions {
    std::string endpoint;            ///< tcp://ADDRESS:PORT (0: any free one), ipc://PATH
    std::optional<ServerKeys> keys;  ///< needed beyond this machine
    std::string who = "viewer";      ///< comes in, for messages
    std::size_t messageBytes = 0;    ///< a frame
    std::size_t unfinishedBytes = 0; ///< of a message that is not complete yet
    int receiveQueue = 64;           ///< messages of a connection that wait here
    int sendQueue = 16;              ///< messages for one that does not take them
    std::size_t mostConnections = 0;
    std::chrono::milliseconds hello{5000}; ///< until a connection must have become one of somebody known
    std::chrono::milliseconds linger{1000};
    std::chrono::milliseconds betweenLogs{1000};
    std::function<void(const std::string&)> log;
};

class Door {
public:
    using Clock = std::chrono::steady_clock;
    /// Throws sim::Error if the endpoint is taken or none, or reaches beyond this machine without keys, or too few files may be
    /// open.
    explicit Door(DoorOptions);
    ~Door();
    Door(const Door&) = delete;
    Door& operator=(const Door&) = delete;

    const std::string& endpoint() const { return m_endpoint; } ///< with the port that it got
    std::uint64_t refusedKeys() const;                         ///< any thread
    std::size_t connections() const { return m_connections.size(); }

    /// Until something came, at most so long.
    void wait(std::chrono::milliseconds);
    /// One message: who sent it (the name that its connection has) and what. False: nothing there.
    bool receive(std::string& peer, std::vector<zmq::message_t>& frames);
    /// The parts of a message but the last may not be refused. False if it cannot be taken now, or the peer is gone.
    bool send(const std::string& peer, std::vector<zmq::message_t> parts);
    /// Cuts what is over its budget; isKnown: of a name. Returns how many.
    std::size_t check(const std::function<bool(const std::string& peer)>& isKnown, std::uint64_t cutBefore);
    /// Cuts this peer's connection.
    void cut(const std::string& peer);
    /// Whose connections have ended since it was last asked; those who never said anything are not told.
    std::vector<std::string> takeGone() { return std::exchange(m_gone, {}); }
    /// This process itself was stopped: nobody could be heard.
    void wasAway(Clock::time_point now);

private:
    /// What is known of a connection besides what is said over it.
    struct Connection {
        Line line;
        Clock::time_point known; ///< when it was last that of somebody known; at first: when it came
        std::string peer;
    };
    void listen();
    void follow();

    const DoorOptions m_options;
    zmq::context_t m_context;
    std::unique_ptr<Gatekeeper> m_gatekeeper;
    zmq::socket_t m_socket, m_events;
    std::string m_endpoint, m_ipcPath;
    std::map<int, Connection> m_connections; ///< by ZeroMQ's descriptor
    std::vector<std::string> m_gone;
    Clock::time_point m_logged; ///< when one was last cut
};

} // namespace live
