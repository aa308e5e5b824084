// Hardware profiles as files: what is written can be read, and what is wrong is told where it stands.
#include "sim/scenario/document.h"
#include "sim/scenario/hardware_profile.h"
#include "sim/scenario/schema.h"
#include "tests/support/catalogue.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sim;
using test::catalogue;

namespace {

HardwareProfile example()
{
    return {.device = "A processor, \"quoted\"",
            .precision = Precision::fp32,
            .kernels = {{"gemm.forward",
                         {{.m = 64, .n = 128, .k = 256, .microseconds = 0.1}, {.m = 1, .n = 3, .batch = 2, .microseconds = 1e6}}},
                        {"adamw", {{.m = 1, .n = 12345, .microseconds = 1.0 / 3}}}},
            .transfers = {{"all_reduce", {{.m = 1024, .n = 8, .microseconds = 5}}}},
            .kernelsAlone = true};
}

std::vector<Problem> problemsOfEfficiency(const std::string& efficiency, std::optional<Scenario>* scenario = nullptr)
{
    auto resolved = ScenarioDocument::parse(R"({"format":"rankscope-scenario","version":1,"model":"tiny-gpt","layout":{},
        "training":{"precision":"fp32"},"cluster":{"base":"laptop","efficiency":)" +
                                            efficiency + "}}")
                        .resolve(catalogue());
    if (scenario != nullptr)
        *scenario = std::move(resolved.scenario);
    return resolved.problems;
}

std::vector<std::string> pointersOf(const std::string& efficiency)
{
    std::vector<std::string> pointers;
    for (const Problem& problem : problemsOfEfficiency(efficiency))
        pointers.push_back(problem.pointer);
    return pointers;
}

} // namespace

TEST(HardwareProfile, IsReadAsItWasWritten)
{
    const std::string text = hardwareProfileText("mine", example());
    EXPECT_EQ(readHardwareProfile(text, "mine.json", catalogue().schema()), example());
}

TEST(HardwareProfile, BelongsToTheResolvedScenario)
{
    std::optional<Scenario> scenario;
    EXPECT_TRUE(problemsOfEfficiency(hardwareProfileText("mine", example()), &scenario).empty());
    ASSERT_TRUE(scenario);
    EXPECT_EQ(scenario->cluster.efficiency.profile, example());
    EXPECT_EQ(scenario->cluster.efficiency.gemm, 0.75) << "what was not measured stays the GPU's";
    const auto again = ScenarioDocument::parse(resolvedText(*scenario)).resolve(catalogue());
    ASSERT_TRUE(again.scenario);
    EXPECT_EQ(again.scenario->cluster.efficiency, scenario->cluster.efficiency);
}

TEST(HardwareProfile, TellsWhatIsWrongWhereItStands)
{
    using testing::ElementsAre;
    const std::string at = "/cluster/efficiency/";
    EXPECT_THAT(pointersOf(R"({"kernels":[{"name":"gemm.sideways","points":[{"m":1,"n":1,"us":1}]}]})"),
                ElementsAre(at + "kernels/0/name"));
    EXPECT_THAT(pointersOf(R"({"kernels":[{"name":"adamw","points":[{"m":1,"n":1}]}]})"), ElementsAre(at + "kernels/0/points/0"));
    EXPECT_THAT(pointersOf(R"({"kernels":[{"name":"adamw","points":[{"m":1,"n":1,"us":0}]}]})"),
                ElementsAre(at + "kernels/0/points/0/us"));
    EXPECT_THAT(pointersOf(R"({"kernels":[{"name":"adamw","points":[]}]})"), ElementsAre(at + "kernels/0/points"));
    EXPECT_THAT(pointersOf(R"({"transfers":[{"name":"send","points":[{"bytes":8,"members":1,"us":1}]}]})"),
                ElementsAre(at + "transfers/0/points/0/members"));
    EXPECT_THAT(
        pointersOf(
            R"({"kernels":[{"name":"sgd","points":[{"m":1,"n":1,"us":1}]},{"name":"sgd","points":[{"m":1,"n":1,"us":2}]}]})"),
        ElementsAre(at + "kernels/1/name"));
}

TEST(HardwareProfile, OfAnotherPrecisionIsWarnedOf)
{
    HardwareProfile profile = example();
    profile.precision = Precision::bf16;
    const std::vector<Problem> problems = problemsOfEfficiency(hardwareProfileText("mine", profile));
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems[0].severity, Severity::warning);
    EXPECT_EQ(problems[0].pointer, "/cluster/efficiency/precision");
}

TEST(HardwareProfile, FileThatIsWrongIsRefusedWithAllProblems)
{
    try {
        readHardwareProfile(R"({"kernels":[{"name":"x","points":[{"m":1,"n":1,"us":-1}]}]})", "p.json", catalogue().schema());
        FAIL();
    } catch (const ScenarioError& error) {
        EXPECT_EQ(error.problems().size(), 2U) << error.what();
    }
}
