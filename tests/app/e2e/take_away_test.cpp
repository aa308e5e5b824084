// Figures, tables and settings by keys and names alone.
#include "tests/app/e2e/driver.h"
#include "tests/app/session/session_fixtures.h"

#include <QApplication>
#include <QClipboard>
#include <QMimeData>

#include <gtest/gtest.h>

namespace app {
namespace {

using namespace test;

class TakeAway : public testing::Test {
protected:
    TakeAway()
    {
        QApplication::clipboard()->clear();
        app.drop(galleryFile(kSixteen));
    }
    /// Buttons are pressed for a tenth of a second: what they do is waited for.
    static QByteArray copied(const QString& format)
    {
        const QMimeData* data = QApplication::clipboard()->mimeData();
        return data ? data->data(format) : QByteArray();
    }
    Driver app;
};

TEST_F(TakeAway, AFigureIsMadeAndCopied)
{
    app.key(QStringLiteral("Ctrl+E"));
    ASSERT_TRUE(app.sees(QStringLiteral("Caption")));
    app.press(QAccessible::Button, QStringLiteral("Copy"));
    EXPECT_TRUE(waitFor([] { return copied(QStringLiteral("image/svg+xml")).endsWith("</svg>\n"); }));
    app.press(QAccessible::Button, QStringLiteral("Close"));
    EXPECT_TRUE(waitFor([this] { return !app.sees(QStringLiteral("Caption")); }));
}

TEST_F(TakeAway, ATableIsCopied)
{
    app.key(QStringLiteral("Ctrl+Shift+E"));
    app.press(QAccessible::Button, QStringLiteral("Copy"));
    EXPECT_TRUE(waitFor([] { return copied(QStringLiteral("text/plain")).startsWith("quantity\tvalue"); }));
    app.press(QAccessible::Button, QStringLiteral("Close"));
}

TEST_F(TakeAway, ThePictureIsCopiedByItsKey)
{
    app.key(QStringLiteral("Ctrl+Shift+C"));
    EXPECT_FALSE(copied(QStringLiteral("image/svg+xml")).isEmpty());
}

TEST_F(TakeAway, MotionIsReducedInTheSettings)
{
    app.key(QStringLiteral("Ctrl+,"));
    app.press(QAccessible::CheckBox, QStringLiteral("Reduce motion"));
    EXPECT_TRUE(app.find(QAccessible::CheckBox, QStringLiteral("Reduce motion"))->state().checked);
    app.press(QAccessible::Button, QStringLiteral("Close"));
    EXPECT_TRUE(waitFor([this] { return !app.sees(QStringLiteral("Reduce motion")); }));
}

} // namespace
} // namespace app
