"""What an estimate leaves on the disk: a document of numbers (JSON), and the same to read (text).

It holds released numbers and public facts, and no row.  A document of somebody else is never
replaced, and no link is followed.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
import os
from dataclasses import fields, is_dataclass
from inspect import get_annotations
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct import __version__, disk
from dprct.certificate.certificate import sealed_words
from dprct.errors import DisclosureError, FileError, ParameterError, SimulationError
from dprct.lazy import pandas as pd
from dprct.privacy.budget import spelled
from dprct.records import dataclass
from dprct.release.writing import (
    RESULTS,
    check_free_of_case,
    drafts_beside,
    results_digest,
    results_text,
    writing_at,
)
from dprct.results.base import is_confidential
from dprct.results.typeset import (
    Grid,
    Line,
    NumberColumn,
    as_in_a_file,
    each,
    html,
    latex,
    p_value,
    statistic,
    text,
)
from dprct.schema.toml import column_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from dprct.model import Result
    from dprct.privacy.budget import Guarantee
    from dprct.results.plan import Plan
    from dprct.study.methods import AnyModel

SUFFIX = ".json"
_ROOM = 2**18
"""Bytes that the results of an estimate do not exceed by much: the room that is tried."""
_NOT_RELEASED_APART = ("params", "cov", "bse_noise")
"""Tables of a result that the table of the document holds already."""

_COLUMNS = {
    column.key: column
    for column in (
        NumberColumn("estimate", "estimate"),
        NumberColumn("std.error", "std err"),
        NumberColumn("std.error.noise", "of which noise"),
        NumberColumn("statistic", "z", each(statistic)),
        NumberColumn("p.value", "p", each(p_value)),
        NumberColumn("conf.low", "[0.025"),
        NumberColumn("conf.high", "0.975]"),
    )
}
"""How columns of a tidy table are headed and printed; others by their names, as numbers."""


_LABELS = ("time",)
"""Columns of numbers that name the rows of a tidy table."""


_ABOUT = {"nobs": "Observations", "n": "Observations"}
"""How numbers of rows are called in a table."""


@dataclass(frozen=True)
class ResultsDocument:
    """The results of an estimate as they are written."""

    content: Mapping[str, Any]  # what the JSON file holds

    @property
    def frame(self) -> pd.DataFrame:
        """One row per estimate, with the column names of R's broom; intervals of level 0.95."""
        infinite = {str(end): end for end in (math.inf, -math.inf)}
        return pd.DataFrame(
            [
                {name: infinite.get(cell, cell) for name, cell in row.items()}
                for row in self.content["table"]
            ]
        )

    @property
    def ledger(self) -> str:
        """Where the budget was charged, in words."""
        return str(self.content["ledger"])

    def to_text(self, width: int | None = None) -> str:
        """Return the table as text, of at most ``width`` characters a line if that is given."""
        return text(self._grid(), width)

    def to_latex(self) -> str:
        """Return the table as LaTeX, for ``booktabs``, ``siunitx`` and ``threeparttable``."""
        return latex(self._grid())

    def to_html(self) -> str:
        """Return the table as HTML."""
        return html(self._grid())

    def to_csv(self) -> str:
        """Return the table as CSV, unrounded."""
        return self.frame.to_csv(index=False, lineterminator="\n").rstrip("\n")

    def _grid(self) -> Grid:
        table = self.frame
        named = [c for c in table.columns if not pd.api.types.is_numeric_dtype(table[c].dtype)]
        words = [c for c in named if table[c].map(lambda cell: isinstance(cell, str)).any()]
        words += [c for c in _LABELS if c in table]
        shown = [c for c in _COLUMNS if c in table] + [
            c for c in table.columns if c not in (*words, *_COLUMNS)
        ]
        columns = [_COLUMNS.get(c, NumberColumn(c, c)) for c in shown]
        cells = [column.show([_number(v) for v in table[column.key]]) for column in columns]
        names = [
            " ".join(_label(row[c]) for c in words).strip() for row in table.to_dict("records")
        ]
        return Grid(
            title=str(self.content["title"]),
            facts=(("Data set", str(self.content["dataset_id"])), *self._about()),
            headings=tuple(column.heading for column in columns),
            lines=tuple(map(Line, names, zip(*cells, strict=True))),
            notes=(*self.content["notes"], *self.content["guarantee"]["text"].splitlines()),
        )

    def _about(self) -> list[tuple[str, str]]:
        """Return the numbers about the fit as a whole, such as a mean effect over all periods."""
        [about] = self.content["glance"]
        told = {
            _ABOUT.get(name, name): (
                f"{cell:,}" if name in _ABOUT and type(cell) is int else _label(cell)
            )
            for name, cell in about.items()
            if cell is not None and (name, cell) != ("cov_type", "private")
        }
        return [(name, cell) for name, cell in told.items() if cell != str(math.inf)]


def results_document(
    method: str, result: Result, model: AnyModel, plan: Plan
) -> tuple[ResultsDocument, str]:
    """Results of a fit as a document, and as a text to read; the plan is what was spent."""
    if is_confidential(result):
        raise DisclosureError(
            "a report on the confidential data is not a result of a fit and is not written; keep "
            "it with the confidential data"
        )
    if result.guarantee.simulation:
        raise SimulationError(
            "a seed was given (rng), so this is a simulation and no document is written; fit "
            "without rng to release"
        )
    seal, digest = sealed_words(model.schema)
    parts = _parts(result)
    text = _text(result, plan, parts, seal)
    content: dict[str, Any] = {
        "results": RESULTS,
        "dprct": __version__,
        "issued": dt.datetime.now(dt.UTC).date().isoformat(),
        "dataset_id": model.schema.dataset_id,
        "section": method,
        "method": plan.method,
        "title": str(getattr(result, "title", plan.method)),
        "table": _records(result.tidy()),
        "glance": _records(result.glance()) if hasattr(result, "glance") else [{}],
        "released": {name: _records(_as_table(part)) for name, part in parts.items()},
        "notes": list(getattr(result, "notes", ())),
        "guarantee": {**result.guarantee.to_dict(), "text": str(result.guarantee)},
        "plan": {
            "epsilon": spelled(plan.budget.epsilon),
            "delta": spelled(plan.budget.delta),
            "facts": dict(plan.facts),
            "consequences": list(plan.consequences),
            "warnings": list(plan.warnings),
        },
        "ledger": str(result.ledger),
        "public_facts": {
            name: column_facts(model.schema.column(name)) for name in model.spec.columns
        },
        "schema": {"sha256": digest, "sealed": seal},
        "text_sha256": hashlib.sha256(_ended(text).encode("utf-8")).hexdigest(),
    }
    content = json.loads(json.dumps(content, default=_plain))
    return ResultsDocument({**content, "sha256": results_digest(content)}), text


def text_path(path: Path) -> Path:
    """Place of the text of a document."""
    return path.with_suffix(".txt")


def check_results_target(path: Path, dataset_id: str) -> None:
    """Refuse a place where the results of a study may not be written."""
    if path.suffix.lower() != SUFFIX:
        raise FileError(f"{path.name!r} is not the name of a document; let it end in {SUFFIX}")
    disk.require_folder(path)
    disk.sweep(path.parent)
    for place in (path, text_path(path)):
        refuse_others(place, lambda place: _is_own(place, path, dataset_id))


def refuse_others(place: Path, is_own: Callable[[Path], bool]) -> None:
    """Refuse a place where something lies that is not this study's own, as it was written."""
    check_free_of_case(place)
    if os.path.lexists(place) and not is_own(place):
        raise FileError(
            f"{place.name!r} exists and is not what this study wrote, unchanged; give another name "
            "with [release] output, or move it away"
        )


@dataclass(frozen=True)
class Rehearsed:
    """A result before anything is drawn: its numbers are the plan's, and all of them public."""

    plan: Plan
    guarantee: Guarantee
    ledger: str = "rehearsed: nothing was charged"

    def summary(self) -> str:
        """Return the plan."""
        return str(self.plan)

    def tidy(self) -> pd.DataFrame:
        """Return the planned numbers."""
        return self.plan.to_frame()


def rehearse_results(
    path: Path, method: str, model: AnyModel, plan: Plan, also: Iterable[Path] = ()
) -> None:
    """Write a rehearsal result, and leave nothing: what would keep results from being written.

    Names of the files that will ``also`` lie next to it are tried, too.
    """
    check_results_target(path, str(model.schema.dataset_id))
    for kind in type(model).results():
        there = {*dir(kind), *(name for base in kind.__mro__ for name in get_annotations(base))}
        lacking = [name for name in _WRITTEN if name not in there]
        if lacking:
            raise ParameterError(
                f"results of ``{type(model).__name__}`` have no {', '.join(lacking)}, so that they "
                "could not be written once they are paid for; fit it in Python"
            )
    rehearsed = Rehearsed(plan, model.guarantee(plan.budget))
    document, text = results_document(method, rehearsed, model, plan)
    with drafts_beside(path) as folder:
        for place, words in ((path, results_text(document.content)), (text_path(path), text)):
            (folder / place.name).write_bytes(words.encode("utf-8") + bytes(_ROOM))
        for place in also:
            (folder / place.name).touch()


_WRITTEN = ("guarantee", "ledger", "summary", "tidy")
"""What :class:`dprct.model.Result` promises; type checkers see that a method keeps it."""


def write_results(
    document: ResultsDocument, text: str, path: Path, also: Mapping[Path, str] | None = None
) -> None:
    """Write a document and its text, and the other files in ``also``: all of them or none.

    The caller has checked that the places of ``also`` are free.
    """
    places = {
        text_path(path): _ended(text), **(also or {}), path: results_text(document.content)
    }  # fmt: skip
    with writing_at(path):
        check_results_target(path, str(document.content["dataset_id"]))
        with drafts_beside(path) as folder:
            for place, words in places.items():
                (folder / place.name).write_bytes(words.encode("utf-8"))
            disk.move_all(folder, path.parent, [place.name for place in places])


def read_results(path: Path) -> ResultsDocument:
    """Return a document that was written before."""
    if not os.path.lexists(path):
        raise FileError(f"there are no results {path.name!r} yet; make them with dprct protect")
    content = _content(path)
    if content is None:
        raise FileError(
            f"{path.name!r} is not a document of results as dprct protect wrote it: it was changed "
            "or replaced; take the one that was written, or make it again with --resume ENTRY"
        )
    return ResultsDocument(content)


def _content(path: Path) -> dict[str, Any] | None:
    """Content of a document; None if it is none of this version, or was changed."""
    if path.is_symlink() or not path.is_file():
        return None
    try:
        found = json.loads(disk.content(path, disk.MOST_JSON))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("results") != RESULTS:
        return None
    return found if found.get("sha256") == results_digest(found) else None


def _is_own(place: Path, document: Path, dataset_id: str) -> bool:
    content = _content(document)
    if content is None or content["dataset_id"] != dataset_id:
        return False
    if place == document:
        return True
    if place.is_symlink() or not place.is_file():
        return False
    try:
        return bool(disk.sha256(place) == content["text_sha256"])
    except OSError:
        return False


def _parts(result: Any) -> dict[str, pd.DataFrame | pd.Series[Any]]:
    """Return the further tables of a result by name: they were released and paid for too."""
    if hasattr(result, "tables"):
        own: dict[str, pd.DataFrame | pd.Series[Any]] = dict(result.tables)
        return own
    named = (
        {f.name: getattr(result, f.name) for f in fields(result)} if is_dataclass(result) else {}
    )
    return {
        name: part
        for name, part in named.items()
        if isinstance(part, (pd.DataFrame, pd.Series)) and name not in _NOT_RELEASED_APART
    }


def _as_table(part: pd.DataFrame | pd.Series[Any]) -> pd.DataFrame:
    frame = part.to_frame("value") if isinstance(part, pd.Series) else part
    if isinstance(frame.index, pd.RangeIndex):
        return frame
    return frame.rename_axis("name").reset_index()


def _text(result: Any, plan: Plan, parts: Mapping[str, Any], seal: str) -> str:
    with as_in_a_file():
        summary = str(result.summary())
    blocks = [
        summary,
        *(f"{name}\n{_as_table(part).to_string(index=False)}" for name, part in parts.items()),
        str(plan),
        f"Public facts: {seal}",
        f"Ledger: {result.ledger}",
    ]
    return "\n\n".join(blocks)


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {str(name): _plain(cell) for name, cell in row.items()} for row in table.to_dict("records")
    ]


def _plain(cell: Any) -> Any:
    """Return a value as JSON has it; what is no finite number is null, or text."""
    if isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, float) and not math.isfinite(cell):
        return None if math.isnan(cell) else str(cell)
    return cell if cell is None or isinstance(cell, (bool, int, float, str)) else str(cell)


def _label(cell: Any) -> str:
    """Return a cell that names a row, or says something of the fit as a whole."""
    number = isinstance(cell, (int, float)) and not isinstance(cell, bool)
    return f"{cell:.6g}" if number else str(cell)


def _number(cell: Any) -> float:
    return math.nan if cell is None else float(cell)


def _ended(text: str) -> str:
    return text.rstrip("\n") + "\n"
