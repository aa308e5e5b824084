// What is offered where a framework would refuse a scenario.
#include "app/session/refusal_remedies.h"

#include "sim/error.h"
#include "sim/frameworks/frameworks.h"
#include "sim/frameworks/limits.h"
#include "tests/app/session/session_fixtures.h"
#include "tests/support/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace app {
namespace {

using namespace test;

bool isRefused(const sim::ScenarioDocument& document, std::string_view kind)
{
    try {
        sim::exportSettings(scenario(document), kind, catalogue());
    } catch (const sim::Error&) {
        return true;
    }
    return false;
}

std::vector<std::string> textsOf(const std::vector<Edit>& remedies)
{
    std::vector<std::string> out;
    for (const Edit& edit : remedies)
        out.push_back(edit.text);
    return out;
}

std::vector<Edit> remediesFor(const sim::ScenarioDocument& document, std::string_view kind)
{
    return refusalRemedies(document, scenario(document), kind, catalogue());
}

TEST(RefusalRemedies, OfAStageThatMegatronDoesNotHaveAreTheNearestOneFirst)
{
    sim::ScenarioDocument two = document("05-dp2-tp4-pp2-sixteen-gpus.json"), three = two;
    two.set("/layout/zero_stage", "2");
    EXPECT_THAT(textsOf(remediesFor(two, "megatron-args")), testing::Contains("ZeRO 2 → 1"));
    three.set("/layout/zero_stage", "3");
    const auto texts = textsOf(remediesFor(three, "megatron-args"));
    ASSERT_FALSE(texts.empty());
    EXPECT_EQ(texts.front(), "ZeRO 3 → 1") << "its own key before others, past 2, which is refused as well";
    EXPECT_THAT(texts, testing::Contains(testing::HasSubstr("pp 2 → 1"))) << "which it speaks of";
}

TEST(RefusalRemedies, AreNoneWhereNothingIsRefused)
{
    EXPECT_TRUE(remediesFor(document("05-dp2-tp4-pp2-sixteen-gpus.json"), "megatron-args").empty());
}

/// Where one edit is not enough each that is offered leads there: it breaks fewer rules, and none that was kept.
TEST(RefusalRemedies, OfSeveralRulesEachLeavesFewerAndBreaksNoOther)
{
    int severalAtOnce = 0, offered = 0;
    for (const char* file : {"05-dp2-tp4-pp2-sixteen-gpus.json", "70-schedule-dualpipe.json", "50-mixtral-8x7b-ep8.json"})
        for (const char* zero : {"0", "2", "3"})
            for (const char* sequenceParallel : {"false", "true"}) {
                sim::ScenarioDocument given = document(file);
                given.set("/layout/zero_stage", zero);
                given.set("/layout/sequence_parallel", sequenceParallel);
                const auto resolved = given.resolve(catalogue());
                for (const sim::FrameworkKind& kind : sim::frameworkKinds()) {
                    if (!resolved.scenario || !kind.isExported || !isRefused(given, kind.id))
                        continue;
                    const std::vector<std::size_t> before = sim::refusalsOfKind(kind.id, *resolved.scenario);
                    EXPECT_FALSE(before.empty()) << kind.id << " refuses for what is no limit";
                    severalAtOnce += before.size() > 1 ? 1 : 0;
                    for (const Edit& edit : remediesFor(given, kind.id)) {
                        sim::ScenarioDocument changed = given;
                        apply(changed, edit);
                        const std::vector<std::size_t> left = sim::refusalsOfKind(kind.id, scenario(changed));
                        EXPECT_LT(left.size(), before.size()) << kind.id << " of " << file << ": " << edit.text;
                        EXPECT_TRUE(std::includes(before.begin(), before.end(), left.begin(), left.end()))
                            << kind.id << " of " << file << ": " << edit.text;
                        ++offered;
                    }
                }
            }
    EXPECT_GT(severalAtOnce, 10);
    EXPECT_GT(offered, 20);
}

/// Models that a framework does not have are no setting, and have none.
TEST(RefusalRemedies, AreThereForMostThatIsRefusedOfTheGalleryAndKeepItsGpus)
{
    int refused = 0, offered = 0;
    const auto files = ::test::galleryFiles();
    for (std::size_t i = 0; i < files.size(); i += 6) {
        const sim::ScenarioDocument document = sim::ScenarioDocument::readFile(files[i].string());
        for (const sim::FrameworkKind& kind : sim::frameworkKinds()) {
            if (!kind.isExported || !isRefused(document, kind.id))
                continue;
            ++refused;
            const std::vector<Edit> remedies = remediesFor(document, kind.id);
            offered += remedies.empty() ? 0 : 1;
            for (const Edit& edit : remedies) {
                sim::ScenarioDocument changed = document;
                apply(changed, edit);
                EXPECT_EQ(scenario(changed).layout.worldSize(), scenario(document).layout.worldSize()) << edit.text;
            }
        }
    }
    EXPECT_GT(refused, 20);
    EXPECT_GT(offered * 10, refused * 8) << offered << " of " << refused;
}

} // namespace
} // namespace app
