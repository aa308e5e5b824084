// How much later or earlier the actions of one step start than those of another: a ribbon a row, on the time axis of the latter.
#pragma once

#include "app/canvas/canvas.h"
#include "app/views/common/theme.h"
#include "app/views/common/timeline_geometry.h"
#include "sim/analysis/matched_actions.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace app {

class DeltaRibbons {
public:
    DeltaRibbons() = default;
    /// `onB`: a time of a as the axis of b has it, so that steps can be laid on each other in several ways.
    DeltaRibbons(const sim::MatchedActions&, const sim::Trace& a, const sim::Trace& b, const std::function<double(double)>& onB);

    struct Piece {
        std::int64_t beginNs = 0, endNs = 0; ///< of the action in b
        double deltaNs = 0;                  ///< it starts so much later than in a
    };
    struct Row {
        std::string name; ///< "pp 3"
        std::vector<Piece> pieces;
        double latestNs = 0, earliestNs = 0; ///< largest delta above and below 0
    };
    const std::vector<Row>& rows() const { return m_rows; }
    double largestNs() const { return m_largestNs; } ///< of all, without sign

    /// Pixels between what all rows need and what they can use; 0 where there are none.
    float suitableHeight(float wanted) const;
    void paint(Canvas&, const Theme&, Rect area, const TimeAxis& ofB) const;
    /// What is at a place, in lines; empty for nothing.
    std::string describe(Rect area, const TimeAxis& ofB, Point at) const;

private:
    Rect rowRect(Rect area, std::size_t row) const;
    void paintRow(Canvas&, const Theme&, Rect, const TimeAxis&, const Row&) const;

    std::vector<Row> m_rows;
    double m_largestNs = 0;
    double m_scaleNs = 0; ///< that has the full colour
};

} // namespace app
