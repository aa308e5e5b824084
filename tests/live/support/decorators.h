// Devices and communicators with something between them and the runtime: to plant a bug, to delay, to look. What is not
// overridden is handed on.
#pragma once

#include "live/comm/communicator.h"
#include "live/kernels/device.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace live::test {

class QueueDecorator : public Queue {
public:
    using T = const Tensor&;
    explicit QueueDecorator(std::unique_ptr<Queue> inner) : m_inner(std::move(inner)) {}

    void fill(T x, double value) override { m_inner->fill(x, value); }
    void copy(T from, T to) override { m_inner->copy(from, to); }
    void add(T x, T y) override { m_inner->add(x, y); }
    void fromHost(const void* host, T x) override { m_inner->fromHost(host, x); }
    void toHost(T x, void* host) override { m_inner->toHost(x, host); }
    void synchronize() override { m_inner->synchronize(); }
    void linear(T x, T weight, T bias, T y) override { m_inner->linear(x, weight, bias, y); }
    void linearInputGradient(T dy, T weight, T dx) override { m_inner->linearInputGradient(dy, weight, dx); }
    void linearWeightGradient(T dy, T x, T dWeight, T dBias) override { m_inner->linearWeightGradient(dy, x, dWeight, dBias); }
    void addBias(T bias, T y) override { m_inner->addBias(bias, y); }
    void biasGradient(T dy, T dBias) override { m_inner->biasGradient(dy, dBias); }
    void norm(const NormRule& rule, T x, T gain, T bias, T y, T statistics) override
    {
        m_inner->norm(rule, x, gain, bias, y, statistics);
    }
    void normGradient(NormKind kind, T dy, T x, T gain, T statistics, T dx, T dGain, T dBias) override
    {
        m_inner->normGradient(kind, dy, x, gain, statistics, dx, dGain, dBias);
    }
    void activation(ActivationFunction function, T x, T y) override { m_inner->activation(function, x, y); }
    void activationGradient(ActivationFunction function, T x, T dy, T dx) override
    {
        m_inner->activationGradient(function, x, dy, dx);
    }
    void gatedActivation(ActivationFunction function, T x, T y) override { m_inner->gatedActivation(function, x, y); }
    void gatedActivationGradient(ActivationFunction function, T x, T dy, T dx) override
    {
        m_inner->gatedActivationGradient(function, x, dy, dx);
    }
    void rotate(T x, int headDim, T positions, const Rotation& rotation, bool inverse) override
    {
        m_inner->rotate(x, headDim, positions, rotation, inverse);
    }
    void attention(const AttentionShape& shape, T q, T k, T v, T o, T logSumExp) override
    {
        m_inner->attention(shape, q, k, v, o, logSumExp);
    }
    void attentionGradient(const AttentionShape& shape, T q, T k, T v, T o, T logSumExp, T dOutput, T dq, T dk, T dv,
                           bool accumulate) override
    {
        m_inner->attentionGradient(shape, q, k, v, o, logSumExp, dOutput, dq, dk, dv, accumulate);
    }
    void mergeAttention(int headDim, T oBlock, T logSumExpBlock, T o, T logSumExp) override
    {
        m_inner->mergeAttention(headDim, oBlock, logSumExpBlock, o, logSumExp);
    }
    void attentionSinks(int valueDim, T sinks, T o, T logSumExp) override
    {
        m_inner->attentionSinks(valueDim, sinks, o, logSumExp);
    }
    void attentionSinksGradient(int valueDim, T sinks, T o, T logSumExp, T dOutput, T dSinks) override
    {
        m_inner->attentionSinksGradient(valueDim, sinks, o, logSumExp, dOutput, dSinks);
    }
    void embed(T ids, T table, std::int64_t firstId, T y) override { m_inner->embed(ids, table, firstId, y); }
    void embedGradient(T ids, T dy, std::int64_t firstId, T dTable) override { m_inner->embedGradient(ids, dy, firstId, dTable); }
    void rowMaximum(T logits, std::int64_t validColumns, T maximum) override
    {
        m_inner->rowMaximum(logits, validColumns, maximum);
    }
    void exponentials(T logits, std::int64_t validColumns, T maximum, T targets, std::int64_t firstId, T partial) override
    {
        m_inner->exponentials(logits, validColumns, maximum, targets, firstId, partial);
    }
    void crossEntropy(T partial, T targets, T loss) override { m_inner->crossEntropy(partial, targets, loss); }
    void crossEntropyGradient(T exponentials, T partial, T targets, std::int64_t firstId, double lossScale) override
    {
        m_inner->crossEntropyGradient(exponentials, partial, targets, firstId, lossScale);
    }
    void dropout(const DropoutKey& key, T tokens, std::int64_t firstFeature, T x, T y) override
    {
        m_inner->dropout(key, tokens, firstFeature, x, y);
    }
    void routeTopK(const RouterRule& rule, T logits, T bias, T probabilities, T experts, T weights) override
    {
        m_inner->routeTopK(rule, logits, bias, probabilities, experts, weights);
    }
    void routeGradient(const RouterRule& rule, T logits, T probabilities, T experts, T weights, T dWeights, T auxGradient,
                       T dLogits) override
    {
        m_inner->routeGradient(rule, logits, probabilities, experts, weights, dWeights, auxGradient, dLogits);
    }
    void countExperts(T experts, T counts) override { m_inner->countExperts(experts, counts); }
    void sortByExpert(T experts, std::int64_t expertCount, T order, T place) override
    {
        m_inner->sortByExpert(experts, expertCount, order, place);
    }
    void gatherRows(T x, T index, std::int64_t divisor, T y) override { m_inner->gatherRows(x, index, divisor, y); }
    void combineRows(T x, T place, T weights, T y) override { m_inner->combineRows(x, place, weights, y); }
    void combineGradient(T x, T place, T weights, T dy, T dx, T dWeights) override
    {
        m_inner->combineGradient(x, place, weights, dy, dx, dWeights);
    }
    void sumRows(T x, T y) override { m_inner->sumRows(x, y); }
    void exactSum(T values, T words) override { m_inner->exactSum(values, words); }
    void exactSumOfSquares(T values, T words) override { m_inner->exactSumOfSquares(values, words); }
    void carryExactSums(T words) override { m_inner->carryExactSums(words); }
    void clipFactor(T words, double maxNorm, T factor) override { m_inner->clipFactor(words, maxNorm, factor); }
    void adamw(const AdamwStep& step, T clipFactor, T gradient, T firstMoment, T secondMoment, T master, T parameter) override
    {
        m_inner->adamw(step, clipFactor, gradient, firstMoment, secondMoment, master, parameter);
    }
    void sgd(double learningRate, T clipFactor, T gradient, T master, T parameter) override
    {
        m_inner->sgd(learningRate, clipFactor, gradient, master, parameter);
    }
    void keepMarks(bool keeps) override { m_inner->keepMarks(keeps); }
    std::int64_t mark() override { return m_inner->mark(); }
    bool readMarks(std::span<std::int64_t> marks) override { return m_inner->readMarks(marks); }
    void resolveMarks(std::span<std::int64_t> marks) override { m_inner->resolveMarks(marks); }
    std::uint64_t marksPassed() override { return m_inner->marksPassed(); }

private:
    std::unique_ptr<Queue> m_inner;
};

/// wrap(a queue, its rank): what the rank gets in its place. Ranks of one process are made in order, each with one queue.
class DeviceDecorator final : public Device {
public:
    using Wrap = std::function<std::unique_ptr<Queue>(std::unique_ptr<Queue>, int rank)>;
    DeviceDecorator(std::unique_ptr<Device> inner, Wrap wrap) : m_inner(std::move(inner)), m_wrap(std::move(wrap)) {}
    const DeviceInfo& info() const override { return m_inner->info(); }
    std::unique_ptr<Queue> makeQueue() override
    {
        auto queue = m_inner->makeQueue();
        const int rank = m_queues++;
        return m_wrap ? m_wrap(std::move(queue), rank) : std::move(queue);
    }
    void* allocate(std::size_t bytes) override { return m_inner->allocate(bytes); }
    void release(void* data, std::size_t bytes) noexcept override { m_inner->release(data, bytes); }

private:
    std::unique_ptr<Device> m_inner;
    Wrap m_wrap;
    int m_queues = 0;
};

/// instead(request, completion): true if it dealt with the request.
class CommunicatorDecorator final : public Communicator {
public:
    using Instead = std::function<bool(Communicator& inner, const CommRequest&, Completion&)>;
    CommunicatorDecorator(std::unique_ptr<Communicator> inner, Instead instead)
        : m_inner(std::move(inner)), m_instead(std::move(instead))
    {
    }
    std::string name() const override { return m_inner->name(); }
    void prepare(const std::vector<GroupUse>& uses) override { m_inner->prepare(uses); }
    bool completeAfter(Queue& queue, Completion& completion) override { return m_inner->completeAfter(queue, completion); }
    void issue(const CommRequest& request, Completion& completion) override
    {
        if (!m_instead || !m_instead(*m_inner, request, completion))
            m_inner->issue(request, completion);
    }
    bool poll() override { return m_inner->poll(); }
    void abort(const std::string& why) override { m_inner->abort(why); }
    void throwIfAborted() override { m_inner->throwIfAborted(); }

private:
    std::unique_ptr<Communicator> m_inner;
    Instead m_instead;
};

} // namespace live::test
