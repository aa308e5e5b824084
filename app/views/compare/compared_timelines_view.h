// Two timelines on one time axis: what was predicted above what was measured, or one scenario above another. They zoom, pan,
// scroll and select together.
#pragma once

#include "app/views/common/timeline_geometry.h"
#include "app/views/timeline/timeline_view.h"

#include <functional>
#include <optional>
#include <string>

namespace app {

/// How two steps of different lengths are laid on each other.
enum class Alignment : std::uint8_t {
    start, ///< both begin together
    end,   ///< both end together
    scaled ///< both begin and end together: one is drawn at another scale
};

class ComparedTimelinesView : public AskedView {
public:
    /// `selection`: spans in it are the lower timeline's.
    ComparedTimelinesView(Selection& selection, const Theme&);
    ~ComparedTimelinesView() override;

    struct Side {
        std::shared_ptr<const sim::Trace> trace; ///< nullptr: this side has none, and `message` says why
        std::shared_ptr<const sim::Simulation> simulation;
        std::string caption; ///< "Predicted"
        std::string note;    ///< "9.81 ms · laptop, as its catalogue entry says"
        std::string message;
        GiveBecauses because = {};        ///< of the number that the whole note ends with
        RecordedWaitsPtr waits = nullptr; ///< as of ShownStep
        std::string whyNoWaits = {};
        PictureModelPtr model = nullptr; ///< of simulation and trace, as TimelineView prepares it; without it the view does
    };
    void setAskBecause(AskBecause) override;
    void setUpper(Side);
    void setLower(Side);
    void setUpperVisible(bool);
    void setMemoryVisible(bool); ///< of one rank, under the lower timeline, where there is room
    void setTheme(const Theme&);
    TimeRange visibleRange() const; ///< of the lower one
    /// As of one timeline: both go with the time cursor that is played or dragged out of sight. False: it was in sight.
    bool keepCursorInSight();
    void setTitle(std::string);
    void setAlignment(Alignment);
    /// The span of the other timeline that is the same work: both are lit when one is.
    using Partner = std::function<std::optional<SpanRef>(SpanRef, bool ofUpper)>;
    void setPartner(Partner);
    /// Something drawn between the two on their axes, `height` pixels high; 0 for nothing.
    using Between = std::function<void(Canvas&, Rect, const TimeAxis& upper, const TimeAxis& lower)>;
    void setBetween(float height, Between);
    Rect betweenArea(Rect area) const;
    TimeAxis axis(bool upper, Rect area) const;

    std::string title() const override;
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
