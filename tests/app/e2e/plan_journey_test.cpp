// Planning, through the accessibility tree alone: from a scenario to a better layout, why the others lost, and settings to run.
#include "tests/app/e2e/driver.h"
#include "tests/app/session/session_fixtures.h"

#include <QApplication>
#include <QClipboard>

#include <gtest/gtest.h>

namespace app {
namespace {

using namespace test;

class PlanJourney : public testing::Test {
protected:
    void SetUp() override
    {
        app.enter(QAccessible::EditableText, QStringLiteral("Search"), QStringLiteral("2-stage pipeline on 16"));
        app.press(QAccessible::ListItem, QStringLiteral("2-way data"));
        ASSERT_FALSE(app.window().isGalleryShown());
    }
    double stepSeconds() { return app.window().desk().simulation()->metrics().stepTimeSeconds; }
    /// What a screen reader says of the thing beside its name.
    QString told(const char* name)
    {
        QAccessibleInterface* thing = app.find(QString::fromLatin1(name));
        return thing ? thing->text(QAccessible::Description) : QString();
    }
    Driver app;
};

TEST_F(PlanJourney, ABetterLayoutIsFoundUnderstoodComparedOpenedTakenBackAndTakenAway)
{
    const double mine = stepSeconds();
    app.key(QStringLiteral("Ctrl+Alt+P"));
    ASSERT_TRUE(app.sees(QStringLiteral("Plan: tensor by pipeline parallelism")));
    app.press(QAccessible::Button, QStringLiteral("Search for the best layout"));
    ASSERT_TRUE(waitFor([this] { return told("What was searched and proved").contains(QStringLiteral("proved best")); }));
    const QString first = told("The chosen layout");
    EXPECT_TRUE(first.contains(QStringLiteral("GiB at the peak"))) << first.toStdString();

    // Another cell, and why it lost.
    app.press(QAccessible::NoRole, QStringLiteral("tp 1, pp 4"));
    const QString other = told("The chosen layout");
    EXPECT_NE(other, first);
    EXPECT_TRUE(other.contains(QStringLiteral("more than the first"))) << other.toStdString();

    // Beside mine, and back.
    app.press(QAccessible::Button, QStringLiteral("Compare with Mine"));
    EXPECT_TRUE(app.window().isCompareShown());
    EXPECT_TRUE(app.sees(QStringLiteral("plan: ")));
    app.key(QStringLiteral("Alt+6"));
    EXPECT_FALSE(app.window().isCompareShown());
    EXPECT_EQ(stepSeconds(), mine);

    // The winner becomes the scenario, as one step that is taken back.
    app.doubleClick(QAccessible::NoRole, QStringLiteral("1. "));
    EXPECT_LT(stepSeconds(), mine);
    app.key(QStringLiteral("Ctrl+Z"));
    EXPECT_EQ(stepSeconds(), mine);

    app.press(QAccessible::NoRole, QStringLiteral("Guide"));
    ASSERT_TRUE(waitFor([this] { return app.sees(QStringLiteral("Does the model fit a GPU?")); }));
    EXPECT_TRUE(app.sees(QStringLiteral("GB a GPU and step"))) << "where each dimension's traffic goes";

    app.key(QStringLiteral("Ctrl+Alt+A"));
    EXPECT_TRUE(waitFor([this] {
        return app.sees(QStringLiteral("tensor-model-parallel-size")) ||
               app.count(QAccessible::Button, QStringLiteral("Copy")) > 0;
    }));
    QApplication::clipboard()->clear();
    app.press(QAccessible::Button, QStringLiteral("Copy"));
    EXPECT_TRUE(QApplication::clipboard()->text().contains(QStringLiteral("tensor")))
        << QApplication::clipboard()->text().toStdString();
}

} // namespace
} // namespace app
