#!/usr/bin/env python3
"""GPT-2 124M on two threads, 4 x 64 tokens, fp32: rankscope-live beside PyTorch, eager and compiled, in turns.

beside.py [--program build/bin/rankscope-live] [--python PYTHON_WITH_TORCH] [--rounds 3] [--steps 8]
Each round runs the three after one another; of each run the median step counts, without the first two (compilation, first touch of
memory). What is printed is the median over rounds, and the ratio of the medians round by round: noise that lasts longer than a round
falls on all three. PyTorch is not installed by the project: `pip install torch` in an environment of your own.
"""
import argparse
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent


def torch_steps(options, compiled):
    command = [options.python, HERE / "train_gpt2.py", "--steps", str(options.steps), "--threads", str(options.threads)]
    printed = subprocess.run(command + (["--compile"] if compiled else []), check=True, capture_output=True, text=True).stdout
    return [float(line) for line in printed.split()]


def our_steps(options):
    """Seconds of the steps; and from the command to the end of the first step."""
    command = [options.program, "run", HERE / "gpt2.json", "--steps", str(options.steps), "--workers", str(options.threads)]
    started = time.time()
    steps, first = [], None
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
        for line in run.stderr:
            if told := re.match(r"step \d+/\d+ .* ([\d.]+) ms", line):
                first = first or time.time() - started
                steps.append(float(told[1]) / 1000)
    if run.returncode or len(steps) != options.steps:
        sys.exit(f"{options.program} ended with {run.returncode} after {len(steps)} of {options.steps} steps")
    return steps, first


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
        ours, first = our_steps(options)
        row = {"rankscope": ours, "eager": torch_steps(options, False), "compiled": torch_steps(options, True)}
        row = {name: statistics.median(steps[2:]) for name, steps in row.items()} | {"first": first}
        print("  ".join(f"{name} {seconds:.3f} s" for name, seconds in row.items()), flush=True)
        rounds.append(row)
    for peer in ("eager", "compiled"):
        ratios = [row[peer] / row["rankscope"] for row in rounds]
        print(f"rankscope is {statistics.median(ratios):.2f} x as fast as PyTorch {peer} ({min(ratios):.2f} to {max(ratios):.2f})")
    print(f"from the command to the end of the first step: {statistics.median(row['first'] for row in rounds):.2f} s")


if __name__ == "__main__":
    main()
