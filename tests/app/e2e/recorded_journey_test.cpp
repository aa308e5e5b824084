// An operator with a folder of profiler files: what is it, what was to be expected, and what if. docs/real-run.md, clicked.
#include "app/session/recorded_run.h"
#include "app/shell/recorded/recorded_panel.h"
#include "tests/app/e2e/driver.h"
#include "tests/app/session/session_fixtures.h"

#include <gtest/gtest.h>

namespace app {
namespace {

using namespace test;

class RecordedJourney : public testing::Test {
protected:
    void openFolder() { app.drop(QStringLiteral(RANKSCOPE_TEST_DATA "/slow-rank")); }
    Driver app;
};

TEST_F(RecordedJourney, IsPredictedFromTheScenarioThatWasOpenAndThenChanged)
{
    app.drop(galleryFile(kTiny));
    const double simulated = app.window().desk().simulation()->metrics().stepTimeSeconds;
    openFolder();
    ASSERT_TRUE(app.window().isRecordedShown());
    ASSERT_TRUE(app.find(QAccessible::Button, QStringLiteral("What If")));
    EXPECT_TRUE(app.find(QAccessible::Button, QStringLiteral("What If"))->state().disabled) << "nothing is predicted yet";

    app.press(QAccessible::Button, QStringLiteral("Predict"));
    EXPECT_TRUE(app.sees(QStringLiteral("A trace says neither the model nor the links")));
    app.press(QAccessible::Button, QStringLiteral("From “"));
    EXPECT_FALSE(app.sees(QStringLiteral("A trace says neither the model nor the links"))) << "the dialog is gone";
    ASSERT_TRUE(app.window().recorded().run()->prediction());
    // As the page about a real run has it, in the words on screen.
    for (const char* words : {"43.6 ms", "56.4 ms"})
        EXPECT_TRUE(app.sees(QLatin1String(words))) << words;

    app.press(QAccessible::Button, QStringLiteral("What If"));
    EXPECT_FALSE(app.window().isRecordedShown());
    EXPECT_TRUE(app.window().windowTitle().contains(QStringLiteral("What if, from slow-rank")));
    EXPECT_TRUE(
        app.sees(QStringLiteral("Predicts from slow-rank, with rank 5, which takes 1.40 × as long there, as fast as its peers. "
                                "With that delay its step is 56.4 ms against 56.4 ms measured")));
    const double measured = app.window().desk().simulation()->metrics().stepTimeSeconds;
    EXPECT_NEAR(measured, simulated, 0.0005) << "kernels as they are on ranks that are not slow, which are the catalogue's";

    // What if no tensor parallelism were there: still with the kernels of that run.
    app.enter(QAccessible::SpinBox, QStringLiteral("Tensor"), QStringLiteral("1"));
    ASSERT_EQ(app.window().desk().simulation()->scenario().layout.tp, 1);
    const double changed = app.window().desk().simulation()->metrics().stepTimeSeconds;
    EXPECT_NE(changed, measured);
    app.key(QStringLiteral("Ctrl+Z"));
    EXPECT_EQ(app.window().desk().simulation()->metrics().stepTimeSeconds, measured);
}

TEST_F(RecordedJourney, IsPredictedFromAModelAndAClusterThatAreChosen)
{
    openFolder();
    app.press(QAccessible::Button, QStringLiteral("Predict"));
    EXPECT_EQ(app.find(QAccessible::Button, QStringLiteral("From “")), nullptr) << "no scenario is open";
    app.press(QAccessible::Button, QStringLiteral("Cancel"));
    EXPECT_EQ(app.window().recorded().run()->prediction(), nullptr);

    app.press(QAccessible::Button, QStringLiteral("Predict"));
    app.enter(QAccessible::SpinBox, QStringLiteral("Tokens of a sequence"), QStringLiteral("128"));
    app.press(QAccessible::Button, QStringLiteral("Predict"));
    ASSERT_TRUE(app.window().recorded().run()->prediction());
    const sim::Scenario& scenario = app.window().recorded().run()->prediction()->scenario;
    EXPECT_EQ(scenario.training.sequenceLength, 128);
    EXPECT_EQ(std::tuple(scenario.layout.tp, scenario.layout.dp, scenario.layout.pp), std::tuple(2, 2, 2))
        << "as it was recovered";
    EXPECT_FALSE(app.find(QAccessible::Button, QStringLiteral("What If"))->state().disabled);
}

TEST_F(RecordedJourney, ShowsTheCauseOfAPlantedStraggler)
{
    openFolder();
    EXPECT_TRUE(app.sees(QStringLiteral("Rank 5 keeps the others waiting")));
    app.press(QAccessible::Button, QStringLiteral("Show me: Rank 5 keeps"));
    EXPECT_TRUE(app.find(QAccessible::Cell, QStringLiteral("rank 5,"))->state().selected);
    EXPECT_TRUE(app.sees(QStringLiteral("lens Stragglers"))) << "the lens that shows it";
}

} // namespace
} // namespace app
