// Any JSON, and any text, is a scenario or tells what is wrong with it: never anything else, and always in words for a person.
#include "sim/scenario/document.h"
#include "sim/scenario/hardware_profile.h"
#include "sim/scenario/json_text.h"
#include "sim/scenario/schema.h"
#include "sim/scenario/unforeseen.h"
#include "tests/support/catalogue.h"
#include "tests/support/tries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

using namespace sim;
using test::catalogue;

namespace {

std::vector<std::string> galleryTexts()
{
    std::vector<std::string> texts;
    for (const auto& file : test::galleryFiles()) {
        std::ifstream in(file);
        texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    return texts;
}

/// Every place of a document.
void addPointers(const Json& value, const Json::json_pointer& at, std::vector<Json::json_pointer>& out)
{
    out.push_back(at);
    if (value.is_object())
        for (const auto& [key, member] : value.items())
            addPointers(member, at / key, out);
    else if (value.is_array())
        for (std::size_t i = 0; i < value.size(); ++i)
            addPointers(value[i], at / i, out);
}

class Mutator {
public:
    explicit Mutator(unsigned seed) : m_random(seed) {}

    std::size_t below(std::size_t count) { return m_random() % count; }

    Json value()
    {
        static const std::vector<Json> kValues = {nullptr,
                                                  true,
                                                  false,
                                                  0,
                                                  1,
                                                  -1,
                                                  2,
                                                  3,
                                                  7,
                                                  1000000,
                                                  2147483647,
                                                  2147483648,
                                                  INT64_MIN,
                                                  INT64_MAX,
                                                  UINT64_MAX,
                                                  0.5,
                                                  -0.0,
                                                  1e-320,
                                                  1e15,
                                                  1e30,
                                                  1.7e308,
                                                  "",
                                                  "624",
                                                  "NaN",
                                                  "null",
                                                  "1f1b",
                                                  "auto",
                                                  "custom",
                                                  "all",
                                                  "packed",
                                                  "bf16",
                                                  "full",
                                                  "h100",
                                                  "a\nb",
                                                  "\x1b[2J",
                                                  "\u202e",
                                                  ".",
                                                  "/",
                                                  "/dev/zero",
                                                  "\0x",
                                                  "0F0",
                                                  "0F0,0B0\n1",
                                                  Json::array(),
                                                  Json::object(),
                                                  {1, "two", nullptr},
                                                  {{"base", 5}},
                                                  {{"base", "tiny-gpt"}},
                                                  {{"kind", "full"}},
                                                  {{"int8", "624"}},
                                                  {{"derived", {{"x", 1}}}}};
        switch (below(12)) {
        case 0:
            return std::string(5000, 'x');
        case 1:
            return Json::array_t(below(3000), kValues[below(kValues.size())]);
        case 2: {
            Json deep = 1;
            for (std::size_t i = below(60); i > 0; --i)
                deep = below(2) == 0 ? Json::array({deep}) : Json{{"a", deep}};
            return deep;
        }
        default:
            return kValues[below(kValues.size())];
        }
    }

    /// One change at a random place.
    void change(Json& root)
    {
        std::vector<Json::json_pointer> pointers;
        addPointers(root, Json::json_pointer(), pointers);
        const Json::json_pointer at = pointers[below(pointers.size())];
        if (at.empty())
            return;
        switch (below(5)) {
        case 0:
            if (root[at.parent_pointer()].is_object())
                root[at.parent_pointer()].erase(at.back());
            break;
        case 1:
            if (root[at].is_object())
                root[at][below(2) == 0 ? std::string(5000, 'k') : std::string("new\nkey")] = value();
            break;
        case 2:
            root[at] = Json(root[pointers[below(pointers.size())]]); // what belongs elsewhere
            break;
        default:
            root[at] = value();
        }
    }

    /// Not even JSON, mostly.
    std::string damaged(std::string text)
    {
        static const std::vector<std::string> kPieces = {"NaN",
                                                         "-Infinity",
                                                         "1e999",
                                                         "\xff",
                                                         "\xed\xa0\x80",
                                                         std::string(1, '\0'),
                                                         "{",
                                                         "[",
                                                         "}",
                                                         "\"",
                                                         "\\u00",
                                                         "//",
                                                         "\"tp\": 1, \"tp\": 2,",
                                                         "0x10",
                                                         "01",
                                                         "'",
                                                         "1e",
                                                         std::string(200, '[')};
        const std::size_t at = below(text.size());
        if (below(3) == 0)
            return text.substr(0, at);
        return text.replace(at, below(4), kPieces[below(kPieces.size())]);
    }

private:
    std::mt19937 m_random;
};

/// That a person can read it, and act on it.
void expectForAPerson(const Problem& problem, const std::string& of)
{
    const std::string text = problem.text();
    const auto isSeen = [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; };
    EXPECT_TRUE(std::all_of(text.begin(), text.end(), isSeen) && isUtf8(text)) << text << " of " << of.substr(0, 2000);
    EXPECT_LE(text.size(), 1500U) << text;
    for (const std::string_view raw : std::initializer_list<std::string_view>{"json.exception", "std::", "filesystem",
                                                                              "basic_string", "last read", kUnforeseen})
        EXPECT_EQ(text.find(raw), std::string::npos) << text << " of " << of.substr(0, 2000);
    const bool ofTheWhole = problem.message.starts_with("key \"") || problem.message.starts_with("there are ") ||
                            problem.message.starts_with("line ") || problem.message.starts_with("a scenario is a JSON object");
    EXPECT_TRUE(!problem.pointer.empty() || ofTheWhole) << text << " of " << of.substr(0, 2000);
    EXPECT_EQ(problem.file, "any.json");
}

/// What became of a text.
enum class Became { broken, refused, scenario };

Became read(const std::string& text)
{
    try {
        const ScenarioDocument document = ScenarioDocument::parse(text, "any.json");
        const auto resolved = document.resolve(catalogue());
        bool refused = false;
        for (const Problem& problem : resolved.problems) {
            expectForAPerson(problem, text);
            refused = refused || problem.severity == Severity::error;
        }
        EXPECT_EQ(refused, !resolved.scenario) << text.substr(0, 2000);
        return refused ? Became::refused : Became::scenario;
    } catch (const ScenarioError& error) {
        for (const Problem& problem : error.problems())
            expectForAPerson(problem, text);
        return Became::broken;
    }
}

} // namespace

TEST(AnyJson, IsAScenarioOrTellsItsProblems)
{
    const std::vector<std::string> gallery = galleryTexts();
    Mutator mutator(20261122);
    int refused = 0, accepted = 0;
    for (int i = 0; i < test::tries(20000) && !HasFailure(); ++i) {
        Json root = Json::parse(gallery[mutator.below(gallery.size())]);
        for (std::size_t changes = 1 + mutator.below(3); changes > 0; --changes)
            mutator.change(root);
        const Became became = read(root.dump());
        refused += became == Became::refused ? 1 : 0;
        accepted += became == Became::scenario ? 1 : 0;
    }
    EXPECT_GT(refused, test::tries(5000)) << "else the mutations change nothing that counts";
    EXPECT_GT(accepted, test::tries(500)) << "else they hide each other";
}

TEST(AnyText, IsAScenarioOrTellsItsProblems)
{
    const std::vector<std::string> gallery = galleryTexts();
    Mutator mutator(1);
    int broken = 0;
    for (int i = 0; i < 5000 && !HasFailure(); ++i)
        broken += read(mutator.damaged(gallery[mutator.below(gallery.size())])) == Became::broken ? 1 : 0;
    EXPECT_GT(broken, 2000);
}

TEST(AnyJson, IsTakenOrRefusedAsAHardwareProfile)
{
    const Json profile = Json::parse(R"({"id":"here","device":"a CPU","precision":"fp32",
        "kernels":[{"name":"gemm.forward","points":[{"m":64,"n":64,"k":64,"batch":2,"us":12.5},{"m":128,"n":64,"us":20}]}],
        "transfers":[{"name":"all_reduce","points":[{"bytes":1024,"members":2,"us":3.25}]}]})");
    Mutator mutator(2);
    int refused = 0, accepted = 0;
    for (int i = 0; i < 5000 && !HasFailure(); ++i) {
        Json root = profile;
        mutator.change(root);
        try {
            readHardwareProfile(root.dump(), "any.json", catalogue().schema());
            ++accepted;
        } catch (const ScenarioError& error) {
            for (const Problem& problem : error.problems())
                expectForAPerson(problem, root.dump());
            ++refused;
        }
    }
    EXPECT_GT(refused, 1000);
    EXPECT_GT(accepted, 100);
}

TEST(Problems, OfAPrecisionThatDoesNotExistAreToldWithItsKey)
{
    auto document = ScenarioDocument::parse(R"({"format":"rankscope-scenario","version":1,"model":"tiny-gpt","layout":{"dp":2},
        "cluster":{"gpus_per_node":2,"tiers":[{"name":"a","span":"all","bandwidth_gbs":1,"latency_us":1}],
        "gpu":{"memory_gib":1,"memory_bandwidth_gbs":1,"peak_tflops":{"bf16":312,"int8":"624"}}}})",
                                            "a.json");
    const auto resolved = document.resolve(catalogue());
    ASSERT_FALSE(resolved.scenario);
    ASSERT_EQ(resolved.problems.size(), 1U);
    EXPECT_EQ(resolved.problems.front().pointer, "/cluster/gpu/peak_tflops/int8");
}

TEST(Problems, BeyondTheOnesListedStillCount)
{
    // As many unknown keys as are listed, and only then a wrong type in a place that the reader uses.
    Json root = Json::parse(galleryTexts().front());
    for (int i = 0; i < 1200; ++i)
        root["unknown" + std::to_string(i)] = 1;
    Json last = root["layout"];
    last["tp"] = "four";
    root.erase("layout");
    root["layout"] = last;
    const auto resolved = ScenarioDocument::parse(root.dump(), "a.json").resolve(catalogue());
    EXPECT_FALSE(resolved.scenario);
    ASSERT_EQ(resolved.problems.size(), 1001U);
    EXPECT_EQ(resolved.problems.back().message, "there are 201 more problems than the 1000 listed");
}

TEST(Problems, OfMoreValuesThanAnyScenarioHasComeBeforeTheyTakeMemory)
{
    // 20 million objects, a gigabyte once they are read.
    std::string text = "{\"view\":[{}";
    for (int i = 0; i < 20'000'000; ++i)
        text += ",{}";
    try {
        ScenarioDocument::parse(text + "]}", "a.json");
        FAIL();
    } catch (const ScenarioError& error) {
        EXPECT_NE(std::string(error.what()).find("holds more than 2,097,152 values"), std::string::npos) << error.what();
    }
}

TEST(Problems, EchoNoMoreOfTheFileThanAPersonReads)
{
    const std::string endless(5000, 'x');
    for (const std::string& text : galleryTexts()) {
        Json root = Json::parse(text);
        std::vector<Json::json_pointer> pointers;
        addPointers(root, Json::json_pointer(), pointers);
        for (const auto& at : pointers) {
            Json changed = root;
            if (changed[at].is_object())
                changed[at][endless] = endless;
            else
                changed[at] = endless;
            for (const Problem& problem : ScenarioDocument::parse(changed.dump(), "a.json").resolve(catalogue()).problems) {
                EXPECT_EQ(problem.text().find(std::string(300, 'x')), std::string::npos) << at.to_string();
                EXPECT_EQ(problem.message.find(std::string(100, 'x')), std::string::npos) << at.to_string();
            }
        }
    }
}
