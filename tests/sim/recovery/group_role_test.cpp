// Process groups by what libraries call them.
#include "sim/recovery/group_role.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace {

/// python/rankscope/_attach/hooks.py is held to the same list, by tests/python/attach_test.py.
TEST(GroupRole, IsThatOfTheWholeDescription)
{
    std::ifstream file(RANKSCOPE_TEST_DATA "/group_descriptions.json");
    for (const auto& [description, means] : nlohmann::json::parse(file).at("descriptions").items())
        EXPECT_EQ(sim::groupRoleName(sim::roleFromDescription(description)), means.at("role").get<std::string>()) << description;
}

} // namespace
