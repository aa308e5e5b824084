// What people do every day, from the first screen on, through the accessibility tree alone.
#include "tests/app/e2e/driver.h"
#include "tests/app/session/session_fixtures.h"

#include <QFile>
#include <QTemporaryDir>

#include <gtest/gtest.h>

namespace app {
namespace {

using namespace test;

class Everyday : public testing::Test {
protected:
    void openSixteen()
    {
        app.enter(QAccessible::EditableText, QStringLiteral("Search"), QStringLiteral("sixteen four dimensions"));
        app.press(QAccessible::ListItem, QStringLiteral("Sixteen ranks"));
    }
    Driver app;
};

TEST_F(Everyday, TheGalleryIsSearchedAndAScenarioOpened)
{
    EXPECT_GE(app.count(QAccessible::ListItem, {}), 10);
    openSixteen();
    EXPECT_TRUE(app.window().windowTitle().startsWith(QStringLiteral("Sixteen ranks")));
    EXPECT_EQ(app.count(QAccessible::Cell, QStringLiteral("rank ")), 16);
    EXPECT_GT(app.count(QAccessible::ListItem, QStringLiteral("F")), 0) << "spans";
}

TEST_F(Everyday, ThreeClicksMakeAScenarioThatIsThenNamed)
{
    app.key(QStringLiteral("Ctrl+N"));
    app.press(QAccessible::ListItem, QStringLiteral("Llama 3.1 8B"));
    app.press(QAccessible::ListItem, QStringLiteral("8 GPUs, 1 node"));
    app.press(QAccessible::ListItem, QStringLiteral("Look into a step"));
    ASSERT_TRUE(waitFor([this] { return app.window().desk().session().isOpen(); }));
    app.settle();
    const sim::Scenario& made = *app.window().desk().session().scenario();
    EXPECT_EQ(made.layout.worldSize(), 8);
    EXPECT_EQ(made.training.globalBatchSize, 16);
    EXPECT_TRUE(app.window().windowTitle().startsWith(QStringLiteral("Llama 3.1 8B on 8 GPUs"))) << "what it is";
    app.key(QStringLiteral("F2"));
    app.enter(QAccessible::EditableText, QStringLiteral("Name"), QStringLiteral("Our first run"));
    app.press(QAccessible::Button, QStringLiteral("Rename"));
    EXPECT_TRUE(waitFor([this] { return app.window().windowTitle().startsWith(QStringLiteral("Our first run")); }));
    app.key(QStringLiteral("Ctrl+Z"));
    EXPECT_TRUE(app.window().windowTitle().startsWith(QStringLiteral("Llama 3.1 8B on 8 GPUs")));
}

TEST_F(Everyday, ANumberIsEditedAndTakenBack)
{
    openSixteen();
    app.enter(QAccessible::SpinBox, QStringLiteral("Tensor"), QStringLiteral("4"));
    EXPECT_EQ(app.window().desk().simulation()->scenario().layout.tp, 4);
    app.key(QStringLiteral("Ctrl+Z"));
    EXPECT_EQ(app.window().desk().simulation()->scenario().layout.tp, 2);
    app.key(QStringLiteral("Ctrl+Shift+Z"));
    EXPECT_EQ(app.window().desk().simulation()->scenario().layout.tp, 4);
}

TEST_F(Everyday, APressedRankIsSelectedEverywhere)
{
    openSixteen();
    app.press(QAccessible::Cell, QStringLiteral("rank 13,"));
    EXPECT_TRUE(app.find(QAccessible::Cell, QStringLiteral("rank 13,"))->state().selected);
    EXPECT_TRUE(app.sees(QStringLiteral("tp 1 · cp 0 · pp 1 · dp 1")));
    app.key(QStringLiteral("Esc"));
    EXPECT_FALSE(app.find(QAccessible::Cell, QStringLiteral("rank 13,"))->state().selected);
}

TEST_F(Everyday, TheStepIsPlayedAndScrubbed)
{
    openSixteen();
    app.press(QAccessible::Button, QStringLiteral("Play"));
    EXPECT_TRUE(app.find(QAccessible::Button, QStringLiteral("Pause")) != nullptr);
    app.press(QAccessible::Button, QStringLiteral("Pause"));
    app.enter(QAccessible::Slider, QStringLiteral("Time cursor"), QStringLiteral("5000"));
    const std::int64_t end = app.window().desk().step().trace->endNs;
    EXPECT_NEAR(static_cast<double>(app.window().desk().selection().cursorNs), static_cast<double>(end) / 2,
                static_cast<double>(end) / 100);
}

TEST_F(Everyday, ABadFileIsExplainedAndNothingIsLost)
{
    openSixteen();
    const QTemporaryDir folder;
    QFile file(folder.filePath(QStringLiteral("bad.json")));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(R"({"format":"rankscope-scenario","version":1,"model":"llama3-8b","cluster":{"base":"dgx-a100","nodes":1},)"
               R"("layout":{"tp":3},"training":{"sequence_length":4096,"global_batch_size":8}})");
    file.close();
    app.drop(file.fileName());
    EXPECT_TRUE(app.sees(QStringLiteral("bad.json cannot be opened")));
    EXPECT_TRUE(app.sees(QStringLiteral("/layout/tp")));
    EXPECT_TRUE(app.window().windowTitle().startsWith(QStringLiteral("Sixteen ranks")));
    app.key(QStringLiteral("Esc"));
    EXPECT_FALSE(app.sees(QStringLiteral("bad.json cannot be opened")));
}

TEST_F(Everyday, AnEditIsComparedWithThePinnedBaseline)
{
    openSixteen();
    app.key(QStringLiteral("Ctrl+B"));
    app.enter(QAccessible::SpinBox, QStringLiteral("Tensor"), QStringLiteral("4"));
    app.key(QStringLiteral("Alt+6"));
    EXPECT_TRUE(app.sees(QStringLiteral("What is different")));
    EXPECT_TRUE(app.find(QAccessible::Cell, QStringLiteral("layout tp")) != nullptr || app.sees(QStringLiteral("tp")));
    app.press(QAccessible::Button, QStringLiteral("Back to Baseline"));
    EXPECT_EQ(app.window().desk().simulation()->scenario().layout.tp, 2);
    app.key(QStringLiteral("Alt+6"));
    EXPECT_EQ(app.count(QAccessible::Cell, QStringLiteral("rank ")), 16);
}

TEST_F(Everyday, ANumberSaysWhereItComesFrom)
{
    openSixteen();
    app.press(QAccessible::NoRole, QStringLiteral("MFU"));
    EXPECT_TRUE(app.sees(QStringLiteral("PaLM"))) << "the source of the definition";
}

TEST_F(Everyday, AFindingIsTried)
{
    openSixteen();
    const double before = app.window().desk().simulation()->metrics().stepTimeSeconds;
    app.press(QAccessible::Button, QStringLiteral("Try "));
    EXPECT_NE(app.window().desk().simulation()->metrics().stepTimeSeconds, before);
    app.key(QStringLiteral("Ctrl+Z"));
    EXPECT_EQ(app.window().desk().simulation()->metrics().stepTimeSeconds, before);
}

TEST_F(Everyday, AFileIsDropped)
{
    app.drop(galleryFile(kTiny));
    EXPECT_FALSE(app.window().isGalleryShown());
    EXPECT_EQ(app.count(QAccessible::Cell, QStringLiteral("rank ")), 8);
}

} // namespace
} // namespace app
