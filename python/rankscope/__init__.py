"""Rankscope in scripts and notebooks: the simulator's answers as Python values.

    >>> import rankscope
    >>> step = rankscope.simulate("scenarios/42-llama3-405b-16384-gpus.json", layout={"tp": 16, "dp": 64})
    >>> print(f"{step.step_time_s:.1f} s, {step.mfu:.0%} MFU, {step.exposed_comm_fraction.tp:.0%} waits for tensor parallelism")
    7.5 s, 35% MFU, 32% waits for tensor parallelism

A scenario is a path, a dict or JSON text. Whatever is wrong with it is a ScenarioError, whose `problems` name the places in it.
Numbers are those of `rankscope-sim`, key by key: this package starts that program and reads its JSON.
"""

from ._program import ProgramError, ScenarioError, Problem, version
from .attach import Attachment, attach
from .figure import Figure, figure
from .planning import Settings, Trace, export_settings, import_settings, open_trace, plan
from .result import Columns, Result
from .simulator import describe, groups, memory, schedule, simulate, sweep, traffic, validate

__all__ = [
    "Attachment",
    "Columns",
    "Figure",
    "Problem",
    "ProgramError",
    "Result",
    "ScenarioError",
    "Settings",
    "Trace",
    "attach",
    "describe",
    "export_settings",
    "figure",
    "groups",
    "import_settings",
    "memory",
    "open_trace",
    "plan",
    "schedule",
    "simulate",
    "sweep",
    "traffic",
    "validate",
    "version",
]
