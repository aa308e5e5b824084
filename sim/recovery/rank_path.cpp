#include "sim/recovery/rank_path.h"

#include "sim/cancel.h"

#include <algorithm>

namespace sim {

std::vector<PathStretch> stretchesOf(const RankPath& path)
{
    std::vector<PathStretch> stretches;
    std::map<std::uint32_t, std::int64_t> nsOfName; // of the last
    for (const PathSegment& segment : path.segments) {
        const bool isSpan =
            segment.part == PathPart::computing || segment.part == PathPart::copying || segment.part == PathPart::communicating;
        if (stretches.empty() || stretches.back().rank != segment.rank) {
            const bool isJump = !stretches.empty() && segment.part == PathPart::communicating;
            stretches.push_back({.rank = segment.rank,
                                 .startNs = segment.startNs,
                                 .endNs = segment.startNs,
                                 .ns = {},
                                 .reachedBy = isJump ? segment.group : -1,
                                 .reachedName = isJump ? segment.name : 0});
            nsOfName.clear();
        }
        PathStretch& of = stretches.back();
        const std::int64_t took = segment.endNs - segment.startNs;
        of.endNs = segment.endNs;
        of.ns[segment.part] += took;
        if (!isSpan)
            continue;
        ++of.spans;
        nsOfName[segment.name] += took;
        if (of.spans == 1 || nsOfName[segment.name] > nsOfName[of.longest])
            of.longest = segment.name;
    }
    return stretches;
}

RankPath criticalPathOver(const Recovered& recovered, std::size_t step)
{
    RankPath out;
    out.step = step;
    out.rankNs.assign(recovered.evidence.ranks.size(), 0);
    if (recovered.windowOf(step).empty() || !recovered.clock.isAligned)
        return out;
    const CauseWalk walk(recovered, step);
    // What was begun in the step may end in a later one, as sums that nobody waits for yet: it makes this one no longer. When all
    // are done the step goes on until the next is asked for.
    const std::int64_t endNs = recovered.steps.steps[step].endNs;
    const auto last = walk.lastEnd(endNs);
    if (!last)
        return out;
    const std::vector<WorkSpan>& work = recovered.evidence.ranks[last->rank].work;
    const auto next = std::partition_point(work.begin(), work.end(), [endNs](const WorkSpan& of) { return of.startNs < endNs; });
    const std::int64_t launchNs = next == work.end() ? INT64_MIN : next->launchNs;
    walk.back({last->rank, endNs}, launchNs, walk.beginNs(), [&](const PathSegment& segment, const DeviceSpan*) {
        if (!out.segments.empty() && out.segments.back().rank != segment.rank)
            ++out.jumps;
        out.segments.push_back(segment);
        out.ns[segment.part] += segment.endNs - segment.startNs;
        out.rankNs[segment.rank] += segment.endNs - segment.startNs;
    });
    std::reverse(out.segments.begin(), out.segments.end());
    return out;
}

std::vector<RankPath> criticalPathsOver(const Recovered& recovered, const std::vector<std::size_t>& steps)
{
    std::vector<RankPath> paths;
    for (const std::size_t step : steps) {
        checkCancelled();
        paths.push_back(criticalPathOver(recovered, step));
    }
    return paths;
}

RankPath criticalPathOver(const Recovered& recovered)
{
    return criticalPathOver(recovered, recovered.steps.typical());
}

} // namespace sim
