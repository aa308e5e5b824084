// A rank's memory is used again, bounded, and given back.
#include "live/tensor/memory.h"
#include "sim/error.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <vector>

namespace live::test {
namespace {

/// Counts what is out, and has no more than `most` bytes.
class CountingSource final : public MemorySource {
public:
    void* allocate(std::size_t bytes) override
    {
        if (out + bytes > most)
            throw sim::Error("full");
        out += bytes;
        ++allocations;
        return std::malloc(bytes);
    }
    void release(void* block, std::size_t bytes) noexcept override
    {
        out -= bytes;
        std::free(block);
    }
    std::size_t out = 0, most = std::size_t{1} << 30;
    int allocations = 0;
};

TEST(Memory, UsesABlockAgainForASizeALittleSmaller)
{
    CountingSource source;
    Memory memory(source);
    const void* const first = memory.allocate(DType::f32, 1000, 16)->data;
    EXPECT_EQ(memory.allocate(DType::f32, 990, 16)->data, first);
    EXPECT_EQ(source.allocations, 1);
}

TEST(Memory, RoundsUpByAnEighthAtMostAndWhatStaysNotAtAll)
{
    for (const std::int64_t rows : {3, 100, 257, 1000, 4097, 100'001}) {
        CountingSource source;
        Memory memory(source);
        const Array array = memory.allocate(DType::f32, rows, 64);
        EXPECT_LE(memory.reserved(), array->bytes() + array->bytes() / 8) << rows;
        EXPECT_GE(memory.reserved(), array->bytes());
        EXPECT_EQ(memory.held(), array->bytes());
        EXPECT_EQ(static_cast<std::size_t>(memory.reserved()), source.out);
        const std::int64_t before = memory.reserved();
        const Array weights = memory.allocate(DType::f32, rows, 64, MemoryUse::parameters);
        EXPECT_EQ(memory.reserved() - before, weights->bytes()) << rows;
    }
}

TEST(Memory, DoesNotGrowWithEveryNewSize)
{
    CountingSource source;
    Memory memory(source);
    std::int64_t afterTen = 0;
    for (int step = 0; step < 300; ++step) {
        for (int i = 0; i < 8; ++i) // as many rows as experts happen to get
            memory.allocate(DType::f32, 1000 + 61 * step % 997, 64 + 64 * (i % 2));
        memory.endStep();
        if (step == 10)
            afterTen = memory.reserved();
    }
    EXPECT_LE(memory.reserved(), 2 * afterTen);
    EXPECT_LE(memory.peakReserved(), std::int64_t{16} << 20);
}

TEST(Memory, GivesBackWhatNoStepNeededForAWhileAndKeepsWhatEachNeeds)
{
    CountingSource source;
    Memory memory(source);
    memory.allocate(DType::f32, 1000, 1000);
    for (int step = 0; step < 20; ++step) {
        memory.allocate(DType::f32, 10, 10);
        memory.endStep();
    }
    EXPECT_LE(memory.reserved(), 4096);
    EXPECT_EQ(source.allocations, 2) << "the small one was made once";
}

TEST(Memory, GivesTheSameBlocksToStepsThatAskForTheSame)
{
    CountingSource source;
    Memory memory(source);
    std::vector<std::vector<const void*>> steps;
    for (int step = 0; step < 4; ++step) {
        std::vector<const void*>& blocks = steps.emplace_back();
        std::vector<Array> arrays;
        for (int i = 0; i < 20; ++i) {
            arrays.push_back(memory.allocate(DType::f32, 10, 10));
            blocks.push_back(arrays.back()->data);
        }
        for (std::size_t i = 0; i < arrays.size(); ++i) // in another order than the one that would restore the first
            arrays[i * 7 % arrays.size()].reset();
        memory.endStep();
    }
    EXPECT_EQ(steps[2], steps[1]);
    EXPECT_EQ(steps[3], steps[1]);
}

TEST(Memory, GivesBackWhatIsUnusedBeforeItSaysThatThereIsNone)
{
    CountingSource source;
    source.most = 3'000'000;
    Memory memory(source);
    memory.allocate(DType::f32, 500, 1000);
    const Array other = memory.allocate(DType::f32, 700, 1000); // 2.8 MB: only without the first
    EXPECT_TRUE(other);
    EXPECT_THROW(memory.allocate(DType::f32, 700, 1000), sim::Error);
}

TEST(Memory, GivesAllBackAtItsEnd)
{
    CountingSource source;
    {
        Memory memory(source);
        for (int rows = 1; rows < 200; ++rows)
            memory.allocate(DType::f32, rows, 100);
    }
    EXPECT_EQ(source.out, 0U);
}

} // namespace
} // namespace live::test
