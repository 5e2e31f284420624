"""What section 8 says of its figures, and whether either law of its noise bears it out."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

RADIUS = ", equation (10)"
"""Ending of the forms whose noise has the length that equation (10) takes it to have."""

NEAR = 2.0
"""Two errors within this multiple of each other are close, and one beyond it is far from the other.

A minimum within it of T0, the next value of the paper's grid, is near T0.
"""

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
        yield from _figure_7(by_lambda, law)
    at_T0 = table[table["lambda"].eq(table["T0"]) & table["n"].isin((10, 100))]
    at_T0 = at_T0[at_T0["T0"].isin((10, 100))]
    if at_T0["epsilon"].nunique() > 2:
        yield from _figure_5(at_T0, law)
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
    for words, errors in (("output", output), ("objective", objective)):
        at = _smallest(errors)
        yield Claim(
            "3", f"{words}: smallest error around lambda = T0 = 10 (section 8.2)", LAWS[law],
            f"smallest at {at:g}", 10 / NEAR <= at <= 10 * NEAR,
        )  # fmt: skip
        yield Claim(
            "3", f"{words}: a curve of the shape of a U (section 8.2)", LAWS[law],
            f"first, smallest and last error {errors.iloc[0]:,.3g}, {errors.min():,.3g}, "
            f"{errors.iloc[-1]:,.3g}", at not in (errors.index[0], errors.index[-1]),
        )  # fmt: skip
    last = [float(errors.iloc[-1]) for errors in (ridge, output, objective)]
    yield Claim(
        "3", "the three methods converge as lambda grows (section 8.2)", LAWS[law],
        f"at {ridge.index[-1]:g}: ridge {last[0]:,.3g}, output {last[1]:,.3g}, objective "
        f"{last[2]:,.3g}", max(last) < NEAR * min(last),
    )  # fmt: skip
    few = output.index <= 20
    above = (output[few] > ridge[few]) & (objective[few] > ridge[few])
    yield Claim(
        "3", "both above the ridge for lambda <= 20 (section 8.2)", LAWS[law],
        f"at {above.sum()} of {few.sum()} lambdas", bool(above.all()),
    )  # fmt: skip
    below, ratio = objective[few] < output[few], float((output[few] / objective[few]).median())
    yield Claim(
        "3", "objective far below output for lambda <= 20 (section 8.2)", LAWS[law],
        f"below at {below.sum()} of {few.sum()}; median ratio {ratio:.3g}",
        bool(below.all()) and ratio > NEAR,
    )  # fmt: skip
    yield from _figure_4(small, law, output, objective)


def _figure_4(
    small: pd.DataFrame, law: str, output: pd.Series[float], objective: pd.Series[float]
) -> Iterator[Claim]:
    few = output.index <= 20
    below = objective[few] < output[few]
    last = output.iloc[-1], objective.iloc[-1]
    yield Claim(
        "4", "objective better at smaller lambda, both the same at large ones (section 8.2)",
        LAWS[law],
        f"below at {below.sum()} of {few.sum()} lambdas <= 20; at {output.index[-1]:g} output "
        f"{last[0]:,.3g}, objective {last[1]:,.3g}",
        bool(below.all()) and max(last) < NEAR * min(last),
    )  # fmt: skip
    for words in ("output", "objective"):
        rows = small[small["form"].eq(f"{words}{law}")]
        over = rows["rmse"] - 3 * rows["se"] > rows["bound.printed"]
        ratio = float((rows["bound.printed"] / rows["rmse"]).median())
        yield Claim(
            "4", f"{words}: errors dramatically better than the printed bound (section 8.2)",
            LAWS[law],
            f"above it at {over.sum()} of {len(rows)} lambdas; median bound over error "
            f"{ratio:.3g}", not over.any() and ratio > NEAR,
        )  # fmt: skip


def _figure_7(table: pd.DataFrame, law: str) -> Iterator[Claim]:
    for words in ("output", "objective"):
        errors = _rmse(table, f"{words}{law}", "lambda")
        sets = _sets(errors)
        at = [_minimum(errors, n, T0) for n, T0 in sets]
        near = [T0 / NEAR <= lam <= T0 * NEAR for lam, (_, T0) in zip(at, sets, strict=True)]
        yield Claim(
            "7", f"{words}: smallest errors around lambda = T0 for (n, T0) = (10, 10), (100, 10), "
            "(10, 100), (100, 100): 10, 10, 100, 100 (section 8.4)", LAWS[law],
            f"at lambda {', '.join(f'{lam:g}' for lam in at)}", all(near),
        )  # fmt: skip
    most = [
        float(_rmse(table, f"{words}{law}", "lambda").max()) for words in ("output", "objective")
    ]
    yield Claim(
        "7", "output: errors on a larger scale, which hides its U (section 8.4)", LAWS[law],
        f"largest error: output {most[0]:,.3g}, objective {most[1]:,.3g}", most[0] > NEAR * most[1],
    )  # fmt: skip


def _sets(errors: pd.Series[float]) -> list[tuple[int, int]]:
    """Return the data sets (n, T0) that are there, in the order of the paper's four."""
    there = {(int(n), int(T0)) for n, T0, _ in errors.index}
    return [one for one in ((10, 10), (100, 10), (10, 100), (100, 100)) if one in there]


def _figure_5(table: pd.DataFrame, law: str) -> Iterator[Claim]:
    every = [_rmse(table, f"{form}{law}", "epsilon") for form in ("output", "objective")]
    output, objective = (_of_set(errors, 10, 10) for errors in every)
    falls = [bool(errors.is_monotonic_decreasing) for errors in (output, objective)]
    yield Claim(
        "5", "error diminishes with larger epsilon (section 8.3)", LAWS[law],
        f"from epsilon {output.index[0]:g} to {output.index[-1]:g}: output {output.iloc[0]:,.3g} "
        f"to {output.iloc[-1]:,.3g}, objective {objective.iloc[0]:,.3g} to "
        f"{objective.iloc[-1]:,.3g}", all(falls),
    )  # fmt: skip
    better = objective < output
    yield Claim(
        "5", "n = T0 = 10: objective smaller for most epsilons (section 8.3)", LAWS[law],
        f"at {better.sum()} of {len(better)}", bool(better.mean() > 0.5),
    )  # fmt: skip
    yield Claim(
        "5", "n = T0 = 10: output slightly better at epsilon 2 (section 8.3)", LAWS[law],
        f"output {output[2.0]:,.3g}, objective {objective[2.0]:,.3g}",
        _slightly(output[2.0], objective[2.0]),
    )  # fmt: skip
    sets = _sets(every[0])
    others = [_at(every[0], *one, 2.0) < _at(every[1], *one, 2.0) for one in sets]
    yield Claim(
        "5", "output is not better at epsilon 2 on all data sets (section 8.3)", LAWS[law],
        f"better on {sum(others)} of {len(others)}", not all(others),
    )  # fmt: skip


def _slightly(better: float, worse: float) -> bool:
    """Return whether one error is below another and close to it."""
    return bool(1 < worse / better < NEAR)


def _figure_6(table: pd.DataFrame, law: str) -> Iterator[Claim]:
    laplace = _rmse(table, f"objective{law}", "epsilon")
    sets = _sets(laplace)
    small = [_at(laplace, n, T0) for n, T0 in sets if n == 10]
    many = min(_at(laplace, n, T0) for n, T0 in sets if n == 100)
    yield Claim(
        "6", "delta = 0: the sets with n = 10 below those with n = 100 (section 8.3)", LAWS[law],
        f"at epsilon 4, n = 10: at most {max(small):,.3g}; n = 100: at least {many:,.3g}",
        bool(max(small) < many),
    )  # fmt: skip
    yield Claim(
        "6", "delta = 0: the two sets with n = 10 are comparable (section 8.3)", LAWS[law],
        f"at epsilon 4: {', '.join(f'{one:,.3g}' for one in small)}",
        bool(max(small) < NEAR * min(small)),
    )  # fmt: skip
    if law:
        return  # the paper has no length of its own for normal noise beyond its bound
    normal = _rmse(table, "objective, normal", "epsilon")
    better = normal < laplace
    yield Claim(
        "6", "normal noise is better for most epsilons (section 8.3)", LAWS[law],
        f"smaller at {better.sum()} of {len(better)} sets and epsilons", bool(better.mean() > 0.5)
    )  # fmt: skip
    yield from _figure_6_where(laplace / normal, law)
    best = sorted(sets, key=lambda one: _at(normal, *one))
    yield Claim(
        "6", "normal noise: the two sets with T0 = 100 are best (section 8.3)", LAWS[law],
        f"at epsilon 4 from the best: {', '.join(map(str, best))}",
        {T0 for _, T0 in best[:2]} == {100},
    )  # fmt: skip
    errors = sorted(_at(normal, *one) for one in sets)
    yield Claim(
        "6", "normal noise: the four sets are apart from each other (section 8.3)", LAWS[law],
        f"at epsilon 4: {', '.join(f'{error:,.3g}' for error in errors)}",
        all(more > NEAR * less for less, more in itertools.pairwise(errors)),
    )  # fmt: skip


def _figure_6_where(gain: pd.Series[float], law: str) -> Iterator[Claim]:
    """Where normal noise helps most, by the median of Laplace's error over that of normal noise."""
    epsilon, T0 = (gain.index.get_level_values(name) for name in ("epsilon", "T0"))
    for words, most, least in (
        ("for epsilon < 10", epsilon < 10, epsilon >= 10),
        ("with T0 = 100", T0 == 100, T0 == 10),
    ):
        there, elsewhere = float(gain[most].median()), float(gain[least].median())
        yield Claim(
            "6", f"normal noise is better especially {words} (section 8.3)", LAWS[law],
            f"median error of Laplace over normal noise {there:.3g}, elsewhere {elsewhere:.3g}",
            there > max(1.0, elsewhere),
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
    sets = _sets(output)
    first = [(_at(output, *one, 2.0), _at(objective, *one, 2.0)) for one in sets if one[0] == 10]
    yield Claim(
        "8", "output slightly outperforms objective at epsilon 2 on the sets with n = 10 "
        "(section 8.4)", LAWS[law],
        "output and objective: " + "; ".join(f"{a:,.3g} and {b:,.3g}" for a, b in first),
        all(_slightly(*one) for one in first),
    )  # fmt: skip
    spread = [
        max(_at(errors, *one) for one in sets) / min(_at(errors, *one) for one in sets)
        for errors in (output, objective)
    ]
    yield Claim(
        "8", "objective depends less on the size of the data (section 8.4)", LAWS[law],
        f"largest over smallest error of the four at epsilon 4: output {spread[0]:.3g}, objective "
        f"{spread[1]:.3g}", spread[1] < spread[0],
    )  # fmt: skip
    yield from _figure_8_sizes(output, objective, law)


def _figure_8_sizes(
    output: pd.Series[float], objective: pd.Series[float], law: str
) -> Iterator[Claim]:
    few, many = (output.xs(n, level="n") for n in (10, 100))
    ratio = many / few
    early = ratio[ratio.index.get_level_values("epsilon") < 100]
    late = ratio[ratio.index.get_level_values("epsilon") >= 100]
    yield Claim(
        "8", "output: smaller n is far better, especially for epsilon < 100 (section 8.4)",
        LAWS[law],
        f"median error at n = 100 over that at n = 10: {early.median():.3g}, for epsilon >= 100 "
        f"{late.median():.3g}",
        bool(early.median() > NEAR and early.median() > late.median()),
    )  # fmt: skip
    yield Claim(
        "8", "output: error grows with n over epsilon, tenfold here (sections 5.1.1 and 8.4)",
        LAWS[law], f"median error at n = 100 over that at n = 10: {ratio.median():.3g}",
        bool(10 / NEAR < ratio.median() < 10 * NEAR),
    )  # fmt: skip
    long, short = (objective.xs(T0, level="T0") for T0 in (100, 10))
    along = float((long / short).median())
    yield Claim(
        "8", "objective: the dependence on T0 of its bound is hardly seen (section 8.4)", LAWS[law],
        f"median error at T0 = 100 over that at T0 = 10: {along:.3g}", 1 / NEAR < along < NEAR,
    )  # fmt: skip
