// Parameters, gradients and optimizer states of a rank under ZeRO. Rajbhandari et al. 2020, section 3; Megatron's mixed
// precision: 16-bit parameters, 32-bit gradients, 32-bit master copy, two moments (18 bytes a parameter).
#pragma once

#include "sim/program/program.h"

#include <algorithm>

namespace sim {

/// Elements on one rank, dense and routed apart because they are sharded over different groups.
struct ParameterElements {
    std::int64_t dense = 0, routed = 0;
    std::int64_t frozenDense = 0, frozenRouted = 0; ///< of those: they have no gradients and no optimizer states
    std::int64_t narrow = 0;                        ///< of products that run in 8 or 4 bits where the precision says so
    /// Of those, which have matrices that LoRA's base_bits is about.
    ParameterElements matrices() const
    {
        const std::int64_t ofExperts = std::min(narrow, routed); // experts' products are all narrow
        return {.dense = narrow - ofExperts, .routed = ofExperts};
    }
    ParameterElements& operator+=(const ParameterElements&);
    ParameterElements trained() const { return {.dense = dense - frozenDense, .routed = routed - frozenRouted}; }
};

/// Bytes per element of each state, before sharding.
struct StateBytes {
    int parameter = 2, gradient = 4, optimizer = 12;
    int computed = 2;        ///< a parameter as layers compute with it: of ZeRO 3 what is gathered
    int reducedGradient = 4; ///< as it travels between replicas: Stack::reducesWide
    bool hasMaster = true;   ///< the optimizer keeps a copy of the parameter, which it updates
    /// A parameter, of which a rank holds a shard or that it has updated, as others get it.
    int gathered(int zeroStage) const { return zeroStage >= 3 ? computed : parameter; }
    /// What an update moves: it reads gradient, master copy and moments, and writes all but the gradient, and the parameter in
    /// its precision. Without a master copy it reads the parameter.
    int ofUpdate() const;
    int hostGradient = 4; ///< as it goes to a host that updates: in single precision, beside a master copy
    /// What crosses the host's memory for a parameter that it updates (DeepSpeed, runtime/zero/stage3.py and ops/adam:
    /// partition_grads, unscale_and_clip_grads, DeepSpeedCPUAdam, _reassign_or_swap_out_partitioned_parameters). The gradient
    /// arrives, is scaled where it lies and in the end zeroed; the update; the new parameter is made of the master copy by a
    /// kernel of its own, and leaves.
    int ofHostUpdate() const;
    static StateBytes of(const Training&);
};

/// Of an element of a frozen linear layer, as it is held and gathered: Lora::base with its scales.
double frozenMatrixBytes(const Scenario&);
/// Bytes of so many elements of frozen linear layers less than in the precision that layers compute in.
std::int64_t sparedByFrozen(const Scenario&, std::int64_t elements);

/// Bytes of the narrow copies of so many weights that a rank keeps (Stack::keepsNarrowWeights). With one scale a tensor there are
/// two, one of them transposed, unless tensor cores take a matrix either way round (Transformer Engine,
/// is_non_tn_fp8_gemm_supported: of GPUs that know mxfp8); with one for 32 or 16 elements two, scaled along either side.
std::int64_t narrowCopyBytes(const Scenario&, std::int64_t weights);
/// Of the weights of such products those whose copies are there all the time. Where ZeRO 3 drops gathered parameters after use,
/// the copies go with them: they are made again of what is gathered next (Transformer Engine under FSDP).
std::int64_t narrowThroughStep(const Scenario&, ParameterElements);

/// Ranks that hold the same experts: Megatron's expt_dp.
int expertDataRanks(const Layout&);

/// How many ranks share one copy of the states of dense and of routed parameters. Experts have as many replicas of a copy as
/// the other parameters (torchtitan's dp_replicate, Megatron-Core's num_distributed_optimizer_instances), or as many of these as
/// the ranks that hold them can be divided into.
struct ShardRanks {
    int dense = 1, routed = 1;
    static ShardRanks of(const Layout&);
    /// Those that are cut at all. Of the others, experts without a replica for one, a rank's shard is the whole: nothing is
    /// gathered beside it, and gradients add up where they stay.
    ParameterElements cut(ParameterElements) const;
};

/// What goes round a ring in a backward pass, keys and values and their gradients, over keys and values.
int ringBackwardFactor(const Training&);

/// When ranks gather the parameters of which each has a shard, or of which each has updated one.
enum class ParameterGathering : std::uint8_t {
    never,
    eachUse,    ///< ZeRO 3: in each forward and backward pass, and dropped after it
    eachStep,   ///< in the first forward pass
    afterUpdate ///< at the end of the step, beside nothing
};
ParameterGathering parameterGathering(const Scenario&);

/// Where a rank with these elements copies and joins gradients before they are reduced (Stack::reduceBucket): once for all of
/// them, so that it is no part of modelStates(), which add up over parts of the model.
std::int64_t reductionBufferBytes(const Scenario&, ParameterElements);

/// Sharded gradients cannot add up whole. With a pipeline, and where the file wants it, they do all the same: see modelStates().
bool reducesEveryMicrobatch(const Scenario&);

/// Gradients that are kept cut, but for the step add up whole.
bool addsUpWhole(const Scenario&);
/// What those of one bucket take then beyond the rank's shard, from the first micro-batch that adds to them until they are
/// reduced. Software has no shard of its own until then: PyTorch's FSDP makes it of a bucket's whole gradients, which it drops
/// (FSDP2's FSDPParamGroup.post_backward, unsharded_accumulated_grad; FSDP1's _reduce_grad). So the shard, which is among the
/// states all the time, stands for a part of them.
std::int64_t beyondShardBytes(const Scenario&, ParameterElements trained);

/// The share of a rank's gradients that the host has (Stack::offloadsGradients): where they add up whole they stay on the GPU.
double gradientsOnHost(const Scenario&);

/// With a pipeline, gathered parameters of ZeRO 3 stay for the step (as PyTorch's FSDP under pipelining): otherwise every
/// micro-batch would pay the communication again. Gradients of ZeRO 2 and 3 then add up whole, chunk by chunk, from the first to
/// the last micro-batch; what that takes beyond the shards comes and goes in the program.
ModelStates modelStates(const Scenario&, ParameterElements);

} // namespace sim
