// The step as a film: the pictures at their moments, and the dialog that makes one.
#include "app/canvas/recorder_canvas.h"
#include "app/shell/film/film_dialog.h"
#include "tests/app/shell/window_fixture.h"

#include <QComboBox>
#include <QDir>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QProcess>
#include <QProgressBar>
#include <QPushButton>
#include <QTemporaryDir>

#include <gmock/gmock.h>

#include <algorithm>

namespace app {
namespace {

using namespace test;
using testing::Contains;
using testing::HasSubstr;

class FilmDialogTest : public WindowTest {
protected:
    FilmDialogTest()
    {
        open(kTiny);
        window.run(CommandId::exportFilm);
        dialog = window.findChild<FilmDialog*>();
    }
    template <class Control>
    Control& control(const char* label)
    {
        for (auto* found : dialog->findChildren<Control*>())
            if (found->property("text").toString() == QLatin1String(label))
                return *found;
        throw std::runtime_error(label);
    }
    void choose(FilmEnding ending)
    {
        for (auto* box : dialog->findChildren<QComboBox*>())
            if (box->itemText(0).startsWith(QStringLiteral("MP4")))
                box->setCurrentIndex(static_cast<int>(ending));
    }
    QTemporaryDir folder;
    FilmDialog* dialog = nullptr;
};

/// A program that is asked to end tidies up what it was about to write.
TEST(Film, AProgramThatIsEndedLeavesNoPieceOfAFilm)
{
    for (const char* ending : {"svg", "mp4"}) {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("step.") + QLatin1String(ending));
        if (!whyNoFilm(*filmEndingOf(path)).isEmpty())
            continue; // no FFmpeg here
        QProcess program;
        program.start(QStringLiteral(RANKSCOPE_BIN_DIR "/rankscope"),
                      {galleryFile(kTiny), QStringLiteral("--film"), path, QStringLiteral("--seconds"), QStringLiteral("600"),
                       QStringLiteral("--fps"), QStringLiteral("60")});
        ASSERT_TRUE(program.waitForStarted());
        const QStringList pieces{QStringLiteral("*.part")};
        ASSERT_TRUE(waitFor([&] { return !QDir(folder.path()).entryList(pieces, QDir::Files).isEmpty(); }));
        program.terminate();
        ASSERT_TRUE(program.waitForFinished());
        EXPECT_EQ(program.exitStatus(), QProcess::CrashExit) << "by the signal, as whoever sent it sees";
        EXPECT_EQ(QDir(folder.path()).entryList(QDir::Files | QDir::Hidden), QStringList()) << ending;
    }
}

TEST_F(FilmDialogTest, MakesAFilmAndLeavesTheWindowAsItWas)
{
    ASSERT_NE(dialog, nullptr);
    const Selection before = window.desk().selection();
    choose(FilmEnding::svg);
    dialog->findChild<QDoubleSpinBox*>()->setValue(1);
    const int frames = dialog->plan().frames();
    QString saved;
    QObject::connect(dialog, &FilmDialog::saved, dialog, [&](const QString& path) { saved = path; });
    dialog->film(folder.filePath(QStringLiteral("step.svg")));
    EXPECT_TRUE(dialog->isBusy());
    ASSERT_TRUE(waitFor([&] { return !saved.isEmpty(); }));
    EXPECT_EQ(QDir(folder.path()).entryList(QDir::Files).size(), frames);
    EXPECT_EQ(window.desk().selection(), before);
}

TEST_F(FilmDialogTest, SaysThatAGifHasFewerFrames)
{
    ASSERT_NE(dialog, nullptr);
    choose(FilmEnding::mp4);
    for (auto* box : dialog->findChildren<QComboBox*>())
        if (const int sixty = box->findData(60); sixty >= 0)
            box->setCurrentIndex(sixty);
    dialog->findChild<QDoubleSpinBox*>()->setValue(2);
    EXPECT_EQ(dialog->plan().frames(), 120);
    choose(FilmEnding::gif);
    EXPECT_EQ(dialog->plan().frames(), 100);
    const auto labels = dialog->findChildren<QLabel*>();
    EXPECT_TRUE(!whyNoFilm(FilmEnding::gif).isEmpty() || std::any_of(labels.begin(), labels.end(), [](const QLabel* label) {
        return label->text().contains(QStringLiteral("a GIF has at most 50 frames a second"));
    }));
}

TEST_F(FilmDialogTest, CancelsAndStays)
{
    ASSERT_NE(dialog, nullptr);
    choose(FilmEnding::svg);
    dialog->film(folder.filePath(QStringLiteral("step.svg")));
    control<QPushButton>("Cancel").click();
    EXPECT_FALSE(dialog->isBusy());
    EXPECT_TRUE(dialog->isVisible());
    EXPECT_FALSE(dialog->findChild<QProgressBar*>()->isVisible());
    EXPECT_TRUE(QDir(folder.path()).entryList(QDir::Files).isEmpty());
    control<QPushButton>("Close");
}

TEST(StepFilm, PlaysItsPicturesBesideEachOther)
{
    const SimulationPtr simulation = sim::simulate(scenario(document(kTiny)));
    StepFilm film{.step = {simulation, std::make_shared<const sim::Trace>(simulation->trace(sim::TraceDetail::actions))},
                  .pictures = {Picture::grid, Picture::timeline},
                  .title = "Tiny",
                  .caption = {},
                  .span = {},
                  .selection = {}};
    film.span = filmSpan(film.step, film.selection);
    EXPECT_EQ(film.span.endNs, film.step.trace->endNs);
    const auto scene = makeScene(film, lightTheme());
    const auto drawnAt = [&](std::int64_t ns) {
        RecorderCanvas canvas({0, 0, 960, 540});
        scene->at(ns).draw(canvas);
        EXPECT_TRUE(canvas.clipsAreBalanced());
        return canvas.asText();
    };
    const std::string middle = drawnAt(film.span.endNs / 2);
    EXPECT_THAT(middle, HasSubstr("Tiny"));
    EXPECT_THAT(middle, HasSubstr("Now"));
    EXPECT_NE(middle, drawnAt(film.span.endNs / 2 + film.span.endNs / 10));
    EXPECT_EQ(middle, drawnAt(film.span.endNs / 2));
}

TEST(StepFilm, OfASelectedRangeIsThatRange)
{
    Selection selection;
    selection.range = TimeRange{5, 9};
    EXPECT_EQ(filmSpan({}, selection), (TimeRange{5, 9}));
}

TEST(StepFilm, TextIsAsLargeAsOnASlide)
{
    const FigureShape slide = filmShape({1920, 1080});
    EXPECT_EQ(slide.logical, QSize(960, 540));
    EXPECT_EQ(slide.pngScale, 2);
    EXPECT_EQ(filmShape({320, 320}).pngScale, 1) << "never below its own size";
}

} // namespace
} // namespace app
