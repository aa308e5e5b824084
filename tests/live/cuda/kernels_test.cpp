// Each kernel of the GPU against its twin on the CPU: widths that vector loads fit and that they do not, rows that lie apart.
#include "tests/live/cuda/gpu_fixture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace live {
namespace {

constexpr std::int64_t kWidths[] = {1, 5, 16, 33, 264};
constexpr std::int64_t kGaps[] = {0, 3, 8};

TEST_P(OnGpu, MovesFillsAndAdds)
{
    for (const std::int64_t width : kWidths)
        for (const std::int64_t gap : kGaps) {
            const Twin x = twins().activations(7, width, gap), sum = twins().sums(7, width, gap),
                       y = twins().make(7, width, DType::f32), z = twins().make(7, width, twins().activation(), gap);
            both([&](Queue& queue, auto of) {
                queue.copy(of(x), of(y));
                queue.add(of(x), of(sum));
                queue.fill(of(z), 0.5);
                queue.add(of(x), of(z));
            });
            twins().expectSame(y, "copy", 0, 0);
            twins().expectSame(sum, "add", 1e-6F, 1e-6F);
            twins().expectSame(z, "fill, add", 1e-6F, 5e-3F);
        }
}

TEST_P(OnGpu, LinearLayersAndTheirGradientsAgree)
{
    for (const auto [rows, inputs, outputs] : {std::array{5, 16, 24}, std::array{1, 7, 3}, std::array{33, 64, 40},
                                               std::array{9, 24, 1043}}) { // the last: cut into 1,024 and 19
        const Twin x = twins().activations(rows, inputs, 8), weight = twins().activations(outputs, inputs, 0, 0.2F),
                   bias = twins().activations(1, outputs), y = twins().make(rows, outputs, twins().activation()),
                   dy = twins().activations(rows, outputs), dx = twins().make(rows, inputs, twins().activation()),
                   dWeight = twins().sums(outputs, inputs), dBias = twins().sums(1, outputs);
        both([&](Queue& queue, auto of) {
            queue.linear(of(x), of(weight), of(bias), of(y));
            queue.linearInputGradient(of(dy), of(weight), of(dx));
            queue.linearWeightGradient(of(dy), of(x), of(dWeight), of(dBias));
        });
        twins().expectSame(y, "y");
        twins().expectSame(dx, "dx");
        twins().expectSame(dWeight, "dWeight", 2e-5F, 1e-4F);
        twins().expectSame(dBias, "dBias", 2e-5F, 1e-4F);
        both([&](Queue& queue, auto of) {
            queue.addBias(of(bias), of(y));
            queue.sumRows(of(dy), of(dBias));
        });
        twins().expectSame(y, "y + bias");
        twins().expectSame(dBias, "column sums", 2e-5F, 1e-4F);
    }
}

TEST_P(OnGpu, SumsOverManyRowsAgree)
{
    const Twin dy = twins().activations(700, 40), dBias = twins().sums(1, 40);
    both([&](Queue& queue, auto of) { queue.biasGradient(of(dy), of(dBias)); });
    twins().expectSame(dBias, "dBias", 1e-4F, 1e-4F);
}

TEST_P(OnGpu, NormsAndTheirGradientsAgree)
{
    for (const NormKind kind : {NormKind::layernorm, NormKind::rmsnorm})
        for (const std::int64_t width : {5, 33, 264})
            for (const std::int64_t gap : kGaps) {
                const bool biased = kind == NormKind::layernorm;
                const DType type = twins().activation();
                const Twin x = twins().activations(70, width, gap), gain = twins().activations(1, width),
                           bias = biased ? twins().activations(1, width) : Twin{}, y = twins().make(70, width, type, gap),
                           statistics = twins().make(70, 2, DType::f32), dy = twins().activations(70, width, gap),
                           dGain = twins().sums(1, width), dBias = biased ? twins().sums(1, width) : Twin{},
                           dx = twins().make(70, width, type);
                both([&](Queue& queue, auto of) {
                    queue.norm({kind, 0.01}, of(x), of(gain), of(bias), of(y), of(statistics));
                    queue.normGradient(kind, of(dy), of(x), of(gain), of(statistics), of(dx), of(dGain), of(dBias));
                    queue.normGradient(kind, of(dy), of(x), of(gain), of(statistics), of(dy), {}, {}); // dx may be dy
                });
                twins().expectSame(y, "y");
                twins().expectSame(statistics, "statistics", 1e-5F, 1e-5F);
                twins().expectSame(dx, "dx");
                twins().expectSame(dy, "dx in dy's place");
                twins().expectSame(dGain, "dGain", 1e-4F, 1e-4F);
                if (biased)
                    twins().expectSame(dBias, "dBias", 1e-4F, 1e-4F);
            }
}

TEST_P(OnGpu, ActivationsAndTheirGradientsAgree)
{
    const DType type = twins().activation();
    for (const ActivationFunction function : {ActivationFunction::gelu, ActivationFunction::silu, ActivationFunction::relu2})
        for (const std::int64_t width : kWidths)
            for (const std::int64_t gap : kGaps) {
                const Twin x = twins().activations(3, width, gap, 3), y = twins().make(3, width, type, gap),
                           dy = twins().activations(3, width, gap), dx = twins().make(3, width, type, gap),
                           wide = twins().activations(3, 2 * width, gap), gated = twins().make(3, width, type),
                           dWide = twins().make(3, 2 * width, type);
                both([&](Queue& queue, auto of) {
                    queue.activation(function, of(x), of(y));
                    queue.activationGradient(function, of(x), of(dy), of(dx));
                    queue.gatedActivation(function, of(wide), of(gated));
                    queue.gatedActivationGradient(function, of(wide), of(dy), of(dWide));
                    queue.activationGradient(function, of(x), of(dy), of(dy));
                });
                twins().expectSame(y, "y");
                twins().expectSame(dx, "dx");
                twins().expectSame(dy, "dx in dy's place");
                twins().expectSame(gated, "gated y");
                twins().expectSame(dWide, "gated dx");
            }
}

TEST_P(OnGpu, RotatesAndDropsOutTheSame)
{
    std::vector<std::int32_t> positions(6);
    std::vector<std::int64_t> tokens(6);
    for (std::size_t i = 0; i < positions.size(); ++i) {
        positions[i] = static_cast<std::int32_t>(i * i * 4000);
        tokens[i] = static_cast<std::int64_t>(i * 1001);
    }
    const Twin position = twins().integers(6, 1, positions), token = twins().integers(1, 6, tokens);
    const Twin frequencies = twins().exact({1, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003});
    for (const bool inverse : {false, true}) {
        const Twin x = twins().activations(6, 48, 3);
        both([&](Queue& queue, auto of) { queue.rotate(of(x), 16, of(position), {of(frequencies), 1.25}, inverse); });
        twins().expectSame(x, "rotated", 1e-4F);
    }
    const DropoutKey key{.seed = 12345678901234, .step = 3, .layer = 2, .site = 1, .rate = 0.3};
    for (const std::int64_t firstFeature : {0, 6, 8})
        for (const std::int64_t width : {7, 16}) {
            const Twin x = twins().activations(6, width), y = twins().make(6, width, twins().activation());
            both([&](Queue& queue, auto of) { queue.dropout(key, of(token), firstFeature, of(x), of(y)); });
            twins().expectSame(y, "dropout", 1e-6F);
        }
}

TEST_P(OnGpu, EmbeddingsAndTheirGradientsAgree)
{
    constexpr std::int64_t kTokens = 600, kRows = 300, kFirst = 100;
    std::vector<std::int32_t> ids(kTokens);
    std::uniform_int_distribution<std::int32_t> any(0, 500);
    for (std::size_t i = 0; i < ids.size(); ++i)
        ids[i] = i % 7 == 0 ? 123 : any(twins().randomness()); // one is frequent; some are not in this slice
    const Twin id = twins().integers(1, kTokens, ids);
    for (const std::int64_t width : {5, 24}) {
        const Twin table = twins().activations(kRows, width), y = twins().make(kTokens, width, twins().activation()),
                   dy = twins().activations(kTokens, width), dTable = twins().sums(kRows, width);
        both([&](Queue& queue, auto of) {
            queue.embed(of(id), of(table), kFirst, of(y));
            queue.embedGradient(of(id), of(dy), kFirst, of(dTable));
        });
        twins().expectSame(y, "y", 0, 0);
        twins().expectSame(dTable, "dTable", 1e-5F, 1e-5F); // the same order of sums
    }
}

TEST_P(OnGpu, CrossEntropyOfASliceAgrees)
{
    constexpr std::int64_t kTokens = 9;
    for (const auto [columns, valid] : {std::array{40, 37}, std::array{13, 13}, std::array{1000, 1000}})
        for (const std::int64_t first : {0, 20}) {
            std::vector<std::int32_t> targets(kTokens);
            for (std::size_t i = 0; i < targets.size(); ++i)
                targets[i] = i == 2 ? -1 : static_cast<std::int32_t>(i * 5);
            const Twin target = twins().integers(1, kTokens, targets), logits = twins().activations(kTokens, columns, 0, 3),
                       maximum = twins().make(1, kTokens, DType::f32), partial = twins().make(2, kTokens, DType::f32),
                       loss = twins().make(1, kTokens, DType::f32);
            both([&](Queue& queue, auto of) {
                queue.rowMaximum(of(logits), valid, of(maximum));
                queue.exponentials(of(logits), valid, of(maximum), of(target), first, of(partial));
                queue.crossEntropy(of(partial), of(target), of(loss));
            });
            twins().expectSame(maximum, "maximum", 0, 0);
            twins().expectSame(logits, "exponentials", 1e-6F, 5e-3F);
            twins().expectSame(partial, "partial", 1e-5F, 1e-5F);
            twins().expectSame(loss, "loss", 1e-5F, 1e-5F);
            both([&](Queue& queue, auto of) { queue.crossEntropyGradient(of(logits), of(partial), of(target), first, 0.125); });
            twins().expectSame(logits, "gradient", 1e-6F, 5e-3F);
        }
}

TEST_P(OnGpu, RoutesAndMovesTokensOfExperts)
{
    using Score = RouterRule::Score;
    struct Routing {
        int tokens, experts, choices;
        RouterRule rule;
    };
    for (const auto& [tokens, experts, choices, rule] :
         {Routing{50, 8, 2, {}}, Routing{300, 40, 3, {.normalized = false, .scale = 2.5}}, Routing{5, 70, 1, {}},
          Routing{60, 64, 4, {.score = Score::sigmoid, .groups = 8, .chosenGroups = 3, .scale = 2.5}},
          Routing{40, 12, 3, {.groups = 4, .chosenGroups = 2}},
          Routing{60, 12, 6, {.score = Score::sigmoid, .groups = 6, .chosenGroups = 3}}, // more than have positive scores
          Routing{20, 9, 2, {.score = Score::sigmoid, .normalized = false}}}) {
        const DType type = twins().activation();
        const std::int64_t slots = static_cast<std::int64_t>(tokens) * choices, width = 24;
        const Twin logits = twins().activations(tokens, experts), exactLogits = twins().make(tokens, experts, DType::f32),
                   bias = twins().sums(1, experts), probabilities = twins().make(tokens, experts, DType::f32),
                   chosen = twins().make(tokens, choices, DType::i32), weights = twins().make(tokens, choices, DType::f32),
                   dWeights = twins().sums(tokens, choices), aux = twins().sums(1, experts),
                   dLogits = twins().make(tokens, experts, type), counts = twins().make(1, experts, DType::i64),
                   order = twins().make(1, slots, DType::i32), place = twins().make(tokens, choices, DType::i32),
                   x = twins().activations(tokens, width), sorted = twins().make(slots, width, type),
                   y = twins().make(tokens, width, type), dy = twins().activations(tokens, width),
                   dSorted = twins().make(slots, width, type), dChosen = twins().make(tokens, choices, DType::f32);
        both([&](Queue& queue, auto of) {
            queue.copy(of(logits), of(exactLogits)); // the gradient's are of the accumulation type
            queue.routeTopK(rule, of(logits), of(bias), of(probabilities), of(chosen), of(weights));
            queue.routeGradient(rule, of(exactLogits), of(probabilities), of(chosen), of(weights), of(dWeights), of(aux),
                                of(dLogits));
            queue.countExperts(of(chosen), of(counts));
            queue.sortByExpert(of(chosen), experts, of(order), of(place));
            queue.gatherRows(of(x), of(order), choices, of(sorted));
            queue.combineRows(of(sorted), of(place), of(weights), of(y));
            queue.combineGradient(of(sorted), of(place), of(weights), of(dy), of(dSorted), of(dChosen));
        });
        twins().expectSame(probabilities, "probabilities", 1e-6F, 1e-6F);
        twins().expectEqual<std::int32_t>(chosen, "experts"); // bf16 logits: many are equal
        twins().expectSame(weights, "weights", 1e-5F, 1e-5F);
        twins().expectSame(dLogits, "dLogits", 1e-5F);
        twins().expectEqual<std::int64_t>(counts, "counts");
        twins().expectEqual<std::int32_t>(order, "order");
        twins().expectEqual<std::int32_t>(place, "place");
        twins().expectSame(sorted, "sorted", 0, 0);
        twins().expectSame(y, "combined");
        twins().expectSame(dSorted, "dSorted");
        twins().expectSame(dChosen, "dWeights", 1e-5F, 1e-4F);
        both([&](Queue& queue, auto of) { queue.combineRows(of(sorted), of(place), {}, of(y)); });
        twins().expectSame(y, "combined without weights");
    }
}

TEST_P(OnGpu, ExactSumsHaveTheBitsOfTheCpu)
{
    std::vector<float> values(3000);
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = std::ldexp(normal(twins().randomness()), static_cast<int>(i % 200) - 100);
    const Twin x = twins().make(1, 3000, DType::f32), words = twins().make(1, kExactSumWords, DType::i64);
    twins().upload(x, values);
    both([&](Queue& queue, auto of) {
        queue.fill(of(words), 0);
        queue.exactSum(of(x), of(words));
        queue.exactSum(of(x), of(words)); // adds
    });
    twins().expectEqual<std::int64_t>(words, "words");
    values.back() = std::numeric_limits<float>::infinity();
    twins().upload(x, values);
    both([&](Queue& queue, auto of) { queue.exactSum(of(x), of(words)); });
    twins().expectEqual<std::int64_t>(words, "words with infinity");
}

TEST_P(OnGpu, CarriesExactSums)
{
    const Twin words = twins().make(3, kExactSumWords, DType::i64);
    std::vector<std::int64_t> digits(3 * kExactSumWords);
    for (std::size_t i = 0; i < digits.size(); ++i) // nearly full in the first, small with both signs in the others
        digits[i] = i < kExactSumWords - 2 ? ((std::int64_t{1} << 31) - 1) * 0xFFFFFFFF
                                           : static_cast<std::int64_t>(i * 2654435761U % 1000000007U) * (i % 2 == 0 ? 977 : -977);
    both([&](Queue& queue, auto of) {
        queue.fromHost(digits.data(), of(words));
        queue.carryExactSums(of(words));
    });
    twins().expectEqual<std::int64_t>(words, "carried words");
    EXPECT_NE(twins().raw<std::int64_t>(cpu(), words.cpu), digits);
}

TEST_P(OnGpu, ClipsAndSteps)
{
    for (const std::int64_t count : {64, 1000})
        for (const double limit : {0.0, 1.0, 1e6}) {
            const Twin gradient = twins().sums(1, count), first = twins().sums(1, count),
                       second = twins().make(1, count, DType::f32), master = twins().sums(1, count),
                       parameter = twins().make(1, count, twins().activation()),
                       words = twins().make(1, kExactSumWords, DType::i64), factor = twins().make(1, 1, DType::f64);
            AdamwStep step{.learningRate = 0.01, .step = 3};
            both([&](Queue& queue, auto of) {
                queue.fill(of(second), 0.25);
                queue.fill(of(words), 0);
                queue.exactSumOfSquares(of(gradient), of(words));
                queue.clipFactor(of(words), limit, of(factor));
                queue.adamw(step, of(factor), of(gradient), of(first), of(second), of(master), of(parameter));
            });
            EXPECT_NEAR(twins().raw<double>(cpu(), factor.cpu)[0], twins().raw<double>(gpu(), factor.gpu)[0], 1e-14);
            twins().expectSame(first, "first moment", 1e-6F, 1e-6F);
            twins().expectSame(second, "second moment", 1e-6F, 1e-6F);
            twins().expectSame(master, "master", 1e-6F, 1e-6F);
            twins().expectSame(parameter, "parameter", 1e-6F, 5e-3F);
            both([&](Queue& queue, auto of) { queue.sgd(0.5, of(factor), of(gradient), of(master), of(master)); });
            twins().expectSame(master, "master after SGD", 1e-6F, 1e-6F);
        }
}

TEST_P(OnGpu, ChangesNothingWhereAGradientIsNotFinite)
{
    const std::int64_t count = 1000;
    for (const double limit : {0.0, 1.0})
        for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
            const Twin gradient = twins().sums(1, count), first = twins().sums(1, count), second = twins().sums(1, count),
                       master = twins().sums(1, count), words = twins().make(1, kExactSumWords, DType::i64),
                       factor = twins().make(1, 1, DType::f64);
            const auto all = [&] {
                std::vector<std::vector<float>> values;
                for (const Twin& twin : {first, second, master})
                    for (auto* queue : {&cpu(), &gpu()})
                        values.push_back(twins().raw<float>(*queue, queue == &cpu() ? twin.cpu : twin.gpu));
                return values;
            };
            const auto before = all();
            both([&](Queue& queue, auto of) {
                queue.fill(of(gradient).columnRange(77, 1), bad);
                queue.fill(of(words), 0);
                queue.exactSumOfSquares(of(gradient), of(words));
                queue.clipFactor(of(words), limit, of(factor));
                queue.adamw({.learningRate = 0.01}, of(factor), of(gradient), of(first), of(second), of(master), of(master));
                queue.sgd(0.01, of(factor), of(gradient), of(master), of(master));
            });
            EXPECT_TRUE(std::isnan(twins().raw<double>(cpu(), factor.cpu)[0]));
            EXPECT_TRUE(std::isnan(twins().raw<double>(gpu(), factor.gpu)[0]));
            EXPECT_EQ(all(), before);
        }
}

TEST_P(OnGpu, MarksBecomeTimesInOrder)
{
    const Twin x = twins().activations(10, 10);
    std::array<std::int64_t, 3> marks{};
    EXPECT_EQ(gpu().mark(), 0) << "nobody wants them yet";
    gpu().keepMarks(true);
    for (int step = 0; step < 2; ++step) {
        for (std::int64_t& mark : marks) {
            mark = gpu().mark();
            gpu().fill(x.gpu, 1);
        }
        gpu().resolveMarks(marks);
        EXPECT_GT(marks[0], 0);
        EXPECT_LE(marks[0], marks[1]);
        EXPECT_LE(marks[1], marks[2]);
    }
}

INSTANTIATE_TEST_SUITE_P(Types, OnGpu, testing::Values(DType::f32, DType::bf16),
                         [](const auto& parameter) { return std::string(dtypeName(parameter.param)); });

} // namespace
} // namespace live
