// The grid of a recorded run of which an axis has no name: nowhere in the window is it told as data parallelism.
#include "app/canvas/recorder_canvas.h"
#include "app/shell/recorded/recorded_film.h"
#include "app/shell/recorded/recorded_panel.h"
#include "app/shell/widgets/figure_source.h"
#include "tests/app/shell/window_fixture.h"

#include <QDir>
#include <QFile>
#include <QLabel>
#include <QTemporaryDir>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace app {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// Four ranks in two groups that are called mesh_tp; what joins these two nothing tells.
class RecordedGridTest : public test::WindowTest {
protected:
    void SetUp() override
    {
        for (int rank = 0; rank < 4; ++rank) {
            const int first = rank / 2 * 2;
            const QString ranks = QStringLiteral("[%1, %2]").arg(first).arg(first + 1);
            const QString group =
                QStringLiteral(R"({"pg_name":"%1","pg_desc":"mesh_tp","pg_size":2,"ranks":%2})").arg(rank / 2).arg(ranks);
            QString events;
            for (int step = 1; step <= 3; ++step)
                events +=
                    QStringLiteral(
                        R"(%1{"ph":"X","cat":"user_annotation","name":"ProfilerStep#%2","pid":9,"tid":9,"ts":%3,"dur":1000},)"
                        R"({"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":%4.25,"dur":800.5,"args":{"device":0,"stream":7}})")
                        .arg(step == 1 ? QString() : QStringLiteral(","))
                        .arg(step)
                        .arg(step * 1000)
                        .arg(step * 1000 + 100);
            QFile file(folder.filePath(QStringLiteral("rank%1.json").arg(rank)));
            ASSERT_TRUE(file.open(QIODevice::WriteOnly));
            file.write(
                QStringLiteral(
                    R"({"schemaVersion":1,"distributedInfo":{"backend":"nccl","rank":%1,"world_size":4,"pg_config":[%2]},"traceEvents":[%3]})")
                    .arg(rank)
                    .arg(group, events)
                    .toUtf8());
        }
        ASSERT_TRUE(window.openFile(folder.path()).empty());
        ASSERT_TRUE(window.isRecordedShown());
        settle();
    }
    const QTemporaryDir folder;
};

TEST_F(RecordedGridTest, SaysThatAnAxisIsNotKnownAndNotThatItIsDataParallel)
{
    RecordedPanel& panel = window.recorded();
    ASSERT_TRUE(panel.run()->run()->grid) << panel.run()->run()->whyNoGrid.toStdString();
    const KnownGrid& known = panel.run()->run()->known;
    EXPECT_TRUE(known.isKnown());
    EXPECT_EQ(known.dataWord, "unnamed");
    EXPECT_EQ(known.whyUnnamed, "what the 2 ranks that lie 2 apart have to do with another is not known");
    EXPECT_THAT(panel.headline().toStdString(), HasSubstr("tp 2  ·  an axis of 2 not known"));
    std::vector<std::string> words;
    for (const QLabel* label : panel.findChildren<QLabel*>())
        words.push_back(label->text().toStdString());
    EXPECT_THAT(words, Contains("An axis of the grid is not known"));
    // The figure of the export, and the film.
    const std::vector<FigureSource> figures = panel.figures();
    ASSERT_EQ(figures.front().fileName, QStringLiteral("grid"));
    StepFilm film = recordedFilm(*panel.run(), {});
    film.pictures = {Picture::grid};
    const std::shared_ptr<FilmScene> scene = makeScene(film, lightTheme());
    for (View* view : {figures.front().view, &scene->at(0)}) {
        RecorderCanvas canvas({0, 0, 900, 500});
        view->draw(canvas);
        EXPECT_THAT(canvas.texts(), Contains(HasSubstr("unnamed")));
        EXPECT_THAT(canvas.texts(), Not(Contains(testing::ContainsRegex("(^|[^a-z])dp( |$)"))));
    }
}

} // namespace
} // namespace app
