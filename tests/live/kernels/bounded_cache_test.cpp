#include "live/kernels/bounded_cache.h"

#include <gtest/gtest.h>

namespace {

TEST(BoundedCache, RemembersWhatIsAskedForAgain)
{
    live::BoundedCache<int, int> cache(20);
    int made = 0;
    for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(cache.get(i % 7, [&] { return ++made, i % 7; }), i % 7);
        EXPECT_EQ(cache.get(100 + i, [&] { return 100 + i; }), 100 + i) << "and others in between";
    }
    EXPECT_EQ(made, 7);
}

TEST(BoundedCache, HoldsTwoGenerationsAtMost)
{
    live::BoundedCache<int, int> cache(10);
    for (int i = 0; i < 1000; ++i) {
        cache.get(i, [&] { return i; });
        EXPECT_LE(cache.size(), 20U);
    }
}

} // namespace
