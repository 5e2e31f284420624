"""Experiments whose clusters were assigned: what is declared of these, and how epsilon is divided.

Two public facts make the variance of an effect cheap to release (:mod:`dprct.queries.clusters`): an
upper bound on the intra-cluster correlation, or bounds on the means of clusters.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dprct.defaults import GUESSED_SD, MANY_ARM_SHARES, PLANNED_ICC, TWO_ARM_SHARES
from dprct.errors import ParameterError
from dprct.estimate.noise_law import quantile
from dprct.queries.clusters import Correlated, MeansWithin, design_effect
from dprct.queries.sums import GRID, Clipped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.assignment.clusters import ClusterFacts
    from dprct.estimate.experiment import UnitRule
    from dprct.queries.clusters import ClusterRule
    from dprct.queries.sums import Arms
    from dprct.schema import Column


def check_rules(facts: ClusterFacts, outcomes: Sequence[str], privacy_unit: UnitRule) -> None:
    """Refuse facts of clusters that do not go with the outcomes, or with who is protected."""
    facts.means(outcomes)
    if facts.correlations(outcomes) and privacy_unit == "cluster":
        raise ParameterError(
            "``icc=`` of the design needs ``privacy_unit='person'``: a correlation of people does "
            "not bound the influence of a whole cluster; declare ``cluster_mean_bounds=`` instead"
        )


def ruled(arms: Arms, column: Column, facts: ClusterFacts, outcomes: Sequence[str]) -> Arms:
    """Arms that know what is declared of their clusters, on the grid of an outcome."""
    known, within = facts.correlations(outcomes), facts.means(outcomes)
    rule: ClusterRule | None = None
    if column.name in known:
        rule = Correlated(known[column.name])
    elif column.name in within:
        low, high = within[column.name]
        assert column.bounds is not None
        bottom, top = map(Fraction, column.bounds)
        if low < bottom or high > top:
            raise ParameterError(
                f"cluster_mean_bounds of {column.name!r} is ({float(low):g}, {float(high):g}), "
                f"beyond its bounds [{float(bottom):g}, {float(top):g}]; give a part of these"
            )
        step = Fraction(Clipped(column).step)
        # outward: a total at the declared end is not clipped
        half = min(math.ceil((high - low) / 2 / step) + 1, GRID)
        rule = MeansWithin(round((low + high - 2 * bottom) / 2 / step), half)
    return arms if rule is None else replace(arms, rule=rule)


def design_effects(arms: Arms) -> list[list[float]]:
    """Return, by block and arm, by what its clusters multiply the variance of a mean, for plans.

    With the declared correlation, or a guess (:data:`dprct.defaults.PLANNED_ICC`).
    """
    icc = planned_icc(arms)
    squares = arms.squares or tuple(tuple(arms.largest * n for n in row) for row in arms.sizes)
    return [
        [float(design_effect(icc, n, s)) for n, s in zip(row, of_row, strict=True)]
        for row, of_row in zip(arms.sizes, squares, strict=True)
    ]


def planned_icc(arms: Arms) -> Fraction:
    """Return the correlation that a plan assumes."""
    return arms.rule.icc if isinstance(arms.rule, Correlated) else PLANNED_ICC


_RHO = np.log([0.01, 0.05, 0.2, 0.7, 1.6, 3, 6, 12, 25, 59, 150, 600, 1e4])
_C = np.array(
    [0.006, 0.027, 0.106, 0.301, 0.493, 0.660, 0.855, 1.056, 1.268, 1.499, 1.708, 1.929, 2.2]
)
"""About c(rho) at 95 %, to choose by; intervals use c itself."""

_GAIN = 0.98
"""The usual shares stay unless others make the interval 2 % narrower."""


@lru_cache(maxsize=4096)
def shares_of(
    epsilon: Fraction, reaches: tuple[Fraction, ...], inflation: Fraction, sampling: float
) -> tuple[Fraction, ...]:
    """Shares of epsilon for effect, variance and, with two arms, the control mean.

    ``reaches`` is by how much a person moves the difference, or each arm's mean where there are
    more than two; ``inflation`` is that of ``Arms``, ``sampling`` the expected variance of the
    effect of the two first arms.

    Examples
    --------
    >>> shares_of(Fraction(1), (Fraction(1, 500),), Fraction(37), 0.0005)[0] < Fraction(1, 2)
    True
    """
    two_arms = len(reaches) == 1
    usual = TWO_ARM_SHARES if two_arms else MANY_ARM_SHARES
    whole = usual[0] + usual[1]
    effect = np.arange(5, int(100 * whole) - 4) / 100
    own = np.flatnonzero(np.isclose(effect, float(usual[0])))[0]
    reach = np.array([float(one) for one in reaches[:2]])
    ratio = reach / reach[0]
    b = reach[0] / (float(epsilon) * effect)
    raised = float(inflation) / (float(epsilon) * (float(whole) - effect))  # b_V over reach^2
    rho = np.log(raised * (float(epsilon) * effect) ** 2)
    more = np.interp(rho, _RHO, _C) * raised * float(np.sum(reach**2))
    scales = tuple(float(one) for one in ratio)
    half = b * quantile(0.05, (sampling + more) / b**2, scales)
    best = int(np.argsort(half, kind="stable")[0])
    if half[best] > _GAIN * half[own]:
        return usual
    share = Fraction(round(100 * effect[best]), 100)
    return (share, whole - share, *usual[2:])


def sampling_of(arms: Arms, width: float, sd: float | None) -> float:
    """Return the variance of an effect that the choice of shares expects."""
    spread = GUESSED_SD * width if sd is None else sd
    effects = design_effects(arms)
    total = 0.0
    for weight, row, of_row in zip(arms.weights, arms.sizes, effects, strict=True):
        pairs = list(zip(row, of_row, strict=True))[:2]
        total += float(weight) ** 2 * sum(effect / n for n, effect in pairs)
    return spread**2 * total


def words_of(rule: ClusterRule, name: str) -> str:
    """Return what is declared of the clusters of an outcome, for guarantee and plan."""
    if isinstance(rule, Correlated):
        bound = f"{float(rule.icc):g}"
        return f"the declared upper bound on the intra-cluster correlation of {name}, {bound}"
    return f"the declared bounds on the cluster means of {name}"


def clusters_said(arms: Arms, parts: Sequence[Fraction]) -> str:
    """Return what a plan says of clusters: the correlation that it assumes, and shares."""
    known = isinstance(arms.rule, Correlated)
    source = "declared" if known else "a guess: declare icc with the design"
    shares = " and ".join(f"{float(part):.3g}" for part in parts[:2])
    found = (
        f"at most {arms.largest:,} rows; sampling errors are those of an intra-cluster correlation "
        f"of {float(planned_icc(arms)):g} ({source}); epsilon {shares} on effect and variance"
    )
    if isinstance(arms.rule, MeansWithin):
        return f"{found}, which totals clipped to the declared bounds on cluster means tell"
    if known:
        return f"{found}, which is that of people times the design effect"
    if arms.unit == "person" and arms.largest > 1:
        return f"{found}; icc or cluster_mean_bounds of the design would make the variance cheaper"
    return found
