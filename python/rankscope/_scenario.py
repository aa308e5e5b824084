"""Scenarios as people hand them over (a path, a dict, JSON text), and what they change in them."""

from __future__ import annotations

import copy
import json
import operator
import os
import pathlib
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._program import ArgumentError, Problem, ProgramError, ScenarioError, ask_json

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


_MARK = "\ufeff"  # that some editors begin a file with


def is_json(text: str) -> bool:
    """Whether it is the text of an object and no path."""
    return text.lstrip(_MARK + " \t\r\n").startswith("{")


def _read(text: str, place: str) -> Dict[str, Any]:
    try:
        document = json.loads(text.lstrip(_MARK))
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
    if isinstance(scenario, str) and is_json(scenario):
        return _read(scenario, "the text"), None
    if not isinstance(scenario, (str, os.PathLike)):
        raise ArgumentError(f"a scenario is a path, a dict or JSON text, not {type(scenario).__name__}")
    if scenario == "":
        raise ScenarioError([Problem("", "the path of the scenario is empty")])
    path = pathlib.Path(scenario)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # a name with a null in it, and a text that is not UTF-8
        raise ScenarioError([Problem("", f"{str(path)!r}: {error}" if "\0" in str(path) else f"{path}: {getattr(error, 'strerror', None) or error}")]) from None
    return _read(text, str(path)), path.resolve().parent


def _keys(pointer: str) -> List[str]:
    if pointer.startswith("/"):
        return [key.replace("~1", "/").replace("~0", "~") for key in pointer[1:].split("/")]
    return pointer.replace("__", ".").split(".")


#: Blocks for which a word is short for an object, and the key that the word is in it.
_KEY_OF_WORD = {
    ("model",): "base",
    ("cluster",): "base",
    ("cluster", "gpu"): "base",
    ("training", "stack"): "base",
    ("training", "recompute"): "kind",
}


def _index(key: str) -> Optional[int]:
    return int(key) if key.isascii() and key.isdigit() else None


def _member(parent: Any, key: str) -> Any:
    if isinstance(parent, dict):
        return parent.get(key)
    index = _index(key)
    return parent[index] if index is not None and index < len(parent) else None


def _put(parent: Any, key: str, value: Any, pointer: str) -> None:
    if isinstance(parent, dict):
        parent[key] = value
        return
    index = _index(key)
    if index is None or index > len(parent):
        entries = "1 entry" if len(parent) == 1 else f"{len(parent)} entries"
        raise ScenarioError([Problem(pointer, f"the list has {entries}; {as_json(key)} is none of them, nor the next")])
    parent[index : index + 1] = [value]


def _take_list_of_base(document: Dict[str, Any], keys: Sequence[str]) -> None:
    """An entry of a list that the document leaves to its base, as cluster.tiers.1, brings the base's list into the document."""
    place = next((place for place, key in enumerate(keys) if _index(key) is not None), 0)
    path = keys[:place]
    block = document.get(path[0]) if len(path) > 1 and path[0] in ("model", "cluster") else None
    if isinstance(block, str):
        block = {"base": block}
    if not isinstance(block, dict) or _at(block, path[1:]) is not None:
        return
    alone = {"format": "rankscope-scenario", "version": 1, "model": "tiny-gpt", "cluster": "laptop", "layout": {}}
    alone[path[0]] = {key: block[key] for key in ("base", "gpus_per_node") if key in block}  # a node's tier follows the node
    try:
        entries = _at(ask_json(["describe", "/dev/stdin", "--json"], as_json(alone)), path)
    except ProgramError:  # no such base: whoever reads the document says so
        return
    if isinstance(entries, list):
        set_value(document, "".join(f"/{key}" for key in path), entries)


def _at(value: Any, path: Sequence[str]) -> Any:
    for key in path:
        value = _member(value, key) if isinstance(value, (dict, list)) else None
    return value


def set_value(document: Dict[str, Any], pointer: str, value: Any) -> None:
    """Sets one key or entry of a list, "layout.tp", "/layout/tp" or layout__tp; None erases it; a dict sets each of its keys.

    "model": "llama3-8b" becomes {"base": "llama3-8b"} where a key below it is set, as --set does."""
    keys = _keys(pointer)
    _take_list_of_base(document, keys)
    *above, last = keys
    at: Any = document
    for depth, key in enumerate(above):
        child = _member(at, key)
        if child is None:
            if value is None:
                return
            child = [] if keys[depth + 1] == "0" else {}
        elif isinstance(child, str) and tuple(keys[: depth + 1]) in _KEY_OF_WORD:
            child = {_KEY_OF_WORD[tuple(keys[: depth + 1])]: child}
        elif isinstance(child, tuple):
            child = list(child)
        if not isinstance(child, (dict, list)):
            raise ScenarioError([Problem(pointer, f"{key} is {as_json(child)}, which has no keys below it")])
        _put(at, key, child, pointer)
        at = child
    if value is None:
        if isinstance(at, dict):
            at.pop(last, None)
        elif _index(last) is not None:
            del at[_index(last) : _index(last) + 1]
    elif isinstance(value, Mapping) and not above:
        # simulate(s, layout={"tp": 4}): the other keys of the layout stay.
        for key, inner in value.items():
            set_value(document, f"/{last}/{key.replace('~', '~0').replace('/', '~1')}", inner)
    else:
        _put(at, last, copy.deepcopy(value), pointer)


def _refuse_twice(overrides: Mapping[str, Any]) -> None:
    """One key in two spellings, as layout={"tp": 1} and layout__tp=2."""
    given: Dict[Tuple[str, ...], str] = {}
    for pointer, value in overrides.items():
        keys = tuple(_keys(pointer))
        inner = [keys + (key,) for key in value] if isinstance(value, Mapping) and len(keys) == 1 else [keys]
        for path in inner:
            if path in given:
                raise ScenarioError([Problem("/" + "/".join(path), f"is given twice, by {given[path]} and by {pointer}")])
            given[path] = pointer


def changed(scenario: Scenario, overrides: Mapping[str, Any]) -> Tuple[Dict[str, Any], Optional[pathlib.Path]]:
    document, folder = load(scenario)
    _refuse_twice(overrides)
    for pointer, value in overrides.items():
        set_value(document, pointer, value)
    return document, folder
