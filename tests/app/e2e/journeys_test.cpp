// The four journeys of docs/journeys.md, played through the accessibility tree alone: a student, a teacher, an engineer, an
// operator.
#include "app/shell/presentation/presentation.h"
#include "tests/app/e2e/driver.h"
#include "tests/app/session/session_fixtures.h"

#include <QApplication>
#include <QClipboard>
#include <QFile>
#include <QMimeData>
#include <QProcess>
#include <QTemporaryDir>

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
    open("1F1B", "Pipeline schedules 2: 1F1B");
    app.rest(QStringLiteral("F0"), QStringLiteral("rank 3"));
    EXPECT_TRUE(app.sees(QStringLiteral("idle before F0"))) << "the last stage, before its first micro-batch";
    EXPECT_TRUE(app.sees(QStringLiteral("waits for F0 of pp 2"))) << "and what that waits for";
    EXPECT_TRUE(app.sees(QStringLiteral("waits for F0 of pp 0"))) << "to the one that began";
    app.leave();
    app.press(QAccessible::NoRole, QStringLiteral("MFU"));
    EXPECT_TRUE(app.sees(QStringLiteral("PaLM"))) << "the formula's source";
    app.key(QStringLiteral("Esc"));
    const double before = step().metrics().bubbleFraction;
    app.enter(QAccessible::SpinBox, QStringLiteral("Global batch"), QStringLiteral("64"));
    EXPECT_LT(step().metrics().bubbleFraction, before) << "more micro-batches, a smaller bubble";
    app.key(QStringLiteral("Ctrl+Z"));
    EXPECT_EQ(step().metrics().bubbleFraction, before);
    app.press(QAccessible::StaticText, QStringLiteral("Tokens/s"));
    EXPECT_TRUE(waitFor([this] { return app.sees(QStringLiteral("What it means")); })) << "the glossary, at the term";
}

TEST_F(Journey, TheTeacherLaysThreeSchedulesOfOneJobOnOneAxis)
{
    open("Pipeline schedules 2", "Pipeline schedules 2: 1F1B");
    app.key(QStringLiteral("Ctrl+B"));
    app.key(QStringLiteral("Ctrl+L"));
    ASSERT_TRUE(waitFor([this] { return app.find(QAccessible::ListItem, QStringLiteral("GPipe")) != nullptr; }));
    app.press(QAccessible::ListItem, QStringLiteral("GPipe"));
    app.press(QAccessible::Button, QStringLiteral("Add to Comparison"));
    app.settle();
    EXPECT_EQ(app.window().desk().lineup().entries().size(), 1U);
    app.press(QAccessible::ListItem, QStringLiteral("ZB-H1"));
    app.press(QAccessible::Button, QStringLiteral("Use This Schedule"));
    app.settle();
    app.key(QStringLiteral("Alt+6"));
    for (const char* letter : {"A: ", "B: ", "C: "})
        EXPECT_TRUE(waitFor([&] { return app.sees(QString::fromLatin1(letter)); })) << letter << " is on the axis";
    EXPECT_TRUE(waitFor([&] { return app.sees(QStringLiteral("3 scenarios")); }));
    app.key(QStringLiteral("."));
    app.key(QStringLiteral("."));
    EXPECT_TRUE(app.sees(QStringLiteral("rows compute"))) << "one cursor steps through all of them";
    app.key(QStringLiteral(","));
    EXPECT_TRUE(app.sees(QStringLiteral("rows compute"))) << "and back";
    app.key(QStringLiteral("Alt+6"));
    EXPECT_FALSE(app.sees(QStringLiteral("3 scenarios")));
    app.key(QStringLiteral("F9"));
    ASSERT_NE(app.window().presentation(), nullptr);
    EXPECT_TRUE(app.window().presentation()->isFullScreen());
    EXPECT_TRUE(app.sees(QStringLiteral("Pipeline schedules 2: 1F1B"))) << "before the audience";
    app.key(QStringLiteral("Esc"));
    EXPECT_TRUE(waitFor([this] { return app.window().presentation() == nullptr; }));
}

TEST(JourneyOnTheCommandLine, TheTeacherHasTheComparisonAsOneFigure)
{
    const QTemporaryDir folder;
    const QString out = folder.filePath(QStringLiteral("out.svg"));
    QProcess program;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.remove(QStringLiteral("DISPLAY")); // it needs none
    program.setProcessEnvironment(environment);
    program.start(QStringLiteral(RANKSCOPE_BIN_DIR "/rankscope"),
                  {galleryFile("17-schedule-1f1b.json"), QStringLiteral("--compare"), galleryFile("16-schedule-gpipe.json"),
                   QStringLiteral("--compare"), galleryFile(kTiny), QStringLiteral("--figure"), QStringLiteral("compare"), out});
    constexpr int kLongMs = 60'000;
    ASSERT_TRUE(program.waitForFinished(kLongMs * ::test::patience()));
    ASSERT_EQ(program.exitCode(), 0) << program.readAllStandardError().toStdString();
    QFile file(out);
    ASSERT_TRUE(file.open(QIODevice::ReadOnly));
    const QByteArray svg = file.readAll();
    for (const char* name : {"Pipeline schedules 2: 1F1B", "Pipeline schedules 1: GPipe"})
        EXPECT_TRUE(svg.contains(name)) << name;
}

TEST(JourneyOnTheCommandLine, TheEngineerHasARealRunAsAFigure)
{
    const QTemporaryDir folder;
    for (const char* view : {"grid", "timeline"}) {
        const QString out = folder.filePath(QString::fromLatin1(view) + QStringLiteral(".svg"));
        QProcess program;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.remove(QStringLiteral("DISPLAY")); // it needs none
        program.setProcessEnvironment(environment);
        program.start(
            QStringLiteral(RANKSCOPE_BIN_DIR "/rankscope"),
            {QStringLiteral(RANKSCOPE_TEST_DATA "/slow-rank"), QStringLiteral("--figure"), QString::fromLatin1(view), out});
        constexpr int kLongMs = 60'000;
        ASSERT_TRUE(program.waitForFinished(kLongMs * ::test::patience()));
        ASSERT_EQ(program.exitCode(), 0) << program.readAllStandardError().toStdString();
        QFile file(out);
        ASSERT_TRUE(file.open(QIODevice::ReadOnly));
        EXPECT_GT(file.readAll().count("<rect"), 8) << view << ": each of the eight ranks is drawn";
    }
}

TEST_F(Journey, TheEngineerSeesWhatWasMeasuredTriesAFindingAndTakesNumbersAway)
{
    open("Recomputation 1", "Recomputation 1");
    EXPECT_TRUE(app.sees(QStringLiteral("Measured by others")));
    EXPECT_TRUE(app.sees(QStringLiteral("18.1 s measured")));
    EXPECT_TRUE(app.sees(QStringLiteral("Why they may differ")));
    EXPECT_TRUE(app.sees(QStringLiteral("Whole run")));
    for (const char* told : {"GPU hours", "Price of a GPU hour", "MWh"})
        EXPECT_TRUE(app.sees(QString::fromLatin1(told))) << told;
    const double before = step().metrics().stepTimeSeconds;
    app.press(QAccessible::Button, QStringLiteral("Try "));
    EXPECT_NE(step().metrics().stepTimeSeconds, before);
    EXPECT_FALSE(app.sees(QStringLiteral("18.1 s measured"))) << "that job was not measured";
    app.key(QStringLiteral("Ctrl+Z"));
    EXPECT_TRUE(app.sees(QStringLiteral("18.1 s measured")));
    QApplication::clipboard()->clear();
    app.key(QStringLiteral("Ctrl+Shift+E"));
    app.press(QAccessible::Button, QStringLiteral("Copy"));
    EXPECT_TRUE(waitFor([] { return QApplication::clipboard()->text().startsWith(QStringLiteral("quantity\tvalue")); }));
    app.press(QAccessible::Button, QStringLiteral("Close"));
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
