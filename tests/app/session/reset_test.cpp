#include "app/session/reset.h"

#include "app/session/legal_values.h"
#include "app/session/scenario_keys.h"
#include "tests/app/session/session_fixtures.h"

#include <gtest/gtest.h>

#include <random>

namespace app {
namespace {

using namespace test;

/// A file and what was made of it.
struct Changed {
    explicit Changed(const char* name) : file(document(name)), legalFile(scenario(file)), now(file), legalNow(legalFile) {}
    ScenarioState fileState() const { return {file, &legalFile, catalogue()}; }
    ScenarioState state() const { return {now, &legalNow, catalogue()}; }
    void set(std::string_view pointer, const std::optional<std::string>& json, LayoutRule rule = LayoutRule::keepGpus)
    {
        apply(now, makeEdit(state(), pointer, json, rule));
        legalNow = scenario(now);
    }
    void reset(std::string_view pointer, LayoutRule rule = LayoutRule::keepGpus)
    {
        apply(now, makeResetEdit(state(), fileState(), pointer, rule));
        legalNow = scenario(now);
    }
    sim::ScenarioDocument file;
    sim::Scenario legalFile;
    sim::ScenarioDocument now;
    sim::Scenario legalNow;
};

TEST(Reset, TakesBackWhatFollowedToo)
{
    Changed c(kSixteen);
    c.set(Control::tp, "4");
    EXPECT_EQ(c.legalNow.layout.dp, 1);
    EXPECT_TRUE(isChanged(c.state(), c.fileState(), Control::tp));
    EXPECT_TRUE(isChanged(c.state(), c.fileState(), Control::dp));
    EXPECT_FALSE(isChanged(c.state(), c.fileState(), "/layout/etp")) << "it only follows tp";
    EXPECT_EQ(fileText(c.fileState(), Control::tp), "2");
    c.reset(Control::tp);
    EXPECT_EQ(c.now.text(), c.file.text());
}

TEST(Reset, OfOneKeyLeavesTheOthers)
{
    Changed c(kSixteen);
    c.set("/model/num_hidden_layers", "16");
    c.set("/training/sequence_length", "4096");
    c.reset("/model/num_hidden_layers");
    EXPECT_EQ(c.legalNow.training.sequenceLength, 4096);
    EXPECT_EQ(c.now.get("/model"), c.file.get("/model"));
    c.reset("/training/sequence_length");
    EXPECT_EQ(c.now.text(), c.file.text());
}

TEST(Reset, BringsBackWhatTheFileListed)
{
    Changed c(kTiny); // names the layers of its two stages
    c.set(Control::pp, "4");
    EXPECT_FALSE(c.now.get("/schedule/layers_per_stage"));
    c.reset(Control::pp);
    EXPECT_EQ(c.now.text(), c.file.text());
}

/// Of any key of the form, whatever it was changed to.
TEST(Reset, RestoresTheFileToTheLetter)
{
    std::mt19937 random(11); // NOLINT(bugprone-random-generator-seed)
    for (const char* name : {kSixteen, kTiny, "50-mixtral-8x7b-ep8.json", "21-slow-gpu.json", "55-deepseek-v3-256-gb200.json"}) {
        const Changed opened(name);
        for (const std::string& pointer : formPointers(opened.state())) {
            const auto rule = random() % 2 == 0 ? LayoutRule::keepGpus : LayoutRule::resize;
            const LegalValues values = legalValues(opened.state(), pointer, rule);
            if (values.values.size() < 2)
                continue;
            Changed c(name);
            c.set(pointer, jsonNumber(values.values[random() % values.values.size()]), rule);
            c.reset(pointer, rule);
            EXPECT_EQ(c.now.text(), c.file.text()) << name << " " << pointer;
        }
    }
}

TEST(Reset, ToTheCataloguesEntryKeepsTheNodes)
{
    Changed c(kSixteen);
    EXPECT_FALSE(makeBackToBaseEdit(c.state(), "/model"));
    c.set("/model/hidden_size", "8192");
    c.set("/cluster/gpu/memory_gib", "141");
    const auto model = makeBackToBaseEdit(c.state(), "/model");
    ASSERT_TRUE(model);
    EXPECT_EQ(model->text, "back to Llama 3.1 8B");
    apply(c.now, *model);
    const auto gpu = makeBackToBaseEdit(c.state(), "/cluster/gpu");
    ASSERT_TRUE(gpu);
    apply(c.now, *gpu);
    EXPECT_EQ(scenario(c.now), c.legalFile);
    EXPECT_FALSE(makeBackToBaseEdit(c.state(), "/model"));
}

TEST(Reset, OfEverythingIsTheFile)
{
    Changed c(kSixteen);
    c.set("/live/steps", "64");
    c.set("/schedule/kind", "\"interleaved-1f1b\"");
    apply(c.now, makeResetEdit(c.state(), c.fileState()));
    EXPECT_EQ(c.now.text(), c.file.text());
}

} // namespace
} // namespace app
