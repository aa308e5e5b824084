// A key-value store that process 0 keeps for all processes of a run: to find each other (addresses, identifiers of NCCL), to
// meet, and to learn at once when one of them fails. Over TCP; needs nothing but the launcher's variables (launch.h).
//
// Each process holds one connection. It carries a heartbeat both ways, so that a process that was killed (end of connection) or
// stopped (silence) ends the run on all others with a message that names it.
#pragma once

#include "live/comm/launch.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace live {

struct StoreOptions {
    std::chrono::milliseconds connectTimeout{60'000}; ///< how long others may start later than this process
    std::chrono::milliseconds quietTimeout{5'000};    ///< others missing for so long: process 0 says on standard error who
    std::chrono::milliseconds waitTimeout{300'000};   ///< of get() and barrier(), from the last progress() of any process on
    std::chrono::milliseconds heartbeat{500};         ///< one is sent each way this often
    std::chrono::milliseconds silence{10'000};        ///< no heartbeat for so long: the process counts as failed
    std::chrono::milliseconds stopTimeout{10'000};    ///< likewise, once this process is to end: nobody may be left to come
    std::function<bool()> isStopping = [] { return false; }; ///< asked while it waits. Any thread
    /// Another number each time while this process gets on with what others wait for, as files are that take long. Any thread.
    std::function<std::uint64_t()> progress = [] { return 0; };
};

/// Any thread may call anything. What needs the network throws sim::Error once the run was aborted or process 0 is gone.
class Store {
public:
    virtual ~Store() = default; ///< says goodbye: the others do not take it for a failure
    virtual int process() const = 0;
    virtual int processes() const = 0;
    virtual int port() const = 0; ///< that process 0 listens on
    /// Where other processes can reach this one: the address of its side of the connection to process 0.
    virtual std::string address() const = 0;

    virtual void set(const std::string& key, const std::string& value) = 0;
    /// Waits until somebody has set it.
    virtual std::string get(const std::string& key) = 0;
    /// Adds to a number that begins as 0; returns the sum.
    virtual std::int64_t add(const std::string& key, std::int64_t) = 0;
    /// Returns when all processes have called it with this name. Names can be used again.
    virtual void barrier(const std::string& name) = 0;

    /// Ends the run: calls the abort handlers of all processes (of this one too), once. The first reason wins.
    /// Returns when it is on its way to all: this process may then end.
    virtual void abort(const std::string& why) = 0;
    bool aborted() const { return !abortReason().empty(); }
    virtual std::string abortReason() const = 0; ///< "" while all is well
    /// Called on the store's thread with the reason, which names the failed process; at once if it has happened already. Must
    /// not block. The result takes the handler off again (and waits for it, if it is being called).
    using AbortHandler = std::function<void(const std::string& why)>;
    [[nodiscard]] virtual std::shared_ptr<void> onAbort(AbortHandler) = 0;

    /// One question to process 0 and back, for clock_sync.h: this process's clock before and after, process 0's in between.
    struct ClockSample {
        std::int64_t sentNs = 0, serverNs = 0, receivedNs = 0;
    };
    virtual ClockSample sampleClock() = 0;
};

/// Opens it on process 0 and connects to it on all, process 0 included; returns when all processes are there.
std::unique_ptr<Store> openStore(const LaunchEnvironment&, const StoreOptions& = {});

} // namespace live
