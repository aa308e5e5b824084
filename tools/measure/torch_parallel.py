#!/usr/bin/env python3
"""A small Llama trained by PyTorch's own parallel parts (pipelining, fully_shard, tensor and sequence parallel), traced by every rank.

torch_parallel.py --folder OUT [--pp 1] [--dp 2] [--tp 2] [--layers 4] [--schedule 1F1B] [--microbatches 4]
Each process reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. On one GPU, with NCCL, each needs an NCCL_HOSTID of its own
(NCCL takes no two ranks of one host on a GPU); without a GPU it runs on gloo. What was planted (sizes, mesh, ranks) goes to OUT/planted.json,
so that what is recovered from the traces can be held against it. Tried with PyTorch 2.11.
"""
import argparse
import gzip
import json
import pathlib
import shutil

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel,
                                               parallelize_module)
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width, head):
        super().__init__()
        self.head = head
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))

    def forward(self, x):
        batch, length, _ = x.shape
        parts = [linear(x).view(batch, length, -1, self.head).transpose(1, 2) for linear in (self.q, self.k, self.v)]
        mixed = F.scaled_dot_product_attention(*parts, is_causal=True)
        return self.o(mixed.transpose(1, 2).reshape(batch, length, -1))


class Mlp(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False), nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.attention_norm, self.mlp_norm = nn.RMSNorm(sizes.width), nn.RMSNorm(sizes.width)
        self.attention, self.mlp = Attention(sizes.width, sizes.head), Mlp(sizes.width, sizes.inner)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.mlp_norm(x))


class Part(nn.Module):
    """The layers of one pipeline stage; the first has the embedding, the last the head."""

    def __init__(self, sizes, stage):
        super().__init__()
        each = sizes.layers // sizes.pp
        self.words = nn.Embedding(sizes.vocabulary, sizes.width) if stage == 0 else None
        self.blocks = nn.ModuleList(Block(sizes) for _ in range(each))
        last = stage == sizes.pp - 1
        self.norm = nn.RMSNorm(sizes.width) if last else None
        self.logits = nn.Linear(sizes.width, sizes.vocabulary, bias=False) if last else None

    def forward(self, x):
        if self.words is not None:
            x = self.words(x)
        for block in self.blocks:
            x = block(x)
        return self.logits(self.norm(x)) if self.logits is not None else x


def shard_over_tp(part, mesh):
    """Matrices cut over tp; between them rows cut along the sequence, as torchtitan does."""
    into = dict(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),))
    plan = {}
    if part.words is not None:
        plan["words"] = RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1))
    if part.logits is not None:
        plan |= {"norm": SequenceParallel(), "logits": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate())}
    for i in range(len(part.blocks)):
        block = f"blocks.{i}."
        plan |= {block + "attention_norm": SequenceParallel(), block + "mlp_norm": SequenceParallel(),
                 block + "attention": PrepareModuleInput(**into), block + "mlp": PrepareModuleInput(**into),
                 block + "attention.o": RowwiseParallel(output_layouts=Shard(1)),
                 block + "mlp.down": RowwiseParallel(output_layouts=Shard(1))}
        plan |= {block + name: ColwiseParallel() for name in ("attention.q", "attention.k", "attention.v", "mlp.gate", "mlp.up")}
    parallelize_module(part, mesh, plan)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--folder", required=True, type=pathlib.Path)
    for name, value in {"pp": 1, "dp": 2, "tp": 2, "layers": 4, "width": 512, "inner": 1408, "head": 64, "vocabulary": 8192,
                        "length": 512, "batch": 2, "microbatches": 4, "steps": 2}.items():
        arguments.add_argument(f"--{name}", type=int, default=value)
    arguments.add_argument("--schedule", default="1F1B", choices=["1F1B", "GPipe"])
    sizes = arguments.parse_args()
    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda", 0) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(0)
    dist.init_process_group("nccl" if on_gpu else "gloo")
    rank = dist.get_rank()
    mesh = init_device_mesh(device.type, (sizes.pp, sizes.dp, sizes.tp), mesh_dim_names=("pp", "dp", "tp"))
    stage = mesh["pp"].get_local_rank()
    torch.manual_seed(1)
    part = Part(sizes, stage).to(device)
    if on_gpu and sizes.dp == 1:
        part = part.bfloat16()
    if sizes.tp > 1:
        shard_over_tp(part, mesh["tp"])
    if sizes.dp > 1:
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        for block in part.blocks:
            fully_shard(block, mesh=mesh["dp"], mp_policy=policy)
        fully_shard(part, mesh=mesh["dp"], mp_policy=policy)
    optimizer = torch.optim.AdamW(part.parameters(), lr=3e-4, fused=on_gpu)

    def loss_of(logits, targets):
        return F.cross_entropy(logits.float().reshape(-1, logits.shape[-1]), targets.reshape(-1))

    schedule = None
    if sizes.pp > 1:
        kind = {"1F1B": Schedule1F1B, "GPipe": ScheduleGPipe}[sizes.schedule]
        schedule = kind(PipelineStage(part, stage, sizes.pp, device, group=mesh["pp"].get_group()), sizes.microbatches, loss_fn=loss_of)
    sequences = sizes.batch * sizes.microbatches

    def step():
        tokens = torch.randint(sizes.vocabulary, (sequences, sizes.length + 1), device=device)
        inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
        if schedule:
            losses = []
            first, last = stage == 0, stage == sizes.pp - 1
            schedule.step(*([inputs] if first else []), target=targets if last else None, losses=losses if last else None)
        else:
            for piece, wanted in zip(inputs.chunk(sizes.microbatches), targets.chunk(sizes.microbatches)):
                loss_of(part(piece), wanted).backward()
        torch.nn.utils.clip_grad_norm_(part.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    sizes.folder.mkdir(parents=True, exist_ok=True)
    activities = [torch.profiler.ProfilerActivity.CPU] + ([torch.profiler.ProfilerActivity.CUDA] if on_gpu else [])

    def keep(profiler):
        plain = sizes.folder / f"rank{rank}.json"
        profiler.export_chrome_trace(str(plain))
        with open(plain, "rb") as source, gzip.open(f"{plain}.gz", "wb") as target:
            shutil.copyfileobj(source, target)
        plain.unlink()

    timing = torch.profiler.schedule(wait=1, warmup=1, active=sizes.steps)
    with torch.profiler.profile(activities=activities, schedule=timing, on_trace_ready=keep, record_shapes=True) as profiler:
        for _ in range(2 + sizes.steps):
            step()
            profiler.step()
    if on_gpu:
        with open(sizes.folder / f"flight_rank_{rank}", "wb") as file:
            file.write(torch._C._distributed_c10d._dump_nccl_trace())
    if rank == 0:
        planted = {name: value for name, value in vars(sizes).items() if name != "folder"}
        planted |= {"mesh": mesh.mesh.tolist(), "torch": torch.__version__, "gpu": torch.cuda.get_device_name(0) if on_gpu else None}
        (sizes.folder / "planted.json").write_text(json.dumps(planted, indent=1) + "\n")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
