#include "app/shell/film/step_film.h"

#include "app/step/time_zoom.h"
#include "app/views/common/captioned_view.h"
#include "app/views/common/side_by_side_view.h"
#include "app/views/grid/grid_view.h"

#include <algorithm>

namespace app {
namespace {

constexpr double kSlideHeight = 540; ///< logical pixels: text is read from far away

class StepScene final : public FilmScene {
public:
    StepScene(const StepFilm& film, const Theme& theme) : m_theme(theme), m_selection(film.selection)
    {
        m_zoom.setTrace(film.step.trace ? film.step.trace->endNs : film.span.endNs);
        if (film.selection.range)
            m_zoom.setRange(film.span);
        std::vector<View*> parts;
        for (const Picture picture : film.pictures) {
            auto& view = m_views.emplace_back(makeFilmedView(film, picture, m_selection, m_theme, &m_zoom));
            view->showNow();
            parts.push_back(view.get());
        }
        m_parts = std::make_unique<SideBySideView>(parts, m_theme);
        m_whole = std::make_unique<CaptionedView>(*m_parts, m_theme, CaptionedView::Words{film.title, film.caption});
    }

    View& at(std::int64_t ns) override
    {
        m_selection.cursorNs = ns;
        return *m_whole;
    }

private:
    Theme m_theme;
    Selection m_selection;
    TimeZoom m_zoom;
    std::vector<std::unique_ptr<StepView>> m_views;
    std::unique_ptr<SideBySideView> m_parts;
    std::unique_ptr<CaptionedView> m_whole;
};

} // namespace

std::unique_ptr<StepView> makeFilmedView(const StepFilm& film, Picture picture, Selection& selection, const Theme& theme,
                                         TimeZoom* zoom)
{
    const PictureInfo& info = pictureInfo(picture);
    std::unique_ptr<StepView> view = info.make(selection, theme, zoom);
    const ShownStep& step = film.stepOf(picture);
    view->setStep(step, info.prepare ? info.prepare(step) : nullptr);
    if (auto* grid = dynamic_cast<GridView*>(view.get()); grid != nullptr && !film.measured.empty()) {
        grid->setMeasured(film.measured);
        grid->setKnown(film.known);
    }
    return view;
}

std::shared_ptr<FilmScene> makeScene(const StepFilm& film, const Theme& theme)
{
    return std::make_shared<StepScene>(film, theme);
}

FigureShape filmShape(QSize pixels)
{
    const double scale = std::max(1.0, pixels.height() / kSlideHeight);
    return {.logical = {qRound(pixels.width() / scale), qRound(pixels.height() / scale)}, .pngScale = scale, .pointsPerPixel = 1};
}

TimeRange filmSpan(const ShownStep& step, const Selection& selection)
{
    return selection.range.value_or(TimeRange{0, step.trace ? step.trace->endNs : 0});
}

} // namespace app
