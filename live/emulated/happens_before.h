// Who comes before whom: vector clocks of hosts and streams, and for every byte of device memory who wrote and read it last. Two
// accesses of which one writes, and that nothing orders, are an error whatever order they happened to run in (Lamport 1978;
// FastTrack, Flanagan & Freund 2009).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace live::emulated {

/// What is known to have happened: [timeline] = how many of its operations. A timeline is a host or a stream.
class Clock {
public:
    std::uint32_t at(std::uint32_t timeline) const { return timeline < m_ticks.size() ? m_ticks[timeline] : 0; }
    void set(std::uint32_t timeline, std::uint32_t tick);
    /// Knows afterwards what either knew. Returns whether it learnt anything.
    bool join(const Clock& other);

private:
    std::vector<std::uint32_t> m_ticks;
};

/// One access by an operation: the tick of its timeline when it ran, and what it is called.
struct Epoch {
    std::uint32_t timeline = 0, tick = 0; ///< tick 0: nobody
    std::uint32_t name = 0;               ///< of the operation, as the machine numbers names
    std::uint64_t number = 0;             ///< of the operation, in the order of issue
    bool isBefore(const Clock& clock) const { return tick <= clock.at(timeline); }
};

/// Rows of `bytes` bytes, `stride` bytes apart.
struct Access {
    const std::byte* begin = nullptr;
    std::size_t bytes = 0, stride = 0, rows = 1;
    bool writes = false;
};

/// Who touched the bytes of one block of device memory.
class Shadow {
public:
    struct Conflict {
        Epoch other;
        bool otherWrites = false;
        std::size_t first = 0, last = 0; ///< bytes of the block, the last one included
    };
    /// Notes that `self`, which knows `clock`, touches bytes [first, end) of the block. The first access that is not before it
    /// and must be, if there is one. O(log n) a cell; neighbouring writes become one cell.
    std::optional<Conflict> touch(std::size_t first, std::size_t end, bool writes, const Epoch& self, const Clock& clock);

private:
    struct Cell {
        std::size_t end = 0;
        Epoch write;
        std::vector<Epoch> reads; ///< since then, the last one of each timeline
    };
    using Cells = std::map<std::size_t, Cell>; ///< by first byte; what is in none was never touched
    Cells::iterator cut(std::size_t at);
    Cells m_cells;
};

} // namespace live::emulated
