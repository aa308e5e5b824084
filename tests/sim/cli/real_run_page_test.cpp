// docs/real-run.md: every number in it is what the program says of the folder that it opens.
#include "tests/sim/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <fstream>

namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kSlowRank = std::string(RANKSCOPE_TEST_DATA) + "/slow-rank/run.json.gz";

/// With single spaces: lines are broken anywhere.
std::string page()
{
    std::ifstream in(RANKSCOPE_SOURCE_DIR "/docs/real-run.md");
    std::string text, word;
    while (in >> word)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

std::string milliseconds(double seconds)
{
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f ms", seconds * 1e3);
    return text.data();
}

TEST(RealRunPage, SaysWhatTraceInfoSaysOfItsFolder)
{
    const std::string text = page();
    const std::string said = test::run("trace info " + kSlowRank).out;
    const json info = test::runJson("trace info --json " + kSlowRank);
    EXPECT_EQ(info.at("world_size"), 8);
    for (const json& axis : info.at("axes")) {
        EXPECT_THAT(text, HasSubstr(axis.at("name").get<std::string>() + " " + std::to_string(axis.at("size").get<int>()) +
                                    ", ranks " + std::to_string(axis.at("stride").get<int>()) + " apart"));
        EXPECT_EQ(axis.at("sure"), 1.0);
    }
    EXPECT_EQ(info.at("schedule").at("kind"), "1f1b");
    EXPECT_EQ(info.at("schedule").at("stages"), 2);
    EXPECT_EQ(info.at("schedule").at("microbatches"), 4);
    EXPECT_EQ(info.at("steps").size(), 1U);
    EXPECT_THAT(text, HasSubstr("one step of " + milliseconds(info.at("steps").at(0).at("seconds").get<double>())));
    EXPECT_THAT(said, HasSubstr("computing 66.7 %, exposed communication 17.8 %, copies 0.0 %, idle 15.5 %"));
    EXPECT_THAT(text, HasSubstr("66.7 % of it computing, 17.8 % exposed communication, 15.5 % idle"));

    const json& findings = info.at("answers").at("findings");
    ASSERT_EQ(findings.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_THAT(text, HasSubstr(std::to_string(i + 1) + ". *" + findings.at(i).at("title").get<std::string>() + "*"));
    EXPECT_THAT(findings.at(0).at("detail").get<std::string>(), HasSubstr("6.63 ms"));
    EXPECT_THAT(text, HasSubstr("6.63 ms a rank"));
    const std::string late = info.at("answers").at("late").at("text");
    for (const char* words :
         {"comes last in 79 of 99 collectives", "causes 41.5 % of the waiting", "34.9 ms of all ranks' time", "by 40.0 %"}) {
        EXPECT_THAT(late, HasSubstr(words));
        EXPECT_THAT(text, HasSubstr(words));
    }
    const json& shown = findings.at(1);
    EXPECT_EQ(shown.at("ranks"), json::array({5}));
    EXPECT_THAT(text,
                HasSubstr("waited longest for, " + milliseconds(static_cast<double>(shown.at("end_ns").get<std::int64_t>() -
                                                                                    shown.at("start_ns").get<std::int64_t>()) *
                                                                1e-9)));
    const json& ranks = info.at("answers").at("ranks");
    EXPECT_THAT(text, HasSubstr("rank 5 computes " + milliseconds(ranks.at(5).at("computing_s").get<double>())));
    for (const int peer : {4, 6, 7})
        EXPECT_THAT(text, HasSubstr("its three peers " +
                                    milliseconds(ranks.at(static_cast<std::size_t>(peer)).at("computing_s").get<double>())));
    EXPECT_EQ(ranks.at(5).at("waited_s"), 0.0);
}

TEST(RealRunPage, SaysWhatCalibratingSays)
{
    const std::string text = page();
    const std::string said = test::run("trace calibrate " + kSlowRank + " --scenario " + test::gallery("60-")).out;
    EXPECT_THAT(said, HasSubstr("56.4 ms measured"));
    EXPECT_THAT(said, HasSubstr("43.4 ms predicted before (-23.1 %)"));
    EXPECT_THAT(said, HasSubstr("45.5 ms with what was measured (-19.4 %)"));
    for (const char* words : {"43.4 ms against 56.4 ms, 23.1 % less", "45.5 ms, 19.4 % less"})
        EXPECT_THAT(text, HasSubstr(words));
}

} // namespace
