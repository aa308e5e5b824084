#include "sim/trace/readers/merge.h"

#include "sim/trace/readers/reading.h"
#include "sim/trace/readers/recording_builder.h"
#include "sim/trace/readers/windows.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace sim {
namespace {

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& from)
{
    to.insert(to.end(), from.begin(), from.end());
}

/// `from` is the same rank as `into`, told by another file. Returns what its spans' numbers grow by. Ends with sortJoined().
std::uint32_t joinRank(RankRecording& into, RankRecording&& from)
{
    const auto shift = static_cast<std::uint32_t>(into.spans.size());
    if (into.spans.meaning.empty() != from.spans.meaning.empty()) {
        RankRecording& without = into.spans.meaning.empty() ? into : from;
        without.spans.meaning.assign(without.spans.size(), kNoSpan);
        without.spans.microbatch.assign(without.spans.size(), -1);
    }
    into.spans.startNs.append(from.spans.startNs);
    into.spans.durationNs.append(from.spans.durationNs);
    into.spans.name.append(from.spans.name);
    into.spans.kind.append(from.spans.kind);
    into.spans.meaning.append(from.spans.meaning);
    into.spans.microbatch.append(from.spans.microbatch);
    for (RecordedTrack& track : from.tracks) {
        track.first += shift;
        track.last += shift;
        into.tracks.push_back(std::move(track));
    }
    for (RecordedLink link : from.links)
        into.links.push_back({link.from + shift, link.to + shift, link.kind});
    for (RecordedCollective collective : from.collectives) {
        if (collective.span != kNoSpan)
            collective.span += shift;
        if (collective.hostSpan != kNoSpan)
            collective.hostSpan += shift;
        into.collectives.push_back(collective);
    }
    for (const auto& [span, shape] : from.shapeOf)
        into.shapeOf.emplace_back(span + shift, shape);
    for (const std::uint32_t span : from.annotations)
        into.annotations.push_back(span + shift);
    append(into.steps, from.steps);
    append(into.progress, from.progress);
    into.areStartsTold = into.areStartsTold || from.areStartsTold;
    append(into.counters, from.counters);
    into.events += from.events;
    for (std::string RankRecording::*text : {&RankRecording::host, &RankRecording::deviceName, &RankRecording::backend})
        if ((into.*text).empty())
            into.*text = from.*text;
    if (into.device < 0)
        into.device = from.device;
    into.worldSize = std::max(into.worldSize, from.worldSize);
    const bool isFirst = into.lastNs == 0 && into.firstNs == 0;
    into.firstNs = isFirst ? from.firstNs : std::min(into.firstNs, from.firstNs);
    into.lastNs = isFirst ? from.lastNs : std::max(into.lastNs, from.lastNs);
    return shift;
}

/// Once all files of a rank are joined: there may be hundreds.
void sortJoined(RankRecording& rank)
{
    std::stable_sort(rank.collectives.begin(), rank.collectives.end(),
                     [](const RecordedCollective& a, const RecordedCollective& b) { return a.startNs < b.startNs; });
    std::stable_sort(rank.steps.begin(), rank.steps.end(),
                     [](const RecordedStep& a, const RecordedStep& b) { return a.number < b.number; });
    std::stable_sort(rank.annotations.begin(), rank.annotations.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return rank.spans.startNs[a] < rank.spans.startNs[b]; });
}

/// Of ranges of NCCL's only what one member gives or gets is told of; all of them give or get so many times that.
void scaleToGroup(const Recording& recording, RecordedCollective& collective)
{
    if (collective.group < 0 || collective.bytes >= 0 || (collective.inElements < 0) == (collective.outElements < 0))
        return;
    const RecordedGroup& group = recording.groups[static_cast<std::size_t>(collective.group)];
    if (group.size <= 0 || group.evidence != kNcclRanges)
        return;
    const std::int64_t each = std::max(collective.inElements, collective.outElements);
    if (each < INT64_MAX / group.size)
        (collective.inElements < 0 ? collective.inElements : collective.outElements) = each * group.size;
}

/// By their places in the communicator, which need not ascend with the ranks of the world; empty where files contradict each
/// other or tell nothing.
std::vector<int> ranksByPlace(const RecordedGroup& group)
{
    std::vector<int> ranks;
    for (const auto& [place, rank] : group.places) {
        if (place < 0 || place >= group.size || rank < 0)
            return {};
        ranks.resize(static_cast<std::size_t>(group.size), -1);
        int& at = ranks[static_cast<std::size_t>(place)];
        if (at >= 0 && at != rank)
            return {};
        at = rank;
    }
    return ranks;
}

bool overlap(const RankRecording& known, const RankRecording& rank)
{
    if (known.spans.size() == 0 || rank.spans.size() == 0)
        return false;
    const auto isWithin = [&rank](const std::pair<std::int64_t, std::int64_t>& window) {
        return window.first < rank.lastNs && rank.firstNs < window.second;
    };
    return known.windows.empty() ? isWithin({known.firstNs, known.lastNs})
                                 : std::any_of(known.windows.begin(), known.windows.end(), isWithin);
}

/// Whether the numbered files are of one process, one after another.
bool areOfOneWorker(const std::vector<RankRecording>& ranks)
{
    std::vector<const RankRecording*> numbered;
    for (const RankRecording& rank : ranks)
        if (rank.rankEvidence == kNumberOfFile)
            numbered.push_back(&rank);
    const std::string key = numbered.size() < 2 ? std::string() : workerKey(*numbered.front());
    if (key.empty())
        return false;
    for (std::size_t i = 1; i < numbered.size(); ++i) {
        if (workerKey(*numbered[i]) != key)
            return false;
        for (std::size_t j = 0; j < i; ++j) // ranks of a job overlap: the first two tell
            if (overlap(*numbered[j], *numbered[i]))
                return false;
    }
    return true;
}

/// A number at the end of a name may count steps, or sizes of a batch: where no file says a world that has such a rank, those of
/// a job are told apart by counting from 0 on, with few that are missing.
void doubtNumberedFiles(Recording& recording)
{
    std::set<int> numbers;
    std::size_t numbered = 0;
    for (const RankRecording& rank : recording.ranks) {
        if (rank.rank >= 0)
            numbers.insert(rank.rank);
        numbered += rank.rankEvidence == kNumberOfFile ? 1 : 0;
    }
    if (numbered == 0)
        return;
    const bool areCounted = numbers.size() >= 2 && *numbers.begin() == 0 &&
                            static_cast<std::size_t>(*numbers.rbegin()) < 2 * numbers.size() && !areOfOneWorker(recording.ranks);
    for (RankRecording& rank : recording.ranks)
        if (rank.rankEvidence == kNumberOfFile && (!areCounted || rank.worldSize > 0) && rank.rank >= rank.worldSize) {
            rank.rank = -1;
            rank.rankEvidence.clear();
        }
}

} // namespace

std::vector<std::int32_t> RecordingMerger::placesOf(std::vector<RecordedGroup>&& groups)
{
    std::vector<std::int32_t> placeOf;
    for (RecordedGroup& group : groups) {
        const auto [found, isNew] =
            m_places.try_emplace({group.name, group.ranks}, static_cast<std::int32_t>(m_into.groups.size()));
        placeOf.push_back(found->second);
        if (isNew) {
            m_into.groups.push_back(std::move(group));
            continue;
        }
        RecordedGroup& known = m_into.groups[static_cast<std::size_t>(found->second)];
        if (known.description.empty() || known.description == "undefined")
            known.description = group.description;
        if (known.backend.empty())
            known.backend = group.backend;
        if (group.evidence == "distributedInfo")
            known.evidence = group.evidence;
        known.size = std::max(known.size, group.size);
        append(known.toldBy, group.toldBy); // in order when all are there
        append(known.places, group.places);
    }
    return placeOf;
}

void RecordingMerger::add(Recording&& from)
{
    Recording& into = m_into;
    std::vector<std::uint32_t> nameOf(from.names.size());
    for (std::uint32_t name = 0; name < nameOf.size(); ++name)
        nameOf[name] = into.names.add(from.names[name]);
    const std::vector<std::int32_t> groupOf = placesOf(std::move(from.groups));
    const auto firstMeaning = static_cast<std::uint32_t>(into.meanings.size());
    append(into.meanings, from.meanings);
    const auto firstShape = static_cast<std::uint32_t>(into.shapes.size());
    append(into.shapes, from.shapes);
    if (into.files.empty()) // several files are not one program's, and may be of several grids
        into.axes = std::move(from.axes);
    else if (into.axes != from.axes)
        into.axes.clear();
    const auto firstRank = static_cast<std::uint32_t>(into.ranks.size());
    const auto firstFile = static_cast<int>(into.files.size());
    const bool bothHaveTimes = into.spanCount() > 0 && from.spanCount() > 0;
    for (RankRecording& rank : from.ranks) {
        for (std::uint32_t& name : rank.spans.name)
            name = nameOf[name];
        for (std::uint32_t& meaning : rank.spans.meaning)
            if (meaning != kNoSpan)
                meaning += firstMeaning;
        for (RecordedCollective& collective : rank.collectives) {
            collective.name = nameOf[collective.name];
            collective.dtype = nameOf[collective.dtype];
            collective.asker = nameOf[collective.asker];
            if (collective.group >= 0)
                collective.group = groupOf[static_cast<std::size_t>(collective.group)];
        }
        for (RecordedProgress& progress : rank.progress)
            progress.group = groupOf[static_cast<std::size_t>(progress.group)];
        for (auto& [span, shape] : rank.shapeOf)
            shape += firstShape;
        rank.file += firstFile;
        into.ranks.push_back(std::move(rank));
    }
    for (const RecordedFlow& flow : from.flows)
        into.flows.push_back({flow.fromRank + firstRank, flow.fromSpan, flow.toRank + firstRank, flow.toSpan});
    if (bothHaveTimes && into.isEpoch != from.isEpoch && !m_isSaidThatClocksDiffer) {
        m_isSaidThatClocksDiffer = true;
        into.problems.push_back(from.files.front().path + ": its times begin at " +
                                (from.isEpoch ? "1970, those of files before it at a start of their own"
                                              : "a start of its own, those of files before it in 1970") +
                                ": they cannot be laid side by side");
    }
    into.isEpoch = into.files.empty() ? from.isEpoch : into.isEpoch && from.isEpoch;
    into.hasManyClocks = into.hasManyClocks || from.hasManyClocks;
    append(into.files, from.files);
    into.worldSize = std::max(into.worldSize, from.worldSize);
    into.slices = std::max(into.slices, from.slices);
    append(into.skipped, from.skipped);
    append(into.problems, from.problems);
}

Recording RecordingMerger::finish()
{
    for (RecordedGroup& group : m_into.groups) {
        std::sort(group.toldBy.begin(), group.toldBy.end());
        group.toldBy.erase(std::unique(group.toldBy.begin(), group.toldBy.end()), group.toldBy.end());
    }
    m_places.clear();
    return std::move(m_into);
}

void arrangeRanks(Recording& recording)
{
    doubtNumberedFiles(recording);
    std::vector<std::uint32_t> order(recording.ranks.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto key = [&](std::uint32_t rank) { return static_cast<unsigned>(recording.ranks[rank].rank); }; // -1 comes last
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    std::vector<RankRecording> arranged, unknown;
    struct Place {
        bool isUnknown = false;
        std::uint32_t rank = 0, shift = 0;
    };
    std::vector<Place> placeOf(order.size());
    std::set<std::pair<bool, std::uint32_t>> joined; // unknown, rank
    std::map<std::string, std::size_t> workers;      // among the unknown, by workerKey()
    const auto areWindows = [&](const RankRecording& known, const RankRecording& rank) {
        // Recorders of NCCL go on from one file to the next: between these nothing is missing.
        const std::string& format = recording.files[static_cast<std::size_t>(rank.file)].format;
        return format == recording.files[static_cast<std::size_t>(known.file)].format &&
               (format == "Kineto" || format == "Chrome") && known.spans.size() > 0 && rank.spans.size() > 0 &&
               !overlap(known, rank);
    };
    const auto join = [&](bool isUnknown, std::size_t place, RankRecording& rank) {
        RankRecording& known = (isUnknown ? unknown : arranged)[place];
        if (areWindows(known, rank))
            noteWindows(known, rank);
        const auto to = static_cast<std::uint32_t>(place);
        joined.emplace(isUnknown, to);
        return Place{isUnknown, to, joinRank(known, std::move(rank))};
    };
    for (const std::uint32_t from : order) {
        RankRecording& rank = recording.ranks[from];
        if (rank.rank >= 0 && !arranged.empty() && arranged.back().rank == rank.rank) {
            RankRecording& known = arranged.back();
            const RecordedFile& file = recording.files[static_cast<std::size_t>(rank.file)];
            const RecordedFile& before = recording.files[static_cast<std::size_t>(known.file)];
            const bool isOtherWorld = rank.worldSize > 0 && known.worldSize > 0 && rank.worldSize != known.worldSize;
            if (!isOtherWorld && (file.format != before.format || !overlap(known, rank))) {
                placeOf[from] = join(false, arranged.size() - 1, rank);
                continue;
            }
            recording.problems.push_back(
                file.path + ": says that it is rank " + std::to_string(rank.rank) + " as " + before.path + " does, " +
                (isOtherWorld ? "of a world of " + std::to_string(rank.worldSize) +
                                    (rank.worldSize == 1 ? " rank, not " : " ranks, not ") + std::to_string(known.worldSize)
                              : std::string("at the same time")) +
                "; it is kept as a worker of unknown rank");
            rank.rank = -1;
            rank.rankEvidence.clear();
        }
        if (const std::string process = rank.rank < 0 && rank.worldSize <= 1 ? workerKey(rank) : std::string();
            !process.empty()) {
            const auto [worker, isNew] = workers.try_emplace(process, unknown.size());
            if (!isNew && areWindows(unknown[worker->second], rank)) {
                placeOf[from] = join(true, worker->second, rank);
                continue;
            }
        }
        std::vector<RankRecording>& to = rank.rank >= 0 ? arranged : unknown;
        placeOf[from] = {rank.rank < 0, static_cast<std::uint32_t>(to.size()), 0};
        to.push_back(std::move(rank));
    }
    const auto known = static_cast<std::uint32_t>(arranged.size());
    for (const auto& [isUnknown, rank] : joined)
        sortJoined((isUnknown ? unknown : arranged)[rank]);
    std::move(unknown.begin(), unknown.end(), std::back_inserter(arranged));
    recording.ranks = std::move(arranged);
    std::vector<std::vector<std::uint32_t>> movedTo; // [rank], of those whose rows were joined
    for (RankRecording& rank : recording.ranks)
        movedTo.push_back(rank.windows.empty() ? std::vector<std::uint32_t>() : joinRows(rank));
    const auto placed = [&](std::uint32_t& rank, std::uint32_t& span) {
        const Place& place = placeOf[rank];
        rank = place.rank + (place.isUnknown ? known : 0);
        span += place.shift;
        if (!movedTo[rank].empty())
            span = movedTo[rank][span];
    };
    for (RecordedFlow& flow : recording.flows) {
        placed(flow.fromRank, flow.fromSpan);
        placed(flow.toRank, flow.toSpan);
    }
}

void nameMembers(Recording& recording)
{
    std::vector<std::vector<int>> inOrder; // [group][place] the rank, -1: not told
    for (RecordedGroup& group : recording.groups) {
        inOrder.push_back(ranksByPlace(group));
        group.places.clear();
    }
    for (RecordedGroup& group : recording.groups) {
        if (!group.ranks.empty() || !group.evidence.starts_with("NCCL"))
            continue;
        std::vector<int> ranks;
        for (const int rank : group.toldBy)
            if (rank >= 0)
                ranks.push_back(rank);
        // The library's first interfaces do not say how many there are.
        const bool canBeOfAny = group.evidence.starts_with("NCCL profiler") || group.evidence == kNcclRanges;
        const bool isAll = group.size > 0 ? static_cast<int>(ranks.size()) == group.size : ranks.size() >= 2 && canBeOfAny;
        if (isAll) {
            group.ranks = std::move(ranks);
            group.size = static_cast<int>(group.ranks.size());
        }
    }
    for (RankRecording& rank : recording.ranks)
        for (RecordedCollective& collective : rank.collectives) {
            scaleToGroup(recording, collective);
            for (std::int32_t* end : {&collective.sourceRank, &collective.destinationRank}) {
                if (*end >= -1)
                    continue;
                const auto place = static_cast<std::size_t>(-2 - *end);
                *end = -1;
                if (collective.group < 0)
                    continue;
                const auto of = static_cast<std::size_t>(collective.group);
                const std::vector<int>& members = inOrder[of].empty() ? recording.groups[of].ranks : inOrder[of];
                if (place < members.size())
                    *end = members[place];
            }
        }
}

} // namespace sim
