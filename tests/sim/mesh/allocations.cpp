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

void operator delete(void* memory) noexcept
{
    std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept
{
    std::free(memory);
}
