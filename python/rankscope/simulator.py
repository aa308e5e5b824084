"""Questions to the simulator. Each takes a scenario (a path, a dict, JSON text) and keys to change in it:

    >>> job = "scenarios/45-llama3-70b-64-gpus.json"
    >>> step = simulate(job, layout={"tp": 8, "dp": 1}, training__micro_batch_size=2, **{"schedule.virtual_stages": 5})
    >>> step.world_size, step.fits
    (64, True)

None erases a key. Errors are ScenarioError with all `problems`."""

from __future__ import annotations

import itertools
import json
import pathlib
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence

from ._program import ArgumentError, Problem, ProgramError, ScenarioError, ask, ask_json, problem_of, problems_of
from ._scenario import Scenario, as_json, changed, load, set_value
from .result import Columns, Result


def _beside(folder: Optional[pathlib.Path]) -> List[str]:
    return ["--beside", str(folder)] if folder else []


def _batch(documents: Sequence[Dict[str, Any]], folder: Optional[pathlib.Path]) -> List[Dict[str, Any]]:
    lines = "\n".join(as_json(document) for document in documents) + "\n"
    printed = ask("rankscope-sim", ["batch", "/dev/stdin", *_beside(folder)], lines, bad_is_answer=True)  # each line tells its own
    return [json.loads(line) for line in printed.splitlines()]


def _step(scenario: Scenario, overrides: Mapping[str, Any]) -> Dict[str, Any]:
    document, folder = changed(scenario, overrides)
    answer = _batch([document], folder)[0]
    if "error" in answer:
        raise ScenarioError(problems_of(answer))
    return answer


def _asked(command: Sequence[str], scenario: Scenario, overrides: Mapping[str, Any]) -> Any:
    """A command on a scenario; what it refuses is told place by place."""
    document, folder = changed(scenario, overrides)
    text = as_json(document)
    try:
        return ask_json([*command, "/dev/stdin", *_beside(folder), "--json"], text)
    except ProgramError as error:
        problems = [p for p in _problems(document, folder) if p.severity == "error"]
        raise ScenarioError(problems or [problem_of(str(error))]) from None


def _problems(document: Mapping[str, Any], folder: Optional[pathlib.Path]) -> List[Problem]:
    command = ["validate", "/dev/stdin", "--json", *_beside(folder)]
    listed = ask_json(command, as_json(document), bad_is_answer=True)["problems"]
    return problems_of({"problems": listed}) if listed else []


def validate(scenario: Scenario, **overrides: Any) -> List[Problem]:
    """All problems of a scenario, errors and warnings; an empty list where it is good. Raises nothing for a bad one."""
    try:
        document, folder = changed(scenario, overrides)
    except ScenarioError as error:
        return error.problems
    return _problems(document, folder)


def simulate(scenario: Scenario, *, explain: bool = False, **overrides: Any) -> Result:
    """One training step: `rankscope-sim simulate --json` (times in seconds, memory in GiB, shares from 0 to 1). With `explain`
    also `because`, formula, values and source of each number, and `sensitivity`."""
    return Result(_asked(["simulate", *(["--explain"] if explain else [])], scenario, overrides))


def memory(scenario: Scenario, **overrides: Any) -> Result:
    """GiB of every pipeline rank, by what holds them: `rankscope-sim memory --json`."""
    return Result(_step(scenario, overrides)["memory"])


def traffic(scenario: Scenario, **overrides: Any) -> Result:
    """Bytes that all ranks send in a step, by group and by tier of the network: `rankscope-sim traffic --json`."""
    return Result(_asked(["traffic"], scenario, overrides))


def groups(scenario: Scenario, rank: Optional[int] = None, **overrides: Any) -> Result:
    """Process groups with Megatron Core's names and in its order; of one rank, its coordinates and its groups."""
    return Result(_asked(["groups", *(["--rank", str(rank)] if rank is not None else [])], scenario, overrides))


def describe(scenario: Scenario, **overrides: Any) -> Result:
    """The scenario with every default and base filled in; what follows from it stands under `derived`."""
    return Result(_asked(["describe"], scenario, overrides))


def schedule(
    scenario: Optional[Scenario] = None,
    *,
    kind: Optional[str] = None,
    stages: Optional[int] = None,
    microbatches: Optional[int] = None,
    virtual: Optional[int] = None,
    group: Optional[int] = None,
    times: Optional[Sequence[float]] = None,
    memory: Optional[Sequence[float]] = None,
    memory_cap: Optional[float] = None,
    **overrides: Any,
) -> Result:
    """A pipeline's action table, its times and what it holds: of a scenario, or of kind, stages (pipeline ranks) and
    micro-batches. `times`: F, I, W, COMM of one chunk; `memory`: MB, MW. `ranks` has a line of actions a pipeline rank."""
    options: List[str] = ["--format", "json"]
    for name, values in (("--times", times), ("--memory", memory)):
        if values is not None:
            options += [name, ",".join(repr(float(value)) for value in values)]
    numbers = {"--kind": kind, "--stages": stages, "--microbatches": microbatches, "--virtual": virtual, "--group": group, "--memory-cap": memory_cap}
    if scenario is None:
        for name, value in numbers.items():
            if value is not None:
                options += [name, str(value)]
        if overrides:
            raise ArgumentError(f"{', '.join(overrides)}: there is no scenario whose keys these could be")
        if kind is None:
            raise ArgumentError('schedule takes a scenario, or kind, stages and microbatches, such as kind="1f1b", stages=4, microbatches=8')
        return Result(ask_json(["schedule", *options]))
    given = [name[2:] for name, value in numbers.items() if value is not None]
    if given:
        raise ArgumentError(f"{', '.join(given)}: a scenario says its own; change it with keys, such as schedule__kind")
    document, folder = changed(scenario, overrides)
    try:
        return Result(ask_json(["schedule", "/dev/stdin", *_beside(folder), *options], as_json(document)))
    except ProgramError as error:
        problems = [p for p in _problems(document, folder) if p.severity == "error"]
        raise ScenarioError(problems or [problem_of(str(error))]) from None


#: What sweep() tells of each combination.
SWEPT = (
    "step_time_s",
    "tokens_per_second",
    "model_tflops_per_gpu",
    "mfu",
    "bubble_fraction",
    "peak_memory_gib",
    "fits",
)


def _misfit(step: Mapping[str, Any]) -> List[str]:
    """Why a step does not fit, where its peak does not tell: the cap that was asked for, or the host."""
    told = [f"/schedule/memory_cap_gib: {each['title']}" for each in step.get("findings", []) if each["kind"] == "cap_missed"]
    offload = step.get("offload", {"host_fits": True})
    if not offload["host_fits"]:
        uses, has = offload["host_memory_gib"], offload["host_has_gib"]
        told.append(f"/cluster/host/memory_gib: what is offloaded takes {uses:.1f} GiB of a host, and it has {has:.1f}")
    return told


def sweep(scenario: Scenario, vary: Mapping[str, Sequence[Any]], **overrides: Any) -> Columns:
    """All combinations of the values of the keys in `vary`, the last key fastest, on all cores:

        >>> layouts = [{"tp": 4, "dp": 2}, {"tp": 8, "dp": 1}]  # each on the 64 GPUs
        >>> table = sweep("scenarios/45-llama3-70b-64-gpus.json", vary={"layout": layouts, "training.micro_batch_size": [1, 2]})
        >>> table.best()["layout"]
        {'tp': 4, 'dp': 2}

    Where keys only work together, as tp and dp on so many GPUs, vary the block that has them. Columns: the keys, step_time_s, tokens_per_second, …, exposed_comm_fraction (all dimensions together), fits, and `problem`:
    why a combination cannot be laid out (its numbers are None then), or does not keep its memory cap or fit the hosts.
    ScenarioError where none can be laid out, for one and the same reason."""
    if not isinstance(vary, Mapping):
        raise ArgumentError(f"vary is a dict of keys and the values each takes, such as {{'layout.tp': [1, 2]}}, not {type(vary).__name__}")
    for pointer, values in vary.items():
        if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
            raise ArgumentError(f"vary: {pointer} has a list of values, such as [{values!r}], not {values!r}")
    base, folder = changed(scenario, overrides)
    documents, rows = [], []
    for values in itertools.product(*vary.values()):
        document = load(base)[0]
        for pointer, value in zip(vary, values):
            set_value(document, pointer, value)
        documents.append(document)
        rows.append(values)
    columns = Columns({pointer: [row[i] for row in rows] for i, pointer in enumerate(vary)})
    for name in (*SWEPT, "exposed_comm_fraction", "problem"):
        columns[name] = []
    for answer in _batch(documents, folder) if documents else []:
        step = answer.get("simulate", {})
        for name in SWEPT:
            columns[name].append(step.get(name))
        exposed = step.get("exposed_comm_fraction")
        columns["exposed_comm_fraction"].append(sum(exposed.values()) if exposed else None)
        told = [str(p) for p in problems_of(answer) if p.severity == "error"] if "error" in answer else _misfit(step)
        columns["problem"].append(" | ".join(told) or None)
    reasons = set(columns["problem"])
    if len(reasons) == 1 and None not in reasons and len(rows) > 1 and set(columns["step_time_s"]) == {None}:
        raise ScenarioError([Problem("", reasons.pop())])
    return columns
