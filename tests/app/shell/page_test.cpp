#include "app/shell/share/page.h"

#include "app/session/scenario_link.h"
#include "app/session/scenario_name.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/problem_banner.h"
#include "sim/analysis/whole_run.h"
#include "sim/error.h"
#include "sim/scenario/hardware_profile.h"
#include "sim/simulate/simulation.h"
#include "sim/text/duration_text.h"
#include "tests/app/shell/window_fixture.h"

#include <QApplication>
#include <QClipboard>
#include <QElapsedTimer>
#include <QFile>
#include <QProcess>
#include <QRegularExpression>
#include <QTemporaryDir>

#include <gtest/gtest.h>

#include <random>

namespace app {
namespace {

using namespace test;

QString page(const sim::ScenarioDocument& of)
{
    return QString::fromUtf8(
        pageOf(of, nameOf(sim::resolvedScenario(of, catalogue())), catalogue(), lightTheme(), QStringLiteral("1.2.3")));
}

/// What a browser would do with it: elements that load or run, wherever they point.
QStringList loadsOf(const QString& html)
{
    static const QRegularExpression loading(
        QStringLiteral("(src|href|xlink:href|action|data)=\"([^\"]*)\"|url\\(([^)]*)\\)|@import"));
    QStringList out;
    for (auto match = loading.globalMatch(html); match.hasNext();) {
        const auto found = match.next();
        const QString where = found.captured(2) + found.captured(3);
        if (!where.startsWith(QLatin1Char('#')) && !isScenarioLink(where))
            out << found.captured();
    }
    return out;
}

TEST(Page, SaysOfWhichScenarioItsDescriptionIs)
{
    const QString older = QStringLiteral("Of the scenario as it was opened:");
    const sim::ScenarioDocument sixteen = document(kSixteen);
    EXPECT_FALSE(page(sixteen).contains(older));
    const QString changed = QString::fromUtf8(
        pageOf(sixteen, QStringLiteral("Sixteen ranks, now tp 2"), catalogue(), lightTheme(), QStringLiteral("1")));
    EXPECT_TRUE(changed.contains(older));
}

TEST(Page, HoldsScenarioNumbersAndEveryPictureAndLoadsNothing)
{
    const sim::ScenarioDocument sixteen = document(kSixteen);
    const QString html = page(sixteen);
    for (const PictureInfo& picture : pictures())
        EXPECT_TRUE(html.contains(QStringLiteral("<section class=\"picture\" id=\"%1\">").arg(QLatin1String(picture.name))))
            << picture.name;
    EXPECT_TRUE(html.contains(QLatin1String("Step time")));
    EXPECT_TRUE(html.contains(QLatin1String("<summary>Numbers of the step</summary>")));
    EXPECT_TRUE(html.contains(QLatin1String("Rankscope 1.2.3")));
    EXPECT_TRUE(html.contains(QString::fromStdString(sixteen.text()).toHtmlEscaped()));
    EXPECT_EQ(loadsOf(html), QStringList());
    EXPECT_FALSE(html.contains(QLatin1String("{{")));
    const qsizetype link = html.indexOf(QLatin1String("href=\"rankscope:")) + 6;
    EXPECT_EQ(scenarioOfLink(html.mid(link, html.indexOf(QLatin1Char('"'), link) - link)), sixteen.text());
}

TEST(Page, TellsTheWholeRunAndWhereItsTokensAreNotSaid)
{
    sim::ScenarioDocument job = document(kSixteen);
    const auto run = sim::wholeRun(*sim::simulate(scenario(job)), 1e12);
    const QLatin1String supposed("supposed, to compare jobs by: the scenario names none");
    EXPECT_TRUE(page(job).contains(supposed)) << "as beside the step";
    job.set("/training/tokens", "1e12");
    const QString html = page(job);
    EXPECT_FALSE(html.contains(supposed));
    EXPECT_TRUE(html.contains(QString::fromStdString(sim::durationText(run.days * 86400))));
    EXPECT_TRUE(html.contains(QString::fromStdString(run.energyText()))) << run.energyText();
    job.set("/training/tokens", "1000");
    EXPECT_FALSE(page(job).contains(QLatin1String("0.000 days"))) << "a step";
}

TEST(Page, SaysOfWhatTheHostsCannotHoldThatItDoesNotFit)
{
    sim::ScenarioDocument job = document("86-sizing-7b.json");
    job.set("/training/offload", R"({"optimizer":1})");
    EXPECT_FALSE(page(job).contains(QLatin1String("if it fitted")));
    job.set("/cluster/host/memory_gib", "30");
    ASSERT_TRUE(sim::simulate(scenario(job))->metrics().fits) << "the GPUs hold it";
    const QString html = page(job);
    EXPECT_TRUE(html.contains(QLatin1String(" of 30 GiB of a host; if it did: likely")));
    EXPECT_EQ(html.count(QLatin1String("\"note\">if it fitted; ")), 3) << "tokens, MFU, the whole run";
}

TEST(Page, CallsAttentionCausalWhereItIs)
{
    sim::ScenarioDocument job = document(kSixteen);
    EXPECT_TRUE(page(job).contains(QLatin1String("causal; attention in full ")));
    job.set("/training/causal", "false");
    EXPECT_FALSE(page(job).contains(QLatin1String("causal; attention"))) << "in a card";
    EXPECT_FALSE(page(job).contains(QLatin1String("as it is causal"))) << "in the table";
}

TEST(Page, PicturesShareNoIds)
{
    const QString html = page(document(kSixteen));
    static const QRegularExpression id(QStringLiteral(" id=\"([^\"]+)\""));
    QStringList ids;
    for (auto match = id.globalMatch(html); match.hasNext();)
        ids << match.next().captured(1);
    QStringList once = ids;
    once.removeDuplicates();
    EXPECT_EQ(ids.size(), once.size());
    static const QRegularExpression used(QStringLiteral("url\\(#([^)]+)\\)"));
    for (auto match = used.globalMatch(html); match.hasNext();)
        EXPECT_TRUE(once.contains(match.next().captured(1)));
}

TEST(Page, NoTextOfAFileBecomesMarkup)
{
    sim::ScenarioDocument hostile = document(kTiny);
    hostile.set("/name", R"("</title><script>alert(1)</script>{{link}}")");
    hostile.set("/source", R"("<img src=x onerror=alert(2)>")");
    hostile.set(
        "/description",
        R"("<script>alert(3)</script> **bold** ![p](http://a.example/p.png) [go](javascript:alert(4)) [ok](https://b.example) {{scenario}}")");
    const QString html = page(hostile);
    EXPECT_EQ(html.count(QLatin1String("<script")), 1) << "the page's own";
    EXPECT_FALSE(html.contains(QLatin1String("<img")));
    EXPECT_FALSE(html.contains(QLatin1String("href=\"javascript")));
    EXPECT_TRUE(html.contains(QLatin1String("{{link}}"))) << "what is put in is not filled in";
    EXPECT_TRUE(html.contains(QLatin1String("<span class=\"strong\">bold</span>")));
    EXPECT_TRUE(html.contains(QLatin1String("<a href=\"https://b.example\">")));
    EXPECT_EQ(loadsOf(html), QStringList{QStringLiteral("href=\"https://b.example\"")}) << "followed only where it is clicked";
}

TEST(Page, IsSmallAndSoonThere)
{
    // The largest of the gallery: 16,384 ranks.
    const sim::ScenarioDocument largest = document(kLarge);
    QElapsedTimer timer;
    timer.start();
    const QByteArray html = pageOf(largest, QStringLiteral("The largest"), catalogue(), lightTheme(), QStringLiteral("1"));
    constexpr qint64 kSlowMachine = 10; // times a second
    EXPECT_LT(timer.elapsed(), kSlowMachine * 1000);
    EXPECT_LT(html.size(), kMostPageBytes);
    EXPECT_TRUE(html.contains("data-packed")) << "its rank grid is unpacked by the browser";
    EXPECT_FALSE(page(document(kTiny)).contains(QLatin1String("data-packed=\"")));
}

TEST(Page, OfAnImpossibleScenarioIsRefused)
{
    sim::ScenarioDocument impossible = document(kTiny);
    impossible.set("/layout/tp", "7");
    EXPECT_THROW(page(impossible), sim::ScenarioError);
}

class ShareTest : public WindowTest {};

TEST_F(ShareTest, ALinkGoesThroughTheClipboard)
{
    open(kTiny);
    const std::string text = window.session().document().text();
    window.run(CommandId::copyLink);
    const QString link = QApplication::clipboard()->text();
    ASSERT_TRUE(isScenarioLink(link));
    open(kSixteen);
    window.run(CommandId::openFromClipboard);
    EXPECT_EQ(window.session().document().text(), text);
    EXPECT_EQ(window.session().path(), QString()) << "in no file";

    QApplication::clipboard()->setText(QString::fromStdString(document(kSixteen).text()));
    window.session().undoStack().setClean();
    window.run(CommandId::openFromClipboard);
    EXPECT_EQ(window.session().document().text(), document(kSixteen).text()) << "the text of a file does, too";
}

TEST_F(ShareTest, ALinkThatNothingWouldOpenIsNotCopied)
{
    open(kTiny);
    std::mt19937 random(1);
    std::string noise;
    while (noise.size() < 1'600'000) // compresses to half of it
        noise += "0123456789abcdef"[random() % 16];
    window.session().edit(makeKeyEdit("/view/noise", "\"" + noise + "\"", "noise", "", ""));
    QApplication::clipboard()->setText(QStringLiteral("before"));
    window.run(CommandId::copyLink);
    EXPECT_EQ(QApplication::clipboard()->text(), QStringLiteral("before"));
    EXPECT_TRUE(window.banner().isVisible());
}

TEST_F(ShareTest, FilesThatLieBesideAScenarioGoWithIt)
{
    QTemporaryDir folder;
    const auto write = [&](const char* name, const std::string& text) {
        QFile file(folder.filePath(QLatin1String(name)));
        ASSERT_TRUE(file.open(QIODevice::WriteOnly));
        file.write(QByteArray::fromStdString(text));
    };
    sim::ScenarioDocument mine = document(kTiny);
    mine.set("/cluster/efficiency", "\"measured.json\"");
    write("measured.json",
          sim::hardwareProfileText("mine", {.device = "here", .kernels = {{"adamw", {{.m = 1, .n = 5, .microseconds = 1}}}}}));
    write("mine.json", mine.text());
    ASSERT_TRUE(window.openFile(folder.filePath(QStringLiteral("mine.json"))).empty());
    settle();
    const sim::Scenario here = *window.session().scenario();
    const QString html = page(window.session().document());
    window.run(CommandId::copyLink);
    ASSERT_TRUE(folder.remove());
    ASSERT_TRUE(window.openFile(QApplication::clipboard()->text()).empty());
    EXPECT_EQ(window.session().scenario()->cluster.efficiency, here.cluster.efficiency);
    EXPECT_TRUE(html.contains(QApplication::clipboard()->text())) << "the page has the same link";
}

TEST_F(ShareTest, WhatIsNoScenarioIsSaid)
{
    open(kTiny);
    const std::string text = window.session().document().text();
    QString link = scenarioLink(text);
    for (const QString& wrong : {QStringLiteral("good morning"), QString(), link.left(link.size() / 2)}) {
        QApplication::clipboard()->setText(wrong);
        window.banner().dismiss();
        window.run(CommandId::openFromClipboard);
        EXPECT_FALSE(window.banner().isHidden()) << wrong.toStdString();
        EXPECT_EQ(window.session().document().text(), text);
    }
}

TEST(Page, ItsTablesHaveNumbersAsTheyAreRead)
{
    const QString html = page(readDocument(galleryFile(kSixteen)));
    static const QRegularExpression kEndless(QStringLiteral("<td>\\d+\\.\\d{10,}</td>"));
    EXPECT_TRUE(html.contains(QLatin1String("<td>")));
    EXPECT_FALSE(html.contains(kEndless)) << kEndless.match(html).captured().toStdString();
    static const QRegularExpression kRaw(QStringLiteral("<td>\\d{7,}(\\.\\d+)?</td>"));
    EXPECT_FALSE(html.contains(kRaw)) << "bytes and nanoseconds: " << kRaw.match(html).captured().toStdString();
    const auto simulation = sim::simulate(sim::resolvedScenario(readDocument(galleryFile(kSixteen)), catalogue()));
    const sim::Metrics& m = simulation->metrics();
    for (const QString& shown : {durationQuantity(m.stepTimeSeconds).text(), percentQuantity(m.mfu).text(),
                                 memoryQuantity(m.peakMemoryGib).text(), separated(m.parameters)})
        EXPECT_TRUE(html.contains(QStringLiteral("<td>%1</td>").arg(shown.toHtmlEscaped()))) << shown.toStdString();
    EXPECT_FALSE(html.contains(QLatin1String("(bytes)"))) << "each number has its unit";
}

TEST_F(WindowTest, APageOfTheCommandLineIsCalledAsTheWindowCallsIt)
{
    const QTemporaryDir folder;
    const QString out = folder.filePath(QStringLiteral("out.html")), change = QStringLiteral("training.global_batch_size=16");
    ASSERT_TRUE(window.openFile(galleryFile(kSixteen), {change}).empty());
    const QString name = window.desk().session().displayName();
    EXPECT_TRUE(name.contains(QStringLiteral(", now "))) << name.toStdString();
    QProcess program;
    program.start(QStringLiteral(RANKSCOPE_BIN_DIR "/rankscope"),
                  {galleryFile(kSixteen), QStringLiteral("--set"), change, QStringLiteral("--page"), out});
    ASSERT_TRUE(program.waitForFinished());
    ASSERT_EQ(program.exitCode(), 0) << program.readAllStandardError().toStdString();
    QFile file(out);
    ASSERT_TRUE(file.open(QIODevice::ReadOnly));
    EXPECT_TRUE(QString::fromUtf8(file.readAll()).contains(QStringLiteral("<title>") + name.toHtmlEscaped()));
}

} // namespace
} // namespace app
