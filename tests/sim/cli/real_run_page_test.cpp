// docs/real-run.md: every number in it is what the program says of the folder that it opens.
#include "tests/sim/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <fstream>
#include <map>

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
    EXPECT_THAT(said, HasSubstr("computing 62.2 %, exposed communication 16.6 %, copies 0.0 %, idle 21.3 %"));
    EXPECT_THAT(text, HasSubstr("62.2 % of it computing, 16.6 % exposed communication, 21.3 % idle"));

    const json& findings = info.at("answers").at("findings");
    ASSERT_EQ(findings.size(), 2U) << "and none of the stage of the slow rank";
    for (std::size_t i = 0; i < findings.size(); ++i)
        EXPECT_THAT(text, HasSubstr(std::to_string(i + 1) + ". *" + findings.at(i).at("title").get<std::string>() + "*"));
    EXPECT_THAT(findings.at(1).at("detail").get<std::string>(), HasSubstr("6.60 ms of the 56.4 ms of a step"));
    EXPECT_THAT(text, HasSubstr("6.60 ms a rank"));
    const std::string late = info.at("answers").at("late").at("text");
    for (const char* words :
         {"comes last in 79 of 99 collectives", "causes 86.2 % of the waiting", "72.5 ms of all ranks' time", "by 40.0 %"}) {
        EXPECT_THAT(late, HasSubstr(words));
        EXPECT_THAT(text, HasSubstr(words));
    }
    const json& shown = findings.at(0);
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

/// The same quantity in the ranks, in what was found, and in a comparison.
TEST(RealRunPage, OneQuantityHasOneNumberWhereverItStands)
{
    const json answers = test::runJson("trace info --json " + kSlowRank).at("answers");
    const json difference = test::runJson("trace compare --json " + kSlowRank + " " + kSlowRank);
    std::map<std::string, double> means;
    double step = 0;
    const double count = static_cast<double>(answers.at("ranks").size());
    for (const json& rank : answers.at("ranks")) {
        double exposed = 0;
        for (const auto& [axis, seconds] : rank.at("exposed_by_axis_s").items()) {
            means["exposed " + axis + " communication"] += seconds.get<double>() / count;
            exposed += seconds.get<double>();
        }
        EXPECT_NEAR(exposed, rank.at("exposed_comm_s").get<double>(), 1e-12);
        means["computing"] += rank.at("computing_s").get<double>() / count;
        means["idle"] += rank.at("idle_s").get<double>() / count;
        step += rank.at("step_s").get<double>() / count;
    }
    EXPECT_NEAR(step, difference.at("step_s").at("a").get<double>(), 1e-12);
    std::size_t compared = 0;
    for (const json& part : difference.at("parts"))
        if (const auto mean = means.find(part.at("name").get<std::string>()); mean != means.end()) {
            EXPECT_NEAR(part.at("seconds").at("a").get<double>(), mean->second, 1e-8) << mean->first;
            ++compared;
        }
    EXPECT_EQ(compared, 5U);
    const json& finding = answers.at("findings").at(1);
    EXPECT_NEAR(finding.at("seconds").get<double>(), means.at("exposed dp communication"), 1e-12);
    std::array<char, 32> share{};
    std::snprintf(share.data(), share.size(), "%.1f %%", 100 * means.at("exposed dp communication") / step);
    EXPECT_THAT(finding.at("title").get<std::string>(), HasSubstr(share.data()));
}

TEST(RealRunPage, SaysWhatCalibratingSays)
{
    const std::string text = page();
    const std::string said = test::run("trace calibrate " + kSlowRank + " --scenario " + test::gallery("60-")).out;
    EXPECT_THAT(said, HasSubstr("56.4 ms measured"));
    EXPECT_THAT(said, HasSubstr("43.6 ms predicted before (-22.7 %)"));
    EXPECT_THAT(said, HasSubstr("56.4 ms with what was measured (0.0 %)"));
    EXPECT_THAT(said, HasSubstr("rank 5 takes 1.40 × as long as its peers"));
    for (const char* words : {"43.6 ms against 56.4 ms, 22.7 % less", "the prediction is 56.4 ms", "1.40 × as long"})
        EXPECT_THAT(text, HasSubstr(words));
}

} // namespace
