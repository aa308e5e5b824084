// A loss or gradient that is not finite ends the run and names the first tensor that held it; the weights stay as they were.
#include "live/runtime/run.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"
#include "tests/live/support/decorators.h"
#include "tests/live/support/jobs.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace live::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

/// From its n-th call on the activation of an MLP has an element that is no number.
class BrokenQueue final : public QueueDecorator {
public:
    BrokenQueue(std::unique_ptr<Queue> inner, int from) : QueueDecorator(std::move(inner)), m_left(from) {}
    void activation(ActivationFunction function, T x, T y) override
    {
        QueueDecorator::activation(function, x, y);
        if (m_left-- <= 0)
            fill(y.rowRange(3, 1).columnRange(5, 1), kNan);
    }

private:
    int m_left;
};

struct Ended {
    std::string why;
    int steps = 0; ///< that were reported
    double squaresBefore = 0, squaresAfter = 0;
};

double squaresOf(live::Run& run)
{
    return exactSumValue(run.squaresOfWeights());
}

Ended endOf(live::Run& run, const std::function<void(int)>& afterStep = {})
{
    Ended ended;
    try {
        run.train(6, [&](const StepReport& report) {
            ended.steps = report.step;
            if (afterStep)
                afterStep(report.step);
            ended.squaresBefore = squaresOf(run);
            return Verdict::goOn;
        });
    } catch (const sim::Error& error) {
        ended.why = error.what();
    }
    ended.squaresAfter = squaresOf(run);
    return ended;
}

testing::AssertionResult says(const std::string& text, const std::vector<std::string>& words)
{
    for (const std::string& word : words)
        if (text.find(word) == std::string::npos)
            return testing::AssertionFailure() << "no \"" << word << "\" in: " << text;
    return testing::AssertionSuccess();
}

TEST(NotFinite, NamesStepRankLayerAndTensorAndKeepsTheWeights)
{
    // Four layers on two stages, four micro-batches of which each data-parallel rank has two: rank 3 (stage 1 of the second
    // pipeline) calls four activations a step.
    for (const Settings& layout : {Settings{"layout.dp=2", "layout.pp=2"}, Settings{"layout.dp=4", "layout.zero_stage=3"}}) {
        const bool piped = layout[1] == "layout.pp=2";
        WorkerPool pool(2);
        DeviceDecorator device(makeCpuDevice(DType::f64, &pool), [](std::unique_ptr<Queue> inner, int rank) {
            return rank == 3 ? std::make_unique<BrokenQueue>(std::move(inner), 9) : std::move(inner);
        });
        const auto communicator = makeLocalCommunicator(pool);
        live::Run run(job(layout), {.pool = &pool, .device = &device, .communicator = communicator.get()});
        const Ended ended = endOf(run);
        EXPECT_TRUE(says(ended.why, {"step 3: ", "nan", "no weight was changed", "on rank 3", "mlp.act of layer ",
                                     "in micro-batch ", "element (3, 5) of 16 x 64 is nan"}));
        EXPECT_NE(ended.why.find(piped ? "mlp.act of layer 2" : "mlp.act of layer 0"), std::string::npos) << ended.why;
        EXPECT_EQ(ended.steps, 2);
        EXPECT_EQ(ended.squaresAfter, ended.squaresBefore);
    }
}

TEST(NotFinite, NamesAWeightThatOverflowed)
{
    for (const Settings& model : {Settings{}, kExperts + Settings{"layout.ep=2"}, Settings{"layout.zero_stage=2"},
                                  Settings{"training.optimizer=sgd", "live.clip_norm=0"}}) {
        WorkerPool pool(1);
        const auto device = makeCpuDevice(DType::f64, &pool);
        const auto communicator = makeLocalCommunicator(pool);
        live::Run run(job(model + Settings{"layout.dp=2"}),
                      {.pool = &pool, .device = device.get(), .communicator = communicator.get()});
        const Ended ended = endOf(run, [&](int step) {
            for (Rank* rank : run.ranks())
                rank->weights().forEachOwned(false, [&](const OwnedRange& own) {
                    if (step == 2 && own.parameter->spec.name == "layers.1.attention.output" && own.first == 0)
                        rank->context().queue->fill(own.master.columnRange(7, 1), kInfinity);
                });
        });
        EXPECT_TRUE(says(ended.why, {"step 3: ", "weight layers.1.attention.output", "(0, 7)", " is inf"}));
    }
}

TEST(NotFinite, SaysWhereMakingTheStepOnceMoreFindsNothing)
{
    WorkerPool pool(1);
    bool broken = false;
    /// Breaks one step and no other.
    class OnceBrokenQueue final : public QueueDecorator {
    public:
        OnceBrokenQueue(std::unique_ptr<Queue> inner, bool& isBroken) : QueueDecorator(std::move(inner)), m_broken(isBroken) {}
        void activation(ActivationFunction function, T x, T y) override
        {
            QueueDecorator::activation(function, x, y);
            if (std::exchange(m_broken, false))
                fill(y, kNan);
        }

    private:
        bool& m_broken;
    };
    DeviceDecorator device(makeCpuDevice(DType::f64, &pool), [&](std::unique_ptr<Queue> inner, int) {
        return std::make_unique<OnceBrokenQueue>(std::move(inner), broken);
    });
    const auto communicator = makeLocalCommunicator(pool);
    live::Run run(job({}), {.pool = &pool, .device = &device, .communicator = communicator.get()});
    const Ended ended = endOf(run, [&](int step) { broken = step == 1; });
    EXPECT_TRUE(says(ended.why, {"step 2: ", "does not repeat itself"}));
}

/// On a GPU nothing else shows that it goes on: a long search would count as a hang.
TEST(NotFinite, TheSearchMovesWithEveryPieceThatItReads)
{
    WorkerPool pool(1);
    const auto device = makeCpuDevice(DType::f64, &pool);
    const auto communicator = makeLocalCommunicator(pool);
    live::Run run(job({}), {.pool = &pool, .device = device.get(), .communicator = communicator.get()});
    RankContext& context = run.ranks().front()->context();
    const Array large = context.buffer(DType::f64, 1, 5 << 16);
    context.queue->fill(large, 1);
    context.inspects = true;
    const std::uint64_t before = context.flight.state().progress;
    context.inspect("weight", large);
    EXPECT_EQ(context.flight.state().progress, before + 5);
}

} // namespace
} // namespace live::test
