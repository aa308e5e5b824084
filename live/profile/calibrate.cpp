#include "live/profile/calibrate.h"

#include "live/stream/as_if_parallel.h"
#include "sim/cost/measured_time.h"
#include "sim/cost/profile_curves.h"
#include "sim/mesh/mesh.h"
#include "sim/program/program.h"
#include "sim/scenario/expert_load.h"
#include "sim/simulate/plan_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace live {
namespace {

/// Clocks tick in nanoseconds; a transfer of nothing still takes some.
constexpr double kShortestSeconds = 20e-9;

/// What the simulator knows an operator of this label as.
struct KnownOperator {
    sim::OpShape shape;
    int perLayer = 0; ///< ops of this label in one pass of a layer: one a block of keys of a ring
    bool isAmbiguous = false;
};

using KnownOperators = std::map<std::string, KnownOperator>;

/// What a rank's program has, by pipeline rank: stages differ, and with them what the optimizer updates.
std::vector<KnownOperators> knownOperators(const sim::Scenario& scenario, const sim::Schedule& schedule)
{
    const sim::Program program = sim::lowerProgram(scenario, schedule);
    std::vector<KnownOperators> all;
    for (const sim::RankProgram& rank : program.ranks) {
        KnownOperators& known = all.emplace_back();
        std::set<std::uint32_t> seen;
        for (const sim::Step& step : rank.steps) {
            if (!seen.insert(step.pass).second)
                continue;
            const sim::Pass& pass = program.passes[step.pass];
            std::map<std::tuple<std::string, int, sim::OpPurpose>, int> count;
            for (std::size_t i = 0; i < pass.ops.size(); ++i) {
                const sim::Op& op = pass.ops[i];
                if (op.kind != sim::OpKind::compute || pass.shapes[i].family == sim::KernelFamily::other)
                    continue;
                const std::string& label = program.labels[op.label];
                KnownOperator& entry = known[label];
                const int ops = ++count[{label, op.layer, op.purpose}];
                entry.isAmbiguous = entry.isAmbiguous || (entry.perLayer > 0 && !(entry.shape == pass.shapes[i]));
                entry.shape = pass.shapes[i];
                entry.perLayer = std::max(entry.perLayer, ops);
            }
        }
    }
    return all;
}

/// The curve of a transfer by the name the runtime gives it; none for those the simulator does not have.
std::optional<std::string> transferCurve(std::string_view name, const sim::Scenario& scenario)
{
    if (name.starts_with("send.") || name.starts_with("receive."))
        return sim::kSendCurveName;
    if (name.starts_with("ring."))
        return "ring_shift";
    if (name == "moe.dispatch" || name == "moe.combine")
        return "all_to_all";
    if (name.ends_with(".gather") || name == "moe.collect")
        return "all_gather";
    if (name == "attn.qkv.scatter" || name == "moe.reduce")
        return "reduce_scatter";
    if (name == "gradient.reduce")
        return scenario.layout.zeroStage >= 1 ? "reduce_scatter" : "all_reduce";
    if (name.ends_with(".sum"))
        return scenario.layout.sequenceParallel ? "reduce_scatter" : "all_reduce";
    if (name.starts_with("gradient.") || name.starts_with("loss."))
        return "all_reduce";
    return {};
}

double mean(const std::vector<double>& values)
{
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// y = start + slope * x.
struct Line {
    double start = 0, slope = 1;
};

/// How measurements (y) lie over what a curve said of their shapes (x): the line of the least absolute relative errors, which
/// goes through two of the points or through one from the origin. Within a run every kernel takes a little longer than by itself,
/// since others have used its caches, and small ones, of which most is that, more so: a factor alone would miss them.
Line lineThrough(const std::vector<std::pair<double, double>>& points)
{
    Line best;
    double least = std::numeric_limits<double>::infinity();
    const auto tryLine = [&](double start, double slope) {
        double sum = 0;
        for (const auto& [x, y] : points)
            sum += std::abs(1 - (start + slope * x) / y);
        if (start >= 0 && slope > 0 && sum < least) {
            least = sum;
            best = {start, slope};
        }
    };
    for (const auto& [x, y] : points)
        tryLine(0, y / x);
    constexpr std::size_t kFewest = 4, kMost = 200;
    if (points.size() >= kFewest && points.size() <= kMost)
        for (const auto& [x1, y1] : points)
            for (const auto& [x2, y2] : points)
                if (x2 > x1)
                    tryLine((y1 * x2 - y2 * x1) / (x2 - x1), (y2 - y1) / (x2 - x1));
    return best;
}

/// A curve of the base moved to meet what was measured, and the measurements.
void meet(sim::MeasuredCurve& curve, const std::vector<sim::MeasuredPoint>& measured)
{
    const sim::MeasuredTime before(curve);
    std::vector<std::pair<double, double>> points;
    points.reserve(measured.size());
    for (const sim::MeasuredPoint& point : measured)
        points.emplace_back(before.seconds(point.m, point.n, point.k, point.batch) * 1e6, point.microseconds);
    const Line line = lineThrough(points);
    std::erase_if(curve.points, [&](const sim::MeasuredPoint& old) {
        return std::any_of(measured.begin(), measured.end(), [&](const sim::MeasuredPoint& point) {
            return std::tie(old.m, old.n, old.k, old.batch) == std::tie(point.m, point.n, point.k, point.batch);
        });
    });
    for (sim::MeasuredPoint& point : curve.points)
        point.microseconds = line.start + line.slope * point.microseconds;
    curve.points.insert(curve.points.end(), measured.begin(), measured.end());
}

} // namespace

void Calibration::add(const ObservedRun& run)
{
    auto& routings = m_routings[run.scenario.model.name];
    routings.insert(routings.end(), run.routings.begin(), run.routings.end());
    const sim::Schedule schedule = sim::planSchedule(run.scenario);
    const sim::Mesh mesh(run.scenario.layout, sim::endsOf(schedule));
    const std::vector<KnownOperators> ofPipelineRank = knownOperators(run.scenario, schedule);
    for (const std::vector<RankSpan>& step : run.undisturbedSteps()) {
        // Kernels of one operator: a ring's blocks, the parts of a loss.
        std::map<std::tuple<int, std::int32_t, sim::OpClass, int, int, std::string>, double> sums;
        std::map<std::uint64_t, std::set<int>> members;
        for (const RankSpan& each : step) {
            const SpanRecord& span = each.span;
            const sim::SpanKind& kind = run.kinds[span.kind];
            if (span.track == SpanTrack::compute) {
                const bool ofOptimizer = kind.name.starts_with("optimizer.");
                sums[{each.rank, span.microbatch, kind.opClass, kind.stage, kind.layer, ofOptimizer ? "optimizer" : kind.name}] +=
                    static_cast<double>(lengthNs(span)) * 1e-9;
            } else if (span.track != SpanTrack::actions && span.correlation != 0) {
                members[span.correlation].insert(each.rank);
            }
        }
        for (const auto& [key, seconds] : sums) {
            const KnownOperators& known = ofPipelineRank[static_cast<std::size_t>(mesh.coordinates(std::get<0>(key)).pp)];
            const auto found = known.find(std::get<std::string>(key));
            if (found == known.end() || found->second.isAmbiguous)
                continue;
            const sim::OpShape& shape = found->second.shape;
            const auto size = [](std::int64_t value) { return static_cast<double>(std::max<std::int64_t>(1, value)); };
            m_kernels[sim::kernelCurveName(shape.family, shape.pass, run.scenario)]
                     [{size(shape.m), size(shape.n), size(shape.k), size(shape.batch)}]
                         .push_back(std::max(kShortestSeconds, seconds / found->second.perLayer));
        }
        for (const RankSpan& each : step) {
            const SpanRecord& span = each.span;
            if (span.track == SpanTrack::compute || span.track == SpanTrack::actions || span.correlation == 0)
                continue;
            const std::set<int>& together = members.at(span.correlation);
            const auto met = run.membersOf.find(span.correlation);
            const int size = met == run.membersOf.end() ? static_cast<int>(together.size()) : met->second;
            const auto curve = transferCurve(run.kinds[span.kind].name, run.scenario);
            if (!curve || *together.begin() != each.rank || size < 2 || span.bytes <= 0) // once each
                continue;
            m_transfers[*curve][{static_cast<double>(span.bytes), static_cast<double>(size), 1, 1}].push_back(
                std::max(kShortestSeconds, static_cast<double>(lengthNs(span)) * 1e-9));
        }
    }
}

std::optional<double> Calibration::imbalance(const sim::Scenario& scenario) const
{
    const auto routings = m_routings.find(scenario.model.name);
    if (scenario.layout.ep < 2 || routings == m_routings.end())
        return {};
    std::vector<double> ofPass;
    for (const std::vector<std::int64_t>& tokens : routings->second)
        if (tokens.size() == static_cast<std::size_t>(scenario.model.numExperts))
            ofPass.push_back(sim::expertImbalance(std::vector<double>(tokens.begin(), tokens.end()), scenario.layout.ep));
    if (ofPass.empty())
        return {};
    return mean(ofPass);
}

sim::HardwareProfile Calibration::profile(const sim::HardwareProfile& base) const
{
    sim::HardwareProfile result = base;
    const auto fill = [](const Times& times, std::vector<sim::MeasuredCurve>& curves) {
        for (const auto& [key, shapes] : times) {
            const std::string& name = key; // a binding cannot be captured
            std::vector<sim::MeasuredPoint> points;
            for (const auto& [shape, seconds] : shapes) {
                const auto [m, n, k, batch] = shape;
                points.push_back({.m = m, .n = n, .k = k, .batch = batch, .microseconds = mean(seconds) * 1e6});
            }
            const auto old = std::find_if(curves.begin(), curves.end(),
                                          [&name](const sim::MeasuredCurve& curve) { return curve.name == name; });
            if (old == curves.end())
                curves.push_back({name, std::move(points)});
            else
                meet(*old, points);
        }
    };
    fill(m_kernels, result.kernels);
    fill(m_transfers, result.transfers);
    return result;
}

} // namespace live
