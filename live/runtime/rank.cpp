#include "live/runtime/rank.h"

#include "sim/error.h"
#include "sim/index.h"
#include "sim/program/states.h"
#include "sim/simulate/action_class.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <span>
#include <string>

namespace live {
namespace {

using sim::asIndex;

/// Rows of the words that are summed over all ranks at the end of a step. Those up to the squares must be finite.
enum SumRow : std::int64_t { kLossRow, kAuxiliaryRow, kSquaresRow, kStopRow, kSumRows };

} // namespace

Rank::Rank(const Job& job, const RankContext::Parts& parts)
    : m_job(job), m_context(parts), m_shape(shapeOf(job.scenario, m_context.coordinates)), m_weights(m_context, job.options)
{
    m_context.weights = &m_weights;
    m_pipeline = job.mesh.members(sim::ProcessGroup::pp, job.mesh.groupOf(sim::ProcessGroup::pp, parts.rank));
    makeStages(job);
    planTransfers();
    m_words = m_context.memory.allocate(DType::i64, kSumRows, kExactSumWords, MemoryUse::buffers);
    m_clipFactor = m_context.memory.allocate(DType::f64, 1, 1, MemoryUse::buffers);
}

void Rank::makeStages(const Job& job)
{
    const sim::Schedule& schedule = job.schedule;
    const sim::Scenario& scenario = job.scenario;
    const std::vector<int>& layers = scenario.schedule.layersPerStage;
    const std::vector<int> mine = schedule.stagesOfRank(m_context.pipelineRank);
    const bool tied = scenario.model.tieWordEmbeddings;
    const bool first = std::any_of(mine.begin(), mine.end(), [&](int stage) { return schedule.entersAt(stage); });
    const bool last = std::any_of(mine.begin(), mine.end(), [&](int stage) { return schedule.leavesAt(stage); });
    const auto vocabulary = [&](const char* name) {
        auto bucket = std::make_unique<Bucket>(name, BucketKind::dense);
        bucket->add(vocabularySpec(name, m_shape));
        bucket->frozen = scenario.model.lora.isOn();
        return bucket;
    };
    if (first || (last && tied)) {
        m_tokenBucket = vocabulary("token_embedding");
        m_tokenBucket->tied = tied;
    }
    if (last && !tied)
        m_headBucket = vocabulary("output_head");
    Parameter* tokenTable = m_tokenBucket ? m_tokenBucket->parameters[0].get() : nullptr;
    Parameter* headTable = tied ? tokenTable : m_headBucket ? m_headBucket->parameters[0].get() : nullptr;

    std::map<int, std::vector<Bucket*>> byPart; // two copies of a part lie on two ranks: both in the order of the model
    for (const int stage : mine) {
        const int part = schedule.partOf(stage);
        const auto place = asIndex(part);
        const int firstLayer = std::accumulate(layers.begin(), layers.begin() + part, 0);
        m_stages[stage] = std::make_unique<Stage>(m_context, m_shape,
                                                  Stage::Place{.stage = stage,
                                                               .firstLayer = firstLayer,
                                                               .layers = layers[place],
                                                               .hasEmbedding = schedule.entersAt(stage),
                                                               .hasHead = schedule.leavesAt(stage)},
                                                  tokenTable, headTable);
        for (const auto& bucket : m_stages[stage]->buckets())
            byPart[part].push_back(bucket.get());
    }
    std::vector<Bucket*> buckets;
    for (Bucket* bucket : {m_tokenBucket.get(), m_headBucket.get()})
        if (bucket)
            buckets.push_back(bucket);
    for (const auto& [part, ofPart] : byPart)
        buckets.insert(buckets.end(), ofPart.begin(), ofPart.end());
    m_weights.adopt(std::move(buckets), first && last && job.options.separateTiedGradients);
}

int Rank::rankOfStage(int stage) const
{
    return m_pipeline[m_job.schedule.rankOf(stage)];
}

std::optional<Rank::Transfer> Rank::inputOf(const sim::Action& action) const
{
    const bool forward = action.kind == sim::ActionKind::forward;
    const bool atEnd = forward ? m_job.schedule.entersAt(action.stage) : m_job.schedule.leavesAt(action.stage);
    if (action.kind == sim::ActionKind::backwardWeight || atEnd)
        return {};
    return Transfer{forward, action.stage, action.microbatch};
}

std::optional<Rank::Transfer> Rank::outputOf(const sim::Action& action) const
{
    const bool forward = action.kind == sim::ActionKind::forward;
    const bool atEnd = forward ? m_job.schedule.leavesAt(action.stage) : m_job.schedule.entersAt(action.stage);
    if (action.kind == sim::ActionKind::backwardWeight || atEnd)
        return {};
    return Transfer{forward, action.stage + (forward ? 1 : -1), action.microbatch};
}

/// Receives are posted in the order in which the peer sends: messages between two ranks have no names on every transport.
void Rank::planTransfers()
{
    for (std::size_t pipelineRank = 0; pipelineRank < m_pipeline.size(); ++pipelineRank) {
        const int peer = m_pipeline[pipelineRank];
        if (peer == m_context.rank)
            continue;
        for (const sim::Action& action : m_job.schedule.actions[pipelineRank])
            if (const auto output = outputOf(action); output && rankOfStage(output->receiver) == m_context.rank)
                m_arrivals[peer].order.push_back(*output);
    }
}

void Rank::makeInputs(int step)
{
    const sim::Training& training = m_job.scenario.training;
    const std::int64_t perRank = training.sequenceLength / m_shape.cp;
    const std::int64_t half = perRank / 2;
    // Context parallelism: chunk r and its mirror (see ring_attention.cpp).
    const auto globalPosition = [&](std::int64_t local) {
        if (m_shape.cp == 1)
            return local;
        const std::int64_t chunk = local < half ? m_shape.cpIndex : 2 * m_shape.cp - 1 - m_shape.cpIndex;
        return chunk * half + local % half;
    };
    const auto sequences = m_shape.sequences;
    const std::int64_t positions = m_shape.rows / sequences;
    const auto rows = asIndex(m_shape.rows);
    std::vector<std::int32_t> ids(rows), targets(rows), places(rows);
    std::vector<std::int64_t> tokens(rows);
    for (int i = 0; i < m_job.schedule.microbatches; ++i) {
        auto& input = m_inputs[asIndex(i)];
        if (!input) {
            input = std::make_unique<Input>();
            for (Array* array : {&input->ids, &input->targets, &input->positions})
                *array = m_context.buffer(DType::i32, m_shape.rows, 1);
            input->tokens = m_context.buffer(DType::i64, m_shape.rows, 1);
            if (m_job.scenario.model.isLatentAttention()) {
                input->headPositions = m_context.buffer(DType::i32, m_shape.rows * m_shape.heads, 1);
                input->headPlaces = m_context.buffer(DType::i32, m_shape.rows, m_shape.heads);
            }
            input->slice = i % m_job.schedule.slices;
            input->microbatch = i / m_job.schedule.slices;
        }
        if (!m_job.data)
            continue;
        for (std::int64_t b = 0; b < sequences; ++b) {
            const std::int64_t index =
                (std::int64_t{input->microbatch} * m_job.scenario.layout.dp + m_context.coordinates.dp) * sequences + b;
            const std::vector<std::int32_t> text = m_job.data->sequence(step, index);
            for (std::int64_t p = 0; p < positions; ++p) {
                const std::int64_t position = globalPosition(p + input->slice * positions);
                const auto row = asIndex(p * sequences + b);
                ids[row] = text[asIndex(position)];
                targets[row] = text[asIndex(position) + 1];
                places[row] = static_cast<std::int32_t>(position);
                tokens[row] = index * training.sequenceLength + position;
            }
        }
        m_context.queue->fromHost(ids.data(), input->ids);
        m_context.queue->fromHost(targets.data(), input->targets);
        m_context.queue->fromHost(places.data(), input->positions);
        m_context.queue->fromHost(tokens.data(), input->tokens);
        if (input->headPlaces)
            makeHeadRows(*input, places);
    }
}

void Rank::makeHeadRows(Input& input, const std::vector<std::int32_t>& positions)
{
    const auto heads = asIndex(m_shape.heads);
    std::vector<std::int32_t> ofHeads(positions.size() * heads), places(ofHeads.size());
    std::iota(places.begin(), places.end(), 0);
    for (std::size_t i = 0; i < ofHeads.size(); ++i)
        ofHeads[i] = positions[i / heads];
    m_context.queue->fromHost(ofHeads.data(), input.headPositions);
    m_context.queue->fromHost(places.data(), input.headPlaces);
}

Task<Array> Rank::take(const Transfer& transfer)
{
    const int from = rankOfStage(transfer.receiver + (transfer.forward ? -1 : 1));
    if (from == m_context.rank) {
        const auto place = m_local.find(transfer);
        assert(place != m_local.end()); // the schedule was checked
        Array array = std::move(place->second);
        m_local.erase(place);
        co_return array;
    }
    Arrivals& arrivals = m_arrivals.at(from);
    while (!m_received.contains(transfer)) {
        const Transfer& next = arrivals.order[arrivals.next++];
        Message& message = m_received[next];
        message.array = m_context.activations(m_shape.localRows, m_shape.hidden);
        message.transfer = std::unique_ptr<Communication>(
            new Communication(m_context.receive(from, message.array, next.forward ? "receive.activation" : "receive.gradient")));
        message.transfer->start();
    }
    Message& message = m_received.at(transfer);
    co_await message.transfer->done();
    Array array = std::move(message.array);
    m_received.erase(transfer);
    co_return array;
}

void Rank::give(const Transfer& transfer, Array array)
{
    const int to = rankOfStage(transfer.receiver);
    if (to == m_context.rank) {
        m_local[transfer] = std::move(array);
        return;
    }
    auto message = std::make_unique<Message>();
    message->array = std::move(array);
    message->transfer = std::unique_ptr<Communication>(new Communication(
        m_context.send(to, transfer.forward, message->array, transfer.forward ? "send.activation" : "send.gradient")));
    message->transfer->start();
    m_sent.push_back(std::move(message));
}

/// Frees what the receivers have taken.
void Rank::reapSends()
{
    std::erase_if(m_sent, [](const std::unique_ptr<Message>& message) {
        if (!message->transfer->isDone())
            return false;
        message->transfer->await_resume(); // records it
        return true;
    });
}

bool Rank::isLast(const sim::Action& action)
{
    return --m_gradientsLeft[action.stage] == 0 || sim::reducesEveryMicrobatch(m_job.scenario);
}

std::uint32_t Rank::actionKind(const sim::Action& action)
{
    const auto key = std::pair(static_cast<int>(action.kind), action.stage);
    const auto known = m_actionKinds.find(key);
    if (known != m_actionKinds.end())
        return known->second;
    const std::string name = std::to_string(action.stage) + sim::actionLetter(action.kind);
    return m_actionKinds[key] = m_context.kinds.id({.name = name, .opClass = sim::opClassOf(action.kind), .stage = action.stage});
}

Task<> Rank::run(const sim::Action& action)
{
    Stage& stage = *m_stages.at(action.stage);
    const Input& in = input(action.microbatch);
    m_context.flight.enter(sim::actionText(action, m_job.schedule.slices), nowNs());
    Array given;
    if (const auto from = inputOf(action))
        given = co_await take(*from);
    reapSends();
    m_context.pass = sim::opClassOf(action.kind);
    m_context.microbatch = action.microbatch;
    const std::int64_t startNs = m_context.queue->mark();
    const sim::Training& training = m_job.scenario.training;
    const double lossScale = 1.0 / (static_cast<double>(training.globalBatchSize) * training.sequenceLength);
    Array made;
    switch (action.kind) {
    case sim::ActionKind::forward:
        made = co_await stage.forward(in, std::move(given), m_words->rowRange(kLossRow, 1));
        break;
    case sim::ActionKind::backward: {
        const bool last = isLast(action);
        made = co_await stage.backward(in, std::move(given), lossScale, true, last);
        break;
    }
    case sim::ActionKind::backwardInput:
        made = co_await stage.backward(in, std::move(given), lossScale, false, false);
        break;
    case sim::ActionKind::backwardWeight: {
        const bool last = isLast(action);
        co_await stage.backwardWeight(in, last);
        break;
    }
    }
    if (m_context.recorder) {
        const std::int64_t endNs = m_context.queue->mark();
        m_context.record({.startNs = startNs,
                          .endNs = endNs,
                          .readyNs = startNs,
                          .kind = actionKind(action),
                          .microbatch = action.microbatch,
                          .step = m_context.step,
                          .track = SpanTrack::actions});
    }
    if (const auto to = outputOf(action))
        give(*to, std::move(made));
}

void Rank::inspect(Quantity quantity)
{
    if (!m_context.inspects)
        return;
    m_weights.forEachOwned(false, [&](const OwnedRange& own) {
        const bool ofValues = quantity == Quantity::value;
        if (!ofValues && !own.parameter->isTrained())
            return;
        m_context.inspect((ofValues ? "weight " : "the gradient of ") + own.parameter->spec.name,
                          ofValues ? own.master : own.gradient);
    });
}

Task<> Rank::step(int stepFromOne, double learningRate, bool inspects)
{
    m_context.inspects = inspects;
    m_context.flight.enter("the start of step " + std::to_string(stepFromOne), nowNs());
    m_context.startStep(stepFromOne);
    m_context.queue->fill(m_words, 0);
    m_context.pass = sim::OpClass::optimizer;
    m_context.microbatch = -1;
    m_weights.startStep();
    inspect(Quantity::value);
    m_inputs.resize(asIndex(m_job.schedule.microbatches));
    makeInputs(stepFromOne);
    for (auto& [peer, arrivals] : m_arrivals)
        arrivals.next = 0;
    const auto& actions = m_job.schedule.actions[asIndex(m_context.pipelineRank)];
    m_gradientsLeft.clear();
    for (const sim::Action& action : actions)
        if (action.kind == sim::ActionKind::backward || action.kind == sim::ActionKind::backwardWeight)
            ++m_gradientsLeft[action.stage];

    for (const sim::Action& action : actions)
        co_await run(action);
    m_context.pass = sim::OpClass::optimizer;
    m_context.microbatch = -1;
    m_context.flight.enter("the optimizer's step", nowNs());
    co_await finish(stepFromOne, learningRate);
    for (const auto& message : m_sent)
        co_await message->transfer->done();
    m_sent.clear();
    m_context.endStep();
    m_context.flight.enter("", nowNs());
}

Task<> Rank::finish(int stepFromOne, double learningRate)
{
    Queue& queue = *m_context.queue;
    co_await m_weights.finishGradients();
    // Not only to read: a copy from the host may wait for the queue too, which may wait for another rank of this thread.
    co_await m_context.queueReached();
    inspect(Quantity::gradient);
    if (m_onGradients)
        m_onGradients(*this);
    m_weights.addSquares(m_words->rowRange(kSquaresRow, 1));
    std::array<std::int64_t, kExactSumWords> auxiliary{};
    for (auto& [place, stage] : m_stages)
        stage->takeAuxiliaryLoss(auxiliary);
    queue.fromHost(auxiliary.data(), m_words->rowRange(kAuxiliaryRow, 1));
    std::array<std::int64_t, kExactSumWords> stop{};
    stop[0] = m_job.stop && m_job.stop->load(std::memory_order_relaxed) ? 1 : 0;
    queue.fromHost(stop.data(), m_words->rowRange(kStopRow, 1));
    queue.carryExactSums(m_words); // a rank's terms fit into the words, those of all need not
    co_await m_context.allReduce(Group::world, m_words, "sums");
    queue.clipFactor(m_words->rowRange(kLossRow, kSquaresRow + 1), m_job.scenario.live.clipNorm, m_clipFactor);
    m_weights.update(m_clipFactor, stepFromOne, learningRate);

    std::array<std::int64_t, kSumRows * kExactSumWords> words{};
    co_await m_context.queueReached();
    queue.toHost(m_words, words.data());
    m_context.throwIfAborted();
    const auto value = [&](SumRow row) {
        return exactSumValue(std::span<const std::int64_t, kExactSumWords>(words.data() + row * kExactSumWords, kExactSumWords));
    };
    const sim::Training& training = m_job.scenario.training;
    m_result = {.loss = value(kLossRow) / (static_cast<double>(training.globalBatchSize) * training.sequenceLength),
                .auxiliaryLoss = value(kAuxiliaryRow),
                .gradientNorm = std::sqrt(value(kSquaresRow)),
                .stop = words[kStopRow * kExactSumWords] != 0};
}

} // namespace live
