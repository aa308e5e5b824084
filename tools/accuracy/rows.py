"""Published measurements as scenarios: how a row of tests/data/published is read.

A row says what its source printed; what it leaves unsaid is filled in by rules of the source's software, never by what would
make the prediction fit. Those rules are all in this file.
"""
import json
import math
import re

# The row's name of a GPU, and the catalogue's cluster of it.
CLUSTERS = [
    ("A100-SXM4-80GB", "dgx-a100"),
    ("A100-SXM4-40GB", "a100-40gb-slingshot"),
    ("A100-SXM-64GB", "dgx-a100"),
    ("A100-PCI", "single-a100-100gbe"),
    ("A100-40GB", "a100-40gb-slingshot"),
    ("A100", "dgx-a100"),
    ("H100-SXM5-96GB", "grand-teton-h100"),
    ("H100-96GB", "grand-teton-h100"),
    ("H100-SXM-96GB", "grand-teton-h100"),
    ("H100-PCI", "h100-pcie"),
    ("H100", "h100-sxm-ib400"),
    ("GH200", "grand-teton-h100"),
    ("H800", "h800-ib400"),
    ("H200", "dgx-h200"),
    ("H20", "h20-ib400"),
    ("GB200", "gb200-nvl72"),
    ("GB300", "gb300-nvl72"),
    ("B200", "dgx-b200"),
    ("B300", "dgx-b300"),
    ("MI355X", "mi355x-roce400"),
    ("MI325X", "mi325x-roce400"),
    ("MI300X", "mi300x-roce400"),
    ("MI250X", "frontier"),
    ("V100-SXM3", "dgx-2-v100"),
    ("V100", "dgx-1-v100"),
    ("L40S", "l40s-roce100"),
    ("RTX 3090", "workstation-2x3090"),
    ("RTX-3090", "workstation-2x3090"),
    ("RTX 4090", "workstation-4x4090"),
    ("RTX-4090", "workstation-4x4090"),
    ("TPU-v4", "tpu-v4-pod"),
    ("TPU v4", "tpu-v4-pod"),
    ("TPU-v5p", "tpu-v5p-pod"),
    ("TPU v5p", "tpu-v5p-pod"),
    ("Trainium2", "aws-trn2"),
]

# Stage 3 of ZeRO gathered its parameters one by one until 2021; since then it fetches ahead.
ZERO3 = {2021: "deepspeed-2021", None: "deepspeed-2023"}

# What the row says of its software, and the stack that it is (assets/stacks); the first that matches. A stack by year is the one
# of the first year that the software is not younger than.
STACKS = [
    (r"Aleph[- ]Alpha|AA-[Ss]caling|GPT-NeoX|^hagemann|2311\.05610", "pytorch-megatron"),
    (r"DeepSpeed ZeRO-3", ZERO3),
    (r"^vtrain|Megatron-DeepSpeed.*2023", "megatron-deepspeed-2023"),
    (r"Megatron-DeepSpeed|BigScience|bigscience|bloom", "megatron-deepspeed"),
    (r"Megatron-LM.*20(19|20|21)", "megatron-2021"),
    (r"Megatron-LM.*(2022|fork)|Megatron-(LM|Core) 2023|^megascale|NeMo Megatron 22\.", "megatron-2022"),
    (r"AutoModel.*TE", "megatron-te-2025"),  # linear layers, attention and norms of Transformer Engine
    (r"Auto[Mm]odel", "pytorch-compiled"),
    (r"Megatron-Bridge|NeMo (25\.(0[7-9]|1)|2[6-9])|Megatron-LM .*TE|Megatron-MoE|Primus|HAI-LLM", "megatron-te-2025"),
    (r"NeMo|Megatron-Core|mcore|Megatron|MegaScale", "megatron-te-2024"),
    (r"MaxText|PaxML|JAX", "xla"),
    (r"torch\.compile.*KempnerForge", "kempnerforge"),
    (r"torch\.compile.*2026", "pytorch-compiled-2026"),
    (r"[Tt]orch[Tt]itan eager|LitGPT eager", "pytorch-eager"),
    (r"[Tt]orch[Tt]itan.*(2025|2026)|OLMo-core|torchtune.*compile", "pytorch-compiled-2025"),  # the loss too
    (r"[Tt]orch[Tt]itan|torch\.compile|compile|[Tt]hunder", "pytorch-compiled"),
    (r"llm-foundry|Composer", "composer-2023"),
    (r"InternEvo", "internevo"),
    # Eager PyTorch with fused kernels of flash-attn's kind, or kernels of its own that do as much.
    (r"flash-attn|flash-attention training|llm\.c|Colossal-AI|[Uu]nsloth", "flash-attn"),
    (r"HF|Hugging ?Face|[Tt]ransformers|PEFT|TRL|[Aa]xolotl|LLaMA-Factory|ms-swift", "huggingface"),
    (r"DeepSpeed|FSDP|nanotron|fairseq|OPT|metaseq|Galvatron|torchtune|[Ll]it-?[Gg][Pp][Tt]|veScale|PyTorch", "pytorch-eager"),
]

# Data-parallel communication does not run beside computing there. Megatron-LM's own README of 2020 reduces with PyTorch's wrapper,
# which does, and in 16 bits: of its 8.3 billion parameters on 1,024 GPUs 37 ms are to be seen, where links need 80.
OVERLAPS = r"^megatron-2020"
NO_OVERLAP = (r"Aleph[- ]Alpha|AA-[Ss]caling|hagemann|2311\.05610|GPT-NeoX|korthikanti|zero-bubble|megatron21|vtrain|bigscience|"
              r"megascale/megatron|Megatron-LM.*20(19|20|21|22)|Megatron-DeepSpeed")

# Hagemann et al. 2023 (arXiv 2311.05610) compare kernels: flash-attn's norm in place of the stack's own, Megatron's fused softmax in
# place of PyTorch's.
FUSED_NORM = {"norm": {"traffic": [1, 1], "launches": [1, 2], "saved": 1}}
FUSED_SOFTMAX = {"softmax": {"traffic": [1.2, 1.1], "launches": [1, 1], "saved": 1}}

# Liger-Kernel puts kernels of its own in the place of Transformers' norms, rotation and gated activation.
LIGER = {"norm": {"traffic": [1.1, 1.1], "launches": [1, 2], "saved": 1}, "rope": {"traffic": [1, 1], "launches": [1, 1]},
         "activation": {"traffic": [1, 1], "launches": [1, 1], "saved": 1}}
# GPT-NeoX's vocab_parallel_cross_entropy makes the softmax in place of the single-precision logits and its gradient in place of that
# (megatron/mpu/cross_entropy.py at 05048b6b): with the logits and their gradient in 16 bits, 8 bytes an element of a rank's part.
NEOX_LOSS = {"gathers_logits": False, "loss": {"saved": 2}}

# Their nodes of eight A100 share one link of 200 Gb/s, or something that is no faster: of 30B parameters on 256 GPUs tp 4, pp 1
# takes 10 s longer than pp 2 (four gradients of 30 GB over each node's link), tp 1, pp 4 some 3 s (one). The paper says "200 Gb/s".
ONE_LINK = r"^hagemann|2311\.05610"

# Gradients are added up and reduced in 16 bits: grad_sync_dtype of NeMo's configurations (NVIDIA/dgxc-benchmarking, v24.11.1 to
# v25.04.02, *.yaml) and grad_reduce_in_fp32 = False of its and of Megatron-Bridge's performance recipes; fms-fsdp's policy.
NARROW_GRADIENTS = r"^(dgxc|nemo-|megatron-bridge|megatron-2020|fms-fsdp)"

# Parameters are in 8 bits themselves, and have no narrow copies beside them: fp8_params = True of NeMo's bf16_with_fp8_mixed, and
# fp8_param_gather = True of Megatron-Bridge's (training/mixed_precision.py; not of nvfp4, nor of scaling in blocks); the scripts
# beside Megatron-LM's table of Llama say --fp8-param-gather (examples/llama/train_llama3_8b_h100_fp8.sh).
NARROW_PARAMETERS = r"^(dgxc|nemo-|megatron-bridge|megatron-lm-llama)"

# What tensor parallelism reduces behind a product travels in 8 bits: fp8_buf of proj_fprop and fc2_fprop in llama3.1/configure.sh of
# v25.02.02, for 405B alone, and in NeMo's tp_overlap_configs/userbuffers.py of v2.2.1 (which v25.04.02 runs), for 405B and 70B on
# H100. v2.3 (v25.05) and Megatron-Bridge have it no more.
NARROW_REDUCTIONS = r"^dgxc/(v25\.02\.02/llama3\.1-405b|v25\.04\.02/llama3\.1-(70|405)b)/fp8-ds/H100"

# What the device says is in use, in 10^9 bytes, CUDA's kernels among it: "the kernels alone take up 1.3GB of GPU memory"
# (Transformers, model_memory_anatomy.md, by NVML). Qwen's README does not say how it measured, and prints "G". Two GPUs of 80 GiB
# hold its 162.0 G (Qwen-7B, all parameters, 1,024 tokens) only if these are no GiB; and of LoRA at 256 tokens weights and logits
# leave 18 to 20 bytes for each parameter of adapters, which have 16, and 1.4 GB for none, with all three models.
DEVICE_MEMORY = r"^qwen"
KERNELS_GIB = 1.3
# Where there are several GPUs, NCCL's communicators too: 688 MiB each among four A100 (NVIDIA/nccl, issue 964). DeepSpeed has two
# that work: parameters are gathered over the world's, gradients are reduced over its clone (utils/groups.py, _clone_world_group).
NCCL_GIB = 2 * 688 / 1024

# Qwen's own model code gives cross-entropy its logits as they are (modeling_qwen.py, QWenLMHeadModel.forward). Under DeepSpeed
# Transformers' Trainer casts nothing: logits, their shifted copy, log-softmax and gradient are in 16 bits, 8 bytes an element.
# Without it autocast has log-softmax in single precision: it and two gradients are alive together, 12 bytes.
QWEN_LOSSES = [(r"^qwen-(full|lora-z3)/", {"loss": {"saved": 2}}), (r"^qwen-lora/", {"loss": {"saved": 3}})]

# Gradients that DeepSpeed reduces together: "auto" of Qwen's finetune/ds_config_zero3.json, which Transformers makes the square of
# the hidden size; stas' benchmark.py says nothing, and zero/config.py then 5e8.
DEEPSPEED_BUCKETS = [(r"^qwen-(full|lora-z3)/", lambda hidden: hidden**2), (r"^stas/", lambda hidden: 500_000_000)]

# The most that was reserved since the process began (benchmark.py: max_memory_reserved, reset by nothing). Its model is made outside
# zero.Init, so that it lay whole on each GPU before it was cut (DeepSpeed's engine.py, _configure_distributed_model).
WHOLE_AT_FIRST = r"^stas/"

# KempnerForge's rank 0 tells of its own memory (metrics/tracker.py, metrics/logger.py).
OF_FIRST_STAGE = r"^kf-"

# Of selective recomputation, as Megatron-Core names them.
MODULES = ["core_attn", "moe_act", "layernorm", "mla_up_proj", "mlp", "moe", "shared_experts"]

# Rows beside which a recipe of an earlier release stands. Whose graphs hold the whole step from Megatron-Bridge 26.08 on
# (v0.6.0, perf_recipes/qwen/gb200/qwen3_moe.py, qwen3_30b_a3b_pretrain_8gpu_gb200_fp8mx_config; gpt_oss/gb200/gpt_oss.py,
# gpt_oss_120b_pretrain_64gpu_gb200_fp8mx_config, which recomputes nothing).
WHOLE_STEP_ROWS = r"^megatron-bridge[^/]*/26\.08/(Qwen3_30B|GPT_OSS_120B)[^/]*/GB200[^/]*/MXFP8"
WHOLE_STEP = {"cuda_graph_impl": "full_iteration", "moe_dispatcher": "hybridep", "overlap_moe_a2a": True}

# What dgxc's launch scripts of DeepSeek-V3 recompute (v25.05.05, deepseek_v3/pretraining/launch.sh, RM); NeMo's of that date puts
# one layer fewer than 64 / pp into the first stage and two into the last, which predicts one more token too
# (scripts/performance/llm/pretrain_deepseek_v3.py, v2.3.1).
DGXC_DEEPSEEK = r"^dgxc/v25\.05[^/]*/deepseek-v3"
DGXC_RECOMPUTED = [(r"/H100", ["mla_up_proj"]), (r"/GB200", ["core_attn"])]
# DeepSeek-V3 with the module that predicts the token after the next, where a row does not say: Megatron-Bridge's tables since 26.02
# count its FLOPs, as dgxc's do.
PREDICTS = DGXC_DEEPSEEK + r"|^megatron-bridge[^/]*/26\.[^/]*/DeepSeekV3"
# Transformer Engine 2.2, NeMo 25.04's, has no fused attention for heads of more than 128 on Blackwell (fused_attn.cpp, "special
# conditions for blackwell"; 2.4 has, with cuDNN 9.11): DeepSeek's scores are written and kept, which is why they are recomputed.
UNFUSED = r"^dgxc/v25\.05[^/]*/deepseek-v3/.*/(GB200|B200)"

# How Megatron-Bridge deals 61 layers to stages where a recipe does not say: what is left goes to the last one, with the prediction
# module and the loss (recipes/deepseek/deepseek_v3.py, set_deepseek_v3_pipeline_model_parallel_layout; Kimi K2's alike; of 32 stages
# as the recipe for H100 has them).
BRIDGE_LAYOUTS = r"^megatron-bridge"

# Of each token the experts lie in four of eight groups (n_group and topk_group of deepseek-ai/DeepSeek-V3's config.json, which
# Megatron-Bridge reads; forced balancing draws the scores, and the groups hold).
DEEPSEEK_V3_GROUPS = {"n_group": 8, "topk_group": 4}
# NeMo AutoModel's benchmarks take the experts in turn, a token the next ones of its predecessor's (fake_balanced_gate: true of
# examples/llm_benchmark; moe/layers.py, FakeBalancedGate): so that all of a token's lie side by side.
EXPERTS_IN_TURN = r"^automodel"

# 405B with 1,536 sequences on 256 GPUs is the recipes' second variant (LLAMA31_405B_PRETRAIN_CONFIG_GB…_NVFP4_V2 of Megatron-Bridge
# v0.3.0 to v0.5.0, llama31_workload_base_configs.py), which recomputes nothing and has no graphs, not the first (64 sequences)
# that stands beside the rows.
SECOND_VARIANT_ROWS = r"^megatron-bridge[^/]*/26\.0[26][^/]*/LLAMA3\.1_405B/GB[23]00x256/NVFP4/.*gbs1536"
SECOND_VARIANT = {"cuda_graph_impl": None, "cuda_graph_scope": None}

# GPUs that a sharded copy of the parameters lies on, where a row does not say: eight of each of FSDP nodes (paxml/configure.sh of
# NVIDIA/dgxc-benchmarking v24.11.1, DCN_MESH_SHAPE; ICI_MESH_SHAPE [1, 8, 1] of paxml's configurations for GPUs).
SHARD_GROUPS = [(r"^dgxc/.*paxml-gpt3-175b", 128), (r"^dgxc/.*paxml-gpt3-5b", 8)]

# Megatron-Bridge's recipes for 4 bits turn the overlap of tensor parallelism off (scripts/performance/configs/llama of v0.2.0 to
# v0.5.0: tp_comm_overlap = False if precision == "nvfp4").
NO_TENSOR_OVERLAP = r"^megatron-bridge.*/NVFP4/"
# And those of Llama in mxfp8 until v0.2.0 (25.11) what parameters' gathers overlap ("keeping this eanbled causes NaN grad norm").
NO_GATHER_OVERLAP = r"^megatron-bridge[^/]*/25\..*/LLAMA.*/FP8-MX/"

# Parameters, gradients and moments are in 16 bits alone: precision="bf16-true" of extensions/thunder/pretrain.py. What each of eight
# GPUs holds less than one alone, 7.2 GiB, is 8 bytes for seven eighths of its 1.1 billion parameters.
# torchtune's recipes train what they train in the model's type as well (dtype: bf16 of recipes/configs).
PURE_BF16 = r"^(thunder|torchtune)/"

# Gathers of parameters wait for the layer before. XLA's scheduler hides them where it has a profile of the program (PGLE; with
# FSDP that "makes a big difference", AI-Hypercomputer/maxtext issue 1005); MaxText's recipe makes one, PaxML's does not. How much
# is hidden without one no source says: nothing is taken to be. Reductions have until the end of the step.
NO_PREFETCH = r"^dgxc/.*paxml"
# What this software gathers, its stack says (gathers_ahead).
STACK_SAYS = ("deepspeed-2023",)

# Words are dealt to ranks as they are, 50,257 to one and 25,128 to each of two: vTrain's own model (src/model/layers.py), and the
# head's time in its measurements, which a rank alone has five times that of two.
UNPADDED = r"^vtrain/"

# Attention computes in 8 bits (fp8_dot_product_attention) in those of Megatron-Bridge's recipes for mxfp8 whose graphs hold the whole
# step, but for DeepSeek-V3's on GB200 (v0.5.0, scripts/performance/configs: deepseek, gpt_oss and qwen3_workload_base_configs.py;
# v0.6.0, perf_recipes: _enable_hybridep_full_iteration_mxfp8, _enable_deepseek_full_iteration_mxfp8 and
# _apply_gpt_oss_120b_full_iter_fp8mx_configs).
WIDE_ATTENTION = r"/DeepSeekV3/GB200"

# MLPerf's fine-tuning of 2025 as well: FP8_DPA=1 and NVTE_FP8_DPA_BWD=1 of config_common.sh of those submissions that NeMo 25.04 ran
# (mlcommons/training_results_v5.0: NVIDIA, Oracle and Supermicro on Blackwell), and of Lenovo's.
NARROW_ATTENTION = r"^mlperf50-lora/(lenovo|nvidia-|oracle-[18]x|supermicro)"

# Context parallelism by all-to-alls of heads: cp_comm_type a2a, the default of those submissions' megatron_gpt_peft_tuning_config.yaml
# (NeMo 24.09's has none, so that keys and values go round a ring); XTuner extends DeepSpeed Ulysses (parallel/sequence/attention.py).
EXCHANGES_HEADS = r"^mlperf50-lora/(nvidia-|oracle-[18]x|supermicro)|^xtuner"

# What a source trained with, where it is not what the model's name says.
VOCABULARIES = [
    # llama3.1/llama3.1_405b.yaml of v25.02: GPT-2's tokenizer, padded to a multiple of 128 x tp.
    (r"^dgxc/v25\.02\.02/llama3\.1-405b", 51200),
]

# NVIDIA's rows of fine-tuning at 4,096 tokens train on SQuAD, packed (NeMo's finetune_recipe with performance_mode; the FLOP rates
# beside them count no attention): a token sees its own record alone, of 100 to 300 tokens.
PACKED_TOKENS = 256
PACKED = r"^(dgxc|nemo-|megatron-bridge)"

# Of adapters that a row does not describe: Megatron-Bridge's (peft/lora.py: dim 32, linear_qkv, linear_proj, linear_fc1 and
# linear_fc2) and PEFT's (LoraConfig: r 8; constants.py: q_proj and v_proj of Llama and most others).
MEGATRON_LORA = {"rank": 32, "targets": ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
                 "fused": True}
PEFT_LORA = {"rank": 8, "targets": ["q_proj", "v_proj"]}
# Parts of the tokens that torchtune's losses take one after the other (num_output_chunks of its recipes' configurations).
TORCHTUNE_CHUNKS = 8

# KempnerForge trains by PyTorch 2.11 with cuDNN 9.19 (uv.lock), which takes cuDNN's attention first on Hopper (sdp_utils.cpp,
# check_prefer_cudnn_attention); its profile has aten::_cudnn_attention_backward (benchmarks/profiling/13b_24gpu_profiling.md).
KEMPNER = r"^kf-"
# So does torchtitan on B200 since May 2025 (pull request 1196), and so did PyTorch's nightlies before 22 October 2024 on H100 (pytorch,
# pull request 138522).
CUDNN_FIRST = r"^titan-deepep|^semianalysis/gpt2xl-H100-bf16|^kf-"
# What goes between its nodes: each of a node's four GPUs has a card of 400 Gb/s (scripts/slurm/multinode.sh), and gets no more than
# half of that: of that profile 205 reductions of single-precision gradients of a tensor-parallel rank of four over six nodes (41
# pieces in five steps: 40 layers of 338 million parameters and, whole on each rank, the embedding with a fourth of the head) take
# 2,953 ms, 23.8 GB/s.
KEMPNER_CARDS = {"bandwidth_gbs": 25}
# Nodes of four Hopper GPUs are HGX boards without NVSwitches: each GPU has six of its eighteen NVLinks to each other one.
HOPPER_BOARD = 4

# Its pipelines are not compiled, and have no sequence parallelism (kempnerforge/distributed/tensor_parallel.py); torch's reduce FSDP2's
# gradients behind the last backward pass (torch/distributed/pipelining/stage.py, run_post_backward).
KEMPNER_STAGES = "kempnerforge-pipelines"

# Layers of the first FSDP read what was gathered where it came (LitGPT of May 2024: Fabric's FSDPStrategy).
FSDP1 = r"^thunder/.*-fsdp"

# Cards with more memory than the catalogue's.
MORE_MEMORY = {"RTX 4090 48GB": {"base": "rtx-4090", "memory_gib": 48}}
# Of a cluster that the catalogue knows as one node: what joins several, where a row says how fast that is.
JOINED = {"name": "ethernet", "span": "all", "latency_us": 20, "in_network_reduction": False}


def load(paths):
    rows = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        rows += data["rows"] if isinstance(data, dict) else data
    return rows


def source(row):
    name = row["id"].split("/")[0]
    return "vtrain single node" if row["id"].startswith("vtrain/single") else name


def is_moe(row):
    return bool(row["model"].get("experts"))


def step_seconds(row):
    """Measured seconds of a step; None where the row has none."""
    return (row.get("measured") or {}).get("iter_time_s") or (row.get("derived") or {}).get("iter_time_s")


def peak_gib(row):
    """Measured gigabytes that the fullest GPU had allocated. What is printed in GB is GiB (facts of the sources)."""
    measured = row["measured"]
    if measured.get("mem_gib") and re.search(DEVICE_MEMORY, row["id"]):
        return measured["mem_gib"] * 1e9 / 2**30 - KERNELS_GIB - (NCCL_GIB if row["hw"]["gpus"] > 1 else 0)
    for key in ("mem_alloc_gib", "mem_gib", "mem_gb"):
        if measured.get(key):
            return measured[key]
    if measured.get("mem_reserved_gib"):
        return measured["mem_reserved_gib"] / 1.04
    return None


def recompute_of(row):
    """(value for the scenario, whether the source states it)."""
    text = row["recompute"]
    if re.search(r"^dgxc/.*maxtext", row["id"]):
        # remat_policy of maxtext/configure.sh: save_dot_except_mlp and save_dot_except_mlpwi (v24.11), save_qkv_proj (v25.02).
        # They keep what attention's products make and run the MLP and the core of attention again. (save_qkv_proj runs
        # attention's output projection again too, 2 % of the step; no module has it.)
        return {"kind": "selective", "modules": ["core_attn", "layernorm", "mlp"]}, False
    if re.search(DGXC_DEEPSEEK, row["id"]):
        return {"kind": "selective", "modules": next(of for pattern, of in DGXC_RECOMPUTED if re.search(pattern, row["id"]))}, True
    if re.search(r"^dgxc/.*paxml", row["id"]):
        # paxml/paxml_mod_configs.py: SAVE_QKV_OUT_PROJ for 175B, by the names that Transformer Engine's layers (ENABLE_TE=1)
        # give what they make (flax/transformer.py, v1.4: combined_qkv_proj, out_proj), SAVE_DOT_ONLY for 5B.
        modules = ["core_attn", "layernorm"] + (["mlp"] if "175b" in row["id"] else [])
        return {"kind": "selective", "modules": modules}, False
    if text is None:  # MaxText saves nothing unless it is told
        return ("full" if re.search("JAX", row.get("software") or "") else "none"), False
    if re.search(WHOLE_STEP_ROWS, row["id"]) or re.search(SECOND_VARIANT_ROWS, row["id"]):
        return "none", True
    if isinstance(text, dict):
        if text.get("recompute_granularity") == "full":
            layers = int(text.get("recompute_num_layers") or 0)
            return ({"kind": "full", "layers": layers} if layers and text.get("recompute_method") == "block" else "full"), True
        modules = [module for module in MODULES if re.search(rf"\b{module}\b", str(text.get("recompute_modules") or ""))]
        if row["flash_attention"]:  # of what is fused nothing is left to make again
            modules = [module for module in modules if module != "core_attn"]
        return ({"kind": "selective", "modules": modules} if modules else "none"), True
    text = str(text)
    if text.startswith("full"):
        return "full", True
    if "every other block" in text:
        stages = row["par"]["pp"] * (row["par"].get("vpp") or 1)
        return {"kind": "full", "layers": max(1, row["model"]["layers"] // stages // 2)}, True
    if "operators" in text:  # the stack's own selective recomputation
        return "selective", True
    if text.startswith("selective"):
        # Of what is fused nothing is left to make again.
        return ("selective" if row["flash_attention"] is False else "none"), True
    return "none", text.startswith("none")


def software_of(row):
    """Whatever names the software: its own name, the source's key and reference."""
    source_ = row.get("source") or {}
    return " ".join([row.get("software") or "", str(source_.get("ref") or ""), str(source_.get("title") or "")])


def kernels_of(row):
    """Which kernels a row of a source that compares them names: {"rms_kernel", "attention"}, the latter None where it is silent."""
    text = " ".join([str(row["flash_attention"]), "/".join(row["id"].split("/")[1:]), row.get("software") or "",
                     str((row.get("extra") or {}).get("kernel") or ""), str((row.get("extra") or {}).get("kernels") or "")])
    attention = None
    if row["flash_attention"] is False or re.search(UNFUSED, row["id"]):
        attention = "unfused"
    elif re.search("triton", text, re.I):
        attention = None  # one of several
    elif re.search(r"flash[-_ ]?(attn|attention)?[-_ ]?(v?1\b|v?1\.)|FA-?1\b", text, re.I):
        attention = "triton"  # the first FlashAttention's rates
    elif re.search(r"flash[-_ ]?(attn|attention)?[-_ ]?v?2|FA-?2\b", text, re.I):
        attention = "flash2"
    elif re.search(CUDNN_FIRST, row["id"]):
        attention = "cudnn"
    elif re.search(r"NeMo 24\.0[1-5]\b", text):
        # NVTE_FUSED_ATTN: 0 of launcher_scripts/conf/config.yaml (NVIDIA/NeMo-Framework-Launcher, tags 24.01 to 24.05)
        # keeps cuDNN's attention off, whatever the GPU; FlashAttention-2 is what is left.
        attention = "flash2"
    return {"rms_kernel": bool(re.search(r"rms", text, re.I)), "attention": attention,
            "softmax_in_steps": attention == "unfused" and bool(re.search(r"\btorch\b", text, re.I))}


def year_of(row):
    """Of its software, where that says one, or of its source; None where neither does."""
    for text in (row.get("software"), (row.get("source") or {}).get("date")):
        if said := re.search(r"\b20[12]\d\b", str(text)):
            return int(said[0])
    return None


def stack_of(row):
    if re.search(KEMPNER, row["id"]) and row["par"]["pp"] > 1:
        return KEMPNER_STAGES
    for pattern, stack in STACKS:
        if re.search(pattern, row["id"].split("/")[0]) or re.search(pattern, software_of(row)):
            if isinstance(stack, dict):
                year = year_of(row)
                return next(of for last, of in stack.items() if last is None or year is not None and year <= last)
            return stack
    return {"gpt": "megatron-2022"}.get(row["model"]["family"]) if row["flash_attention"] is False else None


def told_enough(row):
    """Constants may be fitted to it: recomputation, software and adapters are stated."""
    return (recompute_of(row)[1] and row.get("software") is not None and row["complete"] and
            (row.get("task") != "lora" or lora_of(row)[1]))


def model_of(row):
    m = row["model"]
    family = m["family"]
    vocabulary = next((size for pattern, size in VOCABULARIES if re.search(pattern, row["id"])), m["vocab"])
    gated = m["act"] in ("swiglu", "geglu")
    model = {
        "name": m["name"],
        "num_hidden_layers": m["layers"],
        "hidden_size": m["hidden"],
        "intermediate_size": m["ffn"],
        "num_attention_heads": m["heads"],
        "num_key_value_heads": m["kv_heads"],
        "head_dim": m["head_dim"],
        "vocab_size": vocabulary,
        "max_position_embeddings": m["seq"],
        "tie_word_embeddings": bool(m["tied"]),
        "hidden_act": {"swiglu": "silu", "silu": "silu", "sqrelu": "relu2"}.get(m["act"], "gelu"),
        "gated_mlp": gated,
        "normalization": "layernorm" if family in ("gpt", "mpt", "nemotron", "bloom", "opt", "nemotron-h") else "rmsnorm",
        "position_embedding": "learned" if family in ("gpt", "mpt", "opt") else "rope",
        "bias": family in ("gpt", "opt", "bloom"),
    }
    if family in ("qwen", "qwen3") and "qwen3" in m["name"]:
        model["qk_norm"] = True
    elif family == "qwen":
        model["qkv_bias"] = True
    if family == "gpt-oss":
        model |= {"attention_sinks": True, "qkv_bias": True, "attention_output_bias": True, "expert_bias": True,
                  "router_bias": True, "sliding_window": 128, "sliding_window_pattern": 2}
    if m.get("experts"):
        model |= {"num_experts": m["experts"], "num_experts_per_tok": m["topk"], "moe_intermediate_size": m["moe_ffn"]}
        if m.get("shared_ffn"):
            model["num_shared_experts"] = max(1, round(m["shared_ffn"] / m["moe_ffn"]))
        if m.get("dense_layers"):
            model["first_k_dense_replace"] = m["dense_layers"]
        if (m.get("moe_every") or 1) > 1:
            model["moe_layer_freq"] = m["moe_every"]
        if re.search(EXPERTS_IN_TURN, row["id"]) and m["experts"] % m["topk"] == 0:
            model |= {"n_group": m["experts"] // m["topk"], "topk_group": 1}
        elif m["name"].startswith("deepseek-v3"):
            model |= DEEPSEEK_V3_GROUPS
    if extra_of(row).get("mtp", bool(re.search(PREDICTS, row["id"]))):
        model["num_nextn_predict_layers"] = 1
    if m.get("qk_norm") is not None:
        model["qk_norm"] = m["qk_norm"]
    if m.get("position"):
        model["position_embedding"] = m["position"]
    if row.get("task") in ("sft", "lora") and m["seq"] <= 4096 and re.search(PACKED, row["id"]):
        model["attention_chunk_size"] = PACKED_TOKENS
    if m.get("mla"):
        mla = m["mla"]
        model |= {key: mla[name] for key, name in
                  (("q_lora_rank", "q_lora"), ("kv_lora_rank", "kv_lora"), ("qk_nope_head_dim", "qk_nope"),
                   ("qk_rope_head_dim", "qk_rope"), ("v_head_dim", "v")) if mla.get(name)}
        del model["head_dim"]
    return model


def cluster_of(row):
    hw = row["hw"]
    base = next((cluster for name, cluster in CLUSTERS if hw["gpu"].startswith(name)), None)
    if base is None:
        raise ValueError(f"no cluster for the GPU {hw['gpu']}")
    cluster = {"base": base, "gpus_per_node": hw["gpus_per_node"] or 8}
    if "NVL72" in hw["gpu"]:
        cluster["gpus_per_node"] = 4
    cluster["nodes"] = math.ceil(hw["gpus"] / cluster["gpus_per_node"])
    if hw["gpu"] in MORE_MEMORY:
        cluster["gpu"] = MORE_MEMORY[hw["gpu"]]
    return cluster, cards_of(row, cluster["gpus_per_node"])


def cards_of(row, gpus_per_node):
    """A node's network cards, as keys of the tier that goes over them; {} where the row does not say."""
    inter = row["hw"].get("inter") or ""
    if re.search(KEMPNER, row["id"]):
        return KEMPNER_CARDS
    if re.search(ONE_LINK, row["id"] + " " + software_of(row)):
        cards, each = 1, 200
    elif found := re.search(r"(\d+)\s*x\s*(\d+)\s*Gb/s", inter):
        cards, each = int(found[1]), int(found[2])
    elif found := re.search(r"(\d+)\s*Gb/s per GPU", inter):
        cards, each = gpus_per_node, int(found[1])
    elif found := re.search(r"(\d+)\s*Gb/s per node", inter):
        cards, each = 1, int(found[1])
    else:
        return {}
    if cards >= gpus_per_node or gpus_per_node % cards:  # a GPU has several, or not all have as many: a slice
        return {"bandwidth_gbs": cards * each / 8 / gpus_per_node}
    return {"bandwidth_gbs": each / 8, "gpus_per_nic": gpus_per_node // cards}


def moe_of(row):
    """How tokens travel: what the row says of its dispatcher."""
    dispatcher = str(extra_of(row).get("moe_dispatcher"))
    return {"send_once_per_node": True} if "hybridep" in dispatcher or "deepep" in dispatcher else {}


def extra_of(row):
    """What the row's recipe says besides the layout."""
    extra = row.get("extra") or {}
    known = [said for pattern, said in ((WHOLE_STEP_ROWS, WHOLE_STEP), (SECOND_VARIANT_ROWS, SECOND_VARIANT))
             if re.search(pattern, row["id"])]
    return extra | known[0] if known else extra


def graphs_of(row):
    """What its CUDA graphs hold: whole steps, or the scopes of Transformer Engine's, of which "attn" is the one that counts."""
    extra = extra_of(row)
    if "full_iteration" in str(extra.get("cuda_graph_impl")) or "full_iteration" in str(extra.get("cuda_graph_scope")):
        return "step"
    if "transformer_engine" in str(extra.get("cuda_graph_impl")) and "attn" in str(extra.get("cuda_graph_scope")):
        return "attention"
    return None


def layers_of_stages(layout):
    """Transformer layers of each stage, first to last, of Megatron-Core's pipeline_model_parallel_layout: "Et*4|(t*4|)*14tmL"."""
    layout = re.sub(r"([A-Za-z])\*(\d+)", lambda found: found[1] * int(found[2]), layout)
    layout = re.sub(r"\(([^()]*)\)\*(\d+)", lambda found: found[1] * int(found[2]), layout)
    return [stage.count("t") for stage in layout.split("|")]


def lora_of(row):
    """(adapters, whether the source states them). Megatron Bridge's recipe for Llama 3 70B trains linear_qkv's alone, with rank
    16; what no source says is its software's default."""
    if row["model"]["name"] == "llama3-70b" and row["id"].startswith("megatron-bridge"):
        return {"rank": 16, "targets": ["q_proj", "k_proj", "v_proj"], "fused": True}, True
    stated = row.get("lora") or {}
    default = MEGATRON_LORA if str(stack_of(row)).startswith("megatron") or stack_of(row) is None else PEFT_LORA
    known = default | {key: stated[key] for key in ("rank", "targets", "dropout") if stated.get(key)}
    return known, "rank" in stated and "targets" in stated


def scenario_of(row, tiers):
    """The scenario that repeats the row. `tiers`: of each cluster of the catalogue, by id. Throws ValueError where the row says
    too little."""
    if row["par"]["pp"] is None or row["par"]["tp"] is None:
        raise ValueError("the layout is not stated")
    if row["model"].get("hybrid"):
        raise ValueError("layers that are no attention are not simulated")
    par, batch = row["par"], row["batch"]
    tp, pp, cp = par["tp"], par["pp"], par["cp"] or 1
    dp = par["dp"] or row["hw"]["gpus"] // (tp * pp * cp)
    gbs = batch["gbs"]
    mbs = batch["mbs"]
    if mbs is None:  # the largest power of two up to 4 that divides
        mbs = 1 if pp > 1 else next(size for size in (4, 2, 1) if gbs % (dp * size) == 0)
    zero = 3 if par["zero"] == "FSDP" else par["zero"] or 0
    cluster, cards = cluster_of(row)
    cluster["tiers"] = [dict(tier) for tier in tiers[cluster["base"]]]
    inside = [tier for tier in cluster["tiers"] if tier["span"] != "all"]
    if "NVL72" in row["hw"]["gpu"]:
        if row["hw"]["gpus"] > 72:
            inside[-1]["span"] = 64  # jobs of 2^n take 16 of each rack's 18 nodes, so that no group of 2^n straddles racks
    elif inside and inside[-1]["span"] <= 16:  # not the torus of a TPU pod
        if cluster["gpus_per_node"] > inside[-1]["span"]:
            inside[-1]["mesh"] = False  # eight A100 have switches between them, 40 GB or not
        inside[-1]["span"] = cluster["gpus_per_node"]
        if re.match("H[12]00-SXM", row["hw"]["gpu"]) and re.search(KEMPNER, row["id"]):
            inside[-1] |= {"mesh": True, "in_network_reduction": False,
                           "bandwidth_gbs": inside[-1]["bandwidth_gbs"] * max(1, cluster["gpus_per_node"] - 1) / (HOPPER_BOARD - 1)}
    if cards and cluster["base"].startswith("workstation"):  # its links stay, and a network joins several
        if cluster["nodes"] > 1:
            cluster["tiers"][-1]["span"] = cluster["gpus_per_node"]
            cluster["tiers"].append(JOINED | cards)
    else:
        cluster["tiers"][-1] |= cards
    layout = {"tp": tp, "cp": cp, "pp": pp, "dp": dp, "sequence_parallel": bool(par["sp"]) and tp > 1, "zero_stage": zero}
    if is_moe(row):
        layout |= {"ep": par.get("ep") or 1, "etp": par.get("etp") or 1}
    shard = (par.get("fsdp") or (row.get("extra") or {}).get("zero1_group") or
             next((size for pattern, size in SHARD_GROUPS if re.search(pattern, row["id"])), None))
    if shard and zero and shard < dp * cp:
        layout["dp_shard"] = shard
    if extra_of(row).get("reduce_each_microbatch") is False:
        layout["reduce_each_microbatch"] = False
    kind = par["schedule"]
    vpp = par["vpp"] or 1
    if pp == 1:
        kind, vpp = "1f1b", 1
    elif kind in (None, "none"):  # Megatron-Core's tables of scaling are of one kind of job
        kind = "1f1b" if vpp == 1 and not row["id"].startswith("mcore-") else "interleaved-1f1b"
    micro = gbs // (dp * mbs)
    if kind == "interleaved-1f1b" and par["vpp"] is None:
        vpp = row["model"]["layers"] // pp if micro % pp == 0 else 1
    if vpp == 1 and kind == "interleaved-1f1b":
        kind = "1f1b"
    schedule = {"kind": kind}
    if vpp > 1:
        schedule["virtual_stages"] = vpp
    layers, stages = row["model"]["layers"], pp * vpp
    if kind == "zb-v":
        stages = pp * 2
    if extra_of(row).get("layers_per_stage"):
        schedule["layers_per_stage"] = extra_of(row)["layers_per_stage"]
    elif extra_of(row).get("pp_layout"):
        schedule["layers_per_stage"] = layers_of_stages(extra_of(row)["pp_layout"])
    elif re.search(BRIDGE_LAYOUTS, row["id"]) and layers == 61 and stages == 32:
        schedule["layers_per_stage"] = layers_of_stages("Et|(tt|)*30mL")
    elif re.search(BRIDGE_LAYOUTS, row["id"]) and layers == 61 and stages in (4, 8, 16):
        each = 64 // stages
        schedule["layers_per_stage"] = [each] * (stages - 1) + [each - 3]
    elif re.search(DGXC_DEEPSEEK, row["id"]):
        schedule["layers_per_stage"] = [64 // pp - 1] + [64 // pp] * (pp - 2) + [64 // pp - 2]
    elif "one layer fewer" in str(row.get("notes")) and (layers + 2) % stages == 0 and pp > 1:
        each = (layers + 2) // stages
        schedule["layers_per_stage"] = [each - (1 if i in (0, stages - 1) else 0) for i in range(stages)]
    recompute, _ = recompute_of(row)
    overlaps = (not re.search(NO_OVERLAP, row["id"] + " " + (row.get("software") or "")) or zero == 3 or
                bool(re.search(OVERLAPS, row["id"])))
    if re.search("simumax", row["id"]):
        overlaps = False
    precision = str(row["precision"])
    word = ("nvfp4" if "nvfp4" in precision else
            "mxfp8" if precision in ("mxfp8", "fp8-mx") else
            "fp8" if precision.startswith("fp8") else
            "bf16" if "bf16" in precision else precision)
    training = {
        "sequence_length": row["model"]["seq"], "micro_batch_size": mbs, "global_batch_size": gbs, "precision": word,
        "recompute": recompute,
        "overlap": {"grad_reduce": overlaps,
                    "param_gather": overlaps and not re.search(f"{NO_PREFETCH}|{NO_GATHER_OVERLAP}", row["id"]),
                    "tp_comm": overlaps and bool(par["sp"]) and tp > 1 and not re.search(NO_TENSOR_OVERLAP, row["id"]) and
                    bool(re.search("NeMo|Megatron-Core|Megatron-Bridge|AsyncTP", row.get("software") or "")),
                    "p2p": overlaps or kind.startswith("zb")},
    }
    if re.search(NARROW_GRADIENTS, row["id"]) and not re.search("JAX", row.get("software") or ""):
        training["gradient_dtype"] = "bf16"
    if re.search(PURE_BF16, row["id"]):
        training["master_weights"] = False
    if row.get("task") == "lora":
        training["lora"], _ = lora_of(row)
    if re.search("torchtune", row.get("software") or ""):
        training["loss_chunk_tokens"] = max(1, mbs * row["model"]["seq"] // TORCHTUNE_CHUNKS)
    stack = stack_of(row)
    if stack in STACK_SAYS:
        del training["overlap"]["param_gather"]
    if stack and re.search(UNPADDED, row["id"]):
        stack = {"base": stack, "pads_vocabulary": False}
    if stack == "megatron-deepspeed" and re.search("bigscience|bloom", row["id"] + " " + software_of(row), re.I):
        stack = {"base": stack, "blocks_launches": True}  # CUDA_LAUNCH_BLOCKING=1 of its scripts (tr11-176B-ml.slurm)
    kernels = kernels_of(row)
    if stack == "pytorch-megatron":
        stack = {"base": stack} | (FUSED_NORM if kernels["rms_kernel"] else {}) | (
            {} if kernels["softmax_in_steps"] else FUSED_SOFTMAX) | (
            NEOX_LOSS if re.search("GPT-NeoX", software_of(row)) else {})
    for pattern, loss in QWEN_LOSSES:
        if re.search(pattern, row["id"]):
            stack = {"base": stack} | loss
    if isinstance(stack, str) and re.search("Liger", row.get("software") or ""):
        stack = {"base": stack} | LIGER
    for pattern, bucket in DEEPSPEED_BUCKETS:
        if re.search(pattern, row["id"]):
            stack = (stack if isinstance(stack, dict) else {"base": stack}) | {"reduce_bucket": bucket(row["model"]["hidden"])}
    if stack and graphs_of(row):
        stack = {"base": stack, "cuda_graphs": graphs_of(row)}
        if is_moe(row) and graphs_of(row) == "step":
            stack["fuses_experts"] = True  # whose tokens the host must not count (use_transformer_engine_op_fuser)
            if word == "mxfp8" and not re.search(WIDE_ATTENTION, row["id"]):
                stack["narrow_attention"] = True
    narrow = re.search(NARROW_PARAMETERS, row["id"]) or extra_of(row).get("fp8_params")
    if word in ("fp8", "mxfp8") and narrow and str(stack_of(row)).startswith("megatron-te"):
        stack = (stack if isinstance(stack, dict) else {"base": stack}) | {"keeps_narrow_weights": False}
    if cp > 1 and re.search(EXCHANGES_HEADS, row["id"]):
        stack = (stack if isinstance(stack, dict) else {"base": stack}) | {"exchanges_heads": True}
    if re.search(NARROW_ATTENTION, row["id"]):
        stack = (stack if isinstance(stack, dict) else {"base": stack}) | {"narrow_attention": True}
    if re.search(NARROW_REDUCTIONS, row["id"]):
        stack = (stack if isinstance(stack, dict) else {"base": stack}) | {"narrow_reduce": True}
    if stack == KEMPNER_STAGES:
        layout["sequence_parallel"] = False
        training["overlap"] |= {"grad_reduce": False, "p2p": False}
    if stack == "pytorch-eager" and re.search(FSDP1, row["id"]):
        stack = {"base": stack, "gather_bytes": 0}
    if stated := extra_of(row).get("stack"):
        stack = stated if isinstance(stated, str) else (stack if isinstance(stack, dict) else {"base": stack}) | stated
    if stack:
        training["stack"] = stack
    if kernels["attention"]:
        training["attention"] = kernels["attention"]
    extra = row.get("extra") or {}
    training |= {key: extra[key] for key in ("attention", "gradient_dtype", "moment_dtype", "causal", "loss_chunk_tokens", "master_weights")
                 if extra.get(key) is not None}
    # Megatron-Core has no pipeline with it (transformer_config.py): the nearest recipe of such a row is another layout's.
    if pp == 1 and (layers := extra.get("cpu_offloading_num_layers")):
        training["offload"] = {"activation_layers": int(layers)}
    if part := extra.get("optimizer_offload"):
        training["offload"] = training.get("offload", {}) | {"optimizer": part}
    if is_moe(row):
        training["moe"] = moe_of(row)
        if extra_of(row).get("overlap_moe_a2a") and kind in ("1f1b", "interleaved-1f1b"):
            training["overlap"]["ep_comm"] = True
    return {"format": "rankscope-scenario", "version": 1, "name": row["id"][:200], "model": model_of(row), "cluster": cluster,
            "layout": layout, "schedule": schedule, "training": training}
