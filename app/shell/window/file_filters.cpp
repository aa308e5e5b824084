#include "app/shell/window/file_filters.h"

#include <QCoreApplication>
#include <QStringList>

namespace app {
namespace {

const QString kScenarioEndings = QStringLiteral("*.json");
const QString kRecordedEndings = QStringLiteral("*.json *.gz *.zst *.pftrace *.perfetto-trace *.sqlite *.pickle *.pkl");
const QString kSettingsEndings = QStringLiteral("*.sh *.bash *.slurm *.sbatch *.py *.yaml *.yml *.toml *.json *.txt *.log");

QString filterName(const char* text)
{
    return QCoreApplication::translate("FileFilters", text);
}

QString namedFilter(const QString& name, const QString& endings)
{
    return name + QStringLiteral(" (") + endings + QLatin1Char(')');
}

/// Each with the way out: names tell little.
QString orAllFiles(const QStringList& filters)
{
    return (filters + QStringList{namedFilter(filterName("All files"), QStringLiteral("*"))}).join(QStringLiteral(";;"));
}

QString scenarioFiles()
{
    return namedFilter(filterName("Scenarios"), kScenarioEndings);
}

QString recordedFiles()
{
    return namedFilter(filterName("Recorded runs"), kRecordedEndings);
}

QString settingsFiles()
{
    return namedFilter(filterName("Scripts and settings"), kSettingsEndings);
}

} // namespace

QString scenarioFilter()
{
    return orAllFiles({scenarioFiles()});
}

QString recordedFilter()
{
    return orAllFiles({recordedFiles()});
}

QString settingsFilter()
{
    return orAllFiles({settingsFiles()});
}

QString openFilter()
{
    QStringList endings =
        (kScenarioEndings + QLatin1Char(' ') + kRecordedEndings + QLatin1Char(' ') + kSettingsEndings).split(QLatin1Char(' '));
    endings.removeDuplicates();
    return orAllFiles({namedFilter(filterName("All that can be opened"), endings.join(QLatin1Char(' '))), scenarioFiles(),
                       recordedFiles(), settingsFiles()});
}

} // namespace app
