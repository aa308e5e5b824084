#include "live/stream/difference.h"

#include "live/stream/done_otherwise.h"
#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/index.h"

#include <algorithm>
#include <cstdio>
#include <unordered_map>

namespace live {
namespace {

using sim::asIndex;

/// What a rank may be doing, what counts first first: computing, transfers, waits, the bubble.
constexpr std::size_t kCompute = 0, kTransfer = 1, kWait = kTransfer + kCommCount, kBubble = kWait + kCommCount,
                      kPursuits = kBubble + 1;

struct Edge {
    std::int64_t timeNs = 0;
    std::size_t pursuit = 0;
    int change = 0; ///< +1 begins, -1 ends
};
using Edges = std::vector<Edge>;

void addInterval(Edges& edges, std::size_t pursuit, std::int64_t beginNs, std::int64_t endNs)
{
    if (endNs <= beginNs)
        return;
    edges.push_back({beginNs, pursuit, 1});
    edges.push_back({endNs, pursuit, -1});
}

void addCommunication(Edges& edges, int comm, bool betweenStages, std::int64_t arrivedNs, std::int64_t readyNs,
                      std::int64_t endNs)
{
    const std::int64_t ready = std::clamp(readyNs, arrivedNs, std::max(arrivedNs, endNs));
    addInterval(edges, betweenStages ? kBubble : kWait + asIndex(comm), arrivedNs, ready);
    addInterval(edges, kTransfer + asIndex(comm), ready, endNs);
}

TimeUse timeUseOf(Edges& edges, std::int64_t stepNs)
{
    std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.timeNs < b.timeNs; });
    std::array<int, kPursuits> running{};
    std::array<std::int64_t, kPursuits> spent{};
    for (std::size_t i = 0; i < edges.size(); ++i) {
        running[edges[i].pursuit] += edges[i].change;
        if (i + 1 == edges.size())
            break;
        const auto first = std::find_if(running.begin(), running.end(), [](int count) { return count > 0; });
        if (first != running.end())
            spent[asIndex(first - running.begin())] += edges[i + 1].timeNs - edges[i].timeNs;
    }
    TimeUse use;
    use.stepNs = use.hostNs = stepNs;
    use.computeNs = spent[kCompute];
    for (std::size_t comm = 0; comm < kCommCount; ++comm) {
        use.transferNs[comm] = spent[kTransfer + comm];
        use.waitNs[comm] = spent[kWait + comm];
    }
    use.bubbleNs = spent[kBubble];
    for (const std::int64_t time : spent)
        use.hostNs -= time;
    return use;
}

int commOf(sim::OpClass opClass)
{
    return sim::isCommunication(opClass) ? static_cast<int>(opClass) - static_cast<int>(sim::OpClass::tpComm) : -1;
}
static_assert(static_cast<int>(sim::OpClass::dpComm) - static_cast<int>(sim::OpClass::tpComm) == kCommCount - 1,
              "op classes of communication follow each other as kCommNames do");

constexpr int kPipelineComm = static_cast<int>(sim::OpClass::ppComm) - static_cast<int>(sim::OpClass::tpComm);

/// Communication whose members are of several stages, by correlation: an all-reduce of the whole world, as of a shared embedding.
class BetweenStages {
public:
    void add(std::uint64_t correlation, int stage)
    {
        if (const auto [first, isNew] = m_stages.try_emplace(correlation, stage); !isNew && first->second != stage)
            first->second = kSeveral;
    }
    bool contains(int comm, std::uint64_t correlation) const
    {
        const auto found = m_stages.find(correlation);
        return comm == kPipelineComm || (found != m_stages.end() && found->second == kSeveral);
    }

private:
    static constexpr int kSeveral = -1;
    std::unordered_map<std::uint64_t, int> m_stages;
};

BetweenStages betweenStages(std::span<const RankSpan> step, std::span<const int> stages)
{
    BetweenStages out;
    sim::CancelPoll pollCancel;
    for (const RankSpan& span : step) {
        pollCancel();
        if (commOf(span.span.track) >= 0 && span.span.correlation != 0)
            out.add(span.span.correlation, stages[asIndex(span.rank)]);
    }
    return out;
}

std::vector<int> stagesOf(const sim::Mesh& mesh)
{
    std::vector<int> stages;
    for (int rank = 0; rank < mesh.worldSize(); ++rank)
        stages.push_back(mesh.coordinates(rank).pp);
    return stages;
}

TimeUse meanOf(const std::vector<TimeUse>& uses)
{
    TimeUse mean;
    if (uses.empty())
        return mean;
    for (const TimeUse& use : uses) {
        mean.stepNs += use.stepNs;
        mean.computeNs += use.computeNs;
        mean.bubbleNs += use.bubbleNs;
        mean.hostNs += use.hostNs;
        for (std::size_t comm = 0; comm < kCommCount; ++comm) {
            mean.transferNs[comm] += use.transferNs[comm];
            mean.waitNs[comm] += use.waitNs[comm];
        }
    }
    const auto count = static_cast<std::int64_t>(uses.size());
    mean.stepNs /= count;
    mean.computeNs /= count;
    mean.bubbleNs /= count;
    mean.hostNs /= count;
    for (std::size_t comm = 0; comm < kCommCount; ++comm) {
        mean.transferNs[comm] /= count;
        mean.waitNs[comm] /= count;
    }
    return mean;
}

std::array<std::vector<Straggler>, kCommCount + 1> findStragglers(std::span<const RankSpan> step, std::span<const int> stages)
{
    const BetweenStages joining = betweenStages(step, stages);
    struct Last {
        const RankSpan* span = nullptr;
        std::int64_t members = 0, waitedNs = 0;
        int comm = 0; ///< kCommCount: the bubble
    };
    std::unordered_map<std::uint64_t, Last> lastOf;
    sim::CancelPoll pollCancel;
    for (const RankSpan& span : step) {
        pollCancel();
        const int comm = commOf(span.span.track);
        if (comm < 0 || span.span.correlation == 0)
            continue;
        Last& last = lastOf[span.span.correlation];
        last.comm = joining.contains(comm, span.span.correlation) ? kCommCount : comm;
        ++last.members;
        if (!last.span || span.span.startNs > last.span->span.startNs)
            last.span = &span;
    }
    for (const RankSpan& span : step) {
        const auto last = commOf(span.span.track) < 0 ? lastOf.end() : lastOf.find(span.span.correlation);
        if (last != lastOf.end())
            last->second.waitedNs += last->second.span->span.startNs - span.span.startNs;
    }
    std::array<std::unordered_map<int, Straggler>, kCommCount + 1> byRank;
    for (const auto& [correlation, last] : lastOf) {
        if (last.members < 2)
            continue;
        Straggler& straggler = byRank[asIndex(last.comm)][last.span->rank];
        straggler.rank = last.span->rank;
        ++straggler.times;
        straggler.othersWaitedNs += last.waitedNs;
    }
    std::array<std::vector<Straggler>, kCommCount + 1> stragglers;
    for (std::size_t comm = 0; comm < stragglers.size(); ++comm) {
        for (const auto& [rank, straggler] : byRank[comm])
            stragglers[comm].push_back(straggler);
        std::sort(stragglers[comm].begin(), stragglers[comm].end(), [](const Straggler& a, const Straggler& b) {
            return a.othersWaitedNs != b.othersWaitedNs ? a.othersWaitedNs > b.othersWaitedNs : a.rank < b.rank;
        });
    }
    return stragglers;
}

void addLine(std::string& text, const std::string& name, std::int64_t predictedNs, std::int64_t measuredNs)
{
    if (predictedNs == 0 && measuredNs == 0)
        return;
    char line[120];
    std::snprintf(line, sizeof line, "%-22s %12.3f %12.3f %+12.3f\n", name.c_str(), static_cast<double>(predictedNs) * 1e-6,
                  static_cast<double>(measuredNs) * 1e-6, static_cast<double>(measuredNs - predictedNs) * 1e-6);
    text += line;
}

void addTable(std::string& text, const TimeUse& predicted, const TimeUse& measured)
{
    addLine(text, "step", predicted.stepNs, measured.stepNs);
    addLine(text, "compute", predicted.computeNs, measured.computeNs);
    for (std::size_t comm = 0; comm < kCommCount; ++comm)
        addLine(text, kCommNames[comm] + std::string(" alone"), predicted.transferNs[comm], measured.transferNs[comm]);
    for (std::size_t comm = 0; comm < kCommCount; ++comm)
        addLine(text, std::string("waiting ") + kCommNames[comm], predicted.waitNs[comm], measured.waitNs[comm]);
    addLine(text, "bubble", predicted.bubbleNs, measured.bubbleNs);
    addLine(text, "host", predicted.hostNs, measured.hostNs);
}

} // namespace

std::vector<TimeUse> measuredTimeUse(std::span<const RankSpan> step, std::span<const int> stages)
{
    for (const RankSpan& span : step)
        if (span.rank < 0 || asIndex(span.rank) >= stages.size())
            throw sim::Error("a span is of rank " + std::to_string(span.rank) + ", but there are " +
                             std::to_string(stages.size()) + " ranks");
    const BetweenStages joining = betweenStages(step, stages);
    std::vector<Edges> edges(stages.size());
    std::int64_t first = step.empty() ? 0 : step[0].span.startNs, last = first;
    sim::CancelPoll pollCancel;
    for (const RankSpan& span : step) {
        pollCancel();
        first = std::min(first, span.span.startNs);
        last = std::max(last, span.span.endNs);
        Edges& ofRank = edges[asIndex(span.rank)];
        if (span.span.track == SpanTrack::compute)
            addInterval(ofRank, kCompute, span.span.startNs, span.span.endNs);
        else if (const int comm = commOf(span.span.track); comm >= 0)
            addCommunication(ofRank, comm, joining.contains(comm, span.span.correlation), span.span.startNs, span.span.readyNs,
                             span.span.endNs);
    }
    std::vector<TimeUse> uses;
    uses.reserve(edges.size());
    for (Edges& ofRank : edges) {
        sim::checkCancelled();
        uses.push_back(timeUseOf(ofRank, last - first));
    }
    return uses;
}

std::vector<TimeUse> predictedTimeUse(const sim::Simulation& simulation, std::span<const int> stages)
{
    const sim::Trace trace = simulation.trace(sim::TraceDetail::kernels);
    // When the last member had arrived: of collectives by their correlation, of transfers by their flow.
    std::unordered_map<std::uint64_t, std::int64_t> readyOf;
    BetweenStages joining;
    for (const sim::Track& track : trace.tracks)
        for (std::size_t span = 0; span < track.correlation.size(); ++span)
            if (track.correlation[span] != 0) {
                const int rank = trace.processes[asIndex(track.process)].rank;
                joining.add(track.correlation[span], stages[asIndex(rank)]);
                std::int64_t& ready = readyOf[track.correlation[span]];
                ready = std::max(ready, track.startNs[span]);
            }
    const auto key = [](std::uint32_t track, std::size_t span) { return (std::uint64_t{track} << 32U) + span; };
    std::unordered_map<std::uint64_t, std::int64_t> readyOfSpan;
    for (const sim::Flow& flow : trace.flows) {
        const std::int64_t ready =
            std::max(trace.tracks[flow.fromTrack].startNs[flow.fromSpan], trace.tracks[flow.toTrack].startNs[flow.toSpan]);
        readyOfSpan[key(flow.fromTrack, flow.fromSpan)] = readyOfSpan[key(flow.toTrack, flow.toSpan)] = ready;
    }
    std::vector<Edges> edges(trace.processes.size());
    for (std::uint32_t i = 0; i < trace.tracks.size(); ++i) {
        sim::checkCancelled();
        const sim::Track& track = trace.tracks[i];
        Edges& ofProcess = edges[asIndex(track.process)];
        for (std::size_t span = 0; span < track.size() && track.role != sim::TrackRole::actions; ++span) {
            const std::int64_t start = track.startNs[span], end = start + track.durationNs[span];
            const int comm = commOf(trace.kinds[track.kind[span]].opClass);
            if (track.role == sim::TrackRole::compute) {
                addInterval(ofProcess, kCompute, start, end);
            } else if (comm >= 0) {
                std::int64_t ready = start;
                const std::uint64_t correlation = span < track.correlation.size() ? track.correlation[span] : 0;
                if (correlation != 0)
                    ready = readyOf[correlation];
                else if (const auto met = readyOfSpan.find(key(i, span)); met != readyOfSpan.end())
                    ready = met->second;
                addCommunication(ofProcess, comm, joining.contains(comm, correlation), start, ready, end);
            }
        }
    }
    std::vector<TimeUse> uses;
    uses.reserve(edges.size());
    for (std::size_t process = 0; process < edges.size(); ++process) {
        sim::checkCancelled();
        TimeUse use = timeUseOf(edges[process], trace.endNs);
        const std::int64_t leftNs = use.hostNs;
        use.hostNs = std::min(leftNs, simulation.timeOfClass(static_cast<int>(process)).exposedHostNs);
        use.bubbleNs += leftNs - use.hostNs;
        uses.push_back(use);
    }
    return uses;
}

Difference explainDifference(const sim::Simulation& prediction, std::span<const RankSpan> step)
{
    const int worldSize = prediction.mesh().worldSize();
    int highest = -1;
    for (const RankSpan& span : step)
        highest = std::max(highest, span.rank);
    if (highest + 1 != worldSize)
        throw sim::Error("the prediction is of " + std::to_string(worldSize) + " ranks, the measurement of " +
                         std::to_string(highest + 1) + ": compare a run with the prediction of its own scenario");
    const std::vector<int> stages = stagesOf(prediction.mesh());
    const std::vector<TimeUse> measured = measuredTimeUse(step, stages);
    const std::vector<TimeUse> byClass = predictedTimeUse(prediction, stages);
    std::vector<TimeUse> predicted;
    Difference difference;
    for (int rank = 0; rank < worldSize; ++rank) {
        predicted.push_back(byClass[asIndex(prediction.classOf(rank))]);
        difference.ranks.push_back({rank, predicted.back(), measured[asIndex(rank)]});
    }
    difference.predicted = meanOf(predicted);
    difference.measured = meanOf(measured);
    difference.stragglers = findStragglers(step, stages);
    for (const sim::Problem& one : doneOtherwise(prediction.scenario()))
        difference.otherwise.push_back(one.message);
    return difference;
}

std::string Difference::text() const
{
    std::string text = "mean over ranks, ms       predicted     measured   difference\n";
    addTable(text, predicted, measured);
    for (std::size_t comm = 0; comm < stragglers.size(); ++comm) {
        if (stragglers[comm].empty() || stragglers[comm][0].othersWaitedNs == 0)
            continue;
        const Straggler& worst = stragglers[comm][0];
        char line[120];
        std::snprintf(line, sizeof line, "%s: most waited for rank %d, last to arrive %lld times, %.3f ms of others' time\n",
                      comm < kCommCount ? kCommNames[comm] : "bubble", worst.rank, static_cast<long long>(worst.times),
                      static_cast<double>(worst.othersWaitedNs) * 1e-6);
        text += line;
    }
    for (const Rank& rank : ranks) {
        text += "rank " + std::to_string(rank.rank) + "\n";
        addTable(text, rank.predicted, rank.measured);
    }
    for (const std::string& sentence : otherwise)
        text += sentence + "\n";
    return text;
}

} // namespace live
