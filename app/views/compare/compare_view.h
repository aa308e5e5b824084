// Two scenarios laid on each other: where their difference in time comes from, what they hold, and their timelines, one above the
// other or one becoming the other. Further ones, up to six in all: what each is made of, and all timelines on one axis.
#pragma once

#include "app/views/common/asked_view.h"
#include "app/views/compare/compared_timelines_view.h"
#include "app/views/compare/stacked_timelines_view.h"
#include "sim/analysis/compare.h"
#include "sim/analysis/matched_actions.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace app {

class CompareView : public AskedView {
public:
    CompareView(Selection&, const Theme&);
    ~CompareView() override;

    struct Side {
        SimulationPtr simulation; ///< nullptr: there is none, and `message` says why or how to get one
        TracePtr actions;         ///< of the simulation
        std::string name;
        std::string message;
    };
    /// What takes long of comparing two steps; made on a worker, for one view.
    struct Prepared {
        PictureModelPtr timelineA, timelineB;      ///< nullptr where there is no trace
        std::optional<sim::Comparison> comparison; ///< of two that are there
        sim::MatchedActions matched;
    };
    static Prepared prepare(const ShownStep& a, const ShownStep& b);
    /// A is what one compares with, B what one looks at. How they are laid on each other stays.
    void setSides(Side a, Side b, Prepared);
    void setSides(Side a, Side b); ///< prepares them here and now
    /// C, D … beside A and B; none: the two alone.
    struct Further {
        Side side;                ///< with a simulation
        PictureModelPtr timeline; ///< as TimelineView prepares it
        sim::Comparison toA;      ///< of A with it
    };
    static Further prepareFurther(const ShownStep& a, Side);
    /// `secondIsFirst`: B is what A is, and stands there once.
    void setFurther(std::vector<Further>, bool secondIsFirst = false);
    const std::vector<Further>& further() const;
    bool showsSeveral() const;    ///< more than A and B, all there
    bool isSecondLeftOut() const; ///< of several: it is what A is
    /// A, B and the further ones, as they lie on one axis.
    std::vector<StackedTimelinesView::Step> steps() const;
    /// All of it, for another view of the same.
    struct Contents {
        Side a, b;
        Prepared prepared;
        std::vector<Further> further;
        bool secondIsFirst = false;
    };
    Contents contents() const;
    void setContents(Contents);
    void setCausesOnly(bool);      ///< without timelines
    std::int64_t cursorNs() const; ///< of several: the one time cursor
    void setTheme(const Theme&);
    void setAskBecause(AskBecause) override;

    void setAlignment(Alignment); ///< one above the other
    /// Both in one timeline, `share` of the way from A to B. Nothing where the pipelines cannot be laid on each other.
    void setBlend(double share);
    Alignment alignment() const;
    bool isBlending() const;
    double blend() const;
    bool canBlend() const;
    const std::optional<sim::Comparison>& comparison() const; ///< nothing as long as a side is missing
    TimeRange visibleRange() const;
    /// Of a figure, where nobody scrolls to what has no room; no less than `least`.
    float suitableHeight(float least) const;

    std::string title() const override;
    void draw(Canvas&) override;
    bool pointer(const PointerEvent&, Rect area) override;
    /// While blending, previous and next go towards A and B.
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
