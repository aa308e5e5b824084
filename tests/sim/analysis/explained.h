// What must hold of every explanation, whatever it explains.
#pragma once

#include "sim/analysis/explain/explain.h"
#include "tests/sim/analysis/arithmetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace test {

inline constexpr double kClose = 0.005;

inline void forAll(const sim::Explanation& explanation, const std::function<void(const sim::Explanation&)>& visit)
{
    visit(explanation);
    for (const sim::Term& term : explanation.terms)
        if (term.because)
            forAll(*term.because, visit);
}

inline std::vector<sim::Quantity> quantitiesOf(const sim::Explanation& e)
{
    std::vector<sim::Quantity> out;
    for (const sim::Term& term : e.terms)
        out.push_back(term.quantity);
    return out;
}

inline void expectNear(double value, double expected, double relative, double absolute = 0)
{
    EXPECT_LE(std::abs(value - expected), relative * std::abs(expected) + absolute + 1e-12)
        << value << " instead of " << expected;
}

/// What is written comes out, what is computed comes out, and every term is said and explained by its own number.
inline void expectSound(const sim::Explanation& root)
{
    forAll(root, [](const sim::Explanation& e) {
        SCOPED_TRACE(e.name + ": " + e.inSymbols() + " = " + e.inNumbers());
        EXPECT_FALSE(e.name.empty());
        std::set<std::string> symbols;
        for (const sim::Term& term : e.terms) {
            EXPECT_FALSE(term.meaning.empty());
            EXPECT_TRUE(symbols.insert(term.quantity.symbol).second) << term.quantity.symbol << " stands for two things";
            if (term.because) {
                EXPECT_EQ(term.because->result.value, term.quantity.value);
            }
        }
        if (!e.formula) {
            EXPECT_FALSE(e.convention.empty()) << "neither formula nor words";
            return;
        }
        // Shards are rounded up to whole elements; a bubble of nothing is a difference of large numbers.
        double largest = 0;
        for (const sim::Term& term : e.terms)
            largest = std::max(largest, std::abs(term.quantity.value));
        const double least = e.result.unit == sim::Unit::seconds ? 1e-8 * largest : 0;
        expectNear(e.formula->evaluate(quantitiesOf(e)), e.result.value, 1e-5, least);
        expectNear(evaluate(e.inNumbers()), e.result.value, kClose, least);
    });
}

} // namespace test
