#include "app/views/grid/grid_selecting.h"

#include <algorithm>

namespace app {
namespace {

/// Runs a change and tells whether it was one.
template <typename Change>
bool changes(Selection& selection, const Change& change)
{
    const Selection before = selection;
    change();
    return !(before == selection);
}

} // namespace

bool selectOne(Selection& selection, std::optional<int> rank)
{
    return changes(selection, [&] { selection.selectRank(rank); });
}

bool selectAll(Selection& selection, std::vector<int> ranks, int lead)
{
    return !ranks.empty() && changes(selection, [&] { selection.selectRanks(std::move(ranks), lead); });
}

bool selectGroup(Selection& selection, const sim::Mesh& mesh, sim::ProcessGroup kind)
{
    const std::optional<int> rank = selection.focusRank();
    if (!rank || *rank < 0 || *rank >= mesh.worldSize() || mesh.groupOf(kind, *rank) < 0)
        return false;
    return selectAll(selection, mesh.members(kind, mesh.groupOf(kind, *rank)), *rank);
}

bool selectNext(Selection& selection, int worldSize, int by)
{
    const int from = selection.selectedRank.value_or(by > 0 ? -1 : worldSize);
    return selectOne(selection, std::clamp(from + by, 0, worldSize - 1));
}

bool selectBeside(Selection& selection, const GridLayout& layout, int right, int down, int steps)
{
    if (!selection.selectedRank || *selection.selectedRank >= layout.ranks()) { // the first cell
        int place = 0;
        while (place < layout.places() && layout.rankOf(place) < 0)
            ++place;
        return place < layout.places() && selectOne(selection, layout.rankOf(place));
    }
    int rank = *selection.selectedRank;
    int c = layout.column(rank) + right, r = layout.row(rank) + down;
    for (; steps > 0 && c >= 0 && c < layout.columns() && r >= 0 && r < layout.rows(); c += right, r += down)
        if (const int there = layout.rankAt(c, r); there >= 0) {
            rank = there;
            --steps;
        }
    return selectOne(selection, rank);
}

} // namespace app
