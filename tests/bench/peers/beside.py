#!/usr/bin/env python3
"""GPT-2 124M on two threads, 4 x 64 tokens, fp32: rankscope-live beside PyTorch, eager and compiled, in turns.

beside.py [--program build/bin/rankscope-live] [--python PYTHON_WITH_TORCH] [--rounds 3] [--steps 8]
Each round runs the three after one another; of each run the median step counts, without the first two (compilation, first touch of
memory). What is printed is the median over rounds, and the ratio of the medians round by round: noise that lasts longer than a round
falls on all three, and so does a virtual machine's wait for memory that it has yet to be given. PyTorch is not installed by the
project: `pip install torch` in an environment of your own.
"""
import argparse
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent


def run(command, step):
    """Seconds of each step, as the lines say that `step` finds; and from the command to the end of the first one."""
    started, steps, first = time.time(), [], None
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout:
            if told := re.match(step, line):
                first = first or time.time() - started
                steps.append(float(told[1]))
    if process.returncode:
        sys.exit(f"{command[0]} ended with {process.returncode}")
    return {"step": statistics.median(steps[2:]), "first": first}


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
    options = arguments.parse_args()
    rounds = []
    for _ in range(options.rounds):
        row = {"rankscope": our_run(options), "eager": torch_run(options), "compiled": torch_run(options, "--compile")}
        print("   ".join(f"{name} {run['step']:.3f} s, first step after {run['first']:.1f} s" for name, run in row.items()), flush=True)
        rounds.append(row)
    for peer in ("eager", "compiled"):
        ratios = [row[peer]["step"] / row["rankscope"]["step"] for row in rounds]
        print(f"rankscope is {statistics.median(ratios):.2f} x as fast as PyTorch {peer} ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
