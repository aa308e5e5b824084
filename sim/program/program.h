// What every rank executes in a step: the schedule's actions lowered to ops on the streams of a GPU, with their dependencies and
// the memory they take. Ops have shapes here and no durations: those are the cost model's business.
//
// Stages with the same content share their passes (op lists), so a program of 100,000 ops is a few hundred ops and a list of
// steps.
#pragma once

#include "sim/mesh/dimension.h"
#include "sim/mesh/mesh.h"
#include "sim/model/operators.h"
#include "sim/program/collective_kind.h"
#include "sim/program/communicator_role.h"
#include "sim/scenario/scenario.h"
#include "sim/schedule/schedule.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// Ops on one stream run in the order of issue; streams run side by side, as on a GPU. Replicas of hybrid sharding have one of
/// their own, as PyTorch's FSDP2 gives them: their reduction crosses nodes while parameters are gathered inside.
enum class Stream : std::uint8_t {
    compute,
    tp,
    cp,
    ep,
    dp,
    replicas,
    sendForward,
    sendBackward,
    receive,
    toHost,   ///< the copy engine for this direction
    fromHost, ///< and that for the other
    host      ///< the node's processors, this GPU's share of them
};
inline constexpr int kStreamCount = 12;
using StreamMask = std::uint16_t;
constexpr StreamMask maskOf(Stream stream)
{
    return static_cast<StreamMask>(1U << static_cast<unsigned>(stream));
}
inline constexpr auto kDataParallelStreams = static_cast<StreamMask>(maskOf(Stream::dp) | maskOf(Stream::replicas));
inline constexpr auto kHostStreams =
    static_cast<StreamMask>(maskOf(Stream::toHost) | maskOf(Stream::fromHost) | maskOf(Stream::host));
const char* streamName(Stream);
/// What its transfers are for; nothing where kernels run.
std::optional<Dimension> dimensionOf(Stream);

enum class OpKind : std::uint8_t {
    compute,
    collective,
    send,
    receive, ///< lasts until the message is there
    post,    ///< a buffer is there for a message, which may begin; fills its stream until it has come, as NCCL's receive does
    copy,    ///< to or from host memory, or what the host works on there; nothing of the GPU's slows it
    wait     ///< takes no time: makes its stream wait for others (cudaStreamWaitEvent), or only frees memory
};

/// What a rank's time went to, finer than the stream: decides colour and statistics.
enum class OpPurpose : std::uint8_t {
    forward,
    backward,
    backwardInput,
    backwardWeight,
    recompute,
    optimizer,
    offload,      ///< between the GPU and its host, and the host's work
    communication ///< of the stream's dimension
};

enum class KernelKind : std::uint8_t { gemm, groupedGemm, attentionForward, attentionBackward, memoryBound };

/// Which of an operator's kernels; only linear layers have a weight gradient of its own.
enum class KernelPass : std::uint8_t { forward, backward, weightGradient };
inline constexpr std::size_t kKernelPassCount = 3;

/// What the cost model needs to know of an op.
struct OpShape {
    KernelKind kernel = KernelKind::memoryBound;
    CollectiveKind collective = CollectiveKind::allReduce;
    KernelFamily family = KernelFamily::other;
    KernelPass pass = KernelPass::forward;
    bool lowPrecision = false; ///< of a GEMM: in 8 or 4 bits where the precision says so
    bool routed = false;       ///< of tokens that are sent to experts: as many as the busiest rank gets, see workOverMean()
    bool windowed = false;     ///< attention: as in Operator
    /// Of such a GEMM: ranks that made a slice of its operand narrow each. Of a collective: how much narrower elements travel.
    int narrowedBy = 1;
    int pieces = 1; ///< kernels, or collectives, that each work on as many of its tokens, one after the other
    /// Of a collective: it is one of so many beside the pieces of a product, each written straight into another rank's buffer.
    int piecesOfTrip = 1;
    bool amongAll = false; ///< such a piece goes from all ranks to all at once (Stack::reducesAmongAll), not round a ring
    /// GEMM: rows and columns of the result, length of the sums. Attention, elementwise: as in Operator; optimizer: one row.
    /// Collectives: `batch` messages one after the other make up the tensor.
    std::int64_t m = 0, n = 0, k = 0, batch = 1;
    double flops = 0;
    std::int64_t bytes = 0; ///< memory traffic of a kernel; whole tensor of a collective; sent by a ringShift; a copy's
    bool operator==(const OpShape&) const = default;
};

struct Op {
    OpKind kind = OpKind::compute;
    Stream stream = Stream::compute;
    StreamMask waits = 0; ///< besides its own stream: starts when all that was issued before on these has ended
    CommunicatorRole group = CommunicatorRole::none;
    OpPurpose purpose = OpPurpose::forward;
    bool buffer = false;         ///< its memory counts as buffers, not activations
    bool again = false;          ///< the forward pass ran it already: recomputation
    std::uint16_t label = 0;     ///< index into Program::labels
    std::int16_t layer = -1;     ///< relative to the stage's first layer
    std::int64_t allocBytes = 0; ///< at issue. Allocation follows issue order, as in PyTorch's caching allocator
    std::int64_t freeBytes = 0;  ///< after it was issued
};

/// The ops of one action on a stage of some content; shared by all micro-batches and stages where it is the same.
struct Pass {
    std::vector<Op> ops;
    std::vector<OpShape> shapes; ///< parallel to ops
    bool goesOn = false;         ///< with a block that another piece began: the host may be ahead of its first kernel
};

inline constexpr std::int32_t kNoSlot = -1;

/// One pass in a rank's program.
struct Step {
    std::uint32_t pass = 0;
    std::int32_t action = -1; ///< index into the schedule's row; -1 for the prologue, the optimizer
    std::int32_t stage = -1;
    std::int32_t microbatch = -1;
    std::int32_t receiveSlot = kNoSlot;         ///< of this rank's mailbox
    std::int32_t sendSlot = kNoSlot;            ///< of the mailbox of the rank at sendTo
    std::int32_t sendTo = -1, receiveFrom = -1; ///< pipeline ranks
};

/// Of the moments at which passes take and drop what Stack::reductionsAhead counts, what they have handed on, and what a
/// pipeline's tensors to receive in and kept results change by.
inline constexpr std::string_view kStartedAhead = "started ahead", kStageOutput = "stage output", kKeptMessage = "kept message";

/// Bytes a rank holds from step to step.
struct ModelStates {
    std::int64_t parameters = 0, gradients = 0, optimizer = 0;
    std::int64_t buffers = 0; ///< parameters gathered for the whole step, narrow copies of weights, where gradients are reduced
    std::int64_t narrowWeights = 0;     ///< of those
    std::int64_t messageBuffers = 0;    ///< of those: Stack::keepsMessages, as a step begins
    std::int64_t reductionBuffers = 0;  ///< of those: Stack::reduceBucket
    std::int64_t frozenSpared = 0;      ///< by which parameters are fewer than if each took what one that is trained does
    std::int64_t hostOptimizer = 0;     ///< in the host's memory, gradients that are added up there among it
    std::int64_t parameterElements = 0; ///< before any ZeRO sharding
    bool operator==(const ModelStates&) const = default;
};

/// What the ranks of one pipeline coordinate execute.
struct RankProgram {
    std::vector<Step> steps;
    std::int32_t slots = 0; ///< size of the mailbox
    /// Every message to it has a `post` of its own. Otherwise buffers for all are there when the step begins: what software does
    /// that posts the next receive before it computes. Receives posted no earlier than their pass hang, or make steps longer than
    /// were published (docs/measurements.md).
    bool postsReceives = false;
    std::int64_t opCount = 0;
    ModelStates states;
};

struct Program {
    std::vector<Pass> passes;
    std::vector<std::string> labels;
    std::vector<RankProgram> ranks;     ///< [pipeline rank]
    std::vector<int> firstLayerOfStage; ///< [stage]
    std::int64_t sendBytes = 0;         ///< one micro-batch's activation between stages, per rank
    std::int64_t opCount() const;       ///< over one rank of each pipeline coordinate
};

/// How many times a mean rank's work this op is. Experts get unlike numbers of tokens, and the step is as long as it is for the
/// rank whose get the most: every rank runs its ops, so that FLOPs, bytes and busy time of all ranks are so many times fewer.
double workOverMean(const OpShape&, const Scenario&);
/// The op as a mean rank runs it.
OpShape meanShape(const OpShape&, const Scenario&);

/// How many members this communicator has.
int communicatorSize(CommunicatorRole, const Scenario&);

/// Whose communicators ops are on, in the order in which roles are declared.
std::vector<CommunicatorRole> rolesUsed(const Program&);

/// Schedule and scenario must agree in p, v and m. O(actions).
Program lowerProgram(const Scenario&, const Schedule&);

} // namespace sim
