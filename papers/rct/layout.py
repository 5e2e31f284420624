"""Comparisons as tables that print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.results.tables import Column, Row, Table, style_named
from papers.rct import liberia
from papers.rct.methods import METHODS
from papers.rct.printed import (
    AVERAGES,
    CONFIDENTIAL,
    REGRESSIONS,
    STEPS,
    TIMES,
    as_printed,
    records,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pandas as pd

_MEASURES = {
    "tau": "Avg. estimate",
    "itt": "ITT",
    "se": "Std. error",
    "p": "Adj. p-value",
    "overlap": "CI overlap",
    "difference": "|difference|",
    "control_mean": "Control mean",
    "seconds": "Seconds, and over MV Histogram",
}
STEP_NAMES = {
    "total": "total",
    "proxies": "generate and fit proxy",
    "parameters": "sanitize model parameters",
    "outcome": "generate outcome",
}
"""Rows of Table 8: their names in ``printed``, and on the page."""

_AVERAGED = {"overlap": "Avg. overlap", "difference": "Med. |difference|"}


def laid_out(table: int, numbers: pd.DataFrame, notes: Iterable[str]) -> Table:
    """Return a table of ours beside the printed.

    Parameters
    ----------
    table : int
    numbers : DataFrame
        See :mod:`papers.rct.comparison`.
    notes : iterable of str

    Returns
    -------
    Table
        Whose cells are text; the unrounded numbers are those of ``numbers``.
    """
    shown = [name for name in _MEASURES if name in set(numbers["measure"])]
    columns = tuple(column for name in shown for column in _columns(table, name))
    return Table(
        columns=columns,
        rows=tuple(_rows(table, numbers, shown)),
        title=f"Table {table}: printed and ours",
        corner="",
        parts=(("estimate", ""),),
        style=style_named("econ"),
        notes=tuple(notes),
    )


def _columns(table: int, measure: str) -> list[Column]:
    over = (_AVERAGED if table in AVERAGES else {}).get(measure, _MEASURES[measure])
    if table in REGRESSIONS:
        return [Column(f"{measure}.{k}", k, over) for k in ("printed", "ours")]
    if table == TIMES:
        return [Column(k, k, over) for k in ("printed", "printed ratio", "our ratio")]
    if table == STEPS:
        return _of_steps(over)
    if table in AVERAGES:
        return [Column(f"{measure}.{k}", k, over) for k in ("printed", "ours", "runs")]
    parts = [Column(f"{measure}.{k}", k, over) for k in ("printed", "median")]
    if measure == "itt":
        parts.append(Column(f"{measure}.range", "5%, 95%", over))
    return [*parts, Column(f"{measure}.share", "share", over)]


def _of_steps(over: str) -> list[Column]:
    ratios = [Column(k, k, over) for k in ("printed", "printed ratio", "our ratio")]
    parts = [Column(f"part.{k}", k, "Part of the total") for k in ("in print", "ours")]
    return [*ratios, *parts]


def _rows(table: int, numbers: pd.DataFrame, shown: list[str]) -> Iterator[Row]:
    """Yield a row per effect of a method, below the name of its panel."""
    section = ""
    frame = numbers.assign(section=_section(table, numbers))
    if table == 1:  # the page has methods side by side
        frame = frame.sort_values("method", key=lambda m: m.map(METHODS.index), kind="stable")
    effects: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
    for number in records(frame):
        key = tuple(str(number[name]) for name in ("section", "row", "method", "arm"))
        effects.setdefault(key, {})[number["measure"]] = number
    for (named, row, method, arm), by_measure in effects.items():
        if named != section:
            section = named
            yield Row(section, section, kind="section")
        cells = [cell for name in shown for cell in _cells(table, by_measure, name)]
        yield Row(f"{row}|{method}|{arm}", _name(table, row, method, arm), tuple(cells))


def _section(table: int, numbers: pd.DataFrame) -> pd.Series[str]:
    if table == 1:
        return numbers["method"]
    if table in AVERAGES or table == TIMES:
        return numbers["row"]
    if table == STEPS:
        return numbers["panel"] + ": " + numbers["method"]
    if table in (6, 17, 18):
        return numbers["panel"] + ": " + numbers["row"]
    return numbers["panel"]


def _name(table: int, row: str, method: str, arm: str) -> str:
    if table == 1:
        return f"epsilon {row}"
    if table in AVERAGES or table == TIMES:
        return method
    if table == STEPS:
        return f"{row}, {STEP_NAMES[arm]}"
    label = liberia.ARMS.get(arm, "Control")
    return f"{method}, {label}" if table in (6, 17, 18) else f"{row}, {label}"


def _cells(table: int, by_measure: dict[str, dict[str, Any]], measure: str) -> list[str]:
    width = len(_columns(table, measure))
    if measure not in by_measure:
        return [""] * width
    number = by_measure[measure]
    text, ours, decimals = number["printed"], number["ours"], number["decimals"]
    if np.isnan(ours):
        return [text, *["-"] * (width - 1)]
    here = as_printed(ours, decimals)
    if table == TIMES:
        return [text, f"{number['printed_ratio']:,.0f}", f"{ours:,.1f}"]
    if table == STEPS:
        ratios = f"{number['printed_ratio']:,.0f}", f"{ours:,.2f}"
        return [text, *ratios, f"{number['printed_part']:.2f}", f"{number['our_part']:.2f}"]
    if table in REGRESSIONS:
        return [text, here if number["same"] else f"{here} !"]
    low, high = (as_printed(number[k], decimals) for k in ("low", "high"))
    if number["method"] == CONFIDENTIAL:
        return [text, here, *[""] * (width - 2)]
    if table in AVERAGES:
        one_run = number["low"] == number["high"]  # which has no extremes
        outside = not one_run and not within(number)
        return [text + "*" * outside, here, "" if one_run else f"[{low}, {high}]"]
    share = "-" if np.isnan(number["share"]) else f"{number['share']:.2f}"
    return [text, here, *([f"{low}, {high}"] if measure == "itt" else []), share]


def within(number: Mapping[str, Any]) -> bool:
    """Return whether a printed average lies among our runs, give or take its rounding."""
    half = 0.5 * 10.0 ** -number["decimals"] + 1e-9
    return bool(number["low"] - half <= number["value"] <= number["high"] + half)
