#include "live/model/moe.h"

#include "live/model/dropout.h"
#include "sim/index.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace live {

using sim::asIndex;

namespace {

RouterRule ruleOf(const sim::Model& model)
{
    const bool isSigmoid = model.scoringFunction == sim::ScoringFunction::sigmoid;
    return {.score = isSigmoid ? RouterRule::Score::sigmoid : RouterRule::Score::softmax,
            .groups = model.expertGroups,
            .chosenGroups = model.chosenGroups,
            .normalized = model.normTopkProb,
            .scale = model.routedScalingFactor};
}

} // namespace

Moe::Moe(RankContext& context, const Shape& shape, Bucket& dense, Bucket& experts, const std::string& prefix, int stage,
         int layer)
    : m_context(context), m_shape(shape), m_layer(layer), m_dropped(droppedModules(context.scenario.training)),
      m_norm(context, shape, dense, prefix + ".mlp_norm", "moe.norm", stage, layer), m_gated(context.scenario.model.gatedMlp),
      m_activation(activationOf(context.scenario.model)), m_experts(context.scenario.model.numExperts),
      m_choices(context.scenario.model.numExpertsPerTok),
      m_columns(context.scenario.model.moeIntermediateSize / context.scenario.layout.etp), m_rows(shape.localRows),
      m_rule(ruleOf(context.scenario.model)),
      m_routeLabel(context.kinds, "moe.router", stage, layer, KernelLabel::Operator::linear),
      m_permuteLabel(context.kinds, "moe.permute", stage, layer),
      m_upLabel(context.kinds, "moe.up", stage, layer, KernelLabel::Operator::linear),
      m_activationLabel(context.kinds, "moe.act", stage, layer),
      m_downLabel(context.kinds, "moe.down", stage, layer, KernelLabel::Operator::linear),
      m_combineLabel(context.kinds, "moe.unpermute", stage, layer), m_addLabel(context.kinds, "moe.residual", stage, layer)
{
    const sim::Model& model = context.scenario.model;
    const sim::Layout& layout = context.scenario.layout;
    if (repeatsTokens()) {
        m_firstRow = shape.rows * shape.tpIndex / shape.tp;
        m_rows = shape.rows * (shape.tpIndex + 1) / shape.tp - m_firstRow;
    }
    m_router = &dense.add(replicated(rowsOfMatrix(prefix + ".router", m_experts, shape.hidden), shape.tp > 1));
    if (model.routerBias)
        m_routerBias = &dense.add(replicated(sliceOfVector(prefix + ".router_bias", m_experts), shape.tp > 1));
    if (model.numSharedExperts > 0)
        m_shared = std::make_unique<FeedForward>(context, shape, dense, nullptr, FeedForward::kShared, prefix + ".shared_expert",
                                                 std::int64_t{model.numSharedExperts} * model.moeIntermediateSize, stage, layer);
    const std::int64_t perRank = m_experts / layout.ep;
    const Slice slice{context.coordinates.exptTp, layout.etp};
    for (std::int64_t i = 0; i < perRank; ++i) {
        const std::string name = prefix + ".experts." + std::to_string(perRank * context.coordinates.ep + i);
        const auto inner = [&](const char* part) { return rowsOfMatrix(name + part, m_columns, shape.hidden, slice); };
        Expert expert;
        if (m_gated)
            expert.gate = &experts.add(inner(".gate"));
        expert.up = &experts.add(inner(".up"), m_gated);
        expert.down = &experts.add(columnsOfMatrix(name + ".down", shape.hidden, m_columns, slice, model.numHiddenLayers));
        if (model.hasExpertBias()) {
            if (m_gated)
                expert.gateBias = &experts.add(sliceOfVector(name + ".gate_bias", m_columns, slice));
            expert.upBias = &experts.add(sliceOfVector(name + ".up_bias", m_columns, slice), m_gated);
            ParameterSpec down = sliceOfVector(name + ".down_bias", shape.hidden);
            down.sliceCopy = true;
            expert.downBias = &experts.add(down);
        }
        m_local.push_back(expert);
    }
    const sim::Mesh mesh(layout);
    const Membership& group = context.in(Group::experts);
    for (int member = 0; member < group.size(); ++member) {
        const sim::Coordinates its = group.group ? mesh.coordinates(group.group->ranks[asIndex(member)]) : context.coordinates;
        m_places.push_back({.slice = its.exptTp, .expertRank = its.ep});
    }
}

Tensor Moe::upOf(const Expert& expert, bool gradient) const
{
    const Parameter& first = m_gated ? *expert.gate : *expert.up;
    const Tensor flat = gradient ? first.gradientThrough(*expert.up) : first.valueThrough(*expert.up);
    return flat.reshaped(m_columns * (m_gated ? 2 : 1), m_shape.hidden);
}

Tensor Moe::upBiasOf(const Expert& expert, bool gradient) const
{
    if (!expert.upBias)
        return {};
    const Parameter& first = m_gated ? *expert.gateBias : *expert.upBias;
    return gradient ? first.gradientThrough(*expert.upBias) : first.valueThrough(*expert.upBias);
}

/// The layers of the experts with rows, of weights and biases as weight(expert) and bias(expert) give them.
template <class Weight, class Bias>
std::vector<LinearPart> Moe::parts(const MoeSaved& saved, const Weight& weight, const Bias& bias) const
{
    std::vector<LinearPart> parts;
    for (std::size_t i = 0; i < m_local.size(); ++i)
        if (saved.expertRows[i] > 0)
            parts.push_back({.weight = weight(m_local[i]), .bias = bias(m_local[i]), .rows = saved.expertRows[i]});
    return parts;
}

std::vector<LinearPart> Moe::upParts(const MoeSaved& saved, bool gradient) const
{
    return parts(
        saved, [&](const Expert& expert) { return upOf(expert, gradient); },
        [&](const Expert& expert) { return upBiasOf(expert, gradient); });
}

std::vector<LinearPart> Moe::downParts(const MoeSaved& saved) const
{
    return parts(
        saved, [](const Expert& expert) { return expert.down->value(); },
        [&](const Expert& expert) { return addsDownBias(expert) ? expert.downBias->value() : Tensor{}; });
}

std::vector<LinearPart> Moe::downGradientParts(const MoeSaved& saved) const
{
    return parts(
        saved, [](const Expert& expert) { return expert.down->gradient(); },
        [](const Expert& expert) { return expert.downBias ? expert.downBias->gradient() : Tensor{}; });
}

Task<> Moe::route(const Input& input, MoeSaved& saved)
{
    Queue& queue = *m_context.queue;
    {
        const KernelSpan span(m_context, m_routeLabel);
        saved.logits = m_context.statistics(m_rows, m_experts);
        const bool isSigmoid = m_rule.score == RouterRule::Score::sigmoid;
        queue.linear(ownRows(saved.normalized), m_router->value(), {}, saved.logits);
        Array bias; // of the logits; with sigmoid of the choice alone
        if (m_routerBias) {
            bias = m_context.statistics(1, m_experts);
            queue.copy(m_routerBias->value(), bias);
            if (!isSigmoid)
                queue.addBias(bias, saved.logits);
        }
        m_context.inspect(m_routeLabel, saved.logits);
        saved.probabilities = m_context.statistics(m_rows, m_experts);
        saved.experts = m_context.memory.allocate(DType::i32, m_rows, m_choices);
        saved.weights = m_context.statistics(m_rows, m_choices);
        queue.routeTopK(m_rule, saved.logits, bias && isSigmoid ? bias.tensor() : Tensor{}, saved.probabilities, saved.experts,
                        saved.weights);
        if (!isSigmoid)
            saved.logits.reset(); // the probabilities say all
        saved.order = m_context.memory.allocate(DType::i32, m_rows * m_choices, 1);
        saved.place = m_context.memory.allocate(DType::i32, m_rows, m_choices);
        queue.sortByExpert(saved.experts, m_experts, saved.order, saved.place);
    }
    co_await planExchange(saved);
    if (m_context.scenario.live.auxiliaryLoss != 0)
        co_await balance(input, saved);
}

Task<> Moe::planExchange(MoeSaved& saved)
{
    Queue& queue = *m_context.queue;
    const Membership& group = m_context.in(Group::experts);
    const std::int64_t members = group.size();
    const Array counts = m_context.memory.allocate(DType::i64, 1, m_experts);
    queue.countExperts(saved.experts, counts);
    const Array allCounts = m_context.memory.allocate(DType::i64, members, m_experts);
    co_await m_context.allGather(Group::experts, counts, allCounts, "moe.counts");
    std::vector<std::int64_t> table(asIndex(members * m_experts));
    co_await m_context.queueReached();
    queue.toHost(allCounts, table.data());
    m_context.throwIfAborted(); // else they may be any numbers

    if (Recorder* recorder = m_context.recorder; recorder && recorder->keepsRouting && group.index == 0) {
        std::vector<std::int64_t>& chosen = recorder->routings.emplace_back(asIndex(m_experts), 0);
        for (std::size_t i = 0; i < table.size(); ++i)
            chosen[i % chosen.size()] += table[i];
    }
    const auto perRank = static_cast<std::int64_t>(m_local.size());
    const int ranks = m_context.in(Group::expertParallel).size(), slices = m_context.in(Group::expertTensor).size();
    const Place own = m_places[asIndex(group.index)];
    const auto rowsFor = [&](std::int64_t source, std::int64_t expertRank) {
        const auto first = table.begin() + source * m_experts + expertRank * perRank;
        return std::accumulate(first, first + perRank, std::int64_t{0});
    };
    saved.sendRows.assign(asIndex(ranks), 0);
    for (int expertRank = 0; expertRank < ranks; ++expertRank)
        saved.sendRows[asIndex(expertRank)] = rowsFor(group.index, expertRank);
    // What comes to a slice lies there by source; from there on all slices have all.
    std::vector<std::int64_t> arrived(asIndex(slices * ranks), 0); // [slice][source]
    for (std::int64_t source = 0; source < members; ++source) {
        const Place place = m_places[asIndex(source)];
        arrived[asIndex(place.slice * ranks + place.expertRank)] = rowsFor(source, own.expertRank);
    }
    const auto ofSlice = [&](int slice) { return arrived.begin() + std::ptrdiff_t{slice} * ranks; };
    saved.receiveRows.assign(ofSlice(own.slice), ofSlice(own.slice + 1));
    saved.sliceRows.clear();
    for (int slice = 0; slice < slices; ++slice)
        saved.sliceRows.push_back(std::accumulate(ofSlice(slice), ofSlice(slice + 1), std::int64_t{0}));
    saved.paddedRows = *std::max_element(saved.sliceRows.begin(), saved.sliceRows.end());
    if (slices > 1)
        saved.paddedRows = std::max<std::int64_t>(1, saved.paddedRows);
    // Rows of a source come by expert; experts want theirs together, sources in order.
    std::vector<std::int64_t> next, padding; // by [slice][source]: the row of its next expert, and how many before it are none
    std::int64_t total = 0;
    for (int slice = 0; slice < slices; ++slice)
        for (auto rows = ofSlice(slice); rows != ofSlice(slice + 1); ++rows) {
            const std::int64_t before = std::accumulate(ofSlice(slice), rows, std::int64_t{0});
            next.push_back(slice * saved.paddedRows + before);
            padding.push_back(next.back() - total);
            total += *rows;
        }
    std::vector<std::int32_t> toSorted, fromSorted(asIndex(total));
    toSorted.reserve(asIndex(total));
    saved.expertRows.assign(m_local.size(), 0);
    for (std::int64_t expert = 0; expert < perRank; ++expert)
        for (std::int64_t source = 0; source < members; ++source) {
            const std::size_t place = asIndex(m_places[asIndex(source)].slice * ranks + m_places[asIndex(source)].expertRank);
            const std::int64_t count = table[asIndex(source * m_experts + own.expertRank * perRank + expert)];
            saved.expertRows[asIndex(expert)] += count;
            for (std::int64_t i = 0; i < count; ++i) {
                const std::int64_t row = next[place]++;
                fromSorted[asIndex(row - padding[place])] = static_cast<std::int32_t>(toSorted.size());
                toSorted.push_back(static_cast<std::int32_t>(row));
            }
        }
    saved.toSorted = m_context.memory.allocate(DType::i32, total, 1);
    saved.fromSorted = m_context.memory.allocate(DType::i32, total, 1);
    queue.fromHost(toSorted.data(), saved.toSorted);
    queue.fromHost(fromSorted.data(), saved.fromSorted);
}

/// A = a E sum_i f_i P_i over the micro-batch's tokens, f_i = n_i / (T k) (no gradient), P_i = mean of p_i. As in Megatron Core,
/// counts are summed over the ranks that share the micro-batch, the sums of p stay local. Where sequences come in slices the
/// counts are known with the last of them: before the first of their backward passes.
Task<> Moe::balance(const Input& input, const MoeSaved& saved)
{
    if (m_context.pass != sim::OpClass::forward)
        co_return; // made again: known from the first time
    Queue& queue = *m_context.queue;
    const Array counts = m_context.memory.allocate(DType::i64, 1, m_experts);
    queue.countExperts(saved.experts, counts);
    co_await m_context.allReduce(Group::tokens, counts, "moe.balance");
    const Array sums = m_context.statistics(1, m_experts), exactSums = m_context.memory.allocate(DType::f64, 1, m_experts);
    queue.sumRows(saved.probabilities, sums);
    queue.copy(sums, exactSums);
    std::vector<std::int64_t> chosen(asIndex(m_experts));
    std::vector<double> sum(asIndex(m_experts));
    co_await m_context.queueReached();
    queue.toHost(counts, chosen.data());
    queue.toHost(exactSums, sum.data());

    Balance& balance = m_balances[input.microbatch];
    balance.chosen.resize(asIndex(m_experts));
    std::transform(chosen.begin(), chosen.end(), balance.chosen.begin(), balance.chosen.begin(), std::plus<>());
    balance.sums.push_back(std::move(sum));
    if (static_cast<int>(balance.sums.size()) < m_shape.slices)
        co_return;
    const sim::Scenario& scenario = m_context.scenario;
    const double tokens = static_cast<double>(scenario.training.sequenceLength) * scenario.training.microBatchSize;
    const double share = 1.0 / (static_cast<double>(scenario.microbatches()) * scenario.layout.dp);
    const double factor = scenario.live.auxiliaryLoss * static_cast<double>(m_experts) * share / tokens;
    std::vector<double> gradient(asIndex(m_experts));
    for (std::size_t e = 0; e < gradient.size(); ++e)
        gradient[e] = factor * static_cast<double>(balance.chosen[e]) / (tokens * static_cast<double>(m_choices));
    const Array exact = m_context.memory.allocate(DType::f64, 1, m_experts);
    queue.fromHost(gradient.data(), exact);
    balance.gradient = m_context.statistics(1, m_experts);
    queue.copy(exact, balance.gradient);
    for (const std::vector<double>& ofSlice : balance.sums)
        for (std::size_t e = 0; e < gradient.size(); ++e)
            addToExactSum(auxiliaryLoss, gradient[e] * ofSlice[e]);
}

Task<Array> Moe::exchangeOut(Tensor slots, const MoeSaved& saved)
{
    Queue& queue = *m_context.queue;
    const Membership& slices = m_context.in(Group::expertTensor);
    const std::int64_t received = saved.sliceRows[asIndex(slices.index)];
    Array all = m_context.activations(saved.paddedRows, m_shape.hidden);
    co_await m_context.allToAll(Group::expertParallel, slots, saved.sendRows, all->rowRange(0, received), saved.receiveRows,
                                "moe.dispatch");
    if (!m_context.alone(Group::expertTensor)) {
        const Array own = std::move(all);
        queue.fill(own->rowRange(received, saved.paddedRows - received), 0);
        all = m_context.activations(saved.paddedRows * slices.size(), m_shape.hidden);
        co_await m_context.allGather(Group::expertTensor, own, all, "moe.gather");
    }
    const KernelSpan span(m_context, m_permuteLabel);
    Array sorted = m_context.activations(saved.toSorted->rows, m_shape.hidden);
    queue.gatherRows(all, saved.toSorted, 1, sorted);
    co_return sorted;
}

Task<Array> Moe::exchangeBack(Tensor sorted, const MoeSaved& saved)
{
    Queue& queue = *m_context.queue;
    const Membership& slices = m_context.in(Group::expertTensor);
    Array own = m_context.activations(saved.paddedRows * slices.size(), m_shape.hidden);
    {
        const KernelSpan span(m_context, m_permuteLabel);
        std::int64_t done = 0;
        for (std::int64_t slice = 0; slice < slices.size(); ++slice) {
            const std::int64_t rows = saved.sliceRows[asIndex(slice)], first = slice * saved.paddedRows;
            queue.gatherRows(sorted, saved.fromSorted->rowRange(done, rows), 1, own->rowRange(first, rows));
            queue.fill(own->rowRange(first + rows, saved.paddedRows - rows), 0);
            done += rows;
        }
    }
    if (!m_context.alone(Group::expertTensor)) {
        const Array all = std::move(own);
        own = m_context.activations(saved.paddedRows, m_shape.hidden);
        co_await m_context.reduceScatter(Group::expertTensor, all, own, "moe.reduce");
    }
    Array slots = m_context.activations(m_rows * m_choices, m_shape.hidden);
    co_await m_context.allToAll(Group::expertParallel, own->rowRange(0, saved.sliceRows[asIndex(slices.index)]),
                                saved.receiveRows, slots, saved.sendRows, "moe.combine");
    co_return slots;
}

template <class Make>
Task<Array> Moe::wholeRows(Make make)
{
    Array y = m_context.activations(m_shape.localRows, m_shape.hidden);
    const bool isEven = m_shape.rows % m_shape.tp == 0;
    if (repeatsTokens() && !isEven)
        m_context.queue->fill(y, 0);
    make(ownRows(y));
    if (repeatsTokens() && isEven)
        co_await m_context.allGather(Group::tp, ownRows(y), y, "moe.collect");
    else if (repeatsTokens()) // others' rows are 0
        co_await m_context.allReduce(Group::tp, y, "moe.sum");
    co_return y;
}

Task<Array> Moe::forward(const Input& input, Array x, MoeSaved& saved)
{
    saved.input = std::move(x);
    saved.normalized = m_norm.forward(saved.input, saved.statistics);
    Array y = co_await run(input, saved);
    const KernelSpan span(m_context, m_combineLabel);
    dropoutRows(m_context, m_shape, input, m_layer, DropoutSite::mlp, y);
    m_context.queue->add(saved.input, y);
    m_context.inspect(m_addLabel, y);
    drop(saved);
    co_return y;
}

void Moe::drop(MoeSaved& saved) const
{
    using sim::RecomputeModule;
    if (m_dropped.has(RecomputeModule::layernorm))
        saved.normalized.reset();
    if (m_dropped.has(RecomputeModule::moe)) {
        MoeSaved kept;
        kept.input = std::move(saved.input);
        kept.statistics = std::move(saved.statistics);
        kept.normalized = std::move(saved.normalized);
        saved = std::move(kept);
    }
    if (m_dropped.has(RecomputeModule::moeActivation))
        saved.hidden.reset();
    if (m_dropped.has(RecomputeModule::sharedExperts))
        saved.shared = {};
}

Task<> Moe::restore(const Input& input, MoeSaved& saved)
{
    using sim::RecomputeModule;
    if (m_dropped.has(RecomputeModule::layernorm))
        saved.normalized = m_norm.forward(saved.input, saved.statistics);
    if (m_dropped.has(RecomputeModule::moe)) {
        co_await run(input, saved);
        co_return;
    }
    if (m_dropped.has(RecomputeModule::moeActivation)) {
        const KernelSpan span(m_context, m_activationLabel);
        saved.hidden = m_context.activations(saved.up->rows, m_columns);
        activate(*m_context.queue, m_activation, m_gated, saved.up, saved.hidden);
    }
    if (m_shared && m_dropped.has(RecomputeModule::sharedExperts))
        co_await m_shared->forward(saved.normalized, saved.shared);
}

Task<Array> Moe::run(const Input& input, MoeSaved& saved)
{
    Queue& queue = *m_context.queue;
    co_await route(input, saved);
    Array slots = m_context.activations(m_rows * m_choices, m_shape.hidden);
    {
        const KernelSpan span(m_context, m_permuteLabel);
        queue.gatherRows(ownRows(saved.normalized), saved.order, m_choices, slots);
    }
    saved.expertInput = co_await exchangeOut(slots, saved);
    slots.reset();
    const std::int64_t received = saved.expertInput->rows;
    saved.up = m_context.activations(received, m_columns * (m_gated ? 2 : 1));
    saved.hidden = m_context.activations(received, m_columns);
    Array expertOutput = m_context.activations(received, m_shape.hidden);
    {
        const KernelSpan span(m_context, m_upLabel);
        queue.linearParts(upParts(saved, false), saved.expertInput, saved.up);
    }
    {
        const KernelSpan span(m_context, m_activationLabel);
        activate(queue, m_activation, m_gated, saved.up, saved.hidden);
    }
    m_context.inspect(m_upLabel, saved.up);
    m_context.inspect(m_activationLabel, saved.hidden);
    {
        const KernelSpan span(m_context, m_downLabel);
        queue.linearParts(downParts(saved), saved.hidden, expertOutput);
    }
    saved.routed = co_await exchangeBack(expertOutput, saved);
    expertOutput.reset();
    const auto combine = [&](const Tensor& own) {
        const KernelSpan span(m_context, m_combineLabel);
        queue.combineRows(saved.routed, saved.place, saved.weights, own);
    };
    Array y = co_await wholeRows(combine);
    if (m_shared) {
        const Array ofShared = co_await m_shared->forward(saved.normalized, saved.shared);
        const KernelSpan span(m_context, m_combineLabel);
        queue.add(ofShared, y);
    }
    co_return y;
}

Task<Array> Moe::backwardInput(const Input& input, Array dy, MoeSaved& saved, bool ofWeights)
{
    Queue& queue = *m_context.queue;
    const std::int64_t slotCount = m_rows * m_choices;
    Array dResidual = m_context.activations(dy->rows, dy->columns);
    queue.copy(dy, dResidual);
    dropoutRows(m_context, m_shape, input, m_layer, DropoutSite::mlp, dy);
    Array dSlots = m_context.activations(slotCount, m_shape.hidden);
    Array dWeights = m_context.statistics(m_rows, m_choices);
    {
        const KernelSpan span(m_context, m_combineLabel);
        queue.combineGradient(saved.routed, saved.place, saved.weights, ownRows(dy), dSlots, dWeights);
    }
    saved.routed.reset();
    saved.dExpertOutput = co_await exchangeOut(dSlots, saved);
    const std::int64_t received = saved.dExpertOutput->rows;
    Array dHidden = m_context.activations(received, m_columns);
    {
        const KernelSpan span(m_context, m_downLabel);
        queue.linearPartsInputGradient(downParts(saved), saved.dExpertOutput, dHidden);
    }
    saved.dUp = m_context.activations(received, saved.up->columns);
    {
        const KernelSpan span(m_context, m_activationLabel);
        activateGradient(queue, m_activation, m_gated, saved.up, dHidden, saved.dUp);
    }
    m_context.inspect(m_downLabel, dHidden);
    m_context.inspect(m_activationLabel, saved.dUp);
    dHidden.reset();
    saved.up.reset();
    Array dExpertInput = m_context.activations(received, m_shape.hidden);
    {
        const KernelSpan span(m_context, m_upLabel);
        queue.linearPartsInputGradient(upParts(saved, false), saved.dUp, dExpertInput);
    }
    dSlots = co_await exchangeBack(dExpertInput, saved);
    dExpertInput.reset();
    const auto gatherGradient = [&](const Tensor& own) {
        {
            const KernelSpan span(m_context, m_permuteLabel);
            queue.combineRows(dSlots, saved.place, {}, own);
        }
        const KernelSpan span(m_context, m_routeLabel);
        const Array dLogits = m_context.statistics(m_rows, m_experts);
        const auto balance = m_balances.find(input.microbatch);
        queue.routeGradient(m_rule, saved.logits, saved.probabilities, saved.experts, saved.weights, dWeights,
                            balance == m_balances.end() ? Tensor{} : balance->second.gradient.tensor(), dLogits);
        if (balance != m_balances.end() && ++balance->second.taken == m_shape.slices)
            m_balances.erase(balance);
        saved.dLogits = m_context.activations(m_rows, m_experts);
        queue.copy(dLogits, saved.dLogits);
        m_context.inspect(m_routeLabel, saved.dLogits);
        const Array throughRouter = m_context.activations(m_rows, m_shape.hidden);
        queue.linearInputGradient(saved.dLogits, m_router->value(), throughRouter);
        queue.add(throughRouter, own);
    };
    Array dNormalized = co_await wholeRows(gatherGradient);
    if (m_shared) {
        const Array ofShared = co_await m_shared->backward(std::move(dy), saved.normalized, saved.shared, ofWeights);
        const KernelSpan span(m_context, m_permuteLabel);
        queue.add(ofShared, dNormalized);
    }
    Array dx = m_norm.backward(dNormalized, saved.input, saved.statistics);
    const KernelSpan span(m_context, m_addLabel);
    queue.add(dResidual, dx);
    saved.input.reset();
    saved.statistics.reset();
    saved.probabilities.reset();
    saved.logits.reset();
    co_return dx;
}

Task<> Moe::backwardWeight(MoeSaved& saved, bool withShared)
{
    Queue& queue = *m_context.queue;
    if (m_shared && withShared)
        co_await m_shared->backwardWeight(saved.normalized, saved.shared);
    if (!m_router->isTrained()) {
        saved = {};
        co_return;
    }
    {
        const KernelSpan span(m_context, m_downLabel, GradientOf::weight);
        queue.linearPartsWeightGradient(downGradientParts(saved), saved.dExpertOutput, saved.hidden);
    }
    {
        const KernelSpan span(m_context, m_upLabel, GradientOf::weight);
        queue.linearPartsWeightGradient(upParts(saved, true), saved.dUp, saved.expertInput);
    }
    const KernelSpan span(m_context, m_routeLabel, GradientOf::weight);
    const bool biasIsTrained = m_routerBias && m_rule.score == RouterRule::Score::softmax; // else it only tilts the choice
    queue.linearWeightGradient(saved.dLogits, ownRows(saved.normalized), m_router->gradient(),
                               biasIsTrained ? m_routerBias->gradient() : Tensor{});
    saved = {};
    co_return;
}

} // namespace live
