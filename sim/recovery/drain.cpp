#include "sim/recovery/drain.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace sim {

std::vector<std::int64_t> drainedAt(const Recovered& recovered, std::span<const std::size_t> meetings)
{
    const RunEvidence& evidence = recovered.evidence;
    const std::vector<int>& stageOf = recovered.passes.pipelineRank;
    const auto spanOf = [&](const Part& part) -> const CommSpan& { return evidence.ranks[part.rank].comms[part.span]; };
    const auto stepOf = [&](const Part& part) {
        const auto& steps = recovered.steps.steps;
        const auto after =
            std::upper_bound(steps.begin(), steps.end(), spanOf(part).startNs,
                             [&](std::int64_t at, const RecoveredStep& step) { return at < step.rankStartNs[part.rank]; });
        return after - steps.begin();
    };
    std::vector<std::int64_t> drained(meetings.size(), INT64_MIN);
    using Alike = std::tuple<std::ptrdiff_t, Exchange, std::int64_t, std::size_t, std::set<int>>; // step, bytes, members, stages
    std::map<std::pair<Alike, std::int32_t>, std::size_t> turns;
    std::map<std::pair<Alike, std::size_t>, std::vector<std::size_t>> siblings; // in turn -> places in the list
    for (std::size_t i = 0; i < meetings.size(); ++i) {
        const Meeting& meeting = recovered.meetings.meetings[meetings[i]];
        std::set<int> stages;
        for (const Part& part : meeting.parts)
            stages.insert(stageOf[part.rank]);
        if (stages.size() < 2)
            continue;
        const Part& first = meeting.parts.front();
        Alike alike{stepOf(first), meeting.exchange, spanOf(first).bytes, meeting.parts.size(), std::move(stages)};
        const std::size_t turn = turns[{alike, meeting.group}]++;
        siblings[{std::move(alike), turn}].push_back(i);
    }
    for (const auto& [of, places] : siblings) {
        std::map<int, std::vector<std::int64_t>> starts; // by stage
        for (const std::size_t i : places)
            for (const Part& part : recovered.meetings.meetings[meetings[i]].parts)
                starts[stageOf[part.rank]].push_back(spanOf(part).startNs);
        std::int64_t last = INT64_MIN;
        for (auto& [stage, when] : starts) {
            const auto middle = when.begin() + static_cast<std::ptrdiff_t>((when.size() - 1) / 2); // of two the earlier
            std::nth_element(when.begin(), middle, when.end());
            last = std::max(last, *middle);
        }
        for (const std::size_t i : places)
            drained[i] = last;
    }
    return drained;
}

} // namespace sim
