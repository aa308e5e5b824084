#include "sim/trace/cache/check_recording.h"

#include "sim/error.h"
#include "sim/trace/readers/reading.h"

#include <algorithm>
#include <string>

namespace sim {
namespace {

void must(bool isSo, const char* what)
{
    if (!isSo)
        throw Error(what);
}

bool isTime(std::int64_t ns)
{
    return ns >= -kMostTraceNs && ns <= kMostTraceNs;
}

bool isRank(int rank)
{
    return rank >= -1 && rank < kMostRanksOfAJob;
}

bool isPlace(std::int64_t place, std::size_t size)
{
    return place >= 0 && place < static_cast<std::int64_t>(size);
}

void checkColumns(const RecordedSpans& spans, const Recording& shared)
{
    const std::size_t count = spans.size();
    must(spans.durationNs.size() == count && spans.name.size() == count && spans.kind.size() == count,
         "its columns are of different lengths");
    must(spans.meaning.size() == spans.microbatch.size() && (spans.meaning.empty() || spans.meaning.size() == count),
         "its columns are of different lengths");
    must(spans.meaning.empty() || !shared.meanings.empty(), "spans have meanings, and there is none"); // 0 is one
    bool isWhole = true; // in one go, without a branch a span
    const std::size_t names = shared.names.size(), meanings = shared.meanings.size();
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t start = spans.startNs[i], duration = spans.durationNs[i];
        isWhole &= (start >= -kMostTraceNs) & (start <= kMostTraceNs) & (duration >= 0) & (duration <= kMostTraceNs);
        isWhole &= spans.name[i] < names;
        isWhole &= static_cast<int>(spans.kind[i]) < kRecordedKindCount;
    }
    for (const std::uint32_t meaning : spans.meaning)
        isWhole &= meaning == kNoSpan || meaning < meanings;
    for (const std::int32_t microbatch : spans.microbatch)
        isWhole &= microbatch >= -1;
    must(isWhole, "a span is out of all bounds");
}

void checkTracks(const RankRecording& rank)
{
    const RecordedSpans& spans = rank.spans;
    std::uint32_t at = 0;
    bool isInOrder = true;
    for (const RecordedTrack& track : rank.tracks) {
        must(track.first == at && track.last >= track.first && track.last <= spans.size(), "its rows do not follow each other");
        at = track.last;
        for (std::uint32_t i = track.first + 1; i < track.last; ++i)
            isInOrder &= spans.startNs[i - 1] < spans.startNs[i] ||
                         (spans.startNs[i - 1] == spans.startNs[i] && spans.durationNs[i - 1] >= spans.durationNs[i]);
    }
    must(at == spans.size(), "a span is on no row");
    must(isInOrder, "spans of a row are out of order");
}

void checkCollectives(const RankRecording& rank, const Recording& shared)
{
    const auto isSpan = [&](std::uint32_t span) { return span == kNoSpan || span < rank.spans.size(); };
    std::int64_t before = -kMostTraceNs;
    for (const RecordedCollective& of : rank.collectives) {
        must(isSpan(of.span) && isSpan(of.hostSpan), "a collective is of no span");
        must(of.name < shared.names.size() && of.dtype < shared.names.size() && of.asker < shared.names.size(),
             "a collective has no name");
        must(of.group == -1 || isPlace(of.group, shared.groups.size()), "a collective is of no group");
        must(isRank(of.sourceRank) && isRank(of.destinationRank), "a transfer is from or to no rank");
        must(of.inElements >= -1 && of.outElements >= -1 && of.bytes >= -1 && of.sequence >= -1, "a collective is of no size");
        must(isTime(of.startNs) && of.startNs >= before && of.durationNs >= kUntimed && of.durationNs <= kMostTraceNs,
             "collectives are out of order");
        before = of.startNs;
    }
    for (const RecordedProgress& of : rank.progress)
        must(isPlace(of.group, shared.groups.size()) && of.lastAsked >= -1 && of.lastOver >= -1, "it counts in no group");
}

} // namespace

void checkShared(const Recording& shared, const std::vector<std::size_t>& spansOfRank)
{
    must(!shared.files.empty(), "it names no file");
    must(shared.worldSize >= 0 && shared.worldSize <= kMostRanksOfAJob, "its world is of no size");
    must(shared.slices >= 1 && shared.slices <= 1024, "its sequences are cut into no number of parts");
    for (const RecordedGroup& group : shared.groups) {
        must(group.size >= 0 && group.size <= kMostRanksOfAJob, "a group is of no size");
        for (std::size_t i = 0; i < group.ranks.size(); ++i)
            must(group.ranks[i] >= 0 && isRank(group.ranks[i]) && (i == 0 || group.ranks[i - 1] < group.ranks[i]),
                 "a group's ranks are out of order");
        must(std::all_of(group.toldBy.begin(), group.toldBy.end(), isRank), "a group is told of by no rank");
    }
    for (const TraceAxis& axis : shared.axes)
        must(axis.size >= 1 && axis.size <= kMostRanksOfAJob && axis.stride >= 1 && axis.stride <= kMostRanksOfAJob,
             "an axis is of no size");
    for (const RecordedMeaning& meaning : shared.meanings)
        must(static_cast<int>(meaning.opClass) < kOpClassCount, "a span is of no class");
    for (const RecordedFlow& flow : shared.flows)
        must(flow.fromRank < spansOfRank.size() && flow.toRank < spansOfRank.size() &&
                 flow.fromSpan < spansOfRank[flow.fromRank] && flow.toSpan < spansOfRank[flow.toRank],
             "a message is of no span");
}

void checkRank(const RankRecording& rank, const Recording& shared)
{
    must(isRank(rank.rank) && rank.worldSize >= 0 && rank.worldSize <= kMostRanksOfAJob, "it is of no rank");
    must(rank.multiplicity >= 1 && rank.multiplicity <= kMostRanksOfAJob, "it stands for no number of ranks");
    must(rank.device >= -1 && isPlace(rank.file, shared.files.size()), "it is of no file");
    must(isTime(rank.firstNs) && isTime(rank.lastNs) && rank.firstNs <= rank.lastNs, "it ends before it begins");
    must(std::all_of(
             rank.windows.begin(), rank.windows.end(),
             [](const auto& window) { return isTime(window.first) && isTime(window.second) && window.first <= window.second; }),
         "a part of it ends before it begins");
    must(rank.spans.size() < kNoSpan, "it has more spans than can be counted");
    checkColumns(rank.spans, shared);
    checkTracks(rank);
    checkCollectives(rank, shared);
    const std::size_t spans = rank.spans.size();
    bool isWhole = true;
    for (std::size_t i = 0; i < rank.links.size(); ++i) {
        const RecordedLink& link = rank.links[i];
        isWhole &= link.from < spans && link.to < spans && static_cast<int>(link.kind) <= 1;
        isWhole &= i == 0 || rank.links[i - 1].to <= link.to;
    }
    must(isWhole, "a launch is of no span");
    for (std::size_t i = 0; i < rank.shapeOf.size(); ++i)
        must(rank.shapeOf[i].first < spans && rank.shapeOf[i].second < shared.shapes.size() &&
                 (i == 0 || rank.shapeOf[i - 1].first <= rank.shapeOf[i].first),
             "a shape is of no span");
    for (const std::uint32_t annotation : rank.annotations)
        must(annotation < spans, "an annotation is no span");
    for (std::size_t i = 0; i < rank.steps.size(); ++i) {
        const RecordedStep& step = rank.steps[i];
        must(isTime(step.startNs) && isTime(step.endNs) && isTime(step.deviceStartNs) && isTime(step.deviceEndNs) &&
                 (i == 0 || rank.steps[i - 1].number <= step.number),
             "its steps are out of order");
    }
    for (const RecordedCounter& counter : rank.counters)
        must(counter.timeNs.size() == counter.value.size() && std::all_of(counter.timeNs.begin(), counter.timeNs.end(), isTime),
             "a counter is out of all bounds");
}

} // namespace sim
