#include "sim/cancel.h"
#include "sim/checked.h"
#include "sim/index.h"
#include "sim/memory_limit.h"
#include "sim/program/overlap_block.h"
#include "sim/program/pass_builder.h"
#include "sim/program/program.h"
#include "sim/program/stage_content.h"
#include "sim/program/states.h"
#include "sim/scenario/about_key.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace sim {
namespace {

class Lowering {
public:
    Lowering(const Scenario& scenario, const Schedule& schedule)
        : m_scenario(scenario), m_schedule(schedule), m_sharding(Sharding::of(scenario)), m_builder(scenario, m_labels)
    {
    }

    Program run();

private:
    ContentKey contentKey(int stage, int slice) const;
    int contentOf(const ContentKey&);
    int contentIndex(int stage, int slice) const { return m_contentOfStage[asIndex(stage * m_schedule.slices + slice)]; }
    const StageContent& content(int stage) const { return m_contents[asIndex(contentIndex(stage, 0))]; }
    void lowerRank(int rank);
    std::uint32_t passOf(const Action&, PassFlags, int nextStage);
    void appendBlock(std::vector<Step>& steps, const Step& forward, const Step& backward);
    std::uint32_t addPass(Pass);
    void take(std::size_t bytes);
    int rankOf(int stage) const { return m_schedule.stageToRank[asIndex(stage)]; }
    bool holdsEntry(int rank) const;
    int otherRank(int stage, bool before) const;
    std::int64_t messageBufferBytes(const std::vector<int>& stages) const;
    std::int64_t keptBytes(const std::vector<int>& stages) const;
    std::int32_t slot(const Action& producer, int consumerStage) const;

    const Scenario& m_scenario;
    const Schedule& m_schedule;
    Sharding m_sharding;
    Labels m_labels;
    PassBuilder m_builder;
    Program m_program;
    double m_bytes = 0; ///< of contents and passes
    std::map<ContentKey, int> m_contentIndex;
    std::vector<StageContent> m_contents;
    std::vector<int> m_contentOfStage; ///< [stage][slice]
    std::vector<int> m_chunkOfStage;
    std::map<std::tuple<int, ActionKind, PassFlags, int>, std::uint32_t> m_passIndex;
    /// A piece of a block: a pass that was cut.
    struct Piece {
        std::uint32_t pass = 0;
        bool ofForward = true, first = false, last = false;
    };
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Piece>> m_blockIndex; ///< by the whole passes
};

ContentKey Lowering::contentKey(int stage, int slice) const
{
    const Model& model = m_scenario.model;
    ContentKey key;
    const int first = m_program.firstLayerOfStage[asIndex(stage)];
    const int layers = m_scenario.schedule.layersPerStage[asIndex(m_schedule.partOf(stage))];
    for (int i = 0; i < layers; ++i)
        key.layers.push_back(model.layerKind(first + i));
    key.embedding = m_schedule.entersAt(stage);
    key.head = m_schedule.leavesAt(stage);
    key.ownsEmbedding = key.head && (model.tieWordEmbeddings || model.numNextnPredictLayers > 0) && holdsEntry(rankOf(stage));
    key.slice = slice;
    return key;
}

int Lowering::contentOf(const ContentKey& key)
{
    const auto [position, isNew] = m_contentIndex.try_emplace(key, static_cast<int>(m_contents.size()));
    if (!isNew)
        return position->second;
    StageContent content = makeStageContent(m_scenario, m_sharding, key);
    std::size_t operators = 0;
    for (const Bucket& bucket : content.buckets)
        operators += bucket.list.operators.size();
    take(operators * sizeof(Operator) + key.layers.size() * sizeof(LayerKind));
    m_contents.push_back(std::move(content));
    return position->second;
}

/// Stages and slices that differ have lists of their own: they are counted as they are made, and each by itself is small.
void Lowering::take(std::size_t bytes)
{
    m_bytes += static_cast<double>(bytes);
    constexpr double kLimitBytes = kMemoryLimitBytes / 8; // what ranks share, however many steps they make of it
    if (m_bytes > kLimitBytes)
        aboutKey(m_schedule.slices > 1 ? "/schedule/sequence_slices" : "/model/num_hidden_layers", [&] {
            refuseMemory("what " + std::to_string(m_contents.size()) + " different stages and slices of " +
                             std::to_string(m_scenario.model.numHiddenLayers) + " layers compute",
                         m_bytes, kLimitBytes, "fewer sequence_slices or layers");
        });
}

bool Lowering::holdsEntry(int rank) const
{
    for (int stage = 0; stage < m_schedule.stages(); stage += m_schedule.chainLength())
        if (rankOf(stage) == rank)
            return true;
    return false;
}

/// The rank that a pass gets its input from, or hands its output to; -1 if that is the same rank, or the end of the model.
int Lowering::otherRank(int stage, bool before) const
{
    if (before ? m_schedule.entersAt(stage) : m_schedule.leavesAt(stage))
        return -1;
    const int neighbour = rankOf(before ? stage - 1 : stage + 1);
    return neighbour == rankOf(stage) ? -1 : neighbour;
}

/// Of inputs and gradients that these stages of a rank get from others: Stack::keepsMessages.
std::int64_t Lowering::messageBufferBytes(const std::vector<int>& stages) const
{
    if (!m_scenario.training.stack.keepsMessages)
        return 0;
    std::int64_t received = 0;
    for (const int stage : stages)
        received += (otherRank(stage, true) >= 0 ? 1 : 0) + (otherRank(stage, false) >= 0 ? 1 : 0);
    return Checked(m_program.sendBytes) * received * (m_schedule.microbatches / m_schedule.chains);
}

/// What these stages of a rank keep of all micro-batches to the end of the step.
std::int64_t Lowering::keptBytes(const std::vector<int>& stages) const
{
    Checked bytes = 0;
    for (const int stage : stages)
        for (int slice = 0; slice < m_schedule.slices; ++slice) {
            const StageContent& of = m_contents[asIndex(contentIndex(stage, slice))];
            bytes += Checked(m_builder.keptOfMicrobatch(of, otherRank(stage, true) >= 0)) *
                     (m_schedule.microbatches / m_schedule.slices / m_schedule.chains);
        }
    return bytes;
}

/// A rank's mailbox has a place for every activation and every gradient its chunks receive.
std::int32_t Lowering::slot(const Action& producer, int consumerStage) const
{
    const int direction = producer.kind == ActionKind::forward ? 0 : 1;
    return (m_chunkOfStage[asIndex(consumerStage)] * 2 + direction) * m_schedule.microbatches + producer.microbatch;
}

std::uint32_t Lowering::addPass(Pass pass)
{
    checkCancelled();
    take(pass.ops.size() * (sizeof(Op) + sizeof(OpShape)));
    m_program.passes.push_back(std::move(pass));
    return static_cast<std::uint32_t>(m_program.passes.size() - 1);
}

std::uint32_t Lowering::passOf(const Action& action, PassFlags flags, int nextStage)
{
    const int content = contentIndex(action.stage, action.microbatch % m_schedule.slices);
    const int nextContent = flags.gathersParameters && nextStage >= 0 ? contentIndex(nextStage, 0) : -1;
    const auto [position, isNew] = m_passIndex.try_emplace({content, action.kind, flags, nextContent}, 0U);
    if (isNew) {
        const StageContent& stage = m_contents[asIndex(content)];
        const StageContent* next = nextContent >= 0 ? &m_contents[asIndex(nextContent)] : nullptr;
        position->second = addPass(action.kind == ActionKind::forward ? m_builder.forward(stage, flags, next)
                                                                      : m_builder.backward(stage, action.kind, flags));
    }
    return position->second;
}

/// Both passes of a block, cut and dealt in turn.
void Lowering::appendBlock(std::vector<Step>& steps, const Step& forward, const Step& backward)
{
    const auto [position, isNew] = m_blockIndex.try_emplace({forward.pass, backward.pass});
    if (isNew)
        for (BlockPiece& piece :
             overlapBlock(m_program.passes[forward.pass], m_program.passes[backward.pass], m_labels.intern("wait"))) {
            piece.pass.goesOn = !position->second.empty();
            position->second.push_back({addPass(std::move(piece.pass)), piece.ofForward, piece.first, piece.last});
        }
    for (const Piece& piece : position->second) {
        Step step = piece.ofForward ? forward : backward;
        step.pass = piece.pass;
        if (!piece.first) {
            step.receiveFrom = -1;
            step.receiveSlot = kNoSlot;
        }
        if (!piece.last) {
            step.sendTo = -1;
            step.sendSlot = kNoSlot;
        }
        steps.push_back(step);
    }
}

void Lowering::lowerRank(int rank)
{
    const Layout& layout = m_scenario.layout;
    const Overlap& overlap = m_scenario.training.overlap;
    const std::vector<Action>& actions = m_schedule.actions[asIndex(rank)];
    const std::vector<int> stages = m_schedule.stagesOfRank(rank);
    const bool gathersEachUse = parameterGathering(m_scenario) == ParameterGathering::eachUse;
    const bool gathersEachStep = parameterGathering(m_scenario) == ParameterGathering::eachStep;
    const bool reducesEachMicrobatch = reducesEveryMicrobatch(m_scenario);

    // First forward, first and last gradient of each stage, in the rank's own order.
    std::vector<int> stageOrder;
    std::map<int, std::size_t> firstGradient, lastGradient;
    for (std::size_t i = 0; i < actions.size(); ++i) {
        const Action& action = actions[i];
        if (action.kind == ActionKind::forward &&
            std::find(stageOrder.begin(), stageOrder.end(), action.stage) == stageOrder.end())
            stageOrder.push_back(action.stage);
        if (action.kind == ActionKind::backward || action.kind == ActionKind::backwardWeight) {
            firstGradient.try_emplace(action.stage, i);
            lastGradient[action.stage] = i;
        }
    }

    RankProgram program;
    program.slots = static_cast<std::int32_t>(stages.size()) * 2 * m_schedule.microbatches;
    ParameterElements parameters;
    for (const int stage : stages)
        parameters += content(stage).parameters();
    program.states = modelStates(m_scenario, parameters);
    program.states.reductionBuffers = reductionBufferBytes(m_scenario, parameters);
    program.states.messageBuffers = messageBufferBytes(stages);
    program.states.buffers += Checked(program.states.reductionBuffers) + program.states.messageBuffers;

    if (gathersEachStep && overlap.paramGather && !stageOrder.empty()) {
        const StageContent& first = content(stageOrder.front());
        if (!first.buckets.empty())
            program.steps.push_back({.pass = addPass(m_builder.gather(first))});
    }

    CancelPoll poll;
    std::size_t gathered = 0;
    for (std::size_t i = 0; i < actions.size(); ++i) {
        poll(8);
        const Action& action = actions[i];
        const bool forward = action.kind == ActionKind::forward;
        const int from = forward ? action.stage - 1 : action.stage + 1;
        const int to = forward ? action.stage + 1 : action.stage - 1;
        const bool communicates = action.kind != ActionKind::backwardWeight;
        const int fromRank = communicates ? otherRank(action.stage, forward) : -1;
        const int toRank = communicates ? otherRank(action.stage, !forward) : -1;

        PassFlags flags;
        flags.receives = fromRank >= 0;
        flags.sends = toRank >= 0;
        const bool firstUse = forward && gathersEachStep && gathered < stageOrder.size() && stageOrder[gathered] == action.stage;
        flags.gathersParameters = firstUse || (gathersEachUse && action.kind != ActionKind::backwardWeight);
        flags.releasesParameters = gathersEachUse;
        const auto last = lastGradient.find(action.stage);
        const bool isGradient = action.kind == ActionKind::backward || action.kind == ActionKind::backwardWeight;
        flags.startsGradients = isGradient && layout.zeroStage >= 2 && firstGradient.at(action.stage) == i;
        flags.reducesGradients = isGradient && (reducesEachMicrobatch || (last != lastGradient.end() && last->second == i));
        int nextStage = -1;
        if (firstUse) {
            ++gathered;
            nextStage = gathered < stageOrder.size() ? stageOrder[gathered] : -1;
        }

        Step step;
        step.pass = passOf(action, flags, nextStage);
        step.action = static_cast<std::int32_t>(i);
        step.stage = action.stage;
        step.microbatch = action.microbatch;
        if (flags.receives) {
            step.receiveFrom = fromRank;
            step.receiveSlot = slot({.kind = action.kind, .stage = from, .microbatch = action.microbatch}, action.stage);
        }
        if (flags.sends) {
            step.sendTo = toRank;
            step.sendSlot = slot(action, to);
        }
        if (i > 0 && actions[i - 1].overlapsNext) {
            const Step forwardStep = program.steps.back();
            program.steps.pop_back();
            appendBlock(program.steps, forwardStep, step);
        } else {
            program.steps.push_back(step);
        }
    }

    // Of two copies of the model, one's embedding lies with the other's head; the copies' own exchange has it then.
    const int last = m_schedule.stages() - 1;
    const bool holdsEnd = rank == rankOf(0) || rank == rankOf(last);
    const Model& model = m_scenario.model;
    const bool usedTwice = (model.tieWordEmbeddings || model.numNextnPredictLayers > 0) && !model.lora.isOn();
    const bool sharesEmbedding = usedTwice && m_schedule.chains == 1 && rankOf(0) != rankOf(last) && holdsEnd;
    const Checked vocabulary = TensorCut::of(m_scenario).embedded(model.vocabSize);
    Checked accumulated;
    for (const int stage : stages)
        accumulated += m_builder.accumulatedBytes(content(stage));
    program.steps.push_back(
        {.pass = addPass(m_builder.finish(parameters.trained(), sharesEmbedding, vocabulary * m_scenario.model.hiddenSize,
                                          {.accumulated = accumulated, .kept = keptBytes(stages)}))});

    for (const Step& step : program.steps)
        program.opCount += static_cast<std::int64_t>(m_program.passes[step.pass].ops.size());
    m_program.ranks.push_back(std::move(program));
}

Program Lowering::run()
{
    const auto stages = asIndex(m_schedule.stages());
    const auto& layers = m_scenario.schedule.layersPerStage;
    const auto length = asIndex(m_schedule.chainLength());
    std::vector<int> firstLayer(length);
    std::exclusive_scan(layers.begin(), layers.begin() + static_cast<std::ptrdiff_t>(length), firstLayer.begin(), 0);
    for (std::size_t stage = 0; stage < stages; ++stage)
        m_program.firstLayerOfStage.push_back(firstLayer[stage % length]);
    m_chunkOfStage.resize(stages);
    for (int rank = 0; rank < m_schedule.ranks; ++rank) {
        const std::vector<int> held = m_schedule.stagesOfRank(rank);
        for (std::size_t chunk = 0; chunk < held.size(); ++chunk)
            m_chunkOfStage[asIndex(held[chunk])] = static_cast<int>(chunk);
    }
    for (int stage = 0; stage < m_schedule.stages(); ++stage)
        for (int slice = 0; slice < m_schedule.slices; ++slice) {
            checkCancelled();
            m_contentOfStage.push_back(contentOf(contentKey(stage, slice)));
        }
    m_program.sendBytes = sentBytes(m_scenario, m_sharding);
    for (int rank = 0; rank < m_schedule.ranks; ++rank)
        lowerRank(rank);
    m_program.labels = m_labels.take();
    return std::move(m_program);
}

} // namespace

Program lowerProgram(const Scenario& scenario, const Schedule& schedule)
{
    return aboutKey(microbatchKey(scenario),
                    [&] { return countedAs("work of a stage", [&] { return Lowering(scenario, schedule).run(); }); });
}

} // namespace sim
