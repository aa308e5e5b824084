// What a scenario is called that nobody named.
#include "app/session/scenario_name.h"

#include "tests/app/session/session_fixtures.h"

#include <gtest/gtest.h>

namespace app {
namespace {

TEST(ScenarioName, DoesNotCallAChangedModelByTheNameItBeganWith)
{
    auto document = sim::ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1, "model": "llama3-8b",
        "cluster": {"base": "h100-sxm-ib400", "nodes": 32}, "layout": {"tp": 8, "dp": 32}})");
    EXPECT_EQ(modelOnGpus(test::scenario(document)).toStdString(), "Llama 3.1 8B on 256 GPUs");
    document.set("/model/num_hidden_layers", "96");
    EXPECT_EQ(modelOnGpus(test::scenario(document)).toStdString(), "Llama 3.1 8B (changed) on 256 GPUs");
}

TEST(ScenarioName, SaysOfWhichLayersANumberIs)
{
    auto before = test::document("39-recompute-175b-full.json");
    before.set("/training/recompute", R"({"kind": "full", "layers": 2})");
    auto after = before;
    after.set("/training/recompute/layers", "1");
    const sim::Scenario a = test::scenario(before), b = test::scenario(after);
    EXPECT_TRUE(changedSettings({after, b}, {before, a}).endsWith(QStringLiteral("recomputed layers a chunk 1")))
        << changedSettings({after, b}, {before, a}).toStdString();
}

} // namespace
} // namespace app
