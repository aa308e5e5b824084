// Puts a queue's launches on the GPU many at a time, as CUDA graphs: where kernels are so short that the GPU waits for the host,
// one call for many costs the host less than a call for each. A batch that is the same as that of its place in the step before
// is started as the graph that was made of it. Kernels, their order and so every bit stay the same.
#pragma once

#include "live/kernels/cuda/launch_tape.h"
#include "live/kernels/cuda/runtime.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace live::cuda {

class MarkLog;

struct BatchRule {
    /// byTime: some steps are timed without and with batches, and what took less stays.
    enum class Use : std::uint8_t { never, always, byTime };
    Use use = Use::never;
    std::size_t launches = 48; ///< of a batch: the GPU begins with the first while the host prepares the next
    bool capturesAll = false;  ///< each batch becomes a graph that is started once: for launches that cannot be compared
    bool reports = false;      ///< how many launches were made which way, on stderr when the queue ends
};
/// RANKSCOPE_CUDA_GRAPHS: "0" never, a number above 1 always and so many launches a batch, anything else always; without it by
/// time. RANKSCOPE_CUDA_GRAPHS_REPORT: reports.
BatchRule batchesWanted();

/// Where launches of steps with batches went.
struct LaunchCounts {
    std::uint64_t apart = 0;               ///< operations whose arguments differ in every step: launched at once
    std::uint64_t oneByOne = 0;            ///< put aside, and launched one by one: their batch is not that of the step before
    std::uint64_t captured = 0;            ///< the same as in the step before: made a graph
    std::uint64_t replayed = 0;            ///< started with the graph of an earlier step
    std::uint64_t batches = 0, graphs = 0; ///< started; of these as graphs
    LaunchCounts operator-(const LaunchCounts&) const;
};

/// Used by the queue's thread alone, its GPU current.
class LaunchBatches {
public:
    explicit LaunchBatches(const BatchRule& rule) : m_rule(rule), m_isUsed(rule.use == BatchRule::Use::always) {}
    ~LaunchBatches();
    LaunchBatches(const LaunchBatches&) = delete;
    LaunchBatches& operator=(const LaunchBatches&) = delete;

    /// Where launches are put aside; null: they are made at once.
    LaunchTape* open()
    {
        m_isOpen = m_isUsed;
        return m_isUsed ? &m_tape : nullptr;
    }
    /// What marks are put on; null: nothing is put aside now.
    LaunchTape* tape() { return m_isOpen ? &m_tape : nullptr; }
    /// Whether the next launch must wait until what was put aside has started.
    bool isFull() const { return m_tape.launches() >= m_rule.launches; }
    /// An operation is launched at once, after what was put aside.
    void countApart() { m_counts.apart += m_isUsed ? 1 : 0; }
    /// Starts what was put aside; false if there was nothing.
    bool start(Stream, MarkLog&);
    /// The step's work is done: the next may be done the other way. The i-th batch of a step is like that of the step before.
    void stepDone(std::chrono::steady_clock::time_point now);
    /// Whether this step's launches are put together.
    bool isUsed() const { return m_isUsed; }

private:
    /// The i-th batch of a step.
    struct Place {
        LaunchTape tape;           ///< as it was started last
        Graph graph = nullptr;     ///< made of such a tape
        std::vector<Event> events; ///< the graph's, by mark: they are the same whenever it is started
        std::uint64_t run = 0;     ///< MarkLog's number of the last start with marks
    };
    void startAt(Place&, Stream, MarkLog&);
    void capture(Place&, Stream);
    static void startOneByOne(const LaunchTape&, Stream, MarkLog&);
    void report() const;

    const BatchRule m_rule;
    bool m_isUsed, m_isOpen = false;
    LaunchTape m_tape;           ///< of the open batch
    std::size_t m_position = 0;  ///< of batches in this step
    std::vector<Place> m_places; ///< by position
    LaunchCounts m_counts, m_before, m_lastStep;
    int m_steps = 0;
    std::chrono::steady_clock::time_point m_stepStart;
    double m_best[2] = {0, 0}; ///< seconds of a step without and with batches; 0: none was timed
};

} // namespace live::cuda
