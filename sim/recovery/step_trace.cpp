#include "sim/recovery/step_trace.h"

#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/recovery/launch_class.h"
#include "sim/recovery/rank_numbers.h"
#include "sim/recovery/rank_time.h"
#include "sim/recovery/step_passes.h"
#include "sim/trace/time_use.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sim {
namespace {

constexpr std::size_t kMostRowsOfOne = 6; ///< spans that overlap are dealt to so many rows

OpClass classOfPass(ActionKind kind)
{
    switch (kind) {
    case ActionKind::forward:
        return OpClass::forward;
    case ActionKind::backward:
        return OpClass::backward;
    case ActionKind::backwardInput:
        return OpClass::backwardInput;
    case ActionKind::backwardWeight:
        break;
    }
    return OpClass::backwardWeight;
}

/// Of what a group's axes, as axesOfGroup() names them, are for; of kUnknownUse as that says, whatever the kind of collective may
/// let one guess.
OpClass classOfAxes(const std::string& axes, Exchange exchange)
{
    if (axes == "tp")
        return OpClass::tpComm;
    if (axes == "cp")
        return OpClass::cpComm;
    if (axes == "ep")
        return OpClass::epComm;
    if (axes == "pp" || (axes.empty() && isTransfer(exchange)))
        return OpClass::ppComm;
    return OpClass::dpComm;
}

std::uint64_t keyOf(const Part& part)
{
    return std::uint64_t{part.rank} << 32 | part.span;
}

/// What is looked up of a run for each of its steps: made once.
struct TracedRun {
    TracedRun(const Recording& of, const Recovered& found, const Arrivals& arrivals)
        : recording(of), recovered(found), axes(found), launchNames(of)
    {
        const RankNumbers numbers = numbersOf(of);
        for (std::size_t r = 0; r < of.ranks.size(); ++r)
            if (numbers.ofRank[r] >= 0)
                recordingOf.try_emplace(numbers.ofRank[r], &of.ranks[r]);
        for (std::size_t i = 0; i < found.meetings.meetings.size(); ++i)
            for (const Part& part : found.meetings.meetings[i].parts)
                meetingOf[keyOf(part)] = i + 1;
        for (const Arrival& arrival : arrivals.list)
            for (std::size_t p = 0; p < arrival.waitNs.size(); ++p)
                if (arrival.waitNs[p] >= kShortestWaitNs)
                    waitOf[keyOf(found.meetings.meetings[arrival.meeting].parts[p])] = arrival.waitNs[p];
    }
    const RankRecording* find(int rank) const
    {
        const auto recorded = recordingOf.find(rank);
        return recorded == recordingOf.end() ? nullptr : recorded->second;
    }
    /// `r`: as RunEvidence::ranks. Nothing where nobody recorded it. O(its spans).
    std::optional<ClassOfStart> classesOf(std::size_t r) const
    {
        const RankRecording* const rank = find(recovered.evidence.ranks[r].rank);
        std::optional<ClassOfStart> classes;
        if (rank != nullptr) {
            classes.emplace(recording, *rank, launchNames);
            classes->align(recovered.clock, r);
        }
        return classes;
    }

    const Recording& recording;
    const Recovered& recovered;
    AxesOfGroups axes;
    LaunchNames launchNames;
    std::map<int, const RankRecording*> recordingOf;
    std::unordered_map<std::uint64_t, std::uint64_t> meetingOf; ///< and one more
    std::unordered_map<std::uint64_t, std::int64_t> waitOf;
};

class StepTracer {
public:
    StepTracer(const TracedRun& run, std::size_t step, const StepTraceOptions& options)
        : m_run(run), m_recovered(run.recovered), m_evidence(run.recovered.evidence), m_stepIndex(step),
          m_step(run.recovered.steps.steps.at(step)), m_options(options)
    {
        describe();
    }

    StepTrace trace()
    {
        std::vector<bool> isDrawn = ranksThatFit();
        for (std::size_t r = 0; r < m_evidence.ranks.size(); ++r) {
            checkCancelled();
            if (isDrawn[r])
                addRank(r, m_run.classesOf(r));
            else
                addProcess(r);
        }
        for (const Meeting& transfer : m_recovered.meetings.transfers) {
            const auto from = m_placeOf.find(keyOf(transfer.parts[0])), to = m_placeOf.find(keyOf(transfer.parts[1]));
            if (from != m_placeOf.end() && to != m_placeOf.end())
                m_trace.flows.push_back({from->second.first, from->second.second, to->second.first, to->second.second});
        }
        return {.trace = std::move(m_trace), .originNs = m_step.startNs, .isDrawn = std::move(isDrawn)};
    }

    /// The next rank as one lane.
    void addLane(std::size_t r, const std::optional<ClassOfStart>& classes)
    {
        checkCancelled();
        addRank(r, classes);
        m_trace.processes[r].computingNs = computingNs(m_trace, static_cast<int>(r), m_trace.endNs);
        m_lanes.push_back(timeUseTrack(m_trace, static_cast<int>(r), m_trace.endNs));
        m_trace.tracks.clear();
        m_placeOf.clear();
    }
    /// Of the lanes.
    StepTrace timeUse()
    {
        m_trace.tracks = std::move(m_lanes);
        return {
            .trace = std::move(m_trace), .originNs = m_step.startNs, .isDrawn = std::vector<bool>(m_evidence.ranks.size(), true)};
    }

private:
    using Place = std::pair<std::uint32_t, std::uint32_t>; ///< track and span

    std::int64_t aligned(std::size_t r, std::int64_t ns) const
    {
        return m_recovered.clock.isAligned ? m_recovered.clock.aligned(r, ns) : ns;
    }
    bool isWithin(std::size_t r, std::int64_t startNs) const
    {
        return startNs >= m_step.rankStartNs[r] && startNs < m_step.rankEndNs[r];
    }
    /// Spans are by start: those of the rank's step.
    template <typename Spans>
    std::pair<std::size_t, std::size_t> within(std::size_t r, const Spans& spans) const
    {
        const auto at = [&](std::int64_t ns) {
            return static_cast<std::size_t>(
                std::lower_bound(spans.begin(), spans.end(), ns, [](const auto& s, std::int64_t t) { return s.startNs < t; }) -
                spans.begin());
        };
        return {at(m_step.rankStartNs[r]), at(m_step.rankEndNs[r])};
    }

    /// Of a rank's step, what has a row.
    std::size_t spansOf(std::size_t r) const
    {
        const auto [firstWork, lastWork] = within(r, m_evidence.ranks[r].work);
        const auto [firstComm, lastComm] = within(r, m_evidence.ranks[r].comms);
        std::size_t spans = lastWork - firstWork + lastComm - firstComm;
        const RankRecording* const recorded = m_run.find(m_evidence.ranks[r].rank);
        if (m_options.hostThreads && recorded != nullptr)
            for (const RecordedTrack& thread : recorded->tracks)
                for (std::uint32_t i = thread.first; !thread.isDevice && i < thread.last; ++i)
                    spans += isWithin(r, aligned(r, recorded->spans.startNs[i])) ? 1 : 0;
        return spans;
    }

    std::vector<bool> ranksThatFit() const
    {
        const std::size_t ranks = m_evidence.ranks.size();
        std::vector<bool> fits(ranks, false);
        std::size_t spans = 0;
        const std::size_t around = m_options.around < ranks ? m_options.around : 0;
        const auto take = [&](std::size_t r) {
            const std::size_t own = spansOf(r);
            if (r == around && own > m_options.mostSpans)
                throw Error("step " + std::to_string(m_step.number) + " has " + std::to_string(own) +
                            (m_options.hostThreads ? " kernels, collectives and spans of the host" : " kernels and collectives") +
                            " on rank " + std::to_string(m_evidence.ranks[r].rank) + ", and up to " +
                            std::to_string(m_options.mostSpans) + " are drawn at once");
            if (spans + own > m_options.mostSpans)
                return false;
            spans += own;
            fits[r] = true;
            return true;
        };
        std::size_t after = around, before = around;
        while (after < ranks && take(after))
            ++after;
        while (before > 0 && take(before - 1))
            --before;
        return fits;
    }

    /// The picture ends with the step: what still runs then is cut there, as in the step's times.
    void describe()
    {
        m_trace.title = "step " + std::to_string(m_step.number);
        m_trace.slices = m_evidence.slices;
        m_trace.worldSize = m_recovered.axes.worldSize;
        for (const RecoveredAxis& axis : m_recovered.axes.axes)
            m_trace.axes.push_back({axis.name, axis.size, axis.stride});
        for (const GroupEvidence& group : m_evidence.groups)
            m_trace.groups.push_back({.name = group.name,
                                      .description = group.description,
                                      .backend = {},
                                      .evidence = group.evidence,
                                      .ranks = group.ranks,
                                      .size = static_cast<int>(group.ranks.size())});
        m_trace.isEpoch = m_run.recording.isEpoch;
        m_trace.originNs = m_step.startNs;
        m_trace.endNs = m_step.endNs - m_step.startNs;
    }

    std::string nameOf(int rank) const
    {
        std::string place;
        for (const char* name : {"dp", "pp", "cp", "tp", "ep"})
            if (const RecoveredAxis* axis = m_recovered.axes.find(name); axis != nullptr)
                place += (place.empty() ? "" : " ") + (name + std::to_string(RecoveredAxes::coordinate(*axis, rank)));
        return "rank " + std::to_string(rank) + (place.empty() ? "" : " (" + place + ")");
    }

    std::uint32_t kindOf(std::string name, OpClass opClass, int stage = -1, std::string group = {}, std::int64_t bytes = 0)
    {
        const auto [found, isNew] =
            m_kinds.try_emplace(std::tuple(name, opClass, stage, group, bytes), static_cast<std::uint32_t>(m_trace.kinds.size()));
        if (isNew)
            m_trace.kinds.push_back({.name = std::move(name),
                                     .opClass = opClass,
                                     .stage = stage,
                                     .group = std::move(group),
                                     .bytes = bytes,
                                     .category = {}});
        return found->second;
    }

    /// Rows of one process that are being filled, by what they hold. What overlaps goes to the next row.
    struct Row {
        std::string name;
        TrackRole role = TrackRole::other;
        std::vector<Track> rows;
    };
    struct Span {
        std::int64_t startNs = 0, endNs = 0;
        std::uint32_t kind = 0;
        std::int32_t microbatch = -1;
        std::uint64_t correlation = 0;
        std::int32_t group = -1, peer = -1;
    };
    /// In order of start. Returns the row and the place in it.
    static Place put(Row& row, int process, const Span& span, std::int64_t originNs)
    {
        std::size_t at = 0;
        const std::int64_t startNs = span.startNs - originNs;
        while (at < row.rows.size() && row.rows[at].size() > 0 &&
               row.rows[at].startNs.back() + row.rows[at].durationNs.back() > startNs)
            ++at;
        at = std::min(at, kMostRowsOfOne - 1);
        if (at >= row.rows.size())
            row.rows.push_back({.process = process,
                                .name = at == 0 ? row.name : row.name + " (" + std::to_string(at + 1) + ")",
                                .role = row.role});
        Track& track = row.rows[at];
        track.startNs.push_back(startNs);
        track.durationNs.push_back(std::max<std::int64_t>(0, span.endNs - span.startNs));
        track.kind.push_back(span.kind);
        track.microbatch.push_back(span.microbatch);
        if (row.role == TrackRole::communication) {
            track.correlation.push_back(span.correlation);
            track.group.push_back(span.group);
            track.peer.push_back(span.peer);
        }
        return {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(track.size() - 1)};
    }

    /// Who a rank is.
    void addProcess(std::size_t r)
    {
        const RankEvidence& rank = m_evidence.ranks[r];
        m_trace.processes.push_back({.rank = rank.rank,
                                     .multiplicity = rank.multiplicity,
                                     .name = nameOf(rank.rank),
                                     .host = rank.host,
                                     .deviceName = {},
                                     .backend = {},
                                     .rankEvidence = {}});
    }

    void addRank(std::size_t r, const std::optional<ClassOfStart>& classes)
    {
        const auto process = static_cast<int>(m_trace.processes.size());
        addProcess(r);
        const StepPasses passes(m_recovered, m_stepIndex, r);
        Row actions{.name = "actions", .role = TrackRole::actions, .rows = {}};
        for (const StepPass& pass : passes.all())
            put(actions, process,
                {.startNs = pass.startNs,
                 .endNs = pass.endNs,
                 .kind = kindOf(std::to_string(pass.action.stage) + actionLetter(pass.action.kind), classOfPass(pass.action.kind),
                                pass.action.stage),
                 .microbatch = pass.action.microbatch},
                m_step.startNs);
        finish(actions);
        addWork(r, process, passes, classes ? &*classes : nullptr);
        addComms(r, process);
        const RankRecording* const recorded = m_run.find(m_evidence.ranks[r].rank);
        if (recorded == nullptr)
            return;
        if (m_options.hostThreads)
            addThreads(r, process, *recorded);
        addCounters(r, process, *recorded);
    }

    void addWork(std::size_t r, int process, const StepPasses& passes, const ClassOfStart* classes)
    {
        const RankEvidence& rank = m_evidence.ranks[r];
        std::map<std::pair<bool, std::uint32_t>, Row> rows; // kernels before copies
        const auto [first, last] = within(r, rank.work);
        for (std::size_t i = first; i < last; ++i) {
            const WorkSpan& span = rank.work[i];
            const bool isCopy = span.work == DeviceWork::copy;
            Row& row = rows[{isCopy, span.stream}];
            if (row.name.empty()) {
                row.name = isCopy ? "copies" : "compute";
                row.role = isCopy ? TrackRole::other : TrackRole::compute;
            }
            OpClass opClass = isCopy               ? OpClass::hostTransfer
                              : classes != nullptr ? classes->of(span.startNs, span.stream)
                                                   : OpClass::other;
            int stage = -1;
            std::int32_t microbatch = -1;
            if (const StepPass* pass = isCopy ? nullptr : passes.of(span)) {
                if (opClass == OpClass::other)
                    opClass = classOfPass(pass->action.kind);
                stage = pass->action.stage;
                microbatch = pass->action.microbatch;
            }
            put(row, process,
                {.startNs = span.startNs,
                 .endNs = span.endNs,
                 .kind = kindOf(m_evidence.names[span.name], opClass, stage),
                 .microbatch = microbatch},
                m_step.startNs);
        }
        finishAll(rows, "stream");
    }

    void addComms(std::size_t r, int process)
    {
        const RankEvidence& rank = m_evidence.ranks[r];
        std::map<std::pair<std::string, std::uint32_t>, Row> rows;
        std::map<std::pair<std::string, std::uint32_t>, std::vector<std::pair<std::uint64_t, Place>>> places;
        struct Due {
            std::pair<std::string, std::uint32_t> row;
            Span span;
            std::optional<std::uint64_t> part; ///< of transfers
        };
        std::vector<Due> due; // waits and transfers
        const auto [first, last] = within(r, rank.comms);
        for (std::size_t i = first; i < last; ++i) {
            const CommSpan& span = rank.comms[i];
            const std::string& axes = m_run.axes.of(span.group, span.exchange);
            const OpClass opClass = classOfAxes(axes, span.exchange);
            const std::string word = axes == kAllToAllUse ? std::string(kUnknownUse)
                                     : axes.empty()       ? (isTransfer(span.exchange) ? "pp" : std::string(kUnknownUse))
                                                          : axes;
            const auto rowKey = std::pair(word, span.stream);
            Row& row = rows[rowKey];
            if (row.name.empty()) {
                row.name = word == kUnknownUse ? "communication" : word + " comm";
                row.role = TrackRole::communication;
            }
            const std::uint64_t part = keyOf({static_cast<std::uint32_t>(r), static_cast<std::uint32_t>(i)});
            const auto waits = m_run.waitOf.find(part);
            // Members that are recorded tell it exactly; else what the rank's own network saw.
            const std::int64_t waited = waits != m_run.waitOf.end()      ? waits->second
                                        : m_run.meetingOf.contains(part) ? 0
                                                                         : std::max<std::int64_t>(0, span.waitNs);
            const std::int64_t readyNs = std::min(span.endNs, span.startNs + waited);
            if (readyNs > span.startNs)
                due.push_back({rowKey,
                               {.startNs = span.startNs,
                                .endNs = readyNs,
                                .kind = kindOf("wait " + word, OpClass::other, -1, word),
                                .group = span.group},
                               std::nullopt});
            const std::string name =
                span.exchange == Exchange::unknown ? m_evidence.names[span.name] : std::string(exchangeName(span.exchange));
            const auto meeting = m_run.meetingOf.find(part);
            due.push_back({rowKey,
                           {.startNs = readyNs,
                            .endNs = span.endNs,
                            .kind = kindOf(name, opClass, -1, word, span.bytes),
                            .correlation = meeting == m_run.meetingOf.end() ? 0 : meeting->second,
                            .group = span.group,
                            .peer = span.peer},
                           part});
        }
        // A transfer begins after collectives that are asked for while its ranks wait.
        std::stable_sort(due.begin(), due.end(), [](const Due& a, const Due& b) { return a.span.startNs < b.span.startNs; });
        for (const Due& one : due) {
            const Place place = put(rows[one.row], process, one.span, m_step.startNs);
            if (one.part)
                places[one.row].emplace_back(*one.part, place);
        }
        auto next = static_cast<std::uint32_t>(m_trace.tracks.size());
        for (const auto& [rowKey, row] : rows) {
            for (const auto& [part, place] : places[rowKey])
                m_placeOf[part] = {next + place.first, place.second};
            next += static_cast<std::uint32_t>(row.rows.size());
        }
        finishAll(rows, "stream");
    }

    void addThreads(std::size_t r, int process, const RankRecording& rank)
    {
        for (const RecordedTrack& thread : rank.tracks) {
            if (thread.isDevice)
                continue;
            Row row{.name = thread.name, .role = TrackRole::other, .rows = {}};
            for (std::uint32_t i = thread.first; i < thread.last; ++i) {
                const std::int64_t startNs = aligned(r, rank.spans.startNs[i]);
                const std::string& name = m_run.recording.names[rank.spans.name[i]];
                const std::int32_t microbatch = rank.spans.microbatch.empty() ? -1 : rank.spans.microbatch[i];
                if (isWithin(r, startNs) && !isMarkOfPass(name, microbatch, m_evidence.slices))
                    put(row, process,
                        {.startNs = startNs,
                         .endNs = aligned(r, rank.spans.endNs(i)),
                         .kind = kindOf(name, OpClass::hostTransfer)},
                        m_step.startNs);
            }
            finish(row);
        }
    }

    /// Bytes of devices alone: what else is counted is no memory of a GPU, and is drawn as such.
    void addCounters(std::size_t r, int process, const RankRecording& rank)
    {
        constexpr double kMost = 9e18;
        for (const RecordedCounter& recorded : rank.counters) {
            if (recorded.unit != "bytes" || recorded.name == "host memory")
                continue;
            Counter counter{.process = process, .name = recorded.name, .unit = recorded.unit};
            const auto timeAt = [&](std::size_t i) { return aligned(r, recorded.timeNs[i]) - m_step.startNs; };
            const auto isBytes = [&](std::size_t i) { return recorded.value[i] >= 0 && recorded.value[i] <= kMost; };
            const auto first =
                static_cast<std::size_t>(std::partition_point(recorded.timeNs.begin(), recorded.timeNs.end(),
                                                              [&](std::int64_t ns) { return aligned(r, ns) < m_step.startNs; }) -
                                         recorded.timeNs.begin());
            std::size_t before = first;
            while (before > 0 && !isBytes(before - 1))
                --before;
            if (before > 0) { // the last one before holds at the begin
                counter.timeNs.push_back(0);
                counter.value.push_back(std::llround(recorded.value[before - 1]));
            }
            for (std::size_t i = first; i < recorded.timeNs.size() && timeAt(i) <= m_trace.endNs; ++i)
                if (isBytes(i)) {
                    counter.timeNs.push_back(timeAt(i));
                    counter.value.push_back(std::llround(recorded.value[i]));
                }
            if (!counter.timeNs.empty())
                m_trace.counters.push_back(std::move(counter));
        }
    }

    void finish(Row& row)
    {
        for (Track& track : row.rows)
            m_trace.tracks.push_back(std::move(track));
    }
    /// Rows of one name are told apart by a number.
    template <typename Rows>
    void finishAll(Rows& rows, const char* word)
    {
        std::map<std::string, int> of, seen;
        for (const auto& [rowKey, row] : rows)
            ++of[row.name];
        for (auto& [rowKey, row] : rows) {
            const int number = ++seen[row.name];
            if (of[row.name] > 1)
                for (Track& track : row.rows)
                    track.name.insert(row.name.size(), std::string(" · ") + word + " " + std::to_string(number));
            finish(row);
        }
    }

    const TracedRun& m_run;
    const Recovered& m_recovered;
    const RunEvidence& m_evidence;
    const std::size_t m_stepIndex;
    const RecoveredStep& m_step;
    const StepTraceOptions& m_options;
    std::unordered_map<std::uint64_t, Place> m_placeOf;
    std::map<std::tuple<std::string, OpClass, int, std::string, std::int64_t>, std::uint32_t> m_kinds;
    Trace m_trace;
    std::vector<Track> m_lanes; ///< [rank], of timeUse()
};

} // namespace

StepTrace stepTrace(const Recording& recording, const Recovered& recovered, const Arrivals& arrivals, std::size_t step,
                    const StepTraceOptions& options)
{
    return StepTracer(TracedRun(recording, recovered, arrivals), step, options).trace();
}

StepTrace timeUseOfStep(const Recording& recording, const Recovered& recovered, const Arrivals& arrivals, std::size_t step)
{
    return std::move(timeUseOfSteps(recording, recovered, arrivals, {step}).front());
}

std::vector<StepTrace> timeUseOfSteps(const Recording& recording, const Recovered& recovered, const Arrivals& arrivals,
                                      const std::vector<std::size_t>& steps)
{
    const TracedRun run(recording, recovered, arrivals);
    const StepTraceOptions options;
    std::vector<StepTracer> tracers;
    for (const std::size_t step : steps)
        tracers.emplace_back(run, step, options);
    for (std::size_t r = 0; r < recovered.evidence.ranks.size(); ++r) {
        const std::optional<ClassOfStart> classes = run.classesOf(r);
        for (StepTracer& tracer : tracers)
            tracer.addLane(r, classes);
    }
    std::vector<StepTrace> made;
    for (StepTracer& tracer : tracers)
        made.push_back(tracer.timeUse());
    return made;
}

} // namespace sim
