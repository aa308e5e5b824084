"""docs/accuracy.md with its pictures, and assets/residuals.json: what ./dev validate --write makes of its rows."""
import json
import math
import os
from collections import defaultdict

import rows as published
import score
from calibrate import tidy

LEVEL = 0.8
UNFITTED = "on GPUs and with software that have no interval of their own"
FEWEST_SOURCES = 5  # whose rows tell how far off jobs are of GPUs and software that were hardly measured
WITHIN_80 = 1.2816  # standard deviations to each side that hold 80 % of a normal distribution
COLOURS = {"A100": "#0072B2", "H100": "#D55E00", "B200": "#009E73", "GB200": "#CC79A7", "GB300": "#E69F00"}


def gpu_id(row, gpus):
    return gpus[next(cluster for name, cluster in published.CLUSTERS if row["hw"]["gpu"].startswith(name))]


def spread(logs):
    """(mean, variance between evaluation groups, variance inside them) of logarithms by group."""
    means = {group: score.mean(of) for group, of in logs.items()}
    overall = score.mean(means.values())
    between = score.mean((value - overall)**2 for value in means.values())
    inside = score.mean((value - means[group])**2 for group, of in logs.items() for value in of)
    return overall, between, inside


def reach(chosen, middle):
    """How far from the middle four fifths of the rows lie, each source counting as one: the next job is of any of them, or none."""
    counts = defaultdict(int)
    for row, _ in chosen:
        counts[published.source(row)] += 1
    total, seen = len(counts), 0.0
    for distance, weight in sorted((abs(value - middle), 1 / counts[published.source(row)]) for row, value in chosen):
        seen += weight
        if seen >= LEVEL * total:
            break
    return distance


def gpus_of_clusters(assets):
    """The GPU type of each cluster of the catalogue, by id."""
    gpus = {}
    for name in os.listdir(os.path.join(assets, "clusters")):
        with open(os.path.join(assets, "clusters", name), encoding="utf-8") as file:
            gpus[name.removesuffix(".json")] = json.load(file)["gpu"]
    return gpus


def step_intervals(steps, gpus):
    """(kind, GPU, stack, lower and upper logarithm of measured over predicted, number of steps): for each GPU with each stack that
    constants were fitted to, and (GPU and stack None) for all others. `steps`: (row, logarithm of measured over predicted)."""

    def reaching(chosen, floor=0.0):
        logs = defaultdict(list)
        for row, value in chosen:
            logs[row["eval_group"]].append(value)
        middle, between, inside = spread(logs)
        # Where errors have no tails, four fifths of them reach further than a normal distribution's of the same spread.
        half = max(WITHIN_80 * math.sqrt(max(between + inside, floor)), reach(chosen, middle))
        return min(middle - half, -0.01), max(middle + half, 0.01)

    out = []
    for kind in ("dense", "moe"):
        of_kind = [(row, value) for row, value in steps if published.is_moe(row) == (kind == "moe")]
        groups = defaultdict(list)
        for row, value in of_kind:
            groups[row["eval_group"]].append(value)
        _, between, _ = spread(groups)
        jobs = defaultdict(list)
        for row, value in of_kind:
            jobs[(gpu_id(row, gpus), published.stack_of(row))].append((row, value))
        for (gpu, stack), chosen in sorted(jobs.items(), key=str):
            # Where constants were fitted, rows that were not count as well: they lie further off, as jobs of others will.
            if stack and sum(row["role"] == "calibration" for row, _ in chosen) >= 4:
                # Of models that were not measured nothing better is known than how far models lie apart.
                out.append((kind, gpu, stack, *reaching(chosen, between / 2), len(chosen)))
        # Whatever has no interval of its own is as far off as what had too few rows for one.
        fitted = {(gpu, stack) for of, gpu, stack, *_ in out if of == kind}
        others = [(row, value) for row, value in of_kind if (gpu_id(row, gpus), published.stack_of(row)) not in fitted]
        chosen = others if len({published.source(row) for row, _ in others}) >= FEWEST_SOURCES else of_kind
        out.append((kind, None, None, *reaching(chosen), len(chosen)))
    return out


def log_steps(rows):
    return [(row, -math.log1p(error)) for row, error in score.time_errors(rows)]


def left_out(rows, assets):
    """The part of a source's steps inside the intervals that the other sources give, mean over sources: what a job of a source that
    is not here may count on."""
    gpus, steps = gpus_of_clusters(assets), log_steps(rows)
    parts = []
    for name in {published.source(row) for row, _ in steps}:
        intervals = {of[:3]: of[3:5] for of in step_intervals([of for of in steps if published.source(of[0]) != name], gpus)}
        held = []
        for row, value in steps:
            if published.source(row) == name:
                kind = "moe" if published.is_moe(row) else "dense"
                low, high = intervals.get((kind, gpu_id(row, gpus), published.stack_of(row)), intervals[(kind, None, None)])
                held.append(low <= value <= high)
        parts.append(score.mean(held))
    return score.mean(parts)


def residuals(rows, assets):
    """assets/residuals.json: how far measurements lie from predictions."""
    memory = defaultdict(list)
    for row, what, error in score.memory_errors(rows):
        if what != "activations":
            memory["moe" if published.is_moe(row) else "dense"].append((row, -math.log1p(error)))
    out = []
    for kind, gpu, stack, low, high, count in step_intervals(log_steps(rows), gpus_of_clusters(assets)):
        held = memory[kind] or memory["dense"]
        off = score.mean(value for _, value in held)
        wide = max(0.02, WITHIN_80 * math.sqrt(score.mean(value**2 for _, value in held)))
        what = f"{gpu} with {stack}"
        if not gpu:
            of_all = memory["dense"] + memory["moe"]  # of experts alone there are too few
            wide = max(wide, reach(of_all, off))
            what = f"{'mixtures of experts' if kind == 'moe' else 'dense models'} {UNFITTED}"
        out.append(({"gpu": gpu, "stack": stack} if gpu else {}) |
                   {"kind": kind, "step": [round(math.exp(low), 3), round(math.exp(high), 3)],
                    "memory": [round(math.exp(min(off, 0) - wide), 3), round(math.exp(max(off, 0) + wide), 3)],
                    "basis": f"{count:,} measured steps of {what}"})
    return {"level": LEVEL,
            "source": "Factors between which the measurement lay; ratio: that of two steps of one job (score.ratio_half). "
                      "tools/accuracy/validate.py --write",
            "residuals": with_ratios(out, rows, gpus_of_clusters(assets))}


FEWEST_PAIRS = 30  # of a GPU with a stack, to go by them alone


def with_ratios(entries, rows, gpus):
    """Entries of residuals.json with the interval of the ratio of two steps of one job: of pairs with the same GPU and software
    where there are enough, else of all. Mixtures of experts were hardly swept: theirs is wider as their steps are."""
    half, count, sources = score.ratio_half(rows, LEVEL)
    basis = f"{count:,} pairs of measured steps of one job, one setting apart, from {sources} sources"
    of = defaultdict(list)
    for row, difference in score.pairs(rows):
        of[(gpu_id(row, gpus), published.stack_of(row))].append(difference)
    own = {entry["kind"]: math.log(entry["step"][1] / entry["step"][0]) for entry in entries if "gpu" not in entry}
    for entry in entries:
        pairs = of[(entry.get("gpu"), entry.get("stack"))]
        if entry["kind"] == "moe":
            wide, told = half * own["moe"] / own["dense"], f"{basis}; of mixtures of experts wider, as their steps are"
        elif "gpu" in entry and len(pairs) >= FEWEST_PAIRS:
            wide = score.quantile(pairs, LEVEL)
            told = (f"{len(pairs):,} pairs of measured steps of one job, one setting apart, of {entry['gpu']} with "
                    f"{entry['stack']}")
        else:
            wide, told = half, basis
        entry |= {"ratio": [round(math.exp(-wide), 3), round(math.exp(wide), 3)], "ratio_basis": told}
    return entries


def picture(rows, title):
    """Predicted against measured seconds, both logarithmic, as SVG."""
    width, height, left, bottom, top, right = 640, 480, 70, 60, 40, 20
    points = [(published.step_seconds(row), row["predicted"]["step_s"], row) for row, _ in score.time_errors(rows)]
    low = math.floor(math.log10(min(min(m, p) for m, p, _ in points)))
    high = math.ceil(math.log10(max(max(m, p) for m, p, _ in points)))

    def x(value):
        return left + (math.log10(value) - low) / (high - low) * (width - left - right)

    def y(value):
        return height - bottom - (math.log10(value) - low) / (high - low) * (height - top - bottom)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">',
           f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
           f'<text x="{left}" y="24" font-size="16" fill="#222">{title}</text>']
    for power in range(low, high + 1):
        value = 10.0**power
        label = f"{value:g} s"
        out.append(f'<path d="M{x(value):.1f} {top}V{height - bottom}M{left} {y(value):.1f}H{width - right}" stroke="#ddd"/>')
        out.append(f'<text x="{x(value):.1f}" y="{height - bottom + 20}" text-anchor="middle" fill="#444">{label}</text>')
        out.append(f'<text x="{left - 8}" y="{y(value) + 4:.1f}" text-anchor="end" fill="#444">{label}</text>')
    first, last = 10.0**low, 10.0**high
    for factor, dash in ((1, ""), (1.1, "4 4"), (1 / 1.1, "4 4")):
        begin, end = max(first, first / factor), min(last, last / factor)
        out.append(f'<path d="M{x(begin):.1f} {y(begin * factor):.1f}L{x(end):.1f} {y(end * factor):.1f}" stroke="#555" '
                   f'stroke-dasharray="{dash}" fill="none"/>')
    for measured, predicted, row in points:
        gpu = row["hw"]["gpu"].split("-")[0]
        out.append(f'<circle cx="{x(measured):.1f}" cy="{y(predicted):.1f}" r="3" fill="{COLOURS.get(gpu, "#666")}" fill-opacity="0.55"/>')
    used = [gpu for gpu in COLOURS if any(row["hw"]["gpu"].split("-")[0] == gpu for _, _, row in points)]
    for i, gpu in enumerate(used):
        out.append(f'<circle cx="{left + 16}" cy="{top + 16 + 20 * i}" r="5" fill="{COLOURS[gpu]}"/>'
                   f'<text x="{left + 28}" y="{top + 20 + 20 * i}" fill="#222">{gpu}</text>')
    out.append(f'<text x="{(left + width - right) / 2}" y="{height - 14}" text-anchor="middle" fill="#222">measured</text>')
    out.append(f'<text transform="translate(18 {(top + height - bottom) / 2}) rotate(-90)" text-anchor="middle" fill="#222">predicted'
               '</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def number(value, digits=1, sign=False):
    if value is None:
        return "–"
    return (f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}").replace("-", "−")


def holdout():
    """The table that tools/accuracy/holdout.py --write has left."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "holdout.md"), encoding="utf-8") as file:
        return file.read().splitlines()


def one_node(of):
    """What vTrain's sweeps say."""
    def order(numbers):
        return (f"Spearman {number(numbers['spearman_median'], 3)} (median), {number(numbers['spearman_min'], 3)} (least); the layout "
                f"that is chosen is {number(numbers['regret_median'])} % slower than the best one measured (median), "
                f"{number(numbers['regret_max'])} % at most")

    def kind(entry):
        hidden, tp, mbs = entry["kind"]
        return f"of hidden size {hidden:,} with tp {tp} and micro-batches of {mbs} {number(entry['percent'], 0, sign=True)} %"

    return [f"- vTrain's sweeps over layouts of one node, {of['gpus']} A100 ({of['groups']} of at least {of['fewest']} layouts, {of['rows']} "
            f"rows; `./dev validate --json`, `one_node`): {order(of['engine'])}. With one factor for each of their {of['kinds']} kinds of layer "
            f"(hidden size, tensor parallelism, micro-batch), fitted to these very rows: {order(of['with_factors'])}. So the order is lost "
            f"in the times of layers ({kind(of['shortest'])}, {kind(of['longest'])}), and not in how a step is put together from them. "
            f"These times are the host's: with twice the tokens a layer took less in {of['doublings']['fallen']} of "
            f"{of['doublings']['pairs']} cases, up to {number(of['doublings']['most_percent'], 0)} % less. A model for which more tokens never "
            f"take less, fitted to these rows as well as can be: {order(of['never_falling'])}."]


def off(of):
    """"19.1 % too short (mean of 24 rows)"."""
    rows = f"mean of {of['n']} rows" if of["n"] > 1 else "one row"
    return f"{number(abs(of['bias']))} % too {'short' if of['bias'] < 0 else 'long'} ({rows})"


def each(of):
    """"llama2-7b 8k +7.7 %, yi-34b 8k −18.1 %"."""
    return ", ".join(f"{name} {number(error, sign=True)} %" for name, error in of)


def seen_last(of):
    """What rows say that no constant is fitted to."""
    if not of:
        return []
    return ["## Of measurements that no constant is fitted to", "",
            f"`tests/data/published/unseen.json`: {of['n']} steps of {of['sources']} sources, collected in December 2026 "
            "from pages that nobody here had read before. When they were first run they were told worse than now (docs/measurements.md, "
            "2026-12-01), and so may be the next job of a kind that is not in these tables. They have been looked at since. Rates of A100, H20, MI300X, MI325X and of pieces that tensor parallelism pushes were set by other publications; how "
            "KempnerForge, XTuner and MLPerf's submitters cut layers and which attention they and torchtitan run, by their code, and "
            "what goes over KempnerForge's network, by its own profile of a job that is none of these. They are in the tables above, too, and now told so:", "",
            f"- dense models {number(of['dense'])} %, mixtures of experts {number(of['moe'])} % (means over models and GPUs); "
            f"{number(of['inside'])} % of the steps inside the 80 % interval;",
            f"- memory {number(of['memory'])} % ({of['memory_n']} figures), fits or not {number(of['right'])} % of {of['verdicts']} right.", ""]


def winners(of):
    """Layouts that papers chose."""
    def layout(it):
        return f"tp {it['tp']}, pp {it['pp']}" + (f", v {it['v']}" if it["v"] > 1 else "") + f", mbs {it['mbs']}"

    def slower(row, than):
        return number(100 * (row["shipped"]["step_s"] / row[than]["step_s"] - 1))

    lines = ["## Layouts that papers chose", "",
             "Megatron-LM's weak scaling (SC21, table 1) with full recomputation and ZeRO 0, as `plan` answers it: the best with the paper's "
             "kind of schedule, and the best of those with its tensor parallelism and chunks too, which its first takeaway chose (up to "
             "the GPUs of a node, then pipelines). *Slower*: the paper's layout than that one, in the simulator.", "",
             "| model | GPUs | the paper's | step s | best of its kind of schedule | slower % | best with its tp and v | slower % |",
             "| --- | ---: | --- | ---: | --- | ---: | --- | ---: |"]
    for row in of["weak_scaling"]:
        lines.append(f"| {row['name']} | {row['gpus']:,} | {layout(row['shipped'])} | {row['shipped']['step_s']:.2f} | {layout(row['best'])} | "
                     f"{slower(row, 'best')} | {layout(row['best_alike'])} | {slower(row, 'best_alike')} |")
    words = {"zero_8_or_all": ("ZeRO 1 over 8 GPUs", "over all"), "all_or_tp2": ("ZeRO 1 over all GPUs", "tp 2 with groups of four"),
             "pipeline_or_zero3": ("Tensor and pipeline parallelism", "ZeRO 3")}
    sources = {"zero_8_or_all": "InternEvo, 7B", "all_or_tp2": "InternEvo, 7B", "pipeline_or_zero3": "SC21, table 2, 175B"}
    lines += ["", "That less tensor parallelism and smaller micro-batches are faster on the larger of these jobs is a prediction: none of the "
              "rows has one of them both ways. Hagemann et al. 2023 (arXiv 2311.05610) found it of later software.", "",
              "By how many percent the second way is slower than the first, measured (predicted), at each number of GPUs:", ""]
    for name, points in of["crossings"].items():
        first, second = words[name]
        lines.append(f"- {first}, then {second} ({sources[name]}): " + "; ".join(
            f"{point['gpus']:,}: {number(point['measured'], sign=True)} ({number(point['predicted'], sign=True)})" for point in points) + ".")
    return lines + [""]


def page(answer, left_out_part):
    corners = answer["corners"]

    def gib(source):
        return " to ".join(number(of) for of in corners["missing_gib"][source] or []) or "–"

    lines = [
        "# How far predictions lie from measurements",
        "",
        "Steps, memory and bubbles that others measured and published, beside what the simulator says of the same jobs. Made by "
        "`./dev validate --write` from `tests/data/published`; `./dev validate` prints the same as a table, with other rows too "
        "(`./dev validate ROWS.json`). How a row becomes a scenario, and what is filled in where its source is silent, stands in "
        "`tools/accuracy/rows.py`.",
        "",
        "Constants belong to a GPU type, a network or a software stack, never to a model or a paper. They are fitted to rows of the "
        "role `calibration` alone (`tools/accuracy/calibrate.py` with the plans beside it); `regression` rows are only looked at. "
        "Rows that leave recomputation or software unsaid are not fitted either, but for two mixtures of experts on H100 (plan 6) and "
        "Llama 3 8B on GB300 (plan 9), whose recomputation is taken as none. *One constant* is the yardstick: one model FLOPs "
        "utilisation for each GPU type.",
        "",
        "## Step time, by source",
        "",
        "| source | rows | mean error % | 95th percentile % | largest % | bias % | one constant % |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for of in answer["sources"]:
        lines.append(f"| {of['source']} | {of['n']} | {number(of['mean_abs'])} | {number(of['p95_abs'])} | {number(of['max_abs'])} | "
                     f"{number(of['bias'], sign=True)} | {number(of.get('naive'))} |")
    words = {"dense_known": "dense models on A100, H100 and B200", "dense_other": "dense models on other GPUs",
             "moe": "mixtures of experts"}
    lines += ["", "Averages over models and GPUs (each counts once):", "", "| | mean error % | one constant % |", "| --- | ---: | ---: |"]
    for kind, text in words.items():
        lines.append(f"| {text} | {number(answer['groups'][kind])} | {number(answer['naive'][kind])} |")
    table5 = answer["korthikanti"]
    lines += [
        "",
        "![Predicted against measured seconds, dense models](pictures/accuracy-dense.svg)",
        "![Predicted against measured seconds, mixtures of experts](pictures/accuracy-moe.svg)",
        "",
        "Dashed: 10 % to each side.",
        "",
        "## Order, memory, bubbles",
        "",
        f"- Korthikanti et al. 2022, table 5 (eight steps): mean {number(table5['mean'])} %, largest {number(table5['max'])} %.",
        f"- Inside {answer['sweeps']} sweeps of one job's layouts: Spearman's rank correlation {number(answer['spearman_median'], 2)} "
        f"(median), {number(answer['spearman_mean'], 2)} (mean); the layout that is chosen is {number(answer['regret_median'], 1)} % "
        "slower than the best one measured (median).",
        *one_node(answer["one_node"]),
        f"- Memory: mean error {number(answer['memory_mape'])} %. " + "; ".join(
            f"{name} {number(of['mean_abs'])} % (bias {number(of['bias'], sign=True)})" for name, of in answer["memory"].items()) + ".",
        f"- Fits or not: {number(answer['oom_right'])} % of {answer['verdicts']} right; {answer['ran_out']} of them ran out of memory.",
        f"- Bubbles from measured pass times (Zero Bubble, table 5): mean {number(answer['bubble_points']['mean'], 2)}, largest "
        f"{number(answer['bubble_points']['max'], 2)} points.",
        f"- Inside the 80 % interval of its prediction: {number(answer['inside_interval'])} % of measured steps; it is made to hold four fifths "
        "of the rows of each kind of software and GPU, so that this tells of the rows here. Of a source that is left out, the intervals "
        f"that the others give hold {number(100 * left_out_part)} % of the steps (mean over sources, constants as they are).",
        f"- The ratio of two steps of one job, one setting apart, lies within {number(100 * (math.exp(answer['ratio_half']) - 1))} % "
        "of the predicted one in 80 % of a source's pairs, mean over sources: hardly wider where steps by themselves are told less "
        "well, since both have what their model, GPU and software are off by.",
        "",
        *seen_last(answer["unseen"]),
        *winners(answer["winners"]),
        "## How closely it is fitted",
        "",
        "Each plan fitted to a part of its rows, and what it then says of the others (mean error): "
        "`tools/accuracy/holdout.py --write`. Fits begin up to a fifth away from the values in use. A plan that says no more of rows "
        "it has seen than of others is not fitted too closely; a source that is left out is other software or other models, so that "
        "its row tells how far constants carry.",
        "",
        *holdout(),
        "",
        "What this cannot tell: forms of the formulas, bounds of the plans and the values that fits of the A100 began with were chosen "
        "with the whole table in sight. Nor do the two lines of the A100 that leave out a source tell much: the two stacks differ in how fast "
        "products are, which no row of the other source determines, so that it stays where the fit began.",
        "",
        "## Single kernels and collectives",
        "",
        "- Attention: 100 rows of FlashAttention-2 and cuDNN, forward and backward, on one H200 (`tools/measure/torch_kernels.py`, "
        "`tests/data/measured/h200_kernels.json`): 7 % off (root mean square; `test_sim_cost --gtest_filter='MeasuredKernels.*'`). On "
        "GB200 and GB300, cuDNN in 16 and in 8 bits, as NVIDIA prints its times (`tests/data/measured/blackwell_attention.json`): whole "
        "sequences within 5 % by direction and kind, windows of 128 keys within 12 % backward, up to 47 % too short forward, where something else than products "
        "binds them. Other GPUs have the form and the ratio of backward to forward from Hopper, unmeasured, but for B200, whose lengths are those of SimuMax's "
        "kernels of 4,096 tokens, and B300, which is GB300.",
        "- NCCL's all-reduces of 1 MiB to 1 GiB on 2 to 8 A100s of a node (140 rows of vTrain's table, nothing fitted to them): 13 % off, most "
        "too long, by rates that whole training steps gave (`test_sim_cost --gtest_filter='MeasuredCollectives.*'`).",
        "- The same on V100s of a DGX-1, whose cube mesh joins neighbours by one or two of a GPU's six links: all eight GPUs 20 % off, but groups "
        "of two are told 24 % and of four 72 % of the time that they take, since a tier has one bandwidth. DGX-2 and later have switches.",
        "",
        "## What it does not know",
        "",
        "- Software moves: the same layout is 2.8 % faster a release later for dense models (median), up to 77 % for mixtures of "
        "experts. A stack has a date.",
        "- The job has the cluster's links to itself. Kernels are slower beside data- and context-parallel collectives by one "
        "factor a GPU type, beside all-to-alls of experts' tokens by another (the multiprocessors that DeepEP's or HybridEP's "
        "kernels keep), and as fast as alone beside messages and tensor-parallel ones.",
        f"- Eight ranks of tensor parallelism on small models (vTrain): predictions are {off(corners['tp8'])}. vTrain's steps "
        "are linear in layers and micro-batches to three digits: few kinds of layer (above) make all of its rows, and those of the "
        "larger models ask for more than the best matrix product measured on the card.",
        "- Whether vTrain's steps ran with full recomputation, as its configurations say. With it counted, models of hidden size 2,048 reach "
        f"{number(corners['vtrain_tflops'], 0)} TFLOP/s a GPU, where wider ones of Megatron-LM on few GPUs reach at most "
        f"{number(corners['megatron_tflops'], 0)}; without it, they would be much alike. They are read as they stand; if it was off, the stack "
        "`megatron-deepspeed-2023` takes matrix products for faster and all else for less than they are.",
        f"- ZeRO 3 of 2021 with four sequences a micro-batch: {off(corners['zero3'])}; how much of its gathering was hidden is not known.",
        "- What XLA hides without a profile of the program (PaxML's recipes): no gather of parameters is taken to be hidden, and "
        f"steps of 5 billion parameters are still predicted {off(corners['paxml'])}. MaxText in 8 bits (Llama 2 70B) goes from "
        f"{number(corners['maxtext_few']['bias'], sign=True)} % on 64 GPUs to {number(corners['maxtext_many']['bias'], sign=True)} % on 512.",
        "- Context parallelism of PyTorch over long sequences (torchtitan: Llama 3.1 8B from 131,072 tokens on, 405B from 65,536): "
        f"{off(corners['torch_cp'])}, where 8B over 65,536 on two ranks is as predicted; no source says why. What PyTorch has reserved "
        "for 405B is more than predicted too, most with longest sequences.",
        "- What KempnerForge's jobs without tensor parallelism take besides (FSDP2 of Llama 3 8B on 2 to 32 H200): "
        f"{off(corners['kempner_alone'])}, where one GPU alone is as predicted. Matrix products are slower beside NCCL's kernels than is "
        "assumed, by its profile of a 13B model by 1.3. Its pipelines, which are not compiled: "
        f"{off(corners['kempner_pipelines'])}, {each(corners['kempner_stages'])}; what the host takes for DTensor's dispatch is not counted. "
        f"70B on 8 GPUs, whose memory is nearly full: {off(corners['kempner_full'])}.",
        "- XTuner's sequences from 262,144 tokens on (A100; its page names no network, and one of these jobs needs none): "
        f"{off(corners['xtuner_long'])}, {each(corners['xtuner_each'])}. Nor are shorter ones told alike: {each(corners['xtuner_short'])}.",
        "- What a sharded gradient is worth before it is first reduced. Where each micro-batch is reduced, or there is but one, FSDP2 has "
        "no shard until then, and it is counted from the step's beginning, beside the whole gradients of a layer. Where gradients add up "
        "whole (`reduce_each_microbatch` false, and in pipelines) it counts as a part of them.",
        "- What DeepSpeed's stage 3 holds beside what it computes with. Measured are more GiB than predicted: of Qwen 72B with adapters on "
        f"4 GPUs {gib('qwen-lora-z3')} at lengths from 256 to 8,192 tokens, of Qwen 1.8B on one {gib('qwen-full')}. How far its host runs "
        "ahead is known where reductions hold it up, as with all parameters of Llama 3.1 8B (`reductions_ahead`); frozen ones are dropped "
        "late as well (deepspeedai/DeepSpeed, issue 7217), and no source says how late. Nor is it simulated what blocks of other sizes "
        "leave of the memory that the update and the gradients' norm in fp64 have had.",
        "- What a broadcast of one shard after the other takes (InternEvo): three latencies a hop, by hand, from its steps with ZeRO 1 over 512 "
        "and 1,024 GPUs, which are not `calibration`.",
        "- Mixtures of experts of a software's first releases, before its kernels for them: the same layouts are up to 1.7 times faster a "
        "release later. What biases of experts cost inside a fused kernel. cuDNN of 2025, which on Blackwell was slower than that of 2026 "
        "whose rates GB200 and GB300 have. Attention of DeepSeek's heads on Blackwell: in 16 bits its backward pass takes a fifth longer than "
        "other heads' of its work, in 8 bits a sixth less (NVIDIA/cudnn-frontend, benchmark/sdpa_benchmark_training/results/dsv3).",
        f"- NeMo AutoModel's mixtures of experts, whose benchmarks take experts in turn, so that few copies of tokens travel: "
        f"{off(corners['in_turn'])}; what its experts and pipelines take besides no source says. DeepSeek-V3 on GB200 in May 2025, when "
        f"Transformer Engine had no fused attention for it there: {off(corners['unfused_latent'])}.",
        "- Grok-1 in NeMo 25.04 (`dgxc`): a fifth too long on GB200, in 16 and in 8 bits alike, where products of experts are nine tenths of the "
        "work. Its recipe drops tokens beyond an expert's even share and fills up with zeros (MegatronTokenDropCallback, capacity factor 1, "
        "scripts/performance/llm/pretrain_grok1_314b.py), so that the host need not ask how many there are, 2 % of the step; what makes the "
        "products faster than other models' of their size no source says.",
        "- The rates of B300, of which no steps are published to fit to (B200's), and of experts' products on GPUs other than NVIDIA's A100, "
        "H100 and Blackwell (`grouped_gemm`): assumed. SimuMax's 120 measured shapes of grouped products (B200, A100) take what the formula "
        "for one product says of all tiles together, within 13 and 4 % (mean).",
        "- The H100 of 96 GB under 500 W: two of torchtitan's steps (`calibration`) gave the rate of its products (plan 13).",
        "- FlashAttention-4 is no kernel of the catalogue: on Blackwell it is read as cuDNN's, whose long sequences in SimuMax's steps are "
        "slower than those it was fitted to.",
        "- Nothing was fitted to the sources `hagemann`, `megatron-bridge-new`, `llm-foundry-40gb`, `maxtext-tpu`, `nemo-long`, "
        "`automodel`, `mcore-moe` and `megatron-lm-llama`, nor to Grok-1 and Nemotron of `dgxc`: a stranger's job will be predicted as they are. "
        "Their software's own code said how it reduces, gathers and launches. Two things were chosen with Hagemann's rows in sight: that the "
        "GPUs of a node share one link of 200 Gb/s, and how many copies of the logits are alive at the loss.",
        f"- NeMo's long sequences of May 2024 (Llama 2 7B, up to a million tokens): {off(corners['nemo_long'])}. Their page "
        "names cuDNN's attention, with which they would be 26 % too short; the launcher of that release keeps it off "
        "(NVTE_FUSED_ATTN: 0), so they are read as FlashAttention-2's.",
        "- Megatron-DeepSpeed: BLOOM's experiments (BigScience, every second kind of model) gave its constants. Before, errors grew with "
        "tensor parallelism, from none without it to 19 % with eight ranks, so that part of what was fitted is what each rank does whole "
        "(norms, residual sums); how long launches took where the host waits for each kernel no source says.",
        "- The rate of products of eager PyTorch (`pytorch-eager`) is at the lower bound of its plan: "
        "torchtitan's table of 64 A100, on a network that its page does not name, asks for less. Compiled, PyTorch is as fast as "
        "Megatron on A100 (fms-fsdp, Thunder) and slower on H100 (OLMo-core, torchtitan).",
        f"- Interleaved pipelines in 8 bits (405B and 70B on H100, rows that were not fitted): {off(corners['interleaved'])}.",
        "- How ranks wait for the slowest of many. With each doubling of the GPUs of NeMo's jobs on H100 measured steps grow by "
        f"{number(corners['growth_wide']['percent'], 2)} % more than predicted in 16 bits, by {number(corners['growth_delayed']['percent'], 2)} % "
        "more in 8 bits with delayed scaling, where all ranks of a stage agree on largest elements behind each chunk's pass (Transformer "
        "Engine from 1.6 on, reduce_and_update_fp8_tensors over the tensor-, context- and data-parallel group; with current scaling they "
        f"do not; means of {corners['growth_wide']['n']} and {corners['growth_delayed']['n']} jobs). The latency of these reductions is "
        "about a tenth of the difference. It is no jitter of GPUs, of which each job would see the slowest: Llama 3 70B in 16 bits takes 14.65 to "
        "14.68 s on any number from 64 to 2,048 (v25.04.02), and 405B has as much growth as is predicted, in 8 bits too; those of one release that "
        "grow (GPT-3 175B, Nemotron 340B and 15B) do so by 10 to 45 ms a doubling in 16 bits, whatever the step takes.",
        "- What tensor parallelism's overlap does inside: a ring exchange begins with a rank's own slice, which hides 2 % of a step more, "
        "and reductions keep up to 24 multiprocessors of the product beside them (NeMo's userbuffers). Neither is counted; the fitted rate "
        "of products has both.",
    ]
    if answer["failed"]:
        lines.append("- Not simulated: " + "; ".join(f"`{of['id']}` ({of['error'][:80]})" for of in answer["failed"]) + ".")
    return "\n".join(lines) + "\n"


def write(root, assets, rows, answer):
    text, factors = page(answer, left_out(rows, assets)), residuals(rows, assets)  # before any file is opened
    with open(os.path.join(root, "docs", "accuracy.md"), "w", encoding="utf-8") as file:
        file.write(text)
    for name, title, chosen in (("dense", "Dense models", [row for row in rows if not published.is_moe(row)]),
                                ("moe", "Mixtures of experts", [row for row in rows if published.is_moe(row)])):
        with open(os.path.join(root, "docs", "pictures", f"accuracy-{name}.svg"), "w", encoding="utf-8") as file:
            file.write(picture(chosen, title))
    with open(os.path.join(assets, "residuals.json"), "w", encoding="utf-8") as file:
        file.write(tidy(factors) + "\n")
