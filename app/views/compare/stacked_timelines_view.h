// Up to six timelines below each other on one time axis: they zoom, scroll and select together, and one time cursor steps through
// all of them.
#pragma once

#include "app/step/shown_step.h"
#include "app/views/common/asked_view.h"
#include "app/views/common/theme.h"

#include <memory>
#include <string>
#include <vector>

namespace app {

class StackedTimelinesView : public AskedView {
public:
    explicit StackedTimelinesView(const Theme&);
    ~StackedTimelinesView() override;

    struct Step {
        ShownStep step;           ///< with both
        PictureModelPtr model;    ///< as TimelineView prepares it
        std::string letter, note; ///< "A", "ZB-H1 · pp 4 · 412 ms"
    };
    void setSteps(std::vector<Step>);
    void setTheme(const Theme&);
    void setAskBecause(AskBecause) override;

    std::int64_t cursorNs() const;
    void setCursor(std::int64_t ns);
    /// To the next place (or the one before) where an action of any of them begins or ends and that can be told from this one
    /// at the present zoom; so many times. False: there is none.
    bool stepCursor(bool forward, int changes);
    /// "3 of 4 ranks compute" at the cursor; empty at rest.
    std::string atCursor(std::size_t step) const;
    TimeRange visibleRange() const;
    float suitableHeight() const; ///< all of them with all their rows

    std::string title() const override { return "Comparison"; }
    void draw(Canvas&) override;
    bool pointer(const PointerEvent&, Rect area) override;
    bool command(ViewCommand, bool fast, Rect area) override;
    CursorShape cursor() const override;
    std::string tooltip() const override;
    std::optional<Rect> tooltipKeepsClearOf() const override;

protected:
    Becauses becauseOf(std::optional<Point>) const override;

private:
    struct Data;
    std::unique_ptr<Data> m_data;
};

} // namespace app
