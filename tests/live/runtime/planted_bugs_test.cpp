// The comparison with serial training finds the bugs that hybrid-parallel trainers have had. Each is planted under the runtime;
// the very check that passes without it must fail with it, by far more than rounding.
#include "live/tasks/worker_pool.h"
#include "tests/live/support/decorators.h"
#include "tests/live/support/jobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>

namespace live::test {
namespace {

/// A bug: a queue and a communicator that have it.
struct Bug {
    DeviceDecorator::Wrap queue;
    std::function<CommunicatorDecorator::Instead(WorkerPool&)> communicator;
};

TrainedSteps trainWith(const Bug& bug, const sim::Scenario& scenario, const TrainOptions& options)
{
    WorkerPool pool(1);
    DeviceDecorator device(makeCpuDevice(DType::f64, &pool), bug.queue);
    CommunicatorDecorator communicator(makeLocalCommunicator(pool), bug.communicator ? bug.communicator(pool) : nullptr);
    return trainSteps(scenario, options, pool, device, communicator);
}

/// The limits catch the bug, and with at least this much to spare over rounding.
constexpr double kSeenAtLeast = 1e-6;

double largest(const SerialCheck& check)
{
    double most = 0;
    for (const double apart : {check.loss, check.gradientNorm, check.gradients.relative, check.values.relative})
        most = apart <= most ? most : apart; // NaN counts as large
    return most;
}

SerialCheck expectCaught(const Bug& bug, const Settings& settings)
{
    const sim::Scenario scenario = job(settings);
    TrainOptions options;
    options.training.epsilon = 1e-5;
    const TrainedSteps serial = trainSerially(scenario, options);
    const SerialCheck sound = compareSteps(serial, trainWith({}, scenario, options));
    EXPECT_TRUE(isWithin(sound, limitsOf(scenario))) << "without the bug";
    EXPECT_TRUE(sound.isRounding(scenario.live.dtype)) << sound.text();
    SerialCheck check = compareSteps(serial, trainWith(bug, scenario, options));
    EXPECT_FALSE(isWithin(check, limitsOf(scenario))) << "with the bug";
    EXPECT_FALSE(largest(check) <= kSeenAtLeast) << check.text();
    EXPECT_FALSE(check.isRounding(scenario.live.dtype)) << check.text();
    testing::Test::RecordProperty("difference", check.text());
    return check;
}

/// A queue of type Q for all ranks, or for those that are told.
template <class Q>
DeviceDecorator::Wrap onRanks(const std::function<bool(int)>& which = {})
{
    return [which](std::unique_ptr<Queue> inner, int rank) -> std::unique_ptr<Queue> {
        if (which && !which(rank))
            return inner;
        return std::make_unique<Q>(std::move(inner));
    };
}

Bug skip(const std::string& what)
{
    return {.communicator = [what](WorkerPool& pool) {
        return [&pool, what](Communicator&, const CommRequest& request, Completion& completion) {
            if (request.what != what)
                return false;
            completion.finish(pool);
            return true;
        };
    }};
}

TEST(PlantedBug, LossNotDividedByTheMicrobatches)
{
    struct Wrong final : QueueDecorator {
        using QueueDecorator::QueueDecorator;
        void crossEntropyGradient(T exponentials, T partial, T targets, std::int64_t firstId, double lossScale) override
        {
            constexpr double kMicrobatches = 4;
            QueueDecorator::crossEntropyGradient(exponentials, partial, targets, firstId, lossScale * kMicrobatches);
        }
    };
    const SerialCheck check = expectCaught({.queue = onRanks<Wrong>()}, {"layout.pp=2", "training.global_batch_size=4"});
    EXPECT_NEAR(check.firstStepNorm, 3, 1e-9) << "Adam hides a factor of the gradients; their norm does not";
    EXPECT_LT(check.loss, 1e-6) << "the loss alone would not tell";
}

TEST(PlantedBug, ReplicatedGradientsCountedByEveryRankInTheNorm)
{
    struct Wrong final : QueueDecorator {
        using QueueDecorator::QueueDecorator;
        void exactSumOfSquares(T values, T words) override
        {
            QueueDecorator::exactSumOfSquares(values, words);
            constexpr std::int64_t kVectors = 512; // norms and biases lie together; matrices are larger
            if (values.elements() <= kVectors)
                QueueDecorator::exactSumOfSquares(values, words);
        }
    };
    const SerialCheck check = expectCaught({.queue = onRanks<Wrong>()}, {"layout.tp=2"});
    EXPECT_LE(check.gradients.relative, 1e-11) << "only the norm is wrong";
}

TEST(PlantedBug, TiedGradientsNotSummed)
{
    expectCaught(skip("gradient.tied"), kTied + Settings{"layout.pp=2"});
}

TEST(PlantedBug, GradientsOfSharedHeadsNotSummed)
{
    expectCaught(skip("gradient.heads"), kLlama + kCopiedHeads + Settings{"layout.tp=4"});
}

TEST(PlantedBug, GradientsOfGatheredHeadsNotSummed)
{
    expectCaught(skip("attn.qkv.scatter"), kLlama + Settings{"layout.tp=4"});
}

TEST(PlantedBug, OutputsOfExpertsSlicesNotSummed)
{
    expectCaught(skip("moe.reduce"), kExperts + kTp2 + Settings{"layout.etp=2"});
}

TEST(PlantedBug, LatentGradientsNotSummedOverHeads)
{
    expectCaught(skip("attn.sum"), kDeepSeek + kTp2 + Settings{"model.num_experts=0"});
}

TEST(PlantedBug, WindowThatForgetsWhereABlockOfKeysLies)
{
    struct Wrong final : QueueDecorator {
        using QueueDecorator::QueueDecorator;
        void attention(const AttentionShape& shape, T q, T k, T v, T o, T logSumExp) override
        {
            AttentionShape wrong = shape;
            wrong.diagonal = 0;
            QueueDecorator::attention(wrong, q, k, v, o, logSumExp);
        }
    };
    expectCaught({.queue = onRanks<Wrong>()}, {"layout.cp=2", "model.sliding_window=5"});
}

TEST(PlantedBug, GradientsOfSequencePartsNotSummed)
{
    expectCaught(skip("gradient.sequence"), {"layout.tp=2", "layout.sequence_parallel=true"});
}

TEST(PlantedBug, GradientsOfReplicasNotSummed)
{
    expectCaught(skip("gradient.replicate"),
                 {"layout.dp=4", "layout.dp_shard=2", "layout.zero_stage=2", "training.global_batch_size=8"});
}

TEST(PlantedBug, GradientsOfBothDirectionsNotSummed)
{
    expectCaught(skip("gradient.copies"), {"layout.pp=2", "schedule.kind=dualpipe", "schedule.virtual_stages=2"});
}

TEST(PlantedBug, ExpertGradientsAveragedOverTheirRanks)
{
    const Bug bug{.communicator = [](WorkerPool&) {
        return [](Communicator&, const CommRequest& request, Completion&) {
            if (request.what == "gradient.reduce" && request.group->name == "expert_dp")
                for (std::int64_t i = 0; i < request.input.elements(); ++i)
                    request.input.as<double>()[i] /= request.group->size();
            return false;
        };
    }};
    expectCaught(bug, kExperts + Settings{"layout.dp=4", "layout.ep=2"});
}

TEST(PlantedBug, PositionsOfAContextRankShifted)
{
    struct Wrong final : QueueDecorator {
        using QueueDecorator::QueueDecorator;
        void rotate(T x, int headDim, T positions, const Rotation& rotation, bool inverse) override
        {
            std::vector<std::int32_t> shifted(positions.as<std::int32_t>(), positions.as<std::int32_t>() + positions.rows);
            for (std::int32_t& position : shifted)
                ++position;
            const Tensor wrong{shifted.data(), DType::i32, positions.rows, 1, 1};
            QueueDecorator::rotate(x, headDim, wrong, rotation, inverse);
        }
    };
    expectCaught({.queue = onRanks<Wrong>([](int rank) { return rank == 1; })}, kLlama + Settings{"layout.cp=2"});
}

TEST(PlantedBug, PositionsLookedUpAsIfTheSequenceWereWhole)
{
    struct Wrong final : QueueDecorator {
        using QueueDecorator::QueueDecorator;
        void fromHost(const void* host, T x) override
        {
            QueueDecorator::fromHost(host, x);
            if (x.type != DType::i32 || x.columns != 1) { // the tokens' numbers end an input
                m_ofInput = 0;
                return;
            }
            if (++m_ofInput == 3) // ids, targets, positions
                for (std::int64_t row = 0; row < x.rows; ++row)
                    x.as<std::int32_t>()[row] = static_cast<std::int32_t>(row);
        }
        int m_ofInput = 0;
    };
    expectCaught({.queue = onRanks<Wrong>()}, {"layout.cp=2"});
}

/// What the last step does to the weights, no loss, norm or gradient tells.
TEST(PlantedBug, LastUpdateNotMadeOnARank)
{
    struct Wrong final : QueueDecorator {
        using QueueDecorator::QueueDecorator;
        void adamw(const AdamwStep& step, T clipFactor, T gradient, T firstMoment, T secondMoment, T master, T parameter) override
        {
            if (step.step < TrainOptions{}.steps)
                QueueDecorator::adamw(step, clipFactor, gradient, firstMoment, secondMoment, master, parameter);
        }
    };
    const Settings zero1 = {"layout.dp=4", "layout.zero_stage=1"};
    const SerialCheck check = expectCaught({.queue = onRanks<Wrong>([](int rank) { return rank == 1; })}, zero1);
    EXPECT_LE(std::max({check.loss, check.gradientNorm, check.gradients.relative}), 1e-11) << "the weights alone would tell";
    EXPECT_GT(check.updates.relative, 0.1);
}

TEST(PlantedBug, RanksDrawDifferentDropout)
{
    struct Wrong final : QueueDecorator {
        using QueueDecorator::QueueDecorator;
        void dropout(const DropoutKey& key, T tokens, std::int64_t firstFeature, T x, T y) override
        {
            DropoutKey other = key;
            ++other.seed;
            QueueDecorator::dropout(other, tokens, firstFeature, x, y);
        }
    };
    expectCaught({.queue = onRanks<Wrong>([](int rank) { return rank == 1; })}, {"layout.tp=2", "live.dropout=0.1"});
}

TEST(PlantedBug, OneHopOfTheRingGoesBackwards)
{
    struct Reversed {
        std::mutex mutex;
        std::deque<CommRequest> requests; ///< stay until the end
        std::map<int, int> hops;          ///< by member
    };
    const auto state = std::make_shared<Reversed>();
    const Bug bug{.communicator = [state](WorkerPool&) {
        return [state](Communicator& inner, const CommRequest& request, Completion& completion) {
            if (request.what != "ring.kv")
                return false;
            CommRequest* reversed = nullptr;
            {
                const std::lock_guard lock(state->mutex);
                if (state->hops[request.member]++ != 0)
                    return false;
                reversed = &state->requests.emplace_back(request);
            }
            std::swap(reversed->sendRows, reversed->receiveRows); // to whom it comes from otherwise
            inner.issue(*reversed, completion);
            return true;
        };
    }};
    expectCaught(bug, {"layout.cp=4"});
}

TEST(PlantedBug, BufferReusedBetweenInputAndWeightGradient)
{
    struct Wrong final : QueueDecorator {
        using QueueDecorator::QueueDecorator;
        void linearInputGradient(T dy, T weight, T dx) override
        {
            QueueDecorator::linearInputGradient(dy, weight, dx);
            constexpr std::int64_t kInner = 64; // of the MLP: after this only its weight gradient reads it
            if (dy.columns == kInner)
                QueueDecorator::fill(dy, 1e-3);
        }
    };
    expectCaught({.queue = onRanks<Wrong>()}, {"layout.pp=2", "schedule.kind=zb-h1"});
}

TEST(PlantedBug, OneTransferLost)
{
    const auto lost = std::make_shared<int>(0);
    const Bug bug{.communicator = [lost](WorkerPool&) {
        return [lost](Communicator&, const CommRequest& request, Completion&) {
            if (request.kind == CommKind::send && request.what == "send.gradient" && ++*lost == 3) // a stale buffer is sent
                std::fill_n(request.input.as<double>(), request.input.elements(), 0.0);
            return false;
        };
    }};
    expectCaught(bug, {"layout.pp=2"});
}

} // namespace
} // namespace live::test
