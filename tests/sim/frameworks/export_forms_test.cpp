// What is written is what the framework takes: names and forms of its own settings, and refusals by its own rules.
#include "tests/support/catalogue.h"

#include "sim/frameworks/export/writers.h"
#include "sim/frameworks/frameworks.h"
#include "sim/scenario/document.h"
#include "sim/scenario/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace {

using sim::Json;
using testing::HasSubstr;
using testing::Not;

using Changes = std::initializer_list<std::pair<const char*, const char*>>;

sim::Scenario changed(const std::string& model, Changes values, const std::string& cluster = "h100-sxm-ib400")
{
    auto document =
        sim::ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1, "model": {"base": ")" + model +
                                     R"("}, "cluster": {"base": ")" + cluster + R"("}, "layout": {"tp": 1}, "training": {}})");
    for (const auto& [pointer, value] : values)
        document.set(pointer, value);
    return sim::resolvedScenario(document, test::catalogue());
}

/// The text, or the refusal.
std::string formOf(std::string_view kind, const sim::Scenario& scenario)
{
    try {
        return sim::exportSettings(scenario, kind, test::catalogue()).text;
    } catch (const sim::Error& error) {
        return error.what();
    }
}

/// Pointers of what it says that it loses, all but the software's and the model's name.
std::vector<std::string> lostBy(std::string_view kind, const sim::Scenario& scenario)
{
    std::vector<std::string> pointers;
    for (const sim::Note& note : sim::exportSettings(scenario, kind, test::catalogue()).notes)
        if (note.became == sim::Became::notRepresentable)
            pointers.push_back(note.pointer);
    return pointers;
}

bool loses(std::string_view kind, const sim::Scenario& scenario, std::string_view pointer)
{
    const std::vector<std::string> all = lostBy(kind, scenario);
    return std::find(all.begin(), all.end(), pointer) != all.end();
}

Json importedModel(const std::string& kind, const std::string& text, int gpus)
{
    const auto back = sim::importSettings({{"job", text}}, {.kind = kind, .gpus = gpus}, test::catalogue());
    const auto document = sim::ScenarioDocument::parse(back.scenario);
    return Json::parse(sim::resolvedText(sim::resolvedScenario(document, test::catalogue())));
}

TEST(ExportForms, SettingsWithoutAModelLoseNothingOfWhatTheySay)
{
    for (const auto& file : test::galleryFiles()) {
        const sim::Scenario scenario = sim::readScenario(file, test::catalogue());
        for (const char* kind : {"deepspeed-json", "accelerate-yaml"})
            try {
                for (const sim::Note& note : sim::exportSettings(scenario, kind, test::catalogue()).notes) {
                    EXPECT_FALSE(note.pointer == "/training/optimizer" && note.value == "\"adamw\"") << file << kind;
                    EXPECT_NE(note.pointer, "/training/moment_dtype") << file << kind;
                }
                EXPECT_TRUE(loses(kind, scenario, "/training/sequence_length")) << "is said to the program";
            } catch (const sim::Error&) {
                continue;
            }
    }
}

} // namespace
