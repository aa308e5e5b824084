#include "app/shell/widgets/translations.h"

#include <QCoreApplication>
#include <QDir>
#include <QLibraryInfo>
#include <QLocale>
#include <QTranslator>

#include <algorithm>

namespace app {
namespace {

const QString kName = QStringLiteral("rankscope"), kBeforeLanguage = QStringLiteral("_");

/// With the assets of an installed program, beside the programs of a build.
QStringList foldersOf(const QString& assets)
{
    const QString folder = QStringLiteral("/translations");
    return {assets + folder, QCoreApplication::applicationDirPath() + folder};
}

} // namespace

QStringList translationsIn(const QString& assets)
{
    QStringList out;
    for (const QString& folder : foldersOf(assets)) {
        for (const QString& file : QDir(folder).entryList({kName + kBeforeLanguage + QStringLiteral("*.qm")}, QDir::Files))
            out << QFileInfo(file).completeBaseName().mid(kName.size() + kBeforeLanguage.size());
    }
    out.removeDuplicates();
    return out;
}

void installTranslation(QCoreApplication& application, const QString& assets, const QString& language)
{
    const QLocale locale = language.isEmpty() ? QLocale() : QLocale(language);
    const auto install = [&](const QString& name, const QString& folder) {
        auto* translator = new QTranslator(&application);
        if (translator->load(locale, name, kBeforeLanguage, folder)) {
            QCoreApplication::installTranslator(translator);
            return true;
        }
        delete translator;
        return false;
    };
    const QStringList folders = foldersOf(assets);
    if (std::any_of(folders.begin(), folders.end(), [&](const QString& folder) { return install(kName, folder); }))
        install(QStringLiteral("qtbase"), QLibraryInfo::path(QLibraryInfo::TranslationsPath)); // buttons of Qt's own dialogs
}

} // namespace app
