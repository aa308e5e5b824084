// From one step's time to another's: a bar for each part of the difference, on the way from A to B.
#pragma once

#include "app/canvas/canvas.h"
#include "app/views/common/theme.h"
#include "sim/analysis/compare.h"

#include <optional>
#include <string>
#include <vector>

namespace app {

class Waterfall {
public:
    explicit Waterfall(const sim::Comparison&);

    struct Bar {
        std::vector<std::string> labels;                  ///< longest first: "exposed tp", "tp"
        std::optional<sim::StepPart> part = std::nullopt; ///< nothing: A, B, or several small parts together
        std::int64_t fromNs = 0, toNs = 0;                ///< running total before and after; A and B begin at 0
        bool isTotal = false;                             ///< A or B
        std::string description;                          ///< "exposed tp +12.3 ms: 40.0 ms in A, 52.3 ms in B"
        std::int64_t deltaNs() const { return toNs - fromNs; }
    };
    const std::vector<Bar>& bars() const { return m_bars; }
    /// "412 ms → 471 ms: +59.0 ms, +14.3 %" and shorter.
    const std::vector<std::string>& headlines() const { return m_headlines; }

    void paint(Canvas&, const Theme&, Rect area) const;
    std::string describe(Rect area, Point) const; ///< what is there; empty for nothing

private:
    struct Frame;
    Frame frame(Rect area) const;

    std::vector<Bar> m_bars;
    std::vector<std::string> m_headlines;
};

/// "+12.3 ms", "−12.3 ms", "0".
std::string signedDurationText(double ns);
/// "+3.10 GiB", "−3.10 GiB", "0".
std::string signedBytesText(double bytes);
/// "+14.3 %", "−14.3 %", "3.2 times as much".
std::string ratioText(double before, double after);

} // namespace app
