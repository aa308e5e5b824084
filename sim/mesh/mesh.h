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

/// Megatron Core's groups, in the order in which they are printed.
enum class GroupKind : std::uint8_t {
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
inline constexpr int kGroupKindCount = 16;
std::string_view groupKindName(GroupKind);
std::optional<GroupKind> groupKindFromName(std::string_view);
/// One line for people: "ranks that hold slices of the same layers' matrices".
std::string_view groupKindPurpose(GroupKind);

struct Coordinates {
    int tp = 0, cp = 0, dp = 0, pp = 0; ///< dense grid
    int ep = 0, exptTp = 0, exptDp = 0; ///< expert grid, same pp
    bool operator==(const Coordinates&) const = default;
};

class Mesh {
public:
    /// Throws Error as Megatron Core does, with the factorisation written out: expert grid does not divide the world, an axis
    /// above 1 is missing from `order`, dense and expert pipeline groups differ.
    /// One order more than Megatron Core is served: where `order` does not name ep and experts fold over nothing (ep 1, etp =
    /// tp), as in Llama 3's tp-cp-pp-dp, the expert grid is the dense grid, and expert weights repeat over dp x cp.
    /// `endsMeet`: the first and the last part of the model lie on the same pipeline rank, as on a V; embd is then that one
    /// alone.
    explicit Mesh(const Layout&, bool endsMeet = false);

    int worldSize() const { return m_dense.size(); }
    int pipelineRanks() const { return m_pp; }
    Coordinates coordinates(int rank) const;
    int rank(int tp, int cp, int dp, int pp) const;

    int groupCount(GroupKind) const;
    /// Group of a rank, or -1 (embd and pos_embd hold only the ends of a pipeline).
    int groupOf(GroupKind, int rank) const;
    /// Place of a rank in its group, or -1 as above. member(kind, groupOf(kind, r), indexInGroup(kind, r)) == r.
    int indexInGroup(GroupKind, int rank) const;
    int groupSize(GroupKind) const;
    int member(GroupKind, int group, int index) const;
    std::vector<int> members(GroupKind, int group) const;

    const RankGrid& dense() const { return m_dense; }
    const RankGrid& expert() const { return m_expert; }

private:
    const RankGrid::Groups& groups(GroupKind) const; ///< of pp for embd and pos_embd

    RankGrid m_dense, m_expert;
    std::array<std::optional<RankGrid::Groups>, kGroupKindCount> m_groups; ///< embd and pos_embd derive from pp
    int m_pp = 1;
    bool m_endsMeet = false;
};

} // namespace sim
