// A rank's weights through a step: initialised, gathered where sharded, their gradients reduced, the optimizer's step made.
// ZeRO stages 0 to 3 (Rajbhandari et al. 2020), hybrid sharding, tied embeddings, two copies of a bidirectional pipeline.
#pragma once

#include "live/model/parameters.h"
#include "live/model/rank_context.h"
#include "live/model/shape.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace live {

class WorkerPool;

enum class Quantity : std::uint8_t { value, gradient, firstMoment, secondMoment };

/// The whole model's values: parameter name -> all elements of the whole matrix, row by row (padding of the vocabulary left out).
using Snapshot = std::map<std::string, std::vector<double>>;

/// A part of a parameter, or of neighbours from it on, that this rank updates, in the bucket's flat order.
struct OwnedRange {
    const Parameter* parameter = nullptr;
    std::int64_t first = 0, count = 0;                         ///< elements from the parameter's start
    Tensor value, gradient, firstMoment, secondMoment, master; ///< one row each; value and gradient may be absent between steps
};

class Weights final : public WeightAccess {
public:
    Weights(RankContext&, const TrainingOptions&);

    /// All buckets of the rank, in the order of the model; they must outlive this. Seals and allocates them.
    void adopt(std::vector<Bucket*> buckets, bool headSeparate);
    /// Makes the initial values, with help of idle workers.
    void initialise(WorkerPool&);
    /// Takes what that takes, and gives it back: for a plan.
    void rehearse();

    Task<> acquire(Bucket&) override;
    void prefetch(Bucket&) override;
    void release(Bucket&) override;
    void prepareGradients(Bucket&) override;
    Task<> gradientDone(Bucket&) override;

    void startStep();
    /// Completes the reduction of all gradients.
    Task<> finishGradients();
    /// Adds the squares of the gradients that this rank counts: over all ranks each element of the model once.
    void addSquares(const Tensor& words);
    /// clipFactor: see Queue::adamw. Where ZeRO 1 or 2 sharded the update, the next step gathers the new values.
    void update(const Tensor& clipFactor, std::int64_t stepFromOne, double learningRate);

    /// What this rank updates. `counted`: leaves out what another rank holds too, so that over all ranks each element of the
    /// model comes once.
    void forEachOwned(bool counted, const std::function<void(const OwnedRange&)>&) const;
    /// Sets what this rank holds, piece by piece: read(parameter, first element of the rank's slice of it, where to) fills in all
    /// but padding. isThere: of which parameters; none given: of all.
    void restore(Quantity, const std::function<void(const ParameterSpec&, std::int64_t, std::span<double>)>& read,
                 const std::function<bool(const ParameterSpec&)>& isThere = {});

private:
    /// Reduction of a bucket's gradient under way.
    struct Reduction {
        Bucket* bucket;
        Array whole, part; ///< what is sent (kept until done) and where the sum goes
        std::unique_ptr<Communication> transfer;
    };
    /// Gathering of a bucket's values under way.
    struct Gathering {
        Array values; ///< ZeRO 3: where they go; else they come in place
        std::unique_ptr<Communication> transfer;
    };
    Group shardGroup(const Bucket& bucket) const { return bucket.kind == BucketKind::dense ? Group::shard : Group::expertShard; }
    Group replicaGroup(const Bucket& bucket) const
    {
        return bucket.kind == BucketKind::dense ? Group::replicate : Group::expertReplicate;
    }
    void initialise(Bucket&, WorkerPool&);
    Array pieceOfInitial(const Bucket&);
    void startReduction(Bucket&);
    /// Completes reductions until at most so many are under way.
    Task<> settle(std::size_t left = 0);
    Task<> reduceTied(Bucket&);
    bool isToBeGathered(const Bucket&) const;
    void startGathering(Bucket&);
    bool counts(const Bucket&) const;
    bool counts(const ParameterSpec&) const; ///< of ranks that hold the same slice, one
    Task<> sumOverHeadCopies(const Bucket&);
    void stepAdamw(const AdamwStep&, const Tensor& clipFactor, const OwnedRange&);
    /// This rank's part of what lies from a parameter's start to `end` (elements of the bucket).
    OwnedRange ownedRange(const Bucket&, const Parameter&, std::int64_t end) const;
    Tensor ownValues(const Bucket&) const;
    Tensor ownGradients(const Bucket&) const;

    RankContext& m_context;
    const TrainingOptions& m_options;
    const int m_zero;
    const bool m_keepsGathered; ///< ZeRO 3 without reshard_after_forward: gathered once a step
    const bool m_reducesEveryMicrobatch;
    const DType m_momentType; ///< moment_dtype: of the sums, or bf16
    std::vector<Bucket*> m_buckets;
    std::deque<Reduction> m_reductions;
    std::map<const Bucket*, Gathering> m_gatherings;
    std::vector<Bucket*> m_waiting; ///< gradients complete, reduction left to the end of the step
    KernelLabel m_zeroLabel, m_normLabel, m_updateLabel;
};

} // namespace live
