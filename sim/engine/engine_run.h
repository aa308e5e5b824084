// How the engine runs a step: what each class of ranks has issued, what is under way, and what happens next.
#pragma once

#include "sim/cancel.h"
#include "sim/engine/engine.h"
#include "sim/engine/event_queue.h"
#include "sim/engine/fair_share.h"
#include "sim/engine/fifo.h"
#include "sim/engine/quiet_runs.h"
#include "sim/engine/shared_ports.h"
#include "sim/index.h"

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sim {

class EngineRun {
public:
    EngineRun(const Program&, const RankClasses&, const PricedProgram&);
    EngineResult run(const EngineWatch&);

private:
    static constexpr std::int64_t kNotYet = std::numeric_limits<std::int64_t>::min();
    static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();
    /// Members that are looked at to see whether a collective is alone.
    static constexpr std::size_t kMostAlone = 64;
    /// Over an hour; what takes longer has its ports to itself, so that its time in parts of FairShare::kFullRate can be counted.
    static constexpr std::int64_t kLongestSharedNs = std::int64_t{1} << 42U;

    struct Message {
        std::int64_t startNs = 0, endNs = kNotYet;
    };
    /// The two ends of a message that has not begun.
    struct Meeting {
        std::int64_t sentNs = kNotYet, postedNs = kNotYet; ///< since when they are ready
    };

    /// An op with its place in the program and in the result.
    struct IssuedOp {
        const Step* step = nullptr;
        std::uint32_t index = 0;  ///< in its pass
        std::uint32_t ticket = 0; ///< numbers the ops of a stream whose ends are open
        std::size_t place = 0;    ///< in the result
    };

    /// One that was issued and waits for others.
    struct WaitingOp {
        IssuedOp op;
        std::int64_t readyNs = 0;   ///< as far as is known
        std::int64_t startedNs = 0; ///< by the host, likewise
        StreamMask open = 0;        ///< streams with what it still waits for
        bool hasBegun = false;
    };
    /// For the op of a stream that has this ticket.
    struct WaitingFor {
        std::size_t number = 0;
        std::uint32_t ticket = 0;
    };

    /// What is looked at each time that a class goes on comes first, in one line of the cache.
    struct alignas(64) WaitingOps {
        Fifo<WaitingOp> ops;                           ///< in the order of the program
        std::vector<std::size_t> ready;                ///< numbers of those that can begin
        std::array<Fifo<WaitingFor>, kStreamCount> on; ///< those that wait for a stream
    };

    /// The kernel whose end depends on what runs beside it.
    struct OpenKernel {
        std::int64_t left = 0; ///< nanoseconds of its own time, times FairShare::kFullRate
        std::int64_t sinceNs = 0;
        bool runs = false;
    };

    /// What a class of ranks is doing. There are many, and each event finds another: what is looked at most lies together.
    struct alignas(64) Worker {
        StreamMask open = 0;     ///< streams whose tail is not known
        StreamMask begun = 0;    ///< streams with an op that has begun and whose end is open
        StreamMask waitedOn = 0; ///< streams that a waiting op waits for
        bool queued = false, issuedAll = false, hasReady = false;
        bool waitsForCrew = false;
        std::int32_t beside = 0;          ///< collectives under way that make kernels slower
        std::int32_t besideExperts = 0;   ///< of them, all-to-alls of experts' tokens
        std::uint32_t waitingKernels = 0; ///< of the waiting ops, how many are of the compute stream
        std::uint32_t kernelVersion = 0;  ///< of its events
        std::size_t step = 0, op = 0;
        std::size_t alonePlace = kNowhere; ///< of a run that it goes through without its crew
        std::size_t place = 0;             ///< next op's place in the result; not beside `op`, see leaveOpen()
        std::int64_t kernelStartNs = 0;    ///< of what has begun last on the compute stream
        std::int64_t passStartNs = 0;      ///< kernelStartNs when the pass was issued
        HostClock host;
        std::size_t stepOfHost = 0;                        ///< that it has begun
        std::array<std::int64_t, kStreamCount> tail{};     ///< end of what was issued last on each stream
        std::array<std::uint32_t, kStreamCount> tickets{}; ///< the last one given
        std::array<IssuedOp, kStreamCount> running{};      ///< the op that has begun and whose end is open
        OpenKernel kernel;
        std::int64_t activations = 0, buffers = 0;
        EngineResult::MemoryPeak peak;
        std::size_t peakPlace = 0;
    };

    /// What is known of a class of ranks beforehand, likewise together.
    struct alignas(64) Facts {
        const RankProgram* program = nullptr;
        const OpDurations* durations = nullptr;
        QuietRuns* runs = nullptr; ///< null where perturbed
        const RankSlowdown* slowdown = nullptr;
        double link = 1; ///< of that
        /// [role]: the factor of links, of collectives that are the class's own affair: whose members all do the same at the same
        /// time, and which meet no others; else 0.
        const std::array<double, kCommunicatorRoleCount>* ownFactor = nullptr;
        std::size_t firstSlot = 0; ///< of its mailbox
        std::array<int, kCommunicatorRoleCount> groups{};
        std::int32_t pipelineRank = 0;
        std::int32_t crew = -1;
        StreamMask besides = 0;
        std::array<PipelinePeer, 3> peers{}; ///< the first of them
        std::int32_t peerCount = 0;
    };

    /// Classes that a communicator joins whose collectives meet no others: they go through their runs together (crews.cpp).
    struct Crew {
        const std::vector<int>* classes = nullptr;
        QuietRuns* runs = nullptr; ///< with the collectives that no one else is part of
        RoleMask joint = 0;        ///< roles of those that several of them are part of
        bool isPlain = true;       ///< none is perturbed
        std::size_t waiting = 0;   ///< how many of them stand at a run
        std::size_t op = 0;        ///< of their programs, where they do
    };

    /// A collective or message whose end others can put off.
    struct alignas(64) Transfer {
        Stream stream = Stream::dp;
        std::int64_t startNs = 0, durationNs = 0;
        std::int64_t left = 0; ///< nanoseconds of its own time, times FairShare::kFullRate
        std::int64_t rate = FairShare::kFullRate;
        std::int64_t sinceNs = 0;
        std::uint32_t version = 0; ///< of its events
        bool isScheduled = false;  ///< its start is known and lies ahead
    };

    struct Rendezvous {
        std::int64_t latestNs = 0, durationNs = 0;
        std::size_t arrived = 0;
    };

    enum class EventKind : std::uint8_t { transferStarts, transferEnds, kernelStarts, kernelEnds };
    struct Event {
        int what = 0; ///< transfer or class
        std::uint32_t version = 0;
        EventKind kind = EventKind::transferStarts;
    };

    const RankProgram& programOf(int c) const { return *m_facts[asIndex(c)].program; }
    const PipelinePeer& peerOf(int c, int toPipelineRank) const
    {
        const Facts& facts = m_facts[asIndex(c)];
        for (std::size_t i = 0; i < facts.peers.size() && i < asIndex(facts.peerCount); ++i)
            if (facts.peers[i].pipelineRank == toPipelineRank)
                return facts.peers[i];
        return m_classes.peerOf(c, toPipelineRank);
    }
    int groupOf(int c, CommunicatorRole role) const { return m_facts[asIndex(c)].groups[asIndex(role)]; }
    Message& messageAt(int c, std::int32_t slot) { return m_mailbox[m_facts[asIndex(c)].firstSlot + asIndex(slot)]; }
    static void replace(Transfer&, Stream, std::int64_t startNs, std::int64_t durationNs);
    void fetchState(const Event&) const;
    void fetchWhatItNames(const Event&) const;
    void fetchResults(int c) const;
    const Op& opOf(const IssuedOp& issued) const { return m_program.passes[issued.step->pass].ops[issued.index]; }
    bool isFree(int c, const QuietRun&) const;
    std::int64_t beginOf(const Worker&, const QuietRun&, const Op& first) const;
    bool execute(int c, const QuietRun&, const Step&);
    void place(Worker&, const QuietRun&, std::int64_t beginNs);
    static void account(Worker&, const QuietRun&);
    bool canBeCrew(int group) const;
    void formCrews();
    const QuietRun* runOfCrew(int c, const Step&);
    bool standAt(int c, const QuietRun&, const Step&);
    bool goOnAlone();
    void executeTogether(const Crew&, const QuietRun&, const Step&);
    void executeOneByOne(const Crew&, const QuietRun&, const Step&);
    const FreeStreams& freeStreamsOf(std::uint32_t pass);
    StreamMask freeAfter(int c, const Step&);
    StreamMask losesTo(int c, const Step&, std::size_t op);
    StreamMask losesTo(int c, const Step&, std::size_t op, const QuietRun&);
    std::int64_t kernelNs(int c, const IssuedOp&) const;
    void wait(int c, const Step&, Stream, StreamMask open, std::int64_t readyNs);
    OpLaunch launchOf(const IssuedOp&) const;
    std::int64_t beginOf(int c, const WaitingOp&);

    static IssuedOp issuedHere(const Step&, const Worker&, std::size_t stream);
    void queue(int c);
    void advance(int c);
    void beginReady(int c);
    bool finishesAlone(int c);
    void issue(int c);
    void begin(int c, const IssuedOp&, std::int64_t beginNs);
    void beginKernel(int c, const IssuedOp&, std::int64_t beginNs);
    void arrive(int c, const IssuedOp&, std::int64_t beginNs);
    void send(int c, const IssuedOp&, std::int64_t readyNs);
    void post(int c, const IssuedOp&, std::int64_t readyNs);
    void carry(int c, const IssuedOp&, std::int64_t startNs);
    void bring(int c, std::int32_t slot, std::int64_t startNs, std::int64_t endNs);
    void receive(int c, const IssuedOp&);
    void leaveOpen(int c, Stream stream, const IssuedOp& issued)
    {
        leaveOpen(c, stream, issued.step, issued.index, issued.ticket, issued.place);
    }
    void leaveOpen(int c, Stream, const Step*, std::uint32_t index, std::uint32_t ticket, std::size_t place);
    void finish(int c, Stream, const IssuedOp&, std::int64_t endNs);

    // Transfers: one a class group, and two a class: its messages, which follow each other on two streams.
    int messageOf(int c, Stream stream) const
    {
        return static_cast<int>(m_classes.classGroups.size()) + 2 * c + (stream == Stream::sendBackward ? 1 : 0);
    }
    bool isMessage(int transfer) const { return asIndex(transfer) >= m_classes.classGroups.size(); }
    int senderOf(int transfer) const { return (transfer - static_cast<int>(m_classes.classGroups.size())) / 2; }
    const IssuedOp& runningOn(int c, Stream stream) const { return m_workers[asIndex(c)].running[asIndex(stream)]; }
    void schedule(EventKind, std::int64_t ns, int what);
    void startTransfer(int transfer);
    void endTransfer(int transfer);
    void shareAgain();
    void rescheduleKernel(int c);
    std::int64_t kernelRate(const Worker&) const;
    void besideChanges(int c, Stream, int by);
    void endKernel(int c);
    void happen(const Event&);
    std::size_t kernelsTo(int c) const;
    bool goesOn(const EngineWatch&) const;

    // Why nothing goes on (deadlock.cpp).
    struct Place {
        int c = 0;
        std::size_t step = 0, op = 0, place = 0; ///< as in Worker
    };
    struct Wait {
        Place waiting, needed;
        WaitReason reason = WaitReason::order;
    };
    template <typename Predicate>
    std::optional<Place> findOp(int c, Predicate&& isIt) const;
    std::optional<Place> partnerOf(const Place&) const;
    std::optional<Place> heldUpBy(const Place&) const;
    std::optional<Wait> waitOf(const Place&) const;
    std::vector<Wait> waits() const;
    std::vector<EngineWait> circleOfWaits() const;
    std::string textOf(const Place&) const;
    std::string deadlockMessage() const;

    const Program& m_program;
    const RankClasses& m_classes;
    const PricedProgram& m_prices;
    const SharedPorts m_shared;
    const std::int64_t m_besideRate, m_besideExpertsRate; ///< of kernels, in 1/kFullRate
    FairShare m_fair;
    std::vector<Worker> m_workers;
    std::vector<Facts> m_facts;
    std::vector<WaitingOps> m_waiting;            ///< [class]
    std::vector<Message> m_mailbox;               ///< [class][slot]
    std::vector<std::vector<Meeting>> m_meetings; ///< likewise; empty where nothing is posted
    bool m_postsReceives = false;                 ///< somewhere
    std::vector<Rendezvous> m_rendezvous;
    std::vector<Transfer> m_transfers;
    std::vector<FairShare::Claim> m_claims; ///< of the one that starts
    EventQueue<Event> m_events;
    std::int64_t m_nowNs = 0;
    std::set<std::array<double, kCommunicatorRoleCount>> m_ownFactors; ///< see Facts
    std::map<std::pair<int, RoleMask>, QuietRuns> m_runsBy;            ///< geometry and own affairs, or those of a crew
    std::vector<Crew> m_crews;
    std::vector<int> m_standing;     ///< crews of which some stand at a run
    std::vector<FreeStreams> m_free; ///< [pass], empty until asked for
    std::vector<int> m_queued;
    std::vector<Event> m_now; ///< what happens at this instant
    CancelPoll m_poll;
    EngineResult m_result;
};

} // namespace sim
