#include "sim/mesh/rank_grid.h"

#include "sim/error.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <limits>

namespace sim {

namespace {

/// "tp 2 x cp 4 x pp 16"
std::string productText(const std::vector<RankGrid::AxisSize>& axes)
{
    std::string text;
    for (const auto& axis : axes)
        text += (text.empty() ? "" : " x ") + axis.name + " " + std::to_string(axis.size);
    return text;
}

} // namespace

RankGrid::RankGrid(std::vector<AxisSize> axesFastestFirst) : m_axes(std::move(axesFastestFirst))
{
    std::int64_t size = 1;
    for (std::size_t i = 0; i < m_axes.size(); ++i) {
        const AxisSize& axis = m_axes[i];
        if (axis.size < 1)
            throw Error("axis " + axis.name + " has size " + std::to_string(axis.size) + "; it must be at least 1");
        for (std::size_t j = 0; j < i; ++j)
            if (m_axes[j].name == axis.name)
                throw Error("axis " + axis.name + " comes twice in the order of ranks");
        m_strides.push_back(static_cast<int>(size));
        size *= axis.size;
        if (size > std::numeric_limits<int>::max())
            throw Error(productText(m_axes) + " is more than " + std::to_string(std::numeric_limits<int>::max()) + " ranks");
    }
    m_size = static_cast<int>(size);
}

int RankGrid::axisIndex(std::string_view name) const
{
    const auto found = std::find_if(m_axes.begin(), m_axes.end(), [&](const AxisSize& axis) { return axis.name == name; });
    return found == m_axes.end() ? -1 : static_cast<int>(found - m_axes.begin());
}

RankGrid::Groups RankGrid::groups(std::span<const std::string_view> axes) const
{
    std::vector<bool> isInside(m_axes.size(), false);
    for (const std::string_view name : axes) {
        const int index = axisIndex(name);
        if (index < 0)
            throw Error("no axis " + std::string(name) + "; the grid has " + productText(m_axes));
        isInside[static_cast<std::size_t>(index)] = true;
    }
    Groups groups;
    for (std::size_t i = 0; i < m_axes.size(); ++i) {
        const int axisSize = m_axes[i].size;
        if (axisSize == 1)
            continue;
        auto& digits = isInside[i] ? groups.m_inside : groups.m_outside;
        (isInside[i] ? groups.m_groupSize : groups.m_count) *= axisSize;
        if (!digits.empty() && digits.back().stride * digits.back().size == m_strides[i])
            digits.back().size *= axisSize;
        else
            digits.push_back({axisSize, m_strides[i]});
    }
    return groups;
}

int RankGrid::Groups::toRank(const std::vector<Digit>& digits, int number)
{
    int rank = 0;
    for (const Digit& digit : digits) {
        rank += number % digit.size * digit.stride;
        number /= digit.size;
    }
    return rank;
}

int RankGrid::Groups::toNumber(const std::vector<Digit>& digits, int rank)
{
    int number = 0;
    int weight = 1;
    for (const Digit& digit : digits) {
        number += rank / digit.stride % digit.size * weight;
        weight *= digit.size;
    }
    return number;
}

int RankGrid::Groups::member(int group, int index) const
{
    assert(group >= 0 && group < m_count && index >= 0 && index < m_groupSize);
    return toRank(m_outside, group) + toRank(m_inside, index);
}

int RankGrid::Groups::groupOf(int rank) const
{
    return toNumber(m_outside, rank);
}

int RankGrid::Groups::indexInGroup(int rank) const
{
    return toNumber(m_inside, rank);
}

std::vector<int> RankGrid::Groups::members(int group) const
{
    std::vector<int> ranks(static_cast<std::size_t>(m_groupSize));
    for (int index = 0; index < m_groupSize; ++index)
        ranks[static_cast<std::size_t>(index)] = member(group, index);
    return ranks;
}

} // namespace sim
