"""From released regressions to the rows of a file that carries them: all post-processing."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.certificate.valid_declared import rows_where
from dprct.certificate.valid_regressions import LONGEST_ERROR, Validity
from dprct.errors import ParameterError
from dprct.formula import design
from dprct.lazy import pandas as pd
from dprct.missing import tagged
from dprct.privacy.noise import repeatedly
from dprct.records import dataclass
from dprct.release.calibrated.layout import right_side
from dprct.release.calibrated.residuals import Specification, residuals
from dprct.release.columns import assembled, own

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.certificate.valid_declared import ValidRegression
    from dprct.release.calibrated.layout import Layout, TermSet
    from dprct.release.calibrated.outcomes import PublicRows
    from dprct.schema.schema import Schema

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Aim:
    """What a declared regression on the file is to return."""

    regression: ValidRegression  # carried, or not; no rows are known yet
    # effects, covariance: as released; the error of an effect is that of its 95 % interval.
    effects: Array
    covariance: Array
    level: float = 0.0  # about the mean of the outcome


def masks_of(
    regressions: Sequence[ValidRegression],
    columns: Mapping[str, Any] | pd.DataFrame,
    observed: Mapping[str, Mask],
) -> list[Mask]:
    """Return the rows (n,) of each regression: those with a value that meet its condition."""
    found = []
    for one in regressions:
        there = observed[one.outcome]
        found.append(there if one.where is None else there & rows_where(one.where, columns))
    return found


def carried_of(
    regressions: Sequence[ValidRegression], masks: Sequence[Mask]
) -> list[ValidRegression]:
    """Return what a file of these rows carries: of those that share rows, the first.

    Notes
    -----
    An outcome has one residual in every row.  Two regressions of it on the same rows were released
    with noise of their own, so that no one outcome returns both; on rows that are apart it does.
    """
    taken: dict[str, Mask] = {}
    found = []
    for one, mask in zip(regressions, masks, strict=True):
        before = taken.get(one.outcome)
        if before is not None and bool((before & mask).any()):
            found.append(replace(one, carries="nothing"))
            continue
        taken[one.outcome] = mask if before is None else before | mask
        found.append(one)
    return found


def planned(regressions: Sequence[ValidRegression]) -> tuple[ValidRegression, ...]:
    """Return what a file will carry as far as the regressions themselves tell.

    Of those of one outcome that are about the same rows it is the first; whether others share rows
    is known when public rows are.
    """
    found, taken = [], set[tuple[str, str | None]]()
    for one in regressions:
        rows = one.outcome, one.where
        everywhere = {where for outcome, where in taken if outcome == one.outcome}
        shares = rows in taken or (everywhere and (None in everywhere or one.where is None))
        found.append(replace(one, carries="nothing") if shares else one)
        if not shares:
            taken.add(rows)
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Carried:
    """The rows of a file that carries declared regressions."""

    layout: Layout
    table: pd.DataFrame
    rows: tuple[int, ...]  # rows with each outcome
    regressions: tuple[ValidRegression, ...]  # all that were declared, as the file carries them

    @classmethod
    def of(
        cls,
        layout: Layout,
        columns: Mapping[str, NDArray[Any]],
        rows: PublicRows,
        aims: Sequence[Aim],
        rng: np.random.Generator,
    ) -> Carried:
        """Make the rows, in the order of the file to be; every declared regression has an aim."""
        n, names = len(rows.arms), layout.regressions.outcomes
        known = {**columns, **rows.columns, **{name: np.zeros(n) for name in names}}
        unsorted = replace(layout.schema, file=replace(layout.schema.file, sorted_by=()))
        first = assembled(unsorted, {}, {}, n, rng, given=known).native
        there = dict(zip(names, rows.observed, strict=True))
        masks = masks_of([aim.regression for aim in aims], first, there)
        values = {name: np.full(n, np.nan) for name in names}
        told = [
            _carried(aim, values[aim.regression.outcome], mask, first, layout.schema, rng)
            for aim, mask in zip(aims, masks, strict=True)
        ]
        for name, mask in there.items():
            level = next(aim.level for aim in aims if aim.regression.outcome == name)
            _fill(values[name], mask, level, rng)
        rest = (name for name in first.columns if name not in values)
        given = {name: own(first[name]) for name in rest} | values
        table = assembled(layout.schema, {}, {}, n, rng, given=given).native
        return cls(layout, table, tuple(int(there[name].sum()) for name in names), tuple(told))

    def words(self) -> str:
        """Return in one sentence what a reader's regressions return."""
        by = {
            kind: [one.title for one in self.regressions if one.carries == kind]
            for kind in ("all", "effects", "nothing")
        }
        said = []
        if by["all"]:
            said.append(f"{'; '.join(by['all'])} return the released effects and errors exactly")
        if by["effects"]:
            said.append(
                f"{'; '.join(by['effects'])} return the released effects exactly, and errors that "
                "their clusters cannot carry: take the released ones"
            )
        if by["nothing"]:
            said.append(
                f"{'; '.join(by['nothing'])} cannot be carried beside the others: take the "
                "released numbers"
            )
        return "; ".join(said)

    def longest(self, levels: tuple[float, ...]) -> Validity:
        """Return the longest that a file of these rows may say of itself."""
        told = tuple(
            replace(one, carries="nothing", released=tuple(
                (name, -LONGEST_ERROR, LONGEST_ERROR) for name, *_ in one.released
            ))
            for one in self.regressions
        )  # fmt: skip
        return replace(self, regressions=told).valid(levels)

    def valid(self, levels: tuple[float, ...]) -> Validity:
        """Return what the file says of itself."""
        regressions, first = self.layout.regressions, self.regressions[0]
        return Validity(
            outcomes=regressions.outcomes,
            arms=regressions.arms,
            covariates=regressions.covariates,
            cov_type="HC1" if first.cluster is None else "CR1",
            cluster=first.cluster,
            levels=levels,
            rows=self.rows,
            declared=self.regressions,
        )


def _carried(
    aim: Aim, values: Array, mask: Mask, table: pd.DataFrame, schema: Schema,
    rng: np.random.Generator,
) -> ValidRegression:  # fmt: skip
    """Write the outcome (n,) of the rows of a regression, and return it as the file carries it.

    Notes
    -----
    With W = [T, V] the columns that the command has on the file (V the constant, covariates and
    dummies), ``y = m + T theta + e`` with ``V'e = 0`` and ``T'e = 0``: least squares of y on W has
    the coefficient theta of T, whatever the file's covariates are, and the residuals e.  What is
    left is that ``A' diag(e^2) A`` times n/(n - k), or of sums over clusters, is the released
    covariance, A being the columns of ``W (W'W)^-1`` that belong to T (docs/methods.md).  It is a
    function of released numbers, of the file's own columns and of fresh noise.
    """
    one = aim.regression
    arms = design(right_side(one.arms), table, schema, levels="data")
    names = arms.columns[1:]
    errors = np.sqrt(np.diag(aim.covariance)).tolist()
    told = tuple(zip(names, aim.effects.tolist(), errors, strict=True))
    one = replace(one, released=told)
    if one.carries == "nothing":
        return one
    V, complete = _matrix(one.covariates, table, schema)
    treated, used = _matrix(one.arms, table, schema)
    here = mask & used & complete
    T = treated[here][:, 1:]
    e, exact = _residuals(aim, T, V[here], _clusters(one, table, here), rng)
    y = T @ aim.effects
    values[here] = aim.level - float(y.mean()) + y + e
    return replace(one, carries="all" if exact else "effects", rows=int(here.sum()))


def _fill(values: Array, there: Mask, level: float, rng: np.random.Generator) -> None:
    """Give rows with a value in no carried regression one about the mean: it tells nothing."""
    rest = there & np.isnan(values)
    others = values[there & ~rest] - level
    spread = float(np.linalg.norm(others)) / math.sqrt(len(others)) if len(others) else 1.0
    values[rest] = level + spread * rng.standard_normal(int(rest.sum()))
    values[~there] = tagged(np.zeros(int((~there).sum())))


def _residuals(
    aim: Aim, T: Array, V: Array, groups: NDArray[np.int64] | None, rng: np.random.Generator
) -> tuple[Array, bool]:
    """Return residuals with the released errors; where clusters allow none, those of rows."""
    start = repeatedly(lambda rng: rng.standard_normal(len(T)), rng)
    if groups is not None:
        shared = start() + rng.standard_normal(len(set(groups.tolist())))[groups]
        try:
            found = residuals([Specification(T, V, aim.covariance, groups)], shared)
        except ParameterError:  # the effects may exist all the same
            found = None
        if found is not None and all(found.exact):
            return found.values, True
        return residuals([Specification(T, V, aim.covariance)], start).values, False
    found = residuals([Specification(T, V, aim.covariance)], start)
    return found.values, all(found.exact)


def _matrix(terms: TermSet, table: pd.DataFrame, schema: Schema) -> tuple[Array, Mask]:
    """Return a constant and the columns of terms (n, p), and which rows are complete."""
    found = design(right_side(terms), table, schema, levels="data")
    whole = np.zeros((len(table), found.X.shape[1]))
    whole[found.used] = found.X
    return whole, found.used


def _clusters(one: ValidRegression, table: pd.DataFrame, here: Mask) -> NDArray[np.int64] | None:
    if one.cluster is None:
        return None
    codes = pd.factorize(table[one.cluster][here], use_na_sentinel=False)[0]
    return np.asarray(codes, np.int64)
