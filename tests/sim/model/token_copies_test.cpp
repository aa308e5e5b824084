// How many copies of a token are left where each place takes one, counted over all choices of experts.
#include "sim/model/token_copies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

using namespace sim;

namespace {

/// Mean over all ways to choose `copies` of the experts that lie evenly on so many places.
double countedShare(int places, int copies, int experts)
{
    std::vector<bool> chosen(static_cast<std::size_t>(experts), false);
    std::fill(chosen.begin(), chosen.begin() + copies, true);
    double touched = 0, ways = 0;
    do {
        std::set<int> touchedPlaces;
        for (int expert = 0; expert < experts; ++expert)
            if (chosen[static_cast<std::size_t>(expert)])
                touchedPlaces.insert(expert / (experts / places));
        touched += static_cast<double>(touchedPlaces.size());
        ++ways;
    } while (std::prev_permutation(chosen.begin(), chosen.end()));
    return touched / ways / copies;
}

} // namespace

TEST(TokenCopies, AreThoseOfDifferentExperts)
{
    for (const int places : {2, 4, 8})
        for (const int copies : {1, 2, 3, 8})
            for (const int experts : {8, 16})
                EXPECT_NEAR(sharedCopies(places, copies, static_cast<double>(experts) / places),
                            countedShare(places, copies, experts), 1e-12)
                    << places << " places, " << copies << " of " << experts;
    EXPECT_DOUBLE_EQ(sharedCopies(8, 2, 1), 1) << "an expert a place: nothing is shared";
    EXPECT_DOUBLE_EQ(sharedCopies(8, 8, 1), 1);
}
