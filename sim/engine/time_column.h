// Times of ops, in columns that may be long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <vector>

namespace sim {

/// Memory for a column, of so many bytes. What long ones give back is kept for the next of about their length, 128 MiB at most:
/// the system clears the pages that it hands out, which takes a quarter of the time of simulating a step again while somebody
/// moves a slider, and far more where it has none of its large ones left. Of any thread.
void* takeColumnMemory(std::size_t bytes);
void giveBackColumnMemory(void*, std::size_t bytes) noexcept;

/// Leaves new elements as they come: a column whose every place is about to be written need not be zeroed first.
template <typename T>
struct ColumnMemory : std::allocator<T> {
    template <typename U>
    struct rebind {
        using other = ColumnMemory<U>;
    };
    T* allocate(std::size_t count)
    {
        if (count > std::numeric_limits<std::size_t>::max() / sizeof(T))
            throw std::bad_array_new_length();
        return static_cast<T*>(takeColumnMemory(count * sizeof(T)));
    }
    void deallocate(T* place, std::size_t count) noexcept { giveBackColumnMemory(place, count * sizeof(T)); }
    template <typename U>
    void construct(U* place) noexcept
    {
        ::new (static_cast<void*>(place)) U;
    }
};
using TimeColumn = std::vector<std::int64_t, ColumnMemory<std::int64_t>>;

} // namespace sim
