"""Which layout is best, and the settings of the frameworks that run it."""

from __future__ import annotations

import json
import operator
import os
import pathlib
import tempfile
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from ._program import ArgumentError, MissingFileError, Problem, ProgramError, ScenarioError, ask, ask_json, in_python, problem_of
from ._scenario import Scenario, as_json, changed, is_json
from .result import Result
from .simulator import _beside, _problems


def _pairs(name: str, settings: Optional[Mapping[str, Any]]) -> Iterable[Tuple[str, Any]]:
    if settings is None:
        return ()
    if not isinstance(settings, Mapping):
        raise ArgumentError(f"{name} is a dict of keys and values, such as {{'layout.tp': 8}}, not {type(settings).__name__}")
    return settings.items()


def _assignment(pointer: str, value: Any) -> str:
    return f"{pointer.replace('__', '.')}={value if isinstance(value, str) else as_json(value)}"


def _listed(given: Any) -> List[Any]:
    """Of arrays too, whose truth is ambiguous."""
    return [] if given is None else list(given)


def _several(name: str, what: str, given: Any) -> List[Any]:
    """Of arrays too; a list that was to have something in it."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise ArgumentError(f"{name} takes {what}, not {given!r}")
    if not (listed := list(given)):
        raise ArgumentError(f"{name} takes {what}, and has none")
    return listed


def _numbers(name: str, shape: str, given: Any, least: int, most: int) -> str:
    """8192 or (8192, 2048) as the program takes it."""
    try:
        numbers = [operator.index(number) for number in (given if isinstance(given, (list, tuple)) else [given])]
    except TypeError:
        numbers = []
    if not least <= len(numbers) <= most or min(numbers) <= 0:
        raise ArgumentError(f"{name} takes {shape} in whole numbers above 0, not {given!r}")
    return ":".join(str(number) for number in numbers)


def plan(
    scenario: Scenario,
    *,
    gpus: Optional[int] = None,
    objective: str = "time",
    price: Optional[float] = None,
    fix: Optional[Mapping[str, Any]] = None,
    free: Sequence[str] = (),
    margin_gib: Optional[float] = None,
    framework: Optional[str] = None,
    top: Optional[int] = None,
    why: Union[Mapping[str, Any], Sequence[Mapping[str, Any]], None] = None,
    robust: bool = False,
    ramp_batch: Optional[Tuple[int, int]] = None,
    phases: Sequence[Union[int, Tuple[int, int]]] = (),
    sizes: Optional[Sequence[int]] = None,
    days: Optional[float] = None,
    sensitivity: bool = False,
    least_change: bool = False,
    simulations: Optional[int] = None,
    jobs: Optional[int] = None,
    **overrides: Any,
) -> Result:
    """The layouts that fit, best first, with why each other one lost: `rankscope-sim plan --json`.

    `objective` is "time", "tokens" (a day), "headroom", "gpu-hours" or "cost" (with `price`, of a GPU for an hour). `fix` holds keys
    at a value, `free` searches keys that are not searched otherwise: "layout.order", "layout.placement", "schedule.layers_per_stage",
    and "training.global_batch_size" for batches of at most the scenario's, by the time that a token takes (`pace_s` of a layout is
    that of `pace_batch` sequences). `framework` ("megatron", "torchtitan", "deepspeed", "nanotron", "picotron", "huggingface" or
    "maxtext") keeps to what that one can run and times it with that one's software where the scenario names none (`held_rules` of the
    result says which), `why` asks for the best layout with all of such keys beside the winner (a list of dicts: several questions, each for
    itself; `why` of the result), `robust` for the nearest layouts where not all goes as planned and the one that loses least (`robust` of
    the result). A result's `best[0].settings` are changes for simulate().

    `ramp_batch`, (first, step): the run begins with global batches of `first` and adds `step` up to the scenario's; a layout has to
    be legal with each of them. `phases`, a sequence length or (sequence length, global batch) each: a run whose sequences grow; the
    result's `phases` are a plan each, with a `phase` that tells what changes before it and what the last one's layout would take.

    `sizes`, numbers of GPUs: the result's `sizes` are a plan each, and with training.tokens `pareto` has those that no other beats
    in both, days and GPU hours. `days`: the fewest GPUs, of at most `gpus`, that train them in so many (`gpus` and `deadline` of
    the result).

    `sensitivity`: how far each constant of the cluster may move before another layout is first (`sensitivity` of the result).
    `least_change`, of a scenario that does not fit: the fewest settings to change so that it does (`set`, `erase`, `text` of the
    result), with `gpus` the most that may be used. `simulations`: so many at most; `proved` says whether they were enough."""
    document, folder = changed(scenario, overrides)
    options: List[str] = [] if least_change and objective == "time" else ["--objective", objective]
    numbers = {
        "--gpus": gpus,
        "--price": price,
        "--margin": margin_gib,
        "--for": framework,
        "--top": top,
        "--days": days,
        "--simulations": simulations,
        "--jobs": jobs,
    }
    for name, value in numbers.items():
        if value is not None:
            options += [name, str(value)]
    for pointer, value in _pairs("fix", fix):
        options += ["--fix", _assignment(pointer, value)]
    for question in why if isinstance(why, (list, tuple)) else [why]:
        if asked := [_assignment(pointer, value) for pointer, value in _pairs("why", question)]:
            options += ["--why", ",".join(asked)]
    for name, wanted in (("--robust", robust), ("--sensitivity", sensitivity), ("--least-change", least_change)):
        if wanted:
            options.append(name)
    if ramp_batch is not None:
        options += ["--ramp-batch", _numbers("ramp_batch", "(first, step)", ramp_batch, 2, 2)]
    if phases := _listed(phases):
        shape = "sequence lengths or (sequence length, global batch)"
        options += ["--phases", ",".join(_numbers("phases", shape, phase, 1, 2) for phase in phases)]
    if sizes is not None:
        sizes = [sizes] if hasattr(sizes, "__index__") and not hasattr(sizes, "__len__") else _several("sizes", "numbers of GPUs", sizes)
        options += ["--sizes", ",".join(_numbers("sizes", "numbers of GPUs", size, 1, 1) for size in sizes)]
    for pointer in [free] if isinstance(free, str) else free:
        options += ["--free", pointer]
    try:
        return Result(ask_json(["plan", "/dev/stdin", *_beside(folder), *options, "--json"], as_json(document)))
    except ProgramError as error:
        problems = [p for p in _problems(document, folder) if p.severity == "error"]
        raise ScenarioError(problems or [problem_of(str(error))]) from None


def import_settings(
    settings: "Union[str, os.PathLike[str], Sequence[Union[str, os.PathLike[str]]]]",
    kind: Optional[str] = None,
    *,
    gpus: Optional[int] = None,
) -> Result:
    """A framework's settings as a scenario: `scenario` (for simulate()), `notes` (what became of each setting), `unknown`.
    Settings of a job that breaks a rule of the layout are read all the same: `legal` is False then, and `problems` say why.

    `settings`: a path, several of one job, or the text itself (a command line, a script, YAML, TOML, JSON). `kind` as
    `rankscope-sim import --from` takes it; recognised by content without it."""
    options: List[str] = ["--json"]
    if kind is not None:
        options += ["--from", kind]
    if gpus is not None:
        options += ["--gpus", str(gpus)]
    if not isinstance(settings, (str, os.PathLike, Iterable)):
        raise ArgumentError(f"import_settings takes a path, several of one job, or the text of settings, not {type(settings).__name__}")
    given = [settings] if isinstance(settings, (str, os.PathLike)) else list(settings)
    if not given:
        raise ArgumentError("import_settings takes a path, several of one job, or the text of settings")
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, one in enumerate(given):
            if isinstance(one, str) and ("\n" in one or "--" in one or is_json(one)) and not _is_file(one):
                path = pathlib.Path(folder) / f"settings-{number + 1}"
                path.write_text(one, encoding="utf-8")
                paths.append(str(path))
            else:
                paths.append(os.fspath(one))
        try:
            answer = ask_json(["import", *paths, *options])
        except ProgramError as error:
            raise ScenarioError([Problem("", str(error).replace(folder + os.sep, ""))]) from None
    for note in answer["notes"]:
        note["text"] = in_python(note["text"])
    return Result(answer)


def _is_file(text: str) -> bool:
    try:
        return pathlib.Path(text).is_file()
    except (OSError, ValueError):
        return False


class Settings(str):
    """A framework's settings as text, and `notes`: what of the scenario they cannot say."""

    notes: List[Result]
    kind: str


def export_settings(scenario: Scenario, kind: str, **overrides: Any) -> Settings:
    """The settings that produce this layout in another framework; ScenarioError with its rule where it would refuse."""
    document, folder = changed(scenario, overrides)
    try:
        answer = Result(ask_json(["export", "/dev/stdin", *_beside(folder), "--to", kind, "--json"], as_json(document)))
    except ProgramError as error:
        problems = [p for p in _problems(document, folder) if p.severity == "error"]
        raise ScenarioError(problems or [problem_of(str(error))]) from None
    settings = Settings(answer.text)
    settings.notes, settings.kind = list(answer.notes), answer.kind
    return settings


def _path(function: str, path: Any) -> str:
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentError(f"{function} takes paths, not {type(path).__name__}")
    named = os.fspath(path)
    return os.path.join(".", named) if named.startswith("-") else named  # a name may begin like an option


def _existing(function: str, paths: Sequence[Any]) -> List[str]:
    named = [_path(function, path) for path in paths]
    for path, shown in zip(named, paths):
        if not os.path.exists(path):
            raise MissingFileError(os.fspath(shown))
    return named


class Trace:
    """Recorded timelines of a run: `info` has what `rankscope-sim trace info --json` says of them."""

    def __init__(self, paths: Sequence[str]):
        self.paths = list(paths)
        self.info = Result(ask_json(["trace", "info", *self.paths, "--json"]))

    def __getattr__(self, name: str) -> Any:
        if name in ("info", "paths") or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.info, name)

    def save(self, out: "os.PathLike[str] | str") -> None:
        """As one .pftrace (Perfetto) or .json (Chrome)."""
        ask("rankscope-sim", ["trace", "convert", *self.paths, _path("save", out)])

    def compare(self, other: "Trace | os.PathLike[str] | str") -> Result:
        """What takes longer in another run of the job: `rankscope-sim trace compare --json`. `causes` has the few that matter,
        `findings` all. Each run is one file, or the folder its files lie in."""
        runs = [self.paths, other.paths if isinstance(other, Trace) else _existing("compare", [other])]
        for paths in runs:
            if len(paths) != 1:
                raise ArgumentError(f"compare takes runs of one file or one folder each, not of {len(paths)}: put these into a folder")
        return Result(ask_json(["trace", "compare", *runs[0], *runs[1], "--json"]))

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self.info]

    def __repr__(self) -> str:
        return f"Trace({len(self.info.files)} files, {self.info.events} events, ranks {[rank.rank for rank in self.info.ranks][:8]})"

    def _repr_html_(self) -> str:
        return self.info._repr_html_()


def open_trace(*paths: "os.PathLike[str] | str | Sequence[os.PathLike[str] | str]") -> Trace:
    """Files of one run, one by one or as a list, or the folder they lie in: PyTorch's, Chrome's, Perfetto's, Nsight's, NCCL's,
    Rankscope's own."""
    listed = [[path] if isinstance(path, (str, bytes, os.PathLike)) or not isinstance(path, Iterable) else path for path in paths]
    several = [path for some in listed for path in some]
    if not several:
        raise ArgumentError("open_trace takes files of one run, or the folder they lie in" + (", and was given none" if paths else ""))
    return Trace(_existing("open_trace", several))
