// Films as files: as many frames as asked for, of the moments asked for, whole or not at all.
#include "app/canvas/film/film_palette.h"
#include "app/canvas/qt/unfinished_file.h"
#include "app/session/film.h"
#include "tests/app/session/session_fixtures.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>

#include <gmock/gmock.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace app {
namespace {

using namespace test;

constexpr const char* kFrame = "<?xml?>\n<!-- frame of a film -->\nold";

/// A bar that is as far as the time.
class BarView final : public View {
public:
    float share = 0;
    std::string title() const override { return "bar"; }
    void draw(Canvas& canvas) override
    {
        const Rect area = canvas.area();
        canvas.fillRect({area.left, area.top, area.left + area.width() * share, area.bottom}, Color::rgb(0xD55E00));
    }
};

class BarScene final : public FilmScene {
public:
    explicit BarScene(std::vector<std::int64_t>& asked) : m_asked(asked) {}
    View& at(std::int64_t ns) override
    {
        m_asked.push_back(ns);
        m_bar.share = static_cast<float>(ns) / 1000;
        return m_bar;
    }

private:
    std::vector<std::int64_t>& m_asked;
    BarView m_bar;
};

class FilmTest : public testing::Test {
protected:
    FilmTest()
    {
        QObject::connect(&maker, &FilmMaker::finished, &maker, [this](const QString&, const QString& why) {
            failure = why;
            isDone = true;
        });
    }
    QString pathOf(const char* name) const { return folder.filePath(QLatin1String(name)); }
    FilmPlan plan(const char* name) const
    {
        return {.path = pathOf(name),
                .shape = {.logical = {160, 90}, .pngScale = 2},
                .span = {0, 1000},
                .seconds = 1,
                .framesPerSecond = 20};
    }
    void start(const FilmPlan& film)
    {
        maker.start(film, [this] { return std::make_shared<BarScene>(asked); });
    }
    QByteArray bytesOf(const char* name) const
    {
        QFile file(pathOf(name));
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }
    QStringList files() const { return QDir(folder.path()).entryList(QDir::Files, QDir::Name); }

    QTemporaryDir folder;
    std::vector<std::int64_t> asked;
    QString failure;
    bool isDone = false;
    FilmMaker maker;
};

TEST_F(FilmTest, ShowsItsSpanFromBeginToEndInEvenSteps)
{
    const FilmPlan film{.path = {}, .shape = {}, .span = {100, 1050}, .seconds = 1, .framesPerSecond = 20};
    EXPECT_EQ(film.frames(), 20);
    EXPECT_EQ(film.momentOf(0), 100);
    EXPECT_EQ(film.momentOf(1), 150);
    EXPECT_EQ(film.momentOf(19), 1050);
}

TEST_F(FilmTest, NumbersItsSvgs)
{
    QFile longer(pathOf("a-0021.svg")), other(pathOf("a-0023.svg"));
    ASSERT_TRUE(longer.open(QIODevice::WriteOnly) && other.open(QIODevice::WriteOnly));
    longer.write(kFrame);
    longer.close();
    start(plan("a.svg"));
    ASSERT_TRUE(waitFor([this] { return isDone; }));
    EXPECT_EQ(failure.toStdString(), "");
    EXPECT_FALSE(longer.exists()) << "the end of a longer film of that name";
    ASSERT_TRUE(other.remove());
    ASSERT_EQ(files().size(), 20);
    EXPECT_EQ(files().front(), QStringLiteral("a-0001.svg"));
    EXPECT_EQ(files().back(), QStringLiteral("a-0020.svg"));
    EXPECT_EQ(asked.size(), 20U);
    EXPECT_TRUE(bytesOf("a-0020.svg").contains("width=\"160\"")) << "the bar at its end";
    EXPECT_NE(bytesOf("a-0002.svg"), bytesOf("a-0020.svg"));
}

TEST_F(FilmTest, WritesWhatPlayersKnow)
{
    struct Kind {
        const char* name;
        QByteArray begin;
        int at;
    };
    if (!whyNoFilm(FilmEnding::mp4).isEmpty())
        GTEST_SKIP() << whyNoFilm(FilmEnding::mp4).toStdString();
    for (const Kind& kind : {Kind{"a.mp4", "ftyp", 4}, Kind{"a.webm", "\x1A\x45\xDF\xA3", 0}, Kind{"a.gif", "GIF89a", 0}}) {
        isDone = false;
        int told = 0;
        const auto progress = QObject::connect(&maker, &FilmMaker::progressed, &maker, [&](int frames, int of) {
            EXPECT_EQ(frames, ++told);
            EXPECT_EQ(of, 20);
        });
        start(plan(kind.name));
        ASSERT_TRUE(waitFor([this] { return isDone; }));
        QObject::disconnect(progress);
        EXPECT_EQ(failure.toStdString(), "");
        EXPECT_EQ(told, 20);
        EXPECT_EQ(bytesOf(kind.name).mid(kind.at, kind.begin.size()), kind.begin) << kind.name;
        EXPECT_GT(bytesOf(kind.name).size(), 500);
    }
    EXPECT_EQ(files().size(), 3) << "and nothing else: " << files().join(QLatin1Char(' ')).toStdString();
}

TEST_F(FilmTest, CancelledLeavesNothingAndAnOldFileAsItWas)
{
    const char* const name = whyNoFilm(FilmEnding::mp4).isEmpty() ? "a.mp4" : "a.svg";
    QFile old(pathOf(name));
    ASSERT_TRUE(old.open(QIODevice::WriteOnly));
    old.write("old");
    old.close();
    FilmPlan film = plan(name);
    film.seconds = 100;
    int frames = 0;
    QObject::connect(&maker, &FilmMaker::progressed, &maker, [&] { ++frames; });
    start(film);
    ASSERT_TRUE(waitFor([&] { return frames > 3; }));
    maker.cancel();
    EXPECT_FALSE(maker.isBusy());
    EXPECT_FALSE(isDone);
    EXPECT_EQ(bytesOf(name), "old");
    EXPECT_EQ(files().size(), 1) << files().join(QLatin1Char(' ')).toStdString();
}

TEST_F(FilmTest, CancelledLeavesTheFramesOfAnOldFilmAsTheyWere)
{
    for (const char* name : {"a-0001.svg", "a-0002.svg"}) {
        QFile old(pathOf(name));
        ASSERT_TRUE(old.open(QIODevice::WriteOnly));
        old.write(kFrame);
    }
    FilmPlan film = plan("a.svg");
    film.seconds = 100;
    int frames = 0;
    QObject::connect(&maker, &FilmMaker::progressed, &maker, [&] { ++frames; });
    start(film);
    ASSERT_TRUE(waitFor([&] { return frames > 3; }));
    maker.cancel();
    EXPECT_EQ(files(), QStringList({QStringLiteral("a-0001.svg"), QStringLiteral("a-0002.svg")}));
    for (const char* name : {"a-0001.svg", "a-0002.svg"})
        EXPECT_EQ(bytesOf(name), kFrame) << name;
}

TEST_F(FilmTest, WhatIsNoFrameStaysSomebodys)
{
    for (const char* name : {"page-0001.svg", "page-0021.svg"}) {
        QFile own(pathOf(name));
        ASSERT_TRUE(own.open(QIODevice::WriteOnly));
        own.write("<svg>drawn by hand</svg>");
    }
    start(plan("page.svg"));
    ASSERT_TRUE(waitFor([this] { return isDone; }));
    EXPECT_THAT(failure.toStdString(), testing::HasSubstr("page-0001.svg: is there already, and is no frame of a film"));
    EXPECT_EQ(files().size(), 2);
    ASSERT_TRUE(QFile::remove(pathOf("page-0001.svg")));
    isDone = false;
    start(plan("page.svg"));
    ASSERT_TRUE(waitFor([this] { return isDone; }));
    EXPECT_EQ(failure.toStdString(), "");
    EXPECT_EQ(bytesOf("page-0021.svg"), "<svg>drawn by hand</svg>") << "beyond the film's end";
}

TEST_F(FilmTest, WhatIsNoFrameStaysSomebodysBehindAGap)
{
    QFile own(pathOf("page-0005.svg"));
    ASSERT_TRUE(own.open(QIODevice::WriteOnly));
    own.write("<svg>drawn by hand</svg>");
    own.close();
    start(plan("page.svg"));
    ASSERT_TRUE(waitFor([this] { return isDone; }));
    EXPECT_THAT(failure.toStdString(), testing::HasSubstr("page-0005.svg: is there already, and is no frame of a film"));
    EXPECT_EQ(bytesOf("page-0005.svg"), "<svg>drawn by hand</svg>");
    EXPECT_EQ(files().size(), 1);
}

/// Its times are whole hundredths of a second, and a picture of one hundredth is shown for ten.
TEST_F(FilmTest, AGifHasAsManyFramesAsItsTimesCanTellApart)
{
    FilmPlan film = plan("a.gif");
    film.framesPerSecond = 120;
    EXPECT_EQ(film.frames(), 50) << "as long as was asked for";
    film.path = pathOf("a.mp4");
    EXPECT_EQ(film.frames(), 120);
    film.path = pathOf("a.gif");
    if (!whyNoFilm(FilmEnding::gif).isEmpty())
        GTEST_SKIP() << whyNoFilm(FilmEnding::gif).toStdString();
    start(film);
    ASSERT_TRUE(waitFor([this] { return isDone; }));
    EXPECT_EQ(failure.toStdString(), "");
    const QByteArray bytes = bytesOf("a.gif"), control("\x21\xF9\x04", 3);
    int pictures = 0;
    for (qsizetype at = bytes.indexOf(control); at >= 0; at = bytes.indexOf(control, at + 1), ++pictures)
        EXPECT_EQ(bytes[at + 4], 2) << "hundredths of picture " << pictures;
    EXPECT_EQ(pictures, 50);
}

/// Nobody comes after a program that was killed to take away what it was writing: whoever writes that film next does.
TEST_F(FilmTest, WhatAKilledProgramLeftGoesAndWhatOthersAreWritingStays)
{
    for (const char* name : {"a.svg.4711.part", "a-0001.svg.4711.part", "a-0002.svg.4711.part", // left
                             "a.svg.4712.part", "a-0001.svg.4712.part",                         // being written
                             "a.svg.notes.part", "b.svg.4711.part", "a-notes.svg.4711.part"}) { // of others
        QFile file(pathOf(name));
        ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    }
    const int writer = ::open(QFile::encodeName(pathOf("a.svg.4712.part")).constData(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(::flock(writer, LOCK_EX | LOCK_NB), 0);
    FilmPlan film = plan("a.svg");
    film.seconds = 0.1;
    start(film);
    ASSERT_TRUE(waitFor([this] { return isDone; }));
    ::close(writer);
    EXPECT_EQ(failure.toStdString(), "");
    EXPECT_EQ(
        files().join(QLatin1Char(' ')).toStdString(),
        "a-0001.svg a-0001.svg.4712.part a-0002.svg a-notes.svg.4711.part a.svg.4712.part a.svg.notes.part b.svg.4711.part");
}

/// Names have at most 255 bytes, of which an unfinished file's wants some.
TEST_F(FilmTest, HasTheLongestNamesThatFilesCanHave)
{
    const auto film = [this](const QString& base) {
        FilmPlan of = plan("a.svg");
        of.path = folder.filePath(base + QStringLiteral(".svg"));
        of.seconds = 0.1;
        isDone = false;
        failure.clear();
        start(of);
        ASSERT_TRUE(waitFor([this] { return isDone; }));
    };
    for (const QString& base : {QString(246, QLatin1Char('a')), QString(123, QChar(0xE4)), QStringLiteral("50%1 of [it]")}) {
        for (const char* end : {".svg", "-0001.svg", "-0007.svg"}) { // what a program that was killed left of it
            QFile part(UnfinishedFile::nameFor(folder.filePath(base + QLatin1String(end)))
                           .replace(QStringLiteral(".%1.part").arg(::getpid()), QStringLiteral(".4711.part")));
            ASSERT_TRUE(part.open(QIODevice::WriteOnly)) << part.fileName().toStdString();
        }
        ASSERT_EQ(files().size(), 3);
        film(base);
        EXPECT_EQ(failure.toStdString(), "") << base.toStdString();
        EXPECT_EQ(files(), QStringList({base + QStringLiteral("-0001.svg"), base + QStringLiteral("-0002.svg")}))
            << base.toStdString();
        for (const QString& file : files())
            ASSERT_TRUE(QFile::remove(folder.filePath(file)));
    }
    film(QString(247, QLatin1Char('a')));
    EXPECT_TRUE(failure.contains(QStringLiteral("too long"))) << failure.toStdString();
    EXPECT_TRUE(files().empty()) << "told before a frame is drawn";
}

TEST_F(FilmTest, SaysWhyItCannotBeWritten)
{
    FilmPlan film = plan("a.svg");
    film.path = folder.filePath(QStringLiteral("nowhere/a.svg"));
    start(film);
    ASSERT_TRUE(waitFor([this] { return isDone; }));
    EXPECT_TRUE(failure.contains(QStringLiteral("nowhere"))) << failure.toStdString();
    EXPECT_FALSE(maker.isBusy());
    film.path = pathOf("a.avi");
    isDone = false;
    start(film);
    ASSERT_TRUE(waitFor([this] { return isDone; }));
    EXPECT_TRUE(failure.contains(QStringLiteral(".mp4, .webm or .gif"))) << failure.toStdString();
}

TEST(FilmPalette, KeepsFewColoursAsTheyAre)
{
    const std::vector<std::uint32_t> first{0xFF112233, 0xFF112233, 0xFFFFFFFF, 0xFFD55E00};
    FilmPalette palette;
    std::vector<std::uint8_t> indices(4);
    palette.map(first.data(), 16, 4, 1, indices.data(), 4);
    for (std::size_t i = 0; i < 4; ++i)
        EXPECT_EQ(palette.colors()[indices[i]], first[i]);
    const std::vector<std::uint8_t> before = indices;
    const std::vector<std::uint32_t> second{0xFF0072B2, 0xFF112233, 0xFFFFFFFF, 0xFFD55E00};
    palette.map(second.data(), 16, 4, 1, indices.data(), 4);
    EXPECT_EQ(palette.colors()[indices[0]], second[0]);
    EXPECT_EQ(std::vector(indices.begin() + 1, indices.end()), std::vector(before.begin() + 1, before.end()))
        << "what stood still keeps its place";
}

TEST(FilmPalette, TakesTheNearestWhereNoPlaceIsLeft)
{
    std::vector<std::uint32_t> many;
    for (std::uint32_t i = 0; i < 4096; ++i)
        many.push_back(0xFF000000U | (i & 0xF) << 4 | (i >> 4 & 0xF) << 12 | (i >> 8) << 20);
    FilmPalette palette;
    std::vector<std::uint8_t> indices(many.size());
    palette.map(many.data(), 4096 * 4, 4096, 1, indices.data(), 4096);
    EXPECT_EQ(palette.colors().size(), FilmPalette::kMost);
    const std::uint32_t last = palette.colors()[indices.back()];
    for (const std::uint32_t color : palette.colors()) {
        const auto away = [&](std::uint32_t c) {
            int sum = 0;
            for (const int shift : {0, 8, 16})
                sum += (static_cast<int>(c >> shift & 0xFF) - 0xF0) * (static_cast<int>(c >> shift & 0xFF) - 0xF0);
            return sum;
        };
        EXPECT_LE(away(last), away(color));
    }
}

} // namespace
} // namespace app
