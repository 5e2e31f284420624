"""From released effects and synthetic covariates to the rows of a calibrated file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.certificate.valid_regressions import Validity
from dprct.release.fates import assembled
from dprct.release.outcomes import (
    Constructed,
    constructed,
    constructed_anywhere,
    covariate_matrices,
    legalised,
)
from dprct.results.ols import ols

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from dprct.release.layout import Layout
    from dprct.release.outcomes import Target
    from dprct.release.public_rows import PublicRows

_EQUAL = 1e-9
"""How near to 1 the ratio of classical errors is where they are said to be valid."""


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """The rows of a calibrated file, and how well they return what was released.

    Parameters
    ----------
    layout : Layout
    table : (n, ...) DataFrame
    outcomes : tuple of Constructed
    rows : tuple of int
        Rows with each outcome.
    clusters : str or None
        Column of the clusters.
    errors : tuple of (float, float)
        With legal values only, for each outcome: the largest gap of an effect in released
        standard errors, and the ratio of errors that is farthest from 1.
    """

    layout: Layout
    table: pd.DataFrame
    outcomes: tuple[Constructed, ...]
    rows: tuple[int, ...]
    clusters: str | None
    errors: tuple[tuple[float, float], ...] = ()

    @classmethod
    def of(
        cls,
        layout: Layout,
        columns: Mapping[str, NDArray[Any]],
        rows: PublicRows,
        targets: Sequence[Target],
        clusters: str | None,
        rng: np.random.Generator,
    ) -> Calibration:
        """Make the rows: post-processing of what was released.

        Parameters
        ----------
        layout : Layout
        columns : mapping of str to (n,) array
            Synthetic covariates.
        rows : PublicRows
            In the order of the file to be.
        targets : sequence of Target
            One per outcome.
        clusters : str or None
        rng : numpy.random.Generator
        """
        n, names = len(rows.arms), layout.regressions.outcomes
        known = {**columns, **rows.columns, **{name: np.zeros(n) for name in names}}
        first = assembled(layout.before_outcomes(), known, {}, n, rng)
        matrices, used = covariate_matrices(layout.regressions.covariates, first, layout.schema)
        made = tuple(
            constructed_anywhere(target, matrices, rows, used, rng)
            if target.counts
            else constructed(target, matrices, rows, mask & used, rng)
            for target, mask in zip(targets, rows.observed, strict=True)
        )
        values = {
            column.name: legalised(column, one.values) if layout.strict else one.values
            for column, one in zip(layout.outcomes, made, strict=True)
        }
        known = {name: first[name].to_numpy() for name in first.columns} | values
        table = assembled(layout.with_outcomes(), known, {}, n, rng)
        counts = tuple(int((~np.isnan(one.values)).sum()) for one in made)
        errors = _errors(layout, table, targets, clusters) if layout.strict else ()
        return cls(layout, table, made, counts, clusters, errors)

    @property
    def exact(self) -> bool:
        """Whether every declared regression returns the released errors, to the last digit."""
        return not self.errors and all(flag for one in self.outcomes for flag in one.exact)

    @property
    def largest(self) -> float:
        """The largest ratio of an error to the released one, before any rounding."""
        ratios = [np.asarray(ratio) for one in self.outcomes for ratio in one.ratios]
        return float(np.linalg.norm(np.concatenate(ratios), np.inf))

    def words(self) -> str:
        """Return in one sentence what a reader's regression returns."""
        kind = "HC1" if self.clusters is None else f"CR1 (clusters {self.clusters})"
        if self.errors:
            gap = max(gap for gap, _ in self.errors)
            ratio = max((ratio for _, ratio in self.errors), key=_distance)
            return (
                f"outcomes were rounded and clipped to legal values: a regression misses the "
                f"released effects by up to {gap:.2g} standard errors, its {kind} errors are "
                f"{ratio:.3g} times the released ones; intervals computed from the file are not "
                "valid, those of the estimates are"
            )
        if self.exact:
            return f"the declared regressions return the released effects and {kind} errors exactly"
        return (
            f"the declared regressions return the released effects exactly, and {kind} errors of "
            f"at least the released ones, up to {100 * (self.largest - 1):.2g} % larger: "
            "conservative"
        )

    def valid(self, levels: tuple[float, ...], *, subsets: bool) -> Validity:
        """Return what the file says of itself; also that rounding broke the calibration.

        ``subsets`` says whether fewer covariates return the same effects: where outcomes do not
        move with covariates.
        """
        regressions = self.layout.regressions
        ratios = [ratio for one in self.outcomes for ratio in one.classical]
        return Validity(
            outcomes=regressions.outcomes,
            arms=regressions.arms,
            covariates=regressions.covariates,
            cov_type="HC1" if self.clusters is None else "CR1",
            groups=self.clusters,
            levels=levels,
            subsets_valid=subsets,
            rows=self.rows,
            classical=all(ratio is not None and abs(ratio - 1) < _EQUAL for ratio in ratios),
            rounded=bool(self.errors),
        )


def _errors(
    layout: Layout, table: pd.DataFrame, targets: Sequence[Target], clusters: str | None
) -> tuple[tuple[float, float], ...]:
    """Return by how much regressions on legal values miss effects and errors."""
    return tuple(
        _error(layout, table, name, target, clusters)
        for name, target in zip(layout.regressions.outcomes, targets, strict=True)
    )


def _error(
    layout: Layout, table: pd.DataFrame, outcome: str, target: Target, clusters: str | None
) -> tuple[float, float]:
    terms = (*layout.regressions.arms, *layout.regressions.covariates[0])
    fit = ols(
        f"{outcome} ~ {' + '.join(terms)}",
        table,
        layout.schema,
        cov_type="HC1" if clusters is None else "CR1",
        groups=clusters,
    )
    effects = [name for name in fit.params.index if _is_effect(str(name), layout)]
    wanted = np.sqrt(np.diag(target.covariance))
    gaps = np.abs(fit.params[effects].to_numpy(np.float64) - target.effects) / wanted
    ratios = fit.bse[effects].to_numpy(np.float64) / wanted
    return float(np.linalg.norm(gaps, np.inf)), float(max(ratios.tolist(), key=_distance))


def _distance(ratio: float) -> float:
    """Return how far a ratio is from 1, twice and half being equally far."""
    return abs(math.log(ratio)) if ratio > 0 else math.inf


def _is_effect(name: str, layout: Layout) -> bool:
    arms = layout.regressions.arms
    return name in arms or any(name.startswith(f"{arm}[T.") for arm in arms)
