"""What do-files do to rows, as far as a study does it, too, and the regressions after that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dprct.dofile.memory import Merged
from dprct.study.data_sets import headers_in
from dprct.study.do_files import read_do, stem
from dprct.study.prefill import prefilled, reasons
from dprct.study.restack import STATISTICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dprct.dofile import Regression
    from dprct.dofile.memory import Restacked
    from dprct.schema.schema import Schema
    from dprct.study.prefill import Prefill, Printed

_MOST_LISTS = 6  # the do-files are read once for each


def from_do_files(
    do: Sequence[Path], header: Schema, file: Path, treatments: Sequence[str] = ()
) -> Prefill:
    """Facts that do-files tell of the columns of a file, and of its rows after their steps.

    Of files that they merge and append the names of columns are read, where these lie beside it.
    """
    rows = [*read_do(do, header, treatments=treatments, dataset=file.name)]
    found = prefilled(rows, header.names, treatments)
    own = [row for row in rows if row.sources and stem(row.sources[0]) == stem(file.name)] or rows
    named = {one.by for row in own for one in row.changes if one.how in ("append", "merge")}
    beside = headers_in(file.resolve().parent, [Path(name).name for name in named])
    headers = {name: tuple(beside.get(Path(name).name, ())) for name in named}
    known = {*map(_asked, found.regressions)}
    prepared, after = [], []
    for steps in _lists(own, header.names, headers):
        made = {
            one.by if one.how == "merge" else f"step {k}": (
                Merged(one.parts, headers[one.by], complete=True) if one.how == "merge" else one
            )
            for k, one in enumerate(steps)
        }
        read = read_do(do, header, treatments=treatments, dataset=file.name, merges=made)
        here = [row for row in read if not row.steps]
        part = prefilled(here, steps[-1].columns or (), treatments)
        more = (x for x in part.regressions if _rows(steps) or _asked(x) not in known)
        prepared.append(replace(part, steps=steps, regressions=tuple(more)))
        after += here
    served = {(row.file, row.line) for row in after}
    left = [row for row in own if not row.steps or (row.file, row.line) not in served]
    return replace(found, prepared=tuple(prepared), refused=reasons([*after, *left]))


def _asked(one: Printed) -> tuple[object, ...]:
    """A regression, whatever errors it has where these are not clustered."""
    return one.formula, one.where, one.weights, one.family, one.cluster


def _lists(
    rows: Iterable[Regression], columns: Sequence[str], headers: Mapping[str, Sequence[str]]
) -> list[tuple[Restacked, ...]]:
    """Return the lists of steps before regressions, each up to what no study does.

    Merges leave rows what they are: where nothing else is done, one list has all of them, and of
    two lists that change rows alike the one with more merges serves both.
    """
    listed = [_possible(row.changes, columns, headers) for row in rows]
    merges = (one for steps in listed if not _rows(steps) for one in steps)
    together = _possible({_step(one): one for one in merges}.values(), columns, headers)
    found: dict[tuple[Restacked, ...], tuple[Restacked, ...]] = {}
    for steps in (together, *listed):
        if steps:
            found.setdefault(tuple(map(_step, steps)), steps)
    return [
        steps
        for key, steps in found.items()
        if not any(key != x and _rows(key) == _rows(x) and {*key} <= {*x} for x in found)
    ][:_MOST_LISTS]


def _rows(steps: Iterable[Restacked]) -> list[Restacked]:
    """Steps that change rows."""
    return [_step(one) for one in steps if one.how != "merge"]


def _step(one: Restacked) -> Restacked:
    """A step wherever it is taken."""
    return one._replace(place=("", 0), columns=None)


def _possible(
    changes: Iterable[Restacked], columns: Iterable[str], headers: Mapping[str, Sequence[str]]
) -> tuple[Restacked, ...]:
    """Return steps up to the first that a study cannot take, each with the columns after it."""
    found: list[Restacked] = []
    here = {*columns}
    for one in changes:
        kept = one.parts
        if one.how == "collapse":  # without statistics that a study does not compute
            kept = tuple(x for x in kept if x.split()[0] in STATISTICS and x.split("=")[1] in here)
        here = _after(one._replace(parts=kept), here, headers)
        if not here:
            break
        found.append(one._replace(parts=kept, columns=tuple(sorted(here))))
    return tuple(found)


def _after(one: Restacked, here: set[str], headers: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the columns after a step; none where a study cannot take it."""
    parts, keys = {*one.parts}, {*one.by.split()}
    if one.how == "append":
        return here | {*headers.get(one.by, ())} if one.by else set()
    if one.how == "merge":
        return here | {*headers.get(one.by, ())} if parts and parts <= here else set()
    if one.how == "collapse":
        made = {said.partition(" ")[2].partition("=")[0] for said in parts}
        return keys | made if made and keys and keys <= here else set()
    if len(keys) != 1 or not one.wave:
        return set()
    if one.how == "reshape wide":
        return here - parts - {one.wave} if parts | keys | {one.wave} <= here else set()
    possible = one.varying & here and not (parts | {one.wave}) & here
    return (here - one.varying) | parts | keys | {one.wave} if possible else set()
