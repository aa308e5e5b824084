// The program itself, without a display: pictures, messages, exit codes.
#include "tests/app/session/session_fixtures.h"

#include <QFile>
#include <QImage>
#include <QProcess>
#include <QProcessEnvironment>
#include <QSet>
#include <QTemporaryDir>

#include <gtest/gtest.h>

namespace app {
namespace {

using namespace test;

struct Outcome {
    int exitCode;
    QByteArray output, error;
};

Outcome rankscope(const QStringList& arguments, const QString& display = {})
{
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"})
        environment.remove(QLatin1String(name));
    if (!display.isEmpty())
        environment.insert(QStringLiteral("DISPLAY"), display);
    process.setProcessEnvironment(environment);
    process.start(QStringLiteral(RANKSCOPE_BIN_DIR "/rankscope"), arguments);
    if (!process.waitForFinished(30000))
        return {-1, {}, "did not end"};
    return {process.exitCode(), process.readAllStandardOutput(), process.readAllStandardError()};
}

class OnePicture : public testing::Test {
protected:
    QString path(const char* name) const { return folder.filePath(QLatin1String(name)); }
    static QByteArray contents(const QString& file)
    {
        QFile in(file);
        return in.open(QIODevice::ReadOnly) ? in.readAll() : QByteArray();
    }
    static qsizetype colours(const QImage& image)
    {
        QSet<QRgb> seen;
        for (int y = 0; y < image.height(); y += 3) {
            for (int x = 0; x < image.width(); x += 3)
                seen.insert(image.pixel(x, y));
        }
        return seen.size();
    }
    QTemporaryDir folder;
};

/// Of slides, too, which else fill the screen: the one that stands in for a display is smaller.
TEST_F(OnePicture, IsAsLargeAsWasAskedFor)
{
    for (const QStringList& more : {QStringList(), QStringList{QStringLiteral("--present")}}) {
        const QString out = path("slide.png");
        const Outcome outcome = rankscope(QStringList{galleryFile("17-schedule-1f1b.json"), QStringLiteral("--size"),
                                                      QStringLiteral("1366x768"), QStringLiteral("--screenshot"), out} +
                                          more);
        ASSERT_EQ(outcome.exitCode, 0) << outcome.error.toStdString();
        EXPECT_EQ(QImage(out).size(), QSize(1366, 768)) << more.size();
    }
}

TEST_F(OnePicture, OnAFullDiskLeavesNothingAndSaysWhy)
{
    QProcess process;
    process.start(QStringLiteral("/bin/sh"),
                  {QStringLiteral("-c"), QStringLiteral("trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\""),
                   QStringLiteral(RANKSCOPE_BIN_DIR "/rankscope"), galleryFile(kSixteen), QStringLiteral("--screenshot"),
                   path("a.png")});
    ASSERT_TRUE(process.waitForFinished(30000));
    EXPECT_EQ(process.exitCode(), 1);
    const QString error = QString::fromUtf8(process.readAllStandardError());
    EXPECT_TRUE(error.startsWith(path("a.png") + QStringLiteral(": cannot be written"))) << error.toStdString();
    EXPECT_FALSE(QFile::exists(path("a.png")));
}

TEST_F(OnePicture, ScreenshotHasTheSizeAskedForAndIsNotBlank)
{
    const Outcome outcome = rankscope({galleryFile(kSixteen), QStringLiteral("--screenshot"), path("a.png"),
                                       QStringLiteral("--size"), QStringLiteral("1280x720")});
    EXPECT_EQ(outcome.exitCode, 0) << outcome.error.toStdString();
    EXPECT_TRUE(outcome.error.isEmpty()) << outcome.error.toStdString();
    const QImage image(path("a.png"));
    EXPECT_EQ(image.size(), QSize(1280, 720));
    EXPECT_GT(colours(image), 100);
}

TEST_F(OnePicture, ScreenshotsAreTheSameEveryTime)
{
    for (const char* name : {"a.png", "b.png"})
        ASSERT_EQ(rankscope({galleryFile(kSixteen), QStringLiteral("--screenshot"), path(name)}).exitCode, 0);
    EXPECT_EQ(contents(path("a.png")), contents(path("b.png")));
}

TEST_F(OnePicture, WithoutAFileItIsTheGallery)
{
    EXPECT_EQ(
        rankscope({QStringLiteral("--screenshot"), path("a.png"), QStringLiteral("--theme"), QStringLiteral("dark")}).exitCode,
        0);
    const QImage image(path("a.png"));
    EXPECT_EQ(image.size(), QSize(1600, 900));
    EXPECT_LT(image.pixelColor(5, 890).lightness(), 100);
}

TEST_F(OnePicture, FiguresAreVectorsOrPixelsByTheirEnding)
{
    for (const char* view : {"grid", "timeline"}) {
        EXPECT_EQ(rankscope({galleryFile(kTiny), QStringLiteral("--figure"), QLatin1String(view), path("a.svg")}).exitCode, 0);
        EXPECT_TRUE(contents(path("a.svg")).contains("<svg"));
        EXPECT_EQ(rankscope({galleryFile(kTiny), QStringLiteral("--figure"), QLatin1String(view), path("a.pdf")}).exitCode, 0);
        EXPECT_TRUE(contents(path("a.pdf")).startsWith("%PDF"));
        EXPECT_EQ(rankscope({galleryFile(kTiny), QStringLiteral("--figure"), QLatin1String(view), path("a.png")}).exitCode, 0);
        EXPECT_GT(colours(QImage(path("a.png"))), 5);
        QFile::remove(path("a.svg"));
    }
}

TEST_F(OnePicture, BadInputExitsWithOneAndAllProblems)
{
    const Outcome outcome =
        rankscope({galleryFile(kSixteen), QStringLiteral("--set"), QStringLiteral("layout.tp=3"), QStringLiteral("--set"),
                   QStringLiteral("layout.wrong=1"), QStringLiteral("--screenshot"), path("a.png")});
    EXPECT_EQ(outcome.exitCode, 1);
    EXPECT_TRUE(outcome.error.contains("/layout/tp")) << outcome.error.toStdString();
    EXPECT_TRUE(outcome.error.contains("/layout/wrong")) << outcome.error.toStdString();
    EXPECT_TRUE(outcome.output.isEmpty());
    EXPECT_FALSE(QFile::exists(path("a.png")));
    EXPECT_EQ(rankscope({path("none.json"), QStringLiteral("--screenshot"), path("a.png")}).exitCode, 1);
    EXPECT_EQ(rankscope({galleryFile(kTiny), QStringLiteral("--figure"), QStringLiteral("grid"), path("no/such/a.svg")}).exitCode,
              1);
    EXPECT_EQ(rankscope({galleryFile(kTiny), QStringLiteral("--screenshot"), path("no/such/a.png")}).exitCode, 1);
}

/// Neither by its own name nor by another one of the same file, whatever is written.
TEST_F(OnePicture, NeverTakesThePlaceOfWhatItWasReadFrom)
{
    const QString file = path("z.png"), other = path("other.json"), profile = path("profile.png");
    const QString picture = path("l.png"), page = path("l.html");
    ASSERT_TRUE(QFile::copy(galleryFile(kSixteen), file) && QFile::copy(file, other));
    ASSERT_TRUE(QFile::link(other, picture) && QFile::link(other, page));
    const QByteArray before = contents(file), constants = "{\"gemm\": 0.5}";
    {
        QFile out(profile);
        ASSERT_TRUE(out.open(QIODevice::WriteOnly) && out.write(constants) == constants.size());
    }
    const QString screenshot = QStringLiteral("--screenshot"), figure = QStringLiteral("--figure");
    const QString compare = QStringLiteral("--compare"), timeline = QStringLiteral("timeline");
    const QStringList calls[] = {
        {file, screenshot, file},
        {other, screenshot, picture},
        {other, QStringLiteral("--page"), page},
        {file, figure, timeline, file},
        {file, compare, other, figure, QStringLiteral("compare"), picture},
        {file, compare, other, screenshot, picture},
        {other, QStringLiteral("--set"), QStringLiteral("cluster.efficiency=profile.png"), figure, timeline, profile},
        {other, QStringLiteral("--set"), QStringLiteral("cluster.efficiency=profile.png"), screenshot, profile},
    };
    for (const QStringList& arguments : calls) {
        const Outcome outcome = rankscope(arguments);
        EXPECT_EQ(outcome.exitCode, 1) << outcome.error.toStdString();
        EXPECT_EQ(outcome.error,
                  (arguments.back() + QStringLiteral(": is a file that was read: write to another name\n")).toUtf8());
        EXPECT_EQ(contents(file), before);
        EXPECT_EQ(contents(other), before);
        EXPECT_EQ(contents(profile), constants);
    }
}

TEST_F(OnePicture, CalledWronglyExitsWithTwo)
{
    EXPECT_EQ(rankscope({QStringLiteral("--lesson"), QStringLiteral("first"), galleryFile(kTiny)}).exitCode, 2);
    EXPECT_EQ(
        rankscope({QStringLiteral("--lesson"), QStringLiteral("no-such-lesson"), QStringLiteral("--screenshot"), path("a.png")})
            .exitCode,
        1);
    EXPECT_EQ(rankscope({QStringLiteral("--no-such")}).exitCode, 2);
    EXPECT_EQ(rankscope({QStringLiteral("--version")}).exitCode, 0);
    const Outcome help = rankscope({QStringLiteral("--help")});
    EXPECT_EQ(help.exitCode, 0);
    EXPECT_TRUE(help.output.contains("--screenshot"));
    EXPECT_TRUE(help.error.isEmpty());
}

#ifdef Q_OS_LINUX
TEST_F(OnePicture, AWindowWithoutADisplayIsRefusedInWords)
{
    const Outcome outcome = rankscope({});
    EXPECT_EQ(outcome.exitCode, 1);
    EXPECT_TRUE(outcome.error.contains("no display")) << outcome.error.toStdString();
    const Outcome gone = rankscope({}, QStringLiteral(":9871"));
    EXPECT_EQ(gone.exitCode, 1);
    EXPECT_TRUE(gone.error.contains("no X server answers as DISPLAY :9871")) << gone.error.toStdString();
}
#endif

} // namespace
} // namespace app
