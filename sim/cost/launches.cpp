#include "sim/cost/launches.h"

#include "sim/checked.h"
#include "sim/cost/cost.h"

namespace sim {
namespace {

constexpr double kSecondsOfMicrosecond = 1e-6, kSecondsOfMillisecond = 1e-3;

/// Launches for the cast of one expert's operand, a tensor of its own: its largest element is zeroed and found, its scale
/// follows, and it is cast (Transformer Engine, split_quantize; with a scale a block, cast and two orders of scales). In NVFP4
/// too, though one expert's cast has three kernels where a product's alone would (NVFP4Quantizer): newer versions put those of
/// up to 64 experts into one launch each (split_quantize_nvfp4_impl), so that three for each would be far from both.
constexpr double kLaunchesOfExpertsCast = 4;

/// Of a layer, what neither works for single experts nor brings tokens there.
bool isInLayersGraph(const Op& op, const OpShape& shape)
{
    if (op.layer < 0 || op.purpose == OpPurpose::optimizer || op.stream == Stream::ep)
        return false;
    switch (shape.family) {
    case KernelFamily::groupedGemm:
    case KernelFamily::permute:
    case KernelFamily::unpermute:
    case KernelFamily::activation:
        return false;
    default:
        return true;
    }
}

/// Before which kernels the host waits for the tokens of each expert. Plain all-to-alls ask for them before tokens are put in
/// order, so that their copies to the host run beside it (Megatron-Core, MoEAlltoAllTokenDispatcher, cuda_sync_point). Where a
/// rank takes one copy of a token, counts come with the tokens, and the first product of the experts waits for both (HybridEP:
/// TEGroupedMLP.forward, tokens_per_expert.tolist()).
class Counts {
public:
    explicit Counts(bool comeWithTokens) : m_comeWithTokens(comeWithTokens) {}

    /// Of each op of a pass in turn.
    bool areAskedBefore(const Op& op, const OpShape& shape)
    {
        if (op.kind == OpKind::collective && op.stream == Stream::ep)
            m_known = false;
        if (op.kind != OpKind::compute || shape.pass != KernelPass::forward)
            return false;
        const bool ordersTokens = shape.family == KernelFamily::permute;
        if (!m_comeWithTokens)
            return ordersTokens;
        const bool asks = shape.kernel == KernelKind::groupedGemm && !m_known;
        m_known = (m_known || asks) && !ordersTokens;
        return asks;
    }

private:
    bool m_comeWithTokens, m_known = false;
};

} // namespace

double CostModel::launchSeconds(const Op& op, const OpShape& shape) const
{
    if (!m_kernelsAlone && op.kind == OpKind::compute && measuredKernel(shape) != nullptr)
        return 0; // what was measured has in it what its own host did, which is not the stack's
    const double ofStep = op.purpose == OpPurpose::optimizer ? m_stack.stepMs * kSecondsOfMillisecond : 0;
    if (m_stack.cudaGraphs == CudaGraphs::step || (m_stack.cudaGraphs == CudaGraphs::attention && isInLayersGraph(op, shape)))
        return ofStep;
    if (op.kind == OpKind::compute) {
        const bool isForward = shape.pass == KernelPass::forward && op.purpose != OpPurpose::optimizer;
        const double launchUs = isForward ? m_stack.launchUs : m_stack.backwardLaunchUs;
        if (shape.kernel == KernelKind::groupedGemm && m_stack.expertLaunchUs > 0)
            return static_cast<double>(shape.batch) *
                   (m_stack.expertLaunchUs + (isCast(shape) ? kLaunchesOfExpertsCast * launchUs : 0)) * kSecondsOfMicrosecond;
        return ofStep + kernelsOf(shape) * launchUs * kSecondsOfMicrosecond;
    }
    return ofStep + (op.kind == OpKind::wait ? 0 : shape.pieces * m_stack.collectiveLaunchUs * kSecondsOfMicrosecond);
}

bool CostModel::countsLaunches() const
{
    return m_cluster.gpu.multiprocessors > 0;
}

std::vector<PassLaunches> CostModel::launches(const Program& program) const
{
    if (!countsLaunches())
        return {};
    // Before it starts experts one by one the host waits for the router, to learn how many tokens each of them has.
    const bool asksForCounts = m_stack.expertLaunchUs > 0 && m_stack.cudaGraphs != CudaGraphs::step;
    std::vector<PassLaunches> launches(program.passes.size());
    for (std::size_t p = 0; p < program.passes.size(); ++p) {
        const Pass& pass = program.passes[p];
        launches[p].ops.resize(pass.ops.size());
        const auto ns = [](double seconds) {
            return durationNs(seconds, [] { return std::string("what the host does to start a pass"); });
        };
        double host = 0;
        bool hasKernel = false;
        Counts counts(m_tokenChoice.isOncePerNode);
        for (std::size_t i = 0; i < pass.ops.size(); ++i) {
            const Op& op = pass.ops[i];
            OpLaunch& launch = launches[p].ops[i];
            const bool isKernel = op.kind == OpKind::compute;
            const double before = host;
            host += launchSeconds(op, pass.shapes[i]);
            // What needs no kernel of the pass is gathered ahead: the host has been there before.
            const bool needsKernels =
                (hasKernel || pass.goesOn) && ((op.waits | maskOf(op.stream)) & maskOf(Stream::compute)) != 0;
            const bool isHeld = isKernel || (needsKernels && (op.kind == OpKind::collective || op.kind == OpKind::copy));
            const bool needsCounts = counts.areAskedBefore(op, pass.shapes[i]);
            if (isKernel && !hasKernel && !pass.goesOn)
                launch.askedNs = 0; // the host begins a pass when the GPU does
            else if (isHeld && (m_stack.blocksLaunches || (asksForCounts && needsCounts)))
                launch.askedNs = ns(before);
            if (isHeld)
                launch.startedNs = ns(host);
            hasKernel = hasKernel || isKernel;
        }
        launches[p].ns = ns(host);
    }
    return launches;
}

} // namespace sim
