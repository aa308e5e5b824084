#include "live/kernels/shared_cache.h"

#include <gtest/gtest.h>

#include <future>
#include <stdexcept>

namespace {

TEST(SharedCache, MakingOneHoldsNobodyElseUp)
{
    live::SharedCache<int, int> cache(10);
    cache.get(1, [] { return std::make_shared<int>(1); });
    std::promise<void> begun, goOn;
    auto slow = std::async(std::launch::async, [&] {
        return *cache.get(2, [&] {
            begun.set_value();
            goOn.get_future().wait();
            return std::make_shared<int>(2);
        });
    });
    begun.get_future().wait();
    auto others = std::async(std::launch::async, [&] {
        return *cache.get(1, [] { return std::make_shared<int>(-1); }) + *cache.get(3, [] { return std::make_shared<int>(3); });
    });
    const bool wentOn = others.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
    goOn.set_value();
    EXPECT_TRUE(wentOn);
    EXPECT_EQ(others.get(), 4);
    EXPECT_EQ(slow.get(), 2);
}

TEST(SharedCache, AllGetTheFirstThatWasDone)
{
    live::SharedCache<int, int> cache(10);
    const auto outer = cache.get(1, [&] {
        cache.get(1, [] { return std::make_shared<int>(7); });
        return std::make_shared<int>(8);
    });
    EXPECT_EQ(*outer, 7);
    EXPECT_EQ(cache.get(1, [] { return std::make_shared<int>(9); }), outer);
}

TEST(SharedCache, WhatCouldNotBeMadeIsMadeAtTheNextCall)
{
    live::SharedCache<int, int> cache(10);
    const auto fails = [&]() -> std::shared_ptr<int> { throw std::runtime_error("no memory"); };
    EXPECT_THROW(cache.get(1, fails), std::runtime_error);
    EXPECT_EQ(*cache.get(1, [] { return std::make_shared<int>(5); }), 5);
}

} // namespace
