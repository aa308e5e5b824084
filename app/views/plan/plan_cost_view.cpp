#include "app/views/plan/plan_cost_view.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/measures.h"
#include "app/views/plan/plan_page_view.h"
#include "app/views/plan/plan_view.h"
#include "sim/planner/sizes.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace app {
namespace {

constexpr float kCostGutter = 58, kCostHead = 22, kCostFoot = 36, kCostDot = 5;

std::string amountText(double amount)
{
    return sim::numberText(amount, sim::Unit::number);
}

} // namespace

struct PlanCostView::Frame {
    Rect plot;
    double leastCost = 0, mostCost = 1, mostDays = 1;
    float x(double cost) const
    {
        return plot.left + plot.width() * static_cast<float>((cost - leastCost) / (mostCost - leastCost));
    }
    float y(double days) const { return plot.bottom - plot.height() * static_cast<float>(days / mostDays); }
    Rect dot(Point at) const { return {at.x - kCostDot, at.y - kCostDot, at.x + kCostDot, at.y + kCostDot}; }
};

void PlanCostView::set(std::vector<PlanSize> sizes, double price)
{
    std::erase_if(sizes, [](const PlanSize& size) { return !size.best || !(size.best->runDays > 0); });
    m_sizes = std::move(sizes);
    m_price = price;
    m_hovered.reset();
    std::vector<sim::PlannedLayout> layouts;
    for (const PlanSize& size : m_sizes)
        layouts.push_back(*size.best);
    m_frontier = sim::daysAgainstHours(layouts);
}

double PlanCostView::costOf(const PlanSize& size) const
{
    return size.best->gpuHours * (m_price > 0 ? m_price : 1);
}

bool PlanCostView::isOnFrontier(std::size_t place) const
{
    return std::find(m_frontier.begin(), m_frontier.end(), place) != m_frontier.end();
}

std::string PlanCostView::text(std::size_t place) const
{
    const PlanSize& size = m_sizes[place];
    return sim::countedText(size.gpus, "GPU") + ": done in " + amountText(size.best->runDays) + " days for " +
           amountText(costOf(size)) + (m_price > 0 ? "" : " GPU hours") + ", " + layoutText(*size.best) +
           (size.isProved ? "" : ", not proved") + (isOnFrontier(place) ? "; none is sooner for less" : "");
}

PlanCostView::Frame PlanCostView::frame(Rect area) const
{
    constexpr double kAir = 1.08;
    Frame f;
    f.plot = {area.left + kCostGutter, area.top + kCostHead, area.right - kMargin, area.bottom - kCostFoot};
    double least = std::numeric_limits<double>::infinity(), cost = 0, days = 0;
    for (const PlanSize& size : m_sizes) {
        least = std::min(least, costOf(size));
        cost = std::max(cost, costOf(size));
        days = std::max(days, size.best->runDays);
    }
    if (cost > 0) { // from size to size it differs little: not from nothing on
        const double air = std::max(0.1 * (cost - least), 0.01 * cost);
        f.leastCost = least - air;
        f.mostCost = cost + air;
    }
    f.mostDays = std::max(days * kAir, 1e-9);
    return f;
}

void PlanCostView::draw(Canvas& canvas)
{
    const Rect area = canvas.area();
    canvas.fillRect(area, m_theme.canvas);
    const Frame f = frame(area);
    textInside(canvas, {area.left + kMargin, area.top, area.right - kMargin, area.top + kCostHead},
               fitting(canvas,
                       {"Days of the run against what it costs, by the number of GPUs", "Days against cost", "Days, cost"},
                       area.width() - 2 * kMargin, FontFace::bold),
               m_theme.text, FontFace::bold);
    if (f.plot.width() < 20 || f.plot.height() < 20)
        return;
    const float small = canvas.textHeight(FontFace::small);
    if (m_sizes.empty()) {
        drawWrapped(canvas, {area.left + kMargin, f.plot.top, area.right - kMargin, area.bottom}, m_hint, m_theme.mutedText,
                    FontFace::small);
        return;
    }
    const Color grid = mix(m_theme.canvas, m_theme.text, 0.08F);
    const double stepY = niceStepOf(f.mostDays * 34 / static_cast<double>(f.plot.height()));
    for (double tick = 0; tick <= f.mostDays; tick += stepY) {
        const float y = std::floor(f.y(tick));
        canvas.fillRect({f.plot.left, y, f.plot.right, y + 1}, grid);
        textInside(canvas, {area.left + 2, y - small, f.plot.left - 5, y + small}, amountText(tick), m_theme.mutedText,
                   FontFace::small, Align::right);
    }
    const double stepX = niceStepOf((f.mostCost - f.leastCost) * 84 / static_cast<double>(f.plot.width()));
    for (double tick = std::ceil(f.leastCost / stepX) * stepX; tick <= f.mostCost; tick += stepX) {
        const float x = std::floor(f.x(tick));
        canvas.fillRect({x, f.plot.top, x + 1, f.plot.bottom}, grid);
        textInside(canvas, {x - 40, f.plot.bottom + 2, x + 40, f.plot.bottom + 3 + small}, amountText(tick), m_theme.mutedText,
                   FontFace::small, Align::center);
    }
    textInside(canvas, {f.plot.left, f.plot.bottom + small + 2, f.plot.right, f.plot.bottom + 2 * small + 4},
               m_price > 0 ? "cost of the run, at your price of a GPU hour" : "GPU hours of the run", m_theme.mutedText,
               FontFace::small, Align::right);
    textInside(canvas, {f.plot.left + 4, f.plot.top, f.plot.right, f.plot.top + small + 2}, "days", m_theme.mutedText,
               FontFace::small);
    canvas.fillRect({f.plot.left, f.plot.bottom, f.plot.right, f.plot.bottom + 1}, m_theme.border);
    canvas.fillRect({f.plot.left, f.plot.top, f.plot.left + 1, f.plot.bottom}, m_theme.border);
    const auto at = [&](std::size_t i) { return Point{f.x(costOf(m_sizes[i])), f.y(m_sizes[i].best->runDays)}; };
    std::vector<Point> line; // in steps: between two of them one has to wait longer to pay less
    for (const std::size_t i : m_frontier) {
        if (!line.empty())
            line.push_back({at(i).x, line.back().y});
        line.push_back(at(i));
    }
    if (line.size() > 1)
        canvas.polyline(line, m_theme.accent, 2);
    for (std::size_t i = 0; i < m_sizes.size(); ++i) {
        const PlanSize& size = m_sizes[i];
        const Rect dot = f.dot(at(i));
        if (isOnFrontier(i))
            canvas.fillRect(dot, m_theme.accent);
        else
            canvas.strokeRect(dot, mix(m_theme.canvas, m_theme.text, 0.55F), 1);
        if (size.isShown || m_hovered == i)
            canvas.strokeRect(dot.inset(-3), size.isShown ? m_theme.text : m_theme.hover, 2);
        const std::string gpus = sim::numberText(size.gpus, sim::Unit::count);
        const float width = canvas.textWidth(gpus, FontFace::small);
        const float x = dot.right + 4 + width > f.plot.right ? dot.left - 4 - width : dot.right + 4;
        canvas.text({x, std::min(dot.top - 2, f.plot.bottom - small)}, gpus, size.isShown ? m_theme.text : m_theme.mutedText,
                    FontFace::small);
        if (canvas.wantsNodes())
            canvas.node({.id = i + 1, .role = "cell", .name = text(i), .rect = dot, .selected = size.isShown});
    }
}

bool PlanCostView::pointer(const PointerEvent& event, Rect area)
{
    const Frame f = frame(area);
    std::optional<std::size_t> under;
    if (event.kind != PointerEvent::Kind::leave)
        for (std::size_t i = 0; i < m_sizes.size(); ++i)
            if (f.dot({f.x(costOf(m_sizes[i])), f.y(m_sizes[i].best->runDays)}).inset(-3).contains(event.at))
                under = i;
    const bool isAnother = under != m_hovered;
    m_hovered = under;
    if (under && event.kind == PointerEvent::Kind::press && event.button == PointerButton::left && m_chosen) {
        m_chosen(m_sizes[*under].gpus);
        return true;
    }
    return isAnother;
}

bool PlanCostView::command(ViewCommand command, bool, Rect)
{
    const std::optional<int> gpus = gpusAfter(m_sizes, command);
    if (gpus && m_chosen)
        m_chosen(*gpus);
    return gpus && m_chosen;
}

std::string PlanCostView::tooltip() const
{
    return m_hovered && *m_hovered < m_sizes.size() ? text(*m_hovered) : std::string();
}

} // namespace app
