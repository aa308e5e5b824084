#include "sim/analysis/critical_path.h"

#include "sim/cancel.h"
#include "sim/checked.h"
#include "sim/index.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <unordered_set>

namespace sim {
namespace {

/// A rank that pauses for less than this share of a transfer's time did not wait for the transfer: measured clocks jitter.
constexpr std::int64_t kJitterShare = 20;

struct Place {
    std::uint32_t track = 0, span = 0;
};

constexpr auto kAnyStream = static_cast<StreamMask>(~0U);

/// What the ops of a simulated step follow on their rank. Of each class it is found when somebody asks.
class FollowedStreams {
public:
    explicit FollowedStreams(const Simulation& simulation)
        : m_program(simulation.program()), m_classes(simulation.classes()), m_ofClass(asIndex(m_classes.count()))
    {
    }

    /// Of the op with that number on its stream; of what is not launched late, any.
    StreamMask of(int c, Stream stream, std::size_t number)
    {
        std::unique_ptr<ByStream>& known = m_ofClass[asIndex(c)];
        if (!known)
            known = find(c);
        const std::vector<StreamMask>& ops = (*known)[asIndex(stream)];
        return number < ops.size() ? ops[number] : kAnyStream;
    }

private:
    using ByStream = std::array<std::vector<StreamMask>, kStreamCount>; ///< [stream][op that a trace shows]

    std::unique_ptr<ByStream> find(int c) const
    {
        auto out = std::make_unique<ByStream>();
        std::array<StreamMask, kStreamCount> waited{}; // by ops that only wait, for the next one of their stream
        CancelPoll poll;
        for (const Step& step : m_program.ranks[asIndex(m_classes.pipelineRank[asIndex(c)])].steps) {
            const std::vector<Op>& ops = m_program.passes[step.pass].ops;
            poll(ops.size() + 1);
            for (const Op& op : ops) {
                StreamMask& before = waited[asIndex(op.stream)];
                before |= op.waits;
                if (op.kind == OpKind::wait)
                    continue;
                const bool isLaunched = op.kind == OpKind::compute || op.kind == OpKind::collective || op.kind == OpKind::copy;
                // Ops beside kernels also wait for the pass before to have begun.
                const auto follows = static_cast<StreamMask>(before | maskOf(op.stream) | maskOf(Stream::compute));
                (*out)[asIndex(op.stream)].push_back(isLaunched ? follows : kAnyStream);
                before = 0;
            }
        }
        return out;
    }

    const Program& m_program;
    const RankClasses& m_classes;
    std::vector<std::unique_ptr<ByStream>> m_ofClass;
};

class PathFinder {
public:
    explicit PathFinder(const Trace& trace) : PathFinder(trace, {}, nullptr) {}
    /// `slowMates`: [process] whom it waits for inside its actions, -1: nobody; or empty. `simulation`: whose trace it is; then
    /// all that kernels wait for is there, but for their launches.
    PathFinder(const Trace& trace, std::vector<int> slowMates, const Simulation* simulation)
        : m_trace(trace), m_tracksOfProcess(trace.processes.size()), m_slowMates(std::move(slowMates))
    {
        std::vector<char> hasStreams(trace.processes.size(), 0);
        for (const Track& track : trace.tracks)
            if (track.role == TrackRole::compute && track.size() > 0)
                hasStreams[asIndex(track.process)] = 1;
        if (simulation != nullptr && std::find(hasStreams.begin(), hasStreams.end(), 1) != hasStreams.end()) {
            m_followed.emplace(*simulation);
            for (const Track& track : trace.tracks)
                m_streamOfTrack.push_back(streamOf(track));
        }
        for (std::uint32_t t = 0; t < trace.tracks.size(); ++t) {
            const auto process = asIndex(trace.tracks[t].process);
            // Actions only cover the kernels below them.
            if (trace.tracks[t].size() > 0 && !(trace.tracks[t].role == TrackRole::actions && hasStreams[process] != 0))
                m_tracksOfProcess[process].push_back(t);
        }
        for (const SpanKind& kind : trace.kinds)
            m_isWait.push_back(kind.opClass == OpClass::other && kind.name.starts_with("wait") ? 1 : 0);
        findMembers();
        m_arrivals.resize(trace.flows.size());
        for (std::uint32_t i = 0; i < m_arrivals.size(); ++i)
            m_arrivals[i] = i;
        CancelPoll poll;
        std::sort(m_arrivals.begin(), m_arrivals.end(), [&](std::uint32_t a, std::uint32_t b) {
            poll();
            return arrivesBefore(trace.flows[a], {trace.flows[b].toTrack, trace.flows[b].toSpan});
        });
    }

    CriticalPath find()
    {
        CriticalPath path;
        path.lengthNs = m_trace.endNs;
        path.computeByProcess.assign(m_trace.processes.size(), 0);
        std::optional<Place> at = last();
        std::int64_t untilNs = at ? end(*at) : 0;
        path.unexplainedNs = m_trace.endNs - untilNs;
        CancelPoll poll;
        while (at) {
            poll(32);
            const std::optional<Place> latest = lastArrival(*at);
            // A member that waited in its group does so because of the last one: the path goes there.
            const Place span = latest.value_or(*at);
            CriticalStep step{
                .track = span.track, .span = span.span, .beginNs = std::min(start(span), untilNs), .endNs = untilNs};
            const std::optional<Before> before = whatKept(span);
            if (before) {
                const std::int64_t endedNs = std::min(end(before->place), step.beginNs);
                step.cause = latest ? CriticalCause::collective : before->cause;
                step.waitNs = step.beginNs - endedNs;
                if (before->cause == CriticalCause::transfer)
                    path.transferNs += step.waitNs;
                else
                    addLaunch(step, path);
                untilNs = endedNs;
                at = before->place;
            } else {
                step.waitNs = step.beginNs;
                addLaunch(step, path);
                at.reset();
            }
            count(step, path);
            path.steps.push_back(step);
        }
        std::reverse(path.steps.begin(), path.steps.end());
        return path;
    }

private:
    struct Before {
        Place place;
        CriticalCause cause;
    };
    struct InCollectiveOrder {
        const Trace& trace;
        std::uint64_t collectiveOf(Place at) const { return trace.tracks[at.track].correlation[at.span]; }
        bool operator()(Place a, Place b) const { return collectiveOf(a) < collectiveOf(b); }
    };

    /// Looked up by collective: looking through all ranks at each step of the path would take the square of their number.
    void findMembers()
    {
        CancelPoll poll;
        for (const auto& tracks : m_tracksOfProcess)
            for (const std::uint32_t t : tracks) {
                const std::vector<std::uint64_t>& correlation = m_trace.tracks[t].correlation;
                poll(correlation.size() + 1);
                for (std::uint32_t span = 0; span < correlation.size(); ++span)
                    if (correlation[span] != 0)
                        m_members.push_back({t, span});
            }
        std::stable_sort(m_members.begin(), m_members.end(), [&](Place a, Place b) {
            poll();
            return InCollectiveOrder{m_trace}(a, b);
        });
    }

    const Track& track(Place at) const { return m_trace.tracks[at.track]; }
    std::int64_t start(Place at) const { return track(at).startNs[at.span]; }
    std::int64_t end(Place at) const { return start(at) + track(at).durationNs[at.span]; }
    bool isWait(Place at) const { return m_isWait[track(at).kind[at.span]] != 0; }
    bool isNew(Place at) { return m_seen.insert(static_cast<std::uint64_t>(at.track) << 32U | at.span).second; }
    bool wasSeen(Place at) const { return m_seen.contains(static_cast<std::uint64_t>(at.track) << 32U | at.span); }
    static bool arrivesBefore(const Flow& flow, Place at)
    {
        return flow.toTrack != at.track ? flow.toTrack < at.track : flow.toSpan < at.span;
    }

    /// What it waited although it could have begun.
    void addLaunch(CriticalStep& step, CriticalPath& path) const
    {
        (m_followed ? path.launchNs : path.unexplainedNs) += step.waitNs;
        if (m_followed && step.waitNs > 0)
            step.cause = CriticalCause::launch;
    }

    void count(const CriticalStep& step, CriticalPath& path) const
    {
        const Track& steps = m_trace.tracks[step.track];
        const OpClass opClass = m_trace.kinds[steps.kind[step.span]].opClass;
        path.byClass[asIndex(opClass)] += step.endNs - step.beginNs;
        if (!isCommunication(opClass) && opClass != OpClass::hostTransfer)
            path.computeByProcess[asIndex(steps.process)] += step.endNs - step.beginNs;
    }

    /// The span of a track that ended last of those that began before a time, or at it unless they take time.
    std::optional<Place> endedBefore(std::uint32_t t, std::int64_t timeNs) const
    {
        const Track& of = m_trace.tracks[t];
        const auto begun = asIndex(std::upper_bound(of.startNs.begin(), of.startNs.end(), timeNs) - of.startNs.begin());
        for (std::size_t i = begun; i > 0; --i) {
            const Place at{t, static_cast<std::uint32_t>(i - 1)};
            if (end(at) <= timeNs && !isWait(at) && !wasSeen(at))
                return at;
        }
        return std::nullopt;
    }

    /// The span that ends last of all.
    std::optional<Place> last()
    {
        std::optional<Place> found;
        for (const auto& tracks : m_tracksOfProcess)
            for (const std::uint32_t t : tracks)
                if (const auto at = endedBefore(t, m_trace.endNs); at && (!found || end(*at) > end(*found)))
                    found = at;
        if (found)
            isNew(*found);
        return found;
    }

    /// The member of a span's collective that came last, if another than itself.
    std::optional<Place> lastArrival(Place at)
    {
        if (track(at).role == TrackRole::actions && !m_slowMates.empty())
            return sameOfSlowMate(at);
        if (track(at).correlation.empty() || track(at).correlation[at.span] == 0)
            return std::nullopt;
        Place latest = at;
        const auto [first, last] = std::equal_range(m_members.begin(), m_members.end(), at, InCollectiveOrder{m_trace});
        for (auto member = first; member != last; ++member) {
            // Members overlap: each is there when the collective ends. Numbers may come again later.
            const bool overlaps = start(*member) <= end(at) && end(*member) >= start(at);
            if (member->track != at.track && overlaps && start(*member) > start(latest))
                latest = *member;
        }
        if (latest.track == at.track || !isNew(latest))
            return std::nullopt;
        return latest;
    }

    /// The action of the slow rank that the span's rank met inside its own.
    std::optional<Place> sameOfSlowMate(Place at)
    {
        const int mate = m_slowMates[asIndex(track(at).process)];
        if (mate < 0)
            return std::nullopt;
        for (const std::uint32_t t : m_tracksOfProcess[asIndex(mate)]) {
            const Place same{t, at.span};
            const Track& of = m_trace.tracks[t];
            if (of.role == TrackRole::actions && of.size() == track(at).size() && of.kind[at.span] == track(at).kind[at.span] &&
                of.microbatch[at.span] == track(at).microbatch[at.span] && start(same) < end(at) && end(same) > start(at) &&
                isNew(same))
                return same;
        }
        return std::nullopt;
    }

    static std::optional<Stream> streamOf(const Track& track)
    {
        for (int s = 0; s < kStreamCount; ++s)
            if (track.role != TrackRole::actions && track.name == streamName(static_cast<Stream>(s)))
                return static_cast<Stream>(s);
        return std::nullopt;
    }

    /// What ended last on the rank before the span began, on some of its streams.
    std::optional<Place> lastOnRank(Place at, StreamMask among) const
    {
        std::optional<Place> last;
        for (const std::uint32_t t : m_tracksOfProcess[asIndex(track(at).process)]) {
            if (among != kAnyStream && m_streamOfTrack[t] && (among & maskOf(*m_streamOfTrack[t])) == 0)
                continue;
            const auto candidate = endedBefore(t, start(at));
            if (candidate &&
                (!last || end(*candidate) > end(*last) || (end(*candidate) == end(*last) && start(*candidate) > start(*last))))
                last = candidate;
        }
        return last;
    }

    /// What ran last on the rank before the span, or what was sent to it, whichever it waited for.
    std::optional<Before> whatKept(Place at)
    {
        const std::int64_t startNs = start(at);
        std::optional<Place> before = lastOnRank(at, kAnyStream), sender;
        // Behind what it waits for it then waited for its launch, and what else ended meanwhile kept nobody.
        if (before && end(*before) < startNs && m_followed && m_streamOfTrack[at.track])
            before = lastOnRank(at, m_followed->of(track(at).process, *m_streamOfTrack[at.track], at.span));
        auto flow = std::lower_bound(m_arrivals.begin(), m_arrivals.end(), at, [this](std::uint32_t index, Place wanted) {
            return arrivesBefore(m_trace.flows[index], wanted);
        });
        for (; flow != m_arrivals.end(); ++flow) {
            const Flow& f = m_trace.flows[*flow];
            if (f.toTrack != at.track || f.toSpan != at.span)
                break;
            const Place from{f.fromTrack, f.fromSpan};
            if (start(from) <= startNs && !wasSeen(from) && (!sender || end(from) > end(*sender)))
                sender = from;
        }
        std::optional<Before> out;
        const bool receives = isCommunication(m_trace.kinds[track(at).kind[at.span]].opClass);
        if (sender && (receives || !before || waitedForTransfer(std::min(end(*sender), startNs), end(*before), startNs)))
            out = {*sender, CriticalCause::transfer};
        else if (before)
            out = {*before, CriticalCause::order};
        if (out)
            isNew(out->place);
        return out;
    }

    static bool waitedForTransfer(std::int64_t sentNs, std::int64_t freeNs, std::int64_t startNs)
    {
        const std::int64_t idleNs = startNs - freeNs;
        return idleNs > 0 && (sentNs >= freeNs || idleNs >= ceilDivide(startNs - sentNs, kJitterShare));
    }

    const Trace& m_trace;
    std::vector<std::vector<std::uint32_t>> m_tracksOfProcess; ///< that hold work
    std::vector<int> m_slowMates;
    std::optional<FollowedStreams> m_followed;          ///< of a simulated step's kernels: then waits are for launches
    std::vector<std::optional<Stream>> m_streamOfTrack; ///< [track]; where m_followed
    std::vector<char> m_isWait;                         ///< [kind]
    std::vector<Place> m_members;                       ///< of collectives, by collective
    std::vector<std::uint32_t> m_arrivals;              ///< flows by the span at which they arrive
    std::unordered_set<std::uint64_t> m_seen; ///< spans the path has visited: what takes no time cannot lead it in a circle
};

} // namespace

CriticalPath criticalPath(const Trace& trace)
{
    return PathFinder(trace).find();
}

CriticalPath criticalPath(const Trace& trace, const Simulation& simulation)
{
    const RankClasses& classes = simulation.classes();
    const bool isItsOwn =
        std::equal(trace.processes.begin(), trace.processes.end(), classes.representative.begin(), classes.representative.end(),
                   [](const Process& process, int rank) { return process.rank == rank; });
    if (!isItsOwn)
        return criticalPath(trace);
    const auto slowness = [&](int c) {
        const RankSlowdown& slow = classes.slowdown[asIndex(c)];
        return std::max(slow.compute, slow.link);
    };
    std::vector<int> slowMates;
    for (int c = 0; c < classes.count(); ++c) {
        int slowest = c;
        for (const CommunicatorRole role : {CommunicatorRole::tp, CommunicatorRole::cp, CommunicatorRole::ep})
            if (const int group = classes.groups[asIndex(c)][asIndex(role)]; group >= 0)
                for (const int mate : classes.classGroups[asIndex(group)].classes)
                    if (slowness(mate) > slowness(slowest))
                        slowest = mate;
        slowMates.push_back(slowest == c ? -1 : slowest);
    }
    return PathFinder(trace, std::move(slowMates), &simulation).find();
}

} // namespace sim
