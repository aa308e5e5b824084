#include "app/views/plan/plan_view.h"

#include "app/views/common/labels.h"

#include <cmath>
#include <limits>
#include <utility>

namespace app {
namespace {

/// A spot for keys: how far it lies in the direction of a command; nothing where it does not.
std::optional<float> wayTo(ViewCommand command, Point from, Point to)
{
    constexpr float kSideways = 2; ///< what lies straight ahead is meant before what lies nearer beside
    const float x = to.x - from.x, y = to.y - from.y;
    const auto way = [&](float ahead, float beside) -> std::optional<float> {
        return ahead > 0.5F ? std::optional(ahead + kSideways * std::abs(beside)) : std::nullopt;
    };
    switch (command) {
    case ViewCommand::stepLeft:
        return way(-x, y);
    case ViewCommand::stepRight:
        return way(x, y);
    case ViewCommand::stepUp:
        return way(-y, x);
    case ViewCommand::stepDown:
        return way(y, x);
    default:
        return std::nullopt;
    }
}

Point middleOf(Rect rect)
{
    return {(rect.left + rect.right) / 2, (rect.top + rect.bottom) / 2};
}

} // namespace

PlanChoice choiceOf(const sim::PlannedLayout& layout)
{
    return {.tp = layout.grid.tp, .pp = layout.grid.pp, .layout = layout};
}

PlanChoice choiceOf(const PlanCell& cell)
{
    return {.tp = cell.tp, .pp = cell.pp, .layout = cell.best};
}

PlanView::PlanView(PlanChoicePtr choice, const Theme& theme) : m_choice(std::move(choice)), m_theme(theme) {}

void PlanView::setPicture(PlanPicturePtr picture)
{
    m_picture = std::move(picture);
    m_hovered.reset();
}

void PlanView::setHint(std::string title, std::string hint)
{
    m_title = std::move(title);
    m_hint = std::move(hint);
}

void PlanView::draw(Canvas& canvas)
{
    canvas.fillRect(canvas.area(), m_theme.canvas);
    if (!hasPicture()) {
        drawEmpty(canvas, m_theme, m_title, m_hint);
        return;
    }
    canvas.pushClip(canvas.area());
    paint(canvas);
    canvas.popClip();
    if (!canvas.wantsNodes())
        return;
    std::uint64_t id = 1;
    for (Spot& spot : spots(canvas.area()))
        canvas.node(
            {.id = id++, .role = "cell", .name = std::move(spot.name), .rect = spot.rect, .selected = isChosen(spot.choice)});
}

void PlanView::choose(const PlanChoice& choice)
{
    *m_choice = choice;
    if (m_chosen)
        m_chosen();
}

bool PlanView::pointer(const PointerEvent& event, Rect area)
{
    if (!hasPicture())
        return false;
    std::optional<Spot> under;
    if (event.kind != PointerEvent::Kind::leave)
        for (Spot& spot : spots(area))
            if (spot.rect.contains(event.at))
                under = std::move(spot); // the last is drawn on top
    const bool isAnother = under.has_value() != m_hovered.has_value() || (under && !under->choice.isSame(m_hovered->choice));
    m_hovered = std::move(under);
    if (m_hovered && event.button == PointerButton::left) {
        if (event.kind == PointerEvent::Kind::press) {
            choose(PlanChoice(m_hovered->choice));
            return true;
        }
        if (event.kind == PointerEvent::Kind::doubleClick && m_opened) {
            choose(PlanChoice(m_hovered->choice));
            m_opened();
            return true;
        }
    }
    return isAnother;
}

bool PlanView::command(ViewCommand command, bool, Rect area)
{
    if (!hasPicture())
        return false;
    const std::vector<Spot> all = spots(area);
    if (all.empty())
        return false;
    const Spot* now = nullptr;
    for (const Spot& spot : all)
        if (isChosen(spot.choice))
            now = &spot;
    if (!now)
        for (const Spot& spot : all)
            if (*m_choice && spot.choice.tp == (*m_choice)->tp && spot.choice.pp == (*m_choice)->pp)
                now = &spot;
    const Spot* next = nullptr;
    if (command == ViewCommand::next || command == ViewCommand::previous) {
        const auto count = static_cast<std::ptrdiff_t>(all.size());
        const std::ptrdiff_t at = now ? now - all.data() : command == ViewCommand::next ? -1 : 0;
        next = &all[static_cast<std::size_t>((at + (command == ViewCommand::next ? 1 : count - 1)) % count)];
    } else if (now) {
        float shortest = std::numeric_limits<float>::infinity();
        for (const Spot& spot : all)
            if (const auto way = wayTo(command, middleOf(now->rect), middleOf(spot.rect)); way && *way < shortest) {
                shortest = *way;
                next = &spot;
            }
    } else if (command == ViewCommand::stepLeft || command == ViewCommand::stepRight || command == ViewCommand::stepUp ||
               command == ViewCommand::stepDown) {
        next = &all.front();
    }
    if (!next)
        return false;
    choose(PlanChoice(next->choice));
    return true;
}

std::string PlanView::tooltip() const
{
    return m_hovered ? m_hovered->name +
                           (m_hovered->choice.layout ? "\nclick: its numbers; double click: open it" : "\nclick: its numbers")
                     : std::string();
}

double niceStepOf(double least)
{
    if (!(least > 0))
        return 1;
    const double power = std::pow(10, std::floor(std::log10(least)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (power * factor >= least * 0.999)
            return power * factor;
    return power * 10;
}

} // namespace app
