// Where processes that Rankscope did not start hand in what they did: a thread of its own that listens for them, reads what they
// say within a budget (budget.h), and fills the collector's recorders, one a rank. Ranks join and leave; one that falls silent,
// or waits for another, is told in the run's state. Such a job never waits for this: what does not fit is dropped there, and
// counted.
#pragma once

#include "live/stream/collector.h"
#include "live/stream/keys.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace live {

struct IngestOptions {
    /// As a publisher's: beyond this machine with keys.
    std::string endpoint = "tcp://127.0.0.1:0";
    std::optional<ServerKeys> keys;              ///< CURVE: only processes with these keys, and encrypted
    std::string name;                            ///< of the run; empty: the job's own
    std::string scenarioJson;                    ///< what it is predicted with; empty: no prediction
    int scenarioRanks = 0;                       ///< of that scenario
    int slices = 1;                              ///< sim::Trace::slices of it
    std::array<int, 2> profile{0, -1};           ///< steps, first and last, that the ranks take with their own profiler too
    std::function<void(const std::string&)> log; ///< what a peer was cut off for. Called by the ingest's thread
    std::chrono::milliseconds settle{1000};      ///< without news of groups, before the run is shown to viewers
    std::chrono::milliseconds gather{5000};      ///< for all ranks to come, before
    std::chrono::milliseconds patience{30'000};  ///< for ranks that were lost to come back, before the run is over
};

struct IngestCounts {
    int worldSize = 0, present = 0;   ///< ranks of the job, and those attached now; 0 until the first has come
    std::uint64_t messages = 0;       ///< taken
    std::uint64_t ignored = 0;        ///< not understood, or over the budget
    std::uint64_t refusedKeys = 0;    ///< connections with a wrong key
    std::uint64_t cutConnections = 0; ///< over their budget
};

class Ingest {
public:
    /// A collector without description: it gets one once the ranks have come. Collector and kinds must outlive it. Throws
    /// sim::Error as Publisher does.
    Ingest(Collector&, SpanKinds&, const IngestOptions&);
    ~Ingest();
    Ingest(const Ingest&) = delete;
    Ingest& operator=(const Ingest&) = delete;

    const std::string& endpoint() const; ///< with the port that it got
    // Any thread.
    IngestCounts counts() const;
    bool isOver() const;      ///< all who came have gone, and who was lost did not come back
    bool isFailed() const;    ///< some of them without having said that all was well
    std::string text() const; ///< which ranks are missing, and why; empty: all is well
    /// Takes nothing more; what waited for others is in the recorders, and the collector has taken it.
    void stop();

private:
    class Server;
    std::unique_ptr<Server> m_server;
};

} // namespace live
