#include "app/views/plan/plan_robust_view.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/measures.h"
#include "app/views/plan/plan_heat.h"
#include "app/views/plan/plan_picture.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <utility>

namespace app {
namespace {

constexpr float kRobustRow = 20, kNarrowestStep = 54, kWidestStep = 96, kRobustGap = 8;
constexpr float kNarrowestCase = 76; ///< "most behind"
constexpr double kFarBehind = 0.05;  ///< of the best: half as strong

std::string caseNumber(std::size_t row)
{
    return "case " + std::to_string(row);
}

std::string behindText(double regret)
{
    return regret == 0 ? std::string("the best of these") : percentText(regret) + " behind the best of these";
}

} // namespace

std::string robustLetter(std::size_t layout)
{
    return std::string(1, static_cast<char>('A' + layout));
}

std::string robustCellText(const sim::RobustChoice& choice, std::size_t layout, std::size_t of)
{
    return choice.cases[of].name + ": " + robustLetter(layout) + " " +
           sim::numberText(choice.seconds[layout][of], sim::Unit::seconds) + ", " + behindText(choice.regret(layout, of));
}

PlanRobustView::PlanRobustView(const Theme& theme) : PlanPageView(theme, "No plan yet") {}

void PlanRobustView::set(std::shared_ptr<const sim::RobustChoice> choice)
{
    if (choice != m_choice) {
        scrollToTop();
        m_marked = choice ? choice->best : 0;
    }
    m_choice = std::move(choice);
    m_columns.clear(); // of what was drawn before: a press ahead of the next frame would take one that is gone
    m_hovered.reset();
}

bool PlanRobustView::hasPage() const
{
    return m_choice && !m_choice->layouts.empty();
}

float PlanRobustView::drawPage(Canvas& canvas, Rect area)
{
    const Rect column{area.left + kMargin, area.top, area.right - kMargin, area.bottom};
    float end = drawWrapped(canvas, column, sim::robustText(*m_choice), m_theme.text, FontFace::body);
    end = drawTable(canvas, {column.left, end + kRobustGap, column.right, column.bottom});
    return drawNames(canvas, {column.left, end + kRobustGap, column.right, column.bottom});
}

/// The first as it is, of the others what is not so in the first.
std::string PlanRobustView::nameOf(std::size_t layout) const
{
    const std::vector<sim::PlannedLayout>& layouts = m_choice->layouts;
    return layout == 0 ? layoutText(layouts.front()) : differingText(layouts[layout], layouts.front());
}

/// What the letters stand for, and the numbers of cases where their names had no room.
float PlanRobustView::drawNames(Canvas& canvas, Rect area)
{
    float y = area.top;
    for (std::size_t i = 0; i < m_choice->layouts.size(); ++i) {
        const bool isBest = i == m_choice->best;
        y = drawWrapped(canvas, {area.left, y, area.right, area.bottom}, robustLetter(i) + "  " + nameOf(i),
                        isBest ? m_theme.text : m_theme.mutedText, FontFace::body);
    }
    for (std::size_t row = 1; m_areNumbered && row < m_choice->cases.size(); ++row)
        y = drawWrapped(canvas, {area.left, y, area.right, area.bottom}, caseNumber(row) + "  " + m_choice->cases[row].name,
                        m_theme.mutedText, FontFace::body);
    return y;
}

float PlanRobustView::drawTable(Canvas& canvas, Rect area)
{
    const sim::RobustChoice& choice = *m_choice;
    const auto layouts = static_cast<float>(choice.layouts.size());
    // Cases are named beside their numbers or, where there is no room, above them.
    const bool isAbove = area.width() - kNarrowestStep * layouts < kNarrowestCase;
    const float step = isAbove ? std::min(area.width() / layouts, kWidestStep)
                               : std::clamp((area.width() * 0.62F) / layouts, kNarrowestStep, kWidestStep);
    const float left = isAbove ? area.left : area.right - step * layouts;
    const std::size_t rows = choice.cases.size() + 1;
    const float rowHeight = isAbove ? 2 * kRobustRow : kRobustRow;
    const auto rowAt = [&](std::size_t row) { return area.top + kRobustRow + rowHeight * static_cast<float>(row); };
    for (std::size_t i = 0; i < choice.layouts.size(); ++i) {
        const float x = left + step * static_cast<float>(i);
        m_columns.push_back({{x, area.top, x + step, rowAt(rows)}, i});
        textInside(canvas, {x, area.top, x + step, area.top + kRobustRow}, robustLetter(i),
                   i == choice.best ? m_theme.text : m_theme.mutedText, FontFace::body, Align::center);
    }
    const auto drawCell = [&](std::size_t i, std::size_t row, double regret, const std::string& text, const std::string& said) {
        const float x = left + step * static_cast<float>(i);
        const Rect cell{x, rowAt(row + 1) - kRobustRow, x + step - 1, rowAt(row + 1) - 1};
        const Color fill = planHeat(m_theme, regret / kFarBehind);
        canvas.fillRect(cell, fill);
        textInside(canvas, cell, fitting(canvas, {text}, cell.width() - 4, FontFace::small), readableOn(fill), FontFace::small,
                   Align::center);
        if (canvas.wantsNodes())
            canvas.node({.id = 1 + row * choice.layouts.size() + i,
                         .role = "cell",
                         .name = said,
                         .rect = cell,
                         .selected = i == m_marked});
    };
    for (std::size_t row = 0; row < rows; ++row) {
        const bool isWorst = row == choice.cases.size();
        const std::string name = isWorst ? "most behind the best of them" : choice.cases[row].name;
        const Rect label{area.left, rowAt(row), isAbove ? area.right : left - 6, rowAt(row) + kRobustRow};
        const std::string shown =
            fitting(canvas, {name, isWorst ? "most behind" : caseNumber(row)}, label.width(), FontFace::small);
        m_areNumbered = m_areNumbered || (!isWorst && shown != name);
        textInside(canvas, label, shown, isWorst ? m_theme.text : m_theme.mutedText, FontFace::small);
        for (std::size_t i = 0; i < choice.layouts.size(); ++i) {
            const double regret = isWorst ? choice.worstRegret(i) : choice.regret(i, row);
            drawCell(i, row, regret, isWorst ? percentText(regret) : sim::numberText(choice.seconds[i][row], sim::Unit::seconds),
                     isWorst ? robustLetter(i) + " at most " + behindText(regret) : robustCellText(choice, i, row));
        }
    }
    const Rect best = m_columns[choice.best].rect;
    canvas.strokeRect({best.left - 1, best.top, best.right, best.bottom}, m_theme.text, 1);
    if (m_hovered && *m_hovered != choice.best)
        canvas.strokeRect(m_columns[*m_hovered].rect, m_theme.mutedText, 1);
    return rowAt(rows);
}

std::optional<std::size_t> PlanRobustView::layoutAt(Point at) const
{
    for (const Column& column : m_columns)
        if (column.rect.contains(at))
            return column.layout;
    return std::nullopt;
}

void PlanRobustView::choose(std::size_t layout)
{
    m_marked = layout;
    if (m_chosen)
        m_chosen(m_choice->layouts[layout]);
}

bool PlanRobustView::pointer(const PointerEvent& event, Rect area)
{
    if (!m_choice)
        return false;
    if (event.kind == PointerEvent::Kind::wheel)
        return scrollByWheel(event, area);
    const auto before = m_hovered;
    m_hovered = event.kind == PointerEvent::Kind::leave ? std::nullopt : layoutAt(event.at);
    if (event.kind == PointerEvent::Kind::press && event.button == PointerButton::left && m_hovered) {
        choose(*m_hovered);
        return true;
    }
    return m_hovered != before;
}

bool PlanRobustView::command(ViewCommand command, bool fast, Rect area)
{
    if (!hasPage())
        return false;
    if (const auto moved = scrollByCommand(command, fast, area))
        return *moved;
    switch (command) {
    case ViewCommand::next:
    case ViewCommand::stepRight:
        if (m_marked + 1 >= m_choice->layouts.size())
            return false;
        choose(m_marked + 1);
        return true;
    case ViewCommand::previous:
    case ViewCommand::stepLeft:
        if (m_marked == 0)
            return false;
        choose(m_marked - 1);
        return true;
    default:
        return false;
    }
}

std::string PlanRobustView::tooltip() const
{
    if (!m_choice || !m_hovered)
        return {};
    return robustLetter(*m_hovered) + ": " + m_choice->layouts[*m_hovered].grid.text() + ", at most " +
           behindText(m_choice->worstRegret(*m_hovered));
}

} // namespace app
