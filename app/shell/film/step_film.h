// A step as a film: one or two of its pictures, playing, below the scenario's name.
#pragma once

#include "app/session/film.h"
#include "app/step/known_grid.h"
#include "app/step/measured_rank.h"
#include "app/step/shown_step.h"
#include "app/views/common/theme.h"
#include "app/views/pictures.h"

#include <memory>
#include <string>
#include <vector>

namespace app {

/// What a film shows of a step.
struct StepFilm {
    ShownStep step;
    std::vector<Picture> pictures; ///< one, or two beside each other
    std::string title, caption;    ///< both empty: the pictures alone
    TimeRange span;                ///< that is played
    Selection selection;           ///< as it begins
    /// Of the timeline, where it is another's: of a recording the grid alone is simulated. Without a trace: `step`.
    ShownStep timeline = {};
    const ShownStep& stepOf(Picture picture) const { return picture == Picture::timeline && timeline.trace ? timeline : step; }
    std::vector<Picture> offered = {};       ///< to be chosen from; empty: all
    std::vector<MeasuredRank> measured = {}; ///< [rank] of a recording: what the grid says in place of what was predicted
    KnownGrid known = {};                    ///< of a recording: how much of its grid
};

/// One picture of what the film is of. Shares the selection and, where there is one, the zoom.
std::unique_ptr<StepView> makeFilmedView(const StepFilm&, Picture, Selection&, const Theme&, TimeZoom*);

/// Pictures of its own, so that those on screen stay as they are. For any thread; may take long.
std::shared_ptr<FilmScene> makeScene(const StepFilm&, const Theme&);

/// Of a film that is so many pixels large: text as large as on a slide of that height.
FigureShape filmShape(QSize pixels);
/// The step from its begin to its end, or the range that is selected in it.
TimeRange filmSpan(const ShownStep&, const Selection&);

} // namespace app
