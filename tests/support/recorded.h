// A simulated step as PyTorch's profiler would have recorded it on every rank: kernels and collectives on streams, groups by
// number only, annotations of passes.
#pragma once

#include "sim/engine/classes.h"
#include "sim/index.h"
#include "sim/simulate/simulation.h"
#include "sim/trace/recording.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

namespace test {

struct RecordingOptions {
    bool annotations = true; ///< `PP:0F3` around each pass
    bool launches = false;   ///< calls of the host that what could have begun waited for
    std::int64_t beginNs = 1'700'000'000'000'000'000;
};

inline const char* torchName(const sim::Op& op, const sim::OpShape& shape)
{
    if (op.kind == sim::OpKind::send)
        return "send";
    if (op.kind == sim::OpKind::receive)
        return "recv";
    switch (shape.collective) {
    case sim::CollectiveKind::allReduce:
        return "allreduce";
    case sim::CollectiveKind::allGather:
        return "_allgather_base";
    case sim::CollectiveKind::reduceScatter:
        return "_reduce_scatter_base";
    case sim::CollectiveKind::allToAll:
        return "all_to_allv";
    case sim::CollectiveKind::ringShift:
        return "coalesced";
    }
    return "";
}

/// `simulation` must be of every rank (SimulateOptions::full).
inline sim::Recording recordingOf(const sim::Simulation& simulation, const RecordingOptions& options = {})
{
    const sim::Program& program = simulation.program();
    const sim::Mesh& mesh = simulation.mesh();
    sim::Recording recording;
    recording.worldSize = mesh.worldSize();
    recording.slices = simulation.schedule().slices;

    std::array<sim::RoleGroups, sim::kCommunicatorRoleCount> roles;
    std::map<std::vector<int>, std::int32_t> groupIndex; // ranks that the job made one group of
    std::array<std::vector<std::int32_t>, sim::kCommunicatorRoleCount> groupOfRank;
    for (int role = 1; role < sim::kCommunicatorRoleCount; ++role) {
        const auto which = static_cast<sim::CommunicatorRole>(role);
        const sim::RoleGroups groups = sim::roleGroups(which, mesh, simulation.scenario());
        groupOfRank[sim::asIndex(role)].assign(sim::asIndex(mesh.worldSize()), -1);
        for (int g = 0; g < groups.count(); ++g) {
            std::vector<int> ranks(groups.members.begin() + groups.first[sim::asIndex(g)],
                                   groups.members.begin() + groups.first[sim::asIndex(g) + 1]);
            const auto [place, isNew] = groupIndex.try_emplace(ranks, static_cast<std::int32_t>(recording.groups.size()));
            if (isNew)
                recording.groups.push_back({.name = std::to_string(recording.groups.size()),
                                            .description = "undefined",
                                            .backend = "nccl",
                                            .ranks = ranks,
                                            .size = static_cast<int>(ranks.size()),
                                            .evidence = "distributedInfo",
                                            .toldBy = ranks});
            for (const int rank : ranks)
                groupOfRank[sim::asIndex(role)][sim::asIndex(rank)] = place->second;
        }
    }

    struct Span {
        std::int64_t start = 0, end = 0;
        std::uint32_t name = 0;
        sim::RecordedKind kind = sim::RecordedKind::kernel;
        std::int32_t collective = -1;
        bool isLate = false;                   ///< it waited for its launch
        std::uint32_t launches = sim::kNoSpan; ///< what a call of the host starts
    };
    for (int rank = 0; rank < mesh.worldSize(); ++rank) {
        const int c = simulation.classOf(rank);
        const sim::Coordinates where = mesh.coordinates(rank);
        const int pipelineRank = simulation.classes().pipelineRank[sim::asIndex(c)];
        const std::vector<sim::Action>& actions = simulation.schedule().actions[sim::asIndex(pipelineRank)];
        sim::RankRecording& out = recording.ranks.emplace_back();
        out.rank = rank;
        out.rankEvidence = "distributedInfo";
        out.worldSize = mesh.worldSize();
        out.host = "node" + std::to_string(rank / std::max(1, simulation.scenario().cluster.gpusPerNode));
        std::array<std::vector<Span>, sim::kStreamCount + 2> rows; // streams, calls of the host, annotations
        std::vector<Span>& calls = rows[sim::kStreamCount];
        std::array<std::int64_t, sim::kStreamCount> tails{};
        std::int64_t kernelStart = 0;
        std::size_t place = simulation.times().firstOp[sim::asIndex(c)];
        for (const sim::Step& step : program.ranks[sim::asIndex(pipelineRank)].steps) {
            const sim::Pass& pass = program.passes[step.pass];
            std::int64_t first = INT64_MAX, last = INT64_MIN;
            const std::int64_t passStart = kernelStart;
            for (std::size_t i = 0; i < pass.ops.size(); ++i, ++place) {
                const sim::Op& op = pass.ops[i];
                const bool computes = op.stream == sim::Stream::compute;
                std::int64_t free = computes ? 0 : passStart;
                for (std::size_t stream = 0; stream < tails.size(); ++stream)
                    if (((op.waits | sim::maskOf(op.stream)) >> stream & 1U) != 0)
                        free = std::max(free, tails[stream]);
                tails[sim::asIndex(op.stream)] = simulation.times().opEndNs[place];
                kernelStart = computes ? simulation.times().opStartNs[place] : kernelStart;
                if (op.kind == sim::OpKind::wait || op.kind == sim::OpKind::post)
                    continue;
                Span span;
                span.start = options.beginNs + simulation.times().opStartNs[place];
                span.end = options.beginNs + simulation.times().opEndNs[place];
                span.name = recording.names.add(program.labels[op.label]);
                span.isLate = options.launches && op.kind != sim::OpKind::send && op.kind != sim::OpKind::receive &&
                              span.start > options.beginNs + free;
                if (op.kind == sim::OpKind::compute) {
                    first = std::min(first, span.start - (span.isLate ? 1 : 0)); // with its call
                    last = std::max(last, span.end);
                } else if (op.kind == sim::OpKind::copy) {
                    span.kind = sim::RecordedKind::memcpy;
                } else {
                    span.kind = sim::RecordedKind::communication;
                    span.name = recording.names.add("ncclDevKernel_Generic");
                    span.collective = static_cast<std::int32_t>(out.collectives.size());
                    sim::RecordedCollective collective;
                    collective.name = recording.names.add(torchName(op, pass.shapes[i]));
                    collective.dtype = recording.names.add("BFloat16");
                    const bool isTransfer = op.kind != sim::OpKind::collective;
                    const auto role = isTransfer ? sim::CommunicatorRole::pp : op.group;
                    collective.group = groupOfRank[static_cast<std::size_t>(role)][sim::asIndex(rank)];
                    collective.inElements = (isTransfer ? program.sendBytes : pass.shapes[i].bytes) / 2;
                    collective.isPointToPoint = isTransfer;
                    if (op.kind == sim::OpKind::send)
                        collective.destinationRank = mesh.rank(where.tp, where.cp, where.dp, step.sendTo);
                    if (op.kind == sim::OpKind::receive)
                        collective.sourceRank = mesh.rank(where.tp, where.cp, where.dp, step.receiveFrom);
                    collective.startNs = span.start;
                    collective.durationNs = span.end - span.start;
                    out.collectives.push_back(collective);
                }
                rows[static_cast<std::size_t>(op.stream)].push_back(span);
            }
            if (options.annotations && step.action >= 0 && first < last)
                rows.back().push_back({.start = first,
                                       .end = last,
                                       .name = recording.names.add("PP:" + sim::actionText(actions[sim::asIndex(step.action)],
                                                                                           simulation.schedule().slices)),
                                       .kind = sim::RecordedKind::annotation});
        }
        for (std::size_t row = 0; row < rows.size(); ++row) {
            std::stable_sort(rows[row].begin(), rows[row].end(), [](const Span& a, const Span& b) { return a.start < b.start; });
            sim::RecordedTrack track;
            track.number = static_cast<std::int64_t>(7 + row);
            track.name = "stream " + std::to_string(track.number);
            track.isDevice = row < sim::kStreamCount;
            track.first = static_cast<std::uint32_t>(out.spans.size());
            for (const Span& span : rows[row]) {
                if (span.collective >= 0)
                    out.collectives[sim::asIndex(span.collective)].span = static_cast<std::uint32_t>(out.spans.size());
                out.spans.startNs.push_back(span.start);
                out.spans.durationNs.push_back(span.end - span.start);
                out.spans.name.push_back(span.name);
                out.spans.kind.push_back(span.kind);
                const auto index = static_cast<std::uint32_t>(out.spans.size() - 1);
                if (span.isLate)
                    calls.push_back({.start = span.start - 1,
                                     .end = span.start,
                                     .name = recording.names.add("cudaLaunchKernel"),
                                     .kind = sim::RecordedKind::runtime,
                                     .launches = index});
                if (span.launches != sim::kNoSpan)
                    out.links.push_back({.from = index, .to = span.launches});
            }
            track.last = static_cast<std::uint32_t>(out.spans.size());
            if (track.size() > 0)
                out.tracks.push_back(track);
        }
        std::sort(out.links.begin(), out.links.end(), [](const auto& a, const auto& b) { return a.to < b.to; });
        std::stable_sort(out.collectives.begin(), out.collectives.end(),
                         [](const auto& a, const auto& b) { return a.startNs < b.startNs; });
    }
    return recording;
}

} // namespace test
