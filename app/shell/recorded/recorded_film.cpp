#include "app/shell/recorded/recorded_film.h"

#include "app/shell/recorded/recorded_words.h"
#include "sim/error.h"

#include <QEventLoop>

namespace app {

StepFilm recordedFilm(const RecordedRun& run, const Selection& selection)
{
    const RecordedStepPicture& picture = *run.picture();
    const ShownStep measured{nullptr, picture.timeUse, picture.instants};
    StepFilm film{.step = {run.run()->grid, picture.timeUse, picture.instants},
                  .pictures = {},
                  .title = run.name().toStdString(),
                  .caption = recordedHeadline(*run.run()).toStdString(),
                  .span = filmSpan(measured, selection),
                  .selection = selection,
                  .timeline = measured,
                  .offered = {Picture::grid, Picture::timeline},
                  .measured = picture.ranks,
                  .known = run.run()->known};
    if (!run.run()->grid)
        film.offered = {Picture::timeline};
    else
        film.measured.resize(sim::asIndex(run.run()->grid->scenario().layout.worldSize()));
    return film;
}

std::unique_ptr<RecordedRun> readForFilm(const QStringList& paths, const sim::Catalogue& catalogue)
{
    auto run = std::make_unique<RecordedRun>(paths, catalogue, PrepareFunction());
    QEventLoop loop;
    QString failure;
    const auto fail = [&](const QString& why) {
        failure = why;
        loop.quit();
    };
    QObject::connect(run.get(), &RecordedRun::recovered, &loop, [&] {
        if (run->run()->steps().steps.empty())
            fail(QObject::tr("%1: no step was recovered: there are no kernels and no collectives of a rank that is known")
                     .arg(run->name()));
        else
            run->showStep(run->run()->steps().typical(), RecordedRows::timeUse);
    });
    QObject::connect(run.get(), &RecordedRun::pictureReady, &loop, &QEventLoop::quit);
    QObject::connect(run.get(), &RecordedRun::notRead, &loop, fail);
    QObject::connect(run.get(), &RecordedRun::failed, &loop,
                     [&](const QString& what, const QString& why) { fail(what + QStringLiteral(": ") + why); });
    loop.exec();
    if (!failure.isEmpty())
        throw sim::Error(failure.toStdString());
    return run;
}

} // namespace app
