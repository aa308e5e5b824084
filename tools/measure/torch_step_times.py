#!/usr/bin/env python3
"""Step time and memory of models as PyTorch trains them on one GPU: rows to hold the simulator's predictions against.

torch_step_times.py [--trace FILE] [--compile NAME ...] > rows.json
Weights, gradients and AdamW's moments in fp32, products in bf16 (autocast), attention by scaled_dot_product_attention, gradients
clipped. A row is the median of the steps after the warming ones; memory is torch.cuda.max_memory_allocated.
"""
import argparse
import json
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

# name: family, layers, width, heads, key-value heads, inner, vocabulary, length, sequences a step
MODELS = {
    "gpt2": ("gpt2", 12, 768, 12, 12, 3072, 50257, 1024, 16),
    "gpt2-medium": ("gpt2", 24, 1024, 16, 16, 4096, 50257, 1024, 8),
    "gpt2-xl": ("gpt2", 48, 1600, 25, 25, 6400, 50257, 1024, 4),
    "llama-3.2-1b": ("llama", 16, 2048, 32, 8, 8192, 128256, 2048, 4),
    "llama-3.2-3b": ("llama", 28, 3072, 24, 8, 8192, 128256, 2048, 2),
    "narrow-8k": ("llama", 28, 1024, 16, 8, 3072, 151936, 8192, 1),
}


class Block(nn.Module):
    def __init__(self, family, width, heads, groups, inner):
        super().__init__()
        bias = family == "gpt2"
        self.llama, self.heads, self.groups, self.size = not bias, heads, groups, width // heads
        norm = nn.LayerNorm if bias else nn.RMSNorm
        self.first, self.second = norm(width), norm(width)
        self.qkv = nn.Linear(width, (heads + 2 * groups) * self.size, bias=bias)
        self.out = nn.Linear(width, width, bias=bias)
        self.up = nn.Linear(width, inner if bias else 2 * inner, bias=bias)
        self.down = nn.Linear(inner, width, bias=bias)

    def turned(self, x, turns):
        if turns is None:
            return x
        left, right = x.chunk(2, -1)
        return x * turns[0] + torch.cat((-right, left), -1) * turns[1]

    def forward(self, x, turns):
        batch, length, width = x.shape
        parts = self.qkv(self.first(x)).view(batch, length, -1, self.size).transpose(1, 2)
        q, k, v = parts.split((self.heads, self.groups, self.groups), 1)
        mixed = F.scaled_dot_product_attention(self.turned(q, turns), self.turned(k, turns), v, is_causal=True,
                                               enable_gqa=self.heads != self.groups)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        inner = self.up(self.second(x))
        if self.llama:
            gate, inner = inner.chunk(2, -1)
            return x + self.down(F.silu(gate) * inner)
        return x + self.down(F.gelu(inner, approximate="tanh"))


class Model(nn.Module):
    def __init__(self, family, layers, width, heads, groups, inner, vocabulary, length):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(length, width) if family == "gpt2" else None
        self.blocks = nn.ModuleList(Block(family, width, heads, groups, inner) for _ in range(layers))
        self.last = nn.LayerNorm(width) if family == "gpt2" else nn.RMSNorm(width)
        if family != "gpt2":
            angles = torch.outer(torch.arange(length), 500000.0 ** (-torch.arange(0, width // heads, 2) / (width // heads)))
            angles = torch.cat((angles, angles), -1)
            self.register_buffer("turns", torch.stack((angles.cos(), angles.sin())).bfloat16(), persistent=False)

    def forward(self, tokens, targets):
        x = self.words(tokens)
        turns = None
        if self.places is not None:
            x = x + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        else:
            turns = self.turns[:, : tokens.shape[1]]
        for block in self.blocks:
            x = block(x, turns)
        logits = F.linear(self.last(x), self.words.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


def measure(name, compiled, trace):
    family, layers, width, heads, groups, inner, vocabulary, length, batch = MODELS[name]
    torch.manual_seed(1)
    torch._dynamo.reset()  # else a second model's sizes are compiled as sizes that change
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    with torch.device("cuda"):
        model = Model(family, layers, width, heads, groups, inner, vocabulary, length)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    loss_of = torch.compile(model) if compiled else model

    def step():
        text = torch.randint(vocabulary, (batch, length + 1), device="cuda")
        with torch.autocast("cuda", torch.bfloat16):
            loss = loss_of(text[:, :-1].contiguous(), text[:, 1:].contiguous())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    for _ in range(3):
        step()
    times = []
    for _ in range(8):
        started = time.perf_counter()
        step()
        times.append(time.perf_counter() - started)
    if trace:
        kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=kinds, record_shapes=True, schedule=torch.profiler.schedule(wait=1, warmup=1, active=2)) as profiler:
            for _ in range(4):
                step()
                profiler.step()
        profiler.export_chrome_trace(trace)
    return {"model": name, "family": family, "num_hidden_layers": layers, "hidden_size": width, "num_attention_heads": heads,
            "num_key_value_heads": groups, "intermediate_size": inner, "vocab_size": vocabulary, "sequence_length": length,
            "micro_batch_size": batch, "parameters": sum(p.numel() for p in model.parameters()), "compiled": compiled,
            "step_s": statistics.median(times), "steps_s": times, "peak_bytes": torch.cuda.max_memory_allocated(),
            "gpu": torch.cuda.get_device_name(0), "torch": torch.__version__}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--trace", help="folder for one trace a model")
    arguments.add_argument("--compile", nargs="*", default=[], help="models that are measured compiled too")
    arguments.add_argument("--models", nargs="*", default=list(MODELS))
    options = arguments.parse_args()
    rows = []
    for name in options.models:
        for compiled in [False] + [True] * (name in options.compile):
            trace = f"{options.trace}/{name}{'-compiled' if compiled else ''}.json.gz" if options.trace else None
            try:
                rows.append(measure(name, compiled, trace))
                print(name, compiled, rows[-1]["step_s"], rows[-1]["peak_bytes"], file=sys.stderr, flush=True)
            except torch.OutOfMemoryError as error:
                print(name, compiled, error, file=sys.stderr, flush=True)
    json.dump(rows, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
