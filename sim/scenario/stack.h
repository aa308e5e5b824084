// What the software adds to the arithmetic of a step: how fused its kernels are, what starting them costs the host, what it
// keeps and copies. The same GPU is 9 % or 30 % slower than its matrix products, depending on it. Presets are data
// (assets/stacks); a measured hardware profile beats them where it has measured.
#pragma once

#include "sim/scenario/recompute.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sim {

/// Which kernel computes attention. `automatic`: the stack's.
enum class AttentionKernel : std::uint8_t { automatic, unfused, triton, flash2, flash3, cudnn };
inline constexpr std::size_t kAttentionKernelCount = 6;

/// What works element by element, or is bound by memory: each may be one fused kernel, or a chain.
enum class StackPart : std::uint8_t { norm, activation, residual, rope, softmax, loss, embedding, permute, product, attention };
inline constexpr std::array<std::string_view, 10> kStackPartNames = {
    "norm", "activation", "residual", "rope", "softmax", "loss", "embedding", "permute", "product", "attention_product"};

/// What CUDA graphs hold, so that the host starts it as a whole: nothing, all of a layer but what works for single experts and
/// the way there (Megatron-Core's scopes attn, moe_router and moe_preprocess), or the whole step.
enum class CudaGraphs : std::uint8_t { none, attention, step };

/// Of one operator.
struct Fusion {
    double traffic = 1;          ///< memory traffic over that of one fused kernel, forward; of products and attention: besides
                                 ///< them, over their operands' (transposes, copies)
    double backwardTraffic = 1;  ///< likewise
    double launches = 1;         ///< kernels, forward
    double backwardLaunches = 2; ///< backward; of a product both gradients
    /// What is kept for the backward pass over what a fused kernel keeps, where activations have 16 bits. Of a norm what lies
    /// beyond 1 are copies in single precision, of the loss half of 1 are logits in 16 bits: neither is there in fp32.
    double saved = 1;
    bool operator==(const Fusion&) const = default;
};

struct Stack {
    Stack()
    {
        for (const StackPart part : {StackPart::product, StackPart::attention})
            parts[static_cast<std::size_t>(part)] = {.traffic = 0, .backwardTraffic = 0}; // nothing besides
    }

    std::string id, name;
    std::string date; ///< of the software: "2022-05"
    std::array<Fusion, kStackPartNames.size()> parts;
    AttentionKernel attention = AttentionKernel::automatic;
    double gemm = 1;                ///< matrix products' rate over what the GPU's constants say (older libraries)
    double network = 1;             ///< data-parallel collectives' rate between nodes over what others reach (one rail of eight)
    double launchUs = 5;            ///< the host's time to start one kernel, forward
    double backwardLaunchUs = 4;    ///< backward: no Python between kernels
    double collectiveLaunchUs = 15; ///< to start one collective
    /// The host's time, microseconds, for one expert's product, where each is started by itself; 0: one kernel does all.
    /// Transformer Engine calls cuBLAS for each (nvte_multi_tensor_gemm); 9 on a B200's host, the floor of SimuMax's 108 measured
    /// shapes.
    double expertLaunchUs = 0;
    CudaGraphs cudaGraphs = CudaGraphs::none;
    /// Experts' two products with what lies between and behind them are one kernel each way, that makes its own results narrow
    /// (Transformer Engine's op fuser, Megatron-Core's use_transformer_engine_op_fuser).
    bool fusesExperts = false;
    double castBytes = 3;           ///< fp8: bytes moved to cast one element of a product's operand, amax and transpose included
    double castLaunches = 2;        ///< fp8: kernels for each operand
    double optimizerBytes = 12;     ///< moved a parameter that a rank updates, besides the update: norm, clipping, copies
    double gradientBytes = 4;       ///< moved a gradient that a rank holds: zeroing, scaling
    double weightGradientBytes = 0; ///< held for a moment for each weight whose gradient is computed, before it is added up
    /// Held while AdamW updates, in the type of its moments and of as many elements as it updates: of torch's foreach AdamW the
    /// root of the second moment, to which eps is added in place since PyTorch 2.1, and into another tensor before
    /// (torch/optim/adamw.py, _multi_tensor_adamw).
    std::int64_t updateMoments = 0;
    /// Before parameters are updated their gradients are joined, and then copied into what the optimizer works in, if that is
    /// another type (DeepSpeed, stage3.py, _prepare_fp32_grad_for_sub_group: flatten and to).
    bool joinsGradients = false;
    std::int64_t updatedTogether = 0; ///< so many parameters at a time (DeepSpeed's sub_group_size); 0: all
    /// ZeRO 2 and 3: gradients are copied into a buffer of so many elements, which is always there, and what has come together in
    /// it is joined in another before it is reduced. That one is of the reduction's stream, whose memory the allocator gives to
    /// none else: it is always there, too. (DeepSpeed's contiguous_gradients and reduce_bucket_size: stage3.py,
    /// __add_grad_to_ipg_bucket, and coalesced_collectives.py, reduce_scatter_coalesced.) 0: they are reduced where they lie.
    std::int64_t reduceBucket = 0;
    /// The host starts kernels ahead of the GPU until so many of these buffers wait to be reduced (DeepSpeed, stage3.py: one more
    /// than max_param_reduce_events). An allocator gives memory when a kernel is started, and takes what another stream has used
    /// back when that stream has come to its end: of so many gradients, and of the parameters they are of, if ZeRO 3 gathers
    /// them, both are held besides those that the GPU works with.
    std::int64_t reductionsAhead = 0;
    /// ZeRO 3: a loss that takes a chunk of tokens at a time reads the head's weights itself, without its module, so that they
    /// count as the whole model's and stay gathered from their first use to the end of the backward pass (DeepSpeed,
    /// parameter_offload.py, ZeROOrderedDict: register_external_parameter).
    bool keepsLossHead = false;
    double stepMs = 0; ///< host work that every step waits for
    /// What the loss keeps where ranks have parts of the vocabulary, as its Fusion::saved; 0: that. Of torch's loss_parallel,
    /// four tensors in single precision meet in the backward pass (torch/distributed/tensor/parallel/loss.py), beside logits in
    /// 16 bits where the allocator has no other use for their block.
    double shardedLossSaved = 0;
    std::string gradientDtype = "fp32"; ///< what gradients are added up and reduced in, unless the scenario says
    /// 8 and 4 bits: products keep inputs and gradients as they read them, not as the precision of activations has them.
    bool narrowSaved = false;
    /// But for the one behind attention: it keeps attention's output, which fused attention keeps for itself in any case
    /// (Megatron-Core, attention.py: set_save_original_input(linear_proj), with every scaling but the delayed).
    bool sharesAttentionOutput = false;
    /// 8 and 4 bits: the copies of weights that products read lie beside the weights from one step to the next, instead of being
    /// made for each use or being the weights themselves (Transformer Engine, get_weight_workspace with a cache_name, which
    /// Megatron-Core's layers give it unless --fp8-param-gather has made the parameters narrow).
    bool keepsNarrowWeights = false;
    /// A fused softmax of unfused attention takes multiples of so many heads of a micro-batch (Megatron-LM: of 4, four to a block
    /// of threads); of other numbers it runs in steps.
    int softmaxMultiple = 1;
    /// Then it is put into single precision, scaled, masked, made a softmax and narrowed again, each by a kernel of its own
    /// (Megatron-LM, megatron/model/fused_softmax.py, is_kernel_available and forward_torch_softmax): 28 bytes for an element's
    /// 4, and 32 for 6 in the backward pass. BigScience's chronicles: with 14 heads a rank and one sequence a micro-batch (112
    /// heads, TP 8) 116 TFLOP/s, with 8 and 16 heads 134 and 129; with 28 (TP 4) nothing is lost.
    Fusion softmaxInSteps{.traffic = 7, .backwardTraffic = 5.3, .launches = 5, .backwardLaunches = 4};
    bool padsVocabulary = true; ///< a rank's part of it, to what tensor cores want; otherwise cut as it is
    bool narrowGather = false;  ///< fp8: sequence parallelism gathers operands that are narrow already
    /// fp8 with overlap.tp_comm: what is reduced behind a product, forward, travels in 8 bits (fp8_buf = True of proj_fprop and
    /// fc2_fprop in NeMo's tp_overlap_configs/userbuffers.py for H100, until v2.2; the product writes them into the buffer).
    bool narrowReduce = false;
    /// 8 and 4 bits: cuDNN's attention computes in 8 bits as well, behind casts of what it reads (Transformer Engine, fp8_dpa of
    /// a recipe; Megatron's --fp8-dot-product-attention). NVFP4 scales it by tensor.
    bool narrowAttention = false;
    /// ZeRO 3, backward: the next layer's parameters are gathered behind the reduction of this one's gradients, so that both hold
    /// up the next layer (FSDP's BACKWARD_POST); otherwise while this layer computes.
    bool gathersAfterReduction = false;
    /// ZeRO 3: a layer's parameters are gathered while the layer before computes, unless the scenario says otherwise. DeepSpeed
    /// foresees them by a recorded order of modules, which recomputation, adapters and experts break ("Invalidate trace cache").
    bool gathersAhead = true;
    /// ZeRO 3: bytes moved for each gathered parameter before a layer reads it. DeepSpeed joins what ranks sent of each of
    /// several that it gathers at once (AllGatherCoalescedHandle.wait of partition_parameters.py, torch.cat): 4 in 16 bits.
    double gatherBytes = 0;
    /// Recomputation runs a dense MLP's last product too, whose result no backward pass reads (it went into a sum, and the next
    /// layer keeps its own input). A compiler drops it as dead code, and PyTorch's checkpoint (not the reentrant kind) ends once
    /// the last tensor that was kept is there again (torch/utils/checkpoint.py since 2.1: early_stop, _StopRecomputationError).
    bool rerunsUnread = true;
    /// Recomputation by operators keeps all results on its list, also the dense MLP's that no backward pass reads
    /// (torch.utils.checkpoint, create_selective_checkpoint_contexts). A compiler drops it.
    bool keepsUnread = false;
    /// Gradients that a backward kernel reads and writes are tensors of their own, beside all that is kept. Where this is unset
    /// they are taken to find room in what is freed: SimuMax's ranks of Megatron-Core hold no more.
    bool passesGradients = false;
    /// ZeRO 2 and 3 without a pipeline: where the host has the optimizer's states, it has gradients too, which are added up on
    /// the GPU and so come and go with each micro-batch (DeepSpeed, stage3.py: grad_partitions_flat_buffer is on the device of
    /// the optimizer, partition_grads adds to it).
    bool offloadsGradients = false;
    RecomputeModules selective = {RecomputeModule::coreAttention}; ///< what selective recomputation runs again, unless said
    /// ZeRO 1: gradients are all-reduced, and what a rank has updated it broadcasts by itself: whole tensors, so that of more
    /// ranks than tensors some have none (InternEvo, hybrid_zero_optim.py, _reduce_grads_by_rank and broadcast_params).
    bool sendsShards = false;
    /// ZeRO 1: gradients are all-reduced whole, and what ranks have updated is gathered as it is elsewhere (Aleph Alpha's
    /// scaling, core/optimizer/allreduce.py, in single precision).
    bool reducesWhole = false;
    bool reducesWide = false; ///< gradients travel in single precision, whatever they are kept in
    /// Parameters are kept in single precision, and the optimizer updates them: what layers compute with in 16 bits is cast for
    /// them, with ZeRO 3 before it is gathered (FSDP2's MixedPrecisionPolicy with param_dtype; torchtitan, parallelize.py).
    /// Otherwise they are in 16 bits, and the optimizer has a master copy of them.
    bool parametersAreMaster = false;
    /// Tensor parallelism by autograd alone: the input gradient of each product is reduced by itself, of a gated MLP twice (with
    /// sequence parallelism what they share is gathered once), with nothing beside it, and what was gathered is kept (GPT-NeoX
    /// and Aleph Alpha's scaling, core/nn/linear/utils.py and mlp.py). Megatron-LM reduces one sum beside the weights' gradients
    /// and gathers again.
    bool plainTensorParallel = false;
    /// Beside that: each product gathers by itself what it reads, queries', keys', values', gate and up, so that five gathers and
    /// as many reductions of gradients stand where two would do (PyTorch's ColwiseParallel with input_layouts = Shard(1) for each
    /// of a plan's modules, in place of one PrepareModuleInput before them). Without sequence parallelism the reductions alone.
    bool gathersApart = false;
    /// Sequence parallelism: bytes moved for each element of the whole tensor around each gather or reduction. torch's functional
    /// collectives cut along the first dimension; along another one what was gathered is joined by torch.cat, and what is to be
    /// reduced is cut and joined before (_functional_collectives.py, all_gather_tensor and reduce_scatter_tensor): 4 in 16 bits.
    double sequenceCopyBytes = 0;
    /// Context parallelism: all-to-alls exchange parts of the sequence for heads before attention, and back behind it, so that it
    /// is over whole sequences and a part of the heads, where cp divides a rank's heads (DeepSpeed Ulysses, Jacobs et al. 2023,
    /// arXiv 2309.14509; cp_comm_type a2a of Transformer Engine). Otherwise keys and values go round a ring. Key-value heads are
    /// copied where a rank has queries for some of another's. What is exchanged back is kept beside fused attention's own output
    /// (context_parallel.py, AttnFuncWithCPAndQKVOA2A: out_part). Not beside experts whose tokens travel in one copy
    /// (MoeSettings::sendOncePerNode), whose all-to-alls are told by theirs.
    bool exchangesHeads = false;
    /// overlap.tp_comm: of what is reduced behind a product each part is reduced among all ranks at once, by a kernel that reads
    /// theirs (Transformer Engine's method "pipeline", its default for proj_fprop and fc2_fprop: initialize_ub of
    /// pytorch/module/base.py). Otherwise parts go round a ring (its "ring_exchange", PyTorch's symmetric memory).
    bool reducesAmongAll = false;
    /// Tensor-parallel ranks have the whole embedding each, the whole head each, instead of parts of the vocabulary. Where both
    /// are one tensor one of these says it of both (wholeEnds).
    bool wholeEmbedding = false, wholeHead = false;
    /// The host waits for each kernel before it starts the next (CUDA_LAUNCH_BLOCKING=1, as in BLOOM's tr11-176B-ml.slurm).
    bool blocksLaunches = false;
    bool gathersLogits = false; ///< of all ranks' parts of the vocabulary, whose loss then each takes (scaling's lm_head.py)
    /// Of more tensor-parallel ranks than key-value heads each has its part of the QKV product's columns, gathers those of all
    /// and goes on with its own heads; the gradients are reduced and scattered (Megatron-Core, SelfAttention.
    /// get_query_key_value_tensors). Otherwise several ranks keep the same key-value heads.
    bool gathersHeads = false;
    /// Attention with fewer key-value heads is given a copy of its group's for every query head, which context parallelism sends
    /// and the backward pass keeps (repeat_kv of torchtitan's and Hugging Face's models; kernels for grouped heads need none).
    bool repeatsKeys = false;
    /// Context parallelism by a ring, for each block but the first. Bytes moved an element of attention's output to join what the
    /// block gave (Transformer Engine: flash_attn_fwd_out_correction of context_parallel.py, one kernel; PyTorch: _SDPAMerger of
    /// torch/distributed/tensor/experimental, four in single precision), and an element of queries', keys' and values' gradients
    /// to add the block's.
    double ringMergeBytes = 6, ringGradientBytes = 6;
    bool ringGradientsWide = false; ///< those of keys and values travel in single precision (PyTorch)
    /// Pipelines: what a stage has handed on is kept until its backward pass has ended; for each input and each gradient that it
    /// is to get in a step there is a tensor from the beginning; and the gradient that it hands back stays beside the input until
    /// the next step begins (torch/distributed/pipelining/stage.py, fwd_cache, args_recv_info and grad_recv_info, and
    /// clear_runtime_states; Megatron-Core drops the first and makes the second when it is due, deallocate_output_tensor of
    /// pipeline_parallel/schedules.py).
    bool keepsMessages = false;
    /// What the last stage gives of all micro-batches, logits, is kept to the end of the step (stage.py, output_chunks, which
    /// schedules.py joins; left out from October 2025 on, where step() is told return_outputs=False: torchtitan, pull request
    /// 1922).
    bool keepsOutputs = false;
    bool scattersSends = false; ///< between stages each rank sends its part of what tensor parallelism has copies of, and gathers
    /// ZeRO 1 and 2, several chunks a rank: all parameters of a chunk are gathered while the chunk before it runs, on all stages
    /// at once (Megatron-LM's align_param_gather); otherwise a layer's while the layer before it runs.
    bool gathersChunks = false;
    bool operator==(const Stack&) const = default;

    const Fusion& of(StackPart part) const { return parts[static_cast<std::size_t>(part)]; }
};

} // namespace sim
