// Step time against memory.
#include "app/views/plan/plan_view.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/measures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

namespace app {
namespace {

constexpr float kScatterGutter = 58, kScatterHead = 22, kScatterFoot = 36, kDot = 5;

std::string axisGib(double gib)
{
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%g", gib);
    return text.data();
}

} // namespace

struct PlanScatter::Frame {
    Rect plot;
    double leastGib = 0, mostGib = 1, leastSeconds = 0, mostSeconds = 1;
    Point at(const sim::PlannedLayout& layout) const { return {x(layout.peakMemoryGib), y(layout.paceSeconds())}; }
    float x(double gib) const { return plot.left + plot.width() * static_cast<float>((gib - leastGib) / (mostGib - leastGib)); }
    float y(double seconds) const
    {
        return plot.bottom - plot.height() * static_cast<float>((seconds - leastSeconds) / (mostSeconds - leastSeconds));
    }
};

PlanScatter::Frame PlanScatter::frame(Rect area) const
{
    Frame f;
    f.plot = {area.left + kScatterGutter, area.top + kScatterHead, area.right - kMargin, area.bottom - kScatterFoot};
    constexpr double kBeyond = 3; ///< what takes more than so many times the first is at the edge
    double least = std::numeric_limits<double>::infinity(), most = 0, leastGib = least;
    for (const sim::PlannedLayout& layout : picture().layouts()) {
        least = std::min(least, layout.paceSeconds());
        leastGib = std::min(leastGib, layout.peakMemoryGib);
        most = std::max(most, layout.paceSeconds());
    }
    if (picture().layouts().empty())
        return f;
    if (const auto& mine = picture().mine()) {
        least = std::min(least, mine->paceSeconds);
        most = std::max(most, mine->paceSeconds);
    }
    most = std::min(most, least * kBeyond);
    const double air = std::max(0.08 * (most - least), 0.01 * least);
    f.leastSeconds = least - air;
    f.mostSeconds = most + air;
    f.leastGib = 0;
    f.mostGib = picture().gpuGib() > 0 ? picture().gpuGib() * 1.04 : leastGib * 2;
    return f;
}

std::vector<PlanView::Spot> PlanScatter::spots(Rect area) const
{
    const Frame f = frame(area);
    std::vector<Spot> out;
    if (f.plot.width() < 20 || f.plot.height() < 20)
        return out;
    for (const sim::PlannedLayout& layout : picture().layouts()) {
        Point at = f.at(layout);
        at.y = std::max(at.y, f.plot.top);
        out.push_back({{at.x - kDot, at.y - kDot, at.x + kDot, at.y + kDot},
                       choiceOf(layout),
                       layoutText(layout) + ": step " + picture().paceText(layout) + ", " + bytesOfGibText(layout.peakMemoryGib) +
                           (picture().costText(layout).empty() ? "" : ", " + picture().costText(layout)) +
                           (picture().isOnFrontier(layout) ? ", on the frontier" : "")});
    }
    return out;
}

void PlanScatter::paint(Canvas& canvas) const
{
    const Rect area = canvas.area();
    const Theme& t = theme();
    const Frame f = frame(area);
    textInside(canvas, {area.left + kMargin, area.top, area.right - kMargin, area.top + kScatterHead},
               fitting(canvas, {"Step time against memory, of what was simulated", "Step time against memory", "Time, memory"},
                       area.width() - 2 * kMargin, FontFace::bold),
               t.text, FontFace::bold);
    if (f.plot.width() < 20 || f.plot.height() < 20)
        return;
    if (picture().layouts().empty()) {
        textInside(canvas, f.plot, "None that fits was found so far.", t.mutedText, FontFace::small);
        return;
    }
    const Color grid = mix(t.canvas, t.text, 0.08F);
    const float small = canvas.textHeight(FontFace::small);
    const double stepY = niceStepOf((f.mostSeconds - f.leastSeconds) * 34 / static_cast<double>(f.plot.height()));
    for (double tick = std::ceil(f.leastSeconds / stepY) * stepY; tick <= f.mostSeconds; tick += stepY) {
        const float y = std::floor(f.y(tick));
        if (y < f.plot.top)
            break;
        canvas.fillRect({f.plot.left, y, f.plot.right, y + 1}, grid);
        textInside(canvas, {area.left + 2, y - small, f.plot.left - 5, y + small}, durationText(tick * 1e9), t.mutedText,
                   FontFace::small, Align::right);
    }
    const double stepX = niceStepOf((f.mostGib - f.leastGib) * 52 / static_cast<double>(f.plot.width()));
    for (double tick = std::ceil(f.leastGib / stepX) * stepX; tick <= f.mostGib; tick += stepX) {
        const float x = std::floor(f.x(tick));
        canvas.fillRect({x, f.plot.top, x + 1, f.plot.bottom}, grid);
        textInside(canvas, {x - 24, f.plot.bottom + 2, x + 24, f.plot.bottom + 3 + small}, axisGib(tick), t.mutedText,
                   FontFace::small, Align::center);
    }
    textInside(canvas, {f.plot.left, f.plot.bottom + small + 2, f.plot.right, f.plot.bottom + 2 * small + 4},
               "GiB of the fullest GPU at its peak", t.mutedText, FontFace::small, Align::right);
    if (picture().gpuGib() > 0) {
        const float x = std::floor(f.x(picture().gpuGib()));
        canvas.line({x, f.plot.top}, {x, f.plot.bottom}, t.warning, 1, LineStyle::dashed);
        textInside(canvas, {f.plot.left, f.plot.top, x - 4, f.plot.top + small + 2}, "what a GPU has", t.mutedText,
                   FontFace::small, Align::right);
    }
    canvas.fillRect({f.plot.left, f.plot.bottom, f.plot.right, f.plot.bottom + 1}, t.border);
    canvas.fillRect({f.plot.left, f.plot.top, f.plot.left + 1, f.plot.bottom}, t.border);

    // The frontier in steps: between two of its layouts one has to take the slower for less memory.
    std::vector<sim::PlannedLayout> frontier = picture().answer().pareto;
    std::sort(frontier.begin(), frontier.end(), [](const auto& a, const auto& b) { return a.peakMemoryGib < b.peakMemoryGib; });
    std::vector<Point> line;
    for (const sim::PlannedLayout& layout : frontier) {
        const Point at = f.at(layout);
        if (!line.empty())
            line.push_back({at.x, line.back().y});
        line.push_back(at);
    }
    canvas.pushClip(f.plot);
    if (line.size() > 1)
        canvas.polyline(line, t.accent, 2);
    canvas.popClip();
    if (const auto& mine = picture().mine()) { // a diamond: nothing else is one
        const float x = std::clamp(f.x(mine->peakGib), f.plot.left, f.plot.right);
        const float y = std::clamp(f.y(mine->paceSeconds), f.plot.top, f.plot.bottom);
        constexpr float kDiamond = 7;
        canvas.fillConvex({{x, y - kDiamond}, {x + kDiamond, y}, {x, y + kDiamond}, {x - kDiamond, y}}, t.text);
        canvas.fillConvex({{x, y - 3}, {x + 3, y}, {x, y + 3}, {x - 3, y}}, t.canvas);
        const std::string text = "yours";
        const float width = canvas.textWidth(text, FontFace::small);
        const float left = x + kDiamond + 3 + width > f.plot.right ? x - kDiamond - 3 - width : x + kDiamond + 3;
        if (left >= f.plot.left)
            canvas.text({left, std::clamp(y - small / 2, f.plot.top, f.plot.bottom - small)}, text, t.text, FontFace::small);
        if (canvas.wantsNodes()) {
            canvas.node({.id = std::uint64_t{1} << 40,
                         .role = "text",
                         .name = "Yours: " + picture().mineText() + ", " + bytesOfGibText(mine->peakGib),
                         .rect = {x - kDiamond, y - kDiamond, x + kDiamond, y + kDiamond}});
        }
    }
    for (const Spot& spot : spots(area)) {
        const sim::PlannedLayout& layout = *spot.choice.layout;
        const bool isFirst = !picture().answer().best.empty() && layout.settings == picture().answer().best.front().settings;
        const bool isFrontier = picture().isOnFrontier(layout);
        const float inset = isFrontier || isFirst ? 1 : 2;
        const Rect dot = spot.rect.inset(inset);
        if (isFirst || isFrontier)
            canvas.fillRect(dot, t.accent);
        else
            canvas.strokeRect(dot, mix(t.canvas, t.text, 0.55F), layout.tieWithFirst ? 2 : 1);
        if (isFirst) {
            const std::string text = "best";
            const float width = canvas.textWidth(text, FontFace::small);
            const float x = spot.rect.right + 3 + width > f.plot.right ? spot.rect.left - 3 - width : spot.rect.right + 3;
            canvas.text({x, std::min(spot.rect.top, f.plot.bottom - small)}, text, t.text, FontFace::small);
        }
        if (isHovered(spot.choice))
            canvas.strokeRect(spot.rect.inset(-2), t.hover, 2);
        if (isChosen(spot.choice))
            canvas.strokeRect(spot.rect.inset(-3), t.text, 2);
    }
}

} // namespace app
