// Numbers that are drawn inside pictures and can be asked where they come from: each picture writes them through DrawnNumbers,
// and what is asked for goes the same way from all of them (AskedView) to the panel that shows formula, values and source.
#pragma once

#include "app/canvas/canvas.h"
#include "app/step/shown_step.h"
#include "app/views/common/theme.h"
#include "sim/analysis/explain/explain.h"
#include "sim/analysis/explain/explain_rank.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace app {

/// A number, and what it is called where several are a click away from each other.
struct Because {
    std::string choice;
    std::function<sim::Explanation()> explain;
};
/// The first is the one that was asked for; none: nothing to ask there.
using Becauses = std::vector<Because>;
using AskBecause = std::function<void(const Becauses&, Rect at)>;

/// What a rank holds at its peak: all of it, or `first` before the others.
Becauses becauseOfMemory(const SimulationPtr&, int rank, sim::MetricId first = sim::MetricId::peakMemory);
/// How it spends the step.
Becauses becauseOfTime(const SimulationPtr&, int rank, sim::RankNumber first = sim::RankNumber::busy);

/// Asked only when somebody does.
using GiveBecauses = std::function<Becauses()>;

struct ComparedSteps {
    SimulationPtr a, b;
};
/// Where a number of one of two steps comes from.
using ExplainSide = std::function<sim::Explanation(const sim::Simulation&)>;
enum class ComparedSide : std::uint8_t { a, b, difference };
/// The same number of two steps and their difference, `first` before the others. None says where to look: pictures show one step.
Becauses becauseOfBoth(const ComparedSteps&, const ExplainSide&, ComparedSide first);

class DrawnNumbers {
public:
    /// Another frame. `pointer`: nothing where it is elsewhere; `answers`: somebody can be asked; `nodeRange`: of several that
    /// draw on one canvas each has its own, so that the ids of their nodes do not meet.
    void begin(std::optional<Point> pointer, bool answers, int nodeRange = 0);
    /// As textInside, underlined under the pointer. Returns the width drawn.
    float write(Canvas&, const Theme&, Rect, std::string_view text, Color, FontFace, Align, GiveBecauses);
    /// What was drawn in a way of its own; `text` is what stands there.
    void add(Canvas&, const Theme&, Rect, std::string_view text, GiveBecauses);

    struct Number {
        Rect rect;
        GiveBecauses because;
    };
    const Number* at(Point) const; ///< nullptr: none
    const std::vector<Number>& all() const { return m_numbers; }

private:
    std::vector<Number> m_numbers;
    std::optional<Point> m_pointer;
    bool m_answers = false;
    std::uint64_t m_nodeIds = 0;
};

/// textInside; a number that can be asked where there are any, and something to say.
float writeNumber(DrawnNumbers*, Canvas&, const Theme&, Rect, std::string_view text, Color, FontFace, Align, GiveBecauses);

inline constexpr const char* kAskNumber = "Where this number comes from";
inline constexpr const char* kAskKey = "\n=: where the numbers come from";

} // namespace app
