#include "app/views/grid/grid_groups.h"

#include "app/views/common/labels.h"

#include <algorithm>

namespace app {

Outline outlineOf(sim::ProcessGroup kind)
{
    switch (kind) {
    case sim::ProcessGroup::cp:
        return {LineStyle::dashed, 2, false, 0};
    case sim::ProcessGroup::dp:
        return {LineStyle::dotted, 2, false, 0};
    case sim::ProcessGroup::pp:
        return {LineStyle::solid, 1, true, 0};
    case sim::ProcessGroup::ep:
        return {LineStyle::dashed, 1, true, 4};
    default:
        return {LineStyle::solid, 2, false, 0};
    }
}

void strokeOutline(Canvas& canvas, Rect rect, Color color, const Outline& outline)
{
    rect = rect.inset(outline.inset);
    canvas.strokeRect(rect, color, outline.thickness, outline.style);
    if (outline.twice)
        canvas.strokeRect(rect.inset(3), color, outline.thickness, outline.style);
}

std::string LitGroup::membersText() const
{
    return countText(static_cast<std::int64_t>(members.size())) + " ranks: " + rankListText(members);
}

std::vector<LitGroup> litGroups(const sim::Mesh& mesh, int rank, const KnownGrid& known)
{
    std::vector<LitGroup> groups;
    for (const sim::ProcessGroup kind :
         {sim::ProcessGroup::tp, sim::ProcessGroup::cp, sim::ProcessGroup::ep, sim::ProcessGroup::pp, sim::ProcessGroup::dp}) {
        if (mesh.groupSize(kind) < 2)
            continue;
        LitGroup group{kind, known.wordOf(std::string(sim::processGroupName(kind))),
                       mesh.members(kind, mesh.groupOf(kind, rank))};
        std::sort(group.members.begin(), group.members.end());
        groups.push_back(std::move(group));
    }
    return groups;
}

} // namespace app
