// The schema is what the reader enforces, what editors show, and what the defaults really are.
#include "sim/scenario/document.h"
#include "sim/scenario/json_text.h"
#include "sim/scenario/schema.h"
#include "tests/support/catalogue.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <string>

using namespace sim;
using test::catalogue;

namespace {

Json schemaFile()
{
    std::ifstream file(RANKSCOPE_SOURCE_DIR "/assets/scenario.schema.json");
    return Json::parse(file);
}

/// Every rule for a value: properties, items and alternatives, with the pointer where it stands.
void forEachRule(const Json& rule, const std::string& pointer, const std::function<void(const Json&, const std::string&)>& visit)
{
    visit(rule, pointer);
    for (const char* members : {"properties", "$defs"})
        if (rule.contains(members))
            for (const auto& [key, member] : rule.at(members).items())
                forEachRule(member, pointer + "/" + members + "/" + key, visit);
    if (rule.contains("items"))
        forEachRule(rule.at("items"), pointer + "/items", visit);
    if (rule.contains("anyOf"))
        for (const Json& alternative : rule.at("anyOf"))
            forEachRule(alternative, pointer + "/anyOf", visit);
}

} // namespace

TEST(Schema, SaysOfEveryKeyWhatItIs)
{
    forEachRule(schemaFile(), "", [](const Json& rule, const std::string& pointer) {
        EXPECT_TRUE(rule.contains("description") || rule.contains("$ref")) << pointer;
        const bool isNumber = rule.contains("type") && (rule.at("type") == "integer" || rule.at("type") == "number");
        EXPECT_TRUE(!isNumber || rule.contains("maximum")) << pointer << ": a number without an end overflows somewhere";
        if (rule.contains("type") && rule.at("type") == "object" && pointer != "/properties/view" &&
            pointer != "/properties/cases") {
            EXPECT_TRUE(rule.contains("additionalProperties")) << pointer;
        }
    });
}

TEST(Schema, NamesTheDefaultsThatTheReaderFillsIn)
{
    // Only what has no default; the GPU has no efficiency of its own.
    const auto resolved = ScenarioDocument::parse(R"({"format":"rankscope-scenario","version":1,
        "model":{"num_hidden_layers":2,"hidden_size":64,"num_attention_heads":4,"vocab_size":100},
        "cluster":{"gpu":{"peak_tflops":{"bf16":1},"memory_gib":1,"memory_bandwidth_gbs":1},"gpus_per_node":1,
                   "tiers":[{"name":"a","span":"all","bandwidth_gbs":1,"latency_us":1}]},
        "layout":{}, "perturbations":[{"kind":"jitter","sigma":0.1}]})")
                              .resolve(catalogue());
    ASSERT_TRUE(resolved.scenario) << resolved.problems.front().text();
    const Json filled = Json::parse(resolvedText(*resolved.scenario));
    const Json definitions = schemaFile().at("$defs");
    const std::vector<std::pair<std::string, std::string>> blocks = {{"model", "/model"},
                                                                     {"gpu", "/cluster/gpu"},
                                                                     {"efficiency", "/cluster/efficiency"},
                                                                     {"tier", "/cluster/tiers/0"},
                                                                     {"layout", "/layout"},
                                                                     {"schedule", "/schedule"},
                                                                     {"training", "/training"},
                                                                     {"stack", "/training/stack"},
                                                                     {"perturbation", "/perturbations/0"},
                                                                     {"live", "/live"}};
    int compared = 0;
    const auto compare = [&](const Json& rules, const std::string& at) {
        for (const auto& [key, rule] : rules.items())
            if (rule.contains("default")) {
                EXPECT_EQ(filled.at(Json::json_pointer(at + "/" + key)), rule.at("default")) << at << "/" << key;
                ++compared;
            }
    };
    for (const auto& [definition, at] : blocks)
        compare(definitions.at(definition).at("properties"), at);
    compare(definitions.at("training").at("properties").at("overlap").at("properties"), "/training/overlap");
    EXPECT_GT(compared, 45);
}

TEST(Schema, RefusesKeywordsThatTheReaderWouldNotEnforce)
{
    EXPECT_NO_THROW(Schema(Json::parse(R"({"type":"object","properties":{"a":{"type":"integer","minimum":1}}})")));
    for (const char* text : {R"({"type":"string","pattern":"a+"})", R"({"properties":{"a":{"multipleOf":2}}})",
                             R"({"$defs":{"a":{"items":{"uniqueItems":true}}}})", R"({"anyOf":[{"const":1}]})"})
        EXPECT_THROW(Schema(Json::parse(text)), Error) << text;
}

TEST(Schema, TellsAlternativesAndRangesApart)
{
    const Schema schema(Json::parse(R"({"type":"object","additionalProperties":false,"required":["a"],"properties":{
        "a":{"anyOf":[{"type":"integer","minimum":1,"maximum":4},{"type":"string","enum":["all"]}]},
        "name":{"type":"string","maxLength":4},
        "b":{"type":"array","minItems":2,"maxItems":3,"items":{"type":"number","exclusiveMinimum":0}},
        "c/d":{"type":"boolean"}}})"));
    const auto messages = [&schema](const char* text) {
        std::string all;
        for (const Problem& problem : schema.check(Json::parse(text), {}))
            all += problem.text() + "\n";
        return all;
    };
    EXPECT_EQ(messages(R"({"a":1})"), "");
    EXPECT_EQ(messages(R"({"a":4.0})"), "");
    EXPECT_EQ(messages(R"({"a":1,"name":"käse"})"), "") << "characters are counted, not bytes";
    EXPECT_EQ(messages(R"({"a":1,"name":"large"})"), "/name: the text has 5 characters; at most 4 are possible\n");
    EXPECT_EQ(messages(R"({"a":"all","b":[1,2.5],"c/d":true})"), "");
    EXPECT_EQ(messages(R"({})"), "key \"a\" is missing\n");
    EXPECT_EQ(messages(R"({"a":5})"), "/a: 5 is too large; nearest: 4\n");
    EXPECT_EQ(messages(R"({"a":"al"})"), "/a: \"al\": unknown a; nearest: \"all\"\n");
    EXPECT_EQ(messages(R"({"a":[]})"), "/a: a list where a whole number or a string is expected\n");
    EXPECT_EQ(messages(R"({"a":null})"), "/a: null where a whole number or a string is expected\n");
    EXPECT_EQ(messages(R"({"a":1,"b":[1]})"), "/b: the list has 1 entry; at least 2 are needed\n");
    EXPECT_EQ(messages(R"({"a":1e9})"), "/a: 1000000000 is too large; nearest: 4\n") << "no .0";
    EXPECT_EQ(messages(R"({"a":1,"b":[1,2,3,4]})"), "/b: the list has 4 entries; at most 3 are possible\n");
    EXPECT_EQ(messages(R"({"a":1,"b":[1,0]})"), "/b/1: 0 is too small; it must be greater than 0\n");
    EXPECT_EQ(
        messages(R"({"a":1,"c/d":1,"x~y":0})"),
        "/c~1d: 1 is a number where true or false is expected\n/x~0y: unknown key; possible: \"a\", \"name\", \"b\", \"c/d\"\n");
}

TEST(Schema, DefinitionsMayNameEachOther)
{
    const Schema made(Json::parse(R"({"$ref":"#/$defs/node","$defs":{
        "node":{"type":"object","additionalProperties":false,"properties":{"inner":{"$ref":"#/$defs/nodes"},"size":{"type":"integer"}}},
        "nodes":{"type":"array","items":{"$ref":"#/$defs/node"}}}})"));
    const Schema schema = made; // as a catalogue's is handed on
    EXPECT_TRUE(schema.check(Json::parse(R"({"inner":[{"inner":[]},{"size":2}]})"), {}).empty());
    const auto problems = schema.check(Json::parse(R"({"inner":[{},{"inner":[{"size":1.5}]}]})"), {});
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems[0].text(), "/inner/1/inner/0/size: 1.5 is not a whole number");
    EXPECT_EQ(schema.check(Json::parse("3"), {}, "nodes", "/at").at(0).text(), "/at: 3 is a number where a list is expected");
}
