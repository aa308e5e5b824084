// Worked cases of real configurations (tests/data/interop, each with its source): settings are written out in their kind's own
// syntax and imported; every expected pointer is compared with the resolved scenario.
#include "tests/support/catalogue.h"

#include "sim/frameworks/frameworks.h"
#include "sim/scenario/document.h"
#include "sim/scenario/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace {

using sim::Json;
using testing::HasSubstr;

std::string textOf(const std::filesystem::path& path)
{
    std::ifstream in(path);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

std::string asFlags(const Json& settings)
{
    std::string text;
    for (const auto& [flag, value] : settings.items())
        if (value.is_string())
            text += " \\\n    " + flag + " '" + value.get<std::string>() + "'";
        else if (value != Json(false))
            text += " \\\n    " + flag + (value == Json(true) ? "" : " " + value.dump());
    return text + "\n";
}

std::string asYaml(const Json& settings, int indentation = 0)
{
    std::string text;
    for (const auto& [key, value] : settings.items()) {
        text += std::string(static_cast<std::size_t>(indentation), ' ') + key + ":";
        if (value.is_object())
            text += "\n" + asYaml(value, indentation + 2);
        else
            text += " " + (value.is_string() ? value.get<std::string>() : value.dump()) + "\n";
    }
    return text;
}

std::string asToml(const Json& settings, const std::string& path = "")
{
    std::string text, tables;
    for (const auto& [key, value] : settings.items())
        if (value.is_object())
            tables += "\n[" + path + key + "]\n" + asToml(value, path + key + ".");
        else
            text += key + " = " + value.dump() + "\n";
    return text + tables;
}

std::string asPython(const Json& settings)
{
    std::string text;
    for (const auto& [name, value] : settings.items())
        text += "cfg." + name + " = " +
                (value.is_null()        ? "None"
                 : value == Json(true)  ? "True"
                 : value == Json(false) ? "False"
                                        : value.dump()) +
                "\n";
    return text;
}

/// The kind as --from has it, and the files.
std::pair<std::string, std::vector<sim::SettingsFile>> written(const Json& golden)
{
    const std::string kind = golden["kind"], id = golden["id"];
    const Json& settings = golden["settings"];
    if (kind == "megatron-args" || kind == "megatron-shell")
        return {"megatron-args", {{id + ".sh", "torchrun pretrain_gpt.py" + asFlags(settings)}}};
    if (kind == "megatron-deepspeed")
        return {kind,
                {{id + ".sh", "deepspeed pretrain_gpt.py" + asFlags(settings["args"])},
                 {id + ".json", settings["ds_config"].dump(1)}}};
    if (kind == "bridge-python") // a recipe's function has its model in its name
        return {kind,
                {{id + ".py", "def " +
                                  golden["source"]["path"].get<std::string>().substr(
                                      golden["source"]["path"].get<std::string>().rfind(':') + 1) +
                                  "():\n" + asPython(settings)}}};
    if (kind == "torchtitan-toml")
        return {kind, {{id + ".toml", asToml(settings)}}};
    if (kind == "deepspeed-json")
        return {kind, {{id + ".json", settings.dump(1)}}};
    return {kind, {{id + ".yaml", asYaml(settings)}}};
}

std::vector<std::string> goldenNames()
{
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(RANKSCOPE_TEST_DATA "/interop"))
        names.push_back(entry.path().stem().string());
    std::sort(names.begin(), names.end());
    return names;
}

class InteropCase : public testing::TestWithParam<std::string> {};

TEST_P(InteropCase, SaysWhatIsExpectedOfIt)
{
    const Json golden = Json::parse(textOf(std::filesystem::path(RANKSCOPE_TEST_DATA "/interop") / (GetParam() + ".json")));
    const auto [kind, files] = written(golden);
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

INSTANTIATE_TEST_SUITE_P(Frameworks, InteropCase, testing::ValuesIn(goldenNames()), [](const auto& one) {
    std::string name = one.param;
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return name;
});

} // namespace
