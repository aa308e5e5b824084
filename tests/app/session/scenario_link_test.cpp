#include "app/session/scenario_link.h"

#include "app/session/failure.h"
#include "sim/error.h"
#include "tests/support/gallery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace app {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(const QString& link)
{
    try {
        scenarioOfLink(link);
    } catch (const sim::Error& error) {
        return error.what();
    }
    return "taken";
}

QString linkOf(const QByteArray& zlib)
{
    return QLatin1String(kLinkScheme) +
           QString::fromLatin1(zlib.toBase64(QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals));
}

TEST(ScenarioLink, EveryScenarioOfTheGalleryComesBackByteForByteAndIsShort)
{
    int count = 0;
    for (const auto& file : std::filesystem::directory_iterator(RANKSCOPE_SOURCE_DIR "/scenarios")) {
        if (file.path().extension() != ".json")
            continue;
        ++count;
        std::ifstream in(file.path());
        std::stringstream text;
        text << in.rdbuf();
        const QString link = scenarioLink(text.str());
        EXPECT_EQ(scenarioOfLink(link), text.str()) << file.path();
        EXPECT_LT(link.size(), 6000) << file.path();
        for (const QChar c : link.mid(10))
            ASSERT_TRUE(c.isLetterOrNumber() || c == QLatin1Char('-') || c == QLatin1Char('_')) << file.path();
    }
    EXPECT_GT(count, 70);
}

TEST(ScenarioLink, IsReadAsAMailProgramBreaksIt)
{
    QString link = scenarioLink("{\"format\": \"rankscope-scenario\"}");
    link.insert(14, QStringLiteral("\r\n  "));
    link = QStringLiteral(" ") + link.replace(QLatin1String("rankscope:"), QLatin1String("RankScope:")) + QStringLiteral("\n");
    EXPECT_TRUE(isScenarioLink(link));
    EXPECT_EQ(scenarioOfLink(link), "{\"format\": \"rankscope-scenario\"}");
    for (const QString& around : {QStringLiteral("<%1>"), QStringLiteral(" <%1>\n")}) {
        ASSERT_TRUE(isScenarioLink(around.arg(link)));
        EXPECT_EQ(scenarioOfLink(around.arg(link)), scenarioOfLink(link));
    }
    const QString slashed = link.trimmed().insert(QLatin1String(kLinkScheme).size(), QStringLiteral("//"));
    EXPECT_EQ(scenarioOfLink(slashed), scenarioOfLink(link));
    EXPECT_FALSE(isScenarioLink(QStringLiteral("/home/me/rankscope:a.json")));
    EXPECT_FALSE(isScenarioLink(QStringLiteral("https://rankscope:80")));
}

TEST(ScenarioLink, WhatIsNoWholeLinkIsRefusedWithTheReason)
{
    const QString whole = scenarioLink(std::string(3000, 'a') + "bcdefghijklmnopq");
    for (qsizetype length = 10; length < whole.size(); ++length)
        EXPECT_THAT(refusal(whole.left(length)), testing::AnyOf(HasSubstr("cut off"), HasSubstr("holds nothing"))) << length;
    EXPECT_THAT(refusal(QStringLiteral("rankscope:  ")), HasSubstr("holds nothing"));
    EXPECT_THAT(refusal(QStringLiteral("rankscope:eJx%20")), AllOf(HasSubstr("character 14"), HasSubstr("%")));
    EXPECT_THAT(refusal(QStringLiteral("rankscope:AAAAAAAAAAAA")), HasSubstr("damaged"));
    QString changed = whole;
    changed[20] = changed[20] == QLatin1Char('A') ? QLatin1Char('B') : QLatin1Char('A');
    EXPECT_THAT(refusal(changed), HasSubstr("damaged"));
}

TEST(ScenarioLink, ABombIsNotUnpacked)
{
    const QByteArray bomb = zipped(QByteArray(300 << 20, 'a'));
    const QString link = linkOf(bomb);
    ASSERT_LT(link.size(), 1'000'000) << "short enough to be looked at";
    EXPECT_THAT(refusal(link), HasSubstr("more than 4 MiB"));
    EXPECT_THAT(refusal(QLatin1String(kLinkScheme) + QString(2'000'000, QLatin1Char('A'))), HasSubstr("at most 1000000"));
}

TEST(ScenarioLink, IsReadWhereFilesAre)
{
    const sim::ScenarioDocument document =
        readDocument(scenarioLink(R"({"format": "rankscope-scenario", "version": 1, "name": "of a link"})"));
    EXPECT_EQ(document.get("/name"), "\"of a link\"");
    const Problems problems = problemsOf(QStringLiteral("x"), []() -> Problems {
        readDocument(scenarioLink("{\n  \"format\": }"));
        return {};
    });
    ASSERT_FALSE(problems.empty());
    EXPECT_THAT(problems.front().text(), AllOf(HasSubstr("rankscope:"), HasSubstr("line 2")));
}

} // namespace
} // namespace app
