// The instants of a queue, as timed events that are read while the step goes on: as soon as an event has been passed its time is
// kept as a number and the event is used again. So there are as many events as marks that lie ahead of the GPU, and nothing is
// left to be read in one go when the step ends.
#pragma once

#include "live/kernels/cuda/runtime.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

namespace live::cuda {

/// Any thread. Its GPU must be current where marks are put.
class MarkLog {
public:
    /// stream: the queue's own; waits until it is idle.
    MarkLog(int gpu, Stream stream);
    ~MarkLog();
    MarkLog(const MarkLog&) = delete;
    MarkLog& operator=(const MarkLog&) = delete;

    /// From now on marks are remembered, or are 0 and only show that the GPU goes on. At first they are not.
    void keep(bool);
    /// A mark on a stream: a negative number until it is read.
    std::int64_t put(Stream);
    /// The same among launches that are put aside: its time is known some time after batchStarted().
    std::int64_t putInBatch(Stream);
    /// What was put aside on a stream has been started.
    void batchStarted(Stream);
    /// Whether the GPU has come past a mark of put()'s. Does not wait.
    bool hasCome(std::int64_t mark);
    /// Replaces the marks whose time is known by nanoseconds of the steady clock; whether all of them are. Does not wait.
    bool read(std::span<std::int64_t>);
    /// The same of all, waiting for them; afterwards all marks are forgotten.
    void readAll(std::span<std::int64_t>);
    /// Grows as the GPU comes past marks, whether or not they are remembered. Does not wait.
    std::uint64_t passed();

private:
    struct Ahead {
        std::size_t mark;
        Event event;
        std::uint64_t batch; ///< it was put in; 0: none
    };
    /// An event after a batch: those in it can be read once it has been passed, and say something old before.
    struct Gate {
        std::uint64_t batch;
        Event event;
    };
    Event take();
    std::int64_t remember(Event, std::uint64_t batch);
    void beat(Stream);
    bool isAside(const Ahead& ahead) const { return ahead.batch > m_passedBatch; }
    /// Learns which batches have been passed.
    void passGates();
    /// Reads what has been passed; gives up after so many that have not.
    void harvest(std::size_t misses);
    bool isKnown(std::int64_t mark) const;
    std::int64_t timeOf(std::int64_t mark) const { return m_times[static_cast<std::size_t>(-1 - mark)]; }
    /// Ties the events' clock to the steady clock.
    void setClock();

    const int m_gpu;
    const Stream m_stream;
    std::mutex m_mutex;
    bool m_keeps = false;
    std::vector<std::int64_t> m_times; ///< by mark, -1 - i; 0: not passed yet
    std::vector<Ahead> m_ahead;
    std::vector<Event> m_free;
    std::deque<Gate> m_gates;
    std::uint64_t m_batch = 1, m_passedBatch = 0; ///< the open one, or the next; all up to the latter have been passed
    bool m_isMarkInBatch = false;                 ///< in the open one
    std::uint64_t m_passed = 0, m_puts = 0;
    std::atomic<std::uint64_t> m_seen{0}; ///< m_passed, as passed() last told it
    Event m_beat = nullptr;               ///< stands for the marks that are not remembered
    bool m_beats = false;                 ///< it was recorded and has not been passed
    Event m_clock = nullptr;
    std::int64_t m_clockNs = 0; ///< of the steady clock when m_clock was passed
};

} // namespace live::cuda
