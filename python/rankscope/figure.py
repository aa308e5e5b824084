"""Pictures of a step as SVG: the views of the desktop app, drawn without it."""

from __future__ import annotations

import os
import pathlib
from typing import Any, Dict, Optional

from ._program import ArgumentError, ProgramError, ScenarioError, ask
from ._scenario import Scenario, as_json, changed
from .simulator import _problems


class Figure:
    """An SVG picture that notebooks show; `str(figure)` is its text, `save(path)` writes it."""

    def __init__(self, svg: str):
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Figure({len(self.svg)} bytes of SVG)"

    def save(self, path: "os.PathLike[str] | str") -> None:
        pathlib.Path(path).write_text(self.svg, encoding="utf-8")


def figure(
    scenario: Scenario, view: str = "timeline", *, width: Optional[int] = None, height: Optional[int] = None, theme: str = "light", **overrides: Any
) -> Figure:
    """A view (grid, timeline, memory, traffic, storage, block) of the scenario's step; width and height in pixels."""
    if not isinstance(view, str):
        raise ArgumentError(f"view is a word, such as \"timeline\", not {view!r}")
    document, folder = changed(scenario, overrides)
    options: Dict[str, Any] = {"--width": width, "--height": height, "--theme": theme, "--beside": folder}
    arguments = [word for name, value in options.items() if value is not None for word in (name, str(value))]
    try:
        return Figure(ask("rankscope-figure", ["/dev/stdin", view, *arguments], as_json(document)))
    except ProgramError as error:
        problems = [p for p in _problems(document, folder) if p.severity == "error"]
        raise (ScenarioError(problems) if problems else error) from None
