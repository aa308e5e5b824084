#include "sim/recovery/group_shape.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

namespace sim {
namespace {

/// `offsets` ascending from 0.
std::optional<std::vector<Digit>> factorised(const std::vector<int>& offsets)
{
    if (offsets.size() == 1)
        return std::vector<Digit>{};
    const int stride = offsets[1];
    std::size_t run = 1;
    while (run < offsets.size() && offsets[run] == static_cast<int>(run) * stride)
        ++run;
    for (std::size_t size = run; size >= 2; --size) {
        if (offsets.size() % size != 0)
            continue;
        std::vector<int> outer;
        bool fits = true;
        for (std::size_t i = 0; i < offsets.size() && fits; ++i) {
            const std::size_t within = i % size;
            if (within == 0)
                outer.push_back(offsets[i]);
            fits = offsets[i] == outer.back() + static_cast<int>(within) * stride;
        }
        if (!fits || (outer.size() > 1 && outer[1] < static_cast<int>(size) * stride))
            continue;
        if (auto rest = factorised(outer)) {
            std::vector<Digit> digits{{stride, static_cast<int>(size)}};
            for (const Digit& digit : *rest) {
                if (digits.back().end() == digit.stride)
                    digits.back().size *= digit.size;
                else
                    digits.push_back(digit);
            }
            return digits;
        }
    }
    return std::nullopt;
}

} // namespace

std::optional<std::vector<Digit>> digitsOf(std::span<const int> members)
{
    if (members.empty())
        return std::nullopt;
    std::vector<int> offsets;
    offsets.reserve(members.size());
    for (const int member : members)
        offsets.push_back(member - members.front());
    for (std::size_t i = 1; i < offsets.size(); ++i)
        if (offsets[i] <= offsets[i - 1])
            return std::nullopt;
    return factorised(offsets);
}

int Partition::size() const
{
    int size = 1;
    for (const Digit& digit : digits)
        size *= digit.size;
    return size;
}

bool Partition::holds(const Digit& inner) const
{
    return std::any_of(digits.begin(), digits.end(), [&inner](const Digit& digit) {
        return inner.stride >= digit.stride && inner.end() <= digit.end() && inner.stride % digit.stride == 0 &&
               digit.end() % inner.end() == 0;
    });
}

std::vector<Partition> partitionsOf(std::span<const std::vector<int>> groups, std::span<const int> recorded)
{
    std::map<std::vector<Digit>, std::vector<std::size_t>> byShape;
    for (std::size_t i = 0; i < groups.size(); ++i)
        if (groups[i].size() > 1)
            if (const auto digits = digitsOf(groups[i]))
                byShape[*digits].push_back(i);

    std::vector<Partition> partitions;
    for (const auto& [digits, members] : byShape) {
        Partition partition{.digits = digits, .groups = {}, .ranks = 0};
        std::set<int> bases;
        std::unordered_set<int> seen;
        bool overlaps = false;
        for (const std::size_t i : members) {
            partition.groups.push_back(i);
            if (!bases.insert(groups[i].front()).second)
                continue; // the same set under another name
            for (const int rank : groups[i])
                overlaps |= !seen.insert(rank).second;
        }
        partition.ranks = static_cast<int>(seen.size());
        const bool misses = std::any_of(recorded.begin(), recorded.end(), [&seen](int rank) { return !seen.contains(rank); });
        if (!overlaps && !misses)
            partitions.push_back(std::move(partition));
    }
    return partitions;
}

} // namespace sim
