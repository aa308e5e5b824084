#include "app/session/settings.h"

#include <QFileInfo>
#include <QStandardPaths>

namespace app {
namespace {
constexpr int kMostRecentFiles = 10, kMostRecentAddresses = 8;
const QString kRecentKey = QStringLiteral("files/recent");
const QString kAddressesKey = QStringLiteral("attach/recent");
} // namespace

QSettings userSettings()
{
    return QSettings(QSettings::IniFormat, QSettings::UserScope, QStringLiteral("rankscope"), QStringLiteral("rankscope"));
}

QString autosaveFolder()
{
    return QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation) + QStringLiteral("/rankscope/autosave");
}

QStringList recentFiles()
{
    QStringList files = userSettings().value(kRecentKey).toStringList();
    files.removeIf([](const QString& path) { return !QFileInfo::exists(path); });
    return files;
}

void addRecentFile(const QString& path)
{
    const QString absolute = QFileInfo(path).absoluteFilePath();
    QStringList files = recentFiles();
    files.removeAll(absolute);
    files.prepend(absolute);
    userSettings().setValue(kRecentKey, files.mid(0, kMostRecentFiles));
}

void clearRecentFiles()
{
    userSettings().remove(kRecentKey);
}

QStringList recentAddresses()
{
    return userSettings().value(kAddressesKey).toStringList();
}

void addRecentAddress(const QString& endpoint)
{
    QStringList addresses = recentAddresses();
    addresses.removeAll(endpoint);
    addresses.prepend(endpoint);
    userSettings().setValue(kAddressesKey, addresses.mid(0, kMostRecentAddresses));
}

} // namespace app
