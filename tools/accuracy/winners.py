"""Layouts that papers chose, beside the best ones of the planner under what the papers held."""
import json
import os
import subprocess

import rows as published

HELD = ["layout.cp=1", "layout.zero_stage=0", "layout.dp_shard=1", "layout.sequence_parallel=false", "training.recompute=full"]


def ask(program, assets, words):
    done = subprocess.run([program, *words, "--json"], capture_output=True, text=True, check=True,
                          env=os.environ | {"RANKSCOPE_ASSETS": assets})
    return json.loads(done.stdout)


def best(program, assets, file, held):
    answer = ask(program, assets, ["plan", file, "--top", "1"] + [word for of in held for word in ("--fix", of)])
    layout = answer["best"][0]
    settings = {pointer.rsplit("/", 1)[1]: value for pointer, value in (answer["held_fixed"] | layout["settings"]).items()}
    return {"step_s": layout["step_time_s"], "proved": answer["proved"], "tp": settings["tp"], "pp": settings["pp"],
            "dp": settings["dp"], "v": settings.get("virtual_stages", 1), "mbs": settings["micro_batch_size"]}


def weak_scaling(program, assets, gallery):
    """Megatron-LM's table 1 (SC21): with the row's kind of schedule, and with its chunks and tensor parallelism as well."""
    out = []
    for name in sorted(os.listdir(gallery)):
        if "megatron-weak-scaling" not in name:
            continue
        file = os.path.join(gallery, name)
        job = ask(program, assets, ["describe", file])
        layout, schedule = job["layout"], job["schedule"]
        shipped = {"step_s": ask(program, assets, ["simulate", file])["step_time_s"], "tp": layout["tp"], "pp": layout["pp"],
                   "dp": layout["dp"], "v": schedule.get("virtual_stages", 1), "mbs": job["training"]["micro_batch_size"]}
        kind = HELD + [f"schedule.kind={schedule['kind']}"]
        alike = kind + [f"layout.tp={shipped['tp']}", f"schedule.virtual_stages={shipped['v']}"]
        out.append({"name": name.removesuffix(".json").rsplit("-", 1)[1].upper(),
                    "gpus": shipped["tp"] * shipped["pp"] * shipped["dp"], "shipped": shipped,
                    "best": best(program, assets, file, kind), "best_alike": best(program, assets, file, alike)})
    return out


def steps(rows, begin):
    """{GPUs: (measured, predicted)} of rows whose names begin so."""
    return {row["hw"]["gpus"]: (published.step_seconds(row), row["predicted"]["step_s"]) for row in rows
            if row["id"].startswith(begin) and "step_s" in row["predicted"]}


def crossings(rows):
    """Pairs of ways to lay out one job at several sizes: by how many percent the second is slower, measured and predicted."""
    pairs = {"zero_8_or_all": [f"internevo/tgs/tp1-zero1={shard}/" for shard in (8, -1)],
             "all_or_tp2": [f"internevo/tgs/{of}/" for of in ("tp1-zero1=-1", "tp2-zero1=4")],
             "pipeline_or_zero3": [f"megatron21/table2/{of}-175B/" for of in ("PTD", "ZeRO-3")]}
    out = {}
    for name, (first, second) in pairs.items():
        a, b = steps(rows, first), steps(rows, second)
        out[name] = [{"gpus": gpus, "measured": 100 * (b[gpus][0] / a[gpus][0] - 1), "predicted": 100 * (b[gpus][1] / a[gpus][1] - 1)}
                     for gpus in sorted(a.keys() & b.keys())]
    return out


def report(program, assets, gallery, rows):
    return {"weak_scaling": weak_scaling(program, assets, gallery), "crossings": crossings(rows)}
