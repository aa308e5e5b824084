#include "tests/live/kernels/kernel_fixture.h"

#include <limits>

namespace live {
namespace {

struct Case {
    AttentionShape shape;
    std::int64_t queries, keys;
};
const Case kCases[] = {
    {{.sequences = 1, .heads = 1, .keyValueHeads = 1, .headDim = 4}, 1, 1},
    {{.sequences = 2, .heads = 3, .keyValueHeads = 3, .headDim = 5}, 9, 9},
    {{.sequences = 2, .heads = 4, .keyValueHeads = 2, .headDim = 8}, 7, 7},
    {{.sequences = 1, .heads = 2, .keyValueHeads = 1, .headDim = 3, .causal = false}, 6, 11},
    {{.sequences = 3, .heads = 2, .keyValueHeads = 2, .headDim = 4, .diagonal = 4}, 5, 9},
    {{.sequences = 1, .heads = 2, .keyValueHeads = 2, .headDim = 4, .diagonal = -3}, 8, 6}, // some queries see no key
    {{.sequences = 1, .heads = 1, .keyValueHeads = 1, .headDim = 16}, 150, 150},            // several blocks of queries
    {{.sequences = 2, .heads = 2, .keyValueHeads = 1, .headDim = 4, .window = 3}, 9, 9},
    {{.sequences = 1, .heads = 1, .keyValueHeads = 1, .headDim = 4, .diagonal = 5, .window = 4}, 6, 8}, // the last see none
    {{.sequences = 1, .heads = 2, .keyValueHeads = 2, .headDim = 4, .window = 70}, 150, 150},
    {{.sequences = 2, .heads = 2, .keyValueHeads = 2, .headDim = 6, .valueDim = 4, .sharpness = 1.5}, 7, 7},
    {{.sequences = 1, .heads = 4, .keyValueHeads = 2, .headDim = 3, .window = 2, .valueDim = 5}, 6, 6},
};

template <class T>
struct Problem {
    Workbench<T> bench;
    Case at;
    Tensor fused, q, k, v, o, logSumExp;
    explicit Problem(const Case& c, WorkerPool* pool = nullptr) : bench(pool), at(c)
    {
        const std::int64_t wide = c.shape.heads * c.shape.headDim, narrow = c.shape.keyValueHeads * c.shape.headDim,
                           ofValues = c.shape.keyValueHeads * c.shape.valueSize();
        const std::int64_t rows = c.queries * c.shape.sequences, keyRows = c.keys * c.shape.sequences;
        fused = bench.random(std::max(rows, keyRows), wide + narrow + ofValues); // q, k, v: columns of one tensor
        q = fused.columnRange(0, wide).rowRange(0, rows);
        k = fused.columnRange(wide, narrow).rowRange(0, keyRows);
        v = fused.columnRange(wide + narrow, ofValues).rowRange(0, keyRows);
        o = bench.make(rows, c.shape.heads * c.shape.valueSize(), kTypeOf<T>, 2);
        logSumExp = bench.make(rows, c.shape.heads);
    }
    void run() { bench.queue().attention(at.shape, q, k, v, o, logSumExp); }
};

/// The definition, query by query, in double.
std::vector<double> plainAttention(const Problem<double>& problem, std::vector<double>& logSumExp)
{
    using Bench = Workbench<double>;
    const AttentionShape& s = problem.at.shape;
    std::vector<double> o;
    logSumExp.clear();
    for (std::int64_t row = 0; row < problem.q.rows; ++row)
        for (std::int64_t head = 0; head < s.heads; ++head) {
            const std::int64_t query = row / s.sequences, shared = head / (s.heads / s.keyValueHeads);
            std::vector<double> out(static_cast<std::size_t>(s.valueSize()), 0);
            double sum = 0;
            for (std::int64_t key = 0; key < problem.at.keys; ++key) {
                if (s.causal && (key > query + s.diagonal || (s.window > 0 && key <= query + s.diagonal - s.window)))
                    continue;
                const std::int64_t keyRow = key * s.sequences + row % s.sequences;
                double score = 0;
                for (int d = 0; d < s.headDim; ++d)
                    score +=
                        Bench::at(problem.q, row, head * s.headDim + d) * Bench::at(problem.k, keyRow, shared * s.headDim + d);
                const double weight = std::exp(s.sharpness * score / std::sqrt(s.headDim));
                sum += weight;
                for (int d = 0; d < s.valueSize(); ++d)
                    out[static_cast<std::size_t>(d)] += weight * Bench::at(problem.v, keyRow, shared * s.valueSize() + d);
            }
            for (const double value : out)
                o.push_back(sum > 0 ? value / sum : 0);
            logSumExp.push_back(std::log(sum));
        }
    return o;
}

TEST(Attention, IsTheSoftmaxOverTheKeysSeen)
{
    for (const Case& c : kCases) {
        Problem<double> problem(c);
        problem.run();
        std::vector<double> logSumExp;
        expectNear(doubles(problem.bench, problem.o), plainAttention(problem, logSumExp), 1e-13);
        const auto actual = doubles(problem.bench, problem.logSumExp);
        for (std::size_t i = 0; i < actual.size(); ++i) {
            if (std::isinf(logSumExp[i])) {
                EXPECT_EQ(actual[i], logSumExp[i]);
            } else {
                EXPECT_NEAR(actual[i], logSumExp[i], 1e-13);
            }
        }
    }
}

TEST(Attention, GradientsAreThoseOfDifferences)
{
    for (const Case& c : kCases) {
        if (c.queries > 100)
            continue; // differences take the square of the time; several blocks: AddsUpOverBlocksOfKeys
        Problem<double> problem(c);
        Workbench<double>& bench = problem.bench;
        const Tensor dOutput = bench.random(problem.o.rows, problem.o.columns, 1);
        const auto value = [&] {
            problem.run();
            return dot(doubles(bench, problem.o), doubles(bench, dOutput));
        };
        value();
        const Tensor dFused = bench.random(problem.fused.rows, problem.fused.columns);
        const Tensor dq = dFused.columnRange(0, problem.q.columns).rowRange(0, problem.q.rows),
                     dk = dFused.columnRange(problem.q.columns, problem.k.columns).rowRange(0, problem.k.rows),
                     dv =
                         dFused.columnRange(problem.q.columns + problem.k.columns, problem.v.columns).rowRange(0, problem.k.rows);
        const auto run = [&](bool accumulate) {
            bench.queue().attentionGradient(c.shape, problem.q, problem.k, problem.v, problem.o, problem.logSumExp, dOutput, dq,
                                            dk, dv, accumulate);
        };
        run(false);
        expectGradient(problem.q, value, dq);
        expectGradient(problem.k, value, dk);
        expectGradient(problem.v, value, dv);
        value();
        for (const Tensor& gradient : {dq, dk, dv}) { // once more on top: twice as much
            run(false);
            auto twice = doubles(bench, gradient);
            for (double& element : twice)
                element *= 2;
            run(true);
            expectNear(doubles(bench, gradient), twice, 1e-12);
        }
    }
}

// A rank of context parallelism sees the keys block by block: the same result, the same gradient.
TEST(Attention, AddsUpOverBlocksOfKeys)
{
    const Case c{{.sequences = 2, .heads = 4, .keyValueHeads = 2, .headDim = 8}, 140, 140};
    const std::int64_t split = 67;
    Problem<double> problem(c);
    Workbench<double>& bench = problem.bench;
    problem.run();
    const Tensor o = bench.make(problem.o.rows, problem.o.columns), logSumExp = bench.make(problem.o.rows, c.shape.heads),
                 oBlock = bench.make(problem.o.rows, problem.o.columns), logBlock = bench.make(problem.o.rows, c.shape.heads);
    const auto part = [&](const Tensor& t, bool second) {
        const std::int64_t first = second ? split * 2 : 0;
        return t.rowRange(first, second ? t.rows - first : split * 2);
    };
    AttentionShape late = c.shape;
    late.diagonal = -split;
    bench.queue().attention(late, problem.q, part(problem.k, true), part(problem.v, true), o, logSumExp);
    bench.queue().attention(c.shape, problem.q, part(problem.k, false), part(problem.v, false), oBlock, logBlock);
    bench.queue().mergeAttention(c.shape.headDim, oBlock, logBlock, o, logSumExp);
    expectNear(doubles(bench, o), doubles(bench, problem.o), 1e-13);
    expectNear(doubles(bench, logSumExp), doubles(bench, problem.logSumExp), 1e-13);
    // A block that no query sees changes nothing.
    bench.queue().fill(logBlock, -std::numeric_limits<double>::infinity());
    const auto before = bench.values(o);
    bench.queue().mergeAttention(c.shape.headDim, oBlock, logBlock, o, logSumExp);
    EXPECT_TRUE(sameBits(before, bench.values(o)));

    const Tensor dOutput = bench.random(o.rows, o.columns);
    const Tensor dq = bench.make(o.rows, o.columns), dk = bench.make(o.rows, problem.k.columns),
                 dv = bench.make(o.rows, problem.k.columns);
    bench.queue().attentionGradient(c.shape, problem.q, problem.k, problem.v, problem.o, problem.logSumExp, dOutput, dq, dk, dv,
                                    false);
    const Tensor dqParts = bench.zeros(o.rows, o.columns), dkParts = bench.zeros(o.rows, problem.k.columns),
                 dvParts = bench.zeros(o.rows, problem.k.columns);
    for (const bool second : {false, true})
        bench.queue().attentionGradient(second ? late : c.shape, problem.q, part(problem.k, second), part(problem.v, second), o,
                                        logSumExp, dOutput, dqParts, part(dkParts, second), part(dvParts, second), true);
    expectNear(doubles(bench, dqParts), doubles(bench, dq), 1e-12);
    expectNear(doubles(bench, dkParts), doubles(bench, dk), 1e-12);
    expectNear(doubles(bench, dvParts), doubles(bench, dv), 1e-12);
}

TEST(Attention, SinksAreKeysWithoutAValue)
{
    const Case c{{.sequences = 2, .heads = 3, .keyValueHeads = 3, .headDim = 5, .valueDim = 4}, 4, 4};
    Problem<double> problem(c);
    Workbench<double>& bench = problem.bench;
    const Tensor sinks = bench.random(1, 3), dOutput = bench.random(problem.o.rows, problem.o.columns);
    const auto run = [&] {
        problem.run();
        bench.queue().attentionSinks(4, sinks, problem.o, problem.logSumExp);
    };
    problem.run();
    const auto plain = doubles(bench, problem.o), plainLog = doubles(bench, problem.logSumExp);
    run();
    for (std::size_t i = 0; i < plain.size(); ++i) {
        const double sink = Workbench<double>::at(sinks, 0, static_cast<std::int64_t>(i % 12 / 4)), log = plainLog[i / 4];
        EXPECT_NEAR(doubles(bench, problem.o)[i], plain[i] * std::exp(log) / (std::exp(log) + std::exp(sink)), 1e-14);
    }
    const auto value = [&] {
        run();
        return dot(doubles(bench, problem.o), doubles(bench, dOutput));
    };
    const Tensor dSinks = bench.zeros(1, 3), dq = bench.make(problem.q.rows, problem.q.columns),
                 dk = bench.make(problem.k.rows, problem.k.columns), dv = bench.make(problem.v.rows, problem.v.columns);
    bench.queue().attentionSinksGradient(4, sinks, problem.o, problem.logSumExp, dOutput, dSinks);
    bench.queue().attentionGradient(c.shape, problem.q, problem.k, problem.v, problem.o, problem.logSumExp, dOutput, dq, dk, dv,
                                    false);
    expectGradient(sinks, value, dSinks);
    expectGradient(problem.q, value, dq);
    expectGradient(problem.k, value, dk);
    expectGradient(problem.v, value, dv);
}

TEST(Attention, FloatAgreesWithDoubleAndBitsDoNotDependOnTheNumberOfWorkers)
{
    const Case c{{.sequences = 3, .heads = 4, .keyValueHeads = 4, .headDim = 16}, 100, 100};
    Problem<double> exact(c);
    exact.run();
    const auto run = [&](WorkerPool* pool, bool compare) {
        Problem<float> problem(c, pool);
        problem.run();
        if (compare)
            expectNear(doubles(problem.bench, problem.o), doubles(exact.bench, exact.o), 5e-6);
        const Tensor dq = problem.bench.make(300, 64), dk = problem.bench.make(300, 64), dv = problem.bench.make(300, 64);
        problem.bench.queue().attentionGradient(c.shape, problem.q, problem.k, problem.v, problem.o, problem.logSumExp, problem.o,
                                                dq, dk, dv, false);
        auto all = problem.bench.values(problem.o);
        for (const Tensor& tensor : {dq, dk, dv})
            for (const float value : problem.bench.values(tensor))
                all.push_back(value);
        return all;
    };
    const auto alone = run(nullptr, true);
    withWorkers(3, [&](WorkerPool& pool) { EXPECT_TRUE(sameBits(alone, run(&pool, false))); });
}

TEST(Rotate, TurnsPairsByThePositionAndBack)
{
    Workbench<double> bench;
    const Tensor x = bench.random(3, 12, 2), positions = bench.integers(3, 1, {0, 1, 100});
    const auto before = bench.values(x);
    const std::vector<double> turns = {1, 0.05, 0.002};
    const Tensor frequencies = bench.make(1, 3);
    bench.queue().fromHost(turns.data(), frequencies);
    constexpr double kLength = 1.25;
    bench.queue().rotate(x, 6, positions, {frequencies, kLength}, false);
    const auto after = bench.values(x);
    for (std::size_t row = 0; row < 3; ++row)
        for (std::size_t head = 0; head < 2; ++head)
            for (std::size_t i = 0; i < 3; ++i) {
                const double position = row == 0 ? 0 : row == 1 ? 1 : 100;
                const double angle = position * turns[i];
                const std::size_t low = row * 12 + head * 6 + i, high = low + 3;
                EXPECT_NEAR(after[low], kLength * (before[low] * std::cos(angle) - before[high] * std::sin(angle)), 1e-14);
                EXPECT_NEAR(after[high], kLength * (before[high] * std::cos(angle) + before[low] * std::sin(angle)), 1e-14);
            }
    bench.queue().rotate(x, 6, positions, {frequencies, 1 / kLength}, true);
    expectNear(doubles(bench, x), before, 1e-14);
}

} // namespace
} // namespace live
