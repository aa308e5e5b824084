// Ranks as a mixed-radix number over named axes: the one rule behind every framework's process groups (Megatron Core's
// RankGenerator, DeepSpeed's topology, torch DeviceMesh are all this).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// Axes fastest-varying first. Every query is O(number of axes); nothing is stored per rank.
class RankGrid {
public:
    struct AxisSize {
        std::string name;
        int size = 1;
    };
    /// Throws Error if a size is below 1, a name comes twice or the product does not fit an int.
    explicit RankGrid(std::vector<AxisSize> axesFastestFirst);

    int size() const { return m_size; }
    int axisCount() const { return static_cast<int>(m_axes.size()); }
    const AxisSize& axis(int index) const { return m_axes[static_cast<std::size_t>(index)]; }
    int stride(int index) const { return m_strides[static_cast<std::size_t>(index)]; }
    /// -1 if there is no such axis.
    int axisIndex(std::string_view name) const;
    int coordinate(int rank, int axisIndex) const { return rank / stride(axisIndex) % axis(axisIndex).size; }

    /// Groups of the ranks that differ only in the given axes; members vary fastest axis first, groups are numbered by the
    /// remaining axes, fastest first.
    class Groups {
    public:
        int count() const { return m_count; }
        int groupSize() const { return m_groupSize; }
        int member(int group, int index) const;
        int groupOf(int rank) const;
        int indexInGroup(int rank) const;
        std::vector<int> members(int group) const;

    private:
        friend class RankGrid;
        /// One axis, or a run of axes whose ranks count on without a gap.
        struct Digit {
            int size, stride;
        };
        static int toRank(const std::vector<Digit>&, int number);
        static int toNumber(const std::vector<Digit>&, int rank);

        std::vector<Digit> m_inside, m_outside; ///< fastest first, none of size 1
        int m_count = 1, m_groupSize = 1;
    };
    /// Axes in any order. Throws Error if one is unknown.
    Groups groups(std::span<const std::string_view> axes) const;

private:
    std::vector<AxisSize> m_axes;
    std::vector<int> m_strides;
    int m_size = 1;
};

} // namespace sim
