#include "app/shell/translations.h"

#include <QCoreApplication>
#include <QDir>
#include <QLibraryInfo>
#include <QLocale>
#include <QTranslator>

namespace app {
namespace {

const QString kName = QStringLiteral("rankscope"), kBetween = QStringLiteral("_");

QString folderIn(const QString& assets)
{
    return assets + QStringLiteral("/translations");
}

} // namespace

QStringList translationsIn(const QString& assets)
{
    QStringList out;
    for (const QString& file : QDir(folderIn(assets)).entryList({kName + kBetween + QStringLiteral("*.qm")}, QDir::Files))
        out << QFileInfo(file).completeBaseName().mid(kName.size() + kBetween.size());
    return out;
}

void installTranslation(QCoreApplication& application, const QString& assets, const QString& language)
{
    const QLocale locale = language.isEmpty() ? QLocale() : QLocale(language);
    const auto install = [&](const QString& name, const QString& folder) {
        auto* translator = new QTranslator(&application);
        if (translator->load(locale, name, kBetween, folder))
            QCoreApplication::installTranslator(translator);
        else
            delete translator;
    };
    install(QStringLiteral("qtbase"), QLibraryInfo::path(QLibraryInfo::TranslationsPath)); // buttons of Qt's own dialogs
    install(kName, folderIn(assets));
}

} // namespace app
