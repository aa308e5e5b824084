#include "app/views/timeline/range_statistics.h"

#include "app/views/common/labels.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace app {
namespace {

std::string decimal(double value, int places)
{
    std::array<char, 48> out{};
    std::snprintf(out.data(), out.size(), "%.*f", places, value);
    return out.data();
}

/// Spans of a track that lie in a range at least in part, with how much of each: f(span, share of its length).
template <typename F>
void forSpansIn(const sim::Track& track, bool overlaps, TimeRange range, F f)
{
    auto i = static_cast<std::size_t>(std::lower_bound(track.startNs.begin(), track.startNs.end(), range.beginNs) -
                                      track.startNs.begin());
    if (overlaps)
        i = 0; // any of those before may still run
    else if (i > 0)
        --i;
    for (; i < track.size() && track.startNs[i] < range.endNs; ++i) {
        const std::int64_t begin = track.startNs[i], length = track.durationNs[i];
        const std::int64_t inside = std::min(begin + length, range.endNs) - std::max(begin, range.beginNs);
        if (inside > 0 || (length == 0 && begin >= range.beginNs))
            f(i, length > 0 ? static_cast<double>(inside) / static_cast<double>(length) : 1.0);
    }
}

} // namespace

RangeStatistics rangeStatistics(const TimelineModel& model, TimeRange range, ClassMask classes)
{
    RangeStatistics out{.range = range};
    const sim::Trace& trace = model.trace();
    const auto length = static_cast<double>(std::max<std::int64_t>(range.endNs - range.beginNs, 1));
    const auto counts = [&](std::size_t c) { return (classes & maskOf(static_cast<sim::OpClass>(c))) != 0; };
    const bool waits = model.othersWait();
    double ranks = 0;
    bool kernels = false;
    for (std::size_t r = 0; r < model.rows().size(); ++r) {
        const TimelineRow& row = model.rows()[r];
        const double weight = trace.processes[r].multiplicity;
        for (const std::uint32_t t : row.tracks) {
            const sim::Track& track = trace.tracks[t];
            const bool moves = track.role == sim::TrackRole::communication, computes = track.role == sim::TrackRole::compute;
            kernels = kernels || computes;
            forSpansIn(track, model.levels(t).overlaps(), range, [&](std::size_t span, double share) {
                const sim::SpanKind& kind = trace.kinds[track.kind[span]];
                out.spans += counts(static_cast<std::size_t>(kind.opClass)) ? 1 : 0;
                if (moves)
                    out.bytesOfClass[static_cast<std::size_t>(kind.opClass)] +=
                        weight * share * static_cast<double>(kind.bytes) / kind.overMean;
                if (computes && kind.opClass != sim::OpClass::recompute)
                    out.flops += weight * share * kind.flops / kind.overMean;
            });
        }
        if (row.tracks.empty())
            continue;
        out.ofKernels = out.ofKernels && model.knowsKernels(static_cast<int>(r));
        RangeStatistics::Row line{.row = static_cast<int>(r),
                                  .name = row.names.empty() ? std::string() : row.names.front(),
                                  .ranks = trace.processes[r].multiplicity,
                                  .ns = model.busy(row.work).busyNs(range.beginNs, range.endNs)};
        for (std::size_t c = 0; c < line.ns.size(); ++c) {
            const double share = static_cast<double>(line.ns[c]) / length;
            out.share[c] += weight * share;
            if (waits && static_cast<sim::OpClass>(c) == sim::OpClass::other) {
                out.waiting += weight * share;
                continue;
            }
            (counts(c) ? out.counted : out.other) += weight * share;
            line.busy += counts(c) ? share : 0;
        }
        if (const ExposedWaits* exposed = model.exposed(static_cast<int>(r))) {
            const sim::BusyByClass busy = exposed->busyBetween().busyNs(range.beginNs, range.endNs);
            for (std::size_t c = 0; c < busy.size(); ++c) {
                const double share = static_cast<double>(busy[c]) / length;
                line.ns[c] += busy[c];
                out.share[c] += weight * share;
                out.exposed += weight * share;
            }
        }
        ranks += weight;
        out.rows.push_back(std::move(line));
    }
    if (ranks > 0) {
        for (double& share : out.share)
            share /= ranks;
        out.counted /= ranks;
        out.other /= ranks;
        out.exposed /= ranks;
        out.waiting /= ranks;
        const auto [least, most] =
            std::minmax_element(out.rows.begin(), out.rows.end(), [](const auto& a, const auto& b) { return a.busy < b.busy; });
        out.leastBusy = least->busy;
        out.mostBusy = most->busy;
    }
    out.idle = std::max(0.0, 1 - out.counted - out.other - out.exposed - out.waiting);
    if (const sim::Simulation* simulation = model.simulation(); simulation && kernels && ranks > 0) {
        const sim::Scenario& scenario = simulation->scenario();
        const auto& peaks = scenario.cluster.gpu.peakTflops;
        if (const auto peak = peaks.find(scenario.training.precision); peak != peaks.end() && peak->second > 0)
            out.mfu = out.flops / (length * 1e-9) / ranks / (peak->second * 1e12);
    }
    return out;
}

Table tableOf(const RangeStatistics& statistics, const TimelineModel& model)
{
    Table table{.header = {"row", "ranks", std::string(statistics.busyWord()) + " %"}, .rows = {}};
    for (const sim::OpClass c : model.classesPresent())
        table.header.push_back(model.className(c) + " ms");
    table.header.emplace_back("idle ms");
    const auto length = static_cast<double>(statistics.lengthNs());
    const auto add = [&](const std::string& name, std::int64_t ranks, double busy, const auto& nsOf) {
        std::vector<std::string> cells{name, std::to_string(ranks), decimal(busy * 100, 2)};
        double idle = length;
        for (const sim::OpClass c : model.classesPresent()) {
            const double ns = nsOf(static_cast<std::size_t>(c));
            cells.push_back(decimal(ns * 1e-6, 6));
            idle -= ns;
        }
        cells.push_back(decimal(std::max(0.0, idle) * 1e-6, 6));
        table.rows.push_back(std::move(cells));
    };
    std::int64_t ranks = 0;
    for (const RangeStatistics::Row& row : statistics.rows) {
        add(row.name, row.ranks, row.busy, [&](std::size_t c) { return static_cast<double>(row.ns[c]); });
        ranks += row.ranks;
    }
    add("mean of all ranks", ranks, statistics.counted, [&](std::size_t c) { return statistics.share[c] * length; });
    return table;
}

} // namespace app
