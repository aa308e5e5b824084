#!/usr/bin/env python3
"""Small layouts that nobody has tried, to hold predictions against: `rankscope-live validate` trains them.

random_layouts.py --seed N OUT [--count 10] [--program build/bin/rankscope-sim]
Writes scenarios of tiny models on up to sixteen ranks into the folder OUT, and their names, a fifth of them mixtures of experts. Sizes of
the axes, schedule, ZeRO stage, micro-batch and recomputation are drawn; what the program refuses is drawn again.
"""
import argparse
import json
import pathlib
import random
import subprocess

MOST_RANKS = 16


def drawn(random_, model):
    """A scenario, or None where its size is none."""
    axes = {axis: random_.choice([1, 2, 4]) for axis in ("tp", "cp", "pp", "dp")}
    ranks = axes["tp"] * axes["cp"] * axes["pp"] * axes["dp"]
    if not 2 <= ranks <= MOST_RANKS:
        return None
    layout = {axis: size for axis, size in axes.items() if size > 1}
    if axes["tp"] > 1 and random_.random() < 0.5:
        layout["sequence_parallel"] = True
    if axes["dp"] > 1 and (stage := random_.randrange(4)) > 0:
        layout["zero_stage"] = stage
    if model == "tiny-moe":
        layout["ep"] = random_.choice([2, 4])
    kinds = ["1f1b", "gpipe", "interleaved-1f1b", "zb-h1", "zb-2p"] if axes["pp"] > 1 else ["1f1b"]
    schedule = {"kind": random_.choice(kinds)}
    if schedule["kind"] == "interleaved-1f1b":
        schedule["virtual_stages"] = 2
    training = {"sequence_length": 128, "micro_batch_size": random_.choice([1, 2]), "global_batch_size": 16, "precision": "fp32",
                "recompute": random_.choice(["none", "none", "full"])}
    parts = [model[len("tiny-"):]] + [f"{axis}{size}" for axis, size in layout.items() if axis in axes or axis == "ep"]
    parts += ["sp"] if "sequence_parallel" in layout else []
    parts += [f"zero{layout['zero_stage']}"] if "zero_stage" in layout else []
    parts += [schedule["kind"], f"mbs{training['micro_batch_size']}"]
    parts += ["full"] if training["recompute"] == "full" else []
    return {"format": "rankscope-scenario", "version": 1, "name": "-".join(parts), "model": {"base": model},
            "cluster": {"base": "laptop", "gpus_per_node": ranks}, "layout": layout, "schedule": schedule, "training": training,
            "live": {"device": "cpu", "steps": 10, "learning_rate": 0.001, "seed": 1, "data": "builtin", "dtype": "fp32"}}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--seed", type=int, required=True)
    arguments.add_argument("--count", type=int, default=10)
    arguments.add_argument("--program", default="build/bin/rankscope-sim")
    options = arguments.parse_args()
    random_ = random.Random(options.seed)
    options.out.mkdir(parents=True, exist_ok=True)
    names = []
    while len(names) < options.count:
        scenario = drawn(random_, "tiny-moe" if len(names) * 5 >= options.count * 4 else "tiny-gpt")
        if not scenario or scenario["name"] in names:
            continue
        file = options.out / (scenario["name"] + ".json")
        file.write_text(json.dumps(scenario, indent=1) + "\n", encoding="utf-8")
        if subprocess.run([options.program, "validate", file], capture_output=True, check=False).returncode:
            file.unlink()
            continue
        names.append(scenario["name"])
        print(file)


if __name__ == "__main__":
    main()
