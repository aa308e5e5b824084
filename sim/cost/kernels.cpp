#include "sim/cost/cost.h"
#include "sim/error.h"

#include <algorithm>
#include <cmath>
#include <string>

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
    throw Error("GPU " + gpu.name + " has no peak_tflops for the precision of this scenario");
}

std::int64_t ceilDivide(std::int64_t a, std::int64_t b)
{
    return (a + b - 1) / b;
}

std::int64_t toNs(double seconds)
{
    return std::llround(seconds * 1e9);
}

} // namespace

CostModel::CostModel(const Scenario& scenario)
    : m_cluster(scenario.cluster), m_elementBytes(elementBytes(scenario.training.precision))
{
    const Gpu& gpu = m_cluster.gpu;
    m_gemmFlopsPerSecond = peak(gpu, scenario.training.precision);
    const bool has16Bit = gpu.peakTflops.contains(Precision::bf16);
    m_attentionFlopsPerSecond =
        scenario.training.precision == Precision::fp8 && has16Bit ? peak(gpu, Precision::bf16) : m_gemmFlopsPerSecond;
}

/// Roofline with tile and wave quantisation: a GEMM is cut into tiles, tiles run in waves over the multiprocessors, and the main
/// loop needs K long enough to fill its pipeline (facts: BigScience measured 27 % between hidden sizes 13,824 and 14,400).
double CostModel::gemmSeconds(const OpShape& shape) const
{
    const Efficiency& efficiency = m_cluster.efficiency;
    double reached = shape.kernel == KernelKind::groupedGemm ? efficiency.gemm * efficiency.groupedGemm : efficiency.gemm;
    if (m_cluster.gpu.multiprocessors > 0) {
        const std::int64_t tilesM = ceilDivide(shape.m, kTileM);
        const std::int64_t tilesN = ceilDivide(shape.n, kTileN);
        const double useful =
            static_cast<double>(shape.m) * static_cast<double>(shape.n) / static_cast<double>(tilesM * kTileM * tilesN * kTileN);
        const std::int64_t tiles = tilesM * tilesN * shape.batch;
        const std::int64_t waves = ceilDivide(tiles, m_cluster.gpu.multiprocessors);
        const double occupied = static_cast<double>(tiles) / static_cast<double>(waves * m_cluster.gpu.multiprocessors);
        const double loop = static_cast<double>(shape.k) / (static_cast<double>(shape.k) + efficiency.gemmHalfK);
        reached *= useful * occupied * loop;
    }
    const double bytes = static_cast<double>(m_elementBytes * shape.batch) *
                         (static_cast<double>(shape.m * shape.k) + static_cast<double>(shape.k * shape.n) +
                          static_cast<double>(shape.m * shape.n));
    const double memorySeconds = bytes / (m_cluster.gpu.memoryBandwidthGBs * kGiga * efficiency.memory);
    return std::max(shape.flops / (m_gemmFlopsPerSecond * reached), memorySeconds);
}

std::int64_t CostModel::kernelNs(const OpShape& shape) const
{
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
    return toNs(std::max(seconds, efficiency.launchUs * 1e-6));
}

OpDurations CostModel::price(const Program& program, const GroupGeometry& geometry) const
{
    OpDurations durations(program.passes.size());
    for (std::size_t p = 0; p < program.passes.size(); ++p) {
        const Pass& pass = program.passes[p];
        durations[p].resize(pass.ops.size());
        for (std::size_t i = 0; i < pass.ops.size(); ++i) {
            if (pass.ops[i].kind == OpKind::compute)
                durations[p][i] = kernelNs(pass.shapes[i]);
            else if (pass.ops[i].kind == OpKind::collective)
                durations[p][i] = collectiveNs(pass.shapes[i], geometry.shapes[static_cast<std::size_t>(pass.ops[i].group)]);
        }
    }
    return durations;
}

} // namespace sim
