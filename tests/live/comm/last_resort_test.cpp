#include "live/comm/last_resort.h"

#include <gtest/gtest.h>

namespace live {
namespace {

using namespace std::chrono_literals;

TEST(LastResort, EndsAProcessThatDoesNotGoOn)
{
    const auto hang = [] {
        const LastResort ends(10ms, "it does not come back");
        std::this_thread::sleep_for(60s);
    };
    EXPECT_EXIT(hang(), testing::ExitedWithCode(1), "it does not come back");
}

TEST(LastResort, IsForgottenByOneThatDoes)
{
    const auto goOn = [] {
        {
            const LastResort ends(50ms, "it does not come back");
        }
        std::this_thread::sleep_for(100ms);
        std::_Exit(0);
    };
    EXPECT_EXIT(goOn(), testing::ExitedWithCode(0), "");
}

} // namespace
} // namespace live
