#include "sim/checked.h"
#include "sim/cost/all_to_all.h"
#include "sim/cost/cost.h"
#include "sim/cost/profile_curves.h"
#include "sim/error.h"
#include "sim/scenario/head_exchange.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace sim {
namespace {

constexpr double kTera = 1e12, kGiga = 1e9, kMicrosecond = 1e-6;

/// Tiles of the output that kernels of a library work on, and what each reaches of the largest one's rate: small tiles read their
/// operands more often.
struct TileShape {
    std::int64_t m, n;
    double rate;
};
constexpr TileShape kTiles[] = {{256, 128, 1.0}, {128, 256, 1.0}, {128, 128, 0.96}, {128, 64, 0.86}, {64, 64, 0.72}};
/// Parts into which a library cuts long sums when the output has fewer tiles than the GPU has multiprocessors.
constexpr std::int64_t kSplits[] = {1, 2, 4};

/// Rows that do not begin on 128 bytes are read in smaller pieces; tensor cores want 16 bytes. NVIDIA, Matrix multiplication
/// background guide, section 4; BigScience's chronicles measured 25 % of a whole step between heads of 108 and of 216,
/// where rows of both operands are so. Of one operand or of the result alone, as of a vocabulary that is not padded, products
/// with 50,257 words on 1, 4 and 8 A100s keep 0.4 to 0.6 (vTrain's measurements). The kernels that take such rows are Turing's on
/// every later GPU (cutlass_75_tensorop_bf16_s1688gemm_…_align1 in PyTorch and cuBLASLt alike), and no faster there: 95
/// forward and 140 to 150 backward on an H200 (docs/measurements.md), which is an A100's share of an A100's peak.
double alignmentRate(std::int64_t elements, int elementBytes, bool isOfBoth, bool isForward, double peakFlops)
{
    const std::int64_t bytes = elements * elementBytes;
    if (bytes % 128 == 0)
        return 1;
    if (bytes % 64 == 0)
        return 0.98;
    if (bytes % 32 == 0)
        return 0.95;
    if (bytes % 16 == 0)
        return 0.88;
    if (isOfBoth)
        return bytes % 8 == 0 ? 0.16 : 0.12;
    constexpr double kPeakOfA100 = 312e12;
    return (bytes % 8 == 0 || !isForward ? 0.6 : 0.4) * std::min(1.0, kPeakOfA100 / peakFlops);
}

double peak(const Gpu& gpu, Precision precision)
{
    const auto found = gpu.peakTflops.find(precision);
    if (found != gpu.peakTflops.end())
        return found->second * kTera;
    throw Error("GPU " + shownText(gpu.name) + " has no peak_tflops for the precision of this scenario");
}

/// "a kernel of 3.2e+20 FLOP and 1.1e+12 bytes on H100".
std::string kernelText(const OpShape& shape, const Gpu& gpu)
{
    return "a kernel" + (shape.flops > 0 ? " of " + roughly(shape.flops) + " FLOP" : "") +
           (shape.bytes > 0 ? " with " + roughly(static_cast<double>(shape.bytes)) + " bytes of memory traffic" : "") + " on " +
           shownText(gpu.name);
}

} // namespace

AttentionSpeed attentionSpeed(const Scenario& scenario, bool isForward)
{
    constexpr double kHalfHead = 48;
    const Efficiency& efficiency = scenario.cluster.efficiency;
    const Training& training = scenario.training;
    const AttentionRate* of = &efficiency.attention[static_cast<std::size_t>(training.attention)];
    const bool isBlock = training.precision == Precision::mxfp8;
    const AttentionRate& narrow =
        efficiency.narrowAttention[static_cast<std::size_t>(isBlock ? NarrowScaling::block : NarrowScaling::tensor)];
    AttentionSpeed speed{.isNarrow = training.stack.narrowAttention && training.attention == AttentionKernel::cudnn &&
                                     isNarrow(training.precision) && narrow.forward > 0 && narrow.backward > 0 &&
                                     scenario.cluster.gpu.peakTflops.contains(Precision::fp8)};
    if (speed.isNarrow)
        of = &narrow;
    const auto either = [](double own, double other) { return own > 0 ? own : other; };
    speed.rate =
        isForward ? either(of->forward, efficiency.attentionForward) : either(of->backward, efficiency.attentionBackward);
    speed.halfLength = isForward ? either(of->forwardHalfLength, efficiency.attentionHalfLength)
                                 : either(of->backwardHalfLength, efficiency.attentionHalfLength * kBackwardHalfLength);
    speed.halfHead = either(isForward ? of->forwardHalfHead : of->backwardHalfHead, kHalfHead);
    return speed;
}

double meanAttentionHalfLength(const Scenario& scenario)
{
    return (attentionSpeed(scenario, true).halfLength + 2.5 * attentionSpeed(scenario, false).halfLength) / 3.5;
}

CostModel::CostModel(const Scenario& scenario)
    : m_cluster(scenario.cluster), m_elementBytes(elementBytes(scenario.training.precision))
{
    const Gpu& gpu = m_cluster.gpu;
    const Precision precision = scenario.training.precision;
    m_stack = scenario.training.stack;
    m_hiddenSize = scenario.model.hiddenSize;
    m_attentionForward = attentionSpeed(scenario, true);
    m_attentionBackward = attentionSpeed(scenario, false);
    if (m_attentionForward.isNarrow)
        m_narrowFlopsPerSecond = peak(gpu, Precision::fp8);
    m_isCausal = scenario.training.causal;
    const int dealt = dealsHeads(scenario) ? scenario.layout.cp : 1; // whole sequences, and so many parts of the heads
    m_partsOfSequence = static_cast<double>(scenario.layout.cp / dealt) * std::max(1, scenario.schedule.sequenceSlices);
    m_gradientBytes = scenario.training.gradientBytes;
    m_tokenChoice = TokenChoice::of(scenario);
    m_ranksOfHost = mostRanksOfNode(scenario.layout, m_cluster);
    // A scale for every block is made and stored as well: in Megatron-Bridge's performance tables mxfp8 steps on GB200 and GB300
    // are 7 to 12 % longer than those with one scale a tensor.
    if (precision == Precision::mxfp8)
        m_stack.castBytes *= 1.35;
    // Transformer Engine, NVFP4Quantizer::quantize_impl (v2.9, csrc/quantizer.cpp): three kernels read the tensor in 16 bits (its
    // largest elements, also of the Hadamard transform; rows; transformed columns), of which two write 4 bits and a byte for
    // every 16 of them. With one scale a tensor 2 bytes are read and two copies of 1 byte written.
    if (precision == Precision::nvfp4) {
        constexpr double kMoved = 3 * 2 + 2 * (0.5 + 1.0 / 16), kMovedByTensor = 2 + 2 * 1;
        m_stack.castBytes *= kMoved / kMovedByTensor;
        m_stack.castLaunches *= 3;
    }
    const Checked headsAtOnce = headsOfRank(scenario) / dealt;
    if (static_cast<std::int64_t>(headsAtOnce * scenario.training.microBatchSize) % m_stack.softmaxMultiple != 0)
        m_stack.parts[static_cast<std::size_t>(StackPart::softmax)] = m_stack.softmaxInSteps;
    m_lowFlopsPerSecond = peak(gpu, precision);
    m_casts = isNarrow(precision);
    m_wideFlopsPerSecond = m_casts && gpu.peakTflops.contains(Precision::bf16)
                               ? std::min(peak(gpu, Precision::bf16), m_lowFlopsPerSecond)
                               : m_lowFlopsPerSecond;
    m_operandBytes = static_cast<double>(m_elementBytes) / narrowingOf(precision);

    for (auto& passes : m_kernelCurve)
        passes.fill(kNotMeasured);
    m_transferCurve.fill(kNotMeasured);
    const HardwareProfile profile = std::exchange(m_cluster.efficiency.profile, {});
    if (profile.kernels.empty() && profile.transfers.empty())
        return; // a planner makes models by the million
    m_kernelsAlone = profile.kernelsAlone;
    const auto find = [&](const std::vector<MeasuredCurve>& curves, const std::string& name) {
        const auto found = std::find_if(curves.begin(), curves.end(), [&](const MeasuredCurve& c) { return c.name == name; });
        if (found == curves.end())
            return kNotMeasured;
        m_measured.emplace_back(*found);
        return m_measured.size() - 1;
    };
    const bool precisionFits = !profile.precision || *profile.precision == scenario.training.precision;
    for (std::size_t family = 0; family < kKernelFamilyCount; ++family)
        for (std::size_t pass = 0; pass < kKernelPassCount; ++pass) {
            const std::string name = kernelCurveName(static_cast<KernelFamily>(family), static_cast<KernelPass>(pass), scenario);
            m_kernelCurve[family][pass] = precisionFits && !name.empty() ? find(profile.kernels, name) : kNotMeasured;
        }
    for (std::size_t kind = 0; kind < kSendCurve; ++kind)
        m_transferCurve[kind] = find(profile.transfers, kCollectiveFacts[kind].curve);
    m_transferCurve[kSendCurve] = find(profile.transfers, kSendCurveName);
}

const MeasuredTime* CostModel::measuredKernel(const OpShape& shape) const
{
    const std::size_t curve = m_kernelCurve[static_cast<std::size_t>(shape.family)][static_cast<std::size_t>(shape.pass)];
    return curve == kNotMeasured ? nullptr : &m_measured[curve];
}

const MeasuredTime* CostModel::measuredTransfer(std::size_t kind, int tier) const
{
    return tier > 0 || m_transferCurve[kind] == kNotMeasured ? nullptr : &m_measured[m_transferCurve[kind]];
}

double CostModel::memoryBytesPerSecond() const
{
    return m_cluster.gpu.memoryBandwidthGBs * kGiga * m_cluster.efficiency.memory;
}

/// Roofline with tile and wave quantisation: a GEMM is cut into tiles, tiles run in waves over the multiprocessors, and the main
/// loop needs K long enough to fill its pipeline. Of its kernels a library takes the fastest.
double CostModel::gemmSeconds(const OpShape& shape) const
{
    const Efficiency& efficiency = m_cluster.efficiency;
    const bool casts = shape.lowPrecision && m_casts;
    double reached = efficiency.gemm * m_stack.gemm;
    if (shape.kernel == KernelKind::groupedGemm)
        reached *= efficiency.groupedGemm;
    if (casts)
        reached *= efficiency.fp8Gemm;
    if (shape.pass == KernelPass::weightGradient)
        reached *= efficiency.weightGradient;
    const auto m = static_cast<double>(shape.m), n = static_cast<double>(shape.n), k = static_cast<double>(shape.k);
    if (m_cluster.gpu.multiprocessors > 0) {
        const std::int64_t processors = m_cluster.gpu.multiprocessors;
        // Sums are read in steps of as many bytes: of more elements, where these are narrow.
        const double halfK = efficiency.gemmHalfK * (casts ? m_elementBytes / m_operandBytes : 1);
        double best = 0;
        for (const TileShape& tile : kTiles) {
            const std::int64_t tilesM = ceilDivide(shape.m, tile.m), tilesN = ceilDivide(shape.n, tile.n);
            const double useful =
                m * n / (static_cast<double>(tilesM * tile.m) * static_cast<double>(tilesN * tile.n)) * tile.rate;
            if (useful <= best) // what follows only takes from it
                continue;
            for (const std::int64_t split : kSplits) {
                const Checked tiles = Checked(tilesM) * tilesN * shape.batch * split;
                const Checked waves = ceilDivide(tiles, processors);
                const double occupied =
                    static_cast<double>(tiles) / (static_cast<double>(waves) * static_cast<double>(processors));
                const double loop = k / (k + halfK * static_cast<double>(split));
                best = std::max(best, useful * occupied * loop);
                if (tiles >= processors)
                    break;
            }
        }
        const int bytes = casts ? 1 : m_elementBytes;
        // Tokens lie one after the other; the other two sizes are those of rows in memory. Of weights (output x input) forward
        // both operands have rows of k; backward the gradient alone has, and weights and result have rows of n.
        const bool hasWeights = shape.family != KernelFamily::scores, isForward = shape.pass == KernelPass::forward;
        const std::int64_t other = shape.pass == KernelPass::weightGradient ? shape.m : shape.k;
        reached *= best * std::min(alignmentRate(other, bytes, isForward || !hasWeights, isForward, flopsPerSecond(shape)),
                                   alignmentRate(shape.n, bytes, !hasWeights, isForward, flopsPerSecond(shape)));
    }
    const double operandBytes = casts ? m_operandBytes : m_elementBytes;
    const double resultBytes = shape.pass == KernelPass::weightGradient ? 2 * m_gradientBytes : m_elementBytes; // added
    const double bytes = static_cast<double>(shape.batch) * (operandBytes * (m * k + k * n) + resultBytes * m * n);
    const Fusion& fusion = m_stack.of(StackPart::product);
    const double copied = (shape.pass == KernelPass::forward ? fusion.traffic : fusion.backwardTraffic) *
                          static_cast<double>(shape.batch) * m_elementBytes * (m * k + m * n);
    return std::max(shape.flops / (flopsPerSecond(shape) * reached), bytes / memoryBytesPerSecond()) +
           copied / memoryBytesPerSecond() + castSeconds(shape);
}

/// What makes the operands of a product in 8 or 4 bits: each is read in 16 bits and written narrow, as it stands and transposed.
/// Forward the input, in the backward pass the gradient; weights once a step. Of what sequence parallelism gathers each rank
/// makes its own slice narrow; what comes of the others is only transposed, for the weight gradient (Transformer Engine,
/// fp8_cast_transpose_fused and fp8_transpose).
double CostModel::castSeconds(const OpShape& shape) const
{
    if (!isCast(shape))
        return 0;
    const auto m = static_cast<double>(shape.m), k = static_cast<double>(shape.k);
    const double own = 1.0 / shape.narrowedBy, transposed = 2 * m_operandBytes; // read and written
    return static_cast<double>(shape.batch) * m * k * (own * m_stack.castBytes + (1 - own) * transposed) / memoryBytesPerSecond();
}

/// Rates of a kernel for long sequences and heads of 128. Short sequences do not fill its loop; in small heads exponentials cost
/// as much as products (Shah et al. 2024, FlashAttention-3, section 3), on Blackwell more, whose products alone are faster
/// (Zadouri et al. 2026, FlashAttention-4). A block of the GPU works on 128 queries of a head, and of a causal sequence the last
/// block has the work of two: few heads, as of tensor parallelism, leave multiprocessors idle at its end. Whole causal sequences
/// on Hopper, of FlashAttention-2 and cuDNN (tools/measure/torch_kernels.py): 100 rows within 7 % in the root mean square. Whole
/// sequences, causal or not, and windows of 128 and 1,024 keys on Blackwell (NVIDIA/cudnn-frontend,
/// benchmark/sdpa_benchmark_training): within 4 % in the root mean square, windows 12 % backward; forward those take up to
/// twice as long, bound by what begins and ends a block. Not measured: slices, whose blocks have the work that their keys say,
/// and parts of a ring, which count as causal sequences.
double CostModel::attentionSeconds(const OpShape& shape) const
{
    const bool isForward = shape.kernel == KernelKind::attentionForward;
    const AttentionSpeed& speed = isForward ? m_attentionForward : m_attentionBackward;
    const auto m = static_cast<double>(shape.m);
    auto n = static_cast<double>(shape.n);
    double flops = shape.flops, reached = speed.rate;
    // In 8 bits the backward pass leaves out no keys before a window: of gpt-oss's layers it takes as long as of whole sequences
    // (benchmark/sdpa_benchmark_training/results/gpt_oss of April 2026). Of a rank's queries, or a slice's, that is what their
    // share of the whole sequence takes: slices together as long as without them.
    if (const double whole = m * m_partsOfSequence;
        speed.isNarrow && !isForward && m_isCausal && shape.windowed && n > 0 && n < whole) {
        flops *= whole / n;
        n = whole;
    }
    const double seen = 0.5 * n, queries = m * static_cast<double>(shape.batch);
    constexpr double kFullHead = 128;
    if (const auto head = static_cast<double>(shape.k); head > 0)
        reached *= std::min(1.0, head / (head + speed.halfHead) * (kFullHead + speed.halfHead) / kFullHead);
    if (seen > 0 && queries > 0) {
        constexpr double kTail = 0.67, kQueriesOfBlock = 128;
        // Of a slice of a causal sequence the last query sees m / 2 keys more than the mean, n / 2.
        const double lastOverMean = m_isCausal && m <= n ? 1 + m / n : 1;
        reached /= 1 + speed.halfLength / seen + kTail * kQueriesOfBlock * lastOverMean * m_cluster.gpu.multiprocessors / queries;
    }
    return flops / (flopsPerSecond(shape) * reached) + attentionCastSeconds(shape);
}

/// What brings attention's operands to 8 bits: forward queries, keys and values, in the backward pass the gradient of the output
/// (Transformer Engine, FusedAttnFunc, combine_and_quantize and dO_quantizer).
double CostModel::attentionCastSeconds(const OpShape& shape) const
{
    if (m_narrowFlopsPerSecond == 0)
        return 0;
    const double output = static_cast<double>(shape.batch) * static_cast<double>(shape.m) * static_cast<double>(shape.k);
    const double moved = static_cast<double>(shape.bytes) / m_elementBytes; // forward: operands and output
    const double cast = shape.kernel == KernelKind::attentionForward ? std::max(output, moved - output) : output;
    return cast * m_stack.castBytes / memoryBytesPerSecond();
}

OpShape pieceOf(OpShape shape)
{
    std::int64_t& tokens = shape.pass == KernelPass::weightGradient ? shape.k : shape.m;
    const auto whole = static_cast<double>(std::max<std::int64_t>(1, tokens));
    tokens = ceilDivide(tokens, shape.pieces);
    shape.flops *= static_cast<double>(std::max<std::int64_t>(1, tokens)) / whole;
    shape.bytes = ceilDivide(shape.bytes, shape.pieces);
    shape.pieces = 1;
    return shape;
}

std::int64_t CostModel::kernelNs(const OpShape& shape) const
{
    if (shape.pieces > 1)
        return std::max(checkedMultiply(shape.pieces, kernelNs(pieceOf(shape))), fastestNs(shape));
    if (const MeasuredTime* measured = measuredKernel(shape)) {
        const auto size = [](std::int64_t value) { return static_cast<double>(std::max<std::int64_t>(1, value)); };
        const bool isProduct = shape.kernel == KernelKind::gemm || shape.kernel == KernelKind::groupedGemm;
        const double madeBefore = isProduct ? static_cast<double>(shape.bytes) / memoryBytesPerSecond() : 0; // its operands
        return std::max<std::int64_t>(
            1, durationNs(measured->seconds(size(shape.m), size(shape.n), size(shape.k), size(shape.batch)) + madeBefore,
                          [&] { return kernelText(shape, m_cluster.gpu); }));
    }
    double traffic = 1;
    if (const auto part = stackPartOf(shape.family); part)
        traffic = shape.pass == KernelPass::forward ? m_stack.of(*part).traffic : m_stack.of(*part).backwardTraffic;
    const double once = static_cast<double>(shape.bytes) / memoryBytesPerSecond();
    double seconds = once * traffic;
    switch (shape.kernel) {
    case KernelKind::gemm:
    case KernelKind::groupedGemm:
        seconds = gemmSeconds(shape) + once;
        break;
    case KernelKind::attentionForward:
    case KernelKind::attentionBackward:
        seconds += std::max(once, attentionSeconds(shape)); // copies besides
        break;
    case KernelKind::memoryBound:
        break;
    }
    seconds += kernelsOf(shape) * m_cluster.efficiency.kernelUs * kMicrosecond;
    const std::int64_t ns = durationNs(std::max(seconds, m_cluster.efficiency.launchUs * kMicrosecond),
                                       [&] { return kernelText(shape, m_cluster.gpu); });
    // Rounded down, a kernel of half a nanosecond would beat the peak, and a step of such kernels would take no time.
    return std::max({std::int64_t{1}, ns, fastestNs(shape)});
}

double CostModel::kernelsOf(const OpShape& shape) const
{
    const auto part = stackPartOf(shape.family);
    if (!part)
        return 1;
    const Fusion& fusion = m_stack.of(*part);
    const bool isProduct = *part == StackPart::product;
    double kernels = shape.pass == KernelPass::forward ? fusion.launches
                     : isProduct                       ? fusion.backwardLaunches / 2 // each of the two gradients
                                                       : fusion.backwardLaunches;
    return shape.pieces * (kernels + castsOf(shape));
}

double CostModel::castsOf(const OpShape& shape) const
{
    return isCast(shape) ? m_stack.castLaunches : 0;
}

/// Of fused experts what comes in and the gradient of what goes out are cast, rows of the hidden size; the kernel casts what lies
/// between.
bool CostModel::isCast(const OpShape& shape) const
{
    const bool isInside = m_stack.fusesExperts && shape.kernel == KernelKind::groupedGemm && shape.k != m_hiddenSize;
    return m_casts && shape.lowPrecision && shape.pass != KernelPass::weightGradient && !isInside;
}

double CostModel::flopsPerSecond(const OpShape& shape) const
{
    if (m_narrowFlopsPerSecond > 0 && shape.family == KernelFamily::attention)
        return m_narrowFlopsPerSecond;
    return shape.lowPrecision ? m_lowFlopsPerSecond : m_wideFlopsPerSecond;
}

std::int64_t CostModel::fastestNs(const OpShape& shape) const
{
    const double seconds = std::max(shape.flops / flopsPerSecond(shape),
                                    static_cast<double>(shape.bytes) / (m_cluster.gpu.memoryBandwidthGBs * kGiga));
    const std::int64_t ns = durationNs(seconds, [&] { return kernelText(shape, m_cluster.gpu); });
    return ns + (static_cast<double>(ns) < seconds * 1e9 ? 1 : 0);
}

double CostModel::hostGBs(Stream stream) const
{
    const Efficiency& efficiency = m_cluster.efficiency;
    return stream == Stream::host ? m_cluster.host.memoryBandwidthGBs / m_ranksOfHost * efficiency.hostMemory
                                  : m_cluster.gpu.hostBandwidthGBs * efficiency.hostLink;
}

std::int64_t CostModel::hostNs(std::int64_t bytes, Stream stream) const
{
    const auto what = [&] { return "a copy of " + roughly(static_cast<double>(bytes)) + " bytes between GPU and host"; };
    return durationNs(static_cast<double>(bytes) / (hostGBs(stream) * kGiga), what);
}

OpDurations CostModel::fastest(const Program& program) const
{
    OpDurations durations(program.passes.size());
    for (std::size_t p = 0; p < program.passes.size(); ++p) {
        const Pass& pass = program.passes[p];
        durations[p].resize(pass.ops.size());
        for (std::size_t i = 0; i < pass.ops.size(); ++i)
            if (pass.ops[i].kind == OpKind::compute && measuredKernel(pass.shapes[i]) == nullptr)
                durations[p][i] = fastestNs(pass.shapes[i]);
    }
    return durations;
}

OpDurations CostModel::price(const Program& program, const GroupGeometry& geometry) const
{
    OpDurations durations(program.passes.size());
    // A program has few shapes and many ops, and looking among measurements takes longer than the formulas.
    using Key = std::tuple<KernelFamily, KernelPass, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
    std::map<Key, std::int64_t> known;
    const auto kernel = [&](const OpShape& shape) {
        if (measuredKernel(shape) == nullptr)
            return kernelNs(shape);
        const auto [place, isNew] = known.try_emplace({shape.family, shape.pass, shape.m, shape.n, shape.k, shape.batch}, 0);
        if (isNew)
            place->second = kernelNs(shape);
        return place->second;
    };
    for (std::size_t p = 0; p < program.passes.size(); ++p) {
        const Pass& pass = program.passes[p];
        durations[p].resize(pass.ops.size());
        for (std::size_t i = 0; i < pass.ops.size(); ++i) {
            if (pass.ops[i].kind == OpKind::compute)
                durations[p][i] = kernel(pass.shapes[i]);
            else if (pass.ops[i].kind == OpKind::copy)
                durations[p][i] = hostNs(pass.shapes[i].bytes, pass.ops[i].stream);
            else if (pass.ops[i].kind == OpKind::collective)
                durations[p][i] =
                    collectiveNs(pass.shapes[i], geometry.shapes[static_cast<std::size_t>(pass.ops[i].group)], pass.ops[i].group);
        }
    }
    return durations;
}

} // namespace sim
