// What lies over the cells of the rank grid: outlines of groups and selected ranks, messages between ranks at the time cursor,
// collectives that run, and arrows from who waits to whom it waits for.
#pragma once

#include "app/views/grid/grid_painter.h"

namespace app {

void paintOverlays(Canvas&, const GridScene&);

/// "waits for rank 4, which does F3", "waits for rank 0, which waits for its host to launch F0" about the rank at the time
/// cursor; empty if it does not wait or nothing is known.
std::string waitSentence(const GridScene&, int rank);

} // namespace app
