// From one step's time to another's: a bar for each part of the difference, on the way from A to B.
#pragma once

#include "app/canvas/canvas.h"
#include "app/views/common/because.h"
#include "app/views/common/theme.h"
#include "sim/analysis/compare.h"

#include <optional>
#include <string>
#include <vector>

namespace app {

class Waterfall {
public:
    /// `dataTransfers`: what goes the way of dp in both (purpose_name.h).
    explicit Waterfall(const sim::Comparison&, const std::string& dataTransfers = "dp");

    struct Bar {
        std::vector<std::string> labels;       ///< longest first: "exposed tp", "tp"
        std::vector<sim::StepPart> parts = {}; ///< none: A or B; several: small ones together
        std::int64_t fromNs = 0, toNs = 0;     ///< running total before and after; A and B begin at 0
        bool isTotal = false;                  ///< A or B
        std::string description;               ///< "exposed tp +12.3 ms: 40.0 ms in A, 52.3 ms in B"
        std::string change = {};               ///< "+12.3 ms", the exact difference, rounded once; none: of A or B
        std::int64_t deltaNs() const { return toNs - fromNs; }
    };
    const std::vector<Bar>& bars() const { return m_bars; }
    /// "412 ms → 471 ms: +59.0 ms, +14.3 %" and shorter.
    const std::vector<std::string>& headlines() const { return m_headlines; }

    /// `numbers`: those of the two steps can be asked; nullptr: none can.
    void paint(Canvas&, const Theme&, Rect area, DrawnNumbers* = nullptr, const ComparedSteps& = {}) const;
    std::string describe(Rect area, Point) const; ///< what is there; empty for nothing
    Becauses becauseAt(Rect area, Point, const ComparedSteps&) const;
    static Becauses becauseOfDifference(const ComparedSteps&); ///< of the whole

private:
    struct Frame;
    Frame frame(Rect area) const;
    std::optional<std::size_t> barAt(Rect area, Point) const;
    std::string numberOf(const Bar&) const;
    static Becauses becauseOf(const Bar&, const ComparedSteps&);

    std::vector<Bar> m_bars;
    std::vector<std::string> m_headlines;
};

/// "+12.3 ms", "−12.3 ms", "0".
std::string signedDurationText(double ns);
/// "+3.10 GiB", "−3.10 GiB", "0".
std::string bytesChangeText(double from, double to);
/// "+14.3 %", "−14.3 %", "3.2 times as much".
std::string ratioText(double before, double after);

} // namespace app
