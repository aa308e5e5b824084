#include "live/kernels/cuda/emulation/emulation.h"

#include "live/kernels/cuda/emulation/launches.h"
#include "live/kernels/cuda/numbers.h"
#include "sim/error.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <csetjmp>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <ucontext.h>
#include <utility>
#include <vector>

namespace live::cuda {

Index3 threadIdx, blockIdx, blockDim, gridDim;

namespace {

constexpr std::size_t kStackBytes = 128 * 1024;
constexpr std::size_t kLanes = 32;

struct Barrier {
    int arrived = 0;
    unsigned generation = 0;
};

struct Copy {
    void* to = nullptr;
    const void* from = nullptr;
    bool inside = false;
};

// A fiber begins by ucontext, which then would ask the kernel at every switch; jumps are thirty times faster. Sanitizers do not
// follow jumps from stack to stack.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kJump = false;
#else
constexpr bool kJump = true;
#endif

struct Fiber {
    ucontext_t context{};
    std::jmp_buf place{};
    bool started = false;
    std::unique_ptr<std::byte[]> stack = std::make_unique<std::byte[]>(kStackBytes);
    bool finished = false;
    unsigned exchanges = 0;
    std::vector<Copy> open;               ///< copies not committed yet
    std::deque<std::vector<Copy>> groups; ///< committed, not waited for
};

struct Warp {
    Barrier barrier;
    std::array<std::array<std::byte, kLanes * emulation::kSlotBytes>, 2> slots; ///< one is written while the other is read
};

/// The block that runs now.
struct Block {
    ucontext_t scheduler{};
    std::jmp_buf schedulerPlace{};
    std::vector<Fiber> fibers; ///< kept from block to block: stacks are costly
    std::vector<Warp> warps;
    Barrier barrier;
    std::vector<unsigned char> shared;
    std::size_t threads = 0, current = 0;
    std::uint64_t progress = 0;
    std::uint64_t launches = 0;
    bool eager = false; ///< asynchronous copies happen at once, else when they are waited for: both may be
    const std::function<void()>* body = nullptr;
};

Block& block()
{
    static Block instance;
    return instance;
}

Fiber& currentFiber()
{
    return block().fibers[block().current];
}

void yield()
{
    if constexpr (kJump) {
        if (_setjmp(currentFiber().place) == 0)
            _longjmp(block().schedulerPlace, 1);
    } else {
        swapcontext(&currentFiber().context, &block().scheduler);
    }
}

/// Runs the current fiber until it yields.
[[gnu::noinline]] void resume()
{
    Fiber& fiber = currentFiber();
    if constexpr (kJump) {
        if (_setjmp(block().schedulerPlace) != 0)
            return;
        if (fiber.started)
            _longjmp(fiber.place, 1);
        fiber.started = true;
        setcontext(&fiber.context);
    } else {
        swapcontext(&block().scheduler, &fiber.context);
    }
}

void meet(Barrier& barrier, std::size_t expected)
{
    const unsigned generation = barrier.generation;
    if (++barrier.arrived == static_cast<int>(expected)) {
        barrier.arrived = 0;
        ++barrier.generation;
        ++block().progress;
        return;
    }
    while (barrier.generation == generation)
        yield();
}

Warp& currentWarp()
{
    return block().warps[block().current / kLanes];
}

void meetWarp()
{
    const std::size_t first = block().current / kLanes * kLanes;
    meet(currentWarp().barrier, std::min(kLanes, block().threads - first));
}

void enterFiber()
{
    (*block().body)();
    currentFiber().finished = true;
    ++block().progress;
    yield();
}

/// Until its lanes wait for other warps; returns how many of them have ended.
std::size_t runWarp(std::size_t warp, bool up)
{
    Block& b = block();
    const std::size_t first = warp * kLanes, count = std::min(kLanes, b.threads - first);
    std::size_t ended = 0;
    for (bool moved = true; moved;) {
        const std::uint64_t before = b.progress;
        for (std::size_t i = 0; i < count; ++i) {
            b.current = first + (up ? i : count - 1 - i);
            if (currentFiber().finished)
                continue;
            threadIdx = {static_cast<unsigned>(b.current), 0, 0};
            resume();
            ended += currentFiber().finished ? 1 : 0;
        }
        moved = b.progress != before;
    }
    return ended;
}

void runBlock()
{
    Block& b = block();
    b.barrier = {};
    for (Warp& warp : b.warps)
        warp.barrier = {};
    // Not a number as float, bf16 and double: what is read before it is written shows.
    std::fill(b.shared.begin(), b.shared.end(), static_cast<unsigned char>(0xFF));
    for (std::size_t i = 0; i < b.threads; ++i) {
        Fiber& fiber = b.fibers[i];
        fiber.finished = fiber.started = false;
        fiber.exchanges = 0;
        fiber.open.clear();
        fiber.groups.clear();
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.get();
        fiber.context.uc_stack.ss_size = kStackBytes;
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, enterFiber, 0);
    }
    std::size_t left = b.threads;
    // A warp runs as far as it can alone before the next one does, the warps up and down in turns: so that no kernel is right
    // only because its threads happen to keep step.
    for (bool up = true; left > 0; up = !up) {
        const std::uint64_t before = b.progress;
        for (std::size_t i = 0; i < b.warps.size(); ++i)
            left -= runWarp(up ? i : b.warps.size() - 1 - i, up);
        if (b.progress == before)
            throw sim::Error("threads of a block wait at barriers that not all of them reach");
    }
}

void perform(const std::vector<Copy>& group)
{
    for (const Copy& copy : group) {
        if (copy.inside)
            std::memcpy(copy.to, copy.from, 16);
        else
            std::memset(copy.to, 0, 16);
    }
}

float bfloatOf(std::uint32_t packed, std::uint32_t half)
{
    return toFloat(Bfloat16{static_cast<std::uint16_t>(packed >> (16 * half))});
}

template <bool kTransposed>
void loadTilesImpl(std::uint32_t (&tiles)[4], const void* row)
{
    assert(reinterpret_cast<std::uintptr_t>(row) % 16 == 0);
    const std::byte* const slots = emulation::exchange(&row, sizeof row);
    const auto lane = static_cast<int>(threadIdx.x % kLanes);
    for (int i = 0; i < 4; ++i) {
        const auto element = [&](int r, int c) {
            const auto* const from = emulation::ofLane<const std::uint16_t*>(slots, 8 * i + r);
            return static_cast<std::uint32_t>(from[c]);
        };
        const int g = lane / 4, t = lane % 4;
        tiles[i] =
            kTransposed ? element(2 * t, g) | element(2 * t + 1, g) << 16 : element(g, 2 * t) | element(g, 2 * t + 1) << 16;
    }
}

} // namespace

namespace emulation {

void run(Grid grid, int threads, std::size_t sharedBytes, const std::function<void()>& thread)
{
    static std::mutex one;
    const std::lock_guard lock(one);
    if (threads < 1 || threads > 1024 || grid.x < 1 || grid.y < 1 || grid.z < 1 || grid.y > kMaxGridY || grid.z > kMaxGridY ||
        sharedBytes > sharedBytesOfBlock())
        throw sim::Error("a kernel's launch is out of bounds: grid " + std::to_string(grid.x) + " x " + std::to_string(grid.y) +
                         " x " + std::to_string(grid.z) + ", " + std::to_string(threads) + " threads, " +
                         std::to_string(sharedBytes) + " bytes of shared memory");
    Block& b = block();
    ++b.launches;
    countLaunch();
    b.threads = static_cast<std::size_t>(threads);
    b.body = &thread;
    if (b.fibers.size() < b.threads)
        b.fibers.resize(b.threads);
    b.warps.resize((b.threads + kLanes - 1) / kLanes);
    b.shared.resize(std::max<std::size_t>(sharedBytes, 1) + 16);
    gridDim = {grid.x, grid.y, grid.z};
    blockDim = {static_cast<unsigned>(threads), 1, 1};
    for (unsigned z = 0; z < grid.z; ++z)
        for (unsigned y = 0; y < grid.y; ++y)
            for (unsigned x = 0; x < grid.x; ++x) {
                blockIdx = {x, y, z};
                b.eager = (b.launches + x + y + z) % 2 == 0;
                runBlock();
            }
}

const std::byte* exchange(const void* mine, std::size_t bytes)
{
    assert(bytes <= kSlotBytes);
    const std::size_t parity = currentFiber().exchanges++ % 2;
    std::byte* const slots = currentWarp().slots[parity].data();
    std::memcpy(slots + block().current % kLanes * kSlotBytes, mine, bytes);
    meetWarp();
    return slots;
}

void waitCopies(int pending)
{
    auto& groups = currentFiber().groups;
    while (groups.size() > static_cast<std::size_t>(pending)) {
        perform(groups.front());
        groups.pop_front();
    }
}

} // namespace emulation

unsigned char* sharedMemory()
{
    const auto address = reinterpret_cast<std::uintptr_t>(block().shared.data());
    return block().shared.data() + (16 - address % 16) % 16;
}
void syncBlock()
{
    meet(block().barrier, block().threads);
}
void syncWarp()
{
    meetWarp();
}

void multiplyTile(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1)
{
    struct Fragments {
        std::uint32_t a[4], b[2];
    };
    const Fragments mine{{a[0], a[1], a[2], a[3]}, {b0, b1}};
    const std::byte* const slots = emulation::exchange(&mine, sizeof mine);
    const auto lane = static_cast<int>(threadIdx.x % kLanes);
    for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + (i >= 2 ? 8 : 0), column = 2 * (lane % 4) + i % 2;
        float sum = d[i];
        for (int k = 0; k < 16; ++k) {
            const auto half = static_cast<std::uint32_t>(k % 2);
            const auto word = [&](int ofLane, int index) {
                std::uint32_t value = 0;
                std::memcpy(
                    &value,
                    slots + static_cast<std::size_t>(ofLane) * emulation::kSlotBytes + 4 * static_cast<std::size_t>(index), 4);
                return bfloatOf(value, half);
            };
            sum += word(row % 8 * 4 + k % 8 / 2, (row >= 8 ? 1 : 0) + (k >= 8 ? 2 : 0)) *
                   word(column * 4 + k % 8 / 2, 4 + (k >= 8 ? 1 : 0));
        }
        d[i] = sum;
    }
}
void loadTiles(std::uint32_t (&tiles)[4], const void* row)
{
    loadTilesImpl<false>(tiles, row);
}
void loadTilesTransposed(std::uint32_t (&tiles)[4], const void* row)
{
    loadTilesImpl<true>(tiles, row);
}
void copyAsync16(void* to, const void* from, bool inside)
{
    assert(reinterpret_cast<std::uintptr_t>(to) % 16 == 0 && (!inside || reinterpret_cast<std::uintptr_t>(from) % 16 == 0));
    const Copy copy{to, from, inside};
    if (block().eager)
        perform({copy});
    else
        currentFiber().open.push_back(copy);
}
void commitCopies()
{
    currentFiber().groups.push_back(std::exchange(currentFiber().open, {}));
}
std::uint32_t packBfloat(float low, float high)
{
    return static_cast<std::uint32_t>(toBfloat(low).bits) | static_cast<std::uint32_t>(toBfloat(high).bits) << 16;
}

} // namespace live::cuda
