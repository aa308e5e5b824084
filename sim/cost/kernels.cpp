#include "sim/checked.h"
#include "sim/cost/cost.h"
#include "sim/cost/profile_curves.h"
#include "sim/error.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace sim {
namespace {

constexpr double kTera = 1e12, kGiga = 1e9;
/// Tile of the output that one multiprocessor works on; the usual shape of tensor-core kernels.
constexpr std::int64_t kTileM = 128, kTileN = 128;

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

CostModel::CostModel(const Scenario& scenario)
    : m_cluster(scenario.cluster), m_elementBytes(elementBytes(scenario.training.precision))
{
    const Gpu& gpu = m_cluster.gpu;
    m_gemmFlopsPerSecond = peak(gpu, scenario.training.precision);
    const bool has16Bit = gpu.peakTflops.contains(Precision::bf16);
    m_attentionFlopsPerSecond = scenario.training.precision == Precision::fp8 && has16Bit
                                    ? std::min(peak(gpu, Precision::bf16), m_gemmFlopsPerSecond)
                                    : m_gemmFlopsPerSecond;

    const HardwareProfile profile = std::exchange(m_cluster.efficiency.profile, {});
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

/// Roofline with tile and wave quantisation: a GEMM is cut into tiles, tiles run in waves over the multiprocessors, and the main
/// loop needs K long enough to fill its pipeline (BigScience measured 27 % between hidden sizes 13,824 and 14,400).
double CostModel::gemmSeconds(const OpShape& shape) const
{
    const Efficiency& efficiency = m_cluster.efficiency;
    double reached = shape.kernel == KernelKind::groupedGemm ? efficiency.gemm * efficiency.groupedGemm : efficiency.gemm;
    if (m_cluster.gpu.multiprocessors > 0) {
        const std::int64_t tilesM = ceilDivide(shape.m, kTileM);
        const std::int64_t tilesN = ceilDivide(shape.n, kTileN);
        const double useful = static_cast<double>(shape.m) * static_cast<double>(shape.n) /
                              (static_cast<double>(tilesM * kTileM) * static_cast<double>(tilesN * kTileN));
        const Checked tiles = Checked(tilesM) * tilesN * shape.batch;
        const Checked waves = ceilDivide(tiles, m_cluster.gpu.multiprocessors);
        const double occupied = static_cast<double>(tiles) / static_cast<double>(waves * m_cluster.gpu.multiprocessors);
        const double loop = static_cast<double>(shape.k) / (static_cast<double>(shape.k) + efficiency.gemmHalfK);
        reached *= useful * occupied * loop;
    }
    const auto m = static_cast<double>(shape.m), n = static_cast<double>(shape.n), k = static_cast<double>(shape.k);
    const double bytes = static_cast<double>(m_elementBytes) * static_cast<double>(shape.batch) * (m * k + k * n + m * n);
    const double memorySeconds = bytes / (m_cluster.gpu.memoryBandwidthGBs * kGiga * efficiency.memory);
    return std::max(shape.flops / (m_gemmFlopsPerSecond * reached), memorySeconds);
}

std::int64_t CostModel::kernelNs(const OpShape& shape) const
{
    if (const MeasuredTime* measured = measuredKernel(shape)) {
        const auto size = [](std::int64_t value) { return static_cast<double>(std::max<std::int64_t>(1, value)); };
        return std::max<std::int64_t>(
            1, durationNs(measured->seconds(size(shape.m), size(shape.n), size(shape.k), size(shape.batch)),
                          [&] { return kernelText(shape, m_cluster.gpu); }));
    }
    const Efficiency& efficiency = m_cluster.efficiency;
    const double memorySeconds =
        static_cast<double>(shape.bytes) / (m_cluster.gpu.memoryBandwidthGBs * kGiga * efficiency.memory);
    double seconds = memorySeconds;
    switch (shape.kernel) {
    case KernelKind::gemm:
    case KernelKind::groupedGemm:
        seconds = gemmSeconds(shape);
        break;
    case KernelKind::attentionForward:
        seconds = std::max(memorySeconds, shape.flops / (m_attentionFlopsPerSecond * efficiency.attentionForward));
        break;
    case KernelKind::attentionBackward:
        seconds = std::max(memorySeconds, shape.flops / (m_attentionFlopsPerSecond * efficiency.attentionBackward));
        break;
    case KernelKind::memoryBound:
        break;
    }
    // A stream of short kernels runs no faster than they are launched.
    const std::int64_t ns =
        durationNs(std::max(seconds, efficiency.launchUs * 1e-6), [&] { return kernelText(shape, m_cluster.gpu); });
    // Rounded down, a kernel of half a nanosecond would beat the peak, and a step of such kernels would take no time.
    return std::max({std::int64_t{1}, ns, fastestNs(shape)});
}

double CostModel::flopsPerSecond(KernelKind kernel) const
{
    const bool isAttention = kernel == KernelKind::attentionForward || kernel == KernelKind::attentionBackward;
    return isAttention ? m_attentionFlopsPerSecond : m_gemmFlopsPerSecond;
}

std::int64_t CostModel::fastestNs(const OpShape& shape) const
{
    const double seconds = std::max(shape.flops / flopsPerSecond(shape.kernel),
                                    static_cast<double>(shape.bytes) / (m_cluster.gpu.memoryBandwidthGBs * kGiga));
    const std::int64_t ns = durationNs(seconds, [&] { return kernelText(shape, m_cluster.gpu); });
    return ns + (static_cast<double>(ns) < seconds * 1e9 ? 1 : 0);
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
            else if (pass.ops[i].kind == OpKind::collective)
                durations[p][i] = collectiveNs(pass.shapes[i], geometry.shapes[static_cast<std::size_t>(pass.ops[i].group)]);
        }
    }
    return durations;
}

} // namespace sim
