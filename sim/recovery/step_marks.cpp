#include "sim/recovery/step_marks.h"

#include "sim/recovery/recorded_places.h"

#include <algorithm>
#include <utility>

namespace sim {
namespace {

/// What the device still had to do when its recording began, with an instant before that: the kernels of a stream without a
/// launch before the first that has one, where that was asked for in the first step. A recorder that begins while the device lags
/// behind knows no launches of them.
std::vector<std::pair<std::int64_t, std::uint32_t>> leftOver(const RankRecording& rank, const std::vector<RecordedStep>& steps)
{
    const RecordedSpans& spans = rank.spans;
    std::vector<std::pair<std::int64_t, std::uint32_t>> left;
    std::vector<std::pair<std::int64_t, std::int64_t>> windows = rank.windows;
    if (windows.empty())
        windows.emplace_back(INT64_MIN, INT64_MAX);
    std::vector<std::int64_t> firstStepEnds;
    for (const auto& window : windows) {
        firstStepEnds.push_back(INT64_MAX);
        for (const RecordedStep& step : steps)
            if (step.endNs > window.first)
                firstStepEnds.back() = std::min(firstStepEnds.back(), step.endNs);
    }
    for (const RecordedTrack& track : rank.tracks) {
        std::size_t window = 0;
        bool hasBegun = false;
        std::vector<std::uint32_t> before;
        for (std::uint32_t i = track.first; i < track.last; ++i) {
            const RecordedKind kind = spans.kind[i];
            for (; window + 1 < windows.size() && spans.startNs[i] > windows[window].second; ++window) {
                hasBegun = false;
                before.clear();
            }
            if (hasBegun || !isDeviceWork(kind) || isDeviceCopy(kind))
                continue;
            const std::int64_t launchNs = launchOf(rank, i);
            if (launchNs == INT64_MIN) {
                before.push_back(i);
                continue;
            }
            hasBegun = true;
            const std::int64_t first = windows[window].first;
            if (launchNs < firstStepEnds[window])
                for (const std::uint32_t span : before)
                    left.emplace_back(first == INT64_MIN ? first : first - 1, span);
        }
    }
    return left;
}

} // namespace

std::vector<StepMark> stepMarksOf(const RankRecording& rank, const std::vector<RecordedStep>& steps)
{
    if (steps.empty())
        return {};
    std::vector<StepMark> marks;
    struct Asked {
        std::int64_t atNs = 0, startNs = 0, endNs = 0;
        std::int64_t allDoneNs = 0; ///< end of this and of all that was asked before
    };
    std::vector<Asked> asked;
    const auto hasTwin = [](const RecordedStep& step) {
        return step.deviceStartNs >= 0 && step.deviceEndNs > step.deviceStartNs;
    };
    const RecordedSpans& spans = rank.spans;
    // Copies on streams of their own keep no step from its end.
    std::vector<bool> computes(rank.tracks.size(), false);   // [row]
    std::vector<std::pair<std::int64_t, std::int64_t>> busy; // starts, and until when all that started by then goes on
    for (std::size_t row = 0; row < rank.tracks.size(); ++row)
        for (std::uint32_t i = rank.tracks[row].first; i < rank.tracks[row].last; ++i) {
            const RecordedKind kind = spans.kind[i];
            if (!isDeviceWork(kind) || isDeviceCopy(kind))
                continue;
            computes[row] = true;
            busy.emplace_back(spans.startNs[i], spans.endNs(i));
        }
    std::sort(busy.begin(), busy.end());
    for (std::size_t i = 1; i < busy.size(); ++i)
        busy[i].second = std::max(busy[i].second, busy[i - 1].second);
    for (const RecordedLink& link : rank.links)
        if (link.kind == RecordedLink::Kind::launch && isDeviceWork(spans.kind[link.to]) &&
            (busy.empty() || computes[streamOf(rank, link.to) - 1]))
            asked.push_back({spans.startNs[link.from], spans.startNs[link.to], spans.endNs(link.to)});
    for (const auto& [askedNs, span] : leftOver(rank, steps))
        asked.push_back({askedNs, spans.startNs[span], spans.endNs(span)});
    std::sort(asked.begin(), asked.end(), [](const Asked& a, const Asked& b) { return a.atNs < b.atNs; });
    std::int64_t allDoneNs = INT64_MIN;
    for (Asked& of : asked)
        of.allDoneNs = allDoneNs = std::max(allDoneNs, of.endNs);
    const auto isBefore = [](const Asked& of, std::int64_t ns) { return of.atNs < ns; };
    /// The instant, or when the device has done what was asked before it.
    const auto doneBy = [&](std::int64_t ns) {
        const auto after = std::lower_bound(asked.begin(), asked.end(), ns, isBefore);
        return after == asked.begin() ? ns : std::max(ns, std::prev(after)->allDoneNs);
    };
    const bool anyTwin = std::any_of(steps.begin(), steps.end(), hasTwin);
    for (const RecordedStep& step : steps) {
        StepMark mark{.number = step.number, .startNs = step.startNs, .endNs = step.endNs};
        if (hasTwin(step)) {
            mark.startNs = step.deviceStartNs;
            mark.endNs = step.deviceEndNs;
            std::int64_t first = INT64_MAX, last = INT64_MIN;
            for (auto at = std::lower_bound(asked.begin(), asked.end(), step.startNs, isBefore);
                 at != asked.end() && at->atNs < step.endNs; ++at) {
                first = std::min(first, at->startNs);
                last = std::max(last, at->endNs);
            }
            if (first <= last && (last - first) / 2 > mark.endNs - mark.startNs) {
                mark.startNs = std::min(mark.startNs, first);
                mark.endNs = std::max(mark.endNs, last);
            }
        } else if (!anyTwin) {
            mark.startNs = doneBy(step.startNs);
            mark.endNs = doneBy(step.endNs);
            if (mark.startNs >= mark.endNs) // nothing was asked for, and the device is behind: no time is its own
                continue;
        }
        // What the device does before is of another step, whoever asked for it.
        const auto before = std::lower_bound(busy.begin(), busy.end(), std::pair(mark.startNs, INT64_MIN));
        const std::int64_t busyUntil = before == busy.begin() ? INT64_MIN : std::prev(before)->second;
        mark.fromNs = std::min(mark.startNs, std::max(step.startNs, busyUntil));
        mark.toNs = std::max(mark.endNs, step.endNs);
        marks.push_back(mark);
    }
    return marks;
}

} // namespace sim
