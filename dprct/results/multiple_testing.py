"""Joint draws of t statistics under the null, for step-down p-values.

The wild bootstrap keeps the design as it is and turns the signs of residuals, of a whole cluster
at once where there are clusters; the same signs serve every outcome, which keeps their dependence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from dprct.errors import ColumnError, ParameterError
from dprct.records import dataclass
from dprct.results.covariance import Array, LeastSquares, group_sums, leverage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dprct.formula.design_matrix import Mask
    from dprct.results.covariance import Codes, SharedFit

Adjust = Literal["bonferroni", "holm", "westfall-young", "romano-wolf"]
Grouping = Literal["all", "outcome", "arm"]
Hypothesis = tuple[str, str]

RESAMPLED: frozenset[str] = frozenset({"westfall-young", "romano-wolf"})
"""The adjustments that look at the rows again."""

_ROUNDING, _NOTHING = 1e-10, 1e-14


@dataclass(frozen=True)
class Family:
    """Hypotheses among which a false rejection is to be unlikely."""

    name: str
    members: tuple[Hypothesis, ...]  # (outcome, arm)
    size: int  # how many hypotheses it has; more than ``members`` where some are tested elsewhere


def families_of(
    grouping: Grouping | Mapping[str, Sequence[str]],
    outcomes: Sequence[str],
    arms: Sequence[str],
    sizes: Mapping[str, int] | None = None,
) -> tuple[Family, ...]:
    """The families of a table; every hypothesis is in exactly one.

    A mapping groups outcomes by a name of your choice.  ``sizes`` are numbers of hypotheses of
    families of which some are in another table; families of outcomes and arms bear their names, the
    only one is called ``"all"``.

    Examples
    --------
    >>> groups = {"index": ["a"], "parts": ["b", "c"]}
    >>> for family in families_of(groups, ["a", "b", "c"], ["t"], {"index": 3}):
    ...     print(family.name, len(family.members), family.size)
    index 1 3
    parts 2 2
    """
    if isinstance(grouping, Mapping):
        groups = {name: [(y, t) for y in ys for t in arms] for name, ys in grouping.items()}
        _check_partition(grouping, outcomes)
    elif grouping not in get_args(Grouping):
        raise ParameterError(
            f"``families={grouping!r}``; allowed: {', '.join(get_args(Grouping))}, or a "
            "``mapping`` of a name to a list of outcomes"
        )
    elif grouping == "all":
        groups = {"all": [(y, t) for y in outcomes for t in arms]}
    elif grouping == "outcome":
        groups = {y: [(y, t) for t in arms] for y in outcomes}
    else:
        groups = {t: [(y, t) for y in outcomes] for t in arms}
    sizes = {} if sizes is None else sizes
    for name in sizes:
        if name not in groups:
            raise ParameterError(
                f"family_sizes names {name!r}, which is not a family; allowed: {', '.join(groups)}"
            )
    return tuple(
        Family(name, tuple(members), _size(name, sizes.get(name), len(members)))
        for name, members in groups.items()
    )


def bonferroni(p: ArrayLike, size: int | None = None) -> Array:
    """P-values times the number of hypotheses (m, unless there are more), at most 1.

    NaN stays NaN and is a hypothesis all the same.

    Examples
    --------
    >>> bonferroni([0.01, 0.2], size=9).tolist()
    [0.09, 1.0]
    """
    given = _p_values(p)
    return np.minimum(1.0, given * _size("", size, len(given)))


def holm(p: ArrayLike, size: int | None = None) -> Array:
    """Holm's step-down p-values, never larger than Bonferroni's.

    Where there are more hypotheses than m, those not given count as the least significant, which
    errs towards larger p-values.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    given = _p_values(p)
    total = _size("", size, len(given))
    order = np.argsort(given, kind="stable")  # NaN last
    stepped = given[order] * (total - np.arange(len(given)))
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(stepped))
    return adjusted


def step_down(observed: ArrayLike, null: ArrayLike, *, complete: bool = False) -> Array:
    """Step-down p-values (m,) from (B, m) joint draws of the statistics under the null.

    Larger statistics speak more against the hypothesis, such as ``|t|`` or ``-p``.  Draws are
    ``complete`` where they are every outcome that the null allows, the observed one among them;
    random draws else count the observed one in addition, ``(1 + #) / (1 + B)``.

    Notes
    -----
    The statistic at place j of the order of significance is compared with the draws' maximum
    over places j and later; no p-value is smaller than one before it.  With ``|t|`` this is
    Romano and Wolf's and Westfall and Young's maxT, with ``-p`` their minP.  The error rate of a
    family is controlled where the draws have the joint law of the statistics of true hypotheses,
    whichever of the others are false.

    References
    ----------
    Westfall and Young (1993), Resampling-Based Multiple Testing, algorithms 2.8 and 4.1; Romano
    and Wolf (2005), Econometrica 73; Romano and Wolf (2016), Statistics and Probability Letters.

    Examples
    --------
    >>> every = [[3.0, 1.0], [1.0, 2.0], [0.0, 0.5], [2.0, 0.0]]
    >>> step_down([3.0, 1.0], every, complete=True).tolist()
    [0.25, 0.5]
    """
    statistics = np.asarray(observed, np.float64)
    draws = np.asarray(null, np.float64)
    if statistics.ndim != 1 or draws.ndim != 2 or draws.shape[1] != len(statistics):
        raise ParameterError(
            f"draws of shape {draws.shape} for {statistics.shape} statistics; "
            "give one row per draw, one column per statistic"
        )
    if not len(draws):
        raise ParameterError("there are no draws; give at least one")
    if np.isnan(statistics).any() or np.isnan(draws).any():
        raise ParameterError("a statistic is NaN, as of a standard error of zero; leave it out")
    order = np.argsort(-statistics, kind="stable")
    largest = np.maximum.accumulate(draws[:, order[::-1]], axis=1)[:, ::-1]
    # equal statistics of different draws differ by their rounding
    reach = statistics[order] - (_ROUNDING * np.abs(statistics[order]) + _NOTHING)
    counts = (largest >= reach).sum(axis=0)
    share = counts / len(draws) if complete else (1 + counts) / (1 + len(draws))
    adjusted = np.empty(len(statistics))
    adjusted[order] = np.maximum.accumulate(share)
    return adjusted


def _p_values(p: ArrayLike) -> Array:
    given = np.atleast_1d(np.asarray(p, np.float64))
    if given.ndim != 1 or (given < 0).any() or (given > 1).any():
        raise ParameterError("p-values are one row of numbers between 0 and 1; check them")
    return given


def _size(name: str, given: int | None, members: int) -> int:
    if given is None:
        return members
    if isinstance(given, bool) or not isinstance(given, int) or given < members:
        of = f" of family {name!r}" if name else ""
        raise ParameterError(
            f"size{of} is {given!r}; give a whole number of at least {members}, the hypotheses here"
        )
    return given


def _check_partition(groups: Mapping[str, Sequence[str]], outcomes: Sequence[str]) -> None:
    for name, members in groups.items():
        if isinstance(members, str):
            raise ParameterError(f"family {name!r} is {members!r}; give a list of outcomes")
    named = [outcome for members in groups.values() for outcome in members]
    for outcome in named:
        if outcome not in outcomes:
            raise ColumnError.unknown(outcome, outcomes, "the outcomes of the table")
        if named.count(outcome) > 1:
            raise ParameterError(f"outcome {outcome!r} is in two families; leave it in one")
    for outcome in outcomes:
        if outcome not in named:
            raise ParameterError(f"outcome {outcome!r} is in no family; add it to one")


FEWEST_DRAWS = 100
_CHUNK = 1_000_000  # numbers of an (n, draws) array held at once


@dataclass(frozen=True)
class Resampled:
    """Fits of some outcomes on some rows, and where their arms are."""

    fit: SharedFit
    rows: Mask  # (N,): which of all rows the fit uses
    arms: Codes  # (a,): columns of ``fit.X`` that are arms


def wild_draws(
    samples: Sequence[Resampled], units: Codes, draws: int, rng: np.random.Generator
) -> Array:
    """T statistics of the wild bootstrap, centred at the estimates, (B, m).

    Rows of one unit share a sign.  Of m, samples come first, within them outcomes, within them
    arms.

    Notes
    -----
    A draw multiplies residuals by independent signs (Rademacher), fits again, and divides the
    coefficients by standard errors of the same kind from the new residuals.  G clusters have only
    2^(G - 1) distinct draws: with fewer than about ten, prefer Holm.

    References
    ----------
    Wu (1986), Annals of Statistics 14; Cameron, Gelbach and Miller (2008), Review of Economics
    and Statistics 90; Clarke, Romano and Wolf (2020), Stata Journal 20.
    """
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < FEWEST_DRAWS:
        raise ParameterError(f"``draws={draws!r}``; give a whole number of at least {FEWEST_DRAWS}")
    if any((fit.copies != 1).any() for sample in samples for fit in sample.fit.fits):
        raise ParameterError(
            "resampling cannot tell apart the persons behind a frequency weight; give one row "
            "per person, or use ``adjust='holm'``"
        )
    at_once = max(1, _CHUNK // len(units))
    n_units = int(units.max()) + 1
    blocks = []
    for start in range(0, draws, at_once):
        size = min(at_once, draws - start)
        signs = np.where(rng.integers(0, 2, (n_units, size)) == 1, 1.0, -1.0)
        blocks.append(_statistics(samples, signs[units]))
    return np.concatenate(blocks)


def _statistics(samples: Sequence[Resampled], signs: Array) -> Array:
    """Return the (B, m) statistics of one set of signs, (N, B)."""
    found = []
    for sample in samples:
        own = signs[sample.rows]
        for fit in sample.fit.fits:
            turned = fit.resid[:, None] * own
            change = fit.bread @ (sample.fit.X.T @ turned)
            left = turned - sample.fit.X @ change
            errors = np.sqrt(variances(sample.fit, fit, left, sample.arms))
            found.append(change[sample.arms] / errors)
    return np.concatenate(found).T


def variances(shared: SharedFit, fit: LeastSquares, residuals: Array, columns: Codes) -> Array:
    """The diagonal of ``shared.cov`` at ``columns``, (a, B), for B columns of residuals at once."""
    X, kind = shared.X, shared.cov_type
    influence = X @ fit.bread[:, columns]
    if shared.groups is not None:
        n_groups = int(shared.groups.max()) + 1
        factor = n_groups / (n_groups - 1) * (fit.nobs - 1) / fit.df_resid
        sums = [group_sums(one[:, None] * residuals, shared.groups) for one in influence.T]
        return factor * np.stack([(total**2).sum(axis=0) for total in sums])
    if kind == "nonrobust":
        spread = (residuals**2).sum(axis=0) / fit.df_resid
        return np.outer(np.diag(fit.bread)[columns], spread)
    squares = influence**2
    if kind in ("HC2", "HC3"):
        squares = squares / ((1 - leverage(fit, X)) ** (1 if kind == "HC2" else 2))[:, None]
    factor = fit.nobs / fit.df_resid if kind == "HC1" else 1.0
    return factor * squares.T @ residuals**2
