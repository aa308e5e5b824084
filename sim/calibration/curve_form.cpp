#include "sim/calibration/curve_form.h"

#include "sim/cost/cost.h"
#include "sim/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

namespace sim {
namespace {

constexpr std::array kFactors{0.125, 0.25, 0.5, 2.0, 4.0, 8.0};
constexpr std::size_t kMostMadePoints = 400; ///< of a curve: pricing an op takes its length

using PointSizes = std::array<double, 4>; ///< m, n, k, batch

double sized(std::int64_t size)
{
    return static_cast<double>(std::max<std::int64_t>(1, size));
}

PointSizes sizesOf(const OpShape& shape)
{
    return {sized(shape.m), sized(shape.n), sized(shape.k), sized(shape.batch)};
}

/// The same kernel with one of its sizes another; nothing where it would be no whole number.
std::optional<OpShape> resized(OpShape shape, std::size_t which, double factor)
{
    std::int64_t* const sizes[] = {&shape.m, &shape.n, &shape.k, &shape.batch};
    const double wanted = static_cast<double>(*sizes[which]) * factor;
    constexpr double kMostOfASize = 1e15;
    if (wanted < 1 || wanted != std::floor(wanted) || wanted > kMostOfASize)
        return std::nullopt;
    *sizes[which] = static_cast<std::int64_t>(wanted);
    const double flops = shape.flops * factor, bytes = static_cast<double>(shape.bytes) * factor;
    if (bytes > 1e18)
        return std::nullopt;
    shape.flops = flops;
    shape.bytes = static_cast<std::int64_t>(bytes);
    return shape;
}

/// Prices that are beyond any are none.
template <typename Price>
std::optional<double> priced(const Price& price)
{
    try {
        return static_cast<double>(price());
    } catch (const Error&) {
        return std::nullopt;
    }
}

/// Points that were made of others, each size once: of several neighbours their mean.
class MadePoints {
public:
    explicit MadePoints(const MeasuredCurve& curve)
    {
        for (const MeasuredPoint& point : curve.points)
            m_measured.insert({point.m, point.n, point.k, point.batch});
    }
    void add(const PointSizes& sizes, double microseconds)
    {
        if (microseconds <= 0 || m_measured.contains(sizes))
            return;
        auto& [sum, count] = m_made[sizes];
        sum += std::log(microseconds);
        count += 1;
    }
    /// Large sizes as well as small ones where they are too many.
    void appendTo(MeasuredCurve& curve) const
    {
        std::vector<MeasuredPoint> made;
        for (const auto& [sizes, of] : m_made)
            made.push_back({sizes[0], sizes[1], sizes[2], sizes[3], std::exp(of.first / of.second)});
        keepEvenly(made, std::min(kMostMadePoints, kMostPointsOfCurve - std::min(kMostPointsOfCurve, curve.points.size())));
        curve.points.insert(curve.points.end(), made.begin(), made.end());
    }

private:
    std::set<PointSizes> m_measured;
    std::map<PointSizes, std::pair<double, double>> m_made; ///< sum of logarithms, how many
};

const MeasuredPoint* pointAt(const MeasuredCurve& curve, const PointSizes& sizes)
{
    const auto found = std::find_if(curve.points.begin(), curve.points.end(), [&](const MeasuredPoint& point) {
        return PointSizes{point.m, point.n, point.k, point.batch} == sizes;
    });
    return found == curve.points.end() ? nullptr : &*found;
}

void formKernels(HardwareProfile& profile, const CostModel& cost, const PredictedOps& ops)
{
    for (MeasuredCurve& curve : profile.kernels) {
        MadePoints made(curve);
        for (const PredictedKernel& kernel : ops.kernels) {
            const MeasuredPoint* point = kernel.curve == curve.name ? pointAt(curve, sizesOf(kernel.shape)) : nullptr;
            const auto own = priced([&] { return cost.kernelNs(kernel.shape); });
            if (point == nullptr || !own || *own <= 0)
                continue;
            const double scale = point->microseconds / *own;
            for (std::size_t which = 0; which < 4; ++which)
                for (const double factor : kFactors)
                    if (const auto shape = resized(kernel.shape, which, factor))
                        if (const auto ns = priced([&] { return cost.kernelNs(*shape); }))
                            made.add(sizesOf(*shape), *ns * scale);
        }
        made.appendTo(curve);
    }
}

void formTransfers(HardwareProfile& profile, const CostModel& cost, const Cluster& cluster, const PredictedOps& ops)
{
    const auto inside = [&](int members) {
        return GroupShape{.size = members, .domains = std::vector<int>(cluster.tiers.size(), 1)};
    };
    const int span = cluster.tiers.empty() ? 0 : cluster.tiers.front().span;
    const int mostMembers = span > 0 ? span : std::max(2, cluster.gpusPerNode);
    for (MeasuredCurve& curve : profile.transfers) {
        MadePoints made(curve);
        for (const PredictedTransfer& transfer : ops.transfers) {
            if (transfer.curve != curve.name || transfer.tier > 0)
                continue;
            const MeasuredPoint* point = pointAt(curve, {sized(transfer.bytes), static_cast<double>(transfer.members), 1, 1});
            if (point == nullptr)
                continue;
            const auto priceOf = [&](std::int64_t bytes, int members) {
                return priced([&] {
                    if (transfer.exchange == Exchange::send)
                        return cost.sendNs(bytes, 0);
                    OpShape shape;
                    shape.collective = transfer.kind;
                    shape.bytes = bytes;
                    return cost.collectiveNs(shape, inside(members));
                });
            };
            const auto own = priceOf(transfer.bytes, transfer.members);
            if (!own || *own <= 0)
                continue;
            for (int members = 2; members <= mostMembers; members *= 2)
                for (double factor = 1.0 / 64; factor <= 64; factor *= 2) {
                    const auto bytes = static_cast<std::int64_t>(static_cast<double>(transfer.bytes) * factor);
                    if (bytes < 1 || (transfer.exchange == Exchange::send && members > 2))
                        continue;
                    if (const auto ns = priceOf(bytes, members))
                        made.add({sized(bytes), static_cast<double>(members), 1, 1}, *ns * point->microseconds / *own);
                }
        }
        made.appendTo(curve);
    }
}

} // namespace

bool keepEvenly(std::vector<MeasuredPoint>& points, std::size_t most)
{
    const std::size_t all = points.size();
    if (all <= most)
        return false; // so all is at least 1
    for (std::size_t i = 0; i < most; ++i)
        points[i] = points[i * (all - 1) / std::max<std::size_t>(1, most - 1)];
    points.resize(most);
    return true;
}

void addForm(HardwareProfile& profile, const Scenario& scenario, const PredictedOps& ops)
{
    const CostModel cost(scenario);
    formKernels(profile, cost, ops);
    formTransfers(profile, cost, scenario.cluster, ops);
}

} // namespace sim
