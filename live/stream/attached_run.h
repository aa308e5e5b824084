// A run whose processes Rankscope did not start, made of what their ranks say: who they are, their process groups, spans, steps,
// and what they wait for. Ranks come and go; whatever one says is read within RankBudget. No sockets: bytes in, records out (one
// recorder a rank, which the collector empties). Private to live/stream.
//
//   rank → collector   ping {t}; hello {job, rank, world_size, host, process_id, boot, offset_ns, uncertainty_ns, device};
//                      groups {from, groups: [{name, kind, ranks, of}]};
//                      data {dropped, kinds_from, kinds, steps, spans, memory} + frames packed as pack.h does, kinds and groups
//                      numbered as the rank named them; waits {waits: [{name, group, number, since_ns}], file}; alive;
//                      bye {failed, message}
//   collector → rank   pong {t, clock_ns, boot}, welcome {profile}, refused {message, again: it may pass}, who (say hello again)
//
// A span's correlation is 0 or (group + 1) << 32 | number of the operation in that group, which its members count alike. A "pair"
// is a sender and its receiver, in this order. `of` is the process group's own name, which its members agree on: there may be
// several of the same members.
#pragma once

#include "live/stream/budget.h"
#include "live/stream/collector.h"
#include "live/stream/messages.h"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace live {

struct AttachedRunOptions {
    std::string name;         ///< of the run; empty: the job's own
    std::string scenarioJson; ///< what it is predicted with; empty: no prediction
    int scenarioRanks = 0;    ///< of that scenario
    int slices = 1;
    std::array<int, 2> profile{0, -1};        ///< steps, first and last, that ranks are to take with their profiler
    std::int64_t settleNs = 1'000'000'000;    ///< without news of groups, before the run is shown
    std::int64_t gatherNs = 5'000'000'000;    ///< from the first hello, for the others to come
    std::int64_t patienceNs = 30'000'000'000; ///< for ranks that were lost to come back
};

class AttachedRun {
public:
    AttachedRun(Collector&, SpanKinds&, AttachedRunOptions);
    ~AttachedRun();

    struct Answer {
        std::optional<Json> message; ///< to the one who said it
        bool cut = false;            ///< its connection is to be cut
        std::string why;             ///< it is cut, for the log
    };
    // Times are this process's steady clock, ns.
    /// One message of a peer (by the name its connection has), its header first. Never throws for what is in it.
    Answer receive(const std::string& peer, std::span<const std::string_view> frames, std::int64_t nowNs);
    void connectionEnded(const std::string& peer, std::int64_t nowNs);
    void tick(std::int64_t nowNs);
    /// This process itself was stopped: nobody could be heard.
    void wasAway(std::int64_t nowNs);
    bool contains(const std::string& peer) const { return m_rankOfPeer.contains(peer); }

    int worldSize() const { return m_worldSize; }
    int present() const;
    std::uint64_t ignored() const { return m_ignored; }
    /// All ranks that came have gone again, and who was lost has not come back in time.
    bool isOver(std::int64_t nowNs) const;
    /// How it ended, or stands: which ranks are missing and why.
    std::string text(std::int64_t nowNs) const;
    bool isFailed() const;
    /// Nothing more will come: what waited goes to the recorders.
    void finish();

private:
    struct Group {
        std::string name, kind; ///< "dp"; "pair" of a sender and its receiver, else an axis, "world" or "other"
        std::vector<std::int32_t> ranks;
        int present = 0; ///< members that are attached
    };
    struct Held {
        SpanRecord span;
        std::uint64_t meeting = 0; ///< 0: waits only for those before it
        std::int64_t arrivedNs = 0;
    };
    /// The spans of one collective, or of a send and its receive.
    struct Meeting {
        std::uint32_t group = 0;
        int came = 0, released = 0;
        std::int64_t lastStartNs = 0;
    };
    struct Wait {
        std::string name;
        std::uint32_t group = 0;
        std::uint64_t number = 0;
        std::int64_t sinceNs = 0;
    };
    enum class Presence : std::uint8_t {
        present,
        silent,
        unheard, ///< silent for longer than anybody waits: as of a host that is gone, whose connections nobody ended
        lost,    ///< its connection ended without a goodbye
        left,
        failed
    };
    struct Rank {
        explicit Rank(int number) : recorder(std::make_shared<Recorder>(number)) {}
        std::shared_ptr<Recorder> recorder; ///< the collector's too
        std::string peer, host, message, file;
        std::int64_t processId = 0, offsetNs = 0, uncertaintyNs = 0, heardNs = 0;
        Presence presence = Presence::present;
        int told = -1;                            ///< the step of its last span or step; -1: of none since it said hello
        int step = -1;                            ///< that it is at: the last that was near the one told before
        std::vector<std::uint32_t> kinds, groups; ///< its numbers -> ours
        std::uint64_t dropped = 0;                ///< as it said last
        std::deque<Held> held;
        std::vector<Wait> waits;
        bool isHere() const { return presence == Presence::present || presence == Presence::silent; }
    };
    struct OpenStep {
        int told = 0, losses = 0, norms = 0;
        double loss = 0, norm = 0, tokens = 0;
        std::int64_t startNs = 0, endNs = 0;
    };
    struct StepExtent {
        std::int64_t spans = 0, firstNs = 0, lastNs = 0;
    };

    Answer understand(const std::string& peer, const Json&, std::span<const std::string_view> frames, std::int64_t nowNs);
    Answer takeHello(const std::string& peer, const Json&, std::int64_t nowNs);
    struct Refusal {
        std::string why;
        bool mayPass = false; ///< it is worth asking again
    };
    static Answer refused(Refusal);
    std::optional<Refusal> whyNot(const Json& hello, const std::string& peer, std::int64_t nowNs) const;
    void takeGroups(Rank&, const Json&, std::int64_t nowNs);
    std::uint32_t groupNumber(const Json&);
    void takeData(Rank&, const Json&, std::span<const std::string_view> frames, std::int64_t nowNs);
    void takeKinds(Rank&, const Json&);
    void takeSteps(Rank&, const Json&, std::int64_t nowNs);
    bool isNear(Rank&, int step, std::int64_t nowNs);
    void takeWaits(Rank&, const Json&);
    void takeSpan(Rank&, SpanRecord, std::int64_t nowNs);
    bool isPossible(Rank&, const SpanRecord&, std::int64_t nowNs);
    bool meet(const Rank&, SpanRecord&, Held&);
    void release(Rank&, std::int64_t nowNs);
    void releaseAll(Rank&);
    void forgetJob();
    void recount();
    void stepDone(int step, const OpenStep&);
    void describe(std::int64_t nowNs);
    std::string rankName(int rank) const;
    std::string waitsText(std::int64_t nowNs) const;
    void tellStatus(std::int64_t nowNs);
    Rank* rankOf(const std::string& peer);

    Collector& m_collector;
    SpanKinds& m_kinds;
    const AttachedRunOptions m_options;
    const std::int64_t m_begunNs;
    std::string m_boot; ///< of this machine: who has the same shares its clock
    std::string m_job, m_device, m_toldStatus;
    int m_worldSize = 0;
    std::int64_t m_firstHelloNs = 0, m_groupsChangedNs = 0;
    std::map<int, std::unique_ptr<Rank>> m_ranks;
    std::unordered_map<std::string, int> m_rankOfPeer;
    std::vector<Group> m_groups;
    std::unordered_map<std::string, std::uint32_t> m_groupNumbers; ///< by kind, name and members
    std::size_t m_members = 0;
    std::unordered_map<std::uint64_t, Meeting> m_meetings; ///< by correlation
    std::uint32_t m_otherKind = 0;
    int m_newestStep = -1, m_stepBase = 0;
    int m_middleStep = -1; ///< the ranks' median when it was last asked for
    std::int64_t m_middleNs = 0;
    std::map<int, OpenStep> m_openSteps;
    std::map<int, StepExtent> m_extents;
    std::uint64_t m_ignored = 0;
};

} // namespace live
