#include "sim/mesh/mesh.h"

#include "sim/error.h"
#include "sim/index.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <string>

namespace sim {

namespace {

enum class Grid : std::uint8_t { dense, expert, pipelineEnds };

struct KindInfo {
    std::string_view name;
    Grid grid;
    std::array<std::string_view, 3> axes; ///< unused ones empty
    std::string_view purpose;
};

/// Axes of each group as in Megatron Core's initialize_model_parallel; expt_dp spans cp too, which is 1 on its expert grid.
constexpr std::array<KindInfo, kProcessGroupCount> kKinds = {{
    {"tp", Grid::dense, {"tp"}, "ranks that hold slices of the same layers' matrices"},
    {"cp", Grid::dense, {"cp"}, "ranks that hold parts of the same sequences"},
    {"dp", Grid::dense, {"dp"}, "ranks that hold the same weights and see different sequences"},
    {"dp_cp",
     Grid::dense,
     {"dp", "cp"},
     "ranks that hold the same weights: gradients are reduced and optimizer states sharded here"},
    {"pp", Grid::dense, {"pp"}, "ranks that hold successive layers and hand activations on"},
    {"mp", Grid::dense, {"tp", "pp"}, "ranks that together hold one copy of the model"},
    {"embd", Grid::pipelineEnds, {}, "first and last pipeline rank, which share tied embedding weights"},
    {"pos_embd", Grid::pipelineEnds, {}, "first pipeline rank, which holds the position embedding"},
    {"tp_cp", Grid::dense, {"tp", "cp"}, "ranks that work on the same sequences in one stage"},
    {"tp_dp", Grid::dense, {"tp", "dp"}, "ranks of one stage that hold the same part of their sequences"},
    {"tp_dp_cp", Grid::dense, {"tp", "dp", "cp"}, "all ranks of one stage: FP8 scales and expert balance are agreed on here"},
    {"ep", Grid::expert, {"ep"}, "ranks that hold different experts of the same layers and exchange tokens"},
    {"expt_tp", Grid::expert, {"tp"}, "ranks that hold slices of the same experts' matrices"},
    {"expt_dp", Grid::expert, {"dp", "cp"}, "ranks that hold the same experts: expert gradients are reduced here"},
    {"tp_ep", Grid::expert, {"tp", "ep"}, "ranks that together hold all experts of their layers"},
    {"tp_ep_pp", Grid::expert, {"tp", "ep", "pp"}, "ranks that together hold all experts of the model"},
}};

const KindInfo& info(ProcessGroup kind)
{
    return kKinds[asIndex(kind)];
}

constexpr std::array<std::string_view, 5> kAxisNames = {"tp", "cp", "ep", "dp", "pp"};

std::string factor(std::string_view name, int value)
{
    return std::string(name) + " " + std::to_string(value);
}

std::string denseProduct(const Layout& layout)
{
    return factor("tp", layout.tp) + " x " + factor("cp", layout.cp) + " x " + factor("pp", layout.pp) + " x " +
           factor("dp", layout.dp);
}

/// World size; throws if an axis is below 1 or the product leaves int.
int checkedWorldSize(const Layout& layout)
{
    std::int64_t world = 1;
    for (const auto& [name, value] : {std::pair{"tp", layout.tp},
                                      {"cp", layout.cp},
                                      {"pp", layout.pp},
                                      {"dp", layout.dp},
                                      {"ep", layout.ep},
                                      {"etp", layout.etp}}) {
        if (value < 1)
            throw Error(factor(name, value) + " must be at least 1");
        if (std::string_view(name) != "ep" && std::string_view(name) != "etp")
            world *= value;
        if (world > std::numeric_limits<int>::max())
            throw Error(denseProduct(layout) + " is more than " + std::to_string(std::numeric_limits<int>::max()) + " ranks");
    }
    return static_cast<int>(world);
}

std::vector<std::string> splitOrder(const std::string& order)
{
    std::vector<std::string> axes;
    for (std::size_t begin = 0; begin <= order.size();) {
        const std::size_t end = std::min(order.find('-', begin), order.size());
        axes.push_back(order.substr(begin, end - begin));
        if (std::find(kAxisNames.begin(), kAxisNames.end(), axes.back()) == kAxisNames.end())
            throw Error("order " + quotedText(order) + " names " + quotedText(axes.back()) +
                        "; axes are tp, cp, ep, dp, pp, joined by -");
        begin = end + 1;
    }
    return axes;
}

/// Axes in `order`'s order; those missing from it come last and must be 1.
RankGrid makeGrid(const std::string& order, std::string_view gridName, const std::array<int, 5>& sizes)
{
    std::vector<RankGrid::AxisSize> axes;
    for (const std::string& name : splitOrder(order)) {
        const auto index = std::find(kAxisNames.begin(), kAxisNames.end(), name) - kAxisNames.begin();
        axes.push_back({name, sizes[asIndex(index)]});
    }
    for (std::size_t i = 0; i < kAxisNames.size(); ++i) {
        const std::string name(kAxisNames[i]);
        if (std::any_of(axes.begin(), axes.end(), [&](const auto& axis) { return axis.name == name; }))
            continue;
        if (sizes[i] > 1)
            throw Error(std::string("order \"").append(order).append("\" has no place for ").append(name) + ", which is " +
                        std::to_string(sizes[i]) + " on the " + std::string(gridName) +
                        " grid; the default order is tp-cp-ep-dp-pp");
        axes.push_back({name, 1});
    }
    return RankGrid(std::move(axes));
}

RankGrid makeDense(const Layout& layout)
{
    checkedWorldSize(layout);
    return makeGrid(layout.order, "dense", {layout.tp, layout.cp, 1, layout.dp, layout.pp});
}

/// Values of one factor that divide what the others leave of the world, ascending.
std::string divisors(int of)
{
    std::vector<int> values;
    for (int value = 1; value <= of / value; ++value)
        if (of % value == 0)
            values.push_back(value);
    for (std::size_t i = values.size(); i-- > 0;)
        if (values[i] != of / values[i])
            values.push_back(of / values[i]);
    std::string text;
    for (const int value : values)
        text += (text.empty() ? "" : ", ") + std::to_string(value);
    return text;
}

[[noreturn]] void refuseExpertProduct(const Layout& layout, std::int64_t perStage)
{
    const int world = layout.worldSize();
    std::string message = "experts are laid out on a grid etp x ep x pp = " + std::to_string(layout.etp) + " x " +
                          std::to_string(layout.ep) + " x " + std::to_string(layout.pp) +
                          (perStage <= std::numeric_limits<int>::max() ? " = " + std::to_string(perStage * layout.pp) : "") +
                          ", which does not divide the world size " + std::to_string(world) + " = " + denseProduct(layout);
    if (layout.etp == layout.tp && layout.tp > 1)
        message += "; etp is " + std::to_string(layout.etp) + " like tp, its default";
    std::string fixes;
    if (world % (std::int64_t{layout.ep} * layout.pp) == 0)
        fixes += "etp " + divisors(world / (layout.ep * layout.pp));
    if (world % (std::int64_t{layout.etp} * layout.pp) == 0)
        fixes += (fixes.empty() ? "" : " (with this ep), or ") + ("ep " + divisors(world / (layout.etp * layout.pp))) +
                 " (with this etp)";
    if (!fixes.empty())
        message += "; what fits: " + fixes;
    throw Error(message);
}

std::string rankList(const std::vector<int>& ranks)
{
    std::string text = "[";
    for (std::size_t i = 0; i < std::min<std::size_t>(ranks.size(), 4); ++i)
        text += (i ? ", " : "") + std::to_string(ranks[i]);
    return text + (ranks.size() > 4 ? ", ...]" : "]");
}

RankGrid::Groups pipelineGroups(const RankGrid& grid)
{
    const std::array<std::string_view, 1> axes = {"pp"};
    return grid.groups(axes);
}

RankGrid makeExpert(const Layout& layout, const RankGrid& dense)
{
    const int ranksPerStage = layout.worldSize() / layout.pp;
    const std::int64_t perStage = std::int64_t{layout.etp} * layout.ep;
    if (ranksPerStage % perStage != 0)
        refuseExpertProduct(layout, perStage);
    const int expertDp = static_cast<int>(ranksPerStage / perStage);

    // Both grids must give the same pipelines. Megatron Core asks for more where pp is not last: equal data parallelism.
    const bool pipelineLast = layout.order.ends_with("pp");
    if (layout.pp > 1 && !pipelineLast && expertDp != layout.dp) {
        const bool namesEp = layout.order.find("ep") != std::string::npos;
        if (!namesEp && layout.ep == 1 && layout.etp == layout.tp)
            return dense;
        throw Error(
            "with pp not last in order " + quotedText(layout.order) +
            " the dense and the expert grid must leave equal data parallelism: tp x cp = " + std::to_string(layout.tp) + " x " +
            std::to_string(layout.cp) + " leaves dp " + std::to_string(layout.dp) + ", etp x ep = " + std::to_string(layout.etp) +
            " x " + std::to_string(layout.ep) + " leaves expert dp " + std::to_string(expertDp) + " of " +
            std::to_string(layout.worldSize()) + " ranks over pp " + std::to_string(layout.pp) +
            "; make etp x ep equal tp x cp (etp " + std::to_string(layout.tp) + ", ep " + std::to_string(layout.cp) +
            "), or put pp last (tp-cp-ep-dp-pp)" +
            (layout.ep == 1 && layout.etp == layout.tp ? ", or leave ep out of the order if the model has no experts" : ""));
    }
    RankGrid expert = makeGrid(layout.order, "expert", {layout.etp, 1, layout.ep, expertDp, layout.pp});
    const std::vector<int> densePipeline = pipelineGroups(dense).members(0);
    const std::vector<int> expertPipeline = pipelineGroups(expert).members(0);
    if (densePipeline != expertPipeline)
        throw Error("with order " + quotedText(layout.order) + " pipelines differ: rank 0's is " + rankList(densePipeline) +
                    " on the dense grid (" + denseProduct(layout) + ") and " + rankList(expertPipeline) +
                    " on the expert grid (" + factor("etp", layout.etp) + " x " + factor("ep", layout.ep) + " x " +
                    factor("pp", layout.pp) + " x " + factor("expert dp", expertDp) + "); put pp last (tp-cp-ep-dp-pp)");
    return expert;
}

} // namespace

std::string_view processGroupName(ProcessGroup kind)
{
    return info(kind).name;
}

std::optional<ProcessGroup> processGroupFromName(std::string_view name)
{
    for (int i = 0; i < kProcessGroupCount; ++i)
        if (kKinds[asIndex(i)].name == name)
            return static_cast<ProcessGroup>(i);
    return std::nullopt;
}

std::string_view processGroupPurpose(ProcessGroup kind)
{
    return info(kind).purpose;
}

Mesh::Mesh(const Layout& layout, PipelineEnds ends)
    : m_dense(makeDense(layout)), m_expert(makeExpert(layout, m_dense)),
      m_pp(layout.pp), m_ends{ends.first, ends.last < 0 ? layout.pp - 1 : ends.last}
{
    for (std::size_t i = 0; i < kKinds.size(); ++i) {
        const KindInfo& kind = kKinds[i];
        if (kind.grid == Grid::pipelineEnds)
            continue;
        const auto used = std::find(kind.axes.begin(), kind.axes.end(), std::string_view());
        const auto axes = std::span(kind.axes).first(asIndex(used - kind.axes.begin()));
        m_groups[i] = (kind.grid == Grid::dense ? m_dense : m_expert).groups(axes);
    }
}

const RankGrid::Groups& Mesh::groups(ProcessGroup kind) const
{
    const bool ends = info(kind).grid == Grid::pipelineEnds;
    return *m_groups[asIndex(ends ? ProcessGroup::pp : kind)];
}

Coordinates Mesh::coordinates(int rank) const
{
    assert(rank >= 0 && rank < worldSize());
    Coordinates at;
    at.tp = groups(ProcessGroup::tp).indexInGroup(rank);
    at.cp = groups(ProcessGroup::cp).indexInGroup(rank);
    at.dp = groups(ProcessGroup::dp).indexInGroup(rank);
    at.pp = groups(ProcessGroup::pp).indexInGroup(rank);
    at.ep = groups(ProcessGroup::ep).indexInGroup(rank);
    at.exptTp = groups(ProcessGroup::expt_tp).indexInGroup(rank);
    at.exptDp = groups(ProcessGroup::expt_dp).indexInGroup(rank);
    return at;
}

int Mesh::rank(int tp, int cp, int dp, int pp) const
{
    // Group 0 of an axis holds the multiples of its stride.
    return groups(ProcessGroup::tp).member(0, tp) + groups(ProcessGroup::cp).member(0, cp) +
           groups(ProcessGroup::dp).member(0, dp) + groups(ProcessGroup::pp).member(0, pp);
}

int Mesh::groupCount(ProcessGroup kind) const
{
    return groups(kind).count();
}

int Mesh::groupSize(ProcessGroup kind) const
{
    if (kind == ProcessGroup::embd)
        return m_ends.first != m_ends.last ? 2 : 1;
    return kind == ProcessGroup::pos_embd ? 1 : groups(kind).groupSize();
}

int Mesh::groupOf(ProcessGroup kind, int rank) const
{
    assert(rank >= 0 && rank < worldSize());
    return indexInGroup(kind, rank) < 0 ? -1 : groups(kind).groupOf(rank);
}

int Mesh::indexInGroup(ProcessGroup kind, int rank) const
{
    const int index = groups(kind).indexInGroup(rank);
    if (info(kind).grid != Grid::pipelineEnds)
        return index;
    return index == m_ends.first ? 0 : kind == ProcessGroup::embd && index == m_ends.last ? 1 : -1;
}

int Mesh::member(ProcessGroup kind, int group, int index) const
{
    assert(index >= 0 && index < groupSize(kind));
    const bool isEnd = info(kind).grid == Grid::pipelineEnds;
    return groups(kind).member(group, !isEnd ? index : index == 1 ? m_ends.last : m_ends.first);
}

std::vector<int> Mesh::members(ProcessGroup kind, int group) const
{
    std::vector<int> ranks(asIndex(groupSize(kind)));
    for (std::size_t index = 0; index < ranks.size(); ++index)
        ranks[index] = member(kind, group, static_cast<int>(index));
    return ranks;
}

} // namespace sim
