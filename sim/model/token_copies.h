// Copies of a token on their way to its experts.
#pragma once

namespace sim {

/// Of the copies of a token that go to so many places, those left where each takes one: an even choice of experts.
inline double sharedCopies(double places, int copies)
{
    double untouched = 1; // chance that no copy goes to a given place
    for (int copy = 0; copy < copies; ++copy)
        untouched *= 1 - 1 / places;
    return places * (1 - untouched) / copies;
}

} // namespace sim
