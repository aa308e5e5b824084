// Any two ways to cut the training up, together: layouts in which every pair of values that may meet does, each against serial
// training in double precision. And as many random ones as the nightly run asks for.
#include "tests/live/support/matrix.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>

namespace live::test {
namespace {

void expectSerial(const PairwiseJob& made)
{
    const sim::Scenario scenario = job(made.settings);
    EXPECT_TRUE(isWithin(against(scenario, made.options), limitsOf(scenario))) << made.text;
}

TEST(Pairwise, EveryPairOfChoicesThatMayMeetTrainsAsSerial)
{
    const PairwiseJobs all = pairwiseJobs();
    std::cout << all.jobs.size() << " layouts cover " << all.pairs - all.uncovered << " of " << all.pairs
              << " pairs; the others may not meet\n";
    EXPECT_GE(all.jobs.size(), 50U);
    EXPECT_LE(all.uncovered, all.pairs / 20);
    for (const PairwiseJob& made : all.jobs) {
        SCOPED_TRACE(made.text);
        EXPECT_NO_THROW(expectSerial(made));
    }
}

/// RANKSCOPE_RANDOM_LAYOUTS: how many (nightly: hundreds); RANKSCOPE_SEED repeats a run.
TEST(Pairwise, RandomLayoutsTrainAsSerial)
{
    const char* const wanted = std::getenv("RANKSCOPE_RANDOM_LAYOUTS"); // NOLINT(concurrency-mt-unsafe)
    const char* const given = std::getenv("RANKSCOPE_SEED");            // NOLINT(concurrency-mt-unsafe)
    const int count = wanted ? std::stoi(wanted) : 5;
    const std::uint32_t seed = given ? static_cast<std::uint32_t>(std::stoul(given)) : std::random_device{}();
    std::cout << "RANKSCOPE_SEED=" << seed << "\n";
    std::mt19937 random(seed);
    for (int made = 0; made < count; ++made) {
        const PairwiseJob next = randomJob(random);
        SCOPED_TRACE("seed " + std::to_string(seed) + ": " + next.text);
        EXPECT_NO_THROW(expectSerial(next));
    }
}

} // namespace
} // namespace live::test
