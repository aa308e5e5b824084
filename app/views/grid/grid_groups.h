// The process groups that light up around a rank, told apart by outline and never by hue.
#pragma once

#include "app/canvas/canvas.h"
#include "app/step/known_grid.h"
#include "sim/mesh/mesh.h"

#include <string>
#include <vector>

namespace app {

struct Outline {
    LineStyle style = LineStyle::solid;
    float thickness = 2;
    bool twice = false; ///< two thin lines side by side
    float inset = 0;    ///< so that two groups of one cell do not lie on each other
};
/// tp solid, cp dashed, dp dotted, pp double, ep double dashed.
Outline outlineOf(sim::ProcessGroup);
void strokeOutline(Canvas&, Rect, Color, const Outline&);

struct LitGroup {
    sim::ProcessGroup kind = sim::ProcessGroup::tp;
    std::string name;         ///< "tp"
    std::vector<int> members; ///< ascending, with the rank itself
    /// "8 ranks: 8–15"
    std::string membersText() const;
};

/// Groups of more than one rank along each axis: tp, cp, dp, pp, ep.
std::vector<LitGroup> litGroups(const sim::Mesh&, int rank, const KnownGrid& = {});

} // namespace app
