#include "app/session/legal_values.h"

#include "app/session/presets.h"
#include "app/session/scenario_keys.h"
#include "tests/app/session/session_fixtures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace app {
namespace {

using namespace test;

TEST(LegalValues, StepAlongWhatThereIs)
{
    const LegalValues values{.values = {1, 2, 4, 8}, .refused = {}};
    EXPECT_EQ(values.stepped(2, 1), 4);
    EXPECT_EQ(values.stepped(3, 1), 4);
    EXPECT_EQ(values.stepped(3, -1), 2);
    EXPECT_EQ(values.stepped(8, 1), 8);
    EXPECT_EQ(values.stepped(1, -3), 1);
    EXPECT_EQ(values.indexOfNearest(7), 3);
    EXPECT_EQ(values.around(5), (std::vector<double>{4, 8}));
    EXPECT_EQ(values.around(9), (std::vector<double>{8}));
    EXPECT_TRUE(values.contains(4));
    EXPECT_FALSE(values.contains(3));
}

LegalValues valuesAt(const sim::ScenarioDocument& document, std::string_view pointer, LayoutRule rule = LayoutRule::keepGpus)
{
    const auto legal = scenario(document);
    return legalValues(ScenarioState(document, &legal, catalogue()), pointer, rule);
}

TEST(LegalValues, EndWithAReason)
{
    const LegalValues tp = valuesAt(document(kSixteen), Control::tp);
    EXPECT_EQ(tp.values, (std::vector<double>{1, 2, 4}));
    EXPECT_NE(tp.whyNotMore().find('8'), std::string::npos) << tp.whyNotMore();
    EXPECT_EQ(tp.whyNotLess(), "");
}

/// 126 layers on 16 pipeline ranks: 8 chunks a rank are 128, the first and the last with a layer less.
TEST(LegalValues, OfStagesCountTheOuterTwoThatNeedNoLayers)
{
    auto changed = document("41-llama3-405b-8192-gpus.json");
    changed.set("/schedule/virtual_stages", "7");
    changed.erase("/schedule/layers_per_stage");
    EXPECT_EQ(valuesAt(changed, Control::virtualStages).values.back(), 8);
    const auto few = document("57-tiny-dp4.json");
    const double layers = scenario(few).model.numHiddenLayers;
    EXPECT_EQ(valuesAt(few, Control::pp, LayoutRule::resize).values.back(), layers + 2);
}

TEST(LegalValues, OfWhatIsTooLargeEndWithWhatTheReaderCallsNearest)
{
    auto changed = document("38-gpt3-175b-1024-gpus.json");
    const auto legal = scenario(changed);
    changed.set(Control::nodes, "99999999999");
    const LegalValues nodes = legalValues(ScenarioState(changed, &legal, catalogue()), Control::nodes, LayoutRule::keepGpus);
    const auto problems = changed.resolve(catalogue()).problems;
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_TRUE(problems[0].message.ends_with("nearest: 1048576")) << problems[0].message;
    EXPECT_EQ(nodes.around(99999999999), (std::vector<double>{1048576}));
}

TEST(LegalValues, TellWhyTheNeighboursAreNoneInTheReadersOwnWords)
{
    const auto before = document(kSixteen);
    const LegalValues heads = valuesAt(before, "/model/num_key_value_heads");
    const auto nine = std::find_if(heads.refused.begin(), heads.refused.end(), [](const Refusal& r) { return r.json == "9"; });
    ASSERT_NE(nine, heads.refused.end());
    auto broken = before;
    broken.set("/model/num_key_value_heads", "9");
    bool isSaid = false;
    for (const sim::Problem& problem : broken.resolve(catalogue()).problems)
        isSaid = isSaid || problem.message.starts_with(nine->why);
    EXPECT_TRUE(isSaid) << nine->why;
    for (const Refusal& refusal : heads.refused)
        EXPECT_FALSE(heads.contains(*numberOf(refusal.json))) << refusal.json;
}

TEST(LegalValues, TellWhyWhatStandsThereIsNone)
{
    auto broken = document(kSixteen);
    const auto legal = scenario(broken);
    broken.set(Control::globalBatchSize, "7");
    const LegalValues batch =
        legalValues(ScenarioState(broken, &legal, catalogue()), Control::globalBatchSize, LayoutRule::keepGpus);
    EXPECT_TRUE(std::ranges::any_of(batch.refused, [](const Refusal& each) { return each.json == "7" && !each.why.empty(); }));
}

TEST(LegalValues, SayWhichWordsCannotBeChosen)
{
    auto before = document(kSixteen);
    before.set("cluster", R"({"base":"dgx-a100","nodes":2})");
    const LegalValues precision = valuesAt(before, "/training/precision");
    ASSERT_EQ(precision.refused.size(), 3U); // and the narrower ones
    EXPECT_EQ(precision.refused[0].json, "\"fp8\"");
    EXPECT_NE(precision.refused[0].why.find("fp8"), std::string::npos);
}

/// Every value a slider stops at and every choice not refused makes a scenario that can be resolved, whichever came before.
TEST(LegalValues, AreLegalAlongRandomWalks)
{
    std::mt19937 random(7); // NOLINT(bugprone-random-generator-seed)
    for (const char* name :
         {kSixteen, kTiny, "50-mixtral-8x7b-ep8.json", "18-schedule-interleaved-1f1b.json", "21-slow-gpu.json"}) {
        auto walked = document(name);
        for (int step = 0; step < 25; ++step) {
            const auto legal = scenario(walked);
            const ScenarioState state(walked, &legal, catalogue());
            const auto rule = random() % 2 == 0 ? LayoutRule::keepGpus : LayoutRule::resize;
            const auto pointers = formPointers(state);
            const std::string& pointer = pointers[random() % pointers.size()];
            const LegalValues values = legalValues(state, pointer, rule);
            std::string json;
            if (!values.values.empty()) {
                const auto now = state.number(pointer);
                ASSERT_TRUE(!now || values.contains(*now)) << name << " " << pointer << " " << *now;
                json = jsonNumber(values.values[random() % values.values.size()]);
            } else {
                std::vector<std::string> free;
                for (const KeyOption& option : keyOptions(catalogue(), *findScenarioKey(pointer))) {
                    const bool isRefused = std::any_of(values.refused.begin(), values.refused.end(),
                                                       [&](const Refusal& r) { return r.json == option.json; });
                    if (!isRefused)
                        free.push_back(option.json);
                }
                if (free.empty())
                    continue;
                json = free[random() % free.size()];
            }
            const Edit edit = makeEdit(state, pointer, json, rule);
            apply(walked, edit);
            ASSERT_NO_THROW(scenario(walked)) << name << ": " << pointer << " " << edit.text;
        }
    }
}

/// Each entry's values are those that it would have alone, and only entries that the form shows have any.
TEST(LegalValues, OfManyPerturbationsAreThoseOfEachAlone)
{
    auto many = document(kSixteen);
    std::string list;
    for (int i = 0; i < 300; ++i)
        list += (i > 0 ? "," : "[") + std::string(R"({"kind":"slow_gpu","rank":)") + std::to_string(i % 16) + R"(,"factor":1.5})";
    many.set("/perturbations", list + "]");
    auto one = many;
    one.set("/perturbations", R"([{"kind":"slow_gpu","rank":3,"factor":1.5}])");
    const LegalValueTable ofMany = legalValues(many, catalogue(), scenario(many), LayoutRule::resize);
    const LegalValueTable ofOne = legalValues(one, catalogue(), scenario(one), LayoutRule::resize);
    EXPECT_EQ(ofMany.at("/perturbations/3/rank"), ofOne.at("/perturbations/0/rank"));
    EXPECT_EQ(ofMany.at("/perturbations/3/rank").values.size(), 16U);
    EXPECT_FALSE(ofMany.at("/perturbations/3/rank").whyNotMore().empty());
    EXPECT_EQ(ofMany.at("/perturbations/3/factor"), ofOne.at("/perturbations/0/factor"));
    EXPECT_FALSE(ofMany.contains("/perturbations/3/sigma")) << "a slow GPU takes none";
    const auto rankOf = [](std::size_t i) { return "/perturbations/" + std::to_string(i) + "/rank"; };
    EXPECT_TRUE(ofMany.contains(rankOf(kMostFormEntries - 1)));
    EXPECT_FALSE(ofMany.contains(rankOf(kMostFormEntries))) << "it has no row";
    EXPECT_GT(ofMany.at("/layout/dp").values.front(), ofOne.at("/layout/dp").values.front()) << "rank 15 must be there";
}

TEST(Presets, DoWhatTheySayOrSayWhyNot)
{
    for (const char* name : {kSixteen, kTiny, "50-mixtral-8x7b-ep8.json", kLarge}) {
        const auto before = document(name);
        const auto legal = scenario(before);
        const ScenarioState state(before, &legal, catalogue());
        const auto list = presets(state);
        EXPECT_GE(list.size(), 8U);
        for (const Preset& preset : list) {
            auto after = before;
            apply(after, preset.edit);
            EXPECT_NE(after.text(), before.text()) << name << ": " << preset.name;
            EXPECT_EQ(after.resolve(catalogue()).scenario.has_value(), preset.whyNot.empty()) << name << ": " << preset.name;
            EXPECT_EQ(preset.edit.text, preset.name);
        }
        auto doubled = before;
        apply(doubled, list[1].edit);
        EXPECT_EQ(scenario(doubled).layout.worldSize(), 2 * legal.layout.worldSize());
        EXPECT_EQ(scenario(doubled).microbatches(), legal.microbatches());
    }
}

} // namespace
} // namespace app
