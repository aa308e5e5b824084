#include "sim/recovery/rank_evidence.h"

#include "sim/index.h"
#include "sim/recovery/asked_transfers.h"
#include "sim/recovery/named_axes.h"
#include "sim/recovery/named_iterations.h"
#include "sim/recovery/recorded_places.h"
#include "sim/recovery/step_marks.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <map>
#include <set>

namespace sim {
namespace {

/// Every collective of which the recorder saw the kernel or the time, once.
class RankReader {
public:
    /// `messageOf`: numbers of messages by the spans of the rank that send or receive them.
    RankReader(const Recording& recording, const RankRecording& rank, int number, const Messages& messageOf,
               const LaunchNames& names, std::vector<std::string>& problems)
        : m_recording(recording), m_rank(rank), m_messageOf(messageOf), m_launchNames(names), m_problems(problems)
    {
        m_result.rank = number;
    }

    RankEvidence read()
    {
        m_result.host = m_rank.host;
        m_result.deviceName = m_rank.deviceName;
        m_result.windows = m_rank.windows;
        m_result.multiplicity = m_rank.multiplicity;
        m_result.coordinates = coordinatesOfName(m_rank.name);
        findWaits();
        readCollectives();
        readLastCalls();
        readSpans();
        readSteps();
        const auto byStart = [](const auto& a, const auto& b) { return a.startNs < b.startNs; };
        std::stable_sort(m_result.comms.begin(), m_result.comms.end(), byStart);
        std::stable_sort(m_result.work.begin(), m_result.work.end(), byStart);
        std::stable_sort(m_result.marks.begin(), m_result.marks.end(), byStart);
        std::stable_sort(m_result.steps.begin(), m_result.steps.end(), byStart);
        for (auto& [kernel, transfer] : m_ofKernels) {
            transfer.kernel = placeOf(kernel);
            if (transfer.kernel >= 0)
                m_result.comms[asIndex(transfer.kernel)].exchange = Exchange::sendReceive;
            m_result.asked.push_back(transfer);
        }
        groupUnnamedTransfers();
        std::stable_sort(m_result.asked.begin(), m_result.asked.end(),
                         [](const AskedTransfer& a, const AskedTransfer& b) { return a.askedNs < b.askedNs; });
        joinAskedTransfers(m_result);
        return std::move(m_result);
    }

private:
    std::uint32_t streamOf(std::uint32_t span) const { return sim::streamOf(m_rank, span); }
    /// Of a live run: the span that is the wait for the last member, up to this one's start; kNoSpan: there is none. Waits that
    /// overlap what goes on before them lie on a lane beside it: "send activations (2)".
    std::uint32_t waitBefore(std::uint32_t span) const
    {
        const auto laneOf = [this](std::uint32_t of) {
            const std::string& name = m_rank.tracks[streamOf(of) - 1].name;
            return std::string_view(name).substr(0, name.find(" ("));
        };
        const std::pair from(m_rank.spans.startNs[span], std::uint32_t{0});
        for (auto wait = std::lower_bound(m_waits.begin(), m_waits.end(), from);
             wait != m_waits.end() && wait->first == from.first; ++wait)
            if (streamOf(wait->second) == streamOf(span) || laneOf(wait->second) == laneOf(span))
                return wait->second;
        return kNoSpan;
    }
    void findWaits()
    {
        const RecordedSpans& spans = m_rank.spans;
        for (const RecordedTrack& track : m_rank.tracks)
            for (std::uint32_t i = track.first; i < track.last; ++i)
                if (spans.kind[i] == RecordedKind::other && m_launchNames.isWait[spans.name[i]])
                    m_waits.emplace_back(spans.endNs(i), i);
        std::sort(m_waits.begin(), m_waits.end());
    }
    std::int64_t launchOf(std::uint32_t span) const { return sim::launchOf(m_rank, span); }
    AskedTransfer askedOf(const RecordedCollective& collective, Exchange exchange) const
    {
        return {.askedNs = collective.startNs,
                .exchange = exchange,
                .group = collective.group,
                .peer = exchange == Exchange::send      ? collective.destinationRank
                        : exchange == Exchange::receive ? collective.sourceRank
                                                        : -1,
                .bytes = bytesOf(collective)};
    }
    std::int64_t bytesOf(const RecordedCollective& collective) const
    {
        if (collective.bytes >= 0)
            return collective.bytes;
        const std::int64_t each = std::max(1, elementBytes(m_recording.names[collective.dtype]));
        const std::int64_t elements = std::max<std::int64_t>({0, collective.inElements, collective.outElements});
        return std::min(elements, INT64_MAX / each) * each; // a file may say any number
    }
    /// Whether a kernel is of sends and receives without saying which. RCCL's have one name for all that it does.
    bool canBeBatch(std::uint32_t kernel) const
    {
        const Exchange said = exchangeFromName(m_recording.names[m_rank.spans.name[kernel]]);
        return said == Exchange::sendReceive ||
               (said == Exchange::unknown && !m_isToldOf[kernel] && m_rank.spans.kind[kernel] == RecordedKind::communication);
    }
    /// Such a kernel, where it is what the thread of the call launches next; else kNoSpan. A call whose kernel was not recorded
    /// has another's launch next.
    std::uint32_t launchedAfter(std::uint32_t call)
    {
        const RecordedSpans& spans = m_rank.spans;
        if (call == kNoSpan)
            return kNoSpan;
        if (m_launchedBy.empty())
            for (const RecordedLink& link : m_rank.links)
                if (link.kind == RecordedLink::Kind::launch)
                    m_launchedBy.emplace(link.from, link.to);
        const RecordedTrack& thread = m_rank.tracks[streamOf(call) - 1];
        constexpr std::uint32_t kFurthest = 1000;
        for (std::uint32_t i = call + 1; i < thread.last && i - call < kFurthest; ++i) {
            if (spans.kind[i] != RecordedKind::runtime || m_recording.names[spans.name[i]].find("Launch") == std::string::npos)
                continue;
            const auto launched = m_launchedBy.find(i);
            return launched != m_launchedBy.end() && canBeBatch(launched->second) ? launched->second : kNoSpan;
        }
        return kNoSpan;
    }
    /// As placeOf() knows it.
    CommSpan kernelSpan(std::uint32_t span) const
    {
        return {.startNs = m_rank.spans.startNs[span], .stream = streamOf(span), .name = m_rank.spans.name[span]};
    }
    /// Of a kernel that is in the result, sorted, and does not say with whom it exchanges: its place; -1: there is none.
    std::int32_t placeOf(const CommSpan& kernel) const
    {
        const std::vector<CommSpan>& comms = m_result.comms;
        auto at = std::lower_bound(comms.begin(), comms.end(), kernel.startNs,
                                   [](const CommSpan& span, std::int64_t ns) { return span.startNs < ns; });
        while (at != comms.end() && at->startNs == kernel.startNs && (at->stream != kernel.stream || at->name != kernel.name))
            ++at;
        const bool isThere = at != comms.end() && at->startNs == kernel.startNs;
        const bool isBatch =
            isThere && (at->exchange == Exchange::sendReceive || at->exchange == Exchange::unknown) && at->peer < 0;
        return isBatch ? static_cast<std::int32_t>(at - comms.begin()) : -1;
    }
    void readCollectives();
    void readLastCalls();
    void groupUnnamedTransfers();
    void readSpans();
    void readSteps();

    const Recording& m_recording;
    const RankRecording& m_rank;
    const Messages& m_messageOf;
    const LaunchNames& m_launchNames;
    std::vector<std::string>& m_problems;
    std::vector<bool> m_isRead;                                    ///< [span] as a collective
    std::vector<bool> m_isToldOf;                                  ///< [span] what it exchanges, or with which group
    std::vector<std::pair<std::int64_t, std::uint32_t>> m_waits;   ///< ends and spans, by end
    std::vector<std::pair<CommSpan, AskedTransfer>> m_ofKernels;   ///< transfers of kernels that are known to do several
    std::unordered_map<std::uint32_t, std::uint32_t> m_launchedBy; ///< span of a launch -> kernel
    RankEvidence m_result;
};

void RankReader::readCollectives()
{
    m_isRead.resize(m_rank.spans.size(), false);
    m_isToldOf.resize(m_rank.spans.size(), false);
    std::size_t begun = 0, askedOnly = 0, untimed = 0, instants = 0;
    std::unordered_map<std::uint32_t, int> partsOf; // kernel -> transfers in it
    for (const RecordedCollective& collective : m_rank.collectives)
        if (collective.span != kNoSpan) {
            ++partsOf[collective.span];
            if (collective.group >= 0 || exchangeFromName(m_recording.names[collective.name]) != Exchange::unknown)
                m_isToldOf[collective.span] = true;
        }
    for (const RecordedCollective& collective : m_rank.collectives) {
        // Where kernels were recorded, a call that none belongs to says when the host asked, not when ranks met.
        if (collective.span == kNoSpan && !partsOf.empty()) {
            const AskedTransfer asked = askedOf(collective, exchangeFromName(m_recording.names[collective.name]));
            if (const std::uint32_t kernel = asked.peer >= 0 ? launchedAfter(collective.hostSpan) : kNoSpan; kernel != kNoSpan)
                m_ofKernels.emplace_back(kernelSpan(kernel), asked);
            else if (asked.peer >= 0)
                m_result.asked.push_back(asked);
            continue;
        }
        // Of what nobody timed the order is known: it has no length then.
        const bool isInstant = collective.durationNs == kUntimed && collective.hostSpan != kNoSpan;
        instants += isInstant ? 1 : 0;
        if ((collective.durationNs < 0 && !isInstant) || collective.isEnqueuedOnly) {
            ++(collective.durationNs == kUntimed ? untimed : collective.isEnqueuedOnly ? askedOnly : begun);
            continue;
        }
        const bool hasKernel = collective.span != kNoSpan;
        CommSpan span;
        span.startNs = collective.startNs;
        span.endNs = collective.startNs + std::max<std::int64_t>(0, collective.durationNs);
        span.exchange = exchangeFromName(m_recording.names[collective.name]);
        span.name = hasKernel ? m_rank.spans.name[collective.span] : collective.name;
        if (span.exchange == Exchange::unknown)
            span.exchange = exchangeFromName(m_recording.names[span.name]);
        if (span.exchange == Exchange::unknown && collective.isPointToPoint)
            span.exchange = Exchange::sendReceive;
        span.group = collective.group;
        // The number of the meeting is the same for all its members, and no other's.
        span.sequence = collective.meeting != 0 ? static_cast<std::int64_t>(collective.meeting & INT64_MAX) : collective.sequence;
        if (collective.meeting == 0 && collective.isPointToPoint)
            span.sequence = -1; // counted by each rank for itself
        span.bytes = bytesOf(collective);
        if (span.exchange == Exchange::send)
            span.peer = collective.destinationRank;
        else if (span.exchange == Exchange::receive)
            span.peer = collective.sourceRank;
        if (const auto message = m_messageOf.find(collective.span);
            hasKernel && message != m_messageOf.end() &&
            (span.exchange == Exchange::send || span.exchange == Exchange::receive)) {
            if (span.peer < 0)
                span.peer = message->second.peer;
            span.message = message->second.number;
        }
        span.stream = hasKernel ? streamOf(collective.span) : kStreamOfHost;
        span.launchNs = hasKernel ? launchOf(collective.span) : INT64_MIN;
        if (const std::uint32_t wait = hasKernel ? waitBefore(collective.span) : kNoSpan; wait != kNoSpan) {
            span.startNs = m_rank.spans.startNs[wait];
            if (m_recording.names[m_rank.spans.name[wait]] == "wait for peers") // NCCL's network threads saw it
                span.waitNs = m_rank.spans.startNs[collective.span] - span.startNs;
        }
        if (hasKernel) {
            // One kernel for many transfers counts once: as what it is, both directions at once.
            if (partsOf[collective.span] > 1 && isTransfer(span.exchange)) {
                if (span.peer >= 0)
                    m_ofKernels.emplace_back(kernelSpan(collective.span), askedOf(collective, span.exchange));
                span.exchange = Exchange::sendReceive;
                span.peer = -1;
            }
            if (m_isRead[collective.span])
                continue;
            m_isRead[collective.span] = true;
        }
        m_result.comms.push_back(span);
    }
    const auto report = [this](std::size_t count, const char* what) {
        if (count > 0)
            m_problems.push_back("rank " + std::to_string(m_result.rank) + ": " +
                                 countedText(static_cast<std::int64_t>(count), "collective") + what);
    };
    report(begun, " begun and never ended: left out of times");
    report(askedOnly, " asked for and never ended: left out of times");
    report(untimed, " over, the recorder does not say since when: left out of times");
    report(instants, " over, the recorder does not say since when: each stands where it was asked for, without a length");
}

/// Of dumps that were made because a job stands still. Others end when their recorder wrote last, each rank's at another time.
void RankReader::readLastCalls()
{
    const auto file = static_cast<std::size_t>(m_rank.file);
    if (file >= m_recording.files.size() || m_recording.files[file].format != "NCCL flight recorder")
        return;
    m_result.isDumpCut = !m_recording.files[file].isComplete;
    m_result.areStartsTold = m_rank.areStartsTold;
    for (const RecordedProgress& of : m_rank.progress)
        m_result.progress.push_back({of.group, of.lastAsked, of.lastOver, of.areTransfersCounted});
    std::map<std::int32_t, const RecordedCollective*> lastOver; // of each group
    const auto add = [this](const RecordedCollective& collective) {
        const AskedTransfer asked = askedOf(collective, exchangeFromName(m_recording.names[collective.name]));
        const bool isOver = collective.durationNs != -1;
        m_result.lastCalls.push_back({.group = collective.group,
                                      .sequence = collective.isPointToPoint ? -1 : collective.sequence,
                                      .exchange = asked.exchange,
                                      .peer = asked.peer,
                                      .isOver = isOver,
                                      .isBegun = isOver || !collective.isEnqueuedOnly,
                                      .asker = m_recording.names[collective.asker]});
    };
    for (const RecordedCollective& collective : m_rank.collectives) {
        const bool isCounted = collective.sequence >= 0 && collective.meeting == 0;
        if (collective.group < 0 || !isCounted)
            continue;
        if (collective.durationNs == -1)
            add(collective);
        else if (const RecordedCollective*& last = lastOver[collective.group];
                 !collective.isPointToPoint && (last == nullptr || collective.sequence > last->sequence))
            last = &collective;
    }
    for (const auto& [group, last] : lastOver)
        if (last != nullptr)
            add(*last);
}

/// Kernels that torch launches for several sends and receives at once name no group; where the host asked for all of them in one,
/// it is theirs.
void RankReader::groupUnnamedTransfers()
{
    std::set<std::int32_t> groups;
    for (const AskedTransfer& transfer : m_result.asked)
        groups.insert(transfer.group);
    for (const auto& [kernel, transfer] : m_ofKernels)
        groups.insert(transfer.group);
    if (groups.size() != 1)
        return;
    for (CommSpan& span : m_result.comms)
        if (span.group < 0 && span.exchange == Exchange::sendReceive)
            span.group = *groups.begin();
}

void RankReader::readSpans()
{
    const RecordedSpans& spans = m_rank.spans;
    const auto isWork = [](RecordedKind kind) { return kind == RecordedKind::kernel || isDeviceCopy(kind); };
    m_result.work.reserve(static_cast<std::size_t>(std::count_if(spans.kind.begin(), spans.kind.end(), isWork)));
    const ClassOfStart classOf(m_recording, m_rank, m_launchNames);
    for (const RecordedTrack& track : m_rank.tracks)
        for (std::uint32_t i = track.first; i < track.last; ++i) {
            const std::int64_t start = spans.startNs[i], end = spans.endNs(i);
            const auto communicated = [&] {
                m_result.comms.push_back({.startNs = start,
                                          .endNs = end,
                                          .exchange = exchangeFromName(m_recording.names[spans.name[i]]),
                                          .stream = streamOf(i),
                                          .name = spans.name[i],
                                          .launchNs = launchOf(i)});
            };
            switch (spans.kind[i]) {
            case RecordedKind::communication:
                if (!m_isRead[i])
                    communicated();
                break;
            case RecordedKind::kernel:
                if (m_launchNames.isExchange[spans.name[i]] && !m_isRead[i]) {
                    communicated();
                    break;
                }
                [[fallthrough]];
            case RecordedKind::memcpy:
            case RecordedKind::memset: {
                if (m_isRead[i])
                    break;
                WorkSpan work{.startNs = start, .endNs = end, .name = spans.name[i], .stream = streamOf(i)};
                work.work = spans.kind[i] == RecordedKind::kernel ? DeviceWork::kernel : DeviceWork::copy;
                work.opClass = classOf.of(start, work.stream);
                work.launchNs = launchOf(i);
                m_result.work.push_back(work);
                break;
            }
            case RecordedKind::annotation:
            case RecordedKind::gpuAnnotation:
                m_result.marks.push_back({.startNs = start,
                                          .endNs = end,
                                          .name = spans.name[i],
                                          .onDevice = spans.kind[i] == RecordedKind::gpuAnnotation || track.isDevice,
                                          .microbatch = spans.microbatch.empty() ? -1 : spans.microbatch[i]});
                break;
            default:
                break;
            }
        }
}

void RankReader::readSteps()
{
    if (!m_rank.steps.empty()) {
        m_result.steps = stepMarksOf(m_rank, m_rank.steps);
        return;
    }
    NamedIterations named = iterationsOf(m_recording, m_rank);
    m_result.stepWord = std::move(named.word);
    m_result.steps = stepMarksOf(m_rank, named.steps);
}

} // namespace

RankEvidence evidenceOfRank(const Recording& recording, const RankRecording& rank, int number, const Messages& messageOf,
                            const LaunchNames& names, std::vector<std::string>& problems)
{
    return RankReader(recording, rank, number, messageOf, names, problems).read();
}

} // namespace sim
