"""A small transformer trained with two pipeline stages times data parallelism on CPUs (gloo), to be watched:

    rankscope-live collect --listen tcp://127.0.0.1:5555
    RANKSCOPE_ATTACH=tcp://127.0.0.1:5556 torchrun --nproc-per-node 4 -m rankscope.run python/examples/attach_ddp_pipeline.py --steps 50
    rankscope --attach tcp://127.0.0.1:5555

Without -m rankscope.run the same script runs unwatched: the times that it prints say what watching costs.
"""
import argparse
import os
import signal
import statistics
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.nn.parallel import DistributedDataParallel


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norms[0](x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norms[1](x))


class Part(nn.Module):
    """The layers of one stage; the first has the embedding, the last the head."""

    def __init__(self, stage, stages, layers, width, vocabulary):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width) if stage == 0 else None
        share = layers // stages
        self.layers = nn.ModuleDict({str(stage * share + i): Block(width) for i in range(share)})
        self.head = nn.Linear(width, vocabulary) if stage == stages - 1 else None

    def forward(self, x):
        x = self.embedding(x) if self.embedding is not None else x
        for layer in self.layers.values():
            x = layer(x)
        return self.head(x) if self.head is not None else x


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--pp", type=int, default=0, help="pipeline stages (default: 2 of four and more processes, else as many as there are)")
    parser.add_argument("--microbatches", type=int, default=4)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--slow", type=int, default=-1, help="a rank that sleeps 20 ms before each step")
    parser.add_argument("--kill", type=int, default=-1, help="a rank that kills itself in the middle of the run")
    parser.add_argument("--hang", type=int, default=-1, help="a rank that sleeps for ever in the middle of the run")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    world, rank = dist.get_world_size(), dist.get_rank()
    stages = arguments.pp or (2 if world >= 4 else world)
    mesh = init_device_mesh("cpu", (stages, world // stages), mesh_dim_names=("pp", "dp"))
    stage_index, vocabulary = mesh.get_local_rank("pp"), 256
    part = Part(stage_index, stages, arguments.layers, arguments.width, vocabulary)
    dp = mesh.get_group("dp")
    module = DistributedDataParallel(part, process_group=dp) if dist.get_world_size(dp) > 1 else part
    optimizer = torch.optim.AdamW(part.parameters(), lr=3e-4)
    if stages > 1:
        stage = PipelineStage(module, stage_index, stages, torch.device("cpu"), group=mesh.get_group("pp"))
        schedule = Schedule1F1B(stage, arguments.microbatches,
                                loss_fn=lambda y, t: nn.functional.cross_entropy(y.flatten(0, 1), t.flatten()))
    data = torch.Generator().manual_seed(rank % max(1, world // stages))
    seconds, busy = [], []
    for step in range(arguments.steps):
        began, worked = time.perf_counter(), time.process_time()
        if rank == arguments.slow:
            time.sleep(0.02)
        tokens = torch.randint(0, vocabulary, (4 * arguments.microbatches, arguments.length + 1), generator=data)
        inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
        losses = []
        if stages == 1:
            for x, t in zip(inputs.chunk(arguments.microbatches), targets.chunk(arguments.microbatches)):
                loss = nn.functional.cross_entropy(module(x).flatten(0, 1), t.flatten())
                loss.backward()
                losses.append(loss.detach())
        elif stage_index == 0:
            schedule.step(inputs)
        elif stage_index == stages - 1:
            schedule.step(target=targets, losses=losses)
        else:
            schedule.step()
        if step == arguments.steps // 2 and rank == arguments.kill:
            os.kill(os.getpid(), signal.SIGKILL)
        if step == arguments.steps // 2 and rank == arguments.hang:
            time.sleep(3600)
        optimizer.step()
        optimizer.zero_grad()
        seconds.append(time.perf_counter() - began)
        busy.append(time.process_time() - worked)
        if losses and rank == world - 1 and step % 10 == 0:
            print(f"step {step}: loss {torch.stack(losses).mean():.3f}, {seconds[-1] * 1e3:.1f} ms", flush=True)
    if rank == 0:
        first = min(3, len(seconds) - 1)
        wall, processor = (statistics.median(values[first:]) * 1e3 for values in (seconds, busy))
        print(f"median step {wall:.2f} ms, of processor time {processor:.2f} ms (threads of this package's too)", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
