// Who is who: rank <-> coordinates on the dense and the expert grid, and Megatron Core's process groups.
#pragma once

#include "sim/mesh/rank_grid.h"
#include "sim/scenario/scenario.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sim {

/// Megatron Core's groups, by its names and in the order in which they are printed. What ops run on is a CommunicatorRole.
enum class ProcessGroup : std::uint8_t {
    tp,
    cp,
    dp,
    dp_cp,
    pp,
    mp,
    embd,
    pos_embd,
    tp_cp,
    tp_dp,
    tp_dp_cp,
    ep,
    expt_tp,
    expt_dp,
    tp_ep,
    tp_ep_pp
};
inline constexpr int kProcessGroupCount = 16;
std::string_view processGroupName(ProcessGroup);
std::optional<ProcessGroup> processGroupFromName(std::string_view);
/// One line for people: "ranks that hold slices of the same layers' matrices".
std::string_view processGroupPurpose(ProcessGroup);

struct Coordinates {
    int tp = 0, cp = 0, dp = 0, pp = 0; ///< dense grid
    int ep = 0, exptTp = 0, exptDp = 0; ///< expert grid, same pp
    bool operator==(const Coordinates&) const = default;
};

/// The pipeline ranks that hold the first and the last part of the model: 0 and pp - 1, the same on a V, any two of a schedule
/// that is written out.
struct PipelineEnds {
    int first = 0;
    int last = -1; ///< -1: pp - 1
};

class Mesh {
public:
    /// Throws Error as Megatron Core does, with the factorisation written out: expert grid does not divide the world, an axis
    /// above 1 is missing from `order`, dense and expert pipeline groups differ.
    /// One order more than Megatron Core is served: where `order` does not name ep and experts fold over nothing (ep 1, etp =
    /// tp), as in Llama 3's tp-cp-pp-dp, the expert grid is the dense grid, and expert weights repeat over dp x cp.
    /// Where both ends are one pipeline rank, embd is that one alone.
    explicit Mesh(const Layout&, PipelineEnds = {});

    int worldSize() const { return m_dense.size(); }
    int pipelineRanks() const { return m_pp; }
    Coordinates coordinates(int rank) const;
    int rank(int tp, int cp, int dp, int pp) const;

    int groupCount(ProcessGroup) const;
    /// Group of a rank, or -1 (embd and pos_embd hold only the ends of a pipeline).
    int groupOf(ProcessGroup, int rank) const;
    /// Place of a rank in its group, or -1 as above. member(kind, groupOf(kind, r), indexInGroup(kind, r)) == r.
    int indexInGroup(ProcessGroup, int rank) const;
    int groupSize(ProcessGroup) const;
    int member(ProcessGroup, int group, int index) const;
    std::vector<int> members(ProcessGroup, int group) const;

    const RankGrid& dense() const { return m_dense; }
    const RankGrid& expert() const { return m_expert; }

private:
    const RankGrid::Groups& groups(ProcessGroup) const; ///< of pp for embd and pos_embd

    RankGrid m_dense, m_expert;
    std::array<std::optional<RankGrid::Groups>, kProcessGroupCount> m_groups; ///< embd and pos_embd derive from pp
    int m_pp = 1;
    PipelineEnds m_ends;
};

} // namespace sim
