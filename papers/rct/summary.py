"""What a comparison amounts to, and what has to be said below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from papers.rct import reasons
from papers.rct.comparison import RUN
from papers.rct.layout import STEP_NAMES, within
from papers.rct.printed import (
    AVERAGES,
    BASE,
    CONFIDENTIAL,
    REGRESSIONS,
    STEPS,
    TIMES,
    as_printed,
    printed,
    records,
)

if TYPE_CHECKING:
    import pandas as pd


def summary(table: int, numbers: pd.DataFrame) -> str:
    """Return in one sentence how many printed numbers ours agree with.

    Parameters
    ----------
    table : int
    numbers : DataFrame
        See :mod:`papers.rct.comparison`.
    """
    if table == TIMES:
        return _ratios(numbers)
    if table == STEPS:
        return _parts(numbers)
    if table in REGRESSIONS:
        mended = numbers["panel"] == reasons.CORRECTED
        words = f"{numbers[~mended]['same'].sum()} of {(~mended).sum()} printed numbers are ours"
        if mended.any():
            words += f"; without the slip {(~numbers[mended]['same']).sum()} of "
            words += f"{mended.sum()} in the full panel differ"
        return words + "."
    return "; ".join(_per_method(table, numbers)) + "."


def _ratios(numbers: pd.DataFrame) -> str:
    words = []
    for method in dict.fromkeys(numbers["method"]):
        group = numbers[numbers["method"] == method]
        theirs, ours = group["printed_ratio"].median(), group["ours"].median()
        if method != BASE:
            words.append(f"{method} {theirs:,.0f} printed, {ours:,.1f} ours")
    return f"Times over that of the {BASE}, medians: {'; '.join(words)}."


def _parts(numbers: pd.DataFrame) -> str:
    words = []
    for step, name in STEP_NAMES.items():
        group = numbers[numbers["arm"] == step]
        theirs, ours = group["printed_part"].median(), group["our_part"].median()
        if step != "total":
            words.append(f"{name} {theirs:.0%} printed, {ours:.0%} ours")
    return f"Parts of an outcome's time, medians: {'; '.join(words)}."


def _per_method(table: int, numbers: pd.DataFrame) -> list[str]:
    found = []
    for method in dict.fromkeys(numbers["method"]):
        group = numbers[numbers["method"] == method]
        there = group[group["ours"].notna()]
        if method == CONFIDENTIAL:
            cells = zip(there["ours"], there["value"], there["decimals"], strict=True)
            same = sum(as_printed(a, d) == as_printed(b, d) for a, b, d in cells)
            found.append(f"{method}: {same} of {len(there)} the same")
        elif table in AVERAGES:
            found.append(f"{method}: {_among_runs(there)}")
        else:
            found.append(f"{method}: {_inside(there)} printed ITT within our 5% and 95%")
    return found


def _among_runs(there: pd.DataFrame) -> str:
    """Return how many printed values are among our runs, and how many of any run would be."""
    runs = int(there["runs"].min()) if len(there) else 0
    if runs < 2:
        return f"fewer than two whole runs of {RUN}, among which no printed value can be looked for"
    inside = sum(within(number) for number in records(there))
    return (
        f"{inside} of {len(there)} printed values among our {runs} runs, where "
        f"{expected_inside(runs):.0%} of those of another run can be expected"
    )


def expected_inside(runs: int) -> float:
    """Return the probability that one run more is between the extremes of so many.

    Examples
    --------
    >>> round(expected_inside(2), 2), round(expected_inside(5), 2)
    (0.33, 0.67)
    """
    return (runs - 1) / (runs + 1)


def _inside(there: pd.DataFrame) -> str:
    itt = there[there["measure"] == "itt"]
    half = 0.5 * 10.0 ** -itt["decimals"].to_numpy(np.float64)
    inside = (itt["low"] - half <= itt["value"]) & (itt["value"] <= itt["high"] + half)
    return f"{inside.sum()} of {len(itt)}"


def notes_of(table: int, *, generated: bool, draws: int) -> tuple[str, ...]:
    """Return the notes of a table: how it was made, and why it differs where it does.

    Parameters
    ----------
    table : int
    generated : bool
        Whether the confidential data are of our own generator.
    draws : int
        Releases per method.
    """
    if table == 11:
        return (reasons.TABLE_11,)
    if table == TIMES:
        return (reasons.TIMES, reasons.DIRECT, reasons.WHOLE, reasons.NO_GUARANTEE)
    if table == STEPS:
        return (reasons.STEPS, reasons.DIRECT, reasons.NO_GUARANTEE)
    if table == 12:
        return (reasons.TABLE_12, reasons.SLIP)
    methods = set(printed(table)["method"]) - {CONFIDENTIAL}
    of_paper = [m for m in reasons.BY_METHOD if any(_is(m, name) for name in methods)]
    found = [_how(table, draws), reasons.OVERLAP]
    found += [reasons.GENERATED] if generated else []
    found += [reasons.BY_METHOD[name] for name in of_paper]
    if "GenModel" in of_paper:
        found.append(reasons.GENMODEL_SIMULATED if table in AVERAGES else reasons.GENMODEL_LIBERIA)
    if table not in AVERAGES:
        found += [reasons.SLIP] if table != 6 else []
        found += [reasons.ASSIGNMENT] if set(of_paper) - {"MV Histogram"} else []
    return (*found, reasons.NO_GUARANTEE)


def _how(table: int, draws: int) -> str:
    if table not in AVERAGES:
        return f"{draws} draws. {reasons.SINGLE_DRAW}"
    runs = draws // RUN
    if runs < 2:
        return reasons.ONE_RUN.format(of=min(draws, RUN))
    return reasons.AVERAGES.format(of=min(draws, RUN), runs=runs, chance=2 / (runs + 1))


def _is(method: str, name: str) -> bool:
    return name.startswith("GenM") if method == "GenModel" else name == method
