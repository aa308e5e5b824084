"""The simulator's programs: where they are, and how they are asked. Every answer is the command line's own JSON, so that scripts,
notebooks and shells cannot disagree; a step that ends a program ends an exception here, and Ctrl-C ends what is asked."""

from __future__ import annotations

import errno
import json
import os
import pathlib
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence

_HERE = pathlib.Path(__file__).resolve().parent


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a scenario."""

    pointer: str  #: JSON pointer, "/layout/tp"; empty where it is the whole scenario
    message: str  #: with the numbers in it and the nearest values that would be right
    severity: str = "error"  #: "error" or "warning"

    def __str__(self) -> str:
        return f"{self.pointer}: {self.message}" if self.pointer else self.message


class ScenarioError(ValueError):
    """A scenario that cannot be simulated: all its problems at once."""

    def __init__(self, problems: Sequence[Problem]):
        self.problems: List[Problem] = list(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems if problem.severity == "error"))

    def __reduce__(self):
        return (type(self), (self.problems,))


class ProgramError(RuntimeError):
    """A question that the program refuses, or a program that is missing or was ended."""


#: The arguments of this package's functions by the programs' options, where those are called otherwise.
_ARGUMENTS = {"for": "framework", "margin": "margin_gib", "from": "kind", "to": "kind"}
_SAME_NAME = (
    "days free fix gpus group jobs kind least-change memory memory-cap microbatches objective phases price ramp-batch rank robust sensitivity "
    "simulations sizes stages theme times top virtual height width why"
)
_ARGUMENTS.update({name: name.replace("-", "_") for name in _SAME_NAME.split()})
_OPTION = re.compile(rf"(?<![\w-])--({'|'.join(_ARGUMENTS)})(?![\w-])")


def in_python(words: str) -> str:
    """What a program says of its options, said of the arguments that a Python function was called with: days for --days,
    training__tokens=1e12 for --set training.tokens=1e12, and nothing of how the program is called."""
    told = re.split(r"\n(?:usage: |Run with --help)", words, maxsplit=1)[0]
    told = re.sub(r"--set ([a-z_0-9.]+)=", lambda key: key[1].replace(".", "__") + "=", told)
    return _OPTION.sub(lambda option: _ARGUMENTS[option[1]], told)


class RefusedError(ScenarioError, ProgramError):
    """A question that the program refuses though no place in a scenario is at fault: an option, a file of a trace."""


class ArgumentError(ScenarioError, TypeError):
    """An argument of a function that it can do nothing with, of another type or with nothing in it."""

    def __init__(self, words: str):
        super().__init__([Problem("", words)])

    def __reduce__(self):
        return (type(self), (self.problems[0].message,))


class MissingFileError(ScenarioError, FileNotFoundError):
    """A file or folder of a trace that is not there."""

    def __init__(self, path: str):
        shown = path if path and path.isprintable() else repr(path)
        super().__init__([Problem("", f"{shown}: there is no such file or folder")])
        self.errno, self.strerror, self.filename = errno.ENOENT, os.strerror(errno.ENOENT), path

    def __reduce__(self):
        return (type(self), (self.filename,))


def program(name: str) -> str:
    """Path of rankscope-sim or rankscope-figure: of $RANKSCOPE_BIN_DIR, of this package, on the PATH, or built in the checkout
    that this package lies in. ProgramError where there is none."""
    folder = os.environ.get("RANKSCOPE_BIN_DIR")
    candidates = [pathlib.Path(folder) / name] if folder else []
    candidates += [_HERE / "bin" / name]
    for candidate in candidates:
        if candidate.is_file():
            return str(candidate)
    found = shutil.which(name)
    built = _HERE.parents[1] / "build" / "bin" / name
    if found or built.is_file():
        return found or str(built)
    raise ProgramError(
        f"{name} was not found: neither in {_HERE / 'bin'}, where installing this package puts it, nor on the PATH; "
        "RANKSCOPE_BIN_DIR names a folder that has it"
    )


def _environment() -> Dict[str, str]:
    environment = dict(os.environ)
    assets = _HERE / "assets"
    if assets.is_dir():
        environment.setdefault("RANKSCOPE_ASSETS", str(assets))
    return environment


def ask(name: str, arguments: Sequence[str], given: Optional[str] = None, *, bad_is_answer: bool = False) -> str:
    """What the program prints. RefusedError where it refuses, with its words as in_python() has them; with `bad_is_answer` bad input
    is told in what it prints."""
    try:
        done = subprocess.run(
            [program(name), *arguments],
            input=given if given is not None else "",
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=_environment(),
        )
    except OSError as error:
        raise ProgramError(f"{name} cannot be started: {error}") from error
    if done.returncode < 0:
        raise ProgramError(f"{name} was ended by signal {-done.returncode}")
    if done.returncode != 0 and not (bad_is_answer and done.returncode == 1 and done.stdout):
        words = in_python((done.stderr or done.stdout).strip())
        raise RefusedError([problem_of(words or f"{name} ended with status {done.returncode}")])
    return done.stdout


def problems_of(answer: Dict[str, Any]) -> List[Problem]:
    """Of an answer of `batch` or of `validate --json`."""
    listed = answer.get("problems") or [{"pointer": "", "message": answer.get("error", "")}]
    return [Problem(p.get("pointer", ""), p.get("message", ""), p.get("severity", "error")) for p in listed]


def problem_of(words: str) -> Problem:
    """Of what a program says of a scenario that it was handed through a pipe."""
    told = words.replace("/dev/stdin: ", "", 1)
    pointer, separator, message = told.partition(": ")
    return Problem(pointer, message) if separator and pointer.startswith("/") and " " not in pointer else Problem("", told)


def ask_json(arguments: Sequence[str], given: Optional[str] = None, *, bad_is_answer: bool = False) -> Any:
    return json.loads(ask("rankscope-sim", arguments, given, bad_is_answer=bad_is_answer))


def version() -> str:
    """Of the simulator that answers."""
    return ask("rankscope-sim", ["--version"]).split()[-1]
