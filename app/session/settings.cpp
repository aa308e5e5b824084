#include "app/session/settings.h"

#include <QCryptographicHash>
#include <QFileInfo>
#include <QStandardPaths>

#include <algorithm>
#include <array>
#include <utility>

namespace app {
namespace {
constexpr int kMostRecentFiles = 10, kMostRecentAddresses = 8;
const QString kRecentKey = QStringLiteral("files/recent");
const QString kAddressesKey = QStringLiteral("attach/recent");
const QString kThemeKey = QStringLiteral("view/theme");
const QString kPriceKey = QStringLiteral("run/gpu_hour_price");
const QString kSizeKey = QStringLiteral("view/size_percent");
const QString kNavigationKey = QStringLiteral("view/navigation");
const QString kMotionKey = QStringLiteral("view/reduce_motion");
const QString kRendererKey = QStringLiteral("view/renderer");
const QString kLanguageKey = QStringLiteral("view/language");
const QString kAutosaveKey = QStringLiteral("files/autosave_seconds");
const QString kCacheKey = QStringLiteral("recorded/cache");
constexpr int kLongestAutosaveSeconds = 600;

/// Values and their words in the file.
template <typename T, std::size_t N>
using Words = std::array<std::pair<T, const char*>, N>;
constexpr Words<ThemeChoice, 4> kThemes{{{ThemeChoice::system, "system"},
                                         {ThemeChoice::light, "light"},
                                         {ThemeChoice::dark, "dark"},
                                         {ThemeChoice::highContrast, "high-contrast"}}};
constexpr Words<NavigationStyle, 2> kNavigations{{{NavigationStyle::perfetto, "perfetto"}, {NavigationStyle::tracy, "tracy"}}};
constexpr Words<CacheChoice, 3> kCacheChoices{
    {{CacheChoice::ask, "ask"}, {CacheChoice::always, "always"}, {CacheChoice::never, "never"}}};
constexpr Words<Renderer, 3> kRenderers{
    {{Renderer::automatic, "automatic"}, {Renderer::openGl, "opengl"}, {Renderer::software, "software"}}};

template <typename T, std::size_t N>
std::optional<T> valueOf(const Words<T, N>& words, const QString& word)
{
    for (const auto& [value, name] : words)
        if (word == QLatin1String(name))
            return value;
    return {};
}

template <typename T, std::size_t N>
const char* wordOf(const Words<T, N>& words, T value)
{
    return std::find_if(words.begin(), words.end(), [&](const auto& word) { return word.first == value; })->second;
}

QByteArray sumOf(const QByteArray& layout)
{
    return QCryptographicHash::hash(layout, QCryptographicHash::Sha256);
}

bool keep(const QString& key, const QVariant& value)
{
    QSettings file = userSettings();
    file.setValue(key, value);
    return isKept(file);
}

} // namespace

const char* themeName(ThemeChoice theme)
{
    return wordOf(kThemes, theme);
}

std::optional<ThemeChoice> themeNamed(const QString& name)
{
    return valueOf(kThemes, name);
}

Settings readSettings()
{
    const QSettings file = userSettings();
    const auto word = [&](const QString& key) { return file.value(key).toString(); };
    const Settings usual;
    Settings out;
    out.theme = themeNamed(word(kThemeKey)).value_or(usual.theme);
    out.sizePercent = std::clamp(file.value(kSizeKey, usual.sizePercent).toInt(), kSmallestSizePercent, kLargestSizePercent);
    out.navigation = valueOf(kNavigations, word(kNavigationKey)).value_or(usual.navigation);
    out.reduceMotion = file.value(kMotionKey, usual.reduceMotion).toBool();
    out.renderer = valueOf(kRenderers, word(kRendererKey)).value_or(usual.renderer);
    out.autosaveSeconds = std::clamp(file.value(kAutosaveKey, usual.autosaveSeconds).toInt(), 1, kLongestAutosaveSeconds);
    const double price = file.value(kPriceKey, usual.gpuHourPrice).toDouble();
    out.gpuHourPrice = price >= 0 && price <= kHighestGpuHourPrice ? price : usual.gpuHourPrice;
    out.language = word(kLanguageKey);
    return out;
}

bool writeSettings(const Settings& settings, const std::optional<Settings>& known)
{
    QSettings file = userSettings();
    const auto write = [&]<typename T>(const QString& key, T Settings::*member, const auto& inFile) {
        if (!known || (*known).*member != settings.*member)
            file.setValue(key, inFile);
    };
    write(kThemeKey, &Settings::theme, QLatin1String(themeName(settings.theme)));
    write(kSizeKey, &Settings::sizePercent, settings.sizePercent);
    write(kNavigationKey, &Settings::navigation, QLatin1String(wordOf(kNavigations, settings.navigation)));
    write(kMotionKey, &Settings::reduceMotion, settings.reduceMotion);
    write(kRendererKey, &Settings::renderer, QLatin1String(wordOf(kRenderers, settings.renderer)));
    write(kAutosaveKey, &Settings::autosaveSeconds, settings.autosaveSeconds);
    write(kPriceKey, &Settings::gpuHourPrice, settings.gpuHourPrice);
    write(kLanguageKey, &Settings::language, settings.language);
    return isKept(file);
}

QByteArray sealed(const QByteArray& layout)
{
    return layout.isEmpty() ? layout : sumOf(layout) + layout;
}

QByteArray unsealed(const QByteArray& all)
{
    const qsizetype sum = QCryptographicHash::hashLength(QCryptographicHash::Sha256);
    const QByteArray layout = all.mid(sum);
    return !layout.isEmpty() && all.first(sum) == sumOf(layout) ? layout : QByteArray();
}

QSettings userSettings()
{
    return QSettings(QSettings::IniFormat, QSettings::UserScope, QStringLiteral("rankscope"), QStringLiteral("rankscope"));
}

bool isKept(QSettings& settings)
{
    settings.sync();
    return settings.status() == QSettings::NoError;
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

bool addRecentFile(const QString& path)
{
    const QString absolute = QFileInfo(path).absoluteFilePath();
    QStringList files = recentFiles();
    files.removeAll(absolute);
    files.prepend(absolute);
    return keep(kRecentKey, files.mid(0, kMostRecentFiles));
}

bool clearRecentFiles()
{
    QSettings file = userSettings();
    file.remove(kRecentKey);
    return isKept(file);
}

CacheChoice cacheChoice()
{
    return valueOf(kCacheChoices, userSettings().value(kCacheKey).toString()).value_or(CacheChoice::ask);
}

bool setCacheChoice(CacheChoice choice)
{
    return keep(kCacheKey, QLatin1String(wordOf(kCacheChoices, choice)));
}

QStringList recentAddresses()
{
    return userSettings().value(kAddressesKey).toStringList();
}

bool addRecentAddress(const QString& endpoint)
{
    QStringList addresses = recentAddresses();
    addresses.removeAll(endpoint);
    addresses.prepend(endpoint);
    return keep(kAddressesKey, addresses.mid(0, kMostRecentAddresses));
}

} // namespace app
