// Low-rank adapters: what they make is what the model with W + A B makes, and their gradients follow from its gradient by W.
#include "live/runtime/run.h"
#include "live/runtime/snapshot.h"
#include "live/tasks/worker_pool.h"
#include "tests/live/support/jobs.h"

#include <gtest/gtest.h>

#include <mutex>

namespace live::test {
namespace {

struct Seen {
    double loss = 0, gradientNorm = 0;
    Snapshot before, gradients; ///< weights and gradients of that step
};

/// The last of some steps. start: weights to begin with; null: the initial ones.
Seen lastOf(int firstStep, int steps, const Settings& settings, const Snapshot* start = nullptr)
{
    WorkerPool pool(1);
    const auto device = makeCpuDevice(DType::f64, &pool);
    const auto communicator = makeLocalCommunicator(pool);
    live::Run run(
        job(settings),
        {.pool = &pool, .device = device.get(), .communicator = communicator.get(), .record = false, .firstStep = firstStep});
    Seen seen;
    const auto takeValues = [&] {
        seen.before.clear();
        for (Rank* rank : run.ranks())
            addToSnapshot(*rank, Quantity::value, seen.before);
    };
    for (Rank* rank : run.ranks()) {
        if (start)
            rank->weights().restore(
                Quantity::value, [&](const ParameterSpec& spec, std::int64_t first, std::span<double> values) {
                    spec.forEachRun(first, static_cast<std::int64_t>(values.size()),
                                    [&](std::int64_t at, std::int64_t place, std::int64_t count) {
                                        std::copy_n(start->at(spec.name).begin() + place, count, values.begin() + at);
                                    });
                });
        rank->onGradients([&](Rank& self) {
            if (self.context().step == firstStep + steps - 1)
                addToSnapshot(self, Quantity::gradient, seen.gradients);
        });
    }
    run.train(steps - 1);
    takeValues();
    run.train(1, [&](const StepReport& report) {
        seen.loss = report.result.loss;
        seen.gradientNorm = report.result.gradientNorm;
        return Verdict::goOn;
    });
    return seen;
}

using Values = std::vector<double>;

/// rows x columns, of sums over `inner`; a and b by (row, inner) and (inner, column), either turned.
Values product(const Values& a, bool aTurned, const Values& b, bool bTurned, std::size_t rows, std::size_t inner,
               std::size_t columns)
{
    Values result(rows * columns, 0.0);
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t k = 0; k < inner; ++k)
            for (std::size_t j = 0; j < columns; ++j)
                result[i * columns + j] +=
                    (aTurned ? a[k * rows + i] : a[i * inner + k]) * (bTurned ? b[j * inner + k] : b[k * columns + j]);
    return result;
}

void expectNear(const Values& actual, const Values& expected, const std::string& name)
{
    ASSERT_EQ(actual.size(), expected.size()) << name;
    for (std::size_t i = 0; i < actual.size(); ++i)
        ASSERT_NEAR(actual[i], expected[i], 1e-12) << name << " " << i;
}

void expectAsMerged(const Settings& model, const Settings& layout)
{
    constexpr int kStep = 3;
    constexpr std::size_t kRank = 4;
    const Seen adapted = lastOf(1, kStep, model + kAdapters + layout);
    const Seen initial = lastOf(1, 1, model);
    Snapshot merged;
    for (const auto& [name, values] : adapted.before)
        if (name.find(".lora_") == std::string::npos) {
            EXPECT_EQ(values, initial.before.at(name)) << name << " is frozen";
            merged[name] = values;
        }
    std::vector<std::string> targets;
    for (auto& [name, values] : merged) {
        const auto a = adapted.before.find(name + ".lora_a"), b = adapted.before.find(name + ".lora_b");
        if (a == adapted.before.end())
            continue;
        targets.push_back(name);
        const std::size_t inputs = a->second.size() / kRank, outputs = b->second.size() / kRank;
        const Values more = product(b->second, false, a->second, false, outputs, kRank, inputs);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] += more[i];
    }
    EXPECT_EQ(adapted.gradients.size(), 2 * targets.size()) << "and nothing else has one";
    const Seen whole = lastOf(kStep, 1, model, &merged);
    EXPECT_NEAR(adapted.loss, whole.loss, 1e-12);
    EXPECT_GT(std::abs(adapted.loss - lastOf(kStep, 1, model, &initial.before).loss), 1e-4) << "they do something";
    double squares = 0;
    for (const std::string& name : targets) {
        const Values &a = adapted.before.at(name + ".lora_a"), &b = adapted.before.at(name + ".lora_b"),
                     &gradient = whole.gradients.at(name);
        const Values &dA = adapted.gradients.at(name + ".lora_a"), &dB = adapted.gradients.at(name + ".lora_b");
        const std::size_t inputs = a.size() / kRank, outputs = b.size() / kRank;
        expectNear(dA, product(b, true, gradient, false, kRank, outputs, inputs), name + ".lora_a");
        expectNear(dB, product(gradient, false, a, true, outputs, inputs, kRank), name + ".lora_b");
        for (const Values* each : {&dA, &dB})
            for (const double value : *each)
                squares += value * value;
    }
    EXPECT_NEAR(adapted.gradientNorm, std::sqrt(squares), 1e-12);
}

TEST(Adapters, MakeWhatTheMergedModelMakesAndHaveTheGradientsThatFollowFromIts)
{
    expectAsMerged(kLlama, {});
    expectAsMerged({}, kTp2);
    expectAsMerged(kLlama, {"layout.tp=4", "layout.sequence_parallel=true"}); // key-value heads of two ranks each
    expectAsMerged(kLlama + kTied, kTp2 + kPp2 + Settings{"layout.cp=2", "schedule.kind=zb-h1"});
    expectAsMerged(kExperts, {}); // of attention alone
}

TEST(Adapters, LeaveTheFrozenModelWithoutGradientsAndMoments)
{
    const auto statesOf = [](const Settings& settings) {
        WorkerPool pool(1);
        const auto device = makeCpuDevice(DType::f64, &pool);
        const auto communicator = makeLocalCommunicator(pool);
        live::Run run(job(settings),
                      {.pool = &pool, .device = device.get(), .communicator = communicator.get(), .record = false});
        const Memory& memory = run.ranks().front()->context().memory;
        return std::pair{memory.held(MemoryUse::gradients), memory.held(MemoryUse::optimizer)};
    };
    const auto [gradients, optimizer] = statesOf(kAdapters);
    const auto [allGradients, allOptimizer] = statesOf({});
    EXPECT_LT(gradients, allGradients / 2);
    EXPECT_LT(optimizer, allOptimizer / 2);
    EXPECT_EQ(optimizer, 2 * gradients);
}

} // namespace
} // namespace live::test
