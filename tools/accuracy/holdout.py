#!/usr/bin/env python3
"""Are the constants fitted too closely? Fits each plan to a random half of its calibration rows and looks at the other half; and,
where a plan has several sources, to all but one of them and looks at that one.

    tools/accuracy/holdout.py [--program build/bin/rankscope-sim] [--rounds N] [--seed N] [--write]

Fits begin at the values in assets/, each up to a fifth away by chance, and are hardly drawn towards where they begin: what the
rows left out told the values in assets/ is not to help. assets/ is not written; --write keeps the table for docs/accuracy.md
(holdout.md, which ./dev validate --write puts there).
"""
import argparse
import contextlib
import glob
import io
import json
import math
import os
import random
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import calibrate  # noqa: E402
import rows as published  # noqa: E402
import score  # noqa: E402
import validate  # noqa: E402

SHIFT, PULL = 0.2, 0.05
HERE = os.path.dirname(os.path.abspath(__file__))


def errors(fit):
    answers = score.simulate(fit.program, fit.assets, fit.scenarios)
    return [100 * abs(answer["simulate"]["step_time_s"] / measured - 1) for answer, measured in zip(answers, fit.measured)
            if "simulate" in answer]


def apart(plan, inside, outside, arguments, chance):
    """Mean errors in % of rows that were fitted and of rows that were not."""
    with tempfile.TemporaryDirectory(prefix="rankscope-holdout-") as work:
        assets = os.path.join(work, "assets")
        shutil.copytree(os.path.join(validate.ROOT, "assets"), assets)
        bounds = list(plan["constants"].values())
        constants = calibrate.Constants(assets, list(plan["constants"]))
        constants.write([min(max(value * math.exp(chance.uniform(-SHIFT, SHIFT)), low), high)
                         for value, (low, high) in zip(constants.read(), bounds)], 8)
        fit = calibrate.Fit(inside, arguments.program, assets)
        with contextlib.redirect_stdout(io.StringIO()):
            constants.write(calibrate.descend(fit, constants, bounds, arguments.rounds, PULL), 8)
        return score.mean(errors(fit)), score.mean(errors(calibrate.Fit(outside, arguments.program, assets)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=os.path.join(validate.ROOT, "build", "bin", "rankscope-sim"))
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    lines = ["| plan | rows | left out | fitted rows % | rows left out % |", "| --- | ---: | --- | ---: | ---: |"]
    print("\n".join(lines))
    for path in sorted(glob.glob(os.path.join(HERE, "plans", "*.json"))):
        with open(path, encoding="utf-8") as text:
            plan = json.load(text)
        rows, chance = calibrate.rows_of(plan), random.Random(arguments.seed)
        parts = []
        if len(rows) >= 8:
            dealt = chance.sample(rows, len(rows))
            parts.append(("a random half", dealt[:len(rows) // 2]))
        groups = sorted({published.source(row) for row in rows})
        if len(groups) > 1:
            parts += [(group, [row for row in rows if published.source(row) == group]) for group in groups]
        for name, outside in parts:
            inside = [row for row in rows if row not in outside]
            fitted, other = apart(plan, inside, outside, arguments, chance)
            lines.append(f"| {os.path.basename(path).removesuffix('.json')} | {len(rows)} | {name} | {fitted:.1f} | {other:.1f} |")
            print(lines[-1], flush=True)
    if arguments.write:
        with open(os.path.join(HERE, "holdout.md"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
