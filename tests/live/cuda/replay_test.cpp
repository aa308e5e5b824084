// Batches that are the same as in the step before are started as graphs, those that are not never are.
#include "live/tensor/memory.h"
#include "tests/live/cuda/gpu_fixture.h"
#ifndef RANKSCOPE_TEST_ON_GPU
#include "live/kernels/cuda/emulation/launches.h"
#endif

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <random>

namespace live {
namespace {

/// A device whose queues use batches, or do not.
std::unique_ptr<Device> deviceFor(DType type, const char* graphs, std::string* why)
{
    ::setenv("RANKSCOPE_CUDA_GRAPHS", graphs, 1); // NOLINT(concurrency-mt-unsafe): tests run one at a time
    std::unique_ptr<Device> device = gpuForTests(type, why);
    ::unsetenv("RANKSCOPE_CUDA_GRAPHS"); // NOLINT(concurrency-mt-unsafe): see above
    return device;
}

/// A queue and arrays of one shape.
class Bench {
public:
    static constexpr std::int64_t kRows = 4, kColumns = 24;

    Bench(std::unique_ptr<Device> device, std::size_t arrays)
        : m_device(std::move(device)), m_memory(*m_device), m_queue(m_device->makeQueue())
    {
        for (std::size_t i = 0; i < arrays; ++i)
            m_arrays.push_back(m_memory.allocate(DType::f32, kRows, kColumns));
        tokens = m_memory.allocate(DType::i64, kRows, 1);
        m_queue->fill(tokens, 3);
        m_queue->keepMarks(true);
    }
    ~Bench() { m_queue->synchronize(); }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    Queue& queue() { return *m_queue; }
    const Tensor& array(std::size_t i) const { return m_arrays[i]; }
    /// To the bit.
    std::vector<std::uint32_t> values()
    {
        std::vector<std::uint32_t> all;
        for (const Array& array : m_arrays) {
            std::vector<std::uint32_t> values(static_cast<std::size_t>(array->elements()));
            m_queue->toHost(array, values.data());
            all.insert(all.end(), values.begin(), values.end());
        }
        return all;
    }

    Array tokens;

private:
    std::unique_ptr<Device> m_device;
    Memory m_memory;
    std::unique_ptr<Queue> m_queue;
    std::vector<Array> m_arrays;
};

constexpr std::size_t kArrays = 5;

/// One operation of a random program.
struct Action {
    int kind = 0;
    std::size_t from = 0, to = 0;
    std::int64_t columns = 0;
    double value = 0;
};

Action randomAction(std::mt19937& random)
{
    const auto below = [&](std::size_t most) { return std::size_t{random()} % most; };
    Action action{.kind = static_cast<int>(below(8)),
                  .from = below(kArrays),
                  .columns = 8 + 8 * static_cast<std::int64_t>(below(3)),
                  .value = 0.25 * static_cast<double>(below(8))};
    action.to = (action.from + 1 + below(kArrays - 1)) % kArrays;
    return action;
}

void act(Bench& bench, const Action& action)
{
    Queue& queue = bench.queue();
    const Tensor from = bench.array(action.from).columnRange(0, action.columns),
                 to = bench.array(action.to).columnRange(0, action.columns);
    switch (action.kind) {
    case 0:
        return queue.fill(to, action.value);
    case 1:
        return queue.copy(from, to);
    case 2:
        return queue.add(from, to);
    case 3:
        return queue.activation(ActivationFunction::gelu, from, to);
    case 4:
        return queue.linear(from, bench.array((action.to + 2) % kArrays).rowRange(0, 3).columnRange(0, action.columns), {},
                            to.columnRange(0, 3));
    case 5:
        return queue.dropout({.seed = 1, .step = static_cast<std::uint32_t>(8 * action.value), .rate = 0.5}, bench.tokens, 0,
                             from, to);
    case 6:
        queue.mark();
        return;
    default:
        return queue.sumRows(from, to.rowRange(0, 1));
    }
}

/// Writes over what the stack held, so that no argument has the same bytes as a step ago by accident.
[[gnu::noinline]] void soilStack(unsigned char with)
{
    volatile unsigned char bytes[4096];
    for (volatile unsigned char& byte : bytes)
        byte = with;
}

/// Programs that change a little from step to step, back and forth, or not at all: with batches they do what they do without.
TEST(Replay, NeverDoesWhatAnEarlierStepDid)
{
    constexpr int kPrograms = 12, kSteps = 12, kActions = 40;
    std::string why;
    for (unsigned seed = 0; seed < kPrograms; ++seed) {
        std::mt19937 random(seed);
        std::unique_ptr<Device> plainDevice = deviceFor(DType::f32, "0", &why);
        if (!plainDevice)
            GTEST_SKIP() << why;
        Bench plain(std::move(plainDevice), kArrays), together(deviceFor(DType::f32, seed % 2 == 0 ? "7" : "1", &why), kArrays);
        std::vector<Action> program, earlier;
        for (int i = 0; i < kActions; ++i)
            program.push_back(randomAction(random));
        for (int step = 0; step < kSteps; ++step) {
            if (step % 3 == 2)
                std::swap(program, earlier);
            if (program.empty())
                program = earlier;
            for (auto changes = random() % 3; step % 4 == 0 && changes > 0; --changes) {
                Action& changed = program[random() % program.size()];
                switch (random() % 3) {
                case 0:
                    changed.value += 0.125;
                    break;
                case 1:
                    std::swap(changed.from, changed.to);
                    break;
                default:
                    changed = randomAction(random);
                }
            }
            for (Bench* bench : {&plain, &together}) {
                for (std::size_t i = 0; i < kArrays; ++i)
                    bench->queue().fill(bench->array(i), 0.1 + static_cast<double>(i));
                for (const Action& action : program) {
                    soilStack(static_cast<unsigned char>(random()));
                    act(*bench, action);
                }
            }
            ASSERT_EQ(plain.values(), together.values()) << "program " << seed << ", step " << step;
            for (Bench* bench : {&plain, &together}) {
                if (step % 2 == 0)
                    bench->queue().resolveMarks({});
                bench->queue().stepDone();
            }
        }
    }
}

#ifndef RANKSCOPE_TEST_ON_GPU

/// A small model's step: forward and backward, the optimizer, and a copy to the host.
class Replayed : public testing::Test {
protected:
    Replayed() : m_twins(deviceFor(DType::bf16, "1", &m_why)) {}

    Queue& queue() { return m_twins.gpu(); }
    Tensor rows(std::int64_t columns) { return m_twins.activations(kRows, columns).gpu; }
    Tensor weight(std::int64_t outputs, std::int64_t inputs) { return m_twins.activations(outputs, inputs).gpu; }
    Tensor sums(std::int64_t count, std::int64_t columns) { return m_twins.sums(count, columns).gpu; }

    struct Count {
        std::uint64_t launches, calls;
        bool operator==(const Count&) const = default;
    };
    Count step(double lossScale, bool marks)
    {
        ++m_step;
        queue().keepMarks(marks);
        const std::uint64_t launches = cuda::emulation::launchCount(), calls = cuda::emulation::callCount();
        std::vector<std::int64_t> instants;
        int place = 0;
        const auto put = [&](const auto& operation) {
            soilStack(static_cast<unsigned char>(31 * m_step + 7 * ++place));
            operation();
            if (marks)
                instants.push_back(queue().mark());
        };
        std::vector<std::int32_t> ids(kRows, m_step);
        put([&] { queue().fromHost(ids.data(), m_ids); });
        put([&] { queue().embed(m_ids, m_table, 0, m_x); });
        put([&] { queue().norm({NormKind::layernorm, 1e-5}, m_x, m_gain, m_gain, m_a, m_statistics); });
        put([&] { queue().linear(m_a, m_qkvWeight, m_wide, m_qkv); });
        put([&] { queue().rotate(part(0), kHead, m_ids, {.frequencies = m_frequencies}, false); });
        put([&] { queue().attention(kShape, part(0), part(1), part(2), m_o, m_log); });
        put([&] { queue().linear(m_o, m_projection, m_gain, m_y); });
        put([&] { queue().add(m_x, m_y); });
        put([&] { queue().activation(ActivationFunction::gelu, m_y, m_a); });
        put([&] { queue().rowMaximum(m_a, kHidden - 1, m_maximum); });
        put([&] { queue().exponentials(m_a, kHidden - 1, m_maximum, m_ids, 0, m_partial); });
        put([&] { queue().crossEntropy(m_partial, m_ids, m_maximum); });
        put([&] { queue().crossEntropyGradient(m_a, m_partial, m_ids, 0, lossScale); });
        put([&] { queue().linearInputGradient(m_a, m_projection, m_o); });
        put([&] { queue().linearWeightGradient(m_a, m_o, m_dProjection, m_dBias); });
        put([&] {
            queue().attentionGradient(kShape, part(0), part(1), part(2), m_y, m_log, m_o, part(0), part(1), part(2), false);
        });
        put([&] { queue().normGradient(NormKind::layernorm, m_a, m_x, m_gain, m_statistics, m_a, m_dGain, m_dBias); });
        put([&] { queue().embedGradient(m_ids, m_a, 0, m_dTable); });
        put([&] { queue().fill(m_words, 0); });
        put([&] { queue().exactSumOfSquares(m_dGain, m_words); });
        put([&] { queue().clipFactor(m_words, 1, m_factor); });
        for (int i = 0; i < 2; ++i)
            put([&] { queue().adamw({.step = m_step}, m_factor, m_dGain, m_first, m_second, m_master, m_gain); });
        for (const Tensor& gradient : {m_dGain, m_dBias, m_dProjection, m_dTable})
            put([&] { queue().fill(gradient, 0); });
        std::vector<float> losses(kRows);
        put([&] { queue().toHost(m_maximum, losses.data()); });
        if (marks) {
            queue().resolveMarks(instants);
            EXPECT_GT(instants.front(), m_before);
            EXPECT_TRUE(std::is_sorted(instants.begin(), instants.end()));
            m_before = instants.back();
        }
        queue().stepDone();
        return {cuda::emulation::launchCount() - launches, cuda::emulation::callCount() - calls};
    }
    Tensor part(std::int64_t i) const { return m_qkv.columnRange(i * kHidden, kHidden); }

    static constexpr std::int64_t kRows = 16, kHidden = 32;
    static constexpr int kHead = 16;
    static constexpr AttentionShape kShape{.sequences = 2, .heads = 2, .keyValueHeads = 2, .headDim = kHead};
    /// Copies from and to the host, two kernels of the optimizer, a graph before and one after them.
    static constexpr std::uint64_t kCalls = 6;

private:
    static Tensor ofType(Tensor tensor, DType type, std::int64_t columns)
    {
        tensor.type = type;
        tensor.columns = tensor.stride = columns;
        return tensor;
    }
    std::string m_why;
    Twins m_twins;
    int m_step = 0;
    std::int64_t m_before = 0;
    const Tensor m_ids = m_twins.integers(1, kRows, std::vector<std::int32_t>(kRows, 1)).gpu;
    const Tensor m_table = weight(64, kHidden), m_x = rows(kHidden), m_a = rows(kHidden), m_y = rows(kHidden),
                 m_o = rows(kHidden), m_qkv = rows(3 * kHidden), m_gain = weight(1, kHidden), m_wide = weight(1, 3 * kHidden),
                 m_qkvWeight = weight(3 * kHidden, kHidden), m_projection = weight(kHidden, kHidden);
    const Tensor m_statistics = sums(kRows, 2), m_log = sums(kRows, 2), m_maximum = sums(1, kRows), m_partial = sums(2, kRows),
                 m_dProjection = sums(kHidden, kHidden), m_dBias = sums(1, kHidden), m_dGain = sums(1, kHidden),
                 m_dTable = sums(64, kHidden), m_first = sums(1, kHidden), m_second = sums(1, kHidden),
                 m_master = sums(1, kHidden);
    const Tensor m_frequencies = ofType(sums(1, kHead), DType::f64, kHead / 2), m_factor = ofType(sums(1, 2), DType::f64, 1),
                 m_words = ofType(sums(1, 2 * kExactSumWords), DType::i64, kExactSumWords);
};

TEST_F(Replayed, StepsThatAreTheSameTakeOneCallForABatch)
{
    const Count first = step(1, false);
    EXPECT_GT(first.launches, 30U);
    EXPECT_EQ(first.calls, first.launches) << "nothing is known of it yet";
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(step(1, false), (Count{first.launches, kCalls})) << "captured, then replayed";
    EXPECT_EQ(step(2, false).calls, first.launches - 3) << "all of the batch before the optimizer's, for one argument";
    EXPECT_EQ(step(2, false).calls, kCalls);
    EXPECT_EQ(step(2, true).calls, first.launches) << "marks are part of a batch";
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(step(2, true), (Count{first.launches, kCalls})) << "whose events are its own";
}

#endif

} // namespace
} // namespace live
