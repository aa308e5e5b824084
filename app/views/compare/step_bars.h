// Steps as bars below each other, on one scale: what each is made of, how long it is, and how that differs from the first.
#pragma once

#include "app/canvas/canvas.h"
#include "app/views/common/theme.h"
#include "sim/analysis/compare.h"

#include <optional>
#include <string>
#include <vector>

namespace app {

class StepBars {
public:
    struct Step {
        std::string letter, name;
        std::int64_t ns = 0;
        std::vector<std::pair<sim::StepPart, std::int64_t>> parts = {}; ///< with some time; they add up to it
        std::string difference = {};                                    ///< to the first: "+12.3 ms, +3.1 %"
        bool fits = true;                                               ///< sim::fitsEverywhere()
    };
    StepBars() = default;
    /// Each of the first with another; `names` has the first and then theirs, `letters` likewise.
    /// `dataTransfers`: what goes the way of dp in all of them (purpose_name.h).
    StepBars(const std::vector<sim::Comparison>& toFirst, const std::vector<std::string>& names, std::string dataTransfers = "dp",
             const std::string& letters = "ABCDEF");

    const std::vector<Step>& steps() const { return m_steps; }
    float suitableHeight(float available = 1000) const; ///< lower where timelines need the room, too
    void setTall(bool on) { m_isTall = on; }            ///< where nothing else needs the room: with a legend
    void paint(Canvas&, const Theme&, Rect area) const;
    std::string describe(Rect area, Point) const; ///< what is there; empty for nothing

private:
    struct Frame;
    struct Legend;
    Frame frame(Rect area) const;
    Legend legend(Canvas&, Rect area) const;

    std::vector<Step> m_steps;
    std::string m_dataTransfers;
    std::int64_t m_longestNs = 1;
    bool m_isTall = false;
    mutable float m_legendHeight = 0; ///< as it was drawn last
};

} // namespace app
