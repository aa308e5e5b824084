#include "app/shell/window/command_line.h"

#include <gtest/gtest.h>

namespace app {
namespace {

CommandLine parse(const char* line)
{
    return parseCommandLine(QString::fromUtf8(line).split(QLatin1Char(' '), Qt::SkipEmptyParts), QStringLiteral("1.2.3"));
}

struct Wrong {
    const char *line, *says;
};

class CalledWrongly : public testing::TestWithParam<Wrong> {};

TEST_P(CalledWrongly, ExitsWithTwoAndSaysWhatWouldWork)
{
    const CommandLine result = parse(GetParam().line);
    EXPECT_EQ(result.exitCode, 2);
    EXPECT_TRUE(result.output.contains(QLatin1String(GetParam().says))) << result.output.toStdString();
    EXPECT_TRUE(result.output.contains(QLatin1String("--help")));
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, CalledWrongly,
    testing::Values(
        Wrong{"--no-such", "no-such"}, Wrong{"a.json b.json", "one FILE"},
        Wrong{"--view nothing a.json", "there is no such view; there are grid"},
        Wrong{"--lesson first FILE", "takes no other FILE"}, Wrong{"--live", "no FILE was given"},
        Wrong{"--plan", "no FILE was given"}, Wrong{"--plan-page guide", "no FILE was given"},
        Wrong{"a.json --plan-page map", "there are best, memory, cost, guide, robust"},
        Wrong{"a.json --plan-page memry", "nearest: \"memory\""}, Wrong{"--view timelines a.json", "nearest: \"timeline\""},
        Wrong{"--figure gird a.svg a.json", "nearest: \"grid\""},
        Wrong{"--attach here", "--attach: there is no endpoint \"here\""},
        Wrong{"a.json --live --attach tcp://localhost:1", "one of them"},
        Wrong{"--attach tcp://localhost:1 --key k", "go together"}, Wrong{"--compare a.json", "no FILE"},
        Wrong{"--figure compare a.svg a.json", "there is no such view"}, Wrong{"--screenshot a.jpg", ".png"},
        Wrong{"--view grid --view timeline a.json", "--view is given twice (grid, timeline); once is enough"},
        Wrong{"--figure grid a.svg --figure grid b.svg --figure grid c.svg a.json", "--figure is given 3 times (grid a.svg, "},
        Wrong{"--size 1600", "WxH"}, Wrong{"--size 10x10", "320"}, Wrong{"--size ax900", "WxH"},
        Wrong{"--size 1600x900x2", "WxH"}, Wrong{"--figure grid", "takes a view"}, Wrong{"--figure grid a.bmp a.json", ".svg"},
        Wrong{"--figure nothing a.svg a.json", "there is no such view; there are grid"},
        Wrong{"--figure grid a.svg", "none was given"}, Wrong{"--set layout.tp=4", "no FILE"},
        Wrong{"--page a.pdf a.json", ".html"}, Wrong{"--page a.html", "none was given"},
        Wrong{"--film a.avi a.json", ".mp4, .webm, .gif or .svg"}, Wrong{"--film a.mp4", "none was given"},
        Wrong{"--film a.mp4 --size 1921x1080 a.json", "nearest: 1920x1080"},
        Wrong{"--film a.mp4 --seconds 0 a.json", "from 0.1 to 600"}, Wrong{"--film a.mp4 --fps 1.5 a.json", "1 to 120"},
        Wrong{"--seconds 3 a.json", "no film was asked for"},
        Wrong{"--film a.mp4 --compare b.json a.json", "--compare compares in a window"},
        Wrong{"--page a.html --compare b.json a.json", "--figure compare OUT"},
        Wrong{"--figure grid a.svg --compare b.json a.json", "--figure compare OUT"},
        Wrong{"--page a.html --view grid a.json", "a page has every view"},
        Wrong{"--figure grid a.svg --view timeline a.json", "--figure names its own"},
        Wrong{"--film a.mp4 --plan a.json", "--plan shows in a window"},
        Wrong{"--page a.html --plan-page cost a.json", "--plan-page shows in a window"},
        Wrong{"--film a.mp4 --present a.json", "--present shows in a window"},
        Wrong{"--film a.mp4 --live a.json", "--live shows in a window"}, Wrong{"--present", "no FILE was given"},
        Wrong{"--set layout.tp a.json", "POINTER=VALUE"}, Wrong{"--theme blue", "light, dark, high-contrast"}));

TEST(CommandLine, AnEmptyFileIsNotTheGallery)
{
    for (const QStringList& arguments :
         {QStringList{QString()}, QStringList{QStringLiteral("--plan"), QString()},
          QStringList{QStringLiteral("--attach"), QStringLiteral("tcp://localhost:1"), QStringLiteral("--key"), QString(),
                      QStringLiteral("--server-key"), QString()}}) {
        const CommandLine result = parseCommandLine(arguments, QStringLiteral("1.0"));
        EXPECT_EQ(result.exitCode, 2);
        EXPECT_TRUE(result.output.contains(QLatin1String("nothing is given"))) << result.output.toStdString();
    }
}

TEST(CommandLine, WhatIsAboutAScenarioIsRefusedOfARecordedRun)
{
    const std::string run = RANKSCOPE_TEST_DATA "/kineto";
    for (const std::string flag :
         {"--set layout.tp=2", "--compare a.json", "--plan", "--plan-page guide", "--live", "--page a.html"}) {
        const CommandLine result = parse((flag + " " + run).c_str());
        EXPECT_EQ(result.exitCode, 2) << flag;
        EXPECT_TRUE(result.output.contains(QString::fromStdString("is about a scenario, and " + run))) << flag;
    }
    EXPECT_EQ(parse(("--screenshot a.png " + run).c_str()).exitCode, -1);
    EXPECT_EQ(parse(("--figure grid a.svg " + run).c_str()).exitCode, -1);
    EXPECT_EQ(parse(("--figure timeline a.svg " + run).c_str()).exitCode, -1);
    const CommandLine memory = parse(("--figure memory a.svg " + run).c_str());
    EXPECT_EQ(memory.exitCode, 2);
    EXPECT_TRUE(memory.output.contains(QStringLiteral("--figure memory: of a recorded run the grid or the timeline is drawn")));
    EXPECT_EQ(parse(("--film a.mp4 " + run).c_str()).exitCode, -1);
    EXPECT_EQ(parse(("--film a.mp4 --view timeline " + run).c_str()).exitCode, -1);
    const CommandLine traffic = parse(("--film a.mp4 --view traffic " + run).c_str());
    EXPECT_EQ(traffic.exitCode, 2);
    EXPECT_TRUE(traffic.output.contains(QStringLiteral("--view traffic: of a recorded run the grid or the timeline is filmed")));
}

TEST(CommandLine, AComparisonHasAFigureOfItsOwn)
{
    const CommandLine result = parse("a.json --compare b.json --figure compare out.svg");
    ASSERT_LT(result.exitCode, 0) << result.output.toStdString();
    EXPECT_EQ(result.options.compare, QStringList{QStringLiteral("b.json")});
    const CommandLine several =
        parse("a.json --compare b.json --compare c.json --compare d.json --compare e.json --compare f.json");
    EXPECT_EQ(several.exitCode, -1) << several.output.toStdString();
    EXPECT_EQ(several.options.compare.size(), 5);
    const CommandLine tooMany = parse("a.json --compare b --compare c --compare d --compare e --compare f --compare g");
    EXPECT_EQ(tooMany.exitCode, 2);
    EXPECT_TRUE(tooMany.output.contains(QStringLiteral("up to 5 files beside FILE, not 6"))) << tooMany.output.toStdString();
    EXPECT_EQ(result.options.figureView, QStringLiteral("compare"));
}

TEST(CommandLine, AFilmIsASlideUnlessSaidOtherwise)
{
    const CommandLine usual = parse("--film a.mp4 a.json");
    ASSERT_LT(usual.exitCode, 0) << usual.output.toStdString();
    EXPECT_EQ(usual.options.size, QSize(1920, 1080));
    EXPECT_TRUE(usual.options.isPicture());
    const CommandLine chosen = parse("--film a.gif --seconds 2.5 --size 640x360 --fps 20 --view traffic a.json");
    ASSERT_LT(chosen.exitCode, 0) << chosen.output.toStdString();
    EXPECT_EQ(chosen.options.size, QSize(640, 360));
    EXPECT_DOUBLE_EQ(chosen.options.filmSeconds, 2.5);
    EXPECT_EQ(chosen.options.filmFramesPerSecond, 20);
    EXPECT_EQ(chosen.options.view, QStringLiteral("traffic"));
}

TEST(CommandLine, APageNeedsNoWindow)
{
    const CommandLine result = parse("--page out.html a.json");
    ASSERT_LT(result.exitCode, 0) << result.output.toStdString();
    EXPECT_EQ(result.options.page, QStringLiteral("out.html"));
    EXPECT_TRUE(result.options.isPicture());
}

TEST(CommandLine, AFileMayBeCalledAsDesktopsDo)
{
    EXPECT_EQ(parse("file:///home/me/a%20b.json").options.file, QStringLiteral("/home/me/a b.json"));
    EXPECT_EQ(parse("rankscope:eJxtkE1").options.file, QStringLiteral("rankscope:eJxtkE1"));
}

TEST(CommandLine, NothingIsTheGallery)
{
    const CommandLine result = parse("");
    EXPECT_LT(result.exitCode, 0);
    EXPECT_TRUE(result.options.file.isEmpty());
    EXPECT_FALSE(result.options.isPicture());
    EXPECT_EQ(result.options.size, QSize(1600, 900));
}

TEST(CommandLine, ReadsAllOfTheContract)
{
    const CommandLine result = parse("a.json --view grid --screenshot out.png --size 1280x720 --set layout.tp=4 "
                                     "--set layout.pp=2 --figure timeline out.svg --theme dark");
    ASSERT_LT(result.exitCode, 0) << result.output.toStdString();
    const StartOptions& o = result.options;
    EXPECT_EQ(o.file, QStringLiteral("a.json"));
    EXPECT_EQ(o.view, QStringLiteral("grid"));
    EXPECT_EQ(o.screenshot, QStringLiteral("out.png"));
    EXPECT_EQ(o.size, QSize(1280, 720));
    EXPECT_EQ(o.overrides, (QStringList{QStringLiteral("layout.tp=4"), QStringLiteral("layout.pp=2")}));
    EXPECT_EQ(o.figureView, QStringLiteral("timeline"));
    EXPECT_EQ(o.figureFile, QStringLiteral("out.svg"));
    EXPECT_EQ(o.theme, QStringLiteral("dark"));
    EXPECT_TRUE(o.isPicture());
}

TEST(CommandLine, HelpAndVersionSucceed)
{
    EXPECT_EQ(parse("--version").exitCode, 0);
    EXPECT_EQ(parse("--version").output, QStringLiteral("rankscope 1.2.3\n"));
    const CommandLine help = parse("--help");
    EXPECT_EQ(help.exitCode, 0);
    for (const char* option : {"--view", "--lesson", "--attach", "--screenshot", "--size", "--figure", "--set", "FILE"})
        EXPECT_TRUE(help.output.contains(QLatin1String(option))) << option;
}

} // namespace
} // namespace app
