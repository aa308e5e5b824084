#include "sim/analysis/matched_actions.h"

#include "sim/index.h"

#include <algorithm>
#include <tuple>

namespace sim {
namespace {

using Work = std::tuple<OpClass, int, std::int32_t>; // what, stage, micro-batch

struct ActionRow {
    int pipelineRank = 0;
    std::uint32_t track = 0;
};

std::vector<ActionRow> actionRows(const Simulation& simulation, const Trace& trace)
{
    std::vector<ActionRow> rows;
    for (std::uint32_t t = 0; t < trace.tracks.size(); ++t) {
        const Track& track = trace.tracks[t];
        if (track.role == TrackRole::actions)
            rows.push_back({simulation.mesh().coordinates(trace.processes[asIndex(track.process)].rank).pp, t});
    }
    return rows;
}

/// Sorted by what the spans are, with their places.
std::vector<std::pair<Work, std::int32_t>> worksOf(const Trace& trace, const Track& track)
{
    std::vector<std::pair<Work, std::int32_t>> works;
    works.reserve(track.size());
    for (std::size_t span = 0; span < track.size(); ++span) {
        const SpanKind& kind = trace.kinds[track.kind[span]];
        const OpClass what = kind.opClass == OpClass::backwardInput ? OpClass::backward : kind.opClass;
        works.emplace_back(Work{what, kind.stage, track.microbatch[span]}, static_cast<std::int32_t>(span));
    }
    std::sort(works.begin(), works.end());
    return works;
}

void match(const Trace& a, const Trace& b, MatchedActions::Row& row)
{
    const Track &trackA = a.tracks[row.trackA], &trackB = b.tracks[row.trackB];
    row.ofA.assign(trackA.size(), MatchedActions::kNone);
    row.ofB.assign(trackB.size(), MatchedActions::kNone);
    const auto worksA = worksOf(a, trackA), worksB = worksOf(b, trackB);
    for (std::size_t i = 0, j = 0; i < worksA.size() && j < worksB.size();) {
        if (worksA[i].first != worksB[j].first) {
            ++(worksA[i].first < worksB[j].first ? i : j);
            continue;
        }
        row.ofA[asIndex(worksA[i].second)] = worksB[j].second;
        row.ofB[asIndex(worksB[j].second)] = worksA[i].second;
        ++i;
        ++j;
    }
}

} // namespace

const MatchedActions::Row* MatchedActions::rowOfTrack(std::uint32_t track, bool ofA) const
{
    const auto found =
        std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return (ofA ? row.trackA : row.trackB) == track; });
    return found == rows.end() ? nullptr : &*found;
}

MatchedActions matchActions(const Simulation& a, const Trace& traceOfA, const Simulation& b, const Trace& traceOfB)
{
    MatchedActions out;
    if (a.scenario().layout.pp != b.scenario().layout.pp)
        return out;
    struct Stage {
        std::vector<std::uint32_t> tracksOfA;
        std::size_t next = 0;
    };
    std::vector<Stage> stages(asIndex(a.scenario().layout.pp));
    for (const ActionRow& row : actionRows(a, traceOfA))
        stages[asIndex(row.pipelineRank)].tracksOfA.push_back(row.track);
    for (const ActionRow& row : actionRows(b, traceOfB)) {
        Stage& stage = stages[asIndex(row.pipelineRank)];
        if (stage.tracksOfA.empty())
            continue;
        // Where b tells more ranks of a stage apart than a, the last of a's stands for the rest.
        const std::uint32_t partner = stage.tracksOfA[std::min(stage.next++, stage.tracksOfA.size() - 1)];
        out.rows.push_back({.pipelineRank = row.pipelineRank, .trackA = partner, .trackB = row.track, .ofA = {}, .ofB = {}});
        match(traceOfA, traceOfB, out.rows.back());
    }
    return out;
}

} // namespace sim
