#include "app/session/settings.h"

#include "app/session/file_export.h"
#include "sim/simulate/simulation.h"
#include "sim/trace/export.h"
#include "tests/app/session/session_fixtures.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QTemporaryDir>

#include <gtest/gtest.h>

namespace app {
namespace {

using namespace test;

TEST(Settings, ComeBackAsTheyWere)
{
    userSettings().clear();
    EXPECT_EQ(readSettings(), Settings{});
    const Settings chosen{.theme = ThemeChoice::highContrast,
                          .sizePercent = 150,
                          .navigation = NavigationStyle::tracy,
                          .reduceMotion = true,
                          .renderer = Renderer::software,
                          .autosaveSeconds = 30,
                          .gpuHourPrice = 2.5,
                          .language = QStringLiteral("de")};
    writeSettings(chosen);
    EXPECT_EQ(readSettings(), chosen);
    userSettings().clear();
}

TEST(Settings, OnlyWhatWasChosenIsWritten)
{
    userSettings().clear();
    const Settings known = readSettings();
    writeSettings({.theme = ThemeChoice::dark, .gpuHourPrice = 3}, known); // one window
    Settings other = known;
    other.gpuHourPrice = 4;
    other.reduceMotion = true;
    writeSettings(other, known); // another, which began before
    EXPECT_EQ(readSettings(), (Settings{.theme = ThemeChoice::dark, .reduceMotion = true, .gpuHourPrice = 4}));
    userSettings().clear();
}

TEST(Settings, NonsenseInTheFileIsAsUsual)
{
    QSettings file = userSettings();
    file.setValue(QStringLiteral("view/theme"), QStringLiteral("pink"));
    file.setValue(QStringLiteral("view/renderer"), 7);
    file.setValue(QStringLiteral("view/size_percent"), QStringLiteral("huge"));
    file.setValue(QStringLiteral("files/autosave_seconds"), -3);
    file.sync();
    EXPECT_EQ(readSettings(), Settings{});
    file.setValue(QStringLiteral("view/size_percent"), 5000);
    file.sync();
    EXPECT_EQ(readSettings().sizePercent, kLargestSizePercent);
    userSettings().clear();
}

TEST(Settings, SayWhereTheDiskDidNotTakeThem)
{
    const QString before = QFileInfo(userSettings().fileName()).dir().absolutePath() + QStringLiteral("/..");
    EXPECT_TRUE(writeSettings({}));
    EXPECT_TRUE(addRecentFile(QStringLiteral(__FILE__)));
    const QTemporaryDir folder;
    QFile file(folder.filePath(QStringLiteral("no-folder"))); // also whoever may write everywhere cannot write below a file
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, file.fileName());
    EXPECT_FALSE(writeSettings({.sizePercent = 125}));
    EXPECT_FALSE(addRecentFile(QStringLiteral(__FILE__)));
    EXPECT_FALSE(addRecentAddress(QStringLiteral("tcp://localhost:1")));
    EXPECT_FALSE(setCacheChoice(CacheChoice::never));
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, QDir::cleanPath(before));
    EXPECT_TRUE(clearRecentFiles());
    userSettings().clear();
}

TEST(Settings, EveryThemeHasANameOfItsOwn)
{
    for (const ThemeChoice theme : {ThemeChoice::system, ThemeChoice::light, ThemeChoice::dark, ThemeChoice::highContrast})
        EXPECT_EQ(themeNamed(QLatin1String(themeName(theme))), theme);
    EXPECT_FALSE(themeNamed(QStringLiteral("sepia")));
}

TEST(FileExport, WritesWhileTheWindowGoesOn)
{
    const QTemporaryDir folder;
    const std::shared_ptr<const sim::Simulation> simulation = sim::simulate(scenario(document(kTiny)));
    FileExport files;
    const auto write = [&](const QString& to) {
        return [simulation, to] { sim::saveTrace(simulation->trace(sim::TraceDetail::kernels), to.toStdString()); };
    };
    QString path, failure;
    int times = 0;
    QObject::connect(&files, &FileExport::finished, [&](const QString& p, const QString& f) {
        path = p;
        failure = f;
        ++times;
    });
    for (const char* name : {"a.pftrace", "a.json"}) {
        const QString wanted = folder.filePath(QLatin1String(name));
        files.start(wanted, write(wanted));
        EXPECT_TRUE(files.isBusy());
        ASSERT_TRUE(waitFor([&] { return !files.isBusy(); }));
        EXPECT_EQ(path, wanted);
        EXPECT_EQ(failure, QString());
        EXPECT_GT(QFile(wanted).size(), 1000);
    }
    const QString nowhere = folder.filePath(QStringLiteral("a.json/b.json"));
    files.start(nowhere, write(nowhere));
    ASSERT_TRUE(waitFor([&] { return times == 3; }));
    EXPECT_TRUE(failure.contains(nowhere)) << failure.toStdString();
}

} // namespace
TEST(Settings, ALayoutWithAByteAmissIsNone)
{
    const QByteArray layout("\0\0\0\xff docks and where they are", 30);
    const QByteArray kept = sealed(layout);
    EXPECT_EQ(unsealed(kept), layout);
    EXPECT_TRUE(unsealed(layout).isEmpty()) << "of a version before";
    EXPECT_TRUE(unsealed({}).isEmpty());
    EXPECT_TRUE(unsealed(sealed({})).isEmpty());
    for (qsizetype at = 0; at < kept.size(); ++at) {
        QByteArray damaged = kept;
        damaged[at] = static_cast<char>(damaged[at] ^ 1);
        EXPECT_TRUE(unsealed(damaged).isEmpty()) << at;
    }
    EXPECT_TRUE(unsealed(kept.chopped(1)).isEmpty());
}

} // namespace app
