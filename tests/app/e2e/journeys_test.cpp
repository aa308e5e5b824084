// The four journeys of docs/journeys.md, played through the accessibility tree alone: a student, a teacher, an engineer, an
// operator.
#include "tests/app/e2e/driver.h"
#include "tests/app/session/session_fixtures.h"

#include <QApplication>
#include <QClipboard>
#include <QMimeData>

#include <gtest/gtest.h>

namespace app {
namespace {

using namespace test;

class Journey : public testing::Test {
protected:
    void open(const char* search, const char* card)
    {
        app.enter(QAccessible::EditableText, QStringLiteral("Search"), QString::fromUtf8(search));
        app.press(QAccessible::ListItem, QString::fromUtf8(card));
        ASSERT_FALSE(app.window().isGalleryShown());
    }
    const sim::Simulation& step() { return *app.window().desk().simulation(); }
    Driver app;
};

TEST_F(Journey, TheStudentFindsOutWhyAPipelineIsIdleAndWhatHelps)
{
    open("Pipeline schedules 2", "Pipeline schedules 2: 1F1B");
    app.press(QAccessible::NoRole, QStringLiteral("MFU"));
    EXPECT_TRUE(app.sees(QStringLiteral("PaLM"))) << "the formula's source";
    app.key(QStringLiteral("Esc"));
    const double before = step().metrics().bubbleFraction;
    app.enter(QAccessible::SpinBox, QStringLiteral("Global batch"), QStringLiteral("64"));
    EXPECT_LT(step().metrics().bubbleFraction, before) << "more micro-batches, a smaller bubble";
    app.key(QStringLiteral("Ctrl+Z"));
    EXPECT_EQ(step().metrics().bubbleFraction, before);
    app.press(QAccessible::StaticText, QStringLiteral("Tokens/s"));
    EXPECT_TRUE(app.sees(QStringLiteral("What it means"))) << "the glossary, at the term";
}

TEST_F(Journey, TheTeacherLaysThreeSchedulesOfOneJobOnOneAxis)
{
    open("Pipeline schedules 2", "Pipeline schedules 2: 1F1B");
    app.key(QStringLiteral("Ctrl+B"));
    app.key(QStringLiteral("Ctrl+L"));
    ASSERT_TRUE(waitFor([this] { return app.find(QAccessible::ListItem, QStringLiteral("GPipe")) != nullptr; }));
    for (const char* kind : {"GPipe", "ZB-H1"}) {
        app.press(QAccessible::ListItem, QString::fromLatin1(kind));
        app.press(QAccessible::Button, QStringLiteral("Add to Comparison"));
        app.settle();
    }
    EXPECT_EQ(app.window().desk().lineup().entries().size(), 2U);
    app.press(QAccessible::Button, QStringLiteral("Cancel"));
    app.key(QStringLiteral("Alt+6"));
    for (const char* letter : {"A: ", "B: ", "C: ", "D: "})
        EXPECT_TRUE(app.sees(QString::fromLatin1(letter))) << letter << " is on the axis";
    EXPECT_TRUE(app.sees(QStringLiteral("4 scenarios")));
    app.key(QStringLiteral("."));
    app.key(QStringLiteral("."));
    EXPECT_TRUE(app.sees(QStringLiteral("rows compute"))) << "one cursor steps through all of them";
    app.key(QStringLiteral("Alt+6"));
    EXPECT_FALSE(app.sees(QStringLiteral("4 scenarios")));
}

TEST_F(Journey, TheEngineerSeesWhatWasMeasuredTriesAFindingAndTakesNumbersAway)
{
    open("Recomputation 1", "Recomputation 1");
    EXPECT_TRUE(app.sees(QStringLiteral("Measured by others")));
    EXPECT_TRUE(app.sees(QStringLiteral("18.1 s measured")));
    EXPECT_TRUE(app.sees(QStringLiteral("Why they may differ")));
    EXPECT_TRUE(app.sees(QStringLiteral("Whole run")));
    EXPECT_TRUE(app.sees(QStringLiteral("GPU hours")));
    const double before = step().metrics().stepTimeSeconds;
    app.press(QAccessible::Button, QStringLiteral("Try "));
    EXPECT_NE(step().metrics().stepTimeSeconds, before);
    EXPECT_FALSE(app.sees(QStringLiteral("18.1 s measured"))) << "that job was not measured";
    app.key(QStringLiteral("Ctrl+Z"));
    EXPECT_TRUE(app.sees(QStringLiteral("18.1 s measured")));
    QApplication::clipboard()->clear();
    app.key(QStringLiteral("Ctrl+Alt+C"));
    EXPECT_TRUE(waitFor([] { return QApplication::clipboard()->text().startsWith(QStringLiteral("rankscope:")); }));
}

TEST_F(Journey, TheOperatorFindsWhoHoldsTheOthersUp)
{
    open("One slow GPU", "One slow GPU in sixty-four");
    app.key(QStringLiteral("6"));
    app.press(QAccessible::Cell, QStringLiteral("rank 21,"));
    EXPECT_TRUE(app.find(QAccessible::Cell, QStringLiteral("rank 21,"))->state().selected);
    app.key(QStringLiteral("Alt+0"));
    EXPECT_TRUE(app.sees(QStringLiteral("of 1 rank"))) << "its ops alone are added up";
    const double before = step().metrics().stepTimeSeconds;
    app.key(QStringLiteral("Alt+2"));
    app.key(QStringLiteral("X"));
    EXPECT_TRUE(app.sees(QStringLiteral("critical path")));
    if (!app.sees(QStringLiteral("Remove "))) // folded, as the form opens
        app.press(QAccessible::Button, QStringLiteral("Perturbations"));
    app.press(QAccessible::Button, QStringLiteral("Remove "));
    EXPECT_LT(step().metrics().stepTimeSeconds, before) << "what the slow GPU had cost";
}

} // namespace
} // namespace app
