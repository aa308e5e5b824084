#!/usr/bin/env python3
"""GPT-2 124M in PyTorch, written for speed: prints the seconds of each training step.

train_gpt2.py [--compile] [--threads 2] [--steps 8] [--batch 4] [--length 64] [--device cuda]
The step is the one that rankscope-live takes of gpt2.json: forward, loss, backward, gradients clipped to norm 1, AdamW in fp32.
On a GPU products are in bf16 (autocast), weights, gradients and moments in fp32, as rankscope-live's are with live.dtype=bf16.
"""
import argparse
import time

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, LAYERS, VOCABULARY, POSITIONS = 768, 12, 12, 50257, 1024


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention, self.before_mlp = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        parts = self.qkv(self.before_attention(x)).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(F.gelu(self.up(self.before_mlp(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(POSITIONS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.last = nn.LayerNorm(WIDTH)
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, targets):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.last(x), self.words.weight)
        return F.cross_entropy(logits.view(-1, VOCABULARY), targets.view(-1))


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--compile", action="store_true")
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--steps", type=int, default=8)
    arguments.add_argument("--batch", type=int, default=4)
    arguments.add_argument("--length", type=int, default=64)
    arguments.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    options = arguments.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    on_gpu = options.device == "cuda"
    model = Gpt2().to(options.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    loss_of = torch.compile(model) if options.compile else model
    for _ in range(options.steps):
        text = torch.randint(0, VOCABULARY, (options.batch, options.length + 1))
        started = time.perf_counter()
        text = text.to(options.device)
        with torch.autocast(options.device, torch.bfloat16, enabled=on_gpu):
            loss = loss_of(text[:, :-1].contiguous(), text[:, 1:].contiguous())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        print(f"{time.perf_counter() - started:.6f}", flush=True)


if __name__ == "__main__":
    main()
