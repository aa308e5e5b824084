// A language that is a third longer than English and marks every text it was asked for: nothing may be cut, nothing left out.
#include "app/shell/dialogs/key_sheet.h"
#include "app/shell/dialogs/settings_dialog.h"
#include "app/shell/gallery/gallery_page.h"
#include "app/shell/widgets/translations.h"
#include "app/shell/window/main_window.h"
#include "tests/app/session/session_fixtures.h"
#include "tests/app/shell/cut_labels.h"

#include <QAction>
#include <QApplication>
#include <QDirIterator>
#include <QFile>
#include <QMenuBar>
#include <QProcess>
#include <QRegularExpression>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTranslator>

#include <gtest/gtest.h>

namespace app {
namespace {

using namespace test;

class LongLanguage : public QTranslator {
public:
    LongLanguage() { QCoreApplication::installTranslator(this); }
    ~LongLanguage() override { QCoreApplication::removeTranslator(this); }
    bool isEmpty() const override { return false; }
    QString translate(const char*, const char* text, const char*, int) const override
    {
        const QString english = QString::fromUtf8(text);
        return QStringLiteral("⟦") + english + QString(english.size() / 3, QLatin1Char('~')) + QStringLiteral("⟧");
    }
};

TEST(Translation, EveryMenuAndCommandIsTranslated)
{
    const LongLanguage language;
    MainWindow window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software});
    for (const QAction* menu : window.menuBar()->actions())
        EXPECT_TRUE(menu->text().startsWith(QStringLiteral("⟦"))) << menu->text().toStdString();
    for (const Command& c : commands()) {
        EXPECT_TRUE(textOf(c).startsWith(QStringLiteral("⟦"))) << c.text;
        EXPECT_TRUE(whatOf(c).startsWith(QStringLiteral("⟦"))) << c.what;
    }
}

TEST(Translation, DialogsHaveRoomForLongerWords)
{
    const LongLanguage language;
    MainWindow window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software});
    window.run(CommandId::keys);
    auto* keys = window.findChild<KeySheet*>();
    ASSERT_TRUE(keys);
    SettingsDialog settings({}, {});
    for (QDialog* dialog : {static_cast<QDialog*>(keys), static_cast<QDialog*>(&settings)}) {
        dialog->show();
        QCoreApplication::processEvents();
        EXPECT_EQ(cutLabels(*dialog).join(QLatin1Char('\n')).toStdString(), "");
    }
}

/// What a person reads goes through tr(); the rest of the literals are names for machines.
TEST(Translation, NoWidgetIsGivenAnUntranslatedText)
{
    static const QRegularExpression shown(QStringLiteral(
        "(?:setText|setWindowTitle|setToolTip|setPlaceholderText|setAccessibleName|addAction|addMenu|showMessage|QLabel|"
        "QPushButton|QCheckBox)\\((?:QStringLiteral|QLatin1String)?\\(?\"([^\"]*[A-Za-z]{2}[^\"]*)\""));
    QStringList untranslated;
    QDirIterator files(QStringLiteral(RANKSCOPE_SOURCE_DIR "/app/shell"), {QStringLiteral("*.cpp")}, QDir::Files);
    while (files.hasNext()) {
        QFile file(files.next());
        ASSERT_TRUE(file.open(QIODevice::ReadOnly));
        const QString source = QString::fromUtf8(file.readAll());
        for (auto match = shown.globalMatch(source); match.hasNext();) {
            const QString text = match.next().captured(1);
            if (text != QLatin1String("Rankscope")) // the name is the same everywhere
                untranslated << QFileInfo(file.fileName()).fileName() + QStringLiteral(": ") + text;
        }
    }
    EXPECT_EQ(untranslated.join(QLatin1Char('\n')).toStdString(), "");
}

TEST(Translation, ALanguageIsAFileBesideTheAssets)
{
    const QString lrelease = QStandardPaths::findExecutable(QStringLiteral("lrelease"),
                                                            {QStringLiteral("/usr/lib/qt6/bin"), QStringLiteral("/usr/bin")});
    if (lrelease.isEmpty())
        GTEST_SKIP() << "lrelease (qt6-l10n-tools) is not installed";
    const QTemporaryDir assets;
    ASSERT_TRUE(QDir(assets.path()).mkdir(QStringLiteral("translations")));
    QFile source(assets.filePath(QStringLiteral("translations/rankscope_de.ts")));
    ASSERT_TRUE(source.open(QIODevice::WriteOnly));
    source.write("<?xml version=\"1.0\"?><!DOCTYPE TS><TS version=\"2.1\" language=\"de\"><context><name>Commands</name>"
                 "<message><source>&amp;Save</source><translation>&amp;Speichern</translation></message></context></TS>");
    source.close();
    ASSERT_EQ(QProcess::execute(lrelease, {QStringLiteral("-silent"), source.fileName()}), 0);
    EXPECT_TRUE(translationsIn(assets.path()).contains(QStringLiteral("de")));
    installTranslation(*QCoreApplication::instance(), assets.path(), QStringLiteral("de"));
    EXPECT_EQ(textOf(command(CommandId::save)), QStringLiteral("&Speichern"));
    EXPECT_EQ(textOf(command(CommandId::open)), QStringLiteral("&Open…")) << "what has no translation stays English";
    for (QTranslator* translator : QCoreApplication::instance()->findChildren<QTranslator*>())
        delete translator;
    EXPECT_EQ(textOf(command(CommandId::save)), QStringLiteral("&Save"));
}

TEST(Translation, EnglishNeedsNoFiles)
{
    EXPECT_TRUE(translationsIn(QStringLiteral("/no/such/folder")).isEmpty());
    EXPECT_EQ(QCoreApplication::translate("Commands", "&Save"), QStringLiteral("&Save"));
}

} // namespace
} // namespace app
