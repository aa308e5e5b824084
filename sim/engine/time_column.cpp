#include "sim/engine/time_column.h"

#include <algorithm>
#include <bit>
#include <mutex>

namespace sim {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;
constexpr std::size_t kMostKept = 128 * kMiB; ///< two columns of 8 million ops each

/// Shorter ones are left to the heap, and longer ones to the system.
bool isKept(std::size_t bytes)
{
    return bytes >= kMiB && bytes <= kMostKept / 2;
}

/// What a column takes that is kept: one of four sizes an octave, so that the next one fits where one of about its length was.
std::size_t roomFor(std::size_t bytes)
{
    const std::size_t step = std::bit_floor(bytes) / 4;
    return (bytes + step - 1) / step * step;
}

/// What was given back, the oldest first.
class KeptMemory {
public:
    KeptMemory() { m_blocks.reserve(kMostBlocks); }
    /// Null if there is none of that room.
    void* take(std::size_t room)
    {
        const std::lock_guard guard(m_lock);
        const auto found = std::find_if(m_blocks.begin(), m_blocks.end(), [room](const Block& of) { return of.room == room; });
        if (found == m_blocks.end())
            return nullptr;
        void* const place = found->place;
        m_blocks.erase(found);
        m_bytes -= room;
        return place;
    }
    void keep(void* place, std::size_t room) noexcept
    {
        const std::lock_guard guard(m_lock);
        while (m_blocks.size() == kMostBlocks || (!m_blocks.empty() && m_bytes + room > kMostKept)) {
            ::operator delete(m_blocks.front().place);
            m_bytes -= m_blocks.front().room;
            m_blocks.erase(m_blocks.begin());
        }
        m_blocks.push_back({place, room});
        m_bytes += room;
    }

private:
    struct Block {
        void* place;
        std::size_t room;
    };
    static constexpr std::size_t kMostBlocks = 16;
    std::mutex m_lock;
    std::vector<Block> m_blocks;
    std::size_t m_bytes = 0;
};

KeptMemory& kept()
{
    static KeptMemory& memory = *new KeptMemory; // outlives every column
    return memory;
}

} // namespace

void* takeColumnMemory(std::size_t bytes)
{
    if (!isKept(bytes))
        return ::operator new(bytes);
    const std::size_t room = roomFor(bytes);
    void* const place = kept().take(room);
    return place != nullptr ? place : ::operator new(room);
}

void giveBackColumnMemory(void* place, std::size_t bytes) noexcept
{
    if (!isKept(bytes))
        ::operator delete(place);
    else
        kept().keep(place, roomFor(bytes));
}

} // namespace sim
