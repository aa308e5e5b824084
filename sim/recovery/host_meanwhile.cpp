#include "sim/recovery/host_meanwhile.h"

#include "sim/recovery/told_mark.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace sim {

std::string hostMeanwhile(const RunEvidence& evidence, std::size_t rank, std::vector<BusyTime::Span> when)
{
    const RankEvidence& of = evidence.ranks[rank];
    std::vector<BusyTime::Span> spans;
    for (const WorkSpan& span : of.work)
        spans.emplace_back(span.startNs, span.endNs);
    for (const CommSpan& span : of.comms)
        spans.emplace_back(span.startNs, span.endNs);
    const BusyTime busy(std::move(spans)), asked(std::move(when));
    const auto idleWithin = [&](std::int64_t from, std::int64_t to) {
        std::int64_t idle = 0;
        const auto& list = asked.spans(); // one after another
        for (auto span = std::partition_point(list.begin(), list.end(), [from](const auto& one) { return one.second <= from; });
             span != list.end() && span->first < to; ++span) {
            const std::int64_t start = std::max(from, span->first), end = std::min(to, span->second);
            if (end > start)
                idle += end - start - busy.within(start, end);
        }
        return idle;
    };
    const std::int64_t all = idleWithin(INT64_MIN / 2, INT64_MAX / 2);
    struct Doing {
        std::int64_t idleNs = 0, longNs = 0;
    };
    std::map<std::uint32_t, Doing> byName;
    for (const MarkSpan& mark : of.marks)
        if (!mark.onDevice && !evidence.names[mark.name].starts_with("ProfilerStep#")) {
            Doing& doing = byName[mark.name];
            doing.idleNs += idleWithin(mark.startNs, mark.endNs);
            doing.longNs += mark.endNs - mark.startNs;
        }
    std::uint32_t found = 0;
    for (const auto& [name, doing] : byName)
        if (2 * doing.idleNs > all && (found == 0 || doing.longNs < byName.at(found).longNs))
            found = name;
    return all > 0 && found != 0 ? toldMark(evidence.names[found]) : std::string();
}

} // namespace sim
