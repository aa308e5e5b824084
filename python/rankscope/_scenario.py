"""Scenarios as people hand them over (a path, a dict, JSON text), and what they change in them."""

from __future__ import annotations

import copy
import json
import operator
import os
import pathlib
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from ._program import Problem, ScenarioError

Scenario = Union[str, "os.PathLike[str]", Mapping[str, Any]]


def as_json(value: Any) -> str:
    """Numbers of numpy and pandas too, and paths."""
    return json.dumps(value, default=_plain)


def _plain(value: Any) -> Any:
    to_list = getattr(value, "tolist", None)  # of numpy, pandas and torch: numbers of numbers, lists of arrays
    if callable(to_list):
        return to_list()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    for plain in (operator.index, list):
        try:
            return plain(value)
        except TypeError:
            continue
    raise ScenarioError([Problem("", f"{value!r} is a {type(value).__name__}: a scenario has numbers, words, lists and dicts")])


def _read(text: str, place: str) -> Dict[str, Any]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise ScenarioError([Problem("", f"{place}: line {error.lineno}, column {error.colno}: {error.msg}")]) from None
    if not isinstance(document, dict):
        raise ScenarioError([Problem("", f"{place}: a scenario is a JSON object, not {type(document).__name__}")])
    return document


def load(scenario: Scenario) -> Tuple[Dict[str, Any], Optional[pathlib.Path]]:
    """The scenario file's object, a copy of its own, and the folder that names in it are relative to."""
    if isinstance(scenario, Mapping):
        plain = scenario.to_dict() if hasattr(scenario, "to_dict") else scenario
        return copy.deepcopy(dict(plain)), None
    if isinstance(scenario, str) and scenario.lstrip().startswith("{"):
        return _read(scenario, "the text"), None
    if not isinstance(scenario, (str, os.PathLike)):
        raise TypeError(f"a scenario is a path, a dict or JSON text, not {type(scenario).__name__}")
    if scenario == "":
        raise ScenarioError([Problem("", "the path of the scenario is empty")])
    path = pathlib.Path(scenario)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError([Problem("", f"{path}: {getattr(error, 'strerror', None) or error}")]) from None
    return _read(text, str(path)), path.resolve().parent


def _keys(pointer: str) -> List[str]:
    if pointer.startswith("/"):
        return [key.replace("~1", "/").replace("~0", "~") for key in pointer[1:].split("/")]
    return pointer.replace("__", ".").split(".")


def set_value(document: Dict[str, Any], pointer: str, value: Any) -> None:
    """Sets one key, "layout.tp", "/layout/tp" or layout__tp; None erases it; a dict sets each of its keys.

    "model": "llama3-8b" becomes {"base": "llama3-8b"} where a key below it is set, as --set does."""
    *above, last = _keys(pointer)
    at: Any = document
    for key in above:
        child = at.get(key)
        if isinstance(child, str):
            child = at[key] = {"base": child}
        if child is None:
            if value is None:
                return
            child = at[key] = {}
        if not isinstance(child, dict):
            raise ScenarioError([Problem(pointer, f"{key} is {as_json(child)}, which has no keys below it")])
        at = child
    if value is None:
        at.pop(last, None)
    elif isinstance(value, Mapping) and not above:
        # simulate(s, layout={"tp": 4}): the other keys of the layout stay.
        for key, inner in value.items():
            set_value(document, f"/{last}/{key.replace('~', '~0').replace('/', '~1')}", inner)
    else:
        at[last] = copy.deepcopy(value)


def changed(scenario: Scenario, overrides: Mapping[str, Any]) -> Tuple[Dict[str, Any], Optional[pathlib.Path]]:
    document, folder = load(scenario)
    for pointer, value in overrides.items():
        set_value(document, pointer, value)
    return document, folder
