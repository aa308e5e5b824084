#include "app/shell/widgets/thumbnail.h"

#include "app/shell/widgets/style.h"
#include "sim/error.h"
#include "sim/legal/schedule_request.h"
#include "sim/schedule/evaluate.h"
#include "sim/schedule/families/families.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace app {
namespace {

QColor actionColor(sim::ActionKind kind, const Theme& theme)
{
    const auto of = [&](sim::OpClass c) { return toQColor(theme.opClass[static_cast<std::size_t>(c)]); };
    switch (kind) {
    case sim::ActionKind::forward:
        return of(sim::OpClass::forward);
    case sim::ActionKind::backward:
        return of(sim::OpClass::backward);
    case sim::ActionKind::backwardInput:
        return of(sim::OpClass::backwardInput);
    case sim::ActionKind::backwardWeight:
        return of(sim::OpClass::backwardWeight);
    }
    return {};
}

/// The scenario's family, small enough to be seen in a hundred pixels.
sim::Schedule miniature(const sim::Scenario& s)
{
    constexpr std::size_t kMostWritten = 512;
    const sim::ScheduleFamily* const family = sim::findScheduleFamily(s.schedule.kind);
    std::size_t written = 0;
    for (const auto& line : s.schedule.actions)
        written += line.size();
    if (family != nullptr && family->isWrittenOut && written > 0 && written <= kMostWritten)
        return sim::makeSchedule(sim::scheduleRequest(s)); // as somebody wrote it
    sim::ScheduleRequest request;
    request.kind = s.schedule.kind;
    request.slices = s.schedule.sequenceSlices;
    request.ranks = std::min(s.layout.pp, 8);
    request.virtualStages = std::min(s.schedule.virtualStages, 2);
    request.microbatches = std::clamp(s.microbatches() / request.ranks, 1, 2) * request.ranks;
    try {
        return sim::makeSchedule(request);
    } catch (const sim::Error&) { // a family with wishes of its own, or custom actions
        request.kind = "1f1b";
        request.virtualStages = 1;
        return sim::makeSchedule(request);
    }
}

constexpr double kPale = 0.22; ///< opacity of what comes later

QColor faded(QColor color, bool isLater)
{
    if (isLater)
        color.setAlphaF(static_cast<float>(kPale));
    return color;
}

} // namespace

void paintSchedule(QPainter& painter, const QRectF& area, const sim::Schedule& schedule, const sim::ScheduleTimes& times,
                   const Theme& theme, std::optional<double> moment)
{
    const double rowHeight = std::min(area.height() / schedule.ranks, 14.0);
    const double top = area.top() + (area.height() - rowHeight * schedule.ranks) / 2;
    const double scale = area.width() / std::max(times.makespan, 1e-9);
    for (std::size_t rank = 0; rank < schedule.actions.size(); ++rank) {
        const double y = top + static_cast<double>(rank) * rowHeight;
        const std::vector<sim::Action>& actions = schedule.actions[rank];
        for (std::size_t i = 0; i < actions.size(); ++i) {
            const double x = area.left() + times.start[rank][i] * scale;
            const double w = (times.end[rank][i] - times.start[rank][i]) * scale;
            // An overlapped block runs its forward and its backward at once: one above the other.
            const bool first = actions[i].overlapsNext, second = i > 0 && actions[i - 1].overlapsNext;
            const double height = rowHeight - 1.5;
            painter.fillRect(
                QRectF(x, second ? y + height / 2 : y, std::max(0.8, w - 0.7), first || second ? height / 2 : height),
                faded(actionColor(actions[i].kind, theme), moment && times.start[rank][i] > *moment * times.makespan));
        }
    }
    if (moment)
        painter.fillRect(QRectF(area.left() + *moment * area.width() - 0.75, top - 2, 1.5, rowHeight * schedule.ranks + 2.5),
                         toQColor(theme.text));
}

Thumbnail::Thumbnail(const sim::Scenario& scenario) : m_layout(scenario.layout)
{
    if (m_layout.pp < 2)
        return;
    try {
        m_schedule = miniature(scenario);
        m_times = sim::evaluateSchedule(*m_schedule);
    } catch (...) { // whatever it is, its ranks can be drawn
        m_schedule.reset();
    }
}

void Thumbnail::paint(QPainter& painter, const QRectF& area, const Theme& theme, std::optional<double> moment) const
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    if (m_schedule)
        paintSchedule(painter, area, *m_schedule, m_times, theme, moment);
    else
        paintRanks(painter, area, theme, moment);
    painter.restore();
}

/// One box a replica, one cell a GPU of it. Without a pipeline all do the same at a time: forward, backward, meet.
void Thumbnail::paintRanks(QPainter& painter, const QRectF& area, const Theme& theme, std::optional<double> moment) const
{
    constexpr double kForwardEnds = 0.3, kBackwardEnds = 0.86; // a backward pass is twice a forward one
    const sim::OpClass now = !moment || *moment < kForwardEnds ? sim::OpClass::forward
                             : *moment < kBackwardEnds         ? sim::OpClass::backward
                                                               : sim::OpClass::dpComm;
    const QColor color = toQColor(theme.fill(now));
    const int cells = std::min(m_layout.tp * m_layout.cp, 16);
    const int boxes = std::min(m_layout.dp, 16);
    const int columns = static_cast<int>(std::ceil(std::sqrt(boxes * 1.4)));
    const int rows = (boxes + columns - 1) / columns;
    const double w = std::min(area.width() / columns, 40.0), h = std::min(area.height() / rows, 32.0);
    const double left = area.left() + (area.width() - w * columns) / 2, top = area.top() + (area.height() - h * rows) / 2;
    const int cellColumns = std::min(cells, static_cast<int>(std::ceil(std::sqrt(cells * w / h))));
    const int cellRows = (cells + cellColumns - 1) / cellColumns;
    for (int box = 0; box < boxes; ++box) {
        const QRectF frame(left + box % columns * w + 1.5, top + box / columns * h + 1.5, w - 3, h - 3);
        painter.setPen(QPen(toQColor(theme.border), 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(frame, 2, 2);
        const QRectF inside = frame.adjusted(2, 2, -2, -2);
        const double cw = inside.width() / cellColumns, ch = inside.height() / cellRows;
        for (int cell = 0; cell < cells; ++cell)
            painter.fillRect(
                QRectF(inside.left() + cell % cellColumns * cw, inside.top() + cell / cellColumns * ch, cw - 1, ch - 1), color);
    }
}

} // namespace app
