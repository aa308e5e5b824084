#include "live/runtime/weights.h"

#include "live/tasks/worker_pool.h"
#include "sim/error.h"
#include "sim/index.h"
#include "sim/program/states.h"

#include <algorithm>
#include <cassert>
#include <span>

namespace live {
namespace {

/// Elements that are made, or read into another type, at a time.
constexpr std::int64_t kPiece = 1 << 20;

} // namespace

Weights::Weights(RankContext& context, const TrainingOptions& options)
    : m_context(context), m_options(options), m_zero(context.scenario.layout.zeroStage),
      m_keepsGathered(!context.scenario.layout.reshardAfterForward),
      m_reducesEveryMicrobatch(sim::reducesEveryMicrobatch(context.scenario)),
      m_momentType(context.scenario.training.momentBytes == 2 ? DType::bf16 : context.accumulation),
      m_zeroLabel(context.kinds, "optimizer.zero", -1), m_normLabel(context.kinds, "optimizer.norm", -1),
      m_updateLabel(context.kinds, "optimizer", -1)
{
}

void Weights::adopt(std::vector<Bucket*> buckets, bool headSeparate)
{
    m_buckets = std::move(buckets);
    Memory& memory = m_context.memory;
    for (Bucket* bucket : m_buckets) {
        const Membership& group = m_context.in(shardGroup(*bucket));
        bucket->seal(m_zero >= 1 ? group.size() : 1);
        bucket->shard = m_zero >= 1 ? group.index : 0;
        const bool sharded = m_zero >= 3;
        const std::int64_t count = sharded ? bucket->shardElements() : bucket->elements;
        Array& kept = sharded ? bucket->valueShard : bucket->values;
        kept = memory.allocate(m_context.activation, 1, count, MemoryUse::parameters);
        if (bucket->frozen)
            continue;
        if (m_context.activation != m_context.accumulation)
            bucket->master = memory.allocate(m_context.accumulation, 1, bucket->shardElements(), MemoryUse::optimizer);
        if (m_context.scenario.training.optimizer == sim::Optimizer::adamw)
            for (Array* moment : {&bucket->firstMoment, &bucket->secondMoment}) {
                *moment = memory.allocate(m_momentType, 1, bucket->shardElements(), MemoryUse::optimizer);
                m_context.queue->fill(*moment, 0);
            }
        if (m_zero >= 1)
            bucket->gradientShard = memory.allocate(m_context.accumulation, 1, bucket->shardElements(), MemoryUse::gradients);
        if (m_zero < 2)
            bucket->gradients = memory.allocate(m_context.accumulation, 1, bucket->elements, MemoryUse::gradients);
        if (bucket->tied && headSeparate)
            bucket->headGradients = memory.allocate(m_context.accumulation, 1, bucket->elements, MemoryUse::gradients);
    }
}

void Weights::initialise(WorkerPool& pool)
{
    for (Bucket* bucket : m_buckets)
        initialise(*bucket, pool);
}

/// Piece by piece: exact values take twice the room of the weights.
Array Weights::pieceOfInitial(const Bucket& bucket)
{
    return m_context.memory.allocate(DType::f64, 1, std::min(kPiece, bucket.elements), MemoryUse::buffers);
}

void Weights::rehearse()
{
    for (const Bucket* bucket : m_buckets)
        pieceOfInitial(*bucket);
}

void Weights::initialise(Bucket& bucket, WorkerPool& pool)
{
    constexpr std::int64_t kGrain = 1 << 14;
    const Array exact = pieceOfInitial(bucket);
    const auto copyPart = [&](std::int64_t first, std::int64_t count, const Array& to, std::int64_t toFirst) {
        const std::int64_t begin = std::max(first, toFirst), end = std::min(first + count, toFirst + to->elements());
        if (begin < end)
            m_context.queue->copy(exact->columnRange(begin - first, end - begin), to->columnRange(begin - toFirst, end - begin));
    };
    std::vector<double> initial;
    const bool whole = static_cast<bool>(bucket.values);
    const std::int64_t kept = whole ? 0 : bucket.shardOffset();
    const std::int64_t end = whole ? bucket.elements : kept + bucket.shardElements();
    for (std::int64_t first = kept; first < end; first += kPiece) {
        const std::int64_t count = std::min(kPiece, end - first);
        initial.resize(sim::asIndex(count));
        pool.parallelFor(count, kGrain, [&](std::int64_t from, std::int64_t to) {
            initialValues(bucket, m_context.scenario.live.seed, first + from,
                          std::span(initial).subspan(sim::asIndex(from), sim::asIndex(to - from)));
        });
        m_context.queue->fromHost(initial.data(), exact->columnRange(0, count));
        copyPart(first, count, whole ? bucket.values : bucket.valueShard, kept);
        if (bucket.master)
            copyPart(first, count, bucket.master, bucket.shardOffset());
    }
}

void Weights::startStep()
{
    const KernelSpan span(m_context, m_zeroLabel);
    for (Bucket* bucket : m_buckets) {
        for (Array* gradient : {&bucket->gradients, &bucket->headGradients, &bucket->gradientShard})
            if (*gradient)
                m_context.queue->fill(*gradient, 0);
        // Before the first step too: every step makes the same requests, which are planned.
        bucket->isStale = (m_zero == 1 || m_zero == 2) && !bucket->frozen;
    }
}

Task<> Weights::acquire(Bucket& bucket)
{
    if (!isToBeGathered(bucket))
        co_return;
    startGathering(bucket);
    Gathering& gathering = m_gatherings.at(&bucket);
    co_await gathering.transfer->done();
    if (gathering.values)
        bucket.values = std::move(gathering.values);
    bucket.isStale = false;
    m_gatherings.erase(&bucket);
}

void Weights::prefetch(Bucket& bucket)
{
    if (m_context.scenario.training.overlap.paramGather && isToBeGathered(bucket))
        startGathering(bucket);
}

bool Weights::isToBeGathered(const Bucket& bucket) const
{
    return m_zero >= 3 ? !bucket.values : bucket.isStale;
}

void Weights::startGathering(Bucket& bucket)
{
    const auto [place, isNew] = m_gatherings.try_emplace(&bucket);
    if (!isNew)
        return;
    Gathering& gathering = place->second;
    if (m_zero >= 3)
        gathering.values = m_context.memory.allocate(m_context.activation, 1, bucket.elements, MemoryUse::buffers);
    const Tensor whole = m_zero >= 3 ? gathering.values.tensor() : bucket.values.tensor();
    gathering.transfer = std::unique_ptr<Communication>(new Communication(m_context.allGather(
        shardGroup(bucket), ownValues(bucket), whole.reshaped(bucket.shards, bucket.shardElements()), "weights.gather")));
    gathering.transfer->start();
}

void Weights::release(Bucket& bucket)
{
    if (m_zero >= 3 && !m_keepsGathered)
        bucket.values.reset();
}

void Weights::prepareGradients(Bucket& bucket)
{
    if (bucket.gradients || bucket.frozen)
        return;
    bucket.gradients = m_context.memory.allocate(m_context.accumulation, 1, bucket.elements, MemoryUse::buffers);
    m_context.queue->fill(bucket.gradients, 0);
}

Task<> Weights::gradientDone(Bucket& bucket)
{
    if (bucket.frozen)
        co_return;
    // Input gradients ahead of their weight gradients fill the norms' gradients early: those of this micro-batch may have been
    // reduced with an earlier one's.
    prepareGradients(bucket);
    if (bucket.partialElements > 0 && !m_context.alone(Group::tp))
        co_await m_context.allReduce(Group::tp, bucket.gradients->columnRange(0, bucket.partialElements), "gradient.sequence");
    if (!m_context.alone(Group::headCopies))
        co_await sumOverHeadCopies(bucket);
    const bool overlaps = m_context.scenario.training.overlap.gradReduce;
    if (!overlaps && !m_reducesEveryMicrobatch) {
        m_waiting.push_back(&bucket);
        co_return;
    }
    startReduction(bucket);
    if (m_reducesEveryMicrobatch) // whole gradients of two buckets at most, the one under way and the one that is made
        co_await settle(overlaps ? 1 : 0);
}

/// Keys and values lie side by side: one sum for both.
Task<> Weights::sumOverHeadCopies(const Bucket& bucket)
{
    for (std::size_t i = 0; i < bucket.parameters.size(); ++i) {
        const Parameter& first = *bucket.parameters[i];
        if (!first.spec.headCopy)
            continue;
        while (i + 1 < bucket.parameters.size() && bucket.parameters[i + 1]->spec.headCopy && bucket.parameters[i + 1]->glued)
            ++i;
        co_await m_context.allReduce(Group::headCopies, first.gradientThrough(*bucket.parameters[i]), "gradient.heads");
    }
}

void Weights::startReduction(Bucket& bucket)
{
    Reduction reduction{.bucket = &bucket};
    const Group group = shardGroup(bucket);
    if (m_zero == 0) {
        reduction.transfer =
            std::unique_ptr<Communication>(new Communication(m_context.allReduce(group, bucket.gradients, "gradient.reduce")));
    } else {
        reduction.part = m_context.buffer(m_context.accumulation, 1, bucket.shardElements());
        const Tensor rows = bucket.gradients->reshaped(bucket.shards, bucket.shardElements());
        reduction.transfer = std::unique_ptr<Communication>(
            new Communication(m_context.reduceScatter(group, rows, reduction.part, "gradient.reduce")));
        if (m_zero >= 2)
            reduction.whole = std::move(bucket.gradients);
    }
    reduction.transfer->start();
    m_reductions.push_back(std::move(reduction));
}

Task<> Weights::settle(std::size_t left)
{
    while (m_reductions.size() > left) {
        Reduction& reduction = m_reductions.front();
        co_await reduction.transfer->done();
        if (reduction.part)
            m_context.queue->add(reduction.part, reduction.bucket->gradientShard);
        m_reductions.pop_front();
    }
}

Task<> Weights::reduceTied(Bucket& bucket)
{
    prepareGradients(bucket); // a stage of a bidirectional pipeline may not have had both ends
    const Group group = shardGroup(bucket);
    for (Array* gradient : {&bucket.gradients, &bucket.headGradients}) {
        if (!*gradient)
            continue;
        if (m_zero == 0) {
            co_await m_context.allReduce(group, *gradient, "gradient.reduce");
            continue;
        }
        Array part = m_context.buffer(m_context.accumulation, 1, bucket.shardElements());
        const Tensor rows = (*gradient)->reshaped(bucket.shards, bucket.shardElements());
        co_await m_context.reduceScatter(group, rows, part, "gradient.reduce");
        m_context.queue->add(part, bucket.gradientShard);
    }
    if (m_zero == 0 && bucket.headGradients)
        m_context.queue->add(bucket.headGradients, bucket.gradients);
    if (m_zero >= 2)
        bucket.gradients.reset();
}

Task<> Weights::finishGradients()
{
    for (Bucket* bucket : m_waiting)
        startReduction(*bucket);
    m_waiting.clear();
    co_await settle();
    for (Bucket* bucket : m_buckets)
        if (bucket->tied && !bucket->frozen)
            co_await reduceTied(*bucket);
    for (Bucket* bucket : m_buckets) {
        if (bucket->frozen)
            continue;
        co_await m_context.allReduce(replicaGroup(*bucket), ownGradients(*bucket), "gradient.replicate");
        if (bucket->tied)
            co_await m_context.allReduce(Group::embedding, ownGradients(*bucket), "gradient.tied");
        else // of a bidirectional pipeline; tied weights have been summed over both of their ranks
            co_await m_context.allReduce(Group::copies, ownGradients(*bucket), "gradient.copies");
    }
}

bool Weights::counts(const Bucket& bucket) const
{
    if (m_zero == 0 && m_context.in(shardGroup(bucket)).index != 0)
        return false;
    if (m_context.in(replicaGroup(bucket)).index != 0)
        return false;
    return m_context.in(bucket.tied ? Group::embedding : Group::copies).index == 0;
}

bool Weights::counts(const ParameterSpec& spec) const
{
    return (!spec.replicated || m_context.in(Group::tp).index == 0) &&
           (!spec.headCopy || m_context.in(Group::headCopies).index == 0) &&
           (!spec.sliceCopy || m_context.coordinates.exptTp == 0);
}

Tensor Weights::ownValues(const Bucket& bucket) const
{
    if (m_zero >= 3)
        return bucket.valueShard;
    return bucket.values->columnRange(bucket.shardOffset(), bucket.shardElements());
}

Tensor Weights::ownGradients(const Bucket& bucket) const
{
    return m_zero == 0 ? bucket.gradients.tensor() : bucket.gradientShard.tensor();
}

void Weights::addSquares(const Tensor& words)
{
    const KernelSpan span(m_context, m_normLabel);
    for (const Bucket* bucket : m_buckets) {
        if (bucket->frozen || !counts(*bucket))
            continue;
        const std::int64_t begin = bucket->shardOffset();
        const std::int64_t end = begin + bucket->shardElements();
        // Runs of parameters that count alike start at whole blocks; padding is 0.
        const auto& parameters = bucket->parameters;
        for (std::size_t i = 0; i < parameters.size();) {
            std::size_t next = i + 1;
            while (next < parameters.size() && counts(parameters[next]->spec) == counts(parameters[i]->spec))
                ++next;
            const std::int64_t first = std::max(begin, parameters[i]->offset);
            const std::int64_t last = std::min(end, next < parameters.size() ? parameters[next]->offset : bucket->elements);
            if (first < last && counts(parameters[i]->spec))
                m_context.queue->exactSumOfSquares(ownGradients(*bucket).columnRange(first - begin, last - first), words);
            i = next;
        }
    }
}

void Weights::forEachOwned(bool counted, const std::function<void(const OwnedRange&)>& visit) const
{
    for (const Bucket* bucket : m_buckets) {
        if (counted && !counts(*bucket))
            continue;
        for (const auto& parameter : bucket->parameters) {
            if (counted && !counts(parameter->spec))
                continue;
            if (const OwnedRange own = ownedRange(*bucket, *parameter, parameter->offset + parameter->elements()); own.count > 0)
                visit(own);
        }
    }
}

OwnedRange Weights::ownedRange(const Bucket& bucket, const Parameter& parameter, std::int64_t end) const
{
    const std::int64_t begin = bucket.shardOffset();
    const std::int64_t first = std::max(begin, parameter.offset);
    const std::int64_t last = std::min(begin + bucket.shardElements(), end);
    OwnedRange owned{
        .parameter = &parameter, .first = first - parameter.offset, .count = std::max<std::int64_t>(last - first, 0)};
    if (owned.count == 0)
        return owned;
    const auto range = [&](const Tensor& own) { return own ? own.columnRange(first - begin, owned.count) : Tensor{}; };
    owned.value = range(ownValues(bucket));
    owned.gradient = range(ownGradients(bucket));
    owned.firstMoment = range(bucket.firstMoment);
    owned.secondMoment = range(bucket.secondMoment);
    owned.master = bucket.master ? range(bucket.master) : owned.value;
    return owned;
}

void Weights::stepAdamw(const AdamwStep& step, const Tensor& clipFactor, const OwnedRange& own)
{
    Queue& queue = *m_context.queue;
    if (m_momentType == m_context.accumulation) {
        queue.adamw(step, clipFactor, own.gradient, own.firstMoment, own.secondMoment, own.master, own.value);
        return;
    }
    // Rounded only to be kept: the step is made with the new moments as they were computed.
    const std::int64_t most = std::min(kPiece, own.count);
    const Array first = m_context.buffer(m_context.accumulation, 1, most),
                second = m_context.buffer(m_context.accumulation, 1, most);
    for (std::int64_t begin = 0; begin < own.count; begin += kPiece) {
        const std::int64_t count = std::min(kPiece, own.count - begin);
        const auto piece = [&](const Tensor& all) { return all.columnRange(begin, count); };
        const Tensor firstWide = first->columnRange(0, count), secondWide = second->columnRange(0, count);
        queue.copy(piece(own.firstMoment), firstWide);
        queue.copy(piece(own.secondMoment), secondWide);
        queue.adamw(step, clipFactor, piece(own.gradient), firstWide, secondWide, piece(own.master), piece(own.value));
        queue.copy(firstWide, piece(own.firstMoment));
        queue.copy(secondWide, piece(own.secondMoment));
    }
}

void Weights::update(const Tensor& clipFactor, std::int64_t stepFromOne, double learningRate)
{
    {
        const KernelSpan span(m_context, m_updateLabel);
        const auto step = [&](const OwnedRange& own) {
            if (m_context.scenario.training.optimizer != sim::Optimizer::adamw) {
                m_context.queue->sgd(learningRate, clipFactor, own.gradient, own.master, own.value);
                return;
            }
            stepAdamw({.learningRate = learningRate,
                       .beta1 = m_options.beta1,
                       .beta2 = m_options.beta2,
                       .epsilon = m_options.epsilon,
                       .weightDecay = own.parameter->spec.decays ? m_context.scenario.live.weightDecay : 0,
                       .step = stepFromOne},
                      clipFactor, own);
        };
        const auto alike = [](const Parameter& a, const Parameter& b) {
            return a.isTrained() == b.isTrained() && a.spec.decays == b.spec.decays;
        };
        // Parameters that are updated alike lie side by side: one kernel for each run of them, over the 0s between them too.
        for (const Bucket* bucket : m_buckets) {
            const auto& parameters = bucket->parameters;
            for (std::size_t i = 0, next = 0; i < parameters.size(); i = next) {
                next = i + 1;
                while (next < parameters.size() && alike(*parameters[next], *parameters[i]))
                    ++next;
                const Parameter& last = *parameters[next - 1];
                if (!parameters[i]->isTrained())
                    continue;
                const OwnedRange own = ownedRange(*bucket, *parameters[i], last.offset + last.elements());
                if (own.count > 0)
                    step(own);
            }
        }
    }
    if (m_zero >= 3)
        for (Bucket* bucket : m_buckets)
            bucket->values.reset();
}

void Weights::restore(Quantity quantity, const std::function<void(const ParameterSpec&, std::int64_t, std::span<double>)>& read,
                      const std::function<bool(const ParameterSpec&)>& isThere)
{
    std::vector<double> values;
    const auto fill = [&](const Bucket& bucket, const Array& array, std::int64_t first) {
        if (!array)
            return;
        const Array exact = m_context.buffer(DType::f64, 1, std::min(kPiece, array->elements()));
        for (const auto& parameter : bucket.parameters) {
            if (isThere && !isThere(parameter->spec))
                continue;
            const std::int64_t last = std::min(first + array->elements(), parameter->offset + parameter->elements());
            for (std::int64_t begin = std::max(first, parameter->offset); begin < last; begin += kPiece) {
                const std::int64_t count = std::min(kPiece, last - begin);
                values.assign(sim::asIndex(count), 0.0);
                read(parameter->spec, begin - parameter->offset, values);
                m_context.queue->fromHost(values.data(), exact->columnRange(0, count));
                m_context.queue->copy(exact->columnRange(0, count), array->columnRange(begin - first, count));
            }
        }
    };
    for (const Bucket* bucket : m_buckets) {
        switch (quantity) {
        case Quantity::value:
            fill(*bucket, bucket->values, 0);
            fill(*bucket, bucket->valueShard, bucket->shardOffset());
            fill(*bucket, bucket->master, bucket->shardOffset());
            break;
        case Quantity::gradient:
            break; // made anew in each step
        case Quantity::firstMoment:
            fill(*bucket, bucket->firstMoment, bucket->shardOffset());
            break;
        case Quantity::secondMoment:
            fill(*bucket, bucket->secondMoment, bucket->shardOffset());
            break;
        }
    }
}

} // namespace live
