"""What watching a PyTorch step costs: the same process trains watched and not in turn, so that the machine is the same to both.

overhead.py --model small|gpt2 [--world 1|2] [--rounds 6] [--steps 10]
Needs PyTorch, pyzmq and build/bin/rankscope-live. Prints the processor time and the time of a step, both ways, the quickest and the middle.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]


def job(options, endpoint):
    import torch
    import torch.distributed as dist
    from torch import nn

    import rankscope

    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    width, layers, heads, vocabulary = {"small": (16, 8, 4, 256), "medium": (128, 8, 4, 256), "gpt2": (768, 12, 12, 50257)}[options.model]
    batch, length = {"small": (2, 16), "medium": (4, 128), "gpt2": (1, 64)}[options.model]

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            q, k, v = (part.view(*x.shape[:2], heads, -1).transpose(1, 2) for part in self.qkv(self.ln_1(x)).chunk(3, -1))
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
            x = x + self.proj(y)
            return x + self.mlp(self.ln_2(x))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
            self.h = nn.ModuleList(Block() for _ in range(layers))
            self.ln_f, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
            self.head.weight = self.wte.weight

        def forward(self, tokens):
            x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
            for block in self.h:
                x = block(x)
            return self.head(self.ln_f(x))

    model = Gpt()
    whole = nn.parallel.DistributedDataParallel(model) if dist.get_world_size() > 1 else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)

    def step():
        began, worked = time.perf_counter(), time.process_time()
        for _ in range(options.microbatches):
            tokens = torch.randint(0, vocabulary, (batch, length + 1))
            nn.functional.cross_entropy(whole(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
        return time.process_time() - worked, time.perf_counter() - began

    for _ in range(3):
        step()
    taken = {"not": [], "watched": []}
    for _ in range(options.rounds):
        taken["not"] += [step() for _ in range(options.steps)]
        with rankscope.attach(endpoint):
            time.sleep(1.5)  # the collector is heard
            step()  # the model is found
            step()
            taken["watched"] += [step() for _ in range(options.steps)]
    if dist.get_rank() == 0:
        for which, name in ((0, "processor time"), (1, "by the clock")):
            quick = {key: min(value[which] for value in values) * 1e3 for key, values in taken.items()}
            tenth = {key: sorted(value[which] for value in values)[len(values) // 10] * 1e3 for key, values in taken.items()}
            middle = {key: statistics.median(value[which] for value in values) * 1e3 for key, values in taken.items()}
            for word, both in (("quickest", quick), ("tenth", tenth), ("middle", middle)):
                print(f"{options.model}, {dist.get_world_size()} process(es), {name}, {word} of {len(taken['not'])} steps: not watched {both['not']:.2f} ms, "
                      f"watched {both['watched']:.2f} ms: {both['watched'] / both['not'] - 1:+.2%}, {both['watched'] - both['not']:+.3f} ms", flush=True)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=["small", "medium", "gpt2"], default="small")
    parser.add_argument("--world", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--microbatches", type=int, default=1)
    parser.add_argument("--bin", default=str(ROOT / "build" / "bin"))
    parser.add_argument("--endpoint", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.endpoint:
        return job(options, options.endpoint)
    with tempfile.TemporaryDirectory() as folder:
        endpoint = f"ipc://{folder}/ranks"
        command = [f"{options.bin}/rankscope-live", "collect", "--ingest", endpoint, "--listen", f"ipc://{folder}/viewers", "--json"]
        over = threading.Event()
        reports = []

        def collect():  # it ends with each attachment
            while not over.is_set():
                process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                while process.poll() is None and not over.is_set():
                    time.sleep(0.05)
                process.terminate()
                reports.append(process.communicate()[0])

        thread = threading.Thread(target=collect)
        thread.start()
        time.sleep(0.5)
        environment = dict(os.environ, PYTHONPATH=str(ROOT / "python"), MASTER_ADDR="127.0.0.1", MASTER_PORT="29517", WORLD_SIZE=str(options.world))
        processes = [subprocess.Popen([sys.executable, __file__, "--endpoint", endpoint] + sys.argv[1:], env=dict(environment, RANK=str(rank)))
                     for rank in range(options.world)]
        codes = [process.wait() for process in processes]
        over.set()
        thread.join()
        took = [json.loads(report[report.index("{"):]) for report in reports if "{" in report]
        for report in took[:1]:
            print(f"{report['spans_recorded'] / max(1, report['steps']) / options.world:.0f} spans a step and process, {report['spans_dropped']} dropped")
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
