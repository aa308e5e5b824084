"""What the simulator answers, as values that read well."""

from __future__ import annotations

import html
import json
from typing import Any, Dict, Iterator, List, Mapping, Optional


def _wrapped(value: Any) -> Any:
    if isinstance(value, dict):
        return Result(value)
    if isinstance(value, list):
        return [_wrapped(item) for item in value]
    return value


def _shown(value: Any) -> str:
    if isinstance(value, Result):
        return "{" + ", ".join(f"{key}: {_shown(item)}" for key, item in value.items()) + "}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list) and len(value) > 4:
        return f"[{len(value)} entries]"
    return str(value)


class Result(Mapping):
    """A JSON object of the simulator: keys as attributes (`step.mfu`) and as items (`step["mfu"]`). Read-only."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]):
        object.__setattr__(self, "_values", {key: _wrapped(value) for key, value in values.items()})

    def __getattr__(self, name: str) -> Any:
        # Copying and pickling ask before there are values.
        if name.startswith("__") or name == "_values":
            raise AttributeError(name)
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"there is no {name} here; there are: {', '.join(self._values)}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("an answer of the simulator is not changed; change the scenario")

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self._values]

    def __reduce__(self):
        return (Result, (self.to_dict(),))

    def to_dict(self) -> Dict[str, Any]:
        """Plain dicts and lists again."""

        def plain(value: Any) -> Any:
            if isinstance(value, Result):
                return value.to_dict()
            return [plain(item) for item in value] if isinstance(value, list) else value

        return {key: plain(value) for key, value in self._values.items()}

    def __repr__(self) -> str:
        return "Result(" + ", ".join(f"{key}={_shown(value)}" for key, value in self._values.items()) + ")"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(key)}</th><td style='text-align:left'>{html.escape(_shown(value))}</td></tr>"
            for key, value in self._values.items()
        )
        return f"<table>{rows}</table>"


class Columns(Dict[str, List[Any]]):
    """A table as column -> values, all of one length: `pandas.DataFrame(columns)` reads it as it is."""

    def rows(self) -> Iterator[Dict[str, Any]]:
        """Row by row."""
        for values in zip(*self.values()):
            yield dict(zip(self, values))

    def best(self, column: Optional[str] = None) -> Dict[str, Any]:
        """The fastest row among those that simulate and fit into memory: most tokens a second, since a step of a smaller batch is
        shorter and no faster. With a column, the row that has least of it. ValueError where there is none."""
        key = column or "tokens_per_second"
        if key not in self:
            raise ValueError(f"there is no column {key!r}; there are: {', '.join(self)}")
        fitting = [row for row in self.rows() if row.get("fits") and row.get(key) is not None]
        if not fitting:
            raise ValueError(f"no row fits into memory, of {len(next(iter(self.values()), []))}")
        return max(fitting, key=lambda row: row[key]) if column is None else min(fitting, key=lambda row: row[key])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(str(name))}</th>" for name in self)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_shown(value))}</td>" for value in row.values()) + "</tr>" for row in self.rows()
        )
        return f"<table><tr>{head}</tr>{body}</table>"


def parse(text: str) -> Result:
    """A JSON object of the program."""
    return Result(json.loads(text))
