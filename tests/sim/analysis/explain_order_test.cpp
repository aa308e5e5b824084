// What an order of actions costs: each formula gives the number that the evaluator found.
#include "sim/analysis/explain/explain_order.h"
#include "sim/schedule/families/families.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace sim;

namespace {

void expectFormulaGives(const Explanation& why, double value)
{
    std::vector<Quantity> terms;
    for (const Term& term : why.terms) {
        terms.push_back(term.quantity);
        if (term.because)
            expectFormulaGives(*term.because, term.quantity.value);
    }
    EXPECT_NEAR(why.result.value, value, 1e-12 + 1e-9 * std::abs(value)) << why.name;
    ASSERT_TRUE(why.formula) << why.name;
    EXPECT_NEAR(why.formula->evaluate(terms), value, 1e-12 + 1e-9 * std::abs(value)) << why.name;
}

} // namespace

TEST(ExplainOrder, EveryNumberIsThatOfTheEvaluator)
{
    for (const char* kind : {"gpipe", "1f1b", "interleaved-1f1b", "zb-h1"})
        for (const bool overlap : {false, true}) {
            if (overlap && std::string(kind) != "1f1b")
                continue;
            SCOPED_TRACE(kind);
            const Schedule schedule = makeSchedule({.kind = kind,
                                                    .ranks = 4,
                                                    .virtualStages = std::string(kind) == "interleaved-1f1b" ? 2 : 1,
                                                    .microbatches = 8,
                                                    .overlapExpertComm = overlap});
            const ScheduleTimes times =
                evaluateSchedule(schedule, {.forward = 2e6, .backwardInput = 3e6, .backwardWeight = 1e6, .comm = 1e5});
            const TimedOrder of{schedule, times};
            expectFormulaGives(explain(of, OrderNumber::makespan), times.makespan * 1e-9);
            expectFormulaGives(explain(of, OrderNumber::idle), times.idleOfSpan);
            const double peak = *std::max_element(times.peakActivations.begin(), times.peakActivations.end());
            expectFormulaGives(explain(of, OrderNumber::held), peak * 4 / schedule.chainLength());
            for (std::size_t rank = 0; rank < 4; ++rank)
                for (std::size_t i = 0; i < schedule.actions[rank].size(); i += 3) {
                    expectFormulaGives(explain(of, ActionNumber::start, rank, i), times.start[rank][i] * 1e-9);
                    expectFormulaGives(explain(of, ActionNumber::duration, rank, i),
                                       (times.end[rank][i] - times.start[rank][i]) * 1e-9);
                }
        }
}
