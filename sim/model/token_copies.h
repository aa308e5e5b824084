// Copies of a token on their way to its experts.
#pragma once

#include <algorithm>

namespace sim {

/// Of places among which equal groups of experts lie evenly, those that a token can go to: it chooses its experts from so many of
/// the groups (n_group, topk_group; DeepSeek-V3's report, sections 2.1.2 and 3.2.2). A mean where a place holds several groups.
/// Groups and places that do not divide each other limit nothing that is known.
inline double reachablePlaces(int places, int groups, int chosenGroups)
{
    if (chosenGroups >= groups || places < 2)
        return places;
    if (places % groups == 0)
        return static_cast<double>(places / groups) * chosenGroups;
    if (groups % places != 0)
        return places;
    double untouched = 1; // chance that none of a place's groups is chosen
    for (int group = 0; group < groups / places; ++group)
        untouched *= static_cast<double>(groups - chosenGroups - group) / (groups - group);
    return places * (1 - untouched);
}

/// Of the copies of a token that go to so many places, those left where each takes one: an even choice of different experts, of
/// which each place has `experts`.
inline double sharedCopies(double places, int copies, double experts)
{
    double untouched = 1; // chance that no copy goes to a given place: each expert is chosen once
    for (int copy = 0; copy < copies; ++copy)
        untouched *= std::max(0.0, 1 - experts / std::max(1.0, places * experts - copy));
    return places * (1 - untouched) / copies;
}

} // namespace sim
