// What a slot throws is told; the program goes on.
#include "app/shell/window/guarded_application.h"

#include "tests/app/session/session_fixtures.h"

#include <QTimer>

#include <gtest/gtest.h>

#include <clocale>
#include <stdexcept>

namespace app {
namespace {

using namespace test;

TEST(GuardedApplication, TellsWhatASlotThrows)
{
    QString told;
    bool goesOn = false;
    QObject receiver;
    QObject::connect(static_cast<GuardedApplication*>(qApp), &GuardedApplication::failed, &receiver,
                     [&](const QString& why) { told = why; });
    QTimer::singleShot(0, &receiver, [] { throw std::runtime_error("as the test wishes"); });
    QTimer::singleShot(0, &receiver, [&] { goesOn = true; });
    EXPECT_TRUE(waitFor([&] { return !told.isEmpty() && goesOn; }));
    EXPECT_TRUE(told.contains(QStringLiteral("as the test wishes"))) << told.toStdString();
}

TEST(GuardedApplication, KeepsThePointInNumbers)
{
    EXPECT_STREQ(std::setlocale(LC_NUMERIC, nullptr), "C");
    EXPECT_STREQ(std::setlocale(LC_CTYPE, nullptr), "C.UTF-8") << "the rest is the user's";
}

} // namespace
} // namespace app
