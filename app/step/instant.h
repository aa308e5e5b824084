// One moment of a trace: what each process does, which messages are on their way, and who waits for whom. Made once a trace;
// every question after that is O(log spans).
#pragma once

#include "app/step/selection.h"
#include "sim/trace/trace.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace app {

using TracePtr = std::shared_ptr<const sim::Trace>;

/// A span's letter: F, B, I, W, R (recompute), O (optimizer); empty for the rest.
const char* opClassLetter(sim::OpClass);

struct Doing {
    SpanRef span;
    sim::OpClass opClass = sim::OpClass::other;
    float progress = 0; ///< 0 at its start to 1 at its end
};

/// What one action sends to another: activations or their gradients.
struct Message {
    int from = 0, to = 0;                ///< processes
    std::uint32_t fromSpan = 0;          ///< action that made it
    std::uint32_t toSpan = 0;            ///< action that needs it
    std::int64_t sentNs = 0, hereNs = 0; ///< on its way between the two
};

/// A process that waits: for another, or for nothing that a message tells (a collective, the end of the step).
struct Waiting {
    int process = 0;
    std::optional<std::uint32_t> next; ///< the action it is to do, on its track of actions
    int waitsFor = -1;                 ///< process, -1 if no message is missing
    bool messageUnderWay = false;      ///< that process has done its part
};

class Instants {
public:
    /// O(spans log spans): of many ranks off the window's thread. Can be cancelled (sim/cancel.h).
    explicit Instants(TracePtr);

    const sim::Trace& trace() const { return *m_trace; }
    int processes() const { return static_cast<int>(m_rows.size()); }
    /// Are there transfers and collectives in the trace, and not its actions alone?
    bool knowsTransfers() const { return m_knowsTransfers; }

    std::optional<Doing> action(int process, std::int64_t timeNs) const;
    /// Collective or transfer that runs; of several the one that began last.
    std::optional<Doing> communication(int process, std::int64_t timeNs) const;
    /// "F3", "optimizer".
    std::string label(SpanRef) const;

    /// In order of sending. Where a trace knows only actions, a message travels as long as the fastest between the same two
    /// processes: what takes longer has arrived and waits until it is needed.
    const std::vector<Message>& messages() const { return m_messages; }
    /// Those with sentNs <= time < hereNs + lingerNs.
    std::vector<const Message*> underWay(std::int64_t timeNs, std::int64_t lingerNs = 0) const;

    /// Nothing while an action runs.
    std::optional<Waiting> waiting(int process, std::int64_t timeNs) const;
    /// From a process to the one that all in the chain wait for; the process alone if it waits for none.
    std::vector<int> waitChain(int process, std::int64_t timeNs) const;

private:
    struct Row {
        std::uint32_t actions = kNone;
        std::vector<std::uint32_t> communication;
    };
    /// Spans of a track by start: receives are listed as they were posted, not as they came. Empty where the track's own order
    /// is that and no two spans of it overlap: so are all actions.
    struct Order {
        std::vector<std::uint32_t> span;
        std::vector<std::int64_t> startNs;
        std::vector<std::int64_t> latestEndNs; ///< of this span and all before it
    };
    static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

    static Order orderOf(const sim::Track&);
    std::optional<Doing> running(std::uint32_t track, std::int64_t timeNs) const;
    void findMessages();
    std::optional<std::uint32_t> actionBefore(int process, std::int64_t timeNs, int stage, std::int32_t microbatch) const;
    std::optional<std::uint32_t> actionAfter(int process, std::int64_t timeNs, int stage, std::int32_t microbatch) const;

    TracePtr m_trace;
    std::vector<Row> m_rows;     ///< [process]
    std::vector<Order> m_orders; ///< [track] of actions and communication; else empty
    std::vector<Message> m_messages;
    std::vector<std::uint32_t> m_byReceiver; ///< places in m_messages, by receiving process and span
    std::int64_t m_longestNs = 0;            ///< way of a message
    bool m_knowsTransfers = false;
};

} // namespace app
