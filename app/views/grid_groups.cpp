#include "app/views/grid_groups.h"

#include "app/views/labels.h"

#include <algorithm>

namespace app {

Outline outlineOf(sim::GroupKind kind)
{
    switch (kind) {
    case sim::GroupKind::cp:
        return {LineStyle::dashed, 2, false, 0};
    case sim::GroupKind::dp:
        return {LineStyle::dotted, 2, false, 0};
    case sim::GroupKind::pp:
        return {LineStyle::solid, 1, true, 0};
    case sim::GroupKind::ep:
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

std::string LitGroup::name() const
{
    return std::string(sim::groupKindName(kind));
}

std::string LitGroup::membersText() const
{
    return countText(static_cast<std::int64_t>(members.size())) + " ranks: " + rankListText(members);
}

std::vector<LitGroup> litGroups(const sim::Mesh& mesh, int rank)
{
    std::vector<LitGroup> groups;
    for (const sim::GroupKind kind :
         {sim::GroupKind::tp, sim::GroupKind::cp, sim::GroupKind::ep, sim::GroupKind::pp, sim::GroupKind::dp}) {
        if (mesh.groupSize(kind) < 2)
            continue;
        LitGroup group{kind, mesh.members(kind, mesh.groupOf(kind, rank))};
        std::sort(group.members.begin(), group.members.end());
        groups.push_back(std::move(group));
    }
    return groups;
}

} // namespace app
