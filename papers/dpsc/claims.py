"""What section 8 says of its figures, and whether either law of its noise bears it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

RADIUS = ", equation (10)"
"""Ending of the forms whose noise has the length that equation (10) takes it to have."""

NEAR = 2.0
"""A minimum within this multiple of T0, the next value of the paper's grid, is counted as near."""

LAWS = {RADIUS: "equation (10)", "": "density"}


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of section 8 on a figure, under one law of the noise.

    Parameters
    ----------
    figure : str
    said : str
        By the paper, with its section.
    law : {"equation (10)", "density"}
    found : str
        Here.
    holds : bool
    """

    figure: str
    said: str
    law: str
    found: str
    holds: bool


def claims(table: pd.DataFrame) -> list[Claim]:
    """Return every claim of which the settings are in a table of errors, under both laws.

    Parameters
    ----------
    table : DataFrame
        As of :class:`papers.dpsc.Experiments`.
    """
    return [one for law in LAWS for one in _of_law(table, law)]


def _of_law(table: pd.DataFrame, law: str) -> Iterator[Claim]:
    by_lambda = table[table["epsilon"].eq(100)]
    if by_lambda["lambda"].nunique() > 2:
        yield from _figures_3_and_4(by_lambda, law)
        yield _figure_7(by_lambda, law)
    at_T0 = table[table["lambda"].eq(table["T0"]) & table["n"].isin((10, 100))]
    at_T0 = at_T0[at_T0["T0"].isin((10, 100))]
    if at_T0["epsilon"].nunique() > 2:
        yield _figure_5(at_T0, law)
        yield from _figure_6(at_T0, law)
        yield from _figure_8(at_T0, law)


def _rmse(table: pd.DataFrame, form: str, along: str) -> pd.Series[float]:
    """Return the errors of a form, by data set and one thing more."""
    return table[table["form"].eq(form)].set_index(["n", "T0", along])["rmse"].sort_index()


def _of_set(errors: pd.Series[float], n: int, T0: int) -> pd.Series[float]:
    """Return the errors on one data set."""
    found: pd.Series[float] = errors.xs((n, T0))
    return found


def _at(errors: pd.Series[float], n: int, T0: int, at: float = 4.0) -> float:
    """Return the error on one data set at an epsilon."""
    return float(_of_set(errors, n, T0)[at])


def _minimum(errors: pd.Series[float], n: int, T0: int) -> float:
    """Return where the error on one data set is smallest."""
    return _smallest(_of_set(errors, n, T0))


def _smallest(errors: pd.Series[float]) -> float:
    """Return where an error is smallest."""
    return float(errors.index[int(np.argmin(errors.to_numpy()))])


def _figures_3_and_4(table: pd.DataFrame, law: str) -> Iterator[Claim]:
    small = table[table["n"].eq(10) & table["T0"].eq(10)]
    ridge, output, objective = (
        _of_set(_rmse(small, form, "lambda"), 10, 10)
        for form in ("ridge", f"output{law}", f"objective{law}")
    )
    least = {"output": _smallest(output), "objective": _smallest(objective)}
    for words, at in least.items():
        yield Claim(
            "3", f"{words}: smallest error around lambda = T0 = 10 (section 8.2)", LAWS[law],
            f"smallest at {at:g}", 10 / NEAR <= at <= 10 * NEAR,
        )  # fmt: skip
    few = output.index <= 20
    above = (output[few] > ridge[few]) & (objective[few] > ridge[few])
    yield Claim(
        "3", "both above the ridge for lambda <= 20 (section 8.2)", LAWS[law],
        f"at {above.sum()} of {few.sum()} lambdas", bool(above.all()),
    )  # fmt: skip
    below = objective[few] < output[few]
    yield Claim(
        "3", "objective far below output for lambda <= 20 (section 8.2)", LAWS[law],
        f"below at {below.sum()} of {few.sum()}; median ratio "
        f"{np.median(output[few] / objective[few]):.3g}", bool(below.all()),
    )  # fmt: skip
    for words in ("output", "objective"):
        rows = small[small["form"].eq(f"{words}{law}")]
        over = rows["rmse"] - 3 * rows["se"] > rows["bound.printed"]
        ratio = float((rows["bound.printed"] / rows["rmse"]).median())
        yield Claim(
            "4", f"{words}: errors far below the printed bound (section 8.2)", LAWS[law],
            f"above it at {over.sum()} of {len(rows)} lambdas; median bound over error "
            f"{ratio:.3g}", not over.any(),
        )  # fmt: skip


def _figure_7(table: pd.DataFrame, law: str) -> Claim:
    said, near = [], []
    for words in ("output", "objective"):
        errors = _rmse(table, f"{words}{law}", "lambda")
        at = [_minimum(errors, n, T0) for n, T0 in _sets(errors)]
        said.append(f"{words} {', '.join(f'{lam:g}' for lam in at)}")
        near += [
            T0 / NEAR <= lam <= T0 * NEAR
            for lam, (_, T0) in zip(at, _sets(errors), strict=True)
        ]  # fmt: skip
    return Claim(
        "7", "smallest errors around lambda = T0 for (n, T0) = (10, 10), (100, 10), (10, 100), "
        "(100, 100): 10, 10, 100, 100 (section 8.4)", LAWS[law], f"at lambda: {'; '.join(said)}",
        all(near),
    )  # fmt: skip


def _sets(errors: pd.Series[float]) -> list[tuple[int, int]]:
    """Return the data sets (n, T0) that are there, in the order of the paper's four."""
    there = {(int(n), int(T0)) for n, T0, _ in errors.index}
    return [one for one in ((10, 10), (100, 10), (10, 100), (100, 100)) if one in there]


def _figure_5(table: pd.DataFrame, law: str) -> Claim:
    output, objective = (
        _of_set(_rmse(table, f"{form}{law}", "epsilon"), 10, 10) for form in ("output", "objective")
    )
    at = 2.0
    ratio, better = objective[at] / output[at], objective < output
    return Claim(
        "5", "n = T0 = 10: objective smaller for most epsilons, output slightly better at "
        "epsilon 2 (section 8.3)", LAWS[law],
        f"objective smaller at {better.sum()} of {len(better)}; at epsilon 2 output "
        f"{output[at]:,.3g}, objective {objective[at]:,.3g}",
        bool(better.mean() > 0.5 and 1 < ratio < NEAR),
    )  # fmt: skip


def _figure_6(table: pd.DataFrame, law: str) -> Iterator[Claim]:
    laplace = _rmse(table, f"objective{law}", "epsilon")
    sets = _sets(laplace)
    few = max(_at(laplace, n, T0) for n, T0 in sets if n == 10)
    many = min(_at(laplace, n, T0) for n, T0 in sets if n == 100)
    yield Claim(
        "6", "delta = 0: the sets with n = 10 below those with n = 100 (section 8.3)", LAWS[law],
        f"at epsilon 4, n = 10: at most {few:,.3g}; n = 100: at least {many:,.3g}", bool(few < many)
    )  # fmt: skip
    if law:
        return  # the paper has no length of its own for normal noise beyond its bound
    normal = _rmse(table, "objective, normal", "epsilon")
    better = normal < laplace
    best = sorted(sets, key=lambda one: _at(normal, *one))
    yield Claim(
        "6", "normal noise is better for most epsilons (section 8.3)", LAWS[law],
        f"smaller at {better.sum()} of {len(better)} sets and epsilons", bool(better.mean() > 0.5)
    )  # fmt: skip
    yield Claim(
        "6", "normal noise: the two sets with T0 = 100 are best (section 8.3)", LAWS[law],
        f"at epsilon 4 from the best: {', '.join(map(str, best))}",
        {T0 for _, T0 in best[:2]} == {100},
    )  # fmt: skip


def _figure_8(table: pd.DataFrame, law: str) -> Iterator[Claim]:
    output, objective = (
        _rmse(table, f"{form}{law}", "epsilon") for form in ("output", "objective")
    )
    later = output.index.get_level_values("epsilon") >= 4
    better = (objective < output)[later]
    yield Claim(
        "8", "objective smaller on all sets for epsilon >= 4 (section 8.4)", LAWS[law],
        f"at {better.sum()} of {len(better)}", bool(better.all()),
    )  # fmt: skip
    spread = [
        max(_at(errors, *one) for one in _sets(errors))
        / min(_at(errors, *one) for one in _sets(errors))
        for errors in (output, objective)
    ]
    yield Claim(
        "8", "objective depends less on the size of the data (section 8.4)", LAWS[law],
        f"largest over smallest error of the four at epsilon 4: output {spread[0]:.3g}, objective "
        f"{spread[1]:.3g}", spread[1] < spread[0],
    )  # fmt: skip
