// A step of a recorded run as it plays.
#pragma once

#include "app/session/recorded_run.h"
#include "app/shell/film/step_film.h"
#include "app/step/selection.h"

#include <QStringList>

#include <memory>

namespace app {

/// What a film of the step that is shown shows: grid and timeline, the timeline alone where the ranks lie on no grid.
StepFilm recordedFilm(const RecordedRun&, const Selection&);

/// Reads the files and draws the typical step, without a window; events are handled meanwhile. Throws sim::Error with why
/// there is none.
std::unique_ptr<RecordedRun> readForFilm(const QStringList& paths, const sim::Catalogue&);

} // namespace app
