// What a file may claim, what the check of its claims finds, and every claim of the gallery.
#include "sim/lesson/holds.h"

#include "tests/support/gallery.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

using namespace sim;

namespace {

constexpr const char* kFile = R"({"format":"rankscope-scenario","version":1,"source":"a book","description":"DESCRIPTION",
"model":"tiny-gpt","cluster":"laptop","layout":{"dp":2},"training":{"global_batch_size":16},"cases":CASES,"holds":HOLDS})";

ScenarioDocument document(const std::string& description, const std::string& holds, const std::string& cases = "{}")
{
    std::string text = kFile;
    for (const auto& [word, value] :
         {std::pair<std::string, std::string>{"DESCRIPTION", description}, {"CASES", cases}, {"HOLDS", holds}})
        text.replace(text.find(word), word.size(), value);
    return ScenarioDocument::parse(text, "a.json");
}

/// One line a problem, without the file.
std::string found(const std::string& description, const std::string& holds, const std::string& cases = "{}")
{
    std::string text;
    for (const Problem& problem : checkHolds(document(description, holds, cases), test::catalogue()))
        text += problem.pointer + ": " + problem.message + "\n";
    return text;
}

std::string numbersOf(std::string_view text)
{
    std::string all;
    for (const WrittenNumber& number : writtenNumbers(text))
        all += (all.empty() ? "" : " | ") + std::string(text.substr(number.begin, number.end - number.begin));
    return all;
}

class GalleryFile : public testing::TestWithParam<std::filesystem::path> {};

} // namespace

TEST_P(GalleryFile, SaysNothingThatTheEngineDoesNotProve)
{
    const auto problems = checkHolds(ScenarioDocument::readFile(GetParam()), test::catalogue());
    for (const Problem& problem : problems)
        ADD_FAILURE() << problem.text();
}

INSTANTIATE_TEST_SUITE_P(Gallery, GalleryFile, testing::ValuesIn(test::galleryFiles()), [](const auto& file) {
    std::string name = file.param.stem().string();
    std::replace_if(
        name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return name;
});

TEST(Holds, AreTrueOrToldWithFilePointerExpressionAndBothSides)
{
    EXPECT_EQ(found("Two ranks.", R"(["world_size == 2", "fits"])"), "");
    EXPECT_EQ(found("Two ranks.", R"(["world_size == 2", "world_size > 1 + microbatches"])"),
              "/holds/1: world_size > 1 + microbatches does not hold: world_size is 2, 1 + microbatches is 9\n");
    EXPECT_EQ(found("Two ranks.", R"(["world_size"])"), "/holds/0: world_size is 2; something true or false is expected\n");
    EXPECT_EQ(found("Two ranks.", R"(["worldsize == 2"])"),
              "/holds/0: worldsize == 2: character 1: there is no \"worldsize\"; nearest: \"world_size\"\n");
    const auto problems = checkHolds(document("Two ranks.", R"(["not fits"])"), test::catalogue());
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems[0].text(), "a.json: /holds/0: not fits does not hold: fits is true");
}

TEST(Holds, TheNumberInTheWordsIsTheValueRoundedAsTheyWriteIt)
{
    const char* const words = "A step of 16 sequences, 8 for each rank: 50 % of it.";
    EXPECT_EQ(found(words, R"([{"says":"16 sequences, 8 for each rank: 50 %","is":["describe.training.global_batch_size",
        "16 / world_size", "1 / world_size"]}])"),
              "");
    EXPECT_EQ(found(words, R"([{"says":"16 sequences, 8 for each rank: 50 %","is":["16", "8.6", "0.504"]}])"),
              "/holds/0: \"16 sequences, 8 for each rank: 50 %\": 8.6 is 8.6, not 8\n");
    EXPECT_EQ(found(words, R"([{"says":"16 sequences, 8 for each rank: 50 %","is":"16"}])"),
              "/holds/0: \"16 sequences, 8 for each rank: 50 %\" has 3 numbers and \"is\" 1 expressions\n");
    EXPECT_EQ(found("1/8 of it.", R"([{"says":"1/8 of it","is":"0.1251"}])"),
              "/holds/0: \"1/8 of it\": 0.1251 is 0.1251, not 0.125\n");
}

TEST(Holds, ANumberThatNothingProvesIsFound)
{
    EXPECT_EQ(found("It takes 3 s on an H100, see `dp` 2.", R"([{"says":"takes 3 s","quotes":"table 4"}])"),
              "/description: no hold proves \" s on an H100, see `dp` 2.\"\n");
    EXPECT_EQ(found("It takes 3 s.", "[]"), "/description: no hold proves \"It takes 3 s.\"\n");
    EXPECT_EQ(found("One H100, GPT-2, 405B, 1F1B, `dp 2`: all names.", "[]"), "");
}

TEST(Holds, ASentenceThatSaysTryNeedsOne)
{
    EXPECT_EQ(found("Two ranks. Try another country.", "[]"), "/description: no hold proves \" Try another country\"\n");
    EXPECT_EQ(found("Try `dp` alone.", R"([{"says":"Try `dp` alone","holds":"one.world_size == 1"}])",
                    R"({"one":{"set":{"/layout/dp":1}}})"),
              "");
}

TEST(Holds, WordsStandInTheDescriptionOnce)
{
    EXPECT_EQ(found("Two ranks.", R"([{"says":"three ranks","holds":"fits"}])"),
              "/holds/0: the description does not say \"three ranks\"\n");
    EXPECT_EQ(found("Two ranks, two ranks.", R"([{"says":"wo ranks","holds":"fits"}])"),
              "/holds/0: the description says \"wo ranks\" more than once; quote more of it\n");
    EXPECT_EQ(found("Two ranks.", R"([{"says":"Two ranks"}])"),
              "/holds/0: an expression, or an object with \"says\" and one of \"holds\", \"is\", \"quotes\" is expected\n");
}

TEST(Cases, StartFromTheFileFromEachOtherAndFromAnotherFile)
{
    EXPECT_EQ(found("Ranks.", R"(["four.world_size == 4 and twice.microbatches == 8 and world_size == 2"])",
                    R"({"four":{"set":{"/layout/dp":4}},"twice":{"from":"four","set":{"/training/global_batch_size":32}}})"),
              "");
    EXPECT_EQ(
        found("Ranks.", R"(["plain.microbatches != microbatches"])", R"({"plain":{"set":{"/training/global_batch_size":null}}})"),
        "");
    EXPECT_EQ(found("Ranks.", R"(["not bad.validate.good and count(bad.validate.problems) == 1"])",
                    R"({"bad":{"set":{"/layout/dp":3}}})"),
              "");
}

TEST(Cases, ThatMeanNothingAreToldWithTheirPointer)
{
    EXPECT_EQ(found("Ranks.", "[]", R"({"four":{"set":{"/layout/dp":4}}})"), "/cases/four: no expression uses this case\n");
    EXPECT_EQ(found("Ranks.", "[]", R"({"a b":{}})"), "/cases/a b: a case's name has letters, digits and _\n");
    EXPECT_EQ(found("Ranks.", "[]", R"({"a":{"from":"b"},"b":{}})"), "/cases/a/from: there is no case \"b\" to start from\n");
    EXPECT_EQ(found("Ranks.", "[]", R"({"a":{"scenario":"../../etc/passwd"}})"),
              "/cases/a/scenario: name a scenario beside this file or of the gallery, such as 16-schedule-gpipe\n");
    EXPECT_EQ(found("Ranks.", "[]", R"({"a":{"scenario":"57-tiny-dp"}})"),
              "/cases/a/scenario: there is no scenario \"57-tiny-dp\"; nearest: \"57-tiny-dp4\"\n");
    EXPECT_EQ(found("Ranks.", "[]", R"({"a":{"sets":{}}})"), "/cases/a/sets: a case has no such key; nearest: \"set\"\n");
    EXPECT_NE(found("Ranks.", R"(["a.fits"])", R"({"a":{"set":{"/layout/dp":3}}})")
                  .find("/holds/0: a.fits: character 1: fits: a.json: "),
              std::string::npos);
}

TEST(Holds, StayInTheFileAndMeanNothingToTheSimulation)
{
    const auto with = document("Ranks.", R"(["fits"])", R"({"one":{"set":{"/layout/dp":1}}})");
    EXPECT_EQ(ScenarioDocument::parse(with.text()).get("/holds"), R"(["fits"])");
    auto without = with;
    without.erase("/holds");
    without.erase("/cases");
    EXPECT_EQ(*with.resolve(test::catalogue()).scenario, *without.resolve(test::catalogue()).scenario);
}

TEST(WrittenNumbers, AreThoseOfASentenceAndNotThoseOfNamesAndCode)
{
    EXPECT_EQ(numbersOf("1,024 ranks, 9.3 %, 71 GiB and 46.9 s; 2× or 3/8, 16%."), "1,024 | 9.3 % | 71 | 46.9 | 2 | 3/8 | 16%");
    EXPECT_EQ(numbersOf("`dp` 2, [0, 8, … , 120], in 2019."), "2 | 0 | 8 | 120 | 2019");
    EXPECT_EQ(numbersOf("H100, GPT-2 XL, 405B, 1F1B, ZB-2p, 8K, `tp 4`, Llama 3.1 8B"), "3.1");
    const auto numbers = writtenNumbers("9.3 % of 1,024");
    ASSERT_EQ(numbers.size(), 2U);
    EXPECT_NEAR(numbers[0].value, 0.093, 1e-12);
    EXPECT_NEAR(numbers[0].tolerance, 0.0005, 1e-12);
    EXPECT_EQ(numbers[1].value, 1024);
    EXPECT_EQ(numbers[1].tolerance, 0.5);
}
