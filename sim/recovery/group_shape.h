// A process group as digits of a mixed-radix number: ranks {0, 4, 8, 12} differ in a digit of 4 values that is worth 4.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace sim {

struct Digit {
    int stride = 1;
    int size = 1;
    int end() const { return stride * size; } ///< the stride of the next digit
    bool operator==(const Digit&) const = default;
    auto operator<=>(const Digit&) const = default; // NOLINT(modernize-use-nullptr)
};

/// The digits in which members differ, lowest stride first; neighbours (1, 2), (2, 4) are the one digit (1, 8). Nothing where
/// members form no such lattice. `members` ascending. O(members log members).
std::optional<std::vector<Digit>> digitsOf(std::span<const int> members);

/// Groups of one shape, no two of which share a rank.
struct Partition {
    std::vector<Digit> digits;
    std::vector<std::size_t> groups; ///< indices into what was asked about
    int ranks = 0;                   ///< that are in one of them
    int size() const;                ///< of a group
    bool holds(const Digit&) const;  ///< wholly within one of its digits
};

/// Groups of two and more ranks by shape. Where groups of a shape overlap (as unions that were made twice), each set counts once;
/// shapes whose different sets overlap are left out, as are those that miss a rank of `recorded`: ends of pipelines, hand-picked
/// groups.
std::vector<Partition> partitionsOf(std::span<const std::vector<int>> groups, std::span<const int> recorded);

} // namespace sim
