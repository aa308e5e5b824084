#include "sim/trace/readers/whole_microseconds.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>

namespace sim {
namespace {

constexpr std::int64_t kUnitNs = 1000; ///< libkineto wrote start and length of an activity in µs, until it began to write ns
/// Between two spans of a stream that goes on: rounding makes up to one, and a kernel begins within about one when its stream's
/// last has ended. A stream that did nothing for longer waited for its host, or for another stream.
constexpr std::int64_t kGoesOnNs = 2 * kUnitNs;
/// From the begin of a launch to that of its kernel on a stream that has nothing else to do; mostly 5 to 15 µs.
constexpr std::int64_t kLaunchNs = 20 * kUnitNs;

bool areWholeMicroseconds(const RecordedSpans& spans)
{
    const auto isWhole = [](std::int64_t ns) { return ns % kUnitNs == 0; };
    return std::all_of(spans.startNs.begin(), spans.startNs.end(), isWhole) &&
           std::all_of(spans.durationNs.begin(), spans.durationNs.end(), isWhole);
}

/// Of one row. True where its spans show that ends were rounded up: one that ran after another begins before that ends.
bool mendRow(const RecordedSpans& spans, std::vector<std::int64_t>& durations, const RecordedTrack& row)
{
    bool areRoundedUp = false;
    std::vector<std::uint32_t> open; // outermost first
    const auto endOf = [&](std::uint32_t span) { return spans.startNs[span] + durations[span]; };
    for (std::uint32_t span = row.first; span < row.last; ++span) {
        const std::int64_t startNs = spans.startNs[span];
        while (!open.empty()) {
            const std::uint32_t around = open.back();
            const std::int64_t shared = endOf(around) - startNs, beyond = endOf(span) - endOf(around);
            // A stream's kernels run one after another; of the host's spans most run in others.
            const bool areOneStreams = isDeviceWork(spans.kind[around]) && isDeviceWork(spans.kind[span]);
            if (shared > 0 && beyond > 0 && beyond <= kUnitNs && !areOneStreams)
                durations[span] -= beyond;
            else if (shared > 0 && shared <= kUnitNs && (areOneStreams || beyond > 0) && startNs > spans.startNs[around]) {
                durations[around] -= shared;
                areRoundedUp = true;
            }
            if (endOf(around) > startNs)
                break;
            open.pop_back();
        }
        open.push_back(span);
    }
    return areRoundedUp;
}

} // namespace

void mendRoundedEnds(RecordedSpans& all, const std::vector<RecordedTrack>& tracks, const RecordedColumn<RecordedLink>& links)
{
    const RecordedSpans& spans = all;
    if (!areWholeMicroseconds(spans))
        return;
    std::vector<std::int64_t>& durations = all.durationNs.own();
    std::set<std::string> roundedUp; // processes whose devices show it
    for (const RecordedTrack& row : tracks)
        if (mendRow(spans, durations, row) && row.isDevice)
            roundedUp.insert(row.process);
    const auto ofDevice = [&](const RecordedTrack& row, auto&& use) {
        if (row.isDevice && roundedUp.contains(row.process))
            for (std::uint32_t span = row.first; span < row.last; ++span)
                if (isDeviceWork(spans.kind[span]))
                    use(span);
    };
    if (roundedUp.empty())
        return;
    std::vector<bool> isJustAsked(spans.size());
    for (const RecordedLink& link : links)
        if (link.kind == RecordedLink::Kind::launch)
            isJustAsked[link.to] = spans.startNs[link.to] - spans.startNs[link.from] <= kLaunchNs;
    std::map<std::string, std::vector<std::int64_t>> begins; // of a process's streams where they had waited
    for (const RecordedTrack& row : tracks) {
        std::int64_t doneNs = std::numeric_limits<std::int64_t>::min();
        ofDevice(row, [&](std::uint32_t span) {
            if (spans.startNs[span] > doneNs + kGoesOnNs && !isJustAsked[span])
                begins[row.process].push_back(spans.startNs[span]);
            doneNs = std::max(doneNs, spans.startNs[span] + durations[span]);
        });
    }
    for (auto& [process, of] : begins)
        std::sort(of.begin(), of.end());
    for (const RecordedTrack& row : tracks)
        ofDevice(row, [&](std::uint32_t span) {
            const std::vector<std::int64_t>& of = begins[row.process];
            if (durations[span] > kUnitNs &&
                std::binary_search(of.begin(), of.end(), spans.startNs[span] + durations[span] - kUnitNs))
                durations[span] -= kUnitNs;
        });
}

} // namespace sim
