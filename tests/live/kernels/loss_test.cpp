// Cross-entropy over slices of the vocabulary, routing to experts.
#include "tests/live/kernels/kernel_fixture.h"

#include <limits>
#include <numeric>

namespace live {
namespace {

/// Loss and gradient from logits whose columns are shared by `parts` ranks, as the ranks do it.
struct CrossEntropy {
    Workbench<double>& bench;
    const Tensor& logits;
    std::int64_t vocabulary; ///< columns from here on are padding
    const Tensor& targets;
    std::int64_t parts;
    std::vector<double> loss;
    Tensor gradient;

    void run(double lossScale)
    {
        Queue& queue = bench.queue();
        const std::int64_t rows = logits.rows, share = logits.columns / parts;
        gradient = bench.make(rows, logits.columns);
        queue.copy(logits, gradient);
        const auto part = [&](std::int64_t p) { return gradient.columnRange(p * share, share); };
        const Tensor maximum = bench.make(rows, 1), own = bench.make(rows, 1), sum = bench.zeros(2, rows),
                     piece = bench.make(2, rows), losses = bench.make(rows, 1);
        queue.fill(maximum, -std::numeric_limits<double>::infinity());
        for (std::int64_t p = 0; p < parts; ++p) {
            queue.rowMaximum(part(p), vocabulary - p * share, own);
            for (std::int64_t row = 0; row < rows; ++row)
                Workbench<double>::at(maximum, row, 0) =
                    std::max(Workbench<double>::at(maximum, row, 0), Workbench<double>::at(own, row, 0));
        }
        for (std::int64_t p = 0; p < parts; ++p) {
            queue.exponentials(part(p), vocabulary - p * share, maximum, targets, p * share, piece);
            queue.add(piece, sum);
        }
        queue.crossEntropy(sum, targets, losses);
        for (std::int64_t p = 0; p < parts; ++p)
            queue.crossEntropyGradient(part(p), sum, targets, p * share, lossScale);
        loss = doubles(bench, losses);
    }
};

TEST(CrossEntropy, GradientIsThatOfDifferencesForAnyNumberOfSlices)
{
    Workbench<double> bench;
    const Tensor logits = bench.random(4, 24, 0, 3), targets = bench.integers(4, 1, {0, 20, -1, 7});
    for (const std::int64_t parts : {1, 2, 4, 8}) { // vocabulary 21 of 24: some slices are padding alone
        CrossEntropy run{bench, logits, 21, targets, parts, {}, {}};
        run.run(0.5);
        const Tensor gradient = run.gradient;
        EXPECT_EQ(run.loss[2], 0);
        for (std::int64_t j = 0; j < 24; ++j) {
            EXPECT_EQ(Workbench<double>::at(gradient, 2, j), 0);
            if (j >= 21) {
                EXPECT_EQ(Workbench<double>::at(gradient, 0, j), 0);
            }
        }
        expectGradient(
            logits,
            [&] {
                CrossEntropy again{bench, logits, 21, targets, parts, {}, {}};
                again.run(0.5);
                return 0.5 * std::accumulate(again.loss.begin(), again.loss.end(), 0.0);
            },
            gradient);
    }
}

TEST(CrossEntropy, IsRightForLargeLogitsAndManyColumns)
{
    Workbench<float> bench;
    const std::int64_t rows = 3, columns = 5001;
    const Tensor logits = bench.random(rows, columns, 0, 30), targets = bench.integers(rows, 1, {5, 0, 5000});
    std::vector<double> expected;
    for (std::int64_t i = 0; i < rows; ++i) {
        double largest = -1e9, sum = 0;
        for (std::int64_t j = 0; j < columns; ++j)
            largest = std::max(largest, static_cast<double>(Workbench<float>::at(logits, i, j)));
        for (std::int64_t j = 0; j < columns; ++j)
            sum += std::exp(static_cast<double>(Workbench<float>::at(logits, i, j)) - largest);
        expected.push_back(std::log(sum) + largest - static_cast<double>(Workbench<float>::at(logits, i, targets.as<int>()[i])));
    }
    const Tensor maximum = bench.make(rows, 1), partial = bench.make(2, rows), loss = bench.make(rows, 1);
    bench.queue().rowMaximum(logits, columns, maximum);
    bench.queue().exponentials(logits, columns, maximum, targets, 0, partial);
    bench.queue().crossEntropy(partial, targets, loss);
    expectNear(doubles(bench, loss), expected, 1e-6);
}

TEST(Router, TakesTheLargestAndOfEqualsTheFirst)
{
    Workbench<double> bench;
    const Tensor logits = bench.make(3, 4), probabilities = bench.make(3, 4), experts = bench.make(3, 2, DType::i32),
                 weights = bench.make(3, 2);
    const std::vector<double> values{0, 2, 1, 2, 1, 1, 1, 1, 3, 0, 0, 5};
    bench.queue().fromHost(values.data(), logits);
    bench.queue().routeTopK({}, logits, {}, probabilities, experts, weights);
    EXPECT_EQ(std::vector<int>(experts.as<int>(), experts.as<int>() + 6), (std::vector<int>{1, 3, 0, 1, 3, 0}));
    expectNear(doubles(bench, weights.rowRange(0, 2)), {0.5, 0.5, 0.5, 0.5}, 1e-15);
    for (std::int64_t row = 0; row < 3; ++row) {
        const auto p = doubles(bench, probabilities.rowRange(row, 1));
        EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1, 1e-15);
    }
}

TEST(Router, BiasAndGroupsChangeTheChoiceAndNotTheWeights)
{
    Workbench<double> bench;
    const Tensor logits = bench.make(1, 6), bias = bench.zeros(1, 6), probabilities = bench.make(1, 6),
                 experts = bench.make(1, 2, DType::i32), weights = bench.make(1, 2);
    const std::vector<double> values{2, -3, 1, 1, 0, 0}, choiceBias{0, 0, 0, 0, 0.5, 0};
    bench.queue().fromHost(values.data(), logits);
    const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
    const auto route = [&](const RouterRule& rule, const Tensor& b) {
        bench.queue().routeTopK(rule, logits, b, probabilities, experts, weights);
        return std::vector<int>(experts.as<int>(), experts.as<int>() + 2);
    };
    RouterRule rule{.score = RouterRule::Score::sigmoid};
    EXPECT_EQ(route(rule, {}), (std::vector<int>{0, 2}));
    rule.groups = 3;
    rule.chosenGroups = 1;
    EXPECT_EQ(route(rule, {}), (std::vector<int>{2, 3})) << "the group with the largest sum of two, not with the largest one";
    rule.scale = 2.5;
    route(rule, {});
    expectNear(doubles(bench, weights), {1.25, 1.25}, 1e-15);
    rule.normalized = false;
    route(rule, {});
    expectNear(doubles(bench, weights), {2.5 * sigmoid(1), 2.5 * sigmoid(1)}, 1e-15);
    bench.queue().fromHost(choiceBias.data(), bias);
    EXPECT_EQ(route(rule, bias), (std::vector<int>{4, 5})) << "0.5 + 0.5 + 0.5 of the last group";
    expectNear(doubles(bench, weights), {1.25, 1.25}, 1e-15);
    EXPECT_EQ(route({.groups = 3, .chosenGroups = 1}, {}), (std::vector<int>{0, 1})) << "of softmax the largest one";
    EXPECT_EQ(route({.groups = 3, .chosenGroups = 2}, {}), (std::vector<int>{0, 2}));
    const auto p = doubles(bench, probabilities);
    EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1, 1e-15);
}

/// As transformers' DeepseekV3 masks them: with 0, which is more than a score that its bias has made negative.
TEST(Router, ExpertsOfOtherGroupsCountAsZero)
{
    Workbench<double> bench;
    const Tensor logits = bench.zeros(1, 8), bias = bench.make(1, 8), probabilities = bench.make(1, 8),
                 experts = bench.make(1, 3, DType::i32), weights = bench.make(1, 3);
    const std::vector<double> biases{-0.9, -0.9, -0.7, -0.8, -0.95, -0.95, -0.95, -0.95};
    bench.queue().fromHost(biases.data(), bias);
    bench.queue().routeTopK({.score = RouterRule::Score::sigmoid, .groups = 4, .chosenGroups = 2}, logits, bias, probabilities,
                            experts, weights);
    EXPECT_EQ(std::vector<int>(experts.as<int>(), experts.as<int>() + 3), (std::vector<int>{4, 5, 6}));
}

TEST(Router, GradientIsThatOfDifferences)
{
    using Score = RouterRule::Score;
    Workbench<double> bench;
    const std::int64_t tokens = 5, count = 6, k = 2;
    const Tensor logits = bench.random(tokens, count), probabilities = bench.make(tokens, count),
                 experts = bench.make(tokens, k, DType::i32), weights = bench.make(tokens, k), dWeights = bench.random(tokens, k),
                 aux = bench.random(1, count), dLogits = bench.make(tokens, count), bias = bench.random(1, count);
    for (const RouterRule& rule :
         {RouterRule{}, RouterRule{.normalized = false, .scale = 2.5}, RouterRule{.score = Score::sigmoid},
          RouterRule{.score = Score::sigmoid, .groups = 3, .chosenGroups = 2, .scale = 2.5},
          RouterRule{.score = Score::sigmoid, .normalized = false, .scale = 1.5}})
        for (const bool withAux : {true, false}) {
            const auto value = [&] {
                bench.queue().routeTopK(rule, logits, bias, probabilities, experts, weights);
                double sum = dot(doubles(bench, weights), doubles(bench, dWeights));
                for (std::int64_t row = 0; withAux && row < tokens; ++row)
                    sum += dot(doubles(bench, probabilities.rowRange(row, 1)), doubles(bench, aux));
                return sum;
            };
            value();
            bench.queue().routeGradient(rule, logits, probabilities, experts, weights, dWeights, withAux ? aux : Tensor{},
                                        dLogits);
            expectGradient(logits, value, dLogits);
        }
}

TEST(Experts, RowsGoToTheirExpertsAndComeBackWeighted)
{
    Workbench<double> bench;
    const std::int64_t tokens = 5, k = 2, width = 7;
    const Tensor experts = bench.integers(tokens, k, {2, 0, 0, 2, 1, 2, 2, 3, 0, 1});
    const Tensor counts = bench.make(1, 5, DType::i64), order = bench.make(tokens * k, 1, DType::i32),
                 place = bench.make(tokens, k, DType::i32);
    bench.queue().countExperts(experts, counts);
    EXPECT_EQ(std::vector<std::int64_t>(counts.as<std::int64_t>(), counts.as<std::int64_t>() + 5),
              (std::vector<std::int64_t>{3, 2, 4, 1, 0}));
    bench.queue().sortByExpert(experts, 5, order, place);
    EXPECT_EQ(std::vector<int>(order.as<int>(), order.as<int>() + 10), (std::vector<int>{1, 2, 8, 4, 9, 0, 3, 5, 6, 7}));
    for (std::int64_t slot = 0; slot < tokens * k; ++slot)
        EXPECT_EQ(order.as<int>()[place.as<int>()[slot]], slot);

    const Tensor x = bench.random(tokens, width, 2), sent = bench.make(tokens * k, width), weights = bench.random(tokens, k),
                 y = bench.make(tokens, width), dy = bench.random(tokens, width), dSent = bench.make(tokens * k, width),
                 dWeights = bench.make(tokens, k);
    bench.queue().gatherRows(x, order, k, sent);
    bench.queue().combineRows(sent, place, {}, y); // each expert gives back what it got: k times x
    auto expected = doubles(bench, x);
    for (double& value : expected)
        value *= static_cast<double>(k);
    expectNear(doubles(bench, y), expected, 1e-15);
    const auto value = [&] {
        bench.queue().combineRows(sent, place, weights, y);
        return dot(doubles(bench, y), doubles(bench, dy));
    };
    bench.queue().combineGradient(sent, place, weights, dy, dSent, dWeights);
    expectGradient(sent, value, dSent);
    expectGradient(weights, value, dWeights);
}

} // namespace
} // namespace live
