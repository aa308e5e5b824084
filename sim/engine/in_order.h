// Communication as machines run it: sends and receives lie on streams that work in order, and both ends of a transfer must have
// come to it (a rendezvous, as in NCCL's point-to-point). So a receive that is posted early holds up the sends behind it
// (head-of-line blocking), and two ranks that each stand at the wrong one hang. evaluateSchedule (evaluate.h) knows latencies
// only; the difference is what the order of communication costs. After pytorch/pytorch issues 172668 and 188833.
//
// It is the engine that runs it, on a program of the lists: a pass is a kernel, a transfer a message that needs its receiver. So
// a hang is the engine's own (deadlock.h), told in the words of the lists.
//
// A step is posted once the passes written before it have ended, as NCCL's streams wait for the compute stream at that point. A
// transfer takes the edge's `comm` on both ranks' streams. UNSHARD, RESHARD and REDUCE_GRAD run on streams of their own and take
// no time here.
#pragma once

#include "sim/engine/deadlock.h"
#include "sim/schedule/comm_schedule.h"
#include "sim/schedule/evaluate.h"

#include <span>
#include <string>
#include <vector>

namespace sim {

enum class CommStreams : std::uint8_t {
    /// One for all of a rank's sends and receives: batched point-to-point on one communicator, as PyTorch's pipelining does it.
    shared,
    /// One a pair of ranks, for both directions: unbatched sends and receives, each pair with a communicator of its own. At most
    /// kMostPeers of them a rank.
    perPeer,
};

inline constexpr int kMostPeers = 7;

/// An entry of CommSchedule::steps.
struct StepPlace {
    int rank = 0;
    std::size_t index = 0;
    bool operator==(const StepPlace&) const = default;
};

struct CommWait {
    StepPlace waiting, needed;
    WaitReason reason = WaitReason::partner;
    bool operator==(const CommWait&) const = default;
};

/// The steps that wait for each other in a circle: each one's `needed` is the next one's `waiting`. It begins with a transfer of
/// the lowest rank. Empty when all can run, or when the lists have other problems (see checkCommunication).
std::vector<CommWait> communicationDeadlock(const CommSchedule&, CommStreams = CommStreams::shared);

/// checkCommunication, and then the circle in words: one line a problem, empty when it runs to its end.
std::vector<std::string> checkInOrder(const CommSchedule&, CommStreams = CommStreams::shared);

struct InOrderTimes {
    double makespan = 0;                         ///< last end of a pass - first start
    double span = 0;                             ///< longest time any one rank needs from its first to its last pass
    double blocked = 0;                          ///< makespan - that of evaluateSchedule: what the order on the streams costs
    std::vector<std::vector<double>> start, end; ///< [rank][step]; both ends of a transfer have the same
    /// [rank][step]: how long the output of a pass lay ready before its transfer began; 0 of all other steps.
    std::vector<std::vector<double>> heldBack;
};

/// Throws Error if it cannot run to its end (see checkInOrder). O(steps). `times` as in evaluateSchedule, to 15 digits.
InOrderTimes evaluateInOrder(const CommSchedule&, std::span<const PassTimes> times, CommStreams = CommStreams::shared);
InOrderTimes evaluateInOrder(const CommSchedule&, const PassTimes& = {}, CommStreams = CommStreams::shared);

} // namespace sim
