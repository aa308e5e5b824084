// Shows a run to whoever attaches: a thread of its own that serves any number of viewers from the collector's history. Each
// viewer is a place in that history and at most `windowBytes` on the way to it that it has not acknowledged; one that stalls is
// sent nothing more, costs nothing, and is told how much it missed once the history has moved past its place. Training never
// waits for viewers, and nothing they send can hurt it.
#pragma once

#include "live/stream/collector.h"
#include "live/stream/keys.h"
#include "live/stream/viewer.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace live {

/// What viewers may ask of a run. Called by the publisher's thread: must return at once (note the wish, do it between two steps).
/// Returns what will be done, for people; throws sim::Error with the reason if it cannot be.
using RunControl = std::function<std::string(RunRequest)>;

struct PublishOptions {
    /// tcp://127.0.0.1:PORT (0: any free one), ipc://PATH; beyond this machine tcp://*:PORT or an address, and then with keys.
    std::string endpoint = "tcp://127.0.0.1:0";
    std::optional<ServerKeys> keys;              ///< CURVE: only these viewers, and encrypted
    RunControl control;                          ///< none: viewers may only look
    std::function<void(const std::string&)> log; ///< what a peer did that it was cut off for. Called by the publisher's thread
    std::size_t mostViewers = 32;
    std::size_t windowBytes = std::size_t{4} << 20U;
    std::chrono::milliseconds interval{50}; ///< between batches
    std::chrono::milliseconds linger{1000}; ///< how long the end may wait for viewers to take the last batches
};

struct PublisherCounts {
    std::uint64_t viewers = 0;                                   ///< attached now
    std::uint64_t attached = 0;                                  ///< ever
    std::uint64_t forgotten = 0;                                 ///< fell silent
    std::uint64_t refusedKeys = 0;                               ///< connections with a wrong key
    std::uint64_t ignoredMessages = 0;                           ///< not understood
    std::uint64_t cutConnections = 0;                            ///< over their budget (budget.h)
    std::uint64_t spansSent = 0, spansMissed = 0, bytesSent = 0; ///< over all viewers
};

class Publisher {
public:
    /// Throws sim::Error if the endpoint is taken or none, or reaches beyond this machine without keys. The collector must
    /// outlive it.
    Publisher(Collector&, const PublishOptions&);
    ~Publisher(); ///< sends what is left to those who take it in time, and says goodbye
    Publisher(const Publisher&) = delete;
    Publisher& operator=(const Publisher&) = delete;

    const std::string& endpoint() const; ///< with the port that it got
    PublisherCounts counts() const;      ///< any thread

private:
    class Server;
    std::unique_ptr<Server> m_server;
};

} // namespace live
