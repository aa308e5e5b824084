// What one peer may cost, in one place: how much of a stranger's words is read before they are believed, and what is kept of
// them. Everything is looked at before memory is taken for it. Whoever goes over a budget is told so with the numbers, and
// dropped: a viewer says in its state what the run sent, a run logs it, frees what the viewer held and trains on. Private to
// live/stream, but for HistoryLimits (history.h), which says what a viewer keeps.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace live {

/// A header is JSON: what it may be before a parser sees it.
struct JsonBudget {
    std::size_t bytes = 0;
    int depth = 0;          ///< brackets within brackets: parsers, copies and destructors go as deep on the stack
    std::size_t values = 0; ///< elements and members: two bytes of text can take a hundred in memory
};

/// What a viewer takes from a run.
struct RunBudget {
    /// The largest header describes 65,536 ranks (2.6 MB) and a scenario; one with all kinds of spans is as large.
    JsonBudget header{.bytes = std::size_t{8} << 20U, .depth = 8, .values = std::size_t{1} << 20U};
    std::size_t scenarioBytes = std::size_t{4} << 20U; ///< the gallery's longest has 3,700
    int scenarioDepth = 64;                            ///< a custom schedule needs 6
    /// A frame, and a message that is not complete yet. A run puts 0.5 MiB of blocks and at least one block into a message.
    std::size_t messageBytes = std::size_t{16} << 20U;
    std::size_t frames = std::size_t{1} << 14U; ///< of a message: each block is one
    int ranks = 1 << 16;                        ///< four times the largest run that was ever published
    std::size_t groups = 64;                    ///< kinds of process groups; there are fewer than twenty
    std::size_t kinds = std::size_t{1} << 15U;  ///< a kernel of each layer of each stage has one: some thousands
    std::size_t nameBytes = 256;                ///< of ranks, kinds, devices…: longer ones are cut, with a mark
    std::size_t messageTextBytes = 4096;        ///< what is shown to people: longer ones are cut, with a mark
    int stages = 1 << 20;                       ///< as a scenario: stages and layers beyond cannot be laid out
    int layers = 1 << 20;
    int step = 1'000'000'000;                     ///< at a millisecond each: eleven days
    int microbatch = 1 << 30;                     ///< as a scenario's batch
    std::int64_t amount = std::int64_t{1} << 60U; ///< nanoseconds (36 years) and bytes: a few of them can be added
    /// Records that a message unpacks to: 23 MB. Without it, 2 MB of blocks that say "8,192 times the same" would take 4.9 GB.
    std::size_t recordsOfMessage = std::size_t{1} << 18U;
    /// Records that wait to be polled: 92 MB. A run has half as many on the way at most before a viewer acknowledges.
    std::size_t recordsPending = std::size_t{1} << 20U;
    std::size_t spansOfStep = std::size_t{1} << 21U; ///< the rest of a step is not shown, and counted as missed
    /// Spans of a step times the nanoseconds between its first start and last end: no sum over a step can overflow. 2 million
    /// spans may last nine minutes, 4,000 some days.
    std::int64_t spanNsOfStep = std::int64_t{1} << 60U;
    std::size_t stepsWithSpans = 256;                ///< that are counted at a time; spans of older ones are not shown either
    std::int64_t spanBytes = std::int64_t{1} << 40U; ///< of one transfer
    std::int64_t heldBytes = std::int64_t{1} << 46U; ///< by a rank: the sum over all can be taken
    std::size_t stepsOfMessage = std::size_t{1} << 16U;
    int lateSteps = 4096; ///< a step that was not heard of yet may be so much older than the newest: steps come in order
    /// Messages with nothing in them: a run sends two a second, and as many as it was asked.
    int emptyMessagesPerSecond = 1000;
};

/// What a run takes from a viewer.
struct ViewerBudget {
    JsonBudget header{.bytes = 4096, .depth = 4, .values = 64}; ///< the longest, a hello, has 120 bytes and 6 values
    std::size_t frames = 2;
    /// Of a message that is not complete yet: ZeroMQ keeps the parts of one without an end for ever.
    std::size_t unfinishedBytes = std::size_t{64} << 10U;
    /// Connections for each place of a viewer: some may still shake hands, or be going.
    std::size_t connectionsOfPlace = 4;
    std::chrono::milliseconds hello{5000};   ///< until a connection must have become a viewer's
    std::chrono::milliseconds silence{5000}; ///< after which a viewer is forgotten; its heart beats every 500 ms
    /// When all places are taken, one that was silent for this long, or took nothing for `silence`, makes room for a newcomer…
    std::chrono::milliseconds silenceWhenFull{1500};
    std::chrono::milliseconds firstTakenWhenFull{600}; ///< …as does one that has not taken anything yet after so long…
    std::chrono::milliseconds patience{4000}; ///< …which waits so long before it is refused: until all who connect had their turn
    std::size_t sendQueue = 16;               ///< messages for a viewer that acknowledges what it has not read
    std::size_t runIdBytes = 256;
    std::chrono::milliseconds betweenLogs{1000}; ///< of cut connections: the first one, and the first after so long a peace
};

/// What a collector takes from a rank of a job that Rankscope did not start.
struct RankBudget {
    /// A hello names its groups with their members: 64 groups of 1,024 ranks are 0.4 MB.
    JsonBudget header{.bytes = std::size_t{1} << 20U, .depth = 6, .values = std::size_t{1} << 17U};
    std::size_t frameBytes = std::size_t{1} << 20U; ///< 8,192 records whose columns do not pack at all have 0.72 MB
    std::size_t frames = 3;                         ///< header, spans, memory
    std::size_t unfinishedBytes = std::size_t{5} << 19U;
    int receiveQueue = 8; ///< messages of a rank that wait to be read
    int sendQueue = 64;   ///< answers to a rank that does not read them
    int ranks = 1 << 14;  ///< as the simulator's largest job; a rank that has come costs 40 kB and what it has on the way
    std::size_t groups = (std::size_t{1} << 16U) - 1;    ///< that the ranks name together, pairs of pipelines included
    std::size_t groupsOfRank = 4096;                     ///< that one of them names
    std::size_t membersOfGroups = std::size_t{1} << 22U; ///< over all groups: 16 MB
    std::size_t kinds = std::size_t{1} << 14U;           ///< all ranks' together; spans of more are of one kind "other kinds"
    std::size_t kindsOfRank = std::size_t{1} << 13U;
    std::int64_t spanBytes = std::int64_t{1} << 36U;            ///< of one transfer
    std::int64_t beforeNs = std::int64_t{3600} * 1'000'000'000; ///< spans may be so much older than the collector…
    std::int64_t aheadNs = std::int64_t{10} * 1'000'000'000;    ///< …and so much ahead of its clock
    int stepJump = 2000; ///< a step may be so far from the ranks' median: viewers take steps 4,096 late at most
    std::size_t stepsOfMessage = 4096;
    std::size_t openSteps = 256;                      ///< of which not all ranks have told the end
    std::size_t openMeetings = std::size_t{1} << 16U; ///< collectives of which not all members' spans came…
    std::size_t heldOfRank = std::size_t{1} << 14U;   ///< …and spans that wait for them, so that a rank's stay in order
    std::chrono::milliseconds meetingPatience{1500};  ///< after which the others' arrival is given up
    std::chrono::milliseconds hello{10'000};          ///< until a connection must have become a rank's
    std::chrono::milliseconds silence{5000};          ///< after which a rank counts as silent; its heart beats every 500 ms
    std::size_t spareConnections = 64;                ///< beside one a rank
    std::size_t textBytes = 256, messageBytes = 4096;
    std::chrono::milliseconds betweenLogs{1000};
};

inline constexpr RunBudget kRunBudget{};
inline constexpr RankBudget kRankBudget{};
inline constexpr ViewerBudget kViewerBudget{};

} // namespace live
