// How a training goes, step by step: the loss above, with that of the run before, what a step takes below, on either clock.
// Pointing tells a step's numbers, a click chooses it.
#pragma once

#include "app/canvas/view.h"
#include "app/views/common/theme.h"

#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace app {

/// One step in numbers; not-a-number where nothing is known.
struct CurvePoint {
    int step = 0;
    double loss = 0, gradientNorm = 0, tokensPerSecond = 0;
    double seconds = 0;                                                ///< wall clock
    double parallelSeconds = std::numeric_limits<double>::quiet_NaN(); ///< as if parallel; of steps that were looked at
};

class CurvesView : public View {
public:
    explicit CurvesView(const Theme&);
    /// Replaces the points of the same step, but for what it takes as if parallel; steps ascend. O(new points).
    void add(const std::vector<CurvePoint>&);
    void setParallelSeconds(int step, double seconds);
    /// Step times as if every rank had a device, as the prediction is; else on the wall clock, where nothing is predicted.
    void setAsIfParallel(bool on) { m_isAsIfParallel = on; }
    void clear();
    /// The loss of another run, dashed beneath this one's, to be compared with; no points: none. Without a name it is called the
    /// run before.
    void setEarlier(const std::string& name, std::vector<CurvePoint>);
    const std::vector<CurvePoint>& earlier() const { return m_earlier; }
    void setPlannedSteps(int); ///< the axis goes that far
    void setShownStep(std::optional<int>, bool chosen);
    /// Seconds a step was predicted to take, as if parallel; a line beside the measured ones. Not-a-number for none.
    void setPredictedSeconds(double);
    void setTheme(const Theme&);
    void setChosen(std::function<void(int step)> chosen) { m_chosen = std::move(chosen); }
    const std::vector<CurvePoint>& points() const { return m_points; }

    std::string title() const override;
    void draw(Canvas&) override;
    bool pointer(const PointerEvent&, Rect area) override;
    bool command(ViewCommand, bool fast, Rect area) override;
    CursorShape cursor() const override;
    std::string tooltip() const override;

private:
    struct Plot;
    struct Frame {
        Rect loss, seconds;
    };
    static Frame frameOf(Rect area);
    struct Steps {
        int first = 0, last = 1;
    };
    Steps steps() const;
    float x(double step, Rect plot) const;
    std::optional<std::size_t> pointAt(Point, Rect area) const;
    CurvePoint& pointOf(int step);
    std::string earlierName() const { return m_earlierName.empty() ? "the run before" : m_earlierName; }
    void plot(Canvas&, const Plot&) const;

    Theme m_theme;
    std::vector<CurvePoint> m_points, m_earlier;
    std::string m_earlierName;
    int m_plannedSteps = 0;
    std::optional<int> m_shown;
    bool m_isChosen = false;
    double m_predictedSeconds;
    bool m_isAsIfParallel = false;
    std::optional<std::size_t> m_hovered;
    std::function<void(int)> m_chosen;
};

} // namespace app
