#include "sim/recovery/run_digest.h"

#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/index.h"
#include "sim/recovery/step_trace.h"
#include "sim/trace/cache/cache_bytes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>

namespace sim {
namespace {

/// One description of each part, for writing and for reading: `Of` is the part, const where it is written.
template <typename Archive>
class DigestParts {
public:
    explicit DigestParts(Archive& archive) : m_archive(archive) {}

    template <typename Of>
    void recovered(Of& of)
    {
        evidence(of.evidence);
        m_archive(of.clock.isAligned);
        m_archive(of.clock.why);
        m_archive(of.clock.sinceNs);
        m_archive.list(of.clock.ranks,
                       [&](auto& rank) { all(rank.offsetNs, rank.driftPpm, rank.residualP95Ns, rank.ends, rank.isDriftTold); });
        texts(of.clock.violations);
        m_archive.list(of.groups, [&](auto& group) {
            all(group.name, group.description);
            numbers(group.ranks);
            m_archive(group.evidence);
            for (auto& count : group.carried.count)
                m_archive(count);
            for (auto& bytes : group.carried.bytes)
                m_archive(bytes);
            all(group.carried.earlyReduces, group.carried.attentionGathers, group.carried.attentionAllToAlls,
                group.carried.namedExperts, group.carried.namedTables, group.carried.apartFromAttention,
                group.carried.aroundAttention, group.carried.untold, group.carried.inferring, group.carried.sumsElsewhere,
                group.carried.ranks, group.isPartial);
        });
        axes(of.axes);
        steps(of.steps);
        passes(of.passes);
        optional(of.schedule, [&](auto& schedule) { this->schedule(schedule); });
        texts(of.problems);
    }

    template <typename Of>
    void answers(Of& of)
    {
        m_archive.list(of.arrivals.ranks,
                       [&](auto& rank) { all(rank.meetings, rank.last, rank.waitedNs, rank.causedNs, rank.why, rank.longerBy); });
        all(of.arrivals.collectives, of.arrivals.causedNs, of.arrivals.straggler, of.arrivals.text);
        map(of.arrivals.byAxis, [&](auto& waits) { all(waits.waitedNs, waits.meetings); });
        rankTimes(of.times.ranks);
        m_archive.list(of.times.kernels, [&](auto& kernel) {
            all(kernel.name, kernel.count, kernel.totalNs, kernel.shortestNs, kernel.longestNs);
        });
        m_archive.list(of.times.stages, [&](auto& stage) { all(stage.pipelineRank, stage.computingNs, stage.ranks); });
        m_archive(of.times.imbalance);
        path(of.path);
        m_archive.list(of.shapes, [&](auto& shape) {
            all(shape.op, shape.dtype, shape.shape, shape.m, shape.n, shape.k, shape.batch, shape.flops, shape.calls,
                shape.kernels, shape.totalNs);
            texts(shape.kernelNames);
            m_archive(shape.gpu);
            optional(shape.peakFlops, [&](auto& flops) { m_archive(flops); });
        });
        m_archive.list(of.findings, [&](auto& finding) {
            all(finding.kind, finding.title, finding.detail, finding.seconds);
            numbers(finding.ranks);
            all(finding.startNs, finding.endNs);
        });
        all(of.nothingFound, of.whyNothingLasts, of.amounts.ranksWithMemory, of.amounts.exchanges, of.amounts.withBytes);
    }

    template <typename Of>
    void step(Of& of)
    {
        all(of.step, of.originNs);
        trace(of.timeUse);
        rankTimes(of.ranks);
        path(of.path);
    }

private:
    template <typename... Values>
    void all(Values&... values)
    {
        (m_archive(values), ...);
    }
    template <typename Of>
    void texts(Of& list)
    {
        m_archive.list(list, [&](auto& text) { m_archive(text); });
    }
    template <typename Of>
    void numbers(Of& list)
    {
        m_archive.list(list, [&](auto& number) { m_archive(number); });
    }
    template <typename Of, typename Each>
    void optional(Of& value, Each each)
    {
        bool isThere = value.has_value();
        m_archive(isThere);
        if constexpr (Archive::kReads)
            if (isThere)
                value.emplace();
        if (isThere)
            each(*value);
    }
    /// `each` of a value; keys are texts or numbers.
    template <typename Of, typename Each>
    void map(Of& of, Each each)
    {
        using Map = std::remove_const_t<Of>;
        std::vector<std::pair<typename Map::key_type, typename Map::mapped_type>> pairs;
        if constexpr (!Archive::kReads)
            pairs.assign(of.begin(), of.end());
        m_archive.list(pairs, [&](auto& pair) {
            m_archive(const_cast<std::remove_const_t<decltype(pair.first)>&>(pair.first)); // a pair of a list, not of a map
            each(pair.second);
        });
        if constexpr (Archive::kReads)
            of = Map(pairs.begin(), pairs.end());
    }

    template <typename Of>
    void evidence(Of& of)
    {
        m_archive(of.worldSize);
        m_archive.list(of.ranks, [&](auto& rank) {
            all(rank.rank, rank.multiplicity);
            m_archive.list(rank.coordinates, [&](auto& coordinate) { all(coordinate.first, coordinate.second); });
            m_archive(rank.host);
        });
        m_archive.list(of.groups, [&](auto& group) {
            all(group.name, group.description);
            numbers(group.ranks);
            all(group.evidence, group.isPartial);
        });
        texts(of.names);
        texts(of.problems);
        m_archive.list(of.axes, [&](auto& axis) { all(axis.name, axis.size, axis.stride); });
        all(of.axesEvidence, of.isOneClock, of.slices);
    }

    template <typename Of>
    void axes(Of& of)
    {
        m_archive(of.areGroupsKnown);
        const auto digit = [&](auto& part) { all(part.stride, part.size); };
        m_archive(of.worldSize);
        const auto one = [&](auto& axis) {
            all(axis.name, axis.size, axis.stride);
            m_archive.list(axis.parts, digit);
            all(axis.evidence, axis.sure);
            texts(axis.partNames);
        };
        m_archive.list(of.axes, one);
        optional(of.allToAlls, one);
        m_archive.list(of.atoms, digit);
        texts(of.problems);
    }

    template <typename Of>
    void steps(Of& of)
    {
        m_archive.list(of.steps, [&](auto& step) {
            all(step.number, step.startNs, step.endNs);
            numbers(step.rankStartNs);
            numbers(step.rankEndNs);
            all(step.isOutlier, step.isPart, step.longestNs, step.isOneClock, step.overlapNs);
        });
        all(of.medianSeconds, of.evidence, of.sure, of.areMarked, of.areGuessed);
        texts(of.problems);
    }

    template <typename Of>
    void action(Of& of)
    {
        all(of.kind, of.overlapsNext, of.stage, of.microbatch);
    }
    template <typename Of>
    void passes(Of& of)
    {
        m_archive.list(of.ranks, [&](auto& rank) {
            m_archive.list(rank, [&](auto& pass) {
                action(pass.action);
                all(pass.startNs, pass.endNs);
            });
        });
        numbers(of.pipelineRank);
        all(of.pipelineRanks, of.evidence, of.sure);
    }
    template <typename Of>
    void schedule(Of& of)
    {
        all(of.kind, of.pipelineRanks, of.stages, of.virtualStages, of.microbatches, of.slices, of.microbatchGroup,
            of.overlapsExperts, of.alike, of.sure, of.evidence);
        texts(of.alsoPossible);
        map(of.rows, [&](auto& row) { m_archive.list(row, [&](auto& one) { action(one); }); });
    }

    template <typename Of>
    void rankTimes(Of& list)
    {
        const auto number = [&](auto& ns) { m_archive(ns); };
        m_archive.list(list, [&](auto& time) {
            all(time.windowNs, time.computingNs, time.exposedCommNs, time.copyNs, time.idleNs, time.hostBoundNs, time.commNs);
            map(time.exposedByAxis, number);
            map(time.commByAxis, number);
            map(time.hiddenByAxis, number);
        });
    }
    template <typename Of>
    void path(Of& of)
    {
        m_archive(of.step);
        m_archive.list(of.segments, [&](auto& segment) {
            all(segment.rank, segment.startNs, segment.endNs, segment.part, segment.name, segment.group);
        });
        map(of.ns, [&](auto& ns) { m_archive(ns); });
        numbers(of.rankNs);
        m_archive(of.jumps);
    }
    template <typename Of>
    void trace(Of& of)
    {
        m_archive(of.title);
        m_archive.list(of.processes, [&](auto& process) {
            all(process.rank, process.multiplicity, process.name, process.host, process.computingNs);
        });
        m_archive.list(of.kinds, [&](auto& kind) {
            all(kind.name, kind.opClass, kind.stage, kind.layer, kind.group, kind.bytes, kind.flops, kind.category);
        });
        m_archive.list(of.tracks, [&](auto& track) {
            all(track.process, track.name, track.role);
            numbers(track.startNs);
            numbers(track.durationNs);
            numbers(track.kind);
            numbers(track.microbatch);
        });
        m_archive.list(of.counters, [&](auto& counter) {
            all(counter.process, counter.name, counter.unit);
            numbers(counter.timeNs);
            numbers(counter.value);
        });
        all(of.endNs, of.slices);
    }

    Archive& m_archive;
};

void require(bool isSo, const char* what)
{
    if (!isSo)
        throw Error(std::string("what was found out is damaged: ") + what);
}

/// Times that can be added and subtracted.
bool isTime(std::int64_t ns)
{
    constexpr std::int64_t kFar = INT64_MAX / 4;
    return ns > -kFar && ns < kFar;
}

/// Bytes that no writer of ours need have written: whatever is used as a place lies within its list.
class DigestCheck {
public:
    explicit DigestCheck(const RunDigest& digest) : m_digest(digest), m_ranks(digest.recovered.evidence.ranks.size()) {}

    void all() const
    {
        const Recovered& recovered = m_digest.recovered;
        require(recovered.clock.ranks.size() == m_ranks || (recovered.clock.ranks.empty() && !recovered.clock.isAligned),
                "clocks of other ranks");
        for (const RankEvidence& rank : recovered.evidence.ranks)
            require(rank.rank >= 0 && rank.rank < kMostRanks && rank.multiplicity >= 1, "a rank of no number");
        require(recovered.evidence.slices >= 1, "sequences in no parts");
        axes(recovered.axes);
        for (const RecoveredStep& step : recovered.steps.steps) {
            require(step.rankStartNs.size() == m_ranks && step.rankEndNs.size() == m_ranks, "a step of other ranks");
            require(isTime(step.startNs) && isTime(step.endNs) && step.startNs <= step.endNs, "a step of no time");
            require(step.overlapNs >= 0 && step.overlapNs <= step.endNs - step.startNs, "a step of less than no time");
            require(std::all_of(step.rankStartNs.begin(), step.rankStartNs.end(), isTime) &&
                        std::all_of(step.rankEndNs.begin(), step.rankEndNs.end(), isTime),
                    "a rank's step of no time");
        }
        require(recovered.passes.ranks.size() == m_ranks && recovered.passes.pipelineRank.size() == m_ranks,
                "passes of other ranks");
        for (const auto& rank : recovered.passes.ranks)
            for (const RecoveredPass& pass : rank) {
                action(pass.action);
                require(isTime(pass.startNs) && isTime(pass.endNs), "a pass of no time");
            }
        if (recovered.schedule)
            schedule(*recovered.schedule);
        const RunAnswers& answers = m_digest.answers;
        require(answers.arrivals.ranks.size() == m_ranks, "arrivals of other ranks");
        require(answers.arrivals.straggler >= -1 && answers.arrivals.straggler < static_cast<int>(m_ranks),
                "a late rank of none");
        for (const RankArrivals& rank : answers.arrivals.ranks)
            require(rank.why <= Lateness::idles, "a reason that is none");
        require(answers.times.ranks.size() == m_ranks || answers.times.ranks.empty(), "times of other ranks");
        path(answers.path);
        for (const DigestedStep& step : m_digest.steps) {
            require(step.step < recovered.steps.steps.size() && isTime(step.originNs), "a picture of no step");
            require(step.ranks.size() == m_ranks, "a step's times of other ranks");
            path(step.path);
            trace(step.timeUse);
        }
    }

private:
    static constexpr int kMostRanks = 1 << 24;

    /// Sizes are multiplied and ranks divided by strides wherever axes are used.
    static void axes(const RecoveredAxes& of)
    {
        require(of.worldSize >= 0 && of.worldSize <= kMostRanks, "a world of no size");
        const std::int64_t world = std::max(1, of.worldSize);
        std::int64_t dense = 1;
        const auto check = [world](const RecoveredAxis& axis) {
            require(axis.size >= 1 && axis.size <= world && axis.stride >= 1 && axis.stride <= world, "an axis of no size");
            std::int64_t all = 1;
            for (const Digit& part : axis.parts) {
                require(part.size >= 1 && part.stride >= 1 && part.size <= world && part.stride <= world,
                        "a part of an axis of no size");
                all *= part.size;
                require(all <= axis.size, "parts larger than their axis");
            }
        };
        if (of.allToAlls)
            check(*of.allToAlls);
        for (const RecoveredAxis& axis : of.axes) {
            check(axis);
            if (axis.name != "ep") // which lies across the others
                dense *= axis.size;
            require(dense <= world, "axes of more ranks than there are");
        }
        for (const Digit& atom : of.atoms)
            require(atom.size >= 1 && atom.stride >= 1 && atom.size <= world && atom.stride <= world, "a digit of no size");
    }
    static void action(const Action& of)
    {
        require(of.kind <= ActionKind::backwardWeight && of.stage >= 0 && of.microbatch >= -1, "a pass of no kind");
    }
    static void schedule(const RecoveredSchedule& of)
    {
        constexpr int kMost = 1 << 24;
        for (const int count : {of.pipelineRanks, of.stages, of.virtualStages, of.slices})
            require(count >= 1 && count <= kMost, "a schedule of no size");
        require(of.microbatches >= 0 && of.microbatches <= kMost && of.microbatchGroup >= 0, "a schedule of no batch");
        for (const auto& [rank, row] : of.rows) {
            require(rank >= 0 && rank < of.pipelineRanks, "passes of no pipeline rank");
            for (const Action& one : row)
                action(one);
        }
    }
    void path(const RankPath& of) const
    {
        require(of.rankNs.size() == m_ranks || of.rankNs.empty(), "a path through other ranks");
        for (const auto& [part, ns] : of.ns)
            require(part <= PathPart::idling && isTime(ns), "a part of a path that is none");
        const RunEvidence& evidence = m_digest.recovered.evidence;
        require(of.segments.empty() || of.step < m_digest.recovered.steps.steps.size(), "a path through no step");
        for (const PathSegment& segment : of.segments)
            require(segment.rank < m_ranks && segment.name < evidence.names.size() && segment.group >= -1 &&
                        segment.group < static_cast<std::int32_t>(evidence.groups.size()) && segment.part <= PathPart::idling &&
                        isTime(segment.startNs) && isTime(segment.endNs),
                    "a path through what is not there");
    }
    static void trace(const Trace& of)
    {
        require(of.endNs >= 0 && isTime(of.endNs) && of.slices >= 1, "a picture of no time");
        for (const SpanKind& kind : of.kinds)
            require(kind.opClass <= OpClass::other, "a class that is none");
        const auto isProcess = [&of](int process) { return process >= 0 && asIndex(process) < of.processes.size(); };
        for (const Track& track : of.tracks) {
            const std::size_t spans = track.size();
            require(isProcess(track.process) && track.role <= TrackRole::other && track.durationNs.size() == spans &&
                        track.kind.size() == spans && track.microbatch.size() == spans,
                    "a lane whose columns are of several lengths");
            for (std::size_t i = 0; i < spans; ++i)
                require(track.kind[i] < of.kinds.size() && track.durationNs[i] >= 0 && isTime(track.durationNs[i]) &&
                            isTime(track.startNs[i]) && (i == 0 || track.startNs[i - 1] <= track.startNs[i]),
                        "a lane's span that is none");
        }
        for (const Counter& counter : of.counters)
            require(isProcess(counter.process) && counter.timeNs.size() == counter.value.size() &&
                        std::is_sorted(counter.timeNs.begin(), counter.timeNs.end()) &&
                        std::all_of(counter.timeNs.begin(), counter.timeNs.end(), isTime),
                    "a counter of no process");
    }

    const RunDigest& m_digest;
    const std::size_t m_ranks;
};

} // namespace

const DigestedStep* RunDigest::find(std::size_t step) const
{
    const auto found = std::find_if(steps.begin(), steps.end(), [step](const DigestedStep& of) { return of.step == step; });
    return found == steps.end() ? nullptr : &*found;
}

std::vector<DigestedStep> digestSteps(const Recording& recording, const Recovered& recovered, const RunAnswers& answers,
                                      std::size_t mostSpans)
{
    const std::size_t count = recovered.steps.steps.size(), first = recovered.steps.typical();
    std::vector<std::size_t> order; // the typical one, the one after it, the one before it, and so on
    for (std::size_t away = 0; order.size() < count; ++away) {
        if (away > 0 && first + away < count)
            order.push_back(first + away);
        if (away <= first)
            order.push_back(first - away);
    }
    // Each time twice as many: the run is gone over for all of them together, and there may be room for a few only.
    std::vector<DigestedStep> out;
    std::vector<std::size_t> steps;
    std::size_t spans = 0;
    for (std::size_t from = 0, next = 1; from < count && spans <= mostSpans; from += next, next *= 2) {
        const std::vector<std::size_t> batch(order.begin() + static_cast<std::ptrdiff_t>(from),
                                             order.begin() + static_cast<std::ptrdiff_t>(std::min(from + next, count)));
        for (StepTrace& made : timeUseOfSteps(recording, recovered, answers.arrivals, batch)) {
            spans += made.trace.spanCount();
            if (!out.empty() && spans > mostSpans)
                break;
            steps.push_back(order[out.size()]);
            out.push_back({.step = steps.back(), .originNs = made.originNs, .timeUse = std::move(made.trace)});
        }
    }
    std::vector<std::vector<RankTime>> times = timesOfSteps(recovered, steps);
    std::vector<RankPath> paths = criticalPathsOver(recovered, steps);
    for (std::size_t i = 0; i < out.size(); ++i) {
        out[i].ranks = std::move(times[i]);
        out[i].path = std::move(paths[i]);
    }
    return out;
}

std::string digestBytes(const Recovered& recovered, const RunAnswers& answers, const std::vector<DigestedStep>& steps)
{
    CacheWriter writer;
    DigestParts parts(writer);
    parts.recovered(recovered);
    parts.answers(answers);
    writer.list(steps, [&](const DigestedStep& step) { parts.step(step); });
    return writer.take();
}

RunDigest readDigest(std::span<const std::byte> bytes)
{
    RunDigest digest;
    CacheReader reader(bytes);
    DigestParts parts(reader);
    parts.recovered(digest.recovered);
    parts.answers(digest.answers);
    reader.list(digest.steps, [&](DigestedStep& step) { parts.step(step); });
    require(reader.isAtEnd(), "it is longer than it says");
    DigestCheck(digest).all();
    return digest;
}

} // namespace sim
