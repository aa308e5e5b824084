// A scenario in miniature: its pipeline as a small schedule, or its ranks as boxes where there is no pipeline. It can be played.
#pragma once

#include "app/views/common/theme.h"
#include "sim/scenario/scenario.h"
#include "sim/schedule/evaluate.h"

#include <QRectF>

#include <optional>

class QPainter;

namespace app {

class Thumbnail {
public:
    explicit Thumbnail(const sim::Scenario&);
    /// `moment`: the part of the step that is over, 0 to 1; what comes later is pale. Nothing: the whole step.
    void paint(QPainter&, const QRectF&, const Theme&, std::optional<double> moment = {}) const;

private:
    void paintRanks(QPainter&, const QRectF&, const Theme&, std::optional<double> moment) const;

    sim::Layout m_layout;
    std::optional<sim::Schedule> m_schedule; ///< only where there is a pipeline
    sim::ScheduleTimes m_times;
};

/// One row a rank, each action as wide as it is long.
void paintSchedule(QPainter&, const QRectF&, const sim::Schedule&, const sim::ScheduleTimes&, const Theme&,
                   std::optional<double> moment = {});

} // namespace app
