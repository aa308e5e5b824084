// A schedule with its communication: for every rank one list of passes, sends, receives and sharding, as PyTorch's compute_comms
// files hold it. Built from a schedule (lowerCommunication) or read from a file (import.h); engine/in_order.h runs it.
#pragma once

#include "sim/schedule/schedule.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

enum class StepKind : std::uint8_t {
    pass,
    sendForward,     ///< activations of `stage` to the stage after it
    receiveForward,  ///< for `stage`, from the stage before it
    sendBackward,    ///< gradients of `stage` to the stage before it
    receiveBackward, ///< for `stage`, from the stage after it
    unshard,         ///< parameters gathered from the data-parallel ranks (ZeRO 3); no micro-batch
    reshard,
    reduceGradients,
};

/// An entry of a rank's list.
struct CommStep {
    StepKind kind = StepKind::pass;
    Action action; ///< of a pass: the schedule's own; else its stage and micro-batch
    bool isSend() const { return kind == StepKind::sendForward || kind == StepKind::sendBackward; }
    bool isReceive() const { return kind == StepKind::receiveForward || kind == StepKind::receiveBackward; }
    bool operator==(const CommStep&) const = default;
};
/// PyTorch's word, as in SEND_F; of a pass none.
std::string_view stepWord(StepKind);
/// False for what concerns a whole stage.
bool hasMicrobatch(StepKind);
/// "0SEND_F1", "2UNSHARD", and of a pass its action.
std::string stepText(const CommStep&, int slices = 1);

struct CommSchedule {
    Schedule schedule;
    /// [pipeline rank]: the passes of schedule.actions in their order, and between them the communication.
    std::vector<std::vector<CommStep>> steps;
    bool operator==(const CommSchedule&) const = default;
};

/// Where a receive stands in its rank's list.
enum class ReceivePlacement : std::uint8_t {
    /// Where the list had come to when the sender sent: PyTorch 2.8's order. Early, so the stream may wait on it.
    whenSent,
    /// Directly before the pass that needs it. Nothing is fetched ahead, and sends can wait for each other in a circle.
    beforeUse,
};

/// What is written between the passes. The defaults are PyTorch 2.8's.
struct CommLowering {
    ReceivePlacement receives = ReceivePlacement::whenSent;
    int unshardedStages = 3;      ///< stages whose parameters are kept gathered ahead; 0 = no UNSHARD and RESHARD
    bool reduceGradients = false; ///< REDUCE_GRAD after a stage's last backward (PyTorch after 2.8)
};

/// The stage whose pass a transfer carries away or brings: the other end of it.
int peerStage(const CommStep&);

/// Throws Error if the schedule cannot run (see checkSchedule).
CommSchedule lowerCommunication(const Schedule&, const CommLowering& = {});

/// What is wrong with the communication, one line a problem: sends and receives that are missing, doubled, without need, on the
/// wrong rank, or on the wrong side of their pass. Problems of the schedule itself come first (checkSchedule). Whether it runs to
/// its end depends on the streams: see engine/in_order.h.
std::vector<std::string> checkCommunication(const CommSchedule&);

} // namespace sim
