// A scenario in miniature: its pipeline as a small schedule, or its ranks as boxes where there is no pipeline.
#pragma once

#include "app/views/theme.h"
#include "sim/scenario/scenario.h"
#include "sim/schedule/evaluate.h"

#include <QRectF>

class QPainter;

namespace app {

void paintThumbnail(QPainter&, const QRectF&, const sim::Scenario&, const Theme&);
/// One row a rank, each action as wide as it is long.
void paintSchedule(QPainter&, const QRectF&, const sim::Schedule&, const sim::ScheduleTimes&, const Theme&);

} // namespace app
