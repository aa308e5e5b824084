"""Predictions beside measurements: errors a row, and their means by source, group and sweep."""
import functools
import json
import math
import os
import re
import subprocess
from collections import defaultdict

import rows as published

GIB = 2.0**30
# The rows that the yardstick is fitted to, whatever rows it is held beside.
CORE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "data", "published", "core.json")


def tiers_of_clusters(assets):
    folder = os.path.join(assets, "clusters")
    out = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            out[name.removesuffix(".json")] = json.load(file)["tiers"]
    return out


def simulate(program, assets, scenarios):
    """One answer a scenario: {"simulate": …, "memory": …} or {"error": …}."""
    lines = "".join(json.dumps(scenario) + "\n" for scenario in scenarios)
    done = subprocess.run([program, "batch", "/dev/stdin"], input=lines, capture_output=True, text=True, check=False,
                          env=os.environ | {"RANKSCOPE_ASSETS": assets})
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def questions(row, tiers):
    """What is asked of the simulator for a row: [(what, scenario)]."""
    checks = row["checks"]
    if "bubble" in checks:
        return []  # told by schedule --times
    scenario = published.scenario_of(row, tiers)
    if "layer" not in checks:
        return [("step", scenario)]
    # A layer alone: what two more of them add.
    more = json.loads(json.dumps(scenario))
    more["model"]["num_hidden_layers"] += 2
    return [("step", scenario), ("more", more)]


def bubble_of(program, row):
    """The bubble of the row's schedule for its measured times, over the longest rank's own span."""
    measured, par, batch, model = row["measured"], row["par"], row["batch"], row["model"]
    v = par["vpp"] or 1
    times = [measured["tf_ms"] / v, measured["tb_ms"] / v, measured["tw_ms"] / v, measured["tcomm_ms"]]
    command = [program, "schedule", "--kind", par["schedule"], "--stages", str(par["pp"]), "--microbatches",
               str(batch["microbatches"]), "--times", ",".join(map(str, times)), "--format", "json",
               # What a micro-batch keeps until its input and its weight gradient: Zero Bubble, table 1.
               "--memory", f"{34 * model['hidden'] + 5 * model['heads'] * model['seq']},{32 * model['hidden']}"]
    if v > 1:
        command += ["--virtual", str(v)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {"error": done.stderr.strip()}
    return {"bubble": json.loads(done.stdout)["bubble"]["of_span"]}


def predict(program, assets, rows):
    """Adds to each row "predicted": {"step_s", "peak_gib", "activation_gib", "layer_ms", "bubble", "fits"} or {"error"}."""
    tiers = tiers_of_clusters(assets)
    asked = []
    for index, row in enumerate(rows):
        row["predicted"] = {}
        try:
            asked += [(index, what, scenario) for what, scenario in questions(row, tiers)]
        except (ValueError, KeyError, TypeError, ZeroDivisionError) as error:
            row["predicted"] = {"error": f"{type(error).__name__}: {error}"}
        if "bubble" in row["checks"]:
            row["predicted"] = bubble_of(program, row)
    answers = simulate(program, assets, [scenario for _, _, scenario in asked])
    steps = defaultdict(dict)
    for (index, what, _), answer in zip(asked, answers):
        if "error" in answer:
            rows[index]["predicted"] = {"error": answer["error"]}
        else:
            steps[index][what] = answer
    for index, of in steps.items():
        if "step" not in of or "error" in rows[index]["predicted"]:
            continue
        step, memory = of["step"]["simulate"], of["step"]["memory"]["per_pipeline_rank"]
        first = memory[0]
        predicted = {"step_s": step["step_time_s"], "peak_gib": step["peak_memory_gib"], "fits": step["fits"],
                     "answer": step, "by_stage_gib": [rank["total"] for rank in memory],
                     "activation_gib": first["activations"] + first["buffers"], "parameters_gib": first["parameters"],
                     "states_gib": first["parameters"] + first["gradients"] + first["optimizer"]}
        if "more" in of:
            seconds = [answer["simulate"]["step_time_s"] - answer["simulate"].get("computing", {}).get("optimizer_s", 0)
                       for answer in (of["step"], of["more"])]
            predicted["layer_ms"] = (seconds[1] - seconds[0]) / 2 * 1e3
        rows[index]["predicted"] = predicted


def sweep_key(row):
    """Rows that differ in layout, schedule and micro-batch alone."""
    m, hw = row["model"], row["hw"]
    return (published.source(row), m["name"], m["seq"], hw["gpu"], hw["gpus"], row["batch"]["gbs"], str(row["precision"]),
            row.get("software"), str(row["recompute"]) if published.source(row) != "korthikanti22" else "")


def layout_key(row):
    return json.dumps([row["par"], row["batch"]["mbs"]])


def ranks(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    out = [0.0] * len(values)
    i = 0
    while i < len(order):
        j = i
        while j + 1 < len(order) and values[order[j + 1]] == values[order[i]]:
            j += 1
        for k in range(i, j + 1):
            out[order[k]] = (i + j) / 2
        i = j + 1
    return out


def spearman(a, b):
    x, y = ranks(a), ranks(b)
    mx, my = sum(x) / len(x), sum(y) / len(y)
    xy = sum((p - mx) * (q - my) for p, q in zip(x, y))
    xx, yy = sum((p - mx)**2 for p in x), sum((q - my)**2 for q in y)
    return xy / math.sqrt(xx * yy) if xx > 0 and yy > 0 else 0.0


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else float("nan")


def median(values):
    values = sorted(values)
    n = len(values)
    return float("nan") if n == 0 else (values[n // 2] + values[(n - 1) // 2]) / 2


def time_errors(rows):
    """(row, relative error) of every timed row that could be simulated."""
    out = []
    for row in rows:
        measured, predicted = published.step_seconds(row), row["predicted"].get("step_s")
        if "time" in row["checks"] and measured and predicted and row["role"] != "info":
            out.append((row, predicted / measured - 1))
    return out


def highest_gib(row):
    """Predicted gigabytes that the fullest GPU held at any time that the row's figure is about."""
    predicted = row["predicted"]
    if re.search(published.OF_FIRST_STAGE, row["id"]):
        return predicted["by_stage_gib"][0]
    whole = predicted["parameters_gib"] * row["hw"]["gpus"] if re.search(published.WHOLE_AT_FIRST, row["id"]) else 0
    return max(predicted["peak_gib"], whole)


def memory_errors(rows):
    """(row, what, relative error)."""
    out = []
    for row in rows:
        predicted = row["predicted"]
        if "memory" not in row["checks"] or "peak_gib" not in predicted or row["role"] == "info":
            continue
        measured = row["measured"]
        if measured.get("activation_gib"):
            out.append((row, "activations", predicted["activation_gib"] / measured["activation_gib"] - 1))
        by_rank = measured.get("peak_alloc_gib_by_rank")
        if by_rank:
            stages = predicted["by_stage_gib"]
            count = len(by_rank) // len(stages)
            for rank, gib in by_rank.items():
                out.append((row, "rank", stages[min(len(stages) - 1, int(rank) // count)] / gib - 1))
        elif published.peak_gib(row):
            out.append((row, "peak", highest_gib(row) / published.peak_gib(row) - 1))
    return out


@functools.cache
def slowness_by_gpu():
    """Measured over ideal seconds (of the peak at bf16) of each GPU, and of all, by the project's own calibration rows."""
    slowness = defaultdict(list)
    for row in published.load([CORE]):
        if row["role"] == "calibration" and "time" in row["checks"] and published.step_seconds(row) and ideal_seconds(row):
            slowness[row["hw"]["gpu"].split("-")[0]].append(published.step_seconds(row) / ideal_seconds(row))
    return {gpu: median(of) for gpu, of in slowness.items()} | {None: median([value for of in slowness.values() for value in of])}


def ideal_seconds(row):
    """Seconds of the row's model FLOPs at its GPUs' peak; None where it does not tell."""
    flops = (row.get("derived") or {}).get("model_gflop_per_token_causal")
    if not flops or not row["hw"].get("peak_bf16_tflops"):
        return None
    return flops * 1e9 * row["batch"]["tokens_per_step"] / (row["hw"]["gpus"] * row["hw"]["peak_bf16_tflops"] * 1e12)


def naive(rows):
    """Errors of the yardstick: one model FLOPs utilisation for each GPU."""
    slowness = slowness_by_gpu()
    timed = [row for row in rows if "time" in row["checks"] and published.step_seconds(row) and row["role"] != "info" and ideal_seconds(row)]
    return [(row, ideal_seconds(row) * slowness.get(row["hw"]["gpu"].split("-")[0], slowness[None]) / published.step_seconds(row) - 1)
            for row in timed]


def by_source(errors):
    out = defaultdict(list)
    for row, error in errors:
        out[published.source(row)].append(error)
    return out


def summary(errors):
    return {"n": len(errors), "mean_abs": 100 * mean(map(abs, errors)), "max_abs": 100 * max(map(abs, errors)),
            "p95_abs": 100 * quantile(list(map(abs, errors)), 0.95),
            "bias": 100 * mean(errors)}


def macro(errors):
    """Mean over evaluation groups of the mean absolute error, in %."""
    groups = defaultdict(list)
    for row, error in errors:
        groups[row["eval_group"]].append(abs(error))
    return 100 * mean(mean(of) for of in groups.values()) if groups else None


KNOWN = ("A100", "H100", "B200")


def family(row):
    if published.is_moe(row):
        return "moe"
    return "dense_known" if row["hw"]["gpu"].startswith(KNOWN) else "dense_other"


def sweeps(rows):
    """[(key, spearman, regret in %, n)] of sweeps with at least 4 layouts."""
    groups = defaultdict(list)
    for row, _ in time_errors(rows):
        groups[sweep_key(row)].append(row)
    out = []
    for key, of in groups.items():
        if len({layout_key(row) for row in of}) < 4:
            continue
        measured = [published.step_seconds(row) for row in of]
        predicted = [row["predicted"]["step_s"] for row in of]
        chosen = measured[min(range(len(of)), key=lambda i: predicted[i])]
        out.append((key, spearman(measured, predicted), 100 * (chosen / min(measured) - 1), len(of)))
    return out


def kind_of_layer(row):
    return row["model"]["hidden"], row["par"]["tp"], row["batch"]["mbs"]


def layer_seconds(rows):
    """{kind: seconds that one more layer adds to a micro-batch}, of measured steps without pipelines that differ in layers alone."""
    alike = defaultdict(dict)
    for row in rows:
        if row["par"]["pp"] == 1:
            micro = row["batch"]["microbatches"]
            alike[(kind_of_layer(row), row["hw"]["gpus"], micro)][row["model"]["layers"]] = published.step_seconds(row)
    slopes = defaultdict(list)
    for (kind, _, micro), steps in alike.items():
        few, many = min(steps), max(steps)
        if few < many:
            slopes[kind].append((steps[many] - steps[few]) / (many - few) / micro)
    return {kind: mean(of) for kind, of in slopes.items()}


def never_falling(values):
    """The nearest ones that never fall (least squares, pool adjacent violators)."""
    pools = []
    for value in values:
        pools.append([value, 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            value, count = pools.pop()
            before, many = pools[-1]
            pools[-1] = [(before * many + value * count) / (many + count), many + count]
    return [value for value, count in pools for _ in range(count)]


def one_node(rows):
    """vTrain's sweeps over layouts of one node: how well their order is told, and how well with one factor a kind of layer that is
    fitted to these very rows. The second says what of the first is wrong in how a step is put together from its layers. A third
    says how well any model can tell it for which more tokens never take less time: the factors where measured times of layers
    are made never to fall with the micro-batch."""
    gpus, fewest = 8, 9
    groups, errors, of_source = defaultdict(list), defaultdict(list), []
    for row, error in time_errors(rows):
        if published.source(row) == "vtrain single node":
            of_source.append(row)
        if published.source(row) == "vtrain single node" and row["hw"]["gpus"] == gpus:
            groups[sweep_key(row)].append(row)
            errors[kind_of_layer(row)].append(math.log1p(error))
    groups = [of for of in groups.values() if len(of) >= fewest]
    if not groups:
        return None
    factors = {kind: math.exp(mean(logs)) for kind, logs in errors.items()}

    layers, fallen, pairs, monotone = layer_seconds(of_source), [], 0, dict(factors)
    for hidden, tp in sorted({kind[:2] for kind in layers}):
        kinds = sorted(kind for kind in layers if kind[:2] == (hidden, tp))
        times = [layers[kind] for kind in kinds]
        pairs += len(times) - 1
        fallen += [1 - after / before for before, after in zip(times, times[1:]) if after < before]
        for kind, time, kept in zip(kinds, times, never_falling([math.log(time) for time in times])):
            if kind in factors:
                monotone[kind] = factors[kind] * time / math.exp(kept)

    def order(factor_of):
        correlations, regrets = [], []
        for of in groups:
            measured = [published.step_seconds(row) for row in of]
            predicted = [row["predicted"]["step_s"] / factor_of(row) for row in of]
            correlations.append(spearman(measured, predicted))
            regrets.append(100 * (measured[min(range(len(of)), key=lambda i: predicted[i])] / min(measured) - 1))
        return {"spearman_median": median(correlations), "spearman_min": min(correlations), "regret_median": median(regrets),
                "regret_max": max(regrets)}

    kinds = sorted(factors.items(), key=lambda entry: entry[1])
    return {"gpus": gpus, "groups": len(groups), "rows": sum(map(len, groups)), "fewest": fewest, "kinds": len(factors),
            "shortest": {"kind": kinds[0][0], "percent": 100 * (kinds[0][1] - 1)},
            "longest": {"kind": kinds[-1][0], "percent": 100 * (kinds[-1][1] - 1)},
            "doublings": {"pairs": pairs, "fallen": len(fallen), "most_percent": 100 * max(fallen, default=0)},
            "engine": order(lambda row: 1), "with_factors": order(lambda row: factors[kind_of_layer(row)]),
            "never_falling": order(lambda row: monotone[kind_of_layer(row)])}


def corners(rows):
    """Where predictions are known to be off: {name: summary}."""
    errors = time_errors(rows)

    def of(chosen):
        found = [error for row, error in errors if chosen(row)]
        return summary(found) if found else None

    def each(chosen, name):
        """[(name, error in percent)] of each."""
        return [(name(row), 100 * error) for row, error in errors if chosen(row)]

    def with_length(row):
        return f"{row['model']['name']} {row['model']['seq'] // 1024}k"

    def maxtext(gpus):
        return of(lambda row: f"maxtext-llama2-70b/fp8/H100x{gpus}" == "/".join(row["id"].split("/")[-3:]))

    def interleaved(row):
        return (published.source(row) == "dgxc" and row["hw"]["gpu"].startswith("H100") and (row["par"].get("vpp") or 1) > 1 and
                str(row["precision"]).startswith("fp8") and "llama3.1" in row["id"] and row["role"] != "calibration")

    def missing_gib(source):
        """[least, most] GiB that predictions of a source's memory are short of what was measured; None without any."""
        short = [published.peak_gib(row) - highest_gib(row) for row, what, _ in memory_errors(rows)
                 if published.source(row) == source and what == "peak"]
        return [min(short), max(short)] if short else None

    def with_recomputation(chosen):
        """TFLOP/s a GPU with what is run again counted, of the fastest such row; None without any."""
        return max((row["derived"]["model_tflops_per_gpu_full"] * 4 / 3 for row, _ in errors if chosen(row)), default=None)

    def growth(precision):
        """By how many percent measured steps grow more than predicted ones with each doubling of the GPUs of a job of NeMo's, the
        batch with them: mean over jobs (of as many layers, on three or more numbers of GPUs)."""
        jobs = defaultdict(list)
        for row, error in errors:
            if re.search(r"^dgxc/.*/H100x\d+$", row["id"]) and "NeMo" in row["software"] and row["precision"] == precision:
                jobs[row["id"].rsplit("x", 1)[0], row["model"]["layers"]].append((math.log2(row["hw"]["gpus"]), -math.log1p(error)))
        slopes = []
        for points in jobs.values():
            x, y = mean(point[0] for point in points), mean(point[1] for point in points)
            if len(points) >= 3:
                slopes.append(sum((a - x) * (b - y) for a, b in points) / sum((a - x)**2 for a, _ in points))
        return {"percent": 100 * mean(slopes), "n": len(slopes)} if slopes else None

    return {"vtrain_tflops": with_recomputation(lambda row: published.source(row) == "vtrain single node"),
            "megatron_tflops": with_recomputation(lambda row: row["id"].startswith("megatron21/table1") and row["par"]["tp"] < 8),
            "tp8": of(lambda row: published.source(row) == "vtrain single node" and row["par"]["tp"] == 8),
            "zero3": of(lambda row: "ZeRO-3" in row["id"] and published.source(row) == "megatron21" and row["batch"]["mbs"] == 4),
            "paxml": of(lambda row: "paxml-gpt3-5b" in row["id"]),
            "maxtext_few": maxtext(64), "maxtext_many": maxtext(512),
            "interleaved": of(interleaved),
            "growth_wide": growth("bf16"), "growth_delayed": growth("fp8-ds"),
            "nemo_long": of(lambda row: published.source(row) == "nemo-long"),
            "bigscience": of(lambda row: published.source(row) == "bigscience"),
            "in_turn": of(lambda row: published.is_moe(row) and re.search(published.EXPERTS_IN_TURN, row["id"])),
            "unfused_latent": of(lambda row: re.search(published.UNFUSED, row["id"])),
            "missing_gib": {source: missing_gib(source) for source in ("qwen-lora-z3", "qwen-full", "stas")},
            "kempner_alone": of(lambda row: published.source(row).startswith("kf-") and row["par"]["tp"] == 1 and
                                row["hw"]["gpus"] > 1 and "compile" in row["software"]),
            "kempner_pipelines": of(lambda row: published.source(row).startswith("kf-") and row["par"]["pp"] > 1),
            "kempner_stages": each(lambda row: published.source(row).startswith("kf-") and row["par"]["pp"] > 1,
                                   lambda row: f"{row['model']['name']} (mbs {row['batch']['mbs']})"),
            "kempner_full": of(lambda row: row["id"] == "kf-weak/70b-8gpu"),
            "xtuner_long": of(lambda row: published.source(row) == "xtuner" and row["model"]["seq"] >= 262144),
            "xtuner_each": each(lambda row: published.source(row) == "xtuner" and row["model"]["seq"] >= 262144, with_length),
            "xtuner_short": each(lambda row: published.source(row) == "xtuner" and row["model"]["seq"] < 262144, with_length),
            "torch_cp": of(lambda row: re.search(r"^torchtitan/.*(8B-cp[48]|4d-cp[248])", row["id"]))}


def settings_apart(a, b):
    """In how many settings two rows of a sweep differ; dp and the number of micro-batches follow from the others."""
    par = sum((a["par"].get(key) or 1) != (b["par"].get(key) or 1)
              for key in ("tp", "cp", "pp", "ep", "etp", "vpp", "schedule", "sp", "zero", "fsdp"))
    return par + (a["batch"]["mbs"] != b["batch"]["mbs"]) + (a["recompute"] != b["recompute"])


def pairs(rows):
    """[(a row, difference of two residuals' logarithms)] of pairs of a sweep that are one setting apart: what an edit does to a
    job. Dense models' alone: too few others were swept."""
    groups = defaultdict(list)
    for row, error in time_errors(rows):
        if not published.is_moe(row):
            groups[sweep_key(row)].append((row, math.log1p(error)))
    return [(a, abs(error_a - error_b))
            for of in groups.values()
            for i, (a, error_a) in enumerate(of)
            for b, error_b in of[:i] if settings_apart(a, b) == 1]


def quantile(values, part):
    values = sorted(values)
    place = part * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (place - below) * (values[above] - values[below])


def ratio_half(rows, level, fewest=4):
    """(half, pairs, sources): half the interval of the ratio of two predictions of one job, as a logarithm, within which the
    measured ratio lies in `level` of a source's pairs, mean over sources; None without pairs. A width by itself and no part of a
    prediction's own: a step is unsure by what its model, GPU and software do, which both have. Published pairs err by 7 to 12 %
    whether steps of their software are told within 8 or 14 %."""
    by = defaultdict(list)
    for row, difference in pairs(rows):
        by[published.source(row)].append(difference)
    by = {of: differences for of, differences in by.items() if len(differences) >= fewest}
    if not by:
        return None, 0, 0
    inside = 0
    weighted = sorted((difference, 1 / len(of) / len(by)) for of in by.values() for difference in of)
    for half, weight in weighted:
        inside += weight
        if inside >= level:
            break
    return half, len(weighted), len(by)


def out_of_memory(rows):
    """[(row, right)] of the verdicts fits or not. A row that ran and was timed fitted."""
    out = []
    for row in rows:
        if "fits" not in row["predicted"] or row["role"] == "info":
            continue
        if row["measured"].get("oom"):
            out.append((row, not row["predicted"]["fits"]))
        elif published.step_seconds(row) and "time" in row["checks"] and published.told_enough(row):
            out.append((row, row["predicted"]["fits"]))
    return out
