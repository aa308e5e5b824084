// What is selected in the pictures, as what a table of ops asks for.
#include "app/step/op_selection.h"
#include "tests/support/gallery.h"

#include <gtest/gtest.h>

#include <numeric>

namespace app {
namespace {

TEST(OpSelection, CountsEachSelectedRankAtTheOneItIsLike)
{
    const auto simulation = ::test::openNumber("05").simulation;
    const sim::Trace trace = simulation->trace(sim::TraceDetail::actions);
    Selection selection;
    EXPECT_TRUE(opSelection(simulation.get(), trace, selection).ranks.empty()) << "all of them";
    EXPECT_FALSE(opSelection(simulation.get(), trace, selection).classes);
    selection.selectRanks({0, 1, 15}, 0);
    selection.range = TimeRange{5, 7};
    selection.classes = maskOf(sim::OpClass::forward);
    const sim::OpSelection asked = opSelection(simulation.get(), trace, selection);
    ASSERT_EQ(asked.ranks.size(), trace.processes.size());
    EXPECT_EQ(std::accumulate(asked.ranks.begin(), asked.ranks.end(), std::int64_t{0}), 3);
    EXPECT_EQ(asked.ranks[static_cast<std::size_t>(simulation->classOf(15))], 1);
    EXPECT_EQ(asked.beginNs, 5);
    EXPECT_EQ(asked.endNs, 7);
    EXPECT_TRUE(asked.classes(sim::OpClass::forward));
    EXPECT_FALSE(asked.classes(sim::OpClass::backward));

    selection.selectRanks({0, 8}, 0); // of a trace alone, ranks are those it names
    const sim::OpSelection named = opSelection(nullptr, trace, selection);
    EXPECT_EQ(std::accumulate(named.ranks.begin(), named.ranks.end(), std::int64_t{0}), 2);
}

} // namespace
} // namespace app
