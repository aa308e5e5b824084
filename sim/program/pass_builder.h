// Lowers one action on one stage to ops: walks the stage's operators forwards or backwards and issues kernels and collectives on
// their streams. Private to sim/program.
#pragma once

#include "sim/checked.h"
#include "sim/program/labels.h"
#include "sim/program/program.h"
#include "sim/program/states.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// Parameters gathered and gradients reduced together: the embedding, one layer, or the head.
struct Bucket {
    OperatorList list;
    int layer = -1; ///< relative to the stage; -1 for embedding and head
    bool recomputed = false;
    /// Another bucket of the stage works with its weights, too: a tied head, prediction modules. PyTorch's FSDP puts these with
    /// the model's root, which stays gathered from its first use to its last, and whose gradients add up whole in between.
    bool usedAgain = false;
    bool staysGathered = false; ///< Stack::keepsLossHead
    ParameterElements parameters() const;
};

struct StageContent {
    std::vector<Bucket> buckets; ///< in forward order
    ParameterElements parameters() const;
};

/// What an action does besides computing.
struct PassFlags {
    bool receives = false, sends = false; ///< to and from another rank
    bool gathersParameters = false;       ///< ZeRO: the first use in a step, or every use without a pipeline
    bool releasesParameters = false;      ///< frees each bucket after use (ZeRO 3 without a pipeline)
    bool startsGradients = false;         ///< the first micro-batch that adds to the stage's gradients
    bool reducesGradients = false;        ///< the micro-batch after which gradients leave
    bool operator==(const PassFlags&) const = default;
    auto operator<=>(const PassFlags&) const = default;
};

/// What a rank drops when a step ends.
struct HeldToTheEnd {
    std::int64_t accumulated = 0; ///< PassBuilder::accumulatedBytes of all chunks, where none has been reduced yet
    std::int64_t kept = 0;        ///< PassBuilder::keptOfMicrobatch of all
};

/// It runs a kernel; else it is a collective.
inline bool isCompute(const Operator& op)
{
    return op.kind == OperatorKind::gemm || op.kind == OperatorKind::attention || op.kind == OperatorKind::elementwise;
}

/// Each rank of a tensor-parallel group sends its part of what all have copies of, and what is received is gathered.
bool scattersSends(const Scenario&);
/// Bytes of one micro-batch, or its slice, that a rank sends to the next stage.
std::int64_t sentBytes(const Scenario&, const Sharding&);

/// The gathering whose result a product reads: right before it, or before the frozen product that its adapter stands behind.
std::optional<std::size_t> gatheringOf(const std::vector<Operator>&, std::size_t index);
/// A rank's next chunk is gathered whole while the one before it runs: it takes no memory that is not there below ZeRO 3.
bool gathersChunks(const Scenario&);
/// What is gathered for a product a second time: of another width for a prediction module, and latents.
std::string_view regatherName(const Operator&);

/// What a collective works on: its whole tensor, as it travels.
struct SentTensor {
    SentTensor(std::int64_t wide) : bytes(wide) {}   // NOLINT(google-explicit-constructor): mostly all there is to say
    SentTensor(const Checked& wide) : bytes(wide) {} // NOLINT(google-explicit-constructor)
    /// One of so many pieces.
    SentTensor piece(int pieces) const { return {bytes / pieces, narrowedBy, pieces}; }
    /// Such a one, which goes among all ranks at once instead of round a ring.
    SentTensor chunk(int pieces) const
    {
        SentTensor out = piece(pieces);
        out.amongAll = true;
        return out;
    }
    /// The same elements in fewer bits.
    SentTensor narrower(int by) const { return {bytes / by, narrowedBy * by, ofPieces}; } ///< of a whole

    std::int64_t bytes;
    int narrowedBy = 1;
    int ofPieces = 1;
    bool amongAll = false;

private:
    SentTensor(std::int64_t sent, int narrowed, int pieces) : bytes(sent), narrowedBy(narrowed), ofPieces(pieces) {}
};

class PassBuilder {
public:
    PassBuilder(const Scenario&, Labels&);

    /// `next`: what this rank's next chunk holds, of which the first bucket, or where chunks are gathered whole all of them, is
    /// gathered meanwhile; or nullptr.
    Pass forward(const StageContent&, PassFlags, const StageContent* next);
    /// `kind`: backward, backwardInput or backwardWeight.
    Pass backward(const StageContent&, ActionKind kind, PassFlags);
    /// Gathers parameters of the first chunk of a step: of its first bucket, or where chunks are gathered whole of all.
    Pass gather(const StageContent&);
    /// What comes after the last action, of the elements that are trained: reductions not overlapped, tied embeddings, the
    /// optimizer, the gather not overlapped.
    Pass finish(ParameterElements, bool sharesEmbedding, std::int64_t embeddingElements, HeldToTheEnd = {});
    /// What stays of a micro-batch behind its backward pass, to the end of the step: Stack::keepsMessages and keepsOutputs.
    std::int64_t keptOfMicrobatch(const StageContent&, bool receivesInput) const;
    /// What gradients of a chunk that its micro-batches add up whole take beyond the rank's shard of them.
    std::int64_t accumulatedBytes(const StageContent&) const;

private:
    Op& emit(Op, const OpShape&);
    void compute(const Operator&, std::string_view suffix, OpPurpose, const OpShape&);
    void communicate(CommunicatorRole, CollectiveKind, std::string_view name, SentTensor,
                     StreamMask waits = maskOf(Stream::compute), int pieces = 1);
    /// The same, and the next kernel waits for it.
    void exchange(CommunicatorRole, CollectiveKind, std::string_view name, SentTensor, StreamMask waits = maskOf(Stream::compute),
                  int pieces = 1);
    void copySequence(const Operator&, OpPurpose);
    /// Stack::sendsShards, where it applies.
    bool sendsShards() const;
    bool reducesWhole() const; ///< Stack::reducesWhole, or as shards are sent
    /// For the gradients of weights: sequence parallelism has kept a slice of what it gathered, unless autograd keeps the whole.
    bool regathersInputs() const;
    void passBytes(const Operator&);
    std::int64_t passedGradients(const Operator&, bool split) const;
    void waitFor(StreamMask);
    void receive(PassFlags, Stream);
    /// A moment at which so many bytes are taken or dropped, and nothing waited for.
    Op& moment(std::string_view name, std::int64_t Op::*change, std::int64_t bytes);
    std::int64_t messageBytes() const; ///< that a stage hands on to the next
    /// Of what a stage has received, what counts as kept by its first operators.
    std::int64_t keptInput(const StageContent&) const;
    std::int64_t outputBytes(const StageContent&) const; ///< Stack::keepsOutputs
    /// What the pass has made, to another rank, if any; the pass ends when what it waits for is there.
    void send(PassFlags, Stream);

    void forwardBucket(const Bucket&, OpPurpose, bool keep);
    std::int64_t inputKeptAgain(const Bucket&) const;
    std::size_t overlapTensorCollective(const Bucket&, std::size_t index, OpPurpose, bool keep);
    void forwardOperator(const Bucket&, std::size_t index, OpPurpose, bool keep);
    void keepMessages(const StageContent&, PassFlags);
    void backwardBucket(const Bucket&, ActionKind);
    bool overlapGradientGather(const Bucket&, std::size_t index, ActionKind);
    void backwardOperator(const Bucket&, std::size_t index, ActionKind);
    void backwardOfFirst(const Bucket&, std::size_t index, ActionKind);
    void inputGradient(const Operator&, OpPurpose, bool split, int slices);
    void weightGradient(const Operator&, OpPurpose, bool split);
    void weightPass(const Bucket&);

    // rerun.cpp: what selective recomputation runs again
    struct Rerun {
        RecomputeModule module = RecomputeModule::layernorm;
        std::size_t first = 0, last = 0; ///< operators; of those between, the module's
        std::size_t before = 0;          ///< the backward pass of this operator
    };
    std::vector<Rerun> rerunsOf(const Bucket&) const;
    void runAgain(const Bucket&, const Rerun&);
    std::optional<RecomputeModule> wholeModuleOf(const Operator&) const;
    std::int64_t remadeBytes(const Operator&, RecomputeModule) const;
    /// Kept from the forward pass on; when it runs again, what its module makes again.
    std::int64_t allocatedBytes(const Operator&) const;
    bool dropsUnread(const Operator&);
    /// As it runs now: of a product that is kept in part the rest, which is made in `part`.
    const Operator& asRun(const Operator&, Operator& part) const;

    // offload.cpp: what goes to the host and comes back
    bool isOffloaded(const Bucket&) const;
    void sendToHost(const Bucket&);
    void awaitHost();
    void bringFromHost(const Bucket&);
    struct Kept {
        std::string_view name;
        std::int64_t bytes = 0;
    };
    void copy(Stream, std::string_view name, StreamMask waits, std::int64_t bytes);
    void copy(Stream, std::string_view name, const std::vector<Kept>&);
    void addToHostGradients(ParameterElements);
    void hostOptimizer(std::int64_t elements);
    std::int64_t updateBytes(std::int64_t elements) const;
    std::vector<Kept> keptBytes(const Bucket&) const;

    std::int64_t messagesOf(std::int64_t gatheredBytes);
    void gatherBucket(const Bucket&, bool prefetched);
    void gatherAhead(const StageContent& chunk);
    void unpackBucket(const Bucket&, OpPurpose);
    void releaseBucket(const Bucket&);
    void reduceBucket(const Bucket&);
    void reduceMicrobatch(const StageContent&);
    /// Of whole gradients, when the reduction begins and when it has ended.
    struct WholeGradients {
        std::int64_t taken = 0, dropped = 0;
    };
    void reduce(ParameterElements, WholeGradients);
    std::int64_t sharedGradientBytes(const StageContent&) const;
    std::int64_t startedAheadBytes(const StageContent&, ActionKind, PassFlags) const;
    std::int64_t wholeBytes(ParameterElements, int bytesEach) const;
    std::int64_t gatheredBytes(const Bucket&) const;
    bool gathersNarrow(const Bucket&, std::size_t index) const;
    SentTensor gatheredOperand(const Bucket&, std::size_t index) const;
    SentTensor reducedResult(const Operator& product, std::int64_t bytes) const;
    /// Ranks that made a slice each of the operand narrow that `gathering` brings together; 1 where none is gathered so.
    int narrowedBy(const Bucket&, std::optional<std::size_t> gathering) const;
    /// Held when the operator's backward pass begins.
    std::int64_t keptBytes(const Operator&) const;
    std::int64_t moduleInputBytes(const Operator&) const;

    const Scenario& m_scenario;
    Labels& m_labels;
    StateBytes m_stateBytes;
    struct RankShards {
        double bytes = 0, count = 0; ///< of the weights that are trained, the mean of ranks
    };
    std::optional<RankShards> m_rankShards; ///< messagesOf's, found when first asked: it takes the list of all tensors
    Pass m_pass;
    StreamMask m_nextWaits = 0; ///< what the next kernel must wait for
    int m_layer = -1;
    std::vector<const Operator*> m_deferredWeights; ///< weight gradients held back to run beside a collective
    bool m_ringOpen = false;
    bool m_again = false;                         ///< what is issued has run before
    std::optional<RecomputeModule> m_rerunModule; ///< while one runs again
    std::vector<Kept> m_leaving;                  ///< on its way to the host
};

} // namespace sim
