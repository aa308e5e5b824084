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
    /// The same among launches that are put aside: its time is known some time after putPromised() or graphStarted().
    std::int64_t promise();
    /// The time has come to put it.
    void putPromised(std::int64_t mark, Stream);
    /// The same of several whose events belong to a graph that was started just now. Returns a number for awaitRun(), 0 if there
    /// are none.
    std::uint64_t graphStarted(std::span<const std::int64_t> marks, std::span<const Event> events, Stream);
    /// Reads all marks of a graph's run, waiting for them: before its events are recorded again.
    void awaitRun(std::uint64_t run);
    /// What was put aside on a stream has been started: it shows that the GPU goes on where marks are not remembered.
    void batchStarted(Stream);
    /// Whether the GPU has come past a mark. Does not wait.
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
        std::uint64_t run; ///< of a graph, whose event it is; 0: none
    };
    /// An event after a graph's run: the graph's own can be read once it has been passed, and say something old before.
    struct Gate {
        std::uint64_t run;
        Event event;
    };
    static constexpr std::int64_t kAhead = 0, kPromised = -1;
    Event take();
    std::int64_t next(std::int64_t state);
    void putEvent(std::int64_t mark, Stream);
    void beat(Stream);
    /// Whether its event says something old.
    bool isOld(const Ahead& ahead) const { return ahead.run > m_passedRun; }
    /// Learns which runs have been passed.
    void passGates();
    /// Reads what has been passed; gives up after so many that have not.
    void harvest(std::size_t misses);
    bool isKnown(std::int64_t mark) const;
    static std::size_t placeOf(std::int64_t mark) { return static_cast<std::size_t>(-1 - mark); }
    std::int64_t timeOf(std::int64_t mark) const { return m_times[placeOf(mark)]; }
    /// Ties the events' clock to the steady clock.
    void setClock();

    const int m_gpu;
    const Stream m_stream;
    std::mutex m_mutex;
    bool m_keeps = false;
    std::vector<std::int64_t> m_times; ///< by mark, -1 - i; kAhead: not passed yet, kPromised: not put yet
    std::vector<Ahead> m_ahead;
    std::vector<Event> m_free;
    std::deque<Gate> m_gates;
    std::uint64_t m_run = 0, m_passedRun = 0; ///< the last one; all up to the latter have been passed
    std::uint64_t m_passed = 0, m_puts = 0;
    std::atomic<std::uint64_t> m_seen{0}; ///< m_passed, as passed() last told it
    Event m_beat = nullptr;               ///< stands for the marks that are not remembered
    bool m_beats = false;                 ///< it was recorded and has not been passed
    Event m_clock = nullptr;
    std::int64_t m_clockNs = 0; ///< of the steady clock when m_clock was passed
};

} // namespace live::cuda
