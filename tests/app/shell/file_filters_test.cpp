// What the Open dialog shows is what Open reads.
#include "app/shell/window/file_filters.h"

#include <QStringList>

#include <gtest/gtest.h>

namespace app {
namespace {

TEST(FileFilters, OpenShowsScenariosRunsAndSettingsAtOnce)
{
    const QString first = openFilter().section(QStringLiteral(";;"), 0, 0);
    for (const char* ending : {"*.json", "*.toml", "*.sh", "*.yaml", "*.py", "*.pftrace", "*.sqlite", "*.pkl"})
        EXPECT_TRUE(first.contains(QLatin1String(ending))) << ending;
    for (const QString& part : {scenarioFilter(), recordedFilter(), settingsFilter()}) {
        const QStringList filters = part.split(QStringLiteral(";;"));
        ASSERT_EQ(filters.size(), 2);
        EXPECT_TRUE(openFilter().contains(filters.front())) << filters.front().toStdString();
        EXPECT_TRUE(filters.back().endsWith(QStringLiteral("(*)")));
    }
}

} // namespace
} // namespace app
