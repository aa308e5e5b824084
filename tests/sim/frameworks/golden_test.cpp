// Worked cases of real configurations (tests/data/interop, each with its source): settings are written out in their kind's own
// syntax and imported; every expected pointer is compared with the resolved scenario.
#include "tests/support/catalogue.h"
#include "tests/support/interop_cases.h"

#include "sim/frameworks/frameworks.h"
#include "sim/scenario/document.h"
#include "sim/scenario/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace {

using sim::Json;
using testing::HasSubstr;

class InteropCase : public testing::TestWithParam<std::string> {};

TEST_P(InteropCase, SaysWhatIsExpectedOfIt)
{
    const Json golden = test::interopCase(GetParam());
    const auto [kind, files] = test::writtenOut(golden);
    sim::ImportOptions options;
    if (golden["gpus"].is_number())
        options.gpus = golden["gpus"].get<int>();
    const sim::Imported imported = sim::importSettings(files, options, test::catalogue());
    EXPECT_EQ(imported.kind, kind) << "recognised by content";

    const sim::ScenarioDocument document = sim::ScenarioDocument::parse(imported.scenario);
    const auto resolved = document.resolve(test::catalogue());
    const bool isBroken = golden.contains("expected_problems");
    std::string problems;
    for (const sim::Problem& problem : resolved.problems)
        problems += problem.text() + "\n";
    EXPECT_TRUE(resolved.scenario || isBroken) << problems;
    const Json scenario = Json::parse(resolved.scenario ? sim::resolvedText(*resolved.scenario) : imported.scenario);
    for (const auto& [pointer, want] : golden["expected"].items()) {
        if (golden["expected"].value("/layout/pp", 1) == 1 &&
            (pointer.starts_with("/schedule") || pointer == "/training/overlap/p2p"))
            continue;
        if (pointer == "/model/base") { // the same numbers
            const Json& base = *test::catalogue().modelJson(want.get<std::string>());
            for (const char* key : {"num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads", "vocab_size"})
                EXPECT_EQ(scenario["model"][key], base[key]) << key;
            continue;
        }
        const Json* have = sim::findAt(scenario, sim::splitPointer(pointer));
        ASSERT_NE(have, nullptr) << pointer;
        if (want == Json("${.encoder_seq_length}"))
            EXPECT_EQ(*have, golden["settings"]["model"]["encoder_seq_length"]);
        else if (pointer == "/training/recompute" && want.is_string() && have->is_object())
            EXPECT_EQ((*have)["kind"], want);
        else
            EXPECT_EQ(*have, want) << pointer;
    }

    std::string told;
    for (const sim::Note& note : imported.notes)
        told += note.setting + " " + note.value + " " + note.text + "\n";
    for (const Json& must : golden["must_report"]) {
        const std::string text = must.get<std::string>();
        EXPECT_THAT(told, HasSubstr(text.substr(0, text.find_first_of(" ")))) << "has to be reported";
    }
    if (isBroken) {
        EXPECT_TRUE(std::any_of(imported.notes.begin(), imported.notes.end(),
                                [](const sim::Note& note) { return note.became == sim::Became::contradictory; }));
    }
    for (const sim::Note& note : imported.notes) // nothing that these cases have is a stranger
        EXPECT_FALSE(note.line > 0 && note.became == sim::Became::unknown && note.value != "auto")
            << note.setting << ": " << note.text;
}

INSTANTIATE_TEST_SUITE_P(Frameworks, InteropCase, testing::ValuesIn(test::interopCases()), [](const auto& one) {
    std::string name = one.param;
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return name;
});

} // namespace
