// Draws the memory picture: a bar for each pipeline rank at its peak, and what one of them holds over time. Reads only;
// MemoryView moves things.
#pragma once

#include "app/views/common/because.h"
#include "app/views/common/theme.h"
#include "app/views/common/timeline_geometry.h"
#include "app/views/memory/memory_model.h"

#include <optional>
#include <string>
#include <vector>

namespace app {

/// The view's area, divided. A half without height is left out: both want room.
struct MemoryFrame {
    Rect header;                             ///< the fullest rank, and the legend where there is room beside it
    Rect legend;                             ///< below the header; no height: beside it
    Rect names, scale, bars, values, scroll; ///< one row a pipeline rank; scale: bytes, above the bars
    float pitch = 0;                         ///< of the rows; whole rows are in sight
    Rect caption, gutter, ruler, plot;       ///< over time; gutter: bytes, left of the plot
    Rect contents;                           ///< what it is, beside the plot; no width where there is no room
    bool hasPlot() const { return plot.height() > 0; }
    /// `allRows`: where nobody can scroll, the plot makes room for them, or is left out. `legendLines`: below the header.
    MemoryFrame(Rect area, std::size_t rows, bool allRows = false, int legendLines = 0);
};

struct MemoryScene {
    const MemoryModel& model;
    const Theme& theme;
    const Selection& selection;
    MemoryFrame frame;
    TimeWindow window;
    float scrollY = 0;
    std::optional<int> hoveredRow;
    std::optional<std::int64_t> pointedNs; ///< time under the pointer
    DrawnNumbers* numbers = nullptr;       ///< what was written can be asked; nullptr: nothing
    std::int64_t leastBytes = 0;           ///< that the axes reach

    TimeAxis axis() const { return {window.beginNs, window.endNs, frame.plot.left, frame.plot.right}; }
    int shownRow() const { return model.shownRow(selection); }
    int shownRank() const { return model.explainedRank(shownRow(), selection); }
    /// The time that is told beside the peak: under the pointer, else the cursor's.
    std::optional<std::int64_t> toldNs() const;
};

void paintMemoryPicture(Canvas&, const MemoryScene&);
/// Lines of the legend that need a place below the header in an area of that width: none where it goes beside the fullest rank.
int legendLinesBelow(Canvas&, const MemoryModel&, float width);
/// Its lower half; private to the painter.
void paintMemoryOverTime(Canvas&, const MemoryScene&);

/// What some micro-batches keep, in words; stages that keep as much for the same micro-batches share a line. Most first.
struct HeldLine {
    std::vector<std::string> names; ///< "stage 2 · micro-batches 0–3", longest first
    std::string each;               ///< "12.3 GiB each"
    std::int64_t bytes = 0;         ///< of all together
    std::size_t group = 0;          ///< one of them among what is held
};
std::vector<HeldLine> heldLines(const sim::Simulation&, const std::vector<sim::HeldMicrobatches>&);

} // namespace app
