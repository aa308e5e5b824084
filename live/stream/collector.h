// The run's side of its own history: a thread that empties the ranks' recorders every few milliseconds, and facts that the
// runtime tells. Training never waits for it.
#pragma once

#include "live/record/recorder.h"
#include "live/stream/history.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace live {

/// What the runtime knows when a step is done.
struct StepFacts {
    int step = 0;
    double loss = kUnknown, gradientNorm = kUnknown, tokensPerSecond = kUnknown;
    std::int64_t startNs = 0, endNs = 0; ///< steady clock
};

struct CollectorOptions {
    HistoryLimits history;
    std::chrono::milliseconds interval{20};
};

class Collector {
public:
    /// Kinds and recorders must outlive it; recorder i may be of any rank below the world size.
    Collector(RunDescription, const SpanKinds&, std::vector<Recorder*>, CollectorOptions = {});
    /// Of a run that nobody knows yet: viewers wait until it is described.
    explicit Collector(const SpanKinds&, CollectorOptions = {});
    ~Collector(); ///< takes what is left
    Collector(const Collector&) = delete;
    Collector& operator=(const Collector&) = delete;

    // Any thread, all of these.
    /// Once.
    void describe(RunDescription);
    bool isDescribed() const { return m_isDescribed; }
    /// One more, of a rank that came later: kept as long as this.
    void add(std::shared_ptr<Recorder>);
    void stepDone(const StepFacts&);
    /// Takes what was recorded before, so that a last word comes last.
    void setStatus(RunStatus, const std::string& message = "");
    /// Takes what was recorded until now, without waiting for the thread.
    void collect();
    RunHistory history() const;
    RunState state() const;

    /// How far a reader of the history has come.
    struct Cursor {
        std::uint64_t nextBlock = 0, spansSeen = 0;
        std::size_t kinds = 0;
        std::uint64_t change = 0; ///< of steps and state
    };
    struct News {
        std::vector<sim::SpanKind> kinds; ///< all that the blocks need
        std::vector<std::shared_ptr<const Block>> blocks;
        std::vector<StepSummary> steps;
        RunState state;
        bool stateChanged = false;
        std::uint64_t missed = 0; ///< spans between the cursor and the oldest that is kept
        bool more = false;        ///< some were left out for size
        bool empty() const { return kinds.empty() && blocks.empty() && steps.empty() && !stateChanged && missed == 0; }
    };
    /// What one message may hold; but at least one block.
    struct Portion {
        std::size_t bytes = std::size_t{512} << 10U; ///< of blocks, packed
        std::size_t records = std::size_t{1} << 17U; ///< of blocks
        std::size_t steps = 4096;
    };
    /// What is new since the cursor, up to about a portion. O(what is new).
    News since(Cursor&, const Portion&) const;
    /// A cursor before all that is kept.
    Cursor beginning() const;
    /// Does not change once it is there.
    const RunDescription& description() const { return m_description; }

private:
    void takeSpans();
    void takeMemory();
    void append(std::unique_lock<std::mutex>&, Block);
    void touch(int step);
    void changeState();

    void start();

    RunDescription m_description;
    std::atomic<bool> m_isDescribed{false};
    const SpanKinds& m_kinds;
    const CollectorOptions m_options;

    std::mutex m_takingMutex; ///< one reader of the recorders' rings at a time
    std::vector<Recorder*> m_recorders;
    std::vector<std::shared_ptr<Recorder>> m_kept;
    std::vector<RankSpan> m_taken;
    std::vector<RankMemory> m_takenMemory;
    std::vector<SpanRecord> m_spans;
    std::vector<CounterRecord> m_values;

    mutable std::mutex m_mutex; ///< all below
    RunHistory m_history;
    std::uint64_t m_nextBlock = 0, m_spansTaken = 0;
    std::uint64_t m_change = 0, m_stateChange = 0;
    std::map<int, std::uint64_t> m_changeOfStep;
    std::map<std::uint64_t, int> m_stepOfChange; ///< by the last change of each step
    std::jthread m_thread;
};

} // namespace live
