#include "app/session/scenario_keys.h"

#include "app/session/edit.h"
#include "app/session/plain_words.h"
#include "sim/schedule/families/families.h"
#include "tests/app/session/session_fixtures.h"

#include <nlohmann/json.hpp>

#include <QRegularExpression>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

namespace app {
namespace {

using namespace test;
using Json = nlohmann::json;

/// Every key of the schema that holds a value and not more keys, "*" for places in lists.
void collectLeaves(const Json& schema, const Json& rule, const std::string& pointer, std::set<std::string>& out)
{
    if (rule.contains("$ref"))
        return collectLeaves(schema, schema.at("$defs").at(rule.at("$ref").get<std::string>().substr(8)), pointer, out);
    if (rule.contains("anyOf")) {
        for (const Json& alternative : rule.at("anyOf"))
            collectLeaves(schema, alternative, pointer, out);
    } else if (rule.contains("properties")) {
        for (const auto& [key, property] : rule.at("properties").items())
            collectLeaves(schema, property, pointer + "/" + key, out);
    } else if (rule.contains("items") && (rule.at("items").contains("$ref"))) {
        collectLeaves(schema, rule.at("items"), pointer + "/*", out);
    } else {
        out.insert(pointer);
    }
}

std::set<std::string> schemaKeys()
{
    std::ifstream file(RANKSCOPE_SOURCE_DIR "/assets/scenario.schema.json");
    const Json schema = Json::parse(file);
    std::set<std::string> out;
    collectLeaves(schema, schema, "", out);
    return out;
}

bool isLeftOut(const std::string& pointer)
{
    for (const KeyLeftOut& left : keysLeftOut()) {
        if (pointer == left.pointer || pointer.starts_with(std::string(left.pointer) + "/"))
            return true;
    }
    return false;
}

TEST(ScenarioKeys, AreAllOfTheSchemaOrLeftOutForAReason)
{
    const std::set<std::string> keys = schemaKeys();
    EXPECT_GE(keys.size(), 100U);
    for (const std::string& pointer : keys) {
        const bool hasControl = findScenarioKey(pointer) != nullptr;
        EXPECT_NE(hasControl, isLeftOut(pointer)) << pointer << (hasControl ? " is in both lists" : " has no control");
    }
}

TEST(ScenarioKeys, AreKnownToTheSchema)
{
    std::set<std::string_view> seen;
    for (const ScenarioKey& key : scenarioKeys()) {
        const auto facts = sim::keyFacts(catalogue(), key.pointer);
        ASSERT_TRUE(facts) << key.pointer;
        EXPECT_FALSE(facts->description.empty()) << key.pointer;
        EXPECT_TRUE(seen.insert(key.pointer).second) << key.pointer << " twice";
    }
    for (const KeyLeftOut& left : keysLeftOut()) {
        EXPECT_TRUE(sim::keyFacts(catalogue(), left.pointer)) << left.pointer;
        EXPECT_NE(*left.reason, '\0');
    }
    EXPECT_FALSE(sim::keyFacts(catalogue(), "/layout/none"));
}

/// Choosers offer exactly the words that the reader takes, and every schedule there is.
TEST(ScenarioKeys, OfferTheSchemasWords)
{
    for (const ScenarioKey& key : scenarioKeys()) {
        const auto facts = sim::keyFacts(catalogue(), key.pointer);
        if (facts->type != sim::KeyType::word)
            continue;
        std::set<std::string> words, offered;
        for (const std::string& word : facts->words)
            words.insert(app::quoted(word));
        for (const KeyOption& option : keyOptions(catalogue(), key)) {
            offered.insert(option.json);
            EXPECT_FALSE(option.text.empty());
        }
        EXPECT_EQ(offered, words) << key.pointer;
    }
}

/// Lists of words offer what the reader takes.
TEST(ScenarioKeys, OfferTheWordsOfListsThatTheReaderTakes)
{
    std::ifstream file(RANKSCOPE_SOURCE_DIR "/assets/scenario.schema.json");
    const Json schema = Json::parse(file);
    const auto& training = schema.at("$defs").at("training").at("properties");
    const std::map<std::string, Json> words{
        {"/training/lora/targets", training.at("lora").at("properties").at("targets").at("items").at("enum")},
        {"/training/recompute/modules",
         training.at("recompute").at("anyOf").at(1).at("properties").at("modules").at("items").at("enum")}};
    for (const auto& [pointer, all] : words) {
        std::set<std::string> offered, taken;
        for (const KeyOption& option : wordOptions(*findScenarioKey(pointer)))
            offered.insert(option.json);
        for (const Json& word : all)
            taken.insert(word.dump());
        EXPECT_EQ(offered, taken) << pointer;
    }
}

TEST(ScenarioKeys, FindThePlaceInAList)
{
    const ScenarioKey* key = findScenarioKey("/cluster/tiers/12/latency_us");
    ASSERT_TRUE(key);
    EXPECT_EQ(key->pointer, "/cluster/tiers/*/latency_us");
    EXPECT_EQ(pointerAt(key->pointer, 12), "/cluster/tiers/12/latency_us");
    EXPECT_EQ(findScenarioKey("/cluster/tiers//latency_us"), nullptr);
    EXPECT_EQ(findScenarioKey("/cluster/tiers/1"), nullptr);
}

TEST(ScenarioState, KnowsAValueForEveryKeyThatIsThere)
{
    for (const char* name : {kSixteen, "54-deepseek-v3-2048-h800.json", "21-slow-gpu.json"}) {
        const auto read = document(name);
        const auto legal = scenario(read);
        const ScenarioState state(read, &legal, catalogue());
        for (const ScenarioKey& key : scenarioKeys()) {
            const bool mayBeAbsent = *key.ifAbsent != '\0' || (key.isRelevant && !key.isRelevant(legal)) ||
                                     key.pointer.find('*') != std::string_view::npos;
            EXPECT_TRUE(mayBeAbsent || state.at(key.pointer)) << name << " " << key.pointer;
        }
        EXPECT_EQ(state.count("/cluster/tiers"), legal.cluster.tiers.size());
        EXPECT_EQ(state.count("/perturbations"), legal.perturbations.size());
    }
}

TEST(ScenarioState, ReadsBackTheNumbersItWrites)
{
    for (const double value : {0.0, 1.0, 16384.0, 0.0003, 7.14, 1e-9, 9007199254740991.0, 1e300})
        EXPECT_EQ(numberOf(jsonNumber(value)), value);
    EXPECT_EQ(jsonNumber(0.0003), "0.0003");
    EXPECT_EQ(numberOf("four"), std::nullopt);
    EXPECT_EQ(numberOf("4 "), std::nullopt);
    EXPECT_EQ(unquoted(app::quoted("a\"b\\c")), "a\"b\\c");
    EXPECT_EQ(unquoted(R"("caf\u00e9\n")"), "caf\xc3\xa9\n");
    EXPECT_EQ(unquoted("0.5"), "0.5");
}

TEST(PlainWords, StandAloneAsASentence)
{
    EXPECT_EQ(asSentence(QStringLiteral("has no effect with tp 1")), QStringLiteral("Has no effect with tp 1"));
    for (const char* name : {"tp 1 is too small", "1f1b has exactly 1 chunk a rank", "round-robin puts ranks apart",
                             "gpipe has exactly 1 chunk a rank", "dualpipe wants an even pp", ""})
        EXPECT_EQ(asSentence(QString::fromLatin1(name)), QString::fromLatin1(name)) << "names stay as they are";
}

TEST(PlainWords, NameSettingsAsTheFormDoes)
{
    EXPECT_EQ(plainWords(QStringLiteral("global_batch_size 60 is no multiple")),
              QStringLiteral("global batch 60 is no multiple"));
    EXPECT_EQ(plainWords(QStringLiteral("/layout/zero_stage: 4")), QStringLiteral("ZeRO: 4"));
    EXPECT_EQ(
        plainWords(QStringLiteral("33 gives 33 micro-batches, and interleaved-1f1b on pp 8 wants whole groups of 8 (default)")),
        QStringLiteral("33 gives 33 micro-batches, and Interleaved 1F1B on pp 8 wants whole groups of 8"));
    EXPECT_EQ(plainWords(QStringLiteral("kind 1f1b in zb-h1-like-file.json")),
              QStringLiteral("kind 1F1B in zb-h1-like-file.json"));
    EXPECT_EQ(plainWords(QStringLiteral("30 does not divide hidden_size 4096; nearest: 16, 32")),
              QStringLiteral("30 does not divide the hidden size 4096; nearest: 16, 32"));
    EXPECT_EQ(plainWords(QStringLiteral("3 does not divide num_attention_heads 32 (of llama3-8b)")),
              QStringLiteral("3 does not divide the 32 heads (of llama3-8b)"));
    for (const char* same : {"16 does not divide 8", "4 does not divide the 6 GPUs of one NVLink domain",
                             "3 does not divide experts 4 x 128", "48 does not divide dp 128"})
        EXPECT_EQ(plainWords(QString::fromLatin1(same)).replace(QChar(0xD7), QLatin1Char('x')), QString::fromLatin1(same));
    for (const char* own : {"/data/of_ana/lab_2.json: cannot be read", "\"lab_2.json\" is no GPU of the catalogue",
                            "\"h100_sxm\" is unknown", "profiles/my_lab-3.json: cut off", ".../1f1b.csv", "\"1f1b\""})
        EXPECT_EQ(plainWords(QString::fromUtf8(own)), QString::fromUtf8(own)) << "somebody's own words";
    EXPECT_EQ(plainWords(QStringLiteral("layout.zero_stage is held, see file.txt")),
              QStringLiteral("ZeRO is held, see file.txt"));
    EXPECT_EQ(plainDescription(QStringLiteral("Try `global_batch_size` 4096, `layout.zero_stage` 3 and `tp` 2.")),
              QStringLiteral("Try “Global batch” 4096, “ZeRO” 3 and `tp` 2."));
    const QString typed = QStringLiteral("`rankscope-live run FILE --set live.dtype=fp64`, `full`");
    EXPECT_EQ(plainDescription(typed), typed) << "what is to be typed stays";
}

TEST(PlainWords, DescriptionsOfTheGalleryNameNoKeys)
{
    static const QRegularExpression kKey(QStringLiteral("`[a-z]+(_[a-z]+)+`"));
    for (const std::filesystem::directory_entry& file : std::filesystem::directory_iterator(RANKSCOPE_SOURCE_DIR "/scenarios"))
        if (file.path().extension() == ".json") {
            const auto description = sim::ScenarioDocument::readFile(file.path()).get("/description");
            const QString told = plainDescription(QString::fromStdString(description.value_or("")));
            EXPECT_TRUE(!kKey.match(told).hasMatch() ||
                        kKey.match(told).captured() == QLatin1String("`expt_dp`")) // a group's name
                << file.path() << ": " << kKey.match(told).captured().toStdString();
        }
}

} // namespace
} // namespace app
