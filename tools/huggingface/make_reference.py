#!/usr/bin/env python3
"""Makes tests/data/huggingface: tiny models with random weights in Hugging Face's own classes, with their logits, loss and gradients
of one batch in double precision. A development script: neither the build nor the tests need it or what it imports.

    python3 -m venv /tmp/reference && /tmp/reference/bin/pip install torch transformers safetensors
    /tmp/reference/bin/python tools/huggingface/make_reference.py [NAME…]

The classes cast parts of their work to single precision whatever the model's type; here torch.float32 means torch.float64 while
they run, so that all is double.
"""
import collections
import copy
import json
import pathlib
import shutil
import sys

import safetensors.torch
import torch
import transformers

SINGLE = torch.float32
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OUT = ROOT / "tests" / "data" / "huggingface"
VOCABULARY, SEQUENCE, BATCH, SEED = 29, 8, 2, 1

COMMON = {"vocab_size": VOCABULARY, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
          "max_position_embeddings": 16, "initializer_range": 0.3, "bos_token_id": None, "eos_token_id": None,
          "pad_token_id": None, "attn_implementation": "eager", "use_cache": False}
GROUPED = {**COMMON, "num_key_value_heads": 2, "intermediate_size": 24}
MODELS = {
    "llama": (transformers.LlamaConfig, {**GROUPED, "head_dim": 4, "rope_theta": 500.0, "rms_norm_eps": 1e-5}),
    "mistral": (transformers.MistralConfig, {**GROUPED, "head_dim": 4, "sliding_window": 3, "rms_norm_eps": 1e-5}),
    "qwen2": (transformers.Qwen2Config, {**GROUPED, "rms_norm_eps": 1e-6}),
    "qwen3": (transformers.Qwen3Config, {**GROUPED, "head_dim": 6, "rms_norm_eps": 1e-6, "rope_theta": 1e6}),
    "qwen3-moe": (transformers.Qwen3MoeConfig, {**GROUPED, "head_dim": 4, "num_experts": 4, "num_experts_per_tok": 2,
                                                "moe_intermediate_size": 12, "norm_topk_prob": False, "rms_norm_eps": 1e-6}),
    "mixtral": (transformers.MixtralConfig, {**GROUPED, "head_dim": 4, "intermediate_size": 12, "num_local_experts": 4, "num_experts_per_tok": 2,
                                             "rms_norm_eps": 1e-5, "rope_theta": 1e6, "sliding_window": None}),
    "deepseek-v3": (transformers.DeepseekV3Config,
                    {**COMMON, "num_key_value_heads": 4, "intermediate_size": 24, "q_lora_rank": 12, "kv_lora_rank": 8,
                     "qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 5, "n_routed_experts": 8, "n_group": 4,
                     "topk_group": 2, "num_experts_per_tok": 3, "moe_intermediate_size": 8, "n_shared_experts": 2,
                     "first_k_dense_replace": 1, "routed_scaling_factor": 2.5, "rope_theta": 10000.0,
                     "num_nextn_predict_layers": 0}),
    # Frequencies scaled so that of each head's pairs some are slowed, some are not and some lie between.
    "llama-3.1": (transformers.LlamaConfig,
                  {**GROUPED, "head_dim": 12, "rms_norm_eps": 1e-5, "max_position_embeddings": 128,
                   "rope_parameters": {"rope_type": "llama3", "rope_theta": 50.0, "factor": 8.0, "low_freq_factor": 1.0,
                                       "high_freq_factor": 4.0, "original_max_position_embeddings": 32}}),
    "llama-yarn": (transformers.LlamaConfig,
                   {**GROUPED, "head_dim": 12, "rms_norm_eps": 1e-5, "max_position_embeddings": 128,
                    "rope_parameters": {"rope_type": "yarn", "rope_theta": 50.0, "factor": 4.0, "beta_fast": 3.0,
                                        "beta_slow": 0.5, "original_max_position_embeddings": 32}}),
    "qwen2-linear": (transformers.Qwen2Config,
                     {**GROUPED, "rms_norm_eps": 1e-6,
                      "rope_parameters": {"rope_type": "linear", "rope_theta": 100.0, "factor": 3.0}}),
    "deepseek-v3-yarn": (transformers.DeepseekV3Config,
                         {**COMMON, "num_key_value_heads": 4, "intermediate_size": 24, "q_lora_rank": 12, "kv_lora_rank": 8,
                          "qk_nope_head_dim": 6, "qk_rope_head_dim": 12, "v_head_dim": 5, "n_routed_experts": 4, "n_group": 1,
                          "topk_group": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 8, "n_shared_experts": 1,
                          "first_k_dense_replace": 1, "routed_scaling_factor": 1.0, "max_position_embeddings": 1280,
                          "rope_parameters": {"rope_type": "yarn", "rope_theta": 50.0, "factor": 40.0, "beta_fast": 3.0,
                                              "beta_slow": 0.5, "mscale": 0.7, "mscale_all_dim": 1.0,
                                              "original_max_position_embeddings": 32},
                          "num_nextn_predict_layers": 0}),
    # Queries straight from the hidden state, as in DeepSeek-V2-Lite.
    "deepseek-v3-direct": (transformers.DeepseekV3Config,
                           {**COMMON, "num_key_value_heads": 4, "intermediate_size": 24, "q_lora_rank": None, "kv_lora_rank": 8,
                            "qk_nope_head_dim": 4, "qk_rope_head_dim": 4, "v_head_dim": 4, "n_routed_experts": 4, "n_group": 1,
                            "topk_group": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 8, "n_shared_experts": 1,
                            "first_k_dense_replace": 1, "routed_scaling_factor": 1.0, "norm_topk_prob": False,
                            "num_nextn_predict_layers": 0}),
    "gpt2": (transformers.GPT2Config, {"vocab_size": VOCABULARY, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 16,
                                       "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0, "initializer_range": 0.3,
                                       "bos_token_id": None, "eos_token_id": None, "attn_implementation": "eager",
                                       "use_cache": False}),
}


def philox(counter, key):
    """Philox-4x32-10 (Salmon et al. 2011), as live/kernels/philox.h."""
    counter, key = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [(b >> 32) ^ counter[1] ^ key[0], b & 0xFFFFFFFF, (a >> 32) ^ counter[3] ^ key[1], a & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


def batch():
    """The sequences of the first step that live/runtime/data.cpp takes from the built-in text, one token more than is read."""
    text = (ROOT / "assets" / "corpus" / "shakespeare.txt").read_bytes()
    count = collections.Counter(text)
    order = sorted(range(256), key=lambda byte: (-count[byte], byte))
    token = {byte: min(place, VOCABULARY - 1) for place, byte in enumerate(order)}
    sequences = []
    for index in range(BATCH):
        words = philox([index, 0, 1, 0x64617461], [SEED & 0xFFFFFFFF, SEED >> 32])
        first = (words[0] << 32 | words[1]) % (len(text) - SEQUENCE)
        sequences.append([token[byte] for byte in text[first:first + SEQUENCE + 1]])
    return torch.tensor(sequences)


def make(name):
    kind, settings = MODELS[name]
    torch.manual_seed(sum(name.encode()))
    config = kind(**settings)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager", dtype=SINGLE,
                                                         experts_implementation="eager").eval()
    with torch.no_grad(): # no two alike: a swapped gain would not show
        for tensor in list(model.parameters()) + [b for n, b in model.named_buffers() if "correction_bias" in n]:
            if tensor.dim() == 1:
                tensor.add_(0.2 * torch.randn_like(tensor))
    folder = OUT / name
    folder.mkdir(parents=True)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)

    tokens = batch()
    torch.float32 = torch.float = torch.float64
    single = torch.Tensor.float
    torch.Tensor.float = torch.Tensor.double
    try:
        model = model.double()
        for module in model.modules(): # tables that were made in single precision
            if hasattr(module, "inv_freq"):
                module.__init__(config)
        logits = model(tokens[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, VOCABULARY), tokens[:, 1:].reshape(-1))
        loss.backward()
        gradients = copy.deepcopy(model)
        with torch.no_grad():
            for ours, theirs in zip(gradients.parameters(), model.parameters()):
                ours.copy_(theirs.grad if theirs.grad is not None else torch.zeros_like(ours))
            for buffer_name, buffer in gradients.named_buffers():
                if "correction_bias" in buffer_name:
                    buffer.zero_()
        temporary = OUT / "gradients"
        gradients.save_pretrained(temporary)
    finally:
        torch.float32 = torch.float = SINGLE
        torch.Tensor.float = single
    shutil.move(temporary / "model.safetensors", folder / "gradients.safetensors")
    shutil.rmtree(temporary)
    safetensors.torch.save_file({"logits": logits.detach().contiguous(), "loss": loss.detach().reshape(1), "tokens": tokens.double()},
                                folder / "expected.safetensors")
    print(name, "loss", float(loss), sum(path.stat().st_size for path in folder.iterdir()), "bytes")


if __name__ == "__main__":
    for model_name in sys.argv[1:] or MODELS:
        shutil.rmtree(OUT / model_name, ignore_errors=True)
        make(model_name)
    if not sys.argv[1:]:
        (OUT / "README.md").write_text(
            "Made by `tools/huggingface/make_reference.py` with transformers " + transformers.__version__ + " and torch " +
            torch.__version__ + ": random weights (fp32), and logits, loss and gradients of the built-in text's first batch "
            f"({BATCH} sequences of {SEQUENCE} tokens, seed {SEED}) in double precision.\n")
    print(json.dumps({"transformers": transformers.__version__, "torch": torch.__version__}))
