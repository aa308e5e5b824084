// Where the app remembers things between runs.
#pragma once

#include <QSettings>
#include <QStringList>

namespace app {

/// The user's settings file (ini, so that tests can move it with QSettings::setPath).
QSettings userSettings();
/// Folder for autosaves, in the user's application data.
QString autosaveFolder();

/// Newest first, at most ten, absolute paths, files that are gone left out.
QStringList recentFiles();
void addRecentFile(const QString& path);
void clearRecentFiles();

/// Where runs were watched, newest first.
QStringList recentAddresses();
void addRecentAddress(const QString& endpoint);

} // namespace app
