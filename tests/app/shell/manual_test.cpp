// The pictures of README and manual are of this program: made again, they look the same.
#include "tests/app/session/session_fixtures.h"
#include "tests/support/tries.h"

#include <QFile>
#include <QImage>
#include <QProcess>
#include <QTemporaryDir>

#include <gtest/gtest.h>

#include <cstdlib>

namespace app {
namespace {

struct ManualPicture {
    QString name;
    QStringList arguments;
};

std::vector<ManualPicture> manualPictures()
{
    std::vector<ManualPicture> out;
    QFile list(QStringLiteral(RANKSCOPE_SOURCE_DIR "/docs/pictures.list"));
    if (!list.open(QIODevice::ReadOnly))
        return out;
    while (!list.atEnd()) {
        QStringList words = QString::fromUtf8(list.readLine()).split(QLatin1Char(' '), Qt::SkipEmptyParts);
        if (words.isEmpty() || words.front().startsWith(QLatin1Char('#')))
            continue;
        const QString name = words.takeFirst().trimmed();
        for (QString& word : words)
            word = word.trimmed();
        out.push_back({name, words});
    }
    return out;
}

/// Share of pixels that differ so that one sees it.
double difference(const QImage& a, const QImage& b)
{
    constexpr int kVisible = 24;
    qint64 differ = 0;
    for (int y = 0; y < a.height(); ++y)
        for (int x = 0; x < a.width(); ++x) {
            const QRgb p = a.pixel(x, y), q = b.pixel(x, y);
            differ += std::abs(qRed(p) - qRed(q)) > kVisible || std::abs(qGreen(p) - qGreen(q)) > kVisible ||
                      std::abs(qBlue(p) - qBlue(q)) > kVisible;
        }
    return static_cast<double>(differ) / (static_cast<double>(a.width()) * a.height());
}

TEST(Manual, ItsPicturesAreOfThisProgram)
{
    const auto pictures = manualPictures();
    ASSERT_GE(pictures.size(), 6U);
    const QTemporaryDir folder;
    for (const ManualPicture& picture : ::test::tried(pictures)) {
        const QString now = folder.filePath(picture.name + QStringLiteral(".png"));
        QProcess program;
        program.setWorkingDirectory(QStringLiteral(RANKSCOPE_SOURCE_DIR));
        program.start(QStringLiteral(RANKSCOPE_BIN_DIR "/rankscope"),
                      picture.arguments + QStringList{QStringLiteral("--screenshot"), now});
        constexpr int kLongMs = 60000;
        ASSERT_TRUE(program.waitForFinished(kLongMs)) << picture.name.toStdString();
        ASSERT_EQ(program.exitCode(), 0) << picture.name.toStdString() << ": " << program.readAllStandardError().toStdString();
        const QImage made(now);
        const QImage kept(QStringLiteral(RANKSCOPE_SOURCE_DIR "/docs/pictures/") + picture.name + QStringLiteral(".png"));
        ASSERT_EQ(made.size(), kept.size()) << picture.name.toStdString();
        constexpr double kFontsDiffer = 0.02; // between versions of a font or of Qt
        EXPECT_LT(difference(made, kept), kFontsDiffer)
            << "docs/pictures/" << picture.name.toStdString() << ".png shows an earlier program: ./dev pictures";
    }
}

TEST(Manual, EveryPictureItShowsExists)
{
    for (const char* page : {"/README.md", "/docs/manual.md", "/docs/live.md", "/docs/real-run.md"}) {
        QFile file(QStringLiteral(RANKSCOPE_SOURCE_DIR) + QLatin1String(page));
        ASSERT_TRUE(file.open(QIODevice::ReadOnly));
        const QString text = QString::fromUtf8(file.readAll());
        qsizetype at = 0;
        while ((at = text.indexOf(QStringLiteral("pictures/"), at)) >= 0) {
            const QString name = text.mid(at, text.indexOf(QLatin1Char(')'), at) - at);
            at += name.size();
            if (name.endsWith(QStringLiteral(".png"))) {
                EXPECT_TRUE(QFile::exists(QStringLiteral(RANKSCOPE_SOURCE_DIR "/docs/") + name)) << page << name.toStdString();
            }
        }
    }
}

} // namespace
} // namespace app
