// What is told about bad input: where, with which numbers, and what would have been right.
#include "sim/scenario/document.h"
#include "sim/scenario/schema.h"
#include "tests/support/catalogue.h"
#include "tests/support/tries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

using namespace sim;
using test::catalogue;

namespace {

constexpr const char* kLlama = R"({"format":"rankscope-scenario","version":1,"model":"llama3-405b","cluster":"h100-sxm-roce400",
"layout":{"tp":8,"pp":16,"dp":128,"order":"tp-cp-pp-dp","sequence_parallel":true,"zero_stage":2},
"schedule":{"kind":"interleaved-1f1b","virtual_stages":8},
"training":{"sequence_length":8192,"micro_batch_size":1,"global_batch_size":2048,"precision":"bf16","recompute":"none"}})";

constexpr const char* kMixtral = R"({"format":"rankscope-scenario","version":1,"model":"mixtral-8x7b","cluster":"h100-sxm-ib400",
"layout":{"tp":2,"ep":4,"pp":2,"dp":8,"sequence_parallel":true}})";

std::vector<std::string> problemsOf(const char* base, const std::vector<std::string>& overrides)
{
    ScenarioDocument document = ScenarioDocument::parse(base);
    for (const std::string& assignment : overrides)
        document.applyOverride(assignment);
    std::vector<std::string> texts;
    for (const Problem& problem : document.resolve(catalogue()).problems)
        texts.push_back(problem.text());
    return texts;
}

struct Case {
    const char* base;
    std::vector<std::string> overrides;
    const char* expected; ///< the one problem, whole
};

} // namespace

TEST(Problems, NameThePlaceTheNumbersAndWhatWouldBeRight)
{
    const std::vector<Case> cases = {
        {kLlama, {"layout.tp=6"}, "/layout/tp: 6 does not divide num_attention_heads 128 (of llama3-405b); nearest: 4, 8"},
        {kLlama, {"layout.tpp=6"}, "/layout/tpp: unknown key; nearest: \"tp\", \"pp\""},
        {kLlama, {"layout.tp=\"six\""}, "/layout/tp: \"six\" is a string where a whole number is expected"},
        {kLlama, {"training.seq_len=4096"}, "/training/seq_len: unknown key; it may be \"training.sequence_length\""},
        {kLlama,
         {"layout.sp=true"},
         "/layout/sp: unknown key; nearest: \"tp\", \"cp\", \"pp\"; it may be \"layout.sequence_parallel\""},
        {kLlama,
         {"schedule.kind=\"zero-bubble\""},
         "/schedule/kind: \"zero-bubble\": unknown kind; here it is zb-h1, zb-v or interleaved-zb"},
        {kLlama,
         {"training.sequence_length=\"8k\""},
         "/training/sequence_length: \"8k\" is a string where a whole number is expected; a number has no unit here: 8192 or "
         "8000"},
        {kLlama, {"layout.tp=0"}, "/layout/tp: 0 is too small; nearest: 1"},
        {kLlama, {"layout.tp=2.5"}, "/layout/tp: 2.5 is not a whole number"},
        {kLlama, {"model.base=llama3-405"}, nullptr},
        {kLlama, {"cluster.nodes=100"}, nullptr},
        {kLlama,
         {"training.global_batch_size=2000"},
         "/training/global_batch_size: 2000 is not a multiple of 128 = micro_batch_size 1 x dp 128; nearest: 2048"},
        {kLlama, {"training.global_batch_size=2176"}, nullptr},
        {kLlama,
         {"training.sequence_length=8191"},
         "/training/sequence_length: 8191 is not a multiple of 8 = tp 8 (sequence parallel); nearest: 8184, 8192"},
        {kLlama, {"layout.order=tp-cp-dp"}, "/layout/order: \"tp-cp-dp\" has no place for pp 16; the default is tp-cp-ep-dp-pp"},
        {kLlama,
         {"layout.order=tp-xp-pp-dp"},
         "/layout/order: \"tp-xp-pp-dp\" names \"xp\"; axes are tp, cp, ep, dp, pp, joined by -"},
        {kLlama,
         {"schedule.layers_per_stage=[1,2,3]"},
         "/schedule/layers_per_stage: the list has 3 entries for pp 16 x virtual_stages 8 = 128 stages"},
        {kLlama,
         {"schedule.kind=1f1b"},
         "/schedule/virtual_stages: 1f1b has exactly 1 chunk a rank; virtual_stages is 8; nearest: 1, or kind interleaved-1f1b"},
        {kLlama, {"schedule.virtual_stages=12"}, nullptr},
        {kLlama, {"layout.dp_shard=48"}, "/layout/dp_shard: 48 does not divide dp = 128; nearest: 32, 64"},
        {kLlama,
         {"perturbations=[{\"kind\":\"slow_gpu\",\"rank\":16384,\"factor\":2}]"},
         "/perturbations/0/rank: there is no rank 16384; the layout has ranks 0 to 16383"},
        {kLlama, {"perturbations=[{\"kind\":\"slow_gpu\",\"rank\":1}]"}, "/perturbations/0: slow_gpu needs \"factor\""},
        {kMixtral, {"layout.ep=3"}, nullptr},
        {kLlama, {"layout.ep=2"}, nullptr},
        {kMixtral,
         {"cluster.base=dgx-a100", "training.precision=fp8"},
         "/training/precision: A100 SXM4 80 GB has no fp8; it has fp32, tf32, bf16, fp16"},
        {kLlama, {"version=2"}, "/version: 2 is newer than 1, the newest version this program reads; use a newer Rankscope"},
    };
    for (const Case& c : cases) {
        const auto problems = problemsOf(c.base, c.overrides);
        ASSERT_FALSE(problems.empty()) << c.overrides.front();
        if (c.expected != nullptr) {
            EXPECT_EQ(problems.front(), c.expected);
        }
        EXPECT_NE(problems.front().find_first_of("0123456789\""), std::string::npos) << problems.front();
    }
}

TEST(Problems, ComeAllAtOnceInTheOrderOfTheBlocks)
{
    const auto problems = problemsOf(kLlama, {"model.hidden=1", "cluster.nodes=\"many\"", "layout.tp=6", "schedule.kind=1fb1",
                                              "training.precision=bf61", "live.steps=0"});
    ASSERT_GE(problems.size(), 6U);
    std::vector<std::string> blocks;
    for (const std::string& problem : problems)
        blocks.push_back(problem.substr(1, problem.find('/', 1) - 1));
    const std::vector<std::string> order = {"model", "cluster", "layout", "schedule", "training", "live"};
    std::size_t at = 0;
    for (const std::string& block : blocks) {
        const auto place = static_cast<std::size_t>(std::find(order.begin(), order.end(), block) - order.begin());
        EXPECT_GE(place, at) << block;
        at = place;
    }
    EXPECT_EQ(at, 5U);
}

TEST(Problems, TellWhichNumberWasADefault)
{
    const auto problems = problemsOf(R"({"format":"rankscope-scenario","version":1,"model":"llama3-8b","cluster":"h100-sxm-ib400",
        "layout":{"dp":3},"training":{"global_batch_size":4}})",
                                     {});
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems[0],
              "/training/global_batch_size: 4 is not a multiple of 3 = micro_batch_size 1 (default) x dp 3; nearest: 3, 6");
}

TEST(Parser, IsStrictAndSaysWhere)
{
    const auto message = [](const std::string& text) -> std::string {
        try {
            ScenarioDocument::parse(text, "f.json");
        } catch (const ScenarioError& error) {
            return error.what();
        }
        return "accepted";
    };
    EXPECT_EQ(message(kLlama), "accepted");
    for (const char* text :
         {"", "{", "[1,2", "{\"a\":}", "{\"a\":1,}", "{'a':1}", "{\"a\":NaN}", "{\"a\":Infinity}", "{\"a\":1} x", "nul",
          "{\"a\":01}", "// c\n{}", "{\"a\":1e999}", "\"text\"", "[]", "3", "{\"a\":\"\xff\"}"})
        EXPECT_NE(message(text), "accepted") << text;
    EXPECT_NE(message("{\n  \"a\": 1,\n  \"b\": }").find("line 3"), std::string::npos);
    EXPECT_EQ(message("{\n \"a\": [1, {\"b/c\": 1,\n  \"b/c\": 2}]}"),
              "f.json: /a/1/b~1c: line 3, column 7: key \"b/c\" is given twice");
    std::string many = "{";
    for (int key = 0; key < 40; ++key)
        many += "\"k" + std::to_string(key) + "\": 0, ";
    for (const char* again : {"k0", "k20", "k39"})
        EXPECT_THAT(message(many + "\"" + again + "\": 1}"),
                    testing::EndsWith(std::string("key \"") + again + "\" is given twice"));
    EXPECT_EQ(message("{\"a\":" + std::string(64, '[')), "f.json: line 1, column 69: it is nested more than 64 levels deep");
    EXPECT_EQ(message("[1, 2]"), "f.json: a scenario is a JSON object: { \"format\": \"rankscope-scenario\", … }");
    EXPECT_LT(message("{\"a\":\"" + std::string(100000, 'x')).size(), 300U) << "the text is not repeated";
}

// Hostile input ---------------------------------------------------------------------------------------------------------------

namespace {

/// Only two things may happen: it is accepted, or ScenarioError.
void swallow(const std::string& text)
{
    try {
        const auto resolved = ScenarioDocument::parse(text).resolve(catalogue());
        if (!resolved.scenario) {
            EXPECT_FALSE(resolved.problems.empty());
        }
    } catch (const ScenarioError&) {
    }
}

} // namespace

TEST(HostileInput, DeepNestingIsRefusedBeforeAnythingRecurses)
{
    for (const std::size_t depth : {65UL, 1000UL, 100000UL, 2000000UL}) {
        EXPECT_THROW(ScenarioDocument::parse(std::string(depth, '[')), ScenarioError);
        std::string objects;
        for (std::size_t i = 0; i < depth; ++i)
            objects += "{\"a\":";
        EXPECT_THROW(ScenarioDocument::parse(objects), ScenarioError);
    }
}

TEST(HostileInput, AHundredMegabytesOfGarbageAreRefusedAtOnce)
{
    const auto start = std::chrono::steady_clock::now();
    EXPECT_THROW(ScenarioDocument::parse(std::string(100UL << 20U, '[')), ScenarioError);
    EXPECT_THROW(ScenarioDocument::parse("{\"name\":\"" + std::string(100UL << 20U, 'x') + "\"}"), ScenarioError);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5)) << "a hang, not a speed";
}

TEST(HostileInput, ManyKeysAreNoQuadraticTrap)
{
    std::string text = "{";
    for (int i = 0; i < 300000; ++i)
        text += "\"k" + std::to_string(i) + "\":0,";
    text += "\"z\":0}";
    const auto resolved = ScenarioDocument::parse(text).resolve(catalogue());
    EXPECT_FALSE(resolved.scenario);
    EXPECT_LE(resolved.problems.size(), 2000U);
}

TEST(HostileInput, EveryTruncationIsAnError)
{
    const std::string text = kLlama;
    for (std::size_t length = 0; length < text.size(); ++length)
        EXPECT_THROW(ScenarioDocument::parse(text.substr(0, length)), ScenarioError) << length;
}

TEST(HostileInput, RandomDamageNeverCrashes)
{
    std::mt19937 random(11);
    for (int round = 0; round < 4000; ++round) {
        std::string text = round % 2 == 0 ? kLlama : kMixtral;
        for (int hits = 1 + static_cast<int>(random() % 4); hits > 0; --hits) {
            const std::size_t at = random() % text.size();
            switch (random() % 3) {
            case 0:
                text[at] = static_cast<char>(random() % 256);
                break;
            case 1:
                text.erase(at, random() % 8);
                break;
            default:
                text.insert(at, 1, "0123456789{}[],:\"-.e"[random() % 20]);
            }
        }
        swallow(text);
    }
}

TEST(HostileInput, EveryValueOfEveryTypeAtEveryKeyIsAnsweredWithAProblem)
{
    const std::vector<std::string> values = {
        "null",       "true",       "-1",    "0",      "1",   "7",         "1000003",
        "2147483647", "2147483648", "1e300", "-1e300", "0.5", "\"\"",      "\"x\"",
        "[]",         "[[]]",       "[-1]",  "[null]", "{}",  "{\"a\":1}", "99999999999999999999999"};
    std::vector<std::string> pointers = {"format",        "version", "name",   "description", "source",
                                         "model",         "cluster", "layout", "schedule",    "training",
                                         "perturbations", "live",    "view",   "cluster.gpu", "training.overlap",
                                         "cases",         "holds"};
    const Schema& schema = catalogue().schema();
    for (const char* block : {"model", "cluster", "layout", "schedule", "training", "live"})
        for (const std::string& key : schema.keysOf(block))
            pointers.push_back(std::string(block) + "." + key);
    for (const std::string& key : schema.keysOf("gpu"))
        pointers.push_back("cluster.gpu." + key);
    for (const std::string& key : schema.keysOf("efficiency"))
        pointers.push_back("cluster.efficiency." + key);
    for (const std::string& pointer : pointers)
        for (const std::string& value : values)
            for (const char* base : {kLlama, kMixtral}) {
                ScenarioDocument document = ScenarioDocument::parse(base);
                document.set(pointer, value);
                const auto resolved = document.resolve(catalogue());
                EXPECT_TRUE(resolved.scenario || !resolved.problems.empty()) << pointer << "=" << value;
            }
}

namespace {

/// Every pointer of a value, the value itself last.
void pointersOf(const nlohmann::json& value, const std::string& at, std::vector<std::string>& pointers)
{
    for (const auto& [key, member] : value.items())
        if (value.is_structured())
            pointersOf(member, at + "/" + key, pointers);
    if (!at.empty())
        pointers.push_back(at);
}

} // namespace

TEST(HostileInput, EveryValueOfTheGalleryMayBecomeAnythingElse)
{
    const std::vector<std::string> values = {"null",  "true", "-1",           "0",       "1e300",    "0.5", "\"x\"", "[]",
                                             "[[1]]", "{}",   "{\"kind\":1}", "1000003", "[\"1F0\"]"};
    int tried = 0;
    test::Tried which;
    for (const auto& entry : std::filesystem::directory_iterator(RANKSCOPE_SOURCE_DIR "/scenarios")) {
        if (entry.path().extension() != ".json")
            continue;
        const auto document = ScenarioDocument::readFile(entry.path());
        std::vector<std::string> pointers;
        pointersOf(nlohmann::json::parse(document.text()), "", pointers);
        for (const std::string& pointer : pointers) {
            for (const std::string& value : values) {
                if (!which.next())
                    continue;
                ScenarioDocument changed = document;
                changed.set(pointer, value);
                const auto resolved = changed.resolve(catalogue());
                ASSERT_TRUE(resolved.scenario || !resolved.problems.empty()) << pointer << "=" << value;
                ++tried;
            }
            ScenarioDocument shorter = document;
            shorter.erase(pointer);
            const auto resolved = shorter.resolve(catalogue());
            ASSERT_TRUE(resolved.scenario || !resolved.problems.empty()) << "without " << pointer;
        }
    }
    EXPECT_GT(tried, test::tries(10000));
}
