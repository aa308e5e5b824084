#include "sim/recovery/said_grid.h"

#include <algorithm>
#include <cstdint>

namespace sim {

std::vector<NamedAxis> namedGrid(const std::vector<std::pair<std::string, int>>& sizes, int ep, int expertStride)
{
    std::vector<NamedAxis> grid;
    int stride = 1, tensor = 1;
    for (const auto& [name, size] : sizes) {
        if (name == "tp")
            tensor = std::max(1, size);
        if (size > 1)
            grid.push_back({name, size, stride});
        stride *= std::max(1, size);
    }
    if (ep > 1)
        grid.push_back({"ep", ep, expertStride > 0 ? expertStride : tensor});
    return grid;
}

std::string gridProblem(std::span<const NamedAxis> grid, int world)
{
    std::int64_t ranks = 1, stages = 1;
    std::string product, ofStage;
    const auto text = [](const NamedAxis& axis) { return axis.name + " " + std::to_string(axis.size); };
    const NamedAxis* experts = nullptr;
    for (const NamedAxis& axis : grid) {
        if (axis.name == "ep") {
            experts = &axis;
            continue;
        }
        ranks *= axis.size;
        product += (product.empty() ? "" : " · ") + text(axis);
        if (axis.name == "pp")
            stages = axis.size;
        else
            ofStage += (ofStage.empty() ? "" : " · ") + text(axis);
    }
    if (ranks != world)
        return (product.empty() ? std::string("no axis") : product) + (grid.size() == 1 ? " is " : " are ") +
               std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks") + ", and the recording is of " + std::to_string(world);
    if (experts == nullptr)
        return {};
    const std::int64_t stage = ranks / stages, taken = std::int64_t{experts->size} * experts->stride;
    if (experts->size >= 1 && experts->stride >= 1 && stage % taken == 0)
        return {};
    std::string fitting; // sizes that divide what is left
    for (int size = 1; experts->stride >= 1 && stage % experts->stride == 0 && size <= stage / experts->stride; ++size)
        if (stage / experts->stride % size == 0)
            fitting += (fitting.empty() ? "" : ", ") + std::to_string(size);
    return text(*experts) + (experts->stride > 1 ? " over experts that " + std::to_string(experts->stride) + " ranks cut" : "") +
           " does not divide the " + std::to_string(stage) + (stage == 1 ? " rank" : " ranks") + " of a stage" +
           (ofStage.empty() ? "" : " (" + ofStage + ")") + (fitting.empty() ? "" : "; ep may be " + fitting);
}

} // namespace sim
