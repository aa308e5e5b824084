#!/usr/bin/env python3
"""Fits constants of GPUs and software stacks to the calibration rows, and writes them into assets/.

    tools/accuracy/calibrate.py PLAN.json [--program build/bin/rankscope-sim] [--rounds N]

A plan says which rows, and which constants: "gpus/h100-sxm.json:efficiency.gemm": [least, most]. Each constant is drawn towards the
value that stands in its file, so that rows which say nothing of it leave it as it is. Gauss-Newton with damping on the logarithms
of predicted over measured, by finite differences; rows count so that every source and model has the same weight.
"""
import argparse
import json
import math
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rows as published  # noqa: E402
import score  # noqa: E402
import validate  # noqa: E402


def place(document, path):
    """(holder, key) of "efficiency.attention.flash2.0"."""
    keys = path.split(".")
    for key in keys[:-1]:
        key = int(key) if isinstance(document, list) else key
        if isinstance(document, dict):
            document = document.setdefault(key, {})
        else:
            document = document[key]
    last = int(keys[-1]) if isinstance(document, list) else keys[-1]
    return document, last


class Constants:
    """Numbers in files of a copy of assets/. "A = B" is one number that stands in two places."""

    def __init__(self, assets, names):
        self.assets, self.names, self.documents = assets, names, {}
        for file in {place_.split(":")[0] for name in names for place_ in name.split(" = ")}:
            with open(os.path.join(assets, file), encoding="utf-8") as text:
                self.documents[file] = json.load(text)

    def places(self, name):
        """(holder, key) of each place of a constant."""
        return [place(self.documents[file], path) for file, path in (of.split(":") for of in name.split(" = "))]

    def read(self):
        return [float(holder[key]) for holder, key in (self.places(name)[0] for name in self.names)]

    def write(self, values, digits=4):
        for name, value in zip(self.names, values):
            for holder, key in self.places(name):
                holder[key] = float(f"{value:.{digits}g}")
        for file, document in self.documents.items():
            with open(os.path.join(self.assets, file), "w", encoding="utf-8") as text:
                text.write(tidy(document) + "\n")


def tidy(value, indent=0):
    """JSON as the catalogue's files are written: short lists and objects on one line."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or (indent > 0 and len(flat) < 110):
        return flat if not isinstance(value, dict) else "{ " + flat[1:-1] + " }"
    pad = "  " * (indent + 1)
    if isinstance(value, dict):
        inner = [f"{pad}{json.dumps(key)}: {tidy(of, indent + 1)}" for key, of in value.items()]
        return "{\n" + ",\n".join(inner) + "\n" + "  " * indent + "}"
    return "[\n" + ",\n".join(pad + tidy(of, indent + 1) for of in value) + "\n" + "  " * indent + "]"


def solve(matrix, right):
    """Gauss-Jordan with pivots; the matrix is small and positive definite."""
    n = len(right)
    rows = [list(matrix[i]) + [right[i]] for i in range(n)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(n):
            if r != i:
                factor = rows[r][i] / rows[i][i]
                if factor:
                    rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    return [rows[i][n] / rows[i][i] for i in range(n)]


def rows_of(plan):
    """The calibration rows that a plan fits to."""
    rows = [row for row in published.load(validate.DATA)
            if row["role"] == "calibration" and (published.told_enough(row) or plan.get("unstated_recompute_is_none")) and
            "time" in row["checks"] and published.step_seconds(row) and any(row["id"].startswith(prefix) for prefix in plan["rows"])]
    every = plan.get("every", {})
    return [row for i, row in enumerate(rows)
            if i % next((n for prefix, n in every.items() if row["id"].startswith(prefix)), 1) == 0]


class Fit:
    def __init__(self, rows, program, assets):
        self.program, self.assets, self.rows = program, assets, rows
        counts = {}
        for row in self.rows:
            counts[row["eval_group"]] = counts.get(row["eval_group"], 0) + 1
        self.weights = [counts[row["eval_group"]] ** -0.25 for row in self.rows]
        tiers = score.tiers_of_clusters(assets)
        self.scenarios = [published.scenario_of(row, tiers) for row in self.rows]
        self.measured = [published.step_seconds(row) for row in self.rows]

    def residuals(self):
        answers = score.simulate(self.program, self.assets, self.scenarios)
        out = []
        for answer, measured, weight in zip(answers, self.measured, self.weights):
            error = math.log(answer["simulate"]["step_time_s"] / measured) if "simulate" in answer else 0.0
            # Beyond a third a row tells of something that no constant here is: it counts less and less.
            out.append(weight * math.copysign(min(abs(error), 0.3 + 0.1 * math.log1p(max(0.0, abs(error) - 0.3))), error))
        return out


def descend(fit, constants, bounds, rounds, pull):
    """Gauss-Newton with damping; the constants that it ends at."""
    values = constants.read()
    first = list(values)

    def cost(residuals, at):
        return sum(r * r for r in residuals) + sum((pull * math.log(v / f))**2 for v, f in zip(at, first))

    constants.write(values, 8)  # one number that stands in several places
    residuals = fit.residuals()
    best, damping = cost(residuals, values), 0.01
    print(f"cost {best:.4f}, mean error {100 * score.mean(abs(r / w) for r, w in zip(residuals, fit.weights)):.2f} %")
    for _ in range(rounds):
        columns = []
        for i in range(len(values)):
            step = 1.03 if values[i] * 1.03 <= bounds[i][1] else 1 / 1.03
            moved = list(values)
            moved[i] *= step
            constants.write(moved, 8)
            columns.append([(a - b) / math.log(step) for a, b in zip(fit.residuals(), residuals)])
        n = len(constants.names)
        normal = [[sum(a * b for a, b in zip(columns[i], columns[j])) for j in range(n)] for i in range(n)]
        gradient = [sum(a * r for a, r in zip(columns[i], residuals)) + pull**2 * math.log(values[i] / first[i])
                    for i in range(n)]
        for i in range(n):
            normal[i][i] += pull**2
        improved = False
        for _ in range(6):
            damped = [[normal[i][j] + (damping * (normal[i][i] + 0.01) if i == j else 0) for j in range(n)] for i in range(n)]
            delta = solve(damped, [-g for g in gradient])
            moved = [min(max(v * math.exp(max(-0.5, min(0.5, d))), low), high) for v, d, (low, high) in zip(values, delta, bounds)]
            constants.write(moved, 8)
            new = fit.residuals()
            if cost(new, moved) < best * 0.9999:
                values, residuals, best, improved = moved, new, cost(new, moved), True
                damping /= 5
                break
            damping *= 5
        print(f"cost {best:.4f}, mean error {100 * score.mean(abs(r / w) for r, w in zip(residuals, fit.weights)):.2f} %", flush=True)
        if not improved:
            break
    return values


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plan")
    parser.add_argument("--program", default=os.path.join(validate.ROOT, "build", "bin", "rankscope-sim"))
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--pull", type=float, default=0.3, help="how strongly a constant is drawn to the value it has")
    parser.add_argument("--dry", action="store_true", help="write nothing into assets/")
    arguments = parser.parse_args()
    with open(arguments.plan, encoding="utf-8") as text:
        plan = json.load(text)
    work = tempfile.mkdtemp(prefix="rankscope-calibrate-")
    assets = os.path.join(work, "assets")
    shutil.copytree(os.path.join(validate.ROOT, "assets"), assets)
    names = list(plan["constants"])
    bounds = [plan["constants"][name] for name in names]
    constants = Constants(assets, names)
    first = constants.read()
    fit = Fit(rows_of(plan), arguments.program, assets)
    print(f"{len(fit.rows)} rows, {len(names)} constants")

    values = descend(fit, constants, bounds, arguments.rounds, arguments.pull)
    for name, before, after, (low, high) in zip(names, first, values, bounds):
        print(f"  {name:60} {before:10.4g} -> {after:10.4g}{'  (at its bound)' if after in (low, high) else ''}")
    if not arguments.dry:
        target = Constants(os.path.join(validate.ROOT, "assets"), names)
        target.write(values, 3)
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
