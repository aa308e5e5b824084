// What the user chose, and where the app remembers it between runs.
#pragma once

#include "app/canvas/renderer.h"

#include <QSettings>
#include <QString>
#include <QStringList>

#include <array>
#include <optional>

namespace app {

enum class ThemeChoice { system, light, dark, highContrast };
enum class NavigationStyle {
    perfetto, ///< the wheel scrolls, with Ctrl it zooms
    tracy     ///< the wheel zooms, with Ctrl it scrolls
};

inline constexpr double kHighestGpuHourPrice = 1e6;
inline constexpr int kSmallestSizePercent = 100, kLargestSizePercent = 200;
/// Those that are offered, of text and controls.
inline constexpr std::array kTextSizes{kSmallestSizePercent, 110, 125, 150, 175, kLargestSizePercent};

struct Settings {
    ThemeChoice theme = ThemeChoice::system;
    int sizePercent = 100; ///< of text, controls and pictures
    NavigationStyle navigation = NavigationStyle::perfetto;
    bool reduceMotion = false;               ///< nothing moves by itself
    Renderer renderer = Renderer::automatic; ///< from the next start
    int autosaveSeconds = 1;                 ///< after a change
    double gpuHourPrice = 0;                 ///< in the user's currency; 0: not told
    QString language;                        ///< "de"; empty: as the desktop is; from the next start
    bool operator==(const Settings&) const = default;
};

/// What is missing or makes no sense is as usual.
Settings readSettings();
/// Whether the disk took them, as all that remember something here. Where it is known what was there, only what is another
/// now: the rest may be what another window has chosen since.
bool writeSettings(const Settings&, const std::optional<Settings>& known = {});
const char* themeName(ThemeChoice); ///< "high-contrast": in files and on the command line
std::optional<ThemeChoice> themeNamed(const QString&);

/// The user's settings file (ini, so that tests can move it with QSettings::setPath).
QSettings userSettings();
/// Writes what was set, and says whether the disk took it: by itself it fails without a word.
bool isKept(QSettings&);
/// A layout of the window, with a sum that tells whether it is as it was written: Qt takes what it is given, and damaged bytes
/// end the program or lay docks over each other.
QByteArray sealed(const QByteArray& layout);
/// Empty where the sum does not fit.
QByteArray unsealed(const QByteArray&);
/// Folder for autosaves, in the user's application data.
QString autosaveFolder();

/// Newest first, at most ten, absolute paths, files that are gone left out.
QStringList recentFiles();
bool addRecentFile(const QString& path);
bool clearRecentFiles();

/// Whether a cache is kept beside the files of a large recorded run that was read.
enum class CacheChoice { ask, always, never };
CacheChoice cacheChoice();
bool setCacheChoice(CacheChoice);

/// Where runs were watched, newest first.
QStringList recentAddresses();
bool addRecentAddress(const QString& endpoint);

} // namespace app
