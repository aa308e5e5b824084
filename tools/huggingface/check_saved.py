#!/usr/bin/env python3
"""Whether transformers opens what rankscope-live saves, and finds the loss that rankscope-live finds next. A development script, as
make_reference.py: rankscope-live trains each tiny reference some steps from its folder, on several ranks, and saves it; the next
step's loss is then computed by both.

    /tmp/reference/bin/python tools/huggingface/check_saved.py build/bin/rankscope-live
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers

import make_reference as reference

KEYS = {"hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim",
        "vocab_size", "max_position_embeddings", "rms_norm_eps", "tie_word_embeddings", "num_experts_per_tok",
        "moe_intermediate_size", "first_k_dense_replace", "n_group", "topk_group", "norm_topk_prob", "routed_scaling_factor",
        "kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "sliding_window"}


def scenario(config):
    """The job that trains the model of a config.json."""
    model = {key: value for key, value in config.items() if key in KEYS and value is not None}
    kind = config["model_type"]
    if kind == "gpt2":
        model = {"hidden_size": config["n_embd"], "num_hidden_layers": config["n_layer"], "num_attention_heads": config["n_head"],
                 "vocab_size": config["vocab_size"], "max_position_embeddings": config["n_positions"], "hidden_act": "gelu",
                 "gated_mlp": False, "normalization": "layernorm", "position_embedding": "learned", "bias": True,
                 "tie_word_embeddings": True}
    else:
        model["rope_theta"] = config["rope_parameters"]["rope_theta"]
    experts = config.get("n_routed_experts", config.get("num_local_experts", 0))
    if experts:
        model["num_experts"] = experts
    if kind == "mixtral":
        model["moe_intermediate_size"] = config["intermediate_size"]
    if kind == "deepseek_v3":
        model.update(scoring_func="sigmoid", router_bias=True, num_shared_experts=config["n_shared_experts"],
                     head_dim=config["qk_head_dim"])
    model["qkv_bias"] = kind == "qwen2"
    model["qk_norm"] = kind.startswith("qwen3")
    return {"format": "rankscope-scenario", "version": 1, "model": model, "cluster": "laptop",
            "layout": {"tp": 2, "dp": 2, "zero_stage": 1},
            "training": {"sequence_length": reference.SEQUENCE, "global_batch_size": reference.BATCH},
            "live": {"seed": reference.SEED, "dtype": "fp64", "aux_loss": 0, "learning_rate": 0.01}}


def run(program, job, *arguments):
    done = subprocess.run([program, "run", job, "--set", "cluster.nodes=4", "--json", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(reference.OUT.iterdir()):
            if not path.is_dir():
                continue
            job = pathlib.Path(folder) / "job.json"
            job.write_text(json.dumps(scenario(json.loads((path / "config.json").read_text()))))
            saved = f"{folder}/{path.name}"
            run(program, job, "--weights", str(path), "--steps", "5", "--save-weights", saved)
            ours = run(program, job, "--weights", saved, "--steps", "1")["losses"][0]
            torch.float32 = torch.float = torch.float64
            torch.Tensor.float = torch.Tensor.double
            model = transformers.AutoModelForCausalLM.from_pretrained(saved, dtype=torch.float64, attn_implementation="eager",
                                                                      experts_implementation="eager").eval()
            tokens = reference.batch()
            for module in model.modules():
                if hasattr(module, "inv_freq"):
                    module.__init__(model.config)
            logits = model(tokens[:, :-1]).logits
            theirs = float(torch.nn.functional.cross_entropy(logits.reshape(-1, reference.VOCABULARY), tokens[:, 1:].reshape(-1)))
            print(f"{path.name:20} {type(model).__name__:24} {ours:.12f} {theirs:.12f} {abs(ours - theirs) / ours:.1e}")
            if not abs(ours - theirs) <= 1e-10 * ours:
                sys.exit("they do not agree")


if __name__ == "__main__":
    main()
