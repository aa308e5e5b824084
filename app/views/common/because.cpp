#include "app/views/common/because.h"

#include "app/views/common/labels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace app {
namespace {

/// Apart from the ids that views give to what they draw.
constexpr std::uint64_t kNumberNodes = (std::uint64_t{1} << 63) + (std::uint64_t{1} << 50);

} // namespace

Becauses becauseOfMemory(const SimulationPtr& simulation, int rank, sim::MetricId first)
{
    using Id = sim::MetricId;
    static constexpr std::array<std::pair<Id, const char*>, 6> kParts{{{Id::peakMemory, "Peak"},
                                                                       {Id::parameterMemory, "Parameters"},
                                                                       {Id::gradientMemory, "Gradients"},
                                                                       {Id::optimizerMemory, "Optimizer"},
                                                                       {Id::activationMemory, "Activations"},
                                                                       {Id::bufferMemory, "Buffers"}}};
    Becauses out;
    for (const auto& [id, name] : kParts) {
        if (id != first && id != Id::peakMemory && sim::metricValue(*simulation, id, rank) == 0)
            continue;
        out.push_back({name, [simulation, rank, id = id] { return sim::explain(*simulation, id, rank); }});
        if (id == first)
            std::rotate(out.begin(), out.end() - 1, out.end());
    }
    return out;
}

Becauses becauseOfTime(const SimulationPtr& simulation, int rank, sim::RankNumber first)
{
    using Number = sim::RankNumber;
    static constexpr std::array<std::pair<Number, const char*>, 3> kParts{
        {{Number::busy, "Busy"}, {Number::exposed, "Exposed"}, {Number::bubble, "Bubble"}}};
    Becauses out;
    for (const auto& [number, name] : kParts) {
        out.push_back({name, [simulation, rank, number = number] { return sim::explain(*simulation, number, rank); }});
        if (number == first)
            std::rotate(out.begin(), out.end() - 1, out.end());
    }
    return out;
}

Becauses becauseOfBoth(const ComparedSteps& steps, const ExplainSide& explain, ComparedSide first)
{
    const auto of = [explain](const SimulationPtr& side) {
        sim::Explanation why = explain(*side);
        why.show = {};
        return why;
    };
    Becauses out{{"A", [of, steps] { return of(steps.a); }},
                 {"B", [of, steps] { return of(steps.b); }},
                 {"Difference", [of, steps] { return sim::explainDifference(of(steps.a), of(steps.b)); }}};
    const auto asked = out.begin() + static_cast<std::ptrdiff_t>(first);
    std::rotate(out.begin(), asked, asked + 1);
    return out;
}

void DrawnNumbers::begin(std::optional<Point> pointer, bool answers, int nodeRange)
{
    m_nodeIds = kNumberNodes + (static_cast<std::uint64_t>(nodeRange) << 40U);
    m_numbers.clear();
    m_pointer = pointer;
    m_answers = answers;
}

float DrawnNumbers::write(Canvas& canvas, const Theme& theme, Rect area, std::string_view text, Color color, FontFace face,
                          Align align, GiveBecauses because)
{
    const float width = textInside(canvas, area, text, color, face, align);
    if (width <= 0)
        return 0;
    const float height = canvas.textHeight(face), top = std::floor((area.top + area.bottom - height) / 2);
    const float left = align == Align::left    ? area.left
                       : align == Align::right ? area.right - width
                                               : (area.left + area.right - width) / 2;
    add(canvas, theme, {left, top, left + width, top + height}, text, std::move(because));
    return width;
}

void DrawnNumbers::add(Canvas& canvas, const Theme& theme, Rect rect, std::string_view text, GiveBecauses because)
{
    if (!m_answers)
        return;
    if (m_pointer && rect.contains(*m_pointer))
        canvas.line({rect.left, rect.bottom}, {rect.right, rect.bottom}, theme.accent, 1, LineStyle::dotted);
    if (canvas.wantsNodes())
        canvas.node({.id = m_nodeIds + m_numbers.size(), .role = "number", .name = std::string(text), .rect = rect});
    m_numbers.push_back({rect, std::move(because)});
}

float writeNumber(DrawnNumbers* numbers, Canvas& canvas, const Theme& theme, Rect area, std::string_view text, Color color,
                  FontFace face, Align align, GiveBecauses because)
{
    return numbers != nullptr && because ? numbers->write(canvas, theme, area, text, color, face, align, std::move(because))
                                         : textInside(canvas, area, text, color, face, align);
}

const DrawnNumbers::Number* DrawnNumbers::at(Point at) const
{
    const auto found = std::find_if(m_numbers.begin(), m_numbers.end(), [at](const Number& n) { return n.rect.contains(at); });
    return found == m_numbers.end() ? nullptr : &*found;
}

} // namespace app
