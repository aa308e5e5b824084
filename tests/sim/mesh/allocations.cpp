#include "tests/sim/mesh/allocations.h"

#include <cstdlib>
#include <new>

namespace {

std::size_t total = 0;

} // namespace

std::size_t allocatedBytes()
{
    return total;
}

void* operator new(std::size_t size)
{
    total += size;
    if (void* memory = std::malloc(size == 0 ? 1 : size))
        return memory;
    throw std::bad_alloc();
}

/// For buffers that can be done without, as std::stable_sort's.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept
{
    total += size;
    return std::malloc(size == 0 ? 1 : size);
}

void operator delete(void* memory) noexcept
{
    std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept
{
    std::free(memory);
}
