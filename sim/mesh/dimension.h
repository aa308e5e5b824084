// The dimensions of parallelism: what a transfer is for, and what bytes and time are told apart by.
#pragma once

#include "sim/mesh/mesh.h"

#include <array>
#include <cstdint>
#include <numeric>
#include <optional>

namespace sim {

/// In the order in which they are told.
enum class Dimension : std::uint8_t { tp, cp, ep, pp, dp };
inline constexpr std::array kDimensions = {Dimension::tp, Dimension::cp, Dimension::ep, Dimension::pp, Dimension::dp};

/// A value of each.
template <typename T>
struct ByDimension {
    std::array<T, kDimensions.size()> values{};

    constexpr T& operator[](Dimension dimension) { return values[static_cast<std::size_t>(dimension)]; }
    constexpr const T& operator[](Dimension dimension) const { return values[static_cast<std::size_t>(dimension)]; }
    auto begin() const { return values.begin(); }
    auto end() const { return values.end(); }
    T total() const { return std::accumulate(begin(), end(), T{}); }
    bool operator==(const ByDimension&) const = default;
};

struct DimensionFacts {
    const char* name;
    ProcessGroup group; ///< ranks that differ in it alone: dp's hold the same parameters
};
inline constexpr ByDimension<DimensionFacts> kDimensionFacts{{{{"tp", ProcessGroup::tp},
                                                               {"cp", ProcessGroup::cp},
                                                               {"ep", ProcessGroup::ep},
                                                               {"pp", ProcessGroup::pp},
                                                               {"dp", ProcessGroup::dp_cp}}}};
constexpr const char* dimensionName(Dimension dimension)
{
    return kDimensionFacts[dimension].name;
}

/// In an enumeration that lists the dimensions by their names, in their order: the one of a dimension.
template <typename Part>
constexpr Part partOf(Dimension dimension)
{
    constexpr ByDimension<Part> kParts{{Part::tp, Part::cp, Part::ep, Part::pp, Part::dp}};
    return kParts[dimension];
}

/// And back: nothing for what is of no dimension.
template <typename Part>
constexpr std::optional<Dimension> dimensionOfPart(Part part)
{
    for (const Dimension dimension : kDimensions)
        if (partOf<Part>(dimension) == part)
            return dimension;
    return std::nullopt;
}

} // namespace sim
