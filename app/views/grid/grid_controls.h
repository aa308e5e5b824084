// The chips above the rank grid: which lens, which arrangement, and the axes, each in its place.
#pragma once

#include "app/step/grid_arrangement.h"
#include "app/views/grid/grid_lens.h"
#include "app/views/grid/grid_painter.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace app {

struct GridChip {
    enum class Kind : std::uint8_t { lens, nextLens, arrangement, automatic, axis };
    Kind kind = Kind::lens;
    int index = 0;                        ///< of lens: which; of arrangement: 1 if physical; of axis: its number among the seats
    AxisPlace place = AxisPlace::columns; ///< of axis
    std::string axis;                     ///< "tp"
    std::string text;
    std::string name; ///< for screen readers
    std::string tip;
    Rect rect;
    bool chosen = false;
    bool operator==(const GridChip&) const = default;
};

/// What the chips show.
struct GridChoices {
    GridLens lens = GridLens::memory;
    bool physical = false;
    bool automatic = true;
    AxisSeats seats; ///< as they lie now
    KnownGrid known; ///< of a recorded run: how much of the grid
};

struct GridControls {
    std::vector<GridChip> chips;
    std::array<Rect, 3> places{}; ///< of columns, rows, boxes: where an axis can be dropped
    const GridChip* at(Point) const;
    struct Drop {
        AxisPlace place = AxisPlace::columns;
        int inside = 0; ///< axes further inside
        bool operator==(const Drop&) const = default;
    };
    /// Where a dragged axis would go; nothing far from all places.
    std::optional<Drop> dropAt(Point, const std::string& axis) const;
};

/// What the pointer does to them.
struct ControlsState {
    const GridChip* hovered = nullptr;
    std::string dragged;                    ///< axis; empty: none
    Point at{};                             ///< of the drag
    std::optional<GridControls::Drop> drop; ///< where it would go
    bool onlyTold = false;                  ///< nobody can click: the lens is named, nothing offered
};

GridControls paintControls(Canvas&, const GridFrame&, const Theme&, const sim::Simulation&, const GridChoices&,
                           const ControlsState&);

} // namespace app
