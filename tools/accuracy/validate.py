#!/usr/bin/env python3
"""The simulator against published measurements: `./dev validate [--json] [ROWS.json…]`."""
import argparse
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rows as published  # noqa: E402
import score  # noqa: E402
import winners  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = [os.path.join(ROOT, "tests", "data", "published", name)
        for name in ("core.json", "torchtitan.json", "vtrain_single_node.json", "hagemann.json", "bigscience.json", "more.json",
                      "further.json", "unseen.json")]


def report(rows):
    """The whole answer, as ./dev validate --json prints it."""
    errors = score.time_errors(rows)
    yardstick = score.by_source(score.naive(rows))
    sources = []
    for name, of in sorted(score.by_source(errors).items(), key=lambda entry: -score.mean(map(abs, entry[1]))):
        entry = {"source": name} | score.summary(of)
        if name in yardstick:
            entry["naive"] = score.summary(yardstick[name])["mean_abs"]
        sources.append(entry)
    groups = {kind: score.macro([(row, error) for row, error in errors if score.family(row) == kind])
              for kind in ("dense_known", "dense_other", "moe")}
    table5 = [abs(error) for row, error in errors if "korthikanti22/table5" in row["id"]]
    memory = score.memory_errors(rows)
    verdicts = score.out_of_memory(rows)
    swept = score.sweeps(rows)
    bubbles = [abs(row["predicted"]["bubble"] - row["measured"]["bubble_rate"]) for row in rows
               if "bubble" in row["checks"] and "bubble" in row["predicted"]]
    layers = [row["predicted"]["layer_ms"] / row["measured"]["layer_total_ms"] - 1 for row in rows
              if "layer" in row["checks"] and "layer_ms" in row["predicted"]]
    inside = [row["predicted"]["answer"]["interval"]["step_time_s"][0] <= published.step_seconds(row) <=
              row["predicted"]["answer"]["interval"]["step_time_s"][1] for row, _ in errors
              if "interval" in row["predicted"]["answer"]]
    return {
        "sources": sources,
        "groups": groups,
        "korthikanti": {"mean": 100 * score.mean(table5), "max": 100 * max(table5)} if table5 else None,
        "memory_mape": 100 * score.mean(abs(error) for _, _, error in memory) if memory else None,
        "memory": {name: score.summary([error for row, _, error in memory if published.source(row) == name])
                   for name in sorted({published.source(row) for row, _, _ in memory})},
        "oom_right": 100 * score.mean(right for _, right in verdicts) if verdicts else None,
        "verdicts": len(verdicts),
        "ran_out": sum(bool(row["measured"].get("oom")) for row, _ in verdicts),
        "spearman_median": score.median([entry[1] for entry in swept]) if swept else None,
        "spearman_mean": score.mean(entry[1] for entry in swept) if swept else None,
        "regret_median": score.median([entry[2] for entry in swept]) if swept else None,
        "sweeps": len(swept),
        "one_node": score.one_node(rows),
        "corners": score.corners(rows),
        "bubble_points": {"mean": 100 * score.mean(bubbles), "max": 100 * max(bubbles)} if bubbles else None,
        "layer_percent": [100 * error for error in layers],
        "inside_interval": 100 * score.mean(inside) if inside else None,
        "unseen": unseen(rows),
        "ratio_half": score.ratio_half(rows, 0.8)[0],
        "naive": {kind: score.macro([(row, error) for row, error in score.naive(rows) if score.family(row) == kind])
                  for kind in ("dense_known", "dense_other", "moe")},
        "failed": [{"id": row["id"], "error": row["predicted"]["error"]} for row in rows if "error" in row["predicted"]],
    }


def unseen(rows):
    """How the rows fare that were first looked at when the model was done; None without any."""
    errors = [(row, error) for row, error in score.time_errors(rows) if row.get("set") == "unseen"]
    if not errors:
        return None
    inside = [low <= published.step_seconds(row) <= high for row, _ in errors
              for low, high in [row["predicted"]["answer"]["interval"]["step_time_s"]]]
    memory = [abs(error) for row, _, error in score.memory_errors(rows) if row.get("set") == "unseen"]
    verdicts = [right for row, right in score.out_of_memory(rows) if row.get("set") == "unseen"]
    return {"n": len(errors), "sources": len(score.by_source(errors)), "inside": 100 * score.mean(inside),
            "memory": 100 * score.mean(memory) if memory else None, "memory_n": len(memory), "verdicts": len(verdicts),
            "right": 100 * score.mean(verdicts) if verdicts else None} | {
                kind: score.macro([(row, error) for row, error in errors if published.is_moe(row) == (kind == "moe")])
                for kind in ("dense", "moe")}


def number(value, digits=1, sign=False):
    if value is None:
        return "-"
    return f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"


def print_table(answer):
    print(f"{'source':24}{'rows':>6}{'mean %':>9}{'95th %':>8}{'max %':>8}{'bias %':>9}{'one constant %':>16}")
    for of in answer["sources"]:
        print(f"{of['source']:24}{of['n']:6}{number(of['mean_abs']):>9}{number(of['p95_abs']):>8}{number(of['max_abs']):>8}"
              f"{number(of['bias'], sign=True):>9}{number(of.get('naive')):>16}")
    print()
    for kind, of in answer["groups"].items():
        print(f"{kind:24}macro-average {number(of)} %, one constant {number(answer['naive'][kind])} %")
    if answer["korthikanti"]:
        print(f"Korthikanti table 5     mean {number(answer['korthikanti']['mean'])} %, max {number(answer['korthikanti']['max'])} %")
    if answer["layer_percent"]:
        print("one layer (Korthikanti, table 4) " + ", ".join(number(error, sign=True) for error in answer["layer_percent"]) + " %")
    if answer["memory"]:
        print(f"memory                  mean {number(answer['memory_mape'])} %: " + ", ".join(
            f"{name} {number(of['mean_abs'])} (bias {number(of['bias'], sign=True)})" for name, of in answer["memory"].items()))
    if answer["verdicts"]:
        print(f"fits or not             {number(answer['oom_right'])} % of {answer['verdicts']} right")
    if answer["sweeps"]:
        print(f"order inside {answer['sweeps']} sweeps  Spearman median {number(answer['spearman_median'], 3)}, mean "
              f"{number(answer['spearman_mean'], 3)}; regret median {number(answer['regret_median'], 2)} %")
    if answer["one_node"]:
        of = answer["one_node"]["engine"]
        print(f"vTrain, {answer['one_node']['groups']} sweeps of a node  Spearman median {number(of['spearman_median'], 3)}, least "
              f"{number(of['spearman_min'], 3)}; regret median {number(of['regret_median'], 1)} %, most {number(of['regret_max'], 1)} %")
    if answer["bubble_points"]:
        print(f"bubbles                 mean {number(answer['bubble_points']['mean'], 2)}, max {number(answer['bubble_points']['max'], 2)} points")
    if answer["inside_interval"] is not None:
        print(f"inside the 80 % interval  {number(answer['inside_interval'])} %")
    if answer["unseen"]:
        of = answer["unseen"]
        print(f"seen by nobody before   {of['n']} steps of {of['sources']} sources: dense {number(of['dense'])} %, experts "
              f"{number(of['moe'])} %, {number(of['inside'])} % inside; memory {number(of['memory'])} % ({of['memory_n']}), fits "
              f"{number(of['right'])} % of {of['verdicts']}")
    if answer["failed"]:
        print(f"\nnot simulated: {len(answer['failed'])}")
        for of in answer["failed"][:20]:
            print(f"  {of['id']}: {of['error'][:300]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "bin", "rankscope-sim"))
    parser.add_argument("--assets", default=os.path.join(ROOT, "assets"))
    parser.add_argument("--write", action="store_true", help="make docs/accuracy.md and assets/residuals.json anew")
    parser.add_argument("--rows", action="store_true", help="a line a row")
    parser.add_argument("files", nargs="*", help="other rows than those of tests/data/published")
    arguments = parser.parse_args()
    rows = published.load(arguments.files or DATA)
    score.predict(arguments.program, arguments.assets, rows)
    answer = report(rows)
    if arguments.write and arguments.files:
        parser.error("--write is for the project's own rows")
    chosen = None
    if (arguments.write or arguments.json) and not arguments.files:
        chosen = winners.report(arguments.program, arguments.assets, os.path.join(ROOT, "scenarios"), rows)
    answer["winners"] = chosen
    if arguments.write:
        import page  # pylint: disable=import-outside-toplevel
        page.write(ROOT, arguments.assets, rows, answer)
        score.predict(arguments.program, arguments.assets, rows)  # intervals are new
        answer = report(rows) | {"winners": chosen}
        page.write(ROOT, arguments.assets, rows, answer)
    if arguments.json:
        print(json.dumps(answer))
        return
    if arguments.rows:
        for row, error in score.time_errors(rows):
            print(f"{100 * error:+7.1f} {row['role'][:3]} {row['id']}")
    print_table(answer)


if __name__ == "__main__":
    main()
