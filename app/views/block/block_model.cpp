#include "app/views/block/block_model.h"

#include "app/views/common/labels.h"
#include "sim/engine/classes.h"
#include "sim/index.h"
#include "sim/simulate/action_class.h"
#include "sim/text/spoken_name.h"

#include <algorithm>

namespace app {
namespace {

bool isForward(const sim::Op& op)
{
    return op.purpose == sim::OpPurpose::forward;
}
bool isBackward(const sim::Op& op)
{
    return op.purpose == sim::OpPurpose::backward || op.purpose == sim::OpPurpose::backwardInput ||
           op.purpose == sim::OpPurpose::backwardWeight;
}
bool isShown(const sim::Op& op)
{
    return op.kind == sim::OpKind::compute || op.kind == sim::OpKind::collective;
}

/// Layers of a pass, relative to its stage's first one; 0: it has none.
int layersOf(const sim::Pass& pass)
{
    int most = -1;
    for (const sim::Op& op : pass.ops)
        most = std::max<int>(most, op.layer);
    return most + 1;
}

std::string productShape(const sim::OpShape& shape)
{
    const auto count = [](std::int64_t n) { return countText(n); };
    switch (shape.kernel) {
    case sim::KernelKind::gemm:
    case sim::KernelKind::groupedGemm:
        return (shape.batch > 1 ? count(shape.batch) + " × " : std::string()) + count(shape.m) + " × " + count(shape.k) + " · " +
               count(shape.k) + " × " + count(shape.n);
    case sim::KernelKind::attentionForward:
    case sim::KernelKind::attentionBackward:
        return count(shape.m) + " × " + count(shape.n) + " × " + count(shape.k);
    case sim::KernelKind::memoryBound:
        return shape.m > 0 && shape.n > 0 ? count(shape.m) + " × " + count(shape.n) : std::string();
    }
    return {};
}

/// Operands read and the result written, once each; a weight gradient is as large as the weights.
std::int64_t productBytes(const sim::OpShape& shape, int elementBytes)
{
    return shape.batch * elementBytes * (shape.m * shape.k + shape.k * shape.n + shape.m * shape.n);
}

/// What runs in the backward pass under the name of a forward operator does its reverse: it gathers what that had scattered.
std::string collectiveName(const std::string& label, bool forward)
{
    if (label == "regather")
        return "its input again";
    const std::string spoken = sim::spokenOp(label);
    const bool isOfBackward = label.starts_with("grad") || label.starts_with("param") || label.find("regather") != label.npos ||
                              label.find("backward") != label.npos || label.find("grad") != label.npos;
    return forward || isOfBackward ? spoken : "backward of " + spoken;
}

class BlockReader {
public:
    BlockReader(const sim::Simulation& simulation, int rank)
        : m_simulation(simulation), m_rank(rank), m_class(simulation.classOf(rank)), m_at(simulation.mesh().coordinates(rank))
    {
    }
    Block read()
    {
        Block block{.rank = m_rank};
        const sim::Scenario& scenario = m_simulation.scenario();
        block.isShared = scenario.layout.zeroStage == 3 && sim::communicatorSize(sim::CommunicatorRole::dpShard, scenario) > 1;
        const sim::Step* const forward = best(isForward, -1);
        if (forward == nullptr)
            return block;
        m_layer = layersOf(passOf(*forward)) / 2; // the first of a stage has other neighbours than most
        block.layer = m_simulation.program().firstLayerOfStage[sim::asIndex(forward->stage)] + m_layer;
        block.forward = take(*best(isForward, forward->stage), true);
        if (const sim::Step* backward = best(isBackward, forward->stage))
            block.backward = take(*backward, false);
        // Passes that split B into I and W: both.
        const bool hasWeights = std::any_of(block.backward.rows.begin(), block.backward.rows.end(),
                                            [](const BlockRow& row) { return row.opClass == sim::OpClass::backwardWeight; });
        const bool isSplit = std::any_of(block.backward.rows.begin(), block.backward.rows.end(),
                                         [](const BlockRow& row) { return row.opClass == sim::OpClass::backwardInput; });
        if (isSplit && !hasWeights)
            if (const sim::Step* weights =
                    best([](const sim::Op& op) { return op.purpose == sim::OpPurpose::backwardWeight; }, forward->stage)) {
                const BlockPass more = take(*weights, false);
                block.backward.rows.insert(block.backward.rows.end(), more.rows.begin(), more.rows.end());
                block.backward.ns += more.ns;
            }
        return block;
    }

private:
    const sim::Pass& passOf(const sim::Step& step) const { return m_simulation.program().passes[step.pass]; }

    /// Of the passes with such kernels, of the stage (-1: of any with layers), the one with most ops for the layer.
    template <typename Is>
    const sim::Step* best(Is is, int stage) const
    {
        const sim::Step* found = nullptr;
        std::ptrdiff_t most = 0;
        std::vector<std::pair<std::uint32_t, std::ptrdiff_t>> counted; // passes are shared by micro-batches
        for (const sim::Step& step : m_simulation.program().ranks[sim::asIndex(m_at.pp)].steps) {
            if (step.stage < 0 || (stage >= 0 && step.stage != stage))
                continue;
            const auto known =
                std::find_if(counted.begin(), counted.end(), [&](const auto& each) { return each.first == step.pass; });
            if (known != counted.end())
                continue;
            const auto& ops = passOf(step).ops;
            const bool has = std::any_of(ops.begin(), ops.end(), [&](const sim::Op& op) {
                return op.kind == sim::OpKind::compute && op.layer >= 0 && is(op);
            });
            const std::ptrdiff_t count = !has ? 0 : std::count_if(ops.begin(), ops.end(), [&](const sim::Op& op) {
                return isShown(op) && op.layer >= 0 && (stage < 0 || op.layer == m_layer);
            });
            counted.emplace_back(step.pass, count);
            if (count > most) {
                most = count;
                found = &step;
            }
        }
        return found;
    }

    BlockPass take(const sim::Step& step, bool forward) const
    {
        BlockPass out;
        const sim::Pass& pass = passOf(step);
        for (std::size_t i = 0; i < pass.ops.size(); ++i) {
            const sim::Op& op = pass.ops[i];
            if (op.layer != m_layer || !isShown(op) || (forward && isBackward(op)) || (!forward && isForward(op)))
                continue;
            const sim::OpShape& shape = pass.shapes[i];
            const std::string& label = m_simulation.program().labels[op.label];
            BlockRow row{.name = sim::spokenOp(label), .opClass = sim::opClassOf(op), .again = op.again};
            row.ns =
                sim::opDurationNs(m_simulation.prices(), m_simulation.classes(), m_simulation.program(), m_class, step, i, 0);
            if (op.kind == sim::OpKind::collective) {
                row.role = op.group;
                row.members = membersOf(op.group);
                row.bytes = shape.bytes;
                row.shape = collectiveText(op.group, shape.collective);
                row.name = collectiveName(label, forward || op.again);
            } else {
                row.shape = headsText(shape) + productShape(shape);
                row.flops = shape.flops;
                row.bytes = shape.bytes;
                if (shape.kernel == sim::KernelKind::gemm || shape.kernel == sim::KernelKind::groupedGemm) {
                    row.bytes = productBytes(shape, sim::elementBytes(m_simulation.scenario().training.precision));
                    row.matrices = matricesOf(label);
                }
                out.ns += row.ns;
            }
            if (!out.rows.empty() && row.isCollective() && out.rows.back().name == row.name && out.rows.back().role == row.role) {
                ++out.rows.back().repeats;
                out.rows.back().ns += row.ns;
                out.rows.back().bytes += row.bytes;
            } else {
                out.rows.push_back(std::move(row));
            }
        }
        return out;
    }

    /// "10 heads × 4 sequences, " of attention: what this rank has of them, not the model.
    std::string headsText(const sim::OpShape& shape) const
    {
        if (shape.kernel != sim::KernelKind::attentionForward && shape.kernel != sim::KernelKind::attentionBackward)
            return {};
        const sim::Scenario& scenario = m_simulation.scenario();
        const std::int64_t sequences = std::max<std::int64_t>(1, scenario.training.microBatchSize);
        const std::int64_t heads = shape.batch / sequences;
        const std::string own = countText(heads) + (heads == 1 ? " head" : " heads");
        return (sequences > 1 ? own + " × " + countText(sequences) + " sequences" : own) + ", ";
    }

    /// The operator's name is the label's beginning: "attn.qkv" of "attn.qkv", "attn.qkv.dgrad".
    std::vector<BlockMatrix> matricesOf(const std::string& label) const
    {
        std::vector<BlockMatrix> out;
        const sim::Scenario& scenario = m_simulation.scenario();
        const sim::Layout& layout = scenario.layout;
        for (const sim::ModelPart part : {sim::ModelPart::dense, sim::ModelPart::moe}) {
            if (sim::partCount(scenario.model, part) == 0)
                continue;
            for (const sim::Tensor& tensor : sim::tensorsOf(scenario.model, part)) {
                const bool isUsed = tensor.isMultiplied() && label.starts_with(tensor.usedBy) &&
                                    (label.size() == tensor.usedBy.size() || label[tensor.usedBy.size()] == '.' ||
                                     label[tensor.usedBy.size()] == ' ');
                if (!isUsed)
                    continue;
                BlockMatrix matrix{.name = sim::spokenOp(tensor.name),
                                   .rows = tensor.rows,
                                   .columns = tensor.columns,
                                   .split = tensor.split,
                                   .pieces = tensor.piecesOn(sim::TensorCut::of(scenario)),
                                   .experts = tensor.experts};
                // Neighbours share a piece where there are fewer pieces than ranks, as of few key and value heads.
                const int cut = tensor.isRouted() ? layout.etp : layout.tp, at = tensor.isRouted() ? m_at.exptTp : m_at.tp;
                matrix.piece = matrix.pieces > 1 ? at * matrix.pieces / std::max(1, cut) : 0;
                out.push_back(std::move(matrix));
            }
            if (!out.empty())
                return out;
        }
        return out;
    }

    std::vector<int> membersOf(sim::CommunicatorRole role) const
    {
        const sim::RoleGroups groups = sim::roleGroups(role, m_simulation.mesh(), m_simulation.scenario());
        const int group = groups.groupOf[sim::asIndex(m_rank)];
        if (group < 0)
            return {};
        return {groups.members.begin() + groups.first[sim::asIndex(group)],
                groups.members.begin() + groups.first[sim::asIndex(group) + 1]};
    }

    const sim::Simulation& m_simulation;
    const int m_rank, m_class;
    const sim::Coordinates m_at;
    int m_layer = 0;
};

} // namespace

std::int64_t Block::longestNs() const
{
    std::int64_t longest = 1;
    for (const BlockPass* pass : {&forward, &backward})
        for (const BlockRow& row : pass->rows)
            longest = std::max(longest, row.ns);
    return longest;
}

std::string collectiveText(sim::CommunicatorRole role, sim::CollectiveKind kind)
{
    using enum sim::CollectiveKind;
    const char* what = kind == allReduce       ? "all-reduce"
                       : kind == allGather     ? "all-gather"
                       : kind == reduceScatter ? "reduce-scatter"
                       : kind == allToAll      ? "all-to-all"
                                               : "ring shift";
    const bool isShard = role == sim::CommunicatorRole::dpShard;
    return sim::spokenGroup(isShard ? "dp" : sim::communicatorRoleName(role)) + " " + what;
}

Block blockOf(const sim::Simulation& simulation, int rank)
{
    return BlockReader(simulation, rank).read();
}

} // namespace app
