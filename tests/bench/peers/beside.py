#!/usr/bin/env python3
"""GPT-2 124M on two threads, 4 x 64 tokens, fp32: rankscope-live beside PyTorch, eager and compiled, in turns.

beside.py [--program build/bin/rankscope-live] [--python PYTHON_WITH_TORCH] [--rounds 3] [--steps 8] [--threads 2] [--eager-only]
Each round runs the three after one another; of each run the median step counts, without the first two (compilation, first touch of
memory). What is printed is the median over rounds, and the ratio of the medians round by round: noise that lasts longer than a round
falls on all three, and so does a virtual machine's wait for memory that it has yet to be given. Beside the clock stands the processor
time of a step, of all threads, which others on the machine disturb less; it also counts threads that wait by spinning: --threads 1 has
none. PyTorch is not installed by the project: `pip install torch` in an environment of your own.
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent


def processor_seconds(process):
    """Of all threads so far; Linux."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(command, step):
    """Seconds of each step, as the lines say that `step` finds; of its processors; and from the command to the end of the first one."""
    started, steps, first, processor = time.time(), [], None, []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout:
            if told := re.match(step, line):
                first = first or time.time() - started
                steps.append(float(told[1]))
                processor.append(processor_seconds(process))
    if process.returncode:
        sys.exit(f"{command[0]} ended with {process.returncode}")
    of_steps = [after - before for before, after in zip(processor, processor[1:])]
    return {"step": statistics.median(steps[2:]), "processor": statistics.median(of_steps[1:]), "first": first}


def torch_run(options, *more):
    return run([options.python, HERE / "train_gpt2.py", f"--steps={options.steps}", f"--threads={options.threads}", *more], r"([\d.]+)$")


def our_run(options):
    found = run([options.program, "run", HERE / "gpt2.json", f"--steps={options.steps}", f"--workers={options.threads}"],
                r"step \d+/\d+ .* ([\d.]+) ms")
    return found | {"step": found["step"] / 1000}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", default="build/bin/rankscope-live")
    arguments.add_argument("--python", default=sys.executable)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--steps", type=int, default=8)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--eager-only", action="store_true", help="compiling takes longer than some steps")
    options = arguments.parse_args()
    peers = {"eager": []} | ({} if options.eager_only else {"compiled": ["--compile"]})
    rounds = []
    for _ in range(options.rounds):
        row = {"rankscope": our_run(options), **{peer: torch_run(options, *more) for peer, more in peers.items()}}
        print("   ".join(f"{name} {run['step']:.3f} s (processors {run['processor']:.2f} s), first step after {run['first']:.1f} s"
                         for name, run in row.items()), flush=True)
        rounds.append(row)
    for peer in peers:
        for what, told in (("step", "as fast"), ("processor", "as sparing of processors")):
            ratios = [row[peer][what] / row["rankscope"][what] for row in rounds]
            print(f"rankscope is {statistics.median(ratios):.2f} x {told} as PyTorch {peer} ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
