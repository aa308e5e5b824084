// A recorded run in the window: its cache, its films, the step whose path is told, and its head where the window is narrow.
#include "app/session/settings.h"
#include "app/shell/dialogs/settings_dialog.h"
#include "app/shell/film/film_dialog.h"
#include "app/shell/recorded/cache_question.h"
#include "app/shell/recorded/recorded_film.h"
#include "app/shell/recorded/recorded_panel.h"
#include "app/shell/recorded/recorded_tables.h"
#include "app/shell/recorded/recorded_words.h"
#include "app/shell/widgets/run_header.h"
#include "sim/error.h"
#include "tests/app/shell/cut_labels.h"
#include "tests/app/shell/window_fixture.h"

#include <QComboBox>
#include <QDir>
#include <QDoubleSpinBox>
#include <QFile>
#include <QPushButton>

#include <QTemporaryDir>
#include <QToolButton>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace app {
namespace {

using namespace test;

class RecordedFileTest : public WindowTest {
protected:
    void SetUp() override
    {
        QFile::copy(QStringLiteral(RANKSCOPE_TEST_DATA "/slow-rank/run.json.gz"), run);
        setCacheChoice(CacheChoice::ask);
    }
    RecordedPanel& panel() { return window.recorded(); }
    void openRun(const QString& what)
    {
        ASSERT_TRUE(window.openFile(what).empty());
        settle();
        ASSERT_TRUE(panel().run()->run());
    }
    const QTemporaryDir folder;
    const QString run = folder.filePath(QStringLiteral("run.json.gz"));
    const QString cache = run + QStringLiteral(".rankscope-cache");
};

TEST_F(RecordedFileTest, IsCachedWhereThePersonAgreesAndOpensFromThere)
{
    openRun(run);
    EXPECT_FALSE(panel().run()->isFromCache());
    EXPECT_FALSE(QFile::exists(cache));
    EXPECT_TRUE(panel().cacheQuestion().isHidden()) << "nobody is asked about what is read in no time";
    ASSERT_TRUE(window.isEnabled(CommandId::keepRecordedCache));
    window.run(CommandId::keepRecordedCache);
    EXPECT_FALSE(window.isEnabled(CommandId::keepRecordedCache));
    settle();
    EXPECT_TRUE(QFile::exists(cache));
    const QString findings = panel().findingsText();
    const QString headline = recordedHeadline(*panel().run()->run());
    const auto lanes = panel().run()->picture()->timeUse;
    openRun(run);
    EXPECT_TRUE(panel().run()->isFromCache());
    EXPECT_EQ(panel().findingsText(), findings);
    EXPECT_EQ(recordedHeadline(*panel().run()->run()), headline);
    EXPECT_FALSE(window.isEnabled(CommandId::keepRecordedCache));

    // At first no span is looked at; whoever asks for streams has them.
    EXPECT_TRUE(panel().run()->run()->isDigest);
    EXPECT_TRUE(panel().run()->run()->recovered.evidence.ranks.front().work.empty());
    ASSERT_TRUE(panel().run()->picture());
    EXPECT_FALSE(panel().run()->picture()->streams);
    ASSERT_EQ(panel().run()->picture()->timeUse->tracks.size(), lanes->tracks.size());
    for (std::size_t t = 0; t < lanes->tracks.size(); ++t)
        EXPECT_EQ(panel().run()->picture()->timeUse->tracks[t].startNs, lanes->tracks[t].startNs);
    panel().setRows(RecordedRows::streams);
    settle();
    ASSERT_TRUE(panel().run()->picture()->streams);
    EXPECT_GT(panel().run()->picture()->streams->spanCount(), lanes->spanCount());
}

/// As large runs are, with a small one.
TEST_F(RecordedFileTest, IsAskedAboutOnceAndAsItWasAnsweredFromThenOn)
{
    openRun(run);
    CacheQuestion& question = panel().cacheQuestion();
    const auto consider = [&] {
        question.consider(panel().run()->paths(), true, cacheChoice());
        settle();
    };
    const auto press = [&](const char* text) {
        for (QPushButton* button : question.findChildren<QPushButton*>())
            if (button->text() == QLatin1String(text))
                button->click();
        settle();
    };
    question.consider(panel().run()->paths(), false, CacheChoice::always);
    EXPECT_TRUE(question.isHidden());
    EXPECT_FALSE(QFile::exists(cache));
    consider();
    EXPECT_FALSE(question.isHidden());
    EXPECT_TRUE(question.text().contains(QStringLiteral("run.json.gz.rankscope-cache"))) << question.text().toStdString();
    EXPECT_FALSE(QFile::exists(cache)) << "asked, and not answered";
    press("Never");
    EXPECT_TRUE(question.isHidden());
    EXPECT_EQ(cacheChoice(), CacheChoice::never);
    consider();
    EXPECT_TRUE(question.isHidden());
    EXPECT_FALSE(QFile::exists(cache));
    setCacheChoice(CacheChoice::ask);
    consider();
    press("Keep It");
    EXPECT_TRUE(QFile::exists(cache));
    EXPECT_EQ(cacheChoice(), CacheChoice::ask);
    QFile::remove(cache);
    openRun(run);
    consider();
    press("Always");
    EXPECT_EQ(cacheChoice(), CacheChoice::always);
    EXPECT_TRUE(QFile::exists(cache));
    QFile::remove(cache);
    openRun(run);
    consider();
    EXPECT_TRUE(question.isHidden());
    EXPECT_TRUE(QFile::exists(cache)) << "as was said";
}

TEST_F(RecordedFileTest, IsCachedAsTheSettingsSay)
{
    setCacheChoice(CacheChoice::never);
    SettingsDialog dialog({}, {});
    QComboBox* choice = nullptr;
    for (auto* box : dialog.findChildren<QComboBox*>())
        if (box->accessibleName() == QStringLiteral("Cache of a large recorded run"))
            choice = box;
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->currentText(), QStringLiteral("Keep none"));
    choice->setCurrentIndex(1);
    EXPECT_EQ(cacheChoice(), CacheChoice::always);
    for (QPushButton* button : dialog.findChildren<QPushButton*>())
        if (button->text() == QStringLiteral("Defaults"))
            button->click();
    EXPECT_EQ(cacheChoice(), CacheChoice::ask);
}

TEST_F(RecordedFileTest, IsFilmedFromTheWindow)
{
    openRun(run);
    ASSERT_TRUE(window.isEnabled(CommandId::exportFilm));
    window.run(CommandId::exportFilm);
    auto* dialog = window.findChild<FilmDialog*>();
    ASSERT_TRUE(dialog);
    for (auto* box : dialog->findChildren<QComboBox*>())
        if (box->itemText(0).startsWith(QStringLiteral("MP4")))
            box->setCurrentIndex(static_cast<int>(FilmEnding::svg));
    dialog->findChild<QDoubleSpinBox*>()->setValue(0.5);
    QString saved;
    QObject::connect(dialog, &FilmDialog::saved, dialog, [&](const QString& path) { saved = path; });
    const QString to = folder.filePath(QStringLiteral("films"));
    QDir().mkpath(to);
    dialog->film(to + QStringLiteral("/step.svg"));
    ASSERT_TRUE(waitFor([&] { return !saved.isEmpty(); }));
    QStringList frames = QDir(to).entryList(QDir::Files, QDir::Name);
    ASSERT_EQ(frames.size(), dialog->plan().frames());
    const auto bytesOf = [&](const QString& name) {
        QFile file(to + QLatin1Char('/') + name);
        EXPECT_TRUE(file.open(QIODevice::ReadOnly));
        return file.readAll();
    };
    EXPECT_NE(bytesOf(frames.front()), bytesOf(frames[frames.size() / 2]));
    EXPECT_TRUE(bytesOf(frames.front()).contains("8 of 8 ranks"));
}

TEST_F(RecordedFileTest, IsFilmedWithoutAWindow)
{
    const std::unique_ptr<RecordedRun> read = readForFilm({run}, catalogue());
    const StepFilm film = recordedFilm(*read, {});
    EXPECT_EQ(film.measured.size(), 8U);
    EXPECT_GT(film.span.endNs, 0);
    try {
        readForFilm({QStringLiteral(RANKSCOPE_TEST_DATA "/kineto/SOURCES.md")}, catalogue());
        FAIL();
    } catch (const sim::Error& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("is no trace that is known"));
    }
}

TEST_F(RecordedFileTest, TellsThePathOfTheStepThatIsShown)
{
    openRun(QStringLiteral(RANKSCOPE_TEST_DATA "/kineto/nccl_data.json.gz"));
    const auto& steps = panel().run()->run()->steps().steps;
    ASSERT_EQ(steps.size(), 3U);
    for (const std::size_t step : {0U, 2U}) {
        panel().showStep(step);
        settle();
        const sim::RankPath& path = panel().run()->picture()->path;
        EXPECT_EQ(path.step, step);
        const auto stretches = sim::stretchesOf(path);
        EXPECT_EQ(panel().table(RecordedTab::path).rowCount(), static_cast<int>(stretches.size()));
        ASSERT_FALSE(stretches.empty());
        EXPECT_GE(stretches.front().startNs, steps[step].startNs);
        EXPECT_LE(stretches.back().endNs, steps[step].endNs);
        EXPECT_TRUE(
            pathText(*panel().run()->run(), path).startsWith(QStringLiteral("What makes step %1 ").arg(steps[step].number)));
    }
}

TEST_F(RecordedFileTest, HasAHeadOfTwoLinesWhereTheWindowIsNarrow)
{
    openRun(run);
    window.resize(1280, 800);
    settle();
    EXPECT_FALSE(panel().header().isNarrow());
    window.setMinimumSize(512, 320);
    for (const QSize size : {QSize(512, 320), QSize(683, 427)}) {
        window.resize(size);
        settle();
        EXPECT_TRUE(panel().header().isNarrow());
        const QRect inside = panel().header().rect();
        for (const QWidget* part : panel().header().findChildren<QWidget*>())
            if (part->isVisible() && (qobject_cast<const QComboBox*>(part) || qobject_cast<const QToolButton*>(part))) {
                EXPECT_TRUE(inside.contains(QRect(part->mapTo(&panel().header(), QPoint()), part->size())));
                EXPECT_GE(part->width(), part->minimumSizeHint().width());
            }
        QWidget* area = panel().parentWidget(); // what scrolls it, its viewport
        EXPECT_LE(panel().width(), area->width()) << size.width() << ": scrolled sideways";
        EXPECT_EQ(cutLabels(panel()), QStringList());
    }
    window.resize(1280, 800);
    settle();
    EXPECT_FALSE(panel().header().isNarrow());
}

} // namespace
} // namespace app
